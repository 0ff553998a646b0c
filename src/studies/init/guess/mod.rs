//! The kind of a column that nobody has stated: what most of its cells are.

pub(super) mod codes;
pub(super) mod labels;
pub(super) mod names;
pub(super) mod numbers;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use dsokr_data::cells::{self, NumberNotation};
use dsokr_molecule::{Element, Molecule, read_formula};
use rayon::prelude::*;

use super::kind::{
    ColumnKind, KindName, Lists, Reading, has_tilde_of_tie, is_date, is_inchi, items_ordered,
    items_ranked,
};
use codes::{first_with_zero, kind_of_codes};
use labels::{
    are_measures_of_one_word, are_reordered, is_prose, lists_name_texts_twice, parts_of_list,
    separator_of, stands_in_names, stated_separator,
};
use names::{
    CLASS_NAMES, has_word_of_peptides, is_id, is_name_of_any_texts, is_name_of_texts, is_unnamed,
    most_classes_named, names_ids, names_numbered,
};
use numbers::{
    are_names_in_brackets, are_row_numbers, are_sets_of_numbers, are_shuffled_row_numbers,
    comma_of_sets, fill_a_range, is_half_numbers, name_numbers_twice, notation_of,
    separator_of_codes, vectors_among, without_sign_of_bound,
};

/// The share of cells that must be of a kind.
const MOST: f64 = 0.9;

/// The share of cells that must be of the kind that the name of their column says.
const NAMED: f64 = 0.5;

/// The most cells that are looked at for the kind of a column.
const LOOKED_AT: usize = 10_000;

/// The most classes of a column, and the fewest rows that each of them has in the mean.
pub(crate) const CLASSES: usize = 50;
const ROWS_OF_A_CLASS: usize = 5;

/// The most classes of a column whose names all have as many words, or whose name
/// [says](names::most_classes_named) that its numbers are classes.
const MANY_CLASSES: usize = 1000;

/// The most words of the name of a class; more are a sentence.
const WORDS_OF_A_CLASS: usize = 5;

/// The most items that cells rank by their names.
const ITEMS: usize = 50;

/// The most words of a name behind a SMILES; more are a text that begins with one.
const WORDS_OF_A_NAME: usize = 4;

/// Returns the kind of the cells, none of them empty, of the column at this position, from 0, with this name.
pub(super) fn guessed(position: usize, name: &str, cells: &[&str]) -> ColumnKind {
    let present = present(cells);
    if present.is_empty() {
        return ColumnKind::Nothing;
    }
    if let Some(kind) = kind_of_form(name, cells, &present) {
        return kind;
    }
    let values = Values::new(position, name, cells, present);
    kind_in_other_digits(position, name, cells)
        .or_else(|| values.kind_of_numbers())
        .or_else(|| values.kind_of_names())
        .unwrap_or_else(|| values.kind_of_texts())
}

/// Returns the cells that do not say that there is no value.
fn present<'c>(cells: &[&'c str]) -> Vec<&'c str> {
    cells.iter().copied().filter(|cell| !cells::is_missing(cell)).collect()
}

/// Returns the number of different cells.
fn count_different(cells: &[&str]) -> usize {
    cells.iter().collect::<HashSet<_>>().len()
}

/// Returns whether so many different names are in so many rows as those of classes are, whatever the most classes are.
pub(crate) fn recur_as_classes(names: usize, rows: usize) -> bool {
    ROWS_OF_A_CLASS * names <= rows
}

/// Returns the kind of cells that have a form which nothing else has: signs, structures, rankings, vectors and dates; none of
/// others. Cells are `present` that do not say that there is no value.
fn kind_of_form(name: &str, cells: &[&str], present: &[&str]) -> Option<ColumnKind> {
    if let Some(signs) = signs_of(cells) {
        return Some(signs);
    }
    if are_smiles(name, present) {
        return Some(ColumnKind::Smiles);
    }
    if most(present, is_inchi) {
        return Some(ColumnKind::Inchi);
    }
    let rankings = rankings_among(present).filter(|rankings| are_mostly(rankings, present));
    if rankings.is_some() {
        return rankings;
    }
    let vectors = vectors_among(present).filter(|vectors| are_vectors(vectors, present));
    if vectors.is_some() {
        return vectors;
    }
    most(present, is_date).then_some(ColumnKind::Dates)
}

