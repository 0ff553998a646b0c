//! Trains a configuration's built-in encoder on several GPUs at once, by Burn's own learner;
//! book/src/devices.md says what it does and what of it has been run.
//!
//! ```sh
//! cargo run --release --features ddp,cuda --example several_devices -- cuda:0 cuda:1
//! ```
//!
//! One device of any kind, the CPU too, trains alone through the same code.

mod learner;
mod pairs;
mod progress;

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use burn::data::dataloader::DataLoader;
use burn::tensor::Device;
use burn::tensor::distributed::{DistributedConfig, ReduceOperation};
use burn_train::logger::InMemoryMetricLogger;
use burn_train::metric::LossMetric;
use burn_train::{ExecutionStrategy, Learner, SupervisedTraining};
use clap::Parser;
use dsokr::basis::random::generator;
use dsokr::basis::{Basis, Projection, SketchOptions};
use dsokr::config::{Checked, Config, Override};
use dsokr::data::{DataRoot, Dataset, Selected, Split};
use dsokr::decode::{Candidates, Metrics, PerQuery, Pool};
use dsokr::device::Processor;
use dsokr::nn::{Encoder, FrozenBasis, Model, Transformer, TransformerConfig, parameters};
use dsokr::run::{Run, tables};
use dsokr::targets::candidates;
use dsokr::train::{self, Update, learning_rate};
use dsokr::{Error, Network, Prepare, Recipe, Start, TokenInputs};

use learner::{Learning, Schedule};
use pairs::{Loader, Order, Pairs, Part};

