//! Fragments of a molecule: the connected parts that one or two cuts leave.

use std::ops::Range;

use crate::molecule::Molecule;

/// Some atoms of a molecule: bit i stands for atom i.
pub type AtomSet = u128;

/// A connected part of a molecule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoleculePart<'a> {
    /// Its atoms.
    pub atoms: AtomSet,
    /// The bonds between its atoms and the others, as indices into [`Molecule::bonds`]: none of a whole component, and four
    /// at most.
    pub broken: &'a [usize],
}

/// Breaks the bonds of a molecule.
///
/// A cut breaks one bond that is in no ring, or two bonds of a ring, which is any cycle of bonds. The parts are the connected
/// sets of atoms, of one component of the molecule, whose bonds to other atoms are broken by two cuts: the whole component
/// (no cut), both sides of each cut, and what lies between two cuts. Two cuts that break bonds of the same ring system can
/// part it although neither of them does: of naphthalene, three bonds leave benzene's ring with one atom more, or less.
///
/// # Algorithm
/// Label each bond outside a spanning tree with a bit, and each bond of the tree with the exclusive or of the labels of those
/// bonds whose cycles pass through it. Bonds are all of those between two sets of atoms if and only if the exclusive or of
/// their labels is zero. So bonds labelled zero are cuts, as are pairs of equal labels, triples of different labels and
/// quadruples of different labels that add up to zero. One side of a cut is the exclusive or of the atoms below its bonds in
/// the tree. Cuts of one and two bonds do not cross, so what is between two of them is a difference of their sides.
///
/// ```
/// use dsokr_molecule::{Fragmenter, Molecule};
///
/// let ethanol = Molecule::parse("CCO")?;
/// let mut parts = Vec::new();
/// Fragmenter::new(&ethanol).unwrap().each(&mut |part| parts.push((part.atoms, part.broken.len())));
/// parts.sort();
/// assert_eq!(parts, [(0b001, 1), (0b010, 2), (0b011, 1), (0b100, 1), (0b110, 1), (0b111, 0)]);
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Fragmenter {
    components: Vec<Component>,
}

/// What cuts break in a component of the molecule.
#[derive(Debug, Clone)]
struct Component {
    atoms: AtomSet,
    /// Bonds in no ring.
    bridges: Vec<LabelledBond>,
    /// Bonds in rings, by increasing label.
    ring_bonds: Vec<LabelledBond>,
    /// The ranges of ring bonds with the same label.
    classes: Vec<Range<usize>>,
}

/// A bond with its place in a spanning tree.
#[derive(Debug, Clone, Copy)]
struct LabelledBond {
    bond: usize,
    /// The bonds outside the tree whose cycles pass through it.
    label: u128,
    /// The atoms below it in the tree; none where it is not in the tree.
    below: AtomSet,
}

/// A cut of one bond, or of two with equal labels.
struct Cut {
    /// The atoms of its side without the root of the tree.
    side: AtomSet,
    /// Its bonds; of one bond, this bond twice.
    bonds: [usize; 2],
    /// How many bonds it has.
    count: usize,
    /// The class of its bonds, of those in rings.
    class: Option<usize>,
}

impl Cut {
    fn bonds(&self) -> &[usize] {
        &self.bonds[..self.count]
    }
}

impl Fragmenter {
    /// The most atoms other than hydrogen, and the most independent rings of a component, of a molecule that is broken.
    pub const LARGEST: usize = AtomSet::BITS as usize;

    /// Prepares the fragments of a molecule; none of one that is larger than [`LARGEST`](Self::LARGEST).
    pub fn new(molecule: &Molecule) -> Option<Self> {
        if molecule.atoms().len() > Self::LARGEST {
            return None;
        }
        let mut seen: AtomSet = 0;
        let mut components = Vec::new();
        for root in 0..molecule.atoms().len() {
            if seen & atom(root) == 0 {
                let component = Component::of(molecule, root)?;
                seen |= component.atoms;
                components.push(component);
            }
        }
        Some(Self { components })
    }

