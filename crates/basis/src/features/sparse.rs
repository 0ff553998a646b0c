use std::borrow::Cow;
use std::ops::Range;

use dsokr_core::store::{Stored, Tensor};
use dsokr_core::{Error, Misfit, Processes};

use super::{check_width, packed::first_not_finite};

/// A sparse row: values with their columns, which increase.
pub type SparseRow = Vec<(u32, f32)>;

/// Rows that store only their non-zero columns (compressed sparse rows).
#[derive(Clone, Debug, PartialEq)]
pub struct SparseBlock<'a> {
    width: usize,
    offsets: Cow<'a, [usize]>,
    columns: Cow<'a, [u32]>,
    values: Cow<'a, [f32]>,
}

/// Sparse rows in memory of their own.
pub type SparseRows = SparseBlock<'static>;

impl<'a> SparseBlock<'a> {
    /// Creates rows of `width` columns in compressed form, owned or borrowed: row i has the entries
    /// `offsets[i]..offsets[i + 1]` of `columns` and `values`; its columns increase.
    ///
    /// # Errors
    /// [`Error::Shape`] for a width or offsets that do not fit; [`Error::Row`] for columns that do not
    /// increase or are outside of the width; [`Error::NotFinite`] for a NaN or an infinity.
    pub fn new(
        width: usize,
        offsets: impl Into<Cow<'a, [usize]>>,
        columns: impl Into<Cow<'a, [u32]>>,
        values: impl Into<Cow<'a, [f32]>>,
    ) -> Result<Self, Error> {
        let offsets = offsets.into();
        let columns = columns.into();
        let values = values.into();
        check(width, &offsets, &columns, &values)?;
        Ok(Self { width, offsets, columns, values })
    }

    /// Creates rows of `width` columns from (column, value) pairs in increasing order of the columns.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn from_rows<R>(width: usize, rows: impl IntoIterator<Item = R>) -> Result<Self, Error>
    where
        R: IntoIterator<Item = (u32, f32)>,
    {
        let mut offsets = vec![0];
        let mut columns = Vec::new();
        let mut values = Vec::new();
        for row in rows {
            for (column, value) in row {
                columns.push(column);
                values.push(value);
            }
            offsets.push(columns.len());
        }
        Self::new(width, offsets, columns, values)
    }

    /// Creates rows from entries that are valid, which a sketch has drawn; the width is one that rows may have.
    pub(crate) fn drawn(
        width: usize,
        offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f32>,
    ) -> Self {
        debug_assert!(check(width, &offsets, &columns, &values).is_ok());
        Self { width, offsets: offsets.into(), columns: columns.into(), values: values.into() }
    }

