use dsokr_basis::Kernel;
use dsokr_basis::features::NgramConfig;
use dsokr_machines::{Combination, InputSketch, Loss, Precision};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DecodingConfig, EmbeddingConfig, check, value};
use crate::Error;

/// How columns of input vectors are standardised, by the training rows' figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputScaling {
    /// Not at all.
    #[default]
    None,
    /// Divided by their standard deviation. Enough for kernels of differences, as the Gaussian one;
    /// sparse rows stay sparse.
    Deviation,
    /// The mean subtracted, then divided by the standard deviation.
    Standard,
}

/// Kernel ridge regression onto the targets, in closed form:
/// `ĥ(x) = Σ_i α_i(x) ψ̃(y_i)`, `α(x) = (K + nλI)⁻¹ k^x`.
///
/// With `sketch.full` it is IOKR, with a sketch of the outputs ISOKR; with a sketch of the inputs
/// beside it SIOKR and SISOKR. `[training]` is not used, but for its metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RidgeConfig {
    /// Blocks of n-grams that texts become, by TF-IDF; without them inputs are vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ngrams: Option<Vec<NgramConfig>>,
    /// How the kernels of `data.kernels` become one: `uniform`, their mean, or `alignf`, the weights best
    /// aligned with the output kernel on the training pairs (Cortes, Mohri and Rostamizadeh 2012). In
    /// the place of `kernel`, and not with a sketch of the inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<Combination>,
    /// How columns of vectors are standardised.
    #[serde(default)]
    pub scaling: InputScaling,
    /// The input kernel.
    #[serde(default = "linear")]
    pub kernel: Kernel,
    /// The sketch of the inputs; none, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sketch: Option<InputSketch>,
    /// λ of `(1/n) Σ ‖ĥ(x_i) − ψ̃(y_i)‖² + λ ‖ĥ‖²`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// Values of λ to choose from, in the place of `lambda`: the one with the least leave-one-out
    /// error on the training pairs, from one eigendecomposition; with an `embedding` the best on the
    /// validation split, one fit for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lambdas: Vec<f64>,
    /// A loss in the place of the square one, solved by steps to a small duality gap; needs a sketch of
    /// the inputs. Of several λ the best on the validation split is taken.
    ///
    /// For outputs some of which are wrong: κ-Huber or ε-insensitive, of the distance in the kernel's
    /// feature space, the part of an output outside of the basis included (thesis, section 3.2 and
    /// equation 5.16), with a sketch of the outputs. For quantiles of outputs that are one number each:
    /// pinball, with `sketch.full` and `evaluation.metric = "pinball"`; candidates are then ranked by their
    /// distance from the median, or the level nearest to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// γ of `M_ij = exp(−γ (τ_i − τ_j)²)`, the output matrix of joint quantile regression (thesis,
    /// example 2.13): with 0 quantiles differ by constants, with a large one each is fitted by itself; 1,
    /// if left out. Beside a pinball loss only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coupling: Option<f64>,
    /// Number of leading coordinates of the basis that answers have; all, if left out. With a sketch
    /// of every output this is Kernel Dependency Estimation: a regression for each principal component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// A learned embedding of the outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<EmbeddingConfig>,
    /// What the system is solved in. `single` is for λ that is not small, as for the linear kernel on
    /// n-grams.
    #[serde(default)]
    pub precision: Precision,
}

fn linear() -> Kernel {
    Kernel::Linear
}

impl RidgeConfig {
    /// Every λ that is given, where the best is taken by the validation split.
    pub(crate) fn every_lambda(&self) -> impl Iterator<Item = f64> {
        self.lambda.iter().chain(&self.lambdas).copied()
    }

    /// Levels of the quantiles that answers are, if they are quantiles.
    pub(crate) fn levels(&self) -> Option<&[f64]> {
        match &self.loss {
            Some(Loss::Pinball { levels }) => Some(levels),
            _ => None,
        }
    }

    /// γ of the output matrix.
    pub(crate) fn coupling(&self) -> f64 {
        self.coupling.unwrap_or(1.0)
    }

    /// No λ is given, which [`validate`](Self::validate) has refused before.
    pub(crate) fn no_lambda() -> Error {
        value("encoder.lambdas", "[]", "at least one number")
    }

    /// A loss is given without a sketch of the inputs, which [`validate`](Self::validate) has refused
    /// before.
    pub(crate) fn no_sketch() -> Error {
        value("encoder.sketch", "absent", "a sketch of the inputs, beside encoder.loss")
    }

