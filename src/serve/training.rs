//! The training texts nearest to a query.

use dsokr_basis::features::{NgramConfig, NgramKind, SparseRows, TfIdf};
use dsokr_data::Split;

/// Training texts by their words: the cosine of [`TfIdf`] weights, of the words that training texts have.
pub(super) struct Training {
    pairs: Split,
    words: TfIdf,
    /// The texts that have each word, with its weight in them.
    having: SparseRows,
}

impl Training {
    /// Indexes training pairs, whose inputs must be texts.
    pub(super) fn new(pairs: Split) -> Result<Self, String> {
        let texts = pairs.inputs.texts().map_err(|_| "inputs are no texts")?;
        let words = [NgramConfig::new(NgramKind::Words, 1, 1)];
        let indexed = TfIdf::fit(&words, texts.iter().map(String::as_str));
        let indexed = indexed.and_then(|words| Ok((words.rows(texts)?.transposed()?, words)));
        let (having, words) = indexed.map_err(|error| error.to_string())?;
        Ok(Self { pairs, words, having })
    }

    /// The `count` nearest texts, the nearest first, with their ids and similarities; fewer if less have a word in
    /// common with the query.
    pub(super) fn nearest(&self, query: &str, count: usize) -> Vec<(&str, &str, f64)> {
        let texts = self.pairs.inputs.texts().unwrap_or_default();
        let mut similarity = vec![0.0_f32; texts.len()];
        for (word, weight) in self.words.transform(query) {
            let (having, weights) = self.having.row(word as usize);
            having
                .iter()
                .zip(weights)
                .for_each(|(&at, own)| similarity[at as usize] += weight * own);
        }
        let mut order: Vec<usize> = (0..texts.len()).filter(|&at| similarity[at] > 0.0).collect();
        order.sort_by(|&a, &b| similarity[b].total_cmp(&similarity[a]));
        let shown = |at: usize| {
            let similarity = f64::from(similarity[at]).min(1.0);
            (self.pairs.ids[at].as_str(), texts[at].as_str(), similarity)
        };
        order.into_iter().take(count).map(shown).collect()
    }
}
