//! Reading the SMILES of ChEBI-20, with their structure and without.

use std::hint::black_box;
use std::time::Instant;

use dsokr_molecule::{Formula, Molecule};
use serde_json::{Value, json};

use crate::{Failure, data};

/// Measures microseconds a SMILES on one thread, the least of three runs.
pub fn run() -> Result<Value, Failure> {
    let table = std::fs::read_to_string(data("chebi20/molecules.tsv"))?;
    let all = table.lines().skip(1).filter_map(|line| line.split('\t').nth(1));
    let smiles: Vec<&str> = all.collect();
    let micros = |read: &dyn Fn(&str) -> bool| {
        let seconds = (0..3).map(|_| {
            let start = Instant::now();
            let count = smiles.iter().filter(|smiles| black_box(read(smiles))).count();
            (start.elapsed().as_secs_f64(), count)
        });
        let (least, count) = seconds
            .fold((f64::INFINITY, 0), |(least, _), (seconds, count)| (least.min(seconds), count));
        json!({"read": count, "micros": 1e6 * least / smiles.len() as f64})
    };
    Ok(json!({
        "smiles": smiles.len(),
        "molecule": micros(&|smiles| Molecule::parse(smiles).is_ok()),
        "formula": micros(&|smiles| Formula::parse(smiles).is_ok()),
    }))
}
