//! Cells of tables as programs of the field write them: SMILES with a name behind, numbers with units, lists.

mod lists;
mod mixed;
mod numbers;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use unicode_normalization_alignments::UnicodeNormalization;

pub use self::lists::{are_bits, labels, list, of_labels, tied_items};
pub use self::mixed::{Alike, MixedSigns};
pub use self::numbers::{
    CURRENCIES, CURRENCY_CODES, DASHES, GROUPS, NumberNotation, with_ascii_digits, with_micro_sign,
};

/// Returns the SMILES of a cell: what stands before the first white space. Behind it are the name of the molecule, as
/// in .smi files, or the extensions of CXSMILES (`|$;;R1$|`), which say nothing that a SMILES says.
///
/// ```
/// use dsokr_data::cells::smiles;
///
/// assert_eq!(smiles(" CCO ethanol"), "CCO");
/// assert_eq!(smiles("C[C@H](O)N |&1:1|"), "C[C@H](O)N");
/// ```
pub fn smiles(cell: &str) -> &str {
    cell.split_whitespace().next().unwrap_or_default()
}

/// Returns whether a cell says that there is no value. `NA` and `ND` may be in either case, but `Na` and `Nd` are elements.
///
/// ```
/// use dsokr_data::cells::is_missing;
///
/// assert!(is_missing("N/A") && is_missing("not available") && !is_missing("natrium"));
/// ```
pub fn is_missing(cell: &str) -> bool {
    // the bytes of the longest mark
    const BYTES: usize = "not determined".len();
    // marks whose letters may be in either case
    const MARKS: &[&str] = &[
        "",
        "n/a",
        "n.a.",
        "#n/a",
        "nan",
        "none",
        "null",
        "nil",
        "missing",
        "unknown",
        "n.d.",
        "not available",
        "not determined",
        "<na>",
        "k.a.",
        "k. a.",
        "n/d",
        "s/d",
        "n.v.t.",
        // marks of Excel, in English and German
        "#nv",
        "#div/0!",
        "#ref!",
        "#bezug!",
        "#value!",
        "#wert!",
        "#name?",
        "#null!",
        "#num!",
        "#zahl!",
        "-",
        "--",
        "?",
    ];
    // marks that stand as they are written, the last three of pandas, MySQL and SAS
    const EXACT_MARKS: &[&str] = &["NA", "na", "ND", "nd", "NaT", "\\N", "."];
    let cell = cell.trim();
    if cell.len() > BYTES {
        return false;
    }
    let is_mark = if cell.is_ascii() {
        MARKS.iter().any(|mark| cell.eq_ignore_ascii_case(mark))
    } else {
        // the sign of kelvin is a capital k
        MARKS.contains(&cell.to_lowercase().as_str())
    };
    is_mark || EXACT_MARKS.contains(&cell)
}

/// Returns whether a cell says that there is no class: one that is [missing](is_missing), but for `none` and `unknown`, which
/// may be names of classes.
pub fn is_no_class(cell: &str) -> bool {
    let cell = cell.trim();
    let names = ["none", "unknown"].iter().any(|name| cell.eq_ignore_ascii_case(name));
    is_missing(cell) && !names
}

/// Characters that are not seen, nor change what is: soft hyphens, zero-width spaces, and marks of direction, words and bytes.
const UNSEEN: [char; 6] = ['\u{ad}', '\u{200b}', '\u{200e}', '\u{200f}', '\u{2060}', '\u{feff}'];

/// Hyphens, dashes and the minus sign, as which programs write `-`.
const HYPHENS: [char; 5] = ['\u{2010}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2212}'];

/// Returns the names among cells that differ only in the case of letters, blanks, hyphens, marks that are not seen or the form of
/// Unicode, a text for each such name: all ways in which it is written, with their numbers of cells, the most frequent first.
///
/// ```
/// use dsokr_data::cells::spellings;
///
/// let found = spellings(["true", "TRUE ", "false", "true"]);
/// assert_eq!(found, [r#""true" (2), "TRUE" (1)"#]);
/// ```
pub fn spellings<'c>(cells: impl IntoIterator<Item = &'c str>) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in cells {
        *counts.entry(cell.trim()).or_default() += 1;
    }
    spellings_of(counts)
}

/// Returns the [spellings] of different names that are in so many cells each.
pub(crate) fn spellings_of<'c>(counts: impl IntoIterator<Item = (&'c str, usize)>) -> Vec<String> {
    let mut ways: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
    for (name, count) in counts {
        ways.entry(read_form(name)).or_default().push((name, count));
    }
    let written = |mut ways: Vec<(&str, usize)>| {
        ways.sort_by_key(|&(_, count)| Reverse(count));
        let ways = ways.into_iter().map(|(name, count)| format!("{name:?} ({count})"));
        ways.collect::<Vec<_>>().join(", ")
    };
    ways.into_values().filter(|ways| ways.len() > 1).map(written).collect()
}

