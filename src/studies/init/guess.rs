//! The kind of a column that nobody has stated: what most of its cells are.

use std::collections::{HashMap, HashSet};

use dsokr_data::cells::{self, NumberNotation};
use rayon::prelude::*;

use super::kind::{ColumnKind, KindName, Reading, is_date, is_inchi, items_ranked, numbers_in};

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

/// Words that texts have and labels are not.
const WORDS: [&str; 8] = ["a", "an", "and", "in", "is", "of", "the", "with"];

/// The share of cells that must have a comma, if it separates labels, and the share that must have another sign, as
/// divisors. Spaces are in any cell.
const WITH_COMMAS: usize = 3;
const WITH_OTHER_SIGNS: usize = 100;

/// The most words of a name behind a SMILES; more are a text that begins with one.
const WORDS_OF_A_NAME: usize = 4;

/// Signs of currencies, which stand before numbers.
const CURRENCIES: [char; 5] = ['€', '$', '£', '¥', '₹'];

/// Codes of currencies, which stand before numbers too.
const CURRENCY_CODES: [&str; 13] =
    ["EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK", "DKK", "PLN", "CAD", "AUD"];

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
    let separator = separator_of(&present);
    let recur = ROWS_OF_A_CLASS * distinct <= present.len();
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

/// Whether cells count the rows: whole numbers one after the other, or in the first column growing ones.
fn are_row_numbers(place: usize, cells: &[&str]) -> bool {
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

/// Rankings of as many items as the first ranking among cells has.
fn rankings_of(cells: &[&str]) -> ColumnKind {
    ColumnKind::Rankings(cells.iter().find_map(|cell| items_ranked(cell)).unwrap_or_default())
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
/// of sentences.
fn separator_of(cells: &[&str]) -> Option<char> {
    if most(cells, |cell| cells::list(cell).is_some()) {
        return Some(';');
    }
    let is_word = |word: &str| WORDS.contains(&word.to_lowercase().as_str());
    let prose = cells.iter().filter(|cell| cell.split_whitespace().any(is_word)).count();
    if 10 * prose > cells.len() {
        return None;
    }
    [';', '|', ',', ' '].into_iter().find(|&separator| {
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
        ];
        let expected = ["%", "€", "µM", "mg/L", "€", "CHF", "", "", "", "", ""];
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
