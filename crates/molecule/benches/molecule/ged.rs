//! Exact edit distances: the golden pairs, and random pairs of QM9 molecules.

use std::hint::black_box;
use std::time::Instant;

use dsokr_core::random::{below, generator};
use dsokr_molecule::Molecule;
use dsokr_molecule::ged::{EditDistance, Limit, edit_distance};
use dsokr_molecule::graph::{Graph, label};
use serde_json::{Value, json};

use crate::{Failure, data};

/// Pairs that the peer script takes.
const PAIRS: usize = 20;

/// Random pairs of QM9.
const RANDOM: usize = 500;

/// Measures edit distances on one thread. `s_per_pair` is the mean over the 20 pairs of the peer's script. The seconds
/// of a pair are the least of seven runs.
pub fn ged() -> Result<Value, Failure> {
    let graphs = std::fs::read_to_string(data("golden/rdkit_graphs.jsonl"))?;
    let graphs = graphs.lines().take(1500).map(graph).collect::<Result<Vec<_>, _>>()?;
    let golden = std::fs::read_to_string(data("golden/ged_networkx.json"))?;
    let golden: Vec<Value> = serde_json::from_str(&golden)?;
    let mut seconds = Vec::new();
    for pair in &golden {
        let side = |key: &str| pair[key].as_u64().and_then(|at| graphs.get(at as usize));
        let Some(a) = side("a") else {
            return Err(format!("no such graphs: {pair}").into());
        };
        let Some(b) = side("b") else {
            return Err(format!("no such graphs: {pair}").into());
        };
        let (time, distance) = timed(a, b);
        if distance.exact().map(|distance| distance as f64) != pair["ged_node_edge_labels"].as_f64()
        {
            return Err(format!("{pair}: found {distance:?}").into());
        }
        seconds.push(time);
    }
    let (drawn, states) = qm9()?;
    Ok(json!({
        "pairs": PAIRS,
        "s_per_pair": seconds.iter().take(PAIRS).sum::<f64>() / PAIRS as f64,
        "golden": summary(seconds),
        "qm9": summary(drawn),
        "qm9_states": states,
    }))
}

/// Returns random pairs of QM9: seconds of each, and the mean number of states.
fn qm9() -> Result<(Vec<f64>, f64), Failure> {
    let smiles = std::fs::read_to_string(data("qm9/smiles.txt"))?;
    let smiles: Vec<&str> = smiles.lines().collect();
    let mut random = generator(0, "bench pairs", 0);
    let mut seconds = Vec::new();
    let mut states = 0;
    while seconds.len() < RANDOM {
        let mut draw = || {
            let at = below(&mut random, smiles.len() as u64) as usize;
            Molecule::parse(smiles[at]).map(|molecule| Graph::from(&molecule))
        };
        let a = draw()?;
        let b = draw()?;
        if (a.len(), b.len()) == (9, 9) {
            let (time, distance) = timed(&a, &b);
            seconds.push(time);
            states += distance.states;
        }
    }
    Ok((seconds, states as f64 / RANDOM as f64))
}

/// Returns least seconds of seven runs, and the distance.
fn timed(a: &Graph, b: &Graph) -> (f64, EditDistance) {
    let mut least = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        black_box(edit_distance(black_box(a), black_box(b), &Limit::NONE));
        least = least.min(start.elapsed().as_secs_f64());
    }
    (least, edit_distance(a, b, &Limit::NONE))
}

fn summary(mut seconds: Vec<f64>) -> Value {
    seconds.sort_by(f64::total_cmp);
    let middle = seconds.len() / 2;
    json!({
        "pairs": seconds.len(),
        "mean_s": seconds.iter().sum::<f64>() / seconds.len().max(1) as f64,
        "median_s": (seconds[(seconds.len() - 1) / 2] + seconds[middle]) / 2.0,
        "max_s": seconds.last(),
    })
}

fn graph(line: &str) -> Result<Graph, Failure> {
    let row: Value = serde_json::from_str(line)?;
    let atoms: Vec<String> = serde_json::from_value(row["atoms"].clone())?;
    let bonds: Vec<(usize, usize, u64)> = serde_json::from_value(row["bonds"].clone())?;
    Ok(Graph::new(atoms.iter().map(|atom| label(atom)).collect(), &bonds)?)
}
