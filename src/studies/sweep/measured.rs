//! Whether the runs of a sweep are measured on the same queries.

use std::path::{Path, PathBuf};

use dsokr_data::SplitName;
use dsokr_data::config::{DataConfig, DataSource, SplitsConfig};

use crate::config::Checked;
use crate::error::Error;
use crate::run_dir::{MeasuredOn, Record};

/// The complete runs, with what they are measured on as far as they say it.
#[derive(Default)]
pub(super) struct MeasuredRuns(Vec<MeasuredRun>);

struct MeasuredRun {
    path: PathBuf,
    config: Checked,
    measured_on: MeasuredOn,
}

impl MeasuredRun {
    /// What this run is known to be measured on otherwise than one before; none where they have read the same files, as far
    /// as is known.
    fn difference(&self, before: &Self) -> Option<&'static str> {
        if !read_the_same(&before.config, &self.config) {
            return None;
        }
        self.measured_on
            .difference(&before.measured_on, same_features(&self.config, &before.config))
    }
}

impl MeasuredRuns {
    /// Adds a run, if it is complete.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] where an earlier one has read the same files as they were before they changed.
    pub fn add(&mut self, path: &Path, config: &Checked) -> Result<(), Error> {
        let Some(Record { measured_on, .. }) = Record::read(path)? else { return Ok(()) };
        let run = MeasuredRun { path: path.to_path_buf(), config: config.clone(), measured_on };
        let mut others = self.0.iter();
        let other = others.find_map(|other| Some((other, run.difference(other)?)));
        if let Some((other, difference)) = other {
            let remedy = match config.evaluation.split {
                SplitName::Test => {
                    "remove metrics.json of the runs that were measured before, and the same command measures them anew"
                }
                // which a run that is resumed must have as it was
                SplitName::Train | SplitName::Validation => {
                    "choose a different folder with --out, or remove the runs that were measured before"
                }
            };
            let message = format!(
                "it is measured on {difference} than {}: the files have changed; {remedy}",
                other.path.display()
            );
            return Err(Error::run(path, message));
        }
        self.0.push(run);
        Ok(())
    }
}

/// Whether two configurations have the same queries and lists as long as their files do not change.
fn read_the_same(a: &Checked, b: &Checked) -> bool {
    // these change the training pairs only, and where candidates are the training outputs these too
    let limit = |config: &Checked| config.data.limit.filter(|_| config.output.only_training);
    let data = |config: &Checked| DataConfig { limit: None, corrupted: 0.0, ..config.data.clone() };
    let outputs = |config: &Checked| {
        let output = &config.output;
        (output.table.clone(), output.id.clone(), output.label.clone(), output.candidate.clone())
    };
    limit(a) == limit(b)
        && data(a) == data(b)
        && outputs(a) == outputs(b)
        && a.output.only_training == b.output.only_training
        && (a.seed == b.seed || !draws_queries(a))
}

/// Whether two configurations make the same features of outputs: rows that have none may be skipped, and right outputs are
/// what the features are made of.
fn same_features(a: &Checked, b: &Checked) -> bool {
    let summands = |config: &Checked| {
        config.output.kernels.iter().map(|kernel| kernel.features.clone()).collect::<Vec<_>>()
    };
    a.output.features == b.output.features && summands(a) == summands(b)
}

/// Whether queries, or their candidates, are drawn by the configuration's seed.
fn draws_queries(config: &Checked) -> bool {
    let facts = config.data.facts();
    let limits_candidates = config.output.only_training && config.data.limit.is_some();
    limits_candidates
        || matches!(config.data.source, DataSource::Synthetic(_))
        || facts.splits.is_some_and(SplitsConfig::are_drawn_by_configuration)
        || facts.texts.is_some_and(|texts| texts.more_smiles > 0)
}
