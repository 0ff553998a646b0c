//! The sketched system by preconditioned conjugate gradients: SIOKR and SISOKR with many anchors.

use std::borrow::Cow;

use dsokr_basis::eigenbasis::sum_over_ranks;
use dsokr_basis::kernel::IntoKernel;
use dsokr_basis::{RowSource, Sketch, SketchKind};
use dsokr_core::random::generator;
use dsokr_core::{Cancellation, Error, Processes};
use faer::{Accum, ColMut, ColRef, Mat, MatRef};
use rand_chacha::rand_core::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{KernelModel, Weights};
use super::sketched::RidgeProblem;
use crate::features::{AnchorFeatures, InputSketch, blocks};
use crate::linear::{Factor, Panels, check_finite, not_positive, product, row_major};
use crate::summary::{Arithmetic, Convergence, Inputs, RidgeSummary, Solution, Summary};
use crate::targets::{SideSums, Targets, check_shared};

/// Rows whose products one task computes.
const ROWS: usize = 512;

/// Features whose products one task adds up.
const FEATURES: usize = 64;

/// Steps of the jitter on the diagonal, from 1e-14 of the mean diagonal, times 10 each.
const JITTERS: i32 = 6;

/// Rows of the sample for each unknown, where none is asked for.
const SAMPLE: usize = 8;

/// Conjugate gradients on the system of sketched inputs, and when they stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConjugateGradients {
    /// The sketch of the inputs.
    pub sketch: InputSketch,
    /// The residual of every coordinate as a share of its right-hand side at which it is solved, in
    /// the norm of the preconditioned system; between 0 and 1 (default: 1e-8).
    #[serde(default = "tolerance")]
    pub tolerance: f64,
    /// The most iterations, at least 1 (default: 100). The log and the advice say so of a fit that needs more.
    #[serde(default = "iterations")]
    pub iterations: usize,
    /// s, the rows that the preconditioner is made of, 1 to n (default: eight for each unknown, or all
    /// rows where there are fewer). More make it better, at s m²/2 multiplications.
    pub sample: Option<usize>,
    /// Bytes of sketched kernel values, 8 n m in all, that are kept between iterations; what is above is
    /// computed again in each (default: 2³⁰).
    #[serde(default = "memory")]
    pub memory: usize,
}

dsokr_core::defaults! {
    tolerance: f64 = 1e-8,
    iterations: usize = 100,
    memory: usize = 1 << 30,
}

impl ConjugateGradients {
    /// Creates the defaults for a sketch.
    pub fn new(sketch: InputSketch) -> Self {
        let tolerance = tolerance();
        let iterations = iterations();
        let memory = memory();
        Self { sketch, tolerance, iterations, sample: None, memory }
    }

    /// Checks what does not depend on the data.
    ///
    /// # Errors
    /// [`Error::Value`] for a tolerance outside of (0, 1) or no iterations.
    pub fn validate(&self) -> Result<(), Error> {
        let holds = self.tolerance > 0.0 && self.tolerance < 1.0;
        Error::ensure(holds, "tolerance", self.tolerance, "numbers above 0 and below 1")?;
        Error::check_count("number of iterations", self.iterations)
    }

    /// Returns the rows that the preconditioner of so many `unknowns` is made of, of `n`.
    fn sample_rows(&self, n: usize, unknowns: usize) -> usize {
        self.sample.unwrap_or_else(|| n.min(SAMPLE.saturating_mul(unknowns)))
    }

    /// Returns the rows of the sample for `m` unknowns, of `n`, and about how many iterations a coordinate takes.
    ///
    /// A sample of all rows is the system itself, so one iteration solves it. That of s others leaves eigenvalues within
    /// `(1 ± √(m/s))²`, so that an iteration multiplies the error by about `√(m/s)`. Coordinates that have converged take
    /// part in no further iteration, and many are easier than the bound: half of them are counted.
    pub(crate) fn expected(&self, n: usize, m: usize) -> (f64, f64) {
        let sample = self.sample_rows(n, m);
        if sample >= n {
            return (n as f64, 1.0);
        }
        let most = self.iterations as f64;
        let reduction = (m as f64 / sample as f64).sqrt();
        let iterations =
            if reduction < 1.0 { (self.tolerance / 2.0).ln() / reduction.ln() } else { most };
        (sample as f64, 0.5 * iterations.min(most))
    }
}