    /// Calls `visit` with each part once, those with fewer cuts first within a component.
    pub fn each(&self, visit: &mut impl FnMut(MoleculePart)) {
        for component in &self.components {
            component.each(visit);
        }
    }
}

impl Component {
    /// Labels the bonds of the component of an atom; none where it has too many rings.
    fn of(molecule: &Molecule, root: usize) -> Option<Self> {
        let tree = SpanningTree::new(molecule, root);
        let mut labels = vec![0u128; molecule.atoms().len()];
        let mut ring_bonds = Vec::new();
        for (number, &bond) in tree.others.iter().enumerate() {
            let label = 1u128.checked_shl(u32::try_from(number).ok()?)?;
            molecule.bonds()[bond].atoms.iter().for_each(|&end| labels[end] ^= label);
            ring_bonds.push(LabelledBond { bond, label, below: 0 });
        }
        let mut below = vec![0; molecule.atoms().len()];
        let mut bridges = Vec::new();
        // from the leaves on
        for &(child, step) in tree.visits.iter().rev() {
            below[child] |= atom(child);
            let Some((parent, bond)) = step else { continue };
            below[parent] |= below[child];
            labels[parent] ^= labels[child];
            let label = labels[child];
            let labelled = LabelledBond { bond, label, below: below[child] };
            if label == 0 {
                bridges.push(labelled);
            } else {
                ring_bonds.push(labelled);
            }
        }
        ring_bonds.sort_by_key(|labelled| (labelled.label, labelled.bond));
        let mut classes = Vec::new();
        let mut start = 0;
        for class in ring_bonds.chunk_by(|a, b| a.label == b.label) {
            classes.push(start..start + class.len());
            start += class.len();
        }
        Some(Self { atoms: below[root], bridges, ring_bonds, classes })
    }

    fn each(&self, visit: &mut impl FnMut(MoleculePart)) {
        visit(MoleculePart { atoms: self.atoms, broken: &[] });
        let cuts = self.cuts();
        for cut in &cuts {
            self.both_sides(cut.side, cut.bonds(), visit);
        }
        self.triples(visit);
        self.quadruples(visit);
        self.between(&cuts, visit);
    }

    /// Returns the cuts of one bond, and of two with equal labels.
    fn cuts(&self) -> Vec<Cut> {
        let bridge = |bridge: &LabelledBond| Cut {
            side: bridge.below,
            bonds: [bridge.bond; 2],
            count: 1,
            class: None,
        };
        let mut cuts: Vec<Cut> = self.bridges.iter().map(bridge).collect();
        for (class, range) in self.classes.iter().enumerate() {
            let bonds = &self.ring_bonds[range.clone()];
            for (at, second) in bonds.iter().enumerate() {
                cuts.extend(bonds[..at].iter().map(|first| Cut {
                    side: first.below ^ second.below,
                    bonds: [first.bond, second.bond],
                    count: 2,
                    class: Some(class),
                }));
            }
        }
        cuts
    }

    /// Visits what lies between two cuts. Two cuts of one class leave no part between them that is in one piece.
    fn between(&self, cuts: &[Cut], visit: &mut impl FnMut(MoleculePart)) {
        for (at, second) in cuts.iter().enumerate() {
            for first in &cuts[..at] {
                if first.class.is_some() && first.class == second.class {
                    continue;
                }
                let common = first.side & second.side;
                let atoms = if common == 0 {
                    self.atoms & !(first.side | second.side)
                } else {
                    first.side ^ second.side
                };
                let mut broken = [0; 4];
                broken[..first.count].copy_from_slice(first.bonds());
                broken[first.count..][..second.count].copy_from_slice(second.bonds());
                visit(MoleculePart { atoms, broken: &broken[..first.count + second.count] });
            }
        }
    }

