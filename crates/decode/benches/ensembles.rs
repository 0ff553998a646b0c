//! Ranks and hits of an ensemble by each rule:
//! `cargo bench -p dsokr-decode --bench ensembles -- [CANDIDATES [P [QUERIES [MEMBERS]]]]`.
//!
//! Draws candidates and queries (by default 33,000 candidates, p = 1,000, 1,000 queries, two members) and prints a JSON
//! line for each rule: the seconds of ranks and ten hits of all queries, the seconds of one query, and the largest
//! resident memory of the process so far beyond what its candidates take.

#[path = "candidates/drawn.rs"]
mod drawn;

use std::time::Instant;

use dsokr_decode::{
    CandidateParts, Candidates, Combination, Ensemble, Member, MissingGold, Pool, Queries,
};
use serde_json::json;

use drawn::{Drawn, questions};

type Failure = Box<dyn std::error::Error>;

/// Hits of a query.
const TOP: usize = 10;

fn main() -> Result<(), Failure> {
    let arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let sizes: Vec<usize> = arguments.map(|size| size.parse()).collect::<Result<_, _>>()?;
    let size = |at: usize, default: usize| sizes.get(at).copied().unwrap_or(default);
    let rows = size(0, 33_000);
    let dim = size(1, 1000);
    let queries = size(2, 1000);
    let members = size(3, 2);

    let ids: Vec<String> = (0..rows).map(|row| format!("{row:08x}")).collect();
    // every member draws the same queries around the same golds, in candidates that begin at a different row
    let model = |member: usize| -> Result<_, Failure> {
        let drawn = Drawn { rows: rows + 64 * member, dim, rounded: false };
        let coordinates = drawn.points(64 * member..drawn.rows);
        let ids = ids.clone();
        let parts = CandidateParts { ids, dim, coordinates, ..CandidateParts::default() };
        let (points, golds) = questions(&drawn, queries);
        Ok((Candidates::new(parts)?, points, golds))
    };
    let models = (0..members).map(model).collect::<Result<Vec<_>, Failure>>()?;
    let gold_of_query = |gold: &Option<u32>| ids[gold.map_or(0, |row| row as usize)].clone();
    let gold_ids: Vec<String> = models[0].2.iter().map(gold_of_query).collect();
    let resident = peak()?;

    let rules = [
        Combination::Mean { weights: None, standardise: false },
        Combination::Mean { weights: None, standardise: true },
        Combination::Rank { weights: None },
    ];
    for rule in rules {
        let ensemble_of = |count: usize| -> Result<Ensemble, Failure> {
            let mut all = Vec::new();
            for (candidates, points, _) in &models {
                let queries = Queries::new(dim, &points[..count * dim])?;
                all.push(Member { name: "drawn", queries, candidates, normalised: true });
            }
            Ok(Ensemble::new(all)?)
        };
        let seconds = |count: usize| -> Result<f64, Failure> {
            let ensemble = ensemble_of(count)?;
            let gold = ensemble.gold(Pool::Shared, &gold_ids[..count], MissingGold::Error)?;
            let start = Instant::now();
            ensemble.decode(Pool::Shared, &rule, &gold, TOP)?;
            Ok(start.elapsed().as_secs_f64())
        };
        let one = (0..5).map(|_| seconds(1)).collect::<Result<Vec<f64>, Failure>>()?;
        let all = seconds(queries)?;
        let line = json!({
            "rule": rule,
            "queries_s": all,
            "one_query_s": one.into_iter().fold(f64::INFINITY, f64::min),
            "peak_mib": peak()? - resident,
        });
        println!("{line}");
    }
    Ok(())
}

/// Returns the largest resident memory so far, in MiB.
fn peak() -> Result<usize, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.ok_or("no VmHWM")?.trim().trim_end_matches(" kB");
    Ok(kib.trim().parse::<usize>()? >> 10)
}
