//! A configuration for a file of mass spectra whose molecules it names, and the tables that it is divided into.

use std::fs;
use std::path::{Path, PathBuf};

use dsokr_data::library::{Library, SpectraFile};
use dsokr_data::table::TextFormat;

use super::configuration::{COMPARED, MANY};
use super::division::splits_named_in;
use super::template::{lower_sizes, parsed, remove_output_kernels, sketch_inputs};
use super::{LEAST, different_file, refuse_present, write_configuration};
use crate::error::{Error, ensure};
use crate::run_dir::check_not_read;

/// The share of molecules whose spectra are for validation, and for the test.
const HELD_OUT: f64 = 0.1;

/// The files that the spectra are divided into.
const FILES: [&str; 3] = ["validation.mgf", "test.mgf", "train.mgf"];
const MOLECULES: &str = "molecules.tsv";

/// A file of mass spectra, and how its molecules divide it.
#[derive(Clone, Debug)]
pub struct SpectraSurvey {
    /// The file's absolute path.
    pub file: PathBuf,
    /// The spectra and molecules.
    pub library: Library,
    /// The column of a table that names the split of each row, which is not kept.
    pub names_splits: Option<String>,
    /// The spectra of [`FILES`].
    parts: Vec<Vec<usize>>,
}

impl SpectraSurvey {
    /// Opens a file of mass spectra: one with the extension of such files, or a table with the columns of spectra and `smiles`,
    /// unless the caller says what its columns are. None of another file, and of a table that cannot be read.
    pub fn open(path: &Path, is_described: bool) -> Option<SpectraFile> {
        if is_described && !TextFormat::from_path(path).is_of_spectra() {
            return None;
        }
        SpectraFile::open(path).ok().flatten()
    }

    /// Looks at a file of spectra. Candidates are the molecules of the file, and those of a table with SMILES.
    ///
    /// # Errors
    /// As [`Library::of_file`] and [`Library::with_candidates`]; spectra of fewer than ten molecules.
    pub fn read(file: &SpectraFile, candidates: Option<&Path>) -> Result<Self, Error> {
        let library = Library::of_file(file)?;
        let molecules = library.molecules().len();
        let allowed = format!("at least {LEAST}, to have training, validation and test spectra");
        ensure(molecules >= LEAST, "molecules of the spectra", molecules, allowed)?;
        let parts = library.parts([HELD_OUT, HELD_OUT], 0);
        let library = match candidates {
            Some(table) => library.with_candidates(table)?,
            None => library,
        };
        let names_splits = splits_named_in(file.path(), file.columns())?;
        let file = fs::canonicalize(file.path()).map_err(Error::io(file.path()))?;
        Ok(Self { file, library, names_splits, parts })
    }

    /// Returns the number of training, validation and test spectra.
    pub fn sizes(&self) -> [usize; 3] {
        [2, 0, 1].map(|part| self.parts[part].len())
    }

    /// Returns the folder of the tables beside a configuration.
    pub fn folder(config: &Path) -> PathBuf {
        let stem = config.file_stem().unwrap_or_default().to_string_lossy();
        config.with_file_name(format!("{stem}-spectra"))
    }

    /// Writes the tables into a [folder](Self::folder) beside the configuration, and the configuration. Neither may be
    /// there unless `force`.
    ///
    /// # Errors
    /// A file or a folder that is there; what the file system reports.
    pub fn write(&self, path: &Path, force: bool) -> Result<(), Error> {
        let folder = Self::folder(path);
        refuse_present(path, force, different_file())?;
        refuse_present(&folder, force, different_file())?;
        check_not_read("out", path, &self.file)?;
        fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        for (name, part) in FILES.iter().zip(&self.parts) {
            self.library.write_spectra(&folder.join(name), part)?;
        }
        self.library.write_molecules(&folder.join(MOLECULES))?;
        write_configuration(path, |constant| self.configuration(path, constant))
    }

    /// Returns the configuration of `configs/massbank-best.toml` for these spectra, without the output kernels at the places
    /// `constant`.
    fn configuration(&self, path: &Path, constant: &[usize]) -> Result<String, Error> {
        let mut document = parsed(include_str!("../../../configs/massbank-best.toml"))?;
        document.remove("data");
        let [training, ..] = self.sizes();
        lower_sizes(document.as_table_mut(), training.min(self.library.molecules().len()), 1);
        if training < MANY {
            document.remove("decoding");
        }
        if training > COMPARED {
            sketch_inputs(&mut document["encoder"], training);
        }
        remove_output_kernels(&mut document, constant);
        let folder = Self::folder(path);
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let folder = toml::Value::from(format!("./{name}"));
        let file = self.file.file_name().unwrap_or_default().to_string_lossy();
        Ok(format!(
            "# Mass spectra of {file} → their molecules. Every key is explained by `dsokr config-reference`.\n\
             [data]\n\
             folder = {folder}                # next to this file; no molecule has spectra in two of its files\n\
             train = \"train.mgf\"\nvalidation = \"validation.mgf\"\ntest = \"test.mgf\"\n\
             id = \"inchikey\"                  # names the molecule in output.table\n\
             query = \"identifier\"\n\
             inputs = {{ column = \"spectrum\" }}\n\n{}\n\n\
             # The test spectra are for the last report, not for choices.\n\
             [evaluation]\nsplit = \"test\"\n",
            document.to_string().trim_matches('\n')
        ))
    }
}
