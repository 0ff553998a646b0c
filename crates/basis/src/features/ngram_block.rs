use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::ngram_config::CasedText;
use super::{NgramConfig, bucket};
use crate::Error;
use crate::random::{Fnv, finalise};

/// Weights of n-grams, `ln((1 + n) / (1 + df)) + 1` with df ≤ n, of any number of texts.
const WEIGHTS: std::ops::RangeInclusive<f32> = 1.0..=64.0;

/// Texts of which one task counts the n-grams.
const TEXTS: usize = 256;

/// A hasher that is the same in every process, and faster on short words than the standard one.
#[derive(Default)]
struct Words(Fnv);

impl Hasher for Words {
    fn finish(&self) -> u64 {
        finalise(self.0.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }
}

type TermMap<V> = HashMap<String, V, BuildHasherDefault<Words>>;

/// The n-grams of one configuration that were kept of the training texts, and their weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NgramBlock {
    ngrams: NgramConfig,
    /// Terms in the order of their indices; empty when hashed.
    terms: Vec<String>,
    pub(super) idf: Vec<f32>,
    #[serde(skip)]
    index: TermMap<u32>,
}

impl NgramBlock {
    /// Counts in how many texts each n-gram occurs, in parallel.
    ///
    /// # Errors
    /// As [`NgramConfig::validate`].
    pub(super) fn fit(ngrams: &NgramConfig, texts: &[CasedText]) -> Result<Self, Error> {
        ngrams.validate()?;
        let count = texts.len();
        let idf = |df: u32| ((1.0 + count as f64) / (1.0 + f64::from(df))).ln() as f32 + 1.0;
        let mut block = Self {
            ngrams: ngrams.clone(),
            terms: Vec::new(),
            idf: Vec::new(),
            index: TermMap::default(),
        };
        if ngrams.buckets > 0 {
            let mut frequency = vec![0u32; ngrams.buckets];
            for text in texts {
                let mut seen = Vec::new();
                ngrams.each(text, &mut |term| seen.push(bucket(term, ngrams.buckets as u32)));
                seen.sort_unstable();
                seen.dedup();
                seen.iter().for_each(|&i| frequency[i as usize] += 1);
            }
            block.idf = frequency.into_iter().map(idf).collect();
            return Ok(block);
        }
        // Counts add up to the same whatever the chunks, and terms are sorted in the end.
        let counted: Vec<TermMap<(u32, usize)>> =
            texts.par_chunks(TEXTS).map(|texts| frequencies(ngrams, texts)).collect();
        let mut frequency: TermMap<u32> = TermMap::default();
        for (term, (df, _)) in counted.into_iter().flatten() {
            *frequency.entry(term).or_default() += df;
        }
        let mut kept: Vec<(String, u32)> =
            frequency.into_iter().filter(|(_, df)| *df as usize >= ngrams.min_texts).collect();
        kept.par_sort_unstable();
        block.idf = kept.iter().map(|(_, df)| idf(*df)).collect();
        block.terms = kept.into_iter().map(|(term, _)| term).collect();
        block.fill_index();
        Ok(block)
    }

    /// Checks a block that was read from a file, and makes what the file does not hold.
    pub(super) fn complete(&mut self) -> Result<(), String> {
        self.ngrams.validate().map_err(|error| error.to_string())?;
        let (terms, weights) = (self.terms.len(), self.idf.len());
        let whole = match self.ngrams.buckets {
            0 => terms == weights,
            buckets => terms == 0 && weights == buckets,
        };
        if !whole {
            return Err("terms and weights do not belong together".into());
        }
        if let Some(weight) = self.idf.iter().find(|weight| !WEIGHTS.contains(*weight)) {
            let (least, most) = (WEIGHTS.start(), WEIGHTS.end());
            return Err(format!("a weight of {weight}, allowed: {least} to {most}"));
        }
        self.fill_index();
        Ok(())
    }

    fn fill_index(&mut self) {
        self.index = self.terms.iter().cloned().zip(0..).collect();
    }

    /// (index, count) of the block's n-grams in a text, ascending.
    pub(super) fn counts(&self, text: &CasedText) -> Vec<(u32, u32)> {
        let mut found: Vec<u32> = Vec::new();
        let buckets = self.ngrams.buckets;
        self.ngrams.each(text, &mut |term| {
            if buckets > 0 {
                found.push(bucket(term, buckets as u32));
            } else if let Some(&index) = self.index.get(term) {
                found.push(index);
            }
        });
        found.sort_unstable();
        let runs = found.chunk_by(|a, b| a == b);
        runs.map(|run| (run[0], run.len() as u32)).collect()
    }
}

/// For each n-gram of some texts, in how many it occurs, and the last of them.
fn frequencies(ngrams: &NgramConfig, texts: &[CasedText]) -> TermMap<(u32, usize)> {
    let mut frequency: TermMap<(u32, usize)> = TermMap::default();
    for (i, text) in texts.iter().enumerate() {
        ngrams.each(text, &mut |term| match frequency.get_mut(term) {
            Some((_, last)) if *last == i => {}
            Some((df, last)) => (*df, *last) = (*df + 1, i),
            None => {
                frequency.insert(term.to_string(), (1, i));
            }
        });
    }
    frequency
}
