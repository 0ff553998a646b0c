//! The outputs, and what `[output]` says of them.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use dsokr_basis::features::{DenseRows, JoinedRows};
use dsokr_basis::{Features, RowSource};
use dsokr_core::store::check_inside;
use dsokr_molecule::Molecule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cells;
use crate::error::{Error, check};
use crate::output_features::{FittedFeatures, OutputFeatures, OutputFiles, OutputTable};
use crate::table::{OnBadRow, Table, TableOptions, bad_ids, unique_ids};
use crate::truth::Truth;

/// The outputs y: ids, labels to show, feature rows, and which of them are candidates.
#[derive(Clone, derive_more::Debug)]
#[debug("Outputs({} outputs, {} candidates)", ids.len(), candidates.len())]
pub struct Outputs {
    /// Unique ids.
    pub ids: Vec<String>,
    /// The labels that `search` shows; empty strings where no column is named, unless outputs are numbers.
    pub labels: Vec<String>,
    /// Further columns that answers show and filters compare: the name of each, and a cell for each output.
    pub columns: Vec<(String, Vec<String>)>,
    /// The features of the outputs, one row each.
    pub rows: Arc<dyn RowSource>,
    /// Indices of the candidates, ascending.
    pub candidates: Vec<usize>,
    /// The outputs themselves, where metrics compare more than ranks.
    pub truth: Option<Truth>,
    /// The columns of the rows.
    pub features: FittedFeatures,
}

/// The columns of outputs before their table is read.
#[derive(Default)]
pub(crate) struct Known<'a> {
    /// The columns of an earlier training.
    pub fitted: Option<&'a FittedFeatures>,
    /// Columns of molecules that have been read already.
    pub molecules: HashMap<String, Vec<Molecule>>,
}

impl Outputs {
    /// Creates outputs with these unique ids and a row of features each. All of them are candidates, whose labels are their
    /// ids; there are no further columns, and metrics compare ranks alone.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Shape`] for another number of rows than of ids.
    pub fn new(ids: Vec<String>, rows: impl RowSource + 'static) -> Result<Self, Error> {
        dsokr_core::Error::check_length("rows of outputs", rows.len(), ids.len())?;
        Ok(Self {
            labels: ids.clone(),
            columns: Vec::new(),
            candidates: (0..ids.len()).collect(),
            ids,
            rows: Arc::new(rows),
            truth: None,
            features: FittedFeatures::default(),
        })
    }

    /// Reads outputs from a table with the columns of [`OutputSource::columns`] and ids in the column `id`. With the
    /// columns of an earlier training the rows have the same width, and all files that were given must be read.
    pub(crate) fn from_table(
        table: &Table,
        id: &str,
        config: &OutputSource,
        files: OutputFiles,
        Known { fitted, molecules }: Known,
    ) -> Result<Self, Error> {
        unique_ids(table, id)?;
        let ids = table.column(id)?.to_vec();
        // a number is its own label
        let numbers = Some(config.features).filter(|features| features.are_numbers());
        let numbers = numbers.and_then(|features| features.kind().facts().column);
        let labels = match config.label.or(numbers) {
            Some(column) => table.column(column)?.to_vec(),
            None => vec![String::new(); ids.len()],
        };
        let mut columns = Vec::with_capacity(config.further.len());
        for name in config.further {
            columns.push((name.clone(), table.column(name)?.to_vec()));
        }
        let candidates = config.candidates_of(table)?;
        let is_summed = config.kernels().len() > 1;
        let mut from = OutputTable {
            table,
            id,
            files,
            fitted: None,
            counts_unknown: false,
            truth: None,
            labels,
            molecules,
            keeps_molecules: is_summed,
            is_summed,
        };
        let (rows, features) = config.rows_of(&mut from, fitted)?;
        from.files.check_read()?;
        let OutputTable { truth, labels, .. } = from;
        Ok(Self { ids, labels, columns, rows, candidates, truth, features })
    }

    /// Creates outputs from vectors that the source of the pairs holds, one after the other, without labels.
    pub(crate) fn from_vectors(
        ids: Vec<String>,
        candidates: Vec<usize>,
        width: usize,
        values: Vec<f32>,
    ) -> Result<Self, Error> {
        let labels = vec![String::new(); ids.len()];
        let features = FittedFeatures::fixed(width);
        let rows = Arc::new(Features::Dense(DenseRows::new(width, values)?));
        Ok(Self { ids, labels, columns: Vec::new(), rows, candidates, truth: None, features })
    }

