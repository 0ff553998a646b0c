//! The traits of everything that learns: a [`Learner`] is what an `[encoder]` table describes, a
//! [`Predictor`] is the fitted model.

use std::any::Any;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use dsokr_core::Processes;
use dsokr_core::store::read_text;
use dsokr_data::{Dataset, Split};
use dsokr_decode::Candidates;
use dsokr_nn::onnx::{Graph, Value};
use dsokr_train::Observer;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config;
use crate::config::{Abilities, Checked, Config, EncoderSettings, EncoderTable};
use crate::decoding::evaluator::Evaluator;
use crate::encoders::spectrum_inputs::Polarities;
use crate::error::Error;
use crate::learners::choice::Choice;
use crate::learners::memory::Need;
use crate::run_dir::{
    CANDIDATES, FEATURES, Folder, HeldOut, POLARITIES, PreparationFiles, save_candidates,
    save_constants, save_data_folder, write_text,
};
use crate::targets::{OutputTargets, TrainingOutputs, save_scaling};

/// A model that an `[encoder]` table describes: it is fitted on a training split, or read from a
/// run.
///
/// Every [`Recipe`](crate::Recipe) of a neural encoder is a learner, and so is
/// [`KernelMachineConfig`](crate::config::KernelMachineConfig), the kernel machines. A program adds
/// its own with [`register`]. Then configurations with its `kind` train, resume, evaluate and search like the
/// built-in ones. `examples/custom_predictor.rs` is a complete program.
pub trait Learner: Any + Debug + Send + Sync {
    /// Checks only the settings. The default accepts every value of the type.
    ///
    /// # Errors
    /// The first value out of range, preferably as [`dsokr_core::Error::Value`].
    fn validate(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Checks the settings against the rest of the configuration. The default accepts every one.
    ///
    /// # Errors
    /// The first key that is not compatible with these settings, preferably as [`dsokr_core::Error::Value`].
    fn check_compatible(&self, config: &Config) -> Result<(), Error> {
        let _ = config;
        Ok(())
    }

    /// Its inputs, needs and answers (default: texts, a device, and points of a feature space).
    fn abilities(&self) -> Abilities<'_> {
        Abilities::default()
    }

    /// Prepares the fit: the inputs of the training pairs, as they are learned from. A closure that fits is a
    /// prepared fit too.
    ///
    /// # Errors
    /// Inputs that cannot be prepared.
    fn prepare<'a>(&'a self, outputs: &'a TrainingOutputs<'a>) -> Result<Box<dyn Fit + 'a>, Error>;

    /// Reads the files that [`Predictor::save`] has written into a run directory.
    ///
    /// # Errors
    /// A file that is missing, damaged, or belongs to a different run.
    fn load(&self, run: &StoredRun) -> Result<Box<dyn Predictor>, Error>;
}

/// A [`Learner`] with its training inputs prepared: it makes targets, and is fitted to them.
pub trait Fit {
    /// The targets of the fit (default: the training outputs in the sketched eigenbasis).
    ///
    /// # Errors
    /// Outputs that the configuration's kernel or sketch does not accept.
    fn targets(&self, outputs: &TrainingOutputs) -> Result<OutputTargets, Error> {
        OutputTargets::in_basis(outputs)
    }

    /// Targets in the place of the first ones, in a space that the validation split chooses, such as that of a learned
    /// embedding (default: none). `force` allows more memory than is available.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    fn refined_targets(
        &mut self,
        targets: &OutputTargets,
        evaluator: &Evaluator,
        force: bool,
    ) -> Result<Option<OutputTargets>, Error> {
        let _ = (targets, evaluator, force);
        Ok(None)
    }

    /// The memory and time of the fit on a device in addition to the data, the targets and the candidates, for predictions with so
    /// many coordinates: the estimate that `dsokr train --plan` prints (default: nothing is known).
    fn needs(&self, coordinates: usize, device: &Device) -> Vec<Need> {
        let _ = (coordinates, device);
        Vec::new()
    }

    /// Fits it on the training split of `task`.
    ///
    /// # Errors
    /// Settings that are not compatible with the data; errors from the fit.
    fn fit(&self, task: &mut Task) -> Result<Fitted, Error>;

    /// A fit in closed form, without a run directory; `evaluator` chooses the settings that the configuration leaves
    /// open, on the validation split (default: there is none).
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    fn solve(
        &self,
        targets: &OutputTargets,
        evaluator: &Evaluator,
    ) -> Result<Option<Fitted>, Error> {
        let _ = (targets, evaluator);
        Ok(None)
    }

    /// Answers of models that were each fitted to the targets without some of the training pairs, given
    /// in rising order; needed for `decoding.second_look` (default: none are known).
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    fn without(
        &self,
        targets: &OutputTargets,
        parts: &[Vec<usize>],
    ) -> Result<Option<Vec<CrossFitted>>, Error> {
        let _ = (targets, parts);
        Ok(None)
    }
}

