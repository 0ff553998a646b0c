//! Real data, which are not in the repository.

use std::path::PathBuf;

/// Returns a file or folder under the data root (`DSOKR_DATA`, else `../shared/data` from the workspace), or
/// `None` with a line that says which test is skipped.
pub fn data(test: &str, name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("DSOKR_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped {test}: {} is not there", path.display());
    None
}
