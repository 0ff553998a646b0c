//! The data of a training: splits of pairs, and the outputs that all of them share.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::str::FromStr;
use std::sync::Arc;

use derive_more::Display;
use dsokr_core::random::generator;
use dsokr_core::{RowWeights, grouped};
use rand::seq::index::sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::groups::connected;
use crate::input_columns::InputColumns;
use crate::inputs::Inputs;
use crate::outputs::Outputs;
use crate::truth::Truth;

/// A split of the data.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[display(rename_all = "lowercase")]
pub enum SplitName {
    /// The pairs that the model learns from. Configurations cannot choose it.
    #[serde(skip_deserializing)]
    Train,
    /// The split that chooses the best checkpoint.
    Validation,
    /// The split that nothing was chosen on.
    Test,
}

impl SplitName {
    /// Returns the split that a cell of a table names, as people write it, in upper or lower case.
    pub fn of_cell(cell: &str) -> Option<Self> {
        match cell.trim().to_lowercase().as_str() {
            "train" | "training" => Some(Self::Train),
            "validation" | "valid" | "val" | "dev" | "development" => Some(Self::Validation),
            "test" | "testing" => Some(Self::Test),
            _ => None,
        }
    }

    /// Returns the split that each cell of a column names.
    ///
    /// # Errors
    /// The first row whose cell names none.
    pub fn of_cells(cells: &[String]) -> Result<Vec<Self>, usize> {
        cells.iter().enumerate().map(|(row, cell)| Self::of_cell(cell).ok_or(row)).collect()
    }
}

impl FromStr for SplitName {
    type Err = dsokr_core::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let all = [Self::Train, Self::Validation, Self::Test];
        let named = all.into_iter().find(|split| split.to_string() == name);
        let allowed = "train, validation or test";
        named.ok_or_else(|| Self::Err::value("split", format_args!("{name:?}"), allowed))
    }
}

/// Pairs of an input and an output. In evaluated splits a pair is a query, which may have several right
/// outputs.
#[derive(Clone, Debug, Default)]
pub struct Split {
    /// The output's id of each pair; of a query with several right outputs the first one's.
    pub ids: Vec<String>,
    /// The query's own id of each pair, where the data name queries; unique in evaluated splits.
    pub queries: Option<Vec<String>>,
    /// The further right outputs of each query, by id; empty where every query has one.
    pub further: Vec<Vec<String>>,
    /// Outputs that do not compete for each query, by id; empty where all do.
    pub known: Vec<Vec<String>>,
    /// Whether the outputs are rows of a file that the outputs of the run are not from, so that they may be no candidates.
    pub foreign: bool,
    /// The inputs.
    pub inputs: Inputs,
    /// The output's index in [`Outputs`]; `None` for an output without features, which is allowed
    /// in evaluation only.
    pub outputs: Vec<Option<usize>>,
    /// The outputs themselves, where metrics compare more than ranks and all are known; not of
    /// training pairs.
    pub truth: Option<Truth>,
    /// The weight of each training pair in the loss, in means and in the [frequencies](Self::counted_texts) of n-grams.
    pub weights: RowWeights,
    /// The group of each pair, which parts do not divide, and which resamples of queries have whole; empty where they have
    /// not been read, or pairs have none.
    pub groups: Vec<String>,
    /// Whether a file of queries lacks what the rule of the groups is about, so that each of its rows is a group of its own.
    pub lacks_groups: bool,
    /// The group of each pair among the rows of all files of pairs, where some splits are files of their own: parts of a
    /// cross-validation divide none of these, and advice compares splits by them. Empty where `groups` says it.
    pub groups_of_files: Vec<String>,
    /// The value of the column of `data.fold.group` of each pair; empty where it has not been read.
    pub fold_groups: Vec<String>,
    /// The label of each pair's output; none for an output that no table names. The list is empty where labels have not
    /// been read, as for training pairs.
    pub labels: Vec<Option<String>>,
}

