//! Sets of labels in columns: their separator, and what looks like one.

use std::collections::{HashMap, HashSet};

use dsokr_data::cells;

use super::super::kind::ColumnKind;
use super::names::{is_name_of_any_texts, names_labels, names_names};
use super::{
    CLASSES, MANY_CLASSES, MOST, count_different, has_words_of_a_class, have_as_many_words,
    looked_at, most, present, recur_as_classes, repeat_a_part,
};

/// Words that texts have and labels are not: of English, German, Spanish and French.
const WORDS: [&str; 18] = [
    "a", "an", "and", "in", "is", "of", "the", "with", "das", "der", "die", "eine", "mit", "und",
    "las", "una", "les", "une",
];

/// The signs that separate labels, beside the space; a slash does with blanks around it.
const SEPARATORS: [char; 4] = [';', '|', '/', ','];

/// Signs that separate labels in few tables: those of Chinese and Japanese, of Arabic, line breaks, dots, and that of Doccano.
const RARE_SEPARATORS: [char; 10] = ['；', '，', '、', '｜', '،', '؛', '\n', '•', '·', '#'];

/// Signs of [`RARE_SEPARATORS`] that stand in names too, as in `C#` and `CuSO4·5H2O`.
const RARE_SEPARATORS_IN_NAMES: [char; 3] = ['•', '·', '#'];

/// Signs that stand in names too, and separate labels only where these recur: a colon twice, `>` those of a path, `Food > Fruit`.
const SEPARATORS_IN_NAMES: [char; 6] = [':', '>', '&', '+', '/', '-'];

/// The most labels that a cell has in the mean where commas or spaces are between; texts have more.
pub(super) const LABELS_OF_A_CELL: usize = 12;

/// Brackets around lists.
const BRACKETS: [(char, char); 3] = [('[', ']'), ('{', '}'), ('(', ')')];

/// The most parts that a measure has in the mean; spectra and series of numbers have more.
const PARTS_OF_A_MEASURE: usize = 4;

/// Names of characters in HTML, each with `&` before it and `;` behind it: of those that say something else there, of blanks, and of
/// signs and letters that keyboards lack.
const NAMES_OF_CHARACTERS: [&str; 41] = [
    "amp", "lt", "gt", "quot", "apos", "nbsp", "ensp", "emsp", "thinsp", "shy", "ndash", "mdash",
    "lsquo", "rsquo", "sbquo", "ldquo", "rdquo", "bdquo", "laquo", "raquo", "hellip", "bull",
    "middot", "deg", "micro", "plusmn", "times", "euro", "pound", "copy", "reg", "trade", "auml",
    "ouml", "uuml", "Auml", "Ouml", "Uuml", "szlig", "eacute", "egrave",
];

/// The most letters of a unit, which stands beside numbers.
const LETTERS_OF_A_UNIT: usize = 3;

/// The share of cells that must have a comma, if it separates labels, and the share that must have another sign, as
/// divisors.
const WITH_COMMAS: usize = 3;
const WITH_OTHER_SIGNS: usize = 100;

