//! What the operating system says about the process of a bench.

/// The most memory that the process has held, in MiB.
pub fn peak_mib() -> i64 {
    usage().ru_maxrss / 1024
}

/// Seconds that all threads of the process have computed, which other processes do not lengthen as
/// they do the time on the wall.
#[allow(dead_code)] // not every bench prints it
pub fn user_s() -> f64 {
    let time = usage().ru_utime;
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

fn usage() -> libc::rusage {
    // SAFETY: getrusage fills the struct it is given, which is plain numbers.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    }
}
