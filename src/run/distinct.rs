//! Searches whose duplicates are folded, ranks of chosen candidates, and how sure first places are.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use dsokr_data::{Split, Truth};
use dsokr_decode::report::{ReliabilityBin, reliability};
use dsokr_decode::{Candidates, Decoded, Hit, MissingGold, Pool, Rank, Standing, Standings};

use super::ranking::Ranking;
use super::{EnsembleRun, QueryAnswers, Run, SearchAnswer};
use crate::Error;
use crate::query_texts::QueryTexts;

/// The most hits of all queries that are kept to find ties among them.
const HITS: usize = 1 << 18;

/// A candidate of a search, with the duplicates that score the same bit for bit.
#[derive(Clone, Debug, PartialEq)]
pub struct DistinctHit {
    /// Index of the first candidate of them that was wanted.
    pub candidate: usize,
    /// The others, in their order, wanted or not.
    pub duplicates: Vec<usize>,
    /// Its score.
    pub score: f32,
    /// One more than the number of candidates with a higher score, among all.
    pub rank: usize,
    /// Number of candidates with the same score that are no duplicates, among all.
    pub tied: usize,
    /// Its score minus that of the next candidate that is no duplicate; none for the last one.
    pub gap: Option<f32>,
}

/// The answer to a query without duplicates.
#[derive(Clone, Debug, PartialEq)]
pub struct DistinctAnswer {
    /// The hits, best first.
    pub hits: Vec<DistinctHit>,
    /// The gap of the best candidate of all.
    pub gap: Option<f32>,
    /// What else the configuration predicts; without hits of its own.
    pub further: SearchAnswer,
}

impl EnsembleRun {
    /// The predictions for coordinates `[queries × p]` that were made elsewhere.
    ///
    /// # Errors
    /// [`Error::Value`] for several members, each of which has coordinates of its own.
    pub fn ask_coordinates(&self, queries: usize, z: &[f32]) -> Result<QueryAnswers, Error> {
        if self.members().len() > 1 {
            let found = format!("given, for {} members", self.members().len());
            return Err(Error::value("coordinates", found, "a run of one model"));
        }
        let look = self.members()[0].look.as_ref();
        if look.is_some_and(|look| look.words().is_some()) {
            let allowed = "texts: the second look of the run compares their words with candidates";
            return Err(Error::value("coordinates", "given", allowed));
        }
        let read = |_: &Run| Ok(Split::texts(vec![String::new(); queries]));
        self.ask_with(read, None, |_, _| Ok(z.to_vec()))
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
    ) -> Result<Vec<DistinctAnswer>, Error> {
        let ranking = self.ranking(asked)?;
        let first = match wanted {
            None => self.first_hits(&ranking, asked.pool(), places.end)?,
            Some(_) => None,
        };
        let (found, named) = match first {
            Some((found, named)) => {
                let page = |mut own: Folded| {
                    own.hits = own.hits.into_iter().skip(places.start).take(places.len()).collect();
                    own
                };
                (found.into_iter().map(page).collect(), named)
            }
            None => {
                let (found, named) = ranking.standings(&self.rule, wanted, places)?;
                (found.into_iter().map(Folded::of).collect::<Vec<_>>(), named)
            }
        };
        let (further, named) = (self.further(asked, ranking.queries())?, named.map(Arc::new));
        let answer = |(found, further): (Folded, SearchAnswer)| {
            let further = SearchAnswer { named: named.clone(), ..further };
            DistinctAnswer { hits: found.hits, gap: found.gap, further }
        };
        Ok(found.into_iter().zip(further).map(answer).collect())
    }

