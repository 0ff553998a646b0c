//! What a molecule's fragments explain of a spectrum, and how usual they are.

use std::collections::HashMap;

use dsokr_molecule::Molecule;
use dsokr_spectra::{PeakExplainer, Spectrum};

use super::library::{LibraryIndex, Nearest, all_atoms, lines};
use super::parts::{ROUNDS, codes};

/// The largest costs of fragments whose share is a number each.
const DEPTHS: [f64; 3] = [1.0, 2.0, 3.0];

/// What is added to how often a part explains a line, and to how often the line is seen.
const PART: f64 = 0.05;
const LINE: f64 = 1.0;

/// The parts that explain the lines of a spectrum in training spectra.
///
/// For a line (a peak, or a neutral loss) that n training spectra have within the tolerance, `n_h` of which as part h of their
/// molecule, the part h of a candidate counts `ln((n_h + 0.05) / (n + 1))`; a peak without a fragment is a part of its own. The
/// numbers are means over the peaks with weights √(intensity · m/z), of the parts by their elements and by their bonds. Among
/// similar spectra a spectrum counts its similarity, and a part counts `(n_h + 0.05) / (n + 1)`.
pub(super) struct Statistics {
    /// The lines that are peaks, and those that are neutral losses, each with what it is in training spectra.
    lines: [Vec<LineStatistics>; 2],
    /// The weight of each peak; their sum is 1.
    weights: Vec<f64>,
}

#[derive(Default)]
struct LineStatistics {
    /// Spectra with such a line: all, and the similarities of the nearest.
    seen: [f64; 2],
    /// Spectra with such a line by the part that it is: all, and the similarities of the nearest.
    parts: [HashMap<Option<u64>, [f64; 2]>; ROUNDS.len()],
}

impl Statistics {
    pub fn new(index: &LibraryIndex, spectrum: &Spectrum, nearest: &[Nearest]) -> Self {
        let similarity: HashMap<usize, f64> =
            nearest.iter().map(|near| (near.spectrum, near.similarity)).collect();
        let mut kinds = lines(spectrum);
        let all = std::array::from_fn(|kind| {
            let lines = kinds[kind].iter().zip(spectrum.peaks());
            let statistics = lines.map(|(line, peak)| {
                let mut statistics = LineStatistics::default();
                for (other, at) in index.near(kind, line.mass, peak.mz) {
                    let counts = [1.0, similarity.get(at).copied().unwrap_or(0.0)];
                    add(&mut statistics.seen, counts);
                    for (round, parts) in statistics.parts.iter_mut().enumerate() {
                        let part = other.part.map(|part| part[round]);
                        add(parts.entry(part).or_default(), counts);
                    }
                }
                statistics
            });
            statistics.collect::<Vec<_>>()
        });
        let weights = std::mem::take(&mut kinds[0]);
        let total: f64 = weights.iter().map(|line| line.weight).sum();
        Self { lines: all, weights: weights.iter().map(|line| line.weight / total).collect() }
    }

    /// Returns how usual the parts of a candidate are, `parts[kind]` for each peak: of each kind of lines and each of the
    /// rounds among all spectra, and among similar ones.
    fn of(&self, parts: &[Vec<Option<[u64; ROUNDS.len()]>>; 2]) -> [f64; USUAL] {
        let mut numbers = [0.0; USUAL];
        for (kind, lines) in self.lines.iter().enumerate() {
            for ((line, part), weight) in lines.iter().zip(&parts[kind]).zip(&self.weights) {
                for round in 0..ROUNDS.len() {
                    let part = part.map(|part| part[round]);
                    let counts = line.parts[round].get(&part).copied().unwrap_or_default();
                    let share = |of: usize| (counts[of] + PART) / (line.seen[of] + LINE);
                    let at = 2 * (kind * ROUNDS.len() + round);
                    numbers[at] += weight * share(0).ln();
                    numbers[at + 1] += weight * share(1);
                }
            }
        }
        numbers
    }
}

fn add(sums: &mut [f64; 2], counts: [f64; 2]) {
    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}

/// Numbers of how usual the parts of a candidate are.
const USUAL: usize = 2 * 2 * ROUNDS.len();

/// The numbers of a candidate's fragments.
pub(super) struct Profile {
    pub numbers: [f64; Self::LEN],
}

impl Profile {
    /// How many numbers there are.
    pub const LEN: usize = 3 + DEPTHS.len() + USUAL;

    /// Explains the spectrum by the molecule with a label; none where it cannot be broken.
    pub fn new(
        explainer: &PeakExplainer,
        statistics: &Statistics,
        spectrum: &Spectrum,
        label: &str,
    ) -> Option<Self> {
        let molecule = Molecule::parse(label).ok()?;
        let explanation = explainer.explain(&molecule)?;
        let count = spectrum.peaks().len();
        let mut parts = [vec![None; count], vec![None; count]];
        let mut numbers = [0.0; Self::LEN];
        numbers[0] = explanation.score / explainer.largest_score();
        numbers[1] = explanation.peaks.len() as f64 / count as f64;
        let all = all_atoms(&molecule);
        for peak in &explanation.peaks {
            let weight = statistics.weights[peak.peak];
            numbers[2] += weight;
            for (number, depth) in numbers[3..].iter_mut().zip(DEPTHS) {
                *number += if peak.cost <= depth { weight } else { 0.0 };
            }
            parts[0][peak.peak] = Some(codes(&molecule, peak.set));
            parts[1][peak.peak] = Some(codes(&molecule, all & !peak.set));
        }
        numbers[3 + DEPTHS.len()..].copy_from_slice(&statistics.of(&parts));
        Some(Self { numbers })
    }

    /// Returns the least value of each number of some candidates, 0 where there are none.
    pub fn least(profiles: &[Option<Self>]) -> [f64; Self::LEN] {
        let mut least = [0.0; Self::LEN];
        for (at, least) in least.iter_mut().enumerate() {
            let values = profiles.iter().flatten().map(|profile| profile.numbers[at]);
            *least = values.reduce(f64::min).unwrap_or(0.0);
        }
        least
    }
}
