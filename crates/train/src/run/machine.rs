//! A kernel machine's files.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::Basis;
use dsokr_basis::store::Stored;
use dsokr_ridge::OutputSpace;

use super::prepared::check_preparation;
use super::{Machine, Prepared};
use crate::config::RidgeConfig;
use crate::scores::Origin;
use crate::trainer::check_basis;
use crate::{Error, Preparation};

/// The fitted model.
const MODEL: &str = "ridge.safetensors";

/// The coordinates that it answers in.
pub(crate) const OUTPUTS: &str = "outputs.safetensors";

/// The basis, where outputs are sketched.
pub(crate) const BASIS: &str = "basis.safetensors";

/// Reads the machine of the run whose candidates are given.
pub(crate) fn open(
    path: &Path,
    settings: &RidgeConfig,
    candidates: &Stored,
) -> Result<Machine, Error> {
    let file = path.join(MODEL);
    if !file.exists() {
        let message = "no model has been fitted yet: fit it with --resume";
        return Err(Error::Run { path: file, message: message.into() });
    }
    let preparation = Preparation::load_of_ridge(settings, path)?;
    let stored = dsokr_ridge::Model::open(&file)?;
    check_basis(&stored, candidates.metadata("basis")?)?;
    check_preparation(&stored, &Prepared::of(&preparation)?.fingerprint())?;
    let model = dsokr_ridge::Model::from_stored(&stored)?;
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
    model: &dsokr_ridge::Model,
) -> Result<(), Error> {
    let belongs = BTreeMap::from([
        ("basis".to_string(), space.to_string()),
        ("preparation".to_string(), preparation.fingerprint()),
    ]);
    Ok(model.save(&path.join(MODEL), &belongs)?)
}
