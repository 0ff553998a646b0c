//! Moves: the outputs that differ from one by a single change, for a search in the space of all outputs.
//!
//! A molecule is changed in its Kekulé structure ([`Draft`](draft::Draft)), written, and read again, which checks its
//! valences and perceives what is aromatic.

mod atoms;
mod configurations;
mod draft;
mod graphs;
mod groups;
mod palette;
mod states;

use std::collections::{BTreeMap, HashSet};

use rayon::prelude::*;

use self::draft::Draft;
use crate::Molecule;

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
    /// What moves may put into an output.
    type Palette;

    /// The palette of known outputs: their labels, their groups, and the size of the largest.
    fn palette(known: &[Self]) -> Self::Palette;

    /// The canonical form as a text: equal for equal outputs.
    fn key(&self) -> String;

    /// The outputs one move away, each once, with their keys, in the order of these; the output itself is none of them.
    fn neighbours(&self, palette: &Self::Palette) -> Vec<(String, Self)>;
}

impl Moves for Molecule {
    type Palette = Palette;

    fn palette(known: &[Self]) -> Palette {
        Palette::of(known)
    }

    /// The canonical SMILES.
    fn key(&self) -> String {
        self.canonical_smiles()
    }

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
    /// | flip a stereo centre or a double bond | or set it, or leave it open, where known outputs have configurations |
    ///
    /// Where a ring has two Kekulé structures, bonds are changed in both. Atoms of unusual valence, such as radicals
    /// and metals, keep their valence. Molecules with more atoms in [unusual](Palette::unusual) environments than this one
    /// are left out.
    fn neighbours(&self, palette: &Palette) -> Vec<(String, Self)> {
        let mut edits = Edits { found: Vec::new(), seen: HashSet::new(), palette };
        let draft = Draft::of(self);
        edits.seen.extend(draft.hash());
        edits.change_atoms(&draft);
        edits.change_bonds(&draft);
        edits.close_rings(&draft);
        edits.move_substituents(&draft);
        edits.change_groups(&draft);
        edits.fuse_rings(&draft);
        edits.change_charges(&draft);
        edits.flip(&draft);
        for other in self.other_kekule_forms() {
            edits.change_bonds(&other);
        }
        let own = self.key();
        let unusual = palette.unusual(self);
        let read = edits.found.into_par_iter().filter_map(|draft| {
            let molecule = Molecule::parse(&draft.molecule()?.written()).ok()?;
            let is_usual = palette.unusual(&molecule) <= unusual;
            is_usual.then(|| (molecule.canonical_smiles(), molecule))
        });
        let mut all: BTreeMap<String, Molecule> = read.collect();
        all.remove(&own);
        all.into_iter().collect()
    }
}

/// Edited structures, each once as far as their hashes tell.
struct Edits<'a> {
    found: Vec<Draft>,
    seen: HashSet<u64>,
    palette: &'a Palette,
}

impl Edits<'_> {
    /// Makes an edit of a copy; the edit is left out where it gives none.
    fn try_edit(&mut self, from: &Draft, edit: impl FnOnce(&mut Draft) -> Option<()>) {
        if self.found.len() >= self.palette.moves {
            return;
        }
        let mut draft = from.clone();
        if edit(&mut draft).is_some() && draft.hash().is_none_or(|hash| self.seen.insert(hash)) {
            self.found.push(draft);
        }
    }

    /// How many atoms may be added.
    fn room(&self, draft: &Draft) -> usize {
        self.palette.atoms.saturating_sub(draft.len())
    }
}

/// The most other Kekulé structures whose bonds are changed too.
const FORMS: usize = 3;

impl Molecule {
    /// Further Kekulé structures, in which rings of alternating bonds are turned by one bond.
    fn other_kekule_forms(&self) -> Vec<Draft> {
        let mut forms = vec![Draft::of(self)];
        let rings: Vec<Vec<usize>> = self
            .rings()
            .iter()
            .filter(|ring| ring.aromatic && ring.atoms.len() % 2 == 0)
            .map(|ring| self.ring_bonds(ring).collect())
            .collect();
        let mut next = 0;
        while next < forms.len() && forms.len() <= FORMS {
            for bonds in &rings {
                let orders: Vec<_> = bonds.iter().map(|&at| forms[next].bonds[at].order).collect();
                if (0..orders.len()).all(|at| orders[at] != orders[(at + 1) % orders.len()]) {
                    let mut other = forms[next].clone();
                    for (at, &bond) in bonds.iter().enumerate() {
                        other.bonds[bond].order = orders[(at + 1) % orders.len()];
                    }
                    let same = |form: &Draft| {
                        form.bonds.iter().zip(&other.bonds).all(|(a, b)| a.order == b.order)
                    };
                    if forms.len() <= FORMS && !forms.iter().any(same) {
                        forms.push(other);
                    }
                }
            }
            next += 1;
        }
        forms.split_off(1)
    }
}
