//! Tempered bases against the exact Gram matrix, against principal axes of the rows themselves, and
//! as kernels.

mod limits;

use dsokr_basis::features::{DenseRows, JoinedRows};
use dsokr_basis::kernel::contract;
use dsokr_basis::{
    Basis, Features, Kernel, OutputKernel, Projection, RowSource, SketchKind, SketchOptions,
    Tempering,
};
use dsokr_core::random::generator;
use dsokr_core::{Processes, RowWeights};
use proptest::prelude::*;

use crate::support::*;

const TOLERANCE: f64 = 1e-10;
const EVERY: SketchKind = SketchKind::Subsampling { replacement: false };

pub fn temperings() -> Vec<Tempering> {
    let mut all = Vec::new();
    for power in [0.0, 0.25, 0.5, 1.0] {
        for (centred, normalised) in [(true, true), (true, false), (false, true), (false, false)] {
            all.push(Tempering { power, centred, normalised });
        }
    }
    all
}

/// Returns a basis of the whole span of the training rows.
pub fn whole(kernel: &Kernel, rows: &Features) -> Basis {
    Basis::fit(kernel.clone(), rows, &SketchOptions::new(EVERY, rows.len())).unwrap()
}

fn coordinates(projection: &Projection) -> Rows {
    let row = |i| projection.row(i).iter().map(|&value| f64::from(value)).collect();
    (0..projection.len()).map(row).collect()
}

fn products(projection: &Projection) -> Rows {
    let z = coordinates(projection);
    product(&z, &transpose(&z))
}

fn mean(rows: &Rows) -> Vec<f64> {
    transpose(rows).iter().map(|column| column.iter().sum::<f64>() / rows.len() as f64).collect()
}

/// Divides each row by its length.
fn unit(rows: Rows) -> Rows {
    let scaled = |row: Vec<f64>| {
        let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        row.into_iter().map(|v| if length > 0.0 { v / length } else { 0.0 }).collect()
    };
    rows.into_iter().map(scaled).collect()
}

/// Returns points of R^d tempered along the principal axes of `train`.
fn along_axes(train: &Rows, points: &Rows, tempering: &Tempering) -> Rows {
    let centre = if tempering.centred { mean(train) } else { vec![0.0; train[0].len()] };
    let less = |rows: &Rows| -> Rows {
        rows.iter().map(|row| row.iter().zip(&centre).map(|(v, m)| v - m).collect()).collect()
    };
    let centred = less(train);
    let mut covariance = product(&transpose(&centred), &centred);
    covariance.iter_mut().flatten().for_each(|value| *value /= train.len() as f64);
    let (values, axes) = jacobi(&covariance);
    let kept = values.iter().filter(|&&value| value > values[0] * TOLERANCE).count();
    let mut actual = product(&less(points), &transpose(&axes[..kept].to_vec()));
    for row in &mut actual {
        let pairs = row.iter_mut().zip(&values);
        pairs.for_each(|(t, value)| *t /= value.sqrt().powf(tempering.power));
    }
    if tempering.normalised { unit(actual) } else { actual }
}

/// Returns the tempered kernel of rows from exact values of the kernel with the training rows alone. The principal axis
/// j is `(n λ_j)^{−½} Σ_i u_ij (ψ(y_i) − μ)`, where `λ_j` and `u_j` belong to the centred Gram matrix over n.
fn exact(kernel: &Kernel, train: &Rows, rows: &Rows, tempering: &Tempering) -> Rows {
    let n = train.len() as f64;
    let k = gram(kernel, train);
    let cross: Rows =
        rows.iter().map(|a| train.iter().map(|b| brute_force(kernel, a, b)).collect()).collect();
    let columns = mean(&k);
    let all = columns.iter().sum::<f64>() / n;
    let centre = |values: &Rows| -> Rows {
        let row = |values: &Vec<f64>| -> Vec<f64> {
            let mean = values.iter().sum::<f64>() / n;
            values.iter().zip(&columns).map(|(v, column)| v - mean - column + all).collect()
        };
        values.iter().map(row).collect()
    };
    let (mut k, cross) = if tempering.centred { (centre(&k), centre(&cross)) } else { (k, cross) };
    k.iter_mut().flatten().for_each(|value| *value /= n);
    let (values, vectors) = jacobi(&k);
    let kept = values.iter().filter(|&&value| value > values[0] * TOLERANCE).count();
    let point = |cross: &Vec<f64>| -> Vec<f64> {
        let axis = |j: usize| {
            let sum: f64 = vectors[j].iter().zip(cross).map(|(u, k)| u * k).sum();
            sum / (n * values[j]).sqrt() / values[j].powf(0.5 * tempering.power)
        };
        (0..kept).map(axis).collect()
    };
    let mut points: Rows = cross.iter().map(point).collect();
    if tempering.normalised {
        points = unit(points);
    }
    product(&points, &transpose(&points))
}

