//! Inputs of kernel machines: rows that kernels compare, or values of kernels.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use dsokr_basis::features::{JoinedRows, ranges};
use dsokr_basis::kernel::{OutputKernel, SumKernel, gram};
use dsokr_basis::{Features, Kernel, RowKind, RowSource};
use dsokr_core::Cancellation;
use dsokr_core::store::Stored;
use dsokr_data::{ReadTexts, Split};
use dsokr_machines::{
    GramMatrix, KernelModel, KernelWeighting, ScaledRows, combine, nystrom_features,
};
use faer::Mat;
use serde::{Deserialize, Serialize};

use super::input_weights::weights;
use super::part::SplitPart;
use super::preparation::{Source, fitted};
use super::rows::MachineRows;
use crate::config::{InputSummandConfig, KernelMachineConfig, MachineInputsConfig};
use crate::encoders::inputs::PrepareRows;
use crate::error::Error;
use crate::run_dir::read_needed;
use crate::targets::Problem;

const KERNELS: &str = "kernels.json";

/// Rows of several kernels that are joined at a time.
const JOINED: usize = 4096;

/// The preparation of inputs as rows with a kernel, or of values of kernels.
pub(super) enum MachineInputs {
    /// The inputs of one kernel.
    One(Box<dyn PrepareRows>, Arc<dyn OutputKernel>),
    /// The inputs of a weighted sum of kernels, in the order of the configuration.
    Sum(Vec<Summand>),
    /// The values of kernels that were computed elsewhere.
    Kernels(CombinedKernels),
}

/// Values of several kernels with the training inputs, as those of one kernel.
#[derive(Serialize, Deserialize)]
pub(super) struct CombinedKernels {
    /// Number of training inputs.
    training: usize,
    /// The weight of each kernel.
    weights: Vec<f64>,
}

/// One of the kernels of a sum.
pub(super) struct Summand {
    weight: f64,
    kernel: Kernel,
    /// The preparation of its rows; none where a rule gave the kernel the weight 0, so that nothing needs its rows.
    prepared: Option<Box<dyn PrepareRows>>,
}

/// The preparations of a sum, as `kernels.json` holds them.
#[derive(Serialize, Deserialize)]
struct StoredSum {
    weights: Vec<f64>,
    /// The text of the file that each would have by itself; none of a kernel whose rows are not needed.
    inputs: Vec<Option<String>>,
    /// The kernels, with the γ that was found.
    kernels: Vec<Kernel>,
}

/// A kernel of a sum with the preparation that was fitted for it, and the training inputs' rows that this process holds.
struct FittedPart {
    prepared: Box<dyn PrepareRows>,
    kernel: Kernel,
    rows: Features,
}

/// Inputs that were fitted to training inputs.
pub(super) struct FittedInputs {
    pub inputs: MachineInputs,
    /// The rows of the training inputs that this process holds, under each kernel; empty where the fit has not computed them.
    pub parts: Vec<Features>,
}

impl MachineInputs {
    /// Fits the inputs. Weights of kernels are learned with the training outputs.
    pub(super) fn fit(
        settings: &KernelMachineConfig,
        train: &SplitPart,
        problem: &Problem,
    ) -> Result<FittedInputs, Error> {
        if let MachineInputsConfig::Kernels { combination } = &settings.inputs {
            let inputs = Self::precomputed(settings, *combination, train.split, problem)?;
            return Ok(FittedInputs { inputs, parts: Vec::new() });
        }
        if settings.kernels.is_empty() {
            Self::fit_one(settings, train)
        } else {
            Self::fit_sum(settings, train, problem)
        }
    }

    /// Fits the inputs of one kernel.
    fn fit_one(settings: &KernelMachineConfig, train: &SplitPart) -> Result<FittedInputs, Error> {
        let mut texts = ReadTexts::once(train.part().inputs.texts().unwrap_or_default());
        let (prepared, rows) = fitted("encoder.inputs", &settings.inputs, train, &mut texts)?;
        let kernel = prepared.kernel(&settings.kernel);
        let inputs = Self::One(prepared, kernel);
        Ok(FittedInputs { inputs, parts: rows.into_iter().collect() })
    }

