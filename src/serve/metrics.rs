//! Counters in the text format of Prometheus.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper ends of the bins of seconds.
const SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// What has been asked so far.
#[derive(Default)]
pub(super) struct Counters {
    /// By path and status.
    requests: Mutex<BTreeMap<(String, u16), u64>>,
    /// By path.
    seconds: Mutex<BTreeMap<String, Histogram>>,
    pub(super) queries: AtomicU64,
}

#[derive(Default)]
struct Histogram {
    /// The last one without an end.
    bins: [u64; SECONDS.len() + 1],
    sum: f64,
}

impl Counters {
    /// Counts an answered request; unknown paths are one.
    pub(super) fn count(&self, path: String, status: u16, took: Duration) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((path.clone(), status)).or_insert(0) += 1;
        drop(requests);
        let mut seconds = self.seconds.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = seconds.entry(path).or_default();
        let took = took.as_secs_f64();
        histogram.sum += took;
        let bin = SECONDS.iter().position(|&end| took <= end);
        histogram.bins[bin.unwrap_or(SECONDS.len())] += 1;
    }

    /// All counters; `inside` is the number of requests that are computed or wait.
    pub(super) fn text(&self, inside: usize) -> String {
        let mut samples = Vec::new();
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        for ((path, status), count) in requests.iter() {
            samples.push(format!("{{path=\"{path}\",status=\"{status}\"}} {count}"));
        }
        let requests = family(["requests_total", "counter", "Answered requests."], &samples);
        samples.clear();
        let seconds = self.seconds.lock().unwrap_or_else(PoisonError::into_inner);
        for (path, Histogram { bins, sum }) in seconds.iter() {
            let mut below = 0;
            let ends = SECONDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
            for (end, own) in ends.zip(bins) {
                below += own;
                samples.push(format!("_bucket{{path=\"{path}\",le=\"{end}\"}} {below}"));
            }
            samples.push(format!("_sum{{path=\"{path}\"}} {sum}"));
            samples.push(format!("_count{{path=\"{path}\"}} {below}"));
        }
        let seconds = family(["request_seconds", "histogram", "Time of requests."], &samples);
        let queries = format!(" {}", self.queries.load(Relaxed));
        let queries = family(["queries_total", "counter", "Queries of all requests."], &[queries]);
        let what = ["requests_inside", "gauge", "Requests that are computed or wait."];
        requests + &seconds + &queries + &family(what, &[format!(" {inside}")])
    }
}

/// A family of samples, with its name, its type and its description.
fn family([name, kind, help]: [&str; 3], samples: &[String]) -> String {
    let head = format!("# HELP dsokr_{name} {help}\n# TYPE dsokr_{name} {kind}\n");
    let samples = samples.iter().map(|sample| format!("dsokr_{name}{sample}\n"));
    head + &samples.collect::<String>()
}
