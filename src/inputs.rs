//! What a recipe is, and preparations of texts and vectors that any can use.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use dsokr_basis::features::{NgramConfig, SparseRows, TfIdf};
use dsokr_basis::store::read_text;
use dsokr_basis::{Features, RowSource};
use dsokr_data::Split;
use dsokr_nn::bag::SparseRow;
use dsokr_nn::pretrained::{Pretrained, PretrainedConfig, Tokenizer};
use dsokr_nn::transformer::TokensConfig;
use dsokr_nn::{Encoder, PartSize, Start, TokenIds, TokenIdsBuilder};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::ensure;

/// The preparation of texts or vectors as inputs of an encoder, fitted on the training split: for
/// example a tokenizer.
///
/// [`TokenInputs`] serves any encoder of tokens.
pub trait Prepare: Sized + Send + Sync {
    /// The settings of the fit.
    type Settings;

    /// The prepared form of one text or vector.
    type Input: Send + Sync;

    /// Fits it on the training split.
    ///
    /// # Errors
    /// Settings out of range; a split from which nothing can be learned.
    fn fit(settings: &Self::Settings, train: &Split) -> Result<Self, Error>;

    /// The inputs of a split, one for each of its ids.
    ///
    /// # Errors
    /// Texts or vectors that cannot be prepared.
    fn inputs(&self, split: &Split) -> Result<Vec<Self::Input>, Error>;

    /// Name and text of each file in which a run directory keeps it.
    ///
    /// # Errors
    /// A value that cannot be written.
    fn files(&self) -> Result<Vec<(&'static str, String)>, Error>;

    /// Reads the files of [`files`](Self::files) from `folder`.
    ///
    /// # Errors
    /// A file that is missing or damaged.
    fn load(settings: &Self::Settings, folder: &Path) -> Result<Self, Error>;
}

/// A neural encoder's settings, how texts or vectors become its inputs, and how it is made.
///
/// Each recipe is a [`Learner`](crate::Learner). The built-in encoders have recipes in
/// `src/encoders`, and a custom one becomes the `[encoder]` table of a configuration with
/// [`register`](crate::register). `examples/custom_encoder.rs` is a complete program.
/// [`contract::check`](crate::contract::check) checks that a recipe and its encoder satisfy the
/// contract of this trait.
pub trait Recipe:
    Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The preparation of inputs.
    type Preparation: Prepare + 'static;

    /// The encoder that is trained on them.
    type Encoder: Encoder<Input = <Self::Preparation as Prepare>::Input> + Sync + 'static;

    /// Checks the settings. The default accepts every value of the type.
    ///
    /// # Errors
    /// The first value out of range, preferably as [`dsokr_basis::Error::Value`].
    fn validate(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether the encoder reads feature vectors instead of texts (default: false).
    fn reads_vectors(&self) -> bool {
        false
    }

    /// Whether the texts that the encoder reads must be [mass spectra](dsokr_data::spectra::Spectrum)
    /// (default: false).
    fn reads_spectra(&self) -> bool {
        false
    }

    /// The settings of the preparation.
    fn preparation(&self) -> <Self::Preparation as Prepare>::Settings;

    /// The parts of an encoder with `coordinates` coordinates that is trained on `inputs`, with keys of
    /// the `[encoder]` table: a training is refused before it takes more memory than there is (default:
    /// none, which refuses nothing).
    fn size(
        &self,
        preparation: &Self::Preparation,
        inputs: &[<Self::Preparation as Prepare>::Input],
        coordinates: usize,
    ) -> Vec<PartSize> {
        let _ = (preparation, inputs, coordinates);
        Vec::new()
    }

    /// Makes an encoder with as many coordinates as `start.offset` has.
    ///
    /// # Errors
    /// Settings that are not compatible with the preparation.
    fn encoder(
        &self,
        preparation: &Self::Preparation,
        start: Start,
    ) -> Result<Self::Encoder, Error>;

    /// Makes an encoder whose parameters will be replaced by those of a run. The default is
    /// [`encoder`](Self::encoder); a recipe with initial weights from a file need not read them
    /// here.
    ///
    /// # Errors
    /// As [`encoder`](Self::encoder).
    fn uninitialised(
        &self,
        preparation: &Self::Preparation,
        start: Start,
    ) -> Result<Self::Encoder, Error> {
        self.encoder(preparation, start)
    }

    /// Exports a trained encoder for other programs; `unit_length` says whether the run scales its
    /// coordinates to unit length.
    ///
    /// # Errors
    /// [`Error::NotPretrained`] by default.
    fn export(
        &self,
        preparation: &Self::Preparation,
        encoder: &Self::Encoder,
        folder: &Path,
        unit_length: bool,
    ) -> Result<(), Error> {
        let _ = (preparation, encoder, folder, unit_length);
        Err(Error::NotPretrained)
    }
}

/// The parts of an encoder of texts with these lengths, of which `of` says the parts for one length: memory must
/// suffice for the longest text, and the mean determines the time.
pub(crate) fn sizes(
    lengths: impl ExactSizeIterator<Item = usize>,
    of: impl Fn(f64) -> Vec<PartSize>,
) -> Vec<PartSize> {
    let count = lengths.len().max(1) as f64;
    let (sum, longest) =
        lengths.fold((0.0, 0), |(sum, longest), length| (sum + length as f64, length.max(longest)));
    let parts = of(longest as f64).into_iter().zip(of(sum / count));
    parts.map(|(part, usual)| PartSize { products: usual.products, ..part }).collect()
}

/// Logs the number of texts without known tokens.
fn warn_unknown(unknown: usize, texts: usize) {
    if unknown > 0 {
        tracing::warn!(unknown, texts, "texts without known tokens share one prediction");
    }
}

const NGRAMS: &str = "ngrams.json";

/// TF-IDF weights of the n-grams of the training texts.
pub struct NgramInputs(TfIdf);

impl NgramInputs {
    /// Number of n-grams.
    pub fn width(&self) -> usize {
        self.0.width()
    }

