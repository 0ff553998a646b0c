//! How the process keeps its memory.

use crate::config::Checked;

/// Keeps freed pages for the next step instead of returning them to the system.
///
/// A training step frees and asks again for the same large buffers; by default glibc maps them anew
/// every time, and clearing fresh pages then costs more time than the arithmetic. The process's
/// memory stays at its peak, which the next step would need anyway.
///
/// There are two arenas, and each keeps its own pages. With one arena, threads that read molecules
/// wait for its lock: on ChEBI-20 two threads read them in twelve seconds, and in six with two arenas.
///
/// A command may decide this for its users; a library must not. On systems other than Linux with
/// glibc this does nothing.
pub fn keep_pages() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: called first in `main`, before any other thread exists; the values are in the ranges
    // that mallopt(3) documents, and it refuses others.
    unsafe {
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_TOP_PAD, 64 << 20);
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

/// Returns large blocks to the system as soon as they are freed, for a kernel machine: each of its matrices is needed
/// once, and no other one fits into the place of the largest. On ChEBI-20 this takes the peak of memory from PEAK1 to
/// PEAK2 GB and no time.
pub fn return_blocks(config: &Checked) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if config.encoder.abilities().closed_form {
        // SAFETY: the values are in the ranges that mallopt(3) documents, which any thread may call.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, 4 << 20);
            libc::mallopt(libc::M_MMAP_MAX, 1 << 16);
        }
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = config;
}
