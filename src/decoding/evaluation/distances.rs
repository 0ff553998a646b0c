//! How far predictions and chosen outputs are from the right ones: the squared error, the kernel-induced loss, and MCES
//! at 1.

use std::collections::HashMap;

use dsokr_basis::kernel::{diagonal, gram};
use dsokr_basis::{Block, OutputKernel};
use dsokr_core::Argument;
use dsokr_decode::CandidateBlocks;
use dsokr_molecule::Molecule;
use dsokr_molecule::ged::{MyopicDistance, myopic_distance};
use rayon::prelude::*;

use crate::decoding::decoder::Decoder;
use crate::error::Error;
use crate::metrics::molecules::{WORK, limit_of};
use crate::targets::OutputSpace;

/// Returns `‖ψ(ŷ) − ψ(y)‖² = k(ŷ, ŷ) + k(y, y) − 2 k(ŷ, y)` of each query, ŷ the first of its candidates and y the right output,
/// by their ids (thesis, table 4.4). None of a sum of kernels, and where the features of an output are neither held nor
/// computed from the SMILES that it is shown by.
pub(super) fn kernel_losses<'a>(
    decoder: &Decoder<'a>,
    pairs: impl Iterator<Item = [Option<&'a str>; 2]>,
) -> Result<Option<Vec<f64>>, Error> {
    let Some(kernel) = kernel(decoder) else { return Ok(None) };
    let pairs: Option<Vec<[&str; 2]>> = pairs.map(|[a, b]| Some([a?, b?])).collect();
    let Some(pairs) = pairs.filter(|pairs| !pairs.is_empty()) else { return Ok(None) };
    let Some(rows) = rows(decoder, pairs.iter().flatten().copied())? else { return Ok(None) };
    let loss = |pair: &[&str; 2]| {
        let [predicted, right] = pair.map(|id| &rows[id]);
        let both = gram(kernel, predicted, right)?[(0, 0)];
        let squared_norms = diagonal(kernel, predicted)?[0] + diagonal(kernel, right)?[0];
        Ok((squared_norms - 2.0 * both).max(0.0))
    };
    Ok(Some(pairs.iter().map(loss).collect::<Result<_, Error>>()?))
}

/// Returns the one output kernel, with the γ that the training outputs gave it.
fn kernel<'a>(decoder: &Decoder<'a>) -> Option<&'a dyn OutputKernel> {
    let configured = decoder.config.output.kernel.as_ref()?;
    match decoder.space {
        Some(OutputSpace::Basis(basis)) => Some(basis.kernel()),
        Some(OutputSpace::Machine(space)) => Some(space.kernel()),
        Some(OutputSpace::Quantiles(_)) | None => configured.stated().map(|kernel| kernel as _),
    }
}

/// Returns the rows of outputs by id: those that are held, or made from their SMILES. None where one is neither.
fn rows<'a>(
    decoder: &Decoder,
    ids: impl Iterator<Item = &'a str>,
) -> Result<Option<HashMap<&'a str, Block<'static>>>, Error> {
    let mut rows: HashMap<&str, Option<Block>> = ids.map(|id| (id, None)).collect();
    if let Some(outputs) = decoder.held {
        for (at, id) in outputs.ids.iter().enumerate() {
            if let Some(row) = rows.get_mut(id.as_str()) {
                *row = Some(outputs.rows.select(&[at])?);
            }
        }
    }
    let others: Vec<&str> =
        rows.iter().filter(|(_, row)| row.is_none()).map(|(&id, _)| id).collect();
    if !others.is_empty() {
        let Decoder { candidates, config, fitted, .. } = *decoder;
        let label = |id: &&str| candidates.find(id).map(|at| candidates.label(at).to_owned());
        let smiles = others.iter().map(label).collect::<Option<Vec<_>>>();
        let Some(fitted) = fitted else { return Ok(None) };
        let Some(smiles) = smiles else { return Ok(None) };
        let molecules = smiles.iter().map(|label| Molecule::parse(label).ok());
        let Some(molecules) = molecules.collect() else { return Ok(None) };
        let computed = config.source().made(smiles, molecules, fitted)?.rows;
        for (at, id) in others.into_iter().enumerate() {
            rows.insert(id, Some(computed.select(&[at])?));
        }
    }
    Ok(Some(rows.into_iter().filter_map(|(id, row)| Some((id, row?))).collect()))
}