/// An output of weight 3 is an output three times, in the mean, the covariance and the mean of a projection.
#[test]
fn outputs_count_as_often_as_they_weigh() {
    for (kernel, rows) in cases(12) {
        let each: Vec<f64> = (0..12).map(|row| 1.0 + f64::from(row % 3)).collect();
        let copies = (0..12).flat_map(|row| std::iter::repeat_n(row, 1 + row % 3));
        let copies = rows.select(&copies.collect::<Vec<_>>()).unwrap();
        let weights = RowWeights::new(&each).unwrap();
        for tempering in temperings() {
            let basis = whole(&kernel, &rows);
            let weighted = basis
                .clone()
                .tempered_weighted(&tempering, &rows, &weights, &Processes::default())
                .unwrap();
            let repeated = basis.clone().tempered(&tempering, &copies).unwrap();
            let [actual, expected] =
                [&weighted, &repeated].map(|basis| products(&basis.project(&rows).unwrap()));
            let scale = (0..12).map(|i| expected[i][i]).fold(1.0, f64::max);
            assert_close(&actual, &expected, 3e-5 * scale, &describe(&kernel, &rows));
        }
        let basis = whole(&kernel, &rows);
        let weighted = basis.project(&rows).unwrap().mean(&weights).unwrap();
        let repeated = basis.project(&copies).unwrap().mean(&RowWeights::equal()).unwrap();
        let apart = weighted.iter().zip(&repeated).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f32::max) < 1e-5);
        let few = RowWeights::new(&[2.0]).unwrap();
        assert!(refused(basis.project(&rows).unwrap().mean(&few), "weights"));
    }
}

#[test]
fn a_tempered_basis_is_that_of_the_exact_kernel() {
    for (kernel, rows) in cases(30) {
        // The last ten rows are not among those that it was fitted on.
        let train = rows.select(&(0..20).collect::<Vec<_>>()).unwrap();
        let values = expand(&rows);
        for tempering in temperings() {
            let what = format!("{}, {tempering:?}", describe(&kernel, &rows));
            let basis = whole(&kernel, &train).tempered(&tempering, &train).unwrap();
            let actual = basis.project(&rows).unwrap();
            // Rows outside of the training rows' span are seen by their part in it, which the Gram
            // matrix with the training rows gives.
            let expected = exact(&kernel, &values[..20].to_vec(), &values, &tempering);
            let scale = (0..30).map(|i| expected[i][i]).fold(1.0, f64::max);
            assert_close(&products(&actual), &expected, 3e-5 * scale, &what);
            if tempering.changes_nothing() {
                assert_eq!(basis.is_normalised(), kernel.is_normalised(), "{what}");
                continue;
            }
            assert_eq!(basis.is_normalised(), tempering.normalised, "{what}");
            for (i, norm) in actual.squared_norms().iter().enumerate() {
                // A unit vector outside of the span where nothing is in it.
                let residual =
                    if tempering.normalised { 1.0 - expected[i][i].round() } else { 0.0 };
                assert_eq!(actual.residuals()[i], residual, "{what}: row {i}");
                let squared_norm = expected[i][i] + residual;
                assert!(
                    (norm - squared_norm).abs() < 3e-5 * scale,
                    "{what}: row {i}: {norm}, {squared_norm}"
                );
            }
        }
    }
}

/// The tempering equals a singular value decomposition of the rows, on rows with a mean far from 0.
#[test]
fn on_a_linear_kernel_it_is_the_tempering_of_the_rows() {
    let mut random = generator(1, "tempering", 0);
    let rows = dense(300, 9, &mut random);
    let mut values = expand(&rows);
    for row in &mut values {
        let stretch = |j: usize, v: f64| f64::from(((v + 2.0) * 0.6f64.powi(j as i32)) as f32);
        *row = row.iter().enumerate().map(|(j, &v)| stretch(j, v)).collect();
    }
    let flat: Vec<f32> = values.concat().iter().map(|&v| v as f32).collect();
    let rows = Features::Dense(DenseRows::new(9, flat).unwrap());
    let train = rows.select(&(0..200).collect::<Vec<_>>()).unwrap();
    for sketch in [SketchKind::Gaussian, EVERY] {
        for tempering in temperings().into_iter().filter(|tempering| tempering.centred) {
            let basis = Basis::fit(Kernel::Linear, &train, &SketchOptions::new(sketch.clone(), 60))
                .unwrap();
            let basis = basis.tempered(&tempering, &train).unwrap();
            let actual = products(&basis.project(&rows).unwrap());
            let points = along_axes(&values[..200].to_vec(), &values, &tempering);
            let expected = product(&points, &transpose(&points));
            let scale = (0..300).map(|i| expected[i][i]).fold(1.0, f64::max);
            assert_close(&actual, &expected, 2e-5 * scale, &format!("{sketch:?}, {tempering:?}"));
        }
    }
}

