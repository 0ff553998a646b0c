//! The traits of everything that learns: a [`Learner`] is what an `[encoder]` table describes, a
//! [`Predictor`] is the fitted model.

use std::any::Any;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config;
use crate::config::{Abilities, Checked, Config, EncoderSettings, EncoderTable, Lowered};
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::choice::Choice;
use crate::run_dir::{HeldOut, PreparationFile, RunDir};
use crate::targets::memory::Need;
use crate::targets::{OutputTargets, Problem};
use dsokr_core::processes::Held;
use dsokr_data::Split;
use dsokr_decode::{CandidateBlocks, Candidates};
use dsokr_nn::onnx::{Graph, Value};
use dsokr_train::Observer;

/// A model that an `[encoder]` table describes: it is fitted on a training split, or read from a
/// run.
///
/// Every [`Recipe`](crate::Recipe) of a neural encoder is a learner, and so is
/// [`KernelMachineConfig`](crate::config::KernelMachineConfig), the kernel machines. A program adds
/// its own with [`register`]. Then configurations with its `kind` train, resume, evaluate and search like the
/// built-in ones. `examples/custom_predictor.rs` is a complete program.
pub trait Learner: Any + Debug + Send + Sync {
    /// Checks the settings by themselves and against the rest of the configuration. The default accepts every value of
    /// the type.
    ///
    /// # Errors
    /// The first value out of range, or key that is not compatible with these settings, preferably as
    /// [`dsokr_core::Error::Value`].
    fn check(&self, config: &Config) -> Result<(), Error> {
        let _ = config;
        Ok(())
    }

    /// Describes its inputs, needs and predictions (default: texts, a device, and points of a feature space).
    fn abilities(&self) -> Abilities<'_> {
        Abilities::default()
    }

    /// Returns the table of the settings for so many training pairs, with the sizes that are lowered to their number (default:
    /// the settings stay as they are). It is asked for the pairs of each fit before anything is written.
    ///
    /// # Errors
    /// Settings that need more pairs, or that cannot be written as TOML.
    fn for_pairs(&self, pairs: usize) -> Result<Option<(EncoderTable, Vec<Lowered>)>, Error> {
        let _ = pairs;
        Ok(None)
    }

    /// Prepares the fit: the inputs of the training pairs, as they are learned from. A closure that fits is a
    /// prepared fit too.
    ///
    /// # Errors
    /// Inputs that cannot be prepared.
    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Fit + 'a>, Error>;

    /// Reads the files that [`Predictor::save`] has written into a run directory, for a device. Its predictions have as
    /// many coordinates as the `width` says.
    ///
    /// # Errors
    /// A file that is missing, damaged, or belongs to a different run.
    fn load(
        &self,
        run: &RunDir,
        config: &Checked,
        width: usize,
        device: &Device,
    ) -> Result<Box<dyn Predictor>, Error>;
}

/// A [`Learner`] with its training inputs prepared: it makes targets, and is fitted to them.
///
/// Where `decoding` needs held-out predictions that the learner does not give ([`Abilities::held_out`]), it is prepared anew
/// with some of the training pairs, and fitted without a run to the targets of these pairs in the same space: then
/// [`targets`](Self::targets) is not called, and `evaluator` knows all pairs.
///
/// A fit in steps keeps its state by [`RunDir::write_checkpoint`], whose documentation has a complete learner; the processes
/// that share a fit are [`Problem::ranks`].
pub trait Fit {
    /// Returns the name and text of each file of the preparation of inputs, which a run has before it is fitted; those of
    /// [`Predictor::preparation`] (default: none).
    ///
    /// # Errors
    /// A value that cannot be written.
    fn files(&self) -> Result<Vec<PreparationFile>, Error> {
        Ok(Vec::new())
    }

    /// Returns the training pairs whose targets this process holds, where several processes share the fit and each holds some of
    /// them (default: each holds all).
    fn held_targets(&self) -> Option<&Held> {
        None
    }

    /// Returns the targets of the fit (default: the training outputs in the sketched eigenbasis). A learner may choose their
    /// space on the validation split, such as that of a learned embedding.
    ///
    /// # Errors
    /// Outputs that the configuration's kernel or sketch does not accept.
    fn targets(&mut self, problem: &Problem) -> Result<OutputTargets, Error> {
        OutputTargets::in_basis(problem)
    }

