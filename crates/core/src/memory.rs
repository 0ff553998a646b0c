//! The memory that a process can still take.

use std::path::Path;
use std::{fmt, fs};

/// Memory that a process can still take.
#[derive(Clone, Debug, derive_more::Display, PartialEq)]
#[display("{} ({source})", Bytes(*bytes))]
pub struct Limit {
    /// The size of the limit.
    pub bytes: f64,
    /// The source of the limit.
    pub source: String,
}

/// Returns the memory that this process can still take: what the machine or the process's cgroup has left,
/// whichever is less. None where the system does not say (systems other than Linux).
pub fn available() -> Option<Limit> {
    let machine = field(Path::new("/proc/meminfo"), "MemAvailable:").map(|kilobytes| Limit {
        bytes: 1024.0 * kilobytes,
        source: "MemAvailable of this machine".into(),
    });
    let limits = machine.into_iter().chain(address_space()).chain(groups());
    limits.min_by(|a, b| a.bytes.total_cmp(&b.bytes))
}

/// Returns the rest of the limit of the address space (`ulimit -v`).
fn address_space() -> Option<Limit> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most: f64 = line.split_whitespace().next()?.parse().ok()?;
    let mapped = 1024.0 * field(Path::new("/proc/self/status"), "VmSize:")?;
    Some(Limit { bytes: (most - mapped).max(0.0), source: "the limit of the address space".into() })
}

/// Returns the memory that this process holds, in bytes; 0 where the system does not say.
pub fn resident() -> f64 {
    1024.0 * field(Path::new("/proc/self/status"), "VmRSS:").unwrap_or(0.0)
}

/// Returns the rest of the limits of this process's control groups, of version 1 or 2, and of those above them.
fn groups() -> Vec<Limit> {
    let lines = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut limits = Vec::new();
    for line in lines.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let Some(controllers) = parts.next() else { continue };
        let Some(group) = parts.next() else { continue };
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            one if one.split(',').any(|name| name == "memory") => "/sys/fs/cgroup/memory",
            _ => continue,
        };
        // a container sees its own group as the root
        let folder = Path::new(root).join(group.trim_start_matches('/'));
        let above = folder.ancestors().take_while(|folder| folder.starts_with(root));
        limits.extend(above.filter_map(in_group));
    }
    limits
}

/// Returns the rest of the limit of a control group, of version 1 or 2: its limit less its use. Pages of files that the
/// system can drop are not in use. None for a folder that is not a group with a limit.
pub fn in_group(folder: &Path) -> Option<Limit> {
    let number = |name: &str| -> Option<f64> {
        fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()
    };
    let versions = [
        ["memory.max", "memory.current", "inactive_file"],
        ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"],
    ];
    versions.into_iter().find_map(|[limit, usage, cached]| {
        // without a limit the file says "max", or a number near 2^63
        let most = number(limit).filter(|&bytes| bytes < 1e18)?;
        let used = number(usage)? - field(&folder.join("memory.stat"), cached).unwrap_or(0.0);
        let source = folder.join(limit).display().to_string();
        Some(Limit { bytes: (most - used).max(0.0), source })
    })
}

/// Returns the number behind a name in a file of names and numbers.
fn field(file: &Path, name: &str) -> Option<f64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// A number of bytes, written with a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bytes(pub f64);

impl fmt::Display for Bytes {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
        let power = (self.0.max(1.0).log10() / 3.0).floor().min(6.0);
        let value = self.0 / 1000f64.powf(power);
        let places = usize::from(power > 0.0 && value < 99.95);
        write!(out, "{value:.places$} {}", units[power as usize])
    }
}
