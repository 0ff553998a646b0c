//! The random choices of a description, as integers that are the same on every machine.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A stream of choices that depends on nothing but (seed, purpose, key).
#[derive(Debug, Clone)]
pub(crate) struct Draw(ChaCha8Rng);

impl Draw {
    /// The stream for one purpose and one key, such as a molecule's id.
    pub(crate) fn new(seed: u64, purpose: &str, key: &str) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&fnv1a(purpose).to_le_bytes());
        bytes[16..24].copy_from_slice(&fnv1a(key).to_le_bytes());
        Self(ChaCha8Rng::from_seed(bytes))
    }

    /// An index below `n`; 0 if `n` is 0. The bias is below n / 2⁶⁴.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let product = u128::from(self.0.next_u64()) * n as u128;
        (product >> 64) as usize
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `options`; they must not be empty.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, options: &[&'a T]) -> &'a T {
        options[self.below(options.len())]
    }

    /// Fisher and Yates.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// FNV-1a, 64 bits.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
