//! The `wgpu` engine against the CPU's. Only with the feature, and where there is an adapter: Mesa's
//! software Vulkan is one (book/src/devices.md).

use crate::sandbox::{CONFIG, Sandbox};

fn losses(sandbox: &Sandbox, run: &str) -> Vec<f64> {
    let log = sandbox.read(&format!("{run}/log.jsonl"));
    let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    log.lines().map(|l| line(l)["loss"].as_f64().unwrap()).collect()
}

#[test]
fn a_transformer_has_the_losses_that_it_has_on_the_cpu() {
    let sandbox = Sandbox::new();
    let encoders = [
        "kind = \"transformer\"\nlayers = 2\nwidth = 32\nheads = 4\nfeed_forward = 64\n",
        "kind = \"transformer\"\nlayers = 1\nwidth = 32\nheads = 2\npooling = \"first\"\n",
    ];
    for (i, encoder) in encoders.iter().enumerate() {
        let bag = CONFIG.split("[encoder]").nth(1).unwrap().split("[training]").next().unwrap();
        sandbox.write("small.toml", &CONFIG.replacen(bag, &format!("\n{encoder}\n"), 1));
        let train = |device: &str| {
            let run = format!("{device}-{i}");
            sandbox.succeed(&["train", "small.toml", "--device", device, "--out", &run]);
            losses(&sandbox, &run)
        };
        let (cpu, gpu) = (train("cpu"), train("wgpu"));
        assert_eq!(cpu.len(), 4);
        for (a, b) in cpu.iter().zip(&gpu) {
            assert!((a - b).abs() < 1e-3 * a, "{cpu:?} {gpu:?}");
        }
        // what was trained there is searched here
        let run = format!("wgpu-{i}");
        let here = sandbox.succeed(&["evaluate", &run, "--json"]);
        let there = sandbox.succeed(&["evaluate", &run, "--device", "wgpu", "--json"]);
        let mrr = |text: &str| {
            serde_json::from_str::<serde_json::Value>(text).unwrap()["mrr"].as_f64().unwrap()
        };
        assert!((mrr(&here) - mrr(&there)).abs() < 0.02, "{here} {there}");
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
