use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use dsokr_basis::ranks::part;
use dsokr_basis::store::{Array, Contents, Stored, Tensor};
use half::f16;

use super::Candidates;
use super::checks::sorted;
use super::file::{Described, HUGE, check_counts, interleaved};
use super::precision::{PRECISION, Precision};
use super::texts::Texts;
use crate::Error;
use crate::classes::Classes;
use crate::codes::{LARGEST, NewCodes};

/// The kind of files of shards.
const KIND: &str = "candidate shard";
const VERSION: u32 = 1;
/// Metadata keys: which of how many shards it is, and the distinct rows and the candidates of all of them.
const SHARD: &str = "shard";
const SHARDS: &str = "shards";
const ROWS: &str = "rows";
const CANDIDATES: &str = "candidates";
/// Numbers of the candidates among all.
const NUMBERS: &str = "numbers";

/// A part of the distinct rows of candidates, with the candidates of these rows.
pub(crate) struct Shard {
    /// Those of the shard, numbered in their order.
    pub candidates: Candidates,
    /// Their numbers among all, ascending.
    pub numbers: Array<u32>,
    /// The rows among all.
    pub rows: Range<usize>,
    /// The rows and the candidates of all shards.
    pub all: (usize, usize),
    pub precision: Precision,
    /// The file.
    pub stored: Arc<Stored>,
}

impl Candidates {
    /// Writes the shard `at` of `of`; see [`Shards::write`](crate::Shards::write).
    pub(crate) fn save_shard(
        &self,
        path: &Path,
        (at, of): (usize, usize),
        precision: Precision,
        metadata: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let all = self.distinct();
        if !(1..=all).contains(&of) {
            let allowed = format!("1 to {all}, the distinct candidates");
            return Err(Error::out_of_range(format!("{of} shards"), allowed));
        }
        if precision == Precision::I8 && self.dim > LARGEST {
            let found = format!("codes of 8 bits for {} coordinates", self.dim);
            return Err(Error::out_of_range(found, format!("at most {LARGEST}")));
        }
        let rows = part(all, at, of);
        let counts = &self.classes.counts[rows.clone()];
        check_counts(counts, rows.start)?;
        let offsets = &self.classes.offsets;
        let members = offsets[rows.start] as usize..offsets[rows.end] as usize;
        let mut numbers = self.classes.members[members].to_vec();
        numbers.sort_unstable();
        let texts = |all: &Texts| Texts::of(numbers.iter().map(|&own| all.get(own as usize)));
        let (ids, labels) = (texts(&self.ids), texts(&self.labels));
        // in the order in which they first appear, as those of all candidates are
        let row = |&own: &u32| self.classes.of[own as usize] - rows.start as u32;
        let classes = Classes::new(numbers.iter().map(row).collect(), rows.len());
        let constants = &self.constants[rows.clone()];
        let described = Described {
            weights: interleaved(constants, counts.iter().map(|&count| count as f32)),
            classes: &classes,
            by_id: &sorted(&ids)?,
            ids: &ids,
            labels: &labels,
        };
        let points = self.points(rows.clone())?;
        let points = match precision {
            Precision::F32 | Precision::I8 => points,
            Precision::F16 => self.rounded(&points, rows.start)?.into(),
        };
        let shape = [rows.len(), self.dim];
        let coordinates = match precision {
            Precision::F32 | Precision::I8 => Tensor::f32("coordinates", &shape, &points),
            Precision::F16 => Tensor::f16("coordinates", &shape, &points),
        };
        let coded = precision == Precision::I8 || 4 * points.len() >= HUGE;
        let codes = if coded { NewCodes::new(self.dim, &[&points]) } else { None };
        let mut tensors = described.tensors();
        tensors.push(coordinates.in_blocks());
        tensors.push(Tensor::u32(NUMBERS, &[numbers.len()], &numbers));
        tensors.extend(codes.iter().flat_map(NewCodes::tensors));
        let mut metadata = metadata.clone();
        let counts = [(SHARD, at), (SHARDS, of), (ROWS, all), (CANDIDATES, self.len())];
        metadata.extend(counts.map(|(key, count)| (key.to_owned(), count.to_string())));
        metadata.insert(PRECISION.to_owned(), precision.to_string());
        Ok(Contents::new(KIND, VERSION, &metadata, &tensors).write(path)?)
    }

    /// Coordinates of the rows from `first` on, rounded to 16 bits.
    fn rounded(&self, points: &[f32], first: usize) -> Result<Vec<f32>, Error> {
        let rounded: Vec<f32> = points.iter().map(|&own| f16::from_f32(own).to_f32()).collect();
        match rounded.iter().position(|value| !value.is_finite()) {
            None => Ok(rounded),
            Some(at) => {
                let (row, column) = (first + at / self.dim, at % self.dim);
                let found =
                    format!("candidate row {row}, coordinate {column}: {} in 16 bits", points[at]);
                Err(Error::out_of_range(found, format!("-{0} to {0}", f16::MAX)))
            }
        }
    }
}

impl Shard {
    /// Opens the shard `at` of `of`, which a file must be.
    pub fn open(path: &Path, (at, of): (usize, usize)) -> Result<Self, Error> {
        let stored = Arc::new(Stored::open(path, KIND, VERSION)?);
        let bad = |reason: String| Error::file(path, None, reason);
        let number = |key: &str| stored.parsed::<usize>(key, "a number");
        let found = (number(SHARD)?, number(SHARDS)?);
        if found != (at, of) {
            let (own, all) = found;
            return Err(bad(format!("shard {own} of {all}, expected shard {at} of {of}")));
        }
        let all = (number(ROWS)?, number(CANDIDATES)?);
        let precision = stored.parsed(PRECISION, "f32, f16 or i8")?;
        let candidates = Candidates::read(&stored)?;
        let (_, numbers) = stored.array::<u32>(NUMBERS, 1)?;
        let rows = part(all.0, at, of);
        if candidates.distinct() != rows.len() {
            let (found, expected) = (candidates.distinct(), rows.len());
            return Err(bad(format!("{found} distinct rows, expected {expected} of {}", all.0)));
        }
        let ascending = numbers.windows(2).all(|pair| pair[0] < pair[1]);
        let last = numbers.last().is_some_and(|&last| (last as usize) < all.1);
        if numbers.len() != candidates.len() || !ascending || !last {
            return Err(bad(format!(
                "{NUMBERS} are not {} of the {} candidates, ascending",
                candidates.len(),
                all.1
            )));
        }
        Ok(Self { candidates, numbers, rows, all, precision, stored })
    }
}
