//! The canonical order of a structure: a search tree of individualisations, cut by automorphisms.
//!
//! The algorithm follows McKay and Piperno (2014), "Practical graph isomorphism, II". A leaf of the tree is an order of
//! the atoms. Its certificate lists all bonds and configurations in that order. The canonical order belongs to the leaf
//! with the smallest traces and, among these, the smallest certificate. Two leaves with equal certificates show an
//! automorphism, and a subtree that an automorphism maps onto an explored one is not searched again.
//!
//! Structures whose parts are alike by all that is close to them and differ far off, such as large projective planes,
//! have trees that no machine searches, so there is a limit.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::Structure;
use crate::molecule::Union;
use crate::refinement::mix;

struct Node {
    partition: Partition,
    candidates: std::vec::IntoIter<usize>,
    explored: Vec<usize>,
}

/// The atoms that an automorphism moves, each with the atom that it becomes.
type Automorphism = Vec<(usize, usize)>;

impl Node {
    /// Creates a node of the search tree. In small cells, and wherever there are configurations, only the candidates of
    /// the smallest trace are kept: otherwise every choice between two mirrored halves would double the leaves. In
    /// large cells of other structures all atoms are likely to be alike.
    fn new(structure: &Structure, partition: Partition) -> Self {
        const SMALL: usize = 16;
        let mut candidates = partition.target().to_vec();
        candidates.sort_unstable();
        let configured = !structure.centers.is_empty() || !structure.geometries.is_empty();
        if configured || candidates.len() <= SMALL {
            let trace = |&atom: &usize| partition.clone().individualise(structure, atom);
            let traces: Vec<u64> = candidates.iter().map(trace).collect();
            let smallest = traces.iter().min().copied();
            let mut traces = traces.into_iter();
            candidates.retain(|_| traces.next() == smallest);
        }
        Self { partition, candidates: candidates.into_iter(), explored: Vec::new() }
    }

    /// Returns the next atom to individualise that no known automorphism maps to an explored one.
    fn choose(&mut self, automorphisms: &[Automorphism], path: &Path) -> Option<usize> {
        let Self { partition, candidates, explored } = self;
        let is_explored = |atom: usize| {
            !explored.is_empty() && {
                let mut sets = Union::new(partition.order.len());
                let on_path = |&(from, _): &_| path.iter().any(|&(atom, _)| atom == from);
                let fixes = |moved: &&Automorphism| !moved.iter().any(on_path);
                let moves = automorphisms.iter().filter(fixes).flatten();
                moves.for_each(|&(from, to)| sets.merge(from, to));
                let root = sets.root(atom);
                explored.iter().any(|&other| sets.root(other) == root)
            }
        };
        let atom = candidates.find(|&atom| !is_explored(atom))?;
        explored.push(atom);
        Some(atom)
    }
}

/// The atoms that were individualised to reach a node, and the traces of doing so.
type Path = Vec<(usize, u64)>;

struct Leaf {
    path: Path,
    certificate: Vec<u64>,
    order: Vec<usize>,
}

/// The atoms and bonds that are looked at in a search, in all refinements together: about a second.
const WORK: usize = 1 << 26;

/// The most leaves that are remembered.
const LEAVES: usize = 4_096;

/// An order of the atoms.
pub(super) struct Order {
    /// The place of each atom.
    pub(super) places: Vec<usize>,
    /// Whether it is the canonical one. Else the search was given up, and it depends on how the atoms are numbered.
    pub(super) is_canonical: bool,
}

/// Returns the canonical order of the atoms.
pub(super) fn canonical_order(structure: &Structure) -> Order {
    let root = Partition::from_structure(structure);
    if root.is_discrete() {
        return Order { places: places(&root.order), is_canonical: true };
    }
    let mut search = Search::new(structure, root);
    let mut is_canonical = true;
    while let Some(node) = search.stack.last_mut() {
        if search.work > WORK && search.best.is_some() {
            is_canonical = false;
            break;
        }
        if let Some(atom) = node.choose(&search.automorphisms, &search.path) {
            search.descend(atom);
        } else {
            search.stack.pop();
            search.path.pop();
        }
    }
    let places = search.best.map_or_else(Vec::new, |leaf| places(&leaf.order));
    Order { places, is_canonical }
}

/// A search of the tree, depth first.
struct Search<'a> {
    structure: &'a Structure,
    stack: Vec<Node>,
    path: Path,
    best: Option<Leaf>,
    /// Paths and orders of leaves by hashes of their certificates: also such as are not the best.
    leaves: HashMap<u64, (Path, Vec<usize>)>,
    automorphisms: Vec<Automorphism>,
    work: usize,
    /// The work of one refinement.
    size: usize,
}

