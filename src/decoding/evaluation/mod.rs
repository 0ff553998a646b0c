//! The evaluation of predictions: ranks of the right outputs, and predicted outputs compared with the true ones.

mod areas;
mod beyond;
mod chance;
mod distances;
mod fingerprints;
mod golds;
mod outputs;
mod stored;

use std::collections::BTreeMap;

use dsokr_core::Processes;
use dsokr_data::{Split, SplitName, Truth};
use dsokr_decode::{
    Alignment, CandidateBlocks, Combination, Decoded, Ensemble, Member, MissingGold, Pool, Queries,
    Shards,
};

use self::areas::scored_labels;
use self::beyond::{RightOutputs, beyond_scores};
use self::chance::drawn_outputs;
use self::distances::{kernel_losses, mces_distances, squared_errors};
pub(crate) use self::fingerprints::{
    lists_fingerprint, measured_on, outputs_fingerprint, queries_fingerprint, shared_candidates,
};
use self::golds::{GoldRows, check_lists};
pub(crate) use self::golds::{RankedGolds, has_gold};
use self::outputs::{predicted_outputs, right_labels, truth_of, warn_of_foreign_outputs};
pub use self::stored::StoredEvaluation;
use crate::decoding::beyond::{BeyondSearch, Restrictions};
use crate::decoding::decoder::{Decoder, PredictedOutput};
use crate::error::Error;
use crate::metrics::evaluation::Evaluation;
use crate::metrics::metric::{RESAMPLES, further_metrics, intervals};
use crate::metrics::quantiles::{QuantileScores, gold_numbers};
use crate::metrics::scores::Scores;
use crate::run_dir::Report;

/// Returns the queries of a split with their predictions, named in errors, and their texts where they are texts.
fn queries<'a>(split: &'a Split, dim: usize, z: &'a [f32]) -> Result<Queries<'a>, Error> {
    let queries = Queries::named(split.names(), dim, z)?;
    Ok(match split.inputs.texts() {
        Ok(texts) => queries.with_texts(texts)?,
        Err(_) => queries,
    })
}

/// Fitted models whose predictions rank the same candidates: one, or the members of an ensemble.
pub(crate) struct Models<'a> {
    /// Name and decoder of each; at least one. What need not be a candidate is found by the first.
    pub each: Vec<(&'a str, Decoder<'a>)>,
    /// How their scores are combined.
    pub rule: Combination,
    /// The candidates of several models, joined.
    pub alignment: Option<&'a Alignment>,
    /// The candidates of the one model, if they are in shards.
    pub shards: Option<&'a Shards>,
    /// The processes that rank the candidates together.
    pub processes: Processes,
    /// Searches molecules beyond the candidates, which are shown next to the first candidates.
    pub search: Option<&'a BeyondSearch>,
    /// What these molecules have.
    pub restrictions: Restrictions,
    /// How queries are ranked whose right output is no candidate; by default as the configuration of the first model says.
    pub missing_gold: Option<MissingGold>,
    /// Whether the MCES distances of the first candidates are measured.
    pub mces: bool,
    /// Whether the scores of all labels or classes are computed, for metrics of them; it ranks the candidates once more.
    pub label_scores: bool,
    /// Whether outputs are drawn by chance, for [`Evaluation::chance`]; it reads the labels of candidates.
    pub chance: bool,
}

/// The queries of an evaluation with their predictions and the ranks of their right outputs.
struct RankedQueries<'e> {
    split: &'e Split,
    /// The predictions of each model, as they are scored.
    predictions: &'e [Vec<f32>],
    pool: Pool<'e>,
    ensemble: Ensemble<'e>,
    golds: RankedGolds,
}

impl<'a> Models<'a> {
    /// Describes one model, with a search beyond its candidates.
    pub fn one(decoder: Decoder<'a>, search: Option<&'a BeyondSearch>) -> Self {
        let rule = Combination::default();
        Self {
            each: vec![("", decoder)],
            rule,
            alignment: None,
            shards: None,
            processes: Processes::default(),
            search,
            restrictions: Restrictions::default(),
            missing_gold: None,
            mces: false,
            label_scores: true,
            chance: true,
        }
    }

