//! A kernel machine's files.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::Basis;
use dsokr_basis::store::Stored;
use dsokr_machines::ridge::OutputSpace;

use super::prepared::check_preparation;
use super::{Answers, BASIS, Machine, Prepared};
use crate::config::RidgeConfig;
use crate::scores::Origin;
use crate::trainer::check_basis;
use crate::{Error, Preparation};

/// The fitted model: in closed form, or under a Lipschitz loss.
const RIDGE: &str = "ridge.safetensors";
const LIPSCHITZ: &str = "machine.safetensors";

/// The basis of the inputs, of a machine under a Lipschitz loss.
const INPUTS: &str = "inputs.safetensors";

/// The coordinates that it answers in.
pub(crate) const OUTPUTS: &str = "outputs.safetensors";

/// Reads the machine of the run whose candidates are given.
pub(crate) fn open(
    path: &Path,
    settings: &RidgeConfig,
    candidates: &Stored,
) -> Result<Machine, Error> {
    let lipschitz = settings.loss.is_some();
    let file = path.join(if lipschitz { LIPSCHITZ } else { RIDGE });
    if !file.exists() {
        let message = "no model has been fitted yet: fit it with --resume";
        return Err(Error::Run { path: file, message: message.into() });
    }
    let preparation = Preparation::load_of_ridge(settings, path)?;
    let stored = match lipschitz {
        true => dsokr_machines::Machine::open(&file)?,
        false => dsokr_machines::ridge::Model::open(&file)?,
    };
    check_basis(&stored, candidates.metadata("basis")?)?;
    check_preparation(&stored, &Prepared::of(&preparation)?.fingerprint())?;
    let model = match lipschitz {
        true => {
            let inputs = Basis::load(&path.join(INPUTS))?;
            Answers::Lipschitz(dsokr_machines::Machine::from_stored(&stored, inputs)?)
        }
        false => Answers::Ridge(dsokr_machines::ridge::Model::from_stored(&stored)?),
    };
    let file = path.join(OUTPUTS);
    let origin = match path.join(BASIS).exists() {
        true => origin(&OutputSpace::load(&file, Some(Basis::load(&path.join(BASIS))?))?),
        false => Origin::Unknown,
    };
    Ok(Machine { preparation, model, origin })
}

/// From where the candidates of a space count.
pub(crate) fn origin(space: &OutputSpace) -> Origin {
    match space.as_basis() {
        Some(_) => Origin::At(space.centre().to_vec()),
        None => Origin::Unknown,
    }
}

/// Writes a fitted model into the run at `path`, whose coordinates have the fingerprint `space`.
pub(crate) fn save(
    path: &Path,
    space: &str,
    preparation: &Prepared,
    model: &Answers,
) -> Result<(), Error> {
    let belongs = BTreeMap::from([
        ("basis".to_string(), space.to_string()),
        ("preparation".to_string(), preparation.fingerprint()),
    ]);
    match model {
        Answers::Ridge(model) => Ok(model.save(&path.join(RIDGE), &belongs)?),
        Answers::Lipschitz(machine) => {
            machine.basis().save(&path.join(INPUTS))?;
            Ok(machine.save(&path.join(LIPSCHITZ), &belongs)?)
        }
    }
}