    /// Returns the given outputs themselves; none if one of them is unknown.
    pub fn truth_of(&self, outputs: &[Option<usize>]) -> Option<Truth> {
        self.truth.as_ref()?.select(outputs)
    }

    /// Returns the labels of some outputs, none of one that is unknown.
    pub(crate) fn labels_of(&self, outputs: &[Option<usize>]) -> Vec<Option<String>> {
        outputs.iter().map(|&at| at.map(|at| self.labels[at].clone())).collect()
    }
}

/// Outputs that are candidates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CandidateConfig {
    /// Column that says so.
    pub column: String,
    /// The value that the column must have for a candidate.
    #[serde(default = "yes")]
    pub value: String,
}

dsokr_core::defaults!(yes: String = "1".into());

/// The source of the outputs: those keys of `[output]` that do not say how they are compared.
#[derive(Clone, Debug)]
pub struct OutputSource<'a> {
    /// Table of outputs, where there is one.
    pub table: Option<&'a str>,
    /// Column of the outputs' ids.
    pub id: &'a str,
    /// Column that `search` shows next to the id; of numbers their own, if none is named.
    pub label: Option<&'a str>,
    /// Further columns that answers show next to the label, and filters compare.
    pub further: &'a [String],
    /// The rule that says which outputs are candidates; all, if left out.
    pub candidate: Option<&'a CandidateConfig>,
    /// Whether only outputs of training pairs, and of no split, are candidates.
    pub only_training: bool,
    /// Rows of features that the kernel compares.
    pub features: &'a OutputFeatures,
    /// The features that each of several kernels compares, in the place of `features`; none for one kernel.
    pub summands: Vec<&'a OutputFeatures>,
}

impl<'a> OutputSource<'a> {
    /// The allowed value where all outputs are candidates.
    pub(crate) const ALL: &'static str = "absent: all outputs of official files, and all drawn outputs of validation and test pairs, are candidates, \
         without labels";

    /// Returns the features of each kernel.
    pub(crate) fn kernels(&self) -> &[&'a OutputFeatures] {
        if self.summands.is_empty() { std::slice::from_ref(&self.features) } else { &self.summands }
    }

