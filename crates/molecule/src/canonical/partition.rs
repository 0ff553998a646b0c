//! Ordered partitions of the atoms into cells, and their refinement.

use super::structure::Structure;
use crate::refinement::mix;

/// Atoms in order, grouped in cells of atoms that are not distinguished yet. The colour of a cell is
/// the place of its first atom.
#[derive(Clone)]
pub(super) struct Partition {
    /// Atoms by place.
    pub(super) order: Vec<u32>,
    /// Colour of each atom.
    pub(super) color: Vec<u32>,
    /// Number of atoms of the cell that starts at a place.
    length: Vec<u32>,
    cells: usize,
}

impl Partition {
    /// The coarsest partition in which neither keys, bonds nor configurations distinguish two atoms of a
    /// cell, and its trace, which isomorphic structures share.
    pub(super) fn of(structure: &Structure) -> (Self, u64) {
        let count = structure.len();
        let mut order: Vec<u32> = (0..).take(count).collect();
        order.sort_by_key(|&atom| structure.keys[atom as usize]);
        let mut partition = Self { color: vec![0; count], length: vec![0; count], cells: 0, order };
        let mut start = 0;
        for place in 0..count {
            let key = |place: usize| structure.keys[partition.order[place] as usize];
            if place == 0 || key(place) != key(place - 1) {
                start = place;
                partition.cells += 1;
            }
            partition.color[partition.order[place] as usize] = start as u32;
            partition.length[start] += 1;
        }
        let all = partition.order.clone();
        let trace = partition.refine(structure, all);
        (partition, trace)
    }

    /// Whether every atom has a cell of its own; then `color` is the place of each atom.
    pub(super) fn is_discrete(&self) -> bool {
        self.cells == self.order.len()
    }

    /// The atoms of the first cell among the smallest with several atoms; none when discrete.
    pub(super) fn target(&self) -> &[u32] {
        let mut best: Option<(usize, usize)> = None;
        let mut start = 0;
        while start < self.order.len() {
            let length = self.length[start] as usize;
            if length > 1 && best.is_none_or(|(_, smallest)| length < smallest) {
                best = Some((start, length));
            }
            start += length.max(1);
        }
        best.map_or(&[], |(start, length)| &self.order[start..start + length])
    }

    /// Gives an atom a cell of its own, before or behind the rest of its cell, and refines.
    pub(super) fn individualise(&mut self, structure: &Structure, atom: u32) -> u64 {
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

    /// Splits cells until nothing distinguishes two atoms of a cell. `changed` are the atoms whose
    /// colour is new.
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
