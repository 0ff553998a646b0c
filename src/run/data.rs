//! What a trained model reads of its data: splits, files of queries, and outputs.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_data::{DataRoot, Source, Split, SplitName, Truth, canonical};
use dsokr_decode::MissingGold;
use rayon::prelude::*;

use super::{Member, SplitUse};
use crate::config::candidate_rule::CandidateRule;
use crate::error::Error;

impl Member {
    /// Reads a split of the data that the run was trained on, or of those under the data root `data`. A complete run knows the
    /// tables that it has learned from, and the log says which of them have changed since.
    ///
    /// # Errors
    /// A file that is missing or wrong; [`dsokr_core::Error::Value`] for a test split where there is none;
    /// [`dsokr_core::Error::File`] where validation or test pairs are drawn from a table that has changed since the training:
    /// they may be pairs that the run has learned from. A folder that `data` names and that is not the one of the
    /// training may have others.
    pub fn read_split(&self, name: SplitName, data: Option<&Path>) -> Result<Split, Error> {
        self.read_split_for(name, data, SplitUse::Other)
    }

    /// Reads a split as [`read_split`](Self::read_split) does, for a use that tells what helps where it may not be read.
    pub(crate) fn read_split_for(
        &self,
        name: SplitName,
        data: Option<&Path>,
        split_use: SplitUse,
    ) -> Result<Split, Error> {
        let root = self.config.data_root(data)?;
        let split = self.read_under(&root, |source, root| source.read_split(name, root))?;
        self.check_unchanged(name, data, &root, split_use)?;
        // an evaluation compares what it has predicted
        if split_use.calibrates() {
            self.check_measured(name, &split, data, split_use)?;
        }
        Ok(split)
    }

    /// Reads a file of queries, in the layout of the configuration's own files, with the queries' ids in
    /// the column `query` where one is named. Inputs in files of their own are those of the data, as for
    /// [`read_split`](Self::read_split).
    ///
    /// # Errors
    /// As [`read_split`](Self::read_split); [`dsokr_core::Error::Value`] for a column of query ids where pairs do not
    /// come from tables.
    pub fn read_queries(
        &self,
        file: &Path,
        query: Option<&str>,
        data: Option<&Path>,
    ) -> Result<Split, Error> {
        self.read_queries_with(file, query, data, None)
    }

    /// Reads a file of queries as [`read_queries`](Self::read_queries) does, with a rule for right outputs that are not candidates
    /// in the place of the configuration's.
    pub(super) fn read_queries_with(
        &self,
        file: &Path,
        query: Option<&str>,
        data: Option<&Path>,
        missing_gold: Option<MissingGold>,
    ) -> Result<Split, Error> {
        let split = self.read_file(query, data, |source, root| source.read_queries(file, root))?;
        if !split.foreign {
            self.check_row_numbers(file, data)?;
            return Ok(split);
        }
        self.check_compared(&split, file, missing_gold)?;
        if !split.labels.is_empty() {
            // outputs that are compared as what they are need not be candidates
            let default = if split.truth.is_some() {
                MissingGold::RankInfinity
            } else {
                self.config.evaluation.missing_gold
            };
            let missing_gold = missing_gold.unwrap_or(default);
            return self.with_candidates_of_labels(split, file, missing_gold);
        }
        Ok(split)
    }

    /// Reads the rows of a file of queries, as [`read_queries`](Self::read_queries) does, with their own ids: nothing is said
    /// of which candidates are right, which a table need not have.
    ///
    /// # Errors
    /// A file that is missing or wrong.
    pub fn read_rows(&self, file: &Path) -> Result<Split, Error> {
        self.read_file(None, None, |source, root| source.read_inputs(file, root))
    }

    /// Reads a file of queries by what `read` does with the data and, where these are known, their folder.
    fn read_file(
        &self,
        query: Option<&str>,
        data: Option<&Path>,
        read: impl FnOnce(&Source, Option<&DataRoot>) -> Result<Split, dsokr_data::Error>,
    ) -> Result<Split, Error> {
        let data_config = match query {
            Some(column) => self.config.data.with_query_ids(column)?,
            None => self.config.data.clone(),
        };
        let source = Source { data: &data_config, ..self.config.source() };
        if self.config.data.has_input_files() {
            return self.read_data(data, |_, root| read(&source, Some(root)));
        }
        // whether the file is one of the data can be told only where these are
        Ok(read(&source, self.config.data_root(data).as_ref().ok())?)
    }