    /// The first `count` hits of each query from a few more candidates; none where so few do not say how many tie
    /// with the last one, or are too many to keep.
    fn first_hits(
        &self,
        ranking: &Ranking,
        pool: Pool,
        count: usize,
    ) -> Result<Option<FoldedHits>, Error> {
        let all = ranking.candidates();
        let more = count.saturating_add(2).min(all);
        if ranking.queries().len().saturating_mul(more) > HITS {
            return Ok(None);
        }
        let (ranked, named) = ranking.top_k(pool, &self.rule, more)?;
        let candidates = named.as_ref().unwrap_or(&self.members()[0].candidates);
        let class_of = |candidate: usize| match ranking {
            Ranking::Whole(ensemble) => ensemble.class_of(candidate),
            Ranking::Shards(..) => candidates.class_of(candidate),
        };
        let found = ranked.iter().map(|hits| folded(class_of, hits, more == all));
        let found: Option<Vec<Folded>> = found.collect();
        let enough = |found: &Vec<Folded>| found.iter().all(|own| own.hits.len() >= count);
        let found = found.filter(|found| more == all || enough(found));
        Ok(found.map(|found| (found, named)))
    }

    /// The rank and the score of chosen candidates of each query, by id, among all candidates.
    ///
    /// # Errors
    /// As [`distinct`](Self::distinct); an id that is no candidate's.
    pub fn rank_candidates(
        &self,
        asked: &QueryAnswers,
        chosen: &[Vec<String>],
    ) -> Result<Vec<Vec<Decoded>>, Error> {
        let rows =
            || chosen.iter().enumerate().flat_map(|(query, own)| own.iter().map(move |_| query));
        let repeat = |(run, z): (&Run, &Vec<f32>)| -> Vec<f32> {
            let p = z.len() / chosen.len().max(1);
            debug_assert_eq!(p, dsokr_decode::CandidateBlocks::dim(&run.candidates));
            rows().flat_map(|query| &z[query * p..][..p]).copied().collect()
        };
        let answers: Vec<Vec<f32>> =
            self.members().iter().zip(&asked.answers).map(repeat).collect();
        let repeated = QueryTexts::of(asked.split()).repeat(&rows().collect::<Vec<_>>());
        if repeated.names.is_empty() {
            return Ok(vec![Vec::new(); chosen.len()]);
        }
        let ranking = self.ranking_with(repeated.of_rows(), &answers)?;
        let gold = ranking.gold(Pool::Shared, &chosen.concat(), MissingGold::Error)?;
        let mut decoded = ranking.decode(Pool::Shared, &self.rule, &gold, 1)?.into_iter();
        Ok(chosen.iter().map(|own| decoded.by_ref().take(own.len()).collect()).collect())
    }

