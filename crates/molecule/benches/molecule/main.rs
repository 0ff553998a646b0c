//! Molecules and graphs against what people use today: `cargo bench --bench molecule -- TASK`.
//!
//! | task | does | peer |
//! |---|---|---|
//! | `wl` | features and normalised Gram matrix of the first 1,500 golden graphs, WL-VH with 5 iterations | GraKeL |
//! | `ged` | exact edit distances of golden pairs with bond labels, one thread | NetworkX |
//! | `read` | the SMILES of ChEBI-20, as molecules and as formulas alone, one thread | |
//! | `features [KERNEL]` | rows of all of QM9, parsing apart; KERNEL is a kernel as JSON | |
//!
//! Each prints one JSON line, with the keys of the peer script. Data are read under `DSOKR_DATA`.

mod features;
mod ged;
mod read;
mod wl;

use std::path::PathBuf;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let line = match arguments.next().as_deref() {
        Some("wl") => wl::run()?,
        Some("ged") => ged::ged()?,
        Some("read") => read::run()?,
        Some("features") => features::run(arguments.next().as_deref())?,
        Some(other) => {
            return Err(format!("unknown task {other:?}: wl, ged, read, features").into());
        }
        None => {
            // they need data, so `cargo bench` of everything runs none of them
            eprintln!("no task: wl, ged, read, features");
            return Ok(());
        }
    };
    println!("{line}");
    Ok(())
}

/// Returns a file under the data root.
fn data(file: &str) -> PathBuf {
    let root = std::env::var_os("DSOKR_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    root.join(file)
}
