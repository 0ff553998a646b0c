//! The project's own data set and its configuration, which are part of the program.

use std::fs;
use std::path::{Path, PathBuf};

use dsokr_core::store::{create_folder, write_atomically};

use crate::config::{Config, Override};
use crate::error::Error;
use crate::fit::fit;

/// Path and content of each file.
const FILES: [(&str, &str); 5] = [
    (CONFIG, include_str!("../../configs/quickstart.toml")),
    ("datasets/quickstart/train.tsv", include_str!("../../datasets/quickstart/train.tsv")),
    (
        "datasets/quickstart/validation.tsv",
        include_str!("../../datasets/quickstart/validation.tsv"),
    ),
    ("datasets/quickstart/test.tsv", include_str!("../../datasets/quickstart/test.tsv")),
    (MOLECULES, MOLECULE_TABLE),
];

/// The path of the configuration in the folder that it is written into.
pub(crate) const CONFIG: &str = "configs/quickstart.toml";
const MOLECULES: &str = "datasets/quickstart/molecules.tsv";
const MOLECULE_TABLE: &str = include_str!("../../datasets/quickstart/molecules.tsv");

/// The learner of the demonstration: a kernel machine is fitted in a fraction of a second.
const MACHINE: &str = "encoder = {kind = 'kernel-machine', kernel = {name = 'cosine'}, lambda = 3e-4, \
     inputs = {kind = 'ngrams', blocks = [{kind = 'across-words', min = 3, max = 5, min_texts = 4}]}, \
     solver = {name = 'closed-form', precision = 'single'}}";

/// Writes the quickstart data (2,000 molecules with descriptions) and their configuration into a folder,
/// and returns the path of the configuration. Files that are there with the same content stay.
///
/// # Errors
/// [`dsokr_core::Error::File`] for a file of the same name with other content; what the file system reports.
pub fn write(folder: &Path) -> Result<PathBuf, Error> {
    // all are looked at before the first is written
    let mut missing = Vec::new();
    for (name, content) in FILES {
        let path = folder.join(name);
        match fs::read(&path) {
            Ok(bytes) if bytes == content.as_bytes() => {}
            Ok(_) => {
                let message = "a file with other content is there: run this in an empty folder";
                return Err(Error::run(path, message));
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => missing.push((path, content)),
            Err(e) => return Err(Error::io(&path)(e)),
        }
    }
    for (path, content) in missing {
        if let Some(parent) = path.parent() {
            create_folder(parent).map_err(Error::io(parent))?;
        }
        write_atomically(&path, |file| file.write_all(content.as_bytes()))?;
    }
    Ok(folder.join(CONFIG))
}

/// Trains the demonstration, a kernel machine on the quickstart's pairs and outputs, which takes about a second, and
/// returns its run directory. It and the data are in `folder`, which should be empty. The column of the molecules' ids is
/// called `cid` there, so that the page links them to PubChem.
///
/// # Errors
/// As [`write()`]; what the file system reports.
pub fn demo(folder: &Path) -> Result<PathBuf, Error> {
    let path = write(folder)?;
    let changes = [MACHINE, "output.id = 'cid'"].map(|change| {
        let change = change.parse::<Override>();
        change.map_err(|message| Error::Config { path: path.clone(), message })
    });
    let changes = changes.into_iter().collect::<Result<Vec<Override>, Error>>()?;
    let molecules = folder.join(MOLECULES);
    let table = MOLECULE_TABLE.replacen("id\t", "cid\t", 1);
    write_atomically(&molecules, |file| file.write_all(table.as_bytes()))?;
    let trained = fit(&Config::load_with(&path, &changes)?, folder.join("demo"))?;
    Ok(trained.path().to_path_buf())
}
