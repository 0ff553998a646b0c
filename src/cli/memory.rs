//! How the process keeps its memory.

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
