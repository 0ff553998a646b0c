//! The places of `/` and `\`, which describe the known geometries of double bonds and no others.
//!
//! Where an end of a double bond has two substituents, either bond can be marked. Not every choice does: a mark between
//! two double bonds speaks of both, so in a ring of conjugated double bonds marks can contradict one another, and a
//! double bond of unknown geometry must not have marks at both ends. (One in a small ring may, since it has one geometry
//! whatever marks say.) A choice is searched for each group of conjugated double bonds by itself, one end after the other
//! along the text, with a step back where a mark cannot be.

use std::collections::BTreeMap;

use super::Structure;
use super::tree::Tree;
use crate::molecule::{Molecule, Union};

/// Marks by the atoms of a bond, in the order in which they are written: `true` is `/`.
pub(super) type Marks = BTreeMap<(usize, usize), bool>;

/// How many bonds are tried in one group of conjugated double bonds.
const TRIES: usize = 1 << 20;

/// One end of a double bond of known geometry.
struct End {
    atom: usize,
    /// The number of the geometry, and which of its two ends this is.
    place: (usize, usize),
    /// The substituents whose bond can be marked, the preferred one first.
    options: Vec<usize>,
}

/// Returns one mark at each end of each double bond of known geometry. A text that gave these geometries shows that
/// some choice of marks is consistent; a group whose choice is not found in [`TRIES`] has no marks.
pub(super) fn marks(
    molecule: &Molecule,
    structure: &Structure,
    tree: &Tree,
    rank: &[usize],
) -> Marks {
    let mut marks = Marks::new();
    if structure.geometries.is_empty() {
        return marks;
    }
    let ends = ends(structure, tree, rank);
    let mut choice = Choice::new(molecule, structure, tree, &ends);
    for group in groups(structure, &ends) {
        if choice.search(&group) {
            choice.collect(&group, &mut marks);
        }
        choice.forget();
    }
    marks
}

/// Returns the ends of double bonds in the order of the text.
fn ends(structure: &Structure, tree: &Tree, rank: &[usize]) -> Vec<End> {
    let mut is_known = vec![false; structure.len()];
    let configured = structure.geometries.iter().flat_map(|geometry| geometry.ends);
    configured.for_each(|end| is_known[end] = true);
    let is_open =
        |atom: usize| !is_known[atom] && structure.arcs[atom].iter().any(|a| a.label == DOUBLE);
    let in_tree = |a: usize, b: usize| tree.parent[a] == b || tree.parent[b] == a;
    let mut ends = Vec::new();
    for (number, geometry) in structure.geometries.iter().enumerate() {
        let [a, b] = geometry.ends;
        for (side, (atom, partner)) in [(a, b), (b, a)].into_iter().enumerate() {
            let single = structure.arcs[atom].iter().filter(|arc| arc.label == SINGLE);
            let single = single.map(|arc| arc.node).filter(|&other| other != partner);
            let mut options: Vec<usize> = single.collect();
            options.sort_by_key(|&other| (is_open(other), !in_tree(atom, other), rank[other]));
            ends.push(End { atom, place: (number, side), options });
        }
    }
    ends.sort_by_key(|end| tree.place[end.atom]);
    ends
}

/// Labels of arcs: a single bond, and a double bond of unknown geometry.
const SINGLE: u64 = 1;
const DOUBLE: u64 = 2;

/// Returns the ends in groups, whose marks do not depend on one another.
fn groups(structure: &Structure, ends: &[End]) -> Vec<Vec<usize>> {
    let mut sets = Union::new(structure.len());
    for geometry in &structure.geometries {
        sets.merge(geometry.ends[0], geometry.ends[1]);
    }
    for end in ends {
        end.options.iter().for_each(|&other| sets.merge(end.atom, other));
    }
    for (atom, arcs) in structure.arcs.iter().enumerate() {
        let double = arcs.iter().filter(|arc| arc.label == DOUBLE);
        double.for_each(|arc| sets.merge(atom, arc.node));
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, end) in ends.iter().enumerate() {
        groups.entry(sets.root(end.atom)).or_default().push(number);
    }
    groups.into_values().collect()
}

/// A bond by its atoms in the order in which they are written.
type Bond = (usize, usize);

/// Two bonds whose marks are equal, or differ.
type Relation = ([Bond; 2], bool);

