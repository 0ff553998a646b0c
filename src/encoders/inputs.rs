//! Recipes, and preparations of texts and vectors that any recipe can use.

use std::borrow::Cow;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use dsokr_basis::features::SparseRow;
use dsokr_basis::kernel::OutputKernel;
use dsokr_basis::{Features, Kernel, RowSource};
use dsokr_core::store::read_text;
use dsokr_data::featurizers::{NgramConfig, TfIdf};
use dsokr_data::{ReadTexts, Split};
use dsokr_nn::{Encoder, PartSize, Start};
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::encoders::WordsRead;
use crate::error::Error;

/// The preparation of texts or vectors as inputs of an encoder, fitted on the training split: for
/// example a tokenizer.
///
/// [`TokenInputs`](crate::TokenInputs) serves any encoder of tokens.
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

    /// Returns the inputs of a split, one for each of its ids.
    ///
    /// # Errors
    /// Texts or vectors that cannot be prepared.
    fn inputs(&self, split: &Split) -> Result<Vec<Self::Input>, Error>;

    /// Returns whether each text of a split has a part that the training texts have, or the vocabulary of a tokenizer, so that the
    /// encoder can tell something of it (default: empty, as every input has).
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    fn knows(&self, split: &Split) -> Result<Vec<bool>, Error> {
        let _ = split;
        Ok(Vec::new())
    }

    /// Returns the number of columns of the vectors that it prepares (default: none, for texts).
    fn vector_width(&self) -> Option<usize> {
        None
    }

    /// Returns the name and text of each file in which a run directory keeps it (default: none).
    ///
    /// # Errors
    /// A value that cannot be written.
    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(Vec::new())
    }

    /// Returns the name and text of each file by which other programs make the inputs of an exported encoder (default:
    /// [`files`](Self::files)).
    ///
    /// # Errors
    /// A value that cannot be written.
    fn input_files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        self.files()
    }

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
    /// The first value out of range, preferably as [`dsokr_core::Error::Value`].
    fn validate(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Returns whether the encoder reads feature vectors instead of texts (default: false).
    fn reads_vectors(&self) -> bool {
        false
    }

    /// Returns whether the texts that the encoder reads must be [mass spectra](dsokr_spectra::Spectrum)
    /// (default: false).
    fn reads_spectra(&self) -> bool {
        false
    }

    /// Returns whether these spectra must name the formula of their molecule (default: false).
    fn needs_formulas(&self) -> bool {
        false
    }

    /// Returns how far the encoder reads texts by their words (default: not at all).
    fn words_read(&self) -> WordsRead {
        WordsRead::None
    }

    /// Returns the settings of the preparation.
    fn preparation(&self) -> <Self::Preparation as Prepare>::Settings;

    /// Returns the parts of an encoder with `coordinates` coordinates that is trained on `inputs`, with keys of
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

    /// Returns the checksum of the weights of a file that [`encoder`](Self::encoder) starts from (default: none, since it starts
    /// from no file). A training is not resumed with others.
    ///
    /// # Errors
    /// A file that cannot be read.
    fn initial_weights(&self, preparation: &Self::Preparation) -> Result<Option<String>, Error> {
        let _ = preparation;
        Ok(None)
    }

    /// Exports a trained encoder as a pretrained folder (ONNX is [`Encoder::onnx`](dsokr_nn::Encoder::onnx)); `unit_length`
    /// says whether the run scales its coordinates to unit length.
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

/// A kind of inputs of kernel machines: what turns them into rows that one kernel compares.
pub trait PrepareRows: Send + Sync {
    /// Returns the name and text of the file that holds it (default: none, where the configuration says all of it).
    fn file(&self) -> Result<Option<(&'static str, String)>, Error> {
        Ok(None)
    }

    /// Returns the number of columns.
    fn width(&self) -> usize;

    /// Returns the inputs of a split, a row for each pair.
    ///
    /// # Errors
    /// Inputs that cannot be read, or have a different width; more columns than rows can hold.
    fn rows<'s>(&self, split: &'s Split) -> Result<Cow<'s, Features>, Error>;

    /// Returns the rows as [`rows`](Self::rows) does, where `texts` are the inputs of the split, of which some may have been
    /// read for other preparations (default: they are read anew).
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    fn rows_read<'s>(
        &self,
        split: &'s Split,
        texts: &mut ReadTexts,
    ) -> Result<Cow<'s, Features>, Error> {
        let _ = texts;
        self.rows(split)
    }

    /// Returns whether each input of a split has a part that the training inputs have (default: empty, as every input has).
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    fn knows(&self, split: &Split) -> Result<Vec<bool>, Error> {
        let _ = split;
        Ok(Vec::new())
    }

    /// Returns the kernel of the rows (default: the one of the configuration).
    fn kernel(&self, configured: &Kernel) -> Arc<dyn OutputKernel> {
        Arc::new(configured.clone())
    }
}

/// Returns the parts of an encoder of texts with these lengths; `parts` gives the parts for one length: memory must
/// suffice for the longest text, and the mean determines the time.
pub(crate) fn sizes(
    lengths: impl ExactSizeIterator<Item = usize>,
    parts: impl Fn(f64) -> Vec<PartSize>,
) -> Vec<PartSize> {
    let count = lengths.len().max(1) as f64;
    let (sum, longest) =
        lengths.fold((0.0, 0), |(sum, longest), length| (sum + length as f64, length.max(longest)));
    let pairs = parts(longest as f64).into_iter().zip(parts(sum / count));
    pairs.map(|(part, usual)| PartSize { products: usual.products, ..part }).collect()
}

