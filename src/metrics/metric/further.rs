//! Metrics that [`Scores`] have no field for: an entry of the list of metrics, with the values of queries that it
//! summarises, is all that one needs.
//!
//! `#[serde(remote = "Self")]` makes `serialize` and `deserialize` of the fields inherent functions of [`Scores`]. The traits
//! here call them, and know the metrics that fields do not.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::Metric;
use crate::metrics::evaluation::Evaluation;
use crate::metrics::scores::Scores;

/// Returns the metrics of an evaluation that its scores have no field for, by name.
pub(crate) fn further_metrics(evaluation: &Evaluation) -> BTreeMap<String, f64> {
    let queries: Vec<usize> = (0..evaluation.ranks.len()).collect();
    let lacking = Metric::all().filter(|metric| metric.read(&evaluation.scores).is_none());
    let further = lacking.filter_map(|metric| {
        let value = metric.of_queries(evaluation)?(&queries);
        Some((metric.name().to_owned(), value))
    });
    further.filter(|(_, value)| value.is_finite()).collect()
}

impl Serialize for Scores {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

/// Metrics that no field reads are [further](Scores::further) ones.
impl<'de> Deserialize<'de> for Scores {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let numbers = Value::deserialize(deserializer)?;
        let mut scores = Self::deserialize(&numbers).map_err(D::Error::custom)?;
        let in_fields = serde_json::to_value(&scores).map_err(D::Error::custom)?;
        let lacking = Metric::all().filter(|metric| in_fields.get(metric.name()).is_none());
        let further = lacking.filter_map(|metric| {
            let value = numbers.get(metric.name())?.as_f64()?;
            Some((metric.name().to_owned(), value))
        });
        scores.further = further.collect();
        Ok(scores)
    }
}
