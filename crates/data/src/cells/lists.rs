//! Cells that hold several texts: sets of labels, and lists as programs write them.

use std::ops::Range;

use dsokr_molecule::Molecule;

use super::{is_missing, is_no_class};

/// The signs between items of an order that tie.
const TIES: [char; 2] = ['=', '~'];

/// The most words of a part of a list without quotation marks; more are a text in brackets.
const WORDS_OF_A_PART: usize = 3;

/// The fewest bits of a fingerprint; fewer digits may be a code.
const BITS: usize = 32;

/// What stands before the types of NumPy's numbers and texts in lists of Python.
const NUMPY: &str = "np.";

/// Returns the labels of a cell: its parts at the separator, or those of a [`list`]; none where the cell
/// [says that there is no value](is_no_class). A part that stands between quotation marks may hold the separator, and round brackets
/// may hold commas.
///
/// ```
/// use dsokr_data::cells::labels;
///
/// assert_eq!(labels("acid, ring", ','), ["acid", "ring"]);
/// assert_eq!(labels(r#"acid,"carbon, organic""#, ','), ["acid", "carbon, organic"]);
/// assert_eq!(labels("Email, Data export (CSV, Excel)", ','), ["Email", "Data export (CSV, Excel)"]);
/// ```
pub fn labels(cell: &str, separator: char) -> Vec<String> {
    if is_no_class(cell) {
        return Vec::new();
    }
    let labels = match list(cell) {
        Some(parts) => parts,
        None => divided(cell, separator),
    };
    let trimmed = labels.iter().map(|label| label.trim());
    trimmed.filter(|label| !label.is_empty()).map(str::to_owned).collect()
}

/// Returns the parts of a cell at the separator, those between quotation marks without them: as R writes a single text among
/// vectors, and Airtable an option with a comma. Commas in round brackets divide nothing, as in the options of forms.
fn divided(cell: &str, separator: char) -> Vec<String> {
    let brackets = if separator == ',' { in_round_brackets(cell) } else { Vec::new() };
    let is_within = |at: usize| {
        let next = brackets.partition_point(|bracket| bracket.end < at);
        brackets.get(next).is_some_and(|bracket| bracket.contains(&at))
    };
    let is_blank = |c: char| c.is_whitespace() && c != separator;
    let mut parts = Vec::new();
    let mut rest = Some(cell);
    while let Some(text) = rest {
        let text = text.trim_start_matches(is_blank);
        let in_marks = if text.starts_with('"') { quoted(text, '"') } else { None };
        let in_marks = in_marks.and_then(|(part, behind)| {
            let behind = behind.trim_start_matches(is_blank);
            let further = behind.strip_prefix(separator);
            (behind.is_empty() || further.is_some()).then_some((part, further))
        });
        let (part, further) = in_marks.unwrap_or_else(|| {
            let start = cell.len() - text.len();
            let mut ends = text.match_indices(separator).map(|(end, _)| end);
            match ends.find(|end| !is_within(start + end)) {
                Some(end) => (text[..end].to_owned(), Some(&text[end + separator.len_utf8()..])),
                None => (text.to_owned(), None),
            }
        });
        parts.push(part);
        rest = further;
    }
    parts
}

/// Returns from where to where the round brackets of a cell go that close and stand in no others, in their order.
fn in_round_brackets(cell: &str) -> Vec<Range<usize>> {
    let mut open: Vec<usize> = Vec::new();
    let mut brackets: Vec<Range<usize>> = Vec::new();
    for (at, sign) in cell.match_indices(['(', ')']) {
        if sign == "(" {
            open.push(at);
            continue;
        }
        let Some(start) = open.pop() else { continue };
        while brackets.last().is_some_and(|bracket| bracket.start > start) {
            brackets.pop();
        }
        brackets.push(start..at);
    }
    brackets
}

