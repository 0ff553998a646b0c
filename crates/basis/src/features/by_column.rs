use super::SparseBlock;

/// The entries of sparse rows, column by column: a product with another row then touches only the
/// entries that it has in common with it.
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
    pub(super) fn new(rows: &SparseBlock) -> Self {
        let all = || (0..rows.len()).flat_map(|row| rows.row(row).0).copied();
        let count = all().count();
        let occurring = (rows.width() > 4 * count).then(|| {
            let mut columns: Vec<u32> = all().collect();
            columns.sort_unstable();
            columns.dedup();
            columns
        });
        let places = occurring.as_ref().map_or(rows.width(), Vec::len);
        let mut index =
            Self { occurring, offsets: vec![0; places + 1], entries: vec![(0, 0.0); count] };
        let place_of: Vec<usize> = all().filter_map(|column| index.place(column)).collect();
        place_of.iter().for_each(|place| index.offsets[place + 1] += 1);
        for place in 0..places {
            index.offsets[place + 1] += index.offsets[place];
        }
        let mut next = index.offsets.clone();
        let entries = (0..rows.len())
            .flat_map(|row| rows.row(row).1.iter().map(move |&value| (row as u32, value)));
        for (entry, place) in entries.zip(place_of) {
            index.entries[next[place]] = entry;
            next[place] += 1;
        }
        index
    }

    fn place(&self, column: u32) -> Option<usize> {
        match &self.occurring {
            Some(columns) => columns.binary_search(&column).ok(),
            None => Some(column as usize),
        }
    }

    /// Adds `⟨row_i, y⟩` to the i-th number of `products`, in the order of the columns.
    pub(super) fn add_products(&self, y: (&[u32], &[f32]), products: &mut [f64]) {
        for (&column, &value) in y.0.iter().zip(y.1) {
            if let Some(place) = self.place(column) {
                let entries = &self.entries[self.offsets[place]..self.offsets[place + 1]];
                for &(row, own) in entries {
                    products[row as usize] += f64::from(own) * f64::from(value);
                }
            }
        }
    }
}
