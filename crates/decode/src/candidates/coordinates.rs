//! The coordinates of distinct rows, wherever they are: in memory, in a mapped file, or divided among processes.

use std::borrow::Cow;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use bytemuck::{Pod, cast_slice};
use dsokr_core::processes::Held;
use dsokr_core::store::{ByteSum, CheckedArray, Stored};
use dsokr_core::{Error, Processes, parse_name};
use half::f16;
use half::slice::HalfFloatSliceExt;
use serde::Deserialize;

use crate::codes::StoredCodes;
use crate::error::all_finite;

/// Metadata key of the precision of a shard.
pub(crate) const PRECISION: &str = "precision";

/// How shards keep the coordinates of candidates.
#[derive(Clone, Copy, Debug, Default, derive_more::Display, PartialEq, Eq, Deserialize)]
#[display(rename_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum StorageType {
    /// Coordinates in 32 bits, without rounding; from 256 MiB on with codes of 8 bits in addition. Results are exact.
    #[default]
    F32,
    /// Coordinates rounded to 16 bits, half the bytes, with codes as for [`F32`](Self::F32). Results are exact for the
    /// rounded coordinates.
    F16,
    /// Coordinates in 32 bits with codes of 8 bits in addition, a quarter more bytes. The codes are read in their place
    /// for all but the few candidates that the bound on their error leaves in doubt. Results are exact.
    I8,
}

impl FromStr for StorageType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_name(text)
    }
}

/// Coordinates `ψ̃(c)` of distinct rows, row-major.
#[derive(Clone, Debug)]
pub(super) struct Coordinates {
    /// The first of them, in a mapped file, verified as they are read.
    file: Option<Mapped>,
    /// How many these are.
    end: usize,
    /// The others, in memory.
    more: Vec<f32>,
    /// The rows of these, where rows are divided among processes: then no coordinates are in a file.
    held: Option<Held>,
}

#[derive(Clone, Debug)]
enum Mapped {
    Whole(Arc<CheckedArray<f32>>),
    /// Rounded to 16 bits.
    Rounded(Arc<CheckedArray<f16>>),
}

impl From<Vec<f32>> for Coordinates {
    fn from(more: Vec<f32>) -> Self {
        Self { file: None, end: 0, more, held: None }
    }
}

impl Coordinates {
    /// Returns the shape and the coordinates of a file.
    pub fn read(stored: &Arc<Stored>) -> Result<(Vec<usize>, Self), Error> {
        const NAME: &str = "coordinates";
        let rounded = stored.all_metadata().get(PRECISION);
        let (shape, file) = if rounded.is_some_and(|name| *name == StorageType::F16.to_string()) {
            let whole = || Error::file(stored.path(), "coordinates of 16 bits in one block");
            let (shape, values) = stored.checked_array(NAME, 2)?.ok_or_else(whole)?;
            (shape, Mapped::Rounded(scattered(stored, values)))
        } else if let Some((shape, values)) = stored.checked_array(NAME, 2)? {
            (shape, Mapped::Whole(scattered(stored, values)))
        } else {
            let (shape, values) = stored.read::<f32>(NAME, 2)?;
            return Ok((shape, values.to_vec().into()));
        };
        let file = Some(file);
        let end = shape.iter().product();
        Ok((shape, Self { file, end, more: Vec::new(), held: None }))
    }

    /// Creates coordinates of rows that are divided among processes, from those of the rows that this process holds.
    pub fn divided(held: Held, coordinates: Vec<f32>) -> Self {
        Self { file: None, end: 0, more: coordinates, held: Some(held) }
    }

    /// Returns which rows this process holds, where they are divided among processes.
    pub fn held(&self) -> Option<&Held> {
        self.held.as_ref()
    }

    /// Returns whether some of them are in a mapped file.
    pub fn mapped(&self) -> bool {
        self.file.is_some()
    }

    /// Returns a range of rows of width `dim`. The range must exist, and this process must hold it.
    pub fn get(&self, range: Range<usize>, dim: usize) -> Result<Cow<'_, [f32]>, Error> {
        if let Some(held) = &self.held {
            let rows = range.start / dim..range.end / dim;
            held.check("coordinates of candidates", &rows)?;
            let places = held.place(&rows).unwrap_or_default();
            return Ok(self.more[places.start * dim..places.end * dim].into());
        }
        let end = self.end;
        let first = range.start..range.end.min(end);
        let rest = range.end.saturating_sub(end);
        let first: Cow<[f32]> = match &self.file {
            Some(Mapped::Whole(file)) if range.start < end => verified(file, first, dim)?.into(),
            Some(Mapped::Rounded(file)) if range.start < end => {
                verified(file, first, dim)?.to_f32_vec().into()
            }
            Some(_) | None => return Ok(self.more[range.start - end..rest].into()),
        };
        Ok(if rest == 0 { first } else { [&first, &self.more[..rest]].concat().into() })
    }

    /// Returns the coordinates of those of some rows of width `dim` that this process holds, where rows are divided.
    pub fn part(&self, rows: Range<usize>, dim: usize) -> Vec<f32> {
        let mut part = Vec::new();
        let Some(held) = &self.held else { return part };
        for range in held.ranges() {
            let within = rows.start.max(range.start)..rows.end.min(range.end);
            let places = held.place(&within).unwrap_or_default();
            part.extend_from_slice(&self.more[places.start * dim..places.end * dim]);
        }
        part
    }

    /// Returns the coordinates of all rows, on each of the processes that they are divided among.
    pub fn joined(self, processes: &Processes) -> Result<Self, Error> {
        if self.held.is_none() {
            return Ok(self);
        }
        Ok(processes.join(self.more)?.into())
    }

    /// Returns the checksum of the coordinates of all of `rows` rows, of which each process reads those that it holds.
    pub fn sum(&self, rows: usize, dim: usize, processes: &Processes) -> Result<ByteSum, Error> {
        if self.held.is_some() {
            return ByteSum::of(cast_slice(&self.more)).joined(processes);
        }
        let all = self.get(0..rows * dim, dim)?;
        Ok(ByteSum::of(cast_slice(&all[..])))
    }

    /// Returns the first `count` coordinates.
    pub fn first(self, count: usize) -> Self {
        let mut more = self.more;
        more.truncate(count.saturating_sub(self.end));
        Self { file: self.file, end: self.end.min(count), more, held: self.held }
    }

    /// Returns these coordinates, and more behind them.
    pub fn with_more(mut self, more: &[f32]) -> Self {
        self.more.extend_from_slice(more);
        self
    }
}

/// Marks coordinates for scattered reading where there are codes: few of them are read then.
fn scattered<T: Pod>(stored: &Stored, values: CheckedArray<T>) -> Arc<CheckedArray<T>> {
    Arc::new(if StoredCodes::are_in(stored) { values.scattered() } else { values })
}

fn verified<T: Pod + Into<f32>>(
    file: &CheckedArray<T>,
    range: Range<usize>,
    dim: usize,
) -> Result<&[T], Error> {
    file.get(range, |start, values| check_finite(start, values, dim))
}

/// Refuses a coordinate that is not finite; the first value belongs to row `start`, of rows of width `dim`.
pub(super) fn check_finite<T: Copy + Into<f32>>(
    start: usize,
    values: &[T],
    dim: usize,
) -> Result<(), Error> {
    let row = |at: usize| (start + at) / dim;
    let column = |at: usize| (start + at) % dim;
    all_finite(values, |at| format!("candidate row {}, coordinate {}", row(at), column(at)))
}
