//! Whether the runs of a sweep are measured on the same queries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_data::config::{DataConfig, DataSource, InputsConfig, OnBadRow, SplitsConfig};
use dsokr_data::{DataRoot, SplitName};

use crate::config::Checked;
use crate::error::Error;
use crate::run_dir::{LearnedFrom, MeasuredOn, Record, changed_tables};

/// The complete runs, with what they are measured on.
#[derive(Default)]
pub(super) struct MeasuredRuns {
    runs: Vec<MeasuredRun>,
    undecided: Option<String>,
}

/// A complete run, with what it is measured on.
pub(super) struct MeasuredRun {
    pub path: PathBuf,
    /// Whether its metrics, or the one that chooses, are of ranks among the candidates.
    is_ranked: bool,
    config: Checked,
    pub measured_on: MeasuredOn,
    pub learned_from: LearnedFrom,
    /// When it was measured, in texts of one width.
    date: String,
}

impl MeasuredRun {
    /// Returns the run at a path; none where it is not complete.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn read(path: &Path, config: &Checked) -> Result<Option<Self>, Error> {
        let record = Record::read(path)?;
        Ok(record.map(|Record { measured_on, learned_from, report, date, .. }| Self {
            path: path.to_path_buf(),
            is_ranked: report.metrics.has_ranks() || config.evaluation.metric.is_of_ranks(),
            config: config.clone(),
            measured_on,
            learned_from,
            date,
        }))
    }

    /// Returns what this run is known to be measured on otherwise than another one, in words; none where nothing is known to
    /// differ. Queries are compared where both runs read the same of them, candidates where both are ranked among them and the
    /// features of outputs leave out no rows, or the same ones, and right outputs where both have the same features.
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let [ours, theirs] = [&self.measured_on, &other.measured_on];
        let configs = [&self.config, &other.config];
        if ours.queries != theirs.queries && same_inputs(configs) {
            return Some("other queries, or other lists of candidates,");
        }
        let skips = |config: &Checked| config.data.on_bad_row != OnBadRow::Stop;
        if let (Some(ours), Some(theirs)) = (&ours.candidates, &theirs.candidates)
            && self.is_ranked
            && other.is_ranked
            && ours.differ(theirs)
            && (!configs.into_iter().any(skips) || same_features(configs))
        {
            return Some("other candidates");
        }
        let are_known = ours.right_outputs.is_some() && theirs.right_outputs.is_some();
        let outputs_differ = are_known && ours.right_outputs != theirs.right_outputs;
        (outputs_differ && same_features(configs)).then_some("other right outputs")
    }

    /// Returns a table that this run has learned from, and that has another checksum in `tables`, which are those of `config`.
    fn other_table(&self, config: &Checked, tables: &BTreeMap<String, String>) -> Option<&str> {
        let folder = |config: &Checked| config.data.facts().folder.to_owned();
        if folder(&self.config) != folder(config) {
            return None;
        }
        changed_tables(&self.learned_from.tables, tables).next()
    }
}

impl MeasuredRuns {
    /// Adds a run, if it is complete.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] where an earlier one has read the same files as they were before they changed, whatever the
    /// seeds of both drew from these.
    pub fn add(&mut self, path: &Path, config: &Checked) -> Result<(), Error> {
        let Some(run) = MeasuredRun::read(path, config)? else { return Ok(()) };
        for other in &self.runs {
            // first, since such a run cannot be measured anew
            if let Some(table) = other.other_table(config, &run.learned_from.tables) {
                let later = if run.date < other.date { &other.path } else { &run.path };
                let message = format!(
                    "it has learned from another {table} than {}: the file has changed; choose a different folder with {}, or \
                     remove {}, which was trained later, or the runs that were trained before",
                    other.path.display(),
                    Argument::new("out"),
                    later.display()
                );
                return Err(Error::run(path, message));
            }
            let difference = run.difference(other);
            if let Some(difference) = difference
                && read_the_same(&other.config, config)
            {
                let remedy = match config.evaluation.split {
                    SplitName::Test => {
                        "remove metrics.json of the runs that were measured before, and the same command measures them anew"
                            .to_owned()
                    }
                    // a run that is resumed must have these pairs as they were
                    SplitName::Train | SplitName::Validation => format!(
                        "choose a different folder with {}, or remove the runs that were measured before",
                        Argument::new("out")
                    ),
                };
                let message = format!(
                    "it is measured on {difference} than {}: the files have changed; {remedy}",
                    other.path.display()
                );
                return Err(Error::run(path, message));
            }
            if let Some(difference) = difference
                && self.undecided.is_none()
                && repeat(&other.config) == repeat(config)
            {
                let [run, other] = [path, &other.path].map(Path::display);
                self.undecided = Some(format!("{run} is measured on {difference} than {other}"));
            }
        }
        self.runs.push(run);
        Ok(())
    }