    /// Creates an empty block of a width.
    pub(crate) fn empty(width: usize) -> Result<Self, Error> {
        Self::new(width, vec![0], Vec::new(), Vec::new())
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of stored entries.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// Returns columns and values of a row; empty when there is no such row.
    pub fn row(&self, row: usize) -> (&[u32], &[f32]) {
        match self.offsets.get(row..row + 2) {
            Some(&[start, end]) => (&self.columns[start..end], &self.values[start..end]),
            _ => (&[], &[]),
        }
    }

    /// Returns the entries of a row, as (column, value).
    pub(crate) fn cells(&self, row: usize) -> impl Iterator<Item = (u32, f32)> + Clone {
        let (columns, values) = self.row(row);
        columns.iter().copied().zip(values.iter().copied())
    }

    /// Returns the rows with `ln(1 + v)` in the place of each value v: the second occurrence of a thing then says
    /// less than its first.
    ///
    /// # Errors
    /// [`Error::NotFinite`] where a value is not above −1.
    pub fn log_counts(self) -> Result<Self, Error> {
        let values: Vec<f32> = self.values.iter().map(|value| value.ln_1p()).collect();
        Self::new(self.width, self.offsets, self.columns, values)
    }

    /// Returns the values that the columns have, as (column, value) in the order of the columns and, within one,
    /// of the values. Zeros that are not stored are left out.
    pub fn levels(&self) -> Vec<(u32, f32)> {
        let entries = self.columns.iter().copied().zip(self.values.iter().copied());
        sorted_levels(entries.collect())
    }

    /// Returns a column for each of some [levels](Self::levels), with a 1 in the rows that have it: rows then agree
    /// where their counts are the same, and nearly the same does not count. Other values are left out.
    ///
    /// # Errors
    /// [`Error::Shape`] for no levels, and for too many.
    pub fn at_levels(&self, levels: &[(u32, f32)]) -> Result<Self, Error> {
        let row = |row: usize| {
            let place = |entry| levels.binary_search_by(|level| by_column_and_value(level, &entry));
            self.cells(row).flat_map(place).map(|place| (place as u32, 1.0))
        };
        check_width(levels.len())?;
        Self::from_rows(levels.len(), (0..self.len()).map(row))
    }

    /// Returns the columns that have entries in at least `rows` rows, ascending; 0 and 1 give all that have any.
    pub fn common(&self, rows: usize) -> Vec<u32> {
        common_columns(&self.column_counts(), rows)
    }

    /// Returns the number of rows that have an entry in each column.
    pub fn column_counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.width];
        self.columns.iter().for_each(|&column| counts[column as usize] += 1);
        counts
    }

    /// Returns the rows with some of their columns, ascending, numbered anew in their order.
    ///
    /// # Errors
    /// [`Error::Shape`] for no columns.
    pub fn with_columns(&self, columns: &[u32]) -> Result<Self, Error> {
        let mut place = vec![None; self.width];
        for (number, &column) in (0u32..).zip(columns) {
            if let Some(place) = place.get_mut(column as usize) {
                *place = Some(number);
            }
        }
        let column = |(at, value): (u32, f32)| Some((place[at as usize]?, value));
        let row = |row: usize| self.cells(row).filter_map(column);
        Self::from_rows(columns.len(), (0..self.len()).map(row))
    }

    /// Returns the columns as rows: row j has the entries `(i, x_ij)`, by increasing i.
    ///
    /// # Errors
    /// [`Error::Shape`] for no rows, and for too many.
    pub fn transposed(&self) -> Result<SparseRows, Error> {
        check_width(self.len())?;
        let row = |row: usize| {
            self.cells(row).map(move |(column, value)| (column as usize, (row as u32, value)))
        };
        let (offsets, cells) = sorted_by_place(self.width, (0..self.len()).flat_map(row));
        let (rows, values): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
        SparseBlock::new(self.len(), offsets, rows, values)
    }

    /// Returns a slice of the rows. If it starts behind the first entry it has offsets of its own, which start at 0
    /// too.
    pub(super) fn slice(&self, rows: Range<usize>) -> SparseBlock<'_> {
        let offsets = &self.offsets[rows.start..=rows.end];
        let start = self.offsets[rows.start];
        let end = self.offsets[rows.end];
        SparseBlock {
            width: self.width,
            offsets: match start {
                0 => Cow::Borrowed(offsets),
                _ => offsets.iter().map(|offset| offset - start).collect(),
            },
            columns: Cow::Borrowed(&self.columns[start..end]),
            values: Cow::Borrowed(&self.values[start..end]),
        }
    }

    pub(crate) fn append(&mut self, block: &SparseBlock) {
        let start = self.values.len();
        self.offsets.to_mut().extend(block.offsets[1..].iter().map(|offset| start + offset));
        self.columns.to_mut().extend_from_slice(&block.columns);
        self.values.to_mut().extend_from_slice(&block.values);
    }

    /// Returns the rows that every process gives, in the order of ranks.
    pub(crate) fn gather(&self, processes: &Processes) -> Result<Vec<SparseRows>, Error> {
        let offsets = processes.gather_numbers(&self.offsets)?.into_iter();
        let columns = processes.gather_numbers(&self.columns)?;
        let values = processes.gather_numbers(&self.values)?;
        let all = offsets.zip(columns).zip(values);
        all.map(|((offsets, columns), values)| {
            SparseBlock::new(self.width, offsets, columns, values)
        })
        .collect()
    }

    /// Returns each row times its scale.
    pub(super) fn scaled(mut self, scales: &[f64]) -> Self {
        let values = self.values.to_mut();
        for (row, &scale) in self.offsets.windows(2).zip(scales) {
            let row = &mut values[row[0]..row[1]];
            row.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
        }
        self
    }

    pub(super) fn squared_norms(&self) -> Vec<f64> {
        let squares =
            |row| self.row(row).1.iter().map(|&value| f64::from(value) * f64::from(value));
        (0..self.len()).map(|row| squares(row).sum()).collect()
    }

    pub(super) fn tensors(&self, prefix: &str) -> Vec<Tensor<'_>> {
        let offsets: Vec<u64> = self.offsets.iter().map(|&offset| offset as u64).collect();
        let entries = [self.values.len()];
        vec![
            Tensor::owned(&format!("{prefix}.offsets"), &[offsets.len()], &offsets),
            Tensor::u32(&format!("{prefix}.columns"), &entries, &self.columns),
            Tensor::f32(&format!("{prefix}.values"), &entries, &self.values),
        ]
    }

    /// Returns the tensors with gaps in the place of columns.
    pub(super) fn packed_tensors(&self, prefix: &str) -> Vec<Tensor<'_>> {
        let gaps: Vec<u8> = (0..self.len()).flat_map(|row| gaps(self.row(row).0)).collect();
        let mut tensors = self.tensors(prefix);
        tensors[1] = Tensor::owned(&format!("{prefix}{GAPS}"), &[gaps.len()], &gaps);
        tensors
    }

    pub(super) fn from_stored(stored: &Stored, prefix: &str, width: usize) -> Result<Self, Error> {
        let (_, offsets) = stored.read::<u64>(&format!("{prefix}.offsets"), 1)?;
        let (_, values) = stored.read(&format!("{prefix}.values"), 1)?;
        // An offset that does not fit becomes one that the check below refuses.
        let offset = |&at: &u64| usize::try_from(at).unwrap_or(usize::MAX);
        let offsets: Vec<usize> = offsets.iter().map(offset).collect();
        let name = format!("{prefix}{GAPS}");
        let columns = if stored.has(&name) {
            columns(&stored.read(&name, 1)?.1, &offsets)
        } else {
            stored.read(&format!("{prefix}.columns"), 1)?.1.to_vec()
        };
        Self::new(width, offsets, columns, values.to_vec())
    }
}