    /// Checks which settings of the outputs' sketch, none if it is `full`, and of the decoding these are
    /// compatible with.
    pub(crate) fn check_compatible(
        &self,
        full: bool,
        decoding: &DecodingConfig,
    ) -> Result<(), Error> {
        let (key, hubs) = ("decoding.hubs", decoding.hubs.as_ref());
        if let Some(folds) = hubs.and_then(|hubs| hubs.folds) {
            let allowed = "absent: kernel machines know their leave-one-out answers";
            return Err(value("decoding.hubs.folds", folds, allowed));
        }
        if self.rank.is_some() {
            check(!full, "sketch.full", true, "false: encoder.rank cuts a basis")?;
        }
        if self.loss.is_some() {
            let numbers = self.levels().is_some();
            let allowed = match numbers {
                true => "true, beside encoder.loss: numbers are not sketched",
                false => "false, beside encoder.loss",
            };
            check(full == numbers, "sketch.full", full, allowed)?;
            check(
                !(numbers && decoding.normalise),
                "decoding.normalise",
                true,
                "false: answers are quantiles",
            )?;
            let allowed = "absent: no closed form gives leave-one-out answers of encoder.loss";
            check(hubs.is_none(), key, "given", allowed)?;
        }
        if self.embedding.is_some() {
            let allowed = "false: embeddings are learned in a basis, with encoder.embedding";
            check(!full, "sketch.full", true, allowed)?;
            let allowed = "absent: an embedding has seen the outputs that hub constants must not \
                           see, with encoder.embedding";
            check(hubs.is_none(), key, "given", allowed)?;
        }
        Ok(())
    }

    pub(crate) fn validate(&self) -> Result<(), Error> {
        if let Some(blocks) = &self.ngrams {
            check(!blocks.is_empty(), "encoder.ngrams", "[]", "at least one block")?;
            blocks.iter().try_for_each(NgramConfig::validate).map_err(dsokr_nn::Error::from)?;
            let none = self.scaling == InputScaling::None;
            check(none, "encoder.scaling", "given", "\"none\": texts become unit vectors")?;
        }
        if self.kernels.is_some() {
            for (key, given) in [
                ("encoder.ngrams", self.ngrams.is_some()),
                ("encoder.scaling", self.scaling != InputScaling::None),
                ("encoder.kernel", self.kernel != linear()),
                ("encoder.sketch", self.sketch.is_some()),
            ] {
                check(!given, key, "given", "absent beside encoder.kernels")?;
            }
        }
        if let Some(sketch) = &self.sketch {
            check(sketch.size > 0, "encoder.sketch.size", sketch.size, "at least 1")?;
            let single = self.precision == Precision::Single;
            let allowed = "\"double\": sketched inputs are solved in it";
            check(!single, "encoder.precision", "\"single\"", allowed)?;
        }
        if let Some(loss) = &self.loss {
            let width = self.levels().map_or(1, <[f64]>::len);
            check(width > 0, "encoder.loss.levels", "[]", "at least one level")?;
            loss.validate(width).map_err(|e| value("encoder.loss", e, "see there"))?;
            if self.sketch.is_none() {
                return Err(Self::no_sketch());
            }
            for (key, given) in [
                ("encoder.scaling", self.scaling != InputScaling::None),
                ("encoder.embedding", self.embedding.is_some()),
            ] {
                check(!given, key, "given", "absent beside encoder.loss")?;
            }
        }
        if let Some(gamma) = self.coupling {
            let holds = gamma >= 0.0 && gamma.is_finite();
            check(holds, "encoder.coupling", gamma, "finite numbers, 0 and above")?;
            let allowed = "absent, or a pinball loss beside it";
            check(self.levels().is_some(), "encoder.coupling", gamma, allowed)?;
        }
        if let Some(rank) = self.rank {
            check(rank > 0, "encoder.rank", rank, "at least 1")?;
            let given = self.embedding.is_some() || self.loss.is_some();
            let allowed = "absent beside encoder.embedding and encoder.loss";
            check(!given, "encoder.rank", rank, allowed)?;
        }
        self.embedding.as_ref().map_or(Ok(()), EmbeddingConfig::validate)?;
        match (self.lambda, self.lambdas.is_empty()) {
            (None, true) => {
                return Err(value(
                    "encoder.lambda",
                    "absent",
                    "a number above 0, or encoder.lambdas",
                ));
            }
            (Some(_), false) => {
                let allowed = "absent beside encoder.lambda";
                return Err(value("encoder.lambdas", format!("{:?}", self.lambdas), allowed));
            }
            _ => {}
        }
        let key = if self.lambda.is_some() { "encoder.lambda" } else { "encoder.lambdas" };
        let mut all = self.lambda.iter().chain(&self.lambdas);
        all.try_for_each(|&l| check(l > 0.0 && l.is_finite(), key, l, "finite numbers above 0"))
    }
}
