//! Canonical SMILES: one text for one molecule, however its atoms are numbered.
//!
//! The atoms of each connected part are put in a canonical order ([`search`]), the part is written
//! along it ([`write`]), and the parts are sorted.

mod marks;
mod search;
mod stereogenic;
mod tree;
mod write;

use dsokr_core::random::shuffle;
use rand::Rng;

use self::search::canonical_order;
use self::write::write;
pub(crate) use self::write::{Written, is_usual, push_label};
use crate::error::Error;
use crate::graph::{Arc, Graph};
use crate::molecule::{Bond, BondOrder, Center, Geometry, HYDROGEN, Molecule};

impl Molecule {
    /// Returns the canonical SMILES: equal for molecules that differ only in the numbering of their atoms.
    ///
    /// Aromatic atoms are written in lower case; charges, isotopes and hydrogens are kept, and so
    /// are the configurations of tetrahedral atoms (`@`, `@@`) and of double bonds outside aromatic
    /// rings (`/`, `\`). The text does not keep other kinds of configuration (allenes, square planes and so on), double
    /// bonds at an atom of an aromatic ring or at an atom whose only other neighbour is a hydrogen, or the numbers of
    /// atom maps.
    ///
    /// Other programs write other texts. The text does not change within a major version. Large cages whose symmetry is
    /// not found within about a second have a text that depends on how their atoms are numbered. The text of every row
    /// of ChEBI-20 reads back as the same molecule. Three kinds of molecules are known not to: aromatic rings with a
    /// radical, which their text does not show to be aromatic; chains of bonds between metals and ligands, which are
    /// made dative in an order that depends on the text; and multiple bonds to halogens (`O=I`), which are read with or
    /// without charges.
    ///
    /// ```
    /// use dsokr_molecule::Molecule;
    ///
    /// let alanine = Molecule::parse("C[C@@H](C(=O)O)N")?;
    /// let same = Molecule::parse("OC(=O)[C@@H](N)C")?;
    /// let mirrored = Molecule::parse("OC(=O)[C@H](N)C")?;
    /// assert_eq!(alanine.canonical_smiles(), same.canonical_smiles());
    /// assert_ne!(alanine.canonical_smiles(), mirrored.canonical_smiles());
    /// assert_eq!(Molecule::parse("C1=CC=CC=C1")?.canonical_smiles(), "c1ccccc1");
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn canonical_smiles(&self) -> String {
        self.canonical().text
    }

    /// Returns the canonical SMILES with the order of its atoms.
    pub(crate) fn canonical(&self) -> Written {
        let parts = self.components().into_iter().map(|atoms| {
            let structure = Structure::new(self, atoms);
            write(self, &structure, &canonical_order(&structure).places)
        });
        let mut parts: Vec<Written> = parts.collect();
        parts.sort_by(|a, b| a.text.cmp(&b.text));
        let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
        let text = texts.join(".");
        Written { text, atoms: parts.into_iter().flat_map(|part| part.atoms).collect() }
    }

    /// Returns a SMILES of the same molecule with its atoms in random order; it keeps what
    /// [`canonical_smiles`](Self::canonical_smiles) keeps.
    ///
    /// ```
    /// use dsokr_core::random::generator;
    /// use dsokr_molecule::Molecule;
    ///
    /// let phenol = Molecule::parse("Oc1ccccc1")?;
    /// let text = phenol.random_smiles(&mut generator(0, "augment", 0));
    /// assert_eq!(Molecule::parse(&text)?.canonical_smiles(), phenol.canonical_smiles());
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn random_smiles(&self, random: &mut impl Rng) -> String {
        let mut parts = self.components();
        shuffle(&mut parts, random);
        self.in_parts(parts, |ranks| shuffle(ranks, random))
    }

    /// Returns a SMILES with the atoms in the order of their numbers as far as bonds allow.
    pub(crate) fn written(&self) -> String {
        self.in_parts(self.components(), |_| {})
    }

