use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

use dsokr_basis::store::{self, Stored, Tensor};

use super::{CandidateParts, Candidates};
use crate::{Error, Hubs};

/// The kind of candidate files.
const KIND: &str = "candidates";
/// The version of the layout of candidate files.
const VERSION: u32 = 1;
/// Metadata keys of a correction for hubs.
const HUB_WEIGHT: &str = "hub_weight";
const HUB_NEIGHBOURS: &str = "hub_neighbours";
/// Metadata key of the number of candidates that were added.
const ADDED: &str = "added";
/// Integers up to here are exact in f32.
const EXACT: u32 = 1 << 24;

impl Candidates {
    /// Writes a `candidates` file: versioned, checksummed, replaced atomically.
    ///
    /// Besides `metadata` it holds the tensors `coordinates` F32 `[k, p]`, `weights` F32 `[k, 2]`
    /// (constant, multiplicity), `row_offsets` U64 `[k + 1]` and `members` U32 `[c]` (the
    /// candidates of each row), `ids` and `labels` U8 (all texts joined), `id_offsets` and
    /// `label_offsets` U64 `[c + 1]`; `hashes` U64 `[k]` of the feature rows where they are known, and the
    /// metadata `added` where some were added. Candidates that are corrected for [`hubs`](Self::hubs) also have
    /// `hubs` F32 `[k, 2]` (constant before the correction, mean similarity), and the metadata
    /// `hub_weight` and `hub_neighbours`; `weights` holds the corrected constants, so that decoding from
    /// the file needs none of these.
    ///
    /// # Errors
    /// [`Error::Basis`] if the file cannot be written; [`Error::OutOfRange`] when more than 2²⁴
    /// candidates share a row, because the file holds multiplicities as `f32`.
    pub fn save(&self, path: &Path, metadata: &BTreeMap<String, String>) -> Result<(), Error> {
        let counts = &self.classes.counts;
        if let Some(row) = counts.iter().position(|&count| count > EXACT) {
            return Err(Error::out_of_range(
                format!("{} candidates share the distinct row {row}", counts[row]),
                format!("at most {EXACT} in a file"),
            ));
        }
        let weights = interleaved(&self.constants, counts.iter().map(|&count| count as f32));
        let row_offsets: Vec<u64> =
            self.classes.offsets.iter().map(|&offset| offset as u64).collect();
        let ((ids, id_offsets), (labels, label_offsets)) =
            (joined(&self.ids), joined(&self.labels));
        let (rows, count) = (self.distinct(), self.len());
        let mut tensors = vec![
            Tensor::f32("coordinates", &[rows, self.dim], &self.coordinates),
            Tensor::f32("weights", &[rows, 2], &weights),
            Tensor::u64("row_offsets", &[rows + 1], &row_offsets),
            Tensor::u32("members", &[count], &self.classes.members),
            Tensor::u8("ids", &[ids.len()], ids.as_bytes()),
            Tensor::u64("id_offsets", &[count + 1], &id_offsets),
            Tensor::u8("labels", &[labels.len()], labels.as_bytes()),
            Tensor::u64("label_offsets", &[count + 1], &label_offsets),
        ];
        let mut metadata = metadata.clone();
        if !self.hashes.is_empty() {
            tensors.push(Tensor::u64("hashes", &[rows], &self.hashes));
        }
        if self.added > 0 {
            metadata.insert(ADDED.to_owned(), self.added.to_string());
        }
        let hubs = self.correction.as_ref().map(|correction| {
            let means = correction.hubs.means().iter().copied();
            metadata.insert(HUB_WEIGHT.to_owned(), correction.weight.to_string());
            metadata.insert(HUB_NEIGHBOURS.to_owned(), correction.hubs.neighbours().to_string());
            interleaved(&correction.before, means)
        });
        if let Some(hubs) = &hubs {
            tensors.push(Tensor::f32("hubs", &[rows, 2], hubs));
        }
        Ok(store::Contents::new(KIND, VERSION, &metadata, &tensors).write(path)?)
    }

