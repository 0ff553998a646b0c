//! What the cells of a column are: one kind for all of them, with exceptions.

use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use dsokr_data::cells::{self, NumberNotation};
use dsokr_molecule::Molecule;

/// What the cells of a column are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// There are none.
    Nothing,
    /// A name or number for each row, nearly all of them different, or of what a row is about, such as a user.
    Ids,
    /// Molecules, as SMILES.
    Smiles,
    /// Molecules, as InChI.
    Inchi,
    /// Rankings of so many items, as ranks with spaces between.
    Rankings(usize),
    /// Rankings of the items with these names, as orders with `>` between.
    Orders(Vec<String>),
    /// Numbers, as this notation writes them.
    Numbers(NumberNotation),
    /// Vectors of so many numbers, with spaces between.
    Vectors(usize),
    /// Dates.
    Dates,
    /// Sets of labels with this separator.
    Labels(char),
    /// So many classes, one for each row.
    Classes(usize),
    /// Texts.
    Texts,
}

impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Ids => f.write_str("ids"),
            Self::Smiles => f.write_str("SMILES"),
            Self::Inchi => f.write_str("InChI"),
            Self::Rankings(items) => write!(f, "rankings of {items} items"),
            Self::Orders(items) => write!(f, "rankings of {} items, as orders", items.len()),
            Self::Numbers(NumberNotation { decimal, unit, mixed_decimals }) => {
                f.write_str("numbers")?;
                if *mixed_decimals {
                    f.write_str(", with decimal points and commas")?;
                } else if *decimal == ',' {
                    f.write_str(", with decimal commas")?;
                }
                if unit.is_empty() { Ok(()) } else { write!(f, ", in {unit}") }
            }
            Self::Vectors(width) => write!(f, "vectors of {width} numbers"),
            Self::Dates => f.write_str("dates"),
            Self::Labels(' ') => f.write_str("labels, with spaces between"),
            Self::Labels(separator) => write!(f, "labels, with {separator:?} between"),
            Self::Classes(count) => write!(f, "{count} classes"),
            Self::Texts => f.write_str("texts"),
        }
    }
}

/// What a kind makes of a cell that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It is of the kind.
    Valid,
    /// A part of it is, and the rest says nothing.
    Repaired,
    /// It is not of the kind: its row is skipped.
    Invalid,
}

impl ColumnKind {
    /// Returns one of what the column holds, for messages.
    pub fn one(&self) -> &'static str {
        match self {
            Self::Nothing => "anything",
            Self::Ids => "an id",
            Self::Smiles => "a SMILES",
            Self::Inchi => "an InChI",
            Self::Rankings(_) | Self::Orders(_) => "a ranking",
            Self::Numbers(_) => "a number",
            Self::Vectors(_) => "a vector of as many numbers as the first",
            Self::Dates => "a date",
            Self::Labels(_) => "labels",
            Self::Classes(_) => "a class",
            Self::Texts => "a text",
        }
    }

    /// Returns whether lists whose cells look like this kind may be sets of labels.
    pub(super) fn may_be_lists_of_labels(&self) -> bool {
        match self {
            Self::Ids | Self::Numbers(_) | Self::Labels(_) | Self::Classes(_) | Self::Texts => true,
            Self::Nothing
            | Self::Smiles
            | Self::Inchi
            | Self::Rankings(_)
            | Self::Orders(_)
            | Self::Vectors(_)
            | Self::Dates => false,
        }
    }

    /// Returns the notation of numbers; none of other kinds.
    pub fn notation(&self) -> Option<&NumberNotation> {
        if let Self::Numbers(notation) = self { Some(notation) } else { None }
    }

    /// Returns what a training makes of a cell that is not empty.
    pub fn read(&self, cell: &str) -> Reading {
        let valid = match self {
            Self::Smiles => {
                let smiles = cells::smiles(cell);
                let is_molecule = Molecule::parse(smiles).is_ok();
                if is_molecule && smiles.len() < cell.trim().len() {
                    return Reading::Repaired;
                }
                is_molecule
            }
            Self::Inchi => is_inchi(cell),
            Self::Rankings(items) => items_ranked(cell) == Some(*items),
            Self::Orders(items) => {
                let names_have_tildes = items.iter().any(|item| item.contains('~'));
                items_ordered(cell, names_have_tildes).is_some_and(|named| {
                    named.iter().all(|name| items.iter().any(|item| item == name))
                })
            }
            Self::Numbers(notation) => notation.normalised(cell).is_some(),
            Self::Vectors(width) => numbers_in(cell) == Some(*width),
            Self::Dates => is_date(cell),
            Self::Classes(_) => !cells::is_no_class(cell),
            Self::Texts => !cells::is_missing(cell),
            Self::Nothing | Self::Ids | Self::Labels(_) => true,
        };
        if valid { Reading::Valid } else { Reading::Invalid }
    }
}

