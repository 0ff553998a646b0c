//! The table `[decoding]`: from predictions to answers, by hubs, a reranker, an exact search, or expected F1.

use crate::error::ensure;
use dsokr_basis::OutputKernel;
use dsokr_data::config::{OutputFeatures, RankingEmbedding};
use dsokr_decode::{Combination, Queries};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::rules::{Rule, check};
use super::{BeyondConfig, ColumnScaling, Config, HeldOutPredictions};
use crate::config::folds::{Folds, HELD_OUT};
use crate::error::Error;

/// Why the members of an ensemble cannot predict outputs that need not be candidates.
pub(crate) const IN_ENSEMBLES: &str =
    "the members of an ensemble score the same candidates, and predict one of them; remove it";

/// Which outputs can be predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Search {
    /// The candidates: the first of them is the predicted output.
    #[default]
    Candidates,
    /// All label sets, all rankings without ties, or all rows of numbers: the predicted output is the one with the
    /// highest score, whether it is a candidate or not. Of more than 16 items under the kernel `kemeny` it is the best
    /// ranking of a local search, which moves one item at a time. Ranks remain those among the candidates. Numbers are those
    /// of the prediction itself (thesis, equation 5.22), in the units of the table.
    Exact,
}

/// How scores `⟨z, ψ̃(c)⟩ + b(c)` are made, and which outputs can be predicted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DecodingConfig {
    /// Which outputs can be predicted. `exact` needs features of kind `labels`, `rankings` or `numbers` and a kernel
    /// that is linear in features: `linear`, `cosine`, `kemeny` or `hamming`; Lehmer codes and numbers the kernel
    /// `linear`, numbers also `output.scaling = "standard"`.
    pub search: Search,
    /// Whether predictions z are scaled to unit length. It changes no order of candidates that have no
    /// constants; with constants, and together with other models, long and short predictions then weigh the same.
    /// Always so with `hubs` and `reranker`. Not with `sketch.full` of a kernel machine, whose predictions are weights, of
    /// another length.
    pub normalise: bool,
    /// The correction for hubs; none, if left out.
    pub hubs: Option<HubConfig>,
    /// Predicts the label set with the largest expected F1; the first candidate, if left out.
    pub expected_f1: Option<ExpectedF1Config>,
    /// The reranker, which scores the first candidates of a query anew; none, if left out.
    pub reranker: Option<RerankerConfig>,
    /// The search for molecules that are not candidates; none, if left out.
    pub beyond: Option<BeyondConfig>,
    /// Whether the run keeps held-out predictions: for training inputs, by models that were fitted without their pair, as
    /// `held-out.safetensors`. The members of an ensemble with `ensemble.weights = "held-out"` always do.
    pub held_out: bool,
}

/// The correction for hubs, candidates that are near every prediction:
/// `b(c) −= weight · (mean of the largest ⟨z_i, ψ̃(c)⟩)` over predictions for training inputs by models that
/// were fitted without their pair.
///
/// The leave-one-out predictions of a kernel machine with the solver `closed-form` or `sketched` are known. For any other
/// learner as many more are fitted as there are `folds`, each without a part of the pairs, for which it then predicts: that
/// many fits more, for constants that are kept with the candidates. Of several weights and numbers of neighbours
/// the best on the validation split is kept, by `evaluation.metric`. A kernel machine needs a sketch of the outputs:
/// `sketch.full = false`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct HubConfig {
    /// Weights to choose from.
    #[default(vec![0.5])]
    pub weights: Vec<f32>,
    /// How many of the largest similarities are averaged, to choose from.
    #[default(vec![10])]
    pub neighbours: Vec<usize>,
    /// Parts of the training pairs, where the learner is fitted anew; 3, if left out.
    pub folds: Option<usize>,
    /// How many of these parts are held out and predicted; all, if left out. Each costs a fit, and one part gives
    /// constants that are little worse.
    pub held_out_folds: Option<usize>,
    /// `false`, with `held_out_folds = 1`: no further model is fitted. The run's own is fitted without that
    /// part, and predicts for it.
    pub refit: Option<bool>,
}

