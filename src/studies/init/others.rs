//! The columns that a configuration leaves out although they could be learned.

use super::Choices;
use super::columns::Column;
use super::guess::names::is_id;
use super::kind::ColumnKind;
use super::roles::Roles;
use super::uses::{are_learned_beside_others, are_numbers, are_vectors};

/// The columns that a configuration leaves out although they could be learned or learned from.
#[derive(Clone, Debug)]
pub struct LeftOut {
    /// Number of columns of classes, of which one is the output that nobody has chosen.
    pub classes: usize,
    /// Number of columns of numbers that are no outputs, where one that nobody has chosen is.
    pub numbers: usize,
    /// The columns that can be learned, where nobody has chosen the output, without those that [`classes`](Self::classes) and
    /// [`numbers`](Self::numbers) count.
    pub learned: Vec<String>,
    /// The columns of molecules beside an input of molecules and an output of others.
    pub molecules: Vec<String>,
    /// Number of columns of texts, of which one is the input that nobody has chosen.
    pub texts: usize,
    /// The columns of texts and vectors that are no inputs beside molecules or vectors, where nobody has chosen columns.
    pub inputs: Vec<String>,
    /// The columns of words that all differ and are found to be ids, beside inputs that nobody has chosen and that differ far less.
    pub ids: Vec<String>,
}

/// The columns that are neither inputs nor outputs, beside those that are.
pub(super) struct Others<'a> {
    pub choices: &'a Choices,
    pub roles: &'a Roles,
    /// The columns that are left out, and vary.
    pub columns: Vec<&'a Column>,
}

impl Others<'_> {
    /// Returns those of the columns that could be learned or learned from.
    pub fn left_out(&self) -> LeftOut {
        LeftOut {
            classes: self.like_output(are_classes),
            numbers: self.like_output(are_numbers),
            learned: self.learned(),
            molecules: self.molecules(),
            texts: self.texts(),
            inputs: self.inputs(),
            ids: self.ids(),
        }
    }

    /// Returns the number of columns of a kind that the output is of too, which nobody has chosen.
    fn like_output(&self, are_such: fn(&Column) -> bool) -> usize {
        if !self.choices.outputs.is_empty() || !are_such(&self.roles.output) {
            return 0;
        }
        self.columns.iter().filter(|column| are_such(column)).count()
    }

    /// Returns the columns that can be learned, where nobody has chosen the output, without those that are counted as classes and
    /// numbers.
    fn learned(&self) -> Vec<String> {
        if !self.choices.outputs.is_empty() {
            return Vec::new();
        }
        let Roles { output, copies, .. } = self.roles;
        let is_counted = |column: &Column| {
            are_classes(output) && are_classes(column) || are_numbers(output) && are_numbers(column)
        };
        let may_be_learned = |column: &Column| {
            let are_molecules = column.kind == ColumnKind::Smiles && !copies.contains(&column.name);
            (are_molecules || are_learned_beside_others(&column.kind)) && !is_counted(column)
        };
        self.names_of(may_be_learned)
    }

    /// Returns the columns of other molecules than those of the input, where no molecules are the output.
    fn molecules(&self) -> Vec<String> {
        let Roles { input, output, copies, .. } = self.roles;
        if input.kind != ColumnKind::Smiles || output.kind == ColumnKind::Smiles {
            return Vec::new();
        }
        self.names_of(|column| column.kind == ColumnKind::Smiles && !copies.contains(&column.name))
    }

    /// Returns the number of columns of texts, of which one is the input that nobody has chosen.
    fn texts(&self) -> usize {
        if self.choices.input.is_none() && are_plain_texts(&self.roles.input) {
            self.columns.iter().filter(|column| are_plain_texts(column)).count()
        } else {
            0
        }
    }

    /// Returns the columns of texts and vectors beside molecules or vectors that are the input, where nobody has chosen columns.
    fn inputs(&self) -> Vec<String> {
        let is_found = self.choices.input.is_none() && self.choices.outputs.is_empty();
        let input = &self.roles.input;
        let is_beside = input.kind == ColumnKind::Smiles || are_vectors(input);
        if is_found && is_beside {
            self.names_of(|column| are_plain_texts(column) || are_vectors(column))
        } else {
            Vec::new()
        }
    }

    /// Returns the columns of words that all differ and are therefore found to be ids, beside inputs that nobody has chosen and
    /// of which fewer than half as many are different: compositions beside the papers that have them.
    fn ids(&self) -> Vec<String> {
        let Choices { input: chosen, kinds, .. } = self.choices;
        let input = &self.roles.input;
        let may_be_better = |column: &Column| {
            let is_stated = kinds.iter().any(|stated| stated.column == column.name);
            let letters = column.example.chars().filter(|c| c.is_alphabetic()).count();
            column.kind == ColumnKind::Ids
                && column.distinct == column.filled
                && !is_stated
                && !is_id(&column.name)
                && letters > 1
                && 2 * input.distinct < column.distinct
        };
        let has_molecules = input.kind == ColumnKind::Smiles || are_vectors(input);
        if chosen.is_some() || has_molecules { Vec::new() } else { self.names_of(may_be_better) }
    }

    /// Returns the names of the columns for which something holds.
    fn names_of(&self, are_such: impl Fn(&Column) -> bool) -> Vec<String> {
        let columns = self.columns.iter().filter(|column| are_such(column));
        columns.map(|column| column.name.clone()).collect()
    }
}

fn are_classes(column: &Column) -> bool {
    matches!(column.kind, ColumnKind::Classes(_))
}

/// Returns whether a column has texts, and no codes, formulas, measures, lists or rankings.
fn are_plain_texts(column: &Column) -> bool {
    let are_codes =
        column.words.are_single_words && column.words.have_digits && !column.words.are_unspaced;
    let are_lists = column.lists.unread_list.is_some() || column.lists.are_no_texts();
    column.kind == ColumnKind::Texts && !are_codes && !are_lists && !column.words.are_formulas
}
