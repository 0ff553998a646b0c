//! Features of outputs, of texts that are inputs.

use std::collections::HashMap;
use std::path::Path;

use dsokr_basis::Features;
use dsokr_basis::features::SparseRows;
use dsokr_core::{Cancellation, Processes};
use dsokr_molecule::Molecule;
use serde::{Deserialize, Serialize};

use super::fitted::is_none_occurs;
use super::occurrences::Occurrences;
use super::{Counted, FittedColumns, OutputFeatures, OutputFiles, OutputTable};
use crate::error::{Error, check};
use crate::table::Table;

/// Texts whose features are held at a time.
const BLOCK: usize = 8192;

/// The rounding error of a norm, as a share of it.
const ROUNDING: f64 = 1e-9;

/// Features that outputs can have too, of texts: what their columns are, as the training texts gave them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextFeatures {
    features: OutputFeatures,
    columns: FittedColumns,
}

impl TextFeatures {
    /// Checks that features are computed from a column, and their values.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] with the key.
    pub fn validate(features: &OutputFeatures, key: &str) -> Result<(), Error> {
        let allowed = "features of a column: \"substructures\", \"molecules\", \"ngrams\", \"labels\", \"classes\", \
                       \"rankings\" or \"numbers\"; or \"graphs\"";
        let is_readable =
            features.column().is_some() || matches!(features, OutputFeatures::Graphs(_));
        check(is_readable, format!("{key}.kind"), features.name(), allowed)?;
        features.kind().validate(key)
    }

    /// Finds the columns in the training texts.
    ///
    /// # Errors
    /// A text that cannot be read, such as one that is not a SMILES; features that are neither of a column nor of
    /// graphs.
    pub fn fit(features: &OutputFeatures, texts: &[String]) -> Result<Self, Error> {
        let (columns, _) =
            ReadTexts::once(texts).features(features, None, counts_unknown(features))?;
        Ok(Self { features: features.clone(), columns })
    }

    /// Finds the columns of features of several kinds, whose molecules are read once for all of them. Memory holds the counts of a
    /// few thousand texts at a time. Of several processes each counts its `part` of the texts; the columns are those of one
    /// process.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), with the place of the kind in the list; the errors of [`Processes::gather`].
    pub fn fit_all(
        kinds: &[&OutputFeatures],
        texts: &[String],
        part: &[String],
        processes: &Processes,
    ) -> Result<Vec<Self>, (usize, Error)> {
        let counted = Self::occurrences(kinds, part);
        let is_counted = u8::from(counted.is_ok());
        let all = processes.gather(&[is_counted]).map_err(|error| (0, error.into()))?;
        let are_all_counted = all.iter().all(|message| *message == [1]);
        // texts that cannot be read, or of which a block has no feature, are an error of all or of none
        let occurrences = counted.ok().filter(|_| are_all_counted);
        let mut occurrences = occurrences.unwrap_or_default().into_iter();
        let fit = |(at, &features): (usize, &&OutputFeatures)| {
            let fitted = match (features.kind().as_counted(), occurrences.next().flatten()) {
                (Some(counted), Some(occurrences)) => occurrences
                    .shared(processes)
                    .and_then(|occurrences| occurrences.columns(counted.rule()))
                    .map(|columns| Self { features: features.clone(), columns }),
                (_, _) => Self::fit(features, texts),
            };
            fitted.map_err(|error| (at, error))
        };
        kinds.iter().enumerate().map(fit).collect()
    }

    /// Returns what features of each kind count in texts; none of features that count nothing.
    fn occurrences(
        kinds: &[&OutputFeatures],
        texts: &[String],
    ) -> Result<Vec<Option<Occurrences>>, Error> {
        let counted: Vec<Option<&dyn Counted>> =
            kinds.iter().map(|features| features.kind().as_counted()).collect();
        let mut all: Vec<Option<Occurrences>> =
            counted.iter().map(|counted| counted.map(|_| Occurrences::default())).collect();
        let stage = Cancellation::current().stage("columns of inputs", texts.len());
        for (number, block) in texts.chunks(BLOCK).enumerate() {
            let mut read = ReadTexts::new(block);
            for ((features, counted), occurrences) in kinds.iter().zip(&counted).zip(&mut all) {
                let (Some(counted), Some(occurrences)) = (counted, occurrences) else { continue };
                // the first block has the columns that do not depend on texts
                if number == 0 || counted.columns_depend_on_rows() {
                    let (columns, counts) = read.count(*counted, features)?;
                    occurrences.add(&columns, &counts, counted.rule())?;
                }
            }
            stage.advance(block.len())?;
        }
        Ok(all)
    }

    /// Returns the number of columns: the columns of the training texts, and one more where other texts may have
    /// further features.
    pub fn width(&self) -> usize {
        self.columns.width + usize::from(self.is_open() || counts_unknown(&self.features))
    }

    /// Returns whether texts may have counted features without a column. Where rare features are left out, so are
    /// these; graph kernels have a column for them.
    fn is_open(&self) -> bool {
        match &self.features {
            OutputFeatures::Ngrams(ngrams) => ngrams.min_outputs == 1,
            OutputFeatures::Substructures(parts) => parts.exact && parts.min_outputs == 1,
            OutputFeatures::File(_)
            | OutputFeatures::Labels(_)
            | OutputFeatures::Classes(_)
            | OutputFeatures::Rankings(_)
            | OutputFeatures::Numbers(_)
            | OutputFeatures::Molecules(_)
            | OutputFeatures::Graphs(_)
            | OutputFeatures::Source(_) => false,
        }
    }

