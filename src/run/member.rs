//! A trained model, which its run has alone or as a member of an ensemble.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use burn::tensor::Device;
use dsokr_basis::Basis;
use dsokr_core::store::Stored;
use dsokr_data::config::DataSource;
use dsokr_data::{FittedFeatures, Outputs, Split};
use dsokr_decode::{CandidateBlocks, Candidates, MissingGold, Pool, Reranker};
use dsokr_machines::Scaling;
use dsokr_train::check_basis;

use crate::config::{Checked, Search};
use crate::decoding::decoder::Decoder;
use crate::decoding::evaluation::Models;
use crate::decoding::lexicon::read_reranker;
use crate::encoders::spectrum_inputs::Polarities;
use crate::error::{Error, ensure_run};
use crate::learners::learner::Predictor;
use crate::metrics::constants::Constants;
use crate::metrics::evaluation::Evaluation;
use crate::run_dir::{
    BASIS, CANDIDATES, FEATURES, POLARITIES, RERANKER, RunDir, candidates, load_constants,
    load_data_folder, load_scaling, read_json, save_candidates, save_constants, save_input_columns,
    save_polarities, save_scaling,
};
use crate::targets::{OutputSpace, Problem};

/// A trained model: the only one of its run, or a member of an ensemble.
pub struct Member {
    /// The path that it was read from; that of its folder for a member of an ensemble.
    pub name: String,
    /// The resolved configuration.
    pub config: Checked,
    /// The candidates.
    pub candidates: Candidates,
    /// The reranker at the first candidates of each query.
    pub reranker: Option<Reranker>,
    /// The fitted model, which maps inputs to coordinates.
    pub predictor: Box<dyn Predictor>,
    /// The space of candidates and predictions; none where outputs are not sketched and nothing needs it.
    pub(crate) space: Option<OutputSpace>,
    /// Means and deviations by which the features of outputs are standardised.
    pub(super) scaling: Option<Scaling>,
    /// The constants that fit the training outputs best, where these are numbers or classes.
    pub(super) constants: Option<Constants>,
    /// Names of the labels that the run knows.
    pub(super) labels: Vec<String>,
    /// The folder that it was read from; none of a run that was made from its parts.
    pub(super) folder: Option<PathBuf>,
    /// The polarities of the training spectra.
    pub(super) polarities: Polarities,
    /// The warnings of changed data that have been given.
    pub(super) said: Mutex<HashSet<String>>,
}

impl fmt::Debug for Member {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.debug_struct("Member").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Member {
    /// Reads the run directory of one model.
    ///
    /// # Errors
    /// A file that is missing, damaged, of a different version, or that belongs to a different
    /// basis; a run without an evaluation, which has no model yet; an ensemble.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_on(path, &Device::flex())
    }

