//! The contract of every [`Recipe`], built-in or custom, as a check. The contract of the encoder
//! alone is [`dsokr_nn::contract`].

use burn::tensor::Device;
use dsokr_core::random::generator;
use dsokr_nn::{Encoder, Pass, contract, parameters};

use crate::encoders::inputs::{Prepare, Recipe};
use crate::error::Error;
use crate::run_dir::save_files;
use dsokr_data::Split;
use dsokr_nn::Start;

/// Number of inputs on which the encoder's contract is checked.
const INPUTS: usize = 8;

/// Number of coordinates of the encoder that is made.
const COORDINATES: usize = 5;

/// Checks a recipe, and the encoder that it makes, on a split of training pairs.
///
/// - The settings are valid, and are the same after they are written as TOML and read again.
/// - There is one input for each pair, and the encoder has as many coordinates as its offset.
/// - The same generator draws the same parameters.
/// - A preparation that is written and read again prepares the same inputs: the encoder answers them
///   with the same bits.
/// - The encoder keeps [`dsokr_nn::contract::check`], on eight inputs from the shortest to the
///   longest.
///
/// # Errors
/// [`dsokr_core::Error::Contract`] with the first breach; errors from the recipe.
pub fn check<R: Recipe>(recipe: &R, train: &Split) -> Result<(), Error> {
    let breach = |what: String| Err(dsokr_core::Error::contract("encoder", what).into());
    Recipe::validate(recipe)?;
    let text = toml::to_string(recipe)?;
    let again: R = toml::from_str(&text).map_err(|e| dsokr_core::Error::contract("encoder", e))?;
    if again != *recipe {
        return breach(format!("its settings come back from TOML as {again:?}"));
    }
    if train.ids.len() < 2 {
        return breach(format!("it needs two pairs to be checked on, not {}", train.ids.len()));
    }
    let settings = recipe.preparation();
    let preparation = R::Preparation::fit(&settings, train)?;
    let inputs = preparation.inputs(train)?;
    if inputs.len() != train.ids.len() {
        return breach(format!("{} inputs for {} pairs", inputs.len(), train.ids.len()));
    }
    let device = Device::flex().autodiff();
    let make = || {
        let random = &mut generator(1, "contract", 0);
        let start = Start { offset: &[0.25; COORDINATES], random, device: &device };
        recipe.encoder(&preparation, start)
    };
    let encoder = make()?;
    if encoder.dimension() != COORDINATES {
        return breach(format!(
            "it has {} coordinates, the basis {COORDINATES}",
            encoder.dimension()
        ));
    }
    let first = parameters::collect(&encoder);
    let second = parameters::collect(&make()?);
    let differs =
        first.iter().find(|(name, p)| second.get(*name).map(|q| &q.values) != Some(&p.values));
    if let Some((name, _)) = differs {
        return breach(format!("the same generator draws a different {name}"));
    }
    let some = spread(&encoder, inputs);
    contract::check(&encoder, &some)?;

    let folder = tempfile::tempdir().map_err(Error::io(&std::env::temp_dir()))?;
    save_files(folder.path(), &preparation.files()?)?;
    let read = R::Preparation::load(&settings, folder.path())?;
    let predictions = |inputs: &[<R::Encoder as Encoder>::Input]| {
        encoder.forward(&inputs.iter().collect::<Vec<_>>(), Pass::Evaluate).into_data()
    };
    let again = spread(&encoder, read.inputs(train)?);
    if again.len() != some.len() || predictions(&some) != predictions(&again) {
        return breach("a preparation that is read again prepares other inputs".into());
    }
    Ok(())
}

/// Returns some of the inputs, from the shortest to the longest.
fn spread<E: Encoder>(encoder: &E, inputs: Vec<E::Input>) -> Vec<E::Input> {
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    order.sort_by_key(|&i| encoder.length(&inputs[i]));
    let last = inputs.len().saturating_sub(1);
    let chosen: Vec<usize> = (0..INPUTS).map(|i| order[i * last / (INPUTS - 1)]).collect();
    let all = inputs.into_iter().enumerate();
    all.filter(|(i, _)| chosen.contains(i)).map(|(_, input)| input).collect()
}
