//! MCES at 1: how far the first molecules are from the right ones.

use dsokr_molecule::Molecule;
use dsokr_molecule::ged::{MyopicDistance, myopic_distance};
use rayon::prelude::*;

use crate::Error;
use crate::molecules::{WORK, limit_of};

/// The threshold of MassSpecGym.
const THRESHOLD: f64 = 15.0;

/// The most work of a pair, in units of what an edit distance may take.
const TIMES: u64 = 20;

/// The [`myopic_distance`] of each query's first candidate and right output, which are SMILES. A distance that is not
/// proven within the limit counts with its upper bound; their number is logged.
///
/// # Errors
/// No queries; labels that are no SMILES, and right outputs that are no candidates.
pub(super) fn mces_distances<'a>(
    pairs: impl Iterator<Item = [Option<&'a str>; 2]>,
) -> Result<Vec<f64>, Error> {
    let molecule = |label: Option<&str>| {
        let read = label.and_then(|label| Molecule::parse(label).ok());
        read.ok_or_else(|| {
            let found = label
                .map_or_else(|| "an output that is not known".into(), |own| format!("{own:?}"));
            let allowed = "false, or candidates that are SMILES and have all right outputs";
            Error::value("the argument mces", format!("true, for {found}"), allowed)
        })
    };
    let pairs = pairs.map(|[first, right]| Ok([molecule(first)?, molecule(right)?]));
    let pairs = pairs.collect::<Result<Vec<_>, Error>>()?;
    let distance = |[first, right]: &[Molecule; 2]| {
        let atoms = first.atoms().len().max(right.atoms().len());
        myopic_distance(first, right, THRESHOLD, &limit_of(TIMES * WORK, atoms))
    };
    // hard pairs take a thousand times as long as easy ones
    let found: Vec<MyopicDistance> = pairs.par_iter().with_max_len(1).map(distance).collect();
    let unproven = found.iter().filter(|found| !found.proven).count();
    if unproven > 0 {
        let all = found.len();
        tracing::warn!(
            unproven,
            all,
            "MCES distances are upper bounds: their search reached its limit"
        );
    }
    Ok(found.iter().map(|found| found.distance).collect())
}