/// Fits the model of [`fit_sketched`](crate::fit_sketched) without forming its system: conjugate
/// gradients for all coordinates at once, preconditioned as in Falkon (Rudi, Carratino and Rosasco
/// 2017).
///
/// With `t_i = R k^{x_i}` and `K̃ = R K Rᵀ = L Lᵀ` the system is `(Σ t_i t_iᵀ + nλ K̃) B = Σ t_i ψ_iᵀ` for any input
/// sketch. Where rows have weights, each term of the sums is multiplied by w, and λ Σw takes the place of nλ. Where R
/// picks rows it is Falkon's system `(K_nmᵀ K_nm + nλ K_mm) B = K_nmᵀ Ψ`. As in Falkon, it is solved in the coordinates
/// of `Lᵀ B`, whose penalty is the identity, with the Cholesky factor `A` of a sample's system as preconditioner:
/// `A Aᵀ = (n/s) L⁻¹ (Σ_{i in sample} t_i t_iᵀ) L⁻ᵀ + nλ I`.
///
/// Falkon takes the anchors as the sample. Here the sample is s rows drawn without regard to the sketch, so a sketch
/// that mixes rows, or picks them by leverage, needs no weights. Anchors would count the diagonal of their Gram matrix
/// as if every row had such a neighbour. With s = 8m other rows the condition number is near 4 whatever n is, and half
/// the iterations suffice.
///
/// Memory: three triangles of m²/2 numbers, seven times m × p, a block of 64 MiB, and
/// [`memory`](ConjugateGradients::memory). Time: s m²/2 + 2 m³/3 multiplications, then in each iteration n · a
/// evaluations of the kernel for the blocks that are not kept, and 2 n m p multiplications. In comparison,
/// [`fit_sketched`](crate::fit_sketched) evaluates the kernel once and multiplies n m²/2 times. So this solver is for
/// some thousands of anchors and more, n many times s, and few coordinates. It is also for anchors that are nearly
/// dependent: the system of `fit_sketched` has the square of the condition number of `K̃`, and this one does not. The
/// numbers do not depend on the number of threads, nor on what is kept. The [processes](RidgeProblem::processes) share
/// the sums of each iteration, as in [`fit_sketched`](crate::fit_sketched).
///
/// Where `K̃` is numerically singular, 1e-14 of its mean diagonal is added to it, or ten times as much until it is
/// positive definite; [`RidgeSummary::jitter`] is nλ times the added number. [`RidgeSummary::condition`] is the
/// condition number of `A Aᵀ`, the sample's system in the coordinates of `Lᵀ B`. A fit that runs out of iterations is
/// returned with [`RidgeSummary::convergence`], which says how far it came: conjugate gradients that stop early
/// regularise too.
///
/// # Errors
/// The errors of [`fit_sketched`](crate::fit_sketched); [`Error::Value`] for a tolerance outside of (0, 1), no
/// iterations, or a sample of 0 or more than n rows; [`Error::NotFinite`] for kernel values that overflow;
/// [`Error::Numeric`] where rounding leaves a direction without curvature.
pub fn fit_conjugate_gradients(
    problem: RidgeProblem<impl IntoKernel>,
    settings: &ConjugateGradients,
) -> Result<KernelModel, Error> {
    let RidgeProblem { kernel, rows, targets, lambda, seed, processes } = problem;
    let n = rows.len();
    check_shared(processes, n, targets, lambda)?;
    settings.validate()?;
    if let Some(sample) = settings.sample {
        Error::check_range("rows of the sample", sample, 1..=n)?;
    }
    let features = AnchorFeatures::sketched(processes, kernel, rows, &settings.sketch, seed)?;
    let unknowns = features.len();
    let width = targets.width();
    let sample = settings.sample_rows(n, unknowns);
    let mut random = generator(seed, "conjugate gradients/sample", 0);
    let uniform = SketchKind::Subsampling { replacement: false };
    let sample = Sketch::draw(&uniform, sample, n, random.next_u64())?.anchors();

    let problem = RidgeProblem { kernel: (), rows, targets, lambda, seed, processes };
    let (system, sides) = System::new(features, &problem, &sample, settings.memory)?;
    let (solution, convergence) = system.solve(sides, settings)?;
    let (map, weights) = system.features.compact(system.unknowns(solution)?);
    let solution = Solution::Ridge(RidgeSummary {
        jitter: system.jitter,
        convergence: Some(convergence),
        ..RidgeSummary::new(Inputs::Sketched, system.sampled.condition()?)
    });
    let summary = Summary { rows: n, unknowns, width, lambda, solution };
    let weights = Weights::Double(row_major(weights.as_ref())?);
    Ok(KernelModel::new(map, weights, summary))
}