    /// Fits the inputs of a weighted sum of kernels, and their weights.
    fn fit_sum(
        settings: &KernelMachineConfig,
        train: &SplitPart,
        problem: &Problem,
    ) -> Result<FittedInputs, Error> {
        let mut texts = ReadTexts::new(train.part().inputs.texts().unwrap_or_default());
        let mut fitted_parts = Vec::new();
        let weighted = settings.kernels.iter().enumerate().filter(|(_, part)| part.weight > 0.0);
        let count = settings.summands().count();
        for ((at, part), number) in weighted.zip(1..) {
            let name = format!("input kernel {number} of {count}");
            let _stage = Cancellation::current().stage(name, 0);
            let key = format!("encoder.kernels[{at}].inputs");
            let (prepared, rows) = fitted(&key, &part.inputs, train, &mut texts)?;
            let rows = match rows {
                Some(rows) => rows,
                None => prepared.rows(train.part())?.into_owned(),
            };
            let key = format!("encoder.kernels[{at}].kernel");
            let seed = problem.config.seed;
            let kernel = part.kernel.fit(&key, &train.rows(prepared.as_ref(), &rows)?, seed)?;
            fitted_parts.push(FittedPart { prepared, kernel, rows });
        }
        drop(texts);
        let weights = weights_of_sum(settings, train, problem, &fitted_parts)?;
        let mut summands = Vec::new();
        let mut parts = Vec::new();
        for (FittedPart { prepared, kernel, rows }, weight) in fitted_parts.into_iter().zip(weights)
        {
            let is_needed = weight > 0.0;
            summands.push(Summand { weight, kernel, prepared: is_needed.then_some(prepared) });
            parts.extend(is_needed.then_some(rows));
        }
        Ok(FittedInputs { inputs: Self::Sum(summands), parts })
    }

    /// Returns kernels that were computed elsewhere, with their weights by a rule.
    fn precomputed(
        settings: &KernelMachineConfig,
        rule: KernelWeighting,
        train: &Split,
        problem: &Problem,
    ) -> Result<Self, Error> {
        let values = train.inputs.kernels()?;
        let files = &problem.config.data.facts().kernel_files;
        let name = |at: usize| files.get(at).cloned().unwrap_or_default();
        let names: Vec<_> = (0..values.matrices.len()).map(name).collect();
        let whole = values.anchors.is_empty();
        let weights = weights(settings, rule, problem, &names, whole, |at, pairs| {
            let all = &values.matrices[at];
            let n = pairs.len();
            if let Some(anchors) = values.anchors.get(at) {
                let values = Mat::from_fn(n, anchors.nrows(), |i, j| all[(pairs[i], j)]);
                let rows = nystrom_features(values.as_ref(), anchors.as_ref())?;
                return Ok(Cow::Owned(Kernel::Linear.block(&rows, &rows)?));
            }
            Ok(if n == all.nrows() {
                Cow::Borrowed(all)
            } else {
                Cow::Owned(Mat::from_fn(n, n, |i, j| all[(pairs[i], pairs[j])]))
            })
        })?;
        let kernels = CombinedKernels { weights, training: values.training() };
        Ok(Self::Kernels(kernels))
    }

    /// Reads inputs of one kind under one kernel.
    fn one(settings: &KernelMachineConfig, source: Source) -> Result<Self, Error> {
        let prepared = source.prepared(&settings.inputs)?;
        let kernel = prepared.kernel(&settings.kernel);
        Ok(Self::One(prepared, kernel))
    }

