//! The kind of a column that nobody has stated: what most of its cells are.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

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
pub(super) const CLASSES: usize = 50;
const ROWS_OF_A_CLASS: usize = 5;

/// The most classes of a column whose names all have as many words, or whose name says that its numbers are classes.
const MANY_CLASSES: usize = 1000;

/// The most words of the name of a class; more are a sentence.
const WORDS_OF_A_CLASS: usize = 5;

/// Names of columns whose whole numbers are classes.
const CLASS_NAMES: [&str; 12] = [
    "class",
    "classes",
    "label",
    "labels",
    "target",
    "targets",
    "category",
    "categories",
    "type",
    "types",
    "cluster",
    "clusters",
];

/// Words that end as the names of ids do, and name none.
const NO_IDS: [&str; 18] = [
    "acid",
    "alkaloid",
    "bid",
    "covid",
    "flavonoid",
    "fluid",
    "grid",
    "hybrid",
    "invalid",
    "lipid",
    "liquid",
    "mid",
    "paid",
    "peptid",
    "phospholipid",
    "solid",
    "steroid",
    "valid",
];

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
const NAMES_OF_SHORT_TEXTS: [&str; 4] = ["review", "question", "prompt", "summary"];

/// The signs that separate labels; a slash does with blanks around it.
const SEPARATORS: [char; 5] = [';', '|', '/', ',', ' '];

/// The most labels that a cell has in the mean where commas or spaces are between; texts have more.
const LABELS_OF_A_CELL: usize = 12;

/// Brackets around lists.
const BRACKETS: [(char, char); 3] = [('[', ']'), ('{', '}'), ('(', ')')];

/// The most numbers of a cell that may be one number with groups of thousands.
const GROUPS: usize = 5;

/// The smallest share of cells with another number of codes than most, if cells are sets of codes, as a divisor.
const OTHER_COUNTS: usize = 10;

/// The smallest share of whole numbers below 1,000, if points are those of thousands, as a divisor.
const BELOW_THOUSAND: usize = 20;

/// Seconds and milliseconds since 1970 of this century and the last.
const SINCE_1970: RangeInclusive<f64> = 1e9..=2e12;

/// The most parts that a measure has in the mean; spectra and series of numbers have more.
const PARTS_OF_A_MEASURE: usize = 4;

/// The most different remarks that stand in the place of numbers, such as `n.b.`, where some have digits.
const REMARKS: usize = 5;

/// The most letters of a unit, which stands beside numbers.
const LETTERS_OF_A_UNIT: usize = 3;

/// The most items that cells rank by their names.
const ITEMS: usize = 50;