/// Returns the separator of labels, if cells are sets of labels: few different ones, which recur, in short cells without the
/// words of sentences. Labels with other signs than commas and spaces between may have such words, and be many. In a column
/// whose name is that of texts, a space does not separate labels, nor do signs that stand in names too.
pub(super) fn separator_of(name: &str, cells: &[&str]) -> Option<char> {
    if are_reordered(cells) || unread_list(cells).is_some() {
        return None;
    }
    let is_prose = is_prose(cells);
    if most(cells, |cell| cells::list(cell).is_some()) {
        let parts: Vec<String> =
            cells.iter().filter_map(|cell| cells::list(cell)).flatten().collect();
        let recur = parts.len() >= 2 * parts.iter().collect::<HashSet<_>>().len();
        return (recur || !is_prose).then_some(';');
    }
    if are_lists_and_names(cells) {
        return Some(';');
    }
    let has_measures = are_measures(cells);
    let are_texts = is_prose || has_measures || is_name_of_any_texts(name);
    let may_separate = |separator: &char| match *separator {
        ' ' => !are_texts && !have_signs_between_words(cells),
        ',' => !is_prose && !has_measures && !are_classes_with_commas(name, cells),
        '/' => !has_measures && stands_apart(cells, '/'),
        ';' => !ends_names_of_characters(cells, is_prose),
        _ => true,
    };
    let is_usual = |&separator: &char| {
        let (share, may_be_many) = match separator {
            ',' => (WITH_COMMAS, false),
            ' ' => (WITH_OTHER_SIGNS, false),
            _ => (WITH_OTHER_SIGNS, true),
        };
        let with = cells.iter().filter(|cell| has_separator(cell, separator)).count();
        if share * with < cells.len() || !may_separate(&separator) {
            return false;
        }
        let labels = counts_of_labels(cells.iter().copied(), separator);
        let all: usize = labels.values().sum();
        let are_few = all <= LABELS_OF_A_CELL * cells.len();
        all >= 2 * labels.len()
            && (are_few || may_be_many && !name_labels_twice(cells, separator))
            && (!is_prose || recur_in_different_cells(cells, separator))
    };
    let is_rare = |&separator: &char| !are_texts && separates_rarely(cells, separator);
    let usual = SEPARATORS.into_iter().find(is_usual);
    // nor do blanks within the fields of records separate labels
    if usual != Some(';') && are_records(cells) {
        return None;
    }
    let unspaced = usual.or_else(|| RARE_SEPARATORS.into_iter().find(is_rare));
    if unspaced.is_some() {
        return unspaced;
    }
    let in_names = SEPARATORS_IN_NAMES.into_iter().find(is_rare);
    // labels of several words, as in `Film Noir/Action`
    let spaced = in_names.filter(|&separator| divides_into_fewer(cells, separator));
    spaced.or_else(|| Some(' ').filter(is_usual)).or(in_names)
}

/// The fewest different cells that are records, the fewest parts of each, and the fewest places whose parts tell records apart.
const RECORDS: usize = 10;
const PARTS_OF_A_RECORD: usize = 3;
const KEYS_OF_A_RECORD: usize = 2;

/// Returns whether cells are records with bars between their fields, such as `sp|P02768|ALBU_HUMAN`, rather than sets of labels: all have
/// as many parts, and the parts at two places or more differ wherever cells do. On paths and in lineages those at one place do, the last
/// one.
fn are_records(cells: &[&str]) -> bool {
    if !cells.iter().all(|cell| cell.contains('|')) {
        return false;
    }
    let different: HashSet<&str> = cells.iter().copied().collect();
    let records: Vec<Vec<&str>> = different.iter().map(|cell| cell.split('|').collect()).collect();
    let count = records.first().map_or(0, Vec::len);
    let are_as_long = records.iter().all(|parts| parts.len() == count);
    if records.len() < RECORDS || count < PARTS_OF_A_RECORD || !are_as_long {
        return false;
    }
    let is_key = |place: &usize| {
        let parts: HashSet<&str> = records.iter().map(|parts| parts[*place]).collect();
        parts.len() == records.len()
    };
    (0..count).filter(is_key).count() >= KEYS_OF_A_RECORD
}

/// Returns whether semicolons end the names or numbers of characters, such as `&amp;` and `&#32;`, in most of the cells that have one:
/// each of them does, or, where cells are prose, some of them do.
fn ends_names_of_characters(cells: &[&str], is_prose: bool) -> bool {
    let with: Vec<&str> = cells.iter().copied().filter(|cell| cell.contains(';')).collect();
    let is_of_html = |cell: &&&str| {
        let mut ends = cell.match_indices(';').map(|(at, _)| ends_with_character(&cell[..at]));
        if is_prose { ends.any(|is_end| is_end) } else { ends.all(|is_end| is_end) }
    };
    2 * with.iter().filter(is_of_html).count() > with.len()
}