impl Split {
    /// Creates pairs whose queries have one output each and no ids of their own.
    pub fn new(ids: Vec<String>, inputs: Inputs, outputs: Vec<Option<usize>>) -> Self {
        Self { ids, inputs, outputs, ..Self::default() }
    }

    /// Checks that every list has an entry for each pair, or is empty where it may be.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Shape`] with the first list of another length than the inputs have.
    pub fn check(&self) -> Result<(), Error> {
        let pairs = self.inputs.len();
        let check = |what: &str, found: usize| {
            let key = format!("{what} of a split of {pairs} inputs");
            dsokr_core::Error::check_length(&key, found, pairs)
        };
        check("ids", self.ids.len())?;
        check("outputs", self.outputs.len())?;
        if let Some(queries) = &self.queries {
            check("query ids", queries.len())?;
        }
        if let Some(truth) = &self.truth {
            check("true outputs", truth.len())?;
        }
        self.weights.check(pairs)?;
        let may_be_empty = [
            ("lists of further outputs", self.further.len()),
            ("lists of known outputs", self.known.len()),
            ("groups", self.groups.len()),
            ("groups among files", self.groups_of_files.len()),
            ("groups of folds", self.fold_groups.len()),
            ("labels", self.labels.len()),
        ];
        for (what, found) in may_be_empty.into_iter().filter(|&(_, found)| found > 0) {
            check(what, found)?;
        }
        Ok(())
    }

    /// Returns the pairs as a model reads them that has learned only some of the training pairs.
    fn among(self, learned: &[usize]) -> Self {
        Self { inputs: self.inputs.among(learned), ..self }
    }

    /// Returns some of the pairs.
    ///
    /// # Errors
    /// A row out of range, where inputs are vectors.
    ///
    /// # Panics
    /// If a row is out of range elsewhere, or a list is shorter than others, which [`check`](Self::check) refuses.
    pub fn select(&self, rows: &[usize]) -> Result<Self, Error> {
        fn of_rows<T: Clone>(all: &[T], rows: &[usize]) -> Vec<T> {
            match all {
                [] => Vec::new(),
                all => rows.iter().map(|&row| all[row].clone()).collect(),
            }
        }
        let places: Vec<Option<usize>> = rows.iter().copied().map(Some).collect();
        let pairs = Self::new(
            of_rows(&self.ids, rows),
            self.inputs.select(rows)?,
            of_rows(&self.outputs, rows),
        );
        Ok(Self {
            queries: self.queries.as_deref().map(|queries| of_rows(queries, rows)),
            further: of_rows(&self.further, rows),
            known: of_rows(&self.known, rows),
            foreign: self.foreign,
            truth: self.truth.as_ref().and_then(|truth| truth.select(&places)),
            weights: self.weights.select(rows),
            groups: of_rows(&self.groups, rows),
            lacks_groups: self.lacks_groups,
            groups_of_files: of_rows(&self.groups_of_files, rows),
            fold_groups: of_rows(&self.fold_groups, rows),
            labels: of_rows(&self.labels, rows),
            ..pairs
        })
    }

    /// Returns pairs as queries; `rows` are the pairs of each: the first one's, with the further right outputs of the
    /// others.
    pub(crate) fn into_queries(self, rows: &[Vec<usize>]) -> Result<Self, Error> {
        let firsts: Vec<usize> = rows.iter().map(|rows| rows[0]).collect();
        let golds = |rows: &Vec<usize>| rows[1..].iter().map(|&at| self.ids[at].clone()).collect();
        let further = if rows.iter().any(|rows| rows.len() > 1) {
            rows.iter().map(golds).collect()
        } else {
            Vec::new()
        };
        Ok(Self { further, ..self.select(&firsts)? })
    }