    /// Returns the memory and time of the fit in addition to the data, the targets and the candidates, for predictions with so
    /// many coordinates: the estimate that `dsokr train --plan` prints (default: nothing is known).
    fn needs(&self, coordinates: usize) -> Vec<Need> {
        let _ = coordinates;
        Vec::new()
    }

    /// Makes the model that the fit starts from, and refuses what cannot be fitted to the targets: nothing has been
    /// written yet (default: nothing is made before the fit).
    ///
    /// # Errors
    /// Settings that are not compatible with the data.
    fn start(&mut self, targets: &OutputTargets) -> Result<(), Error> {
        let _ = targets;
        Ok(())
    }

    /// Returns the checksum of the weights of a file that the model starts from, once it has [started](Self::start)
    /// (default: none). None where it starts from no file, or goes on from a state of the run.
    fn initial_weights(&self) -> Option<String> {
        None
    }

    /// Fits the model to the targets. `evaluator` chooses on the validation split what the configuration leaves open,
    /// and `run` keeps the [state](RunDir::write_checkpoint) of a fit in steps, if there is one.
    ///
    /// # Errors
    /// Errors from the fit.
    fn fit(
        &mut self,
        targets: &OutputTargets,
        evaluator: &Evaluator,
        run: Option<&mut RunDir>,
        observer: &mut dyn Observer,
    ) -> Result<Fitted, Error>;

    /// Returns predictions of models that were each fitted to the targets without one of the `folds`, which hold training pairs
    /// in rising order, for `decoding.reranker`. It is called only where [`Abilities::held_out`] says that the learner
    /// gives them (default: none), and so [`Fitted::held_out`] too; else the learner is prepared and fitted anew without each
    /// fold.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    fn fold_predictions(
        &self,
        targets: &OutputTargets,
        folds: &[Vec<usize>],
    ) -> Result<Option<Vec<FoldPredictions>>, Error> {
        let _ = (targets, folds);
        Ok(None)
    }
}

impl<F: FnMut(&OutputTargets) -> Result<Fitted, Error>> Fit for F {
    fn fit(
        &mut self,
        targets: &OutputTargets,
        _: &Evaluator,
        _: Option<&mut RunDir>,
        _: &mut dyn Observer,
    ) -> Result<Fitted, Error> {
        self(targets)
    }
}

impl<T: Learner> EncoderSettings for T {
    fn check(&self, config: &Config) -> Result<(), Error> {
        Learner::check(self, config)
    }

