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
    first_measure, first_thousand, first_with_decimal_commas, mixed_signs, unit_behind,
};
use super::guess::{
    are_unspaced, case_means_something, is_formula, most, share_no_words, without_extension,
    would_be_ids,
};
use super::kind::ColumnKind;

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
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// Looks at cells as numbers. They are `written` with the digits from 0 to 9.
    pub(super) fn of(cells: &Cells, written: &[&str]) -> Self {
        let Some(notation) = cells.kind.notation() else { return Self::default() };
        let mut numbers: Vec<(&str, f64)> = Vec::new();
        let mut others: Vec<&str> = Vec::new();
        for &cell in written {
            match value_of(notation, cell) {
                Some(value) => numbers.push((cell, value)),
                None => others.push(cell),
            }
        }
        let values: Vec<f64> = numbers.iter().map(|&(_, value)| value).collect();

        let line_and_cell = |Alike { count, first }: Alike| {
            let (row, cell) = cells.filled[first];
            Exceptions { count, first: Some((cells.table.line(row), cell.to_owned())) }
        };
        let mixed = mixed_signs(notation, written).map(|[usual, others]| PointsAndCommas {
            usual: line_and_cell(usual),
            others: line_and_cell(others),
        });
        let thousand = if mixed.is_none() { first_thousand(notation, written) } else { None };
        let zero_in_front = if cells.is_guessed { first_number_with_zero(written) } else { None };
        Self {
            deviation: deviation(&values),
            unitless: cells.exceptions(|cell| value_without_unit(notation, cell).is_some()),
            are_shares: are_shares(notation, written),
            other_unit: other_unit(notation, &others),
            below: cells.exceptions(|cell| notation.is_below_by_account(cell)),
            stand_in: stand_in(&numbers),
            mixed,
            thousand: thousand.map(str::to_owned),
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
    /// Looks at cells as classes and labels. They are `written` with the digits from 0 to 9.
    pub(super) fn of(cells: &Cells, written: &[&str]) -> Self {
        let &Cells { table, position, name, ref texts, ref kind, is_guessed, .. } = cells;
        let code = if is_guessed { first_code((position, name), kind, written) } else { None };
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
    /// Whether cells that are read as texts are the peaks of spectra, `m/z:intensity` each, with blanks between.
    pub are_peaks: bool,
    /// The first cell, where cells that are read as texts are several numbers each with decimal commas.
    pub(super) decimal_commas: Option<String>,
    /// Whether most cells are whole numbers by threes, with white space between, as of two atoms and the bond between them.
    pub(super) are_bonds: bool,
}

impl ListRemarks {
    /// Returns whether cells that are read as texts are measures, or orders of the same items, from whose words nothing is learned.
    pub(super) fn are_no_texts(&self) -> bool {
        self.are_measures || self.reordered.is_some()
    }

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
            are_peaks: are_texts && most(texts, are_peaks),
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

/// Returns the number of a cell; none of a cell that is none.
fn value_of(notation: &NumberNotation, cell: &str) -> Option<f64> {
    notation.normalised(cell)?.parse().ok()
}

/// Returns the number of a cell that lacks the unit of the others; none of 0, which is the same in every unit.
fn value_without_unit(notation: &NumberNotation, cell: &str) -> Option<f64> {
    if notation.unit.is_empty() {
        return None;
    }
    notation.unitless().normalised(cell)?;
    value_of(notation, cell).filter(|&value| value != 0.0)
}

/// Returns whether numbers without a unit, beside percentages, are most likely shares: none is above 1, and some have decimals.
fn are_shares(notation: &NumberNotation, cells: &[&str]) -> bool {
    if notation.unit != "%" {
        return false;
    }
    let values = cells.iter().filter_map(|cell| value_without_unit(notation, cell));
    let values: Vec<f64> = values.collect();
    values.iter().all(|value| value.abs() <= 1.0) && values.iter().any(|value| value.fract() != 0.0)
}

/// Returns the unit or flag that stands behind the numbers of most of the cells that are not read since they have one, and their
/// number.
fn other_unit(notation: &NumberNotation, unread: &[&str]) -> Option<(String, usize)> {
    let unitless = notation.unitless();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for unit in unread.iter().filter_map(|cell| unit_behind(&unitless, cell)) {
        *counts.entry(unit).or_default() += 1;
    }
    let (unit, count) = counts.into_iter().max_by_key(|&(_, count)| count)?;
    Some((unit.to_owned(), count))
}

/// Returns the standard deviation of numbers; 0 of none.
fn deviation(numbers: &[f64]) -> f64 {
    let n = numbers.len().max(1) as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    (numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / n).sqrt()
}

/// Numbers of nines, which stand for no value in some tables, below 0 or not.
const NINES: [f64; 5] = [9.0, 99.0, 999.0, 9999.0, 99999.0];

/// The smallest share of the cells of numbers that have the one that stands for no value, as a divisor.
const WITH_NINES: usize = 100;

/// Returns the [number of nines](NINES) that most likely stands for no value, such as `-999`, among the numbers of cells: it is the
/// least or the largest one, in several cells, and the only one below 0 or further from the others than these are from each other.
fn stand_in(numbers: &[(&str, f64)]) -> Option<StandIn> {
    let values = || numbers.iter().map(|&(_, value)| value);
    let extremes = [values().reduce(f64::min)?, values().reduce(f64::max)?];
    extremes.into_iter().filter(|value| NINES.contains(&value.abs())).find_map(|nines| {
        let others = || values().filter(|&value| value != nines);
        let [least, largest] = [others().reduce(f64::min)?, others().reduce(f64::max)?];
        let count = numbers.len() - others().count();
        let are_many = count > 1 && WITH_NINES * count >= numbers.len();
        let is_below = nines < least;
        let distance = if is_below { least - nines } else { nines - largest };
        let is_far = distance > largest - least || (nines < 0.0 && least >= 0.0);
        let (first, _) = numbers.iter().find(|(_, value)| *value == nines)?;
        let stand_in = StandIn { cell: (*first).to_owned(), count, is_below };
        (are_many && least < largest && is_far).then_some(stand_in)
    })
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

/// Returns whether a cell is the peaks of a spectrum: several pairs of numbers with a colon between, with white space between pairs.
fn are_peaks(cell: &str) -> bool {
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let is_peak = |pair: &str| {
        pair.split_once(':').is_some_and(|(mz, intensity)| is_number(mz) && is_number(intensity))
    };
    cell.split_whitespace().count() > 1 && cell.split_whitespace().all(is_peak)
}

/// Returns whether a cell is whole numbers by threes, with white space between.
fn is_bonds(cell: &str) -> bool {
    let is_whole = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let count = cell.split_whitespace().count();
    count > 0 && count.is_multiple_of(3) && cell.split_whitespace().all(is_whole)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use dsokr_data::table::Table;

    use super::super::columns::Column;
    use super::*;

    /// Returns what is found of a column of these cells, which nobody has described.
    fn column(cells: &[&str]) -> Column {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.tsv");
        fs::write(&path, format!("value\n{}\n", cells.join("\n"))).unwrap();
        let table = Table::read(&path, &["value"]).unwrap();
        Column::read(&table, 0, "value", None, None).unwrap()
    }

    #[test]
    fn numbers_and_codes_are_doubted_in_digits_of_every_script() {
        let thousands = column(&["１，２３４", "２，５００", "３，７５０"].repeat(4));
        assert_eq!(thousands.numbers.thousand.as_deref(), Some("1,234"));
        let flagged = column(&["１．５", "２．２５*", "７．５", "３．２５*"].repeat(4));
        assert_eq!(flagged.numbers.other_unit, Some(("*".to_owned(), 8)));
        let numbers = column(&["４０１", "０３８９", "２５０００"].repeat(4));
        assert_eq!(numbers.numbers.zero_in_front.as_deref(), Some("0389"));
        let codes = column(&["０２２２", "４０１９", "０３８９"].repeat(5));
        assert_eq!(codes.kind, ColumnKind::Classes(3));
        assert_eq!(codes.classes.code.as_deref(), Some("0222"));
        assert_eq!(codes.numbers, NumberRemarks::default());
    }
}