/// Returns whether most cells are `vectors`, and no sets of labels that are whole numbers, nor numbers with groups of
/// thousands, as a training reads them.
fn are_vectors(vectors: &ColumnKind, present: &[&str]) -> bool {
    if !are_mostly(vectors, present) {
        return false;
    }
    let are_real = present.iter().any(|cell| cell.contains(['.', 'e', 'E']));
    if are_real {
        return true;
    }
    let plain = NumberNotation::default();
    let may_be_grouped = matches!(vectors, ColumnKind::Vectors(..=cells::GROUPS))
        && are_mostly(&ColumnKind::Numbers(plain.clone()), present);
    if may_be_grouped {
        !plain.blanks_group(present.iter().copied())
    } else {
        name_numbers_twice(present)
    }
}

/// Returns the kind of cells of which most are numbers or codes, some of them in digits of full width, Arabic or Persian; none of others.
fn kind_in_other_digits(position: usize, name: &str, cells: &[&str]) -> Option<ColumnKind> {
    let written: Vec<Cow<str>> = cells.iter().map(|cell| cells::with_ascii_digits(cell)).collect();
    if !written.iter().any(|cell| matches!(cell, Cow::Owned(_))) {
        return None;
    }
    let written: Vec<&str> = written.iter().map(Cow::as_ref).collect();
    let kind = Values::new(position, name, &written, present(&written)).kind_of_numbers();
    // the comma between labels is of full width in the cells
    kind.filter(|kind| !matches!(kind, ColumnKind::Labels(_)))
}

/// The values of a column whose cells have no form that tells what they are.
struct Values<'c> {
    /// The position of the column, from 0.
    position: usize,
    /// The name of the column.
    name: &'c str,
    /// All cells.
    cells: &'c [&'c str],
    /// The cells that do not say that there is no value.
    present: Vec<&'c str>,
    /// The number of different ones of these.
    distinct: usize,
    /// Whether these recur as classes do.
    recur: bool,
}

