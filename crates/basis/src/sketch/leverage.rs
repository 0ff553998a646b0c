use super::draw::{BadParameter, Draw, Stream};
use super::picked::Picked;
use crate::Error;
use crate::random::unit;

pub(super) struct Leverage {
    pub(super) lambda: f64,
    pub(super) pilot: usize,
}

pub(super) fn default_lambda() -> f64 {
    1e-3
}

pub(super) fn default_pilot() -> usize {
    200
}

impl Draw for Leverage {
    fn usual(n: usize) -> Self {
        Self { lambda: default_lambda(), pilot: default_pilot().min(n) }
    }

    fn picks_rows(&self) -> bool {
        true
    }

    fn draw(&self, _: &Stream) -> Result<Option<Picked>, String> {
        Err("a leverage-score sketch depends on the data: draw it with Sketch::fit".into())
    }

    fn validate(&self, n: usize) -> Result<(), BadParameter> {
        if !(self.lambda > 0.0 && self.lambda.is_finite()) {
            return Err(("lambda", self.lambda, "finite numbers above 0".into()));
        }
        match (1..=n).contains(&self.pilot) {
            true => Ok(()),
            false => Err(("pilot", self.pilot as f64, format!("1..={n}, the number of rows"))),
        }
    }
}

/// m outputs with replacement, each with a probability in proportion to its score.
pub(super) fn by_scores(stream: &Stream, scores: &[f64]) -> Result<Picked, Error> {
    let probability = |row, value: f64| {
        let message =
            format!("probability {value}; they must be finite, at least 0, and not all 0");
        Error::row(row, message)
    };
    let mut total = 0.0;
    let mut cumulative = Vec::with_capacity(scores.len());
    for (row, &value) in scores.iter().enumerate() {
        if !(value >= 0.0 && value.is_finite()) {
            return Err(probability(row, value));
        }
        total += value;
        cumulative.push(total);
    }
    if !(total > 0.0 && total.is_finite()) {
        return Err(probability(scores.len().saturating_sub(1), total));
    }
    let mut random = stream.generator(0);
    Ok(Picked::new((0..stream.m).map(|row| {
        // In (0, total]: the first output whose cumulative sum reaches it has a score above 0.
        let at = unit(&mut random) * total;
        let output = cumulative.partition_point(|&sum| sum < at).min(scores.len() - 1);
        (row, output, (stream.m as f64 * (scores[output] / total)).sqrt().recip())
    })))
}