    /// Returns queries as pairs, one for each right output.
    pub(crate) fn into_pairs(self, outputs: &Outputs) -> Result<Self, Error> {
        if self.further.is_empty() {
            return Ok(self);
        }
        let places: HashMap<&String, usize> =
            outputs.ids.iter().enumerate().map(|(at, id)| (id, at)).collect();
        let golds = self.golds();
        let each = golds.iter().enumerate();
        let rows: Vec<usize> =
            each.flat_map(|(query, golds)| std::iter::repeat_n(query, golds.len())).collect();
        let ids = golds.concat();
        let outputs = ids.iter().map(|id| places.get(id).copied()).collect();
        Ok(Self { ids, outputs, further: Vec::new(), ..self.select(&rows)? })
    }

    /// Returns some pairs as queries that are evaluated.
    pub(crate) fn held_out(&self, rows: &[usize], outputs: &Outputs) -> Result<Self, Error> {
        let weights = RowWeights::equal();
        let pairs = Self { fold_groups: Vec::new(), weights, ..self.select(rows)? };
        let queries = pairs.queries.as_deref().map(grouped);
        let split = match queries {
            Some(queries) => pairs.into_queries(&queries)?,
            None => pairs,
        };
        let labels = outputs.labels_of(&split.outputs);
        Ok(Self { truth: outputs.truth_of(&split.outputs), labels, ..split })
    }

    /// Returns the groups of pairs that the data name: those of a rule of the splits, else the pairs of each query; none where
    /// no group has several pairs.
    pub fn named_groups(&self) -> Option<Vec<Vec<usize>>> {
        let groups = self.all_groups();
        groups.iter().any(|group| group.len() > 1).then_some(groups)
    }

    /// Returns the groups of all pairs: those of a rule of the splits, else the pairs of each query, else each pair by itself.
    fn all_groups(&self) -> Vec<Vec<usize>> {
        if !self.groups.is_empty() {
            return grouped(&self.groups);
        }
        match &self.queries {
            Some(queries) => grouped(queries),
            None => (0..self.ids.len()).map(|pair| vec![pair]).collect(),
        }
    }

    /// Returns the group of each pair among the rows of all files of pairs; empty where no rule says which belong together.
    pub fn groups_among_files(&self) -> &[String] {
        if self.groups_of_files.is_empty() { &self.groups } else { &self.groups_of_files }
    }

    /// Returns the texts that count when features are fitted to their frequencies, with their weights. Copies of a text in a
    /// group, or in the pairs of one query, are one text, of the largest weight among them: predictions that leave the group
    /// out must not see features that only its own copies have made. Without groups and queries, every text counts.
    ///
    /// ```
    /// use dsokr_data::Split;
    ///
    /// let texts = ["red wine", "red wine", "red ink", "red wine"].map(String::from);
    /// let groups = ["a", "a", "b", "c"].map(String::from).to_vec();
    /// let train = Split { groups, ..Split::texts(texts.to_vec()) };
    /// assert_eq!(train.counted_texts()?.0, ["red wine", "red ink", "red wine"]);
    /// # Ok::<(), dsokr_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] where inputs are not texts.
    pub fn counted_texts(&self) -> Result<(Vec<&str>, RowWeights), Error> {
        let texts: Vec<&str> = self.inputs.texts()?.iter().map(String::as_str).collect();
        let names: &[String] = if self.groups.is_empty() {
            self.queries.as_deref().unwrap_or_default()
        } else {
            &self.groups
        };
        if names.is_empty() {
            return Ok((texts, self.weights.clone()));
        }
        let keys: Vec<(&str, &str)> =
            names.iter().map(String::as_str).zip(texts.iter().map(|text| text.trim())).collect();
        let copies = grouped(&keys);
        let weights = if self.weights.is_equal() {
            RowWeights::equal()
        } else {
            let largest = |rows: &Vec<usize>| {
                rows.iter().map(|&row| self.weights.get(row)).fold(0.0, f64::max)
            };
            RowWeights::new(&copies.iter().map(largest).collect::<Vec<f64>>())?
        };
        Ok((copies.iter().map(|rows| texts[rows[0]]).collect(), weights))
    }

