//! The problem that a model is fitted to: a configuration, its data, and what is made of them once.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use burn::tensor::Device;
use dsokr_basis::features::PartRows;
use dsokr_basis::features::{Selected, Spread};
use dsokr_basis::{Basis, Kernel, Projection};
use dsokr_core::{Cancellation, Processes, RowWeights};
use dsokr_data::{DataRoot, Dataset, Outputs};
use dsokr_machines::{LastSystem, Scaling};
use dsokr_nn::Processor;
use tracing::info;

use super::adapted::adapted;
use super::memory::{self, Budget, Need};
use super::{WeightedRows, fit_basis, sketched_basis};
use crate::config::{Checked, SummandConfig};
use crate::encoders::spectrum_inputs::Polarities;
use crate::error::{Error, ensure};
use crate::metrics::constants::Constants;
use crate::run_dir::{BASIS, LearnedFrom, RunDir};

/// The problem that a model is fitted to. Everything that is costly is made once; a clone shares it.
#[derive(Clone, derive_more::Debug)]
#[debug("Problem({:?}, {dataset:?}, {ranks:?})", config.encoder.kind())]
pub struct Problem {
    /// The configuration, as the number of training pairs permits it.
    pub config: Arc<Checked>,
    /// Training, validation and test pairs, and the outputs.
    pub dataset: Rc<Dataset>,
    /// The folder of the data.
    pub root: DataRoot,
    /// The checksums of its tables, by their names.
    pub(crate) tables: Arc<BTreeMap<String, String>>,
    /// Means and deviations by which the features of outputs are standardised.
    pub scaling: Option<Scaling>,
    /// The constants that fit the training outputs best, where these are numbers or classes.
    pub(crate) constants: Option<Constants>,
    /// The device on which tensors are computed.
    pub device: Device,
    /// The run that is resumed, which holds the preparation of inputs and the basis already.
    pub saved: Option<RunDir>,
    /// What the memory is that a fit may take.
    pub(crate) budget: Budget,
    /// The processes that share the fit, and which of them this one is; only this process, unless the learner
    /// [shares its training](crate::Abilities::shares_training).
    pub ranks: Processes,
    /// The factored system of kernel machines with the same inputs.
    pub(crate) factors: LastSystem,
    /// The outputs of the training pairs, as indices, one for each pair.
    indices: Arc<Vec<usize>>,
    /// The outputs that belong to no pair, as indices; few learners need them.
    unlabelled: OnceLock<Vec<usize>>,
    /// The number of candidates whose rows of features differ.
    distinct_candidates: OnceLock<usize>,
    /// The one output kernel.
    kernel: OnceLock<Kernel>,
    /// A basis that has been fitted already.
    basis: Option<Basis>,
}

impl Problem {
    /// Reads the data of a configuration, and adapts the configuration to the number of training pairs. The device is
    /// opened first: one that does not exist is reported before data are read.
    ///
    /// # Errors
    /// A device that does not exist or that the learner cannot use; data that cannot be read, or for which there is no
    /// memory.
    pub(crate) fn load(
        ranks: &Processes,
        config: &Checked,
        root: &DataRoot,
        processor: Processor,
        budget: Budget,
    ) -> Result<Self, Error> {
        let device = open_device(ranks, config, processor)?;
        budget.afford(&memory::of_data(config, root))?;
        // before they are read, so that a change from then on is known
        let tables = Arc::new(config.source().table_sums(root));
        let (mut dataset, mut scaling) = read(config, root)?;
        let adapted = adapted(config, &dataset)?;
        if adapted.output != config.output {
            budget.afford(&memory::of_data(&adapted, root))?;
            (dataset, scaling) = read(&adapted, root)?;
        }
        let constants = Constants::fit(&dataset, adapted.encoder.abilities().levels);
        let indices = dataset.train.outputs.iter().flatten().copied().collect();
        Ok(Self {
            config: Arc::new(adapted),
            dataset: Rc::new(dataset),
            root: root.clone(),
            tables,
            scaling,
            constants,
            device,
            saved: None,
            budget,
            ranks: ranks.clone(),
            factors: LastSystem::default(),
            indices: Arc::new(indices),
            unlabelled: OnceLock::new(),
            distinct_candidates: OnceLock::new(),
            kernel: OnceLock::new(),
            basis: None,
        })
    }

