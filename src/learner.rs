//! The one place where the ways to learn part: what an `[encoder]` table describes, and what it
//! leaves behind.

use std::any::Any;
use std::fmt::Debug;
use std::path::Path;

use burn::tensor::Device;
use dsokr_decode::Candidates;

use crate::Error;
use crate::config::{Checked, Config};
use crate::evaluator::Evaluator;
use crate::run::{Folder, PreparationFiles};
use crate::targets::{OutputTargets, TrainingOutputs};
use dsokr_data::{Dataset, InputKind, Split};
use dsokr_train::Observer;

/// What an `[encoder]` table describes: it is fitted on a training split, or read from a run.
///
/// Every [`Recipe`](crate::Recipe) of a neural encoder is a learner, and so is
/// [`KernelMachineConfig`](crate::config::KernelMachineConfig), the kernel machines. A program adds its own with
/// [`register`](crate::register); from then on configurations with its `kind` train, resume, evaluate
/// and search as those of the built-in ones do. `examples/custom_predictor.rs` is a whole program.
pub trait Learner: Any + Debug + Send + Sync {
    /// Checks the settings by themselves. The default accepts all that the type can hold.
    ///
    /// # Errors
    /// The first value out of range, best as [`Error::Value`].
    fn validate(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Checks the settings against the rest of the configuration. The default accepts every one.
    ///
    /// # Errors
    /// The first key that is not compatible with these settings, best as [`Error::Value`].
    fn check_compatible(&self, config: &Config) -> Result<(), Error> {
        let _ = config;
        Ok(())
    }

    /// What it reads (default: texts).
    fn reads(&self) -> InputKind {
        InputKind::Texts
    }

    /// Whether it is fitted on the CPU alone (default: false).
    fn needs_cpu(&self) -> bool {
        false
    }

    /// The levels of the quantiles that its coordinates are; none for points of a feature space, the
    /// default.
    fn levels(&self) -> Option<&[f64]> {
        None
    }

    /// The targets that it is fitted to: by default the training outputs in the sketched eigenbasis.
    ///
    /// # Errors
    /// Outputs that the configuration's kernel and sketch do not take.
    fn targets(&self, outputs: &TrainingOutputs) -> Result<OutputTargets, Error> {
        OutputTargets::in_basis(outputs)
    }

    /// Fits it on the training split of `task`.
    ///
    /// # Errors
    /// Settings that do not fit the data, and whatever stops the fit.
    fn fit(&self, task: &mut Task) -> Result<Fitted, Error>;

    /// Reads what [`Predictor::save`] has put into a run directory.
    ///
    /// # Errors
    /// A file that is missing, damaged, or belongs to another run.
    fn load(&self, run: &StoredRun) -> Result<Box<dyn Predictor>, Error>;

    /// The learner with its inputs prepared, if fitting it once more is cheap: then
    /// `dsokr sketch` fits it for every sketch size. None by default.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    fn closed_form<'a>(
        &'a self,
        config: &'a Checked,
        dataset: &'a Dataset,
        outputs: &TrainingOutputs,
    ) -> Result<Option<Box<dyn ClosedForm + 'a>>, Error> {
        let _ = (config, dataset, outputs);
        Ok(None)
    }
}

/// A learner with prepared inputs, to be fitted to several targets.
pub trait ClosedForm {
    /// Fits it to `targets`; settings that the configuration leaves open are chosen on the validation
    /// split by `evaluator`.
    ///
    /// # Errors
    /// As [`Learner::fit`].
    fn fit(&self, targets: &OutputTargets, evaluator: &Evaluator) -> Result<Fitted, Error>;
}

/// Inputs in, coordinates out: what a fitted [`Learner`] leaves behind. After the fit nothing asks
/// which learner it was.
///
/// A closure from a [`Split`] to coordinates is one, which a run can hold but not write.
pub trait Predictor: Any + Send + Sync {
    /// Coordinates z of each input of a split, `[inputs × p]` row-major.
    ///
    /// # Errors
    /// Inputs that cannot be prepared.
    fn predict(&self, split: &Split) -> Result<Vec<f32>, Error>;