/// Any sketch: what is tempered is the coordinates that the basis gave.
#[test]
fn what_a_sketch_spans_is_tempered() {
    for (kernel, rows) in cases(60) {
        for sketch in [SketchKind::Gaussian, SketchKind::SparsifiedRademacher { density: 0.1 }] {
            let basis = Basis::fit(
                kernel.clone(),
                &rows,
                &SketchOptions::new(sketch.clone(), 6).with_seed(1),
            )
            .unwrap();
            let z = coordinates(&basis.project(&rows).unwrap());
            for tempering in [
                Tempering { power: 0.5, centred: true, normalised: true },
                Tempering { power: 1.0, ..Tempering::default() },
            ] {
                let what = format!("{}, {sketch:?}, {tempering:?}", describe(&kernel, &rows));
                let tempered = basis.clone().tempered(&tempering, &rows).unwrap();
                let points = along_axes(&z, &z, &tempering);
                assert_eq!(tempered.dimension(), points[0].len(), "{what}");
                let actual = products(&tempered.project(&rows).unwrap());
                let expected = product(&points, &transpose(&points));
                let scale = (0..60).map(|i| expected[i][i]).fold(1.0, f64::max);
                assert_close(&actual, &expected, 1e-4 * scale, &what);
            }
        }
    }
}

#[test]
fn centred_without_a_power_is_the_double_centred_gram_matrix() {
    let tempering = Tempering { centred: true, ..Tempering::default() };
    for (kernel, rows) in cases(40) {
        let what = describe(&kernel, &rows);
        let basis = whole(&kernel, &rows).tempered(&tempering, &rows).unwrap();
        let k = gram(&kernel, &expand(&rows));
        let columns = mean(&k);
        let all = columns.iter().sum::<f64>() / 40.0;
        let expected: Rows = (0..40)
            .map(|i| (0..40).map(|j| k[i][j] - columns[i] - columns[j] + all).collect())
            .collect();
        let scale = (0..40).map(|i| expected[i][i]).fold(1.0, f64::max);
        assert_close(&products(&basis.project(&rows).unwrap()), &expected, 3e-6 * scale, &what);
        // and its spectrum is that of the covariance
        let trace: f64 = basis.spectrum().iter().sum();
        let expected = (0..40).map(|i| expected[i][i]).sum::<f64>() / 40.0;
        assert!((trace - expected).abs() < 1e-5 * scale, "{what}: {trace}, {expected}");
    }
}

#[test]
fn a_power_of_one_whitens() {
    let tempering = Tempering { power: 1.0, centred: true, normalised: false };
    for (kernel, rows) in cases(60) {
        let sketch = SketchKind::Gaussian;
        let basis =
            Basis::fit(kernel.clone(), &rows, &SketchOptions::new(sketch.clone(), 8).with_seed(3))
                .unwrap();
        let basis = basis.tempered(&tempering, &rows).unwrap();
        let z = coordinates(&basis.project(&rows).unwrap());
        let what = describe(&kernel, &rows);
        assert_close(&vec![mean(&z)], &vec![vec![0.0; basis.dimension()]], 1e-5, &what);
        let mut covariance = product(&transpose(&z), &z);
        covariance.iter_mut().flatten().for_each(|value| *value /= 60.0);
        let identity: Rows = (0..basis.dimension())
            .map(|i| (0..basis.dimension()).map(|j| f64::from(i == j)).collect())
            .collect();
        assert_close(&covariance, &identity, 1e-4, &what);
    }
}

#[test]
fn the_order_of_the_training_rows_does_not_matter() {
    for (kernel, rows) in cases(40) {
        let basis = Basis::fit(kernel.clone(), &rows, &SketchOptions::new(EVERY, 12)).unwrap();
        let reversed = rows.select(&(0..40).rev().collect::<Vec<_>>()).unwrap();
        let points_of = |outputs: &Features| {
            let basis = basis
                .clone()
                .tempered(&Tempering { power: 0.5, centred: true, normalised: true }, outputs)
                .unwrap();
            products(&basis.project(&rows).unwrap())
        };
        assert_close(&points_of(&rows), &points_of(&reversed), 1e-5, &describe(&kernel, &rows));
    }
}

