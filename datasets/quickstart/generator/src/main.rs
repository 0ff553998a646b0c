//! Makes the quickstart set in `datasets/quickstart`.
//!
//! `cargo run --release -p dsokr-quickstart-generator` describes the committed molecules again and writes
//! train, validation, test and numbers of atoms; `… -- select MOLECULES.tsv` first chooses the molecules
//! anew from a table whose first two columns are a PubChem CID and a SMILES; rows with another kind
//! of id are left out.

use std::error::Error;
use std::fs;
use std::path::Path;

use dsokr_quickstart_generator::{SEED, select, sources, tables};

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
        _ => return Err("usage: dsokr-quickstart-generator [select MOLECULES.tsv]".into()),
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