/// Returns cells in the order of their places, and within a place in the given order. The cells of place k are
/// `offsets[k]..offsets[k + 1]`.
pub fn sorted_by_place<T: Copy + Default>(
    places: usize,
    cells: impl Iterator<Item = (usize, T)> + Clone,
) -> (Vec<usize>, Vec<T>) {
    let mut offsets = vec![0; places + 1];
    cells.clone().for_each(|(place, _)| offsets[place + 1] += 1);
    for place in 0..places {
        offsets[place + 1] += offsets[place];
    }
    let mut next = offsets.clone();
    let mut sorted = vec![T::default(); offsets[places]];
    for (place, cell) in cells {
        sorted[next[place]] = cell;
        next[place] += 1;
    }
    (offsets, sorted)
}

/// The end of the name of the tensor that holds gaps.
const GAPS: &str = ".gaps";

/// Returns the columns of a row, each less the one before it, the first less 0: 7 bits a byte, the lowest first, the
/// highest bit set where more follow.
fn gaps(columns: &[u32]) -> impl Iterator<Item = u8> {
    let before = std::iter::once(&0).chain(columns);
    columns.iter().zip(before).flat_map(|(column, before)| {
        let gap = column - before;
        let bytes = (32 - gap.leading_zeros()).div_ceil(7).max(1);
        (0..bytes).map(move |at| {
            let more = u8::from(at + 1 < bytes) << 7;
            (gap >> (7 * at)) as u8 & 0x7F | more
        })
    })
}