#[test]
fn it_keeps_the_contract_of_kernels() {
    for (kernel, rows) in cases(30) {
        let basis = whole(&kernel, &rows);
        for tempering in [
            Tempering::default(),
            Tempering { power: 0.0, centred: true, normalised: false },
            Tempering { power: 0.5, centred: true, normalised: true },
            Tempering { power: 1.0, centred: false, normalised: true },
        ] {
            let tempered = basis.clone().tempered(&tempering, &rows).unwrap();
            check_kernel(tempered, &rows);
        }
    }
}

/// Checks the contract of the kernel of a basis. The sum of one basis has the same kernel.
fn check_kernel(basis: Basis, rows: &Features) {
    let joined = JoinedRows::new(vec![Box::new(rows.clone())]).unwrap();
    let sum = Basis::sum(vec![(1.0, basis)], rows.len(), &joined).unwrap();
    let kernel = sum.kernel();
    contract::check(kernel, &joined).unwrap_or_else(|breach| panic!("{}: {breach}", kernel.name()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// ⟨u(y), u(y')⟩ = ⟨t(y), t(y')⟩ / (‖t(y)‖ ‖t(y')‖), and no similarity exceeds 1.
    #[test]
    fn normalised_is_the_cosine_of_the_others(
        seed in any::<u64>(),
        n in 8usize..40,
        width in 2usize..9,
        m in 2usize..8,
        power in 0.0f64..=1.0,
        centred in any::<bool>(),
    ) {
        let rows = dense(n, width, &mut generator(seed, "tempering", 1));
        for kernel in [Kernel::Cosine, Kernel::Gaussian { gamma: 0.5 }] {
            let basis = Basis::fit(kernel, &rows, &SketchOptions::new(SketchKind::Gaussian, m).with_seed(seed)).unwrap();
            let points_of = |normalised| {
                let tempering = Tempering { power, centred, normalised };
                basis.clone().tempered(&tempering, &rows).unwrap().project_wide(&rows, 0..n).unwrap()
            };
            let u = transpose(&from_faer(&points_of(true)));
            let t = transpose(&from_faer(&points_of(false)));
            if tempered_nothing(power, centred) {
                continue;
            }
            let expected = unit(t);
            let actual = product(&u, &transpose(&u));
            assert_close(&actual, &product(&expected, &transpose(&expected)), 1e-9, "cosine");
            prop_assert!(actual.iter().flatten().all(|&value| value.abs() < 1.0 + 1e-12));
        }
    }
}

fn tempered_nothing(power: f64, centred: bool) -> bool {
    power == 0.0 && !centred
}

/// The shares do not depend on the tempering, and are 0 where the span is everything.
#[test]
fn shares_outside_of_the_basis_are_those_of_the_fitted_kernel() {
    let row = |i: u32| (0..6).map(move |j| ((i * 7 + j * j * 3) % 11) as f32 - 4.0);
    let rows: Features =
        DenseRows::new(6, (0..40).flat_map(row).collect::<Vec<_>>()).unwrap().into();
    for kernel in [Kernel::Linear, Kernel::Cosine, Kernel::Gaussian { gamma: 0.02 }] {
        let options = SketchOptions::new(SketchKind::Gaussian, 4);
        let basis = Basis::fit(kernel.clone(), &rows, &options).unwrap();
        let shares = basis.unknown_shares(&rows).unwrap();
        let projection = basis.project(&rows).unwrap();
        let expected =
            projection.residuals().iter().zip(projection.squared_norms()).map(|(r, k)| r / k);
        assert!(shares.iter().any(|&share| share > 0.1));
        for tempering in temperings().into_iter().filter(|tempering| !tempering.centred) {
            let tempered = basis.clone().tempered(&tempering, &rows).unwrap();
            let actual = tempered.unknown_shares(&rows).unwrap();
            for ((actual, share), expected) in actual.iter().zip(&shares).zip(expected.clone()) {
                assert!((share - expected).abs() < 1e-6, "{share} {expected}");
                assert!((actual - share).abs() < 1e-5, "{tempering:?}: {actual} {share}");
            }
        }
        let whole = Basis::fit(kernel, &rows, &SketchOptions::new(EVERY, 40)).unwrap();
        assert!(whole.unknown_shares(&rows).unwrap().iter().all(|&share| share < 1e-4));
    }
    let basis = Basis::fit(Kernel::Linear, &rows, &SketchOptions::new(EVERY, 40)).unwrap();
    let zero: Features = DenseRows::new(6, vec![0.0; 6]).unwrap().into();
    assert_eq!(basis.unknown_shares(&zero).unwrap(), [1.0]);
}