    /// Name and text of each file that holds how inputs are prepared. None by default.
    ///
    /// # Errors
    /// What cannot be written.
    fn preparation(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(Vec::new())
    }

    /// Writes the model into a run directory, which has the files of [`preparation`](Self::preparation)
    /// already.
    ///
    /// # Errors
    /// [`Error::Value`] for a predictor that has no form on disk, the default.
    fn save(&self, folder: &mut Folder) -> Result<(), Error> {
        let _ = folder;
        Err(Error::Value {
            key: "encoder.kind".into(),
            found: "a predictor without files".into(),
            allowed: "one whose Predictor::save writes it".into(),
        })
    }

    /// Writes it as other programs read it: a pretrained encoder as a folder of transformers'.
    ///
    /// # Errors
    /// [`Error::NotPretrained`] by default.
    fn export(&self, folder: &Path) -> Result<(), Error> {
        let _ = folder;
        Err(Error::NotPretrained)
    }
}

impl<F: Fn(&Split) -> Result<Vec<f32>, Error> + Send + Sync + 'static> Predictor for F {
    fn predict(&self, split: &Split) -> Result<Vec<f32>, Error> {
        self(split)
    }
}

/// What a [`Learner`] is fitted on.
pub struct Task<'a> {
    /// The configuration.
    pub config: &'a Checked,
    /// Training and validation pairs, and the outputs.
    pub dataset: &'a Dataset,
    /// What [`Learner::targets`] has returned.
    pub targets: &'a OutputTargets,
    /// Ranks the validation split.
    pub evaluator: &'a Evaluator<'a>,
    /// Where tensors are computed, with autodiff.
    pub device: &'a Device,
    /// Is called on every event, and may ask to stop.
    pub observer: &'a mut dyn Observer,
    pub(crate) opener: &'a dyn Fn(&PreparationFiles) -> Result<Folder, Error>,
    /// The run directory, if the run is resumed.
    pub(crate) resumed: Option<&'a Path>,
    pub(crate) folder: Option<Folder>,
}

impl Task<'_> {
    /// The directory of a resumed run, which holds the files of the preparation already.
    pub fn resumed(&self) -> Option<&Path> {
        self.resumed
    }

    /// Makes the run directory, or opens that of a resumed run, with the files that hold how inputs
    /// are prepared. Nothing is written before; a learner that does not call it gets a directory
    /// without such files after its fit.
    ///
    /// # Errors
    /// What the file system reports; a resumed run whose preparation differs.
    pub fn begin(&mut self, files: Vec<(&'static str, String)>) -> Result<&mut Folder, Error> {
        let folder = (self.opener)(&PreparationFiles::new(files)?)?;
        Ok(self.folder.insert(folder))
    }
}

/// A run directory that a model is read from.
pub struct StoredRun<'a> {
    /// The run directory.
    pub path: &'a Path,
    /// Its configuration.
    pub config: &'a Checked,
    /// Fingerprint of the coordinates that its candidates are in.
    pub space: &'a str,
    /// Its candidates.
    pub candidates: &'a Candidates,
    /// Where the model is computed.
    pub device: &'a Device,
}

impl StoredRun<'_> {
    /// The text of a file that [`Folder::write_text`] has written.
    ///
    /// # Errors
    /// A file that is missing or is not text.
    pub fn read_text(&self, name: &str) -> Result<String, Error> {
        let path = self.path.join(name);
        std::fs::read_to_string(&path).map_err(|e| Error::reading(&path, &e))
    }
}

/// A fitted [`Learner`].
pub struct Fitted {
    /// What answers.
    pub predictor: Box<dyn Predictor>,
    /// Whether its files are in the run directory already.
    pub saved: bool,
    /// Coordinates of each training input by a model that was fitted without its pair, `[n × p]`;
    /// needed where the configuration asks for `decoding.hubs`.
    pub held_out: Option<Vec<f32>>,
    /// What was fitted, and how well, in one line for the log.
    pub summary: Option<String>,
}

impl Fitted {
    /// A predictor that is written when its fit is done.
    pub fn new(predictor: impl Predictor + 'static) -> Self {
        Self { predictor: Box::new(predictor), saved: false, held_out: None, summary: None }
    }
}
