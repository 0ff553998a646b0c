//! Numbers in columns: how they are written, and what whole ones are.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use dsokr_data::cells::{
    self, Alike, CURRENCIES, CURRENCY_CODES, DASHES, MixedSigns, NumberNotation,
};

use super::super::kind::{ColumnKind, numbers_in};
use super::labels::{LABELS_OF_A_CELL, parts_of};
use super::names::words_of;
use super::{MOST, count_different, looked_at, most, repeat_a_part};

/// The smallest share of cells with another number of codes than most, if cells are sets of codes, as a divisor.
const OTHER_COUNTS: usize = 10;

/// The smallest share of whole numbers below 1,000, if points are those of thousands, as a divisor.
const BELOW_THOUSAND: usize = 20;

/// The smallest share of cells whose decimals have the sign that others lack, if both signs are read, as a divisor.
const WITH_OTHER_SIGN: usize = 10;

/// Seconds and milliseconds since 1970 of this century and the last.
const SINCE_1970: RangeInclusive<f64> = 1e9..=2e12;

/// The most different remarks that stand in the place of numbers, such as `n.b.`, where some have digits.
const REMARKS: usize = 5;

/// Returns whether nearly all whole numbers from 0 or 1 to the largest one occur, as where they count classes.
pub(super) fn fill_a_range(cells: &[&str]) -> bool {
    fill_a_range_from(cells, 1)
}

/// Returns whether nearly all whole numbers from one of a single digit to the largest one occur, as where they count something.
pub(super) fn fill_from_a_digit(cells: &[&str]) -> bool {
    fill_a_range_from(cells, 9)
}

/// Returns whether nearly all whole numbers from the least one, which is at most `most`, to the largest one occur.
fn fill_a_range_from(cells: &[&str], most: u64) -> bool {
    let numbers: HashSet<u64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
    let (Some(least), Some(largest)) = (numbers.iter().min(), numbers.iter().max()) else {
        return false;
    };
    *least <= most && numbers.len() as f64 >= MOST * ((largest - least) as f64 + 1.0)
}

/// Returns whether at least half of the cells are numbers, and the others are remarks rather than sets of numbers or codes: few
/// different ones, or without digits or with [another unit](unit_behind). Whole numbers that all `differ` are names, and so are others
/// with letters behind that stand `in_front`, in the first column.
pub(super) fn is_half_numbers(
    notation: &NumberNotation,
    cells: &[&str],
    differ: bool,
    in_front: bool,
) -> bool {
    let (read, others): (Vec<&str>, Vec<&str>) =
        looked_at(cells).into_iter().partition(|cell| notation.normalised(cell).is_some());
    let are_whole = read.iter().all(|cell| cell.parse::<i64>().is_ok());
    let sets = others.iter().filter(|cell| is_set_of_numbers(cell)).count();
    let are_few = count_different(&others) <= REMARKS;
    let may_name_rows = differ && in_front;
    let unitless = notation.unitless();
    let is_remark = |cell: &&str| {
        let has_digits = cell.contains(|c: char| c.is_ascii_digit());
        !has_digits || (!may_name_rows && unit_behind(&unitless, cell).is_some())
    };
    let are_remarks = are_few || others.iter().all(is_remark);
    read.len() >= others.len() && 2 * sets <= others.len() && are_remarks && !(are_whole && differ)
}

/// The most characters of a unit or flag behind a number; more are a remark.
const CHARACTERS_OF_A_UNIT: usize = 8;

/// What stands behind numbers and is no unit: of ordinals, houses and versions.
const NO_UNITS: [&str; 10] = ["st", "nd", "rd", "th", "er", "bis", "ter", "alpha", "beta", "rc"];

