//! Configurations by name: R and S, E and Z.

use crate::molecule::{BondOrder, Molecule};
use crate::stereo::Geometry;

/// What the configurations of a molecule are called.
pub(crate) struct Descriptors {
    /// Centres with a configuration: the atom, and whether it is R; none where ligands are alike.
    pub(crate) centers: Vec<(usize, Option<bool>)>,
    /// Double bonds with a geometry: the bond, and whether it is Z; none where ligands are alike.
    pub(crate) geometries: Vec<(usize, Option<bool>)>,
}

impl Descriptors {
    /// Ligands are ranked as the first rule of Cahn, Ingold and Prelog does, by iterated ranks of
    /// neighbours: a double bond counts twice, hydrogens last. Where two ligands differ only far off, or
    /// in their own configurations, the full rules can say otherwise.
    pub(crate) fn of(molecule: &Molecule) -> Self {
        if molecule.centers.is_empty() && molecule.geometries.is_empty() {
            return Self { centers: Vec::new(), geometries: Vec::new() };
        }
        let ranks = ranks(molecule);
        // the highest priority first
        let from_top = |ligand: usize| usize::MAX - 1 - ranks[ligand];
        let centers = molecule.centers.iter();
        let centers = centers.map(|center| (center.atom, center.clockwise_by(from_top)));
        let geometry = |geometry: &Geometry| {
            let mut together = geometry.together;
            for (at, &end) in geometry.ends.iter().enumerate() {
                let partner = geometry.ends[1 - at];
                let others = molecule.neighbors(end).iter().map(|n| n.atom);
                let mut others =
                    others.filter(|&atom| atom != partner && atom != geometry.references[at]);
                if let Some(other) = others.next() {
                    match ranks[other].cmp(&ranks[geometry.references[at]]) {
                        std::cmp::Ordering::Greater => together = !together,
                        std::cmp::Ordering::Equal => return (geometry.bond, None),
                        std::cmp::Ordering::Less => {}
                    }
                }
            }
            (geometry.bond, Some(together))
        };
        let geometries = molecule.geometries.iter().map(geometry).collect();
        Self { centers: centers.collect(), geometries }
    }
}

/// The name of a configuration as a number: 1 for R and Z, 2 for S and E, 3 where ligands are alike.
pub(crate) fn code(name: Option<bool>) -> u32 {
    name.map_or(3, |first| if first { 1 } else { 2 })
}

/// Ranks of atoms, larger for higher priority; equal for atoms that the rule does not distinguish.
fn ranks(molecule: &Molecule) -> Vec<usize> {
    let atoms = molecule.atoms();
    let start = atoms
        .iter()
        .map(|atom| (u32::from(atom.element.atomic_number()), atom.isotope.map_or(0, u32::from)));
    let (mut ranks, mut classes) = dense(&start.collect::<Vec<_>>());
    // a round that finds no further class is the last
    loop {
        let key = |atom: usize| {
            let mut around = Vec::new();
            for n in molecule.neighbors(atom) {
                let bond = molecule.bonds()[n.bond];
                let copies = match bond.order {
                    _ if bond.aromatic => 3,
                    BondOrder::Dative => 2,
                    order => 2 * usize::from(order.multiplicity()),
                };
                around.extend(std::iter::repeat_n(ranks[n.atom] + 1, copies));
            }
            around.extend(std::iter::repeat_n(0, 2 * usize::from(atoms[atom].hydrogens)));
            around.sort_unstable_by(|a, b| b.cmp(a));
            (ranks[atom], around)
        };
        let keys: Vec<(usize, Vec<usize>)> = (0..atoms.len()).map(key).collect();
        let (next, count) = dense(&keys);
        if count == classes {
            return ranks;
        }
        (ranks, classes) = (next, count);
    }
}

