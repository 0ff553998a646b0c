//! Times of stages with one thread and with two, and the largest speed-up that their tasks allow on 16.
//!
//! ```sh
//! cargo bench -p dsokr-machines --bench cores
//! ```
//!
//! The last column is `tasks / ⌈tasks / 16⌉` for tasks of equal work; an eigendecomposition has 16 parts.

use std::time::Instant;

use dsokr_basis::eigenbasis::symmetric_eigen;
use dsokr_basis::features::DenseRows;
use dsokr_basis::{Basis, Features, Kernel, Mat, SketchKind, SketchOptions, leverage};
use dsokr_core::Processes;
use dsokr_core::loss::Square;
use dsokr_core::random::{generator, unit};
use dsokr_machines::{
    InputFeatures, KernelModel, LipschitzProblem, Loss, Offset, OutputEmbedding, OutputMatrix,
    OutputSpace, Stop, Targets, fit_lipschitz,
};

/// Threads that are simulated.
const MANY: usize = 16;

/// Repetitions, of which the fastest counts.
const TIMES: usize = 3;

fn main() {
    let rows = dense(16_384, 600);
    let few = dense(16_384, 40);

    let options = SketchOptions::new(SketchKind::SparsifiedRademacher { density: 0.01 }, 1200);
    let tile = 128;
    report("products of a linear fit, m = 1,200, d = 600", 600_usize.div_ceil(tile), || {
        drop(Basis::fit(Kernel::Linear, &rows, &options));
    });

    report("leverage scores, 400 pilots", 16_384 / 256, || {
        let alone = Processes::default();
        drop(leverage::scores(Kernel::Gaussian { gamma: 1.0 }, &few, 1e-3, 400, 0, &alone));
    });

    let options = SketchOptions::new(SketchKind::Subsampling { replacement: false }, 800);
    let basis = Basis::fit(Kernel::Gaussian { gamma: 1.0 }, &few, &options).expect("a basis");
    let (space, targets) = OutputSpace::basis(basis.clone(), None, &few).expect("a space");
    report("points of 16,384 outputs, m = 800", 16_384 / 256, || drop(space.points(&few)));

    let coordinates = basis.project(&few).expect("coordinates").into_coordinates();
    let embedding =
        OutputEmbedding::learn(basis.dimension(), &coordinates, &[], 1.0, 200).expect("directions");
    report("targets in 200 directions", 16_384 / 256, || {
        drop(space.embedded(&embedding, &targets))
    });

    let model = in_basis(basis, &few);
    report("predictions by features in a basis", 8192 / 128, || drop(model.predict(&few)));

    let mut random = generator(1, "bench", 0);
    let square = Mat::from_fn(1500, 1500, |_, _| unit(&mut random) - 0.5);
    let symmetric = &square + square.transpose();
    report("eigenvectors of 1,500 unknowns", MANY, || drop(symmetric_eigen(symmetric.as_ref())));
}

/// Prints what a stage takes with one thread and with two.
fn report(what: &str, tasks: usize, work: impl Fn() + Sync) {
    let seconds = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let run = || {
            let start = Instant::now();
            pool.install(&work);
            start.elapsed().as_secs_f64()
        };
        (0..TIMES).map(|_| run()).fold(f64::INFINITY, f64::min)
    };
    let [one, two] = [seconds(1), seconds(2)];
    let many = tasks as f64 / tasks.div_ceil(MANY) as f64;
    println!("{what}: {one:.3} s, {two:.3} s, {:.2} x; {tasks} tasks, {many:.1} x", one / two);
}

/// Returns rows of drawn numbers.
fn dense(n: usize, width: usize) -> Features {
    let mut random = generator(0, "bench", width as u64);
    let values: Vec<f32> = (0..n * width).map(|_| unit(&mut random) as f32 - 0.5).collect();
    Features::Dense(DenseRows::new(width, values).expect("rows"))
}

/// Returns a model that multiplies the coordinates of inputs in a basis.
fn in_basis(basis: Basis, rows: &Features) -> KernelModel {
    let n = 16_384;
    let targets: Vec<f64> = (0..n * 200).map(|at| (at % 17) as f64).collect();
    let targets = Targets::new(200, targets).expect("targets");
    let features = InputFeatures::new(basis, rows).expect("features");
    let problem = LipschitzProblem {
        loss: Loss::Square(Square {}),
        output: OutputMatrix::identity(200).expect("a matrix"),
        lambda: 1e-2,
        offset: Offset::Zero,
    };
    let stop = Stop { gap: 1e-1, steps: 2 };
    fit_lipschitz(&features, &targets, &problem, &stop).expect("a model")
}
