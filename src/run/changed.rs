//! Whether the data of a run are those that it was trained on.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::PoisonError;

use dsokr_core::Argument;
use dsokr_data::{DataRoot, Split, SplitName, Truth};
use dsokr_decode::Pool;
use tracing::warn;

use super::Member;
use crate::decoding::evaluation::{outputs_fingerprint, queries_fingerprint};
use crate::error::Error;
use crate::run_dir::{Record, changed_tables};

/// What a split is read for, which tells what helps where it may not be read: where the table that it is drawn from has changed
/// since the training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SplitUse {
    /// An evaluation, of which queries in a file may take the place.
    #[default]
    Evaluation,
    /// The weights of members, which a caller asks for by an argument.
    Weights,
    /// The calibration of sets of candidates.
    Calibration,
    /// How often first candidates are right, by which answers say how sure they are.
    Confidence,
    /// Anything else.
    Other,
}

impl SplitUse {
    /// Returns what to do in the place of reading the split, in words that end before "or train again"; empty where there is
    /// nothing else.
    fn remedy(self) -> String {
        match self {
            Self::Evaluation => {
                let queries = Argument::new("queries").with("FILE");
                format!("give a table of your own by {queries}, or ")
            }
            Self::Weights => format!("leave out {}, or ", Argument::new("fit-weights")),
            Self::Calibration => {
                "calibrate on a table of your own, as `dsokr predict --calibration FILE` does, or "
                    .to_owned()
            }
            Self::Confidence | Self::Other => String::new(),
        }
    }

    /// Returns whether answers about new queries are believed by what the split says of the run, so that pairs that the run
    /// may have learned from are refused.
    pub(super) fn calibrates(self) -> bool {
        match self {
            Self::Calibration | Self::Confidence => true,
            Self::Evaluation | Self::Weights | Self::Other => false,
        }
    }
}

/// What a split has that the one of this name had not when a run was measured on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Different {
    /// Queries.
    Queries,
    /// Right outputs of the same queries, which are called so.
    Outputs(&'static str),
}

impl Member {
    /// Refuses a split that is drawn from a table which has changed since the training: its pairs may be pairs that the run has
    /// learned from. Warns where no split is drawn anew, where other tables have changed, for the training split, and where the
    /// data are in a place that `data` names and that is not the one of the training, so that they may be others on purpose. The
    /// same warning is given once.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] of the run.
    pub(super) fn check_unchanged(
        &self,
        name: SplitName,
        data: Option<&Path>,
        root: &DataRoot,
        split_use: SplitUse,
    ) -> Result<(), Error> {
        let changed = self.changed_tables(root)?;
        let (Some(run), false) = (&self.folder, changed.is_empty()) else { return Ok(()) };
        let of_split = self.config.data.files_of_split(name);
        let of_split = changed.iter().any(|table| of_split.contains(&table.as_str()));
        let is_elsewhere = data.is_some() && !self.is_trained_in(root);
        let tables = changed.join(", ");
        let learned =
            format!("pairs of the {name} split may be pairs that the run has learned from");
        let doubt = match (of_split, name) {
            (false, _) => "the run and its candidates are those of the earlier tables".to_owned(),
            (true, SplitName::Train) => {
                format!("the {name} split may have pairs that the run has not learned from")
            }
            (true, SplitName::Validation | SplitName::Test)
                if !self.config.data.draws_split(name) =>
            {
                format!(
                    "the {name} split may have other pairs than at the training, and if rows have moved to it pairs that the run has \
                     learned from"
                )
            }
            (true, SplitName::Validation | SplitName::Test) if is_elsewhere => learned,
            (true, SplitName::Validation | SplitName::Test) => {
                let remedy = split_use.remedy();
                let message = format_args!(
                    "the data have changed since the training ({tables}): {learned}; {remedy}train again"
                );
                return Err(Error::run(run, message));
            }
        };
        let run = run.display();
        let warning = if is_elsewhere {
            let folder = root.folder().unwrap_or_else(|| Path::new("")).display();
            format!("{run}: {folder} has other data than those of the training ({tables}): {doubt}")
        } else {
            format!("{run}: the data have changed since the training ({tables}): {doubt}")
        };
        self.warn_once(warning);
        Ok(())
    }

    /// Gives a warning, unless it has been given.
    fn warn_once(&self, warning: String) {
        let is_new = {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            said.insert(warning.clone())
        };
        if is_new {
            warn!("{warning}");
        }
    }