/// The reranker: a small network scores the first candidates of a query anew, by the training pairs whose held-out
/// predictions lie nearest to the prediction for the query. The other candidates keep their ranks.
///
/// The network learns from training pairs: the learner is fitted once more for each of the `held_out_folds`, without its
/// pairs, for which it then predicts. The validation split plays no part, but for encoders, of which each fit keeps its best
/// evaluation. Predictions are coordinates of a basis, of one model or of a member of an ensemble.
///
/// What a query is compared with are held-out predictions too, in the run and in each fold. A kernel machine with the solver
/// `closed-form` or `sketched` knows them. For any other learner `folds`, `held_out_folds` and `refit` of `decoding.hubs` say
/// how they are made, by further fits to the pairs of the run, and to those outside each fold; with `refit = false` there a
/// fold costs one fit, and the run none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct RerankerConfig {
    /// How many candidates of a query are scored anew; candidates that are the same point count once.
    #[default(100)]
    pub candidates: usize,
    /// How many training pairs a query is compared with.
    #[default(50)]
    pub neighbours: usize,
    /// Parts of the training pairs. If left out, 8, and 3 for a learner that is fitted anew for held-out predictions: with as
    /// many parts as `decoding.hubs` has, models without two of them serve two folds.
    pub folds: Option<usize>,
    /// How many of these parts are held out and predicted; 3, if left out. Each costs a fit.
    pub held_out_folds: Option<usize>,
    /// `false`, with `held_out_folds = 1` and the solver `closed-form`: no further machine is fitted. In the run's own system the
    /// held-out pairs come last, and the system of the others is a block of it. Weights of n-grams that are
    /// learned, and standardised columns, are those of the other pairs in both machines.
    #[default(true)]
    pub refit: bool,
    /// The words of a query's text against the structures of candidates; not compared, if left out.
    pub words: Option<WordsConfig>,
    /// A query's spectrum against the fragments of candidates and against training spectra; not compared, if left out.
    pub spectra: Option<SpectraConfig>,
}

/// What a spectrum says of molecules, as further features of the reranker: the precursor's mass, what the fragments of a
/// candidate explain, how usual these fragments are for such peaks in training spectra, and how alike a candidate is to the
/// molecules of similar ones. Nothing is read from the formula that a spectrum names.
///
/// The network learns from the first candidates of each spectrum, and from those within 10 ppm of the precursor. Inputs are
/// spectra, and `output.label` is the column of SMILES.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct SpectraConfig {
    /// How far a peak may be from a fragment's ion and from another peak, in millionths of its m/z.
    #[default(10.0)]
    pub tolerance: f64,
}

/// Words of texts together with facts about molecules, as a further feature of the reranker: how much likelier a text
/// with these words is for a molecule with these facts, by the training pairs (`decode::Words`).
///
/// Inputs are texts, and `output.label` is the column of SMILES.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WordsConfig {
    /// A file in the folder of the data: a table with tabs and the columns `words`, a regular expression on the text
    /// in lower case, and `structure`, a fact. The run keeps it. If left out, the lexicon of the program, made for
    /// descriptions as ChEBI has them.
    pub lexicon: Option<String>,
}

impl RerankerConfig {
    fn validate(&self, leaves: HeldOutPredictions) -> Result<(), Error> {
        let Self { candidates, neighbours, refit, .. } = *self;
        let key = |name: &str| format!("decoding.reranker.{name}");
        ensure(candidates > 1, key("candidates"), candidates, "at least 2")?;
        ensure(neighbours > 0, key("neighbours"), neighbours, "at least 1")?;
        if let Some(SpectraConfig { tolerance }) = self.spectra {
            let holds = tolerance > 0.0 && tolerance <= 1000.0;
            ensure(holds, key("spectra.tolerance"), tolerance, "a number above 0, at most 1000")?;
        }
        let parts = self.parts(leaves);
        parts.validate()?;
        let allowed =
            "true, or decoding.reranker.held_out_folds = 1: several parts need a fit each";
        ensure(refit || parts.held_out_folds == 1, key("refit"), refit, allowed)
    }

    /// Returns the parts of the training pairs, for a learner that leaves such predictions.
    pub(crate) fn parts(&self, leaves: HeldOutPredictions) -> Folds {
        let is_fitted_anew = leaves < HeldOutPredictions::Pairs;
        let count = self.folds.unwrap_or(if is_fitted_anew { 3 } else { 8 });
        let held_out_folds = self.held_out_folds.unwrap_or(count.min(3));
        Folds { key: "decoding.reranker", has_count: true, count, held_out_folds }
    }
}

