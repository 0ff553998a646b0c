//! What the targets share.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("dsokr-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
});

/// The folder of this process.
pub fn folder() -> &'static Path {
    &FOLDER
}

/// Writes a file of the folder of this process.
pub fn file(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = FOLDER.join(name);
    fs::create_dir_all(path.parent().unwrap_or(&FOLDER)).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

/// One of several names, which the first byte chooses, and the bytes behind it.
pub fn choose<'a, 'n>(bytes: &'a [u8], names: &[&'n str]) -> Option<(&'n str, &'a [u8])> {
    let (&first, rest) = bytes.split_first()?;
    Some((names[usize::from(first) % names.len()], rest))
}
