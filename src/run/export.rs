//! A run as files that other programs load.

use std::fs;
use std::path::Path;

use dsokr_basis::store::write_atomically;
use dsokr_data::{write_matrix, write_vector};
use dsokr_decode::CandidateBlocks;

use super::{Run, is_run, tables};
use crate::Error;

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
    /// # Errors
    /// A run whose encoder was not read from a pretrained folder; [`Error::Run`] for a folder that is a
    /// run directory, whose files would be replaced; errors of the file system.
    pub fn export(&self, folder: &Path) -> Result<(), Error> {
        refuse_run(folder)?;
        self.predictor.export(folder, self.config.decoding.unit_length())?;
        self.write_candidates(folder)
    }

    /// Writes the candidates of a run of any encoder for programs that search by Euclidean distance: the files of
    /// candidates of [`export`](Self::export), and `candidates-l2.npy`, 32-bit numbers `[candidates, p + 1]`. Its
    /// rows are `x(c) = (ψ̃(c), √(C − 2 b(c) − ‖ψ̃(c)‖²))` with C the largest `2 b(c) + ‖ψ̃(c)‖²`, so that
    /// `‖x(c) − (z, 0)‖² = C + ‖z‖² − 2 (⟨z, ψ̃(c)⟩ + b(c))`: the rows nearest to `(z, 0)` are the candidates with
    /// the largest scores (Bachrach et al., Speeding Up the Xbox Recommender System Using a Euclidean Transformation
    /// for Inner-Product Spaces, RecSys 2014).
    ///
    /// # Errors
    /// [`Error::Run`] for a folder that is a run directory; errors of the file system.
    pub fn export_candidates(&self, folder: &Path) -> Result<(), Error> {
        refuse_run(folder)?;
        fs::create_dir_all(folder)
            .map_err(|e| Error::Io { path: folder.into(), message: e.to_string() })?;
        self.write_candidates(folder)?;
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
        write_matrix(&folder.join("candidates-l2.npy"), (known.len(), p + 1), || {
            candidates.next().map(vector).transpose()
        })
    }

    fn write_candidates(&self, folder: &Path) -> Result<(), Error> {
        let (known, p) = (&self.candidates, self.candidates.dim());
        let row = |candidate: usize| known.class_of(candidate) as usize;
        let mut candidates = 0..known.len();
        write_matrix(&folder.join("candidates.npy"), (known.len(), p), || {
            let coordinates = |candidate| Ok::<_, Error>(known.point(row(candidate))?.into_owned());
            candidates.next().map(coordinates).transpose()
        })?;
        let constants = (0..known.len()).map(|candidate| known.constants()[row(candidate)]);
        write_vector(&folder.join("constants.npy"), &constants.collect::<Vec<f32>>())?;
        Ok(write_atomically(&folder.join("candidates.tsv"), |file| {
            writeln!(file, "id\tlabel")?;
            (0..known.len()).try_for_each(|candidate| {
                let (id, label) =
                    (tables::cell(known.id(candidate)), tables::cell(known.label(candidate)));
                writeln!(file, "{id}\t{label}")
            })
        })?)
    }
}

fn refuse_run(folder: &Path) -> Result<(), Error> {
    if is_run(folder) {
        let message = "a run directory, whose files would be replaced; allowed is any other folder";
        return Err(Error::Run { path: folder.into(), message: message.into() });
    }
    Ok(())
}
