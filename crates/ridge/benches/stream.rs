//! The streamed solver on rows made on the fly:
//! `cargo bench -p dsokr-ridge --bench stream -- [ROWS] [PARTS]`.
//!
//! 1,000,000 × 100 standard normal inputs, ten outputs that are smooth functions of them plus noise,
//! 2,000 sub-sampled anchors and a Gaussian kernel of width 10. Prints one JSON line for one model of all
//! rows, and one for the average of PARTS models of a part each, with seconds, the most memory held
//! and the share of the variance of 5,000 new noiseless outputs that is explained.

use std::borrow::Cow;
use std::ops::Range;
use std::time::Instant;

use dsokr_basis::features::DenseBlock;
use dsokr_basis::random::{generator, unit};
use dsokr_basis::{Block, Error as BasisError, Kernel, Mat, RowKind, RowSource, SketchKind};
use dsokr_ridge::{Error, TargetBlock, TargetSource, fit_parts, fit_sketched};

const WIDTH: usize = 100;
const OUTPUTS: usize = 10;
const ANCHORS: usize = 2000;
const LAMBDA: f64 = 1e-7;
/// Rows drawn from one generator.
const CHUNK: usize = 1024;

/// Rows `start..start + len` of an endless table.
struct Synthetic {
    start: usize,
    len: usize,
}

impl Synthetic {
    /// The inputs of some rows, row-major.
    fn inputs(&self, rows: Range<usize>) -> Vec<f32> {
        let rows = self.start + rows.start..self.start + rows.end;
        let mut out = Vec::with_capacity(rows.len() * WIDTH);
        for chunk in rows.start / CHUNK..rows.end.div_ceil(CHUNK) {
            let mut random = generator(0, "bench inputs", chunk as u64);
            for row in chunk * CHUNK..(chunk + 1) * CHUNK {
                // sums of three uniforms, of variance 1: near enough to normal for a bench
                let mut value = || (0..3).map(|_| unit(&mut random) - 0.5).sum::<f64>() * 2.0;
                let values: Vec<f32> = (0..WIDTH).map(|_| value() as f32).collect();
                if rows.contains(&row) {
                    out.extend(values);
                }
            }
        }
        out
    }

    /// `sin(⟨w_j, x⟩) + ½ ⟨w_{j+1}, x⟩²`, with w of five ones.
    fn outputs(&self, rows: Range<usize>) -> Mat<f64> {
        let x = self.inputs(rows.clone());
        let sum = |i: usize, j: usize| -> f64 {
            (0..5).map(|k| f64::from(x[i * WIDTH + (7 * j + k) % WIDTH])).sum::<f64>() / 2.2
        };
        Mat::from_fn(OUTPUTS, rows.len(), |j, i| sum(i, j).sin() + 0.5 * sum(i, j + 1).powi(2))
    }
}

impl RowSource for Synthetic {
    fn len(&self) -> usize {
        self.len
    }

    fn width(&self) -> usize {
        WIDTH
    }

    fn kind(&self) -> RowKind {
        RowKind::Dense
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, BasisError> {
        Ok(Block::Dense(DenseBlock::new(WIDTH, Cow::Owned(self.inputs(rows)))?))
    }
}

impl TargetSource for Synthetic {
    fn len(&self) -> usize {
        self.len
    }

    fn rank(&self) -> usize {
        OUTPUTS
    }

    fn block(&self, rows: Range<usize>) -> Result<TargetBlock, Error> {
        let mut out = self.outputs(rows.clone());
        let mut random = generator(1, "bench noise", (self.start + rows.start) as u64);
        for column in out.col_iter_mut() {
            column.iter_mut().for_each(|value| *value += 0.5 * (unit(&mut random) - 0.5));
        }
        Ok(TargetBlock::Coordinates(out))
    }
}

/// `1 − Σ (z − y)² / Σ (y − ȳ)²` on new rows.
fn explained(z: &[f32], new: &Synthetic) -> f64 {
    let y = new.outputs(0..new.len);
    let (mut error, mut variance) = (0.0, 0.0);
    for j in 0..OUTPUTS {
        let mean = (0..new.len).map(|i| y[(j, i)]).sum::<f64>() / new.len as f64;
        for i in 0..new.len {
            error += (f64::from(z[i * OUTPUTS + j]) - y[(j, i)]).powi(2);
            variance += (y[(j, i)] - mean).powi(2);
        }
    }
    1.0 - error / variance
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let rows = numbers.first().copied().unwrap_or(1_000_000);
    let parts = numbers.get(1).copied().unwrap_or(4);
    let train = Synthetic { start: 0, len: rows };
    let new = Synthetic { start: rows.next_multiple_of(CHUNK), len: 5000 };
    let kernel = Kernel::Gaussian { gamma: 0.005 };
    let sketch = SketchKind::Subsampling { replacement: false };

    let start = Instant::now();
    let fitted = fit_sketched(kernel.clone(), &train, &train, &sketch, ANCHORS, 0, LAMBDA)?;
    let fit_s = start.elapsed().as_secs_f64();
    let z = fitted.model.predict(&new)?;
    println!(
        "{}",
        serde_json::json!({"solver": "streamed", "rows": rows, "anchors": ANCHORS, "fit_s": fit_s,
            "explained": explained(&z, &new), "memory_mib": memory(),
            "condition": fitted.model.summary().condition, "jitter": fitted.model.summary().jitter})
    );
    let start = Instant::now();
    let average = fit_parts(kernel, &train, &train, &sketch, ANCHORS / 2, 0, LAMBDA, parts)?;
    let fit_s = start.elapsed().as_secs_f64();
    println!(
        "{}",
        serde_json::json!({"solver": "average", "parts": parts, "rows": rows,
            "anchors": ANCHORS / 2, "fit_s": fit_s,
            "explained": explained(&average.predict(&new)?, &new), "memory_mib": memory()})
    );
    Ok(())
}

/// The most memory that the process has held, in MiB.
fn memory() -> i64 {
    // SAFETY: getrusage fills the struct it is given, which is plain numbers.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    usage.ru_maxrss / 1024
}
