//! How the process keeps its memory.

/// Keeps freed pages for the next step instead of returning them to the system; `large` is whether also those of blocks
/// of 4 MiB or more.
///
/// A training step frees and asks again for the same large buffers; by default glibc maps them anew
/// every time, and clearing fresh pages then costs more time than the arithmetic. The process's
/// memory stays at its peak, which the next step would need anyway. A kernel machine needs each of its matrices once,
/// and what is freed of one has no room for the next: with the 17,089 pairs of `configs/chebi20-all.toml` its peak is
/// 2.0 GB instead of 2.6, in the same time.
///
/// There are two arenas, and each keeps its own pages. With one arena, threads that read molecules
/// wait for its lock: on ChEBI-20 two threads read them in twelve seconds, and in six with two arenas.
///
/// A command may decide this for its users; a library must not. On systems other than Linux with
/// glibc this does nothing.
pub fn keep_pages(large: bool) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt(3) may be called at any time; the values are in the ranges that it documents, and it refuses others.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 4 << 20);
        libc::mallopt(libc::M_MMAP_MAX, if large { 0 } else { 1 << 16 });
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_TOP_PAD, 64 << 20);
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = large;
}