/// The predicted label set is the one with the largest expected F1 of all sets, whether it is a candidate or not,
/// where the probability of a candidate c is proportional to `exp(score(c) / temperature)` for the first
/// `candidates` distinct label sets, and 0 for others. Ranks remain those among the candidates.
///
/// Sets that share labels with many likely ones are better for F1 than the likeliest one. The best set is found
/// exactly, in the time of sorting labels (Dembczyński et al., NeurIPS 2011). For one model, whose features of
/// outputs are of kind `labels`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectedF1Config {
    /// How many of the first distinct label sets are possible.
    #[default(200)]
    pub candidates: usize,
    /// By how much scores differ where one set is e times as likely as the other. Scores of unit predictions under a
    /// normalised kernel are within −1 and 1.
    #[default(0.05)]
    pub temperature: f64,
}

impl ExpectedF1Config {
    fn validate(&self) -> Result<(), Error> {
        let Self { candidates, temperature } = *self;
        ensure(candidates > 0, "decoding.expected_f1.candidates", candidates, "at least 1")?;
        let holds = temperature > 0.0 && temperature.is_finite();
        ensure(holds, "decoding.expected_f1.temperature", temperature, "a number above 0")
    }
}

impl HubConfig {
    /// Returns the parts of the training pairs that models are fitted without, for a learner that leaves no held-out predictions.
    pub(crate) fn parts(&self) -> Folds {
        let count = self.folds.unwrap_or(3);
        let held_out_folds = self.held_out_folds.unwrap_or(count);
        Folds { key: "decoding.hubs", has_count: true, count, held_out_folds }
    }

    /// Returns whether the model of the run is fitted to all pairs.
    pub fn refits(&self) -> bool {
        self.refit.unwrap_or(true)
    }
}

impl DecodingConfig {
    /// Returns the key by which one model predicts outputs that need not be candidates, and its value; none where the first
    /// candidate is predicted.
    pub(crate) fn of_one_model(&self) -> Option<(&'static str, &'static str)> {
        match (self.search, &self.expected_f1) {
            (Search::Exact, _) => Some(("decoding.search", "\"exact\"")),
            (Search::Candidates, Some(_)) => Some(("decoding.expected_f1", "given")),
            (Search::Candidates, None) => None,
        }
    }

    /// Checks that outputs that are not candidates can be predicted with the rest of the configuration.
    pub(super) fn check_beyond(&self, config: &Config) -> Result<(), Error> {
        if let Some(settings) = &self.beyond {
            settings.validate()?;
            config.output.source().check_made()?;
            let combination = config.ensemble.as_ref().map(|ensemble| &ensemble.combination);
            let rules = [
                Rule {
                    key: "decoding.expected_f1",
                    refused_when: self.expected_f1.is_some(),
                    because: "decoding.beyond searches molecules; remove one of them",
                },
                Rule {
                    key: "ensemble.combination.name",
                    refused_when: combination.is_some_and(Combination::is_of_ranks),
                    because: "with decoding.beyond molecules that are above all candidates would tie by ranks; \
                              set it to \"mean\" or \"max\"",
                },
            ];
            check(config, "", &rules)?;
        }
        let Some((key, _)) = self.of_one_model() else { return Ok(()) };
        let no_reranker = format!("{key} predicts outputs that are not candidates; remove it");
        let rules = [
            Rule { key, refused_when: config.ensemble.is_some(), because: IN_ENSEMBLES },
            Rule {
                key: "decoding.reranker",
                refused_when: self.reranker.is_some(),
                because: &no_reranker,
            },
        ];
        check(config, "", &rules)?;
        match &self.expected_f1 {
            Some(settings) => {
                settings.validate()?;
                self.check_expected_f1(config)
            }
            None => self.check_exact_search(config),
        }
    }

    /// Checks that label sets of the largest expected F1 can be predicted.
    fn check_expected_f1(&self, config: &Config) -> Result<(), Error> {
        let key = "decoding.expected_f1";
        let rules = [
            Rule {
                key,
                refused_when: !config.output.features.are_labels(),
                because: "it needs output features of kind \"labels\"; remove it",
            },
            Rule {
                key,
                refused_when: self.search != Search::Candidates,
                because: "it needs decoding.search = \"candidates\"; remove one of them",
            },
            Rule {
                key,
                refused_when: config.evaluation.candidates.is_some(),
                because: "with evaluation.candidates queries do not share the candidates; remove one of them",
            },
        ];
        check(config, "", &rules)
    }

