//! The columns of a table: what they hold, with exceptions.

use std::collections::{BTreeMap, HashMap, HashSet};

use dsokr_core::Argument;
use dsokr_data::cells::{self, Alike, NumberNotation};
use dsokr_data::config::LabelFeatures;
use dsokr_data::table::Table;
use rayon::prelude::*;

use super::guess::codes::{first_code, first_number_with_zero};
use super::guess::labels::{
    are_measures, are_phrases, are_unordered, have_commas_in_names, odd_separator, reordered,
    unread_list,
};
use super::guess::numbers::{
    UnitsBehind, are_times, first_measure, first_thousand, first_with_decimal_commas, mixed_signs,
    stand_in,
};
use super::guess::{
    are_unspaced, case_means_something, guessed, guessed_of_lists, is_class, is_formula, most,
    share_no_words, stated, without_extension, would_be_ids,
};
use super::kind::{ColumnKind, KindName, Lists, Reading};
use crate::error::Error;

/// Cells of a column that are different from the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exceptions {
    /// Their number.
    pub count: usize,
    /// The line of the first one, from 1, and the cell.
    pub first: Option<(usize, String)>,
}

impl Exceptions {
    fn add(&mut self, line: usize, cell: &str) {
        self.count += 1;
        self.first.get_or_insert_with(|| (line, cell.to_owned()));
    }
}

/// The numbers of a column some of which have a point and others a comma.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointsAndCommas {
    /// The numbers with the sign that is before decimals in most.
    pub usual: Exceptions,
    /// The numbers with the other sign; where that is not read as one before decimals too, only those that are read as thousands.
    pub others: Exceptions,
}

/// A number among those of a column that most likely stands for no value, such as -999.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandIn {
    /// The first cell with it.
    pub cell: String,
    /// The number of cells with it.
    pub count: usize,
    /// Whether it is below all other numbers, and not above them.
    pub is_below: bool,
}

/// What a column says of the numbers of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qualifier {
    /// The name of the column of numbers.
    pub of: String,
    /// Whether its cells are signs of bounds, and not units.
    pub are_signs: bool,
    /// Its different cells, with the number of rows of each that have a number, the most frequent one first.
    pub counts: Vec<(String, usize)>,
}