/// What the lists of a column hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// Texts; each cell has them with `;` between, or is the list as JSON.
    Texts,
    /// Numbers; each cell has them with spaces between.
    Numbers,
    /// Numbers, and some lists have none.
    NumbersOrNone,
}

/// The name of a kind, as `--as` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindName {
    /// [`ColumnKind::Nothing`]: the column is left out.
    Nothing,
    /// [`ColumnKind::Ids`].
    Ids,
    /// [`ColumnKind::Smiles`].
    Smiles,
    /// [`ColumnKind::Rankings`], or [`ColumnKind::Orders`].
    Rankings,
    /// [`ColumnKind::Numbers`].
    Numbers,
    /// [`ColumnKind::Vectors`].
    Vectors,
    /// [`ColumnKind::Labels`].
    Labels,
    /// [`ColumnKind::Classes`].
    Classes,
    /// [`ColumnKind::Texts`].
    Texts,
}

/// The kind that a column is said to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedKind {
    /// The column.
    pub column: String,
    /// The kind.
    pub kind: KindName,
}

impl FromStr for StatedKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = "a column and smiles, numbers, vectors, labels, classes, rankings, texts, ids or nothing, as in \
                       smiles=texts";
        let (column, kind) = text.rsplit_once('=').ok_or_else(|| format!("expected {allowed}"))?;
        let kind = match kind {
            "nothing" => KindName::Nothing,
            "ids" => KindName::Ids,
            "smiles" => KindName::Smiles,
            "rankings" => KindName::Rankings,
            "numbers" => KindName::Numbers,
            "vectors" => KindName::Vectors,
            "labels" => KindName::Labels,
            "classes" => KindName::Classes,
            "texts" => KindName::Texts,
            other => return Err(format!("no kind {other:?}; expected {allowed}")),
        };
        Ok(Self { column: column.to_owned(), kind })
    }
}

/// Returns whether a cell is an InChI.
pub(super) fn is_inchi(cell: &str) -> bool {
    cell.starts_with("InChI=1")
}

/// Returns whether a cell may have several parts with commas or blanks between, in brackets or without.
fn may_have_parts(cell: &str) -> bool {
    cell.contains(|c: char| c == ',' || c.is_whitespace())
}

/// Returns the number of items, at least three, that a cell ranks from 1, with `-` for those that are not ranked.
pub(super) fn items_ranked(cell: &str) -> Option<usize> {
    if !may_have_parts(cell) {
        return None;
    }
    let all = match cells::list(cell) {
        Some(parts) => ranks_of(parts.iter().map(String::as_str)),
        None => ranks_of(cell.split_whitespace()),
    }?;
    let mut ranks: Vec<usize> = all.iter().copied().flatten().collect();
    ranks.sort_unstable();
    let complete = ranks.iter().copied().eq(1..=ranks.len());
    (complete && ranks.len() >= 2 && all.len() >= 3).then_some(all.len())
}

/// Returns the rank of each item, none of one that is not ranked; none at all where a part is not a rank.
fn ranks_of<'c>(parts: impl Iterator<Item = &'c str>) -> Option<Vec<Option<usize>>> {
    let rank = |part: &str| match part {
        "-" => Some(None),
        rank => rank.parse().ok().map(Some),
    };
    parts.map(rank).collect()
}

