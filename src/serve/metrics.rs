//! Counters in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper ends of the bins of seconds.
const SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// What has been asked so far.
#[derive(Default)]
pub(super) struct Counters {
    /// By path and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    /// By path.
    seconds: Mutex<BTreeMap<&'static str, Histogram>>,
    pub(super) queries: AtomicU64,
}

#[derive(Default)]
struct Histogram {
    bins: [u64; SECONDS.len()],
    count: u64,
    sum: f64,
}

impl Counters {
    /// Counts an answered request; unknown paths are one.
    pub(super) fn count(&self, path: &'static str, status: u16, took: Duration) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((path, status)).or_insert(0) += 1;
        drop(requests);
        let mut seconds = self.seconds.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = seconds.entry(path).or_default();
        let took = took.as_secs_f64();
        histogram.count += 1;
        histogram.sum += took;
        if let Some(bin) = SECONDS.iter().position(|&end| took <= end) {
            histogram.bins[bin] += 1;
        }
    }

    /// All counters; `inside` is the number of requests that are computed or wait.
    pub(super) fn text(&self, inside: usize) -> String {
        let mut text = String::from(
            "# HELP dsokr_requests_total Answered requests.\n# TYPE dsokr_requests_total counter\n",
        );
        // writing to a string cannot fail
        for ((path, status), count) in
            self.requests.lock().unwrap_or_else(PoisonError::into_inner).iter()
        {
            let _ = writeln!(
                text,
                "dsokr_requests_total{{path=\"{path}\",status=\"{status}\"}} {count}"
            );
        }
        text += "# HELP dsokr_request_seconds Time of requests.\n\
                 # TYPE dsokr_request_seconds histogram\n";
        for (path, own) in self.seconds.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let mut below = 0;
            for (end, count) in SECONDS.iter().zip(own.bins) {
                below += count;
                let _ = writeln!(
                    text,
                    "dsokr_request_seconds_bucket{{path=\"{path}\",le=\"{end}\"}} {below}"
                );
            }
            let Histogram { count, sum, .. } = own;
            let _ = writeln!(
                text,
                "dsokr_request_seconds_bucket{{path=\"{path}\",le=\"+Inf\"}} {count}\n\
                 dsokr_request_seconds_sum{{path=\"{path}\"}} {sum}\n\
                 dsokr_request_seconds_count{{path=\"{path}\"}} {count}"
            );
        }
        let _ = write!(
            text,
            "# HELP dsokr_queries_total Queries of all requests.\n\
             # TYPE dsokr_queries_total counter\ndsokr_queries_total {}\n\
             # HELP dsokr_requests_inside Requests that are computed or wait.\n\
             # TYPE dsokr_requests_inside gauge\ndsokr_requests_inside {inside}\n",
            self.queries.load(Relaxed)
        );
        text
    }
}
