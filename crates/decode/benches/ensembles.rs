//! Ranks and hits of an ensemble by each rule:
//! `cargo bench -p dsokr-decode --bench ensembles -- [CANDIDATES [P [QUERIES [MEMBERS]]]]`.
//!
//! Draws candidates and queries (by default 33,000 candidates, p = 1,000, 1,000 queries, two members), writes the candidates
//! to files as runs do, and prints a JSON line with the seconds of opening them and of joining them. Then it prints one for each
//! rule (for a single member only one): the seconds of ranks and ten hits of all queries; those of one request, which asks for ten
//! hits of one query, with the ensemble that it makes, least and median of fifteen, and the processor time of both; and the
//! largest resident memory of the process so far beyond what its candidates take. `-- 1000000 100 256 1` and `-- 1000000 100 256 2` are requests among a million.

#[path = "candidates/drawn.rs"]
mod drawn;

use std::collections::BTreeMap;
use std::time::Instant;

use dsokr_decode::{
    Alignment, CandidateParts, Candidates, Combination, Ensemble, Member, MissingGold, Pool,
    Queries,
};
use serde_json::json;

use drawn::{Drawn, questions};

type Failure = Box<dyn std::error::Error>;

/// Hits of a query.
const TOP: usize = 10;

/// Requests that are timed.
const REQUESTS: usize = 15;

fn main() -> Result<(), Failure> {
    let arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let sizes: Vec<usize> = arguments.map(|size| size.parse()).collect::<Result<_, _>>()?;
    let size = |at: usize, default: usize| sizes.get(at).copied().unwrap_or(default);
    let rows = size(0, 33_000);
    let dim = size(1, 1000);
    let queries = size(2, 1000);
    let members = size(3, 2);

    let ids: Vec<String> = (0..rows).map(|row| format!("{row:08x}")).collect();
    let folder = tempfile::tempdir()?;
    // every member draws the same queries around the same golds, in candidates that begin at a different row
    let model = |member: usize| -> Result<_, Failure> {
        let drawn = Drawn { rows: rows + 64 * member, dim, rounded: false };
        let coordinates = drawn.points(64 * member..drawn.rows);
        let ids = ids.clone();
        let parts = CandidateParts { ids, dim, coordinates, ..CandidateParts::default() };
        let (points, golds) = questions(&drawn, queries);
        let file = folder.path().join(format!("{member}.safetensors"));
        Candidates::new(parts)?.save(&file, &BTreeMap::new())?;
        Ok((file, points, golds))
    };
    let written = (0..members).map(model).collect::<Result<Vec<_>, Failure>>()?;
    let start = Instant::now();
    let models = written
        .into_iter()
        .map(|(file, points, golds)| Ok((Candidates::load(&file)?, points, golds)));
    let models = models.collect::<Result<Vec<_>, Failure>>()?;
    let open_s = start.elapsed().as_secs_f64();
    let named: Vec<_> = models.iter().map(|(candidates, ..)| ("drawn", candidates)).collect();
    let start = Instant::now();
    let alignment = (members > 1).then(|| Alignment::new(&named)).transpose()?;
    println!("{}", json!({"open_s": open_s, "join_s": start.elapsed().as_secs_f64()}));
    let gold_of_query = |gold: &Option<u32>| ids[gold.map_or(0, |row| row as usize)].clone();
    let gold_ids: Vec<String> = models[0].2.iter().map(gold_of_query).collect();
    let resident = peak()?;

    let rules = [
        Combination::Mean { weights: None, standardise: false },
        Combination::Mean { weights: None, standardise: true },
        Combination::Rank { weights: None },
    ];
    let rules = rules.into_iter().take(if members > 1 { 3 } else { 1 });
    for rule in rules {
        let ensemble_of = |count: usize| -> Result<Ensemble, Failure> {
            let mut all = Vec::new();
            for (candidates, points, _) in &models {
                let queries = Queries::new(dim, &points[..count * dim])?;
                all.push(Member { name: "drawn", queries, candidates, normalised: true });
            }
            Ok(match &alignment {
                Some(alignment) => Ensemble::aligned(all, alignment)?,
                None => Ensemble::new(all)?,
            })
        };
        let mut requests = Vec::new();
        let processor = processor_s();
        for _ in 0..REQUESTS {
            let start = Instant::now();
            ensemble_of(1)?.top_k(Pool::Shared, &rule, TOP)?;
            requests.push(start.elapsed().as_secs_f64());
        }
        requests.sort_by(f64::total_cmp);
        let request_processor_s = (processor_s() - processor) / REQUESTS as f64;
        let ensemble = ensemble_of(queries)?;
        let gold = ensemble.gold(Pool::Shared, &gold_ids, MissingGold::Error)?;
        let start = Instant::now();
        let processor = processor_s();
        ensemble.decode(Pool::Shared, &rule, &gold, TOP)?;
        let line = json!({
            "rule": rule,
            "queries_s": start.elapsed().as_secs_f64(),
            "queries_processor_s": processor_s() - processor,
            "request_s": {"least": requests[0], "median": requests[REQUESTS / 2]},
            "request_processor_s": request_processor_s,
            "peak_mib": peak()? - resident,
        });
        println!("{line}");
    }
    Ok(())
}

/// Returns the processor time of all threads so far, in seconds.
fn processor_s() -> f64 {
    // SAFETY: a structure of numbers, which the call fills
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Returns the largest resident memory so far, in MiB.
fn peak() -> Result<usize, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.ok_or("no VmHWM")?.trim().trim_end_matches(" kB");
    Ok(kib.trim().parse::<usize>()? >> 10)
}
