//! The linear sum assignment problem, by shortest augmenting paths (Jonker and Volgenant 1987), so
//! that a solution is repaired rather than found anew when costs grow and a row and a column go.
//!
//! ```
//! use dsokr_core::assignment::{Matching, Scratch, Solved};
//!
//! let costs = [[4, 1, 3], [2, 0, 5], [3, 2, 2]];
//! let row = |row: usize| &costs[row][..];
//! let mut matching = Matching::new(row, 3);
//! let solved = matching.solve(row, &[0, 1, 2], &[0, 1, 2], i64::MAX, &mut Scratch::default(), || false);
//! assert!(solved == Solved::Whole);
//! assert_eq!((matching.column_of, matching.total), (vec![1, 0, 2], 5));
//! ```

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// The number that stands for no row, or no column.
pub const NONE: usize = usize::MAX;

/// Whole numbers that are costs.
pub trait Cost:
    Copy + Ord + Default + Add<Output = Self> + Sub<Output = Self> + AddAssign + SubAssign + Sum
{
}

impl Cost for i32 {}
impl Cost for i64 {}

/// An assignment of rows to columns and the prices that prove how good it is.
///
/// `row_price[r] + column_price[c] ≤ cost(r, c)` always, with equality where r goes to c. So the
/// sum of all prices is at most the cost of any assignment, and the cost of this one when no row is
/// left over.
#[derive(Clone, Debug, Default)]
pub struct Matching<T> {
    row_price: Vec<T>,
    column_price: Vec<T>,
    /// Column of every row.
    pub column_of: Vec<usize>,
    /// Row of every column.
    pub row_of: Vec<usize>,
    /// The sum of the prices: no assignment costs less.
    pub total: T,
}

/// How solving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solved {
    /// Every row has its column.
    Whole,
    /// Every assignment costs more than the cap.
    AboveCap,
    /// The time is over; the prices still prove what they prove.
    Interrupted,
}

/// Memory for the search of a path, by column.
#[derive(Debug, Default)]
pub struct Scratch<T> {
    distance: Vec<T>,
    before: Vec<usize>,
    pending: Vec<usize>,
    done: Vec<usize>,
}

impl<T: Cost> Matching<T> {
    /// Creates the state with no row assigned, for n rows and n columns. The price of a column is the cost of its
    /// cheapest row.
    pub fn new<'c>(costs: impl Fn(usize) -> &'c [T], n: usize) -> Self
    where
        T: 'c,
    {
        let cheapest = |column: usize| (0..n).map(|row| costs(row)[column]).min();
        let column_price: Vec<T> =
            (0..n).map(|column| cheapest(column).unwrap_or_default()).collect();
        let total = column_price.iter().copied().sum();
        Self {
            row_price: vec![T::default(); n],
            column_price,
            column_of: vec![NONE; n],
            row_of: vec![NONE; n],
            total,
        }
    }

    /// Copies another array into this one, in place.
    pub fn copy(&mut self, from: &Self) {
        self.row_price.clone_from(&from.row_price);
        self.column_price.clone_from(&from.column_price);
        self.column_of.clone_from(&from.column_of);
        self.row_of.clone_from(&from.row_of);
        self.total = from.total;
    }

    /// Returns how much more than `total` an assignment at least costs that gives `row`, of
    /// these costs, to `column`.
    pub fn excess(&self, row: usize, column: usize, costs: &[T]) -> T {
        costs[column] - self.row_price[row] - self.column_price[column]
    }

    /// Takes a row and a column out of the problem.
    pub fn remove(&mut self, row: usize, column: usize) {
        self.total -= self.row_price[row] + self.column_price[column];
        let its_column = self.column_of[row];
        let its_row = self.row_of[column];
        if its_column != NONE {
            self.row_of[its_column] = NONE;
        }
        if its_row != NONE {
            self.column_of[its_row] = NONE;
        }
        self.column_of[row] = column;
        self.row_of[column] = row;
    }

    /// Assigns all of `rows` to all of `columns`, as many, as cheaply as can be; costs may have grown
    /// since the last time. Stops where the total passes `cap`, or when `interrupted` says so.
    pub fn solve<'c>(
        &mut self,
        costs: impl Fn(usize) -> &'c [T],
        rows: &[usize],
        columns: &[usize],
        cap: T,
        scratch: &mut Scratch<T>,
        interrupted: impl Fn() -> bool,
    ) -> Solved
    where
        T: 'c,
    {
        for &row in rows {
            let column = self.column_of[row];
            if column != NONE && self.excess(row, column, costs(row)) > T::default() {
                self.column_of[row] = NONE;
                self.row_of[column] = NONE;
            }
        }
        for &row in rows {
            if self.column_of[row] == NONE {
                self.raise(row, costs(row), columns);
            }
        }
        for &row in rows {
            if self.total > cap {
                return Solved::AboveCap;
            }
            if self.column_of[row] == NONE {
                if interrupted() {
                    return Solved::Interrupted;
                }
                if !self.augment(row, &costs, columns, cap, scratch) {
                    return Solved::AboveCap;
                }
            }
        }
        if self.total > cap { Solved::AboveCap } else { Solved::Whole }
    }

    /// Raises the price of a row as far as it goes, and gives it its cheapest column if that is free.
    fn raise(&mut self, row: usize, costs: &[T], columns: &[usize]) {
        let Some(least) = columns.iter().map(|&column| self.excess(row, column, costs)).min()
        else {
            return;
        };
        self.row_price[row] += least;
        self.total += least;
        let zero = T::default();
        let free = |&&column: &&usize| {
            self.row_of[column] == NONE && self.excess(row, column, costs) == zero
        };
        if let Some(&column) = columns.iter().find(free) {
            self.column_of[row] = column;
            self.row_of[column] = row;
        }
    }

    /// Gives a row a column along a shortest path that moves other rows on; false if the total would
    /// pass the cap.
    fn augment<'c>(
        &mut self,
        source: usize,
        costs: &impl Fn(usize) -> &'c [T],
        columns: &[usize],
        cap: T,
        scratch: &mut Scratch<T>,
    ) -> bool
    where
        T: 'c,
    {
        let Scratch { distance, before, pending, done } = scratch;
        distance.resize(self.column_of.len(), T::default());
        before.resize(self.column_of.len(), NONE);
        pending.clear();
        pending.extend_from_slice(columns);
        done.clear();
        for &column in columns {
            distance[column] = self.excess(source, column, costs(source));
            before[column] = source;
        }
        let (mut end, length) = loop {
            // the least distance; among equals a free column, which ends the path
            let key =
                |&(_, &column): &(usize, &usize)| (distance[column], self.row_of[column] != NONE);
            let Some((at, &column)) = pending.iter().enumerate().min_by_key(key) else {
                return false;
            };
            let length = distance[column];
            // the total is at most the cap
            if length > cap - self.total {
                return false;
            }
            let row = self.row_of[column];
            if row == NONE {
                break (column, length);
            }
            pending.swap_remove(at);
            done.push(column);
            let costs = costs(row);
            for &next in pending.iter() {
                let through = length + self.excess(row, next, costs);
                if through < distance[next] {
                    distance[next] = through;
                    before[next] = row;
                }
            }
        };
        self.row_price[source] += length;
        for &column in done.iter() {
            let slack = length - distance[column];
            self.column_price[column] -= slack;
            self.row_price[self.row_of[column]] += slack;
        }
        self.total += length;
        loop {
            let row = before[end];
            self.row_of[end] = row;
            std::mem::swap(&mut self.column_of[row], &mut end);
            if row == source {
                return true;
            }
        }
    }
}
