//! Moves: the outputs that differ from one by a single change, for a search in the space of all outputs.
//!
//! A molecule is changed in its Kekulé structure ([`Builder`](builder::Builder)), written, and read again, which checks
//! its valences and perceives what is aromatic.

mod atoms;
pub(crate) mod builder;
mod configurations;
mod graphs;
mod groups;
mod hash;
mod palette;
mod states;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rayon::prelude::*;

use self::builder::Builder;
use crate::molecule::Molecule;

pub use graphs::GraphPalette;
pub use palette::{Group, Palette};

/// A kind of output from which others are reached by small changes.
///
/// Each move has an inverse: where b is a neighbour of a, a is a neighbour of b, as long as both are within the
/// palette. Only moves of groups, rings and configurations may need several moves to be undone.
///
/// ```
/// use dsokr_molecule::{Molecule, Moves, Palette};
///
/// let known = ["CCO", "CC=O", "CCN", "CO"].map(|smiles| Molecule::parse(smiles));
/// let known = known.into_iter().collect::<Result<Vec<_>, _>>()?;
/// let palette = Molecule::palette(&known);
/// let ethanol = &known[0];
/// let found = ethanol.neighbours(&palette);
/// let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
/// assert!(keys.contains(&"CC=O") && keys.contains(&"CCN") && keys.contains(&"CO"));
/// assert!(!keys.contains(&"CCO"));
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
pub trait Moves: Sized {
    /// The parts that moves may put into an output.
    type Palette;

    /// Creates the palette of known outputs: their labels, their groups, and the size of the largest.
    fn palette(outputs: &[Self]) -> Self::Palette;

    /// Returns the canonical form as a text: equal for equal outputs.
    fn key(&self) -> String;

    /// Returns the outputs one move away, each once, with their keys, in the order of these; the output itself is none
    /// of them.
    fn neighbours(&self, palette: &Self::Palette) -> Vec<(String, Self)>;
}

/// Returns the parts that at least one in 1,000 of known outputs has, ascending.
fn usual<M, T: Ord>(outputs: &[M], parts: impl Fn(&M) -> BTreeSet<T>) -> impl Iterator<Item = T> {
    let mut counts = BTreeMap::new();
    let least = outputs.len();
    outputs.iter().flat_map(parts).for_each(|part| *counts.entry(part).or_insert(0) += 1);
    counts.into_iter().filter(move |&(_, count)| count * 1_000 >= least).map(|(part, _)| part)
}

impl Moves for Molecule {
    type Palette = Palette;

    fn palette(molecules: &[Self]) -> Palette {
        Palette::from_known(molecules)
    }

    /// Returns the canonical SMILES.
    fn key(&self) -> String {
        self.canonical_smiles()
    }

    /// Returns the molecules that one move leads to, by their keys.
    ///
    /// | move | in detail |
    /// |---|---|
    /// | change an element | of a neutral atom whose bonds the new valence allows |
    /// | change a bond order | single, double, triple |
    /// | shift a double bond | the next bond gets what the first one loses |
    /// | add, remove an atom | at the end of a bond of any order |
    /// | insert an atom, or take it out | between two bonded atoms |
    /// | close, open a ring | of at most 9 atoms, by a single bond |
    /// | move a substituent | of at most 8 atoms, to any other atom; the end of a bond in a ring to the next atom |
    /// | swap two elements | |
    /// | attach, exchange a group | one of the palette, in the place of a hydrogen or of a substituent |
    /// | fuse a ring | three or four carbons on a bond, saturated or aromatic |
    /// | protonate, deprotonate | to charges that known outputs have |
    /// | add, remove a hydrogen | at atoms with an open valence, where known outputs have such radicals |
    /// | flip a stereo centre or a double bond | or set it, or leave it open, where known outputs have configurations |
    ///
    /// Where a ring has two Kekulé structures, bonds are changed in both. Other atoms of unusual valence, such as
    /// metals, keep it. Molecules with more atoms in [unusual](Palette::unusual) environments than this one are left
    /// out.
    fn neighbours(&self, palette: &Palette) -> Vec<(String, Self)> {
        let neighbours = self.neighbours_beside(palette, &SeenStructures::new()).0.into_iter();
        neighbours.filter_map(|(key, molecule)| Some((key, molecule?))).collect()
    }
}

/// Structures that moves have made, by their hashes: the number of atoms in [unusual](Palette::unusual) environments,
/// and the key, where the molecule was not left out for these.
pub type SeenStructures = HashMap<u64, (usize, Option<String>)>;