/// Trains on several GPUs, writes a run directory, and evaluates it.
#[derive(Parser)]
struct Arguments {
    /// Where to train: cuda:0 cuda:1 …, or one device alone. Validation and evaluation are on the
    /// first.
    #[arg(required = true)]
    devices: Vec<Processor>,
    /// The configuration, with a built-in encoder.
    #[arg(long, default_value = "examples/several_devices/transformer.toml")]
    config: PathBuf,
    /// Another value for one of its keys: section.key=value.
    #[arg(long)]
    set: Vec<Override>,
    /// The data root; by default the variable DSOKR_DATA, else data/.
    #[arg(long)]
    data: Option<PathBuf>,
    /// The run directory.
    #[arg(long, default_value = "runs/several-devices")]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(if error.is_request() { 2 } else { 1 })
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Error> {
    let Arguments { devices, out, .. } = arguments;
    if out.exists() {
        return Err(Error::RunExists { path: out.clone() });
    }
    let config: Checked = Config::load_with(&arguments.config, &arguments.set)?;
    check(&config, devices.len())?;
    let recipe: TransformerConfig = match config.encoder.get() {
        Some(transformer) => TransformerConfig::clone(transformer),
        None => {
            let kind = format!("{:?}", config.encoder.kind());
            return Err(Error::value("encoder.kind", kind, "\"transformer\" in this example"));
        }
    };
    let places = open(devices)?;
    let root = config.data_root(arguments.data.as_deref())?;
    let dataset = config.load_data(&root)?;

    let rows = known(&dataset.train);
    let outputs = Selected::new(dataset.outputs.rows.as_ref(), &rows);
    let sketch = &config.sketch;
    let kernel = config.output.single_kernel()?.fit("output.kernel", &outputs, config.seed)?;
    let options = SketchOptions::new(&sketch.method, sketch.size)
        .with_seed(config.seed)
        .with_tolerance(sketch.tolerance);
    let basis = Basis::fit(kernel, &outputs, &options)?;
    let candidates = candidates(&basis, &dataset.outputs)?;
    let preparation = TokenInputs::fit(&recipe.preparation(), &dataset.train)?;

    // the model starts as the trainer's would, on the first device; the learner copies it
    let targets = basis.project(&outputs)?;
    let mut first = places[0].clone().autodiff();
    let recomputes = recipe.recomputes() && devices[0] != Processor::Cpu;
    if recomputes {
        first = first.gradient_checkpointing();
    }
    let mut random = generator(config.seed, "parameters", 0);
    let mean = targets.mean();
    let start = Start { offset: &mean, random: &mut random, device: &first };
    let encoder = recipe.encoder(&preparation, start)?;
    let pairs = |split: &Split, targets| pairs(&encoder, &preparation, split, targets);
    let train = pairs(&dataset.train, targets)?;
    let rows = known(&dataset.validation);
    let outputs = Selected::new(dataset.outputs.rows.as_ref(), &rows);
    let validation = pairs(&dataset.validation, basis.project(&outputs)?)?;
    if train.inputs.len() < devices.len() {
        return Err(Error::Value {
            key: "data.train".into(),
            found: format!("{} pairs", train.inputs.len()),
            allowed: format!("at least {}, one a device", devices.len()),
        });
    }

    let encoder =
        train_on(&config, devices, places.clone(), recomputes, encoder, train, validation)?;
    let matrix = FrozenBasis::new(basis.matrix().values.into_owned(), basis.rank(), &places[0]);
    let model = Model::new(encoder, matrix);
    let network = Network { recipe, preparation, model, batch: config.evaluation.batch };
    Run::new(config, basis, candidates, network).save(out)?;
    evaluate(out, &places[0], &dataset, &root)
}

/// Refuses what Burn's learner has no place for, before data are loaded.
fn check(config: &Checked, devices: usize) -> Result<(), Error> {
    let training = &config.training;
    let refuse = |key: &str, found: usize, allowed: String| {
        Err(Error::Value { key: key.into(), found: found.to_string(), allowed })
    };
    if training.micro_batch != 0 {
        return refuse("training.micro_batch", training.micro_batch, "0 in this example".into());
    }
    if training.patience != 0 {
        return refuse("training.patience", training.patience, "0 in this example".into());
    }
    if training.batch < devices {
        let allowed = format!("at least {devices}, one pair a device");
        return refuse("training.batch", training.batch, allowed);
    }
    Ok(())
}

/// Opens the devices: one of any kind, or several different CUDA GPUs.
fn open(devices: &[Processor]) -> Result<Vec<Device>, Error> {
    let refuse = |device: Processor, message: &str| {
        Err(Error::Device { device: device.to_string(), message: message.into() })
    };
    for (at, &device) in devices.iter().enumerate() {
        if devices.len() > 1 && !matches!(device, Processor::Cuda(_)) {
            let message = "several devices train together as CUDA GPUs only (cuda:0 cuda:1 …): \
                           no other engine of Burn adds up gradients across devices. \
                           Alone, this device can be used";
            return refuse(device, message);
        }
        if devices[..at].contains(&device) {
            return refuse(device, "is named twice");
        }
    }
    devices.iter().map(|device| device.open()).collect()
}

/// Indices of the outputs of a split's pairs that have one.
fn known(split: &Split) -> Vec<usize> {
    split.outputs.iter().flatten().copied().collect()
}

/// The pairs of a split that have an output, in its order.
fn pairs(
    encoder: &Transformer,
    preparation: &TokenInputs,
    split: &Split,
    targets: Projection,
) -> Result<Arc<Pairs>, Error> {
    let prepared = preparation.inputs(split)?.into_iter().zip(&split.outputs);
    let inputs: Vec<_> = prepared.filter_map(|(input, output)| output.map(|_| input)).collect();
    let lengths = inputs.iter().map(|input| encoder.length(input)).collect();
    let Projection { coordinates, residuals, .. } = targets;
    Ok(Arc::new(Pairs { inputs, lengths, targets: coordinates, residuals }))
}

/// Hands encoder and pairs to Burn's learner; the encoder after the last step.
fn train_on(
    config: &Checked,
    devices: &[Processor],
    places: Vec<Device>,
    recomputes: bool,
    encoder: Transformer,
    train: Arc<Pairs>,
    validation: Arc<Pairs>,
) -> Result<Transformer, Error> {
    let settings = &config.training;
    let loader =
        Loader::new(train, Order::Train { seed: config.seed }, settings.batch, places.len());
    let total = (loader.steps() * settings.epochs) as u64;
    let train: Arc<dyn DataLoader<Part>> = Arc::new(loader);
    let validation = Loader::new(validation, Order::Evaluate, config.evaluation.batch, 1);
    let strategy = match <[Device; 1]>::try_from(places) {
        Ok([device]) => ExecutionStrategy::single(device),
        Err(places) => {
            let all_reduce_op = ReduceOperation::Mean;
            ExecutionStrategy::ddp(places, DistributedConfig { all_reduce_op })
        }
    };
    // no folder is written to: there are no checkpointers, and the losses are kept in memory
    let mut training = SupervisedTraining::new("", train, Arc::new(validation))
        .metric_train_numeric(LossMetric::new())
        .metric_valid_numeric(LossMetric::new())
        .with_metric_logger(InMemoryMetricLogger::default())
        .with_application_logger(None)
        .renderer(Box::new(progress::Lines::default()))
        .with_training_strategy(strategy.into())
        .num_epochs(settings.epochs);
    if recomputes {
        training = training.gradient_checkpointing();
    }
    let schedule = Schedule { config: settings.clone(), step: 0, total };
    let model = Learning { encoder, clip: settings.clip };
    let learner = Learner::new(model, Update::of(settings), schedule);
    let names: Vec<String> = devices.iter().map(ToString::to_string).collect();
    let failed = |message| Error::Device { device: names.join(" "), message };
    // a worker that fails, for want of NCCL or memory say, is a panic here
    let launched = panic::catch_unwind(AssertUnwindSafe(|| training.launch(learner)));
    let result = launched.map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        failed(text.unwrap_or("training failed, no reason given").into())
    })?;
    if let Some(error) = result.error {
        return Err(failed(error.to_string()));
    }
    let encoder = result.model.encoder;
    if let Some((name, _)) = parameters::not_finite(&parameters::collect(&encoder)) {
        let what = format!("parameter {name} is not finite");
        let learning_rate = learning_rate(settings, total.saturating_sub(1), total);
        let kept = None;
        return Err(train::Error::Diverged { what, step: total, learning_rate, kept }.into());
    }
    Ok(encoder)
}