/// Returns the unit or flag behind the single number of a cell that is not read, as in `50mg`, `1200 nM` and `2227.2*`, where numbers
/// without one are written as `unitless` says. None of codes, in which one letter or capitals follow the digits, such as `1002B`, nor
/// of ordinals, houses and versions, such as `4th`.
pub(crate) fn unit_behind<'c>(unitless: &NumberNotation, cell: &'c str) -> Option<&'c str> {
    let end = cell.rfind(|c: char| c.is_ascii_digit())? + 1;
    let (number, behind) = cell.split_at(end);
    let unit = behind.trim();
    let is_code = behind.starts_with(char::is_alphabetic)
        && (unit.chars().count() == 1 || unit.chars().all(char::is_uppercase));
    let is_of_names = NO_UNITS.iter().any(|known| known.eq_ignore_ascii_case(unit));
    let is_unit = !unit.is_empty()
        && !is_of_names
        && unit.chars().count() <= CHARACTERS_OF_A_UNIT
        && !unit.contains(char::is_whitespace)
        && !unit.starts_with(['.', ',', ';', ':', '-', '\u{2212}']);
    unitless.normalised(number)?;
    (is_unit && !is_code).then_some(unit)
}

/// Returns whether a cell holds several parts, as sets of labels do: with a semicolon or a bar between, or numbers only.
fn is_set_of_numbers(cell: &str) -> bool {
    let parts: Vec<&str> = parts_of(cell).collect();
    let are_numbers = parts.iter().all(|part| part.parse::<f64>().is_ok());
    cell.contains([';', '|']) || (parts.len() > 1 && are_numbers)
}

/// Returns whether cells count the rows: whole numbers one after the other, or in the first column growing ones.
pub(crate) fn are_row_numbers(position: usize, cells: &[&str]) -> bool {
    let numbers: Option<Vec<u64>> = cells.iter().map(|cell| cell.parse().ok()).collect();
    let Some(numbers) = numbers else { return false };
    let mut steps = numbers.windows(2).map(|pair| pair[1].checked_sub(pair[0]));
    if position == 0 {
        steps.all(|step| step.is_some_and(|step| step > 0))
    } else {
        steps.all(|step| step == Some(1))
    }
}

/// Returns whether cells are the whole numbers from 0 or 1 to their count, in any order.
pub(crate) fn are_shuffled_row_numbers(cells: &[&str]) -> bool {
    let numbers: Option<HashSet<usize>> = cells.iter().map(|cell| cell.parse().ok()).collect();
    let Some(numbers) = numbers else { return false };
    let first = usize::from(!numbers.contains(&0));
    numbers.len() == cells.len()
        && (first..first + cells.len()).all(|number| numbers.contains(&number))
}

/// Words of the names of columns whose numbers are points in time, beside words that end with `time` or `timestamp`.
const WORDS_OF_TIMES: [&str; 7] = ["created", "updated", "utc", "epoch", "at", "ts", "date"];

/// Returns whether a cell is the digits of year, month and day, such as `20240131`.
fn is_day(cell: &str) -> bool {
    let is_digits = cell.len() == 8 && cell.bytes().all(|byte| byte.is_ascii_digit());
    let Some(number) = cell.parse::<u32>().ok().filter(|_| is_digits) else { return false };
    let [year, month, day] = [number / 10_000, number / 100 % 100, number % 100];
    (1900..=2100).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day)
}

