use std::collections::HashSet;

use rand_chacha::rand_core::Rng;

use super::draw::{Draw, Stream};
use super::picked::Picked;
use crate::random::below;

pub(super) struct Subsampling {
    pub(super) replacement: bool,
}

impl Draw for Subsampling {
    fn usual(_: usize) -> Self {
        Self { replacement: false }
    }

    fn picks_rows(&self) -> bool {
        true
    }

    fn draw(&self, stream: &Stream) -> Result<Option<Picked>, String> {
        let (m, n) = (stream.m, stream.n);
        let mut random = stream.generator(0);
        let weight = (n as f64 / m as f64).sqrt();
        let outputs: Vec<usize> = if self.replacement {
            (0..m).map(|_| below(&mut random, n as u64) as usize).collect()
        } else {
            without_replacement(m, n, &mut random)
        };
        let picks = outputs.into_iter().enumerate().map(|(row, output)| (row, output, weight));
        Ok(Some(Picked::new(picks)))
    }
}

/// m distinct outputs of n, uniformly, increasing (Floyd's algorithm: m draws, m memory).
fn without_replacement(m: usize, n: usize, random: &mut impl Rng) -> Vec<usize> {
    let mut chosen = HashSet::with_capacity(m);
    for last in n - m..n {
        let output = below(random, last as u64 + 1) as usize;
        if !chosen.insert(output) {
            chosen.insert(last);
        }
    }
    let mut sorted: Vec<usize> = chosen.into_iter().collect();
    sorted.sort_unstable();
    sorted
}
