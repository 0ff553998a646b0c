//! The columns that a configuration leaves out although they could be learned.

use super::Choices;
use super::columns::Column;
use super::guess::names::is_id;
use super::kind::ColumnKind;
use super::roles::{are_learned_beside_others, are_numbers, are_vectors};

/// The columns that are neither inputs nor outputs, beside those that are.
pub(super) struct Others<'a> {
    pub choices: &'a Choices,
    pub input: &'a Column,
    pub output: &'a Column,
    /// The columns whose molecules are those of the input.
    pub copies: &'a [String],
    /// The columns that are left out, and vary.
    pub columns: Vec<&'a Column>,
}

impl Others<'_> {
    /// Returns the number of columns of classes, of which one is the output that nobody has chosen.
    pub fn further_classes(&self) -> usize {
        self.like_output(are_classes)
    }

    /// Returns the number of columns of numbers, where one that nobody has chosen is the output.
    pub fn further_numbers(&self) -> usize {
        self.like_output(are_numbers)
    }

    /// Returns the number of columns of a kind that the output is of too, which nobody has chosen.
    fn like_output(&self, are_such: fn(&Column) -> bool) -> usize {
        if !self.choices.outputs.is_empty() || !are_such(self.output) {
            return 0;
        }
        self.columns.iter().filter(|column| are_such(column)).count()
    }

    /// Returns the columns that can be learned, where nobody has chosen the output, without those that are counted as further
    /// classes and numbers.
    pub fn further_learned(&self) -> Vec<String> {
        if !self.choices.outputs.is_empty() {
            return Vec::new();
        }
        let is_counted = |column: &Column| {
            are_classes(self.output) && are_classes(column)
                || are_numbers(self.output) && are_numbers(column)
        };
        let may_be_learned = |column: &Column| {
            let are_molecules =
                column.kind == ColumnKind::Smiles && !self.copies.contains(&column.name);
            (are_molecules || are_learned_beside_others(&column.kind)) && !is_counted(column)
        };
        self.names_of(may_be_learned)
    }

    /// Returns the number of columns of texts, of which one is the input that nobody has chosen.
    pub fn further_texts(&self) -> usize {
        if self.choices.input.is_none() && are_texts(self.input) {
            self.columns.iter().filter(|column| are_texts(column)).count()
        } else {
            0
        }
    }

    /// Returns the columns of texts and vectors beside molecules or vectors that are the input, where nobody has chosen columns.
    pub fn further_inputs(&self) -> Vec<String> {
        let is_found = self.choices.input.is_none() && self.choices.outputs.is_empty();
        let is_beside = self.input.kind == ColumnKind::Smiles || are_vectors(self.input);
        if is_found && is_beside {
            self.names_of(|column| are_texts(column) || are_vectors(column))
        } else {
            Vec::new()
        }
    }

    /// Returns the columns of words that all differ and are therefore found to be ids, beside inputs that nobody has chosen and
    /// of which fewer than half as many are different: compositions beside the papers that have them.
    pub fn further_ids(&self) -> Vec<String> {
        let Choices { input, kinds, .. } = self.choices;
        let may_be_better = |column: &Column| {
            let is_stated = kinds.iter().any(|stated| stated.column == column.name);
            let letters = column.example.chars().filter(|c| c.is_alphabetic()).count();
            column.kind == ColumnKind::Ids
                && column.distinct == column.filled
                && !is_stated
                && !is_id(&column.name)
                && letters > 1
                && 2 * self.input.distinct < column.distinct
        };
        let has_molecules = self.input.kind == ColumnKind::Smiles || are_vectors(self.input);
        if input.is_some() || has_molecules { Vec::new() } else { self.names_of(may_be_better) }
    }

    fn names_of(&self, are_such: impl Fn(&Column) -> bool) -> Vec<String> {
        let columns = self.columns.iter().filter(|column| are_such(column));
        columns.map(|column| column.name.clone()).collect()
    }
}

fn are_classes(column: &Column) -> bool {
    matches!(column.kind, ColumnKind::Classes(_))
}

/// Returns whether a column has texts, and no codes, formulas, measures, lists or rankings.
fn are_texts(column: &Column) -> bool {
    let are_codes = column.are_single_words && column.have_digits && !column.are_unspaced;
    let is_odd =
        column.are_measures || column.are_formulas || are_codes || column.unread_list.is_some();
    column.kind == ColumnKind::Texts && !is_odd && column.reordered.is_none()
}
