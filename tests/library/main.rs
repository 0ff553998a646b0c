//! Drawn data, and the training of custom encoders.

/// Drawn data of low rank, after the numbers of pairs, and their sketch, whose settings end it.
macro_rules! drawn {
    () => {
        r#"input_decay = 1.0
map = { kind = "low-rank", rank = 4 }
noise = { variance = 0.0 }

[output]
kernel = { name = "linear" }

[sketch]
size = 4
tolerance = 1e-9
"#
    };
}

mod coverage;
mod custom;
mod events;
mod features;
mod floors;
mod in_memory;
mod learner;
mod learner_in_steps;
mod pages;
mod ranks;
mod recipe;
mod shared_run;
mod single_lists;
mod sweep;
mod synthetic;
mod tables;
mod things;
mod values;

use std::path::PathBuf;

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
}
