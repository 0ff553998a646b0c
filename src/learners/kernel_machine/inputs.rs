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

/// A kernel of a sum with the preparation that was fitted for it.
struct FittedPart {
    prepared: Box<dyn PrepareRows>,
    kernel: Kernel,
}

impl MachineInputs {
    /// Fits the inputs. Weights of kernels are learned with the training outputs.
    pub(super) fn fit(
        settings: &KernelMachineConfig,
        train: &SplitPart,
        problem: &Problem,
    ) -> Result<Self, Error> {
        if let MachineInputsConfig::Kernels { combination } = &settings.inputs {
            return Self::precomputed(settings, *combination, train.split, problem);
        }
        if settings.kernels.is_empty() {
            Self::fit_one(settings, train)
        } else {
            Self::fit_sum(settings, train, problem)
        }
    }

    /// Fits the inputs of one kernel.
    fn fit_one(settings: &KernelMachineConfig, train: &SplitPart) -> Result<Self, Error> {
        let kinds = [("encoder.inputs".to_owned(), &settings.inputs)];
        let prepared = fitted(&kinds, train)?.remove(0);
        let kernel = prepared.kernel(&settings.kernel);
        Ok(Self::One(prepared, kernel))
    }

    /// Fits the inputs of a weighted sum of kernels, and their weights. No rows are held yet: weights and γ depend on those of a
    /// few pairs, and a rule may give a kernel the weight 0.
    fn fit_sum(
        settings: &KernelMachineConfig,
        train: &SplitPart,
        problem: &Problem,
    ) -> Result<Self, Error> {
        let weighted: Vec<(usize, &InputSummandConfig)> =
            settings.kernels.iter().enumerate().filter(|(_, part)| part.weight > 0.0).collect();
        let key = |at: usize| format!("encoder.kernels[{at}]");
        let kinds: Vec<(String, &MachineInputsConfig)> =
            weighted.iter().map(|&(at, part)| (key(at) + ".inputs", &part.inputs)).collect();
        let mut fitted_parts = Vec::new();
        for (prepared, (at, part)) in fitted(&kinds, train)?.into_iter().zip(weighted) {
            let key = key(at) + ".kernel";
            let rows = train.computed(prepared.as_ref())?;
            let kernel = part.kernel.fit(&key, &rows, problem.config.seed)?;
            drop(rows);
            fitted_parts.push(FittedPart { prepared, kernel });
        }
        let weights = weights_of_sum(settings, train, problem, &fitted_parts)?;
        let summand = |(FittedPart { prepared, kernel }, weight): (FittedPart, f64)| Summand {
            weight,
            kernel,
            prepared: (weight > 0.0).then_some(prepared),
        };
        Ok(Self::Sum(fitted_parts.into_iter().zip(weights).map(summand).collect()))
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
    /// Before, and in a run that is read, it is 1: the file of the model has that of the fit.
    pub(super) fn fit_kernel(
        &mut self,
        settings: &KernelMachineConfig,
        train: &SplitPart,
        seed: u64,
    ) -> Result<(), Error> {
        if settings.kernel.stated().is_some() {
            return Ok(());
        }
        let Self::One(prepared, kernel) = self else {
            return Ok(());
        };
        let rows = train.computed(prepared.as_ref())?;
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
            Self::Sum(summands) => joined_rows(summands, split),
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
                let FittedPart { prepared, kernel } = &parts[at];
                let kernel = prepared.kernel(kernel);
                let rows = train.computed(prepared.as_ref())?.select(pairs)?;
                kernel.validate(rows.kind())?;
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

/// Returns the rows of a split under a sum of kernels: the rows under each of them that is needed, side by side.
fn joined_rows<'s>(summands: &[Summand], split: &Split) -> Result<MachineRows<'s>, Error> {
    let sum = sum(summands);
    let is_linear = sum.is_linear();
    let width = if is_linear { sum.linear_width() } else { sum.width() };
    let pairs = split.ids.len();
    let mut all = Features::empty(RowKind::Sparse, width)?;
    let stage = Cancellation::current().stage("features of inputs", pairs);
    // a block at a time, so that memory holds no other copy of all rows
    for range in ranges(0..pairs, JOINED) {
        let start = range.start;
        let part = split.select(&range.collect::<Vec<_>>())?;
        let joined = match rows_side_by_side(summands, &part) {
            Ok(joined) => joined,
            // an error of all pairs has their lines
            Err(error) => return Err(rows_side_by_side(summands, split).err().unwrap_or(error)),
        };
        let block = joined.block(0..joined.len())?;
        sum.check(&block).map_err(|error| error.at_rows(|row| start + row))?;
        match sum.linear_rows(&block)? {
            Some(linear) => all.append(&linear)?,
            None => all.append(&block)?,
        }
        stage.advance(joined.len())?;
    }
    // products of rows are much faster than sums of kernels
    let kernel: Arc<dyn OutputKernel> =
        if is_linear { Arc::new(Kernel::Linear) } else { Arc::new(sum) };
    Ok(MachineRows::Features(Cow::Owned(all), kernel))
}

/// Returns the rows of a split under each kernel of a sum that is needed, side by side.
fn rows_side_by_side(summands: &[Summand], split: &Split) -> Result<JoinedRows, Error> {
    let mut texts = ReadTexts::new(split.inputs.texts().unwrap_or_default());
    let needed = summands.iter().flat_map(|summand| &summand.prepared);
    let rows = needed.map(|prepared| {
        let rows = prepared.rows_read(split, &mut texts)?.into_owned();
        Ok(Box::new(rows) as Box<dyn RowSource>)
    });
    Ok(JoinedRows::new(rows.collect::<Result<_, Error>>()?)?)
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