impl<'a> Search<'a> {
    fn new(structure: &'a Structure, root: Partition) -> Self {
        let size = structure.arcs.iter().map(|arcs| 1 + arcs.len()).sum();
        let stack = vec![Node::new(structure, root)];
        Self {
            structure,
            stack,
            path: Path::new(),
            best: None,
            leaves: HashMap::new(),
            automorphisms: Vec::new(),
            work: 0,
            size,
        }
    }

    /// Individualises an atom of the last node.
    fn descend(&mut self, atom: usize) {
        let Some(node) = self.stack.last() else { return };
        let mut partition = node.partition.clone();
        let step = (atom, partition.individualise(self.structure, atom));
        self.work += self.size;
        if let Some(leaf) = &self.best {
            match leaf.path.get(self.path.len()).map(|best_step| step.1.cmp(&best_step.1)) {
                Some(Ordering::Less) => self.best = None,
                Some(Ordering::Equal) => {}
                Some(Ordering::Greater) | None => return,
            }
        }
        if partition.is_discrete() {
            self.arrive(step, partition);
            return;
        }
        let node = Node::new(self.structure, partition);
        self.work += self.size * node.candidates.len();
        self.path.push(step);
        self.stack.push(node);
    }

    /// Compares a leaf with those that are known.
    fn arrive(&mut self, step: (usize, u64), partition: Partition) {
        let certificate = certificate(self.structure, &partition.order, &partition.color);
        self.work += self.size;
        let hash = certificate.iter().copied().fold(0, mix);
        self.path.push(step);
        if let Some((path, order)) = self.leaves.get(&hash)
            && certificate == certificate_of(self.structure, order)
        {
            let pairs = order.iter().copied().zip(partition.order);
            self.automorphisms.push(pairs.filter(|(from, to)| from != to).collect());
            // the subtree of this path is the image of one that is known: leave it
            let shared = path.iter().zip(&self.path).take_while(|(a, b)| a == b).count();
            self.stack.truncate(shared + 1);
            self.path.truncate(shared);
            return;
        }
        if self.leaves.len() < LEAVES {
            self.leaves.insert(hash, (self.path.clone(), partition.order.clone()));
        }
        if self.best.as_ref().is_none_or(|best| certificate < best.certificate) {
            let path = self.path.clone();
            self.best = Some(Leaf { path, certificate, order: partition.order });
        }
        self.path.pop();
    }
}

/// Returns the place of each atom in an order; also the order of places.
fn places(order: &[usize]) -> Vec<usize> {
    let mut places = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&atom, place)| places[atom] = place);
    places
}

/// Returns numbers of classes of atoms, equal where neither keys, bonds nor configurations distinguish two.
pub(super) fn classes(structure: &Structure) -> Vec<usize> {
    Partition::from_structure(structure).color
}

/// Returns all bonds and configurations in the canonical order: equal for structures of the same atoms that are
/// isomorphic.
pub(super) fn canonical_form(structure: &Structure) -> Vec<u64> {
    certificate_of(structure, &places(&canonical_order(structure).places))
}

fn certificate_of(structure: &Structure, order: &[usize]) -> Vec<u64> {
    certificate(structure, order, &places(order))
}

/// Returns all bonds and configurations in an order of the atoms, which have these places in it. The atoms themselves
/// need no entry: their keys decide the order of the first cells.
fn certificate(structure: &Structure, order: &[usize], place: &[usize]) -> Vec<u64> {
    let says = structure.configurations(|atom| place[atom]);
    let mut certificate = Vec::new();
    for &atom in order {
        let arcs = structure.arcs[atom].iter();
        let mut row: Vec<_> = arcs.map(|arc| (place[arc.node] as u64, arc.label)).collect();
        row.sort_unstable();
        certificate.extend([says[atom], row.len() as u64]);
        certificate.extend(row.into_iter().flat_map(|(node, label)| [node, label]));
    }
    certificate
}

/// Atoms in order, grouped in cells of atoms that are not distinguished yet. The colour of a cell is
/// the place of its first atom.
#[derive(Clone)]
struct Partition {
    /// Atoms by place.
    order: Vec<usize>,
    /// Colour of each atom.
    color: Vec<usize>,
    /// Number of atoms of the cell that starts at a place.
    length: Vec<usize>,
    cells: usize,
}

