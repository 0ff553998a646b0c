//! Configurations by name, R and S, E and Z, and as feature rows.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::HashedFeatures;
use super::morgan::{atom_codes, bond_code, combine, surroundings};
use crate::element::Element;
use crate::molecule::{Atom, Molecule};

/// Configurations with their surroundings, as hashed features: the features of [`Morgan`] that hold a stereo centre or
/// a double bond with a geometry, with codes that say R, S, E or Z.
///
/// Molecules that differ only in configurations have the same [`Morgan`] features and different features here. The code
/// of a centre is combined with 1 for R, 2 for S and 3 where its ligands are alike; the code of a double bond with 1
/// for Z, 2 for E and 3. Ligands are ranked by the first two Cahn–Ingold–Prelog rules, atomic numbers and masses; a few
/// configurations need more.
///
/// ```
/// use dsokr_molecule::{Stereo, HashedFeatures, Molecule};
///
/// let codes = |smiles| Ok::<_, dsokr_molecule::Error>(
///     Stereo::default().codes(&Molecule::parse(smiles)?)
/// );
/// assert_ne!(codes("C[C@H](N)C(=O)O")?, codes("C[C@@H](N)C(=O)O")?);
/// assert!(codes("CC(N)C(=O)O")?.is_empty());
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
///
/// [`Morgan`]: crate::Morgan
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Stereo {
    /// Bonds from an atom to the rim of its surroundings.
    #[default = 2]
    pub radius: usize,
    /// Number of columns.
    #[default = 2048]
    pub width: usize,
}

impl HashedFeatures for Stereo {
    fn width(&self) -> usize {
        self.width
    }

    fn codes(&self, molecule: &Molecule) -> BTreeMap<u32, u32> {
        let descriptors = Descriptors::from_molecule(molecule);
        let mut atoms = atom_codes(molecule);
        let mut bonds: Vec<u32> = molecule.bonds().iter().map(bond_code).collect();
        let mut marked = vec![false; atoms.len()];
        for (atom, right) in descriptors.centers {
            atoms[atom] = combine(atoms[atom], code(right));
            marked[atom] = true;
        }
        for (bond, together) in descriptors.geometries {
            bonds[bond] = combine(bonds[bond], code(together));
            for end in molecule.bonds()[bond].atoms {
                // so that a feature at radius 0 says it too
                atoms[end] = combine(atoms[end], bonds[bond]);
                marked[end] = true;
            }
        }
        surroundings(molecule, self.radius, atoms, &bonds, marked)
    }
}

/// The descriptors of the configurations of a molecule.
pub(crate) struct Descriptors {
    /// Centres with a configuration: the atom, and whether it is R; none where ligands are alike.
    pub(crate) centers: Vec<(usize, Option<bool>)>,
    /// Double bonds with a geometry: the bond, and whether it is Z; none where ligands are alike.
    pub(crate) geometries: Vec<(usize, Option<bool>)>,
}

impl Descriptors {
    /// Finds the descriptors. Ligands are ranked by the first two rules of Cahn, Ingold and Prelog: by atomic numbers, iterated over
    /// neighbours, and where these leave ligands alike by masses. Where two ligands differ only far off, or
    /// in their own configurations, the full rules can say otherwise.
    pub(crate) fn from_molecule(molecule: &Molecule) -> Self {
        if molecule.centers.is_empty() && molecule.geometries.is_empty() {
            return Self { centers: Vec::new(), geometries: Vec::new() };
        }
        let ranks = ranks(molecule);
        // the highest priority first
        let from_top = |ligand: usize| usize::MAX - 1 - ranks[ligand];
        let centers = molecule.centers.iter();
        let centers = centers.map(|center| (center.atom, center.clockwise_by(from_top)));
        let neighbors = |atom: usize| molecule.around(atom).map(|(end, _)| end);
        let geometries = molecule.geometries.iter();
        let geometries =
            geometries.map(|geometry| (geometry.bond, geometry.together_by(neighbors, from_top)));
        Self { centers: centers.collect(), geometries: geometries.collect() }
    }
}

/// Returns the name of a configuration as a number: 1 for R and Z, 2 for S and E, 3 where ligands are alike.
pub(crate) fn code(name: Option<bool>) -> u32 {
    name.map_or(3, |first| if first { 1 } else { 2 })
}

