//! Outputs that a search finds beyond the candidates, compared with the true outputs.

use dsokr_data::{Split, Truth};
use dsokr_decode::Candidates;

use crate::decoding::decoder::{Decoder, PredictedOutput};
use crate::error::Error;
use crate::metrics::structures::{BeyondScores, MoleculeScores, StructureScores};

/// The right outputs that count, one for each query.
#[derive(Clone, Copy)]
pub(super) struct RightOutputs<'a> {
    /// Their ids.
    pub ids: &'a [String],
    /// What they are, where outputs are compared as molecules or graphs.
    pub truth: Option<&'a Truth>,
}

/// Returns the label of each right output, whether it is a candidate or not; none where one is not known.
fn labels<'l>(
    split: &'l Split,
    golds: &[String],
    candidates: &'l Candidates,
) -> Option<Vec<&'l str>> {
    let label = |(query, gold): (usize, &String)| match candidates.find(gold) {
        Some(at) => Some(candidates.label(at)),
        None if *gold == split.ids[query] => split.labels.get(query)?.as_deref(),
        None => None,
    };
    golds.iter().enumerate().map(label).collect()
}

/// Returns the metrics of what a search finds for the queries of a split, next to those of the `first` candidates.
pub(super) fn beyond_scores(
    decoder: Decoder,
    outputs: &[PredictedOutput],
    split: &Split,
    right: RightOutputs,
    first: &[Option<usize>],
) -> Result<BeyondScores, Error> {
    let candidates = decoder.candidates;
    let first = first.iter().map(|at| at.map_or("", |at| candidates.label(at)));
    let first: Vec<&str> = first.collect();
    let (smiles, graphs) = match right.truth {
        Some(Truth::Molecules(all)) => {
            let labels = outputs.iter().map(|output| output.label.as_str());
            let predicted = decoder.config.output.features.truth_of_labels(labels)?;
            let mut graphs = None;
            if let Some(Truth::Molecules(molecules)) = &predicted {
                let pairs = all.iter().zip(molecules).map(|(a, b)| (&a.graph, &b.graph));
                graphs = Some(MoleculeScores::with_queries(&pairs.collect::<Vec<_>>())?.0);
            }
            (Some(all.iter().map(|molecule| molecule.smiles.as_str()).collect::<Vec<_>>()), graphs)
        }
        Some(
            Truth::Graphs(_)
            | Truth::Labels(_)
            | Truth::Classes(_)
            | Truth::Rankings(_)
            | Truth::Numbers(_),
        )
        | None => (labels(split, right.ids, candidates), None),
    };
    let scores = |predicted: Vec<&str>| {
        let pairs: Vec<_> = smiles.as_ref()?.iter().copied().zip(predicted).collect();
        StructureScores::from_pairs(&pairs)
    };
    let count = outputs.len().max(1) as f64;
    let facts = || outputs.iter().filter_map(|output| output.search.as_ref());
    Ok(BeyondScores {
        graphs,
        molecules: scores(outputs.iter().map(|output| output.label.as_str()).collect()),
        candidates: scores(first),
        outside: facts().filter(|facts| !facts.in_table).count() as f64 / count,
        evaluated: facts().map(|facts| facts.evaluated as f64).sum::<f64>() / count,
    })
}