/// Returns the form of a name in which those that are read alike are the same.
fn read_form(name: &str) -> String {
    let seen = name.chars().filter(|c| !UNSEEN.contains(c));
    let hyphen = |c: char| if HYPHENS.contains(&c) { '-' } else { c };
    // NFKC has one form of letters with marks, and of blanks
    let composed: String = seen.nfkc().map(|(c, _)| hyphen(c)).collect();
    let words: Vec<&str> = composed.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// The most names with several [spellings] that [remarks](remarks_on_spellings) show.
const SHOWN_SPELLINGS: usize = 10;

/// Returns what is to be said of names with several [spellings], which are `what`, such as `classes`: a sentence for each of the
/// first ten, and one with the number of the others.
///
/// ```
/// use dsokr_data::cells::{remarks_on_spellings, spellings};
///
/// let cells: Vec<String> = (0..12).flat_map(|i| [format!("a{i}"), format!("A{i}")]).collect();
/// let remarks = remarks_on_spellings("classes", &spellings(cells.iter().map(String::as_str)));
/// assert!(remarks[0].starts_with("classes differ only in the case of letters"));
/// assert!(remarks[0].contains(r#", "A0" (1), "a0" (1); they are different classes"#));
/// assert_eq!((remarks.len(), remarks[10].as_str()), (11, "2 further classes differ so"));
/// ```
pub fn remarks_on_spellings(what: &str, spellings: &[String]) -> Vec<String> {
    let remark = |ways: &String| {
        format!(
            "{what} differ only in the case of letters, blanks, hyphens or marks that are not seen, {ways}; they are different \
             {what}, so write them alike if they are one"
        )
    };
    let further = spellings.len().saturating_sub(SHOWN_SPELLINGS);
    let last = (further > 0).then(|| format!("{further} further {what} differ so"));
    spellings.iter().take(SHOWN_SPELLINGS).map(remark).chain(last).collect()
}

/// Warns that names of a column, which are `what`, have several [spellings].
pub(crate) fn warn_of_spellings(path: &Path, what: &str, column: &str, spellings: &[String]) {
    for remark in remarks_on_spellings(what, spellings) {
        tracing::warn!("{}: in the column {column:?}, {remark}", path.display());
    }
}

/// Returns whether `-` is a class among the cells of a column and no mark of a missing value: some are signs such as `+` and
/// `+/-`, or there is no other cell.
///
/// ```
/// use dsokr_data::cells::are_signs;
///
/// assert!(are_signs(["+", "-", ""]) && are_signs(["-", "-"]) && !are_signs(["dead", "-"]));
/// ```
pub fn are_signs<'c>(cells: impl IntoIterator<Item = &'c str>) -> bool {
    let mut has_minus = false;
    let mut has_others = false;
    for cell in cells.into_iter().map(str::trim).filter(|cell| !cell.is_empty()) {
        let is_sign = cell.chars().all(|c| "+-±/()".contains(c));
        if is_sign && cell.contains(['+', '±']) {
            return true;
        }
        has_minus |= cell == "-";
        has_others |= cell != "-";
    }
    has_minus && !has_others
}

/// Returns whether a cell is `-` or `--`, which are classes among [signs](are_signs), and marks of missing values elsewhere.
///
/// ```
/// use dsokr_data::cells::is_minus;
///
/// assert!(is_minus("-") && is_minus("--") && !is_minus("+/-"));
/// ```
pub fn is_minus(cell: &str) -> bool {
    ["-", "--"].contains(&cell.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_missing_values_are_known() {
        let marks =
            ["", " ", "NA", "na", "ND", "nd", "N/A", "\\N", "<NA>", ".", "NaT", "#NV", "k.A.", "-"];
        let of_excel = ["#DIV/0!", "#REF!", "#VALUE!", "#WERT!", "#NAME?", "#NULL!", "#NUM!"];
        let of_languages = ["k. A.", "N/D", "s/d", "n.v.t."];
        for mark in marks.iter().chain(&of_excel).chain(&of_languages) {
            assert!(is_missing(mark) && is_no_class(mark), "{mark:?}");
        }
        assert!(is_missing(" Not Determined "));
        for name in
            ["Na", "Nd", "nat", "N", "..", "0.", "k", "A.", "#1", "#!", "not determined yet"]
        {
            assert!(!is_missing(name), "{name:?}");
        }
        for name in ["none", "Unknown"] {
            assert!(is_missing(name) && !is_no_class(name), "{name:?}");
        }
        assert!(are_signs(["-", " + "]) && are_signs(["-", "+/-"]) && are_signs(["-", "++"]));
        assert!(!are_signs(["-", "+1"]) && !are_signs(["-", "N/A"]) && !are_signs([""]));
    }

    #[test]
    fn names_that_are_read_alike_are_one_in_several_spellings() {
        let alike: [&[&str]; 6] = [
            &["K\u{e4}se", "Ka\u{308}se"],
            &["War", "war", "WAR"],
            &["paper", "paper\u{200b}", "\u{feff}paper"],
            &["glass bottle", "glass  bottle", "glass\u{a0}bottle"],
            &["post-doc", "post\u{2010}doc", "post\u{2011}doc", "post\u{2013}doc"],
            &["CO\u{2082}", "CO2"],
        ];
        for names in alike {
            let cells = names.iter().copied().chain(["another"]);
            let found = spellings(cells);
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].matches("(1)").count(), names.len(), "{found:?}");
        }
        let different =
            ["Kase", "K\u{e4}se", "glass", "glassbottle", "post doc", "postdoc", "post-doc"];
        assert_eq!(spellings(different), [""; 0]);
    }
}