    /// Returns `limit` of the pairs, drawn by a seed. The pairs of a smaller number are among those of a larger one.
    pub(crate) fn drawn(&self, limit: usize, seed: u64) -> Result<Self, Error> {
        let n = self.ids.len();
        if limit > n {
            let allowed = format!("1 to {n}, the number of training pairs");
            return Err(Error::value("data.limit", limit, allowed));
        }
        let mut order = sample(&mut generator(seed, "limit", 0), n, n).into_vec();
        order.truncate(limit);
        order.sort_unstable();
        self.select(&order)
    }

    /// Gives a drawn share of the pairs, at least two, each the output of the next one.
    pub(crate) fn corrupt(&mut self, share: f64, seed: u64) {
        let n = self.ids.len();
        let count = ((share * n as f64).round() as usize).max(2).min(n);
        let chosen = sample(&mut generator(seed, "corrupted", 0), n, count).into_vec();
        for pair in chosen.windows(2) {
            self.ids.swap(pair[0], pair[1]);
            self.outputs.swap(pair[0], pair[1]);
        }
        tracing::info!(pairs = chosen.len(), "outputs of training pairs were exchanged");
    }

    /// Returns the names of queries in errors and in lists of candidates: their own ids, or else the ids of their
    /// outputs.
    pub fn names(&self) -> &[String] {
        self.queries.as_deref().unwrap_or(&self.ids)
    }

    /// Returns a unique id for each query: its own id, or else the id of its output, with `#2` behind it (`ID#2`) for
    /// the second query with the same output, `#3` for the third, and so on.
    pub fn query_ids(&self) -> Vec<String> {
        let names = self.names();
        let mut taken: HashSet<String> = names.iter().cloned().collect();
        let mut seen: HashMap<&str, usize> = HashMap::with_capacity(names.len());
        let mut unique = |name: &'_ String, count: &mut usize| loop {
            *count += 1;
            let id = if *count == 1 { name.clone() } else { format!("{name}#{count}") };
            if *count == 1 || taken.insert(id.clone()) {
                return id;
            }
        };
        names.iter().map(|name| unique(name, seen.entry(name).or_insert(0))).collect()
    }

    /// Returns the right outputs of each query, by id.
    pub fn golds(&self) -> Vec<Vec<String>> {
        let further = |query: usize| self.further.get(query).into_iter().flatten();
        let golds = |(query, id)| std::iter::once(id).chain(further(query)).cloned().collect();
        self.ids.iter().enumerate().map(golds).collect()
    }

    /// Returns whether some query has several right outputs, or outputs that do not compete.
    pub fn is_filtered(&self) -> bool {
        !self.further.is_empty() || !self.known.is_empty()
    }

    /// Creates texts without outputs.
    pub fn texts(texts: Vec<String>) -> Self {
        let ids = vec![String::new(); texts.len()];
        let outputs = vec![None; texts.len()];
        Self::new(ids, Inputs::Texts(texts), outputs)
    }
}

/// Everything that a configuration's `[data]` and `[output]` name.
#[derive(derive_more::Debug)]
#[debug("Dataset({} training and {} validation pairs, {outputs:?})", train.ids.len(), validation.ids.len())]
pub struct Dataset {
    /// The outputs, which a data set of some of the pairs shares.
    pub outputs: Arc<Outputs>,
    /// Pairs to learn from; each has an output.
    pub train: Split,
    /// Pairs that choose the best checkpoint.
    pub validation: Split,
    /// Pairs that nothing is chosen on.
    pub test: Option<Split>,
    /// Number of rows that were skipped of each file, by its path under the data root; files without such
    /// rows are absent.
    pub skipped: BTreeMap<String, usize>,
    /// The columns of inputs, by which other files are read; none where each file tells them itself.
    pub input_columns: Option<InputColumns>,
}

