//! The output side against what people use today: `cargo bench --bench output_side -- TASK`.
//!
//! | task | does | peer |
//! |---|---|---|
//! | `basis` | cosine kernel on Mol2vec, n = 9,244, m = 100, Gaussian sketch: fit and project | NumPy with the full Gram matrix |
//! | `decode` | exact ranks of 3,300 queries among 33,010 candidates, p = 100, and the bare product | NumPy, two argsorts |
//! | `decode-chebi` | the same among the candidates of ChEBI-20; queries are candidates with noise, whose mean rank is that of a good model, and top 10 | |
//! | `stream-basis` | a basis on 1,000,000 × 300 rows made on the fly | |
//! | `stream-decode` | ranks and top 10 among 1 and 10 million candidates made on the fly | |
//!
//! Each prints one JSON line: medians of seven runs after one that is not counted (the streams run
//! once), with the keys of the peer script. `basis` reads `chebi20/` under `DSOKR_DATA`.

use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use dsokr_basis::features::{DenseBlock, MappedRows};
use dsokr_basis::{Basis, Block, Kernel, RowKind, RowSource, SketchKind, SketchOptions};
use dsokr_core::random::generator;
use dsokr_decode::{
    CandidateBlocks, CandidateParts, Candidates, Queries, ScoreBlock, rank, top_rows,
};
use rand::{Rng, RngExt};
use serde_json::json;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let task = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let line = match task.as_deref() {
        Some("basis") => basis()?,
        Some("decode") => decode()?,
        Some("decode-chebi") => decode_chebi()?,
        Some("stream-basis") => stream_basis()?,
        Some("stream-decode") => stream_decode()?,
        Some(other) => {
            return Err(format!(
                "unknown task {other:?}: basis, decode, decode-chebi, stream-basis, stream-decode"
            )
            .into());
        }
        // `cargo bench` without a task runs those that need no data
        None => json!({"decode": decode()?, "stream_basis": stream_basis()?}),
    };
    println!("{line}");
    Ok(())
}

/// Returns the median seconds of seven runs after one that is not counted.
fn median(mut run: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    run()?;
    let mut seconds = Vec::new();
    for _ in 0..7 {
        let start = Instant::now();
        run()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[3])
}

fn basis() -> Result<serde_json::Value, Failure> {
    let root =
        std::env::var_os("DSOKR_DATA").map_or(PathBuf::from("../shared/data"), PathBuf::from);
    let path = root.join("chebi20/mol2vec.safetensors");
    let all = MappedRows::open(&path, "mol2vec")?;
    let n = 9244;
    let m = 100;
    let rows = all.select(&(0..n).collect::<Vec<_>>())?;
    let mut p = 0;
    let seconds = median(|| {
        let basis =
            Basis::fit(Kernel::Cosine, &rows, &SketchOptions::new(SketchKind::Gaussian, m))?;
        p = basis.project(&rows)?.dimension();
        Ok(())
    })?;
    Ok(json!({"n": n, "m": m, "p": p, "fit_and_project_s": seconds}))
}

fn normals(count: usize, purpose: &str) -> Vec<f32> {
    let mut random = generator(0, purpose, 0);
    // sums of four uniforms: near enough to normal for a bench, and no ties
    let uniform = |random: &mut dyn Rng| random.random::<f32>() - 0.5;
    (0..count).map(|_| (0..4).map(|_| uniform(&mut random)).sum::<f32>() * 1.73).collect()
}

fn decode() -> Result<serde_json::Value, Failure> {
    let q = 3_300;
    let c = 33_010;
    let p = 100;
    let gold: Vec<Option<u32>> = (0..q).map(|i| Some((i * 10) as u32)).collect();
    ranking(&normals(q * p, "queries"), &normals(c * p, "candidates"), &gold, p)
}

/// Times the decoding of ChEBI-20's candidates in a basis of the training outputs, and every tenth of them with noise of four fifths of
/// its length.
fn decode_chebi() -> Result<serde_json::Value, Failure> {
    let root =
        std::env::var_os("DSOKR_DATA").map_or(PathBuf::from("../shared/data"), PathBuf::from);
    let all = MappedRows::open(&root.join("chebi20/mol2vec.safetensors"), "mol2vec")?;
    let rows = all.select(&(0..9244).collect::<Vec<_>>())?;
    let options = SketchOptions::new(SketchKind::Gaussian, 100);
    let projected = Basis::fit(Kernel::Cosine, &rows, &options)?.project(&all)?;
    let p = projected.dimension();
    let gold: Vec<Option<u32>> =
        (0..projected.len() as u32).step_by(10).take(3_300).map(Some).collect();
    let noise = normals(gold.len() * p, "noise");
    let mut queries = Vec::with_capacity(gold.len() * p);
    for (row, noise) in gold.iter().flatten().zip(noise.chunks_exact(p)) {
        let row = &projected.coordinates()[*row as usize * p..][..p];
        let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
        let noise = noise.iter().map(|noise| 0.8 * length * noise / (p as f32).sqrt());
        queries.extend(row.iter().zip(noise).map(|(value, noise)| value + noise));
    }
    ranking(&queries, projected.coordinates(), &gold, p)
}

