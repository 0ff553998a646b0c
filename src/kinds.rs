//! The learners that the kinds of an `[encoder]` table stand for.

use std::any::Any;
use std::sync::{PoisonError, RwLock};

use dsokr_nn::pretrained::PretrainedConfig;
use dsokr_nn::{MlpConfig, NgramBagConfig, TransformerConfig};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::{self, EncoderTable, KernelMachineConfig};
use crate::encoders::BagBesideConfig;
use crate::{Error, Learner};

/// The settings of one kind as a learner; none for settings of a different type.
type AsLearner = fn(&dyn Any) -> Option<&dyn Learner>;

/// A static, because a constant would be compiled, with all that these types do, in every program that
/// registers a kind.
static BUILT_IN: [AsLearner; 7] = [
    as_learner::<NgramBagConfig>,
    as_learner::<MlpConfig>,
    as_learner::<TransformerConfig>,
    as_learner::<PretrainedConfig>,
    as_learner::<BagBesideConfig<TransformerConfig>>,
    as_learner::<BagBesideConfig<PretrainedConfig>>,
    as_learner::<KernelMachineConfig>,
];

/// Those that the program has registered.
static REGISTERED: RwLock<Vec<AsLearner>> = RwLock::new(Vec::new());

fn as_learner<T: Learner>(settings: &dyn Any) -> Option<&dyn Learner> {
    settings.downcast_ref::<T>().map(|learner| learner as &dyn Learner)
}

/// Makes `kind = "name"` of an `[encoder]` table stand for the learner `T`, for this program. The
/// other keys of the table are `T`'s own.
///
/// # Errors
/// [`Error::Value`] for the name of a different learner.
pub fn register<T>(name: &'static str) -> Result<(), Error>
where
    T: Learner + Serialize + DeserializeOwned + 'static,
{
    config::register::<T>(name)?;
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(as_learner::<T>);
    Ok(())
}

impl EncoderTable {
    /// The learner that these are the settings of.
    ///
    /// # Errors
    /// [`Error::Contract`] for settings of a type that is not [`register`]ed.
    pub(crate) fn learner(&self) -> Result<&dyn Learner, Error> {
        let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
        let found = BUILT_IN.iter().chain(registered.iter()).find_map(|kind| kind(self.settings()));
        found
            .ok_or_else(|| Error::Contract(format!("the kind {:?} is not registered", self.kind())))
    }
}
