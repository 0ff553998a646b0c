use std::path::Path;

use dsokr_basis::features::{DenseRows, NgramConfig};
use dsokr_basis::{Features, Kernel, RowSource};
use dsokr_nn::bag::TfIdf;
use dsokr_nn::{BuiltIn, BuiltInInput, TransformerConfig};
use dsokr_ridge::Ideal;
use faer::Mat;
use rayon::prelude::*;

use crate::config::{Checked, EncoderConfig, RidgeConfig};
use crate::data::Split;
use crate::pretrained_inputs::PretrainedInputs;
use crate::token_inputs::{TokenInputs, TokenInputsConfig};
use crate::{Error, Prepare, Recipe, Start};

/// What turns texts or vectors into inputs of a built-in encoder, fitted on the training split.
pub enum Preparation {
    /// TF-IDF weights of n-grams.
    Ngrams(TfIdf),
    /// Vectors as they are.
    Vectors {
        /// Their width.
        width: usize,
    },
    /// Values of several kernels with the training inputs, as one kernel.
    Kernels {
        /// The weight of each.
        weights: Vec<f64>,
        /// Number of training inputs.
        anchors: usize,
    },
    /// Tokens.
    Tokens(Box<TokenInputs>),
    /// The tokens of a pretrained encoder.
    Pretrained(Box<PretrainedInputs>),
}

/// What the weights of kernels are learned with.
pub(crate) struct Outputs<'a> {
    pub kernel: &'a Kernel,
    /// The training outputs.
    pub rows: &'a dyn RowSource,
    /// The files of the kernels.
    pub files: &'a [String],
}

impl<'a> Outputs<'a> {
    pub(crate) fn of<R>(config: &'a Checked<R>, rows: &'a dyn RowSource) -> Self {
        let files = config.data.kernels.as_ref().map_or(&[][..], |kernels| &kernels.files);
        Self { kernel: &config.output.kernel, rows, files }
    }
}

impl Recipe for EncoderConfig {
    type Preparation = Preparation;
    type Encoder = BuiltIn;

    fn validate(&self) -> Result<(), Error> {
        Self::validate(self)
    }

    fn reads_vectors(&self) -> bool {
        Self::reads_vectors(self)
    }

    fn preparation(&self) -> &Self {
        self
    }

    fn encoder(&self, preparation: &Preparation, start: Start) -> Result<BuiltIn, Error> {
        make(self, preparation, start, true)
    }

    fn shell(&self, preparation: &Preparation, start: Start) -> Result<BuiltIn, Error> {
        make(self, preparation, start, false)
    }

    fn recomputes(&self) -> bool {
        match self {
            Self::Transformer(config) => config.activation_checkpointing,
            Self::Pretrained(config) => config.activation_checkpointing,
            Self::NgramBag(_) | Self::Mlp(_) | Self::Ridge(_) => false,
        }
    }

    fn ridge(&self) -> Option<&RidgeConfig> {
        match self {
            Self::Ridge(config) => Some(config),
            _ => None,
        }
    }
}

/// Settings and preparation are of one kind: one is fitted or read for the other.
fn make(
    config: &EncoderConfig,
    preparation: &Preparation,
    Start { offset, random, device }: Start,
    fresh: bool,
) -> Result<BuiltIn, Error> {
    use EncoderConfig::{Mlp, NgramBag, Pretrained, Transformer};
    Ok(match (config, preparation) {
        (NgramBag(config), Preparation::Ngrams(tf_idf)) => {
            BuiltIn::NgramBag(config.init(tf_idf.width(), offset, random, device))
        }
        (Mlp(config), Preparation::Vectors { width }) => {
            BuiltIn::Mlp(config.init(*width, offset, random, device))
        }
        (Transformer(config), Preparation::Tokens(tokens)) => {
            config.precision.check(device)?;
            BuiltIn::Transformer(config.init(tokens.vocabulary(), offset, random, device))
        }
        (Pretrained(config), Preparation::Pretrained(inputs)) => {
            config.precision.check(device)?;
            let mut model = inputs.model().clone();
            if fresh {
                // a run keeps all but the weights that training starts from
                model.find_weights(Path::new(&config.folder))?;
            }
            let (encoder, unused) = config.init(&model, offset, random, device)?;
            if !unused.is_empty() {
                tracing::info!(tensors = unused.join(", "), "not used of the pretrained weights");
            }
            BuiltIn::Transformer(encoder)
        }
        _ => {
            return Err(Error::Value {
                key: "encoder.kind".into(),
                found: format!("{config:?}"),
                allowed: "the kind that the inputs were prepared for".into(),
            });
        }
    })
}

const NGRAMS: &str = "ngrams.json";
const VECTORS: &str = "vectors.json";
const KERNELS: &str = "kernels.json";