/// Returns the Cholesky factor of the system, with as little added to the diagonal as it needs.
fn factored(system: Panels<f64>, ridge: f64) -> Result<(Factor<f64>, f64), Error> {
    let mean = system.trace() / system.size as f64;
    if mean == 0.0 {
        return Err(Error::ZeroMatrix { what: "the kernel matrix", largest: mean });
    }
    let mut failed = 0;
    let steps = (0..JITTERS).map(|step| mean * 1e-14 * 10f64.powi(step));
    for jitter in std::iter::once(0.0).chain(steps) {
        let mut shifted = system.clone();
        if jitter != 0.0 {
            shifted.add_to_diagonal(jitter);
        }
        match Factor::new(shifted)? {
            Ok(factor) => return Ok((factor, jitter)),
            Err(row) => failed = row,
        }
    }
    Err(not_positive(failed, system.size, ridge, Arithmetic::Double))
}

/// `A⁻¹ (Σ L⁻¹ t tᵀ L⁻ᵀ + nλ I) A⁻ᵀ`, applied block by block.
struct System<'a> {
    features: AnchorFeatures,
    rows: &'a dyn RowSource,
    /// The targets, for the weights of the rows.
    targets: &'a Targets,
    processes: &'a Processes,
    /// Sketched kernel values of the first blocks, each column times √w of its row.
    kept: Vec<Mat<f64>>,
    /// L.
    penalty: Factor<f64>,
    /// A.
    sampled: Factor<f64>,
    ridge: f64,
    jitter: f64,
}

impl<'a> System<'a> {
    /// Creates the system together with its right-hand sides, `A⁻¹ L⁻¹ Σ t ψᵀ`, in one pass over the rows.
    fn new(
        features: AnchorFeatures,
        problem: &RidgeProblem<'a, ()>,
        sample: &[usize],
        memory: usize,
    ) -> Result<(Self, Mat<f64>), Error> {
        let RidgeProblem { rows, targets, lambda, processes, .. } = *problem;
        let n = rows.len();
        let size = features.len();
        let ridge = targets.total_weight() * lambda;
        let penalty = features.penalty(processes)?;
        penalty.check_finite("kernel matrix of the anchors")?;
        let (penalty, added) = factored(penalty, ridge)?;
        let mut sides = SideSums::new(targets, size);
        let mut sampled = Panels::zeros(size);
        let scale = (n as f64 / sample.len() as f64).sqrt();
        let rank_rows = processes.part(n);
        let mut sample = sample.iter().copied().skip_while(|&row| row < rank_rows.start).peekable();
        let mut kept = Vec::new();
        let mut bytes = 0usize;
        for range in blocks(rank_rows.clone(), size) {
            let mut columns = features.of_rows(rows, range.clone())?;
            targets.weigh(range.clone(), &mut columns);
            let place = |i: usize, j: usize| (range.start + j, i);
            check_finite("kernel matrix", columns.as_ref(), place)?;
            sides.add(range.clone(), columns.as_ref());
            let mut chosen = Vec::new();
            while let Some(row) = sample.next_if(|&row| row < range.end) {
                chosen.push(row - range.start);
            }
            if !chosen.is_empty() {
                let column = |i: usize, j: usize| scale * columns[(i, chosen[j])];
                let mut sampled_rows = Mat::from_fn(size, chosen.len(), column);
                penalty.whiten(sampled_rows.as_mut())?;
                sampled.add_product(sampled_rows.transpose(), sampled_rows.transpose());
            }
            // All sums saturate: from the first block that does not fit on, none is kept.
            bytes = bytes.saturating_add(size_of::<f64>().saturating_mul(size * range.len()));
            if bytes <= memory {
                kept.push(columns);
            }
        }
        let mut sides = sides.of_all_ranks(processes)?;
        sampled.sum(processes)?;
        sampled.add_to_diagonal(ridge);
        let (sampled, _) = factored(sampled, ridge)?;
        penalty.whiten(sides.as_mut())?;
        sampled.whiten(sides.as_mut())?;
        let jitter = ridge * added;
        Ok((
            Self { features, rows, targets, processes, kept, penalty, sampled, ridge, jitter },
            sides,
        ))
    }

