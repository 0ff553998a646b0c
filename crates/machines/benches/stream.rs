//! The solvers for many rows, whose inputs are made on the fly:
//! `cargo bench -p dsokr-machines --bench stream -- [SOLVER] [ROWS] [ANCHORS] [PARTS]`.
//!
//! The data are 1,000,000 × 100 standard normal inputs and ten outputs that are smooth functions of them plus noise.
//! The machine has 2,000 sub-sampled anchors and a Gaussian kernel of width 10. SOLVER is `direct`, `conjugate` (all
//! kernel values are computed again in each iteration), `conjugate-kept` (4 GiB of them are kept), or `divide` (the
//! mean of PARTS models, each of one part of the rows and with half the anchors). Without SOLVER each of them runs in a
//! process of its own. The bench prints a JSON line for each solver: seconds on the wall and of all threads, the most
//! memory held, and the share of the variance of 5,000 new noiseless outputs that is explained.

mod process;

use std::borrow::Cow;
use std::ops::Range;
use std::process::Command;
use std::time::Instant;

use dsokr_basis::features::DenseBlock;
use dsokr_basis::{Block, Kernel, Mat, RowKind, RowSource};
use dsokr_core::random::{generator, unit};
use dsokr_core::{Error, Error as BasisError, Processes};
use dsokr_machines::{
    ConjugateGradients, DivideAndConquer, InputSketch, RidgeProblem, Targets,
    fit_conjugate_gradients, fit_divide_and_conquer, fit_sketched,
};

const WIDTH: usize = 100;
const OUTPUTS: usize = 10;
const LAMBDA: f64 = 1e-7;
/// Rows drawn from one generator.
const CHUNK: usize = 1024;

/// Rows `start..start + len` of an endless table.
struct Synthetic {
    start: usize,
    len: usize,
}

impl Synthetic {
    /// Returns the inputs of some rows, row-major.
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

    /// Computes `sin(⟨w_j, x⟩) + ½ ⟨w_{j+1}, x⟩²`, with w of five ones.
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

impl Synthetic {
    /// Returns the outputs of all rows, with noise.
    fn targets(&self) -> Result<Targets, Error> {
        let mut values = Vec::with_capacity(self.len * OUTPUTS);
        for start in (0..self.len).step_by(CHUNK) {
            let rows = start..self.len.min(start + CHUNK);
            let mut random = generator(1, "bench noise", (self.start + start) as u64);
            for column in self.outputs(rows).col_iter() {
                values.extend(column.iter().map(|value| value + 0.5 * (unit(&mut random) - 0.5)));
            }
        }
        Targets::new(OUTPUTS, values)
    }
}

/// Computes `1 − Σ (z − y)² / Σ (y − ȳ)²` on new rows.
fn explained(z: &[f32], new: &Synthetic) -> f64 {
    let y = new.outputs(0..new.len);
    let mut error = 0.0;
    let mut variance = 0.0;
    for j in 0..OUTPUTS {
        let mean = (0..new.len).map(|i| y[(j, i)]).sum::<f64>() / new.len as f64;
        for i in 0..new.len {
            error += (f64::from(z[i * OUTPUTS + j]) - y[(j, i)]).powi(2);
            variance += (y[(j, i)] - mean).powi(2);
        }
    }
    1.0 - error / variance
}

const SOLVERS: [&str; 4] = ["direct", "conjugate", "conjugate-kept", "average"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let solver = arguments.iter().find(|argument| SOLVERS.contains(&&argument[..]));
    let Some(solver) = solver else {
        for solver in SOLVERS {
            let me = std::env::current_exe()?;
            let status = Command::new(me).arg(solver).args(&arguments).status()?;
            if !status.success() {
                return Err(format!("{solver}: {status}").into());
            }
        }
        return Ok(());
    };
    let numbers: Vec<usize> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    let number = |at: usize, default| numbers.get(at).copied().unwrap_or(default);
    let rows = number(0, 1_000_000);
    let anchors = number(1, 2000);
    let parts = number(2, 4);
    let train = Synthetic { start: 0, len: rows };
    let new = Synthetic { start: rows.next_multiple_of(CHUNK), len: 5000 };
    let kernel = Kernel::Gaussian { gamma: 0.005 };
    let targets = train.targets()?;
    let problem = RidgeProblem {
        kernel,
        rows: &train,
        targets: &targets,
        lambda: LAMBDA,
        seed: 0,
        processes: &Processes::default(),
    };

    let start = Instant::now();
    let model = match &solver[..] {
        "average" => {
            let sketch = InputSketch::subsampling(anchors / 2);
            fit_divide_and_conquer(problem, &DivideAndConquer { sketch, parts })?
        }
        "direct" => fit_sketched(problem, &InputSketch::subsampling(anchors))?.model,
        _ => {
            let memory = if solver == "conjugate" { 0 } else { 4 << 30 };
            let sketch = InputSketch::subsampling(anchors);
            let defaults = ConjugateGradients::new(sketch);
            let settings = ConjugateGradients { tolerance: 1e-6, memory, ..defaults };
            fit_conjugate_gradients(problem, &settings)?
        }
    };
    let z = model.predict(&new)?;
    let summary = model.summary().to_string();
    println!(
        "{}",
        serde_json::json!({"solver": solver, "rows": rows, "anchors": anchors,
            "wall_s": start.elapsed().as_secs_f64(), "user_s": user_s(),
            "explained": explained(&z, &new), "memory_mib": process::peak_mib(),
            "summary": summary})
    );
    Ok(())
}

/// Returns seconds that all threads of the process have computed, which other processes do not lengthen as
/// they do the time on the wall.
fn user_s() -> f64 {
    let time = process::usage().ru_utime;
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}