    fn for_pairs(&self, pairs: usize) -> Result<Option<(EncoderTable, Vec<Lowered>)>, Error> {
        Learner::for_pairs(self, pairs)
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
    /// Creates the table that describes a learner of a kind that is built in, or has been [`register`]ed.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for a learner without a kind; settings that cannot be written as TOML.
    pub fn from_learner<T: Learner + Serialize>(learner: T) -> Result<Self, Error> {
        Self::with_kind(learner)
    }

    /// Returns the learner that the table describes.
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

/// Predictions of a model that was fitted without a fold of the training pairs.
///
/// Two of the three are [`HeldOut`]. The third is for pairs that the model was fitted to, so it is not held out: a
/// reranker learns from it what a query looks like that resembles a training input.
#[derive(Clone, Debug)]
pub struct FoldPredictions {
    /// Predictions for the pairs of the fold.
    pub fold: HeldOut,
    /// Predictions for pairs that are not of the fold, by models that were fitted without the fold and without the pair.
    pub rest: HeldOut,
    /// Some of the pairs that the model was fitted to, such as every eighth.
    pub fitted_pairs: Vec<usize>,
    /// Its predictions for these, `[pairs × p]` row-major.
    pub fitted_predictions: Vec<f32>,
}

/// A fitted [`Learner`]: it maps inputs to coordinates. After the fit nothing depends on the type
/// of the learner.
///
/// A closure from a [`Split`] to coordinates is a predictor too; a run can hold it, but not save
/// it.
pub trait Predictor: Any + Send + Sync {
    /// Returns the coordinates z of each input of a split, `[inputs × p]` row-major.
    ///
    /// # Errors
    /// Inputs that cannot be prepared.
    fn predict(&self, split: &Split) -> Result<Vec<f32>, Error>;

    /// Returns whether it knows some part of each input of a split, such as a word: the prediction for another input says
    /// nothing of it (default: empty, as every input says something).
    ///
    /// # Errors
    /// Inputs that cannot be prepared.
    fn knows(&self, split: &Split) -> Result<Vec<bool>, Error> {
        let _ = split;
        Ok(Vec::new())
    }

    /// Returns the number of columns of the vectors that it reads (default: none, where it reads no vectors or does not say).
    fn vector_width(&self) -> Option<usize> {
        None
    }

    /// Returns the name and text of each file of the preparation of inputs (default: none).
    ///
    /// # Errors
    /// A value that cannot be written.
    fn preparation(&self) -> Result<Vec<PreparationFile>, Error> {
        Ok(Vec::new())
    }

    /// Returns the name and text of each file by which other programs make the inputs of [`onnx`](Self::onnx) (default: those of
    /// [`preparation`](Self::preparation)).
    ///
    /// # Errors
    /// A value that cannot be written.
    fn input_files(&self) -> Result<Vec<PreparationFile>, Error> {
        self.preparation()
    }

    /// Writes the model into a run directory. The files of [`preparation`](Self::preparation) are
    /// there already.
    ///
    /// # Errors
    /// By default [`dsokr_core::Error::Value`]: the predictor cannot be saved.
    fn save(&self, run: &mut RunDir) -> Result<(), Error> {
        let _ = run;
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

impl dyn Predictor {
    /// Returns the predictions for a split, checked to have as many coordinates for each input as the candidates: a predictor
    /// may be custom code.
    ///
    /// # Errors
    /// As [`predict`](Self::predict); a different number of coordinates.
    pub(crate) fn predict_checked(
        &self,
        split: &Split,
        candidates: &Candidates,
    ) -> Result<Vec<f32>, Error> {
        let predictions = self.predict(split)?;
        let inputs = split.inputs.len();
        let what = format!("coordinates that the predictor gives for {inputs} inputs");
        dsokr_core::Error::check_length(&what, predictions.len(), inputs * candidates.dim())?;
        Ok(predictions)
    }
}

impl<F: Fn(&Split) -> Result<Vec<f32>, Error> + Send + Sync + 'static> Predictor for F {
    fn predict(&self, split: &Split) -> Result<Vec<f32>, Error> {
        self(split)
    }
}

/// A fitted [`Learner`].
#[derive(derive_more::Debug)]
pub struct Fitted {
    /// The fitted model.
    #[debug(skip)]
    pub predictor: Box<dyn Predictor>,
    /// Whether its files are in the run directory already.
    pub saved: bool,
    /// Predictions for training pairs by models that have not seen them, where [`Abilities::held_out`] says that the fit
    /// leaves them. Where `decoding` needs them and the fit leaves none, further fits make them.
    pub held_out: Option<HeldOut>,
    /// A summary of the fit, one line for the log; by default the kind of the learner, where it does not
    /// [train in steps](Abilities::trains_in_steps).
    pub summary: Option<String>,
    /// The values that the fit chose from lists, for advice on these lists.
    pub choices: Vec<Choice>,
    /// Lines of advice on its settings.
    pub advice: Vec<String>,
}

impl Fitted {
    /// Creates a predictor that is saved after its fit.
    pub fn new(predictor: impl Predictor + 'static) -> Self {
        let predictor = Box::new(predictor);
        Self {
            predictor,
            saved: false,
            held_out: None,
            summary: None,
            choices: Vec::new(),
            advice: Vec::new(),
        }
    }

    /// Returns what the log says of a fit that had no steps; none of a training, which has logged its steps.
    pub(crate) fn solved_summary(&self, config: &Checked) -> Option<String> {
        if config.encoder.abilities().trains_in_steps {
            return None;
        }
        let summary = self.summary.as_deref().unwrap_or(config.encoder.kind());
        Some(summary.to_owned())
    }

    /// Writes the model into its run, unless the fit has.
    ///
    /// # Errors
    /// What the file system reports.
    pub(crate) fn save(&self, run: RunDir) -> Result<RunDir, Error> {
        let mut run = run;
        if !self.saved {
            run = run.save_preparation(&self.predictor.preparation()?)?;
            self.predictor.save(&mut run)?;
        }
        Ok(run)
    }
}
