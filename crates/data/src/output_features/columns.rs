//! Cells of a column: sets of labels, numbers, and rankings of items, whose ranks are counted from 1 in tables and from 0
//! in memory.

use dsokr_basis::Features;
use dsokr_basis::features::{DenseRows, LabelVocabulary, hamming_one_hot, kemeny_signs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FeatureFacts, FittedColumns, FittedRows, OutputKind, OutputTable, own};
use crate::table::Table;
use crate::truth::bad;
use crate::{Error, Truth};

/// Sets of labels: one bit for each label that occurs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelFeatures {
    /// The column.
    pub column: String,
    /// The separator of two labels; spaces around labels are ignored.
    #[serde(default = "separator")]
    pub separator: char,
}

fn separator() -> char {
    ' '
}

impl LabelFeatures {
    /// The labels of a cell.
    pub fn set(&self, cell: &str) -> Vec<String> {
        let labels = cell.split(self.separator).map(str::trim);
        labels.filter(|label| !label.is_empty()).map(str::to_owned).collect()
    }

    fn sets(&self, table: &Table) -> Result<Vec<Vec<String>>, Error> {
        Ok(table.column(&self.column)?.iter().map(|cell| self.set(cell)).collect())
    }

    /// The labels of an earlier training, of which those of the table are.
    fn known(
        &self,
        fitted: &FittedColumns,
        sets: &[Vec<String>],
        table: &Table,
    ) -> Result<LabelVocabulary, Error> {
        for (row, set) in sets.iter().enumerate() {
            let known = |label: &&String| fitted.terms.binary_search(label).is_ok();
            if let Some(label) = set.iter().find(|label| !known(label)) {
                let (column, known) = (&self.column, fitted.terms.len());
                let message = format!(
                    "the label {label:?} in the column {column:?}: allowed are the {known} labels that the run was \
                     trained with"
                );
                return Err(table.error(row, message));
            }
        }
        Ok(LabelVocabulary::fit(std::slice::from_ref(&fitted.terms))?)
    }
}

impl OutputKind for LabelFeatures {
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts { column: Some(&self.column), is_compared: true, ..Default::default() }
    }

    fn truth(&self, table: &Table) -> Result<Option<Truth>, Error> {
        Ok(Some(Truth::Labels(self.sets(table)?)))
    }

    fn truth_of_labels(&self, labels: &[&str]) -> Result<Option<Truth>, Error> {
        Ok(Some(Truth::Labels(labels.iter().map(|cell| self.set(cell)).collect())))
    }

    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let sets = self.sets(from.table)?;
        let vocabulary = match from.fitted {
            Some(fitted) => self.known(fitted, &sets, from.table)?,
            None => LabelVocabulary::fit(&sets)?,
        };
        let rows = vocabulary.rows(&sets)?;
        let terms = vocabulary.names().map(str::to_owned).collect();
        let columns = FittedColumns { width: rows.width(), terms, ..FittedColumns::default() };
        from.truth = Some(Truth::Labels(sets));
        Ok((columns, Box::new(Features::Bits(rows))))
    }
}

/// Numbers of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberFeatures {
    /// The column.
    pub column: String,
}

/// The largest error of rounding to 32 bits, as a share of the range of the numbers.
const ROUNDING: f64 = 1e-3;

impl NumberFeatures {
    /// The numbers of 32 and of 64 bits; [`dsokr_basis::Error::File`] for a cell that holds no finite number.
    fn numbers<'t>(
        &'t self,
        table: &'t Table,
    ) -> Result<impl Iterator<Item = Result<(f32, f64), Error>> + 't, Error> {
        let number = |(row, cell): (usize, &String)| {
            let (cell, column) = (cell.trim(), &self.column);
            let number = cell.parse::<f32>().ok().filter(|number| number.is_finite());
            number.zip(cell.parse::<f64>().ok()).ok_or_else(|| {
                let message =
                    format!("{cell:?} in the column {column:?}: allowed is a finite number");
                table.error(row, message)
            })
        };
        Ok(table.column(&self.column)?.iter().enumerate().map(number))
    }
}

