//! Differences of peaks do not pile up in memory. The test is in a process of its own to measure its peak of memory.
#![cfg(target_os = "linux")]

use dsokr_spectra::{FittedPeaks, PeakFeatures, PeakSource, Spectrum};

/// Returns `VmHWM`, the largest resident memory of this process so far, in KiB.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Resident memory belongs to the process, so this file has one test.
#[test]
fn memory_does_not_grow_with_the_pairs_of_peaks() {
    let differences = PeakFeatures {
        source: PeakSource::Differences,
        bin: 0.01,
        shift: 0.0,
        power: 0.5,
        min_spectra: 1,
        ppm: None,
    };
    let fitted = |count: usize| {
        let peaks = (0..count).map(|at| format!(" {:.1}:1", 50.0 + 0.3 * at as f64));
        let text = format!("1000{}", peaks.collect::<String>());
        let fitted = FittedPeaks::fit(std::slice::from_ref(&differences), &[&text]).unwrap();
        assert!(fitted.width() >= count - 2);
        let spectrum: Spectrum = text.parse().unwrap();
        PeakSource::Differences.positions(0.5, &[spectrum]).unwrap();
        peak_memory()
    };
    let few = fitted(100);
    // two million pairs, which would be 61 MiB
    let many = fitted(2000);
    assert!(many - few < 16 << 10, "the peak went from {few} to {many} KiB");
}
