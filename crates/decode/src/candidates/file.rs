use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::store::{self, Stored, Tensor};

use super::Candidates;
use crate::{Error, Hubs};

/// The kind of candidate files.
const KIND: &str = "candidates";
/// The version of the layout of candidate files.
const VERSION: u32 = 1;
/// Metadata keys of a correction for hubs.
const HUB_WEIGHT: &str = "hub_weight";
const HUB_NEIGHBOURS: &str = "hub_neighbours";
/// Integers up to here are exact in f32.
const EXACT: u32 = 1 << 24;

impl Candidates {
    /// Writes a `candidates` file: versioned, checksummed, replaced atomically.
    ///
    /// Besides `metadata` it holds the tensors `coordinates` F32 `[k, p]`, `weights` F32 `[k, 2]`
    /// (constant, multiplicity), `row_offsets` U64 `[k + 1]` and `members` U32 `[c]` (the
    /// candidates of each row), `ids` and `labels` U8 (all texts joined), `id_offsets` and
    /// `label_offsets` U64 `[c + 1]`. Candidates that are corrected for [`hubs`](Self::hubs) also have
    /// `hubs` F32 `[k, 2]` (constant before the correction, mean similarity), and the metadata
    /// `hub_weight` and `hub_neighbours`; `weights` holds the corrected constants, so that decoding from
    /// the file needs none of these.
    ///
    /// # Errors
    /// [`Error::Store`]; [`Error::TooManyMembers`] when more than 2²⁴ candidates share a row, for
    /// the file holds multiplicities as `f32`.
    pub fn save(&self, path: &Path, metadata: &BTreeMap<String, String>) -> Result<(), Error> {
        if let Some(row) = self.multiplicities.iter().position(|&count| count > EXACT) {
            let found = self.multiplicities[row];
            return Err(Error::TooManyMembers { row, found, most: EXACT });
        }
        let weights: Vec<f32> = self
            .constants
            .iter()
            .zip(&self.multiplicities)
            .flat_map(|(&constant, &multiplicity)| [constant, multiplicity as f32])
            .collect();
        let row_offsets: Vec<u64> = self.offsets.iter().map(|&offset| offset as u64).collect();
        let ((ids, id_offsets), (labels, label_offsets)) =
            (joined(&self.ids), joined(&self.labels));
        let (rows, count) = (self.distinct(), self.len());
        let mut tensors = vec![
            Tensor::f32("coordinates", &[rows, self.dim], &self.coordinates),
            Tensor::f32("weights", &[rows, 2], &weights),
            Tensor::u64("row_offsets", &[rows + 1], &row_offsets),
            Tensor::u32("members", &[count], &self.members),
            Tensor::u8("ids", &[ids.len()], ids.as_bytes()),
            Tensor::u64("id_offsets", &[count + 1], &id_offsets),
            Tensor::u8("labels", &[labels.len()], labels.as_bytes()),
            Tensor::u64("label_offsets", &[count + 1], &label_offsets),
        ];
        let Some(correction) = &self.correction else {
            return Ok(store::Contents::new(KIND, VERSION, metadata, &tensors).write(path)?);
        };
        let before = correction.before.iter().zip(correction.hubs.means());
        let hubs: Vec<f32> = before.flat_map(|(&constant, &mean)| [constant, mean]).collect();
        tensors.push(Tensor::f32("hubs", &[rows, 2], &hubs));
        let mut metadata = metadata.clone();
        metadata.insert(HUB_WEIGHT.to_owned(), correction.weight.to_string());
        metadata.insert(HUB_NEIGHBOURS.to_owned(), correction.hubs.neighbours().to_string());
        Ok(store::Contents::new(KIND, VERSION, &metadata, &tensors).write(path)?)
    }

