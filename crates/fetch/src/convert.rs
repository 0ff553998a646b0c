use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;

use dsokr_core::store::{Contents, Tensor, write_atomically};
use dsokr_data::library::Library;
use dsokr_data::read_official;
use dsokr_data::table::Table;

use crate::error::Error;
use crate::folder::create_parent;
use crate::table::Conversion;

/// The tables of pairs, in the order of the official files.
const TABLES: [&str; 3] = ["train.tsv", "val.tsv", "test.tsv"];
/// The table of the molecules: written last, so that a folder that has it is whole.
const MOLECULES: &str = "molecules.tsv";

impl Conversion {
    /// Makes the files, unless they are there.
    pub(crate) fn run(&self, root: &Path) -> Result<(), Error> {
        match self {
            Self::Column { from, column, to } => {
                let to = root.join(to);
                if to.is_file() {
                    return Ok(());
                }
                create_parent(&to)?;
                let table = Table::read(&root.join(from), &[column])?;
                write_lines(&to, table.column(column)?)
            }
            Self::TextToMolecule { official, smiles, to } => {
                let to = root.join(to);
                if to.join(MOLECULES).is_file() {
                    return Ok(());
                }
                text_to_molecule(official, smiles, root, &to)
            }
            Self::Spectra { from, adduct, validation, seed, to } => {
                let to = root.join(to);
                if to.join(MOLECULES).is_file() {
                    return Ok(());
                }
                let library = Library::read(&root.join(from))?.merged(adduct)?;
                spectra(&library, *validation, *seed, &to)
            }
        }
    }
}

fn write_lines(path: &Path, lines: &[String]) -> Result<(), Error> {
    Ok(write_atomically(path, |out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?)
}

/// Writes the three files of a library, divided by its molecules.
fn spectra(library: &Library, validation: f64, seed: u64, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(Error::io(to))?;
    let parts = library.parts([validation], seed);
    for (part, name) in parts.iter().zip(["validation.mgf", "train.mgf"]) {
        let path = to.join(name);
        if part.is_empty() {
            return Err(Error::download(
                path.display(),
                "no spectra for it: the library is too small, or its spectra do not name the adduct and an instrument with FT, \
                 Orbitrap or TOF in its name",
            ));
        }
        library.write_spectra(&path, part)?;
        tracing::info!("{}: {} spectra", path.display(), part.len());
    }
    let path = to.join(MOLECULES);
    tracing::info!("{}: {} molecules", path.display(), library.molecules().len());
    Ok(library.write_molecules(&path)?)
}

/// Writes the tables of pairs, the molecules and their vectors of official files. Molecules without SMILES are left out, with the
/// pairs that name them.
fn text_to_molecule(
    official: &[String; 3],
    smiles: &[String],
    root: &Path,
    to: &Path,
) -> Result<(), Error> {
    let mut by_id = HashMap::new();
    for file in smiles {
        let path = root.join(file);
        let text = fs::read_to_string(&path).map_err(Error::reading(&path))?;
        // the first line has the names of the columns
        for (at, line) in text.lines().enumerate().skip(1) {
            let [id, smiles, _, ..] = line.split('\t').collect::<Vec<_>>()[..] else {
                let place = format!("{}, line {}", path.display(), at + 1);
                let message = "fewer than three fields: id, SMILES and description are needed";
                return Err(Error::download(place, message));
            };
            by_id.insert(id.to_owned(), smiles.to_owned());
        }
    }
    fs::create_dir_all(to).map_err(Error::io(to))?;
    let mut molecules = vec!["cid\tsmiles\tcandidate".to_owned()];
    let mut vectors = Vec::new();
    let mut seen = HashSet::new();
    let mut left_out = 0;
    let mut width = 0;
    for (file, name) in official.iter().zip(TABLES) {
        let official = read_official(&root.join(file))?;
        let columns = official.features.width();
        if width != 0 && columns != width {
            return Err(dsokr_core::Error::width(columns, width).into());
        }
        width = columns;
        let mut pairs = vec!["cid\tdescription".to_owned()];
        for (row, (id, description)) in official.ids.iter().zip(&official.descriptions).enumerate()
        {
            let Some(smiles) = by_id.get(id) else {
                left_out += 1;
                continue;
            };
            pairs.push(format!("{id}\t{description}"));
            if seen.insert(id.clone()) {
                molecules.push(format!("{id}\t{smiles}\t1"));
                vectors
                    .extend_from_slice(&official.features.values()[row * width..(row + 1) * width]);
            }
        }
        write_lines(&to.join(name), &pairs)?;
    }
    if left_out > 0 {
        tracing::warn!("{left_out} pairs are left out: their molecules have no SMILES");
    }
    let tensors = [Tensor::f32("mol2vec", &[seen.len(), width], &vectors)];
    Contents::new("vectors", 1, &BTreeMap::new(), &tensors)
        .write(&to.join("mol2vec.safetensors"))?;
    write_lines(&to.join(MOLECULES), &molecules)
}
