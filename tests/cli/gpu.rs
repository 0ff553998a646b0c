//! The `wgpu` engine against the CPU's. Only with the feature, and where there is an adapter: Mesa's
//! software Vulkan is one (book/src/devices.md).

use dsokr::core::processes::threads;
use dsokr::device::Processor;
use dsokr::{Config, Request};

use crate::pretrained::model;
#[cfg(unix)]
use crate::resume::assert_resumed;
use crate::sandbox::{BAG, CONFIG, Sandbox, json, number};

fn logged(sandbox: &Sandbox, run: &str, key: &str) -> Vec<f64> {
    let log = sandbox.read(&format!("{run}/log.jsonl"));
    log.lines().map(|line| number(&json(line), key)).collect()
}

/// Trains on both devices, and compares the losses of all epochs. Then the GPU's run is evaluated and searched on both.
fn assert_agrees(sandbox: &Sandbox, name: &str, set: &[&str]) {
    let train = |device: &str| {
        let run = format!("{name}-{device}");
        let train = ["train", "small.toml", "--device", device, "--out", &run];
        sandbox.succeed(&[&train[..], set].concat());
        logged(sandbox, &run, "loss")
    };
    let cpu = train("cpu");
    let gpu = train("wgpu");
    assert_eq!(cpu.len(), 4);
    for (a, b) in cpu.iter().zip(&gpu) {
        assert!((a - b).abs() < 1e-3 * a, "{name}: {cpu:?} {gpu:?}");
    }
    let run = format!("{name}-wgpu");
    let [here, there] = ["cpu", "wgpu"].map(|device| {
        json(&sandbox.succeed(&["evaluate", &run, "--device", device, "--json"]))["mrr"].clone()
    });
    let difference = here.as_f64().unwrap() - there.as_f64().unwrap();
    assert!(difference.abs() < 0.02, "{name}: {here} {there}");
    let [here, there] = ["cpu", "wgpu"].map(|device| {
        let search = ["search", &run, "a ring of ethane", "--top", "1", "--json"];
        let found = json(&sandbox.succeed(&[&search[..], &["--device", device]].concat()));
        found["candidates"][0]["score"].as_f64().unwrap()
    });
    assert!((here - there).abs() < 1e-3 * here.abs(), "{name}: {here} {there}");
}

fn with_encoder(sandbox: &Sandbox, encoder: &str) {
    sandbox.write("small.toml", &CONFIG.replacen(BAG, encoder, 1));
}

#[test]
fn a_transformer_has_the_losses_that_it_has_on_the_cpu() {
    let sandbox = Sandbox::new();
    let kind = "kind = \"transformer\"\nwidth = 32";
    with_encoder(&sandbox, &format!("{kind}\nlayers = 2\nheads = 4\nfeed_forward = 64"));
    assert_agrees(&sandbox, "mean", &[]);
    assert_agrees(&sandbox, "softmax", &["--set", "training.loss={name=\"softmax\"}"]);
    with_encoder(&sandbox, &format!("{kind}\nlayers = 1\nheads = 2\npooling = \"first\""));
    assert_agrees(&sandbox, "first", &[]);
}

#[test]
fn an_ngram_bag_has_the_losses_that_it_has_on_the_cpu() {
    assert_agrees(&Sandbox::new(), "bag", &[]);
}

#[test]
fn a_pretrained_model_has_the_losses_that_it_has_on_the_cpu() {
    let sandbox = Sandbox::new();
    model(&sandbox);
    assert_agrees(&sandbox, "pretrained", &[]);
}

#[cfg(unix)]
#[test]
fn a_training_on_a_gpu_is_resumed_bit_for_bit_and_takes_no_more_memory_with_time() {
    let sandbox = Sandbox::new();
    with_encoder(&sandbox, "kind = \"transformer\"\nwidth = 32\nlayers = 1\nheads = 2");
    let set = ["--device", "wgpu", "--set", "training.epochs=30"];
    assert_resumed(&sandbox, &set, &[("-INT", "interrupted")]);
    // The first epochs meet batches of new lengths, and the engine keeps a little for each. A buffer that each of the
    // eight steps of an epoch leaves would have 256 bytes at least.
    let bytes = logged(&sandbox, "whole", "device_bytes");
    let growth = bytes[29] - bytes[14];
    assert!(bytes[0] > 0.0 && growth.abs() < 15.0 * 8.0 * 32.0, "{bytes:?}");
}

#[test]
fn ranks_on_gpus_have_the_losses_of_one() {
    let sandbox = Sandbox::new();
    with_encoder(&sandbox, "kind = \"transformer\"\nwidth = 32\nlayers = 1\nheads = 2");
    let beside = sandbox.read("small.toml").replacen("\"small\"", "\"./data/small\"", 1);
    sandbox.write("small.toml", &beside);
    let config = Config::load(sandbox.path("small.toml")).unwrap();
    let losses = |size: usize| {
        let run = size.to_string();
        let trained = threads(size, |processes| {
            let request = Request { out: Some(sandbox.path(&run)), ..Request::new(&config)? };
            let request = Request { processor: Processor::Wgpu, ..request };
            request.run_shared(processes, &mut ())
        });
        trained.into_iter().for_each(|trained| drop(trained.unwrap()));
        logged(&sandbox, &run, "loss")
    };
    for (one, two) in losses(1).into_iter().zip(losses(2)) {
        assert!((one - two).abs() < 1e-4 * one, "{one} {two}");
    }
}

#[test]
fn no_adapter_is_an_error() {
    let sandbox = Sandbox::new();
    let output = sandbox
        .command(&["train", "small.toml", "--device", "wgpu", "--out", "run"])
        // loaders that find no driver
        .env("VK_DRIVER_FILES", "/nonexistent.json")
        .env("VK_ICD_FILENAMES", "/nonexistent.json")
        .env("__EGL_VENDOR_LIBRARY_FILENAMES", "/nonexistent.json")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(
        errors.contains("--device wgpu: no adapter") && !errors.contains("panicked"),
        "{errors}"
    );
    assert!(!sandbox.path("run").exists());
}

#[test]
fn the_plan_has_the_memory_of_the_gpu() {
    let sandbox = Sandbox::new();
    let wide = BAG.replacen("hidden", "linear = false\nembedding = 20_000\nhidden", 1);
    let transformer = "kind = \"transformer\"\nwidth = 32\nlayers = 1\nheads = 2";
    for (run, encoder, optimizer) in
        [("wide", &*wide, "sgd"), ("bag", BAG, "adamw"), ("transformer", transformer, "adamw")]
    {
        with_encoder(&sandbox, encoder);
        let optimizer = format!("training.optimizer=\"{optimizer}\"");
        let decay = "training.weight_decay=0.0";
        let train =
            ["train", "small.toml", "--device", "wgpu", "--set", &optimizer, "--set", decay];
        let plan = [&train[..], &["--plan"]].concat();
        assert!(sandbox.succeed(&plan).contains("in all on the GPU"));
        let plans = json(&sandbox.succeed(&[&plan[..], &["--json"]].concat()));
        sandbox.succeed(&[&train[..], &["--out", run]].concat());
        let held = logged(&sandbox, run, "device_bytes");
        let ratio = number(&plans[0], "gpu_bytes") / held[held.len() - 1];
        assert!((1.0..2.3).contains(&ratio), "{run}: {ratio} {held:?}");
    }
}
