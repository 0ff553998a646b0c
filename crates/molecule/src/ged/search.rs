//! The search for the distance: depth first under a threshold that rises by one (iterative
//! deepening, Korf 1985), so that memory stays small and every finished threshold is a proven bound.

use std::time::{Duration, Instant};

use dsokr_core::assignment::{Matching, Scratch, Solved};

use super::EditDistance;
use super::costs::Costs;
use super::instance::Instance;

/// How looking below a state ended.
#[derive(PartialEq, Eq)]
enum Outcome {
    /// No assignment costs as little as the threshold.
    Nothing,
    /// An assignment that costs no more than the threshold is the best one now.
    Reached,
    /// The limit is used up.
    Stopped,
}

struct Search<'a> {
    instance: &'a Instance,
    costs: Costs<'a>,
    twins: Vec<usize>,
    /// Open rows and columns, in increasing order.
    rows: Vec<usize>,
    columns: Vec<usize>,
    /// The assignment of what is open, by number of settled rows.
    levels: Vec<Matching<i32>>,
    scratch: Scratch<i32>,
    /// Excess and column of every child that waits, of all levels.
    children: Vec<(i32, usize)>,
    /// Doubled cost of what is settled.
    spent: i32,
    /// The cost above which no assignment is searched for.
    threshold: usize,
    best: usize,
    best_columns: Vec<usize>,
    meter: Meter,
}

/// Searches until the distance is known, is known to be above `most`, or the limit is used up; with twice the bound
/// that no search needs.
pub(super) fn search(instance: &Instance, limit: &Limit, most: usize) -> (EditDistance, i32) {
    let n = instance.len();
    let costs = Costs::new(instance);
    let mut search = Search {
        instance,
        twins: instance.large.twins(),
        rows: (0..n).collect(),
        columns: (0..n).collect(),
        levels: vec![Matching::new(|row| costs.row(row), n)],
        scratch: Scratch::default(),
        children: Vec::new(),
        spent: 0,
        threshold: 0,
        best: usize::MAX,
        best_columns: Vec::new(),
        meter: Meter::start(limit),
        costs,
    };
    let solved = search.solve(0, i32::MAX);
    let bound = search.levels[0].total;
    let mut lower = (bound as usize).div_ceil(2);
    search.improve(0);
    while solved == Solved::Whole && lower < search.best && lower <= most {
        search.threshold = lower;
        match search.expand(0) {
            Outcome::Nothing => lower += 1,
            Outcome::Reached | Outcome::Stopped => break,
        }
    }
    let mapping = instance.mapping(&search.best_columns);
    (EditDistance { lower, upper: search.best, mapping, states: search.meter.states }, bound)
}

impl Search<'_> {
    fn solve(&mut self, level: usize, cap: i32) -> Solved {
        self.meter.count();
        let costs = &self.costs;
        let rows = &self.rows;
        let columns = &self.columns;
        let meter = &self.meter;
        let scratch = &mut self.scratch;
        let interrupted = || meter.interrupts(columns.len());
        self.levels[level].solve(|row| costs.row(row), rows, columns, cap, scratch, interrupted)
    }

    /// Keeps the assignment of a level if it is better than the best one, and improves it.
    fn improve(&mut self, level: usize) {
        let assigned = &self.levels[level].column_of;
        let whole = assigned.iter().all(|&column| column < assigned.len());
        if whole && self.best != usize::MAX && self.instance.cost(assigned) >= self.best {
            return;
        }
        let mut columns = assigned.to_vec();
        let mut free = (0..columns.len()).filter(|column| !assigned.contains(column));
        let open = columns.iter_mut().filter(|column| **column >= assigned.len());
        open.for_each(|column| *column = free.next().unwrap_or(*column));
        descend(self.instance, &mut columns, || self.meter.interrupts(assigned.len()));
        let cost = self.instance.cost(&columns);
        if cost < self.best {
            self.best = cost;
            self.best_columns = columns;
        }
    }

    /// Looks below the state of a level, whose assignment is solved.
    fn expand(&mut self, level: usize) -> Outcome {
        self.improve(level);
        if self.best <= self.threshold {
            return Outcome::Reached;
        }
        let slack = 2 * self.threshold as i32 - self.spent - self.levels[level].total;
        let Some(at) = self.choose(level, slack) else {
            return Outcome::Nothing;
        };
        let row = self.rows.remove(at);
        let first = self.children.len();
        let matching = &self.levels[level];
        let costs = self.costs.row(row);
        for &column in &self.columns {
            let excess = matching.excess(row, column, costs);
            if excess <= slack {
                self.children.push((excess, column));
            }
        }
        self.children[first..].sort_unstable();
        let mut outcome = Outcome::Nothing;
        for child in first..self.children.len() {
            let column = self.children[child].1;
            let twin = self.twins[column];
            let tried = &self.children[first..child];
            if tried.iter().any(|&(_, other)| self.twins[other] == twin) {
                continue;
            }
            outcome = self.settle(level, row, column);
            if outcome != Outcome::Nothing {
                break;
            }
        }
        self.children.truncate(first);
        self.rows.insert(at, row);
        outcome
    }

    /// Settles that a row, which is out of the list already, goes to a column; looks below; takes
    /// it back.
    fn settle(&mut self, level: usize, row: usize, column: usize) -> Outcome {
        if self.meter.is_used_up() {
            return Outcome::Stopped;
        }
        let exact = self.costs.exact(row, column);
        let place = self.columns.partition_point(|&other| other < column);
        self.columns.remove(place);
        self.spent += exact;
        self.costs.settle(row, column, &self.rows, &self.columns);
        if self.levels.len() == level + 1 {
            self.levels.push(Matching::default());
        }
        let (above, below) = self.levels.split_at_mut(level + 1);
        below[0].copy(&above[level]);
        below[0].remove(row, column);
        let outcome = match self.solve(level + 1, 2 * self.threshold as i32 - self.spent) {
            Solved::Whole => self.expand(level + 1),
            Solved::AboveCap => Outcome::Nothing,
            Solved::Interrupted => Outcome::Stopped,
        };
        self.costs.unsettle(row, column);
        self.spent -= exact;
        self.columns.insert(place, column);
        outcome
    }

    /// Returns the place of the open row with the fewest columns that the slack allows; among equals the
    /// one with the most edges to settled rows, then with the most edges. None if only blanks are
    /// open.
    fn choose(&self, level: usize, slack: i32) -> Option<usize> {
        let small = &self.instance.small;
        let matching = &self.levels[level];
        let real = self.rows.partition_point(|&row| row < small.len());
        let key = |&at: &usize| {
            let row = self.rows[at];
            let costs = self.costs.row(row);
            let allowed = |&&column: &&usize| matching.excess(row, column, costs) <= slack;
            let edges = small.arcs(row).len();
            let settled = self.costs.settled_edges(row);
            (
                self.columns.iter().filter(allowed).count(),
                small.len() - settled,
                small.len() - edges,
            )
        };
        (0..real).min_by_key(key)
    }
}

