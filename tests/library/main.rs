//! Drawn data, and the training of custom encoders.

mod custom;
mod pages;
mod ranks;
mod recipe;
mod synthetic;

use std::path::PathBuf;

/// A folder for one test's files; removed at its end.
pub struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a file in a temporary folder");
        path
    }
}
