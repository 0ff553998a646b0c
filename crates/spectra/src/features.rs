//! Features of spectra: what they hold at which mass, in bins.

use std::collections::{BTreeMap, HashMap};

use dsokr_basis::features::{SparseRow, SparseRows};
use dsokr_core::Error;
use dsokr_core::random::hash;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::peaks::Peak;
use crate::spectrum::Spectrum;
use crate::subformulas::{Fragment, Subformulas};
use crate::tree::FragmentationTree;

/// Losses below this mass in Da are the precursor itself.
const LEAST_LOSS: f64 = 0.5;

/// The part of a spectrum that lies at a mass.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PeakSource {
    /// The peaks, at their m/z.
    #[default]
    Peaks,
    /// The neutral losses: the precursor's m/z less the m/z of each peak, from 0.5 Da on.
    Losses,
    /// The differences of all pairs of peaks, weighted by the product of both intensities.
    Differences,
    /// The precursor, at its m/z, with weight 1.
    Precursor,
    /// The formulas that each peak may have within `ppm`, as parts of the precursor's formula, which is the spectrum's
    /// field `formula`. A peak with more than a million to try has none.
    Subformulas,
    /// The differences of the precursor's ion and these formulas.
    SubformulaLosses,
    /// The formulas of the fragmentation tree, of the spectrum's field `tree`, with the intensities that it has.
    TreeFragments,
    /// The formulas that the tree's fragments lost of their parents.
    TreeLosses,
    /// The formulas that the fragments have lost since the root of the tree.
    TreeRootLosses,
    /// The sequences of losses on all paths downwards in the tree.
    TreePaths,
}

/// The position of a feature of a spectrum.
enum At {
    /// A mass in Da.
    Mass(f64),
    /// A formula, or a sequence of formulas.
    Formula(String),
}

/// What a spectrum has at masses or of formulas, one by one: the differences of its peaks are many.
type Weights<'s> = Box<dyn Iterator<Item = (At, f64)> + 's>;

/// Gives formulas of a tree with their intensities.
type NodesOfTree = fn(&FragmentationTree) -> Vec<(String, f64)>;

/// Returns masses with their intensities to the power `power`.
fn of_masses<'s>(power: f64, all: impl Iterator<Item = (f64, f64)> + 's) -> Weights<'s> {
    Box::new(all.map(move |(mass, intensity)| (At::Mass(mass), intensity.powf(power))))
}

impl PeakSource {
    /// Returns whether it is compared by formulas, and not by masses.
    pub fn is_of_formulas(self) -> bool {
        self >= Self::Subformulas
    }

    /// Returns whether spectra must name the formula of their molecule.
    pub fn needs_formula(self) -> bool {
        matches!(self, Self::Subformulas | Self::SubformulaLosses)
    }

