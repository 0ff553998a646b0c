//! What a column can be used for, by its kind, its name and its cells.

use super::columns::Column;
use super::guess::names::{names_folds, names_splits, names_weights_of_rows};
use super::kind::ColumnKind;

/// Names of columns that say where or when rows are from, or hold the signs of bounds, as those of ChEMBL.
const ASIDE: [&str; 4] = ["source", "year", "date", "standard relation"];

/// The most folds, or seeds of splits.
const FOLDS: usize = 100;

/// Returns whether a column holds numbers, in any notation.
pub(super) fn are_numbers(column: &Column) -> bool {
    matches!(column.kind, ColumnKind::Numbers(_))
}

/// Returns whether a column holds vectors.
pub(super) fn are_vectors(column: &Column) -> bool {
    matches!(column.kind, ColumnKind::Vectors(_))
}

/// Returns whether cells of a kind are learned beside molecules, vectors and texts.
pub(super) fn are_learned_beside_others(kind: &ColumnKind) -> bool {
    match kind {
        ColumnKind::Numbers(_)
        | ColumnKind::Classes(_)
        | ColumnKind::Labels(_)
        | ColumnKind::Rankings(_)
        | ColumnKind::Orders(_) => true,
        ColumnKind::Smiles
        | ColumnKind::Inchi
        | ColumnKind::Vectors(_)
        | ColumnKind::Dates
        | ColumnKind::Texts
        | ColumnKind::Ids
        | ColumnKind::Nothing => false,
    }
}

/// Returns whether a column divides rows, says where or when they are from, or something of the numbers of another column.
pub(super) fn is_aside(column: &Column) -> bool {
    is_set_aside(column) || column.are_times || column.qualifies.is_some()
}

/// Returns whether the name and cells of a column are those of years, folds and the like, which could be learned, but rarely are.
pub(super) fn is_set_aside(column: &Column) -> bool {
    let name = column.name.as_str();
    let is_named = names_splits(name) || ASIDE.contains(&name.to_lowercase().as_str());
    // changes of genes are called folds too
    let are_few = || column.example.parse::<u32>().is_ok() && column.distinct <= FOLDS;
    is_named || column.are_years || names_folds(name) && are_few() || names_weights_of_rows(name)
}

/// Returns whether the cells of a column differ, so that there is something to learn from them.
pub(super) fn varies(column: &Column) -> bool {
    column.distinct > 1
}