    /// Finds γ of the one kernel from the training inputs, as the machine scales them, where the configuration says so.
    /// Before, and in a run that is read, it is 1: the file of the model has that of the fit. `parts` are the rows that the
    /// fit has computed.
    pub(super) fn fit_kernel(
        &mut self,
        settings: &KernelMachineConfig,
        train: &SplitPart,
        parts: &[Features],
        seed: u64,
    ) -> Result<(), Error> {
        if settings.kernel.stated().is_some() {
            return Ok(());
        }
        let Self::One(prepared, kernel) = self else {
            return Ok(());
        };
        let computed;
        let held = match parts.first() {
            Some(rows) => rows,
            None => {
                computed = prepared.rows(train.part())?;
                computed.as_ref()
            }
        };
        let rows = train.rows(prepared.as_ref(), held)?;
        let scaling = match &settings.inputs {
            MachineInputsConfig::Vectors { scaling } => scaling.fit(&rows, &train.split.weights)?,
            MachineInputsConfig::Ngrams { .. }
            | MachineInputsConfig::Features { .. }
            | MachineInputsConfig::Spectra { .. }
            | MachineInputsConfig::Mixtures(_)
            | MachineInputsConfig::Kernels { .. } => None,
        };
        // γ depends on a few rows, which are scaled when they are read
        let scaled = scaling.map(|scaling| ScaledRows::new(scaling, &rows));
        let rows: &dyn RowSource = match &scaled {
            Some(scaled) => scaled,
            None => &rows,
        };
        *kernel = Arc::new(settings.kernel.fit("encoder.kernel", rows, seed)?);
        Ok(())
    }

    /// Reads inputs from a run directory.
    pub(super) fn load(settings: &KernelMachineConfig, folder: &Path) -> Result<Self, Error> {
        if let MachineInputsConfig::Kernels { .. } = &settings.inputs {
            return Ok(Self::Kernels(read_needed(&folder.join(KERNELS))?));
        }
        if settings.kernels.is_empty() {
            return Self::one(settings, Source::Folder(folder));
        }
        let path = folder.join(KERNELS);
        let StoredSum { weights, inputs, kernels } = read_needed(&path)?;
        let configured: Vec<_> = settings.summands().collect();
        let counts = [weights.len(), inputs.len(), kernels.len()];
        if counts != [configured.len(); 3] {
            let [weights, inputs, kernels] = counts;
            let message = format!(
                "{weights} weights, {inputs} inputs and {kernels} kernels; expected {} each",
                configured.len()
            );
            return Err(Error::run(path, message));
        }
        let summand = |(at, part): (usize, &&InputSummandConfig)| {
            let text = inputs[at].as_ref();
            let prepared = text.map(|text| Source::Text(text, &path).prepared(&part.inputs));
            Ok(Summand {
                weight: weights[at],
                kernel: kernels[at].clone(),
                prepared: prepared.transpose()?,
            })
        };
        let summands = configured.iter().enumerate().map(summand).collect::<Result<_, Error>>()?;
        Ok(Self::Sum(summands))
    }

