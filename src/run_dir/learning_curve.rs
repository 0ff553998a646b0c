//! Learning curves, made of the logs of runs.

use std::fs;
use std::path::{Path, PathBuf};

use dsokr_train::LogLine;

use super::log::LoggedLine;
use super::{MEMBERS, RunDir};
use crate::error::Error;
use crate::metrics::scores::Scores;

/// Loss and validation metric of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct LearningCurve {
    /// The name of the run's folder.
    pub name: String,
    /// The metric, as `evaluation.metric` names it.
    pub metric: String,
    /// A point an evaluation.
    pub points: Vec<LearningPoint>,
}

/// The state of a training after an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearningPoint {
    /// Epochs done, in parts of an epoch.
    pub epoch: f64,
    /// Mean of the loss since the evaluation before.
    pub loss: f64,
    /// The metric on the validation split; none where it is not known or infinite.
    pub value: Option<f64>,
}

impl LearningCurve {
    /// Returns the curves of the run at `path`, or of an ensemble's members.
    /// Models without epochs, such as kernel machines, have none.
    ///
    /// # Errors
    /// A configuration or `log.jsonl` that cannot be read.
    pub fn read(path: &Path) -> Result<Vec<Self>, Error> {
        let mut curves = Vec::new();
        for folder in with_members(path) {
            let run = RunDir::at(&folder);
            let Some(lines) = run.log()?.filter(|lines| !lines.is_empty()) else { continue };
            let metric = run.config()?.evaluation.metric;
            let point = |line: &LogLine<Scores>| {
                let value = Some(metric.value(&line.metrics)).filter(|value| value.is_finite());
                LearningPoint { epoch: line.epoch, loss: line.loss, value }
            };
            let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
            curves.push(Self {
                name: name.into_owned(),
                metric: metric.to_string(),
                points: lines.iter().map(point).collect(),
            });
        }
        Ok(curves)
    }
}

/// Returns the folder of a run, and those of an ensemble's members.
fn with_members(path: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = vec![path.into()];
    if let Ok(members) = fs::read_dir(path.join(MEMBERS)) {
        // locks and unfinished folders of members are hidden
        let is_member =
            |member: &fs::DirEntry| !member.file_name().as_encoded_bytes().starts_with(b".");
        folders.extend(members.flatten().filter(is_member).map(|member| member.path()));
        folders.sort();
    }
    folders
}

impl RunDir {
    /// Returns the seconds that the logs say training or the fit has taken, of an ensemble that of its members; 0 where
    /// nothing is logged.
    ///
    /// # Errors
    /// A `log.jsonl` that cannot be read.
    pub(crate) fn logged_seconds(&self) -> Result<f64, Error> {
        let mut seconds = 0.0;
        for folder in with_members(self.path()) {
            let lines = Self::at(&folder).lines()?.unwrap_or_default();
            let times: Vec<f64> = lines.iter().map(LoggedLine::seconds).collect();
            // a training that was resumed counts from 0 again
            let ends = times.windows(2).filter(|pair| pair[1] < pair[0]);
            seconds += ends.map(|pair| pair[0]).sum::<f64>();
            seconds += times.last().copied().unwrap_or_default();
        }
        Ok(seconds)
    }
}
