use std::collections::HashMap;

use dsokr_core::random::finalise;
use dsokr_core::{Cancellation, Error};
use rayon::prelude::*;

use super::{Block, RowSource, read};

/// The classes of rows that are the same, bit for bit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distinct {
    /// The first occurrence of each distinct row, in order of appearance.
    pub representative: Vec<usize>,
    /// The distinct row of each row: an index into `representative`.
    pub class: Vec<u32>,
    /// The hash of each distinct row: 64 bits that equal rows share, on every machine and within a major
    /// version.
    pub hashes: Vec<u64>,
}

impl Distinct {
    /// Returns how many rows each distinct row stands for.
    pub fn multiplicity(&self) -> Vec<usize> {
        let mut count = vec![0; self.representative.len()];
        for &class in &self.class {
            count[class as usize] += 1;
        }
        count
    }
}

/// Finds the distinct rows, compared bit for bit (so 0.0 and −0.0 differ).
///
/// Rows are hashed in parallel, block by block; equal hashes are confirmed by comparing the rows.
///
/// ```
/// use dsokr_basis::features::{BitRows, Features, distinct};
///
/// let rows = Features::Bits(BitRows::from_indices(9, [[1, 8], [0, 1], [8, 1]])?);
/// let found = distinct(&rows)?;
/// assert_eq!(found.representative, [0, 1]);
/// assert_eq!(found.class, [0, 1, 0]);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] for more than 2³² − 1 rows; errors from reading the rows.
pub fn distinct(rows: &dyn RowSource) -> Result<Distinct, Error> {
    const BLOCK: usize = 4096;
    let len = rows.len();
    if u32::try_from(len).is_err() {
        return Err(Error::range(0, len, u32::MAX as usize));
    }
    let mut classes = Distinct { class: Vec::with_capacity(len), ..Distinct::default() };
    // Classes of one hash form a chain: `newest` holds its head, `older` the links.
    let mut newest: HashMap<u64, u32> = HashMap::new();
    let mut older: Vec<Option<u32>> = Vec::new();
    let starts: Vec<usize> = (0..len).step_by(BLOCK).collect();
    let stage = Cancellation::current().stage("search for equal rows", starts.len());
    for wave in starts.chunks(2 * rayon::current_num_threads()) {
        stage.advance(wave.len())?;
        let blocks: Vec<(Block, Vec<u64>)> = wave
            .par_iter()
            .map(|&start| {
                let block = read(rows, start..len.min(start + BLOCK))?;
                let hashes = (0..block.len()).map(|row| hash(&block, row)).collect();
                Ok((block, hashes))
            })
            .collect::<Result<_, Error>>()?;
        for (&start, (block, hashes)) in wave.iter().zip(&blocks) {
            for (row, &hash) in hashes.iter().enumerate() {
                let mut candidate = newest.get(&hash).copied();
                while let Some(class) = candidate {
                    let representative = classes.representative[class as usize];
                    let same = match representative.checked_sub(start) {
                        Some(within) => bytes(block, row) == bytes(block, within),
                        None => {
                            let other = read(rows, representative..representative + 1)?;
                            bytes(block, row) == bytes(&other, 0)
                        }
                    };
                    if same {
                        break;
                    }
                    candidate = older[class as usize];
                }
                classes.class.push(match candidate {
                    Some(class) => class,
                    None => {
                        let class = classes.representative.len() as u32;
                        classes.representative.push(start + row);
                        classes.hashes.push(hash);
                        older.push(newest.insert(hash, class));
                        class
                    }
                });
            }
        }
    }
    Ok(classes)
}

/// Returns the hash of a row: of each part its length, then its bytes, eight at a time.
fn hash(block: &Block, row: usize) -> u64 {
    let word = |hash: u64, word: u64| finalise(hash.rotate_left(32) ^ word).wrapping_add(1);
    bytes(block, row).iter().fold(0, |hash, part| {
        let (whole, rest) = part.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let words = whole.iter().chain([&last]).map(|bytes| u64::from_le_bytes(*bytes));
        words.fold(word(hash, part.len() as u64), word)
    })
}

/// Returns the bytes of a row.
fn bytes<'b>(block: &'b Block, row: usize) -> [&'b [u8]; 2] {
    match block {
        Block::Dense(rows) => [bytemuck::cast_slice(rows.row(row)), &[]],
        Block::Bits(rows) => [bytemuck::cast_slice(rows.row(row)), &[]],
        Block::Sparse(rows) => {
            let (columns, values) = rows.row(row);
            [bytemuck::cast_slice(columns), bytemuck::cast_slice(values)]
        }
    }
}