/// Returns the items of a part of an order that tie: those with `=` between or, unless names of items have tildes, `~`.
///
/// ```
/// use dsokr_data::cells::tied_items;
///
/// assert!(tied_items("tea = milk ~ water", false).eq(["tea", "milk", "water"]));
/// assert!(tied_items("tea = milk ~5", true).eq(["tea", "milk ~5"]));
/// ```
pub fn tied_items(part: &str, names_have_tildes: bool) -> impl Iterator<Item = &str> {
    let is_tie = move |c: char| TIES.contains(&c) && !(names_have_tildes && c == '~');
    part.split(is_tie).map(str::trim)
}

/// Returns the cell of labels, which [`labels`] reads: the names with the separator between, or a list of JSON where these would
/// be read as others, as where a name has the separator.
///
/// ```
/// use dsokr_data::cells::of_labels;
///
/// assert_eq!(of_labels(&["acid", "ring"], ';'), "acid;ring");
/// assert_eq!(of_labels(&["acid", "carbon; organic"], ';'), r#"["acid","carbon; organic"]"#);
/// ```
pub fn of_labels(names: &[impl AsRef<str>], separator: char) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.as_ref()).collect();
    let joined = names.join(&separator.to_string());
    let read = labels(&joined, separator);
    // an empty name is read as none, however it is written
    let kept = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    if read.iter().eq(kept) { joined } else { serde_json::Value::from(names).to_string() }
}

/// Returns the parts of a cell that is a list of texts or numbers, as JSON, Python, NumPy, Spark, PostgreSQL, R or Label Studio
/// writes it, or [bits](are_bits) without a sign between; none of other cells, such as a SMILES, a text in brackets, or a list in
/// which a value is missing.
///
/// ```
/// use dsokr_data::cells::list;
///
/// let pair = || Some(vec!["a".to_owned(), "b, c".to_owned()]);
/// assert_eq!(list(r#"["a", "b, c"]"#), pair());
/// assert_eq!(list("['a', 'b, c']"), pair());
/// assert_eq!(list("['a' 'b, c']"), pair());
/// assert_eq!(list("[1, 2.50]"), Some(vec!["1".to_owned(), "2.50".to_owned()]));
/// assert_eq!(list("[np.float64(1), np.float64(2.50)]"), list("[1, 2.50]"));
/// assert_eq!(list("[ester, ketone]"), Some(vec!["ester".to_owned(), "ketone".to_owned()]));
/// assert_eq!(list("{ester,ketone}"), Some(vec!["ester".to_owned(), "ketone".to_owned()]));
/// assert_eq!(list(r#"{"choices": ["a", "b, c"]}"#), pair());
/// assert_eq!(list("[Na+]"), None);
/// ```
pub fn list(cell: &str) -> Option<Vec<String>> {
    let cell = cell.trim();
    if are_bits(cell) {
        return Some(cell.chars().map(String::from).collect());
    }
    if !cell.ends_with([']', '}', ')']) {
        return None;
    }
    let (name, brackets) = cell.split_at(cell.find(['[', '{', '('])?);
    if name.is_empty() {
        return in_brackets(brackets);
    }
    let inner = brackets.strip_prefix('(')?.strip_suffix(')')?.trim();
    match name {
        "c" => values(inner),
        "character" | "integer" | "numeric" | "logical" if inner == "0" => Some(Vec::new()),
        "set" | "frozenset" if inner.is_empty() => Some(Vec::new()),
        "set" | "frozenset" => in_brackets(inner),
        "array" | "tensor" => {
            let (list, settings) = inner.split_at(inner.rfind(']')? + 1);
            let is_whole = settings.is_empty() || settings.starts_with(',');
            in_brackets(list).filter(|_| is_whole)
        }
        _ => None,
    }
}

/// Returns whether a cell is bits without a sign between, more than a code has, as RDKit's `ToBitString` writes a fingerprint.
///
/// ```
/// use dsokr_data::cells::are_bits;
///
/// assert!(are_bits(&"01".repeat(1024)) && !are_bits("0101") && !are_bits(&"012".repeat(100)));
/// ```
pub fn are_bits(cell: &str) -> bool {
    cell.len() >= BITS && cell.bytes().all(|byte| matches!(byte, b'0' | b'1'))
}

