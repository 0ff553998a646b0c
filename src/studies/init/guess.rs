//! The kind of a column that nobody has stated: what most of its cells are.

use std::collections::{HashMap, HashSet};

use dsokr_data::cells::{self, NumberNotation};
use rayon::prelude::*;

use super::kind::{
    ColumnKind, KindName, Reading, is_date, is_inchi, items_ordered, items_ranked, numbers_in,
};

/// The share of cells that must be of a kind.
const MOST: f64 = 0.9;

/// The most cells that are looked at for the kind of a column.
const LOOKED_AT: usize = 10_000;

/// The most classes of a column, and the fewest rows that each of them has in the mean.
const CLASSES: usize = 50;
const ROWS_OF_A_CLASS: usize = 5;

/// The most words of the name of a class; more are a sentence.
const WORDS_OF_A_CLASS: usize = 5;

/// Names of columns whose whole numbers are classes.
const CLASS_NAMES: [&str; 6] = ["class", "label", "target", "category", "type", "cluster"];

/// Words that texts have and labels are not: of English, German, Spanish and French.
const WORDS: [&str; 18] = [
    "a", "an", "and", "in", "is", "of", "the", "with", "das", "der", "die", "eine", "mit", "und",
    "las", "una", "les", "une",
];

/// Names that columns of texts have.
const NAMES_OF_TEXTS: [&str; 9] = [
    "description",
    "text",
    "caption",
    "abstract",
    "sentence",
    "query",
    "title",
    "beschreibung",
    "texto",
];

/// Names of columns whose texts may be short, beside longer ones in others.
const NAMES_OF_SHORT_TEXTS: [&str; 3] = ["review", "question", "prompt"];

/// The signs that separate labels.
const SEPARATORS: [char; 4] = [';', '|', ',', ' '];

/// The most parts that a measure has in the mean; spectra and series of numbers have more.
const PARTS_OF_A_MEASURE: usize = 4;

/// The most different remarks that stand in the place of numbers, such as `n.b.`, where some have digits.
const REMARKS: usize = 5;

/// The most letters of a unit, which stands beside numbers.
const LETTERS_OF_A_UNIT: usize = 3;

/// The most items that cells rank by their names.
const ITEMS: usize = 50;

/// The share of cells that must have a comma, if it separates labels, and the share that must have another sign, as
/// divisors. Spaces are in any cell.
const WITH_COMMAS: usize = 3;
const WITH_OTHER_SIGNS: usize = 100;

/// The most words of a name behind a SMILES; more are a text that begins with one.
const WORDS_OF_A_NAME: usize = 4;

/// Signs of currencies, which stand before numbers.
const CURRENCIES: [char; 5] = ['€', '$', '£', '¥', '₹'];

/// Codes of currencies, which stand before numbers too.
const CURRENCY_CODES: [&str; 16] = [
    "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK", "DKK", "PLN", "CAD", "AUD",
    "US$", "R$", "Rs.",
];

/// The kind of the cells, none of them empty, of the column with this place, from 0, and this name.
pub(super) fn guessed(place: usize, name: &str, cells: &[&str]) -> ColumnKind {
    let present: Vec<&str> =
        cells.iter().copied().filter(|cell| !cells::is_missing(cell)).collect();
    if present.is_empty() {
        return ColumnKind::Nothing;
    }
    if may_be_smiles(&present) && are_mostly(&ColumnKind::Smiles, &present) {
        return ColumnKind::Smiles;
    }
    if most(&present, is_inchi) {
        return ColumnKind::Inchi;
    }
    let rankings = rankings_of(&present);
    if are_mostly(&rankings, &present) {
        return rankings;
    }
    let vectors = vectors_of(&present);
    // whole numbers may be names of labels
    let are_real = || present.iter().any(|cell| cell.contains(['.', 'e', 'E']));
    if are_mostly(&vectors, &present) && are_real() {
        return vectors;
    }
    if most(&present, is_date) {
        return ColumnKind::Dates;
    }
    let distinct = present.iter().collect::<HashSet<_>>().len();
    // bounds are skipped and named; they are no labels
    let numbers = ColumnKind::Numbers(notation_of(&present));
    let limits: Vec<&str> = present.iter().copied().map(without_sign_of_bound).collect();
    if are_mostly(&numbers, &limits) {
        let whole = most(&present, |cell| cell.parse::<u64>().is_ok());
        let named = CLASS_NAMES.contains(&name.to_lowercase().as_str());
        let recur = distinct > 1 && ROWS_OF_A_CLASS * distinct <= present.len();
        if recur && (distinct == 2 || (whole && named && distinct <= CLASSES)) {
            return classes_of(cells);
        }
        let differ = 2 * distinct > present.len();
        let are_ids = whole && differ && is_id(name) || are_row_numbers(place, cells);
        return if are_ids { ColumnKind::Ids } else { numbers };
    }
    let recur = ROWS_OF_A_CLASS * distinct <= present.len();
    let are_few = recur && (2..=CLASSES).contains(&distinct);
    let differ = distinct == present.len();
    if !are_few && is_half_numbers(&numbers, &present, differ) && !is_id(name) {
        return numbers;
    }
    let separator = separator_of(name, &present);
    if separator.is_none_or(|separator| separator == ' ')
        && (2..=CLASSES).contains(&distinct)
        && recur
        && most(&present, |cell| cell.split_whitespace().count() <= WORDS_OF_A_CLASS)
    {
        return classes_of(cells);
    }
    if let Some(separator) = separator {
        return ColumnKind::Labels(separator);
    }
    let words = present.iter().any(|cell| cell.contains(char::is_whitespace));
    if distinct == present.len() && (is_id(name) || !words && !are_sequences(&present)) {
        return ColumnKind::Ids;
    }
    ColumnKind::Texts
}