    /// Reads what [`files`](Prepare::files) gave; errors call it `path`.
    pub(crate) fn read(text: &str, path: &Path) -> Result<Self, Error> {
        Ok(Self(TfIdf::from_json(text, path).map_err(dsokr_nn::Error::from)?))
    }

    /// The texts of a split as rows that kernels compare.
    ///
    /// # Errors
    /// Texts with more n-grams than rows can hold.
    pub fn rows(&self, split: &Split) -> Result<SparseRows, Error> {
        Ok(self.0.rows(split.inputs.texts()?)?)
    }
}

impl Prepare for NgramInputs {
    type Settings = Vec<NgramConfig>;
    type Input = SparseRow;

    fn fit(blocks: &Vec<NgramConfig>, train: &Split) -> Result<Self, Error> {
        let texts = train.inputs.texts()?.iter().map(String::as_str);
        Ok(Self(TfIdf::fit(blocks, texts).map_err(dsokr_nn::Error::from)?))
    }

    fn inputs(&self, split: &Split) -> Result<Vec<SparseRow>, Error> {
        let texts = split.inputs.texts()?.par_iter();
        let rows: Vec<SparseRow> = texts.map(|text| self.0.transform(text)).collect();
        warn_unknown(rows.iter().filter(|row| row.is_empty()).count(), rows.len());
        Ok(rows)
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(vec![(NGRAMS, self.0.to_json())])
    }

    fn load(_: &Vec<NgramConfig>, folder: &Path) -> Result<Self, Error> {
        Ok(Self(TfIdf::read(&folder.join(NGRAMS)).map_err(dsokr_nn::Error::from)?))
    }
}

/// The tokenizer and the sizes of a pretrained encoder, and its maximal length of texts.
#[derive(Clone, Debug)]
pub struct PretrainedInputs {
    model: Pretrained,
    max_length: usize,
}

impl PretrainedInputs {
    /// The encoder's folder.
    pub fn model(&self) -> &Pretrained {
        &self.model
    }
}

/// The folder of an encoder, which `hub:NAME` has in the cache of the hub.
pub(crate) fn pretrained_folder(config: &PretrainedConfig) -> Result<PathBuf, Error> {
    match config.folder.strip_prefix("hub:") {
        None => Ok(PathBuf::from(&config.folder)),
        #[cfg(feature = "fetch")]
        Some(name) => crate::fetch::hub::folder(name, &crate::fetch::Network::default()),
        #[cfg(not(feature = "fetch"))]
        Some(_) => {
            let allowed = "a folder: this program was built without the feature \"fetch\"";
            Err(Error::value("encoder.folder", format!("{:?}", config.folder), allowed))
        }
    }
}

impl Prepare for PretrainedInputs {
    type Settings = PretrainedConfig;
    type Input = TokenIds;

    /// Nothing is learned from the texts.
    fn fit(config: &PretrainedConfig, _: &Split) -> Result<Self, Error> {
        let model = Pretrained::open(&pretrained_folder(config)?)?;
        config.check(&model)?;
        Ok(Self { model, max_length: config.max_length })
    }

    fn inputs(&self, split: &Split) -> Result<Vec<TokenIds>, Error> {
        tokenise(split, &self.model.tokenizer, self.max_length)
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(self.model.files())
    }

