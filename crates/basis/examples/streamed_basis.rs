//! Fits and projects a basis on rows that are never held together, and prints one JSON line with
//! the seconds and the peak resident memory.
//!
//! usage: streamed_basis [ROWS [COLUMNS [SIZE]]]          rows made on the fly (1,000,000 300 100)
//!        streamed_basis FILE.safetensors KEY [SIZE]      rows of a memory-mapped file

use std::borrow::Cow;
use std::ops::Range;
use std::time::Instant;

use dsokr_basis::features::{DenseBlock, MappedRows};
use dsokr_basis::random::generator;
use dsokr_basis::{Basis, Block, Error, Kernel, RowKind, RowSource, SketchKind};
use rand_chacha::rand_core::Rng;

/// Rows of uniform numbers with geometrically decaying columns, a function of their index.
struct Generated {
    rows: usize,
    columns: usize,
}

/// Rows that share a generator.
const CHUNK: usize = 256;

impl RowSource for Generated {
    fn len(&self) -> usize {
        self.rows
    }

    fn width(&self) -> usize {
        self.columns
    }

    fn kind(&self) -> RowKind {
        RowKind::Dense
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        let mut values = Vec::with_capacity(rows.len() * self.columns);
        for chunk in rows.start / CHUNK..rows.end.div_ceil(CHUNK) {
            let mut random = generator(0, "rows", chunk as u64);
            for row in chunk * CHUNK..(chunk + 1) * CHUNK {
                for column in 0..self.columns {
                    let uniform = random.next_u32() as f32 / u32::MAX as f32 - 0.5;
                    if rows.contains(&row) {
                        values.push(uniform / (1.0 + column as f32));
                    }
                }
            }
        }
        Ok(Block::Dense(DenseBlock::new(self.columns, Cow::Owned(values))?))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: usize| {
        arguments.get(at).map_or(Ok(default), |text| text.parse::<usize>())
    };
    let (rows, size): (Box<dyn RowSource>, usize) = match arguments.first() {
        Some(path) if path.parse::<usize>().is_err() => {
            let key = arguments.get(1).ok_or("give the key of the tensor")?;
            (Box::new(MappedRows::open(path.as_ref(), key)?), number(2, 100)?)
        }
        _ => {
            let generated = Generated { rows: number(0, 1_000_000)?, columns: number(1, 300)? };
            (Box::new(generated), number(2, 100)?)
        }
    };
    let before = peak_mib();
    let start = Instant::now();
    let kernel = Kernel::Cosine;
    let basis = Basis::fit(kernel, &*rows, &SketchKind::Gaussian, size, 0, 1e-10)?;
    let fit = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut residual = 0.0;
    basis.project_blocks(&*rows, 8192, |_, block| {
        residual += block.residuals.iter().sum::<f64>();
        Ok::<(), Error>(())
    })?;
    let project = start.elapsed().as_secs_f64();
    println!(
        "{}",
        serde_json::json!({
            "n": rows.len(), "d": rows.width(), "m": size, "p": basis.rank(),
            "fit_s": fit, "project_s": project, "mean_residual": residual / rows.len() as f64,
            "peak_mib_before": before, "peak_mib": peak_mib(),
        })
    );
    Ok(())
}

/// Peak resident memory of this process in MiB, where the system tells it (Linux).
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| kib / 1024.0)
}
