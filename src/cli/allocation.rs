//! Memory that the system refuses: an error with the exit code of a wrong request, as where an estimate is above what there
//! is, in the place of an abort.

use std::alloc::{GlobalAlloc, Layout, System};
use std::error::Error as _;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::error::Error;

/// Whether the system has refused memory.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// The allocator of the system, which remembers whether it has refused memory. A program whose
/// `#[global_allocator]` it is ends with an error then, and not with an abort, by [`main_with`](super::main_with).
#[derive(Debug)]
pub struct Allocator;

fn remember(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        REFUSED.store(true, Relaxed);
    }
    memory
}

// SAFETY: every call is that of the system's allocator, with the same arguments and the same result.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps what `GlobalAlloc` asks for, as in each of the following
        remember(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above
        remember(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above
        remember(unsafe { System.realloc(memory, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above
        unsafe { System.dealloc(memory, layout) }
    }
}

/// What standard error says behind Rust's own line, which has the number of bytes.
#[cfg(unix)]
const MESSAGE: &[u8] =
    b"error: there is not enough memory for this; use smaller sizes, fewer threads \
                         (RAYON_NUM_THREADS), or a higher limit (ulimit -v)\n";

/// Ends the process with exit code 2 where it aborts because the system has refused memory.
#[cfg(unix)]
pub fn end_where_refused() {
    extern "C" fn aborted(_: libc::c_int) {
        if REFUSED.load(Relaxed) {
            // SAFETY: both calls are allowed in a signal handler; the bytes are a constant
            unsafe {
                libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
                libc::_exit(2);
            }
        }
        // any other abort goes on
    }
    let aborted: extern "C" fn(libc::c_int) = aborted;
    // SAFETY: signal(2) with valid arguments; the handler makes only calls that are allowed there
    unsafe { libc::signal(libc::SIGABRT, aborted as libc::sighandler_t) };
}

/// Does nothing: other systems have no such signal.
#[cfg(not(unix))]
pub fn end_where_refused() {}

/// Starts the threads of the process, whose stacks are memory too.
///
/// # Errors
/// [`Error::Core`] where the system has no memory or no number left for one of them.
pub fn start_threads() -> Result<(), Error> {
    let Err(error) = rayon::ThreadPoolBuilder::new().build_global() else { return Ok(()) };
    // none where a program has started them before
    let Some(reason) = error.source() else { return Ok(()) };
    let message = format!(
        "the threads cannot be started: {reason}; use fewer (RAYON_NUM_THREADS), or a higher limit \
         (ulimit -v, ulimit -u)"
    );
    Err(dsokr_core::Error::Unsupported(message).into())
}
