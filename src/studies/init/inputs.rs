//! The column of the inputs, where nobody has chosen one.

use super::columns::Column;
use super::guess::names::{has_word_of_spectra, has_word_of_texts, is_name_of_texts};
use super::guess::{CLASSES, recur_as_classes};
use super::kind::ColumnKind;
use super::uses::{are_learned_beside_others, are_vectors, is_aside, varies};

/// The most letters, in the mean, of names in a script without spaces between words; more are a text.
const LETTERS_OF_A_NAME: f64 = 30.0;

/// The share of rows that texts beside molecules or vectors must be in, as a divisor: those in fewer are remarks.
const FILLED: usize = 10;

/// How many times as many cells other texts have beside which texts with gaps say little.
const FULLER: usize = 2;

/// A table whose column of inputs is looked for.
pub(super) struct InputChoice<'c> {
    /// All columns.
    pub columns: &'c [Column],
    /// The name of the column of the outputs, if the caller has chosen one.
    pub output: Option<&'c str>,
}

impl<'c> InputChoice<'c> {
    /// Returns the column of the inputs: what says most of a row comes first.
    pub fn choose(&self) -> Option<&'c Column> {
        // texts that say something of their row
        self.longest(|column| self.are_usual_texts(column))
            .or_else(|| self.vectors())
            .or_else(|| self.free().find(|column| are_molecules(column)))
            // texts that look like labels with spaces between, or are names
            .or_else(|| self.longest(are_words))
            // texts that say less: nothing better is there
            .or_else(|| self.longest(are_texts))
            .or_else(|| self.longest(are_many_names))
            .or_else(|| self.longest(are_labels))
    }

    /// Returns the columns but that of the outputs.
    fn free(&self) -> impl Iterator<Item = &'c Column> {
        self.columns.iter().filter(|column| self.output != Some(column.name.as_str()))
    }

    /// Returns the longest texts among columns of which something holds: of those with a usual name of texts, or else of all. Measures
    /// and orders of items are no texts.
    fn longest(&self, holds: impl Fn(&Column) -> bool) -> Option<&'c Column> {
        let is_one =
            |column: &&Column| holds(column) && varies(column) && !column.lists.are_no_texts();
        self.free().filter(is_one).max_by(|a, b| {
            let by_name = is_name_of_texts(&a.name).cmp(&is_name_of_texts(&b.name));
            by_name.then(a.words.length.total_cmp(&b.words.length))
        })
    }

    /// Returns the first column of vectors that differ, in enough rows.
    fn vectors(&self) -> Option<&'c Column> {
        let is_one =
            |column: &&Column| are_vectors(column) && varies(column) && !self.is_sparse(column);
        self.free().find(is_one)
    }

    /// Returns whether a column has texts that say something of their row, from which the output can be learned.
    fn are_usual_texts(&self, column: &Column) -> bool {
        if !are_texts(column) || are_names(column) {
            return false;
        }
        !self.says_which_row(column) && !self.says_little(column)
    }

    /// Returns whether texts say which row it is, or where it is from, and nothing that is learned from.
    fn says_which_row(&self, column: &Column) -> bool {
        self.are_of_many_rows(column)
            || self.are_formulas_of_molecules(column)
            || self.are_unspaced_names(column)
            || self.names_its_rows(column)
    }

    /// Returns whether texts say less than another column of inputs.
    fn says_little(&self, column: &Column) -> bool {
        self.is_sparse(column)
            || self.are_bonds_of_molecules(column)
            || self.is_beside_fuller_texts(column)
    }

    /// Returns whether a few texts recur, beside molecules or vectors of which more are different: descriptions of an assay say where
    /// a row is from, if something else is learned.
    fn are_of_many_rows(&self, column: &Column) -> bool {
        let recur = recur_as_classes(column.distinct, column.filled);
        let has_more = |other: &Column| other.distinct > column.distinct;
        recur
            && !is_name_of_texts(&column.name)
            && self.has_something_to_learn(&[column])
            && self.free().any(|other| is_better_input(other) && has_more(other))
    }

    /// Returns whether texts are formulas beside molecules, with something else to learn: a formula says which molecule a row is about.
    fn are_formulas_of_molecules(&self, column: &Column) -> bool {
        let is_plain_text = |other: &Column| are_texts(other) && !other.words.are_formulas;
        let has_more = |other: &Column| {
            let may_be_used = is_plain_text(other) || are_learned_beside_others(&other.kind);
            may_be_used && varies(other) && !is_aside(other)
        };
        column.words.are_formulas
            && self.free().any(are_molecules)
            && self.columns.iter().any(has_more)
    }

    /// Returns whether texts without spaces are names beside molecules or vectors: without spaces, names of samples and molecules look
    /// like short texts.
    fn are_unspaced_names(&self, column: &Column) -> bool {
        column.words.are_unspaced
            && column.distinct == column.filled
            && column.words.length <= LETTERS_OF_A_NAME
            && !is_name_of_texts(&column.name)
            && self.has_something_to_learn(&[column])
            && self.free().any(is_better_input)
    }

    /// Returns whether compositions, peptides or reactions all differ beside molecules or vectors: there they name the row as an id
    /// does. Where only one other column may be the input, something else must be left to learn.
    fn names_its_rows(&self, column: &Column) -> bool {
        let is_one = |other: &&Column| is_better_input(other) && varies(other);
        let others = self.free().filter(is_one).count();
        column.words.would_be_ids
            && others > 0
            && (others > 1 || self.has_something_to_learn(&[column]))
    }

    /// Returns whether few rows have a cell, beside molecules or vectors that more rows have: remarks on a few rows say nothing of the
    /// others.
    fn is_sparse(&self, column: &Column) -> bool {
        let is_little_filled = FILLED * column.filled <= column.filled + column.empty;
        is_little_filled
            && !has_word_of_texts(&column.name)
            && self.is_beside_fuller(column, 1, is_better_input)
    }

    /// Returns whether cells are the bonds of atoms beside molecules or vectors, which PubChem writes as the numbers of two atoms and
    /// of the bond between: the molecules say that too.
    fn are_bonds_of_molecules(&self, column: &Column) -> bool {
        column.lists.are_bonds
            && !has_word_of_spectra(&column.name)
            && self.is_beside_fuller(column, 1, is_better_input)
    }

    /// Returns whether half of the rows have no cell, beside texts or names that far more rows have: a few numbers of cabins say less
    /// than the names beside them.
    fn is_beside_fuller_texts(&self, column: &Column) -> bool {
        column.empty >= column.filled
            && !has_word_of_texts(&column.name)
            && self.is_beside_fuller(column, FULLER, are_fuller_texts)
    }

    /// Returns whether another column that may be the input in its place has at least so many times as many cells, and a third one is
    /// left to learn.
    fn is_beside_fuller(&self, column: &Column, times: usize, may_be: fn(&Column) -> bool) -> bool {
        self.free().any(|other| {
            other.name != column.name
                && may_be(other)
                && varies(other)
                && other.filled >= times * column.filled
                && self.has_something_to_learn(&[column, other])
        })
    }

    /// Returns whether the caller has chosen the output, or a column beside these can be it.
    fn has_something_to_learn(&self, except: &[&Column]) -> bool {
        let is_learnable = |column: &Column| {
            let is_other = except.iter().all(|other| other.name != column.name);
            is_other
                && varies(column)
                && !is_aside(column)
                && are_learned_beside_others(&column.kind)
        };
        self.output.is_some() || self.columns.iter().any(is_learnable)
    }
}