/// Returns whether a text ends with `&` and the name or number of a character.
fn ends_with_character(text: &str) -> bool {
    let Some((_, name)) = text.rsplit_once('&') else { return false };
    let Some(number) = name.strip_prefix('#') else { return NAMES_OF_CHARACTERS.contains(&name) };
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    u32::from_str_radix(digits, radix).is_ok()
}

/// Returns whether the cells of a column with this separator of labels may be names all the same.
pub(super) fn stands_in_names(separator: char, cells: &[&str]) -> bool {
    match separator {
        ' ' => true,
        '/' => !stands_apart(cells, '/'),
        other => SEPARATORS_IN_NAMES.contains(&other),
    }
}

/// Returns whether labels with spaces or commas between are rather the words of names or phrases. In a column whose name says that it
/// has names, nearly all cells differ. In others, labels with spaces between are names of persons where all cells differ, most begin
/// with a capital, and more than half have a word that no other cell has; or half of the words of cells are in nearly all of them, as in
/// `J. Smith et al. Phys. Rev. B 7`.
pub(crate) fn are_phrases(kind: &ColumnKind, name: &str, cells: &[&str]) -> bool {
    if !matches!(kind, ColumnKind::Labels(' ' | ',')) {
        return false;
    }
    let cells = looked_at(cells);
    let different = count_different(&cells);
    if names_names(name) && different as f64 >= MOST * cells.len() as f64 {
        return true;
    }
    if *kind != ColumnKind::Labels(' ') {
        return false;
    }
    let divided = cells.iter().map(|cell| {
        let mut words: Vec<&str> = labels_of(cell, ' ').collect();
        words.sort_unstable();
        words.dedup();
        words
    });
    let words: Vec<Vec<&str>> = divided.collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    words.iter().flatten().for_each(|word| *counts.entry(word).or_default() += 1);
    let all: usize = counts.values().sum();
    let is_usual = |count: &usize| *count as f64 >= MOST * cells.len() as f64;
    let usual: Vec<usize> = counts.values().copied().filter(is_usual).collect();
    // one label may be in nearly all sets
    if usual.len() > 1 && 2 * usual.iter().sum::<usize>() >= all {
        return true;
    }
    let has_own = |words: &&Vec<&str>| words.iter().any(|word| counts[word] == 1);
    different == cells.len()
        && most(&cells, |cell| cell.starts_with(char::is_uppercase))
        && 2 * words.iter().filter(has_own).count() > cells.len()
}

/// The smallest share of pairs of neighbours that stand both ways round, if the order of labels says nothing, as a divisor.
const BOTH_WAYS: usize = 3;

/// The largest share of labels of several words, if labels are words, as a divisor.
const WITH_BLANKS: usize = 10;

/// Returns whether labels of one word each stand in any order, as tags do, and words of phrases and sorted labels do not: of the pairs
/// that are neighbours in several cells, a third or more are there both ways round.
pub(crate) fn are_unordered(kind: &ColumnKind, cells: &[&str]) -> bool {
    let &ColumnKind::Labels(separator) = kind else { return false };
    // how many times the labels of a pair, in alphabetical order, stand in this order and in the other one
    let mut counts: HashMap<[&str; 2], [usize; 2]> = HashMap::new();
    let [mut all, mut with_blanks] = [0; 2];
    for cell in looked_at(cells) {
        let labels: Vec<&str> = labels_of(cell, separator).collect();
        all += labels.len();
        with_blanks += labels.iter().filter(|label| label.contains(char::is_whitespace)).count();
        for pair in labels.windows(2) {
            let &[first, second] = pair else { continue };
            let pair = [first.min(second), first.max(second)];
            counts.entry(pair).or_default()[usize::from(first > second)] += 1;
        }
    }
    let several: Vec<[usize; 2]> =
        counts.into_values().filter(|[one, other]| one + other > 1).collect();
    let both_ways = several.iter().filter(|[one, other]| *one > 0 && *other > 0).count();
    let are_words = WITH_BLANKS * with_blanks <= all;
    are_words && both_ways > 0 && BOTH_WAYS * both_ways >= several.len()
}

