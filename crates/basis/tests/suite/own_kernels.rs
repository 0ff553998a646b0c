//! Kernels that are not built in: they are fitted, projected, saved and loaded as the others, and the
//! contract notices those that are none.

use dsokr_basis::kernel::{OutputKernel, SumKernel, contract, diagonal};
use dsokr_basis::{
    Basis, Block, Features, Kernel, Mat, RowSource, SketchKind, SketchOptions, leverage,
};
use dsokr_core::random::generator;
use dsokr_core::{Error, Processes};

use crate::support::{assert_close, counts, dense, expand, from_faer, refused};

/// Any function of two rows.
#[derive(Clone)]
struct Own {
    name: &'static str,
    normalised: bool,
    value: fn(&[f64], &[f64]) -> f64,
}

impl std::fmt::Debug for Own {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.write_str(self.name)
    }
}

impl OutputKernel for Own {
    fn name(&self) -> String {
        self.name.into()
    }

    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
        let a = expand(a);
        let b = expand(b);
        Ok(Mat::from_fn(a.len(), b.len(), |i, j| (self.value)(&a[i], &b[j])))
    }

    fn diagonal(&self, rows: &Block) -> Result<Vec<f64>, Error> {
        Ok(expand(rows).iter().map(|row| (self.value)(row, row)).collect())
    }

    fn is_normalised(&self) -> bool {
        self.normalised
    }
}

fn own(name: &'static str, value: fn(&[f64], &[f64]) -> f64) -> Own {
    Own { name, normalised: false, value }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the histogram intersection, which is no function of the three products.
fn intersection() -> Own {
    own("intersection", |a, b| a.iter().zip(b).map(|(a, b)| a.min(*b)).sum())
}

fn rows(n: usize) -> Features {
    counts(n, 12, &mut generator(3, "own kernels", 0))
}

#[test]
fn a_basis_of_an_own_kernel_reproduces_it() {
    let rows = rows(40);
    contract::check(&intersection(), &rows).unwrap();
    let every = SketchKind::Subsampling { replacement: false };
    let basis = Basis::fit(
        intersection(),
        &rows,
        &SketchOptions::new(every.clone(), 40).with_tolerance(1e-12),
    )
    .unwrap();
    let actual = basis.project(&rows).unwrap();
    let values = expand(&rows);
    for i in 0..40 {
        for j in 0..40 {
            let product: f32 = actual.row(i).iter().zip(actual.row(j)).map(|(a, b)| a * b).sum();
            let exact = (intersection().value)(&values[i], &values[j]);
            assert!((f64::from(product) - exact).abs() < 1e-4, "{i}, {j}: {product}, {exact}");
        }
    }
}

/// The built-in Gaussian kernel written as an own one gives the same sketch, scores and coordinates.
#[test]
fn an_own_kernel_takes_every_path_of_a_built_in_one() {
    let rows = rows(60);
    let gaussian = own("gaussian", |a, b| (-0.3 * (dot(a, a) + dot(b, b) - 2.0 * dot(a, b))).exp());
    let built_in = Kernel::Gaussian { gamma: 0.3 };
    for sketch in [SketchKind::Leverage { lambda: 0.01, pilot: 20 }, SketchKind::Gaussian] {
        let a = Basis::fit(
            gaussian.clone(),
            &rows,
            &SketchOptions::new(sketch.clone(), 9).with_seed(4),
        )
        .unwrap();
        let b = Basis::fit(
            built_in.clone(),
            &rows,
            &SketchOptions::new(sketch.clone(), 9).with_seed(4),
        )
        .unwrap();
        // eigenvectors are free in sign, so what is compared does not depend on it
        let gram = |basis: &Basis| {
            let actual = basis.project(&rows).unwrap();
            let row = |i| actual.row(i).iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
            let all: Vec<Vec<f64>> = (0..actual.len()).map(row).collect();
            all.iter().map(|a| all.iter().map(|b| dot(a, b)).collect()).collect::<Vec<Vec<f64>>>()
        };
        assert_close(&gram(&a), &gram(&b), 1e-5, &format!("{sketch:?}"));
    }
    let a = leverage::scores(gaussian.clone(), &rows, 0.01, 20, 4, &Processes::default()).unwrap();
    let b = leverage::scores(built_in.clone(), &rows, 0.01, 20, 4, &Processes::default()).unwrap();
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-5), "{a:?} {b:?}");
}