    /// Returns the rows of texts, with the columns of the training. The last column has the norm of what a text has
    /// without a column, 0 for the training texts: `⟨x, x⟩` is exact, and so are kernels of a text and a training text.
    ///
    /// # Errors
    /// The errors of [`fit`](Self::fit).
    pub fn rows(&self, texts: &[String]) -> Result<Features, Error> {
        self.rows_read(&mut ReadTexts::once(texts))
    }

    /// Returns the [rows](Self::rows) of texts of which some may have been read before.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn rows_read(&self, texts: &mut ReadTexts) -> Result<Features, Error> {
        let fitted = &self.columns;
        let (columns_of_texts, rows) = if self.is_open() {
            // the known columns are among those of all that texts have, but nothing can be fitted to texts without any feature
            texts.features(&self.features, None, false).or_else(|error| {
                if is_none_occurs(&error) {
                    texts.features(&self.features, Some(fitted), false)
                } else {
                    Err(error)
                }
            })?
        } else {
            texts.features(&self.features, Some(fitted), counts_unknown(&self.features))?
        };
        let (Features::Sparse(all), true) = (&rows, self.is_open()) else {
            let width = columns_of_texts.width;
            let expected = fitted.width;
            let error = || dsokr_core::Error::width(width, expected).into();
            return if width == expected { Ok(rows) } else { Err(error()) };
        };
        let column_of_name: HashMap<_, u32> = fitted.names().zip(0..).collect();
        let places: Vec<Option<u32>> =
            columns_of_texts.names().map(|name| column_of_name.get(&name).copied()).collect();
        let row = |row: usize| {
            let (columns, values) = all.row(row);
            let cells = columns.iter().zip(values);
            let kept = cells.filter_map(|(&at, &value)| Some((places[at as usize]?, value)));
            let mut kept: Vec<(u32, f32)> = kept.collect();
            kept.sort_unstable_by_key(|&(column, _)| column);
            let square = |value: f32| f64::from(value).powi(2);
            let kept_norm: f64 = kept.iter().map(|&(_, value)| square(value)).sum();
            let whole_norm: f64 = values.iter().copied().map(square).sum();
            let rest = (whole_norm - kept_norm > ROUNDING * whole_norm)
                .then(|| (whole_norm - kept_norm).sqrt() as f32);
            kept.extend(rest.map(|rest| (fitted.width as u32, rest)));
            kept
        };
        Ok(Features::Sparse(SparseRows::from_rows(self.width(), (0..all.len()).map(row))?))
    }
}

/// Returns whether rows have a last column for what no training text has: labels and classes.
fn counts_unknown(features: &OutputFeatures) -> bool {
    features.are_labels() || features.are_classes()
}

/// Texts from which features of several kinds are computed: their molecules are read once for all of them.
#[derive(derive_more::Debug)]
#[debug("ReadTexts({} texts)", texts.len())]
pub struct ReadTexts<'t> {
    texts: &'t [String],
    /// The molecules of the texts, by the column that features name.
    molecules: HashMap<String, Vec<Molecule>>,
    /// Whether molecules that are read are kept.
    keeps_molecules: bool,
}

impl<'t> ReadTexts<'t> {
    /// Creates texts of which nothing has been read.
    pub fn new(texts: &'t [String]) -> Self {
        Self { texts, molecules: HashMap::new(), keeps_molecules: true }
    }

    /// Creates texts that are read for features of one kind alone, so that no molecules are kept.
    pub fn once(texts: &'t [String]) -> Self {
        Self { keeps_molecules: false, ..Self::new(texts) }
    }

    /// Returns the columns and rows of the texts, which make the only column of a table; `fitted` are the columns of an earlier
    /// training, and `counts_unknown` says whether labels and classes without a column have the last one.
    fn features(
        &mut self,
        features: &OutputFeatures,
        fitted: Option<&FittedColumns>,
        counts_unknown: bool,
    ) -> Result<(FittedColumns, Features), Error> {
        let (columns, rows) = if let OutputFeatures::Graphs(graphs) = features {
            graphs.of_texts(self.texts, fitted)?
        } else {
            self.read(features, fitted, counts_unknown, |from| features.kind().read(from))?
        };
        let all: Vec<usize> = (0..rows.len()).collect();
        Ok((columns, rows.select(&all)?))
    }

    /// Returns the counts of the texts.
    fn count(
        &mut self,
        counted: &dyn Counted,
        features: &OutputFeatures,
    ) -> Result<(FittedColumns, SparseRows), Error> {
        self.read(features, None, false, |from| counted.count(from))
    }

    /// Reads the texts, which make the only column of a table.
    fn read<T>(
        &mut self,
        features: &OutputFeatures,
        fitted: Option<&FittedColumns>,
        counts_unknown: bool,
        read: impl FnOnce(&mut OutputTable) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let column = features.column().unwrap_or_default();
        let table = Table::numbered(Path::new("the inputs"), "", [(column, self.texts.to_vec())]);
        let mut from = OutputTable {
            table: &table,
            id: "",
            files: OutputFiles::Given(&[]),
            fitted,
            counts_unknown,
            truth: None,
            labels: Vec::new(),
            molecules: std::mem::take(&mut self.molecules),
            keeps_molecules: self.keeps_molecules,
            is_summed: false,
        };
        let result = read(&mut from);
        self.molecules = from.molecules;
        result
    }
}