/// The place of each key among the distinct ones, and how many there are.
fn dense<K: Ord>(keys: &[K]) -> (Vec<usize>, usize) {
    let mut order: Vec<&K> = keys.iter().collect();
    order.sort_unstable();
    order.dedup();
    let place = |key: &K| order.binary_search(&key).unwrap_or_else(|place| place);
    (keys.iter().map(place).collect(), order.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(smiles: &str) -> Descriptors {
        Descriptors::of(&Molecule::parse(smiles).unwrap())
    }

    /// How many centres are R, and how many S.
    fn centers(smiles: &str) -> (usize, usize) {
        let centers = of(smiles).centers;
        let count = |right| centers.iter().filter(|(_, name)| *name == Some(right)).count();
        assert_eq!(count(true) + count(false), centers.len(), "{smiles}: {centers:?}");
        (count(true), count(false))
    }

    #[test]
    fn centers_are_named_as_chemists_name_them() {
        // PubChem's isomeric SMILES and its names
        for (smiles, name, right, left) in [
            ("C[C@@H](C(=O)O)N", "(2S)-alanine", 0, 1),
            ("C([C@@H](C(=O)O)N)S", "(2R)-cysteine", 1, 0),
            ("C[C@H]([C@@H](C(=O)O)N)O", "(2S,3R)-threonine", 1, 1),
            ("C([C@H](C=O)O)O", "(2R)-2,3-dihydroxypropanal", 1, 0),
            ("C[C@@H](C(=O)O)O", "(2S)-lactic acid", 0, 1),
            ("CC1=CC[C@@H](CC1)C(=C)C", "(4R)-limonene", 1, 0),
            ("CC(C)CC1=CC=C(C=C1)[C@H](C)C(=O)O", "(2S)-ibuprofen", 0, 1),
            ("C([C@@H]1[C@H]([C@@H]([C@H]([C@@H](O1)O)O)O)O)O", "beta-D-glucose", 3, 2),
            ("C([C@@H]1[C@H]([C@@H]([C@H]([C@H](O1)O)O)O)O)O", "alpha-D-glucose", 2, 3),
            (
                "C[C@H](CCCC(C)C)[C@H]1CC[C@@H]2[C@@]1(CC[C@H]3[C@H]2CC=C4[C@@]3(CC[C@@H](C4)O)C)C",
                "(3S,8S,9S,10R,13R,14S,17R,20R)-cholesterol",
                4,
                4,
            ),
        ] {
            assert_eq!(centers(smiles), (right, left), "{name}");
        }
        // a mirrored molecule has the other name, and one spelled another way the same
        assert_eq!(centers("N[C@@H](C)C(=O)O"), (0, 1));
        assert_eq!(centers("OC(=O)[C@H](C)N"), centers("C[C@@H](C(=O)O)N"));
        assert_eq!(centers("N[C@H](C)C(=O)O"), (1, 0));
        // ligands that are alike have no order
        assert_eq!(of("C[C@H](C)O").centers, [(1, None)]);
    }

    #[test]
    fn double_bonds_are_named_as_chemists_name_them() {
        let names = |smiles: &str| -> Vec<Option<bool>> {
            of(smiles).geometries.into_iter().map(|(_, name)| name).collect()
        };
        for (smiles, name, together) in [
            ("CCCCCCCC/C=C\\CCCCCCCC(=O)O", "oleic acid, 9Z", true),
            ("CCCCCCCC/C=C/CCCCCCCC(=O)O", "elaidic acid, 9E", false),
            ("C(=C\\C(=O)O)\\C(=O)O", "maleic acid, 2Z", true),
            ("C(=C/C(=O)O)\\C(=O)O", "fumaric acid, 2E", false),
            // the higher ligand is not the one that is marked first
            ("C/C=C(\\C)/C(=O)O", "tiglic acid, 2E", false),
            ("C/C=C(/C)\\C(=O)O", "angelic acid, 2Z", true),
        ] {
            assert_eq!(names(smiles), [Some(together)], "{name}");
        }
        assert_eq!(names("CC=CC"), []);
    }
}
