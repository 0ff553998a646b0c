//! Values of single queries, and their means.

use std::collections::BTreeMap;

use crate::error::Error;

/// Values of each query that a metric is the mean of, by its name, where they are known.
pub(crate) type QueryValues = BTreeMap<&'static str, Vec<f64>>;

/// Returns the mean of values and its standard error.
pub(crate) fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0) / n).sqrt())
}

/// Returns a number of queries, in words: "1 query", "2 queries".
pub(crate) fn queries_text(count: usize) -> String {
    if count == 1 { "1 query".into() } else { format!("{count} queries") }
}

/// Returns a number of groups, in words: "1 group", "2 groups".
pub(crate) fn groups_text(count: usize) -> String {
    if count == 1 { "1 group".into() } else { format!("{count} groups") }
}

pub(crate) fn check_queries<T>(queries: &[T]) -> Result<(), Error> {
    if queries.is_empty() {
        Err(dsokr_core::Error::too_few("no queries", 1).into())
    } else {
        Ok(())
    }
}
