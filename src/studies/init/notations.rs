//! Notations of molecules other than SMILES, which are not read.

use super::columns::Column;
use super::kind::ColumnKind;

/// A notation of molecules that is not read.
struct Notation {
    name: &'static str,
    /// Returns whether a column is written so.
    is_of: fn(&Column) -> bool,
    remedy: &'static str,
}

/// All of them.
const NOTATIONS: [Notation; 4] = [
    Notation {
        name: "InChI",
        is_of: |column| column.kind == ColumnKind::Inchi,
        remedy: "RDKit's Chem.MolToSmiles(Chem.MolFromInchi(text)) makes SMILES of it",
    },
    Notation {
        name: "SELFIES",
        is_of: |column| is_selfies(&column.example),
        remedy: "decoder(text) of the package selfies makes SMILES of it",
    },
    Notation {
        name: "HELM",
        is_of: |column| is_helm(&column.example),
        remedy: "RDKit's Chem.MolToSmiles(Chem.MolFromHELM(text)) makes SMILES of peptides",
    },
    Notation {
        name: "SMARTS",
        is_of: |column| is_smarts(&column.example),
        remedy: "these are patterns, of which many molecules are; RDKit's Chem.MolToSmiles(molecule) writes SMILES, and not \
                 Chem.MolToSmarts(molecule)",
    },
];

/// Returns the sentences about columns of molecules in such notations, one for each.
pub fn remarks_on_notations(columns: &[Column]) -> Vec<String> {
    let remark = |column: &Column| {
        let is_of = |notation: &&Notation| (notation.is_of)(column);
        let Notation { name, remedy, .. } = NOTATIONS.iter().find(is_of)?;
        Some(format!("molecules are read as SMILES, and {:?} has {name}: {remedy}", column.name))
    };
    let are_others = |column: &&Column| column.kind != ColumnKind::Smiles;
    columns.iter().filter(are_others).filter_map(remark).collect()
}

/// Returns whether a text is symbols of SELFIES, several in brackets each with nothing between, of which one says a branch, a ring or
/// the order of a bond, as no atom of a SMILES does.
fn is_selfies(text: &str) -> bool {
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let symbols: Vec<&str> = inner.map_or_else(Vec::new, |inner| inner.split("][").collect());
    let are_plain = symbols.iter().all(|symbol| !symbol.contains(['[', ']']));
    let is_special = |symbol: &&str| {
        symbol.starts_with(['=', '#']) || symbol.contains("Branch") || symbol.contains("Ring")
    };
    symbols.len() > 1 && are_plain && symbols.iter().any(is_special)
}

/// Returns whether a text is HELM: a polymer with its monomers in braces, and sections that `$` ends.
fn is_helm(text: &str) -> bool {
    let is_polymer =
        ["PEPTIDE", "RNA", "CHEM", "BLOB"].iter().any(|polymer| text.starts_with(polymer));
    is_polymer && text.contains('{') && text.contains("}$")
}

/// Returns whether a text has an atom by its number, as SMARTS has and no SMILES.
fn is_smarts(text: &str) -> bool {
    let behind = text.split("[#").skip(1);
    let mut numbers = behind.map(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    !text.contains(char::is_whitespace) && numbers.any(|is_number| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notations_are_told_from_smiles_and_from_texts() {
        // written by selfies.encoder, and by RDKit's MolToHELM and MolToSmarts
        assert!(is_selfies("[C][C][=Branch1][C][=O][O]") && is_selfies("[C][=C][Ring1]"));
        assert!(is_helm("PEPTIDE1{A.C.D}$$$$V2.0") && is_helm("RNA1{R(A)P.R(C)P}$$$$"));
        assert!(is_smarts("[#6]-[#8]") && is_smarts("C[#7:1]"));
        for other in
            ["[Na+].[Cl-]", "[C][C]", "C#C", "[H][H]", "PEPTIDE1", "a [#5] b", "[#5 of 6]", ""]
        {
            assert!(!is_selfies(other) && !is_helm(other) && !is_smarts(other), "{other}");
        }
    }
}
