//! The reranker at the first candidates of a query, learned from training pairs.

mod examples;
mod texts;

use dsokr_data::Dataset;
use dsokr_decode::{
    CandidateBlocks, Candidates, Queries, Reranker, RerankerExamples, RerankerFeatures,
};
use tracing::info;

use self::examples::{ExampleBuilder, FoldExamples};
pub(super) use self::texts::{PairTexts, texts_needs};
use crate::config::folds::REPEATED;
use crate::config::{HeldOutPredictions, RerankerConfig};
use crate::decoding::spectra::SpectrumEvidence;
use crate::error::{Error, ensure};
use crate::learners::learner::FoldPredictions;
use crate::run_dir::{HeldOut, UnseenPairs};
use crate::targets::memory::Need;
use crate::targets::{OutputTargets, Problem};

/// Multiplications of large products that take as long as one multiplication of a product that is summed in a fixed order.
const IN_ORDER: f64 = 4.0;

/// Multiplications of large products that take as long as reading a molecule and finding all facts of the program's lexicon,
/// or the words of a text.
const FACTS: f64 = 1e7;

/// Checks the settings against the number of training pairs that a query is compared with.
pub(super) fn check(settings: &RerankerConfig, compared: usize) -> Result<(), Error> {
    let key = "decoding.reranker.neighbours";
    let neighbours = settings.neighbours;
    let allowed =
        format_args!("1 to {compared}, the number of training pairs with held-out predictions");
    ensure(neighbours <= compared, key, neighbours, allowed)
}

/// Returns the memory and time of the reranker of a problem for p coordinates, without those of the fits whose predictions it
/// learns from; none where there is no reranker.
pub(super) fn need(problem: &Problem, p: usize) -> Option<Need> {
    let config = &problem.config;
    let settings = config.decoding.reranker.as_ref()?;
    let RerankerConfig { candidates: size, neighbours, .. } = *settings;
    let folds = settings.parts(config.encoder.abilities().held_out);
    let dataset: &Dataset = &problem.dataset;
    let n = problem.len();
    let part = n - folds.rest(n);
    let [n, part, p, size, parts, neighbours] =
        [n, part, p, size, folds.held_out_folds, neighbours].map(|count| count as f64);
    let candidates = dataset.outputs.candidates.len() as f64;
    let rest = n - part;
    let lists = if settings.spectra.is_some() { 2.0 } else { 1.0 };
    let queries = lists * parts * (part + rest / REPEATED as f64);
    let hubs = if config.decoding.hubs.is_some() { rest * candidates * p } else { 0.0 };
    // the queries of the validation split count twice: with the reranker and in the report
    let reranked = queries + 2.0 * dataset.validation.ids.len() as f64;
    let evidence = if settings.spectra.is_some() { SpectrumEvidence::LEN } else { 0 };
    let [examples, network] = Reranker::cost(queries, size, settings.words.is_some(), evidence);
    // scores of all candidates; products of queries with all pairs, of the first candidates with their neighbours' outputs, and of
    // the first candidates with one another
    let products = IN_ORDER * (rest + size * neighbours + size * size);
    let scoring = reranked * p * (candidates + products);
    let molecules = if settings.words.is_some() {
        FACTS * (n + part + candidates.min(reranked * size))
    } else {
        0.0
    };
    // predictions of all fits, the outputs and what is compared with them, and the candidates again
    let held = 4.0 * p * (parts * n + 4.0 * n + candidates);
    Some(Need {
        multiplications: parts * hubs + scoring + molecules + IN_ORDER * network,
        ..Need::memory("decoding.reranker", "the reranker", held + examples)
    })
}

/// A fitted reranker.
pub(super) struct FittedReranker {
    pub reranker: Reranker,
    /// A reranker that has not seen the first fold, and the pairs of this fold, where a run keeps held-out predictions; none
    /// where its examples cannot be divided.
    pub unseen: Option<(Reranker, UnseenPairs)>,
}

/// What a reranker is fitted to.
pub(super) struct RerankerTraining<'a> {
    pub settings: &'a RerankerConfig,
    /// What it compares of texts.
    pub texts: Option<&'a PairTexts<'a>>,
    pub problem: &'a Problem,
    pub targets: &'a OutputTargets,
    /// The candidates, corrected for hubs as the configuration says.
    pub candidates: &'a Candidates,
    /// Predictions for each fold by a model without it.
    pub folds: &'a [FoldPredictions],
    /// The predictions for training pairs that queries are compared with.
    pub held_out: &'a HeldOut,
}