    /// Refuses outputs of a file that is not the run's and that are compared as what they are, where `missing_gold` asks
    /// for candidates: classes that the run does not know, and any other output.
    fn check_compared(
        &self,
        split: &Split,
        file: &Path,
        missing_gold: Option<MissingGold>,
    ) -> Result<(), Error> {
        if missing_gold != Some(MissingGold::Error) {
            return Ok(());
        }
        let outputs = match &split.truth {
            None | Some(Truth::Molecules(_)) => return Ok(()),
            Some(Truth::Classes(_)) => return self.check_classes(split, file),
            Some(Truth::Graphs(_)) => "graphs",
            Some(Truth::Labels(_)) => "label sets",
            Some(Truth::Rankings(_)) => "rankings",
            Some(Truth::Numbers(_)) => "numbers",
        };
        let allowed = format!(
            "absent: {outputs} of a new table are compared with the predicted ones, whether they are candidates or not"
        );
        Err(Error::value(Argument::new("missing-gold"), "\"error\"", allowed))
    }

    /// Refuses classes of a file that are no candidates.
    fn check_classes(&self, split: &Split, file: &Path) -> Result<(), Error> {
        let is_missing = |&query: &usize| self.candidates.find(&split.ids[query]).is_none();
        let missing: Vec<usize> = (0..split.ids.len()).filter(is_missing).collect();
        let Some(&first) = missing.first() else { return Ok(()) };
        let class = &split.ids[first];
        let name = &split.names()[first];
        let numbered = self.config.data.facts().numbered;
        let place =
            if numbered { format!("on line {name}") } else { format!("with the id {name:?}") };
        let missing_gold = Argument::new("missing-gold").with("rank-infinity");
        let message = format!(
            "{} of {} classes are unknown to the run, the first {class:?} {place}: correct them, or count them as not found \
             by {missing_gold}",
            missing.len(),
            split.ids.len()
        );
        Err(Error::run(file, message))
    }

    /// Returns the queries of a file with the ids of the candidates that are their outputs: those with the same id and label, or
    /// else those with the same label, or of the same molecule. Label sets, rankings, graphs and numbers are compared as
    /// what they are, so that one whose id and label are not a candidate's has no rank.
    fn with_candidates_of_labels(
        &self,
        split: Split,
        file: &Path,
        missing_gold: MissingGold,
    ) -> Result<Split, Error> {
        // the labels of equal sets and equal rankings may differ, and those of different numbers may be equal
        let labels_tell = match &split.truth {
            None | Some(Truth::Molecules(_)) => true,
            Some(
                Truth::Graphs(_)
                | Truth::Labels(_)
                | Truth::Classes(_)
                | Truth::Rankings(_)
                | Truth::Numbers(_),
            ) => false,
        };
        let by_id = self.outputs_by_id(&split);
        let right = if labels_tell { self.outputs_by_label(&split, by_id) } else { by_id };
        let mut ids = Vec::with_capacity(split.ids.len());
        let mut missing = Vec::new();
        for (query, candidate) in right.into_iter().enumerate() {
            match candidate {
                Some(candidate) => ids.push(self.candidates.id(candidate).to_owned()),
                None => {
                    missing.push(query);
                    let id = &split.ids[query];
                    let is_other = self.candidates.find(id).is_some();
                    let other = || format!("{} {id}", file.display());
                    ids.push(if is_other { other() } else { id.clone() });
                }
            }
        }
        if labels_tell
            && missing_gold == MissingGold::Error
            && let Some(&first) = missing.first()
        {
            return Err(missing_outputs(&split, missing.len(), first, file));
        }
        Ok(Split { ids, labels: Vec::new(), ..split })
    }

    /// Returns the candidate with the id and the label of each query.
    fn outputs_by_id(&self, split: &Split) -> Vec<Option<usize>> {
        let candidate = |query: usize| {
            let candidate = self.candidates.find(&split.ids[query])?;
            let label = self.candidates.label(candidate);
            let right = label_of(split, query);
            let is_output = label == right
                || canonical(label) == canonical(right)
                || self.are_equal(label, right);
            is_output.then_some(candidate)
        };
        (0..split.ids.len()).into_par_iter().map(candidate).collect()
    }

    /// Returns the candidate of each query that has one already, and for the others the first with the label of the query, or of
    /// the same molecule.
    fn outputs_by_label(&self, split: &Split, by_id: Vec<Option<usize>>) -> Vec<Option<usize>> {
        if by_id.iter().all(Option::is_some) {
            return by_id;
        }
        let all = 0..self.candidates.len();
        let labels: Vec<String> =
            all.into_par_iter().map(|at| canonical(self.candidates.label(at))).collect();
        let mut by_label: HashMap<&str, usize> = HashMap::with_capacity(labels.len());
        for (at, label) in labels.iter().enumerate() {
            by_label.entry(label).or_insert(at);
        }
        let each = by_id.into_iter().enumerate().map(|(query, candidate)| {
            candidate.or_else(|| by_label.get(canonical(label_of(split, query)).as_str()).copied())
        });
        each.collect()
    }

