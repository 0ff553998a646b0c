//! The rules between the tables of a configuration, which [`Config::validate`] checks behind those of each table: what an encoder
//! needs of the data and of the decoding, and on which splits something is chosen.

use dsokr_data::{Dataset, InputKind, SplitName};
use dsokr_machines::Solver;

use super::rules::{Rule, check};
use super::{Config, EnsembleConfig, HeldOutPredictions, Search};
use crate::error::{Error, ensure};
use crate::metrics::metric::{Metric, Needs};

impl Config {
    /// Checks what the encoder needs of inputs, sketch and weights.
    pub(super) fn check_encoder(&self) -> Result<(), Error> {
        let inputs = self.data.facts().inputs;
        let reads = self.encoder.abilities().reads;
        let allowed = format!(
            "{reads}, which this encoder reads; kernels need encoder.inputs of kind \"kernels\""
        );
        ensure(inputs == reads, "data.inputs", inputs, allowed)?;
        if self.data.facts().weighted && !self.encoder.abilities().weighs_pairs {
            let because = "this encoder does not weigh pairs; remove it";
            return Err(Error::refused("data.train[].weight", "given", because));
        }
        let abilities = self.encoder.abilities();
        let reranker = self.decoding.reranker.as_ref();
        let weighs_outputs = self.weighs_outputs();
        let compares_spectra = reranker.is_some_and(|settings| settings.spectra.is_some());
        let weighing = format!(
            "it needs encoder.kind = \"kernel-machine\" with encoder.solver.name {} and without encoder.predictions of kind \
             \"embedded\"; remove it",
            Solver::names(|abilities| abilities.leave_one_out)
        );
        let leaving_out = format!(
            "only encoder.solver.name {} leaves out a part of its pairs exactly; set it to true, or, with \
             decoding.hubs = {{ refit = false, held_out_folds = 1 }}, hold out a part of the pairs once",
            Solver::names(|abilities| abilities.compares_all_inputs)
        );
        let rules = [
            Rule {
                key: "sketch.full",
                refused_when: !self.output.kernels.is_empty() && self.sketch.full,
                because: "several output.kernels are compared in a basis; set it to false",
            },
            Rule {
                key: "output.weights",
                refused_when: self.output.weights.is_some() && !abilities.weighs_kernels,
                because: &weighing,
            },
            Rule {
                key: "decoding.reranker",
                refused_when: reranker.is_some() && weighs_outputs,
                because: "it compares outputs in a basis, and without a sketch a kernel machine has none; set sketch.full to \
                          false, or remove it",
            },
            Rule {
                key: "decoding.hubs",
                refused_when: self.decoding.hubs.is_some() && weighs_outputs,
                because: "it compares predictions of unit length, which weights of outputs do not have; set sketch.full to \
                          false, or remove it",
            },
            Rule {
                key: "decoding.normalise",
                refused_when: self.decoding.normalise && weighs_outputs,
                because: "the length of a kernel machine's predictions is not known without a sketch; set it or sketch.full \
                          to false",
            },
            Rule {
                key: "decoding.reranker.spectra",
                refused_when: compares_spectra && !abilities.spectra,
                because: "it needs an encoder that reads spectra; remove it",
            },
            Rule {
                key: "decoding.reranker.refit",
                refused_when: reranker.is_some_and(|settings| !settings.refit)
                    && abilities.held_out < HeldOutPredictions::PartOfFit,
                because: &leaving_out,
            },
        ];
        check(self, "", &rules)
    }

    /// Returns whether predictions are weights of the training outputs, whose length is not that of the prediction in the feature
    /// space, and not points.
    pub(crate) fn weighs_outputs(&self) -> bool {
        let abilities = self.encoder.abilities();
        self.sketch.full && abilities.weighs_outputs && abilities.levels.is_none()
    }

    /// Checks that held-out predictions can be made where the decoding needs them, and that nothing is said of how they are
    /// made where the fit leaves them.
    pub(super) fn check_held_out(&self) -> Result<(), Error> {
        let decoding = &self.decoding;
        let hubs = decoding.hubs.as_ref();
        let abilities = self.encoder.abilities();
        let leaves_them = abilities.held_out >= HeldOutPredictions::Pairs;
        let leaves = "this encoder leaves held-out predictions when it is fitted; remove it";
        let mut rules = vec![
            Rule {
                key: "decoding.hubs.folds",
                refused_when: leaves_them && hubs.is_some_and(|hubs| hubs.folds.is_some()),
                because: leaves,
            },
            Rule {
                key: "decoding.hubs.held_out_folds",
                refused_when: leaves_them && hubs.is_some_and(|hubs| hubs.held_out_folds.is_some()),
                because: leaves,
            },
            Rule {
                key: "decoding.hubs.refit",
                refused_when: leaves_them && hubs.is_some_and(|hubs| hubs.refit.is_some()),
                because: leaves,
            },
            Rule {
                key: "decoding.hubs.refit",
                refused_when: hubs.is_some_and(|hubs| hubs.refit == Some(false))
                    && self.data.facts().inputs == InputKind::Kernels,
                because: "the kernel values of data.inputs are those with all training pairs; set it to true",
            },
        ];
        let needs_held_out = [
            ("decoding.hubs", hubs.is_some()),
            ("decoding.reranker", decoding.reranker.is_some()),
            ("decoding.held_out", decoding.held_out),
        ];
        for (key, is_given) in needs_held_out {
            rules.push(Rule {
                key,
                refused_when: is_given && abilities.learns_targets,
                because: "the learned embedding of encoder.predictions has seen the outputs that held-out predictions \
                          must not see; remove it",
            });
            rules.push(Rule {
                key,
                refused_when: is_given && abilities.levels.is_some(),
                because: "quantiles of numbers are predicted, which are no points among candidates; remove it",
            });
        }
        check(self, "", &rules)
    }

