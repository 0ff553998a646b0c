//! Rankings of items, whose ranks are counted from 1 in tables and from 0 in memory.

use dsokr_basis::Features;
use dsokr_basis::features::{hamming_one_hot, kemeny_signs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FeatureFacts, FittedRows, OutputKind, OutputTable, bad, own};
use crate::table::Table;
use crate::{Error, Truth};

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
    /// The rank of each item; [`Error::Line`] for a cell that is no ranking of as many items as the first, or
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
