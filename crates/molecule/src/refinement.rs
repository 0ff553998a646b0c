//! Colour refinement (Weisfeiler and Lehman) with a hash that is the same on every machine.

/// Combines two words so that order matters, with the finaliser of SplitMix64.
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    let mut z = (hash.rotate_left(5) ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A 32-bit code of words in their order. It has both halves of the hash, so that codes that share a column at one
/// width need not share one at another.
pub(crate) fn code_of(words: &[u64]) -> u32 {
    let hash = words.iter().copied().fold(0, mix);
    (hash ^ (hash >> 32)) as u32
}

/// Hash of a graph: equal for isomorphic graphs. The arguments are those of [`refined`].
pub(crate) fn graph_hash(colors: Vec<u64>, edges: impl FnMut(usize) -> Vec<(u64, usize)>) -> u64 {
    unordered(refined(colors, edges), 0)
}

/// The colours of the nodes of a graph after refinement.
///
/// `colors` are the labels of the nodes, `edges(i)` the edges of node i as (label, other end).
/// There are as many rounds as nodes, more than refinement can need.
pub(crate) fn refined(colors: Vec<u64>, edges: impl FnMut(usize) -> Vec<(u64, usize)>) -> Vec<u64> {
    let edges: Vec<Vec<(u64, usize)>> = (0..colors.len()).map(edges).collect();
    let rounds = colors.len();
    refined_by(colors, &edges, rounds)
}

/// As [`refined`], by a number of rounds.
pub(crate) fn refined_by(
    mut colors: Vec<u64>,
    edges: &[Vec<(u64, usize)>],
    rounds: usize,
) -> Vec<u64> {
    // the same memory in all rounds
    let (mut refined, mut words) = (colors.clone(), Vec::new());
    for _ in 0..rounds {
        for (node, edges) in edges.iter().take(colors.len()).enumerate() {
            words.clear();
            words.extend(edges.iter().map(|&(label, end)| mix(label, colors[end])));
            refined[node] = sorted(&mut words, colors[node]);
        }
        std::mem::swap(&mut colors, &mut refined);
    }
    colors
}

/// Mixes a multiset of words into `start`.
pub(crate) fn unordered(mut words: Vec<u64>, start: u64) -> u64 {
    sorted(&mut words, start)
}

/// As [`unordered`], of words whose memory is used again; they end up sorted.
pub(crate) fn sorted(words: &mut [u64], start: u64) -> u64 {
    words.sort_unstable();
    words.iter().copied().fold(start, mix)
}