    fn load(config: &PretrainedConfig, folder: &Path) -> Result<Self, Error> {
        let model = Pretrained::open_without_weights(folder)?;
        config.check(&model)?;
        Ok(Self { model, max_length: config.max_length })
    }
}

/// How texts become token ids, for any encoder that reads them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TokenInputsConfig {
    /// The tokenizer, trained on the training texts.
    pub tokens: TokensConfig,
    /// Longest text in tokens; the rest is cut off and the number of cut texts reported.
    pub max_length: usize,
}

impl Default for TokenInputsConfig {
    fn default() -> Self {
        Self { tokens: TokensConfig::default(), max_length: 128 }
    }
}

const TOKENIZER: &str = "tokenizer.json";

/// A tokenizer trained on the training texts, and the maximal length of texts.
#[derive(Clone, Debug)]
pub struct TokenInputs {
    tokens: Tokenizer,
    max_length: usize,
}

impl TokenInputs {
    /// Number of tokens, special ones included: every id is below it.
    pub fn vocabulary(&self) -> usize {
        self.tokens.vocabulary()
    }
}

impl Prepare for TokenInputs {
    type Settings = TokenInputsConfig;
    type Input = TokenIds;

    fn fit(config: &TokenInputsConfig, train: &Split) -> Result<Self, Error> {
        check(config)?;
        let texts = train.inputs.texts()?.iter().map(String::as_str);
        Ok(Self { tokens: Tokenizer::fit(&config.tokens, texts)?, max_length: config.max_length })
    }

    fn inputs(&self, split: &Split) -> Result<Vec<TokenIds>, Error> {
        tokenise(split, &self.tokens, self.max_length)
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(vec![(TOKENIZER, self.tokens.json.clone())])
    }

    fn load(config: &TokenInputsConfig, folder: &Path) -> Result<Self, Error> {
        check(config)?;
        let tokens = Tokenizer::read_trained(&folder.join(TOKENIZER))?;
        Ok(Self { tokens, max_length: config.max_length })
    }
}

/// Number of texts that are tokenised at a time.
const AT_ONCE: usize = 4096;

/// The ids of a split's texts. The number of texts that were truncated is logged, and that of texts with no more than
/// the special tokens.
fn tokenise(
    split: &Split,
    tokenizer: &Tokenizer,
    max_length: usize,
) -> Result<Vec<TokenIds>, Error> {
    let texts = split.inputs.texts()?;
    let (mut all, mut cut, mut unknown) = (TokenIdsBuilder::default(), 0, 0);
    for some in texts.chunks(AT_ONCE) {
        let encode = |text: &String| tokenizer.encode(text, max_length);
        let encoded: Vec<_> = some.par_iter().map(encode).collect::<Result<_, _>>()?;
        for (ids, shorter) in encoded {
            all.push(&ids).map_err(Error::io(&std::env::temp_dir()))?;
            cut += usize::from(shorter);
            unknown += usize::from(ids.len() <= tokenizer.special_tokens);
        }
    }
    if cut > 0 {
        let texts = texts.len();
        tracing::warn!(cut, texts, "texts longer than max_length were cut");
    }
    warn_unknown(unknown, texts.len());
    all.finish().map_err(Error::io(&std::env::temp_dir()))
}

fn check(config: &TokenInputsConfig) -> Result<(), Error> {
    config.tokens.validate()?;
    ensure(config.max_length > 0, "encoder.max_length", 0, "at least 1")
}

const VECTORS: &str = "vectors.json";

/// Vectors without preparation, all of one width.
pub struct VectorInputs {
    width: usize,
}

impl VectorInputs {
    /// Number of coordinates of a vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The vectors of a split, a row for each pair.
    ///
    /// # Errors
    /// A split without vectors, or with vectors of a different width.
    pub fn rows<'s>(&self, split: &'s Split) -> Result<&'s Features, Error> {
        let rows = split.inputs.vectors()?;
        if rows.width() != self.width {
            let (found, expected) = (rows.width(), self.width);
            return Err(dsokr_basis::Error::width(found, expected).into());
        }
        Ok(rows)
    }
}

impl Prepare for VectorInputs {
    type Settings = ();
    type Input = Vec<f32>;

    fn fit((): &(), train: &Split) -> Result<Self, Error> {
        Ok(Self { width: train.inputs.vectors()?.width() })
    }

    fn inputs(&self, split: &Split) -> Result<Vec<Vec<f32>>, Error> {
        let rows = self.rows(split)?;
        Ok((0..rows.len()).map(|row| rows.dense_row(row)).collect())
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(vec![(VECTORS, self.width.to_string())])
    }

    fn load((): &(), folder: &Path) -> Result<Self, Error> {
        let path = folder.join(VECTORS);
        let text = read_text(&path).map_err(Error::reading(&path))?;
        let wrong = |_| Error::run(&path, format_args!("{text:?} is not a width of vectors"));
        Ok(Self { width: text.trim().parse().map_err(wrong)? })
    }
}