/// Exchanges the columns of two rows for as long as that makes the assignment cheaper, the first
/// such pair first, and until `interrupted` says to stop.
fn descend(instance: &Instance, columns: &mut [usize], interrupted: impl Fn() -> bool) {
    let real = instance.small.len();
    let all = columns.len();
    loop {
        let mut better = false;
        for row in 0..real {
            if interrupted() {
                return;
            }
            for other in row + 1..all {
                let before = part(instance, columns, row, other);
                columns.swap(row, other);
                if part(instance, columns, row, other) < before {
                    better = true
                } else {
                    columns.swap(row, other)
                }
            }
        }
        if !better {
            return;
        }
    }
}

/// Returns the part of the cost that depends on the columns of two rows. The first row is not a blank. The edge between
/// the two counts twice, but exchanging them keeps what it costs.
fn part(instance: &Instance, columns: &[usize], row: usize, other: usize) -> i32 {
    let others = if other < instance.small.len() { instance.part(columns, other) } else { 0 };
    instance.part(columns, row) + others
}

/// The limit at which a search gives up and returns bounds. By default there is none.
///
/// States are deterministic: the same pair under the same number of states has the same result on
/// every machine. A time is not. With both, what comes first counts. The clock is read every 16
/// states, and within a state for graphs of more than 128 nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limit {
    /// The most states of a search. A state is a partial assignment for which a bound is computed. There is always one
    /// state, in which no node is assigned.
    pub states: Option<u64>,
    /// The most time for a pair, approximately.
    pub time: Option<Duration>,
}

impl Limit {
    /// No limit: the search ends when the distance is known.
    pub const NONE: Self = Self { states: None, time: None };
}

/// States between two looks at the clock.
const LOOK: u64 = 16;

/// Nodes from which on a state takes so long that the clock is read within it.
const LARGE: usize = 129;

/// The part of its limit that a search has used.
struct Meter {
    states: u64,
    limit: u64,
    end: Option<Instant>,
    over: bool,
}

impl Meter {
    fn start(limit: &Limit) -> Self {
        // a time too long to be added is not a limit
        let end = limit.time.and_then(|time| Instant::now().checked_add(time));
        Self { states: 0, limit: limit.states.unwrap_or(u64::MAX), end, over: false }
    }

    fn count(&mut self) {
        self.states += 1;
        if self.states.is_multiple_of(LOOK) {
            self.over = self.time_is_over();
        }
    }

    fn is_used_up(&self) -> bool {
        self.over || self.states >= self.limit
    }

    /// Returns whether to stop within a state of graphs with so many nodes.
    fn interrupts(&self, nodes: usize) -> bool {
        nodes >= LARGE && self.time_is_over()
    }

    fn time_is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }
}
