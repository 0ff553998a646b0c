//! What a search finds beyond the candidates, compared with the true outputs.

use dsokr_data::{Split, Truth};
use dsokr_decode::Candidates;

use crate::Error;
use crate::decoder::{Decoder, PredictedOutput};
use crate::scores::OutputScores;
use crate::structures::{BeyondScores, StructureScores};

/// The right outputs of queries, and what was predicted for these.
pub(super) struct Compared<'a> {
    pub split: &'a Split,
    /// The ids of the right outputs that count.
    pub golds: &'a [String],
    /// What they are, where outputs are compared as graphs.
    pub truth: Option<&'a Truth>,
    /// The first candidates.
    pub first: &'a [Option<usize>],
}

impl Compared<'_> {
    /// The label of each right output, whether it is a candidate or not; none where one is not known.
    fn labels<'l>(&'l self, candidates: &'l Candidates) -> Option<Vec<&'l str>> {
        let Self { split, golds, .. } = self;
        let label = |(query, gold): (usize, &'l String)| match candidates.find(gold) {
            Some(at) => Some(candidates.label(at)),
            None if *gold == split.ids[query] => split.labels.get(query)?.as_deref(),
            None => None,
        };
        golds.iter().enumerate().map(label).collect()
    }
}

/// The metrics of what a search finds, beside those of the first candidates.
pub(super) fn beyond_scores(
    decoder: Decoder,
    found: &[PredictedOutput],
    compared: &Compared,
) -> Result<BeyondScores, Error> {
    let candidates = decoder.candidates;
    let first = compared.first.iter().map(|at| at.map_or("", |at| candidates.label(at)));
    let first: Vec<&str> = first.collect();
    let (smiles, graphs) = match compared.truth {
        Some(truth @ Truth::Molecules(all)) => {
            let labels = found.iter().map(|own| own.label.as_str());
            let predicted = decoder.config.output.features.truth_of_labels(labels)?;
            let compared = predicted.map(|own| OutputScores::with_queries(truth, &own, None));
            let graphs = match compared.transpose()?.flatten() {
                Some((OutputScores::Molecules(scores), _)) => Some(scores),
                Some((
                    OutputScores::Labels(_) | OutputScores::Rankings(_) | OutputScores::Numbers(_),
                    _,
                ))
                | None => None,
            };
            (Some(all.iter().map(|own| own.smiles.as_str()).collect::<Vec<_>>()), graphs)
        }
        Some(Truth::Graphs(_) | Truth::Labels(_) | Truth::Rankings(_) | Truth::Numbers(_))
        | None => (compared.labels(candidates), None),
    };
    let scores = |predicted: Vec<&str>| {
        let pairs: Vec<_> = smiles.as_ref()?.iter().copied().zip(predicted).collect();
        StructureScores::of(&pairs)
    };
    let (count, facts) =
        (found.len().max(1) as f64, || found.iter().filter_map(|own| own.search.as_ref()));
    Ok(BeyondScores {
        graphs,
        molecules: scores(found.iter().map(|own| own.label.as_str()).collect()),
        candidates: scores(first),
        outside: facts().filter(|own| !own.in_table).count() as f64 / count,
        evaluated: facts().map(|own| own.evaluated as f64).sum::<f64>() / count,
    })
}
