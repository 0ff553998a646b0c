//! The evaluation of predictions: ranks of the right outputs, and predicted outputs compared with the true ones.

use dsokr_basis::random::generator;
use dsokr_data::{Split, Truth};
use dsokr_decode::{
    CandidateBlocks, Candidates, Combination, Decoded, Ensemble, Member, MissingGold, Pool, Shards,
};
use rand::RngExt;

use crate::Error;
use crate::config::Checked;
use crate::decoder::Decoder;
use crate::golds::{GoldRows, RankedGolds, missing_gold, truth_of};
use crate::quantiles::QuantileScores;
use crate::query_texts::QueryTexts;
use crate::ranking;
use crate::scores::{Evaluation, OutputScores, QueryValues, Scores};
use crate::targets::OutputSpace;

/// Fitted models whose predictions rank the same candidates: one, or the members of an ensemble.
pub(crate) struct Models<'a> {
    /// Name and decoder of each; at least one. What need not be a candidate is found by the first.
    pub each: Vec<(&'a str, Decoder<'a>)>,
    /// How their scores are combined.
    pub rule: Combination,
    /// The candidates of the one model, if they are in shards.
    pub shards: Option<&'a Shards>,
}

impl<'a> Models<'a> {
    /// One model.
    pub fn one(decoder: Decoder<'a>) -> Self {
        Self { each: vec![("", decoder)], rule: Combination::default(), shards: None }
    }

    /// The decoder of the first model.
    pub fn decoder(&self) -> Decoder<'a> {
        self.each[0].1
    }

    /// What ranks queries by these predictions of each model, as they are scored.
    ///
    /// # Errors
    /// Members whose candidates or queries differ from the first one's.
    pub fn ensemble<'b>(
        &'b self,
        texts: QueryTexts<'b>,
        answers: &'b [Vec<f32>],
    ) -> Result<Ensemble<'b>, Error> {
        if let (Some(shards), [z]) = (self.shards, answers) {
            let queries = texts.queries(shards.dim(), z)?;
            return Ok(Ensemble::sharded(self.each[0].0, queries, shards)?);
        }
        let member = |(&(name, decoder), z): (&'b (&str, Decoder), &'b Vec<f32>)| {
            let Decoder { candidates, config, .. } = decoder;
            let normalised = config.output.is_normalised();
            let queries = texts.queries(candidates.dim(), z)?;
            Ok(Member { name, queries, candidates, normalised })
        };
        let members = self.each.iter().zip(answers).map(member).collect::<Result<_, Error>>()?;
        let looks = self.each.iter().map(|(_, decoder)| decoder.look).collect();
        Ok(Ensemble::new(members)?.with_second_looks(looks)?)
    }

    /// Ranks the right outputs of each query of a split under each model's predictions, as they are scored, and
    /// compares the predicted outputs with the truth where that is known; and how the queries were decoded.
    ///
    /// # Errors
    /// As [`ensemble`](Self::ensemble); a rule that is not valid for the members; a gold that is not a candidate, unless
    /// the configuration counts it as rank ∞.
    pub fn evaluate(
        &self,
        split: &Split,
        answers: &[Vec<f32>],
        pool: Pool,
    ) -> Result<(Evaluation, Vec<Decoded>), Error> {
        let decoder = self.decoder();
        let config = decoder.config;
        let ensemble = self.ensemble(QueryTexts::of(split), answers)?;
        let (mut golds, mut decoded) = self.rank_golds(&ensemble, split, answers, pool)?;
        let metrics = ensemble.metrics(pool, &golds.ranks)?;
        let named = ranking::named(ensemble.candidates(), &mut golds, &mut decoded)?;
        let candidates = named.as_ref().unwrap_or(decoder.candidates);
        let decoder = Decoder { candidates, ..decoder };
        let RankedGolds { ranks, rows, ids: golds } = golds;
        let scores = Scores { numbers: config.output.features.are_numbers(), ..metrics.into() };
        let queries = QueryValues::default();
        let mut found = Evaluation { scores, ranks, golds, outputs: None, named: None, queries };
        if let Some(truth) = truth_of(split, &found.golds, candidates, &config.output.features)? {
            let first = decoded.iter().flat_map(|query| &query.hits).map(|hit| hit.candidate);
            found.compare(
                truth,
                &decoder.predicted(&ensemble.members()[0].queries, pool, first)?,
                config,
            )?;
        }
        if let [z] = answers {
            found = found.with_answers(z, &rows, decoder)?;
        }
        found.named = named;
        Ok((found, decoded))
    }

    /// The right output of each query that counts, and how the queries were decoded.
    pub fn rank_golds(
        &self,
        ensemble: &Ensemble,
        split: &Split,
        answers: &[Vec<f32>],
        pool: Pool,
    ) -> Result<(RankedGolds, Vec<Decoded>), Error> {
        let missing = missing_gold(split, self.decoder().config.evaluation.missing_gold);
        let Some(rows) = GoldRows::of(split, pool)? else {
            let found = ensemble.gold(pool, &split.ids, missing)?;
            let decoded = ensemble.decode(pool, &self.rule, &found, 1)?;
            let ranks = decoded.iter().map(|query| query.rank).collect();
            let ids = split.ids.clone();
            return Ok((RankedGolds { ranks, rows: found, ids }, decoded));
        };
        let repeat =
            |((_, own), z): (&(_, Decoder), &Vec<f32>)| rows.golds.repeat(own.candidates.dim(), z);
        let answers: Vec<Vec<f32>> = self.each.iter().zip(answers).map(repeat).collect();
        let repeated = self.ensemble(rows.texts.of_rows(), &answers)?;
        let pool = rows.pool();
        let found = rows.resolve(split, missing, |rows| {
            repeated.gold(pool, rows.golds.ids(), MissingGold::RankInfinity)
        })?;
        let all = repeated.decode(pool, &self.rule, &found, 1)?;
        let ranks: Vec<_> = all.iter().map(|row| row.rank).collect();
        let (golds, chosen) = rows.choose(&found, &ranks)?;
        let decoded = chosen.iter().zip(&golds.ranks);
        let decoded = decoded.map(|(&row, &rank)| Decoded { rank, ..all[row].clone() }).collect();
        Ok((golds, decoded))
    }
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
    let drawn = config.output.features.truth_of_labels(drawn)?;
    let outputs = drawn.map(|drawn| OutputScores::with_queries(truth, &drawn)).transpose()?;
    Ok(Scores { outputs: outputs.map(|(scores, _)| scores), ..scores })
}