    /// Returns masses in Da, by increasing mass except for differences, or formulas, or sequences of them, each with
    /// its intensity to the power `power`; none of a spectrum without tree.
    fn weights<'s>(
        self,
        spectrum: &'s Spectrum,
        power: f64,
        ppm: f64,
    ) -> Result<Weights<'s>, Error> {
        let precursor_mz = spectrum.precursor_mz();
        let peaks = spectrum.peaks();
        let parts = |name: fn(&Fragment) -> String| -> Result<Weights<'s>, Error> {
            let ion = Subformulas::from_spectrum(spectrum)?;
            let of_peak = move |peak: &Peak| {
                let fragments = ion.at(peak.mz, ppm).unwrap_or_default();
                let value = peak.intensity.powf(power);
                fragments.into_iter().map(move |part| (At::Formula(name(&part)), value))
            };
            Ok(Box::new(peaks.iter().flat_map(of_peak)))
        };
        let of_tree = |all: NodesOfTree| -> Result<Weights<'s>, Error> {
            let tree = spectrum.tree().map(str::parse).transpose()?;
            let fragments = tree.as_ref().map(all).unwrap_or_default().into_iter();
            let weights =
                fragments.map(move |(name, intensity)| (At::Formula(name), intensity.powf(power)));
            Ok(Box::new(weights))
        };
        match self {
            Self::Peaks => Ok(of_masses(power, peaks.iter().map(|peak| (peak.mz, peak.intensity)))),
            Self::Losses => {
                let losses =
                    peaks.iter().rev().map(move |peak| (precursor_mz - peak.mz, peak.intensity));
                Ok(of_masses(power, losses.filter(|(mass, _)| *mass >= LEAST_LOSS)))
            }
            Self::Differences => {
                let pairs = (0..peaks.len()).flat_map(|at| (0..at).map(move |low| [low, at]));
                let pairs = pairs.map(move |pair| pair.map(|at| peaks[at]));
                let pairs =
                    pairs.map(|[low, high]| (high.mz - low.mz, high.intensity * low.intensity));
                Ok(of_masses(power, pairs.filter(|(mass, _)| *mass >= LEAST_LOSS)))
            }
            Self::Precursor => Ok(of_masses(power, std::iter::once((precursor_mz, 1.0)))),
            Self::Subformulas => parts(Fragment::formula),
            Self::SubformulaLosses => parts(|part| dsokr_molecule::formula(&part.lost)),
            Self::TreeFragments => of_tree(|tree| tree.fragments().collect()),
            Self::TreeLosses => of_tree(|tree| tree.losses().collect()),
            Self::TreeRootLosses => of_tree(|tree| tree.root_losses().collect()),
            Self::TreePaths => of_tree(|tree| tree.paths().collect()),
        }
    }

    /// Returns spectra as mixtures on a line, for the kernel
    /// [`ProbabilityProduct`](dsokr_basis::kernel::ProbabilityProduct): columns are masses in units of 1/[`POSITIONS`]
    /// Da, up to 5000 Da, where larger ones lie too. Values are intensities to the power `power`, scaled so that the
    /// largest in a spectrum is 1.
    ///
    /// # Errors
    /// None for spectra that were read.
    pub fn positions(self, power: f64, spectra: &[Spectrum]) -> Result<SparseRows, Error> {
        let row = |spectrum: &Spectrum| {
            let mut row = BTreeMap::new();
            for (at, weight) in self.weights(spectrum, power, PPM)? {
                if let At::Mass(mass) = at {
                    let position = (mass.min(LARGEST) * POSITIONS).round() as u32;
                    *row.entry(position).or_insert(0.0) += weight;
                }
            }
            let most = row.values().copied().fold(0.0, f64::max);
            Ok(row.into_iter().map(|(at, weight)| (at, (weight / most) as f32)).collect())
        };
        let rows = spectra.par_iter().map(row).collect::<Result<Vec<SparseRow>, Error>>()?;
        SparseRows::from_rows(LINE, rows)
    }
}

/// Positions in a Da of spectra as mixtures.
pub const POSITIONS: f64 = 1e5;

/// Masses in Da that mixtures reach to.
const LARGEST: f64 = 5000.0;

/// Number of positions of spectra as mixtures.
pub const LINE: usize = (LARGEST * POSITIONS) as usize + 1;

/// A block of features of spectra: intensities of what lies in each bin of a width, or has each formula, summed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeakFeatures {
    /// The peaks or formulas that are counted.
    #[serde(default)]
    pub source: PeakSource,
    /// Width of a bin in Da; formulas have none.
    #[serde(default = "hundredth")]
    pub bin: f64,
    /// The shift of masses in Da before they are binned: half a bin in a second block, so that masses on both sides
    /// of a border share a bin there.
    #[serde(default)]
    pub shift: f64,
    /// The power of intensities; 0 counts peaks.
    #[serde(default = "root")]
    pub power: f64,
    /// Bins, or formulas, in fewer training spectra are left out. Equal spectra of one group of `data.splits.group` are one
    /// spectrum.
    #[serde(default = "two")]
    pub min_spectra: usize,
    /// How far a peak may be from a subformula, in millionths of its m/z (default: 10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ppm: Option<f64>,
}

