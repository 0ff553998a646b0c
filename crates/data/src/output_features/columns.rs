//! Cells of a column: sets of labels, and rankings of items, whose ranks are counted from 1 in tables and from 0 in
//! memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::featurizers::{LabelVocabulary, UNRANKED, hamming_one_hot, kemeny_signs, lehmer_codes};
use dsokr_basis::features::BitRows;
use dsokr_basis::{Features, RowSource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FeatureFacts, FittedColumns, FittedRows, OutputKind, OutputTable, fixed_rows};
use crate::cells;
use crate::error::{Error, check};
use crate::memory::{bytes_of_bits, check_memory};
use crate::table::Table;
use crate::truth::{LabelSet, Truth, bad};

/// Sets of labels: one bit for each label that occurs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelFeatures {
    /// The column.
    pub column: String,
    /// The separator of two labels; spaces around labels are ignored. A cell that is a list as JSON, Python, PostgreSQL or
    /// Label Studio writes it, as in `["a", "b"]`, is the set of its parts, and one that says that there is no value, such
    /// as `NA`, the empty set. A label between quotation marks may hold the separator, and round brackets may hold commas.
    #[serde(default = "separator")]
    pub separator: char,
}

dsokr_core::defaults!(separator: char = ' ');

/// The sets of labels of the rows of a table, of which many may have one.
#[derive(Default)]
struct RowSets {
    /// The different sets, in the order of the first rows that have them.
    sets: Vec<LabelSet>,
    first_rows: Vec<usize>,
    /// The place of each row's set among them.
    places: Vec<usize>,
}

impl RowSets {
    /// Returns the set of each row.
    fn truth(&self) -> Truth {
        let set = |&place: &usize| Arc::clone(&self.sets[place]);
        Truth::Labels(self.places.iter().map(set).collect())
    }
}

impl LabelFeatures {
    /// Returns the labels of a cell.
    pub fn set(&self, cell: &str) -> Vec<String> {
        cells::labels(cell, self.separator)
    }

    /// Returns the cell of a set of labels, which [`set`](Self::set) reads ([`cells::of_labels`]).
    pub fn cell(&self, names: &[impl AsRef<str>]) -> String {
        cells::of_labels(names, self.separator)
    }

    /// Returns the [spellings](cells::spellings) of labels, with their numbers of cells.
    pub fn spellings<'c>(&self, cells: impl IntoIterator<Item = &'c str>) -> Vec<String> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for cell in cells {
            *counts.entry(cell).or_default() += 1;
        }
        let mut labels: BTreeMap<String, usize> = BTreeMap::new();
        for (cell, count) in counts {
            for label in self.set(cell).into_iter().collect::<BTreeSet<_>>() {
                *labels.entry(label).or_default() += count;
            }
        }
        cells::spellings_of(labels.iter().map(|(label, &count)| (label.as_str(), count)))
    }

    /// Returns the cells of sets of labels, a row of bits each.
    pub(crate) fn cells(&self, names: &[String], rows: &BitRows) -> Vec<String> {
        let cell = |row| {
            let names: Vec<&str> = rows.ones(row).map(|label| names[label].as_str()).collect();
            self.cell(&names)
        };
        (0..rows.len()).map(cell).collect()
    }

    /// Returns the set of each row, one for all rows with the same cell.
    fn sets(&self, table: &Table) -> Result<RowSets, Error> {
        let mut rows = RowSets::default();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (row, cell) in table.column(&self.column)?.iter().enumerate() {
            let place = *places.entry(cell).or_insert(rows.sets.len());
            if place == rows.sets.len() {
                rows.sets.push(self.set(cell).into());
                rows.first_rows.push(row);
            }
            rows.places.push(place);
        }
        Ok(rows)
    }

    /// Returns the labels of an earlier training. They include the labels of the table.
    fn vocabulary_of(
        &self,
        fitted: &FittedColumns,
        rows: &RowSets,
        table: &Table,
    ) -> Result<LabelVocabulary, Error> {
        let sets = rows.first_rows.iter().zip(&rows.sets);
        let labels =
            sets.flat_map(|(&row, set)| set.iter().map(move |label| (row, label.as_str())));
        fitted.check_known("label", &self.column, table, labels)?;
        Ok(LabelVocabulary::fit(std::slice::from_ref(&fitted.terms))?)
    }
}