fn ranking(
    queries: &[f32],
    coordinates: &[f32],
    gold: &[Option<u32>],
    p: usize,
) -> Result<serde_json::Value, Failure> {
    let q = queries.len() / p;
    let c = coordinates.len() / p;
    let mut scores = vec![0.0f32; q * c];
    let gemm_s = median(|| {
        // SAFETY: the three buffers have the sizes that the extents and strides say.
        unsafe {
            gemm::gemm(
                q,
                c,
                p,
                scores.as_mut_ptr(),
                1,
                c as isize,
                false,
                queries.as_ptr(),
                1,
                p as isize,
                coordinates.as_ptr(),
                p as isize,
                1,
                0.0,
                1.0,
                false,
                false,
                false,
                gemm::Parallelism::Rayon(0),
            );
        }
        std::hint::black_box(&scores);
        Ok(())
    })?;
    let candidates = Candidates::new(CandidateParts {
        ids: (0..c).map(|i| i.to_string()).collect(),
        dim: p,
        coordinates: coordinates.to_vec(),
        ..CandidateParts::default()
    })?;
    let queries = Queries::new(p, queries)?;
    let ranks = rank(&queries, gold, &candidates)?;
    let mean_rank = ranks.iter().flatten().map(|rank| rank.expected_rank()).sum::<f64>() / q as f64;
    let rank_s = median(|| {
        std::hint::black_box(rank(&queries, gold, &candidates)?);
        Ok(())
    })?;
    let top_s = median(|| {
        std::hint::black_box(top_rows(&queries, &candidates, 10)?);
        Ok(())
    })?;
    Ok(
        json!({"queries": q, "candidates": c, "p": p, "mean_rank": mean_rank, "gemm_s": gemm_s, "rank_s": rank_s,
              "top_s": top_s, "rank_per_gemm": rank_s / gemm_s, "top_per_gemm": top_s / gemm_s}),
    )
}

/// Rows that are a function of their index, in chunks that share a generator.
struct Generated {
    rows: usize,
    width: usize,
}

const CHUNK: usize = 256;

impl Generated {
    fn values(&self, rows: Range<usize>) -> Vec<f32> {
        let mut values = Vec::with_capacity(rows.len() * self.width);
        for chunk in rows.start / CHUNK..rows.end.div_ceil(CHUNK) {
            let mut random = generator(0, "rows", chunk as u64);
            for row in chunk * CHUNK..(chunk + 1) * CHUNK {
                for column in 0..self.width {
                    let value = random.next_u32() as f32 / u32::MAX as f32 - 0.5;
                    if rows.contains(&row) {
                        values.push(value / (1.0 + column as f32).sqrt());
                    }
                }
            }
        }
        values
    }
}

impl RowSource for Generated {
    fn len(&self) -> usize {
        self.rows
    }

    fn width(&self) -> usize {
        self.width
    }

    fn kind(&self) -> RowKind {
        RowKind::Dense
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, dsokr_core::Error> {
        Ok(Block::Dense(DenseBlock::new(self.width, Cow::Owned(self.values(rows)))?))
    }
}

fn stream_basis() -> Result<serde_json::Value, Failure> {
    let rows = Generated { rows: 1_000_000, width: 300 };
    let before = peak_mib();
    let start = Instant::now();
    let basis = Basis::fit(Kernel::Cosine, &rows, &SketchOptions::new(SketchKind::Gaussian, 100))?;
    let fit_s = start.elapsed().as_secs_f64();
    Ok(json!({"n": rows.rows, "d": rows.width, "m": 100, "p": basis.dimension(), "fit_s": fit_s,
              "peak_mib_before": before, "peak_mib": peak_mib()}))
}

impl CandidateBlocks for Generated {
    fn dim(&self) -> usize {
        self.width
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn candidates(&self) -> u64 {
        self.rows as u64
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, dsokr_core::Error> {
        Ok(ScoreBlock {
            constants: Cow::Owned(vec![0.0; rows.len()]),
            multiplicities: Cow::Owned(vec![1; rows.len()]),
            coordinates: Cow::Owned(self.values(rows)),
        })
    }
}

fn stream_decode() -> Result<serde_json::Value, Failure> {
    let q = 64;
    let p = 32;
    let queries = normals(q * p, "queries");
    let queries = Queries::new(p, &queries)?;
    let mut lines = Vec::new();
    for rows in [1_000_000, 10_000_000] {
        let candidates = Generated { rows, width: p };
        let gold: Vec<Option<u32>> = (0..q).map(|i| Some(i as u32 * 1000)).collect();
        let start = Instant::now();
        std::hint::black_box(rank(&queries, &gold, &candidates)?);
        std::hint::black_box(top_rows(&queries, &candidates, 10)?);
        let seconds = start.elapsed().as_secs_f64();
        lines.push(json!({"candidates": rows, "rank_and_top_s": seconds, "peak_mib": peak_mib()}));
    }
    Ok(json!({"queries": q, "p": p, "streams": lines}))
}

/// Returns the peak resident memory of this process in MiB, where the system tells it (Linux).
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| kib / 1024.0)
}