/// Returns the parts of a list with its brackets.
fn in_brackets(list: &str) -> Option<Vec<String>> {
    let open = list.chars().next()?;
    let close = list.chars().next_back()?;
    let inner = list.get(1..list.len() - 1)?.trim();
    match (open, close) {
        ('[', ']') => values(inner).or_else(|| words(inner)),
        ('{', '}') => values(inner).or_else(|| elements(inner)).or_else(|| choices(inner)),
        ('(', ')') if inner.is_empty() => Some(Vec::new()),
        // a number in brackets is negative, and a text in both is no list
        ('(', ')') if inner.starts_with(['"', '\'']) || inner.starts_with(NUMPY) => {
            values(inner).filter(|parts| parts.len() > 1 || inner.ends_with(','))
        }
        _ => None,
    }
}

/// Returns the texts in quotation marks and the numbers of a list, with commas between, or blanks as NumPy writes them.
fn values(inner: &str) -> Option<Vec<String>> {
    let mut rest = inner;
    let mut parts = Vec::new();
    let mut has_commas = None;
    while !rest.is_empty() {
        let (part, behind) = value(rest)?;
        parts.push(part);
        rest = behind.trim_start();
        if rest.is_empty() {
            break;
        }
        let behind_comma = rest.strip_prefix(',');
        if *has_commas.get_or_insert(behind_comma.is_some()) != behind_comma.is_some() {
            return None;
        }
        match behind_comma {
            Some(behind_comma) => rest = behind_comma.trim_start(),
            None if rest.len() == behind.len() => return None,
            None => {}
        }
    }
    Some(parts)
}

/// Returns the text or the number at the start of a list's rest, and what is behind it. From version 2 on, NumPy writes either with
/// its type where a list of Python holds it: `np.float64(0.5)`, `np.str_('a')`.
fn value(rest: &str) -> Option<(String, &str)> {
    let Some((_, typed)) = rest.strip_prefix(NUMPY).and_then(|rest| rest.split_once('(')) else {
        return plain_value(rest);
    };
    let (part, behind) = plain_value(typed)?;
    Some((part, behind.strip_prefix(')')?))
}

/// Returns the text in quotation marks or the number at the start of a list's rest, and what is behind it.
fn plain_value(rest: &str) -> Option<(String, &str)> {
    match rest.chars().next() {
        Some(mark @ ('"' | '\'')) => quoted(rest, mark),
        _ => number_of_list(rest),
    }
}

/// Returns the text in the quotation marks `mark` at the start of a list's rest, and what is behind it. A backslash takes the
/// next character as it is, except in a string of JSON.
fn quoted(text: &str, mark: char) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => {
                part.push(c);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            _ if c == mark => {
                let (whole, behind) = text.split_at(at + 1);
                // Python writes such marks too, but with other escapes
                let string = if mark == '"' { serde_json::from_str(whole).ok() } else { None };
                return Some((string.unwrap_or(part), behind));
            }
            _ => part.push(c),
        }
    }
    None
}

/// Returns the number at the start of a list's rest as it is written, and what is behind it.
fn number_of_list(text: &str) -> Option<(String, &str)> {
    let ends = |c: char| c == ',' || c == ')' || c.is_whitespace();
    let end = text.find(ends).unwrap_or(text.len());
    let (number, behind) = text.split_at(end);
    number.parse::<f64>().ok().filter(|number| number.is_finite())?;
    Some((number.to_owned(), behind))
}

/// Returns the parts of a list without quotation marks, as Spark and DuckDB write it: `[ester, ketone]`. A single one must be
/// a word and no atom.
fn words(inner: &str) -> Option<Vec<String>> {
    let is_part = |part: &&str| {
        let count = part.split_whitespace().count();
        (1..=WORDS_OF_A_PART).contains(&count)
            && !part.contains(['[', ']', '{', '}', '"'])
            && !part.starts_with('\'')
            && !part.starts_with(NUMPY)
            && !part.ends_with(['.', '!', '?', ':', ','])
            && !is_missing(part)
    };
    let parts: Vec<&str> = inner.split(", ").map(str::trim).collect();
    let is_list = parts.len() > 1
        || (inner.starts_with(char::is_alphanumeric)
            && !inner.contains(|c: char| c == ',' || c.is_whitespace())
            && Molecule::parse(&format!("[{inner}]")).is_err());
    let are_parts = parts.iter().all(is_part);
    (is_list && are_parts).then(|| parts.into_iter().map(str::to_owned).collect())
}

