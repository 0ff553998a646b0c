//! What a reranker compares of texts: their words with facts about outputs, and spectra with molecules.

use std::sync::{Arc, OnceLock};

use dsokr_core::Cancellation;
use dsokr_data::{DataRoot, Dataset};
use dsokr_decode::{Candidates, Lexicon, Words};
use dsokr_spectra::Polarity;
use rayon::prelude::*;

use crate::config::masses::CandidateMasses;
use crate::config::{RerankerConfig, SpectraConfig};
use crate::decoding::lexicon::MoleculeLexicon;
use crate::decoding::spectra::TrainingSpectra;
use crate::error::{Error, ensure};
use crate::metrics::molecules::are_smiles;
use crate::targets::Problem;
use crate::targets::memory::Need;

/// What the reranker compares of the texts of training pairs with outputs.
pub(in crate::fit) struct PairTexts<'a> {
    pub(super) texts: &'a [String],
    pub(super) words: Option<PairWords>,
    pub(super) spectra: Option<PairSpectra>,
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
pub(super) struct PairSpectra {
    pub spectra: TrainingSpectra,
    pub masses: CandidateMasses,
    /// The polarity of spectra that do not say theirs.
    pub assumed: Polarity,
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
pub(super) struct PairWords {
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
    pub fn of_candidates<'s>(
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
    pub fn fit(&self, pairs: impl Iterator<Item = usize>) -> Result<Words, Error> {
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
pub(in crate::fit) fn texts_needs(problem: &Problem) -> Result<Vec<Need>, Error> {
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