/// The most characters of an example that is shown as the text of a search.
pub const LONGEST_EXAMPLE: usize = 80;

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its contents.
    pub kind: ColumnKind,
    /// Number of cells that are not empty.
    pub filled: usize,
    /// Number of different cells that are not empty.
    pub distinct: usize,
    /// Number of empty cells.
    pub empty: usize,
    /// Cells that are neither empty nor what the column holds.
    pub invalid: Exceptions,
    /// Cells a part of which is what the column holds: SMILES with names or extensions behind.
    pub repaired: Exceptions,
    /// The class that metrics are about, of two classes one of which says so, such as `1`, `yes` or `active`.
    pub positive: Option<String>,
    /// The first cell that is not empty.
    pub example: String,
    /// The first cell that is what the column holds and has at most [`LONGEST_EXAMPLE`] characters.
    pub short_example: Option<String>,
    /// Mean number of characters of cells that are not empty.
    pub length: f64,
    /// Whether most cells have no white space, but for extensions of CXSMILES behind reactions.
    pub are_single_words: bool,
    /// Whether most letters are of a script that has no spaces between words, as Chinese and Thai, and the words have none.
    pub are_unspaced: bool,
    /// Whether more than half of different texts have no word in common with another one, so that nothing is learned from words.
    pub share_no_words: bool,
    /// Whether cells that may be read as texts are single words in which the case of letters means something, as in compositions
    /// (`Co`, `CO`) and reactions.
    pub case_means_something: bool,
    /// Standard deviation of the numbers; 0 of other columns.
    pub deviation: f64,
    /// Whether cells that are read as texts are formulas of molecules.
    pub are_formulas: bool,
    /// Whether texts that nobody has stated are reactions, compositions or peptides that all differ, and say what each row is about as
    /// ids do.
    pub(super) would_be_ids: bool,
    /// Whether cells that are read as texts are measures, each written as more than one number: `12.67 ± 0.47`.
    pub are_measures: bool,
    /// The first cell that is not one number, in a column of measures.
    pub measure: Option<String>,
    /// The parts of the first cell, in its order, where cells that are read as texts or classes, or are found to be ranks of items, are
    /// all the same parts in different orders.
    pub reordered: Option<Vec<String>>,
    /// Classes and labels whose names differ only in the case of letters or in what is hardly seen: all
    /// [ways](cells::spellings) in which each is written, with their numbers of cells. None of labels that are found to have spaces
    /// between, which may be words of texts.
    pub spellings: Vec<String>,
    /// The line of the first row, where its class is the only one that no other row has.
    pub alone_in_front: Option<usize>,
    /// The first list of several parts, where cells that are read as texts, classes or ids are lists in a notation that is not
    /// read, such as `{a, b}`.
    pub unread_list: Option<String>,
    /// The separator of labels, where they may be divided at another sign, or not at all.
    pub odd_separator: Option<char>,
    /// Whether commas are read as parts of the names of classes, which they could divide into labels.
    pub has_commas_in_names: bool,
    /// The first cell whose point or comma is taken for one of thousands, in a column of numbers where each could be a decimal one.
    pub thousand: Option<String>,
    /// The first cell with a 0 before it, in a column of codes, which are therefore no numbers.
    pub code: Option<String>,
    /// The first cell of digits that begins with 0, as codes do, in a column that is found to be of numbers.
    pub zero_in_front: Option<String>,
    /// The cells without the unit that are not 0, in a column of numbers with a unit, of which they are read as numbers.
    pub unitless: Exceptions,
    /// Whether cells without the unit, beside percentages, are most likely shares: none is above 1, and some have decimals.
    pub are_shares: bool,
    /// The unit or flag that stands behind the numbers of most cells that are skipped since they have one, and their number, in a
    /// column of numbers.
    pub other_unit: Option<(String, usize)>,
    /// The cells of numbers that are below 0 by brackets or a sign behind, as accounts write them.
    pub below: Exceptions,
    /// The number that most likely stands for no value, in a column of numbers.
    pub stand_in: Option<StandIn>,
    /// The cells of classes that are a point and a letter or `_` behind it, as Stata and SAS write why there is no value.
    pub point_marks: Exceptions,
    /// The cells with points and the cells with commas, in a column of numbers with both, where both are before decimals, or the ones
    /// may be wrongly read as thousands.
    pub mixed: Option<PointsAndCommas>,
    /// What the column says of the numbers of another one: their units, or the signs of bounds.
    pub qualifies: Option<Qualifier>,
    /// The first cell, where cells that are read as texts are several numbers each with decimal commas.
    pub(super) decimal_commas: Option<String>,
    /// Whether cells are points in time, as numbers or in a notation that looks like labels.
    pub(super) are_times: bool,
    /// Whether labels with spaces or commas between are rather the words of names or phrases.
    pub(super) are_phrases: bool,
    /// Whether labels of one word each stand in any order, which therefore says nothing.
    pub(super) are_unordered: bool,
    /// Whether most cells have a digit.
    pub(super) have_digits: bool,
    /// Whether most cells are whole numbers by threes, with white space between, as of two atoms and the bond between them.
    pub(super) are_bonds: bool,
    /// The rows whose cells are empty, and those whose cells are not what the column holds.
    pub(super) bad_rows: Vec<usize>,
}

