//! The output matrix M of a decomposable kernel, in the coordinates of predictions.

use dsokr_machines::Coupling;
use faer::Mat;

use crate::error::{Error, ensure};
use crate::targets::OutputSpace;

/// Returns M of the coordinates of a space: of a basis `A M Aᵀ`, where `ψ̃(y) = A y`. One that is learned is theirs.
pub(super) fn in_space(
    output: Option<&Coupling>,
    space: &OutputSpace,
) -> Result<Option<Coupling>, Error> {
    let Some(Coupling::Given(matrix)) = output else {
        return Ok(output.cloned());
    };
    let Some(basis) = space.basis() else {
        return Ok(output.cloned());
    };
    let d = basis.width();
    let p = basis.dimension();
    let found = format_args!("a matrix of {} columns", matrix.width());
    let allowed = format_args!("{d}, one for each column of outputs");
    ensure(matrix.width() == d, "encoder.output_matrix", found, allowed)?;
    let found = format_args!("a basis of {p} coordinates");
    let allowed = format_args!(
        "{d}, with encoder.output_matrix: sketch.size at least that, and outputs that span all"
    );
    ensure(p == d, "sketch", found, allowed)?;
    let mut map = Mat::zeros(p, d);
    for at in 0..p {
        let unit: Vec<f32> = (0..p).map(|other| f32::from(other == at)).collect();
        let row = basis.feature_direction(&unit)?;
        let row = row.ok_or_else(|| Error::value("output.kernel", "not linear", "linear"))?;
        row.iter().enumerate().for_each(|(j, &value)| map[(at, j)] = value.into());
    }
    Ok(Some(matrix.mapped(map.as_ref())?.into()))
}
