//! Puts any number of drawn candidates into a run, to measure how search and server behave with them:
//!
//! ```sh
//! cargo run --release --example many_candidates -- RUN 10000000
//! ```
//!
//! The candidates of the run are replaced by random unit vectors of the same dimension, with ids `c0`, `c1`, …
//! and labels of 50 characters. The run is of no other use then.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dsokr::core::random::{generator, unit};
use dsokr::decode::{CandidateBlocks, CandidateParts, Candidates};
use rayon::prelude::*;

/// Vectors that are drawn from one generator.
const ROWS: usize = 4096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, count] = arguments.as_slice() else {
        return Err("the arguments are a run directory and a number of candidates".into());
    };
    let count: usize = count.parse()?;
    let file = PathBuf::from(run).join("candidates.safetensors");
    let stored = Candidates::open(&file)?;
    let dim = Candidates::load(&file)?.dim();
    let mut coordinates = vec![0.0; count * dim];
    coordinates.par_chunks_mut(ROWS * dim).enumerate().for_each(|(part, rows)| {
        let mut random = generator(0, "many candidates", part as u64);
        for row in rows.chunks_exact_mut(dim) {
            row.iter_mut().for_each(|value| *value = unit(&mut random) as f32 - 0.5);
            let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
            row.iter_mut().for_each(|value| *value /= length);
        }
    });
    let ids = (0..count).map(|at| format!("c{at}")).collect();
    let labels = (0..count).map(|at| format!("{at:050}")).collect();
    let parts = CandidateParts { ids, labels, dim, coordinates, ..CandidateParts::default() };
    let metadata =
        ["basis", "data"].map(|key| Ok((key.to_owned(), stored.metadata(key)?.to_owned())));
    let metadata = metadata.into_iter().collect::<Result<BTreeMap<_, _>, dsokr::core::Error>>()?;
    Ok(Candidates::new(parts)?.save(&file, &metadata)?)
}