/// The share of cells that must have a comma, if it separates labels, and the share that must have another sign, as
/// divisors.
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
    if let Some(signs) = signs_of(cells) {
        return signs;
    }
    if may_be_smiles(name, &present) && are_mostly(&ColumnKind::Smiles, &present) {
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
    // whole numbers may be names of labels, or groups of thousands
    let are_real = || present.iter().any(|cell| cell.contains(['.', 'e', 'E']));
    let may_be_grouped = || {
        matches!(vectors, ColumnKind::Vectors(..=GROUPS))
            && are_mostly(&ColumnKind::Numbers(NumberNotation::default()), &present)
    };
    if are_mostly(&vectors, &present)
        && (are_real() || name_numbers_twice(&present) && !may_be_grouped())
    {
        return vectors;
    }
    if most(&present, is_date) {
        return ColumnKind::Dates;
    }
    let distinct = present.iter().collect::<HashSet<_>>().len();
    let recur = distinct > 1 && ROWS_OF_A_CLASS * distinct <= present.len();
    // bounds are skipped and named; they are no labels
    let numbers = ColumnKind::Numbers(notation_of(&present));
    let limits: Vec<&str> = present.iter().copied().map(without_sign_of_bound).collect();
    let are_codes = are_sets_of_codes(&present);
    if !are_codes && are_mostly(&numbers, &limits) {
        let whole = most(&present, |cell| cell.parse::<u64>().is_ok());
        let is_class = CLASS_NAMES.contains(&name.to_lowercase().as_str());
        let are_counted =
            || distinct <= MANY_CLASSES && names_classes(name) && fill_a_range(&present);
        let are_classes = whole && ((is_class && distinct <= CLASSES) || are_counted());
        if recur && (distinct == 2 || are_classes) {
            return classes_of(cells);
        }
        let differ = 2 * distinct > present.len();
        let are_named = names_ids(name) || is_unnamed(name) || (differ && is_id(name));
        let are_ids = (whole && are_named)
            || are_row_numbers(place, cells)
            || (place == 0 && are_shuffled_row_numbers(cells));
        return if are_ids { ColumnKind::Ids } else { numbers };
    }
    let are_few = recur && distinct <= CLASSES;
    let differ = distinct == present.len();
    if !are_codes && !are_few && is_half_numbers(&numbers, &present, differ) && !is_id(name) {
        return numbers;
    }
    let separator = separator_of(name, &present);
    let may_be_names = separator.is_none_or(|separator| separator == ' ');
    let are_alike = may_be_names && have_as_many_words(&present);
    if distinct > 2 && names_ids(name) && (separator.is_none() || are_alike) {
        return ColumnKind::Ids;
    }
    let are_names = are_alike && !is_name_of_any_texts(name) && !are_sequences(&present);
    let most_classes = if are_names { MANY_CLASSES } else { CLASSES };
    if may_be_names
        && recur
        && distinct <= most_classes
        && most(&present, |cell| cell.split_whitespace().count() <= WORDS_OF_A_CLASS)
    {
        return classes_of(cells);
    }
    if let Some(separator) = separator {
        return ColumnKind::Labels(separator);
    }
    let words = present.iter().any(|cell| cell.contains(char::is_whitespace));
    if differ && (is_id(name) || !words && !are_sequences(&present)) {
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

/// The words of the name of a column, in lower case: `fine_label` and `fineLabel` have two.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in name.chars() {
        if c.is_alphanumeric() {
            if !before.is_alphanumeric() || (before.is_lowercase() && c.is_uppercase()) {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        }
        before = c;
    }
    words
}

/// Whether a column has the name of one with ids, where all of its cells differ.
fn is_id(name: &str) -> bool {
    let names = ["key", "index", "number", "no", "no.", "nr", "nr.", "#", "idx", "row", "cas"];
    let ends_in_id = words_of(name).last().is_some_and(|word| is_word_of_ids(word));
    ends_in_id || names.contains(&name.to_lowercase().as_str())
}

/// Whether a column has the name of one with ids that may recur, such as `doc_id`, `userId` and `cid`. Those of classes, such
/// as `label_id`, are none.
fn names_ids(name: &str) -> bool {
    let words = words_of(name);
    let Some((last, before)) = words.split_last() else { return false };
    let is_of_class = before.last().is_some_and(|word| CLASS_NAMES.contains(&word.as_str()));
    is_word_of_ids(last) && !is_of_class
}

/// Whether a word in lower case is `id`, or ends in it as `cid` and `userid` do.
fn is_word_of_ids(word: &str) -> bool {
    word == "ids" || (word.ends_with("id") && !NO_IDS.contains(&word))
}

/// Whether a column has the name that pandas gives one without a name, such as `Unnamed: 0`.
fn is_unnamed(name: &str) -> bool {
    name.starts_with("Unnamed:")
}

/// Whether a word of the name of a column says that its whole numbers are classes, as that of `fine_label` does.
pub(super) fn names_classes(name: &str) -> bool {
    words_of(name).iter().any(|word| CLASS_NAMES.contains(&word.as_str()))
}

/// Whether nearly all whole numbers from 0 or 1 to the largest one occur, as where they count classes.
fn fill_a_range(cells: &[&str]) -> bool {
    let numbers: HashSet<u64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
    let (Some(least), Some(largest)) = (numbers.iter().min(), numbers.iter().max()) else {
        return false;
    };
    *least <= 1 && numbers.len() as f64 >= MOST * ((largest - least) as f64 + 1.0)
}

/// Whether a cell has as many words as each other one.
fn have_as_many_words(cells: &[&str]) -> bool {
    let mut counts = cells.iter().map(|cell| cell.split_whitespace().count());
    let first = counts.next();
    counts.all(|count| Some(count) == first)
}

/// Whether a column has the name of one with texts.
pub(super) fn is_name_of_texts(name: &str) -> bool {
    NAMES_OF_TEXTS.contains(&name.to_lowercase().as_str())
}

/// Whether a column has the name of one with texts, also of one where they may be short.
fn is_name_of_any_texts(name: &str) -> bool {
    is_name_of_texts(name) || NAMES_OF_SHORT_TEXTS.contains(&name.to_lowercase().as_str())
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

/// Whether cells are the whole numbers from 0 or 1 to their count, in any order.
fn are_shuffled_row_numbers(cells: &[&str]) -> bool {
    let numbers: Option<HashSet<usize>> = cells.iter().map(|cell| cell.parse().ok()).collect();
    let Some(numbers) = numbers else { return false };
    let first = usize::from(!numbers.contains(&0));
    numbers.len() == cells.len()
        && (first..first + cells.len()).all(|number| numbers.contains(&number))
}

/// Whether the cells of a column of this kind and name are points in time: numbers that are seconds or milliseconds since 1970,
/// or dates that look like sets of labels.
pub(super) fn are_times(kind: &ColumnKind, name: &str, cells: &[&str]) -> bool {
    let is_time = |word: &String| word.ends_with("time") || word.ends_with("timestamp");
    if !words_of(name).iter().any(is_time) {
        return false;
    }
    match kind {
        ColumnKind::Numbers(_) => {
            most(cells, |cell| cell.parse().is_ok_and(|time: f64| SINCE_1970.contains(&time)))
        }
        ColumnKind::Labels(_) => most(cells, |cell| cell.contains(|c: char| c.is_ascii_digit())),
        ColumnKind::Nothing
        | ColumnKind::Ids
        | ColumnKind::Smiles
        | ColumnKind::Inchi
        | ColumnKind::Rankings(_)
        | ColumnKind::Orders(_)
        | ColumnKind::Vectors(_)
        | ColumnKind::Dates
        | ColumnKind::Classes(_)
        | ColumnKind::Texts => false,
    }
}

/// Whether cells look like SMILES before any is parsed: one word, with at most a name or an extension behind it, and some
/// with bonds, branches or rings, since labels of one letter are SMILES too. In a column whose name says SMILES, all molecules
/// may be chains.
fn may_be_smiles(name: &str, cells: &[&str]) -> bool {
    let is_short =
        |cell: &str| cell.contains(" |") || cell.split_whitespace().count() <= 1 + WORDS_OF_A_NAME;
    let marked = |cell: &&&str| cells::smiles(cell).contains(['(', '=', '#', '1']);
    let is_named = name.to_lowercase().contains("smiles");
    most(cells, is_short) && (is_named || 5 * cells.iter().filter(marked).count() >= cells.len())
}

/// As many classes as cells name, which a training reads too.
fn classes_of(cells: &[&str]) -> ColumnKind {
    let has_signs = cells::are_signs(cells.iter().copied());
    let classes = cells.iter().filter(|&&cell| is_class(cell, has_signs));
    ColumnKind::Classes(classes.collect::<HashSet<_>>().len())
}

/// Whether a cell is a class, in a column that [has signs](cells::are_signs) or not.
pub(super) fn is_class(cell: &str, has_signs: bool) -> bool {
    !cells::is_no_class(cell) || (has_signs && cell.trim() == "-")
}

/// The classes of cells that are `+` and `-`, and other signs of these; none of other cells.
fn signs_of(cells: &[&str]) -> Option<ColumnKind> {
    let is_sign = |cell: &str| ["+", "-", "+/-", "±", "++", "+++", "--"].contains(&cell);
    let are_signs = cells::are_signs(cells.iter().copied()) && most(cells, is_sign);
    are_signs.then(|| classes_of(cells))
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

/// Whether more than half of the cells name a number twice, which sets of labels do not.
fn name_numbers_twice(cells: &[&str]) -> bool {
    let names_twice = |cell: &&&str| {
        let words = || cell.split_whitespace().map(str::to_owned).collect();
        let parts: Vec<String> = cells::list(cell).unwrap_or_else(words);
        parts.iter().collect::<HashSet<_>>().len() < parts.len()
    };
    let cells = looked_at(cells);
    2 * cells.iter().filter(names_twice).count() > cells.len()
}

/// Whether cells are sets of codes of three digits, such as `518,584`, and not numbers whose thousands are grouped: no part has
/// fewer digits, cells have different numbers of parts, and parts recur.
fn are_sets_of_codes(cells: &[&str]) -> bool {
    let is_digits =
        |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    [',', ' '].into_iter().any(|separator| {
        let mut codes: HashSet<&str> = HashSet::new();
        let mut cells_with_count: HashMap<usize, usize> = HashMap::new();
        let mut all = 0;
        for cell in cells {
            let parts: Vec<&str> = cell.split(separator).collect();
            if !parts.iter().all(is_digits) {
                continue;
            }
            if parts.iter().any(|part| part.len() != 3) {
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
    let with_comma = read(&comma);
    let with_point = read(&plain);
    // `1,234` alone is 1234, as `1,234.5` is
    let has_commas = with_comma > with_point
        || (with_comma == with_point && are_thousands(cells, [&comma, &plain]));
    if has_commas { comma } else { plain }
}

/// Whether points in cells that both notations read are those of thousands, as in Germany: three digits stand behind each, the
/// other numbers are whole and below 1,000, and most of these have three digits too.
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

/// The first cell of numbers in this notation whose point is taken for one of thousands, where all cells could have decimal
/// points; none elsewhere.
pub(super) fn first_thousand<'c>(kind: &ColumnKind, cells: &[&'c str]) -> Option<&'c str> {
    let ColumnKind::Numbers(notation) = kind else { return None };
    let plain = NumberNotation { decimal: '.', ..notation.clone() };
    let is_read = |cell: &str| {
        let cell = without_sign_of_bound(cell);
        plain.normalised(cell).is_some() || notation.normalised(cell).is_none()
    };
    if notation.decimal != ',' || !cells.iter().all(|cell| is_read(cell)) {
        return None;
    }
    cells.iter().copied().find(|cell| cell.contains('.') && notation.normalised(cell).is_some())
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
/// of sentences. Labels with other signs than commas and spaces between may have such words, and be many. In a column whose name
/// is that of texts, a space does not separate labels.
fn separator_of(name: &str, cells: &[&str]) -> Option<char> {
    if are_reordered(cells) || are_unread_lists(cells) {
        return None;
    }
    let is_prose = is_prose(cells);
    if most(cells, |cell| cells::list(cell).is_some()) {
        let parts: Vec<String> =
            cells.iter().filter_map(|cell| cells::list(cell)).flatten().collect();
        let recur = parts.len() >= 2 * parts.iter().collect::<HashSet<_>>().len();
        return (recur || !is_prose).then_some(';');
    }
    let has_measures = are_measures(cells);
    let may_separate = |separator: &char| match *separator {
        ' ' => !is_prose && !has_measures && !is_name_of_any_texts(name),
        ',' => !is_prose && !has_measures,
        '/' => !has_measures && slashes_stand_apart(cells),
        _ => true,
    };
    SEPARATORS.into_iter().filter(may_separate).find(|&separator| {
        let with = cells.iter().filter(|cell| cell.contains(separator)).count();
        let mut labels: HashMap<&str, usize> = HashMap::new();
        for cell in cells {
            labels_of(cell, separator).for_each(|label| *labels.entry(label).or_default() += 1);
        }
        let all: usize = labels.values().sum();
        let are_few = all <= LABELS_OF_A_CELL * cells.len();
        let (share, may_be_many) = match separator {
            ',' => (WITH_COMMAS, false),
            ' ' => (WITH_OTHER_SIGNS, false),
            _ => (WITH_OTHER_SIGNS, true),
        };
        share * with >= cells.len()
            && all >= 2 * labels.len()
            && (are_few || may_be_many && !name_labels_twice(cells, separator))
            && (!is_prose || recur_in_different_cells(cells, separator))
    })
}

/// The labels of a cell.
fn labels_of(cell: &str, separator: char) -> impl Iterator<Item = &str> {
    cell.split(separator).map(str::trim).filter(|label| !label.is_empty())
}

/// Whether all slashes have blanks around them, unlike those of dates, units and `N/A`.
fn slashes_stand_apart(cells: &[&str]) -> bool {
    cells.iter().all(|cell| cell.matches('/').count() == cell.matches(" / ").count())
}

/// Whether more than half of the cells name a part twice, as series do and sets of labels do not.
fn name_labels_twice(cells: &[&str], separator: char) -> bool {
    let names_twice = |cell: &&&str| {
        let labels: Vec<&str> = labels_of(cell, separator).collect();
        labels.iter().collect::<HashSet<_>>().len() < labels.len()
    };
    let cells = looked_at(cells);
    2 * cells.iter().filter(names_twice).count() > cells.len()
}

/// Whether the parts of different cells recur, most of them, as labels with words of sentences do, and texts do not that are
/// repeated or have a few sentences in common.
fn recur_in_different_cells(cells: &[&str], separator: char) -> bool {
    let different: HashSet<&str> = cells.iter().copied().collect();
    let mut labels: HashMap<&str, usize> = HashMap::new();
    for cell in different {
        labels_of(cell, separator).for_each(|label| *labels.entry(label).or_default() += 1);
    }
    let all: usize = labels.values().sum();
    let once = labels.values().filter(|&&count| count == 1).count();
    all >= 2 * labels.len() && 2 * once <= labels.len()
}

/// Whether cells are lists in a notation that is not read: nearly all cells with several parts stand in brackets, and so do half
/// of all, since some programs write one part without them.
pub(super) fn are_unread_lists(cells: &[&str]) -> bool {
    let cells = looked_at(cells);
    let has_several = |cell: &str| cell.contains([',', ';', '|', ' ']) || cell.contains("><");
    let is_list = |cell: &&str| is_bracketed(cell) && cells::list(cell).is_none();
    let lists = cells.iter().filter(|cell| is_list(cell)).count();
    let several: Vec<&str> = cells.iter().copied().filter(|cell| has_several(cell)).collect();
    let lists_of_several = several.iter().filter(|cell| is_list(cell)).count();
    lists > 0
        && 2 * lists >= cells.len()
        && WITH_OTHER_SIGNS * several.len() >= cells.len()
        && lists_of_several as f64 >= MOST * several.len() as f64
}

/// Whether a bracket that begins a cell, or its `c(`, closes at its end, or a cell is tags such as `<a><b>`.
fn is_bracketed(cell: &str) -> bool {
    if cell.starts_with('<') {
        return cell.ends_with('>') && !cell.contains("</");
    }
    let inner = cell.strip_prefix('c').filter(|rest| rest.starts_with('(')).unwrap_or(cell);
    let Some((open, close)) = BRACKETS.into_iter().find(|&(open, _)| inner.starts_with(open))
    else {
        return false;
    };
    let mut depth = 0;
    for (at, c) in inner.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
        }
        if depth == 0 {
            return at + c.len_utf8() == inner.len();
        }
    }
    false
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
    let may_separate = |separator: &char| *separator != '/' || slashes_stand_apart(cells);
    [';', '|', '/', ','].into_iter().filter(may_separate).find(separates).unwrap_or(' ')
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
        assert_eq!(guessed(1, "result", &["+", "-"].repeat(5)), ColumnKind::Classes(2));
        assert_eq!(guessed(1, "result", &["+", "-", "+/-"].repeat(5)), ColumnKind::Classes(3));
        assert_eq!(guessed(1, "result", &["-"; 9]), ColumnKind::Nothing);
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

    #[test]
    fn sets_of_codes_of_three_digits_are_no_numbers_with_groups_of_thousands() {
        let commas = ["518,584", "250", "401,250,518", "584", "250"].repeat(4);
        assert_eq!(guessed(1, "icd9", &commas), ColumnKind::Labels(','));
        let spaces = ["518 584", "250", "401 250 518", "584", "250", "401"].repeat(4);
        assert_eq!(guessed(1, "icd9", &spaces), ColumnKind::Labels(' '));
        let numbers = ColumnKind::Numbers(NumberNotation::default());
        // prices of six digits each, of different lengths, and codes alone
        for other in [
            ["350,000", "425,500", "199,000", "350,500"],
            ["350,000", "1,425,500", "85,000", "350"],
            ["518", "250", "401", "584"],
        ] {
            assert_eq!(guessed(1, "price", &other.repeat(4)), numbers, "{other:?}");
        }
    }

    #[test]
    fn lists_that_are_not_read_are_no_labels_and_slashes_with_blanks_separate() {
        for lists in [
            ["{a, b}", "{a}", "{b, c}", "{a, c}"],
            ["(a, b)", "(b, c)", "(a, c)", "(a, b)"],
            ["[a b]", "[a]", "[b c]", "[c a b]"],
            ["<a><b>", "<a>", "<b><c>", "<c>"],
        ] {
            assert!(are_unread_lists(&lists), "{lists:?}");
            assert_eq!(guessed(1, "tags", &lists.repeat(2)), ColumnKind::Texts, "{lists:?}");
        }
        for other in [
            ["(S)-limonene (natural)", "(R)-limonene"],
            ["[acid]; [base]", "[acid]"],
            ["<p>a text</p>", "<p>a text, too</p>"],
            [r#"["a", "b"]"#, "['c']"],
            ["(acid)", "(base)"],
        ] {
            assert!(!are_unread_lists(&other), "{other:?}");
        }
        let genres = ["Action / Drama", "Drama", "War / Drama", "Action"].repeat(3);
        assert_eq!(guessed(1, "genre", &genres), ColumnKind::Labels('/'));
        assert_eq!(stated(KindName::Labels, &genres), ColumnKind::Labels('/'));
        assert_eq!(stated(KindName::Labels, &["N/A x", "x"]), ColumnKind::Labels(' '));
        let pressures = ["120 / 80", "130 / 85", "120 / 85", "130 / 80"];
        assert_eq!(guessed(1, "pressure", &pressures), ColumnKind::Texts);
    }

    #[test]
    fn ids_may_recur_and_classes_be_many() {
        let codes = ["CHEMBL25", "CHEMBL112", "CHEMBL1201"].repeat(5);
        assert_eq!(guessed(1, "Molecule ChEMBL ID", &codes), ColumnKind::Ids);
        assert_eq!(guessed(1, "code", &codes), ColumnKind::Classes(3));
        let numbers = ColumnKind::Numbers(NumberNotation::default());
        let users = ["7", "9", "12"].repeat(5);
        assert_eq!(guessed(1, "userId", &users), ColumnKind::Ids);
        assert_eq!(guessed(1, "acid", &users), numbers);
        assert_eq!(guessed(1, "label_id", &["k1", "k2", "k3"].repeat(5)), ColumnKind::Classes(3));
        let sets = ["GO:1;GO:2", "GO:2", "GO:1;GO:3", "GO:3"].repeat(3);
        assert_eq!(guessed(1, "go_ids", &sets), ColumnKind::Labels(';'));
        // words that recur without a space are no labels with spaces between
        assert_eq!(guessed(1, "series", &["AB37", "AB61", "AB12"].repeat(2)), ColumnKind::Texts);

        let genera = ["Rosa", "Quercus", "Pinus", "Acer", "Salix", "Betula", "Fagus", "Ulmus"];
        let epithets = ["alba", "nigra", "rubra", "minor", "major", "repens", "glauca", "montana"];
        let species: Vec<String> = genera
            .iter()
            .flat_map(|genus| epithets.iter().map(move |epithet| format!("{genus} {epithet}")))
            .collect();
        let species: Vec<&str> = species.iter().map(String::as_str).collect();
        assert_eq!(guessed(1, "species", &species.repeat(5)), ColumnKind::Classes(64));
        assert_eq!(guessed(1, "species", &species.repeat(2)), ColumnKind::Labels(' '));
        assert_eq!(guessed(1, "title", &species.repeat(5)), ColumnKind::Texts);

        let counted: Vec<String> = (0..77).map(|class| class.to_string()).collect();
        let counted: Vec<&str> = counted.iter().map(String::as_str).collect();
        assert_eq!(guessed(1, "label", &counted.repeat(5)), ColumnKind::Classes(77));
        assert_eq!(guessed(1, "fineLabels", &counted[..9].repeat(5)), ColumnKind::Classes(9));
        for (name, cells) in [("size", &counted[..]), ("target_temperature", &counted[20..30])] {
            assert_eq!(guessed(1, name, &cells.repeat(5)), numbers, "{name}");
        }
    }

    #[test]
    fn whole_numbers_of_which_one_occurs_twice_in_a_cell_are_vectors() {
        let pixels = ["0 255 0 7", "12 12 0 0", "9 9 9 1"].repeat(2);
        assert_eq!(guessed(1, "pixels", &pixels), ColumnKind::Vectors(4));
        let lists = ["[0, 1, 1]", "[1, 0, 1]", "[0, 0, 1]"].repeat(2);
        assert_eq!(guessed(1, "bits", &lists), ColumnKind::Vectors(3));
        let budgets = ["1 000 000", "2 500 000", "3 000 000"].repeat(4);
        let numbers = ColumnKind::Numbers(NumberNotation::default());
        assert_eq!(guessed(1, "budget", &budgets), numbers);
    }

    #[test]
    fn labels_with_semicolons_may_have_words_of_sentences_and_be_many() {
        let terms = ["loss of function; gain", "none of it; gain", "loss of function; none of it"];
        assert_eq!(guessed(1, "terms", &terms.repeat(3)), ColumnKind::Labels(';'));
        let many: Vec<String> = (0..10)
            .map(|first| (first..first + 15).map(|term| format!("term {term};")).collect())
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(guessed(1, "terms", &many.repeat(2)), ColumnKind::Labels(';'));
        // texts that have sentences in common, also where each is there several times, and series
        let texts: Vec<String> = (0..20)
            .map(|at| format!("compound {at} of the family; it is an acid; it is soluble"))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(guessed(1, "notes", &texts), ColumnKind::Texts);
        assert_eq!(guessed(1, "notes", &texts.repeat(4)), ColumnKind::Texts);
        let series = ["0;0;1;2;", "0;1;1;1;", "2;0;0;0;"].map(|part| part.repeat(6));
        let series: Vec<&str> = series.iter().map(String::as_str).collect();
        assert_eq!(guessed(1, "series", &series.repeat(2)), ColumnKind::Texts);
    }

    #[test]
    fn row_numbers_may_be_shuffled_and_points_in_time_are_known() {
        let numbers = ColumnKind::Numbers(NumberNotation::default());
        assert_eq!(guessed(0, "Unnamed: 0", &["183", "145", "7"]), ColumnKind::Ids);
        assert_eq!(guessed(0, "at", &["2", "0", "1", "3"]), ColumnKind::Ids);
        assert_eq!(guessed(0, "size", &["2", "0", "1", "1"]), numbers);
        assert_eq!(guessed(1, "rank", &["2", "0", "1", "3"]), numbers);
        let seconds = ["1179823612", "1116538629", "1100000000"];
        for name in ["timestamp", "unixReviewTime"] {
            assert!(are_times(&numbers, name, &seconds), "{name}");
        }
        assert!(!are_times(&numbers, "population", &seconds));
        assert!(!are_times(&numbers, "retention time", &["2.5", "11.25"]));
        let days = ["06 3, 2014", "11 17, 2014"];
        assert!(are_times(&ColumnKind::Labels(','), "reviewTime", &days));
        assert!(!are_times(&ColumnKind::Labels(','), "sentiment", &days));
    }

    #[test]
    fn points_are_those_of_thousands_where_other_numbers_are_smaller() {
        let german = NumberNotation { decimal: ',', unit: String::new() };
        let kind = ColumnKind::Numbers(german);
        let inhabitants = ["673", "10.072", "1.250", "841", "12.250"].repeat(4);
        assert_eq!(guessed(1, "Einwohner", &inhabitants), kind);
        assert_eq!(first_thousand(&kind, &inhabitants), Some("10.072"));
        // a number with two points is no decimal
        assert_eq!(first_thousand(&kind, &["673", "10.072", "1.010.072"]), None);
        assert_eq!(first_thousand(&kind, &["1.250,5", "3"]), None);
        let numbers = ColumnKind::Numbers(NumberNotation::default());
        for (name, cells) in [
            ("mean", ["1", "1.333", "2.667", "3", "2"]),
            ("mass", ["180.157", "46.069", "18.015", "78.114", "32.042"]),
            ("mass", ["180.157", "46.07", "180", "250", "18.015"]),
            ("share", ["0.665", "100", "250", "1.250", "300"]),
        ] {
            assert_eq!(guessed(1, name, &cells.repeat(4)), numbers, "{name}");
            assert_eq!(first_thousand(&numbers, &cells), None);
        }
    }

    #[test]
    fn chains_are_molecules_where_the_name_says_so() {
        let chains = ["CO", "CCO", "CN", "CCCO"].repeat(3);
        for name in ["smiles", "Canonical_SMILES"] {
            assert_eq!(guessed(1, name, &chains), ColumnKind::Smiles, "{name}");
        }
        assert_ne!(guessed(1, "group", &chains), ColumnKind::Smiles);
        assert_ne!(guessed(1, "smiles", &["happy", "sad"].repeat(5)), ColumnKind::Smiles);
    }
}