/// Returns whether the cells of a column of this kind and name are points in time: numbers that are seconds or milliseconds since 1970,
/// or year, month and day, or dates that look like sets of labels.
pub(crate) fn are_times(kind: &ColumnKind, name: &str, cells: &[&str]) -> bool {
    let words = words_of(name);
    let names_time = words.iter().any(|word| word.ends_with("time") || word.ends_with("timestamp"));
    let may_be_time = |word: &String| WORDS_OF_TIMES.contains(&word.as_str());
    match kind {
        ColumnKind::Numbers(_) => {
            let are_since_1970 = || {
                most(cells, |cell| cell.parse().is_ok_and(|time: f64| SINCE_1970.contains(&time)))
            };
            most(cells, is_day)
                || ((names_time || words.iter().any(may_be_time)) && are_since_1970())
        }
        ColumnKind::Labels(',' | ' ') => {
            names_time && most(cells, |cell| cell.contains(|c: char| c.is_ascii_digit()))
        }
        ColumnKind::Nothing
        | ColumnKind::Ids
        | ColumnKind::Smiles
        | ColumnKind::Inchi
        | ColumnKind::Rankings(_)
        | ColumnKind::Orders(_)
        | ColumnKind::Vectors(_)
        | ColumnKind::Dates
        | ColumnKind::Labels(_)
        | ColumnKind::Classes(_)
        | ColumnKind::Texts => false,
    }
}

/// Returns vectors of as many numbers as the first vector among cells has; none without a vector.
pub(super) fn vectors_among(cells: &[&str]) -> Option<ColumnKind> {
    cells.iter().find_map(|cell| numbers_in(cell)).map(ColumnKind::Vectors)
}

