//! The tables `[encoder.inputs]` and `[[encoder.kernels]]` of kernel machines: which inputs are compared, and how.

use dsokr_basis::Kernel;
use dsokr_data::TextFeatures;
use dsokr_data::config::OutputFeatures;
use dsokr_data::featurizers::NgramConfig;
use dsokr_machines::KernelWeighting;
use dsokr_spectra::PeakFeatures;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ColumnScaling, KernelConfig};
use crate::encoders::WordsRead;
use crate::encoders::spectrum_inputs::MixtureConfig;
use crate::error::{Error, ensure};

/// Weights of n-grams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NgramWeights {
    /// Only TF-IDF.
    #[default]
    TfIdf,
    /// TF-IDF times what a first fit learned: n-grams that its predictions change much with weigh more than others that as
    /// many texts have (`dsokr_machines::Scaling::relevance`). For the kernels `linear` and `cosine`; the
    /// cosine kernel gives all texts unit length again. The first fit has the first λ.
    Learned,
}

/// Weights of bins of spectra.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BinWeights {
    /// All the same.
    #[default]
    Equal,
    /// Weights that a first fit learned, as for n-grams. For the kernels `linear` and `cosine` and the solver `closed-form`.
    Learned,
}

/// The inputs that a kernel machine compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum MachineInputsConfig {
    /// The n-grams of texts, as unit vectors weighted by TF-IDF (as scikit-learn's with `sublinear_tf=True`).
    Ngrams {
        /// Blocks of n-grams.
        blocks: Vec<NgramConfig>,
        /// Weights of n-grams. `learned`: TF-IDF times what a first fit to the same pairs learned, for the
        /// kernels `linear` and `cosine` and the solver `closed-form`; a second fit, often more accurate.
        #[serde(default)]
        weights: NgramWeights,
    },
    /// Vectors.
    Vectors {
        /// How columns are standardised, by the training rows: `deviation` divides by the standard deviation,
        /// `standard` subtracts the mean first.
        #[serde(default)]
        scaling: ColumnScaling,
    },
    /// Features that outputs can have too, of texts: parts of molecules or what a graph kernel counts in them, where texts
    /// are SMILES; counts of n-grams; sets of labels; classes; rankings; or numbers; or of graphs, where `data.inputs` are those of the
    /// same file. N-grams, values of exact counts, labels and classes that no training text has count in the norms of kernels, as their
    /// formulas have it; what is left out as rare (`min_outputs`) does not.
    Features {
        /// The features, with the keys of [`output.features`](#outputfeatures); `column` is that of `data.inputs`.
        // the reference has the tables of features at `output.features`
        #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
        features: OutputFeatures,
    },
    /// Mass spectra: what lies in bins of masses, each block of unit length.
    Spectra {
        /// Blocks of features.
        blocks: Vec<PeakFeatures>,
        /// Weights of bins; see `learned` of n-grams.
        #[serde(default)]
        weights: BinWeights,
    },
    /// Mass spectra as mixtures of Gaussians, with the probability product kernel in the place of `kernel`.
    Mixtures(MixtureConfig),
    /// The kernels of `data.inputs`, as one kernel in the place of `kernel`.
    Kernels {
        /// `uniform`, their mean, `alignf`, the weights best aligned with the output kernel on the training pairs
        /// (Cortes, Mohri and Rostamizadeh 2012), or `held-out`, those with the least leave-one-out error on up to 750
        /// training pairs, which are drawn.
        combination: KernelWeighting,
    },
}

impl MachineInputsConfig {
    /// Returns whether they are mass spectra.
    pub(super) fn are_spectra(&self) -> bool {
        matches!(self, Self::Spectra { .. } | Self::Mixtures(_))
    }

    /// Returns whether they are mass spectra that must name the formula of their molecule.
    pub(super) fn need_formulas(&self) -> bool {
        match self {
            Self::Spectra { blocks, .. } => blocks.iter().any(|block| block.source.needs_formula()),
            Self::Ngrams { .. }
            | Self::Vectors { .. }
            | Self::Features { .. }
            | Self::Mixtures(_)
            | Self::Kernels { .. } => false,
        }
    }

    /// Returns the features of outputs that are computed from texts; none of other inputs.
    pub(crate) fn as_features(&self) -> Option<&OutputFeatures> {
        match self {
            Self::Features { features } => Some(features),
            Self::Ngrams { .. }
            | Self::Vectors { .. }
            | Self::Spectra { .. }
            | Self::Mixtures(_)
            | Self::Kernels { .. } => None,
        }
    }

    /// Returns how far they are words of texts.
    pub(super) fn words_read(&self) -> WordsRead {
        match self {
            Self::Ngrams { blocks, .. } => WordsRead::of_blocks(blocks),
            Self::Vectors { .. }
            | Self::Features { .. }
            | Self::Spectra { .. }
            | Self::Mixtures(_)
            | Self::Kernels { .. } => WordsRead::None,
        }
    }

    /// Returns whether several processes can each make the rows of a part of the training inputs, which are those that one
    /// process makes.
    pub(crate) fn are_divided(&self) -> bool {
        match self {
            Self::Ngrams { .. } | Self::Vectors { .. } => true,
            Self::Features { features } => features.are_counts(),
            Self::Spectra { .. } | Self::Mixtures(_) | Self::Kernels { .. } => false,
        }
    }

    /// Checks the inputs at `key` together with the kernel at `kernel_key`.
    pub(super) fn validate(
        &self,
        key: &str,
        kernel: &Kernel,
        kernel_key: &str,
    ) -> Result<(), Error> {
        let blocks =
            |count: usize| ensure(count > 0, format!("{key}.blocks"), "[]", "at least one block");
        let bring_the_kernel = || {
            if *kernel == linear() {
                return Ok(());
            }
            let because = format!("{key} bring the kernel; remove it");
            Err(Error::refused(kernel_key, "given", because))
        };
        match self {
            Self::Ngrams { blocks: all, .. } => {
                blocks(all.len())?;
                let mut all = all.iter().enumerate();
                Ok(all.try_for_each(|(at, block)| block.validate(&format!("{key}.blocks[{at}]")))?)
            }
            Self::Spectra { blocks: all, .. } => {
                blocks(all.len())?;
                let mut all = all.iter().enumerate();
                Ok(all.try_for_each(|(at, block)| block.validate(&format!("{key}.blocks[{at}]")))?)
            }
            Self::Mixtures(mixtures) => {
                mixtures.validate(key)?;
                bring_the_kernel()
            }
            Self::Features { features } => {
                Ok(TextFeatures::validate(features, &format!("{key}.features"))?)
            }
            Self::Kernels { .. } => bring_the_kernel(),
            Self::Vectors { .. } => Ok(()),
        }
    }
}

/// One of several input kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputSummandConfig {
    /// The inputs that the kernel compares: of kind `ngrams`, `features`, `spectra` or `mixtures`.
    pub inputs: MachineInputsConfig,
    /// The kernel; that of the inputs for mixtures.
    #[serde(default = "linear_kernel")]
    pub kernel: KernelConfig,
    /// The share of the kernel in the sum, after division by the sum of all; 0 leaves it out.
    #[serde(default = "one")]
    pub weight: f64,
}

dsokr_core::defaults! {
    one: f64 = 1.0,
    pub(super) vectors: MachineInputsConfig = MachineInputsConfig::Vectors { scaling: ColumnScaling::None },
}

pub(super) fn linear() -> Kernel {
    Kernel::Linear
}

dsokr_core::defaults!(pub(super) linear_kernel: KernelConfig = linear().into());