    /// Returns the name and text of each file that holds them.
    pub(super) fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        let json = match self {
            Self::One(prepared, _) => return Ok(prepared.file()?.into_iter().collect()),
            Self::Kernels(kernels) => serde_json::to_string(kernels)?,
            Self::Sum(summands) => {
                let text = |summand: &Summand| {
                    let Some(prepared) = &summand.prepared else { return Ok(None) };
                    Ok(Some(prepared.file()?.map_or_else(String::new, |(_, text)| text)))
                };
                serde_json::to_string(&StoredSum {
                    weights: summands.iter().map(|summand| summand.weight).collect(),
                    inputs: summands.iter().map(text).collect::<Result<_, Error>>()?,
                    kernels: summands.iter().map(|summand| summand.kernel.clone()).collect(),
                })?
            }
        };
        Ok(vec![(KERNELS, json)])
    }

    /// Returns the number of columns of the vectors that are read, where inputs are vectors.
    pub(super) fn vector_width(&self) -> Option<usize> {
        match self {
            Self::One(prepared, _) => Some(prepared.width()),
            Self::Sum(summands) => {
                summands.iter().find_map(|summand| Some(summand.prepared.as_ref()?.width()))
            }
            Self::Kernels(_) => None,
        }
    }

    /// Returns whether some kernel knows a part of each input of a split; empty where every input says something to one of them.
    pub(super) fn knows(&self, split: &Split) -> Result<Vec<bool>, Error> {
        match self {
            Self::One(prepared, _) => prepared.knows(split),
            Self::Kernels(_) => Ok(Vec::new()),
            Self::Sum(summands) => {
                let mut known_to_some = vec![false; split.ids.len()];
                for prepared in summands.iter().flat_map(|summand| &summand.prepared) {
                    let knows = prepared.knows(split)?;
                    if knows.is_empty() {
                        return Ok(knows);
                    }
                    for (is_known, knows) in known_to_some.iter_mut().zip(knows) {
                        *is_known |= knows;
                    }
                }
                Ok(known_to_some)
            }
        }
    }

    /// Returns the training inputs as a machine takes them, from the rows under each kernel that this process holds, where
    /// the fit has left these.
    pub(super) fn training_rows<'s>(
        self: &Arc<Self>,
        mut parts: Vec<Features>,
        train: &SplitPart<'s>,
    ) -> Result<MachineRows<'s>, Error> {
        let rows = match (self.as_ref(), parts.pop()) {
            (Self::One(_, kernel), Some(rows)) => {
                MachineRows::Features(Cow::Owned(rows), Arc::clone(kernel))
            }
            (Self::Sum(summands), Some(last)) => {
                parts.push(last);
                joined_rows(summands, parts)?
            }
            (Self::One(..) | Self::Sum(..) | Self::Kernels(_), _) => {
                return self.split_rows(train);
            }
        };
        if train.is_part() { self.held_rows(train, rows) } else { Ok(rows) }
    }

    /// Returns all rows of a split, of which this process holds `rows`.
    fn held_rows<'s>(
        self: &Arc<Self>,
        split: &SplitPart<'s>,
        rows: MachineRows,
    ) -> Result<MachineRows<'s>, Error> {
        let inputs = Arc::clone(self);
        split.machine_rows(rows, move |split| Ok(inputs.rows(split)?.into_features()?.0))
    }

    /// Returns a split's inputs as a machine takes them, of which this process holds some.
    pub(super) fn split_rows<'s>(
        self: &Arc<Self>,
        split: &SplitPart<'s>,
    ) -> Result<MachineRows<'s>, Error> {
        if !split.is_part() {
            return self.rows(split.split);
        }
        let rows = match self.rows(split.part()) {
            Ok(rows) => rows,
            // an error of all pairs has their lines
            Err(error) => return Err(self.rows(split.split).err().unwrap_or(error)),
        };
        self.held_rows(split, rows)
    }

    /// Returns a split's inputs as a machine takes them.
    pub(super) fn rows<'s>(&self, split: &'s Split) -> Result<MachineRows<'s>, Error> {
        match self {
            Self::One(prepared, kernel) => {
                Ok(MachineRows::Features(prepared.rows(split)?, Arc::clone(kernel)))
            }
            Self::Sum(summands) => {
                let mut texts = ReadTexts::new(split.inputs.texts().unwrap_or_default());
                let needed = summands.iter().flat_map(|summand| &summand.prepared);
                let rows = needed
                    .map(|prepared| Ok(prepared.rows_read(split, &mut texts)?.into_owned()))
                    .collect::<Result<_, Error>>()?;
                joined_rows(summands, rows)
            }
            Self::Kernels(CombinedKernels { weights, training }) => {
                let values = split.inputs.kernels()?;
                if values.training() != *training {
                    return Err(dsokr_core::Error::width(values.training(), *training).into());
                }
                let sum = |all: &[Mat<f64>]| {
                    combine(&all.iter().map(Mat::as_ref).collect::<Vec<_>>(), weights)
                };
                let all = sum(&values.matrices)?;
                if values.anchors.is_empty() {
                    return Ok(MachineRows::Gram(GramMatrix::new(all)));
                }
                let rows = nystrom_features(all.as_ref(), sum(&values.anchors)?.as_ref())?;
                Ok(MachineRows::Features(Cow::Owned(rows), Arc::new(Kernel::Linear)))
            }
        }
    }

    /// Reads a model of these inputs.
    pub(super) fn model(&self, file: &Stored) -> Result<KernelModel, Error> {
        let kernel: Arc<dyn OutputKernel> = match self {
            Self::One(_, kernel) => Arc::clone(kernel),
            Self::Sum(summands) => {
                let sum = sum(summands);
                // the rows of such a sum are joined under the linear kernel
                if sum.is_linear() {
                    return Ok(KernelModel::read(file)?);
                }
                Arc::new(sum)
            }
            Self::Kernels(_) => return Ok(KernelModel::read(file)?),
        };
        Ok(if kernel.built_in().is_some() {
            KernelModel::read(file)?
        } else {
            KernelModel::read_with(file, kernel)?
        })
    }
}