    /// Warns where a split that is drawn, or whose outputs are label sets, classes or numbers, is not the one that the run was
    /// measured on after its training, although its tables are the same: another version, which reads or divides them otherwise,
    /// trained the run. Of the other drawn splits nothing is kept, but where the recorded one is drawn otherwise, so are these.
    /// The same warning is given once; for calibrating queries other pairs are an error. Runs whose queries have candidates of
    /// their own by the configuration have recorded them with these, and are not compared.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] of the run, for calibrating queries; vectors of queries that cannot be read; a folder of data
    /// that is not known.
    pub(super) fn check_measured(
        &self,
        name: SplitName,
        split: &Split,
        data: Option<&Path>,
        split_use: SplitUse,
    ) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let record = Record::read(folder)?;
        let Some(record) = record.filter(|_| self.config.evaluation.candidates.is_none()) else {
            return Ok(());
        };
        let recorded = record.report.split;
        let root = self.config.data_root(data)?;
        if self.has_other_tables(&record, data, &root)? {
            // these explain it, and their own lines tell of them
            return Ok(());
        }
        let read;
        let measured = if recorded == name {
            split
        } else {
            let are_drawn = [name, recorded]
                .iter()
                .all(|&each| each != SplitName::Train && self.config.data.draws_split(each));
            if !are_drawn {
                return Ok(());
            }
            read = self.read_under(&root, |source, root| source.read_split(recorded, root))?;
            &read
        };
        let Some(different) = self.different_from(&record, measured)? else { return Ok(()) };
        let its = if recorded == name { "its".to_owned() } else { format!("the {name} split's") };
        let (what, doubt) = match different {
            Different::Queries => ("queries", "pairs may be pairs that the run has learned from"),
            Different::Outputs(outputs) => (outputs, "metrics say little of the run"),
        };
        let files_of_inputs = if self.config.data.has_input_files() {
            "files of its inputs are others, or "
        } else {
            ""
        };
        let is_refused = different == Different::Queries && split_use.calibrates();
        let remedy = if is_refused { split_use.remedy() } else { String::new() };
        let message = format!(
            "the {recorded} split has other {what} than the run was measured on, although its tables are the same: \
             {files_of_inputs}this version reads or divides them otherwise than the one that trained the run ({}); {its} {doubt}: \
             {remedy}train again",
            record.version
        );
        if is_refused {
            return Err(Error::run(folder, message));
        }
        self.warn_once(format!("{}: {message}", folder.display()));
        Ok(())
    }

    /// Returns whether the tables of the recorded split are not known to be those of the training.
    fn has_other_tables(
        &self,
        record: &Record,
        data: Option<&Path>,
        root: &DataRoot,
    ) -> Result<bool, Error> {
        if data.is_some() && !self.is_trained_in(root) {
            return Ok(true);
        }
        let files = self.config.data.files_of_split(record.report.split);
        let learned = &record.learned_from.tables;
        let are_known = !files.is_empty() && files.iter().all(|&file| learned.contains_key(file));
        Ok(!are_known || !self.changed_among(learned, root).is_empty())
    }

    /// Returns what the recorded split has now that it had not when the run was measured on it; none where it is the same.
    fn different_from(&self, record: &Record, split: &Split) -> Result<Option<Different>, Error> {
        let then = &record.measured_on;
        // rows of files of their own are the queries, however they are named
        if self.config.data.draws_split(record.report.split)
            && queries_fingerprint(split, Pool::Shared, &self.candidates)? != then.queries
        {
            return Ok(Some(Different::Queries));
        }
        let outputs = match &split.truth {
            Some(Truth::Labels(_)) => "labels",
            Some(Truth::Classes(_)) => "classes",
            Some(Truth::Numbers(_)) => "numbers",
            Some(Truth::Molecules(_) | Truth::Graphs(_) | Truth::Rankings(_)) | None => {
                return Ok(None);
            }
        };
        let are_other =
            then.right_outputs.is_some() && then.right_outputs != outputs_fingerprint(split);
        Ok(are_other.then_some(Different::Outputs(outputs)))
    }

    /// Refuses the table that the run was trained on as a `file` of queries, where it has changed since and the numbers of its
    /// rows say what the right outputs are: those of the candidates are the earlier numbers.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] of the table.
    pub(super) fn check_row_numbers(&self, file: &Path, data: Option<&Path>) -> Result<(), Error> {
        // a class has its name
        if !self.config.data.facts().numbered || self.config.output.features.are_classes() {
            return Ok(());
        }
        let (Ok(root), Ok(path)) = (self.config.data_root(data), file.canonicalize()) else {
            return Ok(());
        };
        let is_file =
            |table: &String| root.file(table).canonicalize().is_ok_and(|table| table == path);
        if !self.changed_tables(&root)?.iter().any(is_file) {
            return Ok(());
        }
        let message = format_args!(
            "the table has changed since the training of {}, and numbers of its rows, which say what the right outputs are, may \
             be those of others: copy it to a file with another name, or train again",
            self.name
        );
        Err(Error::run(file, message))
    }

    /// Returns the [changed tables](changed_tables) of the run, by their names in the folder of the data; none of a run that is
    /// not complete.
    fn changed_tables(&self, root: &DataRoot) -> Result<Vec<String>, Error> {
        let Some(run) = &self.folder else { return Ok(Vec::new()) };
        let record = Record::read(run)?;
        let learned = record.map(|record| record.learned_from.tables).unwrap_or_default();
        Ok(self.changed_among(&learned, root))
    }

    /// Returns the tables that have another checksum now than that with which the run has `learned` from them.
    fn changed_among(&self, learned: &BTreeMap<String, String>, root: &DataRoot) -> Vec<String> {
        if learned.is_empty() {
            return Vec::new();
        }
        let now = self.config.source().table_sums(root);
        changed_tables(learned, &now).map(str::to_owned).collect()
    }

    /// Returns whether the folder of the data is the one of the training.
    fn is_trained_in(&self, root: &DataRoot) -> bool {
        let folder = root.folder().and_then(|folder| folder.canonicalize().ok());
        folder.is_some() && folder == self.config.trained_on
    }
}