#[test]
fn a_file_of_an_own_kernel_is_loaded_with_that_kernel_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("basis.safetensors");
    let rows = rows(20);
    let basis =
        Basis::fit(intersection(), &rows, &SketchOptions::new(SketchKind::Gaussian, 5)).unwrap();
    basis.save(&path).unwrap();
    let loaded = Basis::load_with(&path, intersection()).unwrap();
    assert_eq!(loaded.project(&rows).unwrap(), basis.project(&rows).unwrap());
    assert_eq!(loaded.fingerprint(), basis.fingerprint());
    assert_eq!(loaded.kernel().name(), "intersection");

    let error = Basis::load(&path).unwrap_err();
    assert!(error.to_string().contains("the kernel \"intersection\", which is not built in"));
    let others: [Box<dyn OutputKernel>; 2] =
        [Box::new(Kernel::Cosine), Box::new(own("another", dot))];
    for other in others {
        let other: std::sync::Arc<dyn OutputKernel> = other.into();
        let error = Basis::load_with(&path, other).unwrap_err();
        assert!(error.to_string().contains("fitted with the kernel"), "{error}");
    }
    // a built-in kernel's file names that kernel and no other
    let cosine =
        Basis::fit(Kernel::Cosine, &rows, &SketchOptions::new(SketchKind::Gaussian, 5)).unwrap();
    cosine.save(&path).unwrap();
    assert!(Basis::load_with(&path, Kernel::Cosine).is_ok());
    for given in [Kernel::Linear, Kernel::Gaussian { gamma: 1.0 }] {
        let error = Basis::load_with(&path, given).unwrap_err();
        assert!(error.to_string().contains("cosine"), "{error}");
    }
    assert!(refused(Basis::load_with(&path, intersection()), "fitted with the kernel"));
}

#[test]
fn the_contract_notices_what_is_no_kernel() {
    let breach = |kernel: &dyn OutputKernel, part: &str| {
        let rows = dense(12, 4, &mut generator(5, "own kernels", 1));
        let actual = contract::check(kernel, &rows).unwrap_err();
        assert!(matches!(actual, Error::Contract { part: "kernel", .. }), "{actual:?}");
        assert!(actual.to_string().contains(part), "{actual}");
    };
    let distance = |a: &[f64], b: &[f64]| dot(a, a) + dot(b, b) - 2.0 * dot(a, b);
    breach(&own("distance", distance), "positive semi-definite");
    breach(&own("one-sided", |a, b| dot(a, b) + a[0]), "k(0, 1) =");
    breach(&own("nan", |_, _| f64::NAN), "NaN");
    breach(&Own { name: "large", normalised: true, value: dot }, "normalised");
    let rows = dense(12, 4, &mut generator(5, "own kernels", 1));
    let two = rows.select(&[0, 1]).unwrap();
    assert!(refused(contract::check(&own("dot", dot), &two), "three rows"));
    assert!(refused(contract::check(&Kernel::Hamming, &rows), "dense"));
}

/// Divides by the largest value of the block.
#[derive(Debug)]
struct Relative;

impl OutputKernel for Relative {
    fn name(&self) -> String {
        "relative".into()
    }

    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
        let products = Kernel::Linear.block(a, b)?;
        let all = from_faer(&products);
        let largest = all.iter().flatten().fold(0.0f64, |m, v| m.max(v.abs()));
        Ok(Mat::from_fn(products.nrows(), products.ncols(), |i, j| products[(i, j)] / largest))
    }

    fn diagonal(&self, rows: &Block) -> Result<Vec<f64>, Error> {
        Ok(rows.squared_norms())
    }
}

