//! The peaks of a spectrum, as files and texts write them.

use std::fmt::Write;
use std::ops::Range;

/// A peak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// m/z, above 0.
    pub mz: f64,
    /// Intensity, above 0, in any unit.
    pub intensity: f64,
}

/// Peaks with the digits that they are written with. Peaks of intensity 0 are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeakList {
    /// The peaks and the places of their texts.
    peaks: Vec<(Peak, Range<usize>)>,
    /// The peaks as text, ` m/z:intensity` each, with their digits as written.
    text: String,
    /// Whether they came by increasing m/z.
    unsorted: bool,
}

/// The strongest peak: no instrument counts as many ions, and sums over peaks stay finite.
pub(crate) const STRONGEST: f64 = 1e30;

/// The least number of peaks of what may be a profile.
const PROFILE_PEAKS: usize = 50;
/// Neighbouring points of a profile are nearer than so many Da: isotopes of ions with fewer than ten charges are farther apart.
const PROFILE_STEP: f64 = 0.1;
/// Neighbouring points of a profile whose m/z are whole steps apart are nearer than so many Da, as a triple quadrupole samples
/// each 0.1 or 0.2 Da; peaks of unit resolution are 1 apart.
const GRID_STEP: f64 = 0.25;
/// How many Da an m/z on a grid may be off, with two decimals.
const OFF_GRID: f64 = 0.02;
/// The least points of a hump of a profile.
const HUMP: usize = 5;

impl PeakList {
    /// Adds a peak.
    ///
    /// # Errors
    /// An m/z that is no number above 0, or an intensity that is no number from 0 to [`STRONGEST`].
    pub(crate) fn add(&mut self, mz: &str, intensity: &str) -> Result<(), String> {
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        let height = number(intensity).filter(|height| (0.0..=STRONGEST).contains(height));
        let height = height.ok_or_else(|| {
            format!("a peak's intensity {intensity:?} is not a number from 0 to {STRONGEST:e}")
        })?;
        if height == 0.0 {
            return Ok(());
        }
        let position = number(mz).filter(|position| *position > 0.0);
        let position =
            position.ok_or_else(|| format!("a peak's m/z {mz:?} is not a number above 0"))?;
        let start = self.text.len();
        // writing to a text does not fail
        let _ = write!(self.text, " {mz}:{intensity}");
        self.unsorted |= self.peaks.last().is_some_and(|(last, _)| last.mz > position);
        let peak = Peak { mz: position, intensity: height };
        self.peaks.push((peak, start..self.text.len()));
        Ok(())
    }

    /// Returns the peaks by increasing m/z.
    ///
    /// # Errors
    /// For no peaks, and for a profile: points of a continuous curve in the place of peaks.
    pub(crate) fn finish(mut self) -> Result<SortedPeaks, String> {
        if self.peaks.is_empty() {
            return Err("a spectrum without peaks; at least one is needed".into());
        }
        if self.unsorted {
            self.peaks.sort_by(|(a, _), (b, _)| a.mz.total_cmp(&b.mz));
            let texts = self.peaks.iter().map(|(_, place)| &self.text[place.clone()]);
            self.text = texts.collect();
        }
        let peaks: Vec<Peak> = self.peaks.into_iter().map(|(peak, _)| peak).collect();
        if is_profile(&peaks) {
            return Err(PROFILE.into());
        }
        Ok(SortedPeaks { peaks, text: self.text })
    }
}

/// Peaks by increasing m/z; at least one.
pub(crate) struct SortedPeaks {
    pub(crate) peaks: Vec<Peak>,
    /// The peaks as text, ` m/z:intensity` each, with their digits as written.
    pub(crate) text: String,
}

/// The message about a profile, with its remedy.
pub(crate) const PROFILE: &str = "a profile, and no peaks: pick peaks first, such as by ProteoWizard, msconvert --filter \
                                  \"peakPicking vendor msLevel=1-\", or by OpenMS, PeakPickerHiRes";

/// Returns whether most points lie on humps: neighbours that rise to one top and fall again, as a detector samples a
/// peak.
fn is_profile(peaks: &[Peak]) -> bool {
    if peaks.len() < PROFILE_PEAKS {
        return false;
    }
    let step = if are_on_grid(peaks) { GRID_STEP } else { PROFILE_STEP };
    let near = peaks.chunk_by(|a, b| b.mz - a.mz < step);
    let on_humps: usize = near.map(points_on_humps).sum();
    2 * on_humps > peaks.len()
}

/// Returns whether all points are whole steps from the first, of a step from [`PROFILE_STEP`] to [`GRID_STEP`]. Isotopes of an ion
/// with several charges are as near to one another, but not to those of other ions.
fn are_on_grid(points: &[Peak]) -> bool {
    let steps = points.windows(2).map(|pair| pair[1].mz - pair[0].mz);
    let mut near: Vec<f64> = steps.filter(|&step| step < GRID_STEP).collect();
    near.sort_by(f64::total_cmp);
    let Some(&middle) = near.get(near.len() / 2) else { return false };
    // as many digits as the settings of instruments have
    let step = (middle * 200.0).round() / 200.0;
    let is_on_grid = |point: &Peak| {
        let distance = point.mz - points[0].mz;
        (distance - (distance / step).round() * step).abs() <= OFF_GRID
    };
    step >= PROFILE_STEP && points.iter().all(is_on_grid)
}

/// Returns how many of these points are on humps of enough points, which rise and fall.
fn points_on_humps(points: &[Peak]) -> usize {
    // a hump ends where the intensity rises after it has fallen
    let mut falls = false;
    let humps = points.chunk_by(|a, b| {
        let rises = b.intensity > a.intensity;
        let valley = falls && rises;
        falls = !rises;
        !valley
    });
    let is_whole = |hump: &&[Peak]| {
        let steps = || hump.windows(2).map(|pair| pair[1].intensity - pair[0].intensity);
        hump.len() >= HUMP && steps().any(|step| step > 0.0) && steps().any(|step| step < 0.0)
    };
    humps.filter(is_whole).map(<[Peak]>::len).sum()
}
