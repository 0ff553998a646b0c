//! Queries whose gold is known, from which a reranker learns.

use dsokr_core::{Cancellation, Error};
use rayon::prelude::*;

use super::FirstRow;
use super::features::{FeatureKinds, Near, RerankerFeatures};
use super::rows::product;
use crate::candidates::Candidates;
use crate::error::check_consistent;
use crate::hits::{RowHit, top_rows};
use crate::pool::{PerQuery, Pool};
use crate::queries::Queries;
use crate::scoring::first_by;

/// Queries whose nearest pairs are found together.
const TOGETHER: usize = 12;

/// Queries whose gold is known, with the features of their first candidates.
#[derive(Clone, Debug)]
pub struct RerankerExamples {
    pub(super) size: usize,
    /// What the features are; none where there are no queries yet.
    pub(super) kinds: Option<FeatureKinds>,
    /// The features of the first rows of each query, row by row, and the position of the gold row.
    pub(super) queries: Vec<(Vec<f32>, usize)>,
}

impl RerankerExamples {
    /// Creates no queries yet. The first `size` rows of each will count.
    pub fn new(size: usize) -> Self {
        Self { size, kinds: None, queries: Vec::new() }
    }

    /// Returns the number of queries.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Returns the examples behind the first `count`.
    pub fn without_first(&self, count: usize) -> Self {
        let queries = self.queries[count.min(self.len())..].to_vec();
        Self { size: self.size, kinds: self.kinds, queries }
    }

    /// Adds the queries whose gold row is among their first rows. Neither the features nor the hubs of the candidates
    /// may have seen the queries' gold outputs.
    ///
    /// # Errors
    /// The errors of [`top_rows`]; [`Error::Inconsistent`] where some examples have words or evidence and others do not,
    /// unless there is a gold entry a query, and unless words are for the rows of the candidates; [`Error::Unsupported`]
    /// for a query without text where there are words or evidence; errors of the evidence.
    pub fn add(
        &mut self,
        queries: &Queries,
        gold: &[Option<u32>],
        candidates: &Candidates,
        reranker_features: &RerankerFeatures,
    ) -> Result<(), Error> {
        let size = self.size.min(candidates.distinct());
        let lists = top_rows(queries, candidates, size)?;
        self.add_rows(queries, gold, candidates, reranker_features, lists)
    }

    /// Adds the queries whose gold row is among the first rows of their lists, which have other rows too, but not all of
    /// them. Neither the features nor the hubs of the candidates may have seen the queries' gold outputs.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add); [`Error::Shape`] unless there is one list a query, for as many candidates as there
    /// are.
    pub fn add_listed(
        &mut self,
        queries: &Queries,
        gold: &[Option<u32>],
        lists: &PerQuery,
        candidates: &Candidates,
        reranker_features: &RerankerFeatures,
    ) -> Result<(), Error> {
        Pool::PerQuery(lists).check(queries.len(), candidates.len())?;
        let first = |query: usize| {
            let mut rows: Vec<usize> = lists
                .list(query)
                .iter()
                .map(|&candidate| candidates.class_of(candidate as usize) as usize)
                .collect();
            rows.sort_unstable();
            rows.dedup();
            // a list of all rows is that of `add`
            if rows.len() < 2 || rows.len() == candidates.distinct() {
                return Ok(Vec::new());
            }
            let scored = rows.into_iter().map(|row| {
                let score = product(queries.row(query), &candidates.point(row)?);
                Ok(RowHit { row, score: score + candidates.constants()[row] })
            });
            let scored = scored.collect::<Result<Vec<RowHit>, Error>>()?;
            Ok(first_by(scored, self.size, |a, b| {
                b.score.total_cmp(&a.score).then(a.row.cmp(&b.row))
            }))
        };
        let first = (0..queries.len()).into_par_iter().map(first);
        let first = first.collect::<Result<Vec<Vec<RowHit>>, Error>>()?;
        self.add_rows(queries, gold, candidates, reranker_features, first)
    }

    /// Adds queries with these first rows.
    fn add_rows(
        &mut self,
        queries: &Queries,
        gold: &[Option<u32>],
        candidates: &Candidates,
        reranker_features: &RerankerFeatures,
        lists: Vec<Vec<RowHit>>,
    ) -> Result<(), Error> {
        Error::check_length("gold entries", gold.len(), queries.len())?;
        same_kinds(self.kinds, reranker_features)?;
        if let Some(words) = &reranker_features.words {
            Error::check_length("rows of the words", words.rows(), candidates.distinct())?;
        }
        // the queries whose gold row is among their first rows, and its place
        let place_of_gold = |query: usize| {
            let gold = gold[query]? as usize;
            let place = lists[query].iter().position(|hit| hit.row == gold)?;
            Some((query, place))
        };
        let placed: Vec<(usize, usize)> = (0..queries.len()).filter_map(place_of_gold).collect();
        let stage = Cancellation::current().stage("examples of the reranker", placed.len());
        // the pairs near to some queries at a time are found in one pass over all pairs
        let some = |placed: &[(usize, usize)]| {
            stage.advance(placed.len())?;
            let rows: Vec<&[f32]> = placed.iter().map(|&(query, _)| queries.row(query)).collect();
            let near = reranker_features.neighbourhood.nearest(&rows);
            let one = |(&(query, place), near): (&(usize, usize), Vec<Near>)| {
                let hits = lists[query].iter();
                let first_rows =
                    hits.map(|hit| FirstRow::candidate(candidates, hit.row, hit.score));
                let first_rows: Vec<FirstRow> = first_rows.collect();
                Ok((reranker_features.with_nearest(queries, query, &first_rows, &near)?, place))
            };
            placed.iter().zip(near).map(one).collect::<Result<Vec<_>, Error>>()
        };
        let added = placed.par_chunks(TOGETHER).map(some).collect::<Result<Vec<_>, Error>>()?;
        self.queries.extend(added.into_iter().flatten());
        self.kinds = Some(reranker_features.kinds());
        Ok(())
    }
}

/// Refuses features with words for examples without, and the reverse; and likewise of evidence.
pub(super) fn same_kinds(
    examples: Option<FeatureKinds>,
    reranker_features: &RerankerFeatures,
) -> Result<(), Error> {
    let with = |words| if words { "with" } else { "without" };
    let kinds = reranker_features.kinds();
    let examples = examples.unwrap_or(kinds);
    let [with_words, others] = [examples, kinds].map(|kinds| with(kinds.words));
    let message =
        format_args!("a reranker has examples {with_words} words and features {others} words");
    check_consistent(with_words == others, message)?;
    let [numbers, others] = [examples, kinds].map(|kinds| kinds.evidence);
    let message = format_args!(
        "a reranker has examples with {numbers} numbers of evidence and features with {others}"
    );
    check_consistent(examples == kinds, message)
}
