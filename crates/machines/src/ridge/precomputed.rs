//! The checks of Gram matrices that a caller gives.

use dsokr_basis::eigenbasis::leading;
use faer::{Mat, MatRef};

use crate::Error;
use crate::linear::{Factor, NoFactor, Panels, check_finite};

/// Asymmetry and negative eigenvalues that are rounding, as a share of the largest value or of the trace.
const TOLERANCE: f64 = 1e-8;

/// The lower half of a Gram matrix that is square, finite, not zero, symmetric and positive semi-definite.
pub(super) fn checked(gram: MatRef<f64>) -> Result<Panels<f64>, Error> {
    let (n, what) = (gram.nrows(), "the kernel matrix");
    Error::check_length("columns of the kernel matrix", gram.ncols(), n)?;
    check_finite("kernel matrix", gram, |row, column| (row, column))?;
    let values = gram.col_iter().flat_map(|column| column.iter());
    let largest = values.fold(0.0f64, |largest, value| largest.max(value.abs()));
    if n > 0 && largest == 0.0 {
        let message = "the kernel matrix is zero: no input is like any other, nor like itself";
        return Err(Error::numeric(message));
    }
    for column in 0..n {
        for row in 0..column {
            let (value, mirrored) = (gram[(row, column)], gram[(column, row)]);
            if (value - mirrored).abs() > TOLERANCE * largest {
                return Err(Error::NotSymmetric { what, row, column, value, mirrored });
            }
        }
    }
    let panels = Panels::try_new(n, |rows| {
        let element =
            |i: usize, j: usize| 0.5 * (gram[(rows.start + i, j)] + gram[(j, rows.start + i)]);
        Ok::<_, Error>(Mat::from_fn(rows.len(), rows.end, element))
    })?;
    // Positive definite after a small shift: a Cholesky factor says so, in a ninth of the time of
    // the eigenvalues, which are computed only to name the offending one.
    let (trace, mut shifted) = (panels.trace(), panels.clone());
    shifted.add_to_diagonal(TOLERANCE * trace.abs().max(f64::MIN_POSITIVE));
    if let Err(failed) = Factor::new(shifted) {
        if let NoFactor::Cancelled(error) = failed {
            return Err(error.into());
        }
        let whole = panels.whole();
        let largest = leading(whole.clone(), 0.5).map_or(0.0, |eigen| eigen.values[0]);
        // The largest eigenvalue of c I − K is c less the smallest of K.
        let shift = largest.abs() + trace.abs();
        let flipped =
            Mat::from_fn(n, n, |i, j| f64::from(u8::from(i == j)) * shift - whole[(i, j)]);
        let smallest =
            leading(flipped, 0.999_999).map_or(f64::NAN, |eigen| shift - eigen.values[0]);
        return Err(Error::NotSemidefinite { what, smallest, largest });
    }
    Ok(panels)
}
