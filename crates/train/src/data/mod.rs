//! From files to a data set: tables, feature files, and the join of pairs with outputs.

mod dataset;
pub mod error;
pub mod feature_file;
mod input_files;
mod kernels;
mod outputs;
mod pool;
mod selected;
mod structure;
mod synthetic;
pub mod table;
mod truth;

pub use dataset::{Dataset, Split, read_queries, read_split};
pub use outputs::Outputs;
pub use selected::Selected;
pub use structure::Structure;
pub(crate) use structure::query;
pub use truth::Truth;

use std::path::{Path, PathBuf};

use crate::Error;

/// Where a configuration's files lie.
#[derive(Clone, Debug, PartialEq)]
pub struct DataRoot(PathBuf);

impl DataRoot {
    /// The folder that `data.folder` names: under `data` if that is given; else, for `datasets/…`,
    /// beside the folder of the configuration file or in the current one; else under `DSOKR_DATA`;
    /// else under `data/`. An empty name is that of data that are drawn, which have no folder.
    ///
    /// # Errors
    /// [`Error::NotFound`] with the ways to say where the data are.
    pub fn find(folder: &str, config: Option<&Path>, data: Option<&Path>) -> Result<Self, Error> {
        if folder.is_empty() {
            return Ok(Self(PathBuf::new()));
        }
        if data.is_none() && folder.starts_with("datasets/") {
            let beside = config.and_then(Path::parent).map(|here| here.join("..").join(folder));
            let mut places = beside.into_iter().chain([PathBuf::from(folder)]);
            return places.find(|path| path.is_dir()).map(Self).ok_or_else(|| Error::NotFound {
                path: folder.into(),
                hint: " beside the folder of the configuration or in the current folder".into(),
            });
        }
        let root = match (data, std::env::var_os("DSOKR_DATA")) {
            (Some(root), _) => root.to_path_buf(),
            (None, Some(root)) => root.into(),
            (None, None) => "data".into(),
        };
        let path = root.join(folder);
        if path.is_dir() {
            return Ok(Self(path));
        }
        let hint = " (the data root is --data, else the variable DSOKR_DATA, else data/)".into();
        Err(Error::NotFound { path, hint })
    }

    /// A file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}
