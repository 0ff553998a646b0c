//! The training texts nearest to a query.

use dsokr_basis::features::{NgramConfig, NgramKind, SparseRows, TfIdf};
use dsokr_basis::{Features, Kernel};
use dsokr_data::Split;
use dsokr_data::spectra::PeaksOf;

use crate::Error;
use crate::inputs::PrepareRows;
use crate::spectra::{MixtureConfig, MixtureInputs};

/// Training texts, and what a query is compared with.
pub(super) struct Training {
    pairs: Split,
    compared: Compared,
}

enum Compared {
    /// Words: the cosine of [`TfIdf`] weights, of the words that training texts have, and the texts that have each word,
    /// with its weight in them.
    Words(TfIdf, SparseRows),
    /// The peaks of spectra, by the probability product kernel.
    Peaks(Features),
}

/// How peaks of spectra are compared.
const PEAKS: MixtureInputs = MixtureInputs(MixtureConfig {
    of: PeaksOf::Peaks,
    deviation: 0.005,
    power: 0.5,
    intensity_deviation: None,
});

impl Training {
    /// Indexes training pairs, whose inputs must be texts, those of `spectra` where they are.
    pub(super) fn new(pairs: Split, spectra: bool) -> Result<Self, String> {
        let compared = match spectra {
            true => PEAKS.rows(&pairs).map(|rows| Compared::Peaks(rows.into_owned())),
            false => words(&pairs),
        };
        Ok(Self { pairs, compared: compared.map_err(|error| error.to_string())? })
    }

    /// The `count` nearest texts, the nearest first, with their ids and similarities; fewer if less have anything in
    /// common with the query.
    ///
    /// # Errors
    /// A query that is not a spectrum, where training texts are.
    pub(super) fn nearest(
        &self,
        query: &str,
        count: usize,
    ) -> Result<Vec<(&str, &str, f64)>, Error> {
        let texts = self.pairs.inputs.texts()?;
        let similarity: Vec<f64> = match &self.compared {
            Compared::Words(words, having) => {
                let mut similarity = vec![0.0_f32; texts.len()];
                for (word, weight) in words.transform(query) {
                    let (having, weights) = having.row(word as usize);
                    having
                        .iter()
                        .zip(weights)
                        .for_each(|(&at, own)| similarity[at as usize] += weight * own);
                }
                similarity.into_iter().map(f64::from).collect()
            }
            Compared::Peaks(rows) => {
                let query = PeaksOf::Peaks.positions(PEAKS.0.power, &[query.parse()?])?;
                let values = PEAKS.kernel(&Kernel::Linear).block(&Features::Sparse(query), rows)?;
                values.row(0).iter().copied().collect()
            }
        };
        let mut order: Vec<usize> = (0..texts.len()).filter(|&at| similarity[at] > 0.0).collect();
        order.sort_by(|&a, &b| similarity[b].total_cmp(&similarity[a]));
        let shown =
            |at: usize| (self.pairs.ids[at].as_str(), texts[at].as_str(), similarity[at].min(1.0));
        Ok(order.into_iter().take(count).map(shown).collect())
    }
}

fn words(pairs: &Split) -> Result<Compared, Error> {
    let texts = pairs.inputs.texts()?;
    let blocks = [NgramConfig::new(NgramKind::Words, 1, 1)];
    let words = TfIdf::fit(&blocks, texts.iter().map(String::as_str))?;
    let having = words.rows(texts)?.transposed()?;
    Ok(Compared::Words(words, having))
}