    /// Checks that the output with the highest score of all can be found.
    fn check_exact_search(&self, config: &Config) -> Result<(), Error> {
        let output = &config.output;
        let features = &output.features;
        let numbers = features.are_numbers();
        let rules = [
            Rule {
                key: "decoding.search",
                refused_when: !(features.are_labels() || features.are_rankings() || numbers),
                because: "it needs output features of kind \"labels\", \"rankings\" or \"numbers\"; \
                          set it to \"candidates\"",
            },
            // errors are in shares of the deviation from the training mean
            Rule {
                key: "output.scaling",
                refused_when: numbers && output.scaling != ColumnScaling::Standard,
                because: "numbers are predicted; set it to \"standard\"",
            },
        ];
        check(config, "", &rules)?;
        let kernel = output.single_kernel()?;
        // rows that differ in length
        let codes = matches!(features, OutputFeatures::Rankings(rankings) if rankings.embedding == RankingEmbedding::Lehmer);
        let numeric = numbers || codes;
        let rules = [
            Rule {
                key: "output.kernel.name",
                refused_when: kernel.feature_scale(1.0).is_none(),
                because: "decoding.search = \"exact\" needs \"linear\", \"cosine\", \"kemeny\" or \"hamming\"",
            },
            Rule {
                key: "output.kernel.name",
                refused_when: numeric && kernel.is_normalised(),
                because: "numbers or Lehmer codes are predicted, which needs \"linear\"",
            },
        ];
        check(config, "", &rules)?;
        output.check_untempered("decoding.search = \"exact\" needs a kernel without tempering")?;
        let length_matters = (features.are_labels() || numeric) && !kernel.is_normalised();
        let rules = [
            Rule {
                key: "decoding.hubs",
                refused_when: self.hubs.is_some(),
                because: "decoding.search = \"exact\" has no set of hubs to correct; remove it",
            },
            Rule {
                key: "decoding.normalise",
                refused_when: self.normalise && length_matters,
                because: "with decoding.search = \"exact\" under the kernel \"linear\" the length of a prediction says how \
                          many labels it has, or how large its numbers or codes are; set it to false",
            },
        ];
        check(config, "", &rules)
    }

    /// Checks the settings for a learner that leaves such predictions.
    pub(super) fn validate(&self, leaves: HeldOutPredictions) -> Result<(), Error> {
        self.reranker.as_ref().map_or(Ok(()), |reranker| reranker.validate(leaves))?;
        let Some(hubs) = &self.hubs else { return Ok(()) };
        let weights = &hubs.weights;
        let holds = !weights.is_empty() && weights.iter().all(|w| *w >= 0.0 && w.is_finite());
        ensure(holds, "decoding.hubs.weights", format!("{weights:?}"), "numbers not below 0")?;
        let parts = hubs.parts();
        parts.validate()?;
        let allowed = "true, or decoding.hubs.held_out_folds = 1: a run has one model";
        ensure(hubs.refits() || parts.held_out_folds == 1, "decoding.hubs.refit", false, allowed)?;
        let neighbours = &hubs.neighbours;
        let holds = !neighbours.is_empty() && !neighbours.contains(&0);
        ensure(holds, "decoding.hubs.neighbours", format!("{neighbours:?}"), "numbers from 1")
    }

    /// Returns the parts of the training pairs that models are fitted without, for a learner that leaves no held-out predictions:
    /// those of `hubs`, or of its defaults where only other keys need them.
    pub(crate) fn parts(&self) -> Folds {
        match &self.hubs {
            Some(hubs) => hubs.parts(),
            None => {
                let key = self.key_of_further_fits();
                Folds { key, has_count: false, ..HubConfig::default().parts() }
            }
        }
    }

    /// Returns the key that needs the fits without a part of the pairs.
    pub(crate) fn key_of_further_fits(&self) -> &'static str {
        match (&self.reranker, &self.hubs) {
            (Some(_), _) => "decoding.reranker",
            (None, Some(_)) => "decoding.hubs",
            (None, None) => HELD_OUT,
        }
    }

    /// Returns whether held-out predictions are needed: for training inputs, by models that were not trained on that pair.
    pub(crate) fn needs_held_out(&self) -> bool {
        self.held_out || self.hubs.is_some() || self.reranker.is_some()
    }

    /// Returns whether predictions are scaled to unit length before they are scored.
    pub fn unit_length(&self) -> bool {
        self.normalise || self.hubs.is_some() || self.reranker.is_some()
    }

    /// Returns predictions `z`, rows of `dim` coordinates, as they are scored: at unit length, or unchanged.
    ///
    /// # Errors
    /// Predictions that are not finite, or not whole rows, where they are scaled.
    pub fn scaled(&self, z: &[f32], dim: usize) -> Result<Vec<f32>, Error> {
        Ok(if self.unit_length() { Queries::new(dim, z)?.normalised() } else { z.to_vec() })
    }
}
