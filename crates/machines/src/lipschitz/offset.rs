use crate::loss::Loss;
use crate::{Error, Targets};

/// The constant b of `f(x) = b + h(x)`, which is not regularised, nor fitted further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offset {
    /// 0, as in the thesis.
    #[default]
    Zero,
    /// A constant for each output: its empirical τ-quantile with the pinball loss, its mean with the
    /// square loss, its median with the others.
    Constant,
}

impl Offset {
    /// b of the given loss and targets, d numbers.
    pub(crate) fn of(self, loss: &Loss, targets: &Targets) -> Result<Vec<f64>, Error> {
        let (n, d, values) = (targets.len(), targets.width(), targets.values()?);
        let column = |j: usize| values.iter().skip(j).step_by(d).copied();
        let offset = |j: usize| match self {
            Self::Zero => 0.0,
            Self::Constant if loss.is_fitted_by_mean() => column(j).sum::<f64>() / n as f64,
            Self::Constant => quantile(column(j), loss.levels().map_or(0.5, |levels| levels[j])),
        };
        Ok((0..d).map(offset).collect())
    }
}

/// The τ-quantile `inf {z : F(z) ≥ τ}` of the empirical distribution F.
fn quantile(values: impl Iterator<Item = f64>, level: f64) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    // the first k with k/n ≥ τ; the product τ n is rounded and may be above the k that it stands for
    let count = sorted.len() as f64;
    let most = (level * count).ceil();
    let at = if (most - 1.0) / count >= level { most - 1.0 } else { most };
    sorted.get((at as usize).saturating_sub(1)).copied().unwrap_or(0.0)
}