/// The kind of cells that have the texts of lists with `;` between, and without the lists are of this `kind`: sets of labels, also
/// where no list has several, unless they are something that says more, or texts that do not recur.
pub(super) fn guessed_of_lists(kind: ColumnKind, name: &str, cells: &[&str]) -> ColumnKind {
    let recur = || {
        let labels = || cells.iter().flat_map(|cell| cell.split(';')).map(str::trim);
        labels().count() >= 2 * labels().collect::<HashSet<_>>().len()
    };
    let are_labels = match &kind {
        ColumnKind::Labels(_) => true,
        ColumnKind::Classes(_) => !are_reordered(cells),
        ColumnKind::Ids | ColumnKind::Numbers(_) | ColumnKind::Texts => {
            recur() && !is_prose(cells) && !is_name_of_texts(name) && !are_reordered(cells)
        }
        ColumnKind::Nothing
        | ColumnKind::Smiles
        | ColumnKind::Inchi
        | ColumnKind::Rankings(_)
        | ColumnKind::Orders(_)
        | ColumnKind::Vectors(_)
        | ColumnKind::Dates => false,
    };
    if are_labels { ColumnKind::Labels(';') } else { kind }
}

/// The kind of the cells that a caller states, with what only the cells tell.
pub(super) fn stated(kind: KindName, cells: &[&str]) -> ColumnKind {
    match kind {
        KindName::Nothing => ColumnKind::Nothing,
        KindName::Ids => ColumnKind::Ids,
        KindName::Smiles => ColumnKind::Smiles,
        KindName::Rankings => rankings_of(cells),
        KindName::Numbers => ColumnKind::Numbers(notation_of(cells)),
        KindName::Vectors => vectors_of(cells),
        KindName::Labels => ColumnKind::Labels(stated_separator(cells)),
        KindName::Classes => classes_of(cells),
        KindName::Texts => ColumnKind::Texts,
    }
}

/// Whether most cells are what `is` says.
pub(super) fn most(cells: &[&str], is: impl Fn(&str) -> bool) -> bool {
    let cells = looked_at(cells);
    let count = cells.iter().filter(|cell| is(cell)).count();
    count as f64 >= MOST * cells.len() as f64
}

/// The cells that tell what a column is: all, or so many at equal distances of a long one.
fn looked_at<'c>(cells: &[&'c str]) -> Vec<&'c str> {
    let step = cells.len().div_ceil(LOOKED_AT).max(1);
    cells.iter().copied().step_by(step).collect()
}

/// Whether most cells are of a kind.
fn are_mostly(kind: &ColumnKind, cells: &[&str]) -> bool {
    let cells = looked_at(cells);
    let read = |cell: &&&str| kind.read(cell) != Reading::Invalid;
    let count = cells.par_iter().filter(read).count();
    count as f64 >= MOST * cells.len() as f64
}

/// The fewest letters of a sequence, of a protein or a nucleic acid, in the mean.
const LETTERS_OF_A_SEQUENCE: usize = 20;