    /// Returns the product with columns x, m × q.
    fn apply(&self, x: MatRef<f64>) -> Result<Mat<f64>, Error> {
        let mut inner = x.to_owned();
        self.sampled.whiten_transposed(inner.as_mut())?;
        let mut unknowns = inner.clone();
        self.penalty.whiten_transposed(unknowns.as_mut())?;
        let mut out = Mat::zeros(x.nrows(), x.ncols());
        let cancellation = Cancellation::current();
        let rank_rows = self.processes.part(self.rows.len());
        for (at, range) in blocks(rank_rows, self.features.len()).enumerate() {
            cancellation.check()?;
            let columns = match self.kept.get(at) {
                Some(columns) => Cow::Borrowed(columns),
                None => {
                    let mut columns = self.features.of_rows(self.rows, range.clone())?;
                    self.targets.weigh(range, &mut columns);
                    Cow::Owned(columns)
                }
            };
            // T W (Tᵀ B) of one block; T W^½ is m × rows, B m × q
            let mut values = Mat::<f64>::zeros(columns.ncols(), unknowns.ncols());
            let transposed = columns.transpose();
            product(values.as_mut(), Accum::Replace, transposed, unknowns.as_ref(), ROWS);
            let columns = columns.as_ref().as_ref();
            product(out.as_mut(), Accum::Add, columns, values.as_ref(), FEATURES);
        }
        sum_over_ranks(self.processes, &mut out)?;
        self.penalty.whiten(out.as_mut())?;
        for (out, inner) in out.col_iter_mut().zip(inner.col_iter()) {
            out.iter_mut().zip(inner.iter()).for_each(|(out, value)| *out += self.ridge * value);
        }
        self.sampled.whiten(out.as_mut())?;
        Ok(out)
    }

    /// Returns B from the coordinates in which it is solved, `L⁻ᵀ A⁻ᵀ x`.
    fn unknowns(&self, mut x: Mat<f64>) -> Result<Mat<f64>, Error> {
        self.sampled.whiten_transposed(x.as_mut())?;
        self.penalty.whiten_transposed(x.as_mut())?;
        Ok(x)
    }

    /// Makes conjugate gradients for each column of the right-hand sides, those left in one product.
    fn solve(
        &self,
        sides: Mat<f64>,
        settings: &ConjugateGradients,
    ) -> Result<(Mat<f64>, Convergence), Error> {
        let size = sides.nrows();
        let rank = sides.ncols();
        let mut x = Mat::<f64>::zeros(size, rank);
        let first: Vec<f64> = sides.col_iter().map(|side| side.squared_norm_l2()).collect();
        let mut residuals = sides.clone();
        let mut directions = sides;
        let mut squares = first.clone();
        let relative = |squares: &[f64], j: usize| match first[j] {
            0.0 => 0.0,
            first => (squares[j] / first).sqrt(),
        };
        let mut iterations = 0;
        let name = "iterations of conjugate gradients, at most";
        let stage = Cancellation::current().stage(name, settings.iterations);
        loop {
            let solved = |&j: &usize| relative(&squares, j) <= settings.tolerance;
            let left: Vec<usize> = (0..rank).filter(|j| !solved(j)).collect();
            if left.is_empty() || iterations == settings.iterations {
                break;
            }
            iterations += 1;
            stage.advance(1)?;
            let column = |i: usize, j: usize| directions[(i, left[j])];
            let active = Mat::from_fn(size, left.len(), column);
            let products = self.apply(active.as_ref())?;
            for (at, &j) in left.iter().enumerate() {
                let direction = active.col(at);
                let image = products.col(at);
                let curvature = dot(direction, image);
                let step = squares[j] / curvature;
                add(x.col_mut(j), step, direction);
                add(residuals.col_mut(j), -step, image);
                let square = residuals.col(j).squared_norm_l2();
                if !(curvature > 0.0 && curvature.is_finite() && square.is_finite()) {
                    return Err(Error::Numeric(format!(
                        "conjugate gradients, iteration {iterations}, coordinate {j}: curvature \
                         {curvature}, allowed: above 0; the system is numerically singular: raise \
                         lambda"
                    )));
                }
                let turn = square / squares[j];
                squares[j] = square;
                let residual = residuals.col(j);
                let steps = directions.col_mut(j).iter_mut().zip(residual.iter());
                steps.for_each(|(direction, residual)| *direction = residual + turn * *direction);
            }
        }
        let residual = (0..rank).map(|j| relative(&squares, j)).fold(0.0, f64::max);
        let tolerance = settings.tolerance;
        Ok((x, Convergence { iterations, residual, tolerance }))
    }
}

fn dot(a: ColRef<f64>, b: ColRef<f64>) -> f64 {
    a.iter().zip(b.iter()).map(|(a, b)| a * b).sum()
}

/// Computes `out += factor · other`.
fn add(out: ColMut<f64>, factor: f64, other: ColRef<f64>) {
    out.iter_mut().zip(other.iter()).for_each(|(out, value)| *out += factor * value);
}
