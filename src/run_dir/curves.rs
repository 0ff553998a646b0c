//! Curves that a run keeps: those of its training, and that of the choice of a learned embedding.

use std::fs;
use std::path::{Path, PathBuf};

use dsokr_train::LogLine;
use serde::{Deserialize, Serialize};

use super::Folder;
use super::files::{EMBEDDING, MEMBERS, read_json, replace_json};
use crate::{Error, Scores};

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
        replace_json(run, EMBEDDING, self)
    }
}

/// Loss and validation metric of a training, a value an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct LearningCurve {
    /// The metric, as `evaluation.metric` names it.
    pub metric: String,
    /// Epochs done, in parts of an epoch.
    pub epochs: Vec<f64>,
    /// Mean of the loss since the evaluation before.
    pub loss: Vec<f64>,
    /// The metric on the validation split; none where it is not known or infinite.
    pub values: Vec<Option<f64>>,
}

impl LearningCurve {
    /// The curves of the run at `path`, or of an ensemble's members, each with the name of its folder.
    /// Models without epochs, such as kernel machines, have none.
    ///
    /// # Errors
    /// A configuration or `log.jsonl` that cannot be read.
    pub fn read(path: &Path) -> Result<Vec<(String, Self)>, Error> {
        let mut folders: Vec<PathBuf> = vec![path.into()];
        if let Ok(members) = fs::read_dir(path.join(MEMBERS)) {
            folders.extend(members.flatten().map(|member| member.path()));
            folders.sort();
        }
        let mut curves = Vec::new();
        for folder in folders {
            let Some(lines) = Folder::log(&folder)? else { continue };
            let Some(last) = lines.last() else { continue };
            // the log counts whole epochs; an evaluation within one lies between
            let steps = last.step as f64 / last.epoch.max(1) as f64;
            let metric = Folder::config(&folder)?.evaluation.metric;
            let value = |line: &LogLine<Scores>| {
                Some(metric.value(&line.metrics)).filter(|value| value.is_finite())
            };
            let name = folder.file_name().unwrap_or(folder.as_os_str());
            let curve = Self {
                metric: metric.to_string(),
                epochs: lines.iter().map(|line| line.step as f64 / steps.max(1.0)).collect(),
                loss: lines.iter().map(|line| line.loss).collect(),
                values: lines.iter().map(value).collect(),
            };
            curves.push((name.to_string_lossy().into_owned(), curve));
        }
        Ok(curves)
    }
}