impl OutputKind for LabelFeatures {
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts { column: Some(&self.column), is_compared: true, ..Default::default() }
    }

    fn truth(&self, table: &Table) -> Result<Option<Truth>, Error> {
        Ok(Some(self.sets(table)?.truth()))
    }

    fn truth_of_labels(&self, labels: &[&str]) -> Result<Option<Truth>, Error> {
        Ok(Some(Truth::Labels(labels.iter().map(|cell| self.set(cell).into()).collect())))
    }

    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let sets_of_rows = self.sets(from.table)?;
        let sets = &sets_of_rows.sets;
        let vocabulary = match from.fitted {
            Some(fitted) if from.counts_unknown => {
                LabelVocabulary::fit(std::slice::from_ref(&fitted.terms))?
            }
            Some(fitted) => self.vocabulary_of(fitted, &sets_of_rows, from.table)?,
            None => {
                if sets.iter().all(|set| set.is_empty()) {
                    let column = &self.column;
                    let message = format!("no row has a label in the column {column:?}");
                    return Err(Error::file(from.table.path(), message));
                }
                let vocabulary = LabelVocabulary::fit(sets)?;
                // labels with spaces between may be words of texts; most other tables have none, whose labels need not be counted
                if self.separator != ' ' && !cells::spellings(vocabulary.names()).is_empty() {
                    let cells = from.table.column(&self.column)?.iter().map(String::as_str);
                    let (path, column) = (from.table.path(), &self.column);
                    cells::warn_of_spellings(path, "labels", column, &self.spellings(cells));
                }
                vocabulary
            }
        };
        let labels = vocabulary.names().count();
        check_memory(
            from.table.path(),
            from.table.len() as f64 * bytes_of_bits(labels),
            format_args!(
                "{} rows of {labels} labels (column {:?}, divided at {:?})",
                from.table.len(),
                self.column,
                self.separator
            ),
        )?;
        let rows: Features = if from.counts_unknown {
            vocabulary.open_rows(sets)?.into()
        } else {
            vocabulary.rows(sets)?.into()
        };
        let rows = rows.select(&sets_of_rows.places)?;
        let terms = vocabulary.names().map(str::to_owned).collect();
        let columns = FittedColumns { width: labels, terms, ..FittedColumns::default() };
        from.truth = Some(sets_of_rows.truth());
        Ok((columns, Box::new(rows)))
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
    /// The names of the items. Cells are then orders, as in `"b>a=d>c"`, the best first, with `=` or `~` between items
    /// that tie, `~` only where it is in the name of none; an item that a cell does not name is not ranked there. Left out, a cell has the rank of each item from
    /// 1, with spaces between, and `-` for one that is not ranked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
}

/// How rankings become rows (Korba et al. 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RankingEmbedding {
    /// A sign for every pair of items, which says which comes first: for the kernel `kemeny`. Ties and items that are
    /// not ranked are allowed.
    Kemeny,
    /// The rank of each item, as one column for each pair of item and rank: for the kernel `hamming`. Each rank occurs
    /// once.
    Hamming,
    /// The number of items before each item in the list that are ranked behind it: for the kernel `linear`. Each rank
    /// occurs once.
    Lehmer,
}