    /// Returns a SMILES of these parts; `arrange` changes the ranks of the atoms of each.
    fn in_parts(&self, parts: Vec<Vec<usize>>, mut arrange: impl FnMut(&mut Vec<usize>)) -> String {
        let written = parts.into_iter().map(|atoms| {
            let structure = Structure::new(self, atoms);
            let mut ranks: Vec<usize> = (0..structure.len()).collect();
            arrange(&mut ranks);
            write(self, &structure, &ranks).text
        });
        written.collect::<Vec<_>>().join(".")
    }
}

impl Graph {
    /// Returns the same graph with its nodes in canonical order: equal for isomorphic graphs.
    ///
    /// # Errors
    /// [`Error::Graph`] of a graph whose symmetry takes too long to find, such as a projective plane of many points.
    pub fn canonical(&self) -> Result<Self, Error> {
        let (graph, is_canonical) = self.ordered();
        if is_canonical {
            return Ok(graph);
        }
        let nodes = self.len();
        let message = format!(
            "the canonical order of the {nodes} nodes was not found: many of them are alike by all that is close to them; \
             labels that tell them apart shorten the search"
        );
        Err(Error::Graph { message })
    }

    /// Returns the graph with its nodes in canonical order, as far as this was found, and whether it was. Where it was
    /// not, the order depends on how the nodes are numbered.
    pub(crate) fn ordered(&self) -> (Self, bool) {
        let half = |label: u64| [(label >> 32) as u32, label as u32];
        let key = |node: usize| {
            let [high, low] = half(self.labels()[node]);
            let degree = self.arcs(node).len();
            [u32::try_from(degree).unwrap_or(u32::MAX), high, low, 0, 0, 0, 0, 0, 0]
        };
        let mut structure = Structure {
            atoms: (0..self.len()).collect(),
            keys: (0..self.len()).map(key).collect(),
            arcs: (0..self.len()).map(|node| self.arcs(node).to_vec()).collect(),
            centers: Vec::new(),
            geometries: Vec::new(),
        };
        structure.number_twins();
        let order = canonical_order(&structure);
        let place = order.places;
        let mut labels = vec![0; self.len()];
        place.iter().zip(self.labels()).for_each(|(&at, &label)| labels[at] = label);
        let edges = self.edges().map(|(a, b, label)| (place[a], place[b], label));
        (Self::from_checked(labels, edges), order.is_canonical)
    }
}

/// The properties of an atom that do not depend on its number: no automorphism maps an atom to one of
/// other properties. The text begins at the atom of the smallest key, one with few neighbours.
type Key = [u32; 9];

/// A connected part. Its atoms are numbered from 0; `atoms` are their numbers in the molecule.
struct Structure {
    atoms: Vec<usize>,
    keys: Vec<Key>,
    arcs: Vec<Vec<Arc>>,
    centers: Vec<Center>,
    geometries: Vec<Geometry>,
}

impl Structure {
    /// Creates the part of a molecule that has the atoms `atoms`, all of one component or of several.
    fn new(molecule: &Molecule, atoms: Vec<usize>) -> Self {
        let mut structure =
            Self::configured(molecule, atoms, &molecule.centers, &molecule.geometries);
        structure.number_twins();
        structure
    }

