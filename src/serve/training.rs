//! The training texts nearest to a query.

use std::collections::{BTreeMap, HashMap};

use dsokr_data::{Inputs, Split};

/// Training texts by their words: the cosine of the weights `tf · (ln((1 + n) / (1 + df)) + 1)`, for n texts of
/// which df have the word.
pub(super) struct Training {
    ids: Vec<String>,
    texts: Vec<String>,
    words: HashMap<String, usize>,
    /// For each word its inverse document frequency, and the texts that have it with their weights.
    entries: Vec<(f32, Vec<(u32, f32)>)>,
}

/// The words of a text, in small letters.
fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric());
    parts.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// How often a text has each word, in the order of the words, so that sums do not depend on hashing.
fn counts(text: &str) -> BTreeMap<String, f32> {
    let mut counts = BTreeMap::new();
    words(text).for_each(|word| *counts.entry(word).or_insert(0.0) += 1.0);
    counts
}

impl Training {
    /// Indexes training pairs, whose inputs must be texts.
    pub(super) fn new(pairs: Split) -> Result<Self, String> {
        let texts = match pairs.inputs {
            Inputs::Texts(texts) => texts,
            Inputs::Vectors(_) | Inputs::Kernels(_) => return Err("inputs are no texts".into()),
        };
        let (mut places, mut entries) = (HashMap::new(), Vec::<(f32, Vec<(u32, f32)>)>::new());
        for (at, text) in (0..).zip(&texts) {
            for (word, count) in counts(text) {
                let place = *places.entry(word).or_insert(entries.len());
                if place == entries.len() {
                    entries.push((0.0, Vec::new()));
                }
                entries[place].1.push((at, count));
            }
        }
        let mut squares = vec![0.0_f32; texts.len()];
        for (idf, having) in &mut entries {
            *idf = ((1.0 + texts.len() as f32) / (1.0 + having.len() as f32)).ln() + 1.0;
            for (text, weight) in having {
                *weight *= *idf;
                squares[*text as usize] += *weight * *weight;
            }
        }
        let having = entries.iter_mut().flat_map(|(_, having)| having);
        having.for_each(|(text, weight)| *weight /= squares[*text as usize].sqrt());
        Ok(Self { ids: pairs.ids, texts, words: places, entries })
    }

    /// The `count` nearest texts that share a word, the nearest first: the id of the output, the text and the
    /// similarity of each.
    pub(super) fn nearest(&self, query: &str, count: usize) -> Vec<(&str, &str, f64)> {
        let mut similarity = vec![0.0_f32; self.texts.len()];
        let mut square = 0.0;
        for (word, count) in counts(query) {
            let Some(&place) = self.words.get(&word) else {
                // a word that no training text has
                let idf = (1.0 + self.texts.len() as f32).ln() + 1.0;
                square += (count * idf).powi(2);
                continue;
            };
            let (idf, having) = &self.entries[place];
            square += (count * idf).powi(2);
            having.iter().for_each(|&(text, own)| similarity[text as usize] += count * idf * own);
        }
        let mut order: Vec<usize> =
            (0..self.texts.len()).filter(|&text| similarity[text] > 0.0).collect();
        let nearer =
            |&a: &usize, &b: &usize| similarity[b].total_cmp(&similarity[a]).then(a.cmp(&b));
        order.sort_unstable_by(nearer);
        order.truncate(count);
        let shown = |text: usize| {
            let cosine = f64::from(similarity[text] / f32::sqrt(square)).min(1.0);
            (self.ids[text].as_str(), self.texts[text].as_str(), cosine)
        };
        order.into_iter().map(shown).collect()
    }
}