/// Returns whether a cell has a `~` with blanks on both sides or on none, as between items that tie. With a blank on one side
/// alone it belongs to a name, as in `tea ~5`.
pub(super) fn has_tilde_of_tie(cell: &str) -> bool {
    cell.match_indices('~').any(|(at, sign)| {
        let is_behind_blank = cell[..at].ends_with(char::is_whitespace);
        let is_before_blank = cell[at + sign.len()..].starts_with(char::is_whitespace);
        is_behind_blank == is_before_blank
    })
}

/// Returns the items that a cell orders, as in `b > a = c` or, where no name of an item has a tilde, `b > a ~ c`; none where
/// fewer than two are named, or one of them twice.
pub(super) fn items_ordered(cell: &str, names_have_tildes: bool) -> Option<Vec<&str>> {
    let tied = |part| cells::tied_items(part, names_have_tildes);
    let items: Vec<&str> = cell.split('>').flat_map(tied).collect();
    let distinct: HashSet<&str> = items.iter().copied().filter(|item| !item.is_empty()).collect();
    (items.len() >= 2 && distinct.len() == items.len()).then_some(items)
}

/// Returns the number of finite numbers in a cell, at least two, if it holds nothing else.
pub(super) fn numbers_in(cell: &str) -> Option<usize> {
    if !may_have_parts(cell) && !cells::are_bits(cell) {
        return None;
    }
    let divided = || {
        let is_comma = |c: char| c == ',' && has_commas_between_numbers(cell);
        let parts = cell.split(|c: char| is_comma(c) || c.is_whitespace());
        parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let parts: Vec<String> = cells::list(cell).unwrap_or_else(divided);
    let are_numbers = parts.iter().all(|part| part.parse::<f64>().is_ok_and(f64::is_finite));
    (are_numbers && parts.len() >= 2).then_some(parts.len())
}

/// Returns whether the commas of a cell are between numbers, and neither signs before decimals nor between groups of thousands.
fn has_commas_between_numbers(cell: &str) -> bool {
    let is_divided = cell.contains('.') || cell.matches(',').count() >= 2;
    // as in `3,431E+03 7,102E+04`
    let is_before_exponent = |word: &str| {
        let decimals = word.split_once(',').map(|(_, decimals)| decimals);
        decimals.is_some_and(|decimals| decimals.contains(['e', 'E']) && !decimals.contains(','))
    };
    let has_decimals = !cell.contains('.') && cell.split_whitespace().any(is_before_exponent);
    let is_one_number = ['.', ','].into_iter().any(|decimal| {
        let notation = NumberNotation { decimal, ..NumberNotation::default() };
        notation.normalised(cell).is_some()
    });
    is_divided && !is_one_number && !has_decimals
}

/// The names of the months, in English, and in German where these differ.
const MONTHS: [&str; 20] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "januar",
    "februar",
    "märz",
    "mai",
    "juni",
    "juli",
    "oktober",
    "dezember",
];

/// The fewest letters of the name of a month that is shortened.
const LETTERS_OF_A_MONTH: usize = 3;

/// Returns whether a cell is a date, with or without a time of day: the numbers of year, month and day, a day or year with the name of
/// a month, or a month, quarter, week or two years such as `2022/23`; or a time of day.
pub(super) fn is_date(cell: &str) -> bool {
    is_day(cell) || is_period(cell) || is_named_date(cell) || is_time_of_day(cell)
}

