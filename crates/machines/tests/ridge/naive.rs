//! Small random problems, and the estimators by their formulas on plain rows of `f64`.

use dsokr_basis::features::{BitRows, DenseRows};
use dsokr_basis::{Features, Kernel, OutputKernel, RowSource, SketchKind};
use dsokr_core::random::{below, generator, unit};
use dsokr_core::{Error, Processes};
use dsokr_machines::{
    Arithmetic, ConjugateGradients, DivideAndConquer, Fitted, InputSketch, KernelModel,
    RidgeProblem, RidgeSummary, SketchedFit, Spectrum, Targets, TrainingInputs,
};

pub type Rows = Vec<Vec<f64>>;

/// Dense inputs in two dimensions and label sets that depend on them; some outputs are equal.
pub struct Problem {
    pub x: Rows,
    pub y: Rows,
}

impl Problem {
    pub fn new(n: usize, seed: u64) -> Self {
        let mut random = generator(seed, "ridge problem", n as u64);
        let mut row = |_| -> Vec<f64> {
            (0..3).map(|_| f64::from((4.0 * unit(&mut random) - 2.0) as f32)).collect()
        };
        let x: Rows = (0..n).map(&mut row).collect();
        let mut random = generator(seed, "ridge outputs", n as u64);
        let label = |x: &Vec<f64>, j: usize, noise: u64| {
            f64::from(
                u8::from(x[j % 3] + x[(j + 1) % 3] * 0.5 > 0.2 * j as f64) ^ (noise == 0) as u8,
            )
        };
        let y = x.iter().map(|x| (0..6).map(|j| label(x, j, below(&mut random, 12))).collect());
        let y = y.collect();
        Self { x, y }
    }

    pub fn inputs(&self) -> Features {
        dense(&self.x)
    }

    pub fn outputs(&self) -> Features {
        let ones = |row: &Vec<f64>| -> Vec<u32> {
            (0..row.len() as u32).filter(|&j| row[j as usize] == 1.0).collect()
        };
        Features::Bits(BitRows::from_indices(6, self.y.iter().map(ones)).unwrap())
    }
}

pub fn dense(rows: &Rows) -> Features {
    let values: Vec<f32> = rows.iter().flatten().map(|&value| value as f32).collect();
    Features::Dense(DenseRows::new(rows[0].len(), values).unwrap())
}

pub const GAMMA_X: f64 = 0.4;
pub const GAMMA_Y: f64 = 0.3;

pub fn kernel_x() -> Kernel {
    Kernel::Gaussian { gamma: GAMMA_X }
}

pub fn kernel_y() -> Kernel {
    Kernel::Gaussian { gamma: GAMMA_Y }
}

/// Computes `exp(−γ ‖a − b‖²)` of all pairs.
pub fn gaussian(gamma: f64, a: &Rows, b: &Rows) -> Rows {
    let distance = |x: &Vec<f64>, y: &Vec<f64>| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum()
    };
    a.iter().map(|x| b.iter().map(|y| (-gamma * distance(x, y)).exp()).collect()).collect()
}

pub fn product(a: &Rows, b: &Rows) -> Rows {
    let columns = b.first().map_or(0, Vec::len);
    let entry = |row: &[f64], j: usize| row.iter().zip(b).map(|(x, b)| x * b[j]).sum();
    a.iter().map(|row| (0..columns).map(|j| entry(row, j)).collect()).collect()
}

pub fn transpose(a: &Rows) -> Rows {
    (0..a[0].len()).map(|j| a.iter().map(|row| row[j]).collect()).collect()
}

pub fn add(a: &Rows, factor: f64, b: &Rows) -> Rows {
    let row =
        |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a + factor * b).collect();
    a.iter().zip(b).map(row).collect()
}

pub fn identity(n: usize) -> Rows {
    (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect()
}

/// Computes `A⁻¹ B` by Gaussian elimination with pivots.
pub fn solve(a: &Rows, b: &Rows) -> Rows {
    let n = a.len();
    let mut system: Rows = a.iter().zip(b).map(|(a, b)| [&a[..], &b[..]].concat()).collect();
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|&i, &j| system[i][column].abs().total_cmp(&system[j][column].abs()))
            .unwrap();
        system.swap(column, pivot);
        let (top, below) = system.split_at_mut(column + 1);
        let pivot = &top[column];
        for row in below {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(pivot).skip(column).for_each(|(x, p)| *x -= factor * p);
        }
    }
    for column in (0..n).rev() {
        let scale = system[column][column];
        system[column].iter_mut().for_each(|x| *x /= scale);
        let (above, rest) = system.split_at_mut(column);
        for row in above {
            let factor = row[column];
            row.iter_mut().zip(&rest[0]).for_each(|(x, p)| *x -= factor * p);
        }
    }
    system.into_iter().map(|row| row[n..].to_vec()).collect()
}

