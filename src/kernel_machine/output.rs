//! The output matrix in the coordinates of answers.

use dsokr_machines::OutputMatrix;
use faer::Mat;

use crate::Error;
use crate::error::ensure;
use crate::targets::OutputSpace;

/// M of the coordinates of a space: of a basis `A M Aᵀ`, where `ψ̃(y) = A y`.
pub(super) fn in_space(
    output: Option<&OutputMatrix>,
    space: &OutputSpace,
) -> Result<Option<OutputMatrix>, Error> {
    let (Some(output), Some(basis)) = (output, space.basis()) else { return Ok(output.cloned()) };
    let (d, p) = (basis.width, basis.dimension());
    let found = format_args!("a matrix of {} columns", output.width);
    let allowed = format_args!("{d}, one for each column of outputs");
    ensure(output.width == d, "encoder.output_matrix", found, allowed)?;
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
    Ok(Some(output.mapped(map.as_ref())?))
}
