//! Training steps of a whole text encoder on a device.
//!
//! usage: cargo bench --bench device_step -- LAYERS WIDTH HEADS FEED_FORWARD BATCH LENGTH [f32|tf32|bf16 [DEVICE]] [ragged]
//!
//! DEVICE is what `--device` takes; by default the GPU that the build has, else the CPU. Texts have LENGTH random
//! token ids, with `ragged` half of that to all of it. The steps are those of [`train`]: forward pass from ids with a
//! dropout of 0.1, square loss of 300 coordinates, backward pass, clipping, AdamW. An epoch has ten batches of texts of
//! similar length. One epoch warms up; the next five are timed, each from the device's rest to its rest. Prints one
//! JSON line:
//!
//! - `step_ms`, `tokens_per_s`: of the median epoch; padding is not counted;
//! - `host_ms`: of the median step in which nothing is read; if it is that of `step_ms`, the device waits for launches;
//! - `sent_ratio`: bytes that a step sends to a GPU, over those of token ids, lengths and targets;
//! - `loss`: of the last step;
//! - `device_mib`: memory that the engine holds on the device, which it does not give back; null on the CPU;
//! - `host_mib`: the process's largest resident memory.
//!
//! `benches/device_step.py` is the same in PyTorch, and `benches/launches.py` counts the kernels of an epoch.

mod process;

use std::error::Error;
use std::time::Instant;

use burn::tensor::Device;
use dsokr::config::{Every, TrainingConfig};
use dsokr::core::Processes;
use dsokr::device::Processor;
use dsokr::train::{Event, Observer, Pairs, Task, Validation, train};
use dsokr_core::random::generator;
use dsokr_kernels::sent;
use dsokr_nn::transformer::{Architecture, Body};
use dsokr_nn::{Model, Pooling, Precision, Start, TokenIds, Transformer, parameters};
use rand::RngExt;

const VOCABULARY: u32 = 30_522;
const COORDINATES: usize = 300;
/// Batches of an epoch.
const STEPS: usize = 10;
/// Epochs that are timed.
const TIMED: usize = 5;

struct Setting {
    architecture: Architecture,
    batch: usize,
    processor: Processor,
    ragged: bool,
}

impl Setting {
    fn read(arguments: &[String]) -> Option<Self> {
        let ragged = arguments.last()? == "ragged";
        let (sizes, options) =
            arguments[..arguments.len() - usize::from(ragged)].split_at_checked(6)?;
        let built_for = match (cfg!(feature = "cuda"), cfg!(feature = "wgpu")) {
            (true, _) => "cuda",
            (false, true) => "wgpu",
            (false, false) => "cpu",
        };
        let (precision, processor) = match options {
            [] => ("f32", built_for),
            [precision] => (precision.as_str(), built_for),
            [precision, processor] => (precision.as_str(), processor.as_str()),
            _ => return None,
        };
        let sizes: Vec<usize> = sizes.iter().map(|v| v.parse().ok()).collect::<Option<_>>()?;
        let [layers, width, heads, feed_forward, batch, positions] = sizes[..] else { return None };
        let architecture = Architecture {
            vocabulary: VOCABULARY as usize,
            positions,
            layers,
            width,
            heads,
            feed_forward,
            precision: serde_json::from_value::<Precision>(precision.into()).ok()?,
            // the dropout of BERT
            ..Architecture::default()
        };
        Some(Self { architecture, batch, processor: processor.parse().ok()?, ragged })
    }

    fn texts(&self) -> Vec<TokenIds> {
        let mut random = generator(0, "texts", 0);
        let longest = self.architecture.positions;
        let shortest = if self.ragged { longest.div_ceil(2) } else { longest };
        let text = |_| {
            let length = random.random_range(shortest..=longest);
            let ids = (0..length).map(|_| random.random_range(0..VOCABULARY));
            TokenIds::from(ids.collect::<Vec<u32>>())
        };
        (0..STEPS * self.batch).map(text).collect()
    }
}

