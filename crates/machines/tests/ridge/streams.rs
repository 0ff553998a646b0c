//! Rows made on the fly, and the average of models of parts.

use std::borrow::Cow;
use std::ops::Range;

use dsokr_basis::features::DenseBlock;
use dsokr_basis::{
    Block, Error as BasisError, Kernel, RowKind, RowSource, SketchKind, SketchOptions,
};
use dsokr_machines::{Error, OutputSpace, Projected, TargetBlock, TargetSource};
use faer::Mat;

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
    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, BasisError> {
        assert!(rows.len() <= 1 << 16, "rows are read by blocks");
        let values = rows.flat_map(|i| [angle(i).cos() as f32, angle(i).sin() as f32]).collect();
        Ok(Block::Dense(DenseBlock::new(2, Cow::Owned(values))?))
    }
}

impl TargetSource for Circle {
    fn len(&self) -> usize {
        self.0
    }
    fn width(&self) -> usize {
        2
    }
    fn block(&self, rows: Range<usize>) -> Result<TargetBlock, Error> {
        let value = |j: usize, i: usize| if j == 0 { (2.0 * angle(i)).sin() } else { 1.0 };
        let block = Mat::from_fn(2, rows.len(), |j, i| value(j, rows.start + i));
        Ok(TargetBlock::Coordinates(block))
    }
}

#[test]
fn many_rows_are_fitted_block_by_block() {
    let n = 150_000;
    let kernel = Kernel::Gaussian { gamma: 1.0 };
    let fitted = fit_sketched(kernel, &Circle(n), &Circle(n), &EVERY, 40, 0, 1e-7).unwrap();
    let summary = fitted.model.summary();
    assert_eq!((summary.rows, summary.unknowns, fitted.model.anchors()), (n, 40, 40));
    let z = wide(2, &fitted.model.predict(&Circle(100)).unwrap());
    let expected: Rows = (0..100).map(|i| vec![(2.0 * angle(i)).sin(), 1.0]).collect();
    assert_close(&z, &expected, 1e-3, "circle");
}

#[test]
fn projected_targets_equal_those_in_memory() {
    let problem = Problem::new(80, 30);
    let sketch = SketchKind::Gaussian;
    let basis =
        dsokr_basis::Basis::fit(kernel_y(), &problem.outputs(), &SketchOptions::new(&sketch, 5))
            .unwrap();
    let (space, targets) = OutputSpace::basis(basis, Some(4), &problem.outputs()).unwrap();
    let (x, outputs) = (problem.inputs(), problem.outputs());
    let streamed = Projected::new(&space, &outputs).unwrap();
    let fit = |targets: &dyn TargetSource| {
        fit_sketched(kernel_x(), &x, targets, &sketch, 20, 0, 1e-3).unwrap().model
    };
    let (a, b) = (fit(&targets).predict(&x).unwrap(), fit(&streamed).predict(&x).unwrap());
    assert_eq!(a, b);
    let (identity, _) = OutputSpace::training(kernel_y(), &outputs).unwrap();
    assert!(matches!(Projected::new(&identity, &outputs), Err(Error::Value { .. })));
}

#[test]
fn parts_are_fitted_by_themselves_and_averaged() {
    let (n, m, lambda) = (90, 12, 1e-3);
    let problem = Problem::new(n, 31);
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let x = problem.inputs();
    let average = fit_averaged(kernel_x(), &x, &targets, &EVERY, m, 5, lambda, 4).unwrap();
    assert_eq!(average.anchors(), 4 * m);
    let rank = average.width();
    let mut sum = vec![vec![0.0; rank]; n];
    for part in 0..4 {
        let rows: Vec<usize> = (part * n / 4..(part + 1) * n / 4).collect();
        let (x, y) = (x.select(&rows).unwrap(), targets.select(&rows).unwrap());
        let seed = 5 + part as u64;
        let model = fit_sketched(kernel_x(), &x, &y, &EVERY, m, seed, lambda).unwrap().model;
        let predicted = wide(rank, &model.predict(&problem.inputs()).unwrap());
        sum = add(&sum, 0.25, &predicted);
    }
    assert_close(&wide(rank, &average.predict(&x).unwrap()), &sum, 1e-6, "average");
    let parts = fit_averaged(kernel_x(), &x, &targets, &EVERY, m, 5, lambda, 91);
    assert_eq!(parts.unwrap_err().to_string(), "number of parts is 91, allowed: 1..=90");
    let parts = fit_averaged(kernel_x(), &x, &targets, &EVERY, 31, 5, lambda, 3);
    assert!(
        matches!(parts, Err(error) if error.to_string().contains("size = 31, allowed: 1..=30,"))
    );
}
