//! The canonical order of a structure: a search tree of individualisations, cut by automorphisms.
//!
//! After McKay and Piperno (2014), "Practical graph isomorphism, II". A leaf of the tree is an order
//! of the atoms; its certificate lists all bonds and configurations in that order. The canonical
//! order is that of the leaf with the smallest traces and, among those, the smallest certificate.
//! Two leaves with equal certificates show an automorphism, and what it maps onto something seen is
//! not searched again.

use std::cmp::Ordering;

use super::Structure;
use crate::molecule::Union;
use crate::refinement::mix;

struct Node {
    partition: Partition,
    candidates: Vec<u32>,
    next: usize,
    explored: Vec<u32>,
}

impl Node {
    /// In small cells, and wherever there are configurations, only the candidates of the smallest
    /// trace are kept: without this, every choice between two mirrored halves would double the
    /// leaves. In large cells of other structures all atoms are likely to be alike.
    fn new(structure: &Structure, partition: Partition) -> Self {
        const SMALL: usize = 16;
        let mut candidates = partition.target().to_vec();
        candidates.sort_unstable();
        let configured = !structure.centers.is_empty() || !structure.geometries.is_empty();
        if configured || candidates.len() <= SMALL {
            let trace = |&atom: &u32| partition.clone().individualise(structure, atom);
            let traces: Vec<u64> = candidates.iter().map(trace).collect();
            let smallest = traces.iter().min().copied();
            let mut traces = traces.into_iter();
            candidates.retain(|_| traces.next() == smallest);
        }
        Self { partition, candidates, next: 0, explored: Vec::new() }
    }

    /// The next atom to individualise that no known automorphism maps to an explored one.
    fn choose(&mut self, automorphisms: &[Vec<(u32, u32)>], path: &[u32]) -> Option<u32> {
        while let Some(&atom) = self.candidates.get(self.next) {
            self.next += 1;
            if self.explored.is_empty() || !self.reaches_explored(atom, automorphisms, path) {
                self.explored.push(atom);
                return Some(atom);
            }
        }
        None
    }

    /// Whether automorphisms that fix the path map the atom onto one that is explored.
    fn reaches_explored(&self, atom: u32, automorphisms: &[Vec<(u32, u32)>], path: &[u32]) -> bool {
        let mut sets = Union::new(self.partition.order.len());
        for automorphism in automorphisms {
            if !automorphism.iter().any(|(from, _)| path.contains(from)) {
                automorphism.iter().for_each(|&(from, to)| sets.merge(from as usize, to as usize));
            }
        }
        let own = sets.root(atom as usize);
        self.explored.iter().any(|&other| sets.root(other as usize) == own)
    }
}

struct Leaf {
    path: Vec<u32>,
    traces: Vec<u64>,
    certificate: Vec<u32>,
    order: Vec<u32>,
}

/// The place of each atom in the canonical order.
pub(super) fn canonical_places(structure: &Structure) -> Vec<usize> {
    let root = Partition::of(structure);
    let mut best: Option<Leaf> = None;
    let mut automorphisms: Vec<Vec<(u32, u32)>> = Vec::new();
    // The atoms that were individualised to reach the last node, and the traces of doing so.
    let (mut path, mut traces): (Vec<u32>, Vec<u64>) = (Vec::new(), Vec::new());
    if root.is_discrete() {
        return places(&root.order);
    }
    let mut stack = vec![Node::new(structure, root)];
    while let Some(node) = stack.last_mut() {
        let Some(atom) = node.choose(&automorphisms, &path) else {
            stack.pop();
            path.pop();
            traces.pop();
            continue;
        };
        let mut partition = node.partition.clone();
        let trace = partition.individualise(structure, atom);
        let depth = path.len();
        if let Some(leaf) = &best {
            match leaf.traces.get(depth).map(|known| trace.cmp(known)) {
                Some(Ordering::Less) => best = None,
                Some(Ordering::Equal) => {}
                _ => continue,
            }
        }
        if !partition.is_discrete() {
            path.push(atom);
            traces.push(trace);
            stack.push(Node::new(structure, partition));
            continue;
        }
        let certificate = certificate(structure, &partition);
        let smaller = |leaf: &Leaf| certificate.cmp(&leaf.certificate);
        let order = best.as_ref().map_or(Ordering::Less, smaller);
        match (order, &best) {
            (Ordering::Equal, Some(leaf)) => {
                let pairs = leaf.order.iter().copied().zip(partition.order.iter().copied());
                automorphisms.push(pairs.filter(|(from, to)| from != to).collect());
                // The subtree of this path is the image of one that is known: leave it.
                path.push(atom);
                let shared = leaf.path.iter().zip(&path).take_while(|(a, b)| a == b).count();
                stack.truncate(shared + 1);
                path.truncate(shared);
                traces.truncate(shared);
            }
            (Ordering::Less, _) => {
                let (path, traces) =
                    ([&path[..], &[atom]].concat(), [&traces[..], &[trace]].concat());
                best = Some(Leaf { path, traces, certificate, order: partition.order });
            }
            _ => {}
        }
    }
    best.map_or_else(Vec::new, |leaf| places(&leaf.order))
}

