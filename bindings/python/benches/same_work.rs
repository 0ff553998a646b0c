//! The work of `bench.py` without Python: `cargo bench --bench same_work`. Prints the least of some runs.

use std::error::Error;
use std::time::Instant;

use dsokr_basis::features::{DenseRows, Features};
use dsokr_basis::{Basis, Kernel, SketchKind, SketchOptions};
use dsokr_decode::{CandidateParts, Candidates, Queries, rank};

const RUNS: usize = 11;

fn least<T>(mut run: impl FnMut() -> Result<T, Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        std::hint::black_box(run()?);
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(best)
}

/// Numbers between −1 and 1.
fn numbers(count: usize, mut state: u64) -> Vec<f32> {
    let next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let rows = Features::Dense(DenseRows::new(300, numbers(9244 * 300, 1))?);
    let options = SketchOptions::new(SketchKind::Gaussian, 100);
    let fit = least(|| Ok(Basis::fit(Kernel::Cosine, &rows, &options)?))?;
    let basis = Basis::fit(Kernel::Cosine, &rows, &options)?;
    let project = least(|| Ok(basis.project(&rows)?))?;

    let queries = 3300;
    let candidates = 33_010;
    let dim = 100;
    let z = numbers(queries * dim, 2);
    let parts = CandidateParts {
        ids: (0..candidates).map(|at| at.to_string()).collect(),
        labels: vec![String::new(); candidates],
        dim,
        coordinates: numbers(candidates * dim, 3),
        ..CandidateParts::default()
    };
    let pool = Candidates::new(parts)?;
    let gold: Vec<Option<u32>> = (0..queries).map(|at| Some(10 * at as u32)).collect();
    let ranking = least(|| Ok(rank(&Queries::new(dim, &z)?, &gold, &pool)?))?;
    println!("fit + project: {fit:.2} + {project:.2} ms; rank: {ranking:.1} ms");
    Ok(())
}
