//! Merges several spectra of one ion into one.

use dsokr_spectra::{Peak, Spectrum};

/// The most peaks of a merged spectrum.
const MOST: usize = 100;
/// The least intensity of a peak, as a share of the largest.
const LEAST: f64 = 0.002;
/// Peaks are the same where they are nearer than so many millionths of their m/z, or so many Da.
const SAME_PPM: f64 = 10.0;
const SAME_DA: f64 = 0.001;
/// Peaks further above the precursor than this, in Da, are of something else.
const ABOVE: f64 = 0.5;

/// Returns the peaks of spectra of one precursor, as at several collision energies: each spectrum is scaled to its
/// largest peak, near peaks have the mean m/z by their intensities, and the mean intensity over the spectra, scaled to
/// 1.
pub(super) fn merged(spectra: &[&Spectrum], precursor_mz: f64) -> Vec<Peak> {
    let mut all: Vec<Peak> = Vec::new();
    for spectrum in spectra {
        let largest = spectrum.peaks().iter().map(|peak| peak.intensity).fold(0.0, f64::max);
        let below = spectrum.peaks().iter().filter(|peak| peak.mz <= precursor_mz + ABOVE);
        all.extend(below.map(|peak| Peak { intensity: peak.intensity / largest, ..*peak }));
    }
    all.sort_by(|a, b| a.mz.total_cmp(&b.mz));
    let same = |a: &Peak, b: &Peak| b.mz - a.mz <= (a.mz * SAME_PPM * 1e-6).max(SAME_DA);
    let mut peaks: Vec<Peak> = all.chunk_by(same).map(mean).collect();
    peaks.sort_by(|a, b| b.intensity.total_cmp(&a.intensity));
    let largest = peaks.first().map_or(1.0, |peak| peak.intensity);
    peaks.truncate(MOST);
    peaks.retain(|peak| peak.intensity >= LEAST * largest);
    for peak in &mut peaks {
        // four places, as the m/z has five
        peak.intensity = (peak.intensity / largest * 1e4).round() / 1e4;
    }
    peaks.sort_by(|a, b| a.mz.total_cmp(&b.mz));
    peaks
}

/// Returns a peak at the mean m/z with the sum of the intensities.
fn mean(peaks: &[Peak]) -> Peak {
    let intensity: f64 = peaks.iter().map(|peak| peak.intensity).sum();
    let weighted: f64 = peaks.iter().map(|peak| peak.mz * peak.intensity).sum();
    Peak { mz: weighted / intensity, intensity }
}
