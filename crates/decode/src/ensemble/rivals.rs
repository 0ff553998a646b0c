//! The candidates that decide ranks whatever the weights of members are, so that a fit of weights looks at these alone.

use std::ops::Range;

use dsokr_core::{Cancellation, Error};
use rayon::prelude::*;

use super::rule::{Combiner, tied};
use super::whole::{Scratch, Sweep};
use crate::error::ensure;
use crate::rank::Rank;
use crate::scoring::first_by;
use crate::shards::AllCandidates;

/// Candidates that may be above or tied with the gold one of a query for some weights.
///
/// Weights are not negative. A candidate whose value is below the gold one's under every member is below it in every
/// weighted sum, also after rounding, which is monotone. It need not be looked at again, and the ranks for any weights
/// follow from the others.
pub(super) struct Rivals {
    /// The rivals of each query; none of queries without a gold candidate.
    pub queries: Vec<Option<QueryRivals>>,
    /// Queries with rivals that had to be left out, ascending.
    pub incomplete: Vec<usize>,
}

/// The rivals of one query.
pub(super) struct QueryRivals {
    /// Candidates of the query.
    candidates: u64,
    /// Values of the gold row, one a member.
    pub gold: Vec<f64>,
    /// Candidates that share the gold row.
    pub tied: u32,
    /// Candidates that share each rival row.
    pub counts: Vec<u32>,
    /// Values of rival rows, `[member × row]`.
    values: Vec<f64>,
}

/// Which candidates are rivals of the right one.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedRivals {
    /// The most rivals of a query, those with the largest sums of values if there are more.
    pub limit: usize,
    /// Whether candidates that cannot be above the right one are rivals too.
    pub includes_hopeless: bool,
}

impl Rivals {
    /// Collects the wanted rivals of each query.
    pub(super) fn from_sweep(sweep: &Sweep, wanted: WantedRivals) -> Result<Self, Error> {
        let message = "the weights of models whose candidates are in shards";
        let whole = matches!(sweep.models.all, AllCandidates::Whole(_));
        ensure(whole, || Error::unsupported(message))?;
        let cancellation = Cancellation::current();
        let tasks = sweep.tasks().into_par_iter();
        let fields_of_tasks = tasks.map_init(Scratch::default, |scratch, task| {
            cancellation.check()?;
            rivals(sweep, task, wanted, scratch)
        });
        let fields = fields_of_tasks.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten();
        let mut queries = Vec::new();
        let mut incomplete = Vec::new();
        for (query, field_of_query) in fields.enumerate() {
            if field_of_query.as_ref().is_some_and(|(_, complete)| !complete) {
                incomplete.push(query);
            }
            queries.push(field_of_query.map(|(field, _)| field));
        }
        Ok(Self { queries, incomplete })
    }

    /// Returns the ranks of the gold candidates; too low for queries that are not complete.
    pub(super) fn ranks(&self, combiner: &Combiner) -> Result<Vec<Option<Rank>>, Error> {
        let one = |combined: &mut Vec<f64>, field: &Option<QueryRivals>| {
            field.as_ref().map(|field| field.rank(combiner, combined)).transpose()
        };
        self.queries.par_iter().map_init(Vec::new, one).collect()
    }

    /// Returns the mean reciprocal rank under each rule; too high if rivals are left out.
    pub(super) fn mrr(&self, combiners: &[Combiner]) -> Result<Vec<f64>, Error> {
        let cancellation = Cancellation::current();
        let one = |combined: &mut Vec<f64>, field: &Option<QueryRivals>| match field {
            None => Ok(vec![0.0; combiners.len()]),
            Some(field) => {
                cancellation.check()?;
                let reciprocal = |combiner| {
                    field.rank(combiner, combined).map(|rank| rank.expected_reciprocal())
                };
                combiners.iter().map(reciprocal).collect()
            }
        };
        let reciprocals = self.queries.par_iter().map_init(Vec::new, one);
        let reciprocals = reciprocals.collect::<Result<Vec<Vec<f64>>, Error>>()?;
        let mean = |combiner| {
            let sum: f64 = reciprocals.iter().map(|query| query[combiner]).sum();
            sum / self.queries.len() as f64
        };
        Ok((0..combiners.len()).map(mean).collect())
    }
}

impl QueryRivals {
    /// Returns the value of a rival row under a member.
    pub(super) fn value(&self, member: usize, row: usize) -> f64 {
        self.values[member * self.counts.len() + row]
    }

    /// Creates the rivals in these rows of a query that is ranked among so many candidates, with zeros as values.
    fn without_values(sweep: &Sweep, candidates: u64, gold: usize, points: &[usize]) -> Self {
        let members = sweep.models.members.len();
        Self {
            candidates,
            gold: vec![0.0; members],
            tied: sweep.count(gold),
            counts: points.iter().map(|&point| sweep.count(point)).collect(),
            values: vec![0.0; members * points.len()],
        }
    }

