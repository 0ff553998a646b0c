use std::ops::{AddAssign, Mul};

use super::SparseBlock;

/// The entries of sparse rows, column by column: a product with another row then touches only the
/// entries that it has in common with it.
#[derive(Clone, Debug)]
pub(super) struct ByColumn {
    /// The columns that occur, if they are few among all; else every column has a place.
    occurring: Option<Vec<u32>>,
    /// Entries of place k are `offsets[k]..offsets[k + 1]`.
    offsets: Vec<usize>,
    /// (row, value), by increasing row within a column; a product of more rows than `u32` numbers
    /// would not fit in any memory.
    entries: Vec<(u32, f32)>,
}

impl ByColumn {
    /// Of the entries whose column is kept.
    pub(super) fn new(rows: &SparseBlock, keep: impl Fn(u32) -> bool) -> Self {
        let row = |row: usize| {
            let (columns, values) = rows.row(row);
            columns.iter().copied().zip(values.iter().copied())
        };
        let all = || (0..rows.len()).flat_map(row).filter(|&(column, _)| keep(column));
        let count = all().count();
        let occurring = (rows.width() > 4 * count).then(|| {
            let mut columns: Vec<u32> = all().map(|(column, _)| column).collect();
            columns.sort_unstable();
            columns.dedup();
            columns
        });
        let places = occurring.as_ref().map_or(rows.width(), Vec::len);
        let mut offsets = vec![0; places + 1];
        for (column, _) in all() {
            if let Some(place) = place(&occurring, column) {
                offsets[place + 1] += 1;
            }
        }
        for place in 0..places {
            offsets[place + 1] += offsets[place];
        }
        let mut next = offsets.clone();
        let mut entries = vec![(0, 0.0); count];
        for at in 0..rows.len() {
            for (column, value) in row(at).filter(|&(column, _)| keep(column)) {
                if let Some(place) = place(&occurring, column) {
                    entries[next[place]] = (at as u32, value);
                    next[place] += 1;
                }
            }
        }
        Self { occurring, offsets, entries }
    }

    /// Adds `⟨row_i, y⟩` to the i-th number of `products`, in the order of the columns; only for as many
    /// rows as there are numbers.
    pub(super) fn add_products<T>(&self, y: (&[u32], &[f32]), products: &mut [T])
    where
        T: Copy + From<f32> + Mul<Output = T> + AddAssign,
    {
        // Most columns hold few entries: what is asked for each of them is asked outside of the loop.
        match &self.occurring {
            Some(columns) => self.add_at(y, products, |column| columns.binary_search(&column).ok()),
            None => self.add_at(y, products, |column| Some(column as usize)),
        }
    }

    #[inline]
    fn add_at<T>(
        &self,
        y: (&[u32], &[f32]),
        products: &mut [T],
        place: impl Fn(u32) -> Option<usize>,
    ) where
        T: Copy + From<f32> + Mul<Output = T> + AddAssign,
    {
        for (&column, &value) in y.0.iter().zip(y.1) {
            let Some(place) = place(column) else { continue };
            let value = T::from(value);
            for &(row, own) in &self.entries[self.offsets[place]..self.offsets[place + 1]] {
                // rows increase
                let Some(sum) = products.get_mut(row as usize) else { break };
                *sum += T::from(own) * value;
            }
        }
    }
}

fn place(occurring: &Option<Vec<u32>>, column: u32) -> Option<usize> {
    match occurring {
        Some(columns) => columns.binary_search(&column).ok(),
        None => Some(column as usize),
    }
}