impl RankingFeatures {
    /// Returns the rank of each item; [`dsokr_core::Error::File`] for a cell that is not a ranking of as many items as
    /// the first, or that the embedding does not take.
    fn rankings<'t>(
        &'t self,
        table: &'t Table,
    ) -> Result<impl Iterator<Item = Result<Vec<u32>, Error>> + 't, Error> {
        let mut first = None;
        let mut ranking = move |cell: &str| {
            let ranks = self.parse(cell).ok_or_else(|| self.allowed())?;
            let items = first.unwrap_or(ranks.len());
            if ranks.len() != items || items < 2 {
                return Err(format!("the ranks of {} items, as in every row", items.max(2)));
            }
            match self.embedding {
                RankingEmbedding::Kemeny => {
                    if ranks.iter().filter(|&&rank| rank != UNRANKED).count() < 2 {
                        return Err("a ranking of at least two of the items".into());
                    }
                }
                RankingEmbedding::Hamming | RankingEmbedding::Lehmer => {
                    let mut sorted = ranks.clone();
                    sorted.sort_unstable();
                    if !sorted.iter().copied().eq(0..items as u32) {
                        return Err(format!("each of the ranks 1 to {items} once"));
                    }
                }
            }
            first = Some(items);
            Ok(ranks)
        };
        Ok(table.column(&self.column)?.iter().enumerate().map(move |(row, cell)| {
            let wrong = |allowed: String| {
                table.error(row, format!("the ranking {cell:?}: expected {allowed}"))
            };
            ranking(cell).map_err(wrong)
        }))
    }

    /// Returns the rank of each item in a cell, from 0.
    fn parse(&self, text: &str) -> Option<Vec<u32>> {
        if self.items.is_empty() {
            let rank = |text: &str| match text {
                "-" => Some(UNRANKED),
                rank => rank.parse::<u32>().ok()?.checked_sub(1),
            };
            return match cells::list(text) {
                Some(ranks) => ranks.iter().map(|text| rank(text)).collect(),
                None => text.split_whitespace().map(rank).collect(),
            };
        }
        let names_have_tildes = self.items.iter().any(|item| item.contains('~'));
        let mut ranks = vec![UNRANKED; self.items.len()];
        for (rank, tied) in (0..).zip(text.split('>')) {
            for name in cells::tied_items(tied, names_have_tildes) {
                let item = self.items.iter().position(|item| item == name)?;
                if std::mem::replace(&mut ranks[item], rank) != UNRANKED {
                    return None;
                }
            }
        }
        Some(ranks)
    }

    /// Returns the values that [`parse`](Self::parse) accepts.
    fn allowed(&self) -> String {
        if self.items.is_empty() {
            "ranks from 1, with spaces between".into()
        } else {
            format!("an order of items, each once, as in \"{}\"", self.items.join(">"))
        }
    }
}

