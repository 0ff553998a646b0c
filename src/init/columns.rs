//! The contents of a table's columns.

use std::collections::HashMap;
use std::fmt;

use dsokr_molecule::Molecule;
use rayon::prelude::*;

/// The contents of a column, as far as its cells tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Nothing.
    Nothing,
    /// A different name or number in every row.
    Ids,
    /// Molecules, as SMILES.
    Smiles,
    /// Rankings of so many items, as ranks with spaces between.
    Rankings(usize),
    /// Numbers.
    Numbers,
    /// Sets of labels with this separator.
    Labels(char),
    /// Texts.
    Texts,
}

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Ids => f.write_str("ids"),
            Self::Smiles => f.write_str("SMILES"),
            Self::Rankings(items) => write!(f, "rankings of {items} items"),
            Self::Numbers => f.write_str("numbers"),
            Self::Labels(' ') => f.write_str("labels, with spaces between"),
            Self::Labels(separator) => write!(f, "labels, with {separator:?} between"),
            Self::Texts => f.write_str("texts"),
        }
    }
}

impl Holds {
    /// One of what the column holds, for messages.
    pub fn one(self) -> &'static str {
        match self {
            Self::Nothing => "anything",
            Self::Ids => "an id",
            Self::Smiles => "a SMILES",
            Self::Rankings(_) => "a ranking",
            Self::Numbers => "a number",
            Self::Labels(_) => "labels",
            Self::Texts => "a text",
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its contents.
    pub holds: Holds,
    /// Number of different cells that are not empty.
    pub distinct: usize,
    /// Number of empty cells.
    pub empty: usize,
    /// Number of other cells that are not what the column holds.
    pub invalid: usize,
    /// The first cell that is not empty.
    pub example: String,
    /// Features of molecules that some of its molecules have: `rings`, `configurations`, `components`.
    pub seen: Vec<&'static str>,
    /// Mean number of characters of cells that are not empty.
    pub length: f64,
}

/// Share of the cells that must be SMILES in a column of SMILES.
const MOLECULES: f64 = 0.9;

/// Words that texts have and labels are not.
const WORDS: [&str; 8] = ["a", "an", "and", "in", "is", "of", "the", "with"];

impl Column {
    /// Looks at the cells of a column.
    pub fn from_cells(name: &str, cells: &[String]) -> Self {
        let filled: Vec<&str> =
            cells.iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty()).collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        filled.iter().for_each(|&cell| *counts.entry(cell).or_default() += 1);
        let distinct = counts.len();
        let parsed = counts.par_iter().filter(|(cell, _)| Molecule::parse(cell).is_ok());
        let molecules =
            if may_be_smiles(&filled) { parsed.map(|(_, &count)| count).sum() } else { 0 };
        let unique = distinct == filled.len();
        let missing = filled.iter().filter(|cell| is_missing(cell)).count();
        let numbers = filled.iter().filter(|cell| cell.parse().is_ok_and(f64::is_finite)).count();
        let holds = if filled.is_empty() {
            Holds::Nothing
        } else if molecules as f64 >= MOLECULES * filled.len() as f64 {
            Holds::Smiles
        } else if let Some(items) = items_ranked(&filled) {
            Holds::Rankings(items)
        } else if numbers > 0 && numbers + missing == filled.len() {
            let whole = filled.iter().all(|cell| cell.parse::<u64>().is_ok());
            if unique && whole && is_id(name) { Holds::Ids } else { Holds::Numbers }
        } else if let Some(separator) = separator(&filled) {
            Holds::Labels(separator)
        } else if unique
            && (is_id(name) || !filled.iter().any(|cell| cell.contains(char::is_whitespace)))
        {
            Holds::Ids
        } else {
            Holds::Texts
        };
        let invalid = match holds {
            Holds::Smiles => filled.len() - molecules,
            Holds::Numbers => missing,
            Holds::Nothing | Holds::Ids | Holds::Rankings(_) | Holds::Labels(_) | Holds::Texts => 0,
        };
        let characters: usize = filled.iter().map(|cell| cell.chars().count()).sum();
        Self {
            name: name.to_owned(),
            holds,
            distinct,
            empty: cells.len() - filled.len(),
            invalid,
            seen: if holds == Holds::Smiles { seen(&filled) } else { Vec::new() },
            example: filled.first().copied().unwrap_or_default().to_owned(),
            length: characters as f64 / filled.len().max(1) as f64,
        }
    }
}

/// The fewest molecules that have what a kernel compares; with fewer, the training pairs may have none.
const SEEN: usize = 10;

/// Features that not all molecules have, and the marks of these in SMILES; the last are ions, solvents and charges.
pub(super) const KINDS_SEEN: [(&str, &[&str]); 3] =
    [("rings", &["1"]), ("configurations", &["@", "/", "\\"]), ("components", &[".", "+", "-]"])];

/// The kinds of substructures that at least [`SEEN`] molecules have.
fn seen(smiles: &[&str]) -> Vec<&'static str> {
    let marked = |marks: &[&str]| {
        smiles.iter().filter(|cell| marks.iter().any(|mark| cell.contains(mark))).count() >= SEEN
    };
    KINDS_SEEN.iter().filter(|(_, marks)| marked(marks)).map(|(kind, _)| *kind).collect()
}

/// Whether a cell says that there is no number.
fn is_missing(cell: &str) -> bool {
    ["na", "n/a", "nan", "none", "null", "-", "?"].contains(&cell.to_lowercase().as_str())
}

/// Whether a column has the name of one with ids.
fn is_id(name: &str) -> bool {
    let name = name.to_lowercase();
    name.ends_with("id") || ["key", "index", "number", "no"].contains(&name.as_str())
}

/// Whether cells look like SMILES before any is parsed: one word each, and some with bonds, branches or rings, since
/// labels of one letter are SMILES too.
fn may_be_smiles(cells: &[&str]) -> bool {
    let words = cells.iter().all(|cell| !cell.contains(char::is_whitespace));
    let bonds = cells.iter().filter(|cell| cell.contains(['(', '=', '#', '1'])).count();
    words && 5 * bonds >= cells.len()
}

/// The number of items, at least three, that every cell ranks from 1.
fn items_ranked(cells: &[&str]) -> Option<usize> {
    let mut items = None;
    for cell in cells {
        let mut ranks: Vec<usize> =
            cell.split_whitespace().map(|rank| rank.parse().ok()).collect::<Option<_>>()?;
        ranks.sort_unstable();
        let same = *items.get_or_insert(ranks.len()) == ranks.len();
        if !same || !ranks.iter().copied().eq(1..=ranks.len()) {
            return None;
        }
    }
    items.filter(|&items| items >= 3)
}

/// The separator of labels, if cells are sets of labels: few different ones, which recur, in short cells without the words
/// of sentences.
fn separator(cells: &[&str]) -> Option<char> {
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
        let separates = separator == ' ' || 10 * with >= 3 * cells.len();
        separates && all >= 2 * labels.len() && all <= 12 * cells.len()
    })
}