impl Prepare for Preparation {
    type Settings = EncoderConfig;
    type Input = BuiltInInput;

    fn fit(config: &EncoderConfig, train: &Split) -> Result<Self, Error> {
        Ok(match config {
            EncoderConfig::NgramBag(config) => Self::ngrams(&config.ngrams, train)?,
            EncoderConfig::Ridge(config) => Self::of_ridge(config, train, None)?,
            EncoderConfig::Mlp(_) => Self::vectors(train)?,
            EncoderConfig::Transformer(config) => {
                Self::Tokens(Box::new(TokenInputs::fit(&tokens(config), train)?))
            }
            EncoderConfig::Pretrained(config) => {
                Self::Pretrained(Box::new(PretrainedInputs::fit(config, train)?))
            }
        })
    }

    fn inputs(&self, split: &Split) -> Result<Vec<BuiltInInput>, Error> {
        let inputs: Vec<BuiltInInput> = match self {
            Self::Ngrams(tf_idf) => {
                let texts = split.texts.par_iter();
                texts.map(|text| BuiltInInput::Ngrams(tf_idf.transform(text))).collect()
            }
            Self::Tokens(tokens) => {
                tokens.inputs(split)?.into_iter().map(BuiltInInput::Tokens).collect()
            }
            Self::Pretrained(tokens) => {
                tokens.inputs(split)?.into_iter().map(BuiltInInput::Tokens).collect()
            }
            Self::Vectors { .. } | Self::Kernels { .. } => {
                let rows = self.rows(split)?;
                (0..rows.len()).map(|row| BuiltInInput::Dense(rows.dense_row(row))).collect()
            }
        };
        let special = match self {
            Self::Pretrained(tokens) => tokens.special_tokens(),
            // `[CLS]`
            _ => 1,
        };
        let unknown = inputs.iter().filter(|input| is_empty(input, special)).count();
        if unknown > 0 {
            let texts = inputs.len();
            tracing::warn!(unknown, texts, "texts of which nothing is known all have one answer");
        }
        Ok(inputs)
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        match self {
            Self::Ngrams(tf_idf) => Ok(vec![(NGRAMS, tf_idf.to_json())]),
            Self::Vectors { width } => Ok(vec![(VECTORS, width.to_string())]),
            Self::Kernels { weights, anchors } => {
                let json = serde_json::json!({"weights": weights, "training": anchors});
                Ok(vec![(KERNELS, json.to_string())])
            }
            Self::Tokens(tokens) => tokens.files(),
            Self::Pretrained(tokens) => tokens.files(),
        }
    }

    fn load(config: &EncoderConfig, folder: &Path) -> Result<Self, Error> {
        Ok(match config {
            EncoderConfig::NgramBag(_) => Self::read_ngrams(folder)?,
            EncoderConfig::Ridge(config) => Self::load_of_ridge(config, folder)?,
            EncoderConfig::Mlp(_) => Self::Vectors { width: read_width(&folder.join(VECTORS))? },
            EncoderConfig::Transformer(config) => {
                Self::Tokens(Box::new(TokenInputs::load(&tokens(config), folder)?))
            }
            EncoderConfig::Pretrained(config) => {
                Self::Pretrained(Box::new(PretrainedInputs::load(config, folder)?))
            }
        })
    }
}

impl Preparation {
    /// For the inputs of a kernel machine.
    /// Weights of kernels are learned with the training `outputs`.
    pub(crate) fn of_ridge(
        config: &RidgeConfig,
        train: &Split,
        outputs: Option<Outputs>,
    ) -> Result<Self, Error> {
        match (&config.ngrams, config.kernels, outputs) {
            (Some(blocks), ..) => Self::ngrams(blocks, train),
            (None, Some(rule), Some(Outputs { kernel, rows, files })) => {
                let (values, n) =
                    (train.vectors.as_ref().ok_or(Error::ReadsVectors)?, train.ids.len());
                let grams: Vec<Mat<f64>> =
                    (0..values.width() / n.max(1)).map(|at| square(values, at, n)).collect();
                let grams: Vec<_> = grams.iter().map(Mat::as_ref).collect();
                let weights = rule.weights(&grams, &Ideal::Outputs { kernel, rows });
                let weights = weights.map_err(|error| match error {
                    dsokr_ridge::Error::Kernel { kernel, source } => Error::Kernel {
                        file: files.get(kernel).cloned().unwrap_or_default(),
                        source,
                    },
                    other => other.into(),
                })?;
                tracing::info!(weights = ?weights, "kernels combined");
                Ok(Self::Kernels { weights, anchors: n })
            }
            (None, ..) => Self::vectors(train),
        }
    }

