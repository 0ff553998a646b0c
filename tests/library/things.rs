//! Pairs in memory: texts about things with a colour and a form, and these as label sets.

use dsokr::basis::Kernel;
use dsokr::config::KernelConfig;
use dsokr::data::config::{LabelFeatures, OutputFeatures};
use dsokr::{Config, EncoderTable, Error};

/// Returns so many texts, each made of the number, the colour and the form of a thing, and the label sets.
pub fn things(
    count: usize,
    text: impl Fn(usize, &str, &str) -> String,
) -> (Vec<String>, Vec<String>) {
    let names = ["red", "green", "blue", "round", "flat", "long"];
    let mut texts = Vec::new();
    let mut sets = Vec::new();
    for thing in 0..count {
        let colour = names[thing % 3];
        let form = names[3 + thing / 3 % 3];
        texts.push(text(thing, colour, form));
        sets.push(format!("{colour},{form}"));
    }
    (texts, sets)
}

/// Returns the configuration of an encoder that learns the label sets of texts.
pub fn labelled(
    texts: Vec<String>,
    sets: Vec<String>,
    encoder: EncoderTable,
) -> Result<Config, Error> {
    let features =
        OutputFeatures::Labels(LabelFeatures { column: "labels".into(), separator: ',' });
    let kernel = KernelConfig::from(Kernel::Tanimoto);
    Config::in_memory(texts, sets, features, kernel, encoder)
}