impl<'c> Values<'c> {
    fn new(position: usize, name: &'c str, cells: &'c [&'c str], present: Vec<&'c str>) -> Self {
        let distinct = count_different(&present);
        let recur = distinct > 1 && recur_as_classes(distinct, present.len());
        Self { position, name, cells, present, distinct, recur }
    }

    /// Returns whether no value is in two cells.
    fn differ(&self) -> bool {
        self.distinct == self.present.len()
    }

    /// Returns the kind of cells of which most are numbers, or at least half beside remarks, or sets of codes; none of others.
    fn kind_of_numbers(&self) -> Option<ColumnKind> {
        let present = &self.present;
        let notation = notation_of(present);
        let numbers = ColumnKind::Numbers(notation.clone());
        // bounds are skipped and named; they are no labels
        let limits: Vec<&str> = present.iter().copied().map(without_sign_of_bound).collect();
        let codes = separator_of_codes(present).or_else(|| comma_of_sets(present));
        let are_few = self.recur && self.distinct <= CLASSES;
        let may_be_numbers = !are_names_in_brackets(&notation, &limits, are_few);
        if codes.is_none() && may_be_numbers && are_mostly(&numbers, &limits) {
            return Some(self.kind_of_single_numbers(numbers));
        }
        if let Some(separator) = codes {
            return Some(ColumnKind::Labels(separator));
        }
        let are_half = may_be_numbers
            && !are_few
            && is_half_numbers(&notation, present, self.differ(), self.position == 0)
            && !is_id(self.name);
        are_half.then_some(numbers)
    }

    /// Returns the kind of cells of which most are a number: codes, classes, ids or `numbers`.
    fn kind_of_single_numbers(&self, numbers: ColumnKind) -> ColumnKind {
        let &Self { position, name, cells, distinct, .. } = self;
        let present = &self.present;
        if first_with_zero(present).is_some() {
            return kind_of_codes(name, cells, present);
        }
        let are_whole = |cells: &[&str]| most(cells, |cell| cell.parse::<u64>().is_ok());
        // pandas writes the numbers of classes and ids as 2.0 where others are missing
        let counts = present.iter().copied().map(|cell| cell.strip_suffix(".0").unwrap_or(cell));
        let counts: Vec<&str> = counts.collect();
        let is_class = CLASS_NAMES.contains(&name.to_lowercase().as_str());
        let are_counted = || {
            most_classes_named(name).is_some_and(|most| distinct <= most) && fill_a_range(&counts)
        };
        let are_classes =
            are_whole(&counts) && ((is_class && distinct <= CLASSES) || are_counted());
        if self.recur && (distinct == 2 || are_classes) {
            return classes_of(cells);
        }
        let mostly_differ = 2 * distinct > present.len();
        let are_named = names_ids(name) || names_numbered(name) || is_unnamed(name);
        // a name that only ends as those of ids do, as `fluid` does, is no reason to take numbers such as 2.0 for them
        let are_ids = (are_named && are_whole(&counts))
            || (names_ids(name) && self.differ() && are_codes_with_points(present))
            || (mostly_differ && is_id(name) && are_whole(present))
            || are_row_numbers(position, cells)
            || (position == 0 && are_shuffled_row_numbers(cells));
        if are_ids { ColumnKind::Ids } else { numbers }
    }

    /// Returns the kind of cells that are names of classes, labels or ids that recur; none of others.
    fn kind_of_names(&self) -> Option<ColumnKind> {
        let &Self { name, cells, distinct, .. } = self;
        let present = &self.present;
        // `none` and `unknown` are missing values beside names of classes, unless there is one other name
        let named: Vec<&str> =
            cells.iter().copied().filter(|cell| !cells::is_no_class(cell)).collect();
        let names = count_different(&named);
        if distinct == 1 && names > 1 && recur_as_classes(names, named.len()) {
            return Some(classes_of(cells));
        }
        let separator = separator_of(name, present);
        let may_be_names = separator.is_none_or(|separator| stands_in_names(separator, present));
        let are_alike = may_be_names && have_as_many_words(present);
        if distinct > 2 && names_ids(name) && (separator.is_none() || are_alike) {
            return Some(ColumnKind::Ids);
        }
        let are_names = are_alike && !is_name_of_any_texts(name) && !are_sequences(present);
        let most_classes = if are_names { MANY_CLASSES } else { CLASSES };
        let are_few = self.recur && distinct <= most_classes;
        if may_be_names && are_few && most(present, has_words_of_a_class) {
            return Some(classes_of(cells));
        }
        separator.map(ColumnKind::Labels)
    }

    /// Returns the kind of cells that are neither numbers nor names that recur: ids, or texts.
    fn kind_of_texts(&self) -> ColumnKind {
        let present = &self.present;
        let are_texts = || {
            are_words_or_sequences(present)
                || are_substances(self.name, present)
                || are_measures_of_one_word(present)
        };
        // several rows may be of one molecule
        let are_keys = most(present, is_inchikey) || are_blocks_of_keys(present);
        if are_keys || self.differ() && (is_id(self.name) || !are_texts()) {
            ColumnKind::Ids
        } else {
            ColumnKind::Texts
        }
    }
}

/// Returns whether cells have blanks, as ids have not, or are sequences or long texts in a script without spaces.
fn are_words_or_sequences(cells: &[&str]) -> bool {
    let have_words = cells.iter().any(|cell| cell.contains(char::is_whitespace));
    have_words || are_sequences(cells) || are_unspaced_texts(cells)
}

/// Returns whether cells of a column with this name are reactions, compositions or peptides, which may be written as ids are.
fn are_substances(name: &str, cells: &[&str]) -> bool {
    most(cells, is_reaction)
        || are_compositions(cells)
        || (has_word_of_peptides(name) && are_peptides(cells))
}

/// Returns whether cells of a column with this name are texts only since they are reactions, compositions or peptides: they all
/// differ and are else what ids are.
pub(super) fn would_be_ids(name: &str, cells: &[&str]) -> bool {
    let present = present(cells);
    let differ = || count_different(&present) == present.len();
    !are_words_or_sequences(&present) && differ() && are_substances(name, &present)
}

/// Returns the kind of cells that are `lists` as JSON or between brackets, and are of this `kind` without them.
pub(super) fn guessed_of_lists(
    lists: Lists,
    kind: ColumnKind,
    name: &str,
    cells: &[&str],
) -> ColumnKind {
    match lists {
        Lists::Texts => kind_of_text_lists(kind, name, cells),
        Lists::Numbers => kind_of_number_lists(kind, name, cells, false),
        Lists::NumbersOrNone => kind_of_number_lists(kind, name, cells, true),
    }
}

/// Returns the kind of cells that have the texts of lists with `;` between, and without the lists are of this `kind`: sets of
/// labels, also where no list has several, unless they are something that says more, or texts that do not recur.
fn kind_of_text_lists(kind: ColumnKind, name: &str, cells: &[&str]) -> ColumnKind {
    let recur = || {
        let labels: Vec<String> = cells.iter().flat_map(|cell| parts_of_list(cell)).collect();
        let distinct: HashSet<&str> = labels.iter().map(|label| label.trim()).collect();
        labels.len() >= 2 * distinct.len()
    };
    // lists that repeat a text are sequences
    let are_sets = || {
        recur()
            && !lists_name_texts_twice(cells)
            && !is_prose(cells)
            && !is_name_of_texts(name)
            && !are_reordered(cells)
    };
    let are_labels = if matches!(kind, ColumnKind::Labels(_)) {
        true
    } else if matches!(kind, ColumnKind::Classes(_)) {
        !are_reordered(cells)
    } else {
        kind.may_be_lists_of_labels() && are_sets()
    };
    if are_labels { ColumnKind::Labels(';') } else { kind }
}

/// Returns the kind of cells that have the numbers of lists with spaces between, and without the lists are of this `kind`: sets of
/// labels, also where few lists have several, if these are whole numbers that recur in lists of different lengths, of which
/// `some_empty`. Lists that repeat a number are series.
fn kind_of_number_lists(
    kind: ColumnKind,
    name: &str,
    cells: &[&str],
    some_empty: bool,
) -> ColumnKind {
    let may_be_labels = kind.may_be_lists_of_labels() && !names_ids(name) && !are_reordered(cells);
    let are_sets = may_be_labels && are_sets_of_numbers(cells, ' ', some_empty);
    if are_sets { ColumnKind::Labels(' ') } else { kind }
}

/// Returns the kind of the cells that a caller states, with what only the cells tell.
pub(super) fn stated(kind: KindName, cells: &[&str]) -> ColumnKind {
    match kind {
        KindName::Nothing => ColumnKind::Nothing,
        KindName::Ids => ColumnKind::Ids,
        KindName::Smiles => ColumnKind::Smiles,
        KindName::Rankings => rankings_among(cells).unwrap_or(ColumnKind::Rankings(0)),
        KindName::Numbers => ColumnKind::Numbers(notation_of(cells)),
        KindName::Vectors => vectors_among(cells).unwrap_or(ColumnKind::Vectors(0)),
        KindName::Labels => ColumnKind::Labels(stated_separator(cells)),
        KindName::Classes => classes_of(cells),
        KindName::Texts => ColumnKind::Texts,
    }
}

/// Returns whether most cells are what `is` says.
pub(super) fn most(cells: &[&str], is: impl Fn(&str) -> bool) -> bool {
    let cells = looked_at(cells);
    let count = cells.iter().filter(|cell| is(cell)).count();
    count as f64 >= MOST * cells.len() as f64
}

/// Returns the cells that tell what a column is: all, or so many at equal distances of a long one.
fn looked_at<'c>(cells: &[&'c str]) -> Vec<&'c str> {
    let step = cells.len().div_ceil(LOOKED_AT).max(1);
    cells.iter().copied().step_by(step).collect()
}