    /// Reads the run directory of one model, with the encoder on a device.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(path: impl AsRef<Path>, device: &Device) -> Result<Self, Error> {
        let path = path.as_ref();
        let config = Self::config_of_one(path)?;
        Self::open_with(path, config, candidates::open(path)?, device)
    }

    /// Returns the configuration of the run of one model.
    pub(super) fn config_of_one(path: &Path) -> Result<Checked, Error> {
        let config = RunDir::at(path).config()?;
        let message = "an ensemble: open it as one, or one of its members/";
        ensure_run(config.ensemble.is_none(), path, message)?;
        Ok(config)
    }

    /// Reads the run of one model, whose configuration and file of candidates are open.
    pub(super) fn open_with(
        path: &Path,
        config: Checked,
        stored: Stored,
        device: &Device,
    ) -> Result<Self, Error> {
        let stored = Arc::new(stored);
        let candidates = Candidates::read(&stored)?;
        Self::read(path, config, &stored, candidates, device)
    }

    /// Reads all but the candidates, which are those of a file or, in shards, only the first one.
    pub(super) fn read(
        path: &Path,
        config: Checked,
        stored: &Stored,
        candidates: Candidates,
        device: &Device,
    ) -> Result<Self, Error> {
        let space = OutputSpace::load_to_rank(path, &config)?;
        let labels = label_names(&config, || {
            let features = path.join(FEATURES);
            // a member that was saved without data has none, and only an exact search needs them
            let is_needed = config.decoding.search == Search::Exact || features.exists();
            Ok(is_needed.then(|| FittedFeatures::load(&features)).transpose()?)
        })?;
        if let Some(space) = &space {
            check_basis(stored, &space.fingerprint())?;
        }
        let space_fingerprint = stored.metadata("basis")?;
        let run = RunDir::at(path).in_space(space_fingerprint);
        // a member that was saved from its parts is of no data, and has no training that could go on
        if !stored.metadata("data")?.is_empty() {
            run.check_end(&config.decoding, &candidates)?;
        }
        let width = candidates.dim();
        let predictor = config.encoder.learner().load(&run, &config, width, device)?;
        let mut reranker = None;
        if config.decoding.reranker.is_some() {
            let stored = Reranker::open(&path.join(RERANKER))?;
            check_basis(&stored, space_fingerprint)?;
            reranker = Some(read_reranker(&stored)?.among(&candidates)?);
        }
        let scaling = load_scaling(path)?;
        let constants = load_constants(path)?;
        let name = path.display().to_string();
        let folder = Some(path.into());
        let member = Self::from_parts(config, space, candidates, predictor);
        let polarities = read_json(&path.join(POLARITIES))?.unwrap_or_default();
        Ok(Self { name, reranker, scaling, constants, labels, folder, polarities, ..member })
    }

    /// Creates a member with a predictor that was not made by [`fit`](crate::fit()), and candidates in the
    /// coordinates of a basis.
    pub fn new(
        config: Checked,
        basis: Basis,
        candidates: Candidates,
        predictor: impl Predictor + 'static,
    ) -> Self {
        let space = Some(OutputSpace::Basis(basis));
        Self::from_parts(config, space, candidates, Box::new(predictor))
    }

    /// Creates the member of a fit, whose files lie in its run.
    ///
    /// # Errors
    /// A run whose folder of data cannot be read.
    pub(crate) fn from_fit(
        problem: &Problem,
        run: &RunDir,
        space: OutputSpace,
        candidates: Candidates,
        reranker: Option<Reranker>,
        predictor: Box<dyn Predictor>,
    ) -> Result<Self, Error> {
        let mut config = Checked::clone(&problem.config);
        config.trained_on = load_data_folder(run.path())?;
        config.input_columns = problem.dataset.input_columns.clone();
        let labels = label_names(&config, || Ok(Some(&problem.dataset.outputs.features)))?;
        Ok(Self {
            name: run.path().display().to_string(),
            reranker,
            scaling: problem.scaling.clone(),
            constants: problem.constants.clone(),
            labels,
            folder: Some(run.path().to_path_buf()),
            polarities: problem.polarities()?,
            ..Self::from_parts(config, Some(space), candidates, predictor)
        })
    }

    fn from_parts(
        config: Checked,
        space: Option<OutputSpace>,
        candidates: Candidates,
        predictor: Box<dyn Predictor>,
    ) -> Self {
        let name = config.name.clone();
        let labels = Vec::new();
        Self {
            name,
            config,
            candidates,
            reranker: None,
            predictor,
            space,
            scaling: None,
            constants: None,
            labels,
            folder: None,
            polarities: Polarities::default(),
            said: Mutex::default(),
        }
    }

    /// Writes a run directory that [`open`](Self::open) reads. It holds no state to resume from, no log
    /// and no metrics.
    ///
    /// # Errors
    /// [`Error::RunExists`]; a parameter that is not finite; [`dsokr_core::Error::Value`] for a run that was read
    /// from a kernel machine's directory, or a predictor that has no form on disk; what the file system
    /// reports.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        if path.exists() {
            return Err(Error::RunExists { path: path.into() });
        }
        let Some(OutputSpace::Basis(basis)) = &self.space else {
            let kind = format!("{:?}", self.config.encoder.kind());
            let allowed = "an encoder: the run directory of a kernel machine can be copied";
            return Err(Error::value("encoder.kind", kind, allowed));
        };
        let files = self.predictor.preparation()?;
        let run = RunDir::at(path).in_space(&basis.fingerprint()).prepared(&files)?;
        let save = |here: &Path| {
            basis.save(&here.join(BASIS))?;
            save_scaling(self.scaling.as_ref(), here)?;
            save_constants(self.constants.as_ref(), here)?;
            save_input_columns(self.config.input_columns.as_ref(), here)?;
            if self.config.encoder.abilities().spectra {
                save_polarities(&self.polarities, here)?;
            }
            if let Some(reranker) = self.reranker.as_ref().filter(|_| self.has_reranker()) {
                let saved = RunDir::at(here).in_space(run.space());
                saved.save_reranker(RERANKER, reranker)?;
            }
            let features = self.folder.as_ref().map(|folder| folder.join(FEATURES));
            if let Some(features) = features.filter(|features| features.exists()) {
                FittedFeatures::load(&features)?.save(&here.join(FEATURES))?;
            }
            // the empty fingerprint belongs to no data, so `--resume` refuses the directory
            save_candidates(&here.join(CANDIDATES), &self.candidates, run.space(), "")
        };
        let mut run = run.create(&self.config, &files, save)?;
        // whole or not at all
        self.predictor.save(&mut run).inspect_err(|_| {
            let _ = std::fs::remove_dir_all(path);
        })
    }

    /// Returns the predicted coordinates `z` of each pair's input, `[pairs × p]` row-major.
    ///
    /// # Errors
    /// Inputs that cannot be prepared; a predictor of a program's own that does not give p coordinates for each.
    pub fn coordinates(&self, split: &Split) -> Result<Vec<f32>, Error> {
        self.predictor.predict_checked(split, &self.candidates)
    }

    /// Evaluates predictions `z` for a split, as they are scored; `data` is the data root, and `missing_gold` the rule for
    /// right outputs that are not candidates, where it is not that of the configuration.
    pub(super) fn evaluate(
        &self,
        split: &Split,
        z: &Vec<f32>,
        pool: Pool,
        data: Option<&Path>,
        missing_gold: Option<MissingGold>,
    ) -> Result<Evaluation, Error> {
        let fitted = self.fitted()?;
        let held = self.held(data)?;
        let fitted = fitted.as_ref();
        let held = held.as_deref();
        let decoder = Decoder { fitted, held, ..self.decoder() };
        let models = Models { missing_gold, ..Models::one(decoder, None) };
        Ok(models.evaluate(split, std::slice::from_ref(z), pool)?.0)
    }

    /// Returns the features of the training outputs, where they are computed from the SMILES by which outputs are shown.
    pub(super) fn fitted(&self) -> Result<Option<FittedFeatures>, Error> {
        let features = self.folder.as_ref().map(|folder| folder.join(FEATURES));
        let compared = self.config.output.compares_molecules();
        let features = features.filter(|features| compared && features.exists());
        Ok(features.map(|features| FittedFeatures::load(&features)).transpose()?)
    }

    /// Returns the outputs of the data, where the metric compares them by the kernel and they are not made from their
    /// SMILES. None where the files of the data are gone.
    pub(super) fn held(&self, data: Option<&Path>) -> Result<Option<Arc<Outputs>>, Error> {
        let config = &self.config;
        let in_memory = matches!(config.data.source, DataSource::Memory(_));
        if in_memory || !config.evaluation.compares() || config.output.compares_molecules() {
            return Ok(None);
        }
        let mut dataset = match self.read_data(data, |source, root| source.load(root)) {
            Err(Error::NotFound { .. }) => return Ok(None),
            dataset => dataset?,
        };
        config.standardise(&mut dataset, self.scaling.as_ref())?;
        Ok(Some(dataset.outputs))
    }

    /// Returns the decoder of its predictions.
    pub(crate) fn decoder(&self) -> Decoder<'_> {
        Decoder {
            candidates: &self.candidates,
            reranker: self.reranker.as_ref(),
            space: self.space.as_ref(),
            config: &self.config,
            labels: &self.labels,
            scaling: self.scaling.as_ref(),
            constants: self.constants.as_ref(),
            fitted: None,
            held: None,
        }
    }
}

/// Returns the names of the labels that a run knows; none where outputs are not sets of labels. `features` are those of the
/// outputs, where they are kept.
fn label_names<F: Borrow<FittedFeatures>>(
    config: &Checked,
    features: impl FnOnce() -> Result<Option<F>, Error>,
) -> Result<Vec<String>, Error> {
    if !config.output.features.are_labels() {
        return Ok(Vec::new());
    }
    let Some(features) = features()? else { return Ok(Vec::new()) };
    let features: &FittedFeatures = features.borrow();
    Ok(features.terms().to_vec())
}