    /// Returns this problem for a run that is resumed.
    pub(crate) fn resuming(self, saved: Option<RunDir>) -> Self {
        Self { saved, ..self }
    }

    /// Returns this problem for this process alone.
    pub(crate) fn alone(&self) -> Self {
        Self { ranks: Processes::default(), ..self.clone() }
    }

    /// Returns this problem with only some of the training pairs, whose outputs have the same kernel and basis.
    ///
    /// # Errors
    /// A pair out of range.
    pub(crate) fn with_pairs(&self, pairs: &[usize]) -> Result<Self, Error> {
        Ok(Self {
            dataset: Rc::new(self.dataset.with_pairs(pairs)?),
            indices: Arc::new(pairs.iter().map(|&pair| self.indices[pair]).collect()),
            unlabelled: OnceLock::new(),
            factors: LastSystem::default(),
            ..self.clone()
        })
    }

    /// Returns the problem of a further fit to some of the training pairs, by this process alone. The configuration corrects no
    /// predictions; `held_out` says whether the fit leaves held-out ones.
    ///
    /// # Errors
    /// A pair out of range; settings that cannot be written.
    pub(crate) fn without_corrections(
        &self,
        pairs: &[usize],
        held_out: bool,
    ) -> Result<Self, Error> {
        let config = self.config.without_corrections(held_out);
        let (config, _) = config.for_pairs(pairs.len())?;
        Ok(Self { saved: None, ..self.alone().with_pairs(pairs)?.under(config) })
    }

    /// Returns this problem with the factored system of other machines that have the same inputs.
    pub(crate) fn sharing(self, factors: LastSystem) -> Self {
        Self { factors, ..self }
    }

    /// Returns this problem under a configuration with other sketches, powers or settings of the decoding.
    pub(crate) fn under(&self, config: Checked) -> Self {
        Self { config: Arc::new(config), ..self.clone() }
    }

    /// Returns this problem with a basis that has been fitted.
    pub(crate) fn in_basis(&self, basis: Basis) -> Self {
        Self { saved: None, basis: Some(basis), ..self.clone() }
    }

    /// Returns what the training learns from.
    pub(crate) fn learned_from(&self) -> LearnedFrom {
        LearnedFrom { pairs: self.len(), tables: BTreeMap::clone(&self.tables) }
    }

