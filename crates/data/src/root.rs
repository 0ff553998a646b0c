use std::path::{Path, PathBuf};

use dsokr_core::Argument;

use crate::error::{Error, extension_of};
use crate::npy;

/// Bytes of memory that graphs and the entries of rows take, for each byte of their text.
pub(crate) const A_BYTE_OF_NUMBERS: f64 = 4.0;

/// The folder with a configuration's files.
#[derive(Clone, Debug, PartialEq)]
pub struct DataRoot(PathBuf);

impl DataRoot {
    /// Finds the folder that `data.folder` names. If `data` is given, it lies there. Else a name that starts with `./`
    /// is relative to the folder of the configuration file, and `datasets/…` lies next to that folder or in the current
    /// one. Else it lies under `DSOKR_DATA`, or else under `data/`. Drawn data have no folder; their name is empty.
    ///
    /// # Errors
    /// [`Error::NotFound`] with the ways to say where the data are.
    pub fn find(folder: &str, config: Option<&Path>, data: Option<&Path>) -> Result<Self, Error> {
        if folder.is_empty() {
            return Ok(Self(PathBuf::new()));
        }
        let here = config.and_then(Path::parent);
        let variable = || std::env::var_os("DSOKR_DATA").map_or("data".into(), PathBuf::from);
        let (first, last, hint) = match data {
            None if folder.starts_with("./") => (
                None,
                here.unwrap_or(Path::new("")).join(folder),
                " in the folder of the configuration, as data.folder says".to_owned(),
            ),
            None if folder.starts_with("datasets/") => (
                here.map(|here| here.join("..").join(folder)),
                folder.into(),
                format!(
                    " next to the folder of the configuration or in the current folder, as data.folder says; \
                     {} stands for DIR/{folder}",
                    Argument::new("data").with("DIR")
                ),
            ),
            _ => (
                None,
                data.map_or_else(variable, Path::to_path_buf).join(folder),
                format!(
                    ": data.folder = {folder:?} is a folder in the data root, which is {}, else the variable \
                     DSOKR_DATA, else data/",
                    Argument::new("data")
                ),
            ),
        };
        let last = without_current_folders(&last);
        let folder = first.into_iter().chain([last.clone()]).find(|path| path.is_dir());
        folder.map(Self).ok_or(Error::NotFound { path: last, hint })
    }

    /// Creates a folder that is known.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Returns the folder; none of drawn data.
    pub fn folder(&self) -> Option<&Path> {
        (!self.0.as_os_str().is_empty()).then_some(&self.0)
    }

    /// Returns a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the length of a file in bytes, which the columns of a table take at the most; 0 for one that cannot be
    /// read: reading it says what is wrong.
    pub(crate) fn size(&self, name: &str) -> f64 {
        size(&self.file(name))
    }

    /// Returns bytes of features, packed or not, that are held in memory; 0 for those that stay in their file, and for ones
    /// that cannot be read.
    pub(crate) fn features(&self, name: &str, packed: bool) -> f64 {
        let path = self.file(name);
        let in_file = extension_of(&path) == "npy"
            && npy::rows_in_file(&path, packed).is_ok_and(|rows| rows.is_some());
        if in_file { 0.0 } else { self.matrix(name, if packed { 2.0 } else { 4.0 }) }
    }

    /// Returns bytes of a matrix that is held in memory, with so many an element; those of .safetensors files are mapped. 0
    /// for one that cannot be read.
    pub(crate) fn matrix(&self, name: &str, an_element: f64) -> f64 {
        let path = self.file(name);
        match extension_of(&path).as_str() {
            "npy" => npy::elements(&path).map_or(0.0, |count| an_element * count),
            "npz" => A_BYTE_OF_NUMBERS * size(&path),
            _ => 0.0,
        }
    }
}

/// Returns a path without each `.` that says nothing: `./a` of `././a`, as messages show it.
fn without_current_folders(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Returns the length of a file in bytes; 0 where there is none.
pub(crate) fn size(path: &Path) -> f64 {
    std::fs::metadata(path).map_or(0.0, |file| if file.is_file() { file.len() as f64 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::DataRoot;

    #[test]
    fn a_current_folder_is_in_paths_once() {
        let here = Some(Path::new("."));
        let file = Some(Path::new("./films.toml"));
        for (folder, config, data) in [(".", None, here), ("./", file, None), ("./.", file, None)] {
            let root = DataRoot::find(folder, config, data).unwrap();
            assert_eq!(root.file("films.tsv").display().to_string(), "./films.tsv", "{folder}");
        }
    }
}
