//! Makes the quickstart set in `datasets/quickstart`.
//!
//! `cargo run --release -p dsokr-quickstart-generator` describes the committed molecules again and writes
//! train, validation, test and numbers of atoms; `… -- select MOLECULES.tsv` first chooses the molecules
//! anew from a table whose first two columns are a PubChem CID and a SMILES; rows with another kind
//! of id are left out. `… -- describe MOLECULES.tsv TABLE.tsv` writes a description beside each molecule of a table
//! whose first two columns are a number and a SMILES, and leaves the set as it is.

use std::error::Error;
use std::fs;
use std::path::Path;

use dsokr_molecule::Molecule;
use dsokr_quickstart_generator::{SEED, describe, select, sources, tables};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::create_dir_all(&folder)?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["select", source] => {
            let text = fs::read_to_string(source)?;
            fs::write(folder.join("molecules.tsv"), select(&sources(&text), SEED)?)?;
        }
        ["describe", source, target] => {
            let text = fs::read_to_string(source)?;
            return Ok(fs::write(target, described(&sources(&text))?)?);
        }
        _ => {
            let usage = "usage: dsokr-quickstart-generator [select MOLECULES.tsv | describe MOLECULES.tsv TABLE.tsv]";
            return Err(usage.into());
        }
    }
    let made = tables(&fs::read_to_string(folder.join("molecules.tsv"))?, SEED)?;
    for (name, text) in [
        ("train.tsv", made.train),
        ("validation.tsv", made.validation),
        ("test.tsv", made.test),
        ("atoms.tsv", made.atoms),
    ] {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}

/// A table `id<TAB>smiles<TAB>description` of these molecules.
fn described(molecules: &[(&str, &str)]) -> Result<String, Box<dyn Error>> {
    let mut table = "id\tsmiles\tdescription\n".to_owned();
    for (id, smiles) in molecules {
        let molecule = Molecule::parse(smiles)?;
        table.push_str(&format!("{id}\t{smiles}\t{}\n", describe(&molecule, SEED, id)));
    }
    Ok(table)
}
