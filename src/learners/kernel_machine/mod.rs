//! Kernel machines as learners: IOKR and its sketched forms, machines with Lipschitz losses, and learned output embeddings.
//!
//! A [`KernelMachineConfig`] prepares a [`PreparedMachine`], which makes the targets and is fitted to them. These are the
//! files, in that order:
//!
//! | file | holds |
//! |---|---|
//! | `prepared.rs` | the prepared machine, which calls what follows |
//! | `inputs.rs`, `preparation.rs`, `input_weights.rs` | inputs that become rows under a kernel, or under a weighted sum of kernels |
//! | `rows.rs`, `part.rs`, `computed.rs` | the rows, and those of which a process holds a part |
//! | `output_weights.rs`, `output_matrix.rs` | targets: weights of output kernels, the matrix of a decomposable one |
//! | `needs.rs` | memory and time |
//! | `embedding.rs` | targets in a learned embedding of the outputs |
//! | `fit.rs`, `scaling.rs`, `lambda.rs`, `last_fold.rs` | the fit: inputs are scaled, λ is chosen, and the machine is fitted with it |
//! | `advice.rs` | what to say of a fit |
//! | `predictor.rs` | the fitted machine |

mod advice;
mod computed;
mod embedding;
mod fit;
mod input_weights;
mod inputs;
mod lambda;
mod last_fold;
mod needs;
mod output_matrix;
mod output_weights;
mod part;
mod predictor;
mod preparation;
mod prepared;
mod rows;
mod scaling;

use std::sync::Arc;

use burn::tensor::Device;
use dsokr_basis::RowSource;
use dsokr_core::processes::Held;
use dsokr_data::{Dataset, Inputs};
use dsokr_machines::{KernelModel, KernelWeighting, RowGroups};
use dsokr_train::check_basis;
use inputs::MachineInputs;
use predictor::KernelMachine;
use prepared::PreparedMachine;

use crate::config::{
    Abilities, Checked, Config, EmbeddingConfig, EncoderTable, HeldOutPredictions,
    KernelMachineConfig, Lowered, MachineInputsConfig,
};
use crate::error::Error;
use crate::learners::learner::{Fit, Learner, Predictor};
use crate::run_dir::{EmbeddingCurve, RunDir};
use crate::targets::Problem;

impl Learner for KernelMachineConfig {
    fn check(&self, config: &Config) -> Result<(), Error> {
        self.validate()?;
        self.check_compatible(config)
    }

    fn abilities(&self) -> Abilities<'_> {
        let has_several = self.lambda.values().len() > 1;
        let embedding = self.embedding();
        Abilities {
            reads: self.reads(),
            spectra: self.reads_spectra(),
            formulas: self.needs_formulas(),
            words: self.words_read(),
            weighs_pairs: true,
            levels: self.levels(),
            needs_cpu: true,
            shares_training: self.solver.abilities().shared,
            trains_in_steps: false,
            needs_validation: !self.fits_without_validation(),
            chosen_on_validation: self.chosen_on_validation(),
            chosen_on_held_out: has_several.then_some("λ is"),
            held_out: self.held_out(),
            weighs_kernels: self.has_held_out_predictions(),
            weighs_outputs: true,
            learns_targets: embedding.is_some(),
            // a mixed embedding also learns from outputs without a pair
            sketches_unlabelled: embedding.is_some_and(EmbeddingConfig::is_mixed),
        }
    }

    fn for_pairs(&self, pairs: usize) -> Result<Option<(EncoderTable, Vec<Lowered>)>, Error> {
        let adapted = Self::for_pairs(self, pairs);
        // what cannot be lowered is refused
        adapted.as_ref().map_or(self, |(settings, _)| settings).check_pairs(pairs)?;
        let Some((settings, lowered)) = adapted else { return Ok(None) };
        Ok(Some((EncoderTable::from_learner(settings)?, lowered)))
    }

    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Fit + 'a>, Error> {
        Ok(Box::new(PreparedMachine::new(self, problem)?))
    }

    fn load(
        &self,
        run: &RunDir,
        _: &Checked,
        _: usize,
        _: &Device,
    ) -> Result<Box<dyn Predictor>, Error> {
        let path = run.path();
        let Some(file) = KernelModel::open(path)? else {
            let name =
                if self.is_lipschitz() { "machine.safetensors" } else { "ridge.safetensors" };
            return Err(run.no_model(&path.join(name)));
        };
        let inputs = MachineInputs::load(self, path)?;
        check_basis(&file, run.space())?;
        run.clone().prepared(&inputs.files()?)?.check_preparation(&file)?;
        let model = Arc::new(inputs.model(&file)?);
        let curve = EmbeddingCurve::read(path)?;
        Ok(Box::new(KernelMachine { inputs: Arc::new(inputs), model, curve }))
    }
}

impl KernelMachineConfig {
    /// Returns whether several processes each hold the features of their own inputs alone. Vectors in memory and values of
    /// kernels are what the data hold.
    fn divides_inputs(&self, dataset: &Dataset) -> bool {
        self.all_inputs().all(MachineInputsConfig::are_divided)
            && match &dataset.train.inputs {
                Inputs::Texts(_) => true,
                Inputs::Vectors(rows) => rows.in_file(),
                Inputs::Kernels(_) => false,
            }
    }

    /// Returns the training pairs whose inputs and targets this process holds, where it does not hold all. Each holds all
    /// where one process goes on alone after the fit, or where all predict all pairs.
    fn held(&self, problem: &Problem) -> Option<Held> {
        let dataset = &problem.dataset;
        let decoding = &problem.config.decoding;
        let goes_on = decoding.reranker.is_some()
            || decoding.needs_held_out() && self.held_out() < HeldOutPredictions::Pairs
            || self.embedding().is_some()
            // the kernels of all training inputs are compared
            || self.weights == Some(KernelWeighting::Alignf);
        let is_shared = problem.ranks.size() > 1 && self.solver.abilities().shared;
        let train = &dataset.train;
        let held = self.solver.held(&problem.ranks, train.ids.len(), &train.weights);
        Some(held).filter(|_| is_shared && !goes_on)
    }
}

/// Returns the training pairs that held-out predictions leave out together: what a split of the data would keep together.
fn left_out_together(problem: &Problem) -> Result<RowGroups, Error> {
    Ok(RowGroups::new(problem.len(), &problem.dataset.training_groups())?)
}