impl OutputKind for NumberFeatures {
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts { column: Some(&self.column), ..Default::default() }
    }

    fn bad_rows(&self, table: &Table) -> Result<Vec<(usize, Error)>, Error> {
        Ok(bad(self.numbers(table)?))
    }

    /// Refuses numbers that 32 bits do not tell apart.
    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let (narrow, wide): (Vec<f32>, Vec<f64>) =
            self.numbers(from.table)?.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let least = wide.iter().copied().fold(f64::INFINITY, f64::min);
        let most = wide.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let errors = narrow.iter().zip(&wide).map(|(&n, wide)| (f64::from(n) - wide).abs());
        let error = errors.fold(0.0, f64::max);
        if most > least && error > ROUNDING * (most - least) {
            let column = &self.column;
            let message = format!(
                "the numbers in the column {column:?} lie between {least} and {most}, and rounding to 32 bits \
                 changes them by up to {error}: subtract a constant from all of them"
            );
            return Err(Error::file(from.table.path(), message));
        }
        Ok(own(DenseRows::new(1, narrow)?))
    }
}

/// Rankings of items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankingFeatures {
    /// The column.
    pub column: String,
    /// How they become rows.
    pub embedding: RankingEmbedding,
}

/// How rankings become rows (Korba et al. 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RankingEmbedding {
    /// Which of two items comes first, a sign for every pair: for the kernel `kemeny`. Ties may be.
    Kemeny,
    /// Which item has which rank: for the kernel `hamming`. Each rank occurs once.
    Hamming,
}

impl RankingFeatures {
    /// The rank of each item; [`dsokr_basis::Error::File`] for a cell that is no ranking of as many items as the first, or
    /// that the embedding does not take.
    fn rankings<'t>(
        &self,
        table: &'t Table,
    ) -> Result<impl Iterator<Item = Result<Vec<u32>, Error>> + 't, Error> {
        let (mut first, embedding) = (None, self.embedding);
        let mut ranking = move |cell: &str| {
            let ranks = parse(cell).ok_or(RANKS)?;
            let items = first.unwrap_or(ranks.len());
            if ranks.len() != items || items < 2 {
                return Err(format!("the ranks of {} items, as in every row", items.max(2)));
            }
            let mut sorted = ranks.clone();
            sorted.sort_unstable();
            if embedding == RankingEmbedding::Hamming && !sorted.iter().copied().eq(0..items as u32)
            {
                return Err(format!("each of the ranks 1 to {items} once"));
            }
            first = Some(items);
            Ok(ranks)
        };
        Ok(table.column(&self.column)?.iter().enumerate().map(move |(row, cell)| {
            let wrong = |allowed: String| {
                table.error(row, format!("the ranking {cell:?}: allowed is {allowed}"))
            };
            ranking(cell).map_err(wrong)
        }))
    }
}

impl OutputKind for RankingFeatures {
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts { column: Some(&self.column), is_compared: true, ..Default::default() }
    }

    fn bad_rows(&self, table: &Table) -> Result<Vec<(usize, Error)>, Error> {
        Ok(bad(self.rankings(table)?))
    }

    fn truth(&self, table: &Table) -> Result<Option<Truth>, Error> {
        Ok(Some(Truth::Rankings(self.rankings(table)?.collect::<Result<_, _>>()?)))
    }

    fn truth_of_labels(&self, labels: &[&str]) -> Result<Option<Truth>, Error> {
        let ranking = |label: &&str| {
            let wrong = || Error::label(label, format!("a ranking: allowed is {RANKS}"));
            parse(label).ok_or_else(wrong)
        };
        Ok(Some(Truth::Rankings(labels.iter().map(ranking).collect::<Result<_, _>>()?)))
    }

    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let ranks = self.rankings(from.table)?.collect::<Result<Vec<_>, _>>()?;
        let rows: Features = match self.embedding {
            RankingEmbedding::Kemeny => kemeny_signs(&ranks)?.into(),
            RankingEmbedding::Hamming => hamming_one_hot(&ranks)?.into(),
        };
        from.truth = Some(Truth::Rankings(ranks));
        Ok(own(rows))
    }
}

const RANKS: &str = "ranks from 1, with spaces between";

fn parse(text: &str) -> Option<Vec<u32>> {
    let rank = |text: &str| text.parse::<u32>().ok()?.checked_sub(1);
    text.split_whitespace().map(rank).collect()
}