dsokr_core::defaults! {
    hundredth: f64 = 0.01,
    root: f64 = 0.5,
    two: usize = 2,
}

/// The tolerance of subformulas in millionths.
const PPM: f64 = 10.0;

/// Bins have lower numbers.
const MOST_BINS: f64 = 4e9;

impl PeakFeatures {
    /// Checks the values that the types leave open, of the block at `key`.
    ///
    /// # Errors
    /// [`Error::Value`].
    pub fn validate(&self, key: &str) -> Result<(), Error> {
        let at = |name: &str| format!("{key}.{name}");
        let Self { source: peaks, bin, shift, power, min_spectra, ppm } = *self;
        if peaks.is_of_formulas() {
            let allowed = "absent: formulas are in no bins";
            Error::ensure(bin == hundredth(), at("bin"), bin, allowed)?;
            Error::ensure(shift == 0.0, at("shift"), shift, allowed)?;
        }
        let allows_ppm = ppm.is_none()
            || matches!(peaks, PeakSource::Subformulas | PeakSource::SubformulaLosses);
        let tolerance = ppm.unwrap_or(PPM);
        Error::ensure(allows_ppm, at("ppm"), tolerance, "absent: of subformulas only")?;
        Error::ensure(
            (1e-3..=1e3).contains(&tolerance),
            at("ppm"),
            tolerance,
            "a number in [0.001, 1000]",
        )?;
        Error::ensure((1e-5..=1e3).contains(&bin), at("bin"), bin, "a width in Da, 1e-5 to 1000")?;
        Error::ensure((0.0..=bin).contains(&shift), at("shift"), shift, "0 to the width of a bin")?;
        Error::ensure((0.0..=2.0).contains(&power), at("power"), power, "a number in [0, 2]")?;
        Error::ensure(min_spectra > 0, at("min_spectra"), min_spectra, "at least 1")
    }

    /// Returns the bins of a spectrum, or hashes of its formulas, with their values, ascending.
    fn bins(&self, spectrum: &Spectrum) -> Result<BTreeMap<u64, f64>, Error> {
        let mut bins = BTreeMap::new();
        for (at, value) in self.source.weights(spectrum, self.power, self.ppm.unwrap_or(PPM))? {
            let (bin, counts) = match at {
                // fragments without a peak have no value
                At::Formula(name) => (hash(name.as_bytes()), value > 0.0),
                // no molecule has a larger mass
                At::Mass(mass) => {
                    let bin = ((mass + self.shift) / self.bin).floor();
                    (bin as u64, bin < MOST_BINS)
                }
            };
            if counts {
                *bins.entry(bin).or_insert(0.0) += value;
            }
        }
        Ok(bins)
    }
}

/// The bins that the training spectra give, for blocks of features.
///
/// A row has the blocks side by side, each of unit length over the bins that it has: with the cosine kernel the mean of
/// their cosine kernels, for spectra that have something in every block.
///
/// ```
/// use dsokr_spectra::{FittedPeaks, PeakFeatures, PeakSource, Spectrum};
///
/// let spectra = ["100.0 40.001:4 60.002:9", "90.0 40.002:1"];
/// let peaks = PeakFeatures { source: PeakSource::Peaks, bin: 0.01, shift: 0.0, power: 0.5, min_spectra: 1, ppm: None };
/// let rows = FittedPeaks::fit(&[peaks], &spectra)?.rows(&spectra)?;
/// assert_eq!((rows.width(), rows.row(1)), (2, (&[0][..], &[1.0][..])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedPeaks {
    blocks: Vec<FittedBlock>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FittedBlock {
    features: PeakFeatures,
    /// The bins that are columns, ascending; formulas have their hashes.
    bins: Vec<u64>,
}