    /// Returns the decoder of the first model.
    pub fn decoder(&self) -> Decoder<'a> {
        self.each[0].1
    }

    /// Returns the `count` best molecules of a search for each query of their ensemble, best first; at least one, or none where
    /// candidates are filtered and nothing passes, as by a filter that holds of no molecule, for which none is searched. Nothing
    /// where nothing is to be searched.
    pub fn beyond(
        &self,
        ensemble: &Ensemble,
        pool: Pool,
        count: usize,
    ) -> Result<Option<Vec<Vec<PredictedOutput>>>, Error> {
        let Some(search) = self.search else { return Ok(None) };
        if self.restrictions.filter.as_ref().is_some_and(|filter| !filter.may_hold()) {
            return Ok(Some((0..ensemble.queries()).map(|_| Vec::new()).collect()));
        }
        let models = self.each.iter().map(|(_, decoder)| decoder.searched());
        let models = models.collect::<Result<Vec<_>, Error>>()?;
        let restrictions = &self.restrictions;
        let molecules = search.best(&models, ensemble, &self.rule, pool, restrictions, count)?;
        let molecules = molecules.into_iter();
        let outputs = molecules.map(|best| best.into_iter().map(PredictedOutput::from).collect());
        Ok(Some(outputs.collect()))
    }

    /// Returns the ensemble that ranks queries by these predictions of each model, as they are scored.
    ///
    /// # Errors
    /// Members whose candidates or queries differ from the first one's.
    pub fn ensemble<'b>(
        &'b self,
        split: &'b Split,
        predictions: &'b [Vec<f32>],
    ) -> Result<Ensemble<'b>, Error> {
        if let Some(shards) = self.shards
            && let [z] = predictions
        {
            let queries = queries(split, shards.dim(), z)?;
            return Ok(Ensemble::sharded(&self.processes, self.each[0].0, queries, shards)?);
        }
        let member = |(&(name, decoder), z): (&'b (&str, Decoder), &'b Vec<f32>)| {
            let Decoder { candidates, config, .. } = decoder;
            let normalised = config.output.is_normalised();
            let queries = queries(split, candidates.dim(), z)?;
            Ok(Member { name, queries, candidates, normalised })
        };
        let members =
            self.each.iter().zip(predictions).map(member).collect::<Result<_, Error>>()?;
        let rerankers = self.each.iter().map(|(_, decoder)| decoder.reranker).collect();
        let ensemble = match self.alignment {
            Some(alignment) => Ensemble::aligned(members, alignment)?,
            None => Ensemble::new(members)?,
        };
        Ok(ensemble.with_rerankers(rerankers)?.shared_by(&self.processes))
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
        predictions: &[Vec<f32>],
        pool: Pool,
    ) -> Result<(Evaluation, Vec<Decoded>), Error> {
        check_lists(split, pool)?;

        // 1. ranks of the right outputs
        let ensemble = self.ensemble(split, predictions)?;
        let missing = self.missing(split);
        let mut golds = self.rank_golds(&ensemble, split, predictions, pool, missing)?;
        let ranks: Vec<_> = golds.decoded.iter().map(|query| query.rank).collect();
        let metrics = ensemble.metrics(pool, &ranks)?;
        let named = golds.named(&self.processes, ensemble.candidates())?;
        let decoder = self.decoder();
        let candidates = named.as_ref().unwrap_or(decoder.candidates);
        let decoder = Decoder { candidates, ..decoder };
        let features = &decoder.config.output.features;
        let numbers = features.are_numbers();
        let classes = features.are_classes();
        let scores = Scores { numbers, classes, ..metrics.into() };
        let mut evaluation =
            Evaluation { facts: decoder.facts(), ..Evaluation::new(scores, ranks) };

        // 2. predicted outputs, compared with the true ones
        let queries = RankedQueries { split, predictions, pool, ensemble, golds };
        self.compare_outputs(decoder, &queries, &mut evaluation)?;

        // 3. distances, and what a search finds beyond the candidates
        self.measure_distances(decoder, &queries, &mut evaluation)?;

        let RankedGolds { ids, right, decoded, .. } = queries.golds;
        let groups = split.groups.clone();
        let mut evaluation = Evaluation { golds: ids, right, named, groups, ..evaluation };
        evaluation.scores.further = further_metrics(&evaluation);
        Ok((evaluation, decoded))
    }

    /// Adds the metrics of predicted outputs, where the true ones are known.
    fn compare_outputs(
        &self,
        decoder: Decoder,
        queries: &RankedQueries,
        evaluation: &mut Evaluation,
    ) -> Result<(), Error> {
        let &RankedQueries { split, predictions, pool, ref ensemble, ref golds } = queries;
        let config = decoder.config;
        let levels = config.encoder.abilities().levels;
        let stated = truth_of(split, &golds.ids, decoder.candidates, &config.output.features)?;
        let truth = match (stated, levels) {
            // numbers that candidates are not named by
            (None, Some(levels)) => gold_numbers(levels, &golds.rows, decoder.candidates)?,
            (stated, _) => stated,
        };
        let Some(truth) = truth else { return Ok(()) };
        let predicted = predicted_outputs(decoder, ensemble, pool, predictions, &golds.decoded)?;
        if let Some(levels) = levels
            && let [z] = predictions
            && let Truth::Numbers(rows) = &truth
        {
            let (scores, losses) = QuantileScores::with_queries(levels, z, &rows.concat())?;
            evaluation.scores.quantiles = Some(scores);
            evaluation.queries.extend(losses);
        }
        if self.label_scores
            && let Some(right) = right_labels(split, &truth, ensemble, &config.output.features)?
        {
            if let Some(scored) = scored_labels(self, ensemble, pool, &right)? {
                evaluation.add_areas(scored);
            }
            if let Truth::Classes(_) = &truth {
                evaluation.right_classes = right;
            }
        }
        if split.foreign {
            // of shards only the candidates that are named are here
            let knows_all = decoder.candidates.len() == ensemble.candidates().len();
            let candidates = knows_all.then_some(decoder.candidates);
            let features = &config.output.features;
            warn_of_foreign_outputs(&truth, predicted.as_ref(), candidates, features)?;
        }
        if let Some(predicted) = predicted {
            if self.chance {
                evaluation.drawn = drawn_outputs(split, pool, ensemble, &truth, config)?;
            }
            evaluation.compare((truth, predicted))?;
        }
        Ok(())
    }

    /// Adds how far first candidates and predictions are from the right outputs, and the metrics of a search beyond the
    /// candidates.
    fn measure_distances(
        &self,
        decoder: Decoder,
        queries: &RankedQueries,
        evaluation: &mut Evaluation,
    ) -> Result<(), Error> {
        let &RankedQueries { split, predictions, pool, ref ensemble, ref golds } = queries;
        let candidates = decoder.candidates;
        let label = |at: Option<usize>| at.map(|at| candidates.label(at));
        let first = golds.decoded.iter().map(|query| query.hits.first().map(|hit| hit.candidate));
        let first: Vec<Option<usize>> = first.collect();
        let pairs = first.iter().zip(&golds.ids);
        if self.mces {
            let pairs = pairs.clone();
            let pairs = pairs.map(|(&first, gold)| [first, candidates.find(gold)].map(label));
            evaluation.scores.mces = Some(evaluation.mean("mces", mces_distances(pairs)?));
        }
        let pairs = pairs.map(|(first, gold)| [first.map(|at| candidates.id(at)), Some(gold)]);
        if (decoder.fitted.is_some() || decoder.held.is_some())
            && let Some(losses) = kernel_losses(&decoder, pairs)?
        {
            evaluation.scores.kernel_loss = Some(evaluation.mean("kernel_loss", losses));
        }
        if let Some(beyond) = self.beyond(ensemble, pool, 1)? {
            let truth = evaluation.outputs.as_ref().map(|(truth, _)| truth);
            let beyond = beyond.concat();
            let right = RightOutputs { ids: &golds.ids, truth };
            let scores = beyond_scores(decoder, &beyond, split, right, &first)?;
            evaluation.scores.beyond = Some(scores);
        }
        if let [z] = predictions
            && let Some(errors) = squared_errors(z, &golds.rows, decoder)?
        {
            evaluation.scores.squared_error = Some(evaluation.mean("squared_error", errors));
        }
        Ok(())
    }

    /// Returns the rule for right outputs that are not candidates.
    pub fn missing(&self, split: &Split) -> MissingGold {
        // outputs of a file that is not the run's are compared as what they are
        if split.foreign && split.truth.is_some() {
            MissingGold::RankInfinity
        } else {
            self.missing_gold.unwrap_or(self.decoder().config.evaluation.missing_gold)
        }
    }

    /// Returns the right output of each query that counts, and how the queries were decoded.
    pub fn rank_golds(
        &self,
        ensemble: &Ensemble,
        split: &Split,
        predictions: &[Vec<f32>],
        pool: Pool,
        missing: MissingGold,
    ) -> Result<RankedGolds, Error> {
        let Some(rows) = GoldRows::from_split(split, pool)? else {
            let gold = ensemble.gold(pool, &split.ids, missing)?;
            let decoded = ensemble.decode(pool, &self.rule, &gold, 1)?;
            let ids = split.ids.clone();
            return Ok(RankedGolds { rows: gold, ids, right: Vec::new(), decoded });
        };
        let repeat = |((_, decoder), z): (&(_, Decoder), &Vec<f32>)| {
            rows.golds.repeat(decoder.candidates.dim(), z)
        };
        let predictions: Vec<Vec<f32>> = self.each.iter().zip(predictions).map(repeat).collect();
        let repeated = self.ensemble(&rows.rows, &predictions)?;
        let pool = rows.pool();
        let ids = rows.golds.ids();
        let gold = repeated.gold(pool, ids, MissingGold::RankInfinity)?;
        rows.check(split, &gold, missing)?;
        let all = repeated.decode(pool, &self.rule, &gold, 1)?;
        let ranks: Vec<_> = all.iter().map(|row| row.rank).collect();
        let chosen = rows.golds.choose(&ranks)?;
        let decoded =
            chosen.iter().map(|best| Decoded { rank: best.rank, ..all[best.row].clone() });
        Ok(RankedGolds {
            rows: chosen.iter().map(|best| gold[best.row]).collect(),
            ids: chosen.iter().map(|best| ids[best.row].clone()).collect(),
            right: chosen.iter().map(|best| best.right).collect(),
            decoded: decoded.collect(),
        })
    }
}

/// Returns the report on the evaluation of the queries of a split, with intervals by a bootstrap with a seed, and chance.
pub(crate) fn report(name: SplitName, evaluation: Evaluation, seed: u64) -> Result<Report, Error> {
    let chance = evaluation.chance()?;
    let intervals = intervals(&evaluation, RESAMPLES, seed)?;
    let groups = evaluation.group_count();
    let metrics = evaluation.scores;
    let perfect_h = None;
    let caution = None;
    let skipped_rows = BTreeMap::new();
    Ok(Report { split: name, metrics, groups, intervals, chance, perfect_h, caution, skipped_rows })
}