    /// Refuses the training of a run from tables that have changed since another run has learned from them.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] of the run that would be trained.
    pub fn check_tables(
        &self,
        path: &Path,
        config: &Checked,
        root: &DataRoot,
    ) -> Result<(), Error> {
        if self.runs.iter().all(|run| run.learned_from.tables.is_empty()) {
            return Ok(());
        }
        let now = config.source().table_sums(root);
        for run in &self.runs {
            let Some(table) = run.other_table(config, &now) else { continue };
            let message = format!(
                "{} has changed since the training of {}: restore it, choose a different folder with {}, or remove the runs that \
                 were trained before",
                root.file(table).display(),
                run.path.display(),
                Argument::new("out")
            );
            return Err(Error::run(path, message));
        }
        Ok(())
    }

    /// Returns why the values of these runs choose no setting: two that are no repeats of one setting with two seeds or parts are
    /// measured on others. None where nothing is known to differ.
    pub fn undecided(&self) -> Option<&str> {
        self.undecided.as_deref()
    }
}

/// Returns the values of the keys that only repeat a setting.
fn repeat(config: &Checked) -> (u64, Option<u64>, Option<(u64, usize)>) {
    let splits = config.data.facts().splits.and_then(|splits| splits.seed);
    let fold = config.data.fold.as_ref().map(|fold| (fold.seed, fold.held));
    (config.seed, splits, fold)
}

/// Returns whether two configurations have the same queries and lists as long as their files do not change.
fn read_the_same(a: &Checked, b: &Checked) -> bool {
    // limit and seed change the training pairs only, and the candidates where these are the training outputs
    let limit = |config: &Checked| config.data.limit.filter(|_| config.output.only_training);
    let seed = |config: &Checked| config.data.seed.filter(|_| config.output.only_training);
    let data = |config: &Checked| {
        let seed = seed(config);
        DataConfig { limit: None, corrupted: 0.0, seed, ..config.data.clone() }
    };
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

/// Returns whether two configurations read the same of a query as its input.
fn same_inputs([a, b]: [&Checked; 2]) -> bool {
    let texts = |config: &Checked| config.data.facts().texts.cloned();
    let draws = texts(a).is_some_and(|texts| texts.more_smiles > 0);
    texts(a) == texts(b)
        && files_of_inputs(&a.data) == files_of_inputs(&b.data)
        && (a.seed == b.seed || !draws)
}

/// Returns the inputs that a table of pairs names; none of sources whose inputs are no matter of choice.
fn files_of_inputs(data: &DataConfig) -> Option<&InputsConfig> {
    match &data.source {
        DataSource::Tables(tables) => Some(&tables.inputs),
        DataSource::Pool(pool) => Some(&pool.inputs),
        DataSource::Memory(_)
        | DataSource::MultiLabel(_)
        | DataSource::Official(_)
        | DataSource::Synthetic(_) => None,
    }
}

/// Returns whether two configurations make the same features of outputs: rows that have none may be skipped, and right
/// outputs are what the features are made of.
fn same_features([a, b]: [&Checked; 2]) -> bool {
    let summands = |config: &Checked| {
        let kernels = config.output.kernels.iter();
        kernels.map(|kernel| kernel.features.clone()).collect::<Vec<_>>()
    };
    a.output.features == b.output.features && summands(a) == summands(b)
}

/// Returns whether queries, or their candidates, are drawn by the configuration's seed.
fn draws_queries(config: &Checked) -> bool {
    let facts = config.data.facts();
    let data = &config.data;
    let draws_candidates =
        config.output.only_training && data.limit.is_some() && data.seed.is_none();
    draws_candidates
        || matches!(config.data.source, DataSource::Synthetic(_))
        || facts.splits.is_some_and(SplitsConfig::are_drawn_by_configuration)
        || facts.texts.is_some_and(|texts| texts.more_smiles > 0)
}
