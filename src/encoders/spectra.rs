//! Networks of mass spectra: a bag of what lies in bins of masses, and a transformer over peaks.

use std::path::Path;

use dsokr_basis::features::SparseRow;
use dsokr_data::Split;
use dsokr_nn::{
    BagConfig, NgramBag, PartSize, PeakList, PeakTransformer, PeakTransformerConfig, Start,
};
use dsokr_spectra::{PeakFeatures, Spectrum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::encoders::inputs::{Prepare, Recipe, sizes};
use crate::encoders::spectrum_inputs::{SpectrumInputs, spectra};
use crate::error::{Error, ensure};

/// Bins of spectra, a weighted sum of embeddings, and an MLP: `z = b + h + MLP(h)` with a linear path, where embeddings have
/// p columns, and `z = MLP(h)` without one, an MLP on the bins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeakBagConfig {
    /// Blocks of features.
    pub blocks: Vec<PeakFeatures>,
    /// Whether the sum of embeddings is added to the MLP's output.
    #[serde(default)]
    pub linear: bool,
    /// Columns of the embedding without a linear path; with it there are p.
    #[serde(default = "wide")]
    pub embedding: usize,
    /// Widths of the MLP's hidden layers.
    #[serde(default = "hidden")]
    pub hidden: Vec<usize>,
    /// Share of hidden units dropped in training, in `[0, 1)`.
    #[serde(default = "half")]
    pub dropout: f32,
    /// Share of a spectrum's bins dropped in training, in `[0, 1)`.
    #[serde(default)]
    pub bin_dropout: f32,
}

dsokr_core::defaults! {
    wide: usize = 512,
    hidden: Vec<usize> = vec![512],
    half: f32 = 0.5,
}

impl PeakBagConfig {
    fn bag(&self) -> BagConfig {
        BagConfig {
            linear: self.linear,
            embedding: self.embedding,
            hidden: self.hidden.clone(),
            dropout: self.dropout,
            entry_dropout: self.bin_dropout,
        }
    }
}

impl Recipe for PeakBagConfig {
    type Preparation = SpectrumInputs;
    type Encoder = NgramBag;

    fn validate(&self) -> Result<(), Error> {
        let key = "encoder.blocks";
        ensure(!self.blocks.is_empty(), key, "[]", "at least one block")?;
        let mut blocks = self.blocks.iter().enumerate();
        blocks.try_for_each(|(at, block)| block.validate(&format!("{key}[{at}]")))?;
        Ok(self.bag().validate("bin_dropout")?)
    }

    fn reads_spectra(&self) -> bool {
        true
    }

    fn needs_formulas(&self) -> bool {
        self.blocks.iter().any(|block| block.source.needs_formula())
    }

    fn preparation(&self) -> Vec<PeakFeatures> {
        self.blocks.clone()
    }

    fn size(&self, bins: &SpectrumInputs, rows: &[SparseRow], coordinates: usize) -> Vec<PartSize> {
        let parts = |length| self.bag().size(bins.width(), length, coordinates, "blocks");
        sizes(rows.iter().map(|row| row.len()), parts)
    }

    fn encoder(&self, bins: &SpectrumInputs, start: Start) -> Result<NgramBag, Error> {
        Ok(self.bag().init(bins.width(), start))
    }
}

/// The peaks of spectra, as they are.
#[derive(Debug)]
pub struct PeakInputs;

impl Prepare for PeakInputs {
    type Settings = ();
    type Input = PeakList;

    fn fit((): &(), _: &Split) -> Result<Self, Error> {
        Ok(Self)
    }

    fn inputs(&self, split: &Split) -> Result<Vec<PeakList>, Error> {
        let list = |spectrum: &Spectrum| {
            let peaks = spectrum.peaks().iter().map(|peak| (peak.mz, peak.intensity)).collect();
            (spectrum.precursor_mz(), peaks)
        };
        Ok(spectra(split)?.iter().map(list).collect())
    }

    fn load((): &(), _: &Path) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Recipe for PeakTransformerConfig {
    type Preparation = PeakInputs;
    type Encoder = PeakTransformer;

    fn validate(&self) -> Result<(), Error> {
        Ok(Self::validate(self)?)
    }

    fn reads_spectra(&self) -> bool {
        true
    }

    fn preparation(&self) {}

    fn size(&self, _: &PeakInputs, inputs: &[PeakList], coordinates: usize) -> Vec<PartSize> {
        let lengths = inputs.iter().map(|input| self.length(input));
        sizes(lengths, |length| PeakTransformerConfig::size(self, length, coordinates))
    }

    fn encoder(&self, _: &PeakInputs, start: Start) -> Result<PeakTransformer, Error> {
        Ok(self.init(start))
    }
}