    /// Creates the part with these configurations in place of the molecule's own. Atoms that are alike have equal keys.
    fn configured(
        molecule: &Molecule,
        atoms: Vec<usize>,
        centers: &[Center],
        geometries: &[Geometry],
    ) -> Self {
        let mut local = vec![usize::MAX; molecule.atoms().len()];
        atoms.iter().zip(0..).for_each(|(&atom, number)| local[atom] = number);
        let inside = |atom: usize| local[atom] != usize::MAX;
        let local_number = |atom: usize| if atom == HYDROGEN { HYDROGEN } else { local[atom] };
        let centers = centers.iter().filter(|center| inside(center.atom));
        let center = |center: &Center| {
            let ligands = center.ligands.iter().map(|&ligand| local_number(ligand)).collect();
            Center { atom: local_number(center.atom), ligands, clockwise: center.clockwise }
        };
        let centers: Vec<Center> = centers.map(center).collect();
        let geometries = geometries.iter().filter(|geometry| inside(geometry.ends[0]));
        let geometry = |geometry: &Geometry| {
            let ends = geometry.ends.map(local_number);
            let references = geometry.references.map(local_number);
            Geometry { ends, references, ..geometry.clone() }
        };
        let geometries: Vec<Geometry> = geometries.map(geometry).collect();

        let mut configured = vec![[0; 2]; atoms.len()];
        centers.iter().for_each(|center| configured[center.atom][0] += 1);
        let ends = geometries.iter().flat_map(|geometry| geometry.ends);
        ends.for_each(|end| configured[end][1] += 1);

        let mut arcs = Vec::with_capacity(atoms.len());
        let mut keys = Vec::with_capacity(atoms.len());
        for (number, &atom) in atoms.iter().enumerate() {
            let what = &molecule.atoms()[atom];
            let arc = |neighbor: &crate::molecule::Neighbor| {
                let is_configured =
                    geometries.iter().any(|geometry| geometry.bond == neighbor.bond);
                let label = || label(&molecule.bonds()[neighbor.bond], atom);
                Arc {
                    node: local[neighbor.atom],
                    label: if is_configured { GEOMETRY } else { label() },
                }
            };
            arcs.push(molecule.neighbors(atom).iter().map(arc).collect::<Vec<_>>());
            keys.push([
                u32::try_from(molecule.degree(atom)).unwrap_or(u32::MAX),
                u32::from(what.aromatic),
                u32::from(what.element.atomic_number()),
                what.isotope.map_or(0, |isotope| 1 + u32::from(isotope)),
                u32::from(what.charge.unsigned_abs()) * 2 + u32::from(what.charge < 0),
                u32::from(what.hydrogens),
                configured[number][0],
                configured[number][1],
                0,
            ]);
        }
        Self { atoms, keys, arcs, centers, geometries }
    }

    fn len(&self) -> usize {
        self.atoms.len()
    }

    /// Numbers atoms that hang on the same neighbour and are alike as they come. They can be exchanged without any change:
    /// the search need not try their orders.
    fn number_twins(&mut self) {
        // configurations at an atom tell what hangs on it apart
        for node in 0..self.len() {
            if self.keys[node][6..8] != [0, 0] {
                continue;
            }
            let leaves = self.arcs[node].iter().filter(|a| self.arcs[a.node].len() == 1);
            let mut leaves: Vec<_> =
                leaves.map(|arc| (arc.label, self.keys[arc.node], arc.node)).collect();
            leaves.sort_unstable();
            for alike in leaves.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
                alike.iter().zip(0..).for_each(|(leaf, at)| self.keys[leaf.2][8] = at);
            }
        }
    }

    /// Returns, for each atom, what its configurations say when ligands are sorted by `rank`: 0 for an atom without a
    /// configuration, and where ligands of equal rank leave it open.
    fn configurations(&self, rank: impl Fn(usize) -> usize + Copy) -> Vec<u64> {
        let mut says = vec![0; self.len()];
        for center in &self.centers {
            if let Some(clockwise) = center.clockwise_by(rank) {
                says[center.atom] += 1 + u64::from(clockwise);
            }
        }
        for geometry in &self.geometries {
            if let Some(together) = geometry.together_by(|end| self.neighbors(end), rank) {
                for end in geometry.ends {
                    says[end] += if together { 3 } else { 64 };
                }
            }
        }
        says
    }

    /// Returns neighbours of one end of a double bond but the other end.
    fn others(&self, end: usize, partner: usize) -> impl Iterator<Item = usize> + '_ {
        self.neighbors(end).filter(move |&node| node != partner)
    }

    fn neighbors(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.arcs[node].iter().map(|arc| arc.node)
    }
}

/// Label of a double bond whose geometry is known.
const GEOMETRY: u64 = 8;

/// Returns 1 to 4 for the orders, 5 for aromatic bonds, 6 and 7 for the two ends of a dative one.
fn label(bond: &Bond, from: usize) -> u64 {
    match bond.order {
        _ if bond.aromatic => 5,
        BondOrder::Dative if bond.atoms[0] == from => 6,
        BondOrder::Dative => 7,
        order => order.multiplicity().into(),
    }
}
