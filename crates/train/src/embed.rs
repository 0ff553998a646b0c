use burn::module::Module;
use dsokr_basis::Cancellation;
use dsokr_nn::{Encoder, Model, Pass};

use crate::{Error, batches};

/// Coordinates `z` of all inputs, `[n × p]` row-major, in evaluation mode, `batch` at a time.
///
/// # Errors
/// [`Cancelled`](dsokr_basis::Error::Cancelled).
pub fn embed<E: Encoder>(
    model: &Model<E>,
    inputs: &[E::Input],
    batch: usize,
) -> Result<Vec<f32>, Error> {
    let cancellation = Cancellation::current();
    let model = model.valid();
    let p = model.encoder.dimension();
    let lengths: Vec<usize> = inputs.iter().map(|input| model.encoder.length(input)).collect();
    let mut all = vec![0.0; inputs.len() * p];
    for rows in batches::evaluation(&lengths, batch) {
        cancellation.check()?;
        let chosen: Vec<&E::Input> = rows.iter().map(|&i| &inputs[i]).collect();
        let z = model.coordinates(&chosen, Pass::Evaluate).into_data().convert::<f32>();
        let z = z.try_to_vec::<f32>().unwrap_or_default();
        for (row, values) in rows.iter().zip(z.chunks_exact(p)) {
            all[row * p..(row + 1) * p].copy_from_slice(values);
        }
    }
    Ok(all)
}
