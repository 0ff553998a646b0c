//! The recipe of a bag of n-grams beside a transformer, trained together on the same texts.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::features::SparseRow;
use dsokr_core::Place;
use dsokr_data::Split;
use dsokr_nn::{BagBeside, PartSize, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::encoders::WordsRead;
use crate::encoders::inputs::{NgramInputs, Prepare, Recipe, sizes};
use crate::encoders::ngram_bag::NgramBagConfig;
use crate::error::Error;

/// A bag of n-grams and a transformer that read the same text and are trained together; their coordinates are
/// added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BagBesideConfig<R> {
    /// The bag, with the keys of the kind `ngram-bag`.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub bag: NgramBagConfig,
    /// The transformer, with the keys of the kind `transformer` or `pretrained`.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub transformer: R,
}

/// The preparations of a bag and of a transformer.
#[derive(Debug)]
pub struct BothInputs<P>(NgramInputs, P);

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

    fn knows(&self, split: &Split) -> Result<Vec<bool>, Error> {
        let bag = self.0.knows(split)?;
        let beside = self.1.knows(split)?;
        // as many as of the other, or none where every text says something to it
        Ok(beside.into_iter().zip(bag).map(|(beside, bag)| beside || bag).collect())
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok([self.0.files()?, self.1.files()?].concat())
    }

    fn input_files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok([self.0.input_files()?, self.1.input_files()?].concat())
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

    fn words_read(&self) -> WordsRead {
        WordsRead::of_parts([self.bag.words_read(), self.transformer.words_read()])
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
        let bag = sizes(inputs.iter().map(|(row, _)| row.len()), |length| {
            self.bag.bag_size(both.0.width(), length, coordinates)
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

    fn initial_weights(&self, both: &Self::Preparation) -> Result<Option<String>, Error> {
        self.transformer.initial_weights(&both.1)
    }
}

impl<R: Recipe> BagBesideConfig<R> {
    /// Makes both encoders, whose offset is that of the bag: the transformer starts around zero.
    fn make(
        &self,
        both: &BothInputs<R::Preparation>,
        start: Start,
        make_beside: impl FnOnce(&R, &R::Preparation, Start) -> Result<R::Encoder, Error>,
    ) -> Result<BagBeside<R::Encoder>, Error> {
        let Start { offset, random, device } = start;
        let bag =
            self.bag.bag().init(both.0.width(), Start { offset, random: &mut *random, device });
        let start = Start { offset: &vec![0.0; offset.len()], random, device };
        let beside = make_beside(&self.transformer, &both.1, start).map_err(inside(TRANSFORMER))?;
        Ok(BagBeside { bag, beside })
    }
}

/// Gives the key of a setting its place in the table `part`.
fn inside(part: &'static str) -> impl Fn(Error) -> Error {
    move |error| match error {
        Error::Core(dsokr_core::Error::Value { key: Place::Key(key), found, allowed }) => {
            let name = key.strip_prefix("encoder.").unwrap_or(&key);
            Error::value(format_args!("encoder.{part}.{name}"), found, allowed)
        }
        other => other,
    }
}
