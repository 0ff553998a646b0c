//! Graph kernels and edit distances against what people use today:
//! `cargo bench -p dsokr-molecule --bench molecule -- TASK`.
//!
//! | task | does | peer |
//! |---|---|---|
//! | `ged` | exact edit distances of golden pairs with bond labels, one thread | NetworkX |
//!
//! Each prints one JSON line with the keys of the peer script. They read `golden/` and `qm9/` under
//! `DSOKR_DATA` (default `../shared/data` from the root of the workspace).

mod ged;

use std::path::PathBuf;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let task = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let line = match task.as_deref() {
        None | Some("ged") => ged::ged()?,
        Some(other) => return Err(format!("unknown task {other:?}: ged").into()),
    };
    println!("{line}");
    Ok(())
}

/// A file under the data root.
fn data(file: &str) -> PathBuf {
    let root = std::env::var_os("DSOKR_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    root.join(file)
}