/// Returns whether a cell is the numbers of a day, month and year, with or without a time of day.
fn is_day(cell: &str) -> bool {
    let day = cell.split(['T', ' ']).next().unwrap_or_default();
    let separator = day.chars().find(|c| !c.is_ascii_digit());
    let Some(separator) = separator.filter(|c| ['-', '/', '.', '年'].contains(c)) else {
        return false;
    };
    let day = day.trim_end_matches('日').replace(['年', '月'], "-");
    let separator = if separator == '年' { '-' } else { separator };
    let parts: Vec<&str> = day.split(separator).collect();
    let &[first, middle, last] = parts.as_slice() else { return false };
    let is_short_year = |part: &str| part.len() == 2 && number_within(part, 0..=99);
    let is_day = |part: &str| part.len() <= 2 && number_within(part, 1..=31);
    let years_first = is_year(first) && is_day(last);
    let years_last = is_day(first) && (is_year(last) || is_short_year(last));
    is_day(middle) && (years_first || years_last)
}

/// Returns whether a cell is a year with a month, as in `2023-01` and `01/2023`, with a quarter or week, as in `2023-Q1` and
/// `2023-W05`, or with the next year, as in `2022/23`.
fn is_period(cell: &str) -> bool {
    let is_month = |part: &str| part.len() <= 2 && number_within(part, 1..=12);
    let is_part_of_year = |part: &str| {
        let quarter = part.strip_prefix('Q').is_some_and(|number| number_within(number, 1..=4));
        let week = part.strip_prefix('W').is_some_and(|number| number_within(number, 0..=53));
        quarter || week
    };
    if let Some((first, last)) = cell.split_once(['-', '/', ' ']) {
        let is_next = |year: &str, next: &str| {
            let next_year = year.parse::<u32>().map(|year| year + 1).unwrap_or_default();
            next == next_year.to_string() || next == format!("{:02}", next_year % 100)
        };
        let is_spaced = cell.contains(' ');
        let has_month = is_year(first) && is_month(last) || is_month(first) && is_year(last);
        let has_part =
            is_year(first) && is_part_of_year(last) || is_part_of_year(first) && is_year(last);
        let has_next = is_year(first) && is_next(first, last);
        return has_part || (!is_spaced && (has_month || has_next));
    }
    let year = cell.get(..4).filter(|year| is_year(year));
    year.is_some_and(|_| is_part_of_year(&cell[4..]))
}

/// Returns whether a cell is the name of a month with a year, a day, or both, as in `Jan 2023`, `Jan-23`, `1 January 2023` and
/// `January 01, 2023`, with or without a time of day.
fn is_named_date(cell: &str) -> bool {
    let parts: Vec<&str> =
        cell.split([' ', '-', ',', '.', '/']).filter(|part| !part.is_empty()).collect();
    let parts = match parts.as_slice() {
        [day @ .., time, "AM" | "PM"] if is_time_of_day(time) => day,
        [day @ .., time] if is_time_of_day(time) => day,
        day => day,
    };
    let months = parts.iter().filter(|part| is_month_name(part)).count();
    let numbers: Vec<&str> = parts.iter().copied().filter(|part| !is_month_name(part)).collect();
    let is_short = |part: &str| part.len() <= 2 && number_within(part, 0..=99);
    let are_numbers = numbers.iter().all(|part| is_year(part) || is_short(part));
    let years = numbers.iter().filter(|part| is_year(part)).count();
    months == 1 && (1..=2).contains(&numbers.len()) && are_numbers && years <= 1
}

/// Returns whether a text is the name of a month, or its first letters.
fn is_month_name(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.chars().count() >= LETTERS_OF_A_MONTH
        && MONTHS.iter().any(|month| month.starts_with(lower.as_str()))
}

/// Returns whether a cell is hours, of two digits, and minutes, with or without seconds: `07:18`.
fn is_time_of_day(cell: &str) -> bool {
    let halves = [" AM", " PM"];
    let time = halves.into_iter().find_map(|half| cell.strip_suffix(half)).unwrap_or(cell);
    let parts: Vec<&str> = time.split(':').collect();
    let have_two_digits = parts.iter().all(|part| part.len() == 2);
    let [hours, further @ ..] = parts.as_slice() else { return false };
    have_two_digits
        && (1..=2).contains(&further.len())
        && number_within(hours, 0..=23)
        && further.iter().all(|part| number_within(part, 0..=59))
}

