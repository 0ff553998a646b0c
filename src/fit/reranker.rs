//! The reranker at the first candidates of a query, learned from training pairs.

use std::sync::{Arc, OnceLock};

use dsokr_core::Cancellation;
use dsokr_data::{DataRoot, Dataset};
use dsokr_decode::{
    CandidateBlocks, Candidates, Evidence, Lexicon, Neighbourhood, Queries, Reranker,
    RerankerExamples, RerankerFeatures, Words,
};
use dsokr_spectra::Polarity;
use rayon::prelude::*;
use tracing::info;

use crate::config::candidate_rule::CandidateRule;
use crate::config::folds::{REPEATED, rest};
use crate::config::masses::CandidateMasses;
use crate::config::{HeldOutPredictions, RerankerConfig, SpectraConfig};
use crate::decoding::lexicon::MoleculeLexicon;
use crate::decoding::spectra::{SpectrumEvidence, TrainingSpectra};
use crate::error::{Error, ensure};
use crate::learners::learner::FoldPredictions;
use crate::metrics::molecules::are_smiles;
use crate::run_dir::{HeldOut, UnseenPairs};
use crate::targets::memory::Need;
use crate::targets::{OutputTargets, Problem};

/// How far a candidate's ion may be from the precursor, in millionths, in the lists that examples of spectra have too.
const WINDOW: f64 = 10.0;

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

/// What the reranker compares of the texts of training pairs with outputs.
pub(super) struct PairTexts<'a> {
    texts: &'a [String],
    words: Option<PairWords>,
    spectra: Option<PairSpectra>,
}

impl<'a> PairTexts<'a> {
    /// Reads what the settings name; none where they name nothing that is in texts.
    pub fn read(
        settings: &RerankerConfig,
        problem: &'a Problem,
        candidates: &Candidates,
    ) -> Result<Option<Self>, Error> {
        let words = PairWords::read(settings, problem, candidates)?;
        let spectra = PairSpectra::read(settings, problem, candidates)?;
        if words.is_none() && spectra.is_none() {
            return Ok(None);
        }
        Ok(Some(Self { texts: problem.dataset.train.inputs.texts()?, words, spectra }))
    }

    /// Returns the lexicon as a text.
    pub fn lexicon(&self) -> Option<&str> {
        self.words.as_ref().map(|words| words.lexicon.text())
    }
}

/// Training spectra with their molecules.
struct PairSpectra {
    spectra: TrainingSpectra,
    masses: CandidateMasses,
    /// The polarity of spectra that do not say theirs.
    assumed: Polarity,
}

impl PairSpectra {
    /// Reads the training spectra where the settings compare them.
    fn read(
        settings: &RerankerConfig,
        problem: &Problem,
        candidates: &Candidates,
    ) -> Result<Option<Self>, Error> {
        let Some(SpectraConfig { tolerance }) = settings.spectra else { return Ok(None) };
        let dataset: &Dataset = &problem.dataset;
        let key = "decoding.reranker.spectra";
        let allowed = "absent, or with the column of SMILES as output.label";
        ensure(are_smiles(candidates), key, "given", allowed)?;
        let label = |output: &Option<usize>| output.map(|at| dataset.outputs.labels[at].clone());
        let texts = dataset.train.inputs.texts()?.iter().cloned();
        let pairs = texts.zip(dataset.train.outputs.iter().map(label)).collect();
        let assumed = problem.polarities()?.assumed();
        let spectra = TrainingSpectra::read(pairs, tolerance, &assumed.protons(1))?;
        Ok(Some(Self { spectra, masses: CandidateMasses::default(), assumed }))
    }
}

/// Words of texts and facts about outputs, as the training pairs have them.
struct PairWords {
    lexicon: Arc<dyn Lexicon>,
    /// What the text of each training pair says, and what holds of its output.
    pairs: Vec<(Vec<bool>, Vec<Option<bool>>)>,
}

impl PairWords {
    /// Reads the words that the settings name; none where they name no words.
    fn read(
        settings: &RerankerConfig,
        problem: &Problem,
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
        let stage = Cancellation::current().stage("words of texts", texts.len());
        let pairs = texts.par_iter().zip(&dataset.train.outputs).map(|(text, output)| {
            stage.advance(1)?;
            Ok((lexicon.said(text), holds(output)))
        });
        let pairs = pairs.collect::<Result<_, Error>>()?;
        Ok(Some(Self { lexicon, pairs }))
    }

