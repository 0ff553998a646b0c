//! Scores of outputs that are not candidates.

use std::ops::Range;

use dsokr_core::{Cancellation, Error};
use rayon::prelude::*;

use super::decode::{ScoredRow, first_rows, reranked};
use super::member::{Member, member_error};
use super::models::Models;
use super::rule::{Combiner, Values};
use super::whole::{Scratch, Sweep};
use super::{Combination, Ensemble};
use crate::candidates::Candidates;
use crate::error::ensure;
use crate::hits::Hit;
use crate::pool::Pool;
use crate::reranker::FirstRow;

/// The first rows of each query under one member, with their scores.
type FirstRows = Vec<Vec<ScoredRow>>;

/// The best candidates of each query, and the first rows under each member that has a reranker.
type HitsAndFirstRows = (Vec<Vec<Hit>>, Vec<Option<FirstRows>>);

/// Scores outputs that are not candidates for the queries of an ensemble, as if they were candidates. The mean and the
/// deviation by which scores are standardised stay those of the candidates of the query; of all candidates where its list
/// is empty.
#[derive(Debug)]
pub struct OutOfPoolScores<'e> {
    models: &'e Models<'e>,
    combiner: Combiner,
    /// The mean and the deviation of the scores of each query under each member; empty where scores are not
    /// standardised.
    scales: Vec<Vec<(f64, f64)>>,
    /// The first rows of each query, for each member with a reranker.
    first: Vec<Option<FirstRows>>,
}

impl Ensemble<'_> {
    /// Returns the scorer of outputs that are not candidates, and the k best candidates of every query, as of
    /// [`top_k`](Self::top_k), which a search for such outputs starts with; k may be 0.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a rule of ranks, which says of no two outputs that are above all candidates which is
    /// better, and for candidates in shards; the errors of [`Ensemble::top_k`].
    pub fn out_of_pool_scores(
        &self,
        pool: Pool,
        rule: &Combination,
        k: usize,
    ) -> Result<(OutOfPoolScores<'_>, Vec<Vec<Hit>>), Error> {
        let combiner = match self.models.members.len() {
            1 => Combiner::sum(Values::Scores, 1, None),
            _ => rule.combiner(&self.models.members)?,
        };
        let of_scores = matches!(combiner.values, Values::Scores | Values::Standardised);
        ensure(of_scores, || {
            Error::unsupported(format_args!(
                "the rule {:?} has ranks among the candidates, by which outputs that are above all of these tie: \
                 combine scores",
                rule.name()
            ))
        })?;
        let none = vec![None; self.queries()];
        self.models.check(pool, &none, k)?;
        let scales = match combiner.values {
            Values::Standardised => self.scales_of_queries(pool)?,
            Values::Scores | Values::Ranks | Values::Reciprocals { .. } => Vec::new(),
        };
        let (hits, first) = self.hits_and_first_rows(pool, rule, k)?;
        Ok((OutOfPoolScores { models: &self.models, combiner, scales, first }, hits))
    }

    /// Returns the k best candidates of every query, and the first rows of each query for each member with a reranker.
    fn hits_and_first_rows(
        &self,
        pool: Pool,
        rule: &Combination,
        k: usize,
    ) -> Result<HitsAndFirstRows, Error> {
        // one model with a reranker finds both in one pass
        if let ([member], Some(reranker)) = (&self.models.members[..], self.models.rerankers[0]) {
            let none = vec![None; self.queries()];
            let decoded = reranked(&self.processes, reranker, pool, member, &none, k);
            let decoded = decoded.map_err(|error| member_error(member, error))?;
            let (hits, rows) =
                decoded.into_iter().map(|(decoded, rows)| (decoded.hits, rows)).unzip();
            return Ok((hits, vec![Some(rows)]));
        }
        let first =
            self.models.members.iter().zip(&self.models.rerankers).map(|(member, reranker)| {
                let rows = reranker
                    .map(|reranker| first_rows(&self.processes, reranker, pool, member))
                    .transpose();
                rows.map_err(|error| member_error(member, error))
            });
        let first = first.collect::<Result<_, Error>>()?;
        let hits =
            if k == 0 { vec![Vec::new(); self.queries()] } else { self.top_k(pool, rule, k)? };
        Ok((hits, first))
    }

    /// Returns the mean and the deviation of the scores of each query under each member, among all candidates where its
    /// list is empty: without a scale of their own its scores could not be compared with those of other queries.
    fn scales_of_queries(&self, pool: Pool) -> Result<Vec<Vec<(f64, f64)>>, Error> {
        let mut scales = self.scales(pool)?;
        let is_empty = |&query: &usize| pool.list(query).is_some_and(<[u32]>::is_empty);
        let empty: Vec<usize> = (0..self.queries()).filter(is_empty).collect();
        if !empty.is_empty() {
            let among_all = self.scales(Pool::Shared)?;
            empty.into_iter().for_each(|query| scales[query].clone_from(&among_all[query]));
        }
        Ok(scales)
    }

    /// Returns the mean and the deviation, 1 in the place of 0, of the scores of each query under each member.
    fn scales(&self, pool: Pool) -> Result<Vec<Vec<(f64, f64)>>, Error> {
        let members = self.models.members.len();
        let combiner = &Combiner::sum(Values::Scores, members, None);
        let sweep = Sweep { models: &self.models, pool, combiner, gold: &[] };
        let cancellation = Cancellation::current();
        let one = |scratch: &mut Scratch, task: Range<usize>| {
            cancellation.check()?;
            let points = sweep.points(task.start);
            if points == 0 {
                return Ok(vec![vec![(0.0, 1.0); members]; task.len()]);
            }
            let mut scales = vec![Vec::with_capacity(members); task.len()];
            sweep.each(task.clone(), 0..members, scratch, |lane, _, column| {
                let counts = (0..points).map(|point| f64::from(sweep.count(point)));
                let total: f64 = counts.clone().sum();
                let mean = |value: &dyn Fn(f64) -> f64| -> f64 {
                    let terms = column.iter().zip(counts.clone());
                    terms.map(|(score, count)| count * value(score)).sum::<f64>() / total
                };
                let middle = mean(&|score| score);
                let deviation = mean(&|score| (score - middle).powi(2)).sqrt();
                scales[lane].push((middle, if deviation > 0.0 { deviation } else { 1.0 }));
            })?;
            Ok(scales)
        };
        let tasks = sweep.tasks().into_par_iter().map_init(Scratch::default, one);
        Ok(tasks.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten().collect())
    }
}