/// Fits the reranker of candidates.
///
/// A training pair shows what the first candidates of an unseen query look like if nothing has seen its output: neither
/// the model, nor the hub constants, nor the predictions that it is compared with. So they are made
/// anew without each fold of the pairs. So are the weights of words, and what is counted of spectra.
///
/// Outputs have one text each in many data sets, so of these examples the network learns that training outputs are not
/// the answers. Some of the pairs that the model knows are examples too, but for spectra that are compared: a text that
/// comes again, or nearly so, finds its output.
pub(super) fn fit(training: &RerankerTraining) -> Result<FittedReranker, Error> {
    let RerankerTraining { settings, problem, candidates, folds, held_out, .. } = *training;
    let builder = ExampleBuilder::new(training)?;
    let keeps_unseen = problem.config.decoding.held_out;
    let halves = match folds {
        [fold] if keeps_unseen => halves(fold, problem),
        _ => None,
    };
    let folds = halves.as_ref().map_or(folds, |halves| &halves[..]);

    let mut examples = RerankerExamples::new(settings.candidates);
    let mut first: Option<FoldExamples> = None;
    for fold in folds {
        let added = builder.add_fold(fold, &mut examples)?;
        if first.is_none() && keeps_unseen {
            first = Some(added);
        }
    }
    if examples.is_empty() {
        let allowed = "absent: no output of a training pair is among its first candidates";
        return Err(Error::value("decoding.reranker", "given", allowed));
    }

    let unseen = match (first, folds.first()) {
        (Some(first), Some(fold)) => without_first(first, fold, &examples, problem)?,
        _ => None,
    };
    let unit = Queries::new(candidates.dim(), &held_out.predictions)?.normalised();
    let all_pairs: Vec<usize> = (0..problem.dataset.train.ids.len()).collect();
    let evidence = builder.evidence(&all_pairs);
    let neighbourhood = builder.neighbourhood(&held_out.pairs, unit)?;
    let features = RerankerFeatures { neighbourhood, words: builder.all_words, evidence };
    let reranker = Reranker::fit(&examples, features, problem.config.seed)?;
    info!(queries = examples.len(), "reranker fitted");
    Ok(FittedReranker { reranker, unseen })
}

/// Fits a reranker to the examples of all folds but the first, and returns it with the pairs of this fold; none where all
/// examples are of the first fold, since no reranker can do without them.
fn without_first(
    first: FoldExamples,
    fold: &FoldPredictions,
    examples: &RerankerExamples,
    problem: &Problem,
) -> Result<Option<(Reranker, UnseenPairs)>, Error> {
    if first.added >= examples.len() {
        return Ok(None);
    }
    let others = examples.without_first(first.added);
    let reranker = Reranker::fit(&others, first.features, problem.config.seed)?;
    let pairs = fold.fold.pairs.clone();
    let predictions = knows_copies(problem).then(|| fold.fold.predictions.clone());
    let texts = first.texts.map(|mut texts| {
        texts.truncate(pairs.len());
        texts
    });
    Ok(Some((reranker, UnseenPairs { pairs, texts, predictions })))
}

/// Returns whether held-out predictions of pairs know other pairs of their group: a learner whose fit leaves them leaves each
/// pair out alone beside a reranker.
fn knows_copies(problem: &Problem) -> bool {
    let leaves_pairs = problem.config.encoder.abilities().held_out >= HeldOutPredictions::Pairs;
    leaves_pairs && problem.dataset.train.named_groups().is_some()
}

/// Returns the halves of a single fold, so that there is a reranker which has not seen one of them. Where the data name
/// groups, what folds keep together is in one half; else pairs of one output are. None where all are together.
fn halves(fold: &FoldPredictions, problem: &Problem) -> Option<[FoldPredictions; 2]> {
    let train = &problem.dataset.train;
    // equal numbers for pairs that are in one half
    let keys: Vec<Option<usize>> = match train.named_groups() {
        None => train.outputs.clone(),
        // outputs that recur in many groups would connect all of them
        Some(_) => {
            let mut keys = vec![None; train.ids.len()];
            for (number, pairs) in problem.dataset.training_groups().iter().enumerate() {
                pairs.iter().for_each(|&pair| keys[pair] = Some(number));
            }
            keys
        }
    };
    let mut different: Vec<Option<usize>> =
        fold.fold.pairs.iter().map(|&pair| keys[pair]).collect();
    different.sort_unstable();
    different.dedup();
    if different.len() < 2 {
        return None;
    }
    let half = |at: usize| {
        let is_in =
            |&pair: &usize| different.binary_search(&keys[pair]).is_ok_and(|place| place % 2 == at);
        let pairs: Vec<usize> = fold.fold.pairs.iter().copied().filter(is_in).collect();
        FoldPredictions { fold: fold.fold.select(&pairs), ..fold.clone() }
    };
    let first =
        FoldPredictions { fitted_pairs: Vec::new(), fitted_predictions: Vec::new(), ..half(0) };
    Some([first, half(1)])
}
