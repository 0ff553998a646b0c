//! Sets that are merged.

/// Numbers from 0 in disjoint sets, each alone at first.
pub(crate) struct Union(Vec<usize>);

impl Union {
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// The number that stands for the set of another one.
    pub(crate) fn root(&mut self, mut number: usize) -> usize {
        while self.0[number] != number {
            self.0[number] = self.0[self.0[number]];
            number = self.0[number];
        }
        number
    }

    /// Merges the sets of two numbers.
    pub(crate) fn merge(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a] = b;
    }
}
