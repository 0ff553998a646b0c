//! Fits of a decomposable kernel with many eigenvalues of M, as for that many labels.
//!
//! ```sh
//! cargo bench -p dsokr-machines --bench output_matrix -- 2000 200
//! ```
//!
//! The arguments are the number of rows n and of labels d, all of which are an eigenvalue of M each.

use std::time::Instant;

use dsokr_basis::features::DenseRows;
use dsokr_basis::{Features, Kernel, Mat};
use dsokr_core::random::{generator, unit};
use dsokr_machines::{
    InputSketch, LastSystem, OutputMatrix, Sketched, Solver, Targets, TrainingInputs,
};

const WIDTH: usize = 30;

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|text| text != "--bench").collect();
    let number = |at: usize, default: usize| -> usize {
        arguments.get(at).map_or(default, |text| text.parse().expect("a number"))
    };
    let n = number(0, 1000);
    let d = number(1, 50);
    let mut random = generator(0, "bench", 0);
    let values: Vec<f32> = (0..n * WIDTH).map(|_| unit(&mut random) as f32).collect();
    let x = Features::Dense(DenseRows::new(WIDTH, values).expect("rows"));
    let values: Vec<f64> = (0..n * d).map(|_| unit(&mut random)).collect();
    let y = Targets::new(d, values).expect("targets");
    let near = |i: usize, j: usize| (-(i as f64 - j as f64).powi(2) / 50.0).exp();
    let element =
        |i: usize, j: usize| near(i, j) + if i == j { 0.5 + i as f64 / 50.0 } else { 0.0 };
    let matrix = Mat::from_fn(d, d, element);
    let sketch = InputSketch::subsampling(n.min(500));
    for solver in [Solver::default(), Solver::Sketched(Sketched { sketch })] {
        let inputs = TrainingInputs::rows(Kernel::Gaussian { gamma: 0.1 }, &x);
        let prepared = solver.prepare(inputs, 0, LastSystem::default()).expect("inputs");
        let output = OutputMatrix::new(matrix.as_ref()).expect("a matrix");
        let prepared = prepared.with_output(Some(output));
        for leave_one_out in [false, true] {
            let start = Instant::now();
            let (model, held_out) = prepared.fit(&y, 1e-3, leave_one_out).expect("a model");
            let seconds = start.elapsed().as_secs_f64();
            let first = model.predict(&x).expect("predictions")[0];
            let held_out = held_out.map_or(0.0, |held_out| held_out[0]);
            println!(
                "{}: {n} rows, {d} labels, leave-one-out {leave_one_out}: {seconds:.2} s ({first:.6}, {held_out:.6})",
                solver.name()
            );
        }
    }
}