/// Returns eigenvalues, descending, and eigenvectors (as rows) of a symmetric matrix, by Jacobi rotations.
pub fn jacobi(matrix: &Rows) -> (Vec<f64>, Rows) {
    let n = matrix.len();
    let mut a = matrix.clone();
    let mut v = identity(n);
    for _ in 0..60 {
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q].abs() < 1e-300 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let sign = if theta < 0.0 { -1.0 } else { 1.0 };
                let t = sign / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for row in &mut a {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                for k in 0..n {
                    (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                    (v[p][k], v[q][k]) = (c * v[p][k] - s * v[q][k], s * v[p][k] + c * v[q][k]);
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[j][j].total_cmp(&a[i][i]));
    (order.iter().map(|&i| a[i][i]).collect(), order.iter().map(|&i| v[i].clone()).collect())
}

/// Returns IOKR's scores of queries against candidates: `k^x (K + nλI)⁻¹ K_Y`.
pub fn iokr(problem: &Problem, lambda: f64, queries: &Rows, candidates: &Rows) -> Rows {
    let n = problem.x.len();
    let k = gaussian(GAMMA_X, &problem.x, &problem.x);
    let system = add(&k, n as f64 * lambda, &identity(n));
    let alpha = solve(&system, &gaussian(GAMMA_X, &problem.x, queries));
    product(&transpose(&alpha), &gaussian(GAMMA_Y, &problem.y, candidates))
}

/// Returns the scores of predictions and points as `dsokr-decode` computes them.
pub fn scores(rank: usize, z: &[f32], points: &dsokr_machines::Points) -> Rows {
    assert_eq!(rank, points.dimension);
    let wide = |row: &[f32]| row.iter().map(|&value| f64::from(value)).collect::<Vec<f64>>();
    let queries: Rows = z.chunks_exact(rank).map(wide).collect();
    let candidates: Rows = points.coordinates.chunks_exact(rank).map(wide).collect();
    let mut scores = product(&queries, &transpose(&candidates));
    for row in &mut scores {
        row.iter_mut().zip(&points.constants).for_each(|(s, &b)| *s += f64::from(b));
    }
    scores
}

/// Returns each row less its mean: scores may differ by a constant a query.
pub fn centred(rows: &Rows) -> Rows {
    let centre = |row: &Vec<f64>| {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        row.iter().map(|value| value - mean).collect()
    };
    rows.iter().map(centre).collect()
}

pub fn wide(rank: usize, values: &[f32]) -> Rows {
    values.chunks_exact(rank).map(|row| row.iter().map(|&v| v.into()).collect()).collect()
}

#[track_caller]
pub fn assert_close(actual: &Rows, expected: &Rows, tolerance: f64, what: &str) {
    assert_eq!(actual.len(), expected.len(), "{what}: number of rows");
    for (i, (x, y)) in actual.iter().zip(expected).enumerate() {
        assert_eq!(x.len(), y.len(), "{what}: length of row {i}");
        for (j, (x, y)) in x.iter().zip(y).enumerate() {
            assert!((x - y).abs() <= tolerance, "{what}: [{i}, {j}] is {x}, expected {y}");
        }
    }
}

fn input_sketch(method: &SketchKind, size: usize) -> InputSketch {
    InputSketch { size, method: method.clone() }
}

/// Returns the ridge regression of a problem's inputs in closed form, in 64 bits.
pub fn fit_double(problem: &Problem, targets: &Targets, lambda: f64) -> Fitted {
    let inputs = problem.inputs();
    let inputs = TrainingInputs::rows(kernel_x(), &inputs);
    dsokr_machines::fit(&inputs, targets, lambda, Arithmetic::Double).unwrap()
}

pub fn fit_sketched(
    kernel: impl OutputKernel + 'static,
    rows: &dyn RowSource,
    targets: &Targets,
    sketch: &SketchKind,
    m: usize,
    seed: u64,
    lambda: f64,
) -> Result<SketchedFit, Error> {
    fit_sketched_shared(&Processes::default(), kernel, rows, targets, sketch, m, seed, lambda)
}

/// Does the same for several processes.
#[allow(clippy::too_many_arguments)]
pub fn fit_sketched_shared(
    processes: &Processes,
    kernel: impl OutputKernel + 'static,
    rows: &dyn RowSource,
    targets: &Targets,
    sketch: &SketchKind,
    m: usize,
    seed: u64,
    lambda: f64,
) -> Result<SketchedFit, Error> {
    let problem = RidgeProblem { kernel, rows, targets, lambda, seed, processes };
    dsokr_machines::fit_sketched(problem, &input_sketch(sketch, m))
}

/// Calls the solver with its settings, the sketch aside.
#[allow(clippy::too_many_arguments)]
pub fn fit_conjugate_gradients(
    kernel: impl OutputKernel + 'static,
    rows: &dyn RowSource,
    targets: &Targets,
    sketch: &SketchKind,
    m: usize,
    seed: u64,
    lambda: f64,
    settings: &ConjugateGradients,
) -> Result<KernelModel, Error> {
    fit_conjugate_gradients_shared(
        &Processes::default(),
        kernel,
        rows,
        targets,
        sketch,
        m,
        seed,
        lambda,
        settings,
    )
}

/// Does the same for several processes.
#[allow(clippy::too_many_arguments)]
pub fn fit_conjugate_gradients_shared(
    processes: &Processes,
    kernel: impl OutputKernel + 'static,
    rows: &dyn RowSource,
    targets: &Targets,
    sketch: &SketchKind,
    m: usize,
    seed: u64,
    lambda: f64,
    settings: &ConjugateGradients,
) -> Result<KernelModel, Error> {
    let problem = RidgeProblem { kernel, rows, targets, lambda, seed, processes };
    let settings = ConjugateGradients { sketch: input_sketch(sketch, m), ..settings.clone() };
    dsokr_machines::fit_conjugate_gradients(problem, &settings)
}

#[allow(clippy::too_many_arguments)]
pub fn fit_divide_and_conquer(
    kernel: impl OutputKernel + 'static,
    rows: &dyn RowSource,
    targets: &Targets,
    sketch: &SketchKind,
    m: usize,
    seed: u64,
    lambda: f64,
    parts: usize,
) -> Result<KernelModel, Error> {
    fit_divide_and_conquer_shared(
        &Processes::default(),
        kernel,
        rows,
        targets,
        sketch,
        m,
        seed,
        lambda,
        parts,
    )
}

/// Does the same for several processes.
#[allow(clippy::too_many_arguments)]
pub fn fit_divide_and_conquer_shared(
    processes: &Processes,
    kernel: impl OutputKernel + 'static,
    rows: &dyn RowSource,
    targets: &Targets,
    sketch: &SketchKind,
    m: usize,
    seed: u64,
    lambda: f64,
    parts: usize,
) -> Result<KernelModel, Error> {
    let problem = RidgeProblem { kernel, rows, targets, lambda, seed, processes };
    dsokr_machines::fit_divide_and_conquer(
        problem,
        &DivideAndConquer { sketch: input_sketch(sketch, m), parts },
    )
}

pub fn sketched_spectrum(
    kernel: impl OutputKernel + 'static,
    rows: &dyn RowSource,
    targets: &Targets,
    sketch: &SketchKind,
    m: usize,
    seed: u64,
) -> Result<Spectrum, Error> {
    sketched_spectrum_shared(&Processes::default(), kernel, rows, targets, sketch, m, seed)
}

/// Does the same for several processes.
#[allow(clippy::too_many_arguments)]
pub fn sketched_spectrum_shared(
    processes: &Processes,
    kernel: impl OutputKernel + 'static,
    rows: &dyn RowSource,
    targets: &Targets,
    sketch: &SketchKind,
    m: usize,
    seed: u64,
) -> Result<Spectrum, Error> {
    Spectrum::sketched(kernel, rows, targets, &input_sketch(sketch, m), seed, processes)
}

pub fn solved(model: &KernelModel) -> &RidgeSummary {
    model.summary().ridge().unwrap()
}

/// Returns the numbers that a message says that things are.
pub fn numbers(error: &Error) -> Vec<f64> {
    let text = error.to_string();
    let numbers = text.split(" is ").filter_map(|part| part.split(',').next()?.parse().ok());
    numbers.collect()
}
