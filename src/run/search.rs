use std::collections::BTreeSet;
use std::sync::Arc;

use dsokr_data::Split;
use dsokr_decode::{Candidates, Hit, Queries};

use super::ranking::Hits;
use super::{EnsembleRun, QueryAnswers, Run};
use crate::exact::PredictedOutput;
use crate::{Error, Quantiles};

/// The answer to one text.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchAnswer {
    /// The best candidates, best first; of label sets each distinct set once.
    pub hits: Vec<Hit>,
    /// The predicted output where it need not be a candidate: the best of all outputs with `decoding.search =
    /// "exact"`, the label set with the largest expected F1, and that F1, with `decoding.expected_f1`.
    pub exact: Option<PredictedOutput>,
    /// Quantiles, where a single model answers with them.
    pub quantiles: Option<Quantiles>,
    /// The candidates that the hits are numbers of, where candidates are in shards; else they are those of the
    /// first member.
    pub named: Option<Arc<Candidates>>,
}

impl SearchAnswer {
    /// The candidates that the hits are numbers of.
    pub fn candidates<'a>(&'a self, run: &'a Run) -> &'a Candidates {
        self.named.as_deref().unwrap_or(&run.candidates)
    }
}

impl EnsembleRun {
    /// The answer to a text: the `top` best candidates, and what else the configuration predicts.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub fn search(&self, text: &str, top: usize) -> Result<SearchAnswer, Error> {
        let answers = self.answer(&[text], top)?;
        answers.into_iter().next().ok_or_else(|| Error::value("the text", "none", "one text"))
    }

    /// The answer to each of several texts, in their order: the `top` best candidates, and what else the
    /// configuration predicts. Each distinct label set is shown once, so there may be fewer. The memory grows
    /// with the number of texts, so a long stream is answered some texts at a time.
    ///
    /// # Errors
    /// `top` above the number of candidates; a member that reads no text; an empty text.
    pub fn answer(&self, texts: &[&str], top: usize) -> Result<Vec<SearchAnswer>, Error> {
        match texts.is_empty() {
            true => Ok(Vec::new()),
            false => self.answer_queries(|run| run.texts(texts), top),
        }
    }

    /// The answer to each of the queries that `read` reads for a member, of any kind of inputs; see
    /// [`answer`](Self::answer).
    ///
    /// # Errors
    /// Errors of `read`; `top` above the number of candidates; inputs that a member does not read.
    pub fn answer_queries(
        &self,
        read: impl Fn(&Run) -> Result<Split, Error>,
        top: usize,
    ) -> Result<Vec<SearchAnswer>, Error> {
        let asked = self.ask(read, None)?;
        let ranking = self.ranking(&asked)?;
        let best = |count| ranking.top_k(asked.pool(), &self.rule, count);
        let (hits, named) = self.members()[0].distinct_hits(ranking.candidates(), top, best)?;
        let named = named.map(Arc::new);
        let further = self.further(&asked, ranking.queries())?.into_iter();
        let answer = |(hits, own)| SearchAnswer { hits, named: named.clone(), ..own };
        Ok(hits.into_iter().zip(further).map(answer).collect())
    }

    /// What the configuration predicts for each query beside its candidates; the answers have no hits.
    pub(super) fn further(
        &self,
        asked: &QueryAnswers,
        queries: &Queries,
    ) -> Result<Vec<SearchAnswer>, Error> {
        let run = &self.members()[0];
        let exact = run.exact()?;
        let exact = run.decoder(exact.as_ref()).beyond(queries, asked.pool(), &run.config)?;
        let mut exact = exact.unwrap_or_default().into_iter();
        let quantiles = self.quantiles(asked);
        let of_query = |query: usize| {
            quantiles.as_ref().map(|all| {
                let count = all.levels.len();
                let values = all.values[query * count..][..count].to_vec();
                Quantiles { levels: all.levels.clone(), values }
            })
        };
        let answer = |query| {
            let (exact, quantiles) = (exact.next(), of_query(query));
            SearchAnswer { hits: Vec::new(), exact, quantiles, named: None }
        };
        Ok((0..queries.len()).map(answer).collect())
    }

    /// The predicted quantiles; none for several members.
    pub fn quantiles(&self, asked: &QueryAnswers) -> Option<Quantiles> {
        let levels = self.config().encoder.abilities().levels?;
        let [values] = asked.answers.as_slice() else { return None };
        Some(Quantiles { levels: levels.to_vec(), values: values.clone() })
    }
}

impl Run {
    /// The `top` best of the hits among `all` candidates that `best` finds for each query, given how many to
    /// find. Of label sets each distinct set counts once, so there may be fewer.
    pub(super) fn distinct_hits(
        &self,
        all: usize,
        top: usize,
        best: impl Fn(usize) -> Result<Hits, Error>,
    ) -> Result<Hits, Error> {
        let mut count = top;
        loop {
            let (mut hits, named) = best(count)?;
            if !self.config.output.features.are_labels() {
                return Ok((hits, named));
            }
            let candidates = named.as_ref().unwrap_or(&self.candidates);
            for hits in &mut hits {
                let mut seen = BTreeSet::new();
                hits.retain(|hit| seen.insert(candidates.class_of(hit.candidate)));
                hits.truncate(top);
            }
            if count == all || hits.iter().all(|hits| hits.len() == top) {
                return Ok((hits, named));
            }
            count = (2 * count).min(all);
        }
    }

    /// Texts as queries without outputs, prepared as the configuration prepares its own.
    ///
    /// # Errors
    /// An empty text; one that should be a SMILES and is not.
    pub fn texts(&self, texts: &[&str]) -> Result<Split, Error> {
        let source = self.config.source();
        let read = |text: &&str| {
            if text.trim().is_empty() {
                return Err(Error::value(
                    "the text",
                    format!("{text:?}"),
                    "a text that is not empty",
                ));
            }
            Ok(source.query(text)?)
        };
        Ok(Split::texts(texts.iter().map(read).collect::<Result<_, Error>>()?))
    }

    /// The predicted coordinates z of texts, `[texts × p]` row-major, before any scaling of
    /// `decoding`.
    ///
    /// # Errors
    /// As [`texts`](Self::texts); a model that reads no text.
    pub fn embed(&self, texts: &[&str]) -> Result<Vec<f32>, Error> {
        self.coordinates(&self.texts(texts)?)
    }
}
