//! What is to be said of the cells of a column as numbers, classes, lists and words.

use std::collections::{BTreeMap, HashMap, HashSet};

use dsokr_data::cells::{self, Alike, NumberNotation};
use dsokr_data::config::LabelFeatures;

use super::column_cells::{Cells, Exceptions};
use super::guess::codes::{first_code, first_number_with_zero};
use super::guess::labels::{
    are_measures, are_phrases, are_unordered, have_commas_in_names, odd_separator, reordered,
    unread_list,
};
use super::guess::numbers::{
    UnitsBehind, first_measure, first_thousand, first_with_decimal_commas, mixed_signs, stand_in,
};
use super::guess::{
    are_unspaced, case_means_something, is_formula, most, share_no_words, without_extension,
    would_be_ids,
};
use super::kind::{ColumnKind, Reading};

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

/// What is to be said of the numbers of a column; nothing of columns of other kinds.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberRemarks {
    /// Their standard deviation; 0 of other columns.
    pub deviation: f64,
    /// The cells without the unit that are not 0, where numbers have a unit, of which they are read as numbers.
    pub unitless: Exceptions,
    /// Whether cells without the unit, beside percentages, are most likely shares: none is above 1, and some have decimals.
    pub are_shares: bool,
    /// The unit or flag that stands behind the numbers of most cells that are skipped since they have one, and their number.
    pub other_unit: Option<(String, usize)>,
    /// The cells that are below 0 by brackets or a sign behind, as accounts write them.
    pub below: Exceptions,
    /// The number that most likely stands for no value.
    pub stand_in: Option<StandIn>,
    /// The cells with points and the cells with commas, where both are before decimals, or the ones may be wrongly read as
    /// thousands.
    pub mixed: Option<PointsAndCommas>,
    /// The first cell whose point or comma is taken for one of thousands, where each could be a decimal one.
    pub thousand: Option<String>,
    /// The first cell of digits that begins with 0, as codes do, where nobody has stated that these are numbers.
    pub zero_in_front: Option<String>,
}

impl NumberRemarks {
    /// Looks at cells as numbers.
    pub(super) fn of(cells: &Cells) -> Self {
        let Cells { table, filled, texts, kind, .. } = cells;
        let notation = kind.notation();
        let line_and_cell = |Alike { count, first }: Alike| {
            let (row, cell) = filled[first];
            Exceptions { count, first: Some((table.line(row), cell.to_owned())) }
        };
        let mixed = mixed_signs(kind, texts).map(|[usual, others]| PointsAndCommas {
            usual: line_and_cell(usual),
            others: line_and_cell(others),
        });
        let zero_in_front =
            if cells.is_guessed { first_number_with_zero(kind, texts) } else { None };
        Self {
            deviation: notation.map_or(0.0, |notation| deviation(texts, notation)),
            unitless: cells.exceptions(|cell| {
                notation.is_some_and(|notation| value_without_unit(notation, cell).is_some())
            }),
            are_shares: notation.is_some_and(|notation| are_shares(notation, texts)),
            other_unit: other_unit(kind, texts),
            below: cells.exceptions(|cell| {
                notation.is_some_and(|notation| notation.is_below_by_account(cell))
            }),
            stand_in: stand_in(kind, texts).map(|(cell, count, is_below)| StandIn {
                cell: cell.to_owned(),
                count,
                is_below,
            }),
            thousand: first_thousand(kind, texts).filter(|_| mixed.is_none()).map(str::to_owned),
            mixed,
            zero_in_front: zero_in_front.map(str::to_owned),
        }
    }
}