impl Column {
    /// Looks at the cells of the column at a position, from 0, whose kind may be stated, and whose values may be lists.
    ///
    /// # Errors
    /// A column that the table was not read with; a stated kind that no cell is of; label sets whose lists are in a notation that
    /// is not read.
    pub fn read(
        table: &Table,
        position: usize,
        name: &str,
        kind: Option<KindName>,
        lists: Option<Lists>,
    ) -> Result<Self, Error> {
        let rows = table.column(name)?.iter().map(|cell| cell.trim()).enumerate();
        let (filled, empty): (Vec<_>, Vec<_>) = rows.partition(|(_, cell)| !cell.is_empty());
        let texts: Vec<&str> = filled.iter().map(|&(_, cell)| cell).collect();
        let is_guessed = kind.is_none();
        let kind = match kind {
            Some(kind) => stated_kind(kind, name, lists, &texts)?,
            None => guessed_kind(position, name, lists, &texts),
        };
        let cells = Cells { table, name, filled: &filled, texts: &texts, kind: &kind, is_guessed };
        let Readings { invalid, invalid_rows, repaired, short_example } = cells.readings()?;
        let mut bad_rows: Vec<usize> = Vec::new();
        // an empty text is a text
        if kind != ColumnKind::Texts {
            bad_rows.extend(empty.iter().map(|&(row, _)| row));
        }
        bad_rows.extend(invalid_rows);
        let NumberRemarks {
            deviation,
            unitless,
            are_shares,
            other_unit,
            below,
            stand_in,
            mixed,
            thousand,
        } = cells.numbers();
        let ListRemarks { are_measures, measure, reordered, unread_list } = cells.lists();
        let WordRemarks { are_unspaced, are_single_words, share_no_words, case_means_something } =
            cells.words();
        let characters: usize = texts.iter().map(|cell| cell.chars().count()).sum();
        let are_texts = kind == ColumnKind::Texts;
        let may_be_vectors = is_guessed && are_texts;
        let decimal_commas = if may_be_vectors { first_with_decimal_commas(&texts) } else { None };
        let code = if is_guessed { first_code((position, name), &kind, &texts) } else { None };
        let zero_in_front = if is_guessed { first_number_with_zero(&kind, &texts) } else { None };
        Ok(Self {
            name: name.to_owned(),
            filled: filled.len(),
            distinct: texts.iter().collect::<HashSet<_>>().len(),
            empty: empty.len(),
            invalid,
            repaired,
            positive: positive_of(&kind, &texts),
            example: texts.first().copied().unwrap_or_default().to_owned(),
            short_example,
            length: characters as f64 / filled.len().max(1) as f64,
            are_single_words,
            are_unspaced,
            share_no_words,
            case_means_something,
            deviation,
            are_formulas: are_texts && most(&texts, is_formula),
            would_be_ids: is_guessed && are_texts && would_be_ids(name, &texts),
            are_measures,
            measure,
            reordered,
            spellings: cells.spellings(),
            alone_in_front: cells.is_first_alone().then(|| table.line(0)),
            unread_list,
            odd_separator: odd_separator(&kind, !is_guessed, &texts),
            has_commas_in_names: is_guessed && have_commas_in_names(&kind, name, &texts),
            thousand,
            code: code.map(str::to_owned),
            zero_in_front: zero_in_front.map(str::to_owned),
            unitless,
            are_shares,
            other_unit,
            below,
            stand_in,
            point_marks: cells.point_marks(),
            mixed,
            qualifies: None,
            decimal_commas: decimal_commas.map(str::to_owned),
            are_times: are_times(&kind, name, &texts),
            are_phrases: are_phrases(&kind, name, &texts),
            are_unordered: are_unordered(&kind, &texts),
            have_digits: most(&texts, |cell| cell.contains(|c: char| c.is_ascii_digit())),
            are_bonds: most(&texts, is_bonds),
            bad_rows,
            kind,
        })
    }

    /// Returns the number of rows that cannot be learned from where the column is the output.
    pub fn unusable(&self) -> usize {
        self.unusable_rows().len()
    }

    /// Returns the rows that cannot be learned from where the column is the input. Any cell is a text, but for the marks of
    /// missing values.
    pub(super) fn unusable_inputs(&self) -> &[usize] {
        match self.kind {
            ColumnKind::Smiles
            | ColumnKind::Numbers(_)
            | ColumnKind::Vectors(_)
            | ColumnKind::Texts => &self.bad_rows,
            ColumnKind::Inchi
            | ColumnKind::Dates
            | ColumnKind::Classes(_)
            | ColumnKind::Rankings(_)
            | ColumnKind::Orders(_)
            | ColumnKind::Labels(_)
            | ColumnKind::Ids
            | ColumnKind::Nothing => &[],
        }
    }

    /// Returns the rows that cannot be learned from where the column is the output.
    pub(super) fn unusable_rows(&self) -> &[usize] {
        match self.kind {
            ColumnKind::Smiles
            | ColumnKind::Inchi
            | ColumnKind::Numbers(_)
            | ColumnKind::Vectors(_)
            | ColumnKind::Dates
            | ColumnKind::Classes(_)
            | ColumnKind::Rankings(_)
            | ColumnKind::Orders(_) => self.bad_rows.as_slice(),
            ColumnKind::Labels(_) | ColumnKind::Texts | ColumnKind::Ids | ColumnKind::Nothing => {
                &[]
            }
        }
    }
}

