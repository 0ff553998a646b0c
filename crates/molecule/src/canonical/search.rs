//! The canonical order of a structure: a search tree of individualisations, cut by automorphisms.
//!
//! After McKay and Piperno (2014), "Practical graph isomorphism, II". A leaf of the tree is an order
//! of the atoms; its certificate lists all bonds and configurations in that order. The canonical
//! order is that of the leaf with the smallest traces and, among those, the smallest certificate.
//! Two leaves with equal certificates show an automorphism, and what it maps onto something seen is
//! not searched again.

use std::cmp::Ordering;

use super::partition::Partition;
use super::structure::Structure;
use crate::union::Union;

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
}

struct Leaf {
    path: Vec<u32>,
    traces: Vec<u64>,
    certificate: Vec<u32>,
    order: Vec<u32>,
}

/// The place of each atom in the canonical order.
pub(super) fn canonical_places(structure: &Structure) -> Vec<usize> {
    let (root, _) = Partition::of(structure);
    let mut best: Option<Leaf> = None;
    let mut automorphisms: Vec<Vec<(u32, u32)>> = Vec::new();
    // The atoms that were individualised to reach the last node, and the traces of doing so.
    let mut path: Vec<u32> = Vec::new();
    let mut traces: Vec<u64> = Vec::new();
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
        let order = match &best {
            Some(leaf) => certificate.cmp(&leaf.certificate),
            None => Ordering::Less,
        };
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
                let extend = |list: &[u32]| list.iter().copied().chain([atom]).collect();
                best = Some(Leaf {
                    path: extend(&path),
                    traces: traces.iter().copied().chain([trace]).collect(),
                    certificate,
                    order: partition.order,
                });
            }
            _ => {}
        }
    }
    best.map_or_else(Vec::new, |leaf| places(&leaf.order))
}

impl Node {
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