/// Returns whether more than half of the cells have a part twice, as vectors and series do and sets of labels do not.
fn repeat_a_part<'c, P: Eq + Hash>(cells: &[&'c str], parts: impl Fn(&'c str) -> Vec<P>) -> bool {
    let repeats = |cell: &&&'c str| {
        let parts = parts(cell);
        parts.iter().collect::<HashSet<_>>().len() < parts.len()
    };
    let cells = looked_at(cells);
    2 * cells.iter().filter(repeats).count() > cells.len()
}

/// Returns whether most cells are of a kind.
fn are_mostly(kind: &ColumnKind, cells: &[&str]) -> bool {
    share_of(kind, cells) >= MOST
}

/// Returns the share of cells that are of a kind.
fn share_of(kind: &ColumnKind, cells: &[&str]) -> f64 {
    let cells = looked_at(cells);
    let read = |cell: &&&str| kind.read(cell) != Reading::Invalid;
    cells.par_iter().filter(read).count() as f64 / cells.len() as f64
}

/// The fewest letters of a sequence, of a protein or a nucleic acid, in the mean.
const LETTERS_OF_A_SEQUENCE: usize = 20;

/// Returns whether cells are long and sequences, as ids are not.
fn are_sequences(cells: &[&str]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic();
    let letters: usize = cells.iter().map(|cell| cell.bytes().filter(is_letter).count()).sum();
    letters >= LETTERS_OF_A_SEQUENCE * cells.len() && most(cells, is_sequence) && have_gaps(cells)
}