/// Returns the separator of the labels of a column of this kind, where these may be divided at another sign, or not at all; a
/// space where labels are stated.
pub(crate) fn odd_separator(kind: &ColumnKind, is_stated: bool, cells: &[&str]) -> Option<char> {
    let &ColumnKind::Labels(separator) = kind else { return None };
    let is_odd = if separator == ' ' {
        is_stated
    } else {
        RARE_SEPARATORS.contains(&separator) || stands_in_names(separator, cells)
    };
    is_odd.then_some(separator)
}

/// Returns whether a sign that is rarely between labels separates them: in half of the cells, if they are paths, else in
/// cells with different numbers of labels, which recur.
fn separates_rarely(cells: &[&str], separator: char) -> bool {
    if !stands_between(cells, separator) {
        return false;
    }
    let with = cells.iter().filter(|cell| cell.contains(separator)).count();
    let labels = counts_of_labels(cells.iter().copied(), separator);
    let all: usize = labels.values().sum();
    let begin_otherwise = labels.keys().filter(|label| !label.starts_with(char::is_alphanumeric));
    all <= LABELS_OF_A_CELL * cells.len()
        && all >= 2 * labels.len()
        && 10 * begin_otherwise.count() <= labels.len()
        && if separator == '>' {
            2 * with >= cells.len()
        } else {
            have_different_counts(cells, separator) && recur_in_different_cells(cells, separator)
        }
}

/// Returns whether a sign stands between labels wherever it is: `>`, `&` and `-` with blanks around them, two colons, and dots, `#`, `+`
/// and `/` with blanks on both sides or on none. Other signs do everywhere.
fn stands_between(cells: &[&str], separator: char) -> bool {
    let is_between = |cell: &&str| {
        let parts: Vec<&str> = cell.split(separator).collect();
        parts.windows(2).all(|pair| {
            let before = pair[0].chars().next_back().map(char::is_whitespace);
            before.is_some() && before == pair[1].chars().next().map(char::is_whitespace)
        })
    };
    match separator {
        '>' | '&' | '-' => stands_apart(cells, separator),
        ':' => {
            let are_two = |cell: &&str| cell.matches(':').count() == 2 * cell.matches("::").count();
            cells.iter().all(are_two)
        }
        // between a salt and its water
        '·' if cells.iter().any(|cell| cell.ends_with("H2O")) => false,
        '•' | '·' | '#' | '+' | '/' => cells.iter().all(is_between),
        _ => true,
    }
}

/// Returns whether one cell in ten, or of signs that stand in few names one in a hundred, has another number of labels than most.
fn have_different_counts(cells: &[&str], separator: char) -> bool {
    let mut cells_with_count: HashMap<usize, usize> = HashMap::new();
    for cell in cells {
        *cells_with_count.entry(labels_of(cell, separator).count()).or_default() += 1;
    }
    let usual = cells_with_count.values().max().copied().unwrap_or_default();
    let share = if RARE_SEPARATORS.contains(&separator) { WITH_OTHER_SIGNS } else { 10 };
    share * (cells.len() - usual) >= cells.len()
}

/// Returns whether signs stand between words in more than a few cells, as in `Home & Garden`, so that blanks separate no labels.
fn have_signs_between_words(cells: &[&str]) -> bool {
    let is_word = |part: &str| part.contains(char::is_alphanumeric);
    let has_sign = |cell: &&&str| {
        let parts: Vec<&str> = labels_of(cell, ' ').collect();
        parts.windows(3).any(|parts| is_word(parts[0]) && !is_word(parts[1]) && is_word(parts[2]))
    };
    let with = cells.iter().filter(has_sign).count();
    with > 1 && WITH_OTHER_SIGNS * with >= cells.len()
}