/// Whether cells are long and of letters only, as ids are not.
fn are_sequences(cells: &[&str]) -> bool {
    let letters: usize = cells.iter().map(|cell| cell.len()).sum();
    let are_long = letters >= LETTERS_OF_A_SEQUENCE * cells.len();
    are_long && most(cells, |cell| cell.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

/// Whether a column has the name of one with ids.
fn is_id(name: &str) -> bool {
    let name = name.to_lowercase();
    let names = ["key", "index", "number", "no", "no.", "nr", "nr.", "#", "idx", "row", "cas"];
    name.ends_with("id") || names.contains(&name.as_str())
}

/// Whether a column has the name of one with texts.
pub(super) fn is_name_of_texts(name: &str) -> bool {
    NAMES_OF_TEXTS.contains(&name.to_lowercase().as_str())
}

/// Whether at least half of the cells are numbers, and the others are remarks rather than sets of numbers or codes: few
/// different ones, or without digits. Whole numbers that all `differ` are names.
fn is_half_numbers(numbers: &ColumnKind, cells: &[&str], differ: bool) -> bool {
    let (read, others): (Vec<&str>, Vec<&str>) =
        looked_at(cells).into_iter().partition(|cell| numbers.read(cell) != Reading::Invalid);
    let are_whole = read.iter().all(|cell| cell.parse::<i64>().is_ok());
    let sets = others.iter().filter(|cell| is_set_of_numbers(cell)).count();
    let are_few = others.iter().collect::<HashSet<_>>().len() <= REMARKS;
    let is_plain = |cell: &&str| !cell.contains(|c: char| c.is_ascii_digit());
    let are_remarks = are_few || others.iter().all(is_plain);
    read.len() >= others.len() && 2 * sets <= others.len() && are_remarks && !(are_whole && differ)
}

/// Whether a cell holds several parts, as sets of labels do: with a semicolon or a bar between, or numbers only.
fn is_set_of_numbers(cell: &str) -> bool {
    let parts: Vec<&str> = parts_of(cell).collect();
    let are_numbers = parts.iter().all(|part| part.parse::<f64>().is_ok());
    cell.contains([';', '|']) || (parts.len() > 1 && are_numbers)
}

/// Whether cells count the rows: whole numbers one after the other, or in the first column growing ones.
pub(super) fn are_row_numbers(place: usize, cells: &[&str]) -> bool {
    let numbers: Option<Vec<u64>> = cells.iter().map(|cell| cell.parse().ok()).collect();
    let Some(numbers) = numbers else { return false };
    let mut steps = numbers.windows(2).map(|pair| pair[1].checked_sub(pair[0]));
    if place == 0 {
        steps.all(|step| step.is_some_and(|step| step > 0))
    } else {
        steps.all(|step| step == Some(1))
    }
}

/// Whether cells look like SMILES before any is parsed: one word, with at most a name or an extension behind it, and some
/// with bonds, branches or rings, since labels of one letter are SMILES too.
fn may_be_smiles(cells: &[&str]) -> bool {
    let is_short =
        |cell: &str| cell.contains(" |") || cell.split_whitespace().count() <= 1 + WORDS_OF_A_NAME;
    let marked = |cell: &&&str| cells::smiles(cell).contains(['(', '=', '#', '1']);
    most(cells, is_short) && 5 * cells.iter().filter(marked).count() >= cells.len()
}

/// As many classes as cells name, which a training reads too.
fn classes_of(cells: &[&str]) -> ColumnKind {
    let classes = cells.iter().filter(|cell| !cells::is_no_class(cell));
    ColumnKind::Classes(classes.collect::<HashSet<_>>().len())
}

/// Rankings of the items that cells name, or of as many items as the first ranking among cells has.
fn rankings_of(cells: &[&str]) -> ColumnKind {
    if let Some(items) = items_of(cells) {
        return ColumnKind::Orders(items);
    }
    ColumnKind::Rankings(cells.iter().find_map(|cell| items_ranked(cell)).unwrap_or_default())
}

/// The items of cells that are orders: at least three, of which a cell names more than half in the mean, and some two in both
/// orders, as the parts of reactions (`A>B>C`) and paths do not. None of other cells.
fn items_of(cells: &[&str]) -> Option<Vec<String>> {
    if !most(cells, |cell| cell.contains('>')) {
        return None;
    }
    let orders: Vec<Vec<&str>> = cells.iter().filter_map(|cell| items_ordered(cell)).collect();
    let mut items: Vec<&str> = Vec::new();
    for &item in orders.iter().flatten() {
        if !items.contains(&item) {
            items.push(item);
        }
        if items.len() > ITEMS {
            return None;
        }
    }
    let named: usize = orders.iter().map(Vec::len).sum();
    let recur = 2 * named > items.len() * orders.len();
    let pairs: HashSet<[&str; 2]> =
        orders.iter().flat_map(|order| order.windows(2)).map(|pair| [pair[0], pair[1]]).collect();
    // paths such as `Food > Fruit > Apple` have no two in both orders
    let is_both_ways = pairs.iter().any(|[a, b]| pairs.contains(&[*b, *a]));
    let are_orders = items.len() >= 3 && recur && is_both_ways;
    are_orders.then(|| items.into_iter().map(str::to_owned).collect())
}

/// Vectors of as many numbers as the first vector among cells has.
fn vectors_of(cells: &[&str]) -> ColumnKind {
    ColumnKind::Vectors(cells.iter().find_map(|cell| numbers_in(cell)).unwrap_or_default())
}

/// Signs before a number that is a bound of the value, or nearly the value.
const SIGNS_OF_BOUNDS: [char; 6] = ['<', '>', '≤', '≥', '~', '≈'];

/// A cell without the sign that makes a number a bound, such as `>10` or `<= 5 nM`.
fn without_sign_of_bound(cell: &str) -> &str {
    match cell.strip_prefix(SIGNS_OF_BOUNDS) {
        Some(rest) => rest.trim_start_matches('=').trim_start(),
        None => cell,
    }
}

/// How the numbers among cells are written.
fn notation_of(cells: &[&str]) -> NumberNotation {
    let limits: Vec<&str> = cells.iter().copied().map(without_sign_of_bound).collect();
    let cells = limits.as_slice();
    let unit = unit_of(cells);
    let plain = NumberNotation { decimal: '.', unit };
    let comma = NumberNotation { decimal: ',', ..plain.clone() };
    let read = |notation: &NumberNotation| {
        cells.iter().filter(|cell| notation.normalised(cell).is_some()).count()
    };
    // `1,234` alone is 1234, as `1,234.5` is
    if read(&comma) > read(&plain) { comma } else { plain }
}

/// The unit that most cells with a number have in common: a currency before it, a sign behind it, or words with a
/// space before them. Empty where there is none.
fn unit_of(cells: &[&str]) -> String {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for cell in cells {
        *counts.entry(unit_of_cell(cell)).or_default() += 1;
    }
    let unit = counts.into_iter().filter(|(unit, _)| !unit.is_empty()).max_by_key(|&(_, n)| n);
    let common = unit.filter(|&(_, count)| 2 * count > cells.len());
    common.map(|(unit, _)| unit.to_owned()).unwrap_or_default()
}

/// The unit before or behind the number of a cell.
fn unit_of_cell(cell: &str) -> &str {
    let is_number = |c: char| c.is_ascii_digit() || "+-.,\u{2212}".contains(c);
    if let Some(number) = cell.strip_prefix(CURRENCIES) {
        return &cell[..cell.len() - number.len()];
    }
    if let Some(code) = CURRENCY_CODES.into_iter().find(|code| cell.starts_with(*code)) {
        let number = cell[code.len()..].trim_start();
        return if number.starts_with(is_number) { code } else { "" };
    }
    if !cell.starts_with(is_number) {
        return "";
    }
    let Some(end) = cell.rfind(|c: char| c.is_ascii_digit()) else { return "" };
    let behind = &cell[end + 1..];
    let is_sign = !behind.starts_with(char::is_alphanumeric) && !behind.starts_with(['.', ',']);
    if is_sign { behind.trim() } else { "" }
}

/// The separator of labels, if cells are sets of labels: few different ones, which recur, in short cells without the words
/// of sentences. In a column whose name is that of texts, a space does not separate labels.
fn separator_of(name: &str, cells: &[&str]) -> Option<char> {
    if are_reordered(cells) {
        return None;
    }
    let is_prose = is_prose(cells);
    if most(cells, |cell| cells::list(cell).is_some()) {
        let parts: Vec<String> =
            cells.iter().filter_map(|cell| cells::list(cell)).flatten().collect();
        let recur = parts.len() >= 2 * parts.iter().collect::<HashSet<_>>().len();
        return (recur || !is_prose).then_some(';');
    }
    if is_prose {
        return None;
    }
    let has_measures = are_measures(cells);
    let is_short_text = NAMES_OF_SHORT_TEXTS.contains(&name.to_lowercase().as_str());
    let may_separate = |separator: &char| match *separator {
        ' ' => !has_measures && !is_name_of_texts(name) && !is_short_text,
        ',' => !has_measures,
        _ => true,
    };
    SEPARATORS.into_iter().filter(may_separate).find(|&separator| {
        let with = cells.iter().filter(|cell| cell.contains(separator)).count();
        let mut labels: HashMap<&str, usize> = HashMap::new();
        for cell in cells {
            let parts = cell.split(separator).map(str::trim).filter(|label| !label.is_empty());
            parts.for_each(|label| *labels.entry(label).or_default() += 1);
        }
        let all: usize = labels.values().sum();
        let separates = match separator {
            ' ' => true,
            ',' => WITH_COMMAS * with >= cells.len(),
            _ => WITH_OTHER_SIGNS * with >= cells.len(),
        };
        separates && all >= 2 * labels.len() && all <= 12 * cells.len()
    })
}

/// Whether more than a few cells have words of sentences.
fn is_prose(cells: &[&str]) -> bool {
    let is_word = |word: &str| WORDS.contains(&word.to_lowercase().as_str());
    let prose = cells.iter().filter(|cell| cell.split_whitespace().any(is_word)).count();
    10 * prose > cells.len()
}

/// Whether all cells are the same parts, some of them in a different order.
fn are_reordered(cells: &[&str]) -> bool {
    reordered(cells).is_some()
}

/// The parts of the first cell, in its order, if all cells are the same parts, some of them in a different order: they are
/// rankings rather than sets of labels, which would all be the same.
pub(super) fn reordered(cells: &[&str]) -> Option<Vec<String>> {
    let (first, rest) = cells.split_first()?;
    let parts = |cell: &str, separator: char| -> Vec<String> {
        let divided = || cell.split(separator).map(|part| part.trim().to_owned()).collect();
        cells::list(cell).unwrap_or_else(divided)
    };
    let sorted = |mut parts: Vec<String>| {
        parts.sort_unstable();
        parts
    };
    if rest.iter().all(|cell| cell == first) {
        return None;
    }
    SEPARATORS.into_iter().find_map(|separator| {
        let parts_of_first = parts(first, separator);
        let expected = sorted(parts_of_first.clone());
        let are_same = || rest.iter().all(|cell| sorted(parts(cell, separator)) == expected);
        (expected.len() > 1 && are_same()).then_some(parts_of_first)
    })
}

/// The parts of a cell that commas and spaces divide.
fn parts_of(cell: &str) -> impl Iterator<Item = &str> {
    cell.split([',', ' ']).filter(|part| !part.is_empty())
}

/// Whether cells are measures rather than labels or texts: nearly all have a digit, and most of their parts are numbers, signs
/// or units, as in `12.67 ± 0.47`, `126-128 °C` and `3h 13m`. Whole numbers alone may be names of labels.
pub(super) fn are_measures(cells: &[&str]) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    if !most(cells, |cell| cell.contains(is_digit)) {
        return false;
    }
    if most(cells, |cell| parts_of(cell).all(|part| part.chars().all(is_digit))) {
        return false;
    }
    let counts: Vec<usize> = cells.iter().map(|cell| parts_of(cell).count()).collect();
    let all: usize = counts.iter().sum();
    if all > PARTS_OF_A_MEASURE * cells.len() {
        return false;
    }
    let mut cells_with_count: HashMap<usize, usize> = HashMap::new();
    for count in counts {
        *cells_with_count.entry(count).or_default() += 1;
    }
    // sets of codes have one, two or more
    if cells_with_count.values().all(|&count| 4 * count < 3 * cells.len()) {
        return false;
    }
    let parts = || cells.iter().flat_map(|cell| parts_of(cell));
    let letters = |part: &str| part.chars().filter(|c| c.is_alphabetic()).count();
    let is_short = |part: &str| letters(part) <= LETTERS_OF_A_UNIT;
    let begins_with_number = |part: &str| {
        let unsigned = part.trim_start_matches(|c: char| !c.is_alphanumeric());
        let end = unsigned.find(|c: char| !is_digit(c) && c != '.').unwrap_or(unsigned.len());
        unsigned[..end].trim_end_matches('.').parse::<f64>().is_ok()
    };
    let is_number = |part: &str| is_short(part) && begins_with_number(part);
    let is_unit = |part: &str| is_short(part) && !part.contains(is_digit);
    let numbers = parts().filter(|part| is_number(part)).count();
    let units = parts().filter(|part| is_unit(part)).count();
    2 * numbers >= all && 2 * (numbers + units) > all
}

/// The separator of labels in cells that are stated to be sets of them: the first sign that some cells have, else the space.
fn stated_separator(cells: &[&str]) -> char {
    if most(cells, |cell| cells::list(cell).is_some()) {
        return ';';
    }
    let separates = |separator: &char| {
        let with = cells.iter().filter(|cell| cell.contains(*separator)).count();
        with > 0 && WITH_OTHER_SIGNS * with >= cells.len()
    };
    [';', '|', ','].into_iter().find(separates).unwrap_or(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_signs_or_stand_behind_a_space() {
        let units = [
            "64.9%",
            "€385",
            "5.2 µM",
            "12 mg/L",
            "385 €",
            "CHF 1'385.50",
            "EUR",
            "10a",
            "m12",
            "1.5",
            "2e-5",
            "US$1,000",
            "R$ 3101.84",
            "Rs. 310,184",
        ];
        let expected = ["%", "€", "µM", "mg/L", "€", "CHF", "", "", "", "", "", "US$", "R$", "Rs."];
        assert_eq!(units.map(unit_of_cell), expected);
    }

    #[test]
    fn vectors_have_as_many_numbers_each_and_some_are_not_whole() {
        let vectors = ["0.5 -1 2e-3", "1.0 2.0 3.0", "0.0 0.0 1.0"].repeat(4);
        assert_eq!(guessed(1, "x", &vectors), ColumnKind::Vectors(3));
        assert_eq!(stated(KindName::Vectors, &["12 7", "3 9"]), ColumnKind::Vectors(2));
        for other in [["12 7", "3 9", "12 3"], ["0.5 1", "0.5", "1 2 3"], ["a 0.5", "b 1", "c 2"]] {
            let kind = guessed(1, "x", &other.repeat(4));
            assert!(!matches!(kind, ColumnKind::Vectors(_)), "{kind}");
        }
    }

    #[test]
    fn columns_are_what_most_of_their_cells_are() {
        let prices: Vec<String> = (0..20).map(|i| format!("{},{:02} €", 10 + i, 5 * i)).collect();
        let mut prices: Vec<&str> = prices.iter().map(String::as_str).collect();
        prices[3] = "sold out";
        let notation = NumberNotation { decimal: ',', unit: "€".into() };
        assert_eq!(guessed(1, "price", &prices), ColumnKind::Numbers(notation));
        let mut smiles = ["CC(=O)O", "CCO ethanol", "C1CC1", "CC(C)N |&1:1|", "C=C"].repeat(4);
        smiles.push("not available");
        smiles.push("see C-12 for the salt of it");
        assert_eq!(guessed(1, "structure", &smiles), ColumnKind::Smiles);
        let sentences =
            ["CCO is an alcohol that people know well.", "C=C is a gas that fruits make."];
        assert_eq!(guessed(1, "text", &sentences.repeat(5)), ColumnKind::Texts);
        assert_eq!(guessed(1, "none", &["n/a", "NaN"]), ColumnKind::Nothing);
        assert_eq!(guessed(0, "column_1", &["6", "44", "205"]), ColumnKind::Ids);
        assert_eq!(guessed(3, "Nr", &["0", "1", "2"]), ColumnKind::Ids);
        let numbers = ColumnKind::Numbers(NumberNotation::default());
        assert_eq!(guessed(1, "mass", &["6", "44", "205"]), numbers);
        let affinity = ["12.5 nM", "> 10000 nM", "7 nM", "<=0.1 nM"].repeat(5);
        let nanomolar = NumberNotation { decimal: '.', unit: "nM".into() };
        assert_eq!(guessed(1, "IC50", &affinity), ColumnKind::Numbers(nanomolar));
        let francs = NumberNotation { decimal: '.', unit: "CHF".into() };
        let prices = ["CHF 1'385.50", "CHF 12.00", "CHF 7.25"].repeat(5);
        assert_eq!(guessed(1, "price", &prices), ColumnKind::Numbers(francs));
        let sequences = ["MKTAYIAKQRQISFVKSHFSRQ", "GSHMASMTGGQQMGRDPNSSSVDKLAA"];
        assert_eq!(guessed(0, "sequence", &sequences), ColumnKind::Texts);
        assert_eq!(guessed(0, "key", &["AABILZKQMVKFHP-UHFFFAOYSA-N"]), ColumnKind::Ids);
        let classes = ["conjugate acid", "conjugate base", "weak acid"].repeat(5);
        assert_eq!(guessed(1, "kind", &classes), ColumnKind::Classes(3));
        assert_eq!(guessed(1, "active", &["0", "1", "1", "NA"].repeat(4)), ColumnKind::Classes(2));
        assert_eq!(guessed(1, "active", &["yes", "no"].repeat(5)), ColumnKind::Classes(2));
        assert_eq!(guessed(1, "class", &["0", "1", "2"].repeat(5)), ColumnKind::Classes(3));
        assert_eq!(guessed(1, "rings", &["0", "1", "2"].repeat(5)), numbers);
        assert_eq!(
            guessed(1, "tags", &["a;b", "b", "a;c", "c"].repeat(5)),
            ColumnKind::Labels(';')
        );
        let mut mostly_one = ["acid", "base", "salt"].repeat(30);
        mostly_one.extend(["acid;salt"; 6]);
        assert_eq!(guessed(1, "tags", &mostly_one), ColumnKind::Labels(';'));
    }

    #[test]
    fn half_of_the_cells_are_enough_for_numbers_unless_they_name_classes_or_labels() {
        let numbers = ColumnKind::Numbers(NumberNotation::default());
        let solubilities = ["-3.2", "0.5", "n.b.", "<LOD", "-1.7", "5.7x10^-7", "2", "-0.25"];
        assert_eq!(guessed(1, "logS", &solubilities), numbers);
        assert_eq!(guessed(1, "logS", &solubilities.repeat(2)), numbers);
        let counts = ["120", "50", "n.b.", "7", "31", "n.b.", "84"];
        assert_eq!(guessed(1, "count", &counts), numbers);
        assert_eq!(guessed(1, "grade", &["1", "2", "fail"].repeat(5)), ColumnKind::Classes(3));
        assert_eq!(guessed(1, "code", &["1001", "1002", "1002B"]), ColumnKind::Ids);
        let topics = ["12;7", "7", "12", "7;12;3", "3"].repeat(3);
        assert_eq!(guessed(1, "topics", &topics), ColumnKind::Labels(';'));
        let topics = ["12 7", "7", "12", "7 12 3", "3", "3 7", "12 3"].repeat(3);
        assert_eq!(guessed(1, "topics", &topics), ColumnKind::Labels(' '));
    }

    #[test]
    fn ranges_codes_paths_and_long_series_are_what_they_were() {
        let ranges = ["<18.5", "18.5-25", ">25"].repeat(9);
        assert_eq!(guessed(1, "bmi", &ranges), ColumnKind::Classes(3));
        let doses = ["5 mg", "10 mg", "2.5 mg", "as needed"].repeat(9);
        assert_eq!(guessed(1, "dose", &doses), ColumnKind::Classes(4));
        let codes =
            ["401.9", "V58.61", "427.31", "E885.9", "272.4", "V45.81", "E11.9", "V10", "V11"];
        assert_ne!(guessed(1, "icd", &codes), ColumnKind::Numbers(NumberNotation::default()));
        let sets = ["401.9, 427.31", "272.4", "401.9, 272.4, 427.31", "427.31, 272.4"].repeat(3);
        assert_eq!(guessed(1, "codes", &sets), ColumnKind::Labels(','));
        let substitutions = ["C>A", "C>G", "C>T", "T>A", "T>C", "T>G"].repeat(6);
        assert_eq!(guessed(1, "mutation", &substitutions), ColumnKind::Classes(6));
        let paths = ["Food > Fruit > Apple", "Food > Fruit > Pear", "Clothing > Men"].repeat(6);
        assert_eq!(guessed(1, "category", &paths), ColumnKind::Classes(3));
        let shifts = ["132.6, 85.4, 77.1, 20.2, 14.1", "130.2, 85.1, 76.0, 21.9, 13.8"];
        assert!(!are_measures(&shifts));
        let captions =
            [r#"["a dog is in the park", "it is red"]"#, r#"["a cat of the house", "two"]"#];
        assert_eq!(guessed(1, "captions", &captions), ColumnKind::Texts);
    }

    #[test]
    fn measures_and_short_texts_are_no_labels() {
        let cells: [&[&str]; 6] = [
            &["12.67 ± 0.47", "8.10 ± 0.47", "12.67 ± 0.30", "8.10 ± 0.30"],
            &["126-128 °C", "126-127 °C", "90-91 °C", "90-91 °C"],
            &["3h 13m", "3h 2m", "1h 13m", "1h 2m"],
            &["Jan 3, 2024", "Jan 4, 2024", "Feb 3, 2024", "Feb 3, 2024"],
            &["(3,101.84)", "(3,101.84)", "(3,101.84)", "(2,101.84)"],
            &["1.5-2", "1.5-2", "2-2.5", "2-2.5"],
        ];
        for cells in cells {
            assert!(are_measures(cells), "{cells:?}");
            assert_eq!(guessed(1, "value", cells), ColumnKind::Texts, "{cells:?}");
        }
        for other in [["12 7", "3 9 1"], ["80s rock", "90s folk"], ["E11 I10", "I10 E12"]] {
            assert!(!are_measures(&other), "{other:?}");
        }
        assert!(!are_measures(&["It is the 12th of its kind", "It is 1 of 2 in all"]));
        let short = ["small alcohol", "small acid", "large acid", "large alcohol"];
        assert_eq!(guessed(1, "kinds", &short), ColumnKind::Labels(' '));
        assert_eq!(guessed(1, "Description", &short), ColumnKind::Texts);
        let german = ["eine kleine Säure", "eine Säure", "die kleine Base", "die Base"];
        assert_eq!(guessed(1, "Notiz", &german), ColumnKind::Texts);
    }

    #[test]
    fn cells_that_order_the_same_parts_are_rankings_and_no_labels() {
        let orders = ["tea > milk > water", "milk > tea=water", "water>tea", "milk>water>tea"];
        let items = ["tea", "milk", "water"].map(str::to_owned).to_vec();
        let rankings = ColumnKind::Orders(items);
        assert_eq!(guessed(1, "ranking", &orders), rankings);
        assert_eq!(stated(KindName::Rankings, &orders), rankings);
        assert_eq!(rankings.read("water>tea"), Reading::Valid);
        assert_eq!(rankings.read("water>coffee"), Reading::Invalid);
        assert_eq!(guessed(1, "ranking", &["1 2 - -", "- 1 3 2"]), ColumnKind::Rankings(4));
        let reactions = ["CO>Cl>CCl", "CCO>Cl>CCCl", "CN>Br>CBr", "CCN>Br>CCBr"];
        assert!(!matches!(guessed(1, "reaction", &reactions), ColumnKind::Orders(_)));
        for cells in [["1,2,3", "2,1,3"], ["tea|milk", "milk|tea"], ["a b c", "c a b"]] {
            assert!(are_reordered(&cells), "{cells:?}");
            assert_eq!(guessed(1, "ranking", &cells.repeat(5)), ColumnKind::Classes(2));
        }
        assert!(are_reordered(&[r#"["a", "b"]"#, r#"["b", "a"]"#]));
        for cells in [["a b", "a b"], ["a b", "b c"], ["a", "b"]] {
            assert!(!are_reordered(&cells), "{cells:?}");
        }
    }

    #[test]
    fn lists_are_label_sets_also_of_one_label_each() {
        let kind =
            |name: &str, cells: &[&str]| guessed_of_lists(guessed(1, name, cells), name, cells);
        let labels = ColumnKind::Labels(';');
        let mut single = ["acid", "base", "weak base"].repeat(200);
        assert_eq!(guessed(1, "tags", &single), ColumnKind::Classes(3));
        assert_eq!(kind("tags", &single), labels);
        single.push("acid;base");
        assert_eq!(kind("tags", &single), labels);
        assert_eq!(kind("tags", &["red wine", "white wine", "rose wine"].repeat(2)), labels);
        assert_eq!(kind("topics", &["3", "17", "3", "17", "4", "4"]), labels);
        // texts and names that do not recur, and rankings
        for (name, cells) in [
            ("captions", ["a dog is in the park", "a cat of the house"]),
            ("names", ["aspirin", "ibuprofen"]),
            ("ranking", ["tea;milk", "milk;tea"]),
        ] {
            assert_eq!(kind(name, &cells), guessed(1, name, &cells), "{name}");
        }
        assert_eq!(kind("smiles", &["CC(=O)O", "C1CC1"].repeat(5)), ColumnKind::Smiles);
    }

    #[test]
    fn labels_may_have_words_of_sentences_in_lists_and_where_they_are_stated() {
        let lists = [r#"["loss of function", "gain"]"#, r#"["none of it"]"#].repeat(5);
        assert_eq!(guessed(1, "effects", &lists), ColumnKind::Labels(';'));
        assert_eq!(stated(KindName::Labels, &lists), ColumnKind::Labels(';'));
        let joined = ["loss of function;gain", "none of it"].repeat(5);
        assert_eq!(stated(KindName::Labels, &joined), ColumnKind::Labels(';'));
        let many: String = (0..15).map(|label| format!("label {label}|")).collect();
        assert_eq!(stated(KindName::Labels, &[many.as_str()]), ColumnKind::Labels('|'));
        assert_eq!(stated(KindName::Labels, &["a, b", "c"]), ColumnKind::Labels(','));
        let mut mostly_spaces = ["red big", "small"].repeat(100);
        mostly_spaces.push("2;4 red");
        assert_eq!(stated(KindName::Labels, &mostly_spaces), ColumnKind::Labels(' '));
    }
}