    fn rank(&self, combiner: &Combiner, combined: &mut Vec<f64>) -> Result<Rank, Error> {
        let mut bar = [combiner.start()];
        combined.clear();
        combined.resize(self.counts.len(), combiner.start());
        for member in combiner.active() {
            let step = combiner.step(member, self.candidates);
            step.add(&mut bar, std::iter::once(self.gold[member]));
            let values = &self.values[member * self.counts.len()..][..self.counts.len()];
            step.add(combined, values.iter().copied());
        }
        let tolerance = combiner.tolerance(self.candidates);
        let rivals = combined.iter().map(|&score| tied(score, bar[0], tolerance));
        let rivals = rivals.zip(self.counts.iter().copied());
        let scores = rivals.chain(std::iter::once((bar[0], self.tied)));
        Rank::among(scores, bar[0], self.candidates)
    }
}

/// Returns the rivals of each query of a task, and whether they are all.
///
/// Members are swept twice, to find the rivals and to take their values, so that the values of
/// one member exist at a time.
fn rivals(
    sweep: &Sweep,
    task: Range<usize>,
    wanted: WantedRivals,
    scratch: &mut Scratch,
) -> Result<Vec<Option<(QueryRivals, bool)>>, Error> {
    let place = |query: usize| sweep.gold[query].map(|row| sweep.point(query, row)).transpose();
    let golds: Vec<Option<usize>> = task.clone().map(place).collect::<Result<_, _>>()?;
    let chosen = chosen_rows(sweep, task.clone(), &golds, wanted, scratch)?;
    let candidates = sweep.candidates(task.start);
    let fields = golds.iter().zip(&chosen).map(|(gold, chosen)| {
        gold.map(|gold| {
            let field = QueryRivals::without_values(sweep, candidates, gold, &chosen.points);
            (field, chosen.complete)
        })
    });
    let mut fields: Vec<Option<(QueryRivals, bool)>> = fields.collect();
    let members = sweep.models.members.len();
    sweep.each(task, 0..members, scratch, |lane, member, column| {
        if let Some((field, _)) = &mut fields[lane]
            && let Some(gold) = golds[lane]
        {
            let chosen = &chosen[lane].points;
            field.gold[member] = column.get(gold);
            let values = &mut field.values[member * chosen.len()..][..chosen.len()];
            for (value, &point) in values.iter_mut().zip(chosen) {
                *value = column.get(point);
            }
        }
    })?;
    Ok(fields)
}

/// The rows of the rivals of a query.
struct ChosenRows {
    points: Vec<usize>,
    /// Whether they are all.
    complete: bool,
}

/// Returns the rows of the wanted rivals of each query of a task, by a sweep over all members.
fn chosen_rows(
    sweep: &Sweep,
    task: Range<usize>,
    golds: &[Option<usize>],
    wanted: WantedRivals,
    scratch: &mut Scratch,
) -> Result<Vec<ChosenRows>, Error> {
    let members = sweep.models.members.len();
    let points = sweep.points(task.start);
    let candidates = sweep.candidates(task.start);
    // A margin for what rounding could make equal in a sum; to take in too many costs only time.
    let quanta = 4.0 * members as f64 * sweep.combiner.quantum(candidates);
    let mut sums = vec![0.0f64; task.len() * points];
    let mut competes = vec![false; task.len() * points];
    sweep.each(task, 0..members, scratch, |lane, _, column| {
        let Some(gold) = golds[lane] else {
            return;
        };
        let range = lane * points..(lane + 1) * points;
        let bar = column.get(gold);
        let bar = bar - (bar.abs() / (1u64 << 40) as f64 + quanta);
        let sums = sums[range.clone()].iter_mut().zip(&mut competes[range]);
        for ((sum, competes), value) in sums.zip(column.iter()) {
            *sum += value;
            *competes |= wanted.includes_hopeless || value >= bar;
        }
    })?;

    let chosen = golds.iter().enumerate().map(|(lane, gold)| {
        let start = lane * points;
        let of_lane = (0..points).filter(|&point| competes[start + point] && Some(point) != *gold);
        let points: Vec<usize> = of_lane.collect();
        if points.len() <= wanted.limit {
            return ChosenRows { points, complete: true };
        }
        let sum = |point: usize| sums[start + point];
        let order = |a: &usize, b: &usize| sum(*b).total_cmp(&sum(*a)).then(a.cmp(b));
        ChosenRows { points: first_by(points, wanted.limit, order), complete: false }
    });
    Ok(chosen.collect())
}