impl Partition {
    /// Creates the coarsest partition in which neither keys, bonds nor configurations distinguish two atoms of a
    /// cell.
    fn from_structure(structure: &Structure) -> Self {
        let count = structure.len();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&atom| structure.keys[atom]);
        let mut color = vec![0; count];
        let mut length = vec![0; count];
        let mut cells = 0;
        let mut start = 0;
        let key = |atom: usize| structure.keys[atom];
        for cell in order.chunk_by(|&a, &b| key(a) == key(b)) {
            cell.iter().for_each(|&atom| color[atom] = start);
            length[start] = cell.len();
            start += cell.len();
            cells += 1;
        }
        let mut partition = Self { color, length, cells, order };
        partition.refine(structure, partition.order.clone());
        partition
    }

    /// Returns whether every atom has a cell of its own; then `color` is the place of each atom.
    fn is_discrete(&self) -> bool {
        self.cells == self.order.len()
    }

    /// Returns the atoms of the first cell among the smallest with several atoms; none when discrete.
    fn target(&self) -> &[usize] {
        let cells = self.order.chunk_by(|&a, &b| self.color[a] == self.color[b]);
        cells.filter(|cell| cell.len() > 1).min_by_key(|cell| cell.len()).unwrap_or_default()
    }

    /// Gives an atom a cell of its own, before or behind the rest of its cell, and refines.
    fn individualise(&mut self, structure: &Structure, atom: usize) -> u64 {
        let start = self.color[atom];
        let end = start + self.length[start];
        let place = self.order[start..end].iter().position(|&other| other == atom).unwrap_or(0);
        self.order.swap(start + place, end - 1);
        self.length[start] -= 1;
        self.length[end - 1] = 1;
        self.color[atom] = end - 1;
        self.cells += 1;
        self.refine(structure, vec![atom])
    }

    /// Splits cells until nothing distinguishes two atoms of a cell, and returns a trace, which isomorphic
    /// structures share. `changed` are the atoms whose colour is new.
    fn refine(&mut self, structure: &Structure, mut changed: Vec<usize>) -> u64 {
        let mut trace = 0;
        let mut signatures: Vec<Vec<(u64, usize)>> = vec![Vec::new(); structure.len()];
        loop {
            while !changed.is_empty() {
                let mut touched = Vec::new();
                for &atom in &changed {
                    let color = self.color[atom];
                    for arc in &structure.arcs[atom] {
                        if self.length[self.color[arc.node]] > 1 {
                            let signature = &mut signatures[arc.node];
                            if signature.is_empty() {
                                touched.push(arc.node);
                            }
                            signature.push((arc.label, color));
                        }
                    }
                }
                for &atom in &touched {
                    signatures[atom].sort_unstable();
                }
                let key = |atom: usize| (self.color[atom], &signatures[atom]);
                touched.sort_unstable_by(|&a, &b| key(a).cmp(&key(b)));
                let same = |a: usize, b: usize| signatures[a] == signatures[b];
                let word = |hash, &(label, color): &_| mix(mix(hash, label), color as u64);
                let hash = |atom: usize| signatures[atom].iter().fold(0, word);
                changed = self.split(&touched, same, hash, &mut trace);
                for atom in touched {
                    signatures[atom].clear();
                }
            }
            changed = self.split_by_configuration(structure, &mut trace);
            if changed.is_empty() {
                return mix(trace, self.cells as u64);
            }
        }
    }

    fn split_by_configuration(&mut self, structure: &Structure, trace: &mut u64) -> Vec<usize> {
        if structure.centers.is_empty() && structure.geometries.is_empty() {
            return Vec::new();
        }
        let colors = &self.color;
        let says = structure.configurations(|atom| colors[atom]);
        let mut configured: Vec<usize> =
            self.order.iter().copied().filter(|&a| says[a] != 0).collect();
        configured.sort_unstable_by_key(|&atom| (self.color[atom], says[atom]));
        let same = |a: usize, b: usize| says[a] == says[b];
        self.split(&configured, same, |atom| says[atom], trace)
    }

    /// Splits cells: `touched` are atoms sorted by colour and by what distinguishes them; those of a
    /// cell that are not among them stay in front. Returns the atoms with a new colour.
    fn split(
        &mut self,
        touched: &[usize],
        same: impl Fn(usize, usize) -> bool,
        hash: impl Fn(usize) -> u64,
        trace: &mut u64,
    ) -> Vec<usize> {
        let mut changed = Vec::new();
        let color = |atom: &usize| self.color[*atom];
        let groups: Vec<&[usize]> = touched.chunk_by(|a, b| color(a) == color(b)).collect();
        for group in groups {
            let start = self.color[group[0]];
            let length = self.length[start];
            *trace = mix(mix(*trace, start as u64), (length - group.len()) as u64);
            // Untouched atoms first, then the fragments in their order.
            let front = start + length - group.len();
            if front > start {
                let mut inside = group.to_vec();
                inside.sort_unstable();
                self.order[start..start + length]
                    .sort_by_key(|atom| inside.binary_search(atom).is_ok());
            }
            self.order[front..start + length].copy_from_slice(group);
            let mut head = front;
            for fragment in group.chunk_by(|&a, &b| same(a, b)) {
                *trace = mix(mix(*trace, head as u64), hash(fragment[0]));
                if head != start {
                    self.cells += 1;
                    self.length[start] -= fragment.len();
                    self.length[head] = fragment.len();
                    fragment.iter().for_each(|&atom| self.color[atom] = head);
                    changed.extend(fragment);
                }
                head += fragment.len();
            }
        }
        changed
    }
}
