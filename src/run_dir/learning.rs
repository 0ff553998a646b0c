use std::fs;
use std::path::{Path, PathBuf};

use dsokr_train::LogLine;

use super::Folder;
use crate::run_files::MEMBERS;
use crate::{Error, Scores};

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
            let curve = Self::of_run(&folder)?;
            let name = folder.file_name().unwrap_or(folder.as_os_str());
            curves.extend(curve.map(|curve| (name.to_string_lossy().into_owned(), curve)));
        }
        Ok(curves)
    }

    fn of_run(folder: &Path) -> Result<Option<Self>, Error> {
        let Some(lines) = Folder::log(folder)? else { return Ok(None) };
        let Some(last) = lines.last() else { return Ok(None) };
        // the log counts whole epochs; an evaluation within one lies between
        let steps = last.step as f64 / last.epoch.max(1) as f64;
        let metric = Folder::config(folder)?.evaluation.metric;
        let value = |line: &LogLine<Scores>| {
            Some(metric.value(&line.metrics)).filter(|value| value.is_finite())
        };
        Ok(Some(Self {
            metric: metric.to_string(),
            epochs: lines.iter().map(|line| line.step as f64 / steps.max(1.0)).collect(),
            loss: lines.iter().map(|line| line.loss).collect(),
            values: lines.iter().map(value).collect(),
        }))
    }
}