/// A choice of marked bonds, made end by end.
struct Choice<'a> {
    structure: &'a Structure,
    tree: &'a Tree,
    ends: &'a [End],
    /// The ends that begin at each atom.
    at: BTreeMap<usize, Vec<usize>>,
    /// The other end of each double bond of an atom whose geometry is unknown. Those in small rings are left out.
    unknown: Vec<Vec<usize>>,
    /// The substituent that is chosen for each end.
    chosen: Vec<Option<usize>>,
    /// How many ends have chosen each bond.
    marked: BTreeMap<Bond, usize>,
    relations: Relations,
}

impl<'a> Choice<'a> {
    fn new(molecule: &Molecule, structure: &'a Structure, tree: &'a Tree, ends: &'a [End]) -> Self {
        let mut at: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (number, end) in ends.iter().enumerate() {
            at.entry(end.atom).or_default().push(number);
        }
        let can_have_two = |a: usize, b: usize| {
            let bond = molecule.bond_between(structure.atoms[a], structure.atoms[b]);
            bond.is_some_and(|bond| !molecule.is_in_small_ring(bond))
        };
        let unknown = structure.arcs.iter().enumerate().map(|(atom, arcs)| {
            let double = arcs.iter().filter(|arc| arc.label == DOUBLE).map(|arc| arc.node);
            double.filter(|&other| can_have_two(atom, other)).collect::<Vec<usize>>()
        });
        let unknown = unknown.collect();
        let chosen = vec![None; ends.len()];
        let marked = BTreeMap::new();
        let relations = Relations::default();
        Self { structure, tree, ends, at, unknown, chosen, marked, relations }
    }

    /// Chooses a bond for each end of a group; false where none was found.
    fn search(&mut self, group: &[usize]) -> bool {
        let mut next_option = vec![0; group.len()];
        // how many relations there were before each end
        let mut before = Vec::with_capacity(group.len());
        for _ in 0..TRIES {
            let at = before.len();
            let Some(&end) = group.get(at) else { return true };
            let Some(&other) = self.ends[end].options.get(next_option[at]) else {
                // a step back
                next_option[at] = 0;
                let Some(length) = before.pop() else { return false };
                self.undo(group[at - 1], length);
                continue;
            };
            next_option[at] += 1;
            let length = self.relations.len();
            if self.choose(end, other) {
                before.push(length);
            } else {
                self.undo(end, length);
            }
        }
        false
    }

    /// Marks the bond from an end to a substituent; false if that contradicts other marks.
    fn choose(&mut self, end: usize, other: usize) -> bool {
        let atom = self.ends[end].atom;
        let bond = self.written(atom, other);
        self.chosen[end] = Some(other);
        *self.marked.entry(bond).or_default() += 1;
        self.agrees_with_partner(end)
            && self.agrees_with_siblings(end)
            && self.agrees_at(other, atom)
            && [atom, other].into_iter().all(|at| self.is_silent_at(at))
    }

    fn undo(&mut self, end: usize, length: usize) {
        self.relations.shorten(length);
        let Some(other) = self.chosen[end].take() else { return };
        let bond = self.written(self.ends[end].atom, other);
        if let Some(count) = self.marked.get_mut(&bond) {
            *count -= 1;
            if *count == 0 {
                self.marked.remove(&bond);
            }
        }
    }

    /// Notes that the marks at both ends of a double bond say whether its substituents are on the same side; false if
    /// this contradicts other marks.
    fn agrees_with_partner(&mut self, end: usize) -> bool {
        let (number, side) = self.ends[end].place;
        let geometry = &self.structure.geometries[number];
        let partner = geometry.ends[1 - side];
        let place = (number, 1 - side);
        let partner =
            self.at[&partner].iter().copied().find(|&other| self.ends[other].place == place);
        let Some(partner) = partner else { return true };
        let Some(here) = self.chosen[end] else {
            return true;
        };
        let Some(there) = self.chosen[partner] else {
            return true;
        };
        let is_other = here != geometry.references[side];
        let is_other_there = there != geometry.references[1 - side];
        let together = geometry.together ^ is_other ^ is_other_there;
        self.relate((self.ends[end].atom, here), (self.ends[partner].atom, there), together)
    }

    /// Notes that every other substituent of an end whose bond is marked lies on the other side; false if this contradicts
    /// other marks.
    fn agrees_with_siblings(&mut self, end: usize) -> bool {
        let Some(chosen) = self.chosen[end] else { return true };
        let atom = self.ends[end].atom;
        let (number, side) = self.ends[end].place;
        let partner = self.structure.geometries[number].ends[1 - side];
        let siblings: Vec<usize> = self.structure.others(atom, partner).collect();
        siblings.into_iter().filter(|&sibling| sibling != chosen).all(|sibling| {
            !self.marked.contains_key(&self.written(atom, sibling))
                || self.relate((atom, chosen), (atom, sibling), false)
        })
    }

