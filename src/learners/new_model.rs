//! The model that the training of a neural encoder starts from.

use burn::tensor::Device;
use dsokr_core::random::generator;
use dsokr_nn::{Encoder, Model, Start, parameters};
use dsokr_train::TrainingConfig;

use crate::config::Checked;
use crate::encoders::inputs::Recipe;
use crate::error::{Error, ensure};

/// Returns a model with parameters drawn from the configuration's seed, and `offset` as its last bias; or one
/// whose parameters are about to be `restored`.
pub(super) fn new_model<R: Recipe>(
    recipe: &R,
    config: &Checked,
    preparation: &R::Preparation,
    offset: &[f32],
    device: &Device,
    restored: bool,
) -> Result<Model<R::Encoder>, Error> {
    let mut random = generator(config.seed, "parameters", 0);
    let start = Start { offset, random: &mut random, device };
    let encoder = if restored {
        recipe.uninitialised(preparation, start)?
    } else {
        recipe.encoder(preparation, start)?
    };
    let found = encoder.dimension();
    let expected = offset.len();
    if found != expected {
        let breach = format_args!("it has {found} coordinates, the basis {expected}");
        return Err(dsokr_core::Error::contract("encoder", breach).into());
    }
    let model = Model::new(encoder);
    Ok(match config.training.loss.temperature() {
        Some(temperature) => model.with_temperature(temperature, device),
        None => model,
    })
}

/// Refuses a group that holds no parameter, which is a spelling mistake, and rates that fall from layer to layer of a model
/// without layers.
pub(super) fn check_groups<E: Encoder>(config: &Checked, model: &Model<E>) -> Result<(), Error> {
    let names: Vec<String> = parameters::names(model);
    let layers = config.training.layer_decay;
    let has_layers = TrainingConfig::has_layers(&names);
    let allowed = "1, since this encoder has no numbered layers";
    ensure(layers == 1.0 || has_layers, "training.layer_decay", layers, allowed)?;
    config.training.groups.iter().try_for_each(|group| {
        let exists = names.iter().any(|name| group.holds(name));
        let key = "training.groups.parameters";
        let found = format_args!("{:?}", group.parameters);
        ensure(exists, key, found, format_args!("a part of one of {}", names.join(", ")))
    })
}
