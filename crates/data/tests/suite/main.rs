//! Readers against files written here and against published data.

mod configuration;
mod features;
mod featurizers;
mod folds;
mod further;
mod groups;
mod kernels;
mod multi_label;
mod of_texts;
mod official;
mod retrieval_files;
mod streams;
mod structures;
mod tables;
mod tf_idf;

use std::path::{Path, PathBuf};

use dsokr_data::config::{OutputFeatures, OutputSource};

/// A folder for one test's files; removed at its end.
#[derive(Debug)]
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

    /// Returns an error's message with the folder taken out, so that it can be compared whole.
    fn message(&self, error: impl std::fmt::Display) -> String {
        let folder = format!("{}/", self.0.path().display());
        let message = error.to_string();
        assert!(message.contains(&folder), "no path in: {message}");
        message.replace(&folder, "")
    }
}

/// Returns outputs whose ids are in the column `id`, with one kernel; all of them are candidates.
fn outputs<'a>(
    table: Option<&'a str>,
    label: Option<&'a str>,
    features: &'a OutputFeatures,
) -> OutputSource<'a> {
    OutputSource {
        table,
        id: "id",
        label,
        further: &[],
        candidate: None,
        only_training: false,
        features,
        summands: Vec::new(),
    }
}

/// Returns a published file under the data root, or `None` with a line that says what is skipped.
///
/// The root is `DSOKR_DATA`, default `../shared/data`, both from the workspace's root: tests run in
/// the crate's folder.
fn published(test: &str, name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("DSOKR_DATA").unwrap_or_else(|| "../shared/data".into());
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = workspace.join(root).join(name);
    if path.is_file() {
        Some(path)
    } else {
        println!("skipped: {test}: DSOKR_DATA has no {name}");
        None
    }
}