impl FittedPeaks {
    /// Creates the bins of blocks that enough spectra have, which are given as their [texts](Spectrum) and read some at
    /// a time.
    ///
    /// # Errors
    /// A text that is not a spectrum, or lacks what is counted; [`Error::Value`] where no bin is in enough spectra.
    pub fn fit<S: AsRef<str> + Sync>(
        blocks: &[PeakFeatures],
        spectra: &[S],
    ) -> Result<Self, Error> {
        let mut counts = vec![HashMap::<u64, usize>::new(); blocks.len()];
        for some in spectra.chunks(AT_ONCE) {
            let bins = |one: &Spectrum| {
                let keys = |block: &PeakFeatures| Ok(block.bins(one)?.into_keys().collect());
                blocks.iter().map(keys).collect::<Result<Vec<Vec<u64>>, Error>>()
            };
            let bins_of_spectra = each(some, bins)?;
            for (at, counts) in counts.iter_mut().enumerate() {
                let mut all: Vec<u64> = bins_of_spectra
                    .iter()
                    .flat_map(|bins_of_spectrum| &bins_of_spectrum[at])
                    .copied()
                    .collect();
                all.par_sort_unstable();
                let runs = all.chunk_by(|a, b| a == b);
                runs.for_each(|run| *counts.entry(run[0]).or_insert(0) += run.len());
            }
        }
        let block = |(features, counts): (&PeakFeatures, HashMap<u64, usize>)| {
            let common = counts.into_iter().filter(|&(_, count)| count >= features.min_spectra);
            let mut bins: Vec<u64> = common.map(|(bin, _)| bin).collect();
            bins.sort_unstable();
            FittedBlock { features: features.clone(), bins }
        };
        let fitted = Self { blocks: blocks.iter().zip(counts).map(block).collect() };
        let found = format!("no bin of {} spectra", spectra.len());
        Error::ensure(
            fitted.width() > 0,
            "the features of spectra",
            found,
            "a lower min_spectra, or wider bins",
        )?;
        Ok(fitted)
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.blocks.iter().map(|block| block.bins.len()).sum()
    }

    /// Returns the row of a spectrum; empty where none of its bins is a column.
    ///
    /// # Errors
    /// A spectrum without the formula that subformulas need.
    pub fn transform(&self, spectrum: &Spectrum) -> Result<SparseRow, Error> {
        let mut row = SparseRow::new();
        let mut first = 0;
        for FittedBlock { features, bins } in &self.blocks {
            let column = |(bin, value): (u64, f64)| Some((bins.binary_search(&bin).ok()?, value));
            let block_row: Vec<(usize, f64)> =
                features.bins(spectrum)?.into_iter().filter_map(column).collect();
            let norm = block_row.iter().map(|(_, value)| value * value).sum::<f64>().sqrt();
            row.extend(
                block_row.iter().map(|&(at, value)| (first + at as u32, (value / norm) as f32)),
            );
            first += bins.len() as u32;
        }
        Ok(row)
    }

    /// Returns the rows of spectra, which are given as their [texts](Spectrum) and read some at a time.
    ///
    /// # Errors
    /// A text that is not a spectrum; more bins than 32 bits number.
    pub fn rows<S: AsRef<str> + Sync>(&self, spectra: &[S]) -> Result<SparseRows, Error> {
        let mut wrong = None;
        let some = spectra.chunks(AT_ONCE).map_while(|some| {
            let rows = each(some, |one| self.transform(one));
            rows.map_err(|error| wrong = Some(error)).ok()
        });
        let rows = SparseRows::from_rows(self.width(), some.flatten());
        wrong.map_or(rows, Err)
    }
}

/// Spectra that are read at a time.
const AT_ONCE: usize = 4096;

/// Returns the value of `value_of` for each spectrum, in parallel. If some texts are no spectra, the error is about the
/// first of them.
fn each<T: Send, S: AsRef<str> + Sync>(
    spectra: &[S],
    value_of: impl Fn(&Spectrum) -> Result<T, Error> + Sync + Send,
) -> Result<Vec<T>, Error> {
    let read = |text: &S| value_of(&text.as_ref().parse()?);
    // a parallel collection into a `Result` would give any thread's error
    let all: Vec<Result<T, Error>> = spectra.par_iter().map(read).collect();
    all.into_iter().collect()
}