impl<F: Fn(&mut Task) -> Result<Fitted, Error>> Fit for F {
    fn fit(&self, task: &mut Task) -> Result<Fitted, Error> {
        self(task)
    }
}

impl<T: Learner> EncoderSettings for T {
    fn validate(&self) -> Result<(), Error> {
        Learner::validate(self)
    }

    fn check_compatible(&self, config: &Config) -> Result<(), Error> {
        Learner::check_compatible(self, config)
    }

    fn abilities(&self) -> Abilities<'_> {
        Learner::abilities(self)
    }

    fn learner(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        let learner: Arc<dyn Learner> = self;
        Arc::new(learner)
    }
}

impl EncoderTable {
    /// The table that describes a learner of a kind that is built in, or has been [`register`]ed.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for a learner without a kind; settings that cannot be written as TOML.
    pub fn from_learner<T: Learner + Serialize>(learner: T) -> Result<Self, Error> {
        Self::with_kind(learner)
    }

    /// The learner that the table describes.
    pub(crate) fn learner(&self) -> &dyn Learner {
        let learner = self.learner.downcast_ref::<Arc<dyn Learner>>();
        // all settings are those of a learner: there is one implementation of `EncoderSettings`
        learner.expect("the settings of a learner").as_ref()
    }
}

/// Makes `kind = "name"` of an `[encoder]` table stand for the learner `T`, for this program. The
/// other keys of the table are `T`'s own.
///
/// # Errors
/// [`dsokr_core::Error::Value`] for the name of a different learner.
pub fn register<T>(name: &'static str) -> Result<(), Error>
where
    T: Learner + Serialize + DeserializeOwned + 'static,
{
    config::register::<T>(name)
}

/// Answers of a model that was fitted without a part of the training pairs.
pub struct CrossFitted {
    /// The pairs of this part, in rising order.
    pub pairs: Vec<usize>,
    /// To the inputs of this part, `[pairs × p]`.
    pub answers: Vec<f32>,
    /// Leave-one-out answers to the rest, `[pairs × p]`.
    pub leave_one_out: Vec<f32>,
    /// To every eighth pair of the rest, by the model that was fitted to it, `[pairs × p]`.
    pub fitted: Vec<f32>,
}

/// A fitted [`Learner`]: it maps inputs to coordinates. After the fit nothing depends on the type
/// of the learner.
///
/// A closure from a [`Split`] to coordinates is a predictor too; a run can hold it, but not save
/// it.
pub trait Predictor: Any + Send + Sync {
    /// Coordinates z of each input of a split, `[inputs × p]` row-major.
    ///
    /// # Errors
    /// Inputs that cannot be prepared.
    fn predict(&self, split: &Split) -> Result<Vec<f32>, Error>;

    /// Name and text of each file of the preparation of inputs (default: none).
    ///
    /// # Errors
    /// A value that cannot be written.
    fn preparation(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(Vec::new())
    }

    /// Writes the model into a run directory. The files of [`preparation`](Self::preparation) are
    /// there already.
    ///
    /// # Errors
    /// By default [`dsokr_core::Error::Value`]: the predictor cannot be saved.
    fn save(&self, folder: &mut Folder) -> Result<(), Error> {
        let _ = folder;
        let allowed = "one whose Predictor::save writes it";
        Err(Error::value("encoder.kind", "a predictor without files", allowed))
    }

    /// Exports the model for other programs: a pretrained encoder as a folder of the libraries
    /// transformers and sentence-transformers. `unit_length` says whether the run scales its
    /// coordinates to unit length.
    ///
    /// # Errors
    /// [`Error::NotPretrained`] by default.
    fn export(&self, folder: &Path, unit_length: bool) -> Result<(), Error> {
        let _ = (folder, unit_length);
        Err(Error::NotPretrained)
    }

    /// Adds what computes the coordinates `[batch, p]` to an ONNX graph (default: the model has no form in ONNX).
    fn onnx(&self, graph: &mut Graph) -> Option<Value> {
        let _ = graph;
        None
    }
}

impl<F: Fn(&Split) -> Result<Vec<f32>, Error> + Send + Sync + 'static> Predictor for F {
    fn predict(&self, split: &Split) -> Result<Vec<f32>, Error> {
        self(split)
    }
}

