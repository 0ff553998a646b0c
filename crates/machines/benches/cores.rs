//! Work of the busiest thread in stages of a fit, on 1, 2 and 16 threads.
//!
//! ```sh
//! cargo bench -p dsokr-machines --bench cores
//! ```
//!
//! The work is processor time, so that 16 threads can be simulated on fewer cores: a speed-up is the time of one thread
//! over that of the busiest of several. Waiting for other threads is not counted.

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

/// Numbers of threads that are compared with one.
const THREADS: [usize; 2] = [2, 16];

/// Repetitions, of which the fastest counts.
const TIMES: usize = 3;

fn main() {
    let rows = dense(16_384, 600);
    let few = dense(16_384, 40);

    let options = SketchOptions::new(SketchKind::SparsifiedRademacher { density: 0.01 }, 1200);
    report("products of a linear fit, m = 1,200, d = 600", || {
        drop(Basis::fit(Kernel::Linear, &rows, &options));
    });

    report("leverage scores, 400 pilots", || {
        let alone = Processes::default();
        drop(leverage::scores(Kernel::Gaussian { gamma: 1.0 }, &few, 1e-3, 400, 0, &alone));
    });

    let options = SketchOptions::new(SketchKind::Subsampling { replacement: false }, 800);
    let basis = Basis::fit(Kernel::Gaussian { gamma: 1.0 }, &few, &options).expect("a basis");
    let (space, targets) = OutputSpace::basis(basis.clone(), None, &few).expect("a space");
    report("points of 16,384 outputs, m = 800", || drop(space.points(&few)));

    let coordinates = basis.project(&few).expect("coordinates").into_coordinates();
    let embedding =
        OutputEmbedding::learn(basis.dimension(), &coordinates, &[], 1.0, 200).expect("directions");
    report("targets in 200 directions", || drop(space.embedded(&embedding, &targets)));

    let model = in_basis(basis, &few);
    report("predictions by features in a basis", || drop(model.predict(&few)));

    let mut random = generator(1, "bench", 0);
    let square = Mat::from_fn(1500, 1500, |_, _| unit(&mut random) - 0.5);
    let symmetric = &square + square.transpose();
    report("eigenvectors of 1,500 unknowns", || drop(symmetric_eigen(symmetric.as_ref())));
}

/// Prints how much less work the busiest of some threads has than one thread has alone.
fn report(what: &str, work: impl Fn() + Sync) {
    let alone = busiest(1, &work);
    let speed_ups =
        THREADS.map(|threads| format!("{:.1} x on {threads}", alone / busiest(threads, &work)));
    println!("{what}: {alone:.3} s, {}", speed_ups.join(", "));
}

/// Returns the processor time of the busiest of so many threads, in seconds, the least of some repetitions.
fn busiest(threads: usize, work: &(impl Fn() + Sync)) -> f64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let times = || pool.broadcast(|_| processor_time());
    let run = || {
        let before = times();
        pool.install(work);
        let spent = times().into_iter().zip(before).map(|(after, before)| after - before);
        spent.fold(0.0, f64::max)
    };
    (0..TIMES).map(|_| run()).fold(f64::INFINITY, f64::min)
}

/// Returns the processor time of this thread so far, in seconds.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the struct it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
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
