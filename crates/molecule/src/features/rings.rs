//! Ring systems, and what is hashed whole: ring systems with the positions of their substituents, and components, ions
//! and solvents among them.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::HashedFeatures;
use super::morgan::{bond_code, combine};
use super::stereo::{Descriptors, code};
use crate::graph::Graph;
use crate::molecule::{Atom, Bond, Molecule, Union};
use crate::refinement::{code_of, mix, unordered};

/// Ring systems, whole, as hashed features: what names of skeletons and positions on them say
/// (4-hydroxyphenyl, beta-D-glucosyl) and fingerprints of a small radius cannot see.
///
/// - Of each system of fused rings its elements; these with the orders of its bonds; with the atoms that it
///   bears too, by element and bond; and with configurations (R, S) too.
/// - Of each two atoms of a ring that bear others: what they bear, how far they are apart, and the size of
///   the ring.
///
/// ```
/// use dsokr_molecule::{HashedFeatures, Molecule, Rings};
///
/// let codes = |smiles| Ok::<_, dsokr_molecule::Error>(
///     Rings::default().codes(&Molecule::parse(smiles)?)
/// );
/// // catechol and resorcinol share the benzene ring, but neither pattern nor pair
/// let ortho = codes("Oc1ccccc1O")?;
/// let meta = codes("Oc1cccc(O)c1")?;
/// assert_eq!(ortho.keys().filter(|code| meta.contains_key(code)).count(), 2);
/// assert!(codes("CCCCO")?.is_empty());
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Rings {
    /// Number of columns.
    #[default = 2048]
    pub width: usize,
}

impl HashedFeatures for Rings {
    fn width(&self) -> usize {
        self.width
    }

    fn codes(&self, molecule: &Molecule) -> BTreeMap<u32, u32> {
        let mut counts = BTreeMap::new();
        let mut count = |words: [u64; 2]| *counts.entry(code_of(&words)).or_insert(0) += 1;
        let systems = ring_systems(molecule);
        if systems.is_empty() {
            return counts;
        }
        let mut configured = vec![0; molecule.atoms().len()];
        for (atom, right) in Descriptors::from_molecule(molecule).centers {
            configured[atom] = u64::from(code(right));
        }
        for system in &systems {
            // an atom of two systems, a spiro atom, bears in each the other
            let borne: BTreeMap<usize, u64> =
                system.atoms.iter().map(|&atom| (atom, bears(molecule, system, atom))).collect();
            let element = |atom: usize| u64::from(molecule.atoms()[atom].element.atomic_number());
            let with_borne = |atom: usize| mix(element(atom), borne[&atom]);
            let with_all = |atom: usize| mix(with_borne(atom), configured[atom]);
            count([0, pattern(molecule, &system.atoms, element, false)]);
            count([1, pattern(molecule, &system.atoms, element, true)]);
            count([2, pattern(molecule, &system.atoms, with_borne, true)]);
            count([3, pattern(molecule, &system.atoms, with_all, true)]);
            for ring in system.rings.iter().map(|&ring| &molecule.rings()[ring]) {
                let size = ring.atoms.len();
                let ring = &ring.atoms;
                let pairs = (0..size).flat_map(|a| (a + 1..size).map(move |b| (a, b)));
                for (first, second) in pairs {
                    let both = vec![borne[&ring[first]], borne[&ring[second]]];
                    if !both.contains(&0) {
                        // both are so many bonds apart
                        let apart = (second - first).min(size + first - second);
                        count([4 + size as u64, unordered(both, apart as u64)]);
                    }
                }
            }
        }
        counts
    }
}

/// Returns the atoms outside of its system that an atom is bound to, by element and bond; 0 for none.
fn bears(molecule: &Molecule, system: &RingSystem, atom: usize) -> u64 {
    let outside = molecule.around(atom);
    let outside = outside.filter(|(end, _)| system.atoms.binary_search(end).is_err());
    let element = |end: usize| u32::from(molecule.atoms()[end].element.atomic_number());
    let word = |(end, bond): (usize, &Bond)| combine(bond_code(bond), element(end)).into();
    let words: Vec<u64> = outside.map(word).collect();
    if words.is_empty() { 0 } else { unordered(words, 1) }
}

/// Returns a hash of the atoms that are listed ascending, which have these labels, and the bonds between them; with
/// the orders of bonds or without.
fn pattern(molecule: &Molecule, atoms: &[usize], label: impl Fn(usize) -> u64, bonds: bool) -> u64 {
    let edge = |bond: &Bond| {
        let [a, b] = bond.atoms.map(|end| atoms.binary_search(&end).ok());
        Some((a?, b?, if bonds { bond_code(bond).into() } else { 0 }))
    };
    let labels = atoms.iter().map(|&atom| label(atom)).collect();
    Graph::from_checked(labels, molecule.bonds().iter().filter_map(edge)).invariant()
}

/// Rings that share bonds with one another, as one unit. Rings that share a single atom (spiro)
/// are separate systems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingSystem {
    /// The atoms of the system, ascending.
    pub atoms: Vec<usize>,
    /// The rings of the system, as indices into [`Molecule::rings`], ascending.
    pub rings: Vec<usize>,
}