    /// Reads a file that [`Candidates::save`] wrote.
    ///
    /// # Errors
    /// As [`Candidates::open`]; [`Error::File`] when its tensors contradict one another; else as
    /// [`Candidates::new`].
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::read(&Self::open(path)?)
    }

    /// Opens a candidate file without reading it, for callers that need its metadata too.
    ///
    /// # Errors
    /// [`Error::Basis`] for a file that is missing, truncated, damaged, or of another kind or
    /// version.
    pub fn open(path: &Path) -> Result<Stored, Error> {
        Ok(Stored::open(path, KIND, VERSION)?)
    }

    /// Reads an open candidate file; see [`Candidates::open`].
    ///
    /// # Errors
    /// As [`Candidates::load`].
    pub fn read(stored: &Stored) -> Result<Self, Error> {
        let bad = |reason: String| Error::file(stored.path(), None, reason);
        let (shape, coordinates) = stored.f32("coordinates", 2)?;
        let (rows, dim) = (shape[0], shape[1]);
        let (constants, multiplicities) = pairs(stored, "weights", rows)?;
        let ids = split(stored, "ids", "id_offsets")?;
        let labels = split(stored, "labels", "label_offsets")?;
        let class = classes(stored, rows, ids.len())?;
        let (before, means) = match stored.names().any(|name| name == "hubs") {
            true => pairs(stored, "hubs", rows).map(|(before, means)| (before, Some(means)))?,
            false => (constants.clone(), None),
        };
        let coordinates = coordinates.into_owned();
        let hashes = match stored.names().any(|name| name == "hashes") {
            true => stored.u64("hashes", 1)?.1.into_owned(),
            false => Vec::new(),
        };
        let points = CandidateParts { dim, coordinates, constants: before, ..Default::default() };
        let parts = CandidateParts { ids, labels, class, hashes, ..points };
        let mut read = Self::new(parts)?;
        if stored.all_metadata().contains_key(ADDED) {
            read.added = stored.parsed(ADDED, "a number of candidates")?;
        }
        if let Some(means) = means {
            let neighbours = stored.parsed(HUB_NEIGHBOURS, "a number of neighbours")?;
            let weight = stored.parsed(HUB_WEIGHT, "a number from 0")?;
            read = read
                .with_hubs(Hubs::new(NonZeroUsize::get(neighbours), means), weight)
                .map_err(|error| bad(error.to_string()))?;
        }
        if read.constants != constants {
            return Err(bad("constants are not those that the hubs and their weight give".into()));
        }
        let counts = read.classes.counts.iter().map(|&count| count as f32);
        match counts.eq(multiplicities) {
            true => Ok(read),
            false => Err(bad("multiplicities are not the numbers of members".to_owned())),
        }
    }
}

/// The distinct row of each of `count` candidates.
fn classes(stored: &Stored, rows: usize, count: usize) -> Result<Vec<u32>, Error> {
    const NONE: u32 = u32::MAX;
    let bad = |reason: String| Err(Error::file(stored.path(), None, reason));
    let (_, members) = stored.u32("members", 1)?;
    let (_, offsets) = stored.u64("row_offsets", 1)?;
    if offsets.len() != rows + 1 || members.len() != count {
        return bad(format!(
            "{} row offsets and {} members for {rows} rows and {count} ids",
            offsets.len(),
            members.len()
        ));
    }
    let mut class = vec![NONE; count];
    for row in 0..rows {
        let range = offsets[row] as usize..offsets[row + 1] as usize;
        let Some(listed) = members.get(range) else {
            return bad(format!("row offsets {row} and {} are out of order", row + 1));
        };
        if listed.is_empty() {
            return bad(format!("row {row} has no members"));
        }
        for &member in listed {
            match class.get_mut(member as usize) {
                Some(class) if *class == NONE => *class = row as u32,
                _ => return bad(format!("row {row} has the member {member}")),
            }
        }
    }
    match class.iter().position(|&row| row == NONE) {
        Some(candidate) => bad(format!("candidate {candidate} belongs to no row")),
        None => Ok(class),
    }
}

/// Two columns, row by row.
fn interleaved(first: &[f32], second: impl Iterator<Item = f32>) -> Vec<f32> {
    first.iter().zip(second).flat_map(|(&first, second)| [first, second]).collect()
}

/// The columns of a tensor of two columns.
fn pairs(stored: &Stored, name: &str, rows: usize) -> Result<(Vec<f32>, Vec<f32>), Error> {
    let (shape, values) = stored.f32(name, 2)?;
    if shape != [rows, 2] {
        let reason = format!("{name} have shape {shape:?}, expected [{rows}, 2]");
        return Err(Error::file(stored.path(), None, reason));
    }
    let column = |at: usize| values.iter().skip(at).step_by(2).copied().collect();
    Ok((column(0), column(1)))
}

/// All texts in one, and where each starts and the last ends, in bytes.
fn joined(texts: &[String]) -> (String, Vec<u64>) {
    let mut offsets = vec![0];
    offsets.extend(texts.iter().scan(0, |end, text| {
        *end += text.len() as u64;
        Some(*end)
    }));
    (texts.concat(), offsets)
}

/// The inverse of [`joined`].
fn split(stored: &Stored, texts: &str, offsets: &str) -> Result<Vec<String>, Error> {
    let (_, bytes) = stored.u8(texts, 1)?;
    let (_, offsets) = stored.u64(offsets, 1)?;
    let text = |(at, ends): (usize, &[u64])| {
        let (start, end) = (ends[0], ends[1]);
        match bytes.get(start as usize..end as usize).map(std::str::from_utf8) {
            Some(Ok(text)) => Ok(text.to_owned()),
            _ => {
                let reason = format!("{texts} {at} (bytes {start}..{end}) is not a text");
                Err(Error::file(stored.path(), None, reason))
            }
        }
    };
    offsets.windows(2).enumerate().map(text).collect()
}
