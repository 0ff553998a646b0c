//! The distance of molecules by their largest common subgraph of bonds.

use super::instance::{EditCosts, Instance};
use super::search::search;
use super::{Limit, MAX_SEARCHED};
use crate::molecule::{Bond, Molecule};

/// Bounds of the [`myopic_distance`] of two molecules.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MyopicDistance {
    /// The distance, or what stands for it above the threshold.
    pub distance: f64,
    /// Whether it is the distance itself.
    pub exact: bool,
    /// Whether that is proven: the search has not reached its limit. Else the distance is at most this.
    pub proven: bool,
}

/// Returns the myopic MCES distance of two molecules (Kretschmer, Seipp, Ludwig, Klau and Böcker, "Coverage bias in
/// small molecule machine learning", 2025), as MassSpecGym measures it.
///
/// The distance is the least weight of bonds, 1, 1.5 where they are aromatic, 2 and 3, that have to be deleted, or
/// changed in weight, to leave the same bonds between atoms of the same elements in both: maximum common edge subgraph.
/// It is computed where it is at most `threshold`. Above it stands the lower bound by the cheapest assignment of atoms
/// with half of their bonds, if that is above the threshold, else the threshold. Hydrogens, charges and configurations
/// do not count.
///
/// Molecules of more than 1,024 atoms ([`MAX_SEARCHED`]) have the threshold as their distance, not proven.
///
/// ```
/// use dsokr_molecule::Molecule;
/// use dsokr_molecule::ged::{Limit, myopic_distance};
///
/// let [a, b] = ["CC1=C(C(=CC=C1)O)N", "CC1=C(C=CC(=C1)O)N"].map(Molecule::parse);
/// assert_eq!(myopic_distance(&a?, &b?, 15.0, &Limit::NONE).distance, 2.0);
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
pub fn myopic_distance(
    a: &Molecule,
    b: &Molecule,
    threshold: f64,
    limit: &Limit,
) -> MyopicDistance {
    // bonds are labelled by twice their weight
    let order = |bond: &Bond| 2 * u64::from(bond.order.multiplicity());
    let weight = |bond: &Bond| if bond.aromatic { 3 } else { order(bond) };
    let [a, b] = [a, b].map(|molecule| molecule.graph(weight));
    if a.len().max(b.len()) > MAX_SEARCHED {
        return MyopicDistance { distance: threshold, exact: false, proven: false };
    }
    // weights are halves of a bond
    let most = (2.0 * threshold).floor().max(0.0) as usize;
    let (result, bound) = search(&Instance::new(&a, &b, EditCosts::Common), limit, most);
    let bound = f64::from(bound) / 4.0;
    let upper = (result.upper as f64 / 2.0).min(threshold);
    if bound > threshold {
        return MyopicDistance { distance: bound, exact: false, proven: true };
    }
    match result.exact() {
        Some(exact) if exact <= most => {
            MyopicDistance { distance: upper, exact: true, proven: true }
        }
        Some(_) => MyopicDistance { distance: threshold, exact: false, proven: true },
        None => MyopicDistance { distance: upper, exact: false, proven: result.lower > most },
    }
}
