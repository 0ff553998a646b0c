//! The second look at the first candidates of a query, learned from training pairs.

use std::sync::{Arc, OnceLock};

use dsokr_data::{DataRoot, Dataset};
use dsokr_decode::{
    CandidateBlocks, Candidates, Clues, Lexicon, LookExamples, Neighbourhood, Queries, SecondLook,
    Words,
};
use rayon::prelude::*;
use tracing::info;

use crate::config::folds::{repeated, rest};
use crate::config::{Checked, SecondLookConfig};
use crate::decoding::lexicon::MoleculeLexicon;
use crate::error::{Error, ensure};
use crate::learners::learner::{CrossFitted, Fit, Task};
use crate::learners::memory::Need;
use crate::metrics::molecules::are_smiles;
use crate::run_dir::{HeldOut, StoredAnswers};
use crate::targets::TargetValues;

/// Checks the settings against the number n of training pairs.
pub(super) fn check(settings: &SecondLookConfig, n: usize) -> Result<(), Error> {
    let rest = settings.parts().rest(n);
    let key = "decoding.second_look.neighbours";
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
        settings: &SecondLookConfig,
        root: &DataRoot,
        dataset: &'a Dataset,
        candidates: &Candidates,
    ) -> Result<Option<Self>, Error> {
        let Some(lexicon) = read_lexicon(settings, root)? else { return Ok(None) };
        let refused = |allowed| Err(Error::value("decoding.second_look.words", "given", allowed));
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
    settings: &SecondLookConfig,
    root: &DataRoot,
) -> Result<Option<Arc<dyn Lexicon>>, Error> {
    let Some(settings) = &settings.words else { return Ok(None) };
    let file = settings.lexicon.as_ref().map(|file| root.file(file));
    let lexicon = MoleculeLexicon::read(file.as_deref()).map_err(|error| match error {
        Error::NotFound { path, .. } => {
            let hint = ", which decoding.second_look.words.lexicon names";
            Error::NotFound { path, hint: hint.into() }
        }
        other => other,
    });
    Ok(Some(Arc::new(lexicon?)))
}

/// The memory of words and facts; none where the second look has no words.
pub(crate) fn words_need(
    config: &Checked,
    root: &DataRoot,
    dataset: &Dataset,
) -> Result<Option<Need>, Error> {
    let Some(settings) = &config.decoding.second_look else { return Ok(None) };
    let Some(lexicon) = read_lexicon(settings, root)? else { return Ok(None) };
    // of a training pair what its text says and what holds of its output, of a candidate what holds
    let lists = 2 * dataset.train.ids.len() + dataset.outputs.candidates.len();
    let list = lexicon.len() + size_of::<OnceLock<Vec<Option<bool>>>>();
    let what = "words of texts and facts";
    Ok(Some(Need::memory("decoding.second_look.words", what, lists as f64 * list as f64)))
}

/// The answers to parts of the training pairs without them: what the fit has left of its own, or those of further fits.
pub(super) fn answered(
    settings: &SecondLookConfig,
    prepared: &dyn Fit,
    task: &Task,
    left_out: Option<CrossFitted>,
) -> Result<Vec<CrossFitted>, Error> {
    if let Some(own) = left_out {
        return Ok(vec![own]);
    }
    let parts = settings.parts().draw(task.dataset, task.config.seed)?;
    let allowed = "absent: this encoder gives no answers without a part of the pairs";
    let none = || Error::value("decoding.second_look", "given", allowed);
    prepared.without(task.targets, &parts)?.ok_or_else(none)
}

/// The second look at candidates that are corrected for hubs as the configuration says. Each of the `parts` has answers of a
/// model without it, and `held_out` are leave-one-out answers to all training pairs. A run that keeps held-out answers also
/// gets those of its first part, with a second look that has not seen that part.
///
/// A training pair shows what the first candidates of an unseen query look like if nothing has seen its output: neither
/// the model, nor the hub constants, nor the answers that it is compared with. So they are made
/// anew without each part of the pairs. So are the weights of words.
///
/// Outputs have one text each in many data sets, so of these examples the network learns that training outputs are not
/// the answers. Some of the pairs that the model knows are examples too: a text that comes again, or nearly so, finds
/// its output.
pub(super) fn fit(
    settings: &SecondLookConfig,
    words: Option<&PairWords>,
    parts: &[CrossFitted],
    task: &Task,
    candidates: &Candidates,
    held_out: &HeldOut,
) -> Result<(SecondLook, Option<(StoredAnswers, SecondLook)>), Error> {
    let p = candidates.dim();
    let ids = &task.dataset.train.ids;
    let TargetValues::Points(targets) = &task.targets.values else {
        return Err(task.targets.unexpected());
    };
    let outputs: Vec<f32> = targets.values()?.iter().map(|&value| value as f32).collect();
    let mut examples = LookExamples::new(settings.candidates);
    let mut first: Option<(usize, StoredAnswers, Clues)> = None;
    let all_words = match words {
        Some(words) => Some(words.fit(0..ids.len())?.for_rows(candidates.distinct())),
        None => None,
    };
    for part in parts {
        let held = &part.pairs;
        let leave_one_out = Queries::new(p, &part.leave_one_out)?.normalised();
        let among = candidates.clone().with_hubs_like(candidates, &leave_one_out)?;
        let rest = rest(held, ids.len());
        let known = rest.iter().flat_map(|pair| &outputs[pair * p..][..p]).copied().collect();
        let neighbourhood = Neighbourhood::new(p, leave_one_out, known, settings.neighbours)?;
        let asked = [held.as_slice(), &repeated(&rest)].concat();
        let own_words = words
            .zip(all_words.as_ref())
            .map(|(words, all)| Ok::<_, Error>(words.fit(rest.into_iter())?.with_rows_of(all)));
        let clues = Clues { neighbourhood, words: own_words.transpose()? };
        let mut answers = Queries::new(p, &[&*part.answers, &*part.fitted].concat())?.normalised();
        let mut texts: Option<Vec<String>> =
            words.map(|words| asked.iter().map(|&pair| words.texts[pair].clone()).collect());
        let queries = Queries::new(p, &answers)?;
        let queries = match &texts {
            Some(texts) => queries.with_texts(texts)?,
            None => queries,
        };
        let row = |&pair: &usize| among.find(&ids[pair]).map(|at| among.class_of(at));
        let gold: Vec<Option<u32>> = asked.iter().map(row).collect();
        examples.add(&queries, &gold, &among, &clues)?;
        if first.is_none() && task.config.decoding.held_out {
            answers.truncate(part.answers.len());
            texts.iter_mut().for_each(|texts| texts.truncate(held.len()));
            let held_out = HeldOut { pairs: held.clone(), answers };
            first = Some((examples.len(), StoredAnswers::new(held_out, ids, texts), clues));
        }
    }
    if examples.is_empty() {
        let allowed = "absent: no output of a training pair is among its first candidates";
        return Err(Error::value("decoding.second_look", "given", allowed));
    }
    let answers = Queries::new(p, &held_out.answers)?.normalised();
    let neighbourhood = Neighbourhood::new(p, answers, outputs, settings.neighbours)?;
    let clues = Clues { neighbourhood, words: all_words };
    info!(queries = examples.len(), "second look fitted");
    let part = match first {
        Some((count, answers, clues)) => {
            let others = examples.without_first(count);
            // a single part has no others
            let others = if others.is_empty() { &examples } else { &others };
            let look = SecondLook::fit(others, clues, task.config.seed)?;
            Some((answers, look))
        }
        None => None,
    };
    Ok((SecondLook::fit(&examples, clues, task.config.seed)?, part))
}