impl RingSystem {
    /// Returns the name of the system, made of the sizes of its rings, aromaticity and elements other than carbon:
    /// `benzene ring`, `aromatic ring of 5 and 6 atoms with N`, `ring of 5 atoms with O`. Different systems may share a
    /// name.
    ///
    /// ```
    /// use dsokr_molecule::{Molecule, ring_systems};
    ///
    /// let nicotine = Molecule::parse("CN1CCCC1c1cccnc1")?;
    /// let names: Vec<_> = ring_systems(&nicotine).iter().map(|system| system.name(&nicotine)).collect();
    /// assert_eq!(names, ["ring of 5 atoms with N", "aromatic ring of 6 atoms with N"]);
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn name(&self, molecule: &Molecule) -> String {
        let rings = || self.rings.iter().map(|&ring| &molecule.rings()[ring]);
        let mut sizes: Vec<usize> = rings().map(|ring| ring.atoms.len()).collect();
        sizes.sort_unstable();
        let mut elements: Vec<&str> =
            self.atoms.iter().map(|&atom| molecule.atoms()[atom].element.symbol()).collect();
        elements.sort_unstable();
        elements.dedup();
        elements.retain(|&symbol| symbol != "C");
        let kind = match (rings().all(|ring| ring.aromatic), rings().any(|ring| ring.aromatic)) {
            (true, _) if sizes == [6] && elements.is_empty() => return "benzene ring".to_owned(),
            (true, _) => "aromatic ring",
            (false, true) => "partly aromatic ring",
            (false, false) => "ring",
        };
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        let with = if elements.is_empty() { "" } else { " with " };
        format!("{kind} of {} atoms{with}{}", sizes.join(" and "), elements.join(", "))
    }
}

/// Returns all ring systems of a molecule, in the order of their first atoms.
///
/// ```
/// use dsokr_molecule::{Molecule, ring_systems};
///
/// let tryptamine = Molecule::parse("NCCc1c[nH]c2ccccc12")?;
/// let systems = ring_systems(&tryptamine);
/// assert_eq!(systems.len(), 1);
/// assert_eq!(systems[0].rings.len(), 2);
/// assert_eq!(systems[0].atoms.len(), 9);
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
pub fn ring_systems(molecule: &Molecule) -> Vec<RingSystem> {
    let rings = molecule.rings();
    let mut sets = Union::new(rings.len());
    let mut first_of_bond = vec![None; molecule.bonds().len()];
    for (number, ring) in rings.iter().enumerate() {
        for bond in molecule.ring_bonds(ring) {
            sets.merge(*first_of_bond[bond].get_or_insert(number), number);
        }
    }
    let system = |members: Vec<usize>| {
        let atoms = members.iter().flat_map(|&ring| rings[ring].atoms.iter().copied());
        let atoms: BTreeSet<usize> = atoms.collect();
        RingSystem { atoms: atoms.into_iter().collect(), rings: members }
    };
    let mut systems: Vec<RingSystem> = sets.groups().into_iter().map(system).collect();
    systems.sort_by_key(|system| system.atoms.first().copied());
    systems
}

/// The parts of a molecule that no bond joins, and its isotopes, as hashed features: what names of salts,
/// hydrates and labelled compounds say (hydrochloride, disodium, zwitterion, (2)H) and the surroundings of
/// atoms spread over many features.
///
/// - Of each component: its net charge, with its element where it is a single atom.
/// - Where there are several, of each: its elements and bonds, whole; and these with charges, hydrogens and
///   isotopes.
/// - The number of components.
/// - Of each atom whose SMILES gives a mass number: this and its element.
///
/// ```
/// use dsokr_molecule::{Components, HashedFeatures, Molecule};
///
/// let codes = |smiles| Ok::<_, dsokr_molecule::Error>(
///     Components::default().codes(&Molecule::parse(smiles)?)
/// );
/// // both salts have the chloride; the ammonium ions differ
/// let first = codes("C[NH3+].[Cl-]")?;
/// let second = codes("CC[NH3+].[Cl-]")?;
/// assert_eq!(first.keys().filter(|code| !second.contains_key(code)).count(), 2);
/// // a single component without isotopes says only its charge
/// assert_eq!(codes("CCO")?, codes("c1ccccc1")?);
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Components {
    /// Number of columns.
    // ions that occur once must not share a column with chloride
    #[default(1 << 16)]
    pub width: usize,
}

impl HashedFeatures for Components {
    fn width(&self) -> usize {
        self.width
    }

    fn codes(&self, molecule: &Molecule) -> BTreeMap<u32, u32> {
        let mut counts = BTreeMap::new();
        let mut count = |words: &[u64]| *counts.entry(code_of(words)).or_insert(0) += 1;
        let components = molecule.components();
        count(&[NUMBER, components.len() as u64]);
        let element = |atom: usize| u64::from(molecule.atoms()[atom].element.atomic_number());
        let state = |atom: usize| state(&molecule.atoms()[atom]);
        for component in &components {
            let charge: i64 =
                component.iter().map(|&atom| i64::from(molecule.atoms()[atom].charge)).sum();
            let single = if let [atom] = component[..] { 1 + element(atom) } else { 0 };
            count(&[CHARGE, charge as u64, single]);
            if components.len() > 1 {
                count(&[BARE, pattern(molecule, component, element, true)]);
                count(&[FULL, pattern(molecule, component, state, true)]);
            }
        }
        for (at, atom) in molecule.atoms().iter().enumerate() {
            if let Some(mass) = atom.isotope {
                count(&[ISOTOPE, element(at), u64::from(mass)]);
            }
        }
        counts
    }
}

const NUMBER: u64 = 0;
const CHARGE: u64 = 1;
const BARE: u64 = 2;
const FULL: u64 = 3;
const ISOTOPE: u64 = 4;

/// Returns an atom with its charge, hydrogens and isotope.
fn state(atom: &Atom) -> u64 {
    let words = [
        u64::from(atom.element.atomic_number()),
        i64::from(atom.charge) as u64,
        u64::from(atom.hydrogens),
        atom.isotope.map_or(0, u64::from),
    ];
    words.into_iter().fold(0, mix)
}
