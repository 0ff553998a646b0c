//! The reranker at the first candidates of a query, learned from training pairs.

use std::sync::{Arc, OnceLock};

use dsokr_data::{DataRoot, Dataset};
use dsokr_decode::{
    CandidateBlocks, Candidates, Lexicon, Neighbourhood, Queries, Reranker, RerankerExamples,
    RerankerFeatures, Words,
};
use rayon::prelude::*;
use tracing::info;

use crate::config::RerankerConfig;
use crate::config::folds::repeated;
use crate::decoding::lexicon::MoleculeLexicon;
use crate::error::{Error, ensure};
use crate::learners::learner::{Fit, WithoutPart};
use crate::metrics::molecules::are_smiles;
use crate::run_dir::HeldOut;
use crate::targets::memory::Need;
use crate::targets::{OutputTargets, Problem};

/// Checks the settings against the number n of training pairs.
pub(super) fn check(settings: &RerankerConfig, n: usize) -> Result<(), Error> {
    let rest = settings.parts().rest(n);
    let key = "decoding.reranker.neighbours";
    let found = settings.neighbours;
    let allowed = format_args!("1 to {rest}, the number of training pairs without a part");
    ensure(found <= rest, key, found, allowed)
}

/// Words of texts and facts about outputs, as the training pairs have them.
pub(super) struct PairWords<'a> {
    lexicon: Arc<dyn Lexicon>,
    texts: &'a [String],
    /// Of each training pair what its text says and what holds of its output.
    pairs: Vec<(Vec<bool>, Vec<Option<bool>>)>,
}

impl<'a> PairWords<'a> {
    /// Those of the settings; none where these have no words.
    pub fn read(
        settings: &RerankerConfig,
        problem: &'a Problem,
        candidates: &Candidates,
    ) -> Result<Option<Self>, Error> {
        let Some(lexicon) = read_lexicon(settings, &problem.root)? else { return Ok(None) };
        let dataset: &Dataset = &problem.dataset;
        let refused = |allowed| Err(Error::value("decoding.reranker.words", "given", allowed));
        let Ok(texts) = dataset.train.inputs.texts() else {
            return refused("absent: inputs are not texts");
        };
        if !are_smiles(candidates) {
            return refused("absent, or with the column of SMILES as output.label");
        }
        let holds = |output: &Option<usize>| match output {
            Some(output) => lexicon.holds(&dataset.outputs.labels[*output]),
            None => vec![Some(false); lexicon.len()],
        };
        let pairs = texts.par_iter().zip(&dataset.train.outputs);
        let pairs = pairs.map(|(text, output)| (lexicon.said(text), holds(output))).collect();
        Ok(Some(Self { lexicon, texts, pairs }))
    }

    /// The lexicon as a text.
    pub fn lexicon(&self) -> &str {
        self.lexicon.text()
    }

    /// The weights by some training pairs.
    fn fit(&self, pairs: impl Iterator<Item = usize>) -> Result<Words, Error> {
        let pairs = pairs.map(|pair| &self.pairs[pair]);
        let pairs = pairs.map(|(said, holds)| (said.as_slice(), holds.as_slice()));
        Ok(Words::fit(Arc::clone(&self.lexicon), pairs)?)
    }
}

/// The lexicon of the settings; none where these have no words.
fn read_lexicon(
    settings: &RerankerConfig,
    root: &DataRoot,
) -> Result<Option<Arc<dyn Lexicon>>, Error> {
    let Some(settings) = &settings.words else { return Ok(None) };
    let file = settings.lexicon.as_ref().map(|file| root.file(file));
    let lexicon = MoleculeLexicon::read(file.as_deref()).map_err(|error| match error {
        Error::NotFound { path, .. } => {
            let hint = ", which decoding.reranker.words.lexicon names";
            Error::NotFound { path, hint: hint.into() }
        }
        other => other,
    });
    Ok(Some(Arc::new(lexicon?)))
}

/// The memory of words and facts; none where the reranker has no words.
pub(super) fn words_need(problem: &Problem) -> Result<Option<Need>, Error> {
    let Some(settings) = &problem.config.decoding.reranker else { return Ok(None) };
    let Some(lexicon) = read_lexicon(settings, &problem.root)? else { return Ok(None) };
    let dataset = &problem.dataset;
    // of a training pair what its text says and what holds of its output, of a candidate what holds
    let lists = 2 * dataset.train.ids.len() + dataset.outputs.candidates.len();
    let list = lexicon.len() + size_of::<OnceLock<Vec<Option<bool>>>>();
    let what = "words of texts and facts";
    Ok(Some(Need::memory("decoding.reranker.words", what, lists as f64 * list as f64)))
}