fn places(order: &[u32]) -> Vec<usize> {
    let mut places = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&atom, place)| places[atom as usize] = place);
    places
}

/// All bonds and configurations in the order of a discrete partition. The atoms themselves need no
/// entry: their keys decide the order of the first cells.
fn certificate(structure: &Structure, partition: &Partition) -> Vec<u32> {
    let place = &partition.color;
    let says = structure.configurations(|atom| place[atom] as usize);
    let mut certificate = Vec::new();
    let mut row = Vec::new();
    for &atom in &partition.order {
        let arcs = structure.arcs[atom as usize].iter();
        row.clear();
        row.extend(arcs.map(|arc| (place[arc.node as usize], arc.label)));
        row.sort_unstable();
        certificate.push(says[atom as usize]);
        certificate.push(row.len() as u32);
        certificate.extend(row.iter().flat_map(|&(node, label)| [node, label]));
    }
    certificate
}

/// Atoms in order, grouped in cells of atoms that are not distinguished yet. The colour of a cell is
/// the place of its first atom.
#[derive(Clone)]
struct Partition {
    /// Atoms by place.
    order: Vec<u32>,
    /// Colour of each atom.
    color: Vec<u32>,
    /// Number of atoms of the cell that starts at a place.
    length: Vec<u32>,
    cells: usize,
}

impl Partition {
    /// The coarsest partition in which neither keys, bonds nor configurations distinguish two atoms of a
    /// cell.
    fn of(structure: &Structure) -> Self {
        let count = structure.len();
        let mut order: Vec<u32> = (0..).take(count).collect();
        order.sort_by_key(|&atom| structure.keys[atom as usize]);
        let (mut color, mut length, mut cells, mut start) = (vec![0; count], vec![0; count], 0, 0);
        let key = |atom: u32| structure.keys[atom as usize];
        for cell in order.chunk_by(|&a, &b| key(a) == key(b)) {
            cell.iter().for_each(|&atom| color[atom as usize] = start as u32);
            length[start] = cell.len() as u32;
            start += cell.len();
            cells += 1;
        }
        let mut partition = Self { color, length, cells, order };
        partition.refine(structure, partition.order.clone());
        partition
    }

    /// Whether every atom has a cell of its own; then `color` is the place of each atom.
    fn is_discrete(&self) -> bool {
        self.cells == self.order.len()
    }

    /// The atoms of the first cell among the smallest with several atoms; none when discrete.
    fn target(&self) -> &[u32] {
        let cells = self.order.chunk_by(|&a, &b| self.color[a as usize] == self.color[b as usize]);
        cells.filter(|cell| cell.len() > 1).min_by_key(|cell| cell.len()).unwrap_or_default()
    }

    /// Gives an atom a cell of its own, before or behind the rest of its cell, and refines.
    fn individualise(&mut self, structure: &Structure, atom: u32) -> u64 {
        let start = self.color[atom as usize] as usize;
        let end = start + self.length[start] as usize;
        let place = self.order[start..end].iter().position(|&other| other == atom).unwrap_or(0);
        self.order.swap(start + place, end - 1);
        self.length[start] -= 1;
        self.length[end - 1] = 1;
        self.color[atom as usize] = (end - 1) as u32;
        self.cells += 1;
        self.refine(structure, vec![atom])
    }