/// The times at which the device rests between epochs, and those of steps.
struct Clock {
    device: Device,
    rests: Vec<Instant>,
    /// When steps ended on the host, which goes on before the device has.
    steps: Vec<Instant>,
    loss: f64,
}

impl Observer for Clock {
    fn event(&mut self, event: &Event) {
        let Event::Step { step, loss, .. } = *event else { return };
        self.loss = loss;
        self.steps.push(Instant::now());
        if step.is_multiple_of(STEPS as u64) {
            self.device.sync().expect("the device computes");
            self.rests.push(Instant::now());
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    dsokr::cli::keep_pages(true);
    let arguments = process::arguments();
    let usage = "usage: device_step LAYERS WIDTH HEADS FEED_FORWARD BATCH LENGTH [f32|tf32|bf16 [DEVICE]] [ragged]";
    let setting = Setting::read(&arguments).ok_or(usage)?;
    setting.architecture.validate()?;
    let device = setting.processor.open()?;
    setting.architecture.precision.check(&device)?;
    let device = device.autodiff();

    let mut random = generator(0, "parameters", 0);
    let body = Body::init(&setting.architecture, &mut random, &device);
    let start = Start { offset: &[0.0; COORDINATES], random: &mut random, device: &device };
    let model = Model::new(Transformer::new(body, Pooling::Mean, start));
    let mut count = 0;
    parameters::visit(&model, |_, p| count += p.shape().iter().product::<usize>());

    let texts = setting.texts();
    let tokens: usize = texts.iter().map(|ids| ids.len()).sum();
    let mut random = generator(0, "targets", 0);
    let targets = std::iter::repeat_with(|| random.random::<f32>() - 0.5);
    let config = TrainingConfig {
        epochs: 1 + TIMED,
        batch: setting.batch,
        learning_rate: 1e-4,
        warmup: 0,
        evaluate_every: Every::Epochs(1 + TIMED),
        checkpoint_seconds: u64::MAX,
        ..TrainingConfig::default()
    };
    let targets: Vec<f32> = targets.take(texts.len() * COORDINATES).collect();
    let residuals = vec![0.0; texts.len()];
    let task = Task {
        config: &config,
        seed: 0,
        device: &device,
        pairs: Pairs::new(&texts, &targets, &residuals)?,
        ranks: &Processes::default(),
        validate: &|_| Ok(Validation { metrics: 0.0, score: 0.0, loss: None }),
    };
    let mut clock =
        Clock { device: device.clone(), rests: Vec::new(), loss: f64::NAN, steps: Vec::new() };
    let before = sent();
    train(&task, model, None, &mut (), &mut clock)?;
    let targets = targets.len();
    let needed = 4 * (tokens + texts.len() + targets) * (1 + TIMED);
    // Burn sends the targets
    let sent = (sent() - before) as usize + 4 * targets * (1 + TIMED);

    let epochs = clock.rests.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64());
    let epoch = process::median(epochs.collect());
    // a loss is read in the first and the last step of an epoch
    let unread = clock.steps.chunks(STEPS).flat_map(|epoch| epoch[..STEPS - 1].windows(2));
    let host = unread.map(|pair| (pair[1] - pair[0]).as_secs_f64());
    let host_ms = 1e3 * process::median(host.collect());
    let device_mib = device.memory_pool_usage().map(|usage| usage.bytes_reserved >> 20);
    let result = serde_json::json!({
        "device": setting.processor.to_string(),
        "precision": setting.architecture.precision,
        "sizes": arguments[..6].join(" "),
        "ragged": setting.ragged,
        "tokens_per_s": (tokens as f64 / epoch).round(),
        "step_ms": 1e3 * epoch / STEPS as f64,
        "host_ms": host_ms,
        "parameters": count,
        "sent_ratio": sent as f64 / needed as f64,
        "loss": clock.loss,
        "device_mib": device_mib,
        "host_mib": process::peak_mib(),
    });
    println!("{result}");
    Ok(())
}
