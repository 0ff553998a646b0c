//! What the benches share: their arguments, their memory, and medians.

/// Returns the arguments, without the flag that cargo adds.
pub fn arguments() -> Vec<String> {
    std::env::args().skip(1).filter(|a| a != "--bench").collect()
}

pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Returns the peak resident memory so far; 0 where the system does not tell.
pub fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}