/// Returns whether a cell has a separator, be it at its end. Commas in round brackets are none.
fn has_separator(cell: &str, separator: char) -> bool {
    let may_be_in_brackets = separator == ',' && cell.contains('(');
    cell.contains(separator) && (!may_be_in_brackets || cells::labels(cell, ',').len() > 1)
}

/// Returns the labels of a cell.
fn labels_of(cell: &str, separator: char) -> impl Iterator<Item = &str> {
    cell.split(separator).map(str::trim).filter(|label| !label.is_empty())
}

/// Returns the texts of the list of a cell, which has them with `;` between, or is the list as JSON.
pub(crate) fn parts_of_list(cell: &str) -> Vec<String> {
    let parts = if cell.starts_with('[') { cells::list(cell) } else { None };
    parts.unwrap_or_else(|| cell.split(';').map(str::to_owned).collect())
}

/// Returns how many times each label is in the cells.
fn counts_of_labels<'c>(
    cells: impl IntoIterator<Item = &'c str>,
    separator: char,
) -> HashMap<&'c str, usize> {
    let mut counts = HashMap::new();
    for cell in cells {
        labels_of(cell, separator).for_each(|label| *counts.entry(label).or_default() += 1);
    }
    counts
}

/// Returns whether a sign has blanks around it in all cells, as slashes of dates, units and `N/A` do not.
fn stands_apart(cells: &[&str], sign: char) -> bool {
    let apart = format!(" {sign} ");
    cells.iter().all(|cell| cell.matches(sign).count() == cell.matches(apart.as_str()).count())
}

/// Returns whether more than half of the lists of cells name a text twice, as series do and sets of labels do not.
pub(super) fn lists_name_texts_twice(cells: &[&str]) -> bool {
    repeat_a_part(cells, parts_of_list)
}

/// Returns whether more than half of the cells name a part twice, as series do and sets of labels do not.
fn name_labels_twice(cells: &[&str], separator: char) -> bool {
    repeat_a_part(cells, |cell| labels_of(cell, separator).collect())
}

/// Returns whether the parts of different cells recur, most of them, as labels with words of sentences do, and texts do not
/// that are repeated or have a few sentences in common.
fn recur_in_different_cells(cells: &[&str], separator: char) -> bool {
    let different: HashSet<&str> = cells.iter().copied().collect();
    let labels = counts_of_labels(different, separator);
    let all: usize = labels.values().sum();
    let once = labels.values().filter(|&&count| count == 1).count();
    all >= 2 * labels.len() && 2 * once <= labels.len()
}

/// Returns whether cells of a column with this name recur as classes do, and commas stand in their names, as in `Paris, France`:
/// most parts of the cells that have a comma are in one different cell alone. Cells are sets of labels where most of those with a
/// comma have a part that is a cell too, where commas are written as programs write lists, and where the name of the column is that
/// of labels.
fn are_classes_with_commas(name: &str, cells: &[&str]) -> bool {
    let different: HashSet<&str> = cells.iter().copied().collect();
    let recur = recur_as_classes(different.len(), cells.len());
    let may_be_many = have_as_many_words(cells) && !is_name_of_any_texts(name);
    let most_classes = if may_be_many { MANY_CLASSES } else { CLASSES };
    let may_be_classes = recur && different.len() <= most_classes && !names_labels(name);
    if !may_be_classes || !most(cells, has_words_of_a_class) || are_lists_with_commas(&different) {
        return false;
    }
    let divided: Vec<Vec<String>> = different.iter().map(|cell| cells::labels(cell, ',')).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    divided.iter().flatten().for_each(|part| *counts.entry(part).or_default() += 1);
    let several: Vec<&Vec<String>> = divided.iter().filter(|parts| parts.len() > 1).collect();
    let has_whole =
        |parts: &&&Vec<String>| parts.iter().any(|part| different.contains(part.as_str()));
    let with_whole = several.iter().filter(has_whole).count();
    let parts: HashSet<&str> =
        several.iter().flat_map(|parts| parts.iter()).map(String::as_str).collect();
    let once = parts.iter().filter(|part| counts.get(*part) == Some(&1)).count();
    2 * with_whole <= several.len() && 2 * once > parts.len()
}

