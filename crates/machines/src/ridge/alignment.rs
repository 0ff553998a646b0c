//! Combines several precomputed input kernels into one: their uniform sum, or the sum that is best aligned with the
//! outputs.

use std::ops::Range;

use dsokr_basis::features::read;
use dsokr_basis::kernel::gram;
use dsokr_basis::{OutputKernel, RowSource};
use dsokr_core::{Cancellation, Error, RowWeights};
use faer::{ColMut, ColRef, Mat, MatRef};
use rayon::prelude::*;

use crate::features::checked;
use crate::linear::{Factor, Panels};

/// Columns of the Gram matrices that one task reads.
const COLUMNS: usize = 64;

/// The rest of a constant kernel after centring, as a share of its squared norm.
const CONSTANT: f64 = 1e-24;

/// The rounding error of a gradient, as a share of the largest number of the linear term.
const ROUNDING: f64 = 1e-10;

/// The Gram matrix of the outputs, `Y_ij = k(y_i, y_j)`, which is read by blocks of columns and never
/// held: n² evaluations for each of two passes.
#[derive(Clone, Copy, derive_more::Debug)]
#[debug("TargetGram({}, {} rows)", kernel.name(), rows.len())]
pub struct TargetGram<'a> {
    /// The output kernel.
    pub kernel: &'a dyn OutputKernel,
    /// The training outputs.
    pub rows: &'a dyn RowSource,
}

impl TargetGram<'_> {
    /// Calls `visit` with ranges of columns of Y, n × len, in parallel, and returns what it made in
    /// their order.
    fn columns<T: Send>(
        &self,
        visit: impl Fn(Range<usize>, Mat<f64>) -> T + Sync,
    ) -> Result<Vec<T>, Error> {
        let Self { kernel, rows } = *self;
        kernel.validate(rows.kind())?;
        let n = rows.len();
        let all = read(rows, 0..n)?;
        kernel.check(&all)?;
        let cancellation = Cancellation::current();
        let tasks = (0..n.div_ceil(COLUMNS)).into_par_iter().map(|task| {
            cancellation.check()?;
            let range = task * COLUMNS..n.min((task + 1) * COLUMNS);
            let columns = gram(kernel, &all, &read(rows, range.clone())?)?;
            Ok(visit(range, columns))
        });
        tasks.collect()
    }
}

/// Returns the weights w ≥ 0 of length 1 whose kernel `Σ_k w_k K_k` has the largest centred alignment with the outputs:
/// ALIGNF (Cortes, Mohri and Rostamizadeh 2012, proposition 9).
///
/// Centred alignment is the cosine `ρ(K, Y) = ⟨K^c, Y^c⟩ / (‖K^c‖ ‖Y^c‖)` in the Frobenius product, with `K^c = H K H`,
/// `H = I − 11ᵀ/n`. The weights are `v/‖v‖`, where v minimises `vᵀ M v − 2 vᵀ a` over `v ≥ 0` with
/// `M_kl = ⟨K_k^c, K_l^c⟩` and `a_k = ⟨K_k^c, Y^c⟩`. The method of active sets finds v, exactly but for rounding
/// errors. The scale of a kernel does not matter: its weight is divided by it.
///
/// With weights ω of the pairs `⟨A, B⟩` is `Σ_ij ω_i ω_j A_ij B_ij`, and `H = I − 1ωᵀ/Σω`, with `H K Hᵀ`: what it is for
/// pairs that are repeated as often.
///
/// Memory in addition to the kernels: one of them for the check that it is positive semi-definite, and 64 columns
/// a thread. Time: n³/3 multiplications for the check of each of K kernels, n² K²/2 for the products.
/// The numbers do not depend on the number of threads.
///
/// ```
/// use dsokr_basis::{Features, Kernel, Mat, features::BitRows};
/// use dsokr_core::RowWeights;
/// use dsokr_machines::{TargetGram, alignf};
///
/// let y = Features::Bits(BitRows::from_indices(2, [vec![0], vec![0], vec![1], vec![1]])?);
/// let informed = Mat::from_fn(4, 4, |i, j| if i / 2 == j / 2 { 1.0 } else { 0.2 });
/// let noise = Mat::from_fn(4, 4, |i, j| if i == j { 1.0 } else { 0.0 });
/// let ideal = TargetGram { kernel: &Kernel::Linear, rows: &y };
/// let kernels = [informed.as_ref(), noise.as_ref()];
/// assert_eq!(alignf(&kernels, &ideal, &RowWeights::equal())?, [1.0, 0.0]);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Item`] with the position and the reason for a kernel that is not n × n, finite, symmetric and positive
/// semi-definite, or that is zero or constant; [`Error::Numeric`] for constant outputs, and where no kernel has an
/// alignment above 0; [`Error::Value`] for no kernels; [`Error::Shape`] unless there is one weight for each pair, or
/// none; the errors of the output kernel's checks and of reading the outputs.
pub fn alignf(
    kernels: &[MatRef<f64>],
    target_gram: &TargetGram,
    weights: &RowWeights,
) -> Result<Vec<f64>, Error> {
    let n = target_gram.rows.len();
    check(kernels, n)?;
    weights.check(n)?;
    let products = CentredProducts::of(kernels, target_gram, weights)?;
    let (m, a) = products.cosines();
    let v = nonnegative(&m, &a);
    let aligned: f64 = v.iter().zip(&a).map(|(v, a)| v * a).sum();
    if aligned <= 0.0 {
        let best = a.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        return Err(Error::Numeric(format!(
            "no kernel is aligned with the outputs, the best centred alignment is {best}"
        )));
    }
    let weights: Vec<f64> = v.iter().enumerate().map(|(k, v)| v / products.length(k)).collect();
    let norm = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
    Ok(weights.iter().map(|w| w / norm).collect())
}

