use std::path::Path;

use serde::{Deserialize, Serialize};

use super::fingerprints;
use crate::Error;
use crate::run_files::{EMBEDDING, read_json};

/// The figure of each rank, c and λ on the validation split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmbeddingCurve {
    /// The figure, as `evaluation.metric` names it.
    pub metric: String,
    /// Whether a larger figure is a better one.
    pub larger_is_better: bool,
    /// All embeddings that were tried.
    pub points: Vec<EmbeddingPoint>,
    /// The best of them.
    pub chosen: EmbeddingPoint,
}

/// One embedding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmbeddingPoint {
    /// λ of the regression.
    pub lambda: f64,
    /// c, the share of predictions beside outputs without pairs.
    pub supervised: f64,
    /// The rank.
    pub rank: usize,
    /// The figure on the validation split.
    pub value: f64,
}

impl EmbeddingCurve {
    /// The curve of the run at `run`; none where no embedding was chosen there.
    ///
    /// # Errors
    /// A file that cannot be read, or is not such a curve.
    pub fn read(run: &Path) -> Result<Option<Self>, Error> {
        read_json(&run.join(EMBEDDING))
    }

    /// Writes it into the run at `run`.
    pub(crate) fn save(&self, run: &Path) -> Result<(), Error> {
        fingerprints::replace_json(run, EMBEDDING, self)
    }
}
