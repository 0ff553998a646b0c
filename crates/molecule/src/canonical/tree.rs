//! The spanning tree along which a SMILES is written, and the places of `/` and `\`, which describe the known
//! geometries of double bonds and no others.

use std::collections::BTreeMap;

use super::Structure;

/// A depth-first tree of a structure; the bonds outside it close rings.
pub(super) struct Tree {
    /// Atoms in the order in which they are written.
    pub(super) order: Vec<usize>,
    /// Place of each atom in `order`.
    pub(super) place: Vec<usize>,
    /// The atom before each atom; that of the first is itself.
    pub(super) parent: Vec<usize>,
    /// Branches of each atom, in the order in which they are written; the last has no parentheses.
    pub(super) children: Vec<Vec<usize>>,
    /// Ring bonds that end at an atom: the other ends, which come earlier.
    pub(super) closing: Vec<Vec<usize>>,
    /// Ring bonds that begin at an atom: the other ends, which come later.
    pub(super) opening: Vec<Vec<usize>>,
}

impl Tree {
    /// The tree that begins at the atom of lowest rank and goes to neighbours of low rank first.
    /// The largest branch of an atom is written last, so parentheses are nested no deeper than
    /// the logarithm of the number of atoms.
    pub(super) fn new(structure: &Structure, rank: &[usize]) -> Self {
        let count = structure.len();
        let mut parent = vec![usize::MAX; count];
        let mut children = vec![Vec::new(); count];
        let mut preorder = Vec::with_capacity(count);
        let by_rank = |atom: usize| {
            let mut nodes: Vec<usize> = structure.neighbors(atom).collect();
            nodes.sort_unstable_by_key(|&node| rank[node]);
            nodes
        };
        let sorted: Vec<Vec<usize>> = (0..count).map(by_rank).collect();
        let root = (0..count).min_by_key(|&atom| rank[atom]).unwrap_or(0);
        parent[root] = root;
        preorder.push(root);
        let mut stack = vec![(root, sorted[root].iter())];
        while let Some((atom, nodes)) = stack.last_mut() {
            let Some(&node) = nodes.next() else {
                stack.pop();
                continue;
            };
            if parent[node] == usize::MAX {
                parent[node] = *atom;
                children[*atom].push(node);
                preorder.push(node);
                stack.push((node, sorted[node].iter()));
            }
        }

        let mut size = vec![1; count];
        for &atom in preorder.iter().skip(1).rev() {
            size[parent[atom]] += size[atom];
        }
        for branches in &mut children {
            branches.sort_by_key(|&child| (size[child], rank[child]));
        }
        let mut order = Vec::with_capacity(count);
        let mut stack = vec![root];
        while let Some(atom) = stack.pop() {
            order.push(atom);
            stack.extend(children[atom].iter().rev());
        }
        let mut place = vec![0; count];
        order.iter().zip(0..).for_each(|(&atom, at)| place[atom] = at);

        let (mut closing, mut opening) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for &atom in &order {
            for &node in &sorted[atom] {
                if parent[node] == atom && node != root || parent[atom] == node && atom != root {
                    continue;
                }
                let list = if place[node] < place[atom] { &mut closing } else { &mut opening };
                list[atom].push(node);
            }
            closing[atom].sort_unstable_by_key(|&node| place[node]);
            opening[atom].sort_unstable_by_key(|&node| place[node]);
        }
        Self { order, place, parent, children, closing, opening }
    }

    /// The atoms next to `atom` in the order in which the text names them.
    pub(super) fn named(&self, atom: usize) -> impl Iterator<Item = usize> + '_ {
        let before = Some(self.parent[atom]).filter(|&parent| parent != atom);
        let rings = self.closing[atom].iter().chain(&self.opening[atom]);
        before.into_iter().chain(rings.chain(&self.children[atom]).copied())
    }
}

/// Marks by the atoms of a bond, in the order in which they are written: `true` is `/`.
pub(super) type Marks = BTreeMap<(usize, usize), bool>;

/// Two marks, and whether they are equal or differ.
type Relation = ([(usize, usize); 2], bool);

/// How many choices of marked bonds are tried.
const ATTEMPTS: usize = 4_096;