    /// How often the first candidate is right, for queries in the order of its gap to the next candidate that
    /// is no duplicate: at most `bins` bins, whose scores are gaps. A set of labels or a ranking is right if it
    /// is the true one, any other candidate if it is the gold candidate.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn gap_reliability(
        &self,
        asked: &QueryAnswers,
        bins: usize,
    ) -> Result<Vec<ReliabilityBin>, Error> {
        let answers = self.distinct(asked, 0..1, None)?;
        let mut decoded = match self.first_ranks(asked.split().truth.as_ref(), &answers)? {
            Some(ranks) => {
                let ranked = |(answer, rank): (&DistinctAnswer, _)| {
                    let hits = answer.hits.iter();
                    let hits = hits.map(|hit| Hit { candidate: hit.candidate, score: hit.score });
                    Decoded { rank, gold_score: None, hits: hits.collect() }
                };
                answers.iter().zip(ranks).map(ranked).collect()
            }
            None => self.rank_golds(asked, &self.ranking(asked)?)?.1,
        };
        for (decoded, answer) in decoded.iter_mut().zip(answers) {
            let gap = answer.gap.unwrap_or(f32::MAX);
            decoded.hits.iter_mut().for_each(|hit| hit.score = gap);
        }
        Ok(reliability(&decoded, bins)?)
    }

    /// Rank 1 where the first hit is the true set of labels or ranking, which need not be a candidate, and none
    /// elsewhere; nothing of outputs that are neither.
    fn first_ranks<'a>(
        &'a self,
        truth: Option<&Truth>,
        answers: &'a [DistinctAnswer],
    ) -> Result<Option<Vec<Option<Rank>>>, Error> {
        let run = &self.members()[0];
        let label = |answer: &'a DistinctAnswer| {
            let candidates = answer.further.candidates(run);
            answer.hits.first().map_or("", |hit| candidates.label(hit.candidate))
        };
        let first = answers.iter().map(label);
        let features = &self.config().output.features;
        let right: Vec<bool> = match truth {
            Some(Truth::Labels(truth)) => match Truth::of_labels(first, features)? {
                Some(Truth::Labels(first)) => {
                    let set =
                        |labels: &Vec<String>| labels.iter().cloned().collect::<BTreeSet<_>>();
                    first.iter().zip(truth).map(|(a, b)| set(a) == set(b)).collect()
                }
                Some(Truth::Molecules(_) | Truth::Graphs(_) | Truth::Rankings(_)) | None => {
                    return Ok(None);
                }
            },
            Some(Truth::Rankings(truth)) => match Truth::of_labels(first, features)? {
                Some(Truth::Rankings(first)) => {
                    first.iter().zip(truth).map(|(a, b)| a == b).collect()
                }
                Some(Truth::Molecules(_) | Truth::Graphs(_) | Truth::Labels(_)) | None => {
                    return Ok(None);
                }
            },
            Some(Truth::Molecules(_) | Truth::Graphs(_)) | None => return Ok(None),
        };
        let rank =
            |right| if right { Rank::new(0, 1, self.candidates() as u64).ok() } else { None };
        Ok(Some(right.into_iter().map(rank).collect()))
    }
}

/// Those of all queries, with the candidates that they are numbers of where these are in shards.
type FoldedHits = (Vec<Folded>, Option<Candidates>);

/// The distinct candidates of a query.
struct Folded {
    hits: Vec<DistinctHit>,
    /// The gap of the first one of all.
    gap: Option<f32>,
}

impl Folded {
    fn of(Standings { hits, gap }: Standings) -> Self {
        let hit = |Standing { candidates, score, above, tied, gap }: Standing| {
            let mut candidates = candidates.into_iter().map(|candidate| candidate as usize);
            DistinctHit {
                candidate: candidates.next().unwrap_or_default(),
                duplicates: candidates.collect(),
                score,
                rank: above as usize + 1,
                tied: tied as usize,
                gap,
            }
        };
        Self { hits: hits.into_iter().map(hit).collect(), gap }
    }
}

/// The hits without duplicates; none where more hits are needed to know what ties with the first one.
/// The last rows of hits that are not all there are left out, because their ties and gaps are not known.
fn folded(class_of: impl Fn(usize) -> u32, hits: &[Hit], whole: bool) -> Option<Folded> {
    let mut rows: Vec<DistinctHit> = Vec::new();
    let mut first_gap = None;
    let mut place = 0;
    while place < hits.len() {
        let score = hits[place].score;
        let same = hits[place..].iter().take_while(|hit| hit.score == score).count();
        let tied = &hits[place..place + same];
        let next = hits.get(place + same);
        if next.is_none() && !whole {
            break;
        }
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut group_of = HashMap::new();
        for hit in tied {
            let next = groups.len();
            let group = *group_of.entry(class_of(hit.candidate)).or_insert(next);
            if group == next {
                groups.push(Vec::new());
            }
            groups[group].push(hit.candidate);
        }
        let gap = if groups.len() > 1 { Some(0.0) } else { next.map(|next| score - next.score) };
        if place == 0 {
            first_gap = gap;
        }
        for mut duplicates in groups {
            let (tied, candidate) = (same - duplicates.len(), duplicates.remove(0));
            rows.push(DistinctHit { candidate, duplicates, score, rank: place + 1, tied, gap });
        }
        place += same;
    }
    (place > 0).then_some(Folded { hits: rows, gap: first_gap })
}