/// Returns whether programs have written cells with commas between: no blank stands behind any, but for commas between
/// digits, as in `1,2-diol`, or a part with a comma stands between quotation marks.
fn are_lists_with_commas(cells: &HashSet<&str>) -> bool {
    let has_marked_comma = |cell: &&str| {
        cell.contains('"') && cells::labels(cell, ',').iter().any(|part| part.contains(','))
    };
    if cells.iter().any(has_marked_comma) {
        return true;
    }
    let mut between_others = 0;
    let mut before_blanks = 0;
    for cell in cells {
        for (at, _) in cell.match_indices(',') {
            let behind = &cell[at + 1..];
            let is_behind_digit = cell[..at].ends_with(|c: char| c.is_ascii_digit());
            let is_between_digits =
                is_behind_digit && behind.starts_with(|c: char| c.is_ascii_digit());
            between_others += usize::from(!is_between_digits);
            before_blanks += usize::from(behind.starts_with(char::is_whitespace));
        }
    }
    between_others > 0 && before_blanks == 0
}

/// Returns whether cells of this kind that nobody has stated are classes although commas could divide them into labels.
pub(crate) fn have_commas_in_names(kind: &ColumnKind, name: &str, cells: &[&str]) -> bool {
    let with = cells.iter().filter(|cell| cell.contains(',')).count();
    let are_divisible =
        matches!(kind, ColumnKind::Classes(_)) && WITH_COMMAS * with >= cells.len() && with > 0;
    are_divisible && !is_prose(cells) && are_classes_with_commas(name, cells)
}

/// Returns whether some cells are lists of several labels, and others are names of one, as Label Studio writes them, or R, which
/// puts them between quotation marks: no other one has a sign between labels, and labels recur.
fn are_lists_and_names(cells: &[&str]) -> bool {
    let lists: Vec<Vec<String>> = cells.iter().filter_map(|cell| cells::list(cell)).collect();
    let has_several = lists.iter().any(|parts| parts.len() > 1);
    if !has_several || WITH_OTHER_SIGNS * lists.len() < cells.len() {
        return false;
    }
    let is_name = |cell: &&str| cells::list(cell).is_none();
    let names: Vec<&str> = cells.iter().copied().filter(is_name).collect();
    let is_one = |name: &&str| in_marks(name).is_some() || !name.contains([';', '|', ',']);
    let are_names = names.iter().all(is_one);
    let mut labels: Vec<&str> = lists.iter().flatten().map(String::as_str).collect();
    labels.extend(names.iter().map(|name| in_marks(name).unwrap_or(name)));
    are_names && labels.len() >= 2 * count_different(&labels)
}

/// Returns the name that stands between the quotation marks of a cell.
fn in_marks(cell: &str) -> Option<&str> {
    cell.strip_prefix('"')?.strip_suffix('"')
}

/// Returns the first list of several parts among cells that are lists in a notation that is not read: nearly all cells with
/// several parts stand in brackets, and so do half of all, since some programs write one part without them. None among others.
pub(crate) fn unread_list<'c>(cells: &[&'c str]) -> Option<&'c str> {
    let cells = looked_at(cells);
    let has_several = |cell: &str| cell.contains([',', ';', '|', ' ']) || cell.contains("><");
    let is_list = |cell: &&str| is_bracketed(cell) && cells::list(cell).is_none();
    let lists = cells.iter().filter(|cell| is_list(cell)).count();
    let several: Vec<&str> = cells.iter().copied().filter(|cell| has_several(cell)).collect();
    let lists_of_several = several.iter().filter(|cell| is_list(cell)).count();
    let are_lists = 2 * lists >= cells.len()
        && WITH_OTHER_SIGNS * several.len() >= cells.len()
        && lists_of_several as f64 >= MOST * several.len() as f64;
    several.into_iter().find(is_list).filter(|_| are_lists)
}