/// Returns whether a cell has letters only or, as sequences that are aligned or translated have, fewer gaps and stops than
/// letters. InChIKeys are none.
fn is_sequence(cell: &str) -> bool {
    let is_gap = |byte: u8| b"-*.".contains(&byte);
    let letters = cell.bytes().filter(u8::is_ascii_alphabetic).count();
    let gaps = cell.bytes().filter(|&byte| is_gap(byte)).count();
    letters > gaps && letters + gaps == cell.len() && !is_inchikey(cell)
}

/// Returns whether hyphens and points among the letters of cells are gaps, and do not divide a code such as `SLTRH-NHRVN`: nearly
/// all of the letters are nucleotides, or one in ten of these cells has two such signs in a row or one at an end, as aligned
/// proteins have.
fn have_gaps(cells: &[&str]) -> bool {
    const GAPS: [char; 2] = ['-', '.'];
    let with: Vec<&str> = cells.iter().copied().filter(|cell| cell.contains(GAPS)).collect();
    let is_nucleotide = |byte: &u8| b"ACGTUN".contains(&byte.to_ascii_uppercase());
    let letters = || with.iter().flat_map(|cell| cell.bytes()).filter(u8::is_ascii_alphabetic);
    let nucleotides = letters().filter(is_nucleotide).count();
    let is_aligned = |cell: &&&str| {
        let is_in_a_row = cell.contains("--") || cell.contains("..");
        is_in_a_row || cell.starts_with(GAPS) || cell.ends_with(GAPS)
    };
    let aligned = with.iter().filter(is_aligned).count();
    nucleotides as f64 >= MOST * letters().count() as f64 || 10 * aligned >= with.len()
}

/// Returns whether a cell is a reaction as SMILES, with two `>` between molecules: `CCO>[Cu]>CC=O`; one side may be missing, as of
/// `CCO.CC(=O)O>>`, whose product is to be found.
fn is_reaction(cell: &str) -> bool {
    let parts: Vec<&str> = cell.split('>').collect();
    let &[from, _, to] = parts.as_slice() else { return false };
    let is_side = |side: &str| side.is_empty() || Molecule::parse(side).is_ok();
    !(from.is_empty() && to.is_empty()) && [from, to].into_iter().all(is_side)
}

/// The fewest letters of a peptide, in the mean.
const LETTERS_OF_A_PEPTIDE: usize = 6;

/// Returns whether most cells are letters of amino acids only, and long for names.
fn are_peptides(cells: &[&str]) -> bool {
    let is_amino_acid = |byte: u8| b"ACDEFGHIKLMNPQRSTVWY".contains(&byte);
    let letters: usize = cells.iter().map(|cell| cell.len()).sum();
    letters >= LETTERS_OF_A_PEPTIDE * cells.len()
        && most(cells, |cell| cell.bytes().all(is_amino_acid))
}

/// The fewest different sets of elements among compositions whose symbols are single capitals, and the fewest elements of one that
/// tells them from codes. Codes such as `S1C2` and `SN1000` have one or two.
const SETS_OF_ELEMENTS: usize = 3;
const ELEMENTS: usize = 3;

