//! Colour refinement (Weisfeiler and Lehman) with a hash that is the same on every machine.

/// Combines two words so that order matters, with the finaliser of SplitMix64.
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    let mut z = (hash.rotate_left(5) ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns a 32-bit code of words in their order. It has both halves of the hash, so that codes that share a column at
/// one width need not share one at a different width.
pub(crate) fn code_of(words: &[u64]) -> u32 {
    let hash = words.iter().copied().fold(0, mix);
    (hash ^ (hash >> 32)) as u32
}

/// Mixes a multiset of words into `start`.
pub(crate) fn unordered(mut words: Vec<u64>, start: u64) -> u64 {
    sorted(&mut words, start)
}

/// Computes the hash of [`unordered`] in place: `words` end up sorted, and their memory can be used again.
pub(crate) fn sorted(words: &mut [u64], start: u64) -> u64 {
    words.sort_unstable();
    words.iter().copied().fold(start, mix)
}
