//! Chooses the bonds of a drawing that are wedges, and the side of a bond on which its second line lies.

use super::Point;
use super::layout::unit;
use crate::molecule::{BondOrder, Center, HYDROGEN, Molecule};

/// A bond that leaves the plane at a stereocentre, its narrow end.
#[derive(Clone, Copy)]
pub(super) struct Wedge {
    /// The stereocentre.
    pub(super) from: usize,
    /// Whether the bond points towards the reader: a solid wedge, else a hashed one.
    pub(super) towards: bool,
}

/// Below this volume the four ligands of a centre lie so near to a plane that readers see either configuration or none,
/// as where a wedge is the stem of a T.
const FLAT: f64 = 0.5;

/// Returns the wedge of each bond, at most one for a stereocentre. Centres without a single bond of their own get none.
///
/// The three other ligands lie in the plane; a hydrogen or lone pair lies opposite to the drawn ones, behind. The side
/// of the wedge follows from the sign of the volume that the four ligands span.
pub(super) fn wedges(molecule: &Molecule, points: &[Point]) -> Vec<Option<Wedge>> {
    let mut wedges = vec![None; molecule.bonds().len()];
    let mut in_ring = vec![false; wedges.len()];
    let rings = molecule.rings().iter();
    rings.flat_map(|ring| molecule.ring_bonds(ring)).for_each(|bond| in_ring[bond] = true);
    let mut is_center = vec![false; points.len()];
    molecule.centers.iter().for_each(|center| is_center[center.atom] = true);
    for center in &molecule.centers {
        let from = center.atom;
        let directions: Vec<Point> =
            molecule.around(from).map(|(to, _)| unit(points, from, to)).collect();
        let free = molecule.neighbors(from).iter().zip(&directions).filter(|(next, _)| {
            let bond = molecule.bonds()[next.bond];
            bond.order == BondOrder::Single && !bond.aromatic && wedges[next.bond].is_none()
        });
        // A wedge is read at its narrow end, and best where it points at nothing else.
        let best = free.min_by_key(|(next, direction)| {
            let others = is_center[next.atom];
            (
                volume(center, points, next.atom).abs() < FLAT,
                others,
                is_between(direction, &directions),
                in_ring[next.bond],
                molecule.degree(next.atom),
            )
        });
        if let Some((&next, _)) = best {
            let clockwise = volume(center, points, next.atom) > 0.0;
            let towards = clockwise == center.clockwise;
            wedges[next.bond] = Some(Wedge { from, towards });
        }
    }
    wedges
}

/// Returns whether a direction is the middle one of three on one side of a line, where readers differ on the meaning of
/// a wedge.
fn is_between(direction: &Point, all: &[Point]) -> bool {
    let side = |other: &Point| direction[0] * other[1] - direction[1] * other[0];
    let others: Vec<f64> = all.iter().filter(|other| *other != direction).map(side).collect();
    let angle = |other: &Point| direction[0] * other[0] + direction[1] * other[1];
    let behind = all.iter().any(|other| other != direction && angle(other) < 0.0);
    all.len() == 3 && others.iter().product::<f64>() < 0.0 && !behind
}

/// Returns the volume that the ligands span when the bond to `raised` points towards the reader: above 0 where those
/// after the first follow clockwise, seen from the first.
fn volume(center: &Center, points: &[Point], raised: usize) -> f64 {
    let place = |&ligand: &usize| match ligand {
        HYDROGEN => None,
        ligand => {
            let [x, y] = unit(points, center.atom, ligand);
            // y points down in a drawing
            Some([x, -y, if ligand == raised { 1.0 } else { 0.0 }])
        }
    };
    let drawn: Vec<[f64; 3]> = center.ligands.iter().filter_map(place).collect();
    let opposite = [0, 1, 2].map(|axis| -drawn.iter().map(|point| point[axis]).sum::<f64>());
    // a lone pair follows the three ligands
    let ligands = center.ligands.iter().chain((center.ligands.len() == 3).then_some(&HYDROGEN));
    let places: Vec<[f64; 3]> = ligands.map(|ligand| place(ligand).unwrap_or(opposite)).collect();
    let &[first, second, third, fourth] = places.as_slice() else { return 0.0 };
    let [a, b, c] = [second, third, fourth].map(|p| [0, 1, 2].map(|axis| p[axis] - first[axis]));
    a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
}

/// Returns the side of the second line of a double bond: 1 to the right of the way from the first atom to the second as
/// drawn, −1 to the left, 0 where two lines lie around the middle.
///
/// The line lies inside a ring, an aromatic or small one first; outside rings on the side of more substituents.
pub(super) fn inner_side(molecule: &Molecule, points: &[Point], bond: usize) -> f64 {
    let [a, b] = molecule.bonds()[bond].atoms;
    let [dx, dy] = unit(points, a, b);
    let side = |[x, y]: Point| dx * (y - points[a][1]) - dy * (x - points[a][0]);
    let holds = molecule
        .rings()
        .iter()
        .filter(|ring| molecule.ring_bonds(ring).any(|ring_bond| ring_bond == bond));
    if let Some(ring) = holds.min_by_key(|ring| (!ring.aromatic, ring.atoms.len())) {
        let sum: f64 = ring.atoms.iter().map(|&atom| side(points[atom])).sum();
        return sum.signum();
    }
    if molecule.degree(a) == 1 || molecule.degree(b) == 1 {
        return 0.0;
    }
    let others = [a, b].into_iter().flat_map(|end| molecule.around(end).map(|(other, _)| other));
    let sides = others.filter(|other| ![a, b].contains(other)).map(|other| side(points[other]));
    let sum: f64 = sides.filter(|side| side.abs() > 1.0).map(f64::signum).sum();
    if sum == 0.0 && molecule.degree(a) + molecule.degree(b) > 4 {
        0.0
    } else {
        if sum < 0.0 { -1.0 } else { 1.0 }
    }
}