/// The smallest share of compositions that have numbers, and what codes of capitals have not, as a divisor.
const OF_COMPOSITIONS: usize = 10;

/// Returns whether most cells are compositions of two elements or more, some of which have numbers, and some a symbol with a small
/// letter or a decimal point. Where symbols are single capitals, cells are of different elements, and some of three or more with a
/// number between.
fn are_compositions(cells: &[&str]) -> bool {
    let cells = looked_at(cells);
    let sets: Vec<Vec<&str>> = cells.iter().filter_map(|cell| elements_of(cell)).collect();
    if (sets.len() as f64) < MOST * cells.len() as f64 {
        return false;
    }
    let in_some = |is: &dyn Fn(&str) -> bool| {
        OF_COMPOSITIONS * cells.iter().filter(|cell| is(cell)).count() >= cells.len()
    };
    let is_no_code = |cell: &str| cell.contains(|c: char| c.is_ascii_lowercase() || c == '.');
    let are_many = |cell: &str| {
        let is_between = |pair: &[u8]| pair[0].is_ascii_digit() && pair[1].is_ascii_uppercase();
        let has_many = elements_of(cell).is_some_and(|elements| elements.len() >= ELEMENTS);
        has_many && cell.as_bytes().windows(2).any(is_between)
    };
    let different = || sets.iter().collect::<HashSet<_>>().len();
    in_some(&|cell: &str| cell.contains(|c: char| c.is_ascii_digit()))
        && (in_some(&is_no_code) || (different() >= SETS_OF_ELEMENTS && in_some(&are_many)))
}

/// Returns the different symbols of elements of a composition, such as `La0.5Sr0.5MnO3` and `Ca(OH)2`, in alphabetical order; none
/// of a cell that holds anything else, or one element only.
fn elements_of(cell: &str) -> Option<Vec<&str>> {
    let mut symbols: Vec<&str> = Vec::new();
    let mut rest = cell;
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_digit() || "().".contains(first) {
            rest = &rest[1..];
            continue;
        }
        let end = rest.char_indices().skip(1).find(|(_, c)| !c.is_ascii_lowercase());
        let (symbol, behind) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        Element::from_symbol(symbol)?;
        symbols.push(symbol);
        rest = behind;
    }
    symbols.sort_unstable();
    symbols.dedup();
    Some(symbols).filter(|symbols| symbols.len() > 1)
}

/// Returns whether a cell is the formula of a molecule with carbon and hydrogen, such as `C8H10N4O2`.
pub(super) fn is_formula(cell: &str) -> bool {
    let atoms = read_formula(cell).unwrap_or_default();
    let has_all = [Element::C, Element::H].iter().all(|element| atoms.contains_key(element));
    has_all && cell.contains(|c: char| c.is_ascii_digit())
}

/// Returns whether a cell has the form of an InChIKey: 14 and 10 letters, and one that may be left out, with hyphens between.
pub(super) fn is_inchikey(cell: &str) -> bool {
    let lengths: Vec<usize> = cell.split('-').map(str::len).collect();
    lengths.starts_with(&[14, 10])
}

/// Returns whether most cells are the first block of an InChIKey, 14 capitals, as nothing else is: of most of them one is no
/// amino acid.
fn are_blocks_of_keys(cells: &[&str]) -> bool {
    most(cells, |cell| {
        let are_capitals = cell.bytes().all(|byte| byte.is_ascii_uppercase());
        cell.len() == 14 && are_capitals && cell.contains(['B', 'J', 'O', 'U', 'X', 'Z'])
    })
}

/// The fewest letters, in the mean, of texts in a script without spaces between words; fewer are a name.
const LETTERS_OF_A_TEXT: usize = 6;

/// Returns whether cells are of a [script without spaces](are_unspaced) and long, as ids are not.
fn are_unspaced_texts(cells: &[&str]) -> bool {
    let letters = cells.iter().flat_map(|cell| cell.chars()).filter(|&c| is_unspaced(c)).count();
    letters >= LETTERS_OF_A_TEXT * cells.len() && are_unspaced(cells)
}