impl OutOfPoolScores<'_> {
    /// Returns the members.
    pub fn members(&self) -> &[Member<'_>] {
        &self.models.members
    }

    /// Returns whether some member has a reranker, so that [`scores`](Self::scores) are not
    /// [combined](Self::combined) ones.
    pub fn reranks(&self) -> bool {
        self.first.iter().any(Option::is_some)
    }

    /// Returns the combined score of an output from its scores for a query under each member, without a reranker.
    pub fn combined(&self, query: usize, scores: impl Iterator<Item = f64>) -> f64 {
        let scales = self.scales.get(query);
        let mut combined = self.combiner.start();
        for (member, score) in scores.enumerate() {
            if !self.combiner.weighs(member) {
                continue;
            }
            let (mean, deviation) = scales.map_or((0.0, 1.0), |scales| scales[member]);
            let value = std::iter::once((score - mean) / deviation);
            self.combiner.step(member, 1).add(std::slice::from_mut(&mut combined), value);
        }
        self.combiner.shown(combined)
    }

    /// Returns the combined scores of outputs for a query, as if all of them were candidates. `outputs` has them under
    /// each member, in one order; one with the features of a candidate is that candidate. `less` is subtracted from the
    /// score of an output under a member.
    ///
    /// # Errors
    /// [`Error::Shape`] unless each member has the same number of them.
    pub fn scores(
        &self,
        query: usize,
        outputs: &[Candidates],
        less: impl Fn(usize, usize) -> f64,
    ) -> Result<Vec<f64>, Error> {
        self.check_outputs(outputs)?;
        let rows = |outputs: &Candidates| (0..outputs.distinct()).collect::<Vec<usize>>();
        let all = outputs.iter().enumerate();
        let all = all.map(|(at, outputs)| self.row_scores(at, query, outputs, &rows(outputs)));
        let all = all.collect::<Result<Vec<Vec<f64>>, Error>>()?;
        let combined = |output: usize| {
            let scores = all.iter().zip(outputs).enumerate().map(|(at, (scores, outputs))| {
                scores[outputs.class_of(output) as usize] - less(at, output)
            });
            self.combined(query, scores)
        };
        Ok((0..outputs.first().map_or(0, Candidates::len)).map(combined).collect())
    }

    /// Returns the combined score of one of some outputs for a query, as if it were the only one that is added to the
    /// candidates; see [`scores`](Self::scores).
    ///
    /// # Errors
    /// The errors of [`scores`](Self::scores).
    pub fn score_alone(
        &self,
        query: usize,
        outputs: &[Candidates],
        output: usize,
    ) -> Result<f64, Error> {
        self.check_outputs(outputs)?;
        let score = |(at, outputs): (usize, &Candidates)| {
            let row = outputs.class_of(output) as usize;
            Ok(self.row_scores(at, query, outputs, &[row])?[0])
        };
        let scores = outputs.iter().enumerate().map(score).collect::<Result<Vec<f64>, Error>>()?;
        Ok(self.combined(query, scores.into_iter()))
    }

    /// Refuses what is not the same number of outputs for each member.
    fn check_outputs(&self, outputs: &[Candidates]) -> Result<(), Error> {
        let members = self.models.members.len();
        Error::check_length("members with further outputs", outputs.len(), members)?;
        let count = outputs.first().map_or(0, Candidates::len);
        outputs
            .iter()
            .try_for_each(|outputs| Error::check_length("further outputs", outputs.len(), count))
    }

    /// Returns the scores of some distinct rows of outputs under one member, as if all of them were candidates.
    fn row_scores(
        &self,
        at: usize,
        query: usize,
        outputs: &Candidates,
        rows: &[usize],
    ) -> Result<Vec<f64>, Error> {
        let Member { queries, candidates, .. } = &self.models.members[at];
        let z = queries.row(query);
        let score = |row: usize| -> Result<f32, Error> {
            let product = |(a, b): (&f32, &f32)| f64::from(*a) * f64::from(*b);
            let sum: f64 = z.iter().zip(&*outputs.point(row)?).map(product).sum();
            Ok(sum as f32 + outputs.constants()[row])
        };
        let plain: Vec<f32> = rows.iter().map(|&row| score(row)).collect::<Result<_, Error>>()?;
        let mut scores: Vec<f64> = plain.iter().map(|&score| f64::from(score)).collect();
        if let Some(reranker) = self.models.rerankers[at]
            && let Some(first) = &self.first[at]
        {
            let first_row =
                |first: &ScoredRow| FirstRow::candidate(candidates, first.row, first.score);
            let mut first_rows: Vec<FirstRow> = first[query].iter().map(first_row).collect();
            // one with the features of an earlier row is that row
            let is_row = |first: &FirstRow, row: usize| match outputs.hash(row) {
                Some(hash) => first.candidates.hash(first.row) == Some(hash),
                None => !first.is_candidate && first.row == row,
            };
            for (&row, &score) in rows.iter().zip(&plain) {
                if !first_rows.iter().any(|first| is_row(first, row)) {
                    first_rows.push(FirstRow {
                        candidates: outputs,
                        row,
                        score,
                        is_candidate: false,
                    });
                }
            }
            first_rows.sort_by(|a, b| b.score.total_cmp(&a.score));
            first_rows.truncate(reranker.size());
            let anew =
                reranker.scores(queries, query, &first_rows, self.models.members.len() == 1)?;
            for (&row, score) in rows.iter().zip(&mut scores) {
                if let Some(place) = first_rows.iter().position(|first| is_row(first, row)) {
                    *score = anew[place];
                }
            }
        }
        Ok(scores)
    }
}