/// One mark at each end of each double bond of known geometry.
///
/// Where an end has two substituents either bond can be marked, and in a ring of conjugated double
/// bonds not every choice is consistent, or silent about double bonds of unknown geometry. A text
/// that gave these geometries shows that some choice is; the first found is taken.
pub(super) fn marks(structure: &Structure, tree: &Tree, rank: &[usize]) -> Marks {
    let mut known = vec![false; structure.len()];
    let ends = structure.geometries.iter().flat_map(|geometry| geometry.ends);
    ends.for_each(|end| known[end] = true);
    let unknown = |atom: usize| !known[atom] && structure.arcs[atom].iter().any(|a| a.label == 2);
    let markable = |end: usize, other: usize| {
        structure.arcs[end].iter().any(|arc| arc.node == other && arc.label == 1)
    };
    let in_tree = |a: usize, b: usize| tree.parent[a] == b || tree.parent[b] == a;

    let mut options: Vec<(usize, Vec<usize>)> = Vec::new();
    for geometry in &structure.geometries {
        let [a, b] = geometry.ends;
        for (end, partner) in [(a, b), (b, a)] {
            let others = structure.others(end, partner).filter(|&other| markable(end, other));
            let mut others: Vec<usize> = others.collect();
            others.sort_by_key(|&other| (unknown(other), !in_tree(end, other), rank[other]));
            options.push((end, others));
        }
    }
    let free: Vec<usize> = (0..options.len()).filter(|&end| options[end].1.len() > 1).collect();
    let attempts = 1 << free.len().min(ATTEMPTS.ilog2() as usize);
    let attempt = |number: usize| {
        let ends = options.iter().enumerate().map(|(at, (end, others))| {
            let bit = free.iter().position(|&other| other == at);
            let second =
                bit.is_some_and(|bit| bit < usize::BITS as usize && number >> bit & 1 == 1);
            Some((*end, *others.get(usize::from(second))?))
        });
        solve(structure, tree, &ends.collect::<Option<Vec<_>>>()?)
    };
    (0..attempts).find_map(attempt).unwrap_or_default()
}

/// Marks on the given bonds, as (end of a double bond, substituent), two for each geometry; `None`
/// when they contradict one another or say something about other double bonds.
fn solve(structure: &Structure, tree: &Tree, ends: &[(usize, usize)]) -> Option<Marks> {
    let written = |a: usize, b: usize| if tree.place[a] < tree.place[b] { (a, b) } else { (b, a) };
    let mut marked: Vec<_> = ends.iter().map(|&(end, other)| written(end, other)).collect();
    let mut relations: Vec<Relation> = Vec::new();
    // A mark reads the other way round from the end that is written second.
    let mut relate = |first: (usize, usize), second: (usize, usize), same_side: bool| {
        let [one, two] = [first, second].map(|(end, other)| written(end, other));
        let turned = (one.0 != first.0) ^ (two.0 != second.0);
        relations.push(([one, two], same_side ^ turned));
    };
    for (geometry, ends) in structure.geometries.iter().zip(ends.chunks_exact(2)) {
        let other = |at: usize| ends[at].1 != geometry.references[at];
        relate(ends[0], ends[1], geometry.together ^ other(0) ^ other(1));
        for (at, &(end, chosen)) in ends.iter().enumerate() {
            for sibling in structure.others(end, geometry.ends[1 - at]) {
                if sibling != chosen && marked.contains(&written(end, sibling)) {
                    relate((end, chosen), (end, sibling), false);
                }
            }
        }
    }

    let mut marks = Marks::new();
    marked.sort_unstable_by_key(|&(a, b)| (tree.place[a], tree.place[b]));
    for start in marked {
        marks.entry(start).or_insert(true);
        let mut spreads = true;
        while std::mem::take(&mut spreads) {
            for &([one, two], equal) in &relations {
                let (known, other) = match (marks.get(&one), marks.get(&two)) {
                    (Some(&known), None) => (known, two),
                    (None, Some(&known)) => (known, one),
                    _ => continue,
                };
                marks.insert(other, known ^ !equal);
                spreads = true;
            }
        }
    }
    let holds = |&(bonds, equal): &Relation| {
        let [one, two] = bonds.map(|bond| marks.get(&bond));
        (one == two) == equal
    };
    let says = |end: usize, partner: usize| {
        let mut others = structure.others(end, partner);
        others.any(|other| marks.contains_key(&written(end, other)))
    };
    let silent = (0..structure.len()).all(|atom| {
        let double = structure.arcs[atom].iter().filter(|arc| arc.label == 2);
        let mut partners = double.map(|arc| arc.node);
        partners.all(|partner| !(says(atom, partner) && says(partner, atom)))
    });
    (relations.iter().all(holds) && silent).then_some(marks)
}