/// The fewest letters, in the mean, between the spaces of texts in a script without spaces between words; where there are fewer, a
/// program has divided the texts into words.
const LETTERS_OF_A_CLAUSE: usize = 5;

/// Returns whether most letters of cells are of a script that has no spaces between words, as Chinese and Thai, and the words
/// have none.
pub(super) fn are_unspaced(cells: &[&str]) -> bool {
    let cells = looked_at(cells);
    let letters = || cells.iter().flat_map(|cell| cell.chars()).filter(|c| c.is_alphabetic());
    let all = letters().count();
    let clauses = cells.iter().flat_map(|cell| cell.split_whitespace()).count();
    2 * letters().filter(|&c| is_unspaced(c)).count() > all && all >= LETTERS_OF_A_CLAUSE * clauses
}

/// Returns whether more than half of different texts have no word in common with another one, as peptides with modifications have:
/// `_TTPVAQM(Oxidation (M))FALK_`. Words are read as a training reads them. Texts that recur as classes do are learned by their words.
pub(super) fn share_no_words(cells: &[&str]) -> bool {
    let cells = looked_at(cells);
    let texts: HashSet<String> = cells.iter().map(|cell| cell.to_lowercase()).collect();
    if texts.len() < 2 || recur_as_classes(texts.len(), cells.len()) {
        return false;
    }
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for text in &texts {
        words_in(text).into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
    }
    let is_alone = |text: &&String| words_in(text).iter().all(|word| counts[word] == 1);
    2 * texts.iter().filter(is_alone).count() > texts.len()
}

/// Returns the different words of a text.
fn words_in(text: &str) -> HashSet<&str> {
    let is_between = |c: char| !c.is_alphanumeric() && c != '_';
    text.split(is_between).filter(|word| !word.is_empty()).collect()
}

/// Returns whether cells are digits with a point between, as many in all cells before the point or behind it, as ids of
/// arXiv are: `0704.0001`.
fn are_codes_with_points(cells: &[&str]) -> bool {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let lengths = |cell: &&str| {
        let (before, behind) = cell.split_once('.')?;
        (is_digits(before) && is_digits(behind)).then_some([before.len(), behind.len()])
    };
    let lengths: Option<Vec<[usize; 2]>> = cells.iter().map(lengths).collect();
    let Some(lengths) = lengths else { return false };
    (0..2).any(|side| lengths.windows(2).all(|pair| pair[0][side] == pair[1][side]))
}

/// The share of cells in which the case of letters must mean something, as a divisor.
const WITH_CASE: usize = 10;

/// Returns whether the case of letters means something in cells of single words that are not [sequences](are_sequences): one in
/// ten has small letters, and a capital behind a letter or digit, as `TiO2` and the reaction `c1ccccc1>CO>C1CCCCC1` have, and
/// `Apfel` has not; or nearly all are formulas, and one in ten has small letters, as `Co2` beside `CO2` has.
pub(super) fn case_means_something(cells: &[&str]) -> bool {
    let cells = looked_at(cells);
    let tells_apart = |cell: &&&str| {
        let characters: Vec<char> = cell.chars().collect();
        let is_within = |pair: &[char]| pair[0].is_alphanumeric() && pair[1].is_uppercase();
        characters.iter().any(|c| c.is_lowercase()) && characters.windows(2).any(is_within)
    };
    let are_formulas = most(&cells, |cell| read_formula(cell).is_some());
    let has_small_letter = |cell: &&&str| cell.contains(char::is_lowercase);
    let telling = if are_formulas {
        cells.iter().filter(has_small_letter).count()
    } else {
        cells.iter().filter(tells_apart).count()
    };
    telling > 0 && WITH_CASE * telling >= cells.len() && !are_sequences(&cells)
}

/// Returns a cell without the extension of CXSMILES behind the single word of a reaction, such as ` |f:0.1|`.
pub(super) fn without_extension(cell: &str) -> &str {
    let divided = cell.strip_suffix('|').and_then(|rest| rest.rsplit_once(" |"));
    match divided {
        Some((word, extension)) if !word.contains(char::is_whitespace) && !extension.is_empty() => {
            word
        }
        Some(_) | None => cell,
    }
}