impl Molecule {
    /// Returns the [neighbours](Moves::neighbours) by their keys, without those molecules that `seen` has, and the
    /// structures that it does not have. Structures of the same hash are taken for the same.
    pub fn neighbours_beside(
        &self,
        palette: &Palette,
        seen: &SeenStructures,
    ) -> (BTreeMap<String, Option<Self>>, SeenStructures) {
        let builder = Builder::from_molecule(self);
        let most = palette.unusual(self);
        let mut edits = Edits::new(&builder, palette, seen, most);
        edits.change_atoms(&builder);
        edits.change_bonds(&builder);
        edits.close_rings(&builder);
        edits.move_substituents(&builder);
        edits.change_groups(&builder);
        edits.fuse_rings(&builder);
        edits.change_charges(&builder);
        edits.change_radicals(&builder);
        edits.flip(&builder);
        for other in self.other_kekule_forms() {
            edits.change_bonds(&other);
        }
        let read = edits.structures.into_par_iter().filter_map(|edit| {
            let (hash, builder) = match edit {
                Edited::Known(key) => return Some((None, 0, Some((key?, None)))),
                Edited::New(hash, builder) => (hash, builder),
            };
            let molecule = builder.read()?;
            let unusual = palette.unusual(&molecule);
            let neighbour =
                (unusual <= most).then(|| (molecule.canonical_smiles(), Some(molecule)));
            Some((hash, unusual, neighbour))
        });
        let mut neighbours = BTreeMap::new();
        let mut new = SeenStructures::new();
        for (hash, unusual, neighbour) in read.collect::<Vec<_>>() {
            let key = || neighbour.as_ref().map(|(key, _)| key.clone());
            new.extend(hash.map(|hash| (hash, (unusual, key()))));
            neighbours.extend(neighbour);
        }
        neighbours.remove(&self.key());
        (neighbours, new)
    }
}

/// An edited structure.
enum Edited {
    /// A new structure, with its hash where it has one.
    New(Option<u64>, Builder),
    /// The key of one that is known; none for one that is left out.
    Known(Option<String>),
}

/// Edited structures, each once as far as their hashes tell.
struct Edits<'a> {
    structures: Vec<Edited>,
    seen: HashSet<u64>,
    palette: &'a Palette,
    seen_before: &'a SeenStructures,
    /// The most atoms in unusual environments.
    most: usize,
}

impl<'a> Edits<'a> {
    fn new(
        builder: &Builder,
        palette: &'a Palette,
        seen_before: &'a SeenStructures,
        most: usize,
    ) -> Self {
        let seen = builder.hash().into_iter().collect();
        Self { structures: Vec::new(), seen, palette, seen_before, most }
    }

    /// Makes an edit of a copy; the edit is left out where it gives none.
    fn try_edit(&mut self, from: &Builder, edit: impl FnOnce(&mut Builder) -> Option<()>) {
        if self.structures.len() >= self.palette.moves {
            return;
        }
        let mut builder = from.clone();
        if edit(&mut builder).is_none() {
            return;
        }
        let hash = builder.hash();
        if hash.is_none_or(|hash| self.seen.insert(hash)) {
            self.structures.push(match hash.and_then(|hash| self.seen_before.get(&hash)) {
                Some((unusual, _)) if *unusual > self.most => Edited::Known(None),
                Some((_, Some(key))) => Edited::Known(Some(key.clone())),
                Some((_, None)) | None => Edited::New(hash, builder),
            });
        }
    }

    /// Returns how many atoms may be added.
    fn room(&self, builder: &Builder) -> usize {
        self.palette.atoms.saturating_sub(builder.len())
    }
}

/// The most other Kekulé structures whose bonds are changed too.
const FORMS: usize = 3;

impl Molecule {
    /// Returns further Kekulé structures, in which single and double bonds change places in an aromatic ring, or round
    /// two rings.
    fn other_kekule_forms(&self) -> Vec<Builder> {
        if self.bonds().iter().all(|bond| !bond.aromatic) {
            return Vec::new();
        }
        let mut forms = vec![Builder::from_molecule(self)];
        let rings = self.rings().iter().map(|ring| self.ring_bonds(ring).collect());
        let mut cycles: Vec<BTreeSet<usize>> = rings.collect();
        for first in 1..cycles.len() {
            let around = |other: &BTreeSet<usize>| &cycles[first] ^ other;
            let joined = cycles[..first].iter().filter(|other| !other.is_disjoint(&cycles[first]));
            let joined: Vec<_> = joined.map(around).collect();
            cycles.extend(joined);
        }
        cycles.retain(|bonds| bonds.iter().all(|&bond| self.bonds()[bond].aromatic));
        let mut next = 0;
        while next < forms.len() && forms.len() <= FORMS {
            for bonds in &cycles {
                let mut other = forms[next].clone();
                if other.turn(bonds) && forms.iter().all(|form| form.bonds != other.bonds) {
                    forms.push(other);
                }
            }
            next += 1;
        }
        forms.truncate(FORMS + 1);
        forms.split_off(1)
    }
}
