//! Where `/` and `\` stand, so that they say what is known about double bonds and no more.

use std::collections::{BTreeMap, VecDeque};

use super::structure::Structure;
use super::tree::Tree;

/// Marks by the atoms of a bond, in the order in which they are written: `true` is `/`.
pub(super) type Marks = BTreeMap<(usize, usize), bool>;

/// That two marks are equal, or that they differ.
struct Relation {
    bonds: [(usize, usize); 2],
    equal: bool,
}

/// One mark at each end of each double bond of known geometry. Where an end has two substituents,
/// the marked bond is one that no double bond of unknown geometry shares, if there is one.
pub(super) fn marks(structure: &Structure, tree: &Tree, rank: &[usize]) -> Marks {
    let mut known = vec![false; structure.len()];
    structure.geometries.iter().flat_map(|found| found.ends).for_each(|end| known[end] = true);
    let unknown =
        |atom: usize| !known[atom] && structure.arcs[atom].iter().any(|arc| arc.label == 2);
    let markable = |end: usize, other: usize| {
        structure.arcs[end].iter().any(|arc| arc.node as usize == other && arc.label == 1)
    };
    let in_tree = |a: usize, b: usize| tree.parent[a] == b || tree.parent[b] == a;

    let mut ends: Vec<[(usize, usize); 2]> = Vec::new();
    for geometry in &structure.geometries {
        let [a, b] = geometry.ends;
        ends.push([(a, b), (b, a)].map(|(end, partner)| {
            let others = structure.others(end, partner).filter(|&other| markable(end, other));
            let best = others.min_by_key(|&other| (unknown(other), !in_tree(end, other), rank[other]));
            (end, best.unwrap_or(partner))
        }));
    }

    let written = |a: usize, b: usize| if tree.place[a] < tree.place[b] { (a, b) } else { (b, a) };
    let marked: Vec<_> = ends.iter().flatten().map(|&(end, other)| written(end, other)).collect();
    let mut relations: Vec<Relation> = Vec::new();
    // A mark reads the other way round from the end that is written second.
    let mut relate = |first: (usize, usize), second: (usize, usize), same_side: bool| {
        let [one, two] = [first, second].map(|(end, other)| written(end, other));
        let turned = (one.0 != first.0) ^ (two.0 != second.0);
        relations.push(Relation { bonds: [one, two], equal: same_side ^ turned });
    };
    for (geometry, ends) in structure.geometries.iter().zip(&ends) {
        let other = |at: usize| ends[at].1 != geometry.references[at];
        relate(ends[0], ends[1], geometry.together ^ other(0) ^ other(1));
        for &(end, chosen) in ends {
            let partner = if end == geometry.ends[0] { geometry.ends[1] } else { geometry.ends[0] };
            for sibling in structure.others(end, partner) {
                if sibling != chosen && marked.contains(&written(end, sibling)) {
                    relate((end, chosen), (end, sibling), false);
                }
            }
        }
    }

    let mut marks = Marks::new();
    let mut starts = marked;
    starts.sort_unstable_by_key(|&(a, b)| (tree.place[a], tree.place[b]));
    for start in starts {
        let mut queue = VecDeque::from([start]);
        marks.entry(start).or_insert(true);
        while let Some(bond) = queue.pop_front() {
            let here = marks.get(&bond).copied().unwrap_or(true);
            for relation in &relations {
                let [one, two] = relation.bonds;
                let other = match bond {
                    bond if bond == one => two,
                    bond if bond == two => one,
                    _ => continue,
                };
                marks.entry(other).or_insert_with(|| {
                    queue.push_back(other);
                    here ^ !relation.equal
                });
            }
        }
    }
    marks
}
