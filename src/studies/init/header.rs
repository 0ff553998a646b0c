//! Whether a table begins with the names of its columns.

use dsokr_data::cells;
use dsokr_molecule::Molecule;

/// The fewest words, and characters, of a sentence, which is no name.
const WORDS_OF_A_SENTENCE: usize = 5;
const CHARACTERS_OF_A_SENTENCE: usize = 30;

/// Whether the cells of the first line are those of a row: one is a sentence, a SMILES or a number with decimals.
pub(super) fn is_row(first: &[String]) -> bool {
    first.iter().map(|cell| cell.trim()).any(|cell| {
        let is_sentence = cell.split_whitespace().count() >= WORDS_OF_A_SENTENCE
            && cell.len() >= CHARACTERS_OF_A_SENTENCE;
        let is_fraction = cell.contains('.') && cell.parse::<f64>().is_ok();
        is_sentence || is_fraction || is_structure(cell)
    })
}

/// Whether a cell is a molecule that no name of a column is.
fn is_structure(cell: &str) -> bool {
    let is_marked = cell.contains(['(', '=', '#']) && !cell.contains(char::is_whitespace);
    is_marked && Molecule::parse(cells::smiles(cell)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_rows() {
        let is_row = |line: &str| is_row(&line.split('\t').map(str::to_owned).collect::<Vec<_>>());
        for names in ["id\tdescription\tsmiles", "0\t1\t2", "IC50 (nM)\tC", "Price (EUR)\t2020"] {
            assert!(!is_row(names), "{names}");
        }
        let rows = ["17\tan alcohol\tCC(C)O", "a red thing with a long tail\twarm", "x\t3.5"];
        for row in rows {
            assert!(is_row(row), "{row}");
        }
    }
}