/// The threshold of MassSpecGym.
const THRESHOLD: f64 = 15.0;

/// The most work of a pair, in units of what an edit distance may take.
const TIMES: u64 = 20;

/// Returns the [`myopic_distance`] of each query's first candidate and right output, which are SMILES. A distance that is not
/// proven within the limit counts with its upper bound; their number is logged.
///
/// # Errors
/// No queries; labels that are not SMILES, and right outputs that are not candidates.
pub(super) fn mces_distances<'a>(
    pairs: impl Iterator<Item = [Option<&'a str>; 2]>,
) -> Result<Vec<f64>, Error> {
    let molecule = |label: Option<&str>| {
        let read = label.and_then(|label| Molecule::parse(label).ok());
        read.ok_or_else(|| {
            let output = label
                .map_or_else(|| "an output that is not known".into(), |label| format!("{label:?}"));
            let allowed = "false, or candidates that are SMILES and have all right outputs";
            Error::value(Argument::new("mces"), format!("true, for {output}"), allowed)
        })
    };
    let pairs = pairs.map(|[first, right]| Ok([molecule(first)?, molecule(right)?]));
    let pairs = pairs.collect::<Result<Vec<_>, Error>>()?;
    let distance = |[first, right]: &[Molecule; 2]| {
        let atoms = first.atoms().len().max(right.atoms().len());
        myopic_distance(first, right, THRESHOLD, &limit_of(TIMES * WORK, atoms))
    };
    // hard pairs take a thousand times as long as easy ones
    let distances: Vec<MyopicDistance> = pairs.par_iter().with_max_len(1).map(distance).collect();
    let unproven = distances.iter().filter(|distance| !distance.proven).count();
    if unproven > 0 {
        let all = distances.len();
        tracing::warn!(
            unproven,
            all,
            "MCES distances are upper bounds: their search reached its limit"
        );
    }
    Ok(distances.iter().map(|distance| distance.distance).collect())
}

/// Returns `‖z − ψ̃(y)‖² + k(y, y) − ‖ψ̃(y)‖²` of each query, y in the rows `gold` of the candidates.
///
/// `k(y, y)` is 1 for normalised kernels and comes from the constants `−½ k(y, y)` of others, unless
/// these were corrected for hubs.
pub(super) fn squared_errors(
    z: &[f32],
    gold: &[Option<u32>],
    decoder: Decoder,
) -> Result<Option<Vec<f64>>, Error> {
    let Decoder { candidates, config, space, .. } = decoder;
    let normalised = config.output.is_normalised();
    let dim = candidates.dim();
    let Some(from) = space.and_then(OutputSpace::origin) else { return Ok(None) };
    if !normalised && config.decoding.hubs.is_some() {
        return Ok(None);
    }
    let one = |(z, gold): (&[f32], &Option<u32>)| {
        let Some(row) = gold.map(|row| row as usize) else { return Ok(None) };
        let target = candidates.point(row)?;
        let mut apart = 0.0;
        let mut length = 0.0;
        for ((&z, &target), from) in z.iter().zip(&*target).zip(&*from) {
            let target = f64::from(target) + from;
            apart += (f64::from(z) - target).powi(2);
            length += target * target;
        }
        let norm = if normalised { 1.0 } else { -2.0 * f64::from(candidates.constants()[row]) };
        Ok(Some(apart + (norm - length).max(0.0)))
    };
    let errors = z.chunks_exact(dim).zip(gold).map(one).collect::<Result<Vec<_>, Error>>()?;
    Ok(errors.into_iter().collect())
}