/// Logs the number of texts without known tokens.
pub(crate) fn warn_unknown(unknown: usize, texts: usize) {
    if unknown > 0 {
        tracing::warn!(unknown, texts, "texts without known tokens share one prediction");
    }
}

/// TF-IDF weights of the n-grams of the training texts, each of which counts as often as the weight of its pair says, and
/// copies in a group as one text.
#[derive(derive_more::Debug)]
#[debug("NgramInputs({} n-grams)", _0.width())]
pub struct NgramInputs(TfIdf);

impl NgramInputs {
    pub(crate) const FILE: &str = "ngrams.json";

    /// Returns the number of n-grams.
    pub fn width(&self) -> usize {
        self.0.width()
    }

    /// Reads the text of the file; errors call it `path`.
    pub(crate) fn read(text: &str, path: &Path) -> Result<Self, Error> {
        Ok(Self(TfIdf::from_json(text, path).map_err(dsokr_nn::Error::from)?))
    }

    /// Returns whether each text of a split has an n-gram of the training texts.
    fn known(&self, split: &Split) -> Result<Vec<bool>, Error> {
        let texts = split.inputs.texts()?.par_iter();
        Ok(texts.map(|text| !self.0.transform(text).is_empty()).collect())
    }
}

impl PrepareRows for NgramInputs {
    fn file(&self) -> Result<Option<(&'static str, String)>, Error> {
        Ok(Some((Self::FILE, self.0.to_json())))
    }

    fn width(&self) -> usize {
        Self::width(self)
    }

    fn rows<'s>(&self, split: &'s Split) -> Result<Cow<'s, Features>, Error> {
        Ok(Cow::Owned(Features::Sparse(self.0.rows(split.inputs.texts()?)?)))
    }

    fn knows(&self, split: &Split) -> Result<Vec<bool>, Error> {
        self.known(split)
    }
}

impl Prepare for NgramInputs {
    type Settings = Vec<NgramConfig>;
    type Input = SparseRow;

    fn fit(blocks: &Vec<NgramConfig>, train: &Split) -> Result<Self, Error> {
        let (texts, weights) = train.counted_texts()?;
        let fitted = TfIdf::fit_weighted(blocks, texts.into_iter(), &weights);
        Ok(Self(fitted.map_err(dsokr_nn::Error::from)?))
    }

    fn inputs(&self, split: &Split) -> Result<Vec<SparseRow>, Error> {
        let texts = split.inputs.texts()?.par_iter();
        let rows: Vec<SparseRow> = texts.map(|text| self.0.transform(text)).collect();
        warn_unknown(rows.iter().filter(|row| row.is_empty()).count(), rows.len());
        Ok(rows)
    }

    fn knows(&self, split: &Split) -> Result<Vec<bool>, Error> {
        self.known(split)
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(self.file()?.into_iter().collect())
    }

    fn load(_: &Vec<NgramConfig>, folder: &Path) -> Result<Self, Error> {
        Ok(Self(TfIdf::read(&folder.join(Self::FILE)).map_err(dsokr_nn::Error::from)?))
    }
}

/// Reads the preparation that the file `name` of a folder holds.
pub(crate) fn read_prepared<T>(
    folder: &Path,
    name: &str,
    read: impl FnOnce(&str, &Path) -> Result<T, Error>,
) -> Result<T, Error> {
    let path = folder.join(name);
    let text = read_text(&path).map_err(Error::reading(&path))?;
    read(&text, &path)
}

/// Vectors without preparation, all of one width.
#[derive(Debug)]
pub struct VectorInputs {
    width: usize,
}

impl VectorInputs {
    pub(crate) const FILE: &str = "vectors.json";

    /// Returns the number of coordinates of a vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Reads the text of the file; errors call it `path`.
    pub(crate) fn read(text: &str, path: &Path) -> Result<Self, Error> {
        let wrong = |_| Error::run(path, format_args!("{text:?} is not a width of vectors"));
        Ok(Self { width: text.trim().parse().map_err(wrong)? })
    }
}

impl PrepareRows for VectorInputs {
    fn file(&self) -> Result<Option<(&'static str, String)>, Error> {
        Ok(Some((Self::FILE, self.width.to_string())))
    }

    fn width(&self) -> usize {
        Self::width(self)
    }

    fn rows<'s>(&self, split: &'s Split) -> Result<Cow<'s, Features>, Error> {
        let width = split.inputs.vector_width()?;
        if width != self.width {
            return Err(dsokr_core::Error::width(width, self.width).into());
        }
        Ok(split.inputs.vectors()?)
    }
}

impl Prepare for VectorInputs {
    type Settings = ();
    type Input = Vec<f32>;

    fn fit((): &(), train: &Split) -> Result<Self, Error> {
        Ok(Self { width: train.inputs.vector_width()? })
    }

    fn inputs(&self, split: &Split) -> Result<Vec<Vec<f32>>, Error> {
        let rows = self.rows(split)?;
        Ok((0..rows.len()).map(|row| rows.dense_row(row)).collect())
    }

    fn vector_width(&self) -> Option<usize> {
        Some(self.width)
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(self.file()?.into_iter().collect())
    }

    fn load((): &(), folder: &Path) -> Result<Self, Error> {
        read_prepared(folder, Self::FILE, Self::read)
    }
}
