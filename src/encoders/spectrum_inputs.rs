//! Mass spectra as inputs: what lies in bins of masses, and mixtures of Gaussians.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use dsokr_basis::features::SparseRow;
use dsokr_basis::kernel::{OutputKernel, ProbabilityProduct};
use dsokr_basis::{Features, Kernel};
use dsokr_data::Split;
use dsokr_spectra::{FittedPeaks, LINE, POSITIONS, PeakFeatures, PeakSource, Polarity, Spectrum};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::encoders::inputs::{Prepare, PrepareRows, read_prepared};
use crate::error::{Error, ensure};

/// Returns the spectra of a split, whose texts they are.
pub(crate) fn spectra(split: &Split) -> Result<Vec<Spectrum>, Error> {
    let texts = split.inputs.texts()?.par_iter();
    // a parallel collection into a `Result` would give any thread's error
    let read: Vec<Result<Spectrum, _>> = texts.map(|text| text.parse()).collect();
    Ok(read.into_iter().collect::<Result<_, _>>()?)
}

/// The polarities of the spectra that a model was trained on, where these say them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Polarities(BTreeSet<Polarity>);

impl Polarities {
    /// Returns the polarities of a split, whose texts are spectra.
    pub(crate) fn of_split(split: &Split) -> Result<Self, Error> {
        let texts = split.inputs.texts()?.iter();
        Ok(Self(texts.filter_map(|text| Polarity::of_text(text)).collect()))
    }

    /// Returns the polarity that spectra have which do not say theirs: the model's where it has one, else positive.
    pub(crate) fn assumed(&self) -> Polarity {
        self.only().unwrap_or(Polarity::Positive)
    }

    /// Returns the polarity of all spectra.
    pub(crate) fn only(&self) -> Option<Polarity> {
        if self.0.len() == 1 { self.0.first().copied() } else { None }
    }
}

/// The bins of the masses in the training spectra.
#[derive(derive_more::Debug)]
#[debug("SpectrumInputs({} columns)", _0.width())]
pub struct SpectrumInputs(FittedPeaks);

impl SpectrumInputs {
    pub(crate) const FILE: &str = "spectra.json";

    /// Returns the number of bins.
    pub fn width(&self) -> usize {
        self.0.width()
    }

    /// Reads the text of the file; errors call it `path`.
    pub(crate) fn read(text: &str, path: &Path) -> Result<Self, Error> {
        Ok(Self(serde_json::from_str(text).map_err(|error| Error::run(path, error))?))
    }
}

impl PrepareRows for SpectrumInputs {
    fn file(&self) -> Result<Option<(&'static str, String)>, Error> {
        Ok(Some((Self::FILE, serde_json::to_string(&self.0)?)))
    }

    fn width(&self) -> usize {
        Self::width(self)
    }

    fn rows<'s>(&self, split: &'s Split) -> Result<Cow<'s, Features>, Error> {
        Ok(Cow::Owned(Features::Sparse(self.0.rows(split.inputs.texts()?)?)))
    }
}

impl Prepare for SpectrumInputs {
    type Settings = Vec<PeakFeatures>;
    type Input = SparseRow;

    fn fit(blocks: &Vec<PeakFeatures>, train: &Split) -> Result<Self, Error> {
        let (spectra, _) = train.counted_texts()?;
        Ok(Self(FittedPeaks::fit(blocks, &spectra)?))
    }

    fn inputs(&self, split: &Split) -> Result<Vec<SparseRow>, Error> {
        let rows = spectra(split)?;
        rows.iter().map(|one| Ok(self.0.transform(one)?)).collect()
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(self.file()?.into_iter().collect())
    }

    fn load(_: &Vec<PeakFeatures>, folder: &Path) -> Result<Self, Error> {
        read_prepared(folder, Self::FILE, Self::read)
    }
}

/// Mass spectra as mixtures of Gaussians, one at each mass, for the probability product kernel in closed form,
/// `Σ_i Σ_j w_i v_j exp(−(m_i − m_j)²/(4 σ²))`, divided by the lengths of both (Heinonen et al. 2012; Brouard et al.
/// 2016).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MixtureConfig {
    /// The part of a spectrum that lies at a mass: not formulas.
    #[serde(default)]
    pub source: PeakSource,
    /// σ in Da.
    pub deviation: f64,
    /// The power of intensities that are weights w.
    #[serde(default = "root")]
    pub power: f64,
    /// τ, the standard deviation of intensities to that power, scaled so that the largest in a spectrum is 1: these are a second
    /// dimension of the Gaussians, `exp(−(w_i − v_j)²/(4 τ²))`. Left out, intensities are weights.
    pub intensity_deviation: Option<f64>,
}

dsokr_core::defaults!(root: f64 = 0.5);

impl MixtureConfig {
    /// Checks the values at a key.
    pub(crate) fn validate(&self, key: &str) -> Result<(), Error> {
        let Self { source, deviation, power, intensity_deviation } = *self;
        let at = |name: &str| format!("{key}.{name}");
        let allowed = "peaks, losses, differences or precursor, which have masses";
        ensure(!source.is_of_formulas(), at("source"), serde_json::json!(source), allowed)?;
        let holds = (1e-4..=1e3).contains(&deviation);
        ensure(holds, at("deviation"), deviation, "a number in Da, 1e-4 to 1000")?;
        ensure((0.0..=2.0).contains(&power), at("power"), power, "a number in [0, 2]")?;
        let wide = intensity_deviation.unwrap_or(1.0);
        let holds = (1e-4..=1e6).contains(&wide);
        ensure(holds, at("intensity_deviation"), wide, "a number, 1e-4 to 1e6")
    }
}

/// Spectra as mixtures of Gaussians.
pub(crate) struct MixtureInputs(pub MixtureConfig);

impl PrepareRows for MixtureInputs {
    /// Returns the number of positions.
    fn width(&self) -> usize {
        LINE
    }

    /// Returns the spectra of a split, with positions as columns.
    fn rows<'s>(&self, split: &'s Split) -> Result<Cow<'s, Features>, Error> {
        let MixtureConfig { source, power, .. } = self.0;
        Ok(Cow::Owned(Features::Sparse(source.positions(power, &spectra(split)?)?)))
    }

    fn kernel(&self, _: &Kernel) -> Arc<dyn OutputKernel> {
        let MixtureConfig { deviation, intensity_deviation, .. } = self.0;
        let deviation = deviation * POSITIONS;
        Arc::new(ProbabilityProduct { deviation, values: intensity_deviation })
    }
}