    /// Returns what holds of the rows of candidates whose label is that of a training output.
    fn of_candidates<'s>(
        &'s self,
        problem: &'s Problem,
        candidates: &'s Candidates,
    ) -> impl Iterator<Item = (usize, &'s [Option<bool>])> {
        let Dataset { train, outputs, .. } = &*problem.dataset;
        let pairs = self.pairs.iter().zip(&train.ids).zip(&train.outputs);
        pairs.filter_map(|(((_, holds), id), output)| {
            let row = candidates.class_of(candidates.find(id)?);
            let first = candidates.members(row)[0] as usize;
            let is_same = candidates.label(first) == outputs.labels[(*output)?];
            is_same.then_some((row as usize, holds.as_slice()))
        })
    }

    /// Returns the weights by some training pairs.
    fn fit(&self, pairs: impl Iterator<Item = usize>) -> Result<Words, Error> {
        let pairs = pairs.map(|pair| &self.pairs[pair]);
        let pairs = pairs.map(|(said, holds)| (said.as_slice(), holds.as_slice()));
        Ok(Words::fit(Arc::clone(&self.lexicon), pairs)?)
    }
}

/// Returns the lexicon of the settings; none where these have no words.
fn read_lexicon(
    settings: &RerankerConfig,
    root: &DataRoot,
) -> Result<Option<Arc<dyn Lexicon>>, Error> {
    let Some(settings) = &settings.words else { return Ok(None) };
    let file = settings.lexicon.as_ref().map(|file| root.file(file));
    let lexicon = MoleculeLexicon::read(file.as_deref()).map_err(|error| match error {
        Error::NotFound { path, .. } => {
            let hint = "; decoding.reranker.words.lexicon names it";
            Error::NotFound { path, hint: hint.into() }
        }
        other => other,
    });
    Ok(Some(Arc::new(lexicon?)))
}

/// Returns the memory of what the reranker compares of texts: of words and facts, and of training spectra.
pub(super) fn texts_needs(problem: &Problem) -> Result<Vec<Need>, Error> {
    let needs = [words_need(problem)?, spectra_need(problem)?];
    Ok(needs.into_iter().flatten().collect())
}

/// Returns the memory of training spectra; none where the reranker does not compare any.
fn spectra_need(problem: &Problem) -> Result<Option<Need>, Error> {
    let settings = problem.config.decoding.reranker.as_ref();
    if settings.is_none_or(|settings| settings.spectra.is_none()) {
        return Ok(None);
    }
    let texts = problem.dataset.train.inputs.texts()?;
    let bytes: usize = texts.iter().map(|text| TrainingSpectra::bytes(text)).sum();
    let what = "training spectra by their masses";
    Ok(Some(Need::memory("decoding.reranker.spectra", what, bytes as f64)))
}

/// Returns the memory of words and facts; none where the reranker has no words.
fn words_need(problem: &Problem) -> Result<Option<Need>, Error> {
    let Some(settings) = &problem.config.decoding.reranker else { return Ok(None) };
    let Some(lexicon) = read_lexicon(settings, &problem.root)? else { return Ok(None) };
    let dataset = &problem.dataset;
    // what the text of a training pair says and what holds of its output; what holds of a candidate
    let lists = 2 * dataset.train.ids.len() + dataset.outputs.candidates.len();
    let list = lexicon.len() + size_of::<OnceLock<Vec<Option<bool>>>>();
    let what = "words of texts and facts";
    Ok(Some(Need::memory("decoding.reranker.words", what, lists as f64 * list as f64)))
}

/// A fitted reranker.
pub(super) struct FittedReranker {
    pub reranker: Reranker,
    /// A reranker that has not seen the first fold, and the pairs of this fold, where a run keeps held-out predictions; none
    /// where its examples cannot be divided.
    pub unseen: Option<(Reranker, UnseenPairs)>,
}

/// The examples of a fold, and what a reranker compares them with.
struct FoldExamples {
    /// Number of examples that it added.
    added: usize,
    /// What a reranker reads that has not seen the fold.
    features: RerankerFeatures,
    /// The texts of the examples, where they are compared.
    texts: Option<Vec<String>>,
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

/// Makes the examples that a reranker learns from.
struct ExampleBuilder<'a> {
    settings: &'a RerankerConfig,
    texts: Option<&'a PairTexts<'a>>,
    /// The weights of words by all training pairs.
    all_words: Option<Words>,
    problem: &'a Problem,
    /// The coordinates of the training outputs.
    outputs: Vec<f32>,
    candidates: &'a Candidates,
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
    let builder = ExampleBuilder::of(training)?;
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

impl<'a> ExampleBuilder<'a> {
    fn of(training: &RerankerTraining<'a>) -> Result<Self, Error> {
        let RerankerTraining { settings, texts, problem, targets, candidates, .. } = *training;
        let all_words = match texts.and_then(|texts| texts.words.as_ref()) {
            Some(words) => {
                let pairs = problem.dataset.train.ids.len();
                let of_all = words.fit(0..pairs)?.for_rows(candidates.distinct());
                Some(of_all.with_known(words.of_candidates(problem, candidates)))
            }
            None => None,
        };
        let outputs = targets.coordinates()?;
        Ok(Self { settings, texts, all_words, problem, outputs, candidates })
    }

