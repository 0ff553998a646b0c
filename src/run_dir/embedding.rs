use std::path::Path;

use serde::{Deserialize, Serialize};

use super::fingerprints;
use super::place::read_optional;
use crate::Error;

const FILE: &str = "embedding.json";

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
        let file = run.join(FILE);
        let Some(text) = read_optional(&file)? else { return Ok(None) };
        let parsed = serde_json::from_str(&text);
        parsed.map(Some).map_err(|e| Error::Run { path: file, message: e.to_string() })
    }

    /// Writes it into the run at `run`.
    pub(crate) fn save(&self, run: &Path) -> Result<(), Error> {
        let text =
            serde_json::to_string_pretty(self).map_err(|e| Error::Serialise(e.to_string()))?;
        fingerprints::replace(run, FILE, &format!("{text}\n"))
    }
}
