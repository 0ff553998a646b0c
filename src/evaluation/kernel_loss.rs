//! The kernel-induced loss of the outputs that are chosen.

use std::collections::HashMap;

use dsokr_basis::OutputKernel;
use dsokr_molecule::Molecule;

use crate::Error;
use crate::decoder::Decoder;

/// Pairs whose kernel values are computed at once.
const PAIRS: usize = 32;

/// `‖ψ(ŷ) − ψ(y)‖² = k(ŷ, ŷ) + k(y, y) − 2 k(ŷ, y)` of each query, ŷ the first of its candidates and y the right output, by
/// their labels (thesis, table 4.4). None of outputs whose features are not computed from their SMILES, of a sum of kernels,
/// and where an output is not known.
pub(super) fn kernel_losses<'a>(
    decoder: Decoder<'a>,
    predicted: impl ExactSizeIterator<Item = Option<&'a str>>,
    right: impl Iterator<Item = Option<&'a str>>,
) -> Result<Option<Vec<f64>>, Error> {
    let source = decoder.config.source();
    let (Some(fitted), Some(kernel)) = (decoder.fitted, decoder.config.output.kernel.as_deref())
    else {
        return Ok(None);
    };
    let mut places: HashMap<&str, usize> = HashMap::new();
    let (mut labels, mut molecules, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for pair in predicted.zip(right) {
        let (Some(predicted), Some(right)) = pair else { return Ok(None) };
        let mut place = |label: &'a str| {
            if let Some(&at) = places.get(label) {
                return Some(at);
            }
            molecules.push(Molecule::parse(label).ok()?);
            labels.push(label.to_owned());
            places.insert(label, molecules.len() - 1);
            Some(molecules.len() - 1)
        };
        let (Some(predicted), Some(right)) = (place(predicted), place(right)) else {
            return Ok(None);
        };
        pairs.push((predicted, right));
    }
    if pairs.is_empty() {
        return Ok(None);
    }
    let rows = source.made(labels, molecules, fitted)?.rows;
    let mut losses = Vec::with_capacity(pairs.len());
    for some in pairs.chunks(PAIRS) {
        let rows = |side: fn(&(usize, usize)) -> usize| {
            rows.select(&some.iter().map(side).collect::<Vec<_>>())
        };
        let (predicted, right) = (rows(|pair| pair.0)?, rows(|pair| pair.1)?);
        let both = kernel.block(&predicted, &right)?;
        let norms = kernel.diagonal(&predicted).into_iter().zip(kernel.diagonal(&right));
        losses
            .extend(norms.enumerate().map(|(at, (a, b))| (a + b - 2.0 * both[(at, at)]).max(0.0)));
    }
    Ok(Some(losses))
}
