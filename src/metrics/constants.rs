//! Predictions without an input: the constants that fit the training outputs best.

use std::collections::BTreeMap;

use dsokr_data::{Dataset, Truth};
use serde::{Deserialize, Serialize};

/// What is predicted for every query by somebody who knows the training outputs and no input. Metrics of these
/// predictions are the chance level of numbers and classes, and a run keeps them in `constants.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Constants {
    /// Constants of numbers.
    Numbers {
        /// The mean of each target, which has the least squared error.
        means: Vec<f64>,
        /// The median of each target, which has the least absolute error.
        medians: Vec<f64>,
        /// The quantiles of the one target, where quantiles are predicted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        quantiles: Vec<f64>,
    },
    /// The share of the training pairs that each class has.
    Classes(BTreeMap<String, f64>),
}

impl Constants {
    /// Returns the constants of the training outputs, with the quantiles of these levels; none of outputs that are neither
    /// numbers nor classes.
    pub fn fit(dataset: &Dataset, levels: Option<&[f64]>) -> Option<Self> {
        let truth = dataset.outputs.truth_of(&dataset.train.outputs)?;
        if truth.is_empty() {
            return None;
        }
        match truth {
            Truth::Numbers(rows) => Some(Self::of_numbers(&rows, levels.unwrap_or_default())),
            Truth::Classes(classes) => {
                let mut shares = BTreeMap::new();
                for class in &classes {
                    *shares.entry(class.clone()).or_insert(0.0) += 1.0 / classes.len() as f64;
                }
                Some(Self::Classes(shares))
            }
            Truth::Molecules(_) | Truth::Graphs(_) | Truth::Labels(_) | Truth::Rankings(_) => None,
        }
    }

    fn of_numbers(rows: &[Vec<f64>], levels: &[f64]) -> Self {
        let column = |target: usize| {
            let mut column: Vec<f64> = rows.iter().map(|row| row[target]).collect();
            column.sort_unstable_by(f64::total_cmp);
            column
        };
        let columns: Vec<Vec<f64>> = (0..rows[0].len()).map(column).collect();
        let mean = |column: &Vec<f64>| {
            let mean = column.iter().sum::<f64>() / column.len() as f64;
            // rounding may move the mean of equal numbers, such as three times 0.1, away from them
            mean.clamp(column[0], column[column.len() - 1])
        };
        let median = |column: &Vec<f64>| {
            let count = column.len();
            (column[(count - 1) / 2] + column[count / 2]) / 2.0
        };
        let quantile = |level: &f64| {
            let place = (level * rows.len() as f64).ceil() as usize;
            columns[0][place.clamp(1, rows.len()) - 1]
        };
        Self::Numbers {
            means: columns.iter().map(mean).collect(),
            medians: columns.iter().map(median).collect(),
            quantiles: levels.iter().map(quantile).collect(),
        }
    }

    /// Returns the means of the training numbers, one for each target; none of classes.
    pub fn means(&self) -> Option<&[f64]> {
        match self {
            Self::Numbers { means, .. } => Some(means),
            Self::Classes(_) => None,
        }
    }

    /// Returns the most frequent class of the training pairs, the first by name of several; none of numbers.
    pub fn majority(&self) -> Option<&str> {
        match self {
            Self::Numbers { .. } => None,
            Self::Classes(shares) => {
                let most = shares.values().copied().fold(0.0, f64::max);
                let first = shares.iter().find(|(_, share)| **share == most);
                first.map(|(class, _)| class.as_str())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Constants;

    /// The sum of three times 0.1, divided by 3, is not 0.1.
    #[test]
    fn the_mean_of_equal_numbers_is_this_number() {
        for count in 1..60 {
            let constants = Constants::of_numbers(&vec![vec![0.1, -0.7]; count], &[]);
            assert_eq!(constants.means().unwrap(), [0.1, -0.7], "{count}");
        }
    }
}