    /// Adds the pairs of a fold as examples, and some of the other pairs, which its model was fitted to.
    fn add_fold(
        &self,
        fold: &FoldPredictions,
        examples: &mut RerankerExamples,
    ) -> Result<FoldExamples, Error> {
        let p = self.candidates.dim();
        let ids = &self.problem.dataset.train.ids;
        let held_out = Queries::new(p, &fold.rest.predictions)?.normalised();
        let among = self.candidates.clone().with_hubs_like(self.candidates, &held_out)?;
        let others = rest(&fold.fold.pairs, ids.len());
        let features = self.features(&others, self.neighbourhood(&fold.rest.pairs, held_out)?)?;

        // a spectrum that the model knows finds itself among those that candidates are compared by: of such examples the
        // network would learn to trust the most similar spectrum too much
        let knows_spectra = self.texts.is_some_and(|texts| texts.spectra.is_some());
        let fitted_pairs: &[usize] = if knows_spectra { &[] } else { &fold.fitted_pairs };
        let fitted_predictions: &[f32] = if knows_spectra { &[] } else { &fold.fitted_predictions };
        let shown = [fold.fold.pairs.as_slice(), fitted_pairs].concat();
        let predictions = [fold.fold.predictions.as_slice(), fitted_predictions].concat();
        let predictions = Queries::new(p, &predictions)?.normalised();
        let texts: Option<Vec<String>> =
            self.texts.map(|all| shown.iter().map(|&pair| all.texts[pair].clone()).collect());
        let queries = Queries::new(p, &predictions)?;
        let queries = match &texts {
            Some(texts) => queries.with_texts(texts)?,
            None => queries,
        };
        let row = |&pair: &usize| among.find(&ids[pair]).map(|at| among.class_of(at));
        let gold: Vec<Option<u32>> = shown.iter().map(row).collect();
        let before = examples.len();
        examples.add(&queries, &gold, &among, &features)?;
        if let Some(spectra) = self.texts.and_then(|texts| texts.spectra.as_ref()) {
            let split = self.problem.dataset.train.select(&shown)?;
            let window = CandidateRule::Mass(WINDOW);
            if let Some(lists) = window.lists(&split, &among, &spectra.masses, spectra.assumed)? {
                examples.add_listed(&queries, &gold, &lists, &among, &features)?;
            }
        }
        Ok(FoldExamples { added: examples.len() - before, features, texts })
    }

    /// Returns the training pairs that queries are compared with, whose held-out predictions have unit length.
    fn neighbourhood(&self, pairs: &[usize], held_out: Vec<f32>) -> Result<Neighbourhood, Error> {
        let p = self.candidates.dim();
        let outputs = pairs.iter().flat_map(|pair| &self.outputs[pair * p..][..p]).copied();
        let neighbours = self.settings.neighbours;
        Ok(Neighbourhood::new(p, held_out, outputs.collect(), neighbours)?)
    }

    /// Returns what a reranker compares with that has seen the pairs `rest`, with the training pairs that are near.
    fn features(
        &self,
        rest: &[usize],
        neighbourhood: Neighbourhood,
    ) -> Result<RerankerFeatures, Error> {
        let words = self.texts.and_then(|texts| texts.words.as_ref());
        let words = match (words, &self.all_words) {
            (Some(words), Some(all)) => Some(words.fit(rest.iter().copied())?.with_rows_of(all)),
            _ => None,
        };
        Ok(RerankerFeatures { neighbourhood, words, evidence: self.evidence(rest) })
    }

    /// Returns what spectra say by some of the pairs; none where they are not compared.
    fn evidence(&self, pairs: &[usize]) -> Option<Arc<dyn Evidence>> {
        let spectra = self.texts?.spectra.as_ref()?;
        Some(Arc::new(spectra.spectra.evidence(pairs)))
    }
}
