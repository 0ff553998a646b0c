//! Rows made on the fly, and the average of models of parts.

use std::borrow::Cow;
use std::ops::Range;

use dsokr_basis::features::DenseBlock;
use dsokr_basis::{Block, Kernel, RowKind, RowSource, SketchKind};
use dsokr_core::Error;
use dsokr_machines::{OutputSpace, Targets};

use crate::naive::*;

const EVERY: SketchKind = SketchKind::Subsampling { replacement: false };

/// The points (cos t, sin t), never stored; the target is (sin 2t, 1).
pub struct Circle(pub usize);

fn angle(row: usize) -> f64 {
    row as f64 * 0.618_033_988_75 % 1.0 * std::f64::consts::TAU
}

impl RowSource for Circle {
    fn len(&self) -> usize {
        self.0
    }
    fn width(&self) -> usize {
        2
    }
    fn kind(&self) -> RowKind {
        RowKind::Dense
    }
    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        assert!(rows.len() <= 1 << 16, "rows are read by blocks");
        let values = rows.flat_map(|i| [angle(i).cos() as f32, angle(i).sin() as f32]).collect();
        Ok(Block::Dense(DenseBlock::new(2, Cow::Owned(values))?))
    }
}

impl Circle {
    pub fn targets(&self) -> Targets {
        Targets::new(2, (0..self.0).flat_map(|i| [(2.0 * angle(i)).sin(), 1.0]).collect::<Vec<_>>())
            .unwrap()
    }
}

#[test]
fn many_rows_are_fitted_block_by_block() {
    let n = 150_000;
    let kernel = Kernel::Gaussian { gamma: 1.0 };
    let fitted =
        fit_sketched(kernel, &Circle(n), &Circle(n).targets(), &EVERY, 40, 0, 1e-7).unwrap();
    let summary = &fitted.model.summary();
    // I_k(2) / I_0(2), the eigenvalues on a circle, are above 1e-12 for |k| up to 13
    assert_eq!((summary.rows, summary.unknowns, fitted.model.anchors()), (n, 27, 40));
    let z = wide(2, &fitted.model.predict(&Circle(100)).unwrap());
    let expected: Rows = (0..100).map(|i| vec![(2.0 * angle(i)).sin(), 1.0]).collect();
    assert_close(&z, &expected, 1e-3, "circle");
}

#[test]
fn parts_are_fitted_by_themselves_and_averaged() {
    let n = 90;
    let m = 12;
    let lambda = 1e-3;
    let problem = Problem::new(n, 31);
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let x = problem.inputs();
    let average =
        fit_divide_and_conquer(kernel_x(), &x, &targets, &EVERY, m, 5, lambda, 4).unwrap();
    assert_eq!(average.anchors(), 4 * m);
    let rank = average.width();
    let mut sum = vec![vec![0.0; rank]; n];
    for part in 0..4 {
        let rows: Vec<usize> = (part * n / 4..(part + 1) * n / 4).collect();
        let x = x.select(&rows).unwrap();
        let y = targets.select(&rows).unwrap();
        let seed = 5 + part as u64;
        let model = fit_sketched(kernel_x(), &x, &y, &EVERY, m, seed, lambda).unwrap().model;
        let predicted = wide(rank, &model.predict(&problem.inputs()).unwrap());
        sum = add(&sum, 0.25, &predicted);
    }
    assert_close(&wide(rank, &average.predict(&x).unwrap()), &sum, 1e-6, "average");
    let parts = fit_divide_and_conquer(kernel_x(), &x, &targets, &EVERY, m, 5, lambda, 91);
    assert_eq!(parts.unwrap_err().to_string(), "number of parts = 91: expected 1..=90");
    let parts = fit_divide_and_conquer(kernel_x(), &x, &targets, &EVERY, 31, 5, lambda, 3);
    assert!(
        matches!(parts, Err(error) if error.to_string().contains("sketch = 31: expected at most 30, the rows of the smallest"))
    );
}
