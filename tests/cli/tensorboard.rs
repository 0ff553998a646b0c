//! Event files of TensorBoard, read by the layout of the format alone.

use std::fs;

use serde_json::Value;

use crate::sandbox::{Sandbox, number};

/// A field of a protocol buffer: its number, and its value as bytes or as an integer.
fn fields(mut data: &[u8]) -> Vec<(u64, Vec<u8>, u64)> {
    fn varint(data: &mut &[u8]) -> u64 {
        let end = data.iter().position(|byte| byte & 0x80 == 0).unwrap();
        let (own, rest) = data.split_at(end + 1);
        *data = rest;
        own.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f))
    }
    let mut found = Vec::new();
    while !data.is_empty() {
        let key = varint(&mut data);
        let length = match key & 7 {
            0 => {
                found.push((key >> 3, Vec::new(), varint(&mut data)));
                continue;
            }
            1 => 8,
            2 => varint(&mut data) as usize,
            5 => 4,
            other => panic!("wire type {other}"),
        };
        let (own, rest) = data.split_at(length);
        data = rest;
        found.push((key >> 3, own.to_vec(), 0));
    }
    found
}

/// Step, tag and value of every scalar of the files in a folder, and the steps of restarts.
pub fn scalars(sandbox: &Sandbox, run: &str) -> (Vec<(u64, String, f32)>, Vec<u64>) {
    let mut all = Vec::new();
    let mut restarts = Vec::new();
    let mut files: Vec<_> =
        fs::read_dir(sandbox.path(run)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        assert!(file.file_name().unwrap().to_str().unwrap().starts_with("events.out.tfevents."));
        let bytes = fs::read(&file).unwrap();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
            let event = fields(&rest[12..12 + length]);
            rest = &rest[12 + length + 4..];
            let step = event.iter().find(|field| field.0 == 2).unwrap().2;
            for (number, data, _) in &event {
                match number {
                    5 => {
                        for (_, value, _) in fields(data) {
                            let value = fields(&value);
                            let tag = String::from_utf8(value[0].1.clone()).unwrap();
                            let bytes = value[1].1.as_slice().try_into().unwrap();
                            all.push((step, tag, f32::from_le_bytes(bytes)));
                        }
                    }
                    7 => restarts.push(step),
                    _ => {}
                }
            }
        }
    }
    (all, restarts)
}

#[test]
fn evaluations_and_steps_are_scalars() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--out", "off"]);
    assert!(!sandbox.path("off/tensorboard").exists());
    let logging = ["--set", "logging.tensorboard=true", "--set", "training.epochs=3"];
    sandbox.succeed(&[&["train", "small.toml", "--out", "on"], &logging[..]].concat());
    let (found, restarts) = scalars(&sandbox, "on/tensorboard");
    assert!(restarts.is_empty());
    let log = sandbox.read("on/log.jsonl");
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let step = line["step"].as_u64().unwrap();
        for (tag, value) in [
            ("training/loss", number(&line, "loss")),
            ("training/learning_rate", number(&line, "learning_rate")),
            ("training/gradient_norm", number(&line, "gradient_norm")),
            ("validation/loss", number(&line, "validation_loss")),
            ("validation/mrr", number(&line["metrics"], "mrr")),
            ("validation/squared_error", number(&line["metrics"], "squared_error")),
        ] {
            let expected = (step, tag.to_owned(), value as f32);
            assert!(found.contains(&expected), "{expected:?} in {found:?}");
        }
        // the square loss is the metric of that name
        let loss = number(&line, "validation_loss");
        let metric = number(&line["metrics"], "squared_error");
        assert!((loss / metric - 1.0).abs() < 1e-5, "{line}");
        let norm = (step, "step/gradient_norm".to_owned(), number(&line, "gradient_norm") as f32);
        assert!(found.contains(&norm), "{norm:?} in {found:?}");
    }
    assert_eq!(found.iter().filter(|(_, tag, _)| tag == "training/loss").count(), 3);
    // every step of three epochs, whose mean over an epoch the evaluation has
    let steps = |name: &str| -> Vec<(u64, f32)> {
        let own = found.iter().filter(|(_, tag, _)| tag == name);
        own.map(|(step, _, value)| (*step, *value)).collect()
    };
    let losses = steps("step/loss");
    assert!(losses.iter().map(|(step, _)| *step).eq(1..=24), "{losses:?}");
    assert_eq!(steps("step/learning_rate").len(), 24);
    let mean = losses[..8].iter().map(|(_, loss)| f64::from(*loss)).sum::<f64>() / 8.0;
    let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert!((mean / number(&first, "loss") - 1.0).abs() < 1e-5, "{losses:?} {first}");

    // a training that goes on: readers discard what came after its checkpoint
    fs::remove_file(sandbox.path("on/metrics.json")).unwrap();
    fs::remove_dir_all(sandbox.path("on/checkpoint")).unwrap();
    fs::create_dir(sandbox.path("on/checkpoint")).unwrap();
    let steps = log.lines().count() as u64 * 8;
    sandbox.succeed(&[&["train", "small.toml", "--out", "on", "--resume"], &logging[..]].concat());
    let (again, restarts) = scalars(&sandbox, "on/tensorboard");
    assert_eq!(restarts, [1], "from the first step on");
    assert_eq!(again.len(), 2 * found.len());
    assert!(again.iter().all(|(step, ..)| *step <= steps));
}
