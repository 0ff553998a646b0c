use dsokr_basis::random::{generator, unit};
use dsokr_basis::{Cancellation, Error};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use super::panels::rows_of;
use super::{Factor, Scalar};

/// Steps of the power iteration in each direction.
const STEPS: usize = 6;

impl<T: Scalar> Factor<T> {
    /// An estimate from below of the condition number `σ_1 / σ_n` of the factored matrix, by a few
    /// steps of the power iteration on it and on its inverse.
    pub(crate) fn condition(&self) -> Result<f64, Error> {
        let cancellation = &Cancellation::current();
        let largest = self.power("condition/largest", |vector| Ok(self.multiply(vector)))?;
        let smallest = self.power("condition/smallest", |mut vector| {
            self.forward_from(vector.as_mut(), 0, cancellation)?;
            self.backward(vector.as_mut(), cancellation)?;
            Ok(vector)
        })?;
        Ok(largest * smallest)
    }

    /// The length that a unit vector grows to in the last of some steps.
    fn power(
        &self,
        purpose: &str,
        step: impl Fn(Mat<T>) -> Result<Mat<T>, Error>,
    ) -> Result<f64, Error> {
        let mut random = generator(0, purpose, 0);
        let mut vector = Mat::from_fn(self.size(), 1, |_, _| T::of(unit(&mut random) - 0.5));
        let mut length = 0.0;
        for _ in 0..=STEPS {
            let squares = vector.col(0).iter().map(|value| value.wide() * value.wide());
            length = squares.sum::<f64>().sqrt();
            if !(length > 0.0 && length.is_finite()) {
                break;
            }
            let scale = 1.0 / length;
            vector.col_mut(0).iter_mut().for_each(|value| *value = T::of(value.wide() * scale));
            vector = step(vector)?;
        }
        let squares = vector.col(0).iter().map(|value| value.wide() * value.wide());
        Ok(squares.sum::<f64>().sqrt().max(length))
    }

    /// `L Lᵀ v`.
    fn multiply(&self, vector: Mat<T>) -> Mat<T> {
        let (size, one) = (self.size(), T::of(1.0));
        let mut inner = Mat::<T>::zeros(size, 1);
        for (at, panel) in self.lower.panels.iter().enumerate() {
            let rows = rows_of(at, size);
            let part = vector.as_ref().subrows(rows.start, rows.len());
            let left = panel.as_ref().subcols(0, rows.start);
            let above = inner.as_mut().subrows_mut(0, rows.start);
            matmul(above, Accum::Add, left.transpose(), part, one, Par::Seq);
            for j in 0..rows.len() {
                let terms = (j..rows.len()).map(|i| panel[(i, rows.start + j)] * part[(i, 0)]);
                inner[(rows.start + j, 0)] += terms.sum::<T>();
            }
        }
        let mut out = Mat::<T>::zeros(size, 1);
        for (at, panel) in self.lower.panels.iter().enumerate() {
            let rows = rows_of(at, size);
            let left = panel.as_ref().subcols(0, rows.start);
            let mut below = out.as_mut().subrows_mut(rows.start, rows.len());
            let known = inner.as_ref().subrows(0, rows.start);
            matmul(below.as_mut(), Accum::Replace, left, known, one, Par::Seq);
            for i in 0..rows.len() {
                let terms =
                    (0..=i).map(|j| panel[(i, rows.start + j)] * inner[(rows.start + j, 0)]);
                below[(i, 0)] += terms.sum::<T>();
            }
        }
        out
    }
}
