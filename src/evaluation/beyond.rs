//! What a search finds beyond the candidates, compared with the true outputs.

use dsokr_data::Truth;
use dsokr_decode::{Pool, Queries};

use crate::Error;
use crate::decoder::Decoder;
use crate::scores::OutputScores;
use crate::structures::{BeyondScores, StructureScores};

/// The metrics of what a search finds, beside those of the `first` candidates; `truth` is known where outputs are
/// compared as graphs, and else are the labels of the `golds`.
pub(super) fn beyond_scores(
    decoder: Decoder,
    queries: &Queries,
    pool: Pool,
    truth: Option<&Truth>,
    (golds, first): (&[String], &[Option<usize>]),
) -> Result<Option<BeyondScores>, Error> {
    let Some(found) = decoder.beyond(queries, pool)? else { return Ok(None) };
    let candidates = decoder.candidates;
    let first = first.iter().map(|at| at.map_or("", |at| candidates.label(at)));
    let first: Vec<&str> = first.collect();
    let (smiles, graphs) = match truth {
        Some(truth @ Truth::Molecules(all)) => {
            let labels = found.iter().map(|own| own.label.as_str());
            let predicted = decoder.config.output.features.truth_of_labels(labels)?;
            let compared = predicted.map(|own| OutputScores::with_queries(truth, &own));
            let graphs = match compared.transpose()? {
                Some((OutputScores::Molecules(scores), _)) => Some(scores),
                Some((OutputScores::Labels(_) | OutputScores::Rankings(_), _)) | None => None,
            };
            (Some(all.iter().map(|own| own.smiles.as_str()).collect::<Vec<_>>()), graphs)
        }
        Some(Truth::Graphs(_) | Truth::Labels(_) | Truth::Rankings(_)) | None => {
            let label = |id: &String| Some(candidates.label(candidates.find(id)?));
            (golds.iter().map(label).collect::<Option<Vec<_>>>(), None)
        }
    };
    let compared = |predicted: Vec<&str>| {
        let pairs: Vec<_> = smiles.as_ref()?.iter().copied().zip(predicted).collect();
        StructureScores::of(&pairs)
    };
    let (count, facts) =
        (found.len().max(1) as f64, || found.iter().filter_map(|own| own.search.as_ref()));
    Ok(Some(BeyondScores {
        graphs,
        molecules: compared(found.iter().map(|own| own.label.as_str()).collect()),
        candidates: compared(first),
        outside: facts().filter(|own| !own.in_table).count() as f64 / count,
        evaluated: facts().map(|own| own.evaluated as f64).sum::<f64>() / count,
    }))
}
