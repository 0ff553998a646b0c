//! What the operating system reports about the process of a bench.

/// Returns the most memory that the process has held, in MiB.
pub fn peak_mib() -> i64 {
    usage().ru_maxrss / 1024
}

/// Returns the resources that the process has used so far.
pub fn usage() -> libc::rusage {
    // SAFETY: getrusage fills the struct it is given, which is plain numbers.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    }
}
