//! Points of atoms by RDKit's rules.

use std::borrow::Cow;

use super::{Point, circle};
use crate::canonical::Written;
use crate::molecule::Molecule;

/// Length of a bond in a drawing.
pub(super) const BOND: f64 = 40.0;

/// Length of a bond in RDKit's coordinates.
pub(super) const RDKIT_BOND: f64 = 1.5;

/// A molecule with a point for each atom.
pub(super) struct Placed<'m> {
    /// The molecule in the order of atoms of its canonical SMILES.
    pub molecule: Cow<'m, Molecule>,
    pub points: Vec<Point>,
    /// The number that each of these atoms has in the molecule that was placed.
    pub origins: Vec<usize>,
}

/// Places the atoms of a molecule.
pub(super) fn placed(molecule: &Molecule) -> Placed<'_> {
    let Written { text, atoms } = molecule.canonical();
    // The canonical text reads back as this molecule; where it does not, the molecule's own order of atoms does.
    let (molecule, origins) = match Molecule::parse(&text) {
        Ok(read) => (Cow::Owned(read), atoms),
        Err(_) => (Cow::Borrowed(molecule), (0..molecule.atoms().len()).collect()),
    };
    let mut points = coordinates(&text, molecule.atoms().len());
    spread(&molecule, &mut points);
    Placed { molecule, points, origins }
}

/// Moves components, which lie from left to right, so far apart that their labels do not meet.
fn spread(molecule: &Molecule, points: &mut [Point]) {
    let left = |points: &[Point], atoms: &[usize]| {
        atoms.iter().map(|&atom| points[atom][0]).fold(f64::INFINITY, f64::min)
    };
    let mut components = molecule.components();
    components.sort_by(|a, b| left(points, a).total_cmp(&left(points, b)));
    let mut right = f64::NEG_INFINITY;
    for atoms in components {
        let shift = (right + 1.5 * BOND - left(points, &atoms)).max(0.0);
        for atom in atoms {
            points[atom][0] += shift;
            right = right.max(points[atom][0]);
        }
    }
}

/// Returns a point for each atom of the molecule that the text describes.
fn coordinates(text: &str, atoms: usize) -> Vec<Point> {
    let laid_out = chematic_smiles::parse(text)
        .ok()
        .and_then(|parsed| chematic_smiles::rdkit_2d_coords(&parsed).ok())
        .filter(|points| points.len() == atoms && points.iter().flatten().all(|x| x.is_finite()));
    match laid_out {
        // y points down in an SVG
        Some(points) => points
            .into_iter()
            .map(|[x, y]| [x * BOND / RDKIT_BOND, -y * BOND / RDKIT_BOND])
            .collect(),
        // a molecule that has no layout
        None => (0..atoms).map(circle(atoms, BOND)).collect(),
    }
}

/// Returns the direction from one atom to another.
pub(super) fn unit(points: &[Point], from: usize, to: usize) -> Point {
    let [dx, dy] = [0, 1].map(|axis| points[to][axis] - points[from][axis]);
    let length = dx.hypot(dy).max(f64::MIN_POSITIVE);
    [dx / length, dy / length]
}