/// Returns whether a letter is of a script that has no spaces between words: Thai, Lao, Burmese, Khmer, Japanese or Chinese.
fn is_unspaced(letter: char) -> bool {
    matches!(
        letter,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// Returns whether a cell has as many words as the name of a class, or is a path of such names, as in `Food > Fruit > Apple`.
fn has_words_of_a_class(cell: &str) -> bool {
    cell.split(" > ").all(|name| name.split_whitespace().count() <= WORDS_OF_A_CLASS)
}

/// Returns whether a cell has as many words as each other one.
fn have_as_many_words(cells: &[&str]) -> bool {
    let mut counts = cells.iter().map(|cell| cell.split_whitespace().count());
    let first = counts.next();
    counts.all(|count| Some(count) == first)
}

/// Returns whether cells are SMILES: most are, or half in a column whose name says so, whose others are skipped and named.
fn are_smiles(name: &str, cells: &[&str]) -> bool {
    if !may_be_smiles(name, cells) {
        return false;
    }
    let least = if says_smiles(name) { NAMED } else { MOST };
    share_of(&ColumnKind::Smiles, cells) >= least
}

/// Returns whether the name of a column says that its cells are SMILES.
fn says_smiles(name: &str) -> bool {
    name.to_lowercase().contains("smiles")
}

/// Returns whether cells look like SMILES before any is parsed: one word, with at most a name or an extension behind it, and some
/// with bonds, branches or rings, since labels of one letter are SMILES too. In a column whose name says SMILES, all molecules
/// may be chains.
fn may_be_smiles(name: &str, cells: &[&str]) -> bool {
    let is_short =
        |cell: &str| cell.contains(" |") || cell.split_whitespace().count() <= 1 + WORDS_OF_A_NAME;
    let marked = |cell: &&&str| cells::smiles(cell).contains(['(', '=', '#', '1']);
    most(cells, is_short)
        && (says_smiles(name) || 5 * cells.iter().filter(marked).count() >= cells.len())
}

/// Returns as many classes as cells name, which a training reads too.
fn classes_of(cells: &[&str]) -> ColumnKind {
    let has_signs = cells::are_signs(cells.iter().copied());
    let classes: Vec<&str> =
        cells.iter().copied().filter(|cell| is_class(cell, has_signs)).collect();
    ColumnKind::Classes(count_different(&classes))
}

/// Returns whether a cell is a class, in a column that [has signs](cells::are_signs) or not.
fn is_class(cell: &str, has_signs: bool) -> bool {
    !cells::is_no_class(cell) || (has_signs && cells::is_minus(cell))
}

/// Returns the classes of cells that are `+` and `-`, and other signs of these, beside missing values; none of other cells.
fn signs_of(cells: &[&str]) -> Option<ColumnKind> {
    if !cells::are_signs(cells.iter().copied()) {
        return None;
    }
    let is_sign = |cell: &str| ["+", "-", "+/-", "±", "++", "+++", "--"].contains(&cell);
    let is_present = |cell: &&str| cells::is_minus(cell) || !cells::is_missing(cell);
    let present: Vec<&str> = cells.iter().copied().filter(is_present).collect();
    most(&present, is_sign).then(|| classes_of(cells))
}

/// Returns rankings of the items that cells name, or of as many items as the first ranking among cells has; none without a ranking.
fn rankings_among(cells: &[&str]) -> Option<ColumnKind> {
    let of_first = || cells.iter().find_map(|cell| items_ranked(cell)).map(ColumnKind::Rankings);
    items_of(cells).map(ColumnKind::Orders).or_else(of_first)
}

/// Returns the items of cells that are orders: at least three, of which a cell names more than half in the mean, and some two
/// in both orders, as the parts of reactions (`A>B>C`) and paths do not. None of other cells.
fn items_of(cells: &[&str]) -> Option<Vec<String>> {
    if !most(cells, |cell| cell.contains('>')) {
        return None;
    }
    // one meaning for all cells, as a training has
    let names_have_tildes = !cells.iter().any(|cell| has_tilde_of_tie(cell));
    let orders: Vec<Vec<&str>> =
        cells.iter().filter_map(|cell| items_ordered(cell, names_have_tildes)).collect();
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

#[cfg(test)]
mod tests;
