//! Search and ranks among very many candidates in files:
//! `cargo bench -p dsokr-decode --bench candidates -- TASK FOLDER …`.
//!
//! | task | does |
//! |---|---|
//! | `write FOLDER ROWS [P [SHARDS]]` | draws candidates (by default p = 100) into `SHARDS` (10) shards of 16 bits with codes of 8 |
//! | `check FOLDER` | compares hits and ranks with those of the plain scan of the same candidates, made on the fly |
//! | `time FOLDER` | opens the shards, and times hits and ranks of 1, 16 and 256 queries |
//!
//! Each prints JSON lines. `time` first drops the files from the system's cache, so its first numbers measure the disk;
//! `limits` has the bandwidths to compare the others with. Without a task all three run on 700,000 candidates in a
//! temporary folder.

mod drawn;
mod system;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use dsokr_core::{Error, Processes};
use dsokr_decode::{
    CandidateBlocks, Candidates, CodedBlock, Columns, Combination, Decoded, Ensemble, Pool,
    Queries, ScoreBlock, ShardSet, Shards, StorageType, rank, top_rows,
};
use serde_json::{Value, json};

use drawn::{Drawn, questions};
use system::{bytes_read, disk_bandwidth, memory, memory_bandwidth};

type Failure = Box<dyn std::error::Error>;

/// Hits of a query.
const TOP: usize = 10;
/// The fingerprint of the shards.
const FINGERPRINT: &str = "drawn";

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => {
            let folder = tempfile::tempdir()?;
            write(folder.path(), 700_000, 100, 1)?;
            check(folder.path())?;
            time(folder.path())
        }
        ["write", folder, rows] => write(Path::new(folder), rows.parse()?, 100, 10),
        ["write", folder, rows, dim] => write(Path::new(folder), rows.parse()?, dim.parse()?, 10),
        ["write", folder, rows, dim, shards] => {
            write(Path::new(folder), rows.parse()?, dim.parse()?, shards.parse()?)
        }
        ["check", folder] => check(Path::new(folder)),
        ["time", folder] => time(Path::new(folder)),
        _ => Err(format!(
            "{arguments:?}: write FOLDER ROWS [P [SHARDS]], check FOLDER or time FOLDER"
        )
        .into()),
    }
}

fn write(folder: &Path, rows: usize, dim: usize, shards: usize) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    let start = Instant::now();
    let set = ShardSet {
        folder,
        count: shards,
        precision: StorageType::F16,
        fingerprint: FINGERPRINT,
        metadata: &BTreeMap::new(),
    };
    let columns = |rows: Range<usize>| {
        Columns::new(rows.map(|row| format!("{row:08x}")).collect(), Vec::new())
    };
    Shards::write_rows(&Drawn { rows, dim, rounded: false }, &columns, &set)?;
    let bytes = files(folder)?
        .iter()
        .map(|file| Ok(fs::metadata(file)?.len()))
        .sum::<Result<u64, Failure>>()?;
    let seconds = start.elapsed().as_secs_f64();
    let memory = memory()?;
    println!(
        "{}",
        json!({"rows": rows, "p": dim, "shards": shards, "bytes": bytes, "write_s": seconds, "memory": memory})
    );
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.sort();
    Ok(files)
}

/// Returns the candidates that the shards are of.
fn drawn(shards: &Shards) -> Drawn {
    Drawn { rows: shards.distinct(), dim: shards.dim(), rounded: true }
}

/// Returns the ranks of the gold rows and the best candidates among those in shards.
fn decode(
    shards: &Shards,
    queries: Queries,
    gold: &[Option<u32>],
    k: usize,
) -> Result<Vec<Decoded>, Error> {
    let ensemble = Ensemble::sharded(&Processes::default(), "", queries, shards)?;
    ensemble.decode(Pool::Shared, &Combination::default(), gold, k)
}

fn check(folder: &Path) -> Result<(), Failure> {
    let shards = Shards::open(&Processes::default(), folder, FINGERPRINT)?;
    let drawn = drawn(&shards);
    let (rows, gold) = questions(&drawn, 48);
    let queries = Queries::new(drawn.dim, &rows)?;
    let start = Instant::now();
    // fewer queries than codes are made for
    let ranks = rank(&queries, &gold, &drawn)?;
    let hits = top_rows(&queries, &drawn, TOP)?;
    let plain_s = start.elapsed().as_secs_f64();
    for at_once in [1, 16, 48] {
        for (first, part_gold) in gold.chunks(at_once).enumerate() {
            let first = first * at_once;
            let rows = &rows[first * drawn.dim..][..part_gold.len() * drawn.dim];
            let actual = decode(&shards, Queries::new(drawn.dim, rows)?, part_gold, TOP)?;
            for (at, actual) in actual.iter().enumerate() {
                let query = first + at;
                let same = actual
                    .hits
                    .iter()
                    .map(|hit| (hit.candidate, hit.score.to_bits()))
                    .eq(hits[query].iter().map(|hit| (hit.row, hit.score.to_bits())));
                if !same || actual.rank != ranks[query] {
                    return Err(format!(
                        "query {query} of {at_once} at once: {actual:?} in place of {:?} and {:?}",
                        ranks[query], hits[query]
                    )
                    .into());
                }
            }
        }
    }
    println!(
        "{}",
        json!({"checked": {"rows": drawn.rows, "queries": 48, "at_once": [1, 16, 48], "plain_scan_s": plain_s}})
    );
    Ok(())
}

