//! What the system reports about this process, its files and its memory.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde_json::{Value, json};

use crate::Failure;

/// Returns the value of a line of a file of the kernel about this process.
fn kernel(file: &str, key: &str) -> Result<u64, Failure> {
    let text = fs::read_to_string(format!("/proc/self/{file}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|line| line.split_whitespace().next()).ok_or("no such line")?;
    Ok(number.parse()?)
}

pub fn bytes_read() -> Result<u64, Failure> {
    kernel("io", "read_bytes:")
}

/// Returns MB of memory: the most that was resident at once, and what is now, of files that are mapped and other.
pub fn memory() -> Result<Value, Failure> {
    let mb = |key| Ok::<_, Failure>(kernel("status", key)? * 1024 / 1_000_000);
    Ok(json!({"peak_mb": mb("VmHWM:")?, "files_mb": mb("RssFile:")?, "other_mb": mb("RssAnon:")?}))
}

/// Returns the bytes a second of reading a file from disk in order. All files are dropped from the cache before and
/// after.
pub fn disk_bandwidth(files: &[PathBuf]) -> Result<f64, Failure> {
    let forget = || {
        files.iter().try_for_each(|file| {
            let file = File::open(file)?;
            file.sync_all()?;
            // SAFETY: the descriptor is open; advice changes no content
            let refused =
                unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
            if refused == 0 { Ok(()) } else { Err(std::io::Error::from_raw_os_error(refused)) }
        })
    };
    forget()?;
    let mut file = File::open(&files[0])?;
    let mut buffer = vec![0; 8 << 20];
    let start = Instant::now();
    let mut bytes = 0;
    while start.elapsed() < Duration::from_secs(5) {
        match file.read(&mut buffer)? {
            0 => break,
            count => bytes += count,
        }
    }
    let bandwidth = bytes as f64 / start.elapsed().as_secs_f64();
    drop(file);
    forget()?;
    Ok(bandwidth)
}

/// Returns bytes a second of adding up numbers by all threads, in memory and in a mapped file that the system has in
/// its cache; the best of five times.
pub fn memory_bandwidth(file: &Path) -> Result<(f64, f64), Failure> {
    // SAFETY: nothing writes to the file meanwhile
    let map = unsafe { memmap2::Mmap::map(&File::open(file)?)? };
    let (_, mapped, _) = bytemuck::pod_align_to::<u8, u64>(&map);
    let mapped = &mapped[..mapped.len().min(1 << 28)];
    let owned = vec![1u64; 1 << 27];
    let best = |numbers: &[u64]| {
        let mut least = f64::INFINITY;
        for _ in 0..5 {
            let start = Instant::now();
            let sums = numbers
                .par_chunks(1 << 17)
                .map(|part| part.iter().fold(0u64, |sum, word| sum.wrapping_add(*word)));
            std::hint::black_box(sums.reduce(|| 0, u64::wrapping_add));
            least = least.min(start.elapsed().as_secs_f64());
        }
        8.0 * numbers.len() as f64 / least
    };
    Ok((best(&owned), best(mapped)))
}
