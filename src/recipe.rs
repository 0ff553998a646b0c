use std::fmt::Debug;
use std::path::Path;

use burn::tensor::Device;
use dsokr_basis::random::Generator;
use dsokr_nn::Encoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use dsokr_data::Split;

/// How texts or vectors become an encoder's inputs, fitted on the training split: a tokenizer, say.
///
/// [`TokenInputs`](crate::TokenInputs) serves any encoder of tokens.
pub trait Prepare: Sized + Send + Sync {
    /// The settings of the fit.
    type Settings;

    /// What it makes of one text or vector.
    type Input: Send + Sync;

    /// Fits it on the training split.
    ///
    /// # Errors
    /// Settings out of range; a split that nothing can be learnt from.
    fn fit(settings: &Self::Settings, train: &Split) -> Result<Self, Error>;

    /// The inputs of a split, one for each of its ids.
    ///
    /// # Errors
    /// Texts or vectors that cannot be prepared.
    fn inputs(&self, split: &Split) -> Result<Vec<Self::Input>, Error>;

    /// Name and text of each file in which a run directory keeps it.
    ///
    /// # Errors
    /// What cannot be written.
    fn files(&self) -> Result<Vec<(&'static str, String)>, Error>;

    /// Reads from `folder` what [`files`](Self::files) has put there.
    ///
    /// # Errors
    /// A file that is missing or damaged.
    fn load(settings: &Self::Settings, folder: &Path) -> Result<Self, Error>;
}

/// A neural encoder's settings, how texts or vectors become its inputs, and how it is made.
///
/// Each recipe is a [`Learner`](crate::Learner). The built-in encoders have recipes in
/// [`encoders`](crate::encoders), and a custom one becomes the `[encoder]` table of a configuration with
/// [`register`](crate::register). `examples/custom_encoder.rs` is a whole program;
/// [`contract::check`](crate::contract::check) says whether a recipe and its encoder keep what is
/// promised here.
pub trait Recipe:
    Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// What makes the inputs.
    type Preparation: Prepare + 'static;

    /// What is trained on them.
    type Encoder: Encoder<Input = <Self::Preparation as Prepare>::Input> + Sync + 'static;

    /// Checks the settings. The default accepts all that the type can hold.
    ///
    /// # Errors
    /// The first value out of range, best as [`Error::Value`].
    fn validate(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether the encoder reads the vectors of `data.inputs` in place of texts (default: false).
    fn reads_vectors(&self) -> bool {
        false
    }

    /// The settings of the preparation.
    fn preparation(&self) -> <Self::Preparation as Prepare>::Settings;

    /// Makes an encoder with as many coordinates as `start.offset` has.
    ///
    /// # Errors
    /// Settings that do not fit the preparation.
    fn encoder(
        &self,
        preparation: &Self::Preparation,
        start: Start,
    ) -> Result<Self::Encoder, Error>;

    /// Makes an encoder whose parameters will be replaced by those of a run. The default makes a new
    /// one; a recipe that reads weights to start from need not read them here.
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

    /// Whether a device other than the CPU engine is to recompute activations in the backward pass
    /// (default: false).
    fn recomputes(&self) -> bool {
        false
    }

    /// Writes a trained encoder as other programs read it.
    ///
    /// # Errors
    /// [`Error::NotPretrained`] by default.
    fn export(
        &self,
        preparation: &Self::Preparation,
        encoder: &Self::Encoder,
        folder: &Path,
    ) -> Result<(), Error> {
        let _ = (preparation, encoder, folder);
        Err(Error::NotPretrained)
    }
}

/// What an encoder starts from.
pub struct Start<'a> {
    /// The mean of the targets, p numbers: as the last layer's bias
    /// ([`init::head`](dsokr_nn::init::head)) it spares training the search for it.
    pub offset: &'a [f32],
    /// All parameters are drawn from this generator, so that a seed stands for a model.
    pub random: &'a mut Generator,
    /// Where the parameters are.
    pub device: &'a Device,
}