/// The arguments of [`Fit::fit`].
pub struct Task<'a> {
    /// The configuration.
    pub config: &'a Checked,
    /// Training and validation pairs, and the outputs.
    pub dataset: &'a Dataset,
    /// The result of [`Fit::targets`].
    pub targets: &'a OutputTargets,
    /// Ranks the validation split.
    pub evaluator: &'a Evaluator<'a>,
    /// Where tensors are computed, with autodiff.
    pub device: &'a Device,
    /// Is called on every event, and can request a stop.
    pub observer: &'a mut dyn Observer,
    /// Whether it may take more memory than is available.
    pub(crate) force: bool,
    /// Those that share the fit.
    pub(crate) ranks: &'a Processes,
    /// Where the run directory is, or is to be.
    pub(crate) path: &'a Path,
    /// Whether it is there already, and is resumed.
    pub(crate) resumed: bool,
    /// The fingerprint of the data.
    pub(crate) data: &'a str,
    pub(crate) folder: Option<Folder>,
}

impl Task<'_> {
    /// Creates the run directory, or opens that of a resumed run, with the files of the
    /// preparation. Nothing is written before. A learner that does not call it gets a directory
    /// without such files after its fit.
    ///
    /// # Errors
    /// Errors of the file system; a resumed run whose preparation differs.
    pub fn begin(&mut self, files: Vec<(&'static str, String)>) -> Result<&mut Folder, Error> {
        let files = PreparationFiles::new(files)?;
        let space = self.targets.space.fingerprint();
        let mut folder = if self.ranks.is_first() && !self.resumed {
            let save = |here: &Path| {
                self.targets.space.save(here)?;
                self.dataset.outputs.features.save(&here.join(FEATURES))?;
                let Evaluator { root, decoder, .. } = *self.evaluator;
                save_scaling(decoder.scaling, here)?;
                save_constants(decoder.constants, here)?;
                save_data_folder(here, root)?;
                if self.config.encoder.abilities().spectra {
                    let polarities = Polarities::of_split(&self.dataset.train)?;
                    let text = serde_json::to_string(&polarities)? + "\n";
                    write_text(&here.join(POLARITIES), &text)?;
                }
                let file = here.join(CANDIDATES);
                save_candidates(&file, decoder.candidates, &space, self.data)
            };
            Folder::create(self.path, self.config, &files, space.clone(), save)?
        } else {
            Folder::open(self.path, space, &files)
        };
        // the other processes only read it
        if self.ranks.is_first() {
            folder = folder.logging(&self.config.logging);
        }
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
        read_text(&path).map_err(Error::reading(&path))
    }
}

/// A fitted [`Learner`].
pub struct Fitted {
    /// The fitted model.
    pub predictor: Box<dyn Predictor>,
    /// Whether its files are in the run directory already.
    pub saved: bool,
    /// Answers that have not seen their pair; needed for `decoding.hubs` and `decoding.held_out`.
    pub held_out: Option<HeldOut>,
    /// Those to the first part of the pairs that the second look leaves out, where the fit gives them on its way; else they
    /// come from [`Fit::without`].
    pub left_out: Option<CrossFitted>,
    /// A summary of the fit, one line for the log.
    pub summary: Option<String>,
    /// The values that the fit chose from lists, for advice on these lists.
    pub choices: Vec<Choice>,
    /// Lines of advice on its settings.
    pub advice: Vec<String>,
}

impl Fitted {
    /// A predictor that is saved after its fit.
    pub fn new(predictor: impl Predictor + 'static) -> Self {
        let predictor = Box::new(predictor);
        Self {
            predictor,
            saved: false,
            held_out: None,
            left_out: None,
            summary: None,
            choices: Vec::new(),
            advice: Vec::new(),
        }
    }
}
