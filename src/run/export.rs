//! A run as files that other programs load.

use std::path::Path;

use dsokr_basis::store::write_atomically;
use dsokr_data::{write_matrix, write_vector};
use dsokr_decode::CandidateBlocks;
use dsokr_nn::pretrained::is_exported;

use super::{OutputFolder, Run};
use crate::Error;
use crate::table::tsv_line;

const POINTS: &str = "candidates.npy";
const VECTORS: &str = "candidates-l2.npy";
const CONSTANTS: &str = "constants.npy";
/// Every export has this file.
const TABLE: &str = "candidates.tsv";

/// The folder of an export. One without the table of candidates is none, and may be where an encoder was read from.
fn output(folder: &Path) -> OutputFolder<'static> {
    let is_own: fn(&str) -> bool = match folder.join(TABLE).exists() {
        true => |name| [POINTS, VECTORS, CONSTANTS, TABLE].contains(&name) || is_exported(name),
        false => |_| false,
    };
    OutputFolder { key: "the argument out", holds: "an earlier export only", is_own }
}

impl Run {
    /// Writes a fine-tuned encoder as a folder that the Python libraries transformers and
    /// sentence-transformers load, and the candidates beside it.
    ///
    /// | file | holds |
    /// |---|---|
    /// | `config.json`, `tokenizer.json`, `model.safetensors`, … | the encoder without its head: `AutoModel.from_pretrained`, `AutoTokenizer.from_pretrained` |
    /// | `modules.json`, `1_Pooling/`, `2_Dense/`, … | pooling and head: `SentenceTransformer(folder).encode(texts)` returns the coordinates z, scaled to unit length where the run scales them |
    /// | `candidates.npy` | ψ̃(c), 32-bit numbers `[candidates, p]` |
    /// | `constants.npy` | b(c), 32-bit numbers `[candidates]` |
    /// | `candidates.tsv` | `id` and `label` of each row; tabs and line breaks are replaced by spaces |
    ///
    /// The score of candidate c is `⟨z, ψ̃(c)⟩ + b(c)`. A tempered kernel and a correction for hubs are
    /// parts of ψ̃ and b.
    ///
    /// The folder appears as a whole, in the place of an earlier export.
    ///
    /// # Errors
    /// A run whose encoder was not read from a pretrained folder; [`Error::Value`] for a folder in a run directory,
    /// and for one that holds anything but an earlier export; errors of the file system.
    pub fn export(&self, folder: &Path) -> Result<(), Error> {
        let output = output(folder);
        output.check(folder)?;
        output.write(folder, |here| {
            self.predictor.export(here, self.config.decoding.unit_length())?;
            self.write_candidates(here)
        })
    }

    /// Writes the candidates of a run of any encoder for programs that search by Euclidean distance: the files of
    /// candidates of [`export`](Self::export), and `candidates-l2.npy`, 32-bit numbers `[candidates, p + 1]`. Its
    /// rows are `x(c) = (ψ̃(c), √(C − 2 b(c) − ‖ψ̃(c)‖²))` with C the largest `2 b(c) + ‖ψ̃(c)‖²`, so that
    /// `‖x(c) − (z, 0)‖² = C + ‖z‖² − 2 (⟨z, ψ̃(c)⟩ + b(c))`: the rows nearest to `(z, 0)` are the candidates with
    /// the largest scores (Bachrach et al., Speeding Up the Xbox Recommender System Using a Euclidean Transformation
    /// for Inner-Product Spaces, RecSys 2014).
    ///
    /// # Errors
    /// As [`export`](Self::export) of the folder.
    pub fn export_candidates(&self, folder: &Path) -> Result<(), Error> {
        let output = output(folder);
        output.check(folder)?;
        output.write(folder, |here| {
            self.write_candidates(here)?;
            self.write_vectors(here)
        })
    }

    /// Writes `candidates-l2.npy`.
    fn write_vectors(&self, folder: &Path) -> Result<(), Error> {
        let (known, p) = (&self.candidates, self.candidates.dim());
        let sum = |(row, &constant): (usize, &f32)| {
            let square: f64 = known.point(row)?.iter().map(|&v| f64::from(v).powi(2)).sum();
            Ok(2.0 * f64::from(constant) + square)
        };
        let sums = known.constants().iter().enumerate().map(sum);
        let sums = sums.collect::<Result<Vec<f64>, Error>>()?;
        let most = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let vector = |candidate| {
            let row = known.class_of(candidate) as usize;
            let mut vector = known.point(row)?.into_owned();
            vector.push((most - sums[row]).sqrt() as f32);
            Ok::<_, Error>(vector)
        };
        let mut candidates = 0..known.len();
        write_matrix(&folder.join(VECTORS), (known.len(), p + 1), || {
            candidates.next().map(vector).transpose()
        })
    }

    fn write_candidates(&self, folder: &Path) -> Result<(), Error> {
        let (known, p) = (&self.candidates, self.candidates.dim());
        let row = |candidate: usize| known.class_of(candidate) as usize;
        let mut candidates = 0..known.len();
        write_matrix(&folder.join(POINTS), (known.len(), p), || {
            let coordinates = |candidate| Ok::<_, Error>(known.point(row(candidate))?.into_owned());
            candidates.next().map(coordinates).transpose()
        })?;
        let constants = (0..known.len()).map(|candidate| known.constants()[row(candidate)]);
        write_vector(&folder.join(CONSTANTS), &constants.collect::<Vec<f32>>())?;
        Ok(write_atomically(&folder.join(TABLE), |file| {
            writeln!(file, "id\tlabel")?;
            (0..known.len()).try_for_each(|candidate| {
                write!(file, "{}", tsv_line(&[known.id(candidate), known.label(candidate)]))
            })
        })?)
    }
}