/// Predictions for each part of the training pairs by a model that was fitted without it: left behind by the fit, or made
/// by further fits.
pub(super) fn without_parts(
    settings: &RerankerConfig,
    problem: &Problem,
    learner: &dyn Fit,
    targets: &OutputTargets,
) -> Result<Vec<WithoutPart>, Error> {
    let parts = settings.parts().draw(&problem.dataset, problem.config.seed)?;
    let allowed = "absent: this encoder gives no answers without a part of the pairs";
    let none = || Error::value("decoding.reranker", "given", allowed);
    learner.without(targets, &parts)?.ok_or_else(none)
}

/// A fitted reranker.
pub(super) struct Reranked {
    pub reranker: Reranker,
    /// Where a run keeps held-out predictions: those for its first part, with a reranker that has not seen that part.
    pub without_part: Option<(HeldOut, Reranker)>,
}

/// What a training pair shows of an unseen query, with a part of the pairs left out.
struct UnseenPart {
    /// Number of examples of this part.
    examples: usize,
    predictions: HeldOut,
    reranker_features: RerankerFeatures,
}

/// Fits the reranker of candidates that are corrected for hubs as the configuration says. Each of the `parts` has
/// predictions of a model without it, and `held_out` are leave-one-out predictions for all training pairs.
///
/// A training pair shows what the first candidates of an unseen query look like if nothing has seen its output: neither
/// the model, nor the hub constants, nor the predictions that it is compared with. So they are made
/// anew without each part of the pairs. So are the weights of words.
///
/// Outputs have one text each in many data sets, so of these examples the network learns that training outputs are not
/// the answers. Some of the pairs that the model knows are examples too: a text that comes again, or nearly so, finds
/// its output.
pub(super) fn fit(
    settings: &RerankerConfig,
    words: Option<&PairWords>,
    parts: &[WithoutPart],
    problem: &Problem,
    targets: &OutputTargets,
    candidates: &Candidates,
    held_out: &HeldOut,
) -> Result<Reranked, Error> {
    let p = candidates.dim();
    let seed = problem.config.seed;
    let ids = &problem.dataset.train.ids;
    let outputs = targets.coordinates()?;
    let mut examples = RerankerExamples::new(settings.candidates);
    let mut first: Option<UnseenPart> = None;
    let all_words = match words {
        Some(words) => Some(words.fit(0..ids.len())?.for_rows(candidates.distinct())),
        None => None,
    };
    for part in parts {
        let leave_one_out = Queries::new(p, &part.rest.predictions)?.normalised();
        let among = candidates.clone().with_hubs_like(candidates, &leave_one_out)?;
        let rest = &part.rest.pairs;
        let known = rest.iter().flat_map(|pair| &outputs[pair * p..][..p]).copied().collect();
        let neighbourhood = Neighbourhood::new(p, leave_one_out, known, settings.neighbours)?;
        let shown = [part.part.pairs.as_slice(), &repeated(rest)].concat();
        let part_words = words
            .zip(all_words.as_ref())
            .map(|(words, all)| Ok::<_, Error>(words.fit(rest.iter().copied())?.with_rows_of(all)));
        let reranker_features = RerankerFeatures { neighbourhood, words: part_words.transpose()? };
        let of_model = [part.part.predictions.as_slice(), &part.fitted].concat();
        let mut predictions = Queries::new(p, &of_model)?.normalised();
        let mut texts: Option<Vec<String>> =
            words.map(|words| shown.iter().map(|&pair| words.texts[pair].clone()).collect());
        let queries = Queries::new(p, &predictions)?;
        let queries = match &texts {
            Some(texts) => queries.with_texts(texts)?,
            None => queries,
        };
        let row = |&pair: &usize| among.find(&ids[pair]).map(|at| among.class_of(at));
        let gold: Vec<Option<u32>> = shown.iter().map(row).collect();
        examples.add(&queries, &gold, &among, &reranker_features)?;
        if first.is_none() && problem.config.decoding.held_out {
            predictions.truncate(part.part.predictions.len());
            texts.iter_mut().for_each(|texts| texts.truncate(part.part.pairs.len()));
            let predictions = HeldOut { predictions, texts, ..part.part.clone() };
            first = Some(UnseenPart { examples: examples.len(), predictions, reranker_features });
        }
    }
    if examples.is_empty() {
        let allowed = "absent: no output of a training pair is among its first candidates";
        return Err(Error::value("decoding.reranker", "given", allowed));
    }
    let unit = Queries::new(p, &held_out.predictions)?.normalised();
    let neighbourhood = Neighbourhood::new(p, unit, outputs, settings.neighbours)?;
    let reranker_features = RerankerFeatures { neighbourhood, words: all_words };
    info!(queries = examples.len(), "reranker fitted");
    let without_part = match first {
        Some(unseen) => {
            let others = examples.without_first(unseen.examples);
            // a single part has no others
            let others = if others.is_empty() { &examples } else { &others };
            Some((unseen.predictions, Reranker::fit(others, unseen.reranker_features, seed)?))
        }
        None => None,
    };
    Ok(Reranked { reranker: Reranker::fit(&examples, reranker_features, seed)?, without_part })
}