/// Returns whether a bracket that begins a cell, or its `c(`, closes at its end, or a cell is tags such as `<a><b>`.
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

/// Returns whether more than a few cells have words of sentences.
pub(super) fn is_prose(cells: &[&str]) -> bool {
    let is_word = |word: &str| WORDS.iter().any(|known| known.eq_ignore_ascii_case(word));
    let prose = cells.iter().filter(|cell| cell.split_whitespace().any(is_word)).count();
    10 * prose > cells.len()
}

/// Returns whether all cells are the same parts, some of them in a different order.
pub(super) fn are_reordered(cells: &[&str]) -> bool {
    reordered(cells).is_some()
}

/// Returns the parts of the first cell, in its order, if all cells are the same parts, some of them in a different order:
/// they are rankings rather than sets of labels, which would all be the same.
pub(crate) fn reordered(cells: &[&str]) -> Option<Vec<String>> {
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
    SEPARATORS.into_iter().chain([' ']).find_map(|separator| {
        let parts_of_first = parts(first, separator);
        let expected = sorted(parts_of_first.clone());
        let are_same = || rest.iter().all(|cell| sorted(parts(cell, separator)) == expected);
        (expected.len() > 1 && are_same()).then_some(parts_of_first)
    })
}

/// Returns the parts of a cell that commas and spaces divide.
pub(super) fn parts_of(cell: &str) -> impl Iterator<Item = &str> {
    cell.split([',', ' ']).filter(|part| !part.is_empty())
}

/// Returns whether cells are measures rather than labels or texts: nearly all have a digit, and most of their parts are
/// numbers, signs or units, as in `12.67 ± 0.47`, `126-128 °C` and `3h 13m`, or [remarks](is_remark_on_measure) behind a number,
/// as in `0.14 (n=3)`; or cells name their number, as in `pIC50 = 7.1`. Whole numbers alone may be names of labels. Cells that say
/// that there is no value are none of them.
pub(crate) fn are_measures(cells: &[&str]) -> bool {
    let cells = &present(cells)[..];
    let is_digit = |c: char| c.is_ascii_digit();
    if !most(cells, |cell| cell.contains(is_digit)) {
        return false;
    }
    if most(cells, |cell| parts_of(cell).all(|part| part.chars().all(is_digit))) {
        return false;
    }
    let joined: Vec<String> = cells.iter().map(|cell| with_joined_remarks(cell)).collect();
    let joined: Vec<&str> = joined.iter().map(String::as_str).collect();
    if most(&joined, is_remark_on_measure) {
        return true;
    }
    let counts: Vec<usize> = joined.iter().map(|cell| parts_of(cell).count()).collect();
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
    let parts = || joined.iter().flat_map(|cell| parts_of(cell));
    let letters = |part: &str| part.chars().filter(|c| c.is_alphabetic()).count();
    let is_short = |part: &str| letters(part) <= LETTERS_OF_A_UNIT;
    let begins_with_number = |part: &str| {
        let unsigned = part.trim_start_matches(|c: char| !c.is_alphanumeric());
        let end = unsigned.find(|c: char| !is_digit(c) && c != '.').unwrap_or(unsigned.len());
        unsigned[..end].trim_end_matches('.').parse::<f64>().is_ok()
    };
    let is_number = |part: &str| is_short(part) && begins_with_number(part);
    let is_unit = |part: &str| is_short(part) && !part.contains(is_digit);
    let is_beside = |part: &str| is_unit(part) || is_remark_on_measure(part);
    let numbers = parts().filter(|part| is_number(part)).count();
    let others = parts().filter(|part| !is_number(part) && is_beside(part)).count();
    2 * numbers >= all && 2 * (numbers + others) > all
}

