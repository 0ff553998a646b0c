//! The kernel-induced loss of the outputs that are chosen.

use std::collections::HashMap;

use dsokr_basis::{Block, OutputKernel};
use dsokr_data::FittedFeatures;
use dsokr_molecule::Molecule;

use crate::Error;
use crate::decoder::Decoder;
use crate::targets::OutputSpace;

/// `‖ψ(ŷ) − ψ(y)‖² = k(ŷ, ŷ) + k(y, y) − 2 k(ŷ, y)` of each query, ŷ the first of its candidates and y the right output, by
/// their labels (thesis, table 4.4). None of outputs whose features are not computed from their SMILES, of a sum of kernels,
/// and where an output is not known.
pub(super) fn kernel_losses<'a>(
    decoder: Decoder<'a>,
    fitted: &FittedFeatures,
    pairs: impl Iterator<Item = [Option<&'a str>; 2]>,
) -> Result<Option<Vec<f64>>, Error> {
    let Some(kernel) = kernel(&decoder) else { return Ok(None) };
    let pairs: Option<Vec<[&str; 2]>> = pairs.map(|[a, b]| Some([a?, b?])).collect();
    let Some(pairs) = pairs.filter(|pairs| !pairs.is_empty()) else { return Ok(None) };
    let Some(rows) = rows(&decoder, fitted, pairs.iter().flatten().copied())? else {
        return Ok(None);
    };
    let loss = |pair: &[&str; 2]| {
        let [predicted, right] = pair.map(|label| &rows[label]);
        let norm = |row| kernel.diagonal(row)[0];
        let both = kernel.block(predicted, right)?[(0, 0)];
        Ok((norm(predicted) + norm(right) - 2.0 * both).max(0.0))
    };
    Ok(Some(pairs.iter().map(loss).collect::<Result<_, Error>>()?))
}

/// The one output kernel, with the γ that the training outputs gave it.
fn kernel<'a>(decoder: &Decoder<'a>) -> Option<&'a dyn OutputKernel> {
    let configured = decoder.config.output.kernel.as_ref()?;
    match decoder.space {
        Some(OutputSpace::Basis(basis)) => Some(basis.kernel()),
        Some(OutputSpace::Machine(space)) => Some(space.kernel()),
        Some(OutputSpace::Quantiles(_)) | None => configured.known().map(|own| own as _),
    }
}

/// The rows of labels: of outputs that are held, or made from their SMILES. None where one is no SMILES.
fn rows<'a>(
    decoder: &Decoder,
    fitted: &FittedFeatures,
    labels: impl Iterator<Item = &'a str>,
) -> Result<Option<HashMap<&'a str, Block<'static>>>, Error> {
    let mut rows: HashMap<&str, Option<Block>> = labels.map(|label| (label, None)).collect();
    if let Some(outputs) = decoder.held {
        for (at, label) in outputs.labels.iter().enumerate() {
            if let Some(row @ None) = rows.get_mut(label.as_str()) {
                *row = Some(outputs.rows.select(&[at])?);
            }
        }
    }
    let others: Vec<&str> =
        rows.iter().filter(|(_, row)| row.is_none()).map(|(&label, _)| label).collect();
    let molecules = others.iter().map(|label| Molecule::parse(label).ok());
    let Some(molecules) = molecules.collect::<Option<Vec<_>>>() else { return Ok(None) };
    if !others.is_empty() {
        let smiles = others.iter().copied().map(str::to_owned).collect();
        let made = decoder.config.source().made(smiles, molecules, fitted)?.rows;
        for (at, label) in others.into_iter().enumerate() {
            rows.insert(label, Some(made.select(&[at])?));
        }
    }
    Ok(Some(rows.into_iter().filter_map(|(label, row)| Some((label, row?))).collect()))
}
