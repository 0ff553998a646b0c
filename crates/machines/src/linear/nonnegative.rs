use faer::Mat;

use super::{Factor, Panels};

/// What is left of a gradient by rounding, as a share of the largest number of the linear term.
const TOLERANCE: f64 = 1e-10;

/// `argmin vᵀ M v − 2 vᵀ a` over `v ≥ 0`, for a small positive semi-definite M with a diagonal of
/// about 1: the active sets of Lawson and Hanson (1974), each solved by a Cholesky factor.
///
/// An unknown joins the set while the gradient asks for it and the minimum over the larger set is
/// lower, so no set comes twice and the loop ends.
pub(crate) fn nonnegative(m: &Mat<f64>, a: &[f64]) -> Vec<f64> {
    let count = a.len();
    let threshold = TOLERANCE * a.iter().fold(0.0, |largest, value| value.abs().max(largest));
    let (mut v, mut blocked) = (vec![0.0; count], vec![false; count]);
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

/// The minimum over the set of v and one more unknown; those that would fall below 0 leave the set.
fn step(m: &Mat<f64>, a: &[f64], v: &[f64], joining: usize) -> Option<Vec<f64>> {
    let mut v = v.to_vec();
    let mut set: Vec<usize> = (0..v.len()).filter(|&j| v[j] > 0.0 || j == joining).collect();
    while !set.is_empty() {
        let system = Panels::try_new(set.len(), |rows| {
            Ok::<_, ()>(Mat::from_fn(rows.len(), rows.end, |i, j| m[(set[rows.start + i], set[j])]))
        });
        let factor = Factor::new(system.ok()?).ok()?.ok()?;
        let mut minimum = Mat::from_fn(set.len(), 1, |i, _| a[set[i]]);
        factor.solve(minimum.as_mut()).ok()?;
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

fn row(m: &Mat<f64>, j: usize, v: &[f64]) -> f64 {
    v.iter().enumerate().map(|(k, value)| m[(j, k)] * value).sum()
}

/// `vᵀ M v − 2 vᵀ a`.
fn value(m: &Mat<f64>, a: &[f64], v: &[f64]) -> f64 {
    (0..a.len()).map(|j| v[j] * (row(m, j, v) - 2.0 * a[j])).sum()
}

#[cfg(test)]
mod tests {
    use dsokr_basis::random::{generator, unit};

    use super::*;

    /// A Gram matrix with a unit diagonal of `count` vectors in `rank` dimensions.
    fn gram(count: usize, rank: usize, seed: u64) -> (Mat<f64>, Vec<f64>) {
        let mut random = generator(seed, "nonnegative", count as u64);
        let mut vectors = Mat::from_fn(rank, count, |_, _| unit(&mut random) - 0.3);
        for j in 0..count {
            let length = vectors.col(j).norm_l2();
            vectors.col_mut(j).iter_mut().for_each(|value| *value /= length);
        }
        // in the span of the vectors, so that the minimum exists where M is singular
        let target = Mat::from_fn(rank, 1, |_, _| unit(&mut random) - 0.5);
        let a = vectors.transpose() * &target;
        (vectors.transpose() * &vectors, a.col(0).iter().copied().collect())
    }

    #[test]
    fn the_conditions_of_karush_kuhn_and_tucker_hold() {
        for (count, rank) in [(1, 3), (4, 9), (12, 30), (12, 5), (40, 60)] {
            for seed in 0..20 {
                let (m, a) = gram(count, rank, seed);
                let v = nonnegative(&m, &a);
                for j in 0..count {
                    let slope = a[j] - row(&m, j, &v);
                    assert!(v[j] >= 0.0);
                    assert!(slope < 1e-9, "{count}, {rank}, {seed}: slope {slope} at {j}");
                    assert!((slope * v[j]).abs() < 1e-8, "{slope} at {}", v[j]);
                }
            }
        }
    }

    /// The least of the minima of all sets that stay above 0.
    #[test]
    fn no_set_of_unknowns_has_a_lower_minimum() {
        for seed in 0..30 {
            let (m, a) = gram(6, 8, seed);
            let mut best = 0.0f64;
            for set in 1u32..64 {
                let set: Vec<usize> = (0..6).filter(|j| set >> j & 1 == 1).collect();
                let system = Panels::try_new(set.len(), |rows| {
                    Ok::<_, ()>(Mat::from_fn(rows.len(), rows.end, |i, j| {
                        m[(set[rows.start + i], set[j])]
                    }))
                });
                let mut v = Mat::from_fn(set.len(), 1, |i, _| a[set[i]]);
                Factor::new(system.unwrap()).unwrap().unwrap().solve(v.as_mut()).unwrap();
                if v.col(0).iter().all(|&v| v >= 0.0) {
                    let mut whole = vec![0.0; 6];
                    set.iter().enumerate().for_each(|(i, &j)| whole[j] = v[(i, 0)]);
                    best = best.min(value(&m, &a, &whole));
                }
            }
            let found = value(&m, &a, &nonnegative(&m, &a));
            assert!((found - best).abs() < 1e-12, "{seed}: {found}, {best}");
        }
    }

    #[test]
    fn equal_columns_and_a_target_that_points_away() {
        let m = Mat::from_fn(3, 3, |i, j| if i == j || i + j == 1 { 1.0 } else { 0.0 });
        let v = nonnegative(&m, &[0.5, 0.5, -0.2]);
        assert!((v[0] + v[1] - 0.5).abs() < 1e-14 && v[2] == 0.0, "{v:?}");
        assert_eq!(nonnegative(&m, &[-1.0, -1.0, 0.0]), [0.0; 3]);
        assert_eq!(nonnegative(&m, &[0.0; 3]), [0.0; 3]);
    }
}