/// Signs between the name of a number and the number.
const SIGNS_BEHIND_NAMES: [char; 5] = ['=', '<', '>', '≤', '≥'];

/// Returns a cell without the blanks around the signs that stand between a name and its number, so that these are one part.
fn with_joined_remarks(cell: &str) -> String {
    let mut joined = cell.to_owned();
    for sign in SIGNS_BEHIND_NAMES {
        joined = joined.replace(&format!(" {sign} "), sign.encode_utf8(&mut [0; 4]));
    }
    joined
}

/// Returns whether a part of a measure is a name and its number, such as `(n=3)`, `p<0.05)` and `pIC50=7.1`.
fn is_remark_on_measure(part: &str) -> bool {
    let part = part.trim_matches(['(', ')', '[', ']']);
    let Some((name, number)) = part.split_once(SIGNS_BEHIND_NAMES) else { return false };
    let is_name = name.starts_with(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name && number.trim_end_matches('%').parse::<f64>().is_ok()
}

/// Returns whether nearly all cells are measures without a blank: two numbers with `±` or `+/-` between, a
/// [name and its number](is_remark_on_measure), or a number whose exponent is written as Fortran does, as in `1.2D+01`.
pub(super) fn are_measures_of_one_word(cells: &[&str]) -> bool {
    let is_number = |part: &str| part.parse::<f64>().is_ok();
    let has_error = |cell: &str| {
        let divided = ["±", "+/-", "+-"].into_iter().find_map(|sign| cell.split_once(sign));
        divided.is_some_and(|(value, error)| is_number(value) && is_number(error))
    };
    let is_of_fortran = |cell: &str| {
        let divided = cell.split_once(['D', 'd']);
        divided.is_some_and(|(number, exponent)| {
            number.contains('.') && is_number(number) && exponent.parse::<i32>().is_ok()
        })
    };
    most(cells, |cell| has_error(cell) || is_remark_on_measure(cell) || is_of_fortran(cell))
}

/// Returns the separator of labels in cells that are stated to be sets of them: the first sign that some cells have, or a rare one that
/// divides them into fewer labels than the space, else the space.
pub(super) fn stated_separator(cells: &[&str]) -> char {
    if most(cells, |cell| cells::list(cell).is_some()) || are_lists_and_names(cells) {
        return ';';
    }
    let occurs = |separator: char| {
        let with = cells.iter().filter(|cell| cell.contains(separator)).count();
        with > 0 && WITH_OTHER_SIGNS * with >= cells.len()
    };
    let is_usual =
        |&separator: &char| occurs(separator) && (separator != '/' || stands_apart(cells, '/'));
    let is_rare = |&separator: &char| {
        occurs(separator)
            && stands_between(cells, separator)
            && (is_in_no_name(separator) || divides_into_fewer(cells, separator))
    };
    let rare = || RARE_SEPARATORS.into_iter().chain(SEPARATORS_IN_NAMES).find(is_rare);
    SEPARATORS.into_iter().find(is_usual).or_else(rare).unwrap_or(' ')
}

/// Returns whether a rare separator stands in no name of a label.
fn is_in_no_name(separator: char) -> bool {
    RARE_SEPARATORS.contains(&separator) && !RARE_SEPARATORS_IN_NAMES.contains(&separator)
}

/// Returns whether a sign divides cells into labels that recur, and are fewer than between spaces.
fn divides_into_fewer(cells: &[&str], separator: char) -> bool {
    let labels = counts_of_labels(cells.iter().copied(), separator);
    let all: usize = labels.values().sum();
    all >= 2 * labels.len() && labels.len() < counts_of_labels(cells.iter().copied(), ' ').len()
}