/// Returns the columns whose [`gaps`] are these. Gaps that no columns have give columns that no rows have.
fn columns(gaps: &[u8], offsets: &[usize]) -> Vec<u32> {
    let gap = |bytes: &[u8]| {
        let bits = bytes.iter().rev().fold(0, |bits: u64, byte| {
            bits.saturating_mul(128).saturating_add(u64::from(byte & 0x7F))
        });
        u32::try_from(bits).unwrap_or(u32::MAX)
    };
    let mut columns: Vec<u32> = gaps.split_inclusive(|byte| byte >> 7 == 0).map(gap).collect();
    for row in offsets.windows(2) {
        if let Some(row) = columns.get_mut(row[0]..row[1]) {
            let mut column = 0u32;
            for gap in row {
                column = column.saturating_add(*gap);
                *gap = column;
            }
        }
    }
    columns
}

/// Returns each of some [levels](SparseBlock::levels) once, in their order.
fn sorted_levels(mut levels: Vec<(u32, f32)>) -> Vec<(u32, f32)> {
    levels.sort_unstable_by(by_column_and_value);
    levels.dedup_by(|a, b| by_column_and_value(a, b).is_eq());
    levels
}

/// Returns the columns that have at least `rows` entries, ascending, of the [number](SparseBlock::column_counts) of each; 0
/// and 1 give all that have any.
pub fn common_columns(counts: &[u32], rows: usize) -> Vec<u32> {
    let is_common = |&(_, &count): &(u32, &u32)| count as usize >= rows.max(1);
    let common = (0..).zip(counts).filter(is_common);
    common.map(|(column, _)| column).collect()
}

fn by_column_and_value(a: &(u32, f32), b: &(u32, f32)) -> std::cmp::Ordering {
    a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
}

fn check(width: usize, offsets: &[usize], columns: &[u32], values: &[f32]) -> Result<(), Error> {
    check_width(width)?;
    if columns.len() != values.len() {
        let columns = columns.len();
        let values = values.len();
        return Err(Error::Shape(Misfit::Entries { columns, values }));
    }
    let bad = |position: usize, found: usize, least: usize, most: usize| {
        Error::Shape(Misfit::Offset { position, found, least, most })
    };
    if offsets.first() != Some(&0) {
        return Err(bad(0, offsets.first().copied().unwrap_or(0), 0, 0));
    }
    if let Some(at) = offsets.windows(2).position(|pair| pair[1] < pair[0]) {
        return Err(bad(at + 1, offsets[at + 1], offsets[at], values.len()));
    }
    let at = offsets.len() - 1;
    let last = offsets[offsets.len() - 1];
    if last != values.len() {
        return Err(bad(at, last, values.len(), values.len()));
    }
    for (row, pair) in offsets.windows(2).enumerate() {
        let columns = &columns[pair[0]..pair[1]];
        if let Some(pair) = columns.windows(2).find(|pair| pair[1] <= pair[0]) {
            let [previous, column] = [pair[0], pair[1]];
            let follows = format!("column {column} follows column {previous}");
            return Err(Error::row(row, format!("{follows}; columns must increase")));
        }
        if let Some(&column) = columns.last().filter(|&&column| column as usize >= width) {
            return Err(Error::column(row, column as usize, width));
        }
    }
    if let Some(at) = first_not_finite(values) {
        // The last row that starts at or before the entry.
        let row = offsets.partition_point(|&offset| offset <= at) - 1;
        let column = columns[at] as usize;
        return Err(Error::NotFinite { what: "", row, column, value: values[at].into() });
    }
    Ok(())
}
