//! Seconds of an optimiser step of a transformer encoder and a linear head.
//!
//! usage: cargo bench --bench train_step -- LAYERS D_MODEL HEADS D_FF BATCH SEQ OUT [DROPOUT [f32|bf16]]
//!
//! Forward, mean square error on the first token, backward, Adam; median of 7 steps after 2 warm-ups:
//! the same as a PyTorch script with `torch.nn.TransformerEncoder`, whose autocast is the peer of `bf16`. Prints one JSON line:
//!
//! - `step_s`, `tokens_per_s`: as training runs, with the last layer computed for the first token
//!   alone, which is all that the loss reads;
//! - `step_full_s`: with the last layer computed for all tokens, as PyTorch does;
//! - `products_s`: the matrix products of the full step alone, on the same shapes;
//! - `attention_s`, `linear_gelu_s`, `residual_norm_s`: forward and backward of one such operation;
//! - `embed_s`: the full forward pass without gradients;
//! - `peak_mib`: the process's largest resident memory.

mod process;

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use burn::module::Module;
use burn::nn::Linear;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Distribution, Tensor};
use dsokr::config::{OptimizerName, TrainingConfig};
use dsokr::train::Update;
use dsokr_core::random::generator;
use dsokr_kernels::{Attention, Sequences, attention, linear_gelu, residual_norm};
use dsokr_nn::transformer::{Architecture, Body};
use dsokr_nn::{Pass, Precision, backward, in_pool, init};

#[derive(Module, Debug)]
struct Net {
    body: Body,
    head: Linear,
}

struct Sizes {
    layers: usize,
    d: usize,
    heads: usize,
    feed_forward: usize,
    batch: usize,
    length: usize,
    out: usize,
    dropout: f32,
    precision: Precision,
}

impl Sizes {
    fn read(arguments: &[String]) -> Option<Self> {
        let (sizes, options) = arguments.split_at_checked(7)?;
        let (dropout, precision) = match options {
            [] => (0.1, "f32"),
            [dropout] => (dropout.parse().ok()?, "f32"),
            [dropout, precision] => (dropout.parse().ok()?, precision.as_str()),
            _ => return None,
        };
        let precision = match precision {
            "f32" => Precision::F32,
            "bf16" => Precision::Bf16,
            _ => return None,
        };
        let sizes: Vec<usize> = sizes.iter().map(|v| v.parse().ok()).collect::<Option<_>>()?;
        let [layers, d, heads, feed_forward, batch, length, out] = sizes[..] else { return None };
        Some(Self { layers, d, heads, feed_forward, batch, length, out, dropout, precision })
    }

    fn architecture(&self) -> Architecture {
        Architecture {
            vocabulary: 1,
            positions: self.length,
            layers: self.layers,
            width: self.d,
            heads: self.heads,
            feed_forward: self.feed_forward,
            epsilon: 1e-5,
            dropout: self.dropout,
            attention_dropout: self.dropout,
            inner_dropout: self.dropout,
            precision: self.precision,
            ..Architecture::default()
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    dsokr::cli::keep_pages(true);
    let arguments = process::arguments();
    let usage = "usage: train_step LAYERS D_MODEL HEADS D_FF BATCH SEQ OUT [DROPOUT [f32|bf16]]";
    let sizes = Sizes::read(&arguments).ok_or(usage)?;
    sizes.architecture().validate()?;
    let first = steps(&sizes, true);
    let full = steps(&sizes, false);
    let [attention_s, linear_gelu_s, residual_norm_s] = operations(&sizes);
    let result = serde_json::json!({
        "threads": std::thread::available_parallelism()?.get(),
        "step_s": first,
        "tokens_per_s": (sizes.batch * sizes.length) as f64 / first,
        "step_full_s": full,
        "products_s": products(&sizes),
        "attention_s": attention_s,
        "linear_gelu_s": linear_gelu_s,
        "residual_norm_s": residual_norm_s,
        "embed_s": embed(&sizes),
        "peak_mib": process::peak_mib(),
    });
    println!("{result}");
    Ok(())
}

/// Returns the median time of seven runs after two.
fn timed(mut run: impl FnMut(u64)) -> f64 {
    let times = (0..9).map(|i| {
        let begun = Instant::now();
        run(i);
        begun.elapsed().as_secs_f64()
    });
    process::median(times.collect::<Vec<_>>().split_off(2))
}

fn net(sizes: &Sizes, device: &Device) -> Net {
    let mut random = generator(0, "parameters", 0);
    let body = Body::init(&sizes.architecture(), &mut random, device);
    let head = init::linear(sizes.d, sizes.out, &mut random, device);
    Net { body, head }
}

fn texts(sizes: &Sizes) -> Arc<Sequences> {
    Arc::new(Sequences::packed(vec![sizes.length; sizes.batch]))
}

fn normal<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), device)
}

