use std::time::{Duration, Instant};

/// When a search gives up and hands back bounds; by default never.
///
/// States are deterministic: the same pair under the same number of states has the same result on
/// every machine. A time is not. With both, what comes first counts. The clock is read every 16
/// states, and within a state for graphs of more than 128 nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limit {
    states: Option<u64>,
    time: Option<Duration>,
}

impl Limit {
    /// None: search until the distance is known.
    pub const NONE: Self = Self { states: None, time: None };

    /// At most so many states, which are partial assignments that a bound is computed for. There is
    /// always one, that of no node assigned.
    pub fn states(self, states: u64) -> Self {
        Self { states: Some(states), ..self }
    }

    /// At most about so long for a pair.
    pub fn time(self, time: Duration) -> Self {
        Self { time: Some(time), ..self }
    }
}

/// States between two looks at the clock.
const LOOK: u64 = 16;

/// Nodes from which on a state takes so long that the clock is read within it.
const LARGE: usize = 129;

/// What a search has used of its limit.
pub(super) struct Meter {
    states: u64,
    limit: u64,
    end: Option<Instant>,
    over: bool,
}

impl Meter {
    pub(super) fn start(limit: &Limit) -> Self {
        // a time too long to be added is no limit
        let end = limit.time.and_then(|time| Instant::now().checked_add(time));
        Self { states: 0, limit: limit.states.unwrap_or(u64::MAX), end, over: false }
    }

    pub(super) fn count(&mut self) {
        self.states += 1;
        if self.states.is_multiple_of(LOOK) {
            self.over = self.time_is_over();
        }
    }

    pub(super) fn states(&self) -> u64 {
        self.states
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.over || self.states >= self.limit
    }

    /// Whether to stop within a state of graphs with so many nodes.
    pub(super) fn interrupts(&self, nodes: usize) -> bool {
        nodes >= LARGE && self.time_is_over()
    }

    fn time_is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }
}