/// Computes `Σ_k w_k K_k` of n × n Gram matrices of training inputs, or of the q × n values of new inputs with
/// them.
///
/// # Errors
/// [`Error::Value`] for no kernels, or a weight that is negative or not finite; [`Error::Shape`] for
/// a different number of weights, or kernels of different sizes.
pub fn combine(kernels: &[MatRef<f64>], weights: &[f64]) -> Result<Mat<f64>, Error> {
    Error::check_count("number of kernels", kernels.len())?;
    let rows = kernels[0].nrows();
    let columns = kernels[0].ncols();
    Error::check_length("weights", weights.len(), kernels.len())?;
    let mut sum = Mat::<f64>::zeros(rows, columns);
    for (at, (kernel, &weight)) in kernels.iter().zip(weights).enumerate() {
        let holds = weight >= 0.0 && weight.is_finite();
        let what = format_args!("the weight of kernel {at}");
        Error::ensure(holds, what, weight, "finite numbers, 0 and above")?;
        Error::check_length("rows of a kernel matrix", kernel.nrows(), rows)?;
        Error::check_length("columns of a kernel matrix", kernel.ncols(), columns)?;
        for (out, column) in sum.col_iter_mut().zip(kernel.col_iter()) {
            out.iter_mut().zip(column.iter()).for_each(|(out, value)| *out += weight * value);
        }
    }
    Ok(sum)
}

/// Checks Gram matrices of n training inputs.
pub(super) fn check(kernels: &[MatRef<f64>], n: usize) -> Result<(), Error> {
    Error::check_count("number of kernels", kernels.len())?;
    for (at, kernel) in kernels.iter().enumerate() {
        let checked_kernel = Error::check_length("rows of the kernel matrix", kernel.nrows(), n)
            .and_then(|()| checked(*kernel).map(drop));
        checked_kernel.map_err(|source| {
            let source = Box::new(source);
            Error::Item { what: "kernel", number: at, source }
        })?;
    }
    Ok(())
}

/// Returns the sum of values, one for each pair, times the pairs' weights.
fn weighted_sum(values: ColRef<f64>, weights: &RowWeights) -> f64 {
    if weights.is_equal() {
        return values.sum();
    }
    values.iter().zip(weights.as_slice()).map(|(value, weight)| weight * value).sum()
}

/// Returns `Σ_ij ω_i ω_j K_ij²`, of the roots of ω where there are weights.
fn squared_norm(kernel: MatRef<f64>, roots: Option<&[f64]>) -> f64 {
    let Some(roots) = roots else {
        return kernel.squared_norm_l2();
    };
    let column = |(column, of_column): (ColRef<f64>, &f64)| -> f64 {
        let values = column.iter().zip(roots);
        values.map(|(value, root)| (root * of_column * value).powi(2)).sum()
    };
    kernel.col_iter().zip(roots).map(column).sum()
}

