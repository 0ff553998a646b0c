//! The spanning tree along which a SMILES is written.

use super::Structure;

/// A depth-first tree of a structure; the bonds outside it close rings.
pub(super) struct Tree {
    /// Atoms in the order in which they are written.
    pub(super) order: Vec<usize>,
    /// Place of each atom in `order`.
    pub(super) place: Vec<usize>,
    /// The atom before each atom. The first atom is its own parent.
    pub(super) parent: Vec<usize>,
    /// Branches of each atom, in the order in which they are written; the last has no parentheses.
    pub(super) children: Vec<Vec<usize>>,
    /// Ring bonds that end at an atom: the other ends, which come earlier.
    pub(super) closing: Vec<Vec<usize>>,
    /// Ring bonds that begin at an atom: the other ends, which come later.
    pub(super) opening: Vec<Vec<usize>>,
}

impl Tree {
    /// Creates the tree that begins at the atom of lowest rank and goes to neighbours of low rank first.
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

        let mut closing = vec![Vec::new(); count];
        let mut opening = vec![Vec::new(); count];
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

    /// Returns the atoms next to `atom` in the order in which the text names them.
    pub(super) fn named(&self, atom: usize) -> impl Iterator<Item = usize> + '_ {
        let before = Some(self.parent[atom]).filter(|&parent| parent != atom);
        let rings = self.closing[atom].iter().chain(&self.opening[atom]);
        before.into_iter().chain(rings.chain(&self.children[atom]).copied())
    }
}
