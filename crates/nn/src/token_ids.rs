//! Token ids of many texts in one array, in memory or in a file.

use std::fs::File;
use std::io::{self, Write};
use std::ops::{Deref, Range};
use std::sync::Arc;

use burn::tensor::{Device, Int, Tensor, TensorData};

/// Largest number of ids that are held in memory, 16 MiB; more go to a file.
const HELD: usize = 1 << 22;

/// The token ids of one text: a slice of an array that many texts share. It dereferences to `[u32]`
/// and is cheap to clone.
///
/// ```
/// use dsokr_nn::{TokenIds, TokenIdsBuilder};
///
/// let mut texts = TokenIdsBuilder::default();
/// texts.push(&[2, 7, 9])?;
/// texts.push(&[2])?;
/// let texts = texts.finish()?;
/// assert_eq!(*texts[0], [2, 7, 9]);
/// assert_eq!(*texts[1], *TokenIds::from(vec![2]));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, derive_more::Debug)]
#[debug("{:?}", &**self)]
pub struct TokenIds {
    all: Arc<All>,
    range: Range<usize>,
}

enum All {
    Held(Vec<u32>),
    Mapped(memmap2::Mmap),
}

impl Deref for TokenIds {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        let all = match &*self.all {
            All::Held(ids) => ids,
            All::Mapped(map) => bytemuck::cast_slice(map),
        };
        &all[self.range.clone()]
    }
}

impl From<Vec<u32>> for TokenIds {
    fn from(ids: Vec<u32>) -> Self {
        Self { range: 0..ids.len(), all: Arc::new(All::Held(ids)) }
    }
}

/// Collects the ids of texts. Up to 16 MiB stay in memory. More are written to an unnamed temporary file
/// and mapped, so that the system may drop pages that are not in use. The file disappears with the last
/// of the ids.
#[derive(Debug, Default)]
pub struct TokenIdsBuilder {
    held: Vec<u32>,
    file: Option<File>,
    /// End of each text in the array of all.
    ends: Vec<usize>,
}

impl TokenIdsBuilder {
    /// Appends a text.
    ///
    /// # Errors
    /// A temporary file that cannot be created or written.
    pub fn push(&mut self, ids: &[u32]) -> io::Result<()> {
        self.held.extend_from_slice(ids);
        self.ends.push(self.ends.last().unwrap_or(&0) + ids.len());
        if self.held.len() > HELD { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.write_all(bytemuck::cast_slice(&self.held))?;
        self.held.clear();
        Ok(())
    }

    /// Returns the texts in the order of [`push`](Self::push).
    ///
    /// # Errors
    /// A temporary file that cannot be written or mapped.
    pub fn finish(mut self) -> io::Result<Vec<TokenIds>> {
        if self.file.is_some() && !self.held.is_empty() {
            self.spill()?;
        }
        let all = Arc::new(match &self.file {
            None => All::Held(self.held),
            // SAFETY: the file has no name, so no other process can change it; every bit pattern is
            // an id
            Some(file) => All::Mapped(unsafe { memmap2::Mmap::map(file) }?),
        });
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let pieces = starts.zip(&self.ends);
        Ok(pieces.map(|(start, &end)| TokenIds { all: all.clone(), range: start..end }).collect())
    }
}

/// A batch of id sequences, padded to the longest.
#[derive(Clone, Debug)]
pub struct Padded {
    /// The ids `[batch, length]`, padded with 0.
    pub ids: Tensor<2, Int>,
    /// 1 for an id and 0 for padding, `[batch, length, 1]`: a factor of token vectors.
    pub mask: Tensor<3>,
    /// Number of ids of each sequence `[batch, 1]`, at least 1.
    pub lengths: Tensor<2>,
}

/// Pads a batch of sequences with zeros to the length of the longest, at least 1.
///
/// Padding must not reach the output of an encoder: multiply by `mask` before every operation that
/// mixes positions, and before a sum over positions. [`contract::check`](crate::contract::check)
/// detects padding that does.
pub fn pad<T: Deref<Target = [u32]>>(batch: &[&T], device: &Device) -> Padded {
    let batch: Vec<&[u32]> = batch.iter().map(|ids| &***ids).collect();
    let length = batch.iter().map(|ids| ids.len()).max().unwrap_or(0).max(1);
    let mut ids = vec![0i32; batch.len() * length];
    let mut mask = vec![0.0f32; ids.len()];
    let rows = ids.chunks_exact_mut(length).zip(mask.chunks_exact_mut(length));
    for ((ids, mask), sequence) in rows.zip(&batch) {
        ids.iter_mut().zip(sequence.iter()).for_each(|(id, &given)| *id = given as i32);
        mask[..sequence.len()].fill(1.0);
    }
    let lengths: Vec<f32> = batch.iter().map(|ids| ids.len().max(1) as f32).collect();
    let shape = [batch.len(), length];
    Padded {
        ids: Tensor::from_data(TensorData::new(ids, shape), device),
        mask: Tensor::from_data(TensorData::new(mask, [batch.len(), length, 1]), device),
        lengths: Tensor::from_data(TensorData::new(lengths, [batch.len(), 1]), device),
    }
}