impl Dataset {
    /// Returns the groups of training pairs that no split into parts divides. If the splits of the data keep groups
    /// together, these are the groups. Else the pairs of one query form a group, and if most validation outputs occur in no
    /// training pair, so do the pairs of one output, so that a held-out prediction has seen as little of its output as the
    /// prediction of a validation pair. Else each pair is its own group.
    pub fn training_groups(&self) -> Vec<Vec<usize>> {
        if !self.train.groups.is_empty() {
            return grouped(&self.train.groups);
        }
        let queries = self.train.queries.as_deref().map(grouped);
        let learned: HashSet<usize> = self.train.outputs.iter().flatten().copied().collect();
        let outputs = &self.validation.outputs;
        let seen = outputs.iter().flatten().filter(|output| learned.contains(output)).count();
        let are_new = 2 * seen < outputs.len();
        let pairs = self.train.ids.len();
        match (queries, are_new) {
            (Some(queries), true) => connected(pairs, &[&queries, &grouped(&self.train.outputs)]),
            (Some(queries), false) => queries,
            (None, true) => grouped(&self.train.outputs),
            (None, false) => (0..pairs).map(|pair| vec![pair]).collect(),
        }
    }

    /// Returns the data set with only some of the training pairs, and without test pairs. Values of kernels with the other
    /// training inputs are left out.
    ///
    /// # Errors
    /// A pair out of range, where inputs are vectors.
    pub fn with_pairs(&self, pairs: &[usize]) -> Result<Self, Error> {
        Ok(Self {
            outputs: Arc::clone(&self.outputs),
            train: self.pairs_among(pairs, pairs)?,
            validation: self.validation.clone().among(pairs),
            test: None,
            skipped: self.skipped.clone(),
            input_columns: self.input_columns.clone(),
        })
    }

    /// Returns some of the training pairs, as a model reads them that has learned only the pairs `learned`.
    ///
    /// # Errors
    /// A pair out of range, where inputs are vectors.
    pub fn pairs_among(&self, pairs: &[usize], learned: &[usize]) -> Result<Split, Error> {
        Ok(self.train.select(pairs)?.among(learned))
    }

    /// Leaves only the candidates that are outputs of training pairs, and of no pair where `unpaired`.
    pub(crate) fn only_training(&mut self, unpaired: bool) -> Result<(), Error> {
        let mut seen = vec![false; self.outputs.ids.len()];
        self.train.outputs.iter().flatten().for_each(|&output| seen[output] = true);
        if unpaired {
            self.unlabelled().into_iter().for_each(|output| seen[output] = true);
        }
        let candidates = &mut Arc::make_mut(&mut self.outputs).candidates;
        candidates.retain(|&output| seen[output]);
        if candidates.is_empty() {
            let allowed = "false: no output of a training pair is a candidate";
            return Err(Error::value("output.only_training", true, allowed));
        }
        Ok(())
    }

    /// Returns outputs that belong to no pair of any split, as indices.
    pub fn unlabelled(&self) -> Vec<usize> {
        let mut paired = vec![false; self.outputs.ids.len()];
        let splits = [Some(&self.train), Some(&self.validation), self.test.as_ref()];
        let outputs = splits.into_iter().flatten().flat_map(|split| &split.outputs);
        outputs.flatten().for_each(|&output| paired[output] = true);
        (0..paired.len()).filter(|&output| !paired[output]).collect()
    }

    /// Returns a split without its outputs, as it is read for evaluation.
    pub(crate) fn into_split(self, name: SplitName) -> Option<Split> {
        let split = match name {
            SplitName::Train => Some(self.train),
            SplitName::Validation => Some(self.validation),
            SplitName::Test => self.test,
        }?;
        Some(Split { outputs: vec![None; split.ids.len()], ..split })
    }

    /// Returns a split by its name; `None` for a test split that the configuration does not name.
    pub fn split(&self, name: SplitName) -> Option<&Split> {
        match name {
            SplitName::Train => Some(&self.train),
            SplitName::Validation => Some(&self.validation),
            SplitName::Test => self.test.as_ref(),
        }
    }
}
