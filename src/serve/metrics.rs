//! Counters in the text format of Prometheus.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper ends of the bins of seconds.
const SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// Counters of requests so far.
#[derive(Default)]
pub(super) struct Counters {
    paths: Mutex<BTreeMap<String, Answered>>,
    pub(super) queries: AtomicU64,
}

/// The answers of a path.
#[derive(Default)]
struct Answered {
    statuses: BTreeMap<u16, u64>,
    /// Numbers of answers by the seconds that they took; the last bin has no end.
    bins: [u64; SECONDS.len() + 1],
    sum: f64,
}

impl Counters {
    /// Counts an answered request; unknown paths are one.
    pub(super) fn count(&self, path: String, status: u16, took: Duration) {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        let answered = paths.entry(path).or_default();
        *answered.statuses.entry(status).or_insert(0) += 1;
        let took = took.as_secs_f64();
        answered.sum += took;
        answered.bins[SECONDS.partition_point(|&end| end < took)] += 1;
    }

    /// Returns all counters; `inside` is the number of requests that are computed or wait.
    pub(super) fn text(&self, inside: usize) -> String {
        let mut requests = Vec::new();
        let mut seconds = Vec::new();
        let paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        for (path, Answered { statuses, bins, sum }) in paths.iter() {
            let request = |(status, count): (&u16, &u64)| {
                format!("{{path=\"{path}\",status=\"{status}\"}} {count}")
            };
            requests.extend(statuses.iter().map(request));
            let mut below = 0;
            let ends = SECONDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
            for (end, count) in ends.zip(bins) {
                below += count;
                seconds.push(format!("_bucket{{path=\"{path}\",le=\"{end}\"}} {below}"));
            }
            seconds.push(format!("_sum{{path=\"{path}\"}} {sum}"));
            seconds.push(format!("_count{{path=\"{path}\"}} {below}"));
        }
        let queries = [format!(" {}", self.queries.load(Relaxed))];
        [
            family(["requests_total", "counter", "Answered requests."], &requests),
            family(["request_seconds", "histogram", "Time of requests."], &seconds),
            family(["queries_total", "counter", "Queries of all requests."], &queries),
            family(
                ["requests_inside", "gauge", "Requests that are computed or wait."],
                &[format!(" {inside}")],
            ),
        ]
        .concat()
    }
}

/// Returns a family of samples, with its name, its type and its description.
fn family([name, kind, help]: [&str; 3], samples: &[String]) -> String {
    let head = format!("# HELP dsokr_{name} {help}\n# TYPE dsokr_{name} {kind}\n");
    let samples = samples.iter().map(|sample| format!("dsokr_{name}{sample}\n"));
    head + &samples.collect::<String>()
}
