//! The only source of randomness: a generator is a value derived from (seed, purpose, step).
//!
//! Two draws share a stream only when all three agree, so what is drawn at step s + 1 does not
//! depend on how much was drawn at step s: a resumed run draws what an uninterrupted one would
//! have drawn, and blocks of a sketch can be drawn in any order, by any number of threads.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The one type of generator: ChaCha8, whose stream is the same on every machine.
pub type Generator = ChaCha8Rng;

/// Returns the generator of (`seed`, `purpose`, `step`).
///
/// Its 32-byte key is four little-endian words; word l (0 to 3) is the SplitMix64 finaliser of the
/// 64-bit FNV-1a hash of the bytes `l, seed (8, little-endian), purpose (UTF-8), 0xFF,
/// step (8, little-endian)`. 0xFF occurs in no UTF-8 text, so no two triples hash the same bytes.
/// The stream is ChaCha8. Neither will change within a major version.
///
/// ```
/// use dsokr_core::random::generator;
/// use rand_chacha::rand_core::Rng;
///
/// let draw = |seed, purpose, step| generator(seed, purpose, step).next_u64();
/// assert_eq!(draw(0, "shuffle", 7), draw(0, "shuffle", 7));
/// assert_ne!(draw(0, "shuffle", 7), draw(0, "shuffle", 8));
/// assert_ne!(draw(0, "shuffle", 7), draw(0, "dropout", 7));
/// ```
pub fn generator(seed: u64, purpose: &str, step: u64) -> Generator {
    let mut key = [0; 32];
    for (lane, word) in key.chunks_exact_mut(8).enumerate() {
        let lane = [lane as u8];
        let seed = seed.to_le_bytes();
        let step = step.to_le_bytes();
        let parts = [&lane, &seed[..], purpose.as_bytes(), &[0xFF], &step];
        word.copy_from_slice(&finalise(fnv(parts.into_iter().flatten())).to_le_bytes());
    }
    ChaCha8Rng::from_seed(key)
}

/// Returns a uniform integer in `0..bound`, without bias (Lemire 2019, rejection on the low half).
///
/// `bound` must be at least 1; 0 counts as 1.
pub fn below(random: &mut impl Rng, bound: u64) -> u64 {
    let bound = bound.max(1);
    let mut product = u128::from(random.next_u64()) * u128::from(bound);
    if (product as u64) < bound {
        let threshold = bound.wrapping_neg() % bound;
        while (product as u64) < threshold {
            product = u128::from(random.next_u64()) * u128::from(bound);
        }
    }
    (product >> 64) as u64
}

/// Orders a list at random, every order as likely (Fisher and Yates, from the last place down).
pub fn shuffle<T>(list: &mut [T], random: &mut impl Rng) {
    for last in (1..list.len()).rev() {
        list.swap(last, below(random, last as u64 + 1) as usize);
    }
}

/// Returns a uniform number in the half-open interval (0, 1], a multiple of 2⁻⁵³.
pub fn unit(random: &mut impl Rng) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Returns a stable hash: the SplitMix64 finaliser of the 64-bit FNV-1a hash of `bytes`.
///
/// It does not change within a major version.
///
/// ```
/// use dsokr_core::random::hash;
///
/// assert_eq!(hash(b"C[C@H]"), 0x05294110CFC4F1CE);
/// ```
pub fn hash(bytes: &[u8]) -> u64 {
    finalise(fnv(bytes))
}

/// Returns the 64-bit FNV-1a hash of some bytes.
fn fnv<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> u64 {
    let next = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    bytes.into_iter().fold(0xCBF2_9CE4_8422_2325, next)
}

/// Returns the finaliser of SplitMix64 (Steele, Lea and Flood 2014, constants of Stafford's variant 13):
/// a bijection that spreads every input bit over the whole word. 0 stays 0.
pub fn finalise(hash: u64) -> u64 {
    let z = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