/// Returns whether a column has molecules or vectors, from which more is learned than from texts that say which row it is.
fn is_better_input(column: &Column) -> bool {
    are_molecules(column) || are_vectors(column)
}

fn are_molecules(column: &Column) -> bool {
    column.kind == ColumnKind::Smiles
}

fn are_texts(column: &Column) -> bool {
    column.kind == ColumnKind::Texts
}

fn are_labels(column: &Column) -> bool {
    matches!(column.kind, ColumnKind::Labels(_))
}

/// Returns whether a column has more names than classes have.
fn are_many_names(column: &Column) -> bool {
    matches!(column.kind, ColumnKind::Classes(count) if count > CLASSES)
}

/// Returns whether labels are most likely the words of texts.
fn are_words(column: &Column) -> bool {
    column.kind == ColumnKind::Labels(' ') || column.classes.are_phrases
}

/// Returns whether texts are lists, or single words that recur, of which nothing is learned word by word.
fn are_names(column: &Column) -> bool {
    let recur = column.filled >= 2 * column.distinct;
    column.lists.unread_list.is_some() || (column.words.are_single_words && recur)
}

/// Returns whether a column has texts of words or phrases.
fn are_fuller_texts(column: &Column) -> bool {
    let are_of_words = are_texts(column) && !are_names(column);
    (are_of_words || column.classes.are_phrases) && !column.lists.are_no_texts()
}
