//! Predicted rankings beside the true ones.

use serde::{Deserialize, Serialize};

use crate::Error;

/// How well predicted rankings agree with the true ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankingScores {
    /// Mean of Kendall's τ, from −1 to 1: of the pairs of items, the share in the same order less the
    /// share in the opposite order. Where ranks tie it is τ-b, and 0 where all of a ranking's do.
    pub kendall_tau: f64,
    /// Share of rankings that are predicted with every pair in the true order.
    pub exact: f64,
}

impl RankingScores {
    /// Of true and predicted rankings, one with one; a ranking is the rank of each item.
    ///
    /// # Errors
    /// [`dsokr_decode::Error::TooFew`] for no rankings; [`Error::Value`] for a predicted ranking of
    /// another number of items than the true one.
    pub fn of(truth: &[Vec<u32>], predicted: &[Vec<u32>]) -> Result<Self, Error> {
        if truth.is_empty() {
            let found = "no queries".into();
            return Err(dsokr_decode::Error::TooFew { found, least: 1 }.into());
        }
        let (mut tau, mut exact) = (0.0, 0);
        for (truth, predicted) in truth.iter().zip(predicted) {
            let (own, same) = Self::agreement(truth, predicted)?;
            tau += own;
            exact += usize::from(same);
        }
        let count = truth.len() as f64;
        Ok(Self { kendall_tau: tau / count, exact: exact as f64 / count })
    }

    /// Kendall's τ of a predicted ranking, and whether every pair is in the true order.
    pub(crate) fn agreement(truth: &[u32], predicted: &[u32]) -> Result<(f64, bool), Error> {
        if truth.len() != predicted.len() {
            let found = format!("a true ranking of {} items", truth.len());
            let allowed = format!("{}, as predicted rankings have", predicted.len());
            return Err(Error::value("outputs", found, allowed));
        }
        let order = |ranks: &[u32], i: usize, j: usize| ranks[i].cmp(&ranks[j]) as i64;
        let pairs = (0..truth.len()).flat_map(|i| (i + 1..truth.len()).map(move |j| (i, j)));
        let (mut product, mut ours, mut theirs, mut same) = (0, 0, 0, true);
        for (i, j) in pairs {
            let (a, b) = (order(truth, i, j), order(predicted, i, j));
            (product, ours, theirs) = (product + a * b, ours + a * a, theirs + b * b);
            same &= a == b;
        }
        let tau = match ours * theirs {
            0 => 0.0,
            squared => product as f64 / (squared as f64).sqrt(),
        };
        Ok((tau, same))
    }
}