fn steps(sizes: &Sizes, first: bool) -> f64 {
    let device = Device::flex().autodiff();
    let net = net(sizes, &device);
    let config = TrainingConfig { optimizer: OptimizerName::Adam, ..TrainingConfig::default() };
    let mut optimizer = Update::new(&config, &net);
    let mut net = Some(net);
    let sequences = texts(sizes);
    let x = normal([sequences.rows(), sizes.d], &device);
    let y = normal([sizes.batch, sizes.out], &device);
    let starts: Vec<i32> = sequences.ranges().map(|rows| rows.start as i32).collect();
    let starts = Tensor::<1, burn::tensor::Int>::from_data(starts.as_slice(), &device);
    timed(|step| {
        let Some(model) = net.take() else { return };
        let pass = Pass::train(step);
        let pooled = if first {
            model.body.layers_first(x.clone(), &sequences, pass)
        } else {
            model.body.layers(x.clone(), &sequences, pass).select(0, starts.clone())
        };
        let loss = (model.head.forward(pooled) - y.clone()).square().mean();
        let gradients = GradientsParams::from_grads(backward(loss), &model);
        net = Some(in_pool(&device, || optimizer.step(1e-4, model, gradients, None)));
    })
}

fn embed(sizes: &Sizes) -> f64 {
    let device = Device::flex();
    let net = net(sizes, &device);
    let sequences = texts(sizes);
    let x = normal([sequences.rows(), sizes.d], &device);
    timed(|_| {
        net.body.layers(x.clone(), &sequences, Pass::Evaluate).into_data();
    })
}

/// Returns the seconds of the full step's matrix products: of each linear layer forward, and backward for its
/// input and its weights; of each head the two products forward and the five backward.
fn products(sizes: &Sizes) -> f64 {
    let Sizes { layers, d, heads, feed_forward, batch, length, .. } = *sizes;
    let n = batch * length;
    let product = |rows, inner, columns| {
        let device = Device::flex();
        let a = normal([rows, inner], &device);
        let b = normal([inner, columns], &device);
        in_pool(&device, move || {
            timed(|_| drop(dsokr_kernels::product(a.clone(), b.clone(), sizes.precision)))
        })
    };
    let mut total = 0.0;
    for (k, m) in [(d, 3 * d), (d, d), (d, feed_forward), (feed_forward, d)] {
        for (rows, inner, columns) in [(n, k, m), (n, m, k), (k, n, m)] {
            total += product(rows, inner, columns);
        }
    }
    // each thread works on one head at a time
    let threads = rayon::current_num_threads() as f64;
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
    let width = d / heads;
    let head =
        one.install(|| 3.0 * product(length, width, length) + 4.0 * product(length, length, width));
    layers as f64 * (total + head * (batch * heads) as f64 / threads)
}

/// Times forward and backward of one attention, one linear layer with GELU, one residual normalisation.
fn operations(sizes: &Sizes) -> [f64; 3] {
    let device = Device::flex().autodiff();
    let Sizes { d, heads, feed_forward, dropout, precision, .. } = *sizes;
    let sequences = texts(sizes);
    let n = sequences.rows();
    let leaf = |columns| normal([n, columns], &device).require_grad();
    let qkv = leaf(3 * d);
    let x = leaf(d);
    let r = leaf(d);
    let w = normal([d, feed_forward], &device);
    let b = normal([feed_forward], &device);
    let vectors = [(); 3].map(|()| normal([d], &device));
    let mask = |step| Pass::train(step).dropout(0, dropout);
    [
        timed(|i| {
            let settings =
                Attention { sequences: sequences.clone(), heads, dropout: mask(i), precision };
            attention(qkv.clone(), settings).sum().backward();
        }),
        timed(|i| {
            linear_gelu(x.clone(), w.clone(), b.clone(), precision, mask(i)).sum().backward();
        }),
        timed(|i| {
            let x = x.clone();
            let r = r.clone();
            residual_norm(x, r, vectors.clone(), 1e-5, mask(i)).sum().backward();
        }),
    ]
}