/// Reads the run directory again, as any other program would, and ranks the configuration's split.
fn evaluate(path: &Path, device: &Device, dataset: &Dataset, root: &DataRoot) -> Result<(), Error> {
    let run = Run::open_on(path, device)?;
    let settings = &run.config.evaluation;
    let candidates: &Candidates = &run.candidates;
    let split = dataset.split(settings.split).unwrap_or(&dataset.validation);
    let lists = match &settings.candidates {
        Some(file) => Some(PerQuery::read(&root.file(file), split.names(), candidates)?),
        None => None,
    };
    let pool = lists.as_ref().map_or(Pool::Shared, Pool::PerQuery);
    let ranks = run.evaluate(split, pool)?.ranks;
    let metrics = pool.metrics(&ranks, candidates)?;
    let chance = Metrics::chance(&ranks, metrics.candidates, metrics.duplicate_candidates)?.into();
    let metrics = metrics.into();
    let counts = tables::counts(&settings.split.to_string(), &metrics);
    let table = tables::metrics(&[("model", &metrics), ("chance", &chance)]);
    println!("\n{counts}\n{table}\nrun directory: {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(devices: &[Processor]) -> String {
        open(devices).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn several_devices_are_different_cuda_gpus() {
        use Processor::{Cpu, Cuda, Wgpu};
        assert_eq!(open(&[Cpu]).unwrap().len(), 1);
        for mixed in [[Cpu, Cpu], [Wgpu, Wgpu], [Cuda(0), Cpu]] {
            assert!(refused(&mixed).contains("as CUDA GPUs only"), "{mixed:?}");
        }
        assert!(refused(&[Cuda(0), Cuda(1), Cuda(0)]).contains("cuda:0: is named twice"));
    }

    /// Why the CPU is refused. When this fails, Burn's CPU engine has learnt it.
    #[test]
    #[should_panic(expected = "Distributed operations are not supported for device")]
    fn the_cpu_engine_has_no_distributed_operations() {
        let all_reduce_op = ReduceOperation::Mean;
        ExecutionStrategy::ddp(vec![Device::flex(); 2], DistributedConfig { all_reduce_op });
    }
}
