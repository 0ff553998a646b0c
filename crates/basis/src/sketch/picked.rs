use std::collections::BTreeMap;

use super::{COLUMNS, Columns};

/// A sketch with few non-zeros: for each anchor, (row of R, value) in increasing order.
#[derive(Clone, Debug)]
pub(super) struct Picked {
    anchors: Vec<usize>,
    entries: Vec<Vec<(usize, f32)>>,
}

impl Picked {
    /// Sums (row of R, output, value) entries.
    pub(super) fn new(picks: impl Iterator<Item = (usize, usize, f64)>) -> Self {
        let mut columns: BTreeMap<usize, BTreeMap<usize, f64>> = BTreeMap::new();
        for (row, output, value) in picks {
            *columns.entry(output).or_default().entry(row).or_default() += value;
        }
        // Two picks of opposite signs may have cancelled.
        columns.values_mut().for_each(|column| column.retain(|_, value| *value != 0.0));
        columns.retain(|_, column| !column.is_empty());
        let entry = |(&row, &value): (&usize, &f64)| (row, value as f32);
        let entries = columns.values().map(|column| column.iter().map(entry).collect()).collect();
        Self { anchors: columns.into_keys().collect(), entries }
    }

    /// The outputs that R touches, increasing.
    pub(super) fn anchors(&self) -> &[usize] {
        &self.anchors
    }

    /// The columns of one block of anchors, m values each.
    pub(super) fn columns(&self, m: usize, block: usize) -> Columns {
        let len = self.anchors.len();
        let start = block.saturating_mul(COLUMNS).min(len);
        let range = start..len.min(start + COLUMNS);
        let mut values = vec![0.0; m * range.len()];
        for (column, entries) in values.chunks_exact_mut(m).zip(&self.entries[range.clone()]) {
            entries.iter().for_each(|&(row, value)| column[row] = value);
        }
        Columns { rows: self.anchors[range].to_vec(), values }
    }
}