/// The products `⟨A^c, B^c⟩` of all pairs of centred kernels, below the diagonal. The last row is that of the outputs'
/// kernel.
struct CentredProducts(Mat<f64>);

impl CentredProducts {
    /// Computes the products of kernels and of the outputs' kernel, of pairs with these weights.
    ///
    /// # Errors
    /// The errors of [`alignf`] for constant kernels, for constant outputs, and for outputs that cannot be read.
    fn of(
        kernels: &[MatRef<f64>],
        target_gram: &TargetGram,
        weights: &RowWeights,
    ) -> Result<Self, Error> {
        let n = target_gram.rows.len();
        let sums = |matrix: MatRef<f64>| -> Vec<f64> {
            matrix.col_iter().map(|column| weighted_sum(column, weights)).collect()
        };
        let means: Vec<Means> =
            kernels.iter().map(|kernel| Means::new(sums(*kernel), weights)).collect();
        let sums_of_outputs = target_gram.columns(|_, y| sums(y.as_ref()))?;
        let means_of_outputs = Means::new(sums_of_outputs.concat(), weights);
        let roots = weights.roots(0..n);
        let count = kernels.len();
        let parts = target_gram.columns(|range, y| {
            let mut products = Mat::<f64>::zeros(count + 1, count + 1);
            let mut centred = Mat::<f64>::zeros(n, count + 1);
            for (at, column) in range.enumerate() {
                for (k, kernel) in kernels.iter().enumerate() {
                    means[k].centre(kernel.col(column), column, centred.col_mut(k));
                }
                means_of_outputs.centre(y.col(at), column, centred.col_mut(count));
                if let Some(roots) = &roots {
                    for centred in centred.col_iter_mut() {
                        let values = centred.iter_mut().zip(roots);
                        values.for_each(|(value, root)| *value *= root * roots[column]);
                    }
                }
                for k in 0..=count {
                    for l in 0..=k {
                        products[(k, l)] += centred.col(k).transpose() * centred.col(l);
                    }
                }
            }
            products
        })?;
        let mut products = Mat::<f64>::zeros(count + 1, count + 1);
        parts.iter().for_each(|part| products += part);
        let products = Self(products);
        products.check_kernels(kernels, roots.as_deref())?;
        products.check_outputs(weights.total(n) * means_of_outputs.all)?;
        Ok(products)
    }

    /// Refuses kernels of which centring leaves nothing but rounding.
    fn check_kernels(&self, kernels: &[MatRef<f64>], roots: Option<&[f64]>) -> Result<(), Error> {
        for (k, kernel) in kernels.iter().enumerate() {
            if self.0[(k, k)] <= CONSTANT * squared_norm(*kernel, roots) {
                let message = "the kernel is constant: it carries no information";
                let source = Box::new(Error::Numeric(message.into()));
                return Err(Error::Item { what: "kernel", number: k, source });
            }
        }
        Ok(())
    }

    /// Refuses outputs whose kernel is constant; `mean` is the mean of its elements times the weights of all pairs.
    fn check_outputs(&self, mean: f64) -> Result<(), Error> {
        let outputs = self.kernels();
        let squared = self.0[(outputs, outputs)];
        // the length of the centred kernel is rounding beside that of the kernel itself
        if squared <= CONSTANT * (squared + mean.powi(2)) {
            let message = "the outputs' kernel is constant: there is nothing to align with";
            return Err(Error::Numeric(message.into()));
        }
        Ok(())
    }

    /// Returns the number of kernels without that of the outputs.
    fn kernels(&self) -> usize {
        self.0.nrows() - 1
    }

    /// Returns `‖K_k^c‖`.
    fn length(&self, k: usize) -> f64 {
        self.0[(k, k)].sqrt()
    }

    /// Returns M and a of [`alignf`], in units of the kernels' lengths, which make the diagonal of M ones.
    fn cosines(&self) -> (Mat<f64>, Vec<f64>) {
        let count = self.kernels();
        let cosine =
            |k: usize, l: usize| self.0[(k.max(l), k.min(l))] / (self.length(k) * self.length(l));
        let a = (0..count).map(|k| cosine(k, count)).collect();
        (Mat::from_fn(count, count, cosine), a)
    }
}

/// The means of the columns of a symmetric matrix and of all its elements, from which `H K Hᵀ` is made.
struct Means {
    columns: Vec<f64>,
    all: f64,
}

