//! The sketch size that a study recommends.

use dsokr_data::{DataRoot, Dataset};

use super::LargerSketch;
use crate::Error;
use crate::config::Checked;
use crate::sketch::Study;

/// Sizes that are tried, as multiples of the configuration's.
const MULTIPLES: [usize; 3] = [1, 2, 4];

/// The most kernel values of outputs with anchors that are worth a line of advice: some seconds.
const MOST: usize = 50_000_000;

/// The size that [`Study::curve`] recommends among 1, 2 and 4 times the configuration's, if it is a
/// larger one. None where the study takes long: it also fits kernel machines, and large sets of outputs
/// have many kernel values.
pub(crate) fn larger_sketch(
    config: &Checked,
    root: &DataRoot,
    dataset: &Dataset,
) -> Result<Option<LargerSketch>, Error> {
    let (size, pairs) = (config.sketch.size, dataset.train.ids.len());
    let rows = pairs + dataset.outputs.candidates.len();
    let small = |&size: &usize| size <= pairs && size.saturating_mul(rows) <= MOST;
    let sizes: Vec<usize> =
        MULTIPLES.iter().map(|multiple| size.saturating_mul(*multiple)).filter(small).collect();
    let several = !config.output.kernels.is_empty();
    if sizes.len() < 2 || config.encoder.abilities().closed_form || config.sketch.full || several {
        return Ok(None);
    }
    let study = Study::load(config, root)?;
    let curve = study.curve(&config.sketch.method, config.output.power, &sizes, 1, |_| {})?;
    let larger = curve.best().filter(|point| point.size > size);
    Ok(larger.map(|point| LargerSketch { size: point.size, perfect_h: point.perfect.mean }))
}
