//! The candidates and queries of the benchmark.

use std::ops::Range;

use dsokr_core::Error;
use dsokr_core::random::generator;
use dsokr_decode::{CandidateBlocks, ScoreBlock};
use half::f16;
use half::slice::HalfFloatSliceExt;
use half::vec::HalfFloatVecExt;
use rand_chacha::rand_core::Rng;

/// Candidates that are drawn where they are asked for: independent numbers, near enough to normal ones.
pub struct Drawn {
    pub rows: usize,
    pub dim: usize,
    /// Whether they are rounded to 16 bits.
    pub rounded: bool,
}

impl Drawn {
    /// Rows that are drawn from one generator.
    const ROWS: usize = 64;

    pub fn points(&self, rows: Range<usize>) -> Vec<f32> {
        let mut points = Vec::with_capacity(rows.len() * self.dim);
        let mut bytes = vec![0; Self::ROWS * self.dim * 8];
        let first = rows.start - rows.start % Self::ROWS;
        for start in (first..rows.end).step_by(Self::ROWS) {
            generator(0, "many candidates", (start / Self::ROWS) as u64).fill_bytes(&mut bytes);
            let part = rows.start.max(start) - start..rows.end.min(start + Self::ROWS) - start;
            let part = &bytes[8 * part.start * self.dim..8 * part.end * self.dim];
            // the sum of four uniform numbers, of variance 1
            points.extend(part.chunks_exact(8).map(|eight| {
                let sum: i32 = eight
                    .chunks_exact(2)
                    .map(|two| i32::from(u16::from_le_bytes([two[0], two[1]])))
                    .sum();
                (sum - 2 * 65_535) as f32 * (1.732_050_8 / 65_536.0)
            }));
        }
        if self.rounded { Vec::<f16>::from_f32_slice(&points).to_f32_vec() } else { points }
    }
}

impl CandidateBlocks for Drawn {
    fn dim(&self) -> usize {
        self.dim
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn candidates(&self) -> u64 {
        self.rows as u64
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        let count = rows.len();
        Ok(ScoreBlock {
            coordinates: self.points(rows).into(),
            constants: vec![0.0; count].into(),
            multiplicities: vec![1; count].into(),
        })
    }
}

/// Returns candidates, one after another, with noise of 1, 1.5 and 2 times their length, and which ones they are.
pub fn questions(drawn: &Drawn, count: usize) -> (Vec<f32>, Vec<Option<u32>>) {
    let golds = (0..count).map(|query| (query * (drawn.rows / count) + query) % drawn.rows);
    let golds: Vec<usize> = golds.collect();
    let noise = Drawn { rows: count, dim: drawn.dim, rounded: false };
    let behind = drawn.rows.next_multiple_of(Drawn::ROWS);
    let noise = noise.points(behind..behind + count);
    let mut queries = Vec::with_capacity(count * drawn.dim);
    for (query, (&gold, noise)) in golds.iter().zip(noise.chunks_exact(drawn.dim)).enumerate() {
        let size = 1.0 + (query % 3) as f32 / 2.0;
        let point = drawn.points(gold..gold + 1);
        queries.extend(point.iter().zip(noise).map(|(value, noise)| value + size * noise));
    }
    (queries, golds.into_iter().map(|gold| Some(gold as u32)).collect())
}