    /// Returns the columns other than the ids that are read of the table of outputs.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let candidate = self.candidate.map(|candidate| &candidate.column[..]);
        let kernels: Vec<_> = self.kernels().iter().map(|&one| one.kind().facts().column).collect();
        let further = self.further.iter().map(String::as_str);
        [self.label, candidate].into_iter().chain(kernels).flatten().chain(further)
    }

    /// Returns the rows of a table that are candidates, at least one where a rule says which.
    fn candidates_of(&self, table: &Table) -> Result<Vec<usize>, Error> {
        let Some(CandidateConfig { column, value }) = self.candidate else {
            return Ok((0..table.len()).collect());
        };
        let cells = table.column(column)?.iter().enumerate();
        let candidates: Vec<usize> =
            cells.filter(|(_, cell)| *cell == value).map(|(row, _)| row).collect();
        if candidates.is_empty() {
            let message = format!("no row has {column} = {value:?}, so there is no candidate");
            return Err(Error::file(table.path(), message));
        }
        Ok(candidates)
    }

    /// Reads the rows of features of all kernels, side by side, and what their columns are. They are as wide as those of
    /// an earlier training.
    fn rows_of<'t>(
        &self,
        from: &mut OutputTable<'t>,
        fitted: Option<&'t FittedFeatures>,
    ) -> Result<(Arc<dyn RowSource>, FittedFeatures), Error> {
        let mut parts = Vec::new();
        let mut rows = Vec::new();
        for (at, features) in self.kernels().iter().enumerate() {
            from.fitted = fitted.and_then(|fitted| fitted.parts.get(at));
            let key = if self.summands.is_empty() {
                "output.features.".to_owned()
            } else {
                format!("output.kernels[{at}].features.")
            };
            let (columns, read) = features
                .kind()
                .read(from)
                .map_err(|error| if features.are_counts() { error.of(key) } else { error })?;
            parts.push(columns);
            rows.push(read);
        }
        let rows: Arc<dyn RowSource> = match (rows.len(), rows.pop()) {
            (1, Some(rows)) => Arc::from(rows),
            (_, last) => Arc::new(JoinedRows::new(rows.into_iter().chain(last).collect())?),
        };
        let width = rows.width();
        let expected = fitted.map_or(width, FittedFeatures::width);
        if expected != width {
            let message = format!("outputs of {width} features; those of the run have {expected}");
            return Err(Error::file(from.table.path(), message));
        }
        Ok((rows, FittedFeatures { parts }))
    }

    /// Returns the column of sets of labels and their separator; none of other outputs.
    pub(crate) fn sets(&self) -> Option<(&'a str, char)> {
        self.features.column().zip(self.features.separator())
    }

    /// Returns the options by which a table with outputs is read.
    pub(crate) fn table_options(&self, on_bad_row: OnBadRow) -> TableOptions<'a> {
        TableOptions { on_bad_row, sets: self.sets(), ..TableOptions::default() }
    }

    /// Checks that features are computed from the molecules that outputs are shown by, which any molecule has.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for features of anything else.
    pub fn check_made(&self) -> Result<(), Error> {
        self.molecule_column().map(drop)
    }

    /// Returns the column of SMILES that outputs are shown by and all features are read from.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for features of anything else.
    pub fn molecule_column(&self) -> Result<&'a str, Error> {
        let kernels = self.kernels().iter();
        let other = kernels.clone().find(|one| !one.are_molecules());
        let allowed = "\"molecules\" or \"substructures\": features that any molecule has";
        if let Some(other) = other {
            return Err(Error::value(
                "output.features.kind",
                format!("{:?}", other.name()),
                allowed,
            ));
        }
        let allowed = "the column of SMILES that features are read from";
        let label = self.label.ok_or_else(|| Error::value("output.label", "absent", allowed))?;
        if kernels.clone().all(|one| one.column() == Some(label)) {
            Ok(label)
        } else {
            Err(Error::value("output.label", format!("{label:?}"), allowed))
        }
    }

    /// Reads the columns of a table of outputs.
    pub(crate) fn read(&self, path: &Path, on_bad_row: OnBadRow) -> Result<Table, Error> {
        let columns: Vec<&str> = std::iter::once(self.id).chain(self.columns()).collect();
        let read = |on_bad_row| Table::read_with(path, &columns, self.table_options(on_bad_row));
        let table = self.good_rows(self.id, on_bad_row, read)?;
        table.log_skipped(0);
        Ok(table)
    }

    /// Reads the ids of a table of outputs.
    pub(crate) fn read_ids(&self, path: &Path) -> Result<Table, Error> {
        Table::read_with(path, &[self.id], self.table_options(OnBadRow::Stop))
    }

    /// Reads a table like [`read`](Self::read), without ids: rows are called `FILE row LINE`.
    pub(crate) fn read_numbered(&self, path: &Path, on_bad_row: OnBadRow) -> Result<Table, Error> {
        let columns: Vec<&str> = self.columns().collect();
        let read = |on_bad_row| {
            let options = TableOptions { numbers: Some(self.id), ..self.table_options(on_bad_row) };
            Table::read_with(path, &columns, options)
        };
        let table = self.good_rows(self.id, on_bad_row, read)?.with_row_ids(self.id)?;
        table.log_skipped(0);
        Ok(table)
    }

    /// Returns the table that `read` reads, without the rows whose id or output cannot be read where such rows are
    /// skipped. Columns that were not read are not checked.
    pub(crate) fn good_rows(
        &self,
        id: &str,
        on_bad_row: OnBadRow,
        read: impl FnOnce(OnBadRow) -> Result<Table, Error>,
    ) -> Result<Table, Error> {
        if self.kernels().iter().any(|features| features.kind().facts().follow_rows) {
            return read(OnBadRow::Stop).map_err(|error| on_bad_row.refusal(error));
        }
        let table = self.with_plain_smiles(read(on_bad_row)?)?;
        for doubt in self.kernels().iter().filter_map(|features| features.kind().doubt(&table)) {
            tracing::warn!("{}: {doubt}", table.path().display());
        }
        if !table.skips_rows() {
            return Ok(table);
        }
        let mut bad = bad_ids(&table, id)?;
        let mut checked = BTreeSet::new();
        for features in self.kernels() {
            let column = features.column().filter(|&column| table.column(column).is_ok());
            // several kernels compare one column
            if column.is_some_and(|column| checked.insert((features.name(), column))) {
                bad.extend(features.kind().bad_rows(&table)?);
            }
        }
        table.without(bad)
    }

    /// Returns the table whose cells of molecules are SMILES without names and extensions behind them, so that labels
    /// and all kernels read the same. Columns that were not read are not changed.
    pub(crate) fn with_plain_smiles(&self, mut table: Table) -> Result<Table, Error> {
        let molecules = self.kernels().iter().filter(|features| features.are_molecules());
        let columns: BTreeSet<&str> = molecules.filter_map(|features| features.column()).collect();
        for column in columns {
            if table.column(column).is_err() {
                continue;
            }
            let changed = table.shorten_cells(column, plain_smiles)?;
            if changed > 0 {
                let path = table.path().display();
                tracing::info!(
                    "{path}: names or extensions behind {changed} SMILES of the column {column:?} are left out"
                );
            }
        }
        Ok(table)
    }

    /// Checks every value that the types leave open and the source of the pairs does not matter for.
    pub(crate) fn validate(&self) -> Result<(), Error> {
        if let Some(table) = self.table {
            check_inside("output.table", table)?;
        }
        self.check_further()?;
        self.features.kind().validate("output.features")?;
        for (at, features) in self.summands.iter().enumerate() {
            let key = format!("output.kernels[{at}].features");
            let allowed = "\"file\", \"ngrams\" or \"substructures\", for several kernels";
            let holds = features.kind().facts().can_be_summed;
            let kind = format!("{key}.kind");
            check(holds, &kind, features.name(), allowed)?;
            features.kind().validate(&key)?;
        }
        // numbers are predicted as their column has them, whatever candidates are shown as
        let compared = self.features.truth().filter(|_| !self.features.are_numbers());
        if let Some(column) = compared {
            let label = self.label.unwrap_or("absent");
            let allowed = format!("{column:?}: predictions must equal the compared column");
            check(label == column, "output.label", label, &allowed)?;
        }
        if let OutputFeatures::Graphs(_) = self.features {
            let allowed = "absent: graphs are shown as they are";
            check(self.label.is_none(), "output.label", "given", allowed)?;
        }
        Ok(())
    }

    /// Checks that the further columns are neither repeated nor shown already.
    fn check_further(&self) -> Result<(), Error> {
        let key = "output.columns";
        for (at, name) in self.further.iter().enumerate() {
            let found = format!("{name:?}");
            check(!name.is_empty(), key, &found, "names of columns")?;
            check(!self.further[..at].contains(name), key, &found, "each name once")?;
            let label = self.label.is_none_or(|label| label != name);
            check(label, key, &found, "columns other than output.label, which is shown already")?;
            let allowed = "columns other than output.id, which is shown already";
            check(name != self.id, key, &found, allowed)?;
        }
        Ok(())
    }

    /// Checks that there is one kernel.
    pub(crate) fn check_one_kernel(&self) -> Result<(), Error> {
        let allowed = "absent: several kernels need outputs in a table or a pool";
        check(self.summands.is_empty(), "output.kernels", "given", allowed)
    }

    /// Checks that the features are not the vectors of the source itself.
    pub(crate) fn check_features(&self) -> Result<(), Error> {
        let allowed = "the features of outputs";
        check(!self.is_own(), "output.features.kind", self.features.name(), allowed)
    }

    /// Checks that the features are the vectors of the source itself, and all outputs candidates.
    pub(crate) fn check_own(&self) -> Result<(), Error> {
        self.check_one_kernel()?;
        let allowed = "absent: the vectors of this data.source are the features";
        check(self.is_own(), "output.features.kind", self.features.name(), allowed)?;
        self.check_no_table()?;
        check(self.label.is_none(), "output.label", "given", Self::ALL)?;
        check(self.further.is_empty(), "output.columns", "given", Self::ALL)?;
        check(self.candidate.is_none(), "output.candidate", "given", Self::ALL)
    }

    /// Checks that there is no table of outputs.
    pub(crate) fn check_no_table(&self) -> Result<(), Error> {
        let allowed = "absent: this data.source holds the outputs";
        let table = self.table.map(|table| format!("{table:?}"));
        check(table.is_none(), "output.table", table.unwrap_or_default(), allowed)
    }

    /// Returns the error for a table of outputs that is not named.
    pub(crate) fn no_table() -> Error {
        Error::value("output.table", "absent", "the table of outputs")
    }

    fn is_own(&self) -> bool {
        matches!(self.features, OutputFeatures::Source(_)) && self.summands.is_empty()
    }
}

/// Returns the SMILES of a cell without what is behind it, if it is one; else the whole cell.
fn plain_smiles(cell: &str) -> &str {
    let smiles = cells::smiles(cell);
    let is_longer = smiles.len() < cell.len();
    if is_longer && Molecule::parse(smiles).is_ok() { smiles } else { cell }
}