/// Says that it is linear in rows, and gives their products squared.
#[derive(Debug)]
struct Squared;

impl OutputKernel for Squared {
    fn name(&self) -> String {
        "squared".into()
    }

    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
        let products = Kernel::Linear.block(a, b)?;
        Ok(Mat::from_fn(a.len(), b.len(), |i, j| products[(i, j)].powi(2)))
    }

    fn diagonal(&self, rows: &Block) -> Result<Vec<f64>, Error> {
        Ok(rows.squared_norms().into_iter().map(|v| v * v).collect())
    }

    fn feature_scale(&self, _: f64) -> Option<f64> {
        Some(1.0)
    }
}

#[test]
fn the_contract_notices_values_that_depend_on_other_rows_and_false_promises() {
    let rows = dense(12, 4, &mut generator(5, "own kernels", 1));
    assert!(refused(contract::check(&Relative, &rows), "in a block of rows"));
    assert!(refused(contract::check(&Squared, &rows), "scaled rows"));
}

/// Gives matrices and diagonals of a shape that it did not promise, or values that are not finite.
#[derive(Debug)]
enum Wrong {
    Transposed,
    ShortDiagonal,
    NotFinite,
    DiagonalNotFinite,
}

impl OutputKernel for Wrong {
    fn name(&self) -> String {
        format!("wrong ({self:?})")
    }

    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
        let gram = intersection().block(a, b)?;
        Ok(match self {
            Self::Transposed => gram.transpose().to_owned(),
            Self::NotFinite => Mat::from_fn(a.len(), b.len(), |_, _| f64::NAN),
            Self::ShortDiagonal | Self::DiagonalNotFinite => gram,
        })
    }

    fn diagonal(&self, rows: &Block) -> Result<Vec<f64>, Error> {
        let mut values = intersection().diagonal(rows)?;
        match self {
            Self::ShortDiagonal => values.truncate(1),
            Self::DiagonalNotFinite => values[1] = f64::INFINITY,
            Self::Transposed | Self::NotFinite => {}
        }
        Ok(values)
    }
}

#[test]
fn a_kernel_that_errs_is_named() {
    let rows = rows(20);
    let project = |kernel: Wrong| {
        let every = SketchKind::Subsampling { replacement: false };
        let basis = Basis::fit(kernel, &rows, &SketchOptions::new(every, 8))?;
        basis.project(&rows)
    };
    let cases = [
        (
            Wrong::Transposed,
            "the kernel breaks its contract: wrong (Transposed) gives a 20 × 8 matrix for 8 and 20 rows",
        ),
        (
            Wrong::ShortDiagonal,
            "the kernel breaks its contract: the diagonal of wrong (ShortDiagonal) has 1 values for 20 rows",
        ),
        (
            Wrong::NotFinite,
            "the kernel wrong (NotFinite) gives values that are not finite: NaN; correct the kernel",
        ),
        (
            Wrong::DiagonalNotFinite,
            "the kernel wrong (DiagonalNotFinite) gives values that are not finite in row 1: inf",
        ),
    ];
    for (kernel, expected) in cases {
        let error = project(kernel).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let transposed = "wrong (Transposed) gives a 20 × 1 matrix for 1 and 20 rows";
    assert!(refused(contract::check(&Wrong::Transposed, &rows), transposed));
    let short = "the diagonal of wrong (ShortDiagonal) has 1 values for 20 rows";
    assert!(refused(contract::check(&Wrong::ShortDiagonal, &rows), short));
    let sum = SumKernel::default().with(1.0, Wrong::ShortDiagonal, rows.kind(), rows.width());
    assert!(refused(diagonal(&sum, &rows), short));
}