/// Returns the weights of the kernels of a sum, by the rule of the configuration.
fn weights_of_sum(
    settings: &KernelMachineConfig,
    train: &SplitPart,
    problem: &Problem,
    parts: &[FittedPart],
) -> Result<Vec<f64>, Error> {
    match settings.weights {
        Some(rule @ (KernelWeighting::Alignf | KernelWeighting::HeldOut)) => {
            let name = |at| format!("encoder.kernels[{at}]");
            let names: Vec<_> = (0..parts.len()).map(name).collect();
            weights(settings, rule, problem, &names, true, |at, pairs| {
                let FittedPart { prepared, kernel, rows } = &parts[at];
                let kernel = prepared.kernel(kernel);
                kernel.validate(rows.kind())?;
                let rows = train.rows(prepared.as_ref(), rows)?.select(pairs)?;
                kernel.check(&rows)?;
                Ok(Cow::Owned(gram(kernel.as_ref(), &rows, &rows)?))
            })
        }
        // the weights of the configuration, which are all 1 where they are uniform
        Some(KernelWeighting::Uniform) | None => {
            let total: f64 = settings.summands().map(|part| part.weight).sum();
            Ok(settings.summands().map(|part| part.weight / total).collect())
        }
    }
}

/// Returns the rows of a sum of kernels: the rows under each of them that is needed, side by side.
fn joined_rows<'s>(summands: &[Summand], rows: Vec<Features>) -> Result<MachineRows<'s>, Error> {
    let rows = rows.into_iter().map(|rows| Box::new(rows) as Box<dyn RowSource>);
    let joined = JoinedRows::new(rows.collect())?;
    let sum = sum(summands);
    let is_linear = sum.is_linear();
    let width = if is_linear { sum.linear_width() } else { sum.width() };
    let mut all = Features::empty(joined.kind(), width)?;
    // a block at a time, so that no third copy of all rows is in memory
    for range in ranges(0..joined.len(), JOINED) {
        let start = range.start;
        let block = joined.block(range)?;
        sum.check(&block).map_err(|error| error.at_rows(|row| start + row))?;
        match sum.linear_rows(&block)? {
            Some(linear) => all.append(&linear)?,
            None => all.append(&block)?,
        }
    }
    // products of rows are much faster than sums of kernels
    let kernel: Arc<dyn OutputKernel> =
        if is_linear { Arc::new(Kernel::Linear) } else { Arc::new(sum) };
    Ok(MachineRows::Features(Cow::Owned(all), kernel))
}

/// Returns the sum of the kernels of rows that are joined.
fn sum(summands: &[Summand]) -> SumKernel {
    let mut sum = SumKernel::default();
    for Summand { weight, kernel, prepared } in summands {
        if let Some(prepared) = prepared {
            sum = sum.with(*weight, prepared.kernel(kernel), RowKind::Sparse, prepared.width());
        }
    }
    sum
}
