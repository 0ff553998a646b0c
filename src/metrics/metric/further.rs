//! Metrics that [`Scores`] have no field for: an entry of the list of metrics, with the values of queries that it
//! summarises, is all that one needs.
//!
//! `#[serde(remote = "Self")]` makes `serialize` and `deserialize` of the fields inherent functions of [`Scores`]. The traits
//! here call them, and know the metrics that fields do not.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{Metric, Over};
use crate::metrics::evaluation::Evaluation;
use crate::metrics::scores::Scores;

/// Returns the metrics of an evaluation that its scores have no field for, by name.
pub(crate) fn further_metrics(evaluation: &Evaluation) -> BTreeMap<String, f64> {
    let queries: Vec<usize> = (0..evaluation.ranks.len()).collect();
    let value = |metric: Metric| match metric.0.over {
        Over::Area(area) => area(evaluation.scored.as_ref()?, &queries),
        Over::Kept
        | Over::Ranks(_)
        | Over::F1
        | Over::HammingLoss
        | Over::MicroF1
        | Over::MacroF1
        | Over::Numbers(_)
        | Over::Classes(_) => Some(metric.of_drawn(evaluation)?(&queries)),
    };
    let lacking = Metric::all().filter(|metric| metric.read(&evaluation.scores).is_none());
    let further = lacking.filter_map(|metric| Some((metric.name().to_owned(), value(metric)?)));
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