    /// Returns the choices of a training on the validation split, as the beginning of a sentence; none where there are none.
    pub fn chosen_on_validation(&self) -> Option<&'static str> {
        if let Some(chosen) = self.encoder.abilities().chosen_on_validation {
            return Some(chosen);
        }
        let hubs = self.decoding.hubs.as_ref();
        if hubs.is_some_and(|hubs| hubs.weights.len() * hubs.neighbours.len() > 1) {
            return Some("constants for hubs are");
        }
        let fits = self.ensemble.as_ref().is_some_and(EnsembleConfig::fits_on_validation);
        fits.then_some("weights of the ensemble are")
    }

    /// Returns the warning about the metrics of a split on which the training chooses something; none where it does not.
    pub(crate) fn caution_about(&self, split: SplitName) -> Option<String> {
        match split {
            SplitName::Train | SplitName::Test => None,
            SplitName::Validation => self.chosen_on_validation().map(too_good),
        }
    }

    /// Checks that nothing is chosen or evaluated on pairs that do not exist, as far as the configuration says.
    pub(super) fn check_splits(&self) -> Result<(), Error> {
        let has_test = self.data.facts().has_test;
        self.check_use_of_splits(self.data.has_validation(), has_test, "data.splits.validation")
    }

    /// Checks that the splits that a column of the data names are there, where something is chosen or evaluated on them.
    pub(crate) fn check_named_splits(&self, dataset: &Dataset) -> Result<(), Error> {
        let facts = self.data.facts();
        if facts.splits.is_none_or(|splits| splits.column.is_none()) || self.data.fold.is_some() {
            return Ok(());
        }
        let has_validation = !dataset.validation.ids.is_empty();
        self.check_use_of_splits(has_validation, dataset.test.is_some(), "data.splits.column")
    }

    /// Checks that nothing is chosen or evaluated on splits without pairs; `key` is that of the validation pairs.
    fn check_use_of_splits(
        &self,
        has_validation: bool,
        has_test: bool,
        key: &'static str,
    ) -> Result<(), Error> {
        let learner_chooses = self.encoder.abilities().needs_validation;
        let ensemble_chooses =
            self.ensemble.as_ref().is_some_and(EnsembleConfig::fits_on_validation);
        let choosing = format!(
            "encoders choose their checkpoint on validation pairs; use at least 1. A kernel machine needs none with one λ, or \
             with several and encoder.solver.name {}, where leave-one-out errors choose",
            Solver::names(|abilities| abilities.leave_one_out)
        );
        let rules = [
            Rule {
                key: "evaluation.split",
                refused_when: self.evaluation.split == SplitName::Test && !has_test,
                because: if key == "data.splits.column" {
                    "the column names no row for the test; set it to \"validation\""
                } else {
                    "data.test names no file; name one, or set it to \"validation\""
                },
            },
            Rule { key, refused_when: !has_validation && learner_chooses, because: &choosing },
            Rule {
                key,
                refused_when: !has_validation && self.decoding.hubs.is_some(),
                because: "decoding.hubs is chosen on validation pairs; use at least 1",
            },
            Rule {
                key,
                refused_when: !has_validation && ensemble_chooses,
                because: "ensemble.weights = \"validation\" fits weights on validation pairs; use at least 1",
            },
            Rule {
                key: "evaluation.split",
                refused_when: !has_validation && self.evaluation.split != SplitName::Test,
                because: "there are no validation pairs; set it to \"test\"",
            },
        ];
        check(self, "", &rules)
    }

    /// Checks that the metric that chooses is known.
    pub(super) fn check_metric(&self) -> Result<(), Error> {
        let features = &self.output.features;
        let full = self.sketch.full;
        let weighs_outputs = self.encoder.abilities().weighs_outputs;
        let hubs = self.decoding.hubs.is_some() && !self.output.is_normalised();
        let levels = self.encoder.abilities().levels;
        let quantiles = levels.is_some();
        let medians = levels.is_some_and(|levels| levels.contains(&0.5));
        let is_measured = |metric: &Metric| match metric.needs() {
            Needs::Quantiles => quantiles,
            Needs::Numbers if quantiles => medians,
            _ if quantiles => false,
            Needs::Ranks | Needs::FiniteRanks => true,
            Needs::FeatureSpace => !(hubs || weighs_outputs && full),
            Needs::ComparedOutputs => self.output.kernel.is_some(),
            Needs::Asked => false,
            Needs::Labels => features.are_labels(),
            Needs::Classes => features.are_classes(),
            Needs::LabelsOrClasses => features.are_labels() || features.are_classes(),
            Needs::Rankings => features.are_rankings(),
            Needs::Graphs => features.are_graphs(),
            Needs::Numbers => features.are_numbers() && self.decoding.search == Search::Exact,
            Needs::GraphsOrRankings => features.are_graphs() || features.are_rankings(),
        };
        let metric = self.evaluation.metric;
        let names: Vec<&str> = Metric::all().filter(is_measured).map(Metric::name).collect();
        let are_searched = metric.needs() == Needs::Numbers && features.are_numbers() && !quantiles;
        let remedy = if are_searched {
            "; decoding.search = \"exact\" predicts numbers, which this metric measures, and not candidates"
        } else {
            ""
        };
        ensure(
            is_measured(&metric),
            "evaluation.metric",
            metric,
            format_args!("{}, for these outputs{remedy}", names.join(", ")),
        )
    }
}

/// Returns the warning that metrics are too good, since something is `chosen`, the beginning of a sentence, on the queries that
/// they are of.
pub(crate) fn too_good(chosen: &str) -> String {
    format!("{chosen} chosen on these queries, so the metrics are too good: a test split says more")
}