/// What is to be said of the classes or the labels of a column; nothing of most other columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassRemarks {
    /// The class that metrics are about, of two classes one of which says so, such as `1`, `yes` or `active`.
    pub positive: Option<String>,
    /// Classes and labels whose names differ only in the case of letters or in what is hardly seen: all
    /// [ways](cells::spellings) in which each is written, with their numbers of cells. None of labels that are found to have spaces
    /// between, which may be words of texts.
    pub spellings: Vec<String>,
    /// The line of the first row, where its class is the only one that no other row has.
    pub alone_in_front: Option<usize>,
    /// The separator of labels, where they may be divided at another sign, or not at all.
    pub odd_separator: Option<char>,
    /// Whether commas are read as parts of the names of classes, which they could divide into labels.
    pub has_commas_in_names: bool,
    /// The cells that are a point and a letter or `_` behind it, as Stata and SAS write why there is no value.
    pub point_marks: Exceptions,
    /// The first cell with a 0 before it, in a column of codes, which are therefore no numbers.
    pub code: Option<String>,
    /// Whether labels with spaces or commas between are rather the words of names or phrases.
    pub(super) are_phrases: bool,
    /// Whether labels of one word each stand in any order, which therefore says nothing.
    pub(super) are_unordered: bool,
}

impl ClassRemarks {
    /// Looks at cells as classes and labels.
    pub(super) fn of(cells: &Cells) -> Self {
        let &Cells { table, position, name, ref texts, ref kind, is_guessed, .. } = cells;
        let code = if is_guessed { first_code((position, name), kind, texts) } else { None };
        Self {
            positive: positive_of(kind, texts),
            spellings: spellings(cells),
            alone_in_front: begins_with_class_of_one(cells).then(|| table.line(0)),
            odd_separator: odd_separator(kind, !is_guessed, texts),
            has_commas_in_names: is_guessed && have_commas_in_names(kind, name, texts),
            point_marks: point_marks(cells),
            code: code.map(str::to_owned),
            are_phrases: are_phrases(kind, name, texts),
            are_unordered: are_unordered(kind, texts),
        }
    }
}

/// What is to be said of cells that have several parts, of the kinds that these are taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRemarks {
    /// Whether cells that are read as texts are measures, each written as more than one number: `12.67 ± 0.47`.
    pub are_measures: bool,
    /// The first cell that is not one number, in a column of measures.
    pub measure: Option<String>,
    /// The parts of the first cell, in its order, where cells that are read as texts or classes, or are found to be ranks of items, are
    /// all the same parts in different orders.
    pub reordered: Option<Vec<String>>,
    /// The first list of several parts, where cells that are read as texts, classes or ids are lists in a notation that is not
    /// read, such as `{a, b}`.
    pub unread_list: Option<String>,
    /// The first cell, where cells that are read as texts are several numbers each with decimal commas.
    pub(super) decimal_commas: Option<String>,
    /// Whether most cells are whole numbers by threes, with white space between, as of two atoms and the bond between them.
    pub(super) are_bonds: bool,
}

impl ListRemarks {
    /// Looks at cells as measures, orders of items and lists.
    pub(super) fn of(cells: &Cells) -> Self {
        let &Cells { ref texts, ref kind, is_guessed, .. } = cells;
        let are_texts = cells.are_texts();
        // whole ranks of items look as orders of items do
        let are_ranks = is_guessed && matches!(kind, ColumnKind::Rankings(_));
        let may_be_rankings = are_texts || cells.are_classes() || are_ranks;
        let may_be_names = are_texts || cells.are_classes() || *kind == ColumnKind::Ids;
        let have_measures = may_be_names && are_measures(texts);
        let may_be_lists = may_be_names && !have_measures;
        let may_be_vectors = is_guessed && are_texts;

        let measure = if are_texts && have_measures { first_measure(texts) } else { None };
        let unread_list = if may_be_lists { unread_list(texts) } else { None };
        let decimal_commas = if may_be_vectors { first_with_decimal_commas(texts) } else { None };
        Self {
            are_measures: are_texts && have_measures,
            measure: measure.map(str::to_owned),
            reordered: if may_be_rankings { reordered(texts) } else { None },
            unread_list: unread_list.map(str::to_owned),
            decimal_commas: decimal_commas.map(str::to_owned),
            are_bonds: most(texts, is_bonds),
        }
    }
}

