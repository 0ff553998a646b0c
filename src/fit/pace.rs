//! A line where a fit takes longer than was planned.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use dsokr_core::{Cancellation, StageReport};
use tracing::warn;

/// How many times as long as planned a fit takes, and how many seconds longer at least, when it says so.
const SLOWER: f64 = 1.5;
const LEAST: f64 = 30.0;

/// Says once that a fit takes longer than was planned, unless it is over and this is dropped by then.
pub(super) struct Pace {
    _end: Sender<()>,
}

impl Pace {
    /// Watches a fit that has `begun` and is planned to take so many seconds in all; none where these are no time.
    pub fn watch(begun: Instant, planned: f64) -> Option<Self> {
        let limit = limit(planned)?;
        let (end, ended) = channel();
        let cancellation = Cancellation::current();
        let watch = move || {
            let left = limit.saturating_sub(begun.elapsed());
            if ended.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                warn!("{}", line(planned, begun.elapsed(), &cancellation.stages()));
            }
        };
        // nobody waits for it, and without a thread nothing is said
        drop(std::thread::Builder::new().name("pace".into()).spawn(watch));
        Some(Self { _end: end })
    }
}

/// Returns the time after which a fit of so many planned seconds is slow.
fn limit(planned: f64) -> Option<Duration> {
    Duration::try_from_secs_f64((SLOWER * planned).max(LEAST + planned)).ok()
}

fn line(planned: f64, elapsed: Duration, stages: &[StageReport]) -> String {
    let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
    let now = if names.is_empty() { String::new() } else { format!(", in {}", names.join(": ")) };
    format!(
        "slower than planned: about {planned:.0} s in all, and {:.0} s have gone by{now}",
        elapsed.as_secs_f64()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_is_slow_after_half_as_much_again_and_thirty_seconds() {
        assert_eq!(limit(10.0), Some(Duration::from_secs(40)));
        assert_eq!(limit(100.0), Some(Duration::from_secs(150)));
        assert_eq!(limit(f64::INFINITY), None);
        let stage = |name: &str| StageReport {
            name: name.into(),
            done: 0,
            parts: 0,
            elapsed: Duration::from_secs(60),
        };
        let said = line(96.2, Duration::from_secs(150), &[stage("fit"), stage("normal equations")]);
        let expected = "slower than planned: about 96 s in all, and 150 s have gone by, in fit: normal equations";
        assert_eq!(said, expected);
        assert!(line(96.2, Duration::from_secs(150), &[]).ends_with("have gone by"));
    }

    #[test]
    fn a_fit_that_ends_in_time_is_watched_no_longer() {
        let pace = Pace::watch(Instant::now(), 1.0);
        assert!(pace.is_some());
        drop(pace);
        assert!(Pace::watch(Instant::now(), f64::NAN).is_none());
    }
}