/// Returns the kind that a caller states, of a column whose values may be lists.
fn stated_kind(
    kind: KindName,
    name: &str,
    lists: Option<Lists>,
    texts: &[&str],
) -> Result<ColumnKind, Error> {
    if kind != KindName::Labels {
        return Ok(stated(kind, texts));
    }
    if lists == Some(Lists::Texts) {
        return Ok(ColumnKind::Labels(';'));
    }
    if let Some(cell) = unread_list(texts) {
        let allowed = format!(
            "labels with a sign between, as in a;b, or lists such as [\"a\", \"b\"]: cells such as {cell:?} are in a \
             notation that is not read"
        );
        return Err(Error::value(Argument::new("as"), format!("{name}=labels"), allowed));
    }
    Ok(stated(kind, texts))
}

/// Returns the kind of a column that nobody has stated, whose values may be lists.
fn guessed_kind(position: usize, name: &str, lists: Option<Lists>, texts: &[&str]) -> ColumnKind {
    let mut kind = guessed(position, name, texts);
    if let Some(lists) = lists {
        kind = guessed_of_lists(lists, kind, name, texts);
    }
    // bounds alone are no numbers
    let is_none = texts.iter().all(|cell| kind.read(cell) == Reading::Invalid);
    if is_none { ColumnKind::Texts } else { kind }
}

/// The cells of a column whose kind is known.
struct Cells<'a> {
    table: &'a Table,
    /// The name of the column.
    name: &'a str,
    /// The cells that are not empty, with their rows.
    filled: &'a [(usize, &'a str)],
    /// The cells that are not empty.
    texts: &'a [&'a str],
    kind: &'a ColumnKind,
    /// Whether nobody has stated the kind.
    is_guessed: bool,
}

/// What the kind of a column makes of its cells.
struct Readings {
    invalid: Exceptions,
    invalid_rows: Vec<usize>,
    repaired: Exceptions,
    short_example: Option<String>,
}

/// What is to be said of numbers.
struct NumberRemarks {
    deviation: f64,
    unitless: Exceptions,
    are_shares: bool,
    other_unit: Option<(String, usize)>,
    below: Exceptions,
    stand_in: Option<StandIn>,
    mixed: Option<PointsAndCommas>,
    thousand: Option<String>,
}

/// What is to be said of cells with several parts.
struct ListRemarks {
    are_measures: bool,
    measure: Option<String>,
    reordered: Option<Vec<String>>,
    unread_list: Option<String>,
}

/// What is to be said of the words of cells.
struct WordRemarks {
    are_unspaced: bool,
    are_single_words: bool,
    share_no_words: bool,
    case_means_something: bool,
}