fn time(folder: &Path) -> Result<(), Failure> {
    let files = files(folder)?;
    let disk = disk_bandwidth(&files)?;
    let (opened, shards) =
        measured(|| Ok(Shards::open(&Processes::default(), folder, FINGERPRINT)?))?;
    println!("{}", json!({"open_cold": opened}));
    let drawn = drawn(&shards);
    let (rows, gold) = questions(&drawn, 256);
    let part = |first: usize, count: usize| {
        let part_rows = &rows[first * drawn.dim..(first + count) * drawn.dim];
        Ok::<_, Error>((Queries::new(drawn.dim, part_rows)?, &gold[first..first + count]))
    };
    let top = |first, count| {
        measured(|| Ok(decode(&shards, part(first, count)?.0, &vec![None; count], TOP)?))
    };
    let ranks = |first, count| {
        measured(|| {
            let (queries, gold) = part(first, count)?;
            Ok(decode(&shards, queries, gold, 0)?)
        })
    };
    println!("{}", json!({"first_query_cold": top(255, 1)?.0, "second_query": top(254, 1)?.0}));
    for (count, times) in [(1, 7), (16, 5), (256, 3)] {
        let mut line = json!({"queries": count});
        for (name, rank) in [("top_10", false), ("ranks", true)] {
            let mut seconds = Vec::new();
            let before = bytes_read()?;
            for at in 0..times {
                let first = at * count % 256;
                let measured = if rank { ranks(first, count)?.0 } else { top(first, count)?.0 };
                seconds.push(measured["s"].as_f64().unwrap_or(f64::NAN) / count as f64);
            }
            seconds.sort_by(f64::total_cmp);
            let counted = Counted::new(&shards);
            let (queries, gold) = part(0, count)?;
            if rank {
                drop(dsokr_decode::rank(&queries, gold, &counted)?)
            } else {
                drop(top_rows(&queries, &counted, TOP)?)
            }
            line[name] = json!({
                "s_per_query": {"best": seconds[0], "median": seconds[times / 2]},
                "bytes_from_disk": bytes_read()? - before,
                "rows_in_doubt_per_query": counted.read.into_inner() / count as u64,
            });
        }
        println!("{line}");
    }
    let actual = ranks(0, 256)?.1;
    let mut actual: Vec<f64> = actual
        .iter()
        .flat_map(|decoded| decoded.rank)
        .map(|rank| rank.above() as f64 + 1.0)
        .collect();
    actual.sort_by(f64::total_cmp);
    println!(
        "{}",
        json!({"ranks": {"least": actual[0], "median": actual[128], "most": actual[255]}, "memory": memory()?})
    );
    drop(shards);
    let (opened, shards) =
        measured(|| Ok(Shards::open(&Processes::default(), folder, FINGERPRINT)?))?;
    let first = measured(|| Ok(decode(&shards, part(0, 1)?.0, &[None], TOP)?))?.0;
    println!("{}", json!({"open_warm": opened, "first_query_warm": first}));
    drop(shards);
    let codes = (drawn.rows * (drawn.dim.next_multiple_of(4) + 24)) as f64;
    let (memory, mapped) = memory_bandwidth(&files[0])?;
    println!(
        "{}",
        json!({"limits": {
            "bytes_of_codes": codes,
            "disk_gb_s": disk / 1e9, "disk_s": codes / disk,
            "memory_gb_s": memory / 1e9, "memory_s": codes / memory,
            "mapped_gb_s": mapped / 1e9, "mapped_s": codes / mapped,
        }})
    );
    Ok(())
}

/// Returns seconds that something takes, and bytes that it reads from disk.
fn measured<T>(run: impl FnOnce() -> Result<T, Failure>) -> Result<(Value, T), Failure> {
    let before = bytes_read()?;
    let start = Instant::now();
    let result = run()?;
    let seconds = start.elapsed().as_secs_f64();
    Ok((json!({"s": seconds, "bytes_from_disk": bytes_read()? - before}), result))
}

/// Shards as one set of candidates, which counts rows whose coordinates are read.
struct Counted<'s> {
    /// The first row and the candidates of each shard.
    parts: Vec<(usize, &'s Candidates)>,
    read: AtomicU64,
}

impl<'s> Counted<'s> {
    fn new(shards: &'s Shards) -> Self {
        let parts = shards.held().scan(0, |end, shard| {
            let first = *end;
            *end += shard.rows();
            Some((first, shard))
        });
        Self { parts: parts.collect(), read: AtomicU64::new(0) }
    }

    /// Returns the candidates that have some rows, and their rows among these.
    fn part(&self, rows: Range<usize>) -> (&'s Candidates, Range<usize>) {
        let at = self.parts.partition_point(|&(first, _)| first <= rows.start) - 1;
        let (first, shard) = self.parts[at];
        (shard, rows.start - first..rows.end - first)
    }
}

impl CandidateBlocks for Counted<'_> {
    fn dim(&self) -> usize {
        self.parts[0].1.dim()
    }

    fn rows(&self) -> usize {
        self.parts.iter().map(|(_, shard)| shard.rows()).sum()
    }

    fn candidates(&self) -> u64 {
        self.rows() as u64
    }

    fn scored(&self, _processes: &Processes) -> Vec<Range<usize>> {
        self.parts.iter().map(|&(first, shard)| first..first + shard.rows()).collect()
    }

    fn coded(&self, rows: Range<usize>) -> Result<Option<CodedBlock<'_>>, Error> {
        let (shard, rows) = self.part(rows);
        shard.coded(rows)
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        self.read.fetch_add(rows.len() as u64, Relaxed);
        let (shard, rows) = self.part(rows);
        shard.block(rows)
    }
}