    /// Returns whether two labels are the same set of labels, ranking, numbers or graph, in whatever way they are written.
    fn are_equal(&self, label: &str, other: &str) -> bool {
        let features = &self.config.output.features;
        let read = |label: &str| features.truth_of_labels([label]).ok().flatten();
        match (read(label), read(other)) {
            (Some(Truth::Labels(sets)), Some(Truth::Labels(others))) => {
                let sets = sets.iter().map(|set| set.iter().collect::<BTreeSet<_>>());
                sets.eq(others.iter().map(|set| set.iter().collect::<BTreeSet<_>>()))
            }
            (Some(output), Some(other)) => output == other,
            _ => false,
        }
    }

    /// Returns the outputs that training pairs give each query, as [`Source::known_outputs`] finds them.
    ///
    /// # Errors
    /// As [`read_split`](Self::read_split).
    pub fn known_outputs(
        &self,
        split: &Split,
        data: Option<&Path>,
    ) -> Result<Vec<Vec<String>>, Error> {
        self.read_data(data, |source, root| source.known_outputs(split, root))
    }

    /// Returns the labels of the outputs of a split, as [`Source::output_labels`] finds them.
    ///
    /// # Errors
    /// As [`read_split`](Self::read_split).
    pub(super) fn output_labels(
        &self,
        split: &Split,
        data: Option<&Path>,
    ) -> Result<Vec<Option<String>>, Error> {
        self.read_data(data, |source, root| source.output_labels(split, root))
    }

    /// Returns the rule for the candidates of each query that the configuration has, with its file under the data root.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn candidate_rule(&self, data: Option<&Path>) -> Result<Option<CandidateRule>, Error> {
        let Some(rule) = &self.config.evaluation.candidates else { return Ok(None) };
        let CandidateRule::Lists(file) = rule else { return Ok(Some(rule.clone())) };
        let root = self.config.data_root(data)?;
        let file = root.file(file);
        if file.exists() { Ok(Some(rule.inside(&root))) } else { Err(self.not_found(file)) }
    }

    /// Reads the data under `data`, or where the run was trained; the error for a file that is gone says how
    /// to name the data root.
    pub(super) fn read_data<T>(
        &self,
        data: Option<&Path>,
        read: impl FnOnce(Source, &DataRoot) -> Result<T, dsokr_data::Error>,
    ) -> Result<T, Error> {
        self.read_under(&self.config.data_root(data)?, read)
    }

    /// Reads data as [`read_data`](Self::read_data) does, where they are in a folder that is known.
    pub(super) fn read_under<T>(
        &self,
        root: &DataRoot,
        read: impl FnOnce(Source, &DataRoot) -> Result<T, dsokr_data::Error>,
    ) -> Result<T, Error> {
        read(self.config.source(), root).map_err(|error| match error {
            dsokr_data::Error::Io { path, source }
                if source.kind() == std::io::ErrorKind::NotFound
                    && root.folder().is_some_and(|folder| path.starts_with(folder)) =>
            {
                self.not_found(path)
            }
            other => other.into(),
        })
    }

    fn not_found(&self, path: PathBuf) -> Error {
        let folder = self.config.data.facts().folder;
        let argument = Argument::new("data").with("DIR");
        let hint = format!(", a file of the run's data; {argument} stands for DIR/{folder}");
        Error::NotFound { path, hint }
    }
}

/// Returns the label of the output of a query; empty where it has none.
fn label_of(split: &Split, query: usize) -> &str {
    split.labels[query].as_deref().unwrap_or_default()
}

/// Returns the error for `count` of the outputs of a file that are no candidates, `first` the first of them.
fn missing_outputs(split: &Split, count: usize, first: usize, file: &Path) -> Error {
    let all = split.ids.len();
    let name = &split.names()[first];
    let place = if split.queries.is_some() {
        format!("on line {name}")
    } else {
        format!("with the id {name:?}")
    };
    let label = label_of(split, first);
    let missing_gold = Argument::new("missing-gold").with("rank-infinity");
    let message = format!(
        "{count} of {all} outputs are no candidates, the first {label:?} {place}: add them to the candidates of the run, \
         from a table of those rows alone, with new ids, or rank them as infinitely far by {missing_gold}"
    );
    Error::run(file, message)
}