impl Means {
    /// Creates the centring from the weighted sums of columns.
    fn new(mut sums: Vec<f64>, weights: &RowWeights) -> Self {
        let total = weights.total(sums.len());
        sums.iter_mut().for_each(|sum| *sum /= total);
        let weighted = sums.iter().enumerate().map(|(column, mean)| weights.get(column) * mean);
        let all = weighted.sum::<f64>() / total;
        Self { columns: sums, all }
    }

    /// Computes a column of `H K Hᵀ`.
    fn centre(&self, values: ColRef<f64>, column: usize, out: ColMut<f64>) {
        let shift = self.all - self.columns[column];
        let values = values.iter().zip(&self.columns);
        out.iter_mut().zip(values).for_each(|(out, (value, mean))| *out = value - mean + shift);
    }
}

/// Computes `argmin vᵀ M v − 2 vᵀ a` over `v ≥ 0`, for a small positive semi-definite M with a diagonal of
/// about 1: the active sets of Lawson and Hanson (1974), each solved by a Cholesky factor.
///
/// An unknown joins the set while the gradient asks for it and the minimum over the larger set is
/// lower, so no set comes twice and the loop ends.
fn nonnegative(m: &Mat<f64>, a: &[f64]) -> Vec<f64> {
    let count = a.len();
    let threshold = ROUNDING * a.iter().fold(0.0, |largest, value| value.abs().max(largest));
    let mut v = vec![0.0; count];
    let mut blocked = vec![false; count];
    loop {
        let slope = |j: usize| a[j] - row(m, j, &v);
        let free = (0..count).filter(|&j| v[j] == 0.0 && !blocked[j]);
        let steepest = free.map(|j| (j, slope(j))).filter(|&(_, slope)| slope > threshold);
        let Some((joining, _)) = steepest.max_by(|x, y| x.1.total_cmp(&y.1)) else {
            return v;
        };
        match step(m, a, &v, joining) {
            Some(next) if value(m, a, &next) < value(m, a, &v) => {
                v = next;
                blocked.fill(false);
            }
            _ => blocked[joining] = true,
        }
    }
}

/// Returns the minimum over the set of v and one more unknown; those that would fall below 0 leave the set.
fn step(m: &Mat<f64>, a: &[f64], v: &[f64], joining: usize) -> Option<Vec<f64>> {
    let mut v = v.to_vec();
    let mut set: Vec<usize> = (0..v.len()).filter(|&j| v[j] > 0.0 || j == joining).collect();
    while !set.is_empty() {
        let minimum = minimum(m, a, &set)?;
        let target = |i: usize| minimum[(i, 0)];
        // The share of the way at which the first unknown reaches 0.
        let share = (0..set.len())
            .filter(|&i| target(i) <= 0.0)
            .map(|i| (i, v[set[i]] / (v[set[i]] - target(i)).max(f64::MIN_POSITIVE)))
            .min_by(|x, y| x.1.total_cmp(&y.1));
        let Some((leaving, share)) = share else {
            set.iter().enumerate().for_each(|(i, &j)| v[j] = target(i));
            return Some(v);
        };
        set.iter().enumerate().for_each(|(i, &j)| v[j] += share * (target(i) - v[j]));
        v[set[leaving]] = 0.0;
        set.retain(|&j| v[j] > 0.0);
    }
    None
}

/// Returns the minimum over a set, whatever its signs.
fn minimum(m: &Mat<f64>, a: &[f64], set: &[usize]) -> Option<Mat<f64>> {
    let system = Panels::try_new(set.len(), |rows| {
        Ok::<_, ()>(Mat::from_fn(rows.len(), rows.end, |i, j| m[(set[rows.start + i], set[j])]))
    });
    let mut minimum = Mat::from_fn(set.len(), 1, |i, _| a[set[i]]);
    Factor::new(system.ok()?).ok()?.ok()?.solve(minimum.as_mut()).ok()?;
    Some(minimum)
}

fn row(m: &Mat<f64>, j: usize, v: &[f64]) -> f64 {
    v.iter().enumerate().map(|(k, value)| m[(j, k)] * value).sum()
}

/// Computes `vᵀ M v − 2 vᵀ a`.
fn value(m: &Mat<f64>, a: &[f64], v: &[f64]) -> f64 {
    (0..a.len()).map(|j| v[j] * (row(m, j, v) - 2.0 * a[j])).sum()
}
