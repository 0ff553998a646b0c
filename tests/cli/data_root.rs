//! A run knows the data that it was trained on.

use std::fs;

use crate::sandbox::{CONFIG, Sandbox, copy, json};

#[test]
fn a_run_is_evaluated_from_any_directory() {
    let sandbox = Sandbox::new();
    let report = sandbox.train("small.toml", &[]);
    // a set of the project's own, beside the folder of the configuration, which is named in full
    copy(&sandbox.path("data/small"), &sandbox.path("datasets/small"));
    fs::create_dir(sandbox.path("configs")).unwrap();
    let own = CONFIG.replacen("\"small\"", "\"datasets/small\"", 1);
    sandbox.write("configs/own.toml", &own);
    let config = sandbox.path("configs/own.toml");
    sandbox.train(config.to_str().unwrap(), &["seed=1"]);

    let elsewhere = tempfile::tempdir().unwrap();
    let runs = [sandbox.path("runs/small"), sandbox.path("runs/own")];
    let evaluate = |arguments: &[&str]| {
        let mut command = sandbox.command(&["evaluate"]);
        command.args(arguments).current_dir(elsewhere.path());
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), errors)
    };
    let [one, two] = runs.each_ref().map(|run| run.to_str().unwrap());
    let (_, found, errors) = evaluate(&[one, "--json"]);
    assert_eq!(json(&found)["mrr"], report["mrr"], "{errors}");
    // the two were trained on different folders
    let (code, found, errors) = evaluate(&[one, two, "--json"]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(json(&found)["members"][0]["mrr"], report["mrr"]);

    // a file that is gone, then the whole folder
    let gone = sandbox.path("data/small/test.tsv");
    let kept = fs::read(&gone).unwrap();
    fs::remove_file(&gone).unwrap();
    let (code, _, errors) = evaluate(&[one]);
    assert_eq!(code, Some(2), "{errors}");
    let place = gone.canonicalize().unwrap_or_else(|_| gone.clone());
    assert!(errors.contains(place.to_str().unwrap()) && errors.contains("--data"), "{errors}");
    fs::write(&gone, kept).unwrap();
    fs::rename(sandbox.path("data"), sandbox.path("moved")).unwrap();
    let (code, _, errors) = evaluate(&[one]);
    assert_eq!(code, Some(2), "{errors}");
    for part in ["data/small", "--data DIR stands for DIR/small"] {
        assert!(errors.contains(part), "{errors}");
    }
    let moved = sandbox.path("moved");
    let (_, found, errors) = evaluate(&[one, "--data", moved.to_str().unwrap(), "--json"]);
    assert_eq!(json(&found)["mrr"], report["mrr"], "{errors}");
}

#[test]
fn a_resumed_run_knows_its_new_data_root() {
    let sandbox = Sandbox::new();
    sandbox.train("small.toml", &[]);
    fs::remove_file(sandbox.path("runs/small/metrics.json")).unwrap();
    fs::rename(sandbox.path("data"), sandbox.path("moved")).unwrap();
    sandbox.succeed(&["train", "small.toml", "--resume", "--data", "moved", "--json"]);
    sandbox.succeed(&["evaluate", "runs/small"]);
    sandbox.write("runs/small/data.json", "{}");
    sandbox.fail(&["evaluate", "runs/small"], 2, &["runs/small/data.json", "folder"]);
}