    /// Returns the number of training pairs.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Returns whether there are no training pairs.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Returns the feature rows of the training outputs, one for each training pair.
    pub fn rows(&self) -> Selected<'_> {
        self.selected(&self.indices)
    }

    /// Returns the feature rows of the training outputs with the weights of their pairs.
    pub(crate) fn weighted_rows(&self) -> WeightedRows<'_> {
        WeightedRows { rows: self.rows(), weights: self.dataset.train.weights.clone() }
    }

    /// Returns the polarities of the training spectra; none where inputs are no spectra.
    ///
    /// # Errors
    /// Spectra that are not texts.
    pub(crate) fn polarities(&self) -> Result<Polarities, Error> {
        if self.config.encoder.abilities().spectra {
            Polarities::of_split(&self.dataset.train)
        } else {
            Ok(Polarities::default())
        }
    }

    /// Returns the feature rows of outputs that belong to no pair.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] where there are none.
    pub fn unlabelled(&self) -> Result<Selected<'_>, Error> {
        Ok(self.selected(self.without_pair()?))
    }

    fn without_pair(&self) -> Result<&[usize], Error> {
        let indices = self.unlabelled.get_or_init(|| self.dataset.unlabelled());
        let key = "encoder.predictions.supervised";
        let allowed = "[1]: every output belongs to a pair, none is left over";
        ensure(!indices.is_empty(), key, "a number below 1", allowed)?;
        Ok(indices)
    }

    fn selected<'s>(&'s self, indices: &'s [usize]) -> Selected<'s> {
        Selected::new(self.dataset.outputs.rows.as_ref(), indices)
    }

    /// Returns the coordinates of the right outputs of the validation split, and the pairs that they are of: those whose outputs
    /// have features.
    ///
    /// # Errors
    /// Outputs that the basis does not accept.
    pub fn validation_targets(&self, basis: &Basis) -> Result<(Vec<usize>, Projection), Error> {
        let outputs = &self.dataset.validation.outputs;
        let with_output =
            outputs.iter().enumerate().filter_map(|(pair, output)| Some((pair, (*output)?)));
        let (pairs, rows): (Vec<usize>, Vec<usize>) = with_output.unzip();
        Ok((pairs, basis.project_shared(&self.ranks, &self.selected(&rows))?))
    }

    /// Returns the one kernel of outputs, with γ from the training outputs where the configuration says so.
    ///
    /// # Errors
    /// As [`KernelConfig::fit`](crate::config::KernelConfig::fit); [`dsokr_core::Error::Value`] where there are several
    /// kernels, and for outputs that scores do not tell apart.
    pub fn kernel(&self) -> Result<&Kernel, Error> {
        if let Some(kernel) = self.kernel.get() {
            return Ok(kernel);
        }
        let kernel = self.config.output.single_kernel()?;
        if let Some(lost) = self.spread()?.and_then(|spread| spread.lost_digits()) {
            let found = format_args!("{:?}, of outputs with {lost}", kernel.name());
            let remedy = self.far_from_zero_remedy();
            let allowed = format_args!("outputs whose scores 32 bits tell apart: set {remedy}");
            return Err(Error::value("output.kernel", found, allowed));
        }
        let kernel = kernel.fit("output.kernel", &self.rows(), self.config.seed)?;
        Ok(self.kernel.get_or_init(|| kernel))
    }

    /// Returns how far the training outputs are from zero and from their mean, where scores depend on it: of dense rows under the
    /// kernel `linear`, in coordinates that count from zero. Classes and rankings are small whole numbers, whose scores 32 bits
    /// hold, however rare one of them is.
    pub(crate) fn spread(&self) -> Result<Option<Spread>, Error> {
        let output = &self.config.output;
        let is_linear = output.kernel.as_ref().is_some_and(|kernel| **kernel == Kernel::Linear);
        let are_whole = output.features.are_classes() || output.features.are_rankings();
        if !is_linear
            || are_whole
            || output.tempering().centred
            || self.config.encoder.abilities().levels.is_some()
        {
            return Ok(None);
        }
        Ok(Spread::of(&self.rows())?)
    }

    /// Returns the settings that bring outputs near zero.
    pub(crate) fn far_from_zero_remedy(&self) -> &'static str {
        // without a sketch nothing is centred
        if self.config.sketch.full {
            "output.scaling = \"standard\""
        } else {
            "output.scaling = \"standard\", or output.centred = true"
        }
    }

    /// Returns whether the configuration's kernels have weights that are still to be fitted.
    pub(crate) fn lacks_weights(&self) -> bool {
        let has_basis = self.basis.is_some() || self.saved.is_some();
        self.config.output.weights.is_some() && !has_basis
    }

    /// Returns the memory that targets and candidates take, where this process holds the targets of a share of the pairs.
    pub(crate) fn needs(&self, share: f64) -> Vec<Need> {
        let distinct = self.distinct_candidates();
        memory::of_outputs(&self.config, &self.dataset, distinct, share, self.ranks.size())
    }

    /// Returns the number of candidates whose rows of features differ. All rows are read for it, once.
    fn distinct_candidates(&self) -> usize {
        if let Some(&count) = self.distinct_candidates.get() {
            return count;
        }
        let Outputs { rows, candidates, .. } = &*self.dataset.outputs;
        let count = memory::distinct_rows(rows.as_ref(), candidates);
        *self.distinct_candidates.get_or_init(|| count)
    }

    /// Returns the number of different targets that a fit holds.
    pub(crate) fn held_targets(&self) -> usize {
        memory::held_targets(&self.config, &self.dataset)
    }

    /// Returns the number of coordinates of a prediction, at most.
    pub(crate) fn most_coordinates(&self) -> usize {
        memory::coordinates(&self.config, &self.dataset)
    }

    /// Returns the bases of the kernels that are summed, tempered, each of its part of the rows of outputs.
    pub(crate) fn summands(&self, outputs: &WeightedRows) -> Result<Vec<Basis>, Error> {
        let kernels = self.config.output.kernels.iter().enumerate();
        let summands = kernels.filter(|(_, kernel)| kernel.weight > 0.0);
        let count = self.config.output.summands().count();
        let parts = summands.zip(PartRows::all(&outputs.rows)).zip(1..);
        parts
            .map(|(((at, kernel), rows), number)| {
                let name = format!("output kernel {number} of {count}");
                let _stage = Cancellation::current().stage(name, 0);
                self.summand(at, kernel, &rows, outputs)
            })
            .collect()
    }

    fn summand(
        &self,
        at: usize,
        summand: &SummandConfig,
        rows: &PartRows,
        outputs: &WeightedRows,
    ) -> Result<Basis, Error> {
        use dsokr_core::Error::{Numeric, ZeroMatrix};
        let key = format!("output.kernels[{at}].kernel");
        let seed = self.config.seed;
        let kernel = summand.kernel.fit(&key, rows, seed)?;
        let basis =
            sketched_basis(&self.config.sketch, &kernel, rows, summand.size, seed, &self.ranks);
        let tempering = summand.tempering();
        let basis = basis.and_then(|basis| {
            basis.tempered_weighted(&tempering, rows, &outputs.weights, &self.ranks)
        });
        basis.map_err(|error| match error {
            ZeroMatrix { .. } | Numeric(_) => {
                let found = format!("{:?} ({error})", summand.kernel.name());
                Error::value(key, found, "a kernel of outputs that are not zero and vary")
            }
            other => other.into(),
        })
    }

    /// Returns the leading coordinates of the weighted sum of the kernels of bases, of the rows of outputs.
    pub(crate) fn sum(
        &self,
        bases: Vec<Basis>,
        weights: &[f64],
        outputs: &WeightedRows,
    ) -> Result<Basis, Error> {
        let _stage = Cancellation::current().stage("sum of the output kernels", 0);
        let parts = weights.iter().copied().zip(bases).collect();
        let WeightedRows { rows, weights } = outputs;
        let basis =
            Basis::sum_weighted(parts, self.config.sketch.size, rows, weights, &self.ranks)?;
        Ok(basis.tempered_weighted(&self.config.output.tempering(), rows, weights, &self.ranks)?)
    }

    /// Returns the configuration's basis, fitted on the training outputs and, if `unlabelled`, on the outputs without a pair
    /// too; the basis of a resumed run is read.
    ///
    /// # Errors
    /// Outputs that the kernel or the sketch does not accept.
    pub fn basis(&self, unlabelled: bool) -> Result<Basis, Error> {
        if let Some(basis) = &self.basis {
            return Ok(basis.clone());
        }
        if let Some(run) = &self.saved {
            return Ok(Basis::load(&run.path().join(BASIS))?);
        }
        let without_pair = if unlabelled { self.without_pair()? } else { &[] };
        let all = [&self.indices, without_pair].concat();
        let weights = RowWeights::joined(
            (&self.dataset.train.weights, self.len()),
            (&RowWeights::equal(), without_pair.len()),
        );
        let outputs = WeightedRows { rows: self.selected(&all), weights };
        let config = &self.config;
        let fitted = if config.output.kernel.is_some() {
            fit_basis(
                config,
                self.kernel()?,
                &outputs,
                config.sketch.size,
                config.seed,
                &self.ranks,
            )?
        } else {
            let weights = config.output.summands().map(|summand| summand.weight);
            self.sum(self.summands(&outputs)?, &weights.collect::<Vec<f64>>(), &outputs)?
        };
        let rank = fitted.dimension();
        let size = fitted.options().size;
        if rank < size && config.output.kernels.is_empty() {
            info!(
                rank,
                size,
                "the Gram matrix of the sketch has a smaller rank than the sketch has rows: the extra \
                 dimensions are dropped"
            );
        }
        Ok(fitted)
    }
}

/// Returns the device of a fit, which the learner must be able to use.
fn open_device(ranks: &Processes, config: &Checked, processor: Processor) -> Result<Device, Error> {
    let device = processor.open_for(ranks)?;
    if config.encoder.abilities().needs_cpu && processor != Processor::Cpu {
        let device = processor.to_string();
        let message = "kernel machines need the CPU".into();
        return Err(dsokr_nn::Error::Device { device, message }.into());
    }
    Ok(device)
}

/// Reads the data, with the features of outputs standardised, and how they are.
fn read(config: &Checked, root: &DataRoot) -> Result<(Dataset, Option<Scaling>), Error> {
    let (dataset, scaling) = config.load_data(root)?;
    info!(
        train = dataset.train.ids.len(),
        validation = dataset.validation.ids.len(),
        outputs = dataset.outputs.ids.len(),
        candidates = dataset.outputs.candidates.len(),
        "data loaded"
    );
    Ok((dataset, scaling))
}
