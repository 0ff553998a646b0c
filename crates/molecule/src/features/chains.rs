//! Lengths of carbon chains and the positions of their substituents, as feature rows.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::HashedFeatures;
use super::morgan::combine;
use crate::element::Element;
use crate::graph::{Distances, Graph};
use crate::molecule::{Bond, BondOrder, Molecule};

/// Lengths of carbon chains outside rings, as hashed features: what names of chains say (docosanoic acid,
/// 3-hydroxy-, 13Z-) and fingerprints of a small radius cannot see.
///
/// - Of each stretch of CH₂ groups: its length, without and with the atoms at its ends.
/// - Of each other carbon of a chain: how many carbons lie in each direction along the longest path, with
///   its bonds to other elements and its double bonds, and again with hydrogens and charges.
///
/// ```
/// use dsokr_molecule::{Chains, HashedFeatures, Molecule};
///
/// let codes = |smiles| Ok::<_, dsokr_molecule::Error>(
///     Chains::default().codes(&Molecule::parse(smiles)?)
/// );
/// // decanoic and undecanoic acid have no feature in common
/// let ten = codes("CCCCCCCCCC(=O)O")?;
/// let eleven = codes("CCCCCCCCCCC(=O)O")?;
/// assert!(ten.keys().all(|code| !eleven.contains_key(code)));
/// assert!(codes("c1ccccc1")?.is_empty());
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Chains {
    /// Number of columns.
    #[default = 2048]
    pub width: usize,
}

impl HashedFeatures for Chains {
    fn width(&self) -> usize {
        self.width
    }

    fn codes(&self, molecule: &Molecule) -> BTreeMap<u32, u32> {
        let forest = Forest::from_molecule(molecule);
        let mut counts = BTreeMap::new();
        let mut count = |words: &[u32]| {
            *counts.entry(words.iter().copied().fold(0, combine)).or_insert(0) += 1;
        };
        for (length, mut ends) in forest.stretches() {
            ends.sort_unstable();
            count(&[STRETCH, length]);
            count(&[STRETCH, length, ends[0], ends[1]]);
        }
        for atom in (0..molecule.atoms().len()).filter(|&atom| forest.chain[atom]) {
            if forest.is_link(atom) {
                continue;
            }
            let bare = forest.kind(atom, false);
            let full = forest.kind(atom, true);
            let sides = forest.sides(atom);
            count(&[&[CARBON, bare], &sides[..]].concat());
            count(&[&[CARBON, full], &sides[..]].concat());
        }
        counts
    }
}

const STRETCH: u32 = 1;
const CARBON: u32 = 2;

/// Returns numbers of carbons on the longest paths from the ends of chains outside rings.
pub(crate) fn chain_lengths(molecule: &Molecule) -> BTreeSet<u32> {
    let forest = Forest::from_molecule(molecule);
    let chain = (0..molecule.atoms().len()).filter(|&atom| forest.chain[atom]);
    let ends = chain.filter(|&atom| forest.onward(atom).count() < 2);
    ends.map(|end| forest.reach(end, end) as u32).collect()
}

/// The carbons outside rings, which form trees.
struct Forest<'a> {
    molecule: &'a Molecule,
    /// Whether each atom is a carbon of the chains.
    chain: Vec<bool>,
    /// The bonds between carbons of chains, dative ones excepted.
    joined: Graph,
}

impl<'a> Forest<'a> {
    fn from_molecule(molecule: &'a Molecule) -> Self {
        let atoms = molecule.atoms().iter().zip(molecule.in_ring());
        let chain: Vec<bool> =
            atoms.map(|(atom, in_ring)| atom.element == Element::C && !in_ring).collect();
        let in_chain = |bond: &&Bond| {
            bond.order != BondOrder::Dative && bond.atoms.iter().all(|&end| chain[end])
        };
        let edges =
            molecule.bonds().iter().filter(in_chain).map(|bond| (bond.atoms[0], bond.atoms[1], 0));
        // a molecule has no loops and no two bonds between the same atoms
        let joined = Graph::from_checked(vec![0; chain.len()], edges);
        Self { molecule, chain, joined }
    }

    /// Returns neighbours of an atom that are carbons of its chain.
    fn onward(&self, atom: usize) -> impl Iterator<Item = usize> + '_ {
        self.joined.arcs(atom).iter().map(|arc| arc.node)
    }

    /// Returns the number of carbons on the longest path that starts at an atom and does not visit a second one.
    /// No atom is visited twice, so the walk ends even in a cycle that perception does not count as a ring.
    fn reach(&self, start: usize, away: usize) -> usize {
        let mut search = Distances::new(&self.joined);
        search.search(&self.joined, start, usize::MAX, |atom| atom != away);
        1 + search.reached().last().and_then(|&last| search.distance_to(last)).unwrap_or(0)
    }

    /// Returns whether an atom is a CH₂ group within a chain or at its rim.
    fn is_link(&self, atom: usize) -> bool {
        self.chain[atom]
            && self.molecule.atoms()[atom].hydrogens == 2
            && self.molecule.degree(atom) == 2
    }

    /// Returns the length of each stretch of CH₂ groups, and the kinds of the atoms at its ends.
    fn stretches(&self) -> Vec<(u32, [u32; 2])> {
        let mut seen = vec![false; self.chain.len()];
        let mut stretches = Vec::new();
        for start in 0..self.chain.len() {
            if !self.is_link(start) || seen[start] {
                continue;
            }
            seen[start] = true;
            let mut length = 1;
            let ends = [0, 1].map(|side| {
                let mut from = start;
                let mut at = self.molecule.neighbors(start)[side].atom;
                while self.is_link(at) && !seen[at] {
                    seen[at] = true;
                    length += 1;
                    let onward = self.molecule.neighbors(at).iter().find(|n| n.atom != from);
                    (from, at) = (at, onward.map_or(at, |n| n.atom));
                }
                self.kind(at, false)
            });
            stretches.push((length, ends));
        }
        stretches
    }

    /// Returns an atom with its bonds to other elements and its multiple bonds, with hydrogens and charges or
    /// without.
    fn kind(&self, atom: usize, full: bool) -> u32 {
        let atoms = self.molecule.atoms();
        let word = |atom: usize| {
            let atom = &atoms[atom];
            let number = u32::from(atom.element.atomic_number());
            let charge = i32::from(atom.charge) as u32;
            if full {
                [number, u32::from(atom.hydrogens), charge].into_iter().fold(0, combine)
            } else {
                number
            }
        };
        let around = self.molecule.around(atom);
        let around = around.map(|(end, bond)| (u32::from(bond.order.multiplicity()), end));
        let shown = around.filter(|&(order, end)| order > 1 || !self.chain[end]);
        let mut around: Vec<_> = shown.map(|(order, end)| (order, word(end))).collect();
        around.sort_unstable();
        let start = combine(word(atom), u32::from(self.chain[atom]));
        around.into_iter().flat_map(|(bond, word)| [bond, word]).fold(start, combine)
    }

    /// Returns carbons on the longest path in each direction from a carbon of a chain, sorted.
    fn sides(&self, atom: usize) -> Vec<u32> {
        let reach = |first| self.reach(first, atom) as u32;
        let mut sides: Vec<u32> = self.onward(atom).map(reach).collect();
        sides.sort_unstable();
        sides
    }
}