    /// Reads that of a kernel machine.
    pub(crate) fn load_of_ridge(config: &RidgeConfig, folder: &Path) -> Result<Self, Error> {
        match (&config.ngrams, config.kernels) {
            (Some(_), _) => Self::read_ngrams(folder),
            (None, Some(_)) => {
                let path = folder.join(KERNELS);
                let text = std::fs::read_to_string(&path).map_err(|e| Error::reading(&path, &e))?;
                let StoredKernels { weights, training } = serde_json::from_str(&text)
                    .map_err(|e| Error::Run { path, message: e.to_string() })?;
                Ok(Self::Kernels { weights, anchors: training })
            }
            (None, None) => Ok(Self::Vectors { width: read_width(&folder.join(VECTORS))? }),
        }
    }

    /// A split's inputs as rows that kernels compare.
    ///
    /// # Errors
    /// Vectors that are missing or of another width; [`Error::Value`] for tokens.
    pub fn rows(&self, split: &Split) -> Result<Features, Error> {
        match self {
            Self::Ngrams(tf_idf) => Ok(Features::Sparse(tf_idf.rows(&split.texts)?)),
            Self::Vectors { width } => Ok(vectors(split, *width)?.clone()),
            Self::Kernels { weights, anchors } => {
                let values = vectors(split, weights.len() * anchors)?;
                let row = |row: usize| {
                    let all = values.dense_row(row);
                    let value = |at: usize| -> f64 {
                        let own = all[at..].iter().step_by(*anchors).zip(weights);
                        own.map(|(&value, weight)| weight * f64::from(value)).sum()
                    };
                    (0..*anchors).map(|at| value(at) as f32).collect::<Vec<f32>>()
                };
                let rows: Vec<Vec<f32>> = (0..values.len()).into_par_iter().map(row).collect();
                Ok(Features::Dense(DenseRows::new(*anchors, rows.concat())?))
            }
            Self::Tokens(_) | Self::Pretrained(_) => Err(Error::Value {
                key: "encoder.kind".into(),
                found: "one of tokens".into(),
                allowed: "one of n-grams or vectors".into(),
            }),
        }
    }

    fn ngrams(blocks: &[NgramConfig], train: &Split) -> Result<Self, Error> {
        let texts = train.texts.iter().map(String::as_str);
        Ok(Self::Ngrams(TfIdf::fit(blocks, texts).map_err(dsokr_nn::Error::from)?))
    }

    fn read_ngrams(folder: &Path) -> Result<Self, Error> {
        let read = TfIdf::read(&folder.join(NGRAMS));
        Ok(Self::Ngrams(read.map_err(dsokr_nn::Error::from)?))
    }

    fn vectors(train: &Split) -> Result<Self, Error> {
        let rows = train.vectors.as_ref().ok_or(Error::ReadsVectors)?;
        Ok(Self::Vectors { width: rows.width() })
    }
}

/// What a run keeps of combined kernels.
#[derive(serde::Deserialize)]
struct StoredKernels {
    weights: Vec<f64>,
    training: usize,
}

/// The Gram matrix of a kernel of the n training inputs, of several whose values stand side by side.
pub(crate) fn square(values: &Features, kernel: usize, n: usize) -> Mat<f64> {
    let rows: Vec<Vec<f32>> = (0..n).map(|row| values.dense_row(row)).collect();
    Mat::from_fn(n, n, |i, j| f64::from(rows[i][kernel * n + j]))
}

/// The vectors of a split, a row for each pair.
fn vectors(split: &Split, width: usize) -> Result<&Features, Error> {
    let rows = split.vectors.as_ref().ok_or(Error::ReadsVectors)?;
    if rows.width() != width {
        let (found, expected) = (rows.width(), width);
        return Err(dsokr_basis::Error::WidthMismatch { found, expected }.into());
    }
    if rows.len() != split.ids.len() {
        return Err(Error::ReadsVectors);
    }
    Ok(rows)
}

/// Whether nothing of a text was known.
fn is_empty(input: &BuiltInInput, special: usize) -> bool {
    match input {
        BuiltInInput::Ngrams(row) => row.indices.is_empty(),
        BuiltInInput::Dense(row) => row.is_empty(),
        BuiltInInput::Tokens(ids) => ids.len() <= special,
    }
}

fn tokens(config: &TransformerConfig) -> TokenInputsConfig {
    let TransformerConfig { tokens, max_length, .. } = config;
    TokenInputsConfig { tokens: tokens.clone(), max_length: *max_length }
}

fn read_width(path: &Path) -> Result<usize, Error> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::reading(path, &e))?;
    let message = || format!("{text:?} is no width of vectors");
    text.trim().parse().map_err(|_| Error::Run { path: path.into(), message: message() })
}
