//! What a run keeps of its fit: a line an evaluation, scalars for TensorBoard, and curves.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use dsokr_basis::store::read_text;
use dsokr_train::LogLine;
use serde::{Deserialize, Serialize};

use super::folder::Folder;
use super::{EMBEDDING, LOG, MEMBERS, read_json, read_optional, replace_json, write_text};
use crate::{Error, Metric, Scores};

impl Folder {
    /// The lines of `log.jsonl` of the run at `path`, without an unfinished last one; none where there is no log.
    pub(crate) fn log(path: &Path) -> Result<Option<Vec<LogLine<Scores>>>, Error> {
        let file = path.join(LOG);
        let Some(text) = read_optional(&file)? else { return Ok(None) };
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let lines = whole.map(serde_json::from_str).collect::<Result<_, _>>();
        lines.map(Some).map_err(|e| Error::run(file, e.to_string()))
    }

    /// Writes a line of the log, and its scalars.
    pub(super) fn append(&mut self, line: &LogLine<Scores>) -> Result<(), Error> {
        let (file, text) = (self.path().join(LOG), serde_json::to_string(line)? + "\n");
        let out = OpenOptions::new().append(true).create(true).open(&file);
        // one write: a kill leaves a whole line or a torn last one, which `rewind_log` drops
        out.and_then(|mut out| out.write_all(text.as_bytes()).and_then(|()| out.sync_data()))
            .map_err(Error::io(&file))?;
        let of_training = [
            ("training/loss", line.loss),
            ("training/learning_rate", line.learning_rate),
            ("training/pairs_per_second", line.pairs_per_second),
        ];
        let of_training = of_training.map(|(tag, value)| (tag.to_owned(), value));
        let values = of_training.into_iter().chain(validation_scalars(&line.metrics));
        self.scalars(line.step, &values.collect::<Vec<_>>())
    }

    /// Removes the log lines after `step`, which a resumed training writes again, and an unfinished
    /// last line; the same for TensorBoard.
    pub(crate) fn rewind_log(&mut self, step: u64) -> Result<(), Error> {
        if let Some(events) = &mut self.events {
            events.resume(step);
        }
        let file = self.path().join(LOG);
        let text = read_text(&file).map_err(|e| Error::reading(&file, &e))?;
        let parsed = |line: &str| serde_json::from_str::<LogLine<Scores>>(line);
        let kept = text.lines().filter(|line| parsed(line).is_ok_and(|line| line.step <= step));
        write_text(&file, &kept.flat_map(|line| [line, "\n"]).collect::<String>())
    }

    /// Writes scalars for TensorBoard, if they are wanted.
    pub(crate) fn scalars(&mut self, step: u64, values: &[(String, f64)]) -> Result<(), Error> {
        self.events.as_mut().map_or(Ok(()), |events| events.scalars(step, values))
    }
}

/// The metrics of the validation split as scalars.
pub(crate) fn validation_scalars(scores: &Scores) -> impl Iterator<Item = (String, f64)> {
    Metric::known_of(scores).map(|(metric, value)| (format!("validation/{}", metric.name()), value))
}

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