impl Cells<'_> {
    fn are_classes(&self) -> bool {
        matches!(self.kind, ColumnKind::Classes(_))
    }

    /// Reads all cells.
    ///
    /// # Errors
    /// A kind that no cell is of.
    fn readings(&self) -> Result<Readings, Error> {
        let &Self { table, name, filled, texts, kind, .. } = self;
        let has_signs = self.are_classes() && cells::are_signs(texts.iter().copied());
        let reading = |cell: &&str| {
            if has_signs && is_class(cell, has_signs) { Reading::Valid } else { kind.read(cell) }
        };
        let readings: Vec<Reading> = texts.par_iter().map(reading).collect();
        let mut invalid = Exceptions::default();
        let mut repaired = Exceptions::default();
        let mut invalid_rows: Vec<usize> = Vec::new();
        for (&(row, cell), reading) in filled.iter().zip(&readings) {
            match reading {
                Reading::Valid => {}
                Reading::Repaired => repaired.add(table.line(row), cell),
                Reading::Invalid => {
                    invalid.add(table.line(row), cell);
                    invalid_rows.push(row);
                }
            }
        }
        if invalid.count == filled.len() && !filled.is_empty() {
            let given = format!("{name}={kind}");
            let example = if matches!(kind, ColumnKind::Rankings(_)) {
                ", such as \"2 1 3\", the ranks of the items, or \"tea>milk>water\""
            } else {
                ""
            };
            let allowed = format!("a kind that its cells are of: none is {}{example}", kind.one());
            return Err(Error::value(Argument::new("as"), given, allowed));
        }
        let is_short = |cell: &str| cell.chars().nth(LONGEST_EXAMPLE).is_none();
        let mut read = texts.iter().zip(&readings);
        let short = read.find(|&(&cell, &reading)| reading == Reading::Valid && is_short(cell));
        let short_example = short.map(|(&cell, _)| cell.to_owned());
        Ok(Readings { invalid, invalid_rows, repaired, short_example })
    }

    /// Looks at cells as numbers; other kinds have no remarks.
    fn numbers(&self) -> NumberRemarks {
        let &Self { table, filled, texts, kind, .. } = self;
        let notation = kind.notation();
        let line_and_cell = |Alike { count, first }: Alike| {
            let (row, cell) = filled[first];
            Exceptions { count, first: Some((table.line(row), cell.to_owned())) }
        };
        let mixed = mixed_signs(kind, texts).map(|[usual, others]| PointsAndCommas {
            usual: line_and_cell(usual),
            others: line_and_cell(others),
        });
        NumberRemarks {
            deviation: notation.map_or(0.0, |notation| deviation(texts, notation)),
            unitless: self.exceptions(|cell| {
                notation.is_some_and(|notation| value_without_unit(notation, cell).is_some())
            }),
            are_shares: notation.is_some_and(|notation| are_shares(notation, texts)),
            other_unit: other_unit(kind, texts),
            below: self.exceptions(|cell| {
                notation.is_some_and(|notation| notation.is_below_by_account(cell))
            }),
            stand_in: stand_in(kind, texts).map(|(cell, count, is_below)| StandIn {
                cell: cell.to_owned(),
                count,
                is_below,
            }),
            thousand: first_thousand(kind, texts).filter(|_| mixed.is_none()).map(str::to_owned),
            mixed,
        }
    }

    /// Looks at cells as measures, orders of items and lists, of the kinds that these are taken for.
    fn lists(&self) -> ListRemarks {
        let &Self { texts, kind, is_guessed, .. } = self;
        let are_texts = *kind == ColumnKind::Texts;
        // whole ranks of items look as orders of items do
        let are_ranks = is_guessed && matches!(kind, ColumnKind::Rankings(_));
        let may_be_rankings = are_texts || self.are_classes() || are_ranks;
        let may_be_names = are_texts || self.are_classes() || *kind == ColumnKind::Ids;
        let have_measures = may_be_names && are_measures(texts);
        let may_be_lists = may_be_names && !have_measures;
        let measure = if are_texts && have_measures { first_measure(texts) } else { None };
        let unread_list = if may_be_lists { unread_list(texts) } else { None };
        ListRemarks {
            are_measures: are_texts && have_measures,
            measure: measure.map(str::to_owned),
            reordered: if may_be_rankings { reordered(texts) } else { None },
            unread_list: unread_list.map(str::to_owned),
        }
    }

    /// Looks at the words of cells.
    fn words(&self) -> WordRemarks {
        let &Self { texts, kind, .. } = self;
        let are_unspaced = are_unspaced(texts);
        let plain: Vec<&str> = texts.iter().copied().map(without_extension).collect();
        let are_single_words = most(&plain, |cell| !cell.contains(char::is_whitespace));
        let have_words = matches!(kind, ColumnKind::Texts | ColumnKind::Ids) && !are_unspaced;
        // the bars around extensions look like those between labels
        let are_divided = matches!(kind, ColumnKind::Labels(_)) && plain != texts;
        let may_be_words = have_words || self.are_classes() || are_divided;
        WordRemarks {
            are_unspaced,
            are_single_words,
            share_no_words: have_words && !are_single_words && share_no_words(texts),
            case_means_something: may_be_words && are_single_words && case_means_something(&plain),
        }
    }

    /// Returns the ways in which the names of classes and labels are written; none of labels that are found to have spaces
    /// between.
    fn spellings(&self) -> Vec<String> {
        let texts = self.texts.iter().copied();
        if self.are_classes() {
            return cells::spellings(texts);
        }
        let &ColumnKind::Labels(separator) = self.kind else { return Vec::new() };
        if self.is_guessed && separator == ' ' {
            return Vec::new();
        }
        let features = LabelFeatures { column: self.name.to_owned(), separator };
        features.spellings(texts)
    }

    /// Returns the cells of classes that are a point and a letter or `_`, where a cell is a point alone, or at most half of the other
    /// cells begin with one, as names of formats of files do.
    fn point_marks(&self) -> Exceptions {
        let is_mark = |cell: &str| {
            let letter = cell.strip_prefix('.').filter(|letter| letter.len() == 1);
            letter.is_some_and(|letter| {
                letter.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            })
        };
        let others = || self.texts.iter().filter(|cell| !is_mark(cell));
        let with_point = others().filter(|cell| cell.starts_with('.')).count();
        let are_marks = 2 * with_point <= others().count() || self.texts.contains(&".");
        self.exceptions(|cell| self.are_classes() && are_marks && is_mark(cell))
    }

    /// Returns whether the first row has the only class that no other row has.
    fn is_first_alone(&self) -> bool {
        let begin = self.filled.first().is_some_and(|&(row, _)| row == 0);
        self.are_classes() && begin && is_first_alone(self.texts)
    }

    /// Returns the cells for which something holds.
    fn exceptions(&self, holds: impl Fn(&str) -> bool) -> Exceptions {
        let mut found = Exceptions::default();
        for &(row, cell) in self.filled.iter().filter(|(_, cell)| holds(cell)) {
            found.add(self.table.line(row), cell);
        }
        found
    }
}