/// What is to be said of the words of cells.
#[derive(Clone, Debug, PartialEq)]
pub struct WordRemarks {
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
    /// Whether cells that are read as texts are formulas of molecules.
    pub are_formulas: bool,
    /// Whether texts that nobody has stated are reactions, compositions or peptides that all differ, and say what each row is about as
    /// ids do.
    pub(super) would_be_ids: bool,
    /// Whether most cells have a digit.
    pub(super) have_digits: bool,
}

impl WordRemarks {
    /// Looks at the words of cells.
    pub(super) fn of(cells: &Cells) -> Self {
        let &Cells { name, ref texts, ref kind, is_guessed, .. } = cells;
        let are_texts = cells.are_texts();
        let are_unspaced = are_unspaced(texts);
        let plain: Vec<&str> = texts.iter().copied().map(without_extension).collect();
        let are_single_words = most(&plain, |cell| !cell.contains(char::is_whitespace));
        let have_words = matches!(kind, ColumnKind::Texts | ColumnKind::Ids) && !are_unspaced;
        // the bars around extensions look like those between labels
        let are_divided = matches!(kind, ColumnKind::Labels(_)) && plain != *texts;
        let may_be_words = have_words || cells.are_classes() || are_divided;
        let characters: usize = texts.iter().map(|cell| cell.chars().count()).sum();
        Self {
            length: characters as f64 / texts.len().max(1) as f64,
            are_single_words,
            are_unspaced,
            share_no_words: have_words && !are_single_words && share_no_words(texts),
            case_means_something: may_be_words && are_single_words && case_means_something(&plain),
            are_formulas: are_texts && most(texts, is_formula),
            would_be_ids: is_guessed && are_texts && would_be_ids(name, texts),
            have_digits: most(texts, |cell| cell.contains(|c: char| c.is_ascii_digit())),
        }
    }
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

/// Returns the ways in which the names of classes and labels are written; none of labels that are found to have spaces
/// between.
fn spellings(cells: &Cells) -> Vec<String> {
    let texts = cells.texts.iter().copied();
    if cells.are_classes() {
        return cells::spellings(texts);
    }
    let ColumnKind::Labels(separator) = cells.kind else { return Vec::new() };
    if cells.is_guessed && separator == ' ' {
        return Vec::new();
    }
    let features = LabelFeatures { column: cells.name.to_owned(), separator };
    features.spellings(texts)
}

/// Returns the cells of classes that are a point and a letter or `_`, where a cell is a point alone, or at most half of the other
/// cells begin with one, as names of formats of files do.
fn point_marks(cells: &Cells) -> Exceptions {
    let is_mark = |cell: &str| {
        let letter = cell.strip_prefix('.').filter(|letter| letter.len() == 1);
        letter
            .is_some_and(|letter| letter.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
    };
    let others = || cells.texts.iter().filter(|cell| !is_mark(cell));
    let with_point = others().filter(|cell| cell.starts_with('.')).count();
    let are_marks = 2 * with_point <= others().count() || cells.texts.contains(&".");
    cells.exceptions(|cell| cells.are_classes() && are_marks && is_mark(cell))
}

/// Returns whether the first row has the only class that no other row has.
fn begins_with_class_of_one(cells: &Cells) -> bool {
    let begin = cells.filled.first().is_some_and(|&(row, _)| row == 0);
    cells.are_classes() && begin && is_first_alone(&cells.texts)
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

/// Returns whether a cell is whole numbers by threes, with white space between.
fn is_bonds(cell: &str) -> bool {
    let is_whole = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let count = cell.split_whitespace().count();
    count > 0 && count.is_multiple_of(3) && cell.split_whitespace().all(is_whole)
}
