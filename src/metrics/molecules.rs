//! Labels that are molecules: which they are, and how the true ones are drawn beside the predicted ones.

use dsokr_data::{Inputs, Truth};
use dsokr_decode::Candidates;
use dsokr_molecule::ged::{Limit, edit_distance};
use dsokr_molecule::graph::Graph;
use dsokr_molecule::{Molecule, svg_column, svg_pair, svg_sheet, svg_text};

use crate::error::Error;

/// Labels that are looked at, to see whether they are SMILES.
const LABELS: usize = 64;

/// Returns whether nine in ten of some labels are SMILES.
pub(crate) fn are_smiles(candidates: &Candidates) -> bool {
    let looked: Vec<bool> = labels_looked_at(candidates.len())
        .map(|candidate| {
            let label = candidates.label(candidate);
            !label.is_empty() && Molecule::parse(label).is_ok()
        })
        .collect();
    let smiles = looked.iter().filter(|&&smiles| smiles).count();
    smiles * 10 >= looked.len() * 9
}

/// Returns the candidates, of so many, whose labels are looked at.
pub(crate) fn labels_looked_at(candidates: usize) -> impl Iterator<Item = usize> {
    (0..candidates).step_by(candidates.div_ceil(LABELS).max(1))
}

/// Returns the canonical SMILES of a label; none if it is not a SMILES.
pub(crate) fn canonical(label: &str) -> Option<String> {
    Some(Molecule::parse(label).ok()?.canonical_smiles())
}

/// The limit of the search for one edit distance, in states times the cube of the number of atoms
/// (the time for a state grows like this): about half a second. Molecules of QM9 need far less.
pub(crate) const WORK: u64 = 20_000_000;

/// Returns the limit of the search for one edit distance, in states, which are the same on every machine; the larger molecule
/// has so many atoms.
pub(crate) fn limit(atoms: usize) -> Limit {
    limit_of(WORK, atoms)
}

/// Returns the limit of a search of so much work, where the larger molecule has so many atoms.
pub(crate) fn limit_of(work: u64, atoms: usize) -> Limit {
    let atoms = atoms.max(1) as u64;
    Limit { states: Some((work / atoms.saturating_pow(3)).max(1)), time: None }
}

/// The queries that are drawn, unless a different number is asked for.
pub const EXAMPLES: usize = 20;

/// Draws the first `count` true molecules or graphs, each with the predicted one next to it and the query's text above, as one
/// SVG document with two queries in a row; none for outputs of other kinds. Captions say the SMILES of molecules, and the edit
/// distance with bonds or labels of edges compared.
///
/// # Errors
/// None for molecules that have been read before.
pub fn drawing(
    inputs: &Inputs,
    truth: &Truth,
    predicted: &Truth,
    count: usize,
) -> Result<Option<String>, Error> {
    let Some(truth) = drawn(truth, count)? else {
        return Ok(None);
    };
    let Some(predicted) = drawn(predicted, count)? else {
        return Ok(None);
    };
    let texts = inputs.texts().unwrap_or_default();
    let mut queries = Vec::new();
    for (query, ((a, svg, name), (b, predicted_svg, predicted))) in
        truth.iter().zip(&predicted).enumerate()
    {
        let distance = edit_distance(a, b, &limit(a.len().max(b.len())));
        let edits = match distance.exact() {
            Some(1) => "1 edit".to_owned(),
            Some(edits) => format!("{edits} edits"),
            None => format!("{} to {} edits", distance.lower, distance.upper),
        };
        let captions = [format!("true{name}"), format!("predicted, {edits}{predicted}")];
        let pair = svg_pair((svg, &captions[0]), (predicted_svg, &captions[1]));
        let text = texts.get(query).map(|text| svg_text(text));
        let parts: Vec<String> = text.into_iter().chain([pair]).collect();
        queries.push(svg_column(&parts));
    }
    Ok(Some(svg_sheet("True outputs next to predicted ones", &queries)))
}

/// An output as it is drawn: its graph, its drawing, and what the caption ends with.
type Drawn<'a> = (&'a Graph, String, String);

/// Returns the first `count` outputs; none if they are neither molecules nor graphs.
fn drawn(outputs: &Truth, count: usize) -> Result<Option<Vec<Drawn<'_>>>, Error> {
    Ok(match outputs {
        Truth::Molecules(all) => {
            let drawn = all.iter().take(count).map(|output| {
                Ok::<_, Error>((
                    &output.graph,
                    output.molecule()?.svg(),
                    format!(": {}", output.smiles),
                ))
            });
            Some(drawn.collect::<Result<_, _>>()?)
        }
        Truth::Graphs(all) => {
            let drawn = all.iter().take(count);
            Some(drawn.map(|output| (&output.graph, output.svg(), String::new())).collect())
        }
        Truth::Labels(_) | Truth::Classes(_) | Truth::Rankings(_) | Truth::Numbers(_) => None,
    })
}
