//! The linear sum assignment problem on whole numbers, by the Hungarian method with shortest
//! augmenting paths (Jonker and Volgenant 1987).

/// The column of every row in the heaviest assignment of n rows to n columns, the lexicographically
/// first of those that tie; `weights` is n × n, row-major.
pub(super) fn first_best(n: usize, weights: &[i64]) -> Vec<u32> {
    let mut prices = Prices::new(n, weights);
    (0..n).for_each(|row| prices.augment(row));
    prices.make_first();
    prices.column_of.into_iter().map(|column| column as u32).collect()
}

const NONE: usize = usize::MAX;

/// `weight(r, c) ≤ row[r] + column[c]`, with equality (a tight pair) where r goes to c. So an
/// assignment of tight pairs is heaviest, and every heaviest one is of tight pairs.
struct Prices<'a> {
    n: usize,
    weights: &'a [i64],
    row: Vec<i64>,
    column: Vec<i64>,
    column_of: Vec<usize>,
    row_of: Vec<usize>,
}

impl<'a> Prices<'a> {
    fn new(n: usize, weights: &'a [i64]) -> Self {
        let heaviest = |row: &[i64]| row.iter().copied().max().unwrap_or(0);
        Self {
            n,
            weights,
            row: weights.chunks_exact(n).map(heaviest).collect(),
            column: vec![0; n],
            column_of: vec![NONE; n],
            row_of: vec![NONE; n],
        }
    }

    fn slack(&self, row: usize, column: usize) -> i64 {
        self.row[row] + self.column[column] - self.weights[row * self.n + column]
    }

    /// Gives a row a column, along a shortest path that moves other rows on.
    fn augment(&mut self, source: usize) {
        let mut distance: Vec<i64> = (0..self.n).map(|column| self.slack(source, column)).collect();
        let mut before = vec![source; self.n];
        let mut done = vec![false; self.n];
        let (mut end, length) = loop {
            let open = (0..self.n).filter(|&column| !done[column]);
            let Some(column) = open.min_by_key(|&column| distance[column]) else { return };
            let (row, length) = (self.row_of[column], distance[column]);
            if row == NONE {
                break (column, length);
            }
            done[column] = true;
            for next in (0..self.n).filter(|&next| !done[next]) {
                let through = length + self.slack(row, next);
                if through < distance[next] {
                    (distance[next], before[next]) = (through, row);
                }
            }
        };
        self.row[source] -= length;
        for column in (0..self.n).filter(|&column| done[column]) {
            let change = length - distance[column];
            self.column[column] += change;
            self.row[self.row_of[column]] -= change;
        }
        loop {
            let row = before[end];
            self.row_of[end] = row;
            std::mem::swap(&mut self.column_of[row], &mut end);
            if row == source {
                return;
            }
        }
    }

    /// Row by row, gives each the first column that leaves a tight assignment to the rows behind it.
    fn make_first(&mut self) {
        for row in 0..self.n {
            for column in 0..self.column_of[row] {
                if self.slack(row, column) == 0 && self.exchange(row, column) {
                    break;
                }
            }
        }
    }

    /// Gives `column` to `row` if the row that has it now, and others behind `row`, can move on along
    /// tight pairs to the column that `row` gives up.
    fn exchange(&mut self, row: usize, column: usize) -> bool {
        let (given_up, displaced) = (self.column_of[row], self.row_of[column]);
        if displaced < row {
            return false;
        }
        let mut before = vec![NONE; self.n];
        before[column] = row;
        let mut queue = vec![displaced];
        while let Some(from) = queue.pop() {
            for next in 0..self.n {
                if before[next] != NONE || self.slack(from, next) != 0 || self.row_of[next] < row {
                    continue;
                }
                before[next] = from;
                if next != given_up {
                    queue.push(self.row_of[next]);
                    continue;
                }
                let mut end = given_up;
                loop {
                    let mover = before[end];
                    let left = self.column_of[mover];
                    (self.column_of[mover], self.row_of[end]) = (end, mover);
                    if mover == row {
                        return true;
                    }
                    end = left;
                }
            }
        }
        false
    }
}