/// Returns the ranks of atoms, larger for higher priority; equal for atoms that the rules do not distinguish.
fn ranks(molecule: &Molecule) -> Vec<usize> {
    let mut elements: Vec<Element> = molecule.atoms().iter().map(|atom| atom.element).collect();
    elements.sort_unstable();
    elements.dedup();
    let nodes = Nodes { molecule, elements };
    // rule 1, atomic numbers; where it leaves atoms alike, rule 2, masses
    let ranks = nodes.refined(&nodes.of(|atom| atom.element, |element| element));
    let mass = |atom: &Atom| match atom.isotope {
        Some(mass) => f64::from(mass).to_bits(),
        None => atom.element.weight().to_bits(),
    };
    let masses = nodes.of(mass, |element| element.weight().to_bits());
    let mut ranks = nodes.refined(&ranks.into_iter().zip(masses).collect::<Vec<_>>());
    ranks.truncate(molecule.atoms().len());
    ranks
}

/// The nodes that are ranked: the atoms of a molecule, a hydrogen, and a duplicate of each element.
///
/// A double bond puts a duplicate of either end at the other one. Nothing is bound to it.
struct Nodes<'a> {
    molecule: &'a Molecule,
    /// The elements of the molecule, ascending.
    elements: Vec<Element>,
}

impl Nodes<'_> {
    /// Returns a value of each node, in the order atoms, hydrogen, duplicates.
    fn of<T>(&self, atom: impl Fn(&Atom) -> T, of_element: impl Fn(Element) -> T) -> Vec<T> {
        let leaves = [Element::H].iter().chain(&self.elements);
        let leaves = leaves.map(|&element| of_element(element));
        self.molecule.atoms().iter().map(atom).chain(leaves).collect()
    }

    /// Returns the nodes bound to an atom, each twice, so that an aromatic bond has half a duplicate.
    fn around(&self, atom: usize) -> Vec<usize> {
        let atoms = self.molecule.atoms();
        let mut around = Vec::new();
        // an isotope of hydrogen that ends a bond is a leaf as other hydrogens are
        if atoms[atom].element == Element::H {
            return around;
        }
        for (end, bond) in self.molecule.around(atom) {
            around.extend([end; 2]);
            let duplicates =
                if bond.aromatic { 1 } else { 2 * (usize::from(bond.order.multiplicity()) - 1) };
            let place = self.elements.binary_search(&atoms[end].element);
            let place = place.unwrap_or_else(|place| place);
            around.extend(std::iter::repeat_n(atoms.len() + 1 + place, duplicates));
        }
        around.extend(std::iter::repeat_n(atoms.len(), 2 * usize::from(atoms[atom].hydrogens)));
        around
    }

    /// Returns the ranks of the nodes by a key, and where keys are equal by the ranks around them, and so on.
    fn refined<K: Ord>(&self, keys: &[K]) -> Vec<usize> {
        let atoms = self.molecule.atoms().len();
        let around: Vec<Vec<usize>> = (0..atoms).map(|atom| self.around(atom)).collect();
        let (mut ranks, mut classes) = dense(keys);
        // a round that finds no further class is the last
        loop {
            let key = |node: usize| {
                let around = around.get(node).map_or(&[][..], Vec::as_slice);
                let mut around: Vec<usize> = around.iter().map(|&node| ranks[node]).collect();
                around.sort_unstable_by(|a, b| b.cmp(a));
                (ranks[node], around)
            };
            let keys: Vec<(usize, Vec<usize>)> = (0..ranks.len()).map(key).collect();
            let (next, count) = dense(&keys);
            if count == classes {
                return ranks;
            }
            ranks = next;
            classes = count;
        }
    }
}

/// Returns the place of each key among the distinct ones, and how many there are.
fn dense<K: Ord>(keys: &[K]) -> (Vec<usize>, usize) {
    let mut order: Vec<&K> = keys.iter().collect();
    order.sort_unstable();
    order.dedup();
    let place = |key: &K| order.binary_search(&key).unwrap_or_else(|place| place);
    (keys.iter().map(place).collect(), order.len())
}
