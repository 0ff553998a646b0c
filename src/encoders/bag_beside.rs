use std::collections::BTreeMap;
use std::path::Path;

use dsokr_nn::bag::SparseRow;
use dsokr_nn::{BagBeside, NgramBagConfig, PartSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sizes;
use crate::inputs::NgramInputs;
use crate::{Error, Prepare, Recipe, Start};
use dsokr_data::Split;

/// A bag of n-grams and a transformer that read the same text and are trained together; their coordinates are
/// added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BagBesideConfig<R> {
    /// The bag, with the keys of the kind `ngram-bag`.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    bag: NgramBagConfig,
    /// The transformer, with the keys of the kind `transformer` or `pretrained`.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    transformer: R,
}

/// The preparations of a bag and of a transformer.
pub(crate) struct BothInputs<P>(NgramInputs, P);

/// The tables of the two in the table `[encoder]`.
const BAG: &str = "bag";
const TRANSFORMER: &str = "transformer";

impl<P: Prepare> Prepare for BothInputs<P> {
    type Settings = (<NgramInputs as Prepare>::Settings, P::Settings);
    type Input = (SparseRow, P::Input);

    fn fit((bag, transformer): &Self::Settings, train: &Split) -> Result<Self, Error> {
        Ok(Self(
            NgramInputs::fit(bag, train).map_err(inside(BAG))?,
            P::fit(transformer, train).map_err(inside(TRANSFORMER))?,
        ))
    }

    fn inputs(&self, split: &Split) -> Result<Vec<Self::Input>, Error> {
        Ok(self.0.inputs(split)?.into_iter().zip(self.1.inputs(split)?).collect())
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok([self.0.files()?, self.1.files()?].concat())
    }

    fn load((bag, transformer): &Self::Settings, folder: &Path) -> Result<Self, Error> {
        Ok(Self(NgramInputs::load(bag, folder)?, P::load(transformer, folder)?))
    }
}

impl<R: Recipe> Recipe for BagBesideConfig<R>
where
    <R::Preparation as Prepare>::Input: Clone,
{
    type Preparation = BothInputs<R::Preparation>;
    type Encoder = BagBeside<R::Encoder>;

    fn validate(&self) -> Result<(), Error> {
        Recipe::validate(&self.bag).map_err(inside(BAG))?;
        Recipe::validate(&self.transformer).map_err(inside(TRANSFORMER))
    }

    fn preparation(&self) -> <Self::Preparation as Prepare>::Settings {
        (Recipe::preparation(&self.bag), self.transformer.preparation())
    }

    fn size(
        &self,
        both: &Self::Preparation,
        inputs: &[<Self::Preparation as Prepare>::Input],
        coordinates: usize,
    ) -> Vec<PartSize> {
        let bag = sizes(inputs.iter().map(|(row, _)| row.indices.len()), |length| {
            self.bag.size(both.0.width(), length, coordinates)
        });
        let texts: Vec<_> = inputs.iter().map(|(_, text)| text.clone()).collect();
        let transformer = Recipe::size(&self.transformer, &both.1, &texts, coordinates);
        let transformer = transformer.into_iter().map(|part| part.inside(TRANSFORMER));
        bag.into_iter().map(|part| part.inside(BAG)).chain(transformer).collect()
    }

    fn encoder(&self, both: &Self::Preparation, start: Start) -> Result<Self::Encoder, Error> {
        self.make(both, start, Recipe::encoder)
    }

    fn uninitialised(
        &self,
        both: &Self::Preparation,
        start: Start,
    ) -> Result<Self::Encoder, Error> {
        self.make(both, start, Recipe::uninitialised)
    }

    fn recomputes(&self) -> bool {
        self.transformer.recomputes()
    }
}

impl<R: Recipe> BagBesideConfig<R> {
    /// The offset is that of the bag; the transformer starts around zero.
    fn make(
        &self,
        both: &BothInputs<R::Preparation>,
        Start { offset, random, device }: Start,
        of: impl FnOnce(&R, &R::Preparation, Start) -> Result<R::Encoder, Error>,
    ) -> Result<BagBeside<R::Encoder>, Error> {
        let bag = self.bag.init(both.0.width(), offset, random, device);
        let start = Start { offset: &vec![0.0; offset.len()], random, device };
        let beside = of(&self.transformer, &both.1, start).map_err(inside(TRANSFORMER))?;
        Ok(BagBeside { bag, beside })
    }
}

/// Gives the key of a setting its place in the table `part`.
fn inside(part: &'static str) -> impl Fn(Error) -> Error {
    move |error| match error {
        Error::Value { key, found, allowed } => {
            let own = key.strip_prefix("encoder.").unwrap_or(&key);
            Error::Value { key: format!("encoder.{part}.{own}"), found, allowed }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use dsokr_data::Inputs;
    use dsokr_nn::TransformerConfig;

    use super::*;
    use crate::contract;

    const SETTINGS: &str = "
bag = { ngrams = [{ kind = 'words', min = 1, max = 1, min_texts = 1 }], hidden = [] }
transformer = { width = 8, heads = 2, feed_forward = 16, max_length = 12 }";

    fn read(text: &str) -> BagBesideConfig<TransformerConfig> {
        toml::from_str(text).unwrap()
    }

    fn train() -> Split {
        let texts = ["the molecule is a methyl ester", "a long chain fatty acid", "an amine", "no"];
        let texts: Vec<String> = texts.map(String::from).into();
        Split::new(texts.clone(), Inputs::Texts(texts), vec![None; 4])
    }

    #[test]
    fn the_recipe_keeps_the_contract() {
        contract::check(&read(SETTINGS), &train()).unwrap();
    }

    #[test]
    fn sizes_and_settings_are_those_of_the_two() {
        let recipe = read(SETTINGS);
        let both = BothInputs::fit(&recipe.preparation(), &train()).unwrap();
        let inputs = both.inputs(&train()).unwrap();
        let parts = Recipe::size(&recipe, &both, &inputs, 5);
        let keys: Vec<&str> = parts.iter().map(|part| &*part.keys).collect();
        assert_eq!(keys[0], "bag.ngrams");
        assert!(keys.contains(&"transformer.layers × transformer.width"), "{keys:?}");
        for (from, to, key) in [
            ("hidden = []", "hidden = [], ngram_dropout = 1.0", "encoder.bag.ngram_dropout"),
            ("heads = 2", "heads = 3", "encoder.transformer.heads"),
        ] {
            let error = Recipe::validate(&read(&SETTINGS.replace(from, to))).unwrap_err();
            assert!(error.to_string().contains(key), "{error}");
        }
    }
}