impl OutputKind for RankingFeatures {
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts { column: Some(&self.column), is_compared: true, ..Default::default() }
    }

    fn validate(&self, key: &str) -> Result<(), Error> {
        let named = |(at, item): (usize, &String)| {
            let plain = !item.is_empty() && item.trim() == item && !item.contains(['>', '=']);
            plain && !self.items[..at].contains(item)
        };
        let holds = self.items.len() != 1 && self.items.iter().enumerate().all(named);
        let found = format!("{:?}", self.items);
        check(holds, format!("{key}.items"), found, "two or more names, each once, without > and =")
    }

    fn bad_rows(&self, table: &Table) -> Result<Vec<(usize, Error)>, Error> {
        Ok(bad(self.rankings(table)?))
    }

    fn truth(&self, table: &Table) -> Result<Option<Truth>, Error> {
        Ok(Some(Truth::Rankings(self.rankings(table)?.collect::<Result<_, _>>()?)))
    }

    fn truth_of_labels(&self, labels: &[&str]) -> Result<Option<Truth>, Error> {
        let ranking = |label: &&str| {
            let wrong = || Error::label(label, format!("a ranking: expected {}", self.allowed()));
            self.parse(label).ok_or_else(wrong)
        };
        Ok(Some(Truth::Rankings(labels.iter().map(ranking).collect::<Result<_, _>>()?)))
    }

    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let ranks = self.rankings(from.table)?.collect::<Result<Vec<_>, _>>()?;
        let rows: Features = match self.embedding {
            RankingEmbedding::Kemeny => kemeny_signs(&ranks)?.into(),
            RankingEmbedding::Hamming => hamming_one_hot(&ranks)?.into(),
            RankingEmbedding::Lehmer => lehmer_codes(&ranks)?.into(),
        };
        from.truth = Some(Truth::Rankings(ranks));
        Ok(fixed_rows(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_label_sets_are_read_as_the_same_sets() {
        let features = LabelFeatures { column: "tags".into(), separator: ';' };
        let cases: [(&[&str], &str); 7] = [
            (&[], ""),
            (&["acid"], "acid"),
            (&["acid", "ring"], "acid;ring"),
            (&["base", "carbon; organic"], r#"["base","carbon; organic"]"#),
            // without marks one would be no label, and the other two
            (&["NA"], r#"["NA"]"#),
            (&["[ester, ketone]"], r#"["[ester, ketone]"]"#),
            (&["a;\"b\\", "ä"], r#"["a;\"b\\","ä"]"#),
        ];
        let empty: [(&[&str], &str); 2] = [(&[""], ""), (&["acid", ""], "acid;")];
        for (names, expected) in empty {
            assert_eq!(features.cell(names), expected);
        }
        for (names, expected) in cases {
            let cell = features.cell(names);
            assert_eq!(features.set(&cell), names, "{cell}");
            assert_eq!(cell, expected);
        }
        let rows = BitRows::from_indices(2, vec![vec![0, 1], vec![], vec![1]]).unwrap();
        let names = ["ring".to_owned(), "carbon; organic".to_owned()];
        let cells = [r#"["ring","carbon; organic"]"#, "", r#"["carbon; organic"]"#];
        assert_eq!(features.cells(&names, &rows), cells);
    }

    #[test]
    fn spellings_of_labels_are_counted_once_a_cell() {
        let features = LabelFeatures { column: "tags".into(), separator: ';' };
        let cells = ["War; Crime", "war", "War;war;War", r#"["WAR", "Crime"]"#, "war"];
        assert_eq!(features.spellings(cells), [r#""war" (3), "War" (2), "WAR" (1)"#]);
    }

    #[test]
    fn items_tie_at_an_equals_sign_or_a_tilde() {
        let items = ["a", "b", "c"].map(str::to_owned).to_vec();
        let embedding = RankingEmbedding::Kemeny;
        let features = RankingFeatures { column: "order".into(), embedding, items };
        for cell in ["b>a=c", "b > a ~ c", "b>c~a"] {
            assert_eq!(features.parse(cell), Some(vec![1, 0, 1]), "{cell}");
        }
        assert_eq!(features.parse("b>a~"), None);
        // names may have a tilde, which is none of a tie then
        let items = ["a", "b~2", "c"].map(str::to_owned).to_vec();
        let named = RankingFeatures { items, ..features.clone() };
        assert!(named.validate("features").is_ok());
        assert_eq!(named.parse("b~2 > a = c"), Some(vec![1, 0, 1]));
        assert_eq!(named.parse("b~2 > a ~ c"), None);
        let items = vec!["a".to_owned(), "a=b".to_owned()];
        assert!(RankingFeatures { items, ..features }.validate("features").is_err());
    }

    #[test]
    fn a_cell_without_a_value_has_no_labels() {
        let features = LabelFeatures { column: "tags".into(), separator: ';' };
        for cell in ["", "NA", "\\N", "<NA>", "-", "[]", "{}", "set()"] {
            assert_eq!(features.set(cell), [""; 0], "{cell}");
        }
        assert_eq!(features.set("none"), ["none"]);
        assert_eq!(features.set("NA;acid"), ["NA", "acid"]);
        assert_eq!(features.set("{acid,\"two words\"}"), ["acid", "two words"]);
    }
}
