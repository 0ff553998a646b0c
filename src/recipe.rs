use std::fmt::Debug;
use std::path::Path;

use dsokr_nn::{Encoder, PartSize, Start};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use dsokr_data::Split;

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
    /// The first value out of range, preferably as [`Error::Value`].
    fn validate(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether the encoder reads feature vectors instead of texts (default: false).
    fn reads_vectors(&self) -> bool {
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
