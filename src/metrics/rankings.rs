//! Predicted rankings compared with the true ones.

use dsokr_data::featurizers::UNRANKED;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ensure};
use crate::metrics::queries::{QueryValues, check_queries, mean};

/// How well predicted rankings agree with the true ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankingScores {
    /// Mean of Kendall's τ-b, from −1 to 1, of the items that both rankings rank: `(C − D) / √((P − T) (P − U))` of P pairs of
    /// these items, C of them in the same order and D in the opposite one, T tied in the true ranking and U in the predicted
    /// one. Without ties it is τ. It is 0 where one of the two factors is: where fewer than two items are ranked by both,
    /// or one ranking ties all of them; such a query counts in the mean.
    pub kendall_tau: f64,
    /// Share of rankings that are predicted with every pair of ranked items in the true order.
    pub exact: f64,
}

impl RankingScores {
    /// Scores predicted rankings against the true ones, one by one; a ranking is the rank of each item. It is for rankings
    /// that a program has by itself; an [`Evaluation`](crate::Evaluation) of a run has these scores already.
    ///
    /// # Errors
    /// [`dsokr_core::Error::TooFew`] for no rankings; [`dsokr_core::Error::Value`] for different numbers of rankings, and for a
    /// predicted ranking whose number of items differs from that of the true one.
    pub fn from_rankings(truth: &[Vec<u32>], predicted: &[Vec<u32>]) -> Result<Self, Error> {
        Ok(Self::with_queries(truth, predicted)?.0)
    }

    pub(super) fn with_queries(
        truth: &[Vec<u32>],
        predicted: &[Vec<u32>],
    ) -> Result<(Self, QueryValues), Error> {
        check_queries(truth)?;
        let count = predicted.len();
        ensure(count == truth.len(), "predicted rankings", count, truth.len())?;
        let pairs = truth.iter().zip(predicted).map(|(a, b)| Self::agreement(a, b));
        let (tau, same): (Vec<f64>, Vec<f64>) =
            pairs.collect::<Result<Vec<_>, Error>>()?.into_iter().unzip();
        let scores = Self { kendall_tau: mean(&tau).0, exact: mean(&same).0 };
        Ok((scores, QueryValues::from([("kendall_tau", tau), ("exact", same)])))
    }

    /// Returns Kendall's τ of a predicted ranking, and 1 if every pair is in the true order, else 0.
    fn agreement(truth: &[u32], predicted: &[u32]) -> Result<(f64, f64), Error> {
        let ranking = format_args!("a true ranking of {} items", truth.len());
        let allowed = format_args!("{}, as predicted rankings have", predicted.len());
        ensure(truth.len() == predicted.len(), "outputs", ranking, allowed)?;
        let order = |ranks: &[u32], i: usize, j: usize| {
            (ranks[i].max(ranks[j]) != UNRANKED).then(|| ranks[i].cmp(&ranks[j]) as i64)
        };
        let pairs = (0..truth.len()).flat_map(|i| (i + 1..truth.len()).map(move |j| (i, j)));
        let mut product = 0;
        let mut ours = 0;
        let mut theirs = 0;
        let mut same = true;
        for (i, j) in pairs {
            let a = order(truth, i, j);
            let b = order(predicted, i, j);
            same &= a.is_none() || a == b;
            if let Some(a) = a
                && let Some(b) = b
            {
                product += a * b;
                ours += a * a;
                theirs += b * b;
            }
        }
        let tau = match ours * theirs {
            0 => 0.0,
            squared => product as f64 / (squared as f64).sqrt(),
        };
        Ok((tau, f64::from(same)))
    }
}

#[cfg(test)]
mod tests {
    use super::RankingScores;

    #[test]
    fn every_true_ranking_needs_a_predicted_one() {
        let truth = [vec![0, 1, 2], vec![2, 1, 0]];
        assert_eq!(RankingScores::from_rankings(&truth, &truth).unwrap().exact, 1.0);
        let error = RankingScores::from_rankings(&truth, &truth[..1]).unwrap_err().to_string();
        assert!(error.contains("predicted rankings"), "{error}");
    }
}