    /// Visits both sides of each cut of three bonds.
    fn triples(&self, visit: &mut impl FnMut(MoleculePart)) {
        for (at, first) in self.classes.iter().enumerate() {
            for (offset, second) in self.classes[at + 1..].iter().enumerate() {
                let label = self.label(first) ^ self.label(second);
                let Some(third) = self.class_behind(at + 1 + offset, label) else { continue };
                for a in &self.ring_bonds[first.clone()] {
                    for b in &self.ring_bonds[second.clone()] {
                        for c in &self.ring_bonds[third.clone()] {
                            let side = a.below ^ b.below ^ c.below;
                            self.both_sides(side, &[a.bond, b.bond, c.bond], visit);
                        }
                    }
                }
            }
        }
    }

    /// Visits both sides of each cut of four bonds, none of which are a cut by themselves.
    fn quadruples(&self, visit: &mut impl FnMut(MoleculePart)) {
        for (at, first) in self.classes.iter().enumerate() {
            for (offset, second) in self.classes[at + 1..].iter().enumerate() {
                let second_at = at + 1 + offset;
                let pair = self.label(first) ^ self.label(second);
                for (offset, third) in self.classes[second_at + 1..].iter().enumerate() {
                    let label = pair ^ self.label(third);
                    let third_at = second_at + 1 + offset;
                    let Some(fourth) = self.class_behind(third_at, label) else { continue };
                    self.quadruples_of([first, second, third, fourth], visit);
                }
            }
        }
    }

    fn quadruples_of(&self, classes: [&Range<usize>; 4], visit: &mut impl FnMut(MoleculePart)) {
        let [first, second, third, fourth] = classes.map(|class| &self.ring_bonds[class.clone()]);
        for a in first {
            for b in second {
                for c in third {
                    for d in fourth {
                        let side = a.below ^ b.below ^ c.below ^ d.below;
                        self.both_sides(side, &[a.bond, b.bond, c.bond, d.bond], visit);
                    }
                }
            }
        }
    }

    fn label(&self, class: &Range<usize>) -> u128 {
        self.ring_bonds[class.start].label
    }

    /// Returns the class with a label, if it comes behind another one.
    fn class_behind(&self, other: usize, label: u128) -> Option<&Range<usize>> {
        let place = self.classes.binary_search_by_key(&label, |class| self.label(class)).ok()?;
        (place > other).then(|| &self.classes[place])
    }

    fn both_sides(&self, side: AtomSet, broken: &[usize], visit: &mut impl FnMut(MoleculePart)) {
        visit(MoleculePart { atoms: side, broken });
        visit(MoleculePart { atoms: self.atoms & !side, broken });
    }
}

/// A spanning tree of a component.
struct SpanningTree {
    /// Each atom, behind its parent, with the parent and the bond to it; none for the root.
    visits: Vec<(usize, Option<(usize, usize)>)>,
    /// The bonds of the component that are not in the tree.
    others: Vec<usize>,
}

impl SpanningTree {
    /// Visits all atoms that are connected with the root.
    fn new(molecule: &Molecule, root: usize) -> Self {
        let mut visits = vec![(root, None)];
        let mut seen = atom(root);
        let mut in_tree = vec![false; molecule.bonds().len()];
        let mut next = 0;
        while let Some(&(parent, _)) = visits.get(next) {
            for neighbor in molecule.neighbors(parent) {
                if seen & atom(neighbor.atom) == 0 {
                    seen |= atom(neighbor.atom);
                    in_tree[neighbor.bond] = true;
                    visits.push((neighbor.atom, Some((parent, neighbor.bond))));
                }
            }
            next += 1;
        }
        let is_other = |&bond: &usize| {
            let [end, _] = molecule.bonds()[bond].atoms;
            !in_tree[bond] && seen & atom(end) != 0
        };
        let others = (0..molecule.bonds().len()).filter(is_other).collect();
        Self { visits, others }
    }
}

/// Returns the set of one atom.
fn atom(index: usize) -> AtomSet {
    1 << index
}