impl Evaluation {
    /// Compares the predicted outputs, as the column of outputs writes them, with the true ones.
    fn compare(
        &mut self,
        truth: Truth,
        predicted: &[String],
        config: &Checked,
    ) -> Result<(), Error> {
        let predicted = predicted.iter().map(String::as_str);
        if let Some(predicted) = config.output.features.truth_of_labels(predicted)? {
            let (compared, queries) = OutputScores::with_queries(&truth, &predicted)?;
            self.scores.outputs = Some(compared);
            self.queries = queries;
            self.outputs = Some((truth, predicted));
        }
        Ok(())
    }

    /// Adds the metrics of the predictions `z` that do not depend on ranks; `gold` are rows of the
    /// candidates.
    pub(crate) fn with_answers(
        mut self,
        z: &[f32],
        gold: &[Option<u32>],
        decoder: Decoder,
    ) -> Result<Self, Error> {
        let Decoder { candidates, config, .. } = decoder;
        let errors = squared_errors(z, gold, decoder)?;
        self.scores.squared_error =
            errors.as_ref().map(|errors| errors.iter().sum::<f64>() / gold.len() as f64);
        self.queries.squared_errors = errors;
        if let Some(levels) = config.encoder.abilities().levels
            && let Some((scores, losses)) = QuantileScores::of(levels, z, gold, candidates)?
        {
            self.scores.quantiles = Some(scores);
            [self.queries.pinball, self.queries.crossing] = losses.map(Some);
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
    decoder: Decoder,
) -> Result<Option<Vec<f64>>, Error> {
    let Decoder { candidates, config, space, .. } = decoder;
    let (normalised, dim) = (config.output.is_normalised(), candidates.dim());
    let Some(from) = space.and_then(OutputSpace::origin) else { return Ok(None) };
    if !normalised && config.decoding.hubs.is_some() {
        return Ok(None);
    }
    let one = |(z, gold): (&[f32], &Option<u32>)| {
        let Some(row) = gold.map(|row| row as usize) else { return Ok(None) };
        let target = candidates.point(row)?;
        let (mut apart, mut length) = (0.0, 0.0);
        for ((&z, &target), from) in z.iter().zip(&*target).zip(&*from) {
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