    /// Returns whether the marks agree at an atom that is the end of a further double bond, where the bond from `from` is
    /// a substituent.
    fn agrees_at(&mut self, atom: usize, from: usize) -> bool {
        let ends = self.at.get(&atom).cloned().unwrap_or_default();
        ends.into_iter().all(|end| match self.chosen[end] {
            Some(chosen) if chosen != from => self.relate((atom, chosen), (atom, from), false),
            Some(_) | None => true,
        })
    }

    /// Returns whether no double bond at an atom has marks at both ends and no known geometry.
    fn is_silent_at(&self, atom: usize) -> bool {
        let says = |end: usize, partner: usize| {
            let mut others = self.structure.others(end, partner);
            others.any(|other| self.marked.contains_key(&self.written(end, other)))
        };
        self.unknown[atom].iter().all(|&other| !(says(atom, other) && says(other, atom)))
    }

    /// Notes that two substituents of ends lie on the same side, or not. A mark reads the other way round from the end
    /// that is written second.
    fn relate(&mut self, first: Bond, second: Bond, same_side: bool) -> bool {
        let [one, two] = [first, second].map(|(end, other)| self.written(end, other));
        let turned = (one.0 != first.0) ^ (two.0 != second.0);
        self.relations.add(([one, two], same_side ^ turned))
    }

    fn written(&self, a: usize, b: usize) -> Bond {
        if self.tree.place[a] < self.tree.place[b] { (a, b) } else { (b, a) }
    }

    /// Collects the marks of a group. The first bond of those that depend on one another is `/`.
    fn collect(&self, group: &[usize], marks: &mut Marks) {
        let chosen = group.iter().filter_map(|&end| Some((self.ends[end].atom, self.chosen[end]?)));
        let mut bonds: Vec<Bond> = chosen.map(|(a, b)| self.written(a, b)).collect();
        bonds.sort_unstable_by_key(|&(a, b)| (self.tree.place[a], self.tree.place[b]));
        let mut first: BTreeMap<Bond, bool> = BTreeMap::new();
        for bond in bonds {
            let (root, differs) = self.relations.root(bond);
            let from_root = *first.entry(root).or_insert(!differs);
            marks.insert(bond, from_root ^ differs);
        }
    }

    fn forget(&mut self) {
        self.chosen.fill(None);
        self.marked.clear();
        self.relations = Relations::default();
    }
}

/// The known relations between bonds: which marks are equal and which differ. It is a forest in which each bond is
/// equal to its parent or differs from it. Trees of fewer bonds are put below larger ones, so that the last relation
/// can be taken back.
#[derive(Default)]
struct Relations {
    parents: BTreeMap<Bond, (Bond, bool)>,
    sizes: BTreeMap<Bond, usize>,
    /// The root that each relation put below another; none where it was known already.
    added: Vec<Option<Bond>>,
}

impl Relations {
    fn len(&self) -> usize {
        self.added.len()
    }

    /// Returns the bond that stands for all that this one is related to, and whether the two differ.
    fn root(&self, mut bond: Bond) -> (Bond, bool) {
        let mut differs = false;
        while let Some(&(parent, other)) = self.parents.get(&bond) {
            bond = parent;
            differs ^= other;
        }
        (bond, differs)
    }

    /// Adds a relation; false if it contradicts those that are there.
    fn add(&mut self, ([one, two], equal): Relation) -> bool {
        let (one, one_differs) = self.root(one);
        let (two, two_differs) = self.root(two);
        let differs = one_differs ^ two_differs ^ !equal;
        if one == two {
            self.added.push(None);
            return !differs;
        }
        let size = |bond: Bond| self.sizes.get(&bond).copied().unwrap_or(1);
        let size_one = size(one);
        let size_two = size(two);
        let (small, large) = if size_one < size_two { (one, two) } else { (two, one) };
        self.parents.insert(small, (large, differs));
        self.sizes.insert(large, size_one + size_two);
        self.added.push(Some(small));
        true
    }

    /// Takes back the relations after the first ones.
    fn shorten(&mut self, length: usize) {
        for small in self.added.drain(length..).rev().flatten() {
            if let Some((large, _)) = self.parents.remove(&small) {
                let size = self.sizes.get(&small).copied().unwrap_or(1);
                if let Some(sum) = self.sizes.get_mut(&large) {
                    *sum -= size;
                }
            }
        }
    }
}
