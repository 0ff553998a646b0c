use std::ops::Range;

use dsokr_data::Split;
use dsokr_decode::{CandidateBlocks, Candidates, Combination, Pool, Standings};

use super::{EnsembleRun, QueryAnswers, Run};
use crate::answer::{Answer, Quantile};
use crate::evaluation::Models;
use crate::query_texts::QueryTexts;
use crate::ranking::{Found, Ranking};
use crate::{Error, quantiles};

impl EnsembleRun {
    /// The answer to a text: the `top` best candidates, and what else the configuration predicts.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub fn search(&self, text: &str, top: usize) -> Result<Answer, Error> {
        Ok(self.answer(&[text], top)?.into_iter().next().unwrap_or_default())
    }

    /// The answer to each of several texts, in their order: the `top` best candidates, and what else the
    /// configuration predicts. Duplicates are one hit, so there may be fewer. The memory grows with the number of
    /// texts, so a long stream is answered some texts at a time.
    ///
    /// # Errors
    /// `top` above the number of candidates; a member that reads no text; an empty text.
    pub fn answer(&self, texts: &[&str], top: usize) -> Result<Vec<Answer>, Error> {
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
    ) -> Result<Vec<Answer>, Error> {
        check_top(top, self.candidates())?;
        self.distinct(&self.ask(read, None)?, 0..top, None)
    }

    /// For each query the hits at the places `places` among the distinct candidates that are wanted, best first;
    /// fewer at the end. Ranks, ties and gaps are those among all candidates. `wanted` says it of each candidate, or
    /// of each that the [`shards`](Self::shards) of this process hold; without it all are.
    ///
    /// # Errors
    /// Members whose candidates or queries differ from the first one's; a score that is not finite.
    pub fn distinct(
        &self,
        asked: &QueryAnswers,
        places: Range<usize>,
        wanted: Option<&[bool]>,
    ) -> Result<Vec<Answer>, Error> {
        let (run, models) = (&self.members()[0], self.models(None));
        let ranking = models.ranking(QueryTexts::of(asked.split()), &asked.answers)?;
        let found = ranking.distinct(&self.rule, asked.pool(), places, wanted)?;
        let mut answers = run.resolved(&ranking, asked.pool(), found)?;
        for (answer, quantiles) in answers.iter_mut().zip(self.quantiles(asked)) {
            answer.quantiles = quantiles;
        }
        Ok(answers)
    }

    /// The predicted quantiles of each query; none for several members, or a model without them.
    pub fn quantiles(&self, asked: &QueryAnswers) -> Vec<Vec<Quantile>> {
        match (self.config().encoder.abilities().levels, asked.answers.as_slice()) {
            (Some(levels), [z]) => {
                z.chunks(levels.len()).map(|z| Quantile::all(levels, z)).collect()
            }
            (Some(_) | None, _) => Vec::new(),
        }
    }

    /// The number of a candidate of a run whose outputs are numbers.
    ///
    /// # Errors
    /// Coordinates that cannot be read.
    pub fn number(&self, candidates: &Candidates, candidate: usize) -> Result<f32, Error> {
        let levels = self.config().encoder.abilities().levels.unwrap_or_default();
        quantiles::number(levels, candidates, candidates.class_of(candidate))
    }
}

impl Run {
    /// The answer to a text: the `top` best candidates, and what else the configuration predicts.
    ///
    /// # Errors
    /// `top` above the number of candidates, or a model that reads no text.
    pub fn search(&self, text: &str, top: usize) -> Result<Answer, Error> {
        check_top(top, self.candidates.len())?;
        let split = self.texts(&[text])?;
        let dim = self.candidates.dim();
        let z = self.coordinates(&split)?;
        let z = self.config.decoding.scaled(&z, dim)?;
        let (z, models) = ([z.into_owned()], Models::one(self.decoder(None)));
        let ranking = models.ranking(QueryTexts::of(&split), &z)?;
        let found = ranking.distinct(&Combination::default(), Pool::Shared, 0..top, None)?;
        let answers = self.resolved(&ranking, Pool::Shared, found)?;
        let mut answer = answers.into_iter().next().unwrap_or_default();
        if let Some(levels) = self.config.encoder.abilities().levels {
            answer.quantiles = Quantile::all(levels, &z[0]);
        }
        Ok(answer)
    }

    /// Answers without quantiles, from the distinct candidates of each query.
    fn resolved(&self, ranking: &Ranking, pool: Pool, found: Found) -> Result<Vec<Answer>, Error> {
        let exact = self.exact()?;
        let exact = self.decoder(exact.as_ref()).beyond(ranking.queries(), pool)?;
        let mut exact = exact.unwrap_or_default().into_iter();
        let (found, names) = found;
        let levels = self.config.encoder.abilities().levels;
        let answer = |Standings { hits, gap }: Standings| {
            let hits = hits.into_iter().map(|hit| names.hit(hit, levels));
            let hits = hits.collect::<Result<_, Error>>()?;
            Ok(Answer { hits, exact: exact.next(), quantiles: Vec::new(), gap })
        };
        found.into_iter().map(answer).collect()
    }

    /// Texts as queries without outputs, prepared as the configuration prepares its own.
    ///
    /// # Errors
    /// An empty text; one that should be a SMILES and is not.
    pub fn texts(&self, texts: &[&str]) -> Result<Split, Error> {
        let source = self.config.source();
        let read = |text: &&str| {
            if text.trim().is_empty() {
                let (found, allowed) = (format!("{text:?}"), "a text that is not empty");
                return Err(Error::value("the text", found, allowed));
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

/// Refuses a number of hits that is not one of candidates.
fn check_top(top: usize, candidates: usize) -> Result<(), Error> {
    match (1..=candidates).contains(&top) {
        true => Ok(()),
        false => {
            let found = format!("the top {top} candidates were asked for");
            let allowed = format!("1..={candidates}");
            Err(dsokr_decode::Error::OutOfRange { found, allowed }.into())
        }
    }
}