    /// Splits cells until nothing distinguishes two atoms of a cell, and returns a trace, which isomorphic
    /// structures share. `changed` are the atoms whose colour is new.
    fn refine(&mut self, structure: &Structure, mut changed: Vec<u32>) -> u64 {
        let mut trace = 0;
        let mut signatures: Vec<Vec<(u32, u32)>> = vec![Vec::new(); structure.len()];
        loop {
            while !changed.is_empty() {
                let mut touched = Vec::new();
                for &atom in &changed {
                    let color = self.color[atom as usize];
                    for arc in &structure.arcs[atom as usize] {
                        if self.length[self.color[arc.node as usize] as usize] > 1 {
                            let signature = &mut signatures[arc.node as usize];
                            if signature.is_empty() {
                                touched.push(arc.node);
                            }
                            signature.push((arc.label, color));
                        }
                    }
                }
                for &atom in &touched {
                    signatures[atom as usize].sort_unstable();
                }
                let signature = |atom: u32| &signatures[atom as usize];
                touched.sort_unstable_by(|&a, &b| {
                    let colors = self.color[a as usize].cmp(&self.color[b as usize]);
                    colors.then_with(|| signature(a).cmp(signature(b)))
                });
                changed = self.split(
                    &touched,
                    |a, b| signature(a) == signature(b),
                    |atom| {
                        signature(atom).iter().fold(0, |hash, &(label, color)| {
                            mix(mix(hash, u64::from(label)), u64::from(color))
                        })
                    },
                    &mut trace,
                );
                for atom in touched {
                    signatures[atom as usize].clear();
                }
            }
            changed = self.split_by_configuration(structure, &mut trace);
            if changed.is_empty() {
                return mix(trace, self.cells as u64);
            }
        }
    }

    fn split_by_configuration(&mut self, structure: &Structure, trace: &mut u64) -> Vec<u32> {
        if structure.centers.is_empty() && structure.geometries.is_empty() {
            return Vec::new();
        }
        let colors = &self.color;
        let says = structure.configurations(|atom| colors[atom] as usize);
        let mut known: Vec<u32> =
            self.order.iter().copied().filter(|&a| says[a as usize] != 0).collect();
        known.sort_unstable_by_key(|&atom| (self.color[atom as usize], says[atom as usize]));
        let same = |a: u32, b: u32| says[a as usize] == says[b as usize];
        self.split(&known, same, |atom| u64::from(says[atom as usize]), trace)
    }

    /// Splits cells: `touched` are atoms sorted by colour and by what distinguishes them; those of a
    /// cell that are not among them stay in front. Returns the atoms with a new colour.
    fn split(
        &mut self,
        touched: &[u32],
        same: impl Fn(u32, u32) -> bool,
        hash: impl Fn(u32) -> u64,
        trace: &mut u64,
    ) -> Vec<u32> {
        let mut changed = Vec::new();
        let colors: Vec<u32> = touched.iter().map(|&atom| self.color[atom as usize]).collect();
        let mut from = 0;
        while from < touched.len() {
            let color = colors[from];
            let to = from + colors[from..].iter().take_while(|&&other| other == color).count();
            let start = color as usize;
            let length = self.length[start] as usize;
            let group = &touched[from..to];
            from = to;
            *trace = mix(mix(*trace, u64::from(color)), (length - group.len()) as u64);
            // Untouched atoms first, then the fragments in their order.
            let front = start + length - group.len();
            if front > start {
                let mut inside = group.to_vec();
                inside.sort_unstable();
                let cell = self.order[start..start + length].to_vec();
                let untouched = cell.into_iter().filter(|atom| inside.binary_search(atom).is_err());
                self.order[start..].iter_mut().zip(untouched).for_each(|(slot, atom)| *slot = atom);
            }
            self.order[front..start + length].copy_from_slice(group);
            let mut head = front;
            for (number, &atom) in group.iter().enumerate() {
                let place = front + number;
                if number == 0 || !same(group[number - 1], atom) {
                    head = place;
                    *trace = mix(mix(*trace, place as u64), hash(atom));
                    if head != start {
                        self.cells += 1;
                        self.length[head] = 0;
                    }
                }
                if head != start {
                    self.color[atom as usize] = head as u32;
                    self.length[start] -= 1;
                    self.length[head] += 1;
                    changed.push(atom);
                }
            }
        }
        changed
    }
}