/// Returns whether more than half of the cells name a number twice, which sets of labels do not.
pub(super) fn name_numbers_twice(cells: &[&str]) -> bool {
    repeat_a_part(cells, |cell| {
        let divided = || {
            let parts = cell.split(|c: char| c == ',' || c.is_whitespace());
            parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        cells::list(cell).unwrap_or_else(divided)
    })
}

/// Returns the separator of cells that are sets of codes of three digits, such as `518,584`, and not numbers whose thousands are
/// grouped: no part has fewer digits, none behind another is `000`, cells have different numbers of parts, and parts recur. None
/// of others.
pub(super) fn separator_of_codes(cells: &[&str]) -> Option<char> {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    [',', ' '].into_iter().find(|&separator| {
        let mut codes: HashSet<&str> = HashSet::new();
        let mut cells_with_count: HashMap<usize, usize> = HashMap::new();
        let mut all = 0;
        for cell in cells {
            if !cell.split(separator).all(is_digits) {
                continue;
            }
            let parts: Vec<&str> = cell.split(separator).collect();
            let has_thousands = parts.iter().skip(1).any(|part| *part == "000");
            if has_thousands || parts.iter().any(|part| part.len() != 3) {
                return false;
            }
            all += parts.len();
            *cells_with_count.entry(parts.len()).or_default() += 1;
            codes.extend(parts);
        }
        let read: usize = cells_with_count.values().sum();
        let usual = cells_with_count.values().max().copied().unwrap_or_default();
        let differ = usual < read && OTHER_COUNTS * (read - usual) >= read;
        read as f64 >= MOST * cells.len() as f64 && differ && all >= 2 * codes.len()
    })
}

/// The smallest share of cells with several commas, if these separate numbers of labels, as a divisor: where some sets have one
/// number, and where all have several.
const WITH_SEVERAL_COMMAS: usize = 100;
const OFTEN_WITH_SEVERAL_COMMAS: usize = 10;

/// The smallest share of cells without a comma, as sets of one number, as a divisor. Of decimals that are rounded, fewer are whole.
const WITHOUT_COMMA: usize = 4;

/// Returns the comma, where cells are sets of whole numbers, such as `1,6`, and no numbers with decimal commas: some have
/// several commas that group no thousands, and these are not a few odd ones among decimals. None of others.
pub(super) fn comma_of_sets(cells: &[&str]) -> Option<char> {
    let plain = NumberNotation::default();
    let has_several =
        |cell: &&&str| cell.matches(',').count() > 1 && plain.normalised(cell).is_none();
    let several = cells.iter().filter(has_several).count();
    let without = cells.iter().filter(|cell| !cell.contains(',')).count();
    let least = if WITHOUT_COMMA * without >= cells.len() {
        WITH_SEVERAL_COMMAS
    } else {
        OFTEN_WITH_SEVERAL_COMMAS
    };
    let are_sets =
        several > 0 && least * several >= cells.len() && are_sets_of_numbers(cells, ',', false);
    are_sets.then_some(',')
}

/// Returns whether nearly all cells are a few whole numbers with this sign between, which no zeros begin, such as `7` and
/// `1,6`: cells have different numbers of them, or `some_empty` ones beside these have none, numbers recur, and most cells
/// have none twice.
pub(super) fn are_sets_of_numbers(cells: &[&str], separator: char, some_empty: bool) -> bool {
    let is_number = |part: &&str| {
        let is_plain = *part == "0" || !part.starts_with('0');
        is_plain && !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let parts = cells.iter().map(|cell| cell.split(separator).collect::<Vec<&str>>());
    let sets: Vec<Vec<&str>> = parts.filter(|parts| parts.iter().all(is_number)).collect();
    let numbers: HashSet<&str> = sets.iter().flatten().copied().collect();
    let counts: HashSet<usize> = sets.iter().map(Vec::len).collect();
    let all: usize = sets.iter().map(Vec::len).sum();
    sets.len() as f64 >= MOST * cells.len() as f64
        && counts.len() + usize::from(some_empty) > 1
        && all >= 2 * numbers.len()
        && all <= LABELS_OF_A_CELL * sets.len()
        && !name_numbers_twice(cells)
}

/// Signs before a number that is a bound of the value, or nearly the value.
const SIGNS_OF_BOUNDS: [char; 6] = ['<', '>', '≤', '≥', '~', '≈'];

/// Words before a number that is nearly the value. `CA 90210` is an address.
const WORDS_OF_BOUNDS: [&str; 11] = [
    "ca.",
    "Ca.",
    "ca ",
    "approx.",
    "Approx.",
    "approx ",
    "approximately ",
    "circa ",
    "Circa ",
    "about ",
    "About ",
];

/// Returns a cell without the sign that makes a number a bound, such as `>10` or `<= 5 nM`, or the word that says that it is
/// nearly the value, such as `ca. 5`.
pub(super) fn without_sign_of_bound(cell: &str) -> &str {
    if let Some(rest) = cell.strip_prefix(SIGNS_OF_BOUNDS) {
        return rest.trim_start_matches('=').trim_start();
    }
    let is_number = |rest: &&str| {
        let begins =
            |c: char| c.is_ascii_digit() || "+-.\u{2212}".contains(c) || CURRENCIES.contains(&c);
        rest.starts_with(begins)
    };
    let behind_word = |word: &str| cell.strip_prefix(word).map(str::trim_start);
    WORDS_OF_BOUNDS.into_iter().filter_map(behind_word).find(is_number).unwrap_or(cell)
}

/// Returns how the numbers among cells are written.
pub(super) fn notation_of(cells: &[&str]) -> NumberNotation {
    let written: Vec<Cow<str>> = cells.iter().map(|cell| cells::with_ascii_digits(cell)).collect();
    let limits: Vec<&str> = written.iter().map(|cell| without_sign_of_bound(cell)).collect();
    let cells = limits.as_slice();
    let unit = unit_of(cells);
    let plain = NumberNotation { unit, ..NumberNotation::default() };
    let comma = NumberNotation { decimal: ',', ..plain.clone() };
    let read = |notation: &NumberNotation| {
        cells.iter().filter(|cell| notation.normalised(cell).is_some()).count()
    };
    let with_comma = read(&comma);
    let with_point = read(&plain);
    // `1,234` alone is 1234, as `1,234.5` is
    let has_commas = with_comma > with_point
        || (with_comma == with_point && are_thousands(cells, [&comma, &plain]));
    let notation = if has_commas { comma } else { plain };
    let Some(signs) = notation.mixed_signs(cells).filter(|signs| signs.are_decimals) else {
        return notation;
    };
    // a few cells that are no numbers otherwise are skipped, and the column can be learned beside others
    let are_many = WITH_OTHER_SIGN * signs.other.count >= cells.len();
    NumberNotation { mixed_decimals: signs.grouped.is_some() || are_many, ..notation }
}

/// Returns whether points in cells that both notations read are those of thousands, as in Germany: three digits stand behind
/// each, the other numbers are whole and below 1,000, and most of these have three digits too.
fn are_thousands(cells: &[&str], [comma, plain]: [&NumberNotation; 2]) -> bool {
    let mut grouped = 0;
    let mut others: Vec<f64> = Vec::new();
    for cell in cells {
        let Some(number) = plain.normalised(cell) else { continue };
        if number.contains('.') {
            if comma.normalised(cell).is_none() {
                return false;
            }
            grouped += 1;
        } else {
            let Ok(number) = number.parse::<f64>() else { return false };
            others.push(number.abs());
        }
    }
    let hundreds = others.iter().filter(|&&number| number >= 100.0).count();
    grouped > 0
        && others.iter().all(|&number| number < 1000.0)
        && BELOW_THOUSAND * others.len() >= cells.len()
        && 2 * hundreds > others.len()
}

/// Returns the first cell of numbers in this notation whose point or comma is taken for one of thousands, where all cells
/// could have decimals behind it; none elsewhere. Commas are in doubt only where every number has one, and is no amount of
/// money.
pub(crate) fn first_thousand<'c>(notation: &NumberNotation, cells: &[&'c str]) -> Option<&'c str> {
    if notation.mixed_decimals {
        return None;
    }
    let sign = notation.other_sign();
    let other = NumberNotation { decimal: sign, ..notation.clone() };
    let are_points = notation.decimal == ',';
    let may_be_decimal = |cell: &str| {
        let has_sign = are_points || (cell.contains(sign) && !notation.has_currency());
        has_sign && other.normalised(cell).is_some()
    };
    // behind the sign of `1600,–`, a dash stands for no cents
    let has_dash =
        |cell: &str| cell.split_once(sign).is_some_and(|(_, behind)| behind.starts_with(DASHES));
    let is_read = |cell: &&str| notation.normalised(cell).is_some() && !has_dash(cell);
    let mut read = cells.iter().copied().map(without_sign_of_bound).filter(is_read);
    if !read.all(may_be_decimal) {
        return None;
    }
    cells.iter().copied().find(|cell| cell.contains(sign) && is_read(cell))
}

