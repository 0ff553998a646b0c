use dsokr_basis::features::BitRows;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::{check_len, check_queries};

/// How well label sets were predicted.
///
/// With t true labels, q predicted ones and c common ones, `F1 = 2c / (t + q)`, and 1 where both sets
/// are empty, as scikit-learn defines it with `zero_division=1`. Labels that are in no set are left out.
///
/// ```
/// use dsokr_basis::features::BitRows;
/// use dsokr_decode::MultiLabelMetrics;
///
/// let truth = BitRows::from_indices(3, [vec![0, 1], vec![2]])?;
/// let predicted = BitRows::from_indices(3, [vec![0], vec![2]])?;
/// let metrics = MultiLabelMetrics::of(&truth, &predicted)?;
/// assert_eq!(metrics.f1, (2.0 / 3.0 + 1.0) / 2.0);
/// assert_eq!(metrics.micro_f1, 4.0 / 5.0);
/// assert_eq!((metrics.labels, metrics.macro_f1), (3, (1.0 + 0.0 + 1.0) / 3.0));
/// assert_eq!(metrics.hamming_loss, 1.0 / 6.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MultiLabelMetrics {
    /// Number of rows.
    pub rows: usize,
    /// Number of labels that are in a true or a predicted set.
    pub labels: usize,
    /// Mean over rows of the F1 of a row's label sets.
    pub f1: f64,
    /// F1 of all (row, label) pairs together.
    pub micro_f1: f64,
    /// Mean over these labels of the F1 of a label's row sets; 1 where there are none.
    pub macro_f1: f64,
    /// Share of (row, label) pairs that differ, of all columns.
    pub hamming_loss: f64,
}

impl MultiLabelMetrics {
    /// Compares predicted with true label sets.
    ///
    /// # Errors
    /// [`Error::TooFew`] for no rows; [`Error::Length`] for different numbers of rows or labels.
    pub fn of(truth: &BitRows, predicted: &BitRows) -> Result<Self, Error> {
        check_len("predicted label sets", predicted.len(), truth.len())?;
        check_len("predicted labels", predicted.width(), truth.width())?;
        check_queries(truth.len())?;
        let (rows, columns) = (truth.len(), truth.width());
        let mut by_label = vec![(0u64, 0u64); columns];
        let (mut f1, mut common, mut all) = (0.0, 0, 0);
        for row in 0..rows {
            let (mut both, mut either) = (0, 0);
            let words = truth.row(row).iter().zip(predicted.row(row));
            for (at, (&truth, &predicted)) in words.enumerate() {
                both += u64::from((truth & predicted).count_ones());
                either += u64::from(truth.count_ones() + predicted.count_ones());
                let mut left = truth | predicted;
                while left != 0 {
                    let bit = left & left.wrapping_neg();
                    let counts = &mut by_label[64 * at + left.trailing_zeros() as usize];
                    counts.0 += u64::from(truth & predicted & bit != 0);
                    counts.1 += u64::from(truth & bit != 0) + u64::from(predicted & bit != 0);
                    left ^= bit;
                }
            }
            f1 += ratio(both, either);
            (common, all) = (common + both, all + either);
        }
        by_label.retain(|&(_, either)| either > 0);
        let labels = by_label.len();
        let macro_f1: f64 = by_label.into_iter().map(|(both, either)| ratio(both, either)).sum();
        Ok(Self {
            rows,
            labels,
            f1: f1 / rows as f64,
            micro_f1: ratio(common, all),
            macro_f1: if labels == 0 { 1.0 } else { macro_f1 / labels as f64 },
            hamming_loss: (all - 2 * common) as f64 / (rows as f64 * columns as f64),
        })
    }
}

fn ratio(common: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { 2.0 * common as f64 / all as f64 }
}