/// Returns whether a text is a year of four digits.
pub(super) fn is_year(text: &str) -> bool {
    text.len() == 4 && number_within(text, 1000..=2999)
}

/// Returns whether a text is digits of a number in a range.
fn number_within(text: &str, range: RangeInclusive<u32>) -> bool {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && text.parse().is_ok_and(|number| range.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_are_between_numbers_unless_they_are_in_one() {
        for (cell, count) in [("0.1,0.2,-3", 3), ("48.1, 11.5", 2), ("1 2 3", 3), ("[1, 2]", 2)] {
            assert_eq!(numbers_in(cell), Some(count), "{cell}");
        }
        for one in ["1,234.5", "1.234,5", "1,234,567", "3,5", "0.5", "a,b,c", "3,431E+03 7,102E+04"]
        {
            assert_eq!(numbers_in(one), None, "{one}");
        }
    }

    #[test]
    fn dates_are_told_from_numbers_and_versions() {
        for date in [
            "2024-03-01",
            "1.3.2024",
            "03/01/24",
            "2024-03-01T12:00:00",
            "2024-03-01 12:00",
            "03/01/2024 12:00 AM",
            "2024年03月01日",
        ] {
            assert!(is_date(date), "{date}");
        }
        for other in [
            "2024",
            "1.5",
            "1.2.3",
            "84,44",
            "2024-13-45",
            "10-20",
            "",
            "a-b-c",
            "50:50",
            "1:08",
            "1:1",
            "Q1",
            "Mar",
            "Marble 12",
            "8.Jan.Feb",
            "a 2023",
            "2023-13",
            "2023-25",
            "12 2023",
        ] {
            assert!(!is_date(other), "{other}");
        }
    }

    #[test]
    fn months_quarters_weeks_and_times_of_day_are_dates() {
        for date in [
            "2023-01",
            "2023/12",
            "01/2023",
            "2023-Q1",
            "2023Q4",
            "Q1 2023",
            "2023-W00",
            "2023W53",
            "2022/23",
            "2022-2023",
            "1999/00",
            "Jan 2023",
            "January 2023",
            "Jan-23",
            "Sept. 2023",
            "1 January 2023",
            "January 01, 2023",
            "01 Jan 2023 00:00",
            "1-Jan-23",
            "3. März 2024",
            "00:00",
            "23:59:59",
            "07:18 PM",
        ] {
            assert!(is_date(date), "{date}");
        }
    }

    #[test]
    fn rankings_may_be_partial_and_orders_name_items() {
        let ranked = ["2 1 3", "[2, 1, 3]", "1 2 - -", "- 1", "1 - -", "1 2 2", "1 - x"];
        let expected = [Some(3), Some(3), Some(4), None, None, None, None];
        assert_eq!(ranked.map(items_ranked), expected);
        for order in ["tea > milk=cold water", "tea > milk ~ cold water"] {
            let items = items_ordered(order, false);
            assert_eq!(items, Some(vec!["tea", "milk", "cold water"]), "{order}");
        }
        assert_eq!(items_ordered("tea ~5 > milk", true), Some(vec!["tea ~5", "milk"]));
        assert!(has_tilde_of_tie("a~b") && has_tilde_of_tie("a ~ b > c ~d"));
        assert!(!has_tilde_of_tie("tea ~5 > milk"));
        for other in ["tea", "tea>tea", "tea>", "C>>CO", ""] {
            assert_eq!(items_ordered(other, false), None, "{other}");
        }
    }

    #[test]
    fn a_name_behind_a_smiles_is_left_out_and_a_remark_is_no_molecule() {
        let readings = ["CCO", "CCO ethanol", "CCO |$;;R1$|", "not available", "C(C"];
        let readings = readings.map(|cell| ColumnKind::Smiles.read(cell));
        let expected = [
            Reading::Valid,
            Reading::Repaired,
            Reading::Repaired,
            Reading::Invalid,
            Reading::Invalid,
        ];
        assert_eq!(readings, expected);
    }
}