    /// Reads a file that [`Candidates::save`] wrote.
    ///
    /// # Errors
    /// [`Error::Store`] for a file that is missing, truncated, damaged, or of another kind or
    /// version; [`Error::BadFile`] when its tensors contradict one another; else as
    /// [`Candidates::new`].
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::read(&Self::open(path)?)
    }

    /// Opens a candidate file without reading it, for callers that need its metadata too.
    ///
    /// # Errors
    /// [`Error::Store`] for a file that is missing, truncated, damaged, or of another kind or
    /// version.
    pub fn open(path: &Path) -> Result<Stored, Error> {
        Ok(Stored::open(path, KIND, VERSION)?)
    }

    /// Reads an open candidate file; see [`Candidates::open`].
    ///
    /// # Errors
    /// As [`Candidates::load`].
    pub fn read(stored: &Stored) -> Result<Self, Error> {
        let bad = |reason: String| Error::BadFile { path: stored.path().to_owned(), reason };
        let (shape, coordinates) = stored.f32("coordinates", 2)?;
        let (rows, dim) = (shape[0], shape[1]);
        let (shape, weights) = stored.f32("weights", 2)?;
        if shape != [rows, 2] {
            return Err(bad(format!("weights have shape {shape:?}, expected [{rows}, 2]")));
        }
        let constants: Vec<f32> = weights.iter().step_by(2).copied().collect();
        let ids = split(stored, "ids", "id_offsets")?;
        let labels = split(stored, "labels", "label_offsets")?;

        let (_, members) = stored.u32("members", 1)?;
        let (_, offsets) = stored.u64("row_offsets", 1)?;
        let count = ids.len();
        if offsets.len() != rows + 1 || members.len() != count {
            let (rows_found, found) = (offsets.len(), members.len());
            return Err(bad(format!(
                "{rows_found} row offsets and {found} members for {rows} rows and {count} ids"
            )));
        }
        const NONE: u32 = u32::MAX;
        let mut class = vec![NONE; count];
        for row in 0..rows {
            let range = offsets[row] as usize..offsets[row + 1] as usize;
            let Some(listed) = members.get(range) else {
                return Err(bad(format!("row offsets {row} and {} are out of order", row + 1)));
            };
            if listed.is_empty() {
                return Err(bad(format!("row {row} has no members")));
            }
            for &member in listed {
                match class.get_mut(member as usize) {
                    Some(class) if *class == NONE => *class = row as u32,
                    _ => return Err(bad(format!("row {row} has the member {member}"))),
                }
            }
        }
        if let Some(candidate) = class.iter().position(|&row| row == NONE) {
            return Err(bad(format!("candidate {candidate} belongs to no row")));
        }
        let (coordinates, mut correction) = (coordinates.into_owned(), None);
        let before = match stored.names().any(|name| name == "hubs") {
            true => {
                let (shape, hubs) = stored.f32("hubs", 2)?;
                if shape != [rows, 2] {
                    return Err(bad(format!("hubs have shape {shape:?}, expected [{rows}, 2]")));
                }
                let means = hubs.iter().skip(1).step_by(2).copied().collect();
                let neighbours = stored.parsed(HUB_NEIGHBOURS, "a number of neighbours")?;
                let weight = stored.parsed(HUB_WEIGHT, "a number from 0")?;
                correction = Some((Hubs::stored(neighbours, means), weight));
                hubs.iter().step_by(2).copied().collect()
            }
            false => constants.clone(),
        };
        let mut read = Self::new(ids, labels, class, dim, coordinates, before)?;
        if let Some((hubs, weight)) = correction {
            read = read.with_hubs(hubs, weight).map_err(|error| bad(error.to_string()))?;
        }
        if read.constants != constants {
            return Err(bad("constants are not those that the hubs and their weight give".into()));
        }
        let mut written = weights.iter().skip(1).step_by(2);
        if read.multiplicities.iter().any(|&count| written.next() != Some(&(count as f32))) {
            return Err(bad("multiplicities are not the numbers of members".to_owned()));
        }
        Ok(read)
    }
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
    offsets
        .windows(2)
        .enumerate()
        .map(|(at, ends)| text(stored, texts, &bytes, at, ends[0], ends[1]).map(str::to_owned))
        .collect()
}

/// Text number `at`, the bytes `start..end` of a joined tensor.
pub(crate) fn text<'b>(
    stored: &Stored,
    name: &str,
    bytes: &'b [u8],
    at: usize,
    start: u64,
    end: u64,
) -> Result<&'b str, Error> {
    let text = bytes.get(start as usize..end as usize).map(std::str::from_utf8);
    match text {
        Some(Ok(text)) => Ok(text),
        _ => Err(Error::BadFile {
            path: stored.path().to_owned(),
            reason: format!("{name} {at} (bytes {start}..{end}) is not a text"),
        }),
    }
}