/// Returns the cells of numbers with the usual sign before decimals, and those with the other one: all, if it is read as one before
/// decimals too, else those that are read as thousands. None where neither is.
pub(crate) fn mixed_signs(notation: &NumberNotation, cells: &[&str]) -> Option<[Alike; 2]> {
    let MixedSigns { own, other, grouped, .. } = notation.mixed_signs(cells)?;
    let other = if notation.mixed_decimals { Some(other) } else { grouped };
    Some([own, other?])
}

/// Returns the first cell that is not one number, nor says that there is none, in whatever way numbers among cells are written.
pub(crate) fn first_measure<'c>(cells: &[&'c str]) -> Option<&'c str> {
    let numbers = notation_of(cells);
    let is_other = |cell: &&str| !cells::is_missing(cell) && numbers.normalised(cell).is_none();
    cells.iter().copied().find(is_other)
}

/// Returns the first of cells that are nearly all several numbers with blanks between and decimal commas, which no vectors have: some
/// have an exponent, or other than three digits behind the comma. None of others.
pub(crate) fn first_with_decimal_commas<'c>(cells: &[&'c str]) -> Option<&'c str> {
    let comma = NumberNotation { decimal: ',', ..NumberNotation::default() };
    let are_numbers = |cell: &str| {
        let mut words = cell.split_whitespace();
        // a comma at the end of a word divides numbers
        let is_number = |word: &str| !word.ends_with(',') && comma.normalised(word).is_some();
        words.clone().count() > 1 && words.all(is_number)
    };
    let is_no_thousand = |word: &str| {
        let decimals = word.split_once(',').map(|(_, decimals)| decimals);
        decimals.is_some_and(|decimals| decimals.len() != 3)
    };
    let are_decimals = |cell: &str| cell.split_whitespace().any(is_no_thousand);
    let first = cells.iter().copied().find(|cell| are_numbers(cell))?;
    // lists of peaks or of edges, as in `36,100 63,55`, have different lengths
    let count = |cell: &str| cell.split_whitespace().count();
    let are_as_many = most(cells, |cell| count(cell) == count(first));
    (most(cells, are_numbers) && most(cells, are_decimals) && are_as_many).then_some(first)
}

