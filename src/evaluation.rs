//! The evaluation of predictions: ranks of the right outputs, and predicted outputs compared with the true ones.

use dsokr_basis::random::generator;
use dsokr_data::{Split, Truth};
use dsokr_decode::{CandidateBlocks, Candidates, Metrics, Pool};
use rand::RngExt;

use crate::Error;
use crate::config::Checked;
use crate::decoder::Decoder;
use crate::golds::{RankedGolds, missing_gold, rank_golds, truth_of};
use crate::quantiles::QuantileScores;
use crate::query_texts::QueryTexts;
use crate::scores::{Evaluation, OutputScores, QueryValues, Scores};
use crate::targets::Origin;

/// Ranks the right outputs of each query of a split under coordinates `z` `[queries × p]`, and compares
/// the predicted outputs with the truth where that is known.
pub(crate) fn evaluate(
    split: &Split,
    z: &[f32],
    decoder: Decoder,
    pool: Pool,
    config: &Checked,
) -> Result<Evaluation, Error> {
    let Decoder { candidates, look, origin, .. } = decoder;
    let z = config.decoding.scaled(z, candidates.dim())?;
    let queries = QueryTexts::of(split).queries(candidates.dim(), &z)?;
    let missing = missing_gold(split, config.evaluation.missing_gold);
    let golds = rank_golds(split, &z, candidates, look, pool, missing)?;
    let metrics = pool.metrics(&golds.ranks, candidates)?;
    let truth = truth_of(split, &golds.ids, candidates, &config.output.features)?;
    let predicted = match truth {
        Some(_) => decoder.predicted(&queries, pool, config, || decoder.first(queries, pool))?,
        None => Vec::new(),
    };
    let rows = golds.rows.clone();
    let found = judged(golds, metrics, &predicted, truth, config)?;
    found.with_answers(&z, &rows, (candidates, origin), config)
}

/// The evaluation with these ranks and predicted outputs.
pub(crate) fn judged(
    golds: RankedGolds,
    metrics: Metrics,
    predicted: &[String],
    truth: Option<Truth>,
    config: &Checked,
) -> Result<Evaluation, Error> {
    let RankedGolds { ranks, ids: golds, .. } = golds;
    let scores = Scores { numbers: config.output.features.are_numbers(), ..metrics.into() };
    let Some(truth) = truth else {
        let queries = QueryValues::default();
        return Ok(Evaluation { scores, ranks, golds, outputs: None, named: None, queries });
    };
    let predicted = predicted.iter().map(String::as_str);
    let outputs = Truth::of_labels(predicted, &config.output.features)?.map(|found| (truth, found));
    let compared = outputs.as_ref().map(|(truth, found)| OutputScores::with_queries(truth, found));
    let (compared, queries) = compared.transpose()?.unzip();
    let scores = Scores { outputs: compared, ..scores };
    let queries = queries.unwrap_or_default();
    Ok(Evaluation { scores, ranks, golds, outputs, named: None, queries })
}

/// The metrics of [`Evaluation::chance`]. Where outputs are compared, one candidate is drawn for each query.
pub(crate) fn chance(
    found: &Evaluation,
    candidates: &Candidates,
    config: &Checked,
) -> Result<Scores, Error> {
    let scores = found.chance()?;
    let Some((truth, _)) = &found.outputs else { return Ok(scores) };
    let mut random = generator(config.seed, "chance", 0);
    let drawn =
        (0..truth.len()).map(|_| candidates.label(random.random_range(0..candidates.len())));
    let drawn = Truth::of_labels(drawn, &config.output.features)?;
    let outputs = drawn.map(|drawn| OutputScores::of(truth, &drawn)).transpose()?;
    Ok(Scores { outputs, ..scores })
}

impl Evaluation {
    /// Adds the metrics of the predictions `z` that do not depend on ranks; `gold` are rows of the
    /// candidates.
    pub(crate) fn with_answers(
        mut self,
        z: &[f32],
        gold: &[Option<u32>],
        (candidates, origin): (&Candidates, &Origin),
        config: &Checked,
    ) -> Result<Self, Error> {
        let errors = squared_errors(z, gold, candidates, config, origin)?;
        self.scores.squared_error =
            errors.as_ref().map(|errors| errors.iter().sum::<f64>() / gold.len() as f64);
        self.queries.squared_errors = errors;
        if let Some(levels) = config.encoder.abilities().levels
            && let Some(found) = QuantileScores::of(levels, z, gold, candidates)?
        {
            self.scores.quantiles = Some(found.scores);
            self.queries.pinball = Some(found.pinball);
            self.queries.crossing = Some(found.crossing);
        }
        Ok(self)
    }
}

/// `‖z − ψ̃(y)‖² + k(y, y) − ‖ψ̃(y)‖²` of each query, y in the rows `gold` of the candidates.
///
/// `k(y, y)` is 1 for normalised kernels and comes from the constants `−½ k(y, y)` of others, unless
/// these were corrected for hubs.
fn squared_errors(
    z: &[f32],
    gold: &[Option<u32>],
    candidates: &Candidates,
    config: &Checked,
    origin: &Origin,
) -> Result<Option<Vec<f64>>, Error> {
    let normalised = config.output.is_normalised();
    let dim = candidates.dim();
    let from = match origin {
        Origin::Unknown => return Ok(None),
        _ if !normalised && config.decoding.hubs.is_some() => return Ok(None),
        Origin::Zero => vec![0.0; dim],
        Origin::At(point) => point.clone(),
    };
    let one = |(z, gold): (&[f32], &Option<u32>)| {
        let Some(row) = gold.map(|row| row as usize) else { return Ok(None) };
        let target = candidates.point(row)?;
        let (mut apart, mut length) = (0.0, 0.0);
        for ((&z, &target), from) in z.iter().zip(&*target).zip(&from) {
            let target = f64::from(target) + from;
            apart += (f64::from(z) - target).powi(2);
            length += target * target;
        }
        let norm = if normalised { 1.0 } else { -2.0 * f64::from(candidates.constants()[row]) };
        Ok(Some(apart + (norm - length).max(0.0)))
    };
    let errors = z.chunks_exact(dim).zip(gold).map(one).collect::<Result<Vec<_>, Error>>()?;
    Ok(errors.into_iter().collect())
}
