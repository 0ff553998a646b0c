//! Prints what this crate reads in molecules, for a comparison with another program (`benches/rdkit_molecules.py`).
//!
//! Reads SMILES, one a line, from standard input, and writes a JSON object for each:
//! `{"canonical", "formula", "mass", "centers", "double_bonds", "names", "aromatic", "rings", "groups"}`, or
//! `{"error"}`.
//!
//! `centers` and `double_bonds` count configurations; `names` says which of R, S, E and Z occur.

use std::collections::BTreeMap;
use std::io::{BufRead, BufWriter, Write, stdin, stdout};

use dsokr_molecule::{Fact, Molecule, functional_groups};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = BufWriter::new(stdout().lock());
    let facts = ["center R", "center S", "double bond E", "double bond Z"];
    let facts: Vec<Fact> = facts.iter().map(|fact| fact.parse()).collect::<Result<_, _>>()?;
    for line in stdin().lock().lines() {
        let row = match Molecule::parse(&line?) {
            Ok(molecule) => read(molecule, &facts),
            Err(error) => json!({"error": error.to_string()}),
        };
        writeln!(out, "{row}")?;
    }
    Ok(())
}

fn read(molecule: Molecule, facts: &[Fact]) -> Value {
    let groups: BTreeMap<String, usize> = functional_groups(&molecule)
        .into_iter()
        .map(|(group, count)| (format!("{group:?}"), count))
        .collect();
    json!({
        "canonical": molecule.canonical_smiles(),
        "formula": molecule.formula(),
        "mass": molecule.exact_mass(),
        "centers": molecule.atoms().iter().filter(|atom| atom.stereo).count(),
        "double_bonds": molecule.bonds().iter().filter(|bond| bond.stereo).count(),
        "aromatic": molecule.atoms().iter().filter(|atom| atom.aromatic).count(),
        "rings": molecule.rings().len(),
        "groups": groups,
        "names": Fact::which(facts, molecule),
    })
}