/// Returns the unit that most cells with a number have in common: a currency before it, a sign behind it, or words with a
/// space before them. Empty where there is none.
fn unit_of(cells: &[&str]) -> String {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for cell in cells {
        *counts.entry(unit_of_cell(cell)).or_default() += 1;
    }
    let mut units: HashMap<Cow<str>, usize> = HashMap::new();
    for (unit, count) in counts {
        *units.entry(cells::with_micro_sign(unit)).or_default() += count;
    }
    let unit = units.into_iter().filter(|(unit, _)| !unit.is_empty()).max_by_key(|&(_, n)| n);
    let common = unit.filter(|&(_, count)| 2 * count > cells.len());
    common.map(|(unit, _)| unit.into_owned()).unwrap_or_default()
}

/// Returns the unit before or behind the number of a cell, where an amount below 0 may have its sign or bracket before the
/// currency, and a dash may stand for no cents.
pub(super) fn unit_of_cell(cell: &str) -> &str {
    const SIGNS: [char; 3] = ['-', '+', '\u{2212}'];
    let is_number = |c: char| c.is_ascii_digit() || "(.,".contains(c) || SIGNS.contains(&c);
    let in_brackets = cell.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let cell = in_brackets.unwrap_or(cell);
    let unsigned = cell.trim_start_matches(SIGNS).trim_start();
    if let Some(number) = unsigned.strip_prefix(CURRENCIES) {
        return &unsigned[..unsigned.len() - number.len()];
    }
    if let Some(code) = CURRENCY_CODES.into_iter().find(|code| unsigned.starts_with(*code)) {
        let number = unsigned[code.len()..].trim_start();
        return if number.starts_with(is_number) { code } else { "" };
    }
    if !cell.starts_with(|c: char| c != '(' && is_number(c)) {
        return "";
    }
    let Some(end) = cell.rfind(|c: char| c.is_ascii_digit()) else { return "" };
    let behind = &cell[end + 1..];
    let behind_sign = behind.strip_prefix(['.', ',']).filter(|rest| rest.starts_with(DASHES));
    let behind = behind_sign.map_or(behind, |rest| rest.trim_start_matches(DASHES));
    let behind = behind.trim_end_matches(['-', '\u{2212}']);
    let is_sign = !behind.starts_with(char::is_alphanumeric) && !behind.starts_with(['.', ',']);
    if is_sign { behind.trim() } else { "" }
}

/// Returns whether numbers in brackets among cells are names, such as `(1)`, and no amounts below 0: they have no unit, and no
/// other cell is a number, or they are whole and `are_few` that recur.
pub(super) fn are_names_in_brackets(
    notation: &NumberNotation,
    cells: &[&str],
    are_few: bool,
) -> bool {
    let cells = looked_at(cells);
    let is_bracketed = |cell: &&str| cell.starts_with('(');
    if !notation.unit.is_empty() || !cells.iter().any(is_bracketed) {
        return false;
    }
    let read: Vec<&str> =
        cells.into_iter().filter(|cell| notation.normalised(cell).is_some()).collect();
    let are_whole = read.iter().all(|cell| !cell.contains(['.', ',']));
    read.iter().all(is_bracketed) || (are_few && are_whole)
}