/// Returns the elements of an array as PostgreSQL writes it: `{ester,"carboxylic acid"}`, with quotation marks where an element
/// has a blank, a comma or a bracket.
fn elements(inner: &str) -> Option<Vec<String>> {
    let mut rest = inner;
    let mut parts = Vec::new();
    loop {
        let (part, behind) = if rest.starts_with('"') {
            quoted(rest, '"')?
        } else {
            let (part, behind) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
            let is_marked = part.contains(|c: char| c.is_whitespace() || "{}[]\"\\".contains(c));
            if part.is_empty() || part == "NULL" || part.starts_with('\'') || is_marked {
                return None;
            }
            (part.to_owned(), behind)
        };
        parts.push(part);
        if behind.is_empty() {
            return Some(parts);
        }
        rest = behind.strip_prefix(',')?;
    }
}

/// Returns the parts of the list in an object as Label Studio writes it: `{"choices": ["ester", "ketone"]}`.
fn choices(inner: &str) -> Option<Vec<String>> {
    let list = inner.strip_prefix(r#""choices""#)?.trim_start().strip_prefix(':')?.trim_start();
    if list.starts_with('[') { in_brackets(list) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_between_quotation_marks_may_hold_the_separator() {
        let cases: [(&str, char, &[&str]); 11] = [
            (r#"c("italian", "vegan")"#, ';', &["italian", "vegan"]),
            (r#""indian""#, ';', &["indian"]),
            ("character(0)", ';', &[]),
            ("NULL", ';', &[]),
            (r#"Fees,"Delivery, returns" , App"#, ',', &["Fees", "Delivery, returns", "App"]),
            (r#""say \"no\"";b"#, ';', &["say \"no\"", "b"]),
            (r#""red wine" white"#, ' ', &["red wine", "white"]),
            // marks that are of the name
            (r#"5" pipe;10" pipe"#, ';', &["5\" pipe", "10\" pipe"]),
            (r#"the "old" way;"old" ways"#, ';', &["the \"old\" way", "\"old\" ways"]),
            (r#""open;b"#, ';', &["\"open", "b"]),
            ("a;; b ;", ';', &["a", "b"]),
        ];
        for (cell, separator, expected) in cases {
            assert_eq!(labels(cell, separator), expected, "{cell}");
        }
        // names with marks of their own are written so that they stay
        for names in [&["\"a\"", "b"][..], &["\"a"], &["\"a;b\""], &["a b\"", "\"c"]] {
            for separator in [';', ' ', ','] {
                assert_eq!(labels(&of_labels(names, separator), separator), names, "{names:?}");
            }
        }
    }

    #[test]
    fn commas_in_round_brackets_divide_no_label() {
        let cases: [(&str, char, &[&str]); 8] = [
            ("Email, Data export (CSV, Excel)", ',', &["Email", "Data export (CSV, Excel)"]),
            ("a (b, c (d, e), f), g", ',', &["a (b, c (d, e), f)", "g"]),
            ("a (b, c), d (e, f)", ',', &["a (b, c)", "d (e, f)"]),
            (r#"a (b, c),"d, e""#, ',', &["a (b, c)", "d, e"]),
            // brackets that do not close, or are not open
            ("a (b, c", ',', &["a (b", "c"]),
            ("a), b (c", ',', &["a)", "b (c"]),
            ("(a (b, c), d", ',', &["(a (b, c)", "d"]),
            // other separators
            ("a (b; c)", ';', &["a (b", "c)"]),
        ];
        for (cell, separator, expected) in cases {
            assert_eq!(labels(cell, separator), expected, "{cell}");
        }
        for names in [&["a (b, c)", "d"][..], &["a (b", "c) d"], &["a, b (c)"]] {
            assert_eq!(labels(&of_labels(names, ','), ','), names, "{names:?}");
        }
    }

    fn joined(cell: &str) -> Option<String> {
        list(cell).map(|parts| parts.join("|"))
    }

    #[test]
    fn lists_are_read_as_they_are_written() {
        let cases = [
            ("[]", ""),
            (r#"['it\'s', "b"]"#, "it's|b"),
            (r#"["\u00e4\n\"", 'b']"#, "ä\n\"|b"),
            ("[-1e3, 2]", "-1e3|2"),
            // NumPy, PyTorch
            ("['a' 'b, c'\n 'd']", "a|b, c|d"),
            ("[-1.19 -0.06\n  2. ]", "-1.19|-0.06|2."),
            ("array(['a', 'b'], dtype=object)", "a|b"),
            ("tensor([0.202, -1.013,\n        2.])", "0.202|-1.013|2."),
            ("tensor([1., 2.], device='cuda:0')", "1.|2."),
            ("[np.float32(0.5), np.float64(-1e-05)]", "0.5|-1e-05"),
            ("(np.int64(3), np.int64(4))", "3|4"),
            ("[np.str_('a'), np.str_('b, (c)')]", "a|b, (c)"),
            ("{np.str_('a')}", "a"),
            // sets and tuples of Python
            ("{'a', 'b'}", "a|b"),
            ("set()", ""),
            ("frozenset({'a'})", "a"),
            ("('a',)", "a"),
            ("('a', 'b')", "a|b"),
            // PostgreSQL
            ("{}", ""),
            ("{ether}", "ether"),
            (r#"{ether,"carboxylic acid",GO:0005515}"#, "ether|carboxylic acid|GO:0005515"),
            ("{1.5,2}", "1.5|2"),
            // Spark, DuckDB
            ("[ester, carboxylic acid, 1,2-diol]", "ester|carboxylic acid|1,2-diol"),
            ("[ester]", "ester"),
            // R
            (r#"c("ester", "thiol")"#, "ester|thiol"),
            ("character(0)", ""),
            ("integer(0)", ""),
            // Label Studio
            (r#"{"choices":["ester"]}"#, "ester"),
        ];
        for (cell, expected) in cases {
            assert_eq!(joined(cell).as_deref(), Some(expected), "{cell}");
        }
    }

    #[test]
    fn bits_of_a_fingerprint_need_no_sign_between() {
        let fingerprint = "1000".repeat(64);
        let expected = "1|0|0|0|".repeat(64);
        assert_eq!(joined(&fingerprint).as_deref(), Some(expected.trim_end_matches('|')));
        assert_eq!(joined(&fingerprint.replace('1', "2")), None);
        assert_eq!(joined(&fingerprint[..31]), None);
    }

    #[test]
    fn molecules_and_texts_in_brackets_are_no_lists() {
        let others = [
            "",
            "a",
            "[",
            "[1, nan]",
            "[1, null]",
            "['a'",
            "['a''b']",
            "['a', 'b' 'c']",
            "[[1, 2], [3, 4]]",
            "[0.1 0.2 ... 0.3]",
            "[np.float64(nan), np.float64(1.0)]",
            "[np.float64(1.0]",
            "(np.float64(1.0))",
            "010101",
            // SMILES and SMARTS
            "[Na+]",
            "[Na+].[Cl-]",
            "[H][H]",
            "[OH-]",
            "[13CH4]",
            "[Cu]",
            "[C,N]",
            "[O-]C(=O)C[NH3+].[Na+]",
            "CC(C)",
            "c(C)",
            // texts
            "[sic!]",
            "[a text of many words, in brackets]",
            "[He came, he saw.]",
            "[no list]",
            "(a text)",
            "character(1)",
            r#""a text""#,
            "('a text')",
            r#"("a text")"#,
            "(3,101.84)",
            "a list (see there)",
            "{a text}",
            "{a, b}",
            "{a,,b}",
            "{a,NULL}",
            r#"{"a": 1}"#,
            "{'a': 1}",
            r#"[{"a": 1}]"#,
            r#"{"choices": "ester"}"#,
            r#"{"choices": ["ester"], "others": ["ketone"]}"#,
            "['tis the season]",
        ];
        for other in others {
            assert_eq!(joined(other), None, "{other}");
        }
    }
}