/// Returns whether a cell is whole numbers by threes, with white space between.
fn is_bonds(cell: &str) -> bool {
    let is_whole = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let count = cell.split_whitespace().count();
    count > 0 && count.is_multiple_of(3) && cell.split_whitespace().all(is_whole)
}

/// Returns the number of a cell that lacks the unit of the others; none of 0, which is the same in every unit.
fn value_without_unit(notation: &NumberNotation, cell: &str) -> Option<f64> {
    if notation.unit.is_empty() {
        return None;
    }
    let NumberNotation { decimal, mixed_decimals, .. } = *notation;
    NumberNotation { decimal, unit: String::new(), mixed_decimals }.normalised(cell)?;
    let value: f64 = notation.normalised(cell)?.parse().ok()?;
    (value != 0.0).then_some(value)
}

/// Returns whether numbers without a unit, beside percentages, are most likely shares: none is above 1, and some have decimals.
fn are_shares(notation: &NumberNotation, cells: &[&str]) -> bool {
    let values = cells.iter().filter_map(|cell| value_without_unit(notation, cell));
    let values: Vec<f64> = values.collect();
    notation.unit == "%"
        && values.iter().all(|value| value.abs() <= 1.0)
        && values.iter().any(|value| value.fract() != 0.0)
}

/// Returns the unit or flag that stands behind the numbers of most cells that are not read since they have one, and their number.
fn other_unit(kind: &ColumnKind, cells: &[&str]) -> Option<(String, usize)> {
    let units = UnitsBehind::of(kind)?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let unread = cells.iter().filter(|cell| kind.read(cell) == Reading::Invalid);
    for unit in unread.filter_map(|cell| units.unit(cell)) {
        *counts.entry(unit).or_default() += 1;
    }
    let (unit, count) = counts.into_iter().max_by_key(|&(_, count)| count)?;
    Some((unit.to_owned(), count))
}

/// Returns whether the first cell is the only one that no other cell is like.
fn is_first_alone(cells: &[&str]) -> bool {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for cell in cells {
        *counts.entry(cell).or_default() += 1;
    }
    let mut alone = counts.into_iter().filter(|&(_, count)| count == 1);
    let only = alone.next().filter(|_| alone.next().is_none());
    only.is_some_and(|(cell, _)| cells.first() == Some(&cell))
}

/// Returns the standard deviation of the numbers among cells.
fn deviation(cells: &[&str], notation: &NumberNotation) -> f64 {
    let number = |cell: &&str| notation.normalised(cell)?.parse::<f64>().ok();
    let numbers: Vec<f64> = cells.iter().filter_map(number).collect();
    let n = numbers.len().max(1) as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    (numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / n).sqrt()
}

/// Names of the class that metrics are about, where there are two.
const POSITIVE: [&str; 14] = [
    "1", "1.0", "+1", "yes", "y", "true", "t", "active", "positive", "pos", "toxic", "hit",
    "binder", "+",
];

/// Returns the class of two that metrics are about, if its name says so and that of the other does not.
fn positive_of(kind: &ColumnKind, cells: &[&str]) -> Option<String> {
    if *kind != ColumnKind::Classes(2) {
        return None;
    }
    let is_positive = |cell: &&&str| POSITIVE.contains(&cell.to_lowercase().as_str());
    let positive: HashSet<&str> = cells.iter().filter(is_positive).copied().collect();
    let mut names = positive.into_iter();
    let only = names.next().filter(|_| names.next().is_none());
    only.map(str::to_owned)
}
