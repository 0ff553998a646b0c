//! Several processes under `mpirun`. Only with the feature `mpi`, and where there is an mpirun.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use safetensors::SafeTensors;
#[cfg(feature = "serve")]
use serde_json::{Value, json};

use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, json, number};
#[cfg(feature = "serve")]
use crate::served::{Served, send};

/// Whether there is an mpirun; says so where there is none.
fn has_mpirun(test: &str) -> bool {
    let found = Command::new("mpirun").arg("--version").output().is_ok();
    if !found {
        println!("{test} is skipped: there is no mpirun (Debian: openmpi-bin)");
    }
    found
}

/// The command as `ranks` processes of one thread each, run in the folder.
fn mpirun(sandbox: &Sandbox, ranks: usize, arguments: &[&str]) -> Command {
    let dsokr = sandbox.command(arguments);
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-np", &ranks.to_string()]);
    command.arg(dsokr.get_program()).args(arguments).current_dir(sandbox.path(""));
    command.env_remove("DSOKR_DATA").env_remove("DSOKR_LOG").env("RAYON_NUM_THREADS", "1");
    command
}

fn succeed(sandbox: &Sandbox, ranks: usize, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = mpirun(sandbox, ranks, arguments).output().unwrap();
    assert!(status.success(), "{ranks} {arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// Standard error of a call that must fail within ten seconds.
fn fail(sandbox: &Sandbox, ranks: usize, arguments: &[&str]) -> String {
    let begun = Instant::now();
    let Output { status, stderr, .. } = mpirun(sandbox, ranks, arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&stderr).into_owned();
    assert!(!status.success() && begun.elapsed() < Duration::from_secs(10), "{errors}");
    errors
}

/// Standard error of two ranks that a shell script starts, which must fail.
fn fail_by_script(sandbox: &Sandbox, script: &str, arguments: &[&str]) -> String {
    sandbox.write("rank.sh", script);
    let dsokr = sandbox.command(&[]);
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-np", "2", "sh", "rank.sh"]);
    command.arg(dsokr.get_program()).args(arguments).current_dir(sandbox.path(""));
    let output = command.output().unwrap();
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The parameters of a file by name.
fn parameters(sandbox: &Sandbox, file: &str) -> BTreeMap<String, Vec<f32>> {
    let bytes = fs::read(sandbox.path(file)).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensors = file.tensors().into_iter().filter(|(name, _)| name != "optimizer");
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
    let numbers = |bytes: &[u8]| bytes.chunks_exact(4).map(number).collect();
    tensors.map(|(name, view)| (name, numbers(view.data()))).collect()
}

fn apart(a: &BTreeMap<String, Vec<f32>>, b: &BTreeMap<String, Vec<f32>>) -> f32 {
    assert!(a.keys().eq(b.keys()) && !a.is_empty());
    let pairs = a.values().flatten().zip(b.values().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

const LAST: &str = "checkpoint/last.safetensors";

/// 52 steps; the last batch of an epoch has 4 pairs. Dropout is on.
const TRAINING: [&str; 5] = ["train", "small.toml", "--json", "--set", "training.epochs=4"];

fn write_transformer(sandbox: &Sandbox) {
    let bag = CONFIG.split("[encoder]").nth(1).unwrap().split("[training]").next().unwrap();
    let transformer =
        "\nkind = \"transformer\"\nlayers = 2\nwidth = 32\nheads = 4\nfeed_forward = 64\n\n";
    let config = CONFIG.replacen(bag, transformer, 1);
    sandbox.write(
        "small.toml",
        &config.replacen("epochs = 4\nbatch = 8", "epochs = 4\nbatch = 4\nepsilon = 1e-6", 1),
    );
}

#[test]
fn ranks_train_the_model_of_one_process() {
    if !has_mpirun("ranks_train_the_model_of_one_process") {
        return;
    }
    let sandbox = Sandbox::new();
    // a bag, 32 steps; a transformer, 60 steps, with an epsilon beside which rounding is small: the bias of
    // keys, which changes no answer, has gradients of nothing else
    for encoder in ["bag", "transformer"] {
        if encoder == "transformer" {
            write_transformer(&sandbox);
        }
        let name = |ranks: &str| format!("{encoder}-{ranks}");
        let train = |ranks: usize, name: &str| {
            let arguments = [&TRAINING[..], &["--out", name]].concat();
            match ranks {
                0 => sandbox.succeed(&arguments),
                _ => succeed(&sandbox, ranks, &arguments),
            }
        };
        let alone = json(&train(0, &name("alone")));
        let one = parameters(&sandbox, &format!("{}/{LAST}", name("alone")));
        // more ranks than pairs of the last batch: 60 pairs are 7 batches of 8 and one of 4
        for ranks in [1, 2, 5] {
            let run = name(&ranks.to_string());
            let printed = json(&train(ranks, &run));
            let own = parameters(&sandbox, &format!("{run}/{LAST}"));
            let apart = apart(&one, &own);
            assert!(apart < 1e-5, "{run}: {apart}");
            assert_eq!(printed["queries"], alone["queries"]);
            if ranks == 1 {
                assert!(one == own);
            }
            if ranks == 2 {
                train(ranks, &name("again"));
                assert!(own == parameters(&sandbox, &format!("{}/{LAST}", name("again"))));
                // a run of several processes is read by one
                let evaluated = json(&sandbox.succeed(&["evaluate", &run, "--json"]));
                assert_eq!(evaluated["mrr"], printed["mrr"]);
            }
        }
    }
}

/// Waits until a training that is started now has left a checkpoint.
fn wait_for_checkpoint(sandbox: &Sandbox, run: &str, job: &mut Child) {
    let (begun, file) = (Instant::now(), sandbox.path(run).join(LAST));
    let written = || fs::metadata(&file).and_then(|metadata| metadata.modified()).ok();
    let before = written();
    while written() == before {
        assert!(begun.elapsed() < Duration::from_secs(120) && job.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The processes of the training into `run`.
fn processes(run: &str) -> Vec<u32> {
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_rank = |number: &u32| {
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let mut parts = line.split(|&byte| byte == 0);
        parts.next().is_some_and(|program| program.ends_with(b"dsokr"))
            && parts.any(|part| part == run.as_bytes())
    };
    let mut found: Vec<u32> = numbers.filter(is_rank).collect();
    found.sort_unstable();
    found
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_rank_ends_the_job_and_resuming_goes_on_with_another_number() {
    if !has_mpirun("a_killed_rank_ends_the_job_and_resuming_goes_on_with_another_number") {
        return;
    }
    let sandbox = Sandbox::new();
    write_transformer(&sandbox);
    let train = |run: &str, epochs: &str| {
        let set = format!("training.epochs={epochs}");
        ["train", "small.toml", "--set", &set, "--out", run].map(String::from)
    };
    let whole = train("whole", "20");
    succeed(&sandbox, 2, &whole.each_ref().map(String::as_str));
    // the name is found in the list of processes of this machine
    let run = format!("killed-{}", std::process::id());
    let killed = train(&run, "20");
    let arguments = killed.each_ref().map(String::as_str);
    for (rank, ranks) in [(1, 2), (0, 3)] {
        let resumed = [&arguments[..], &["--resume"]].concat();
        let mut command = mpirun(&sandbox, ranks, &resumed);
        let mut job = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        wait_for_checkpoint(&sandbox, &run, &mut job);
        let all = processes(&run);
        assert_eq!(all.len(), ranks);
        let status = Command::new("kill").args(["-KILL", &all[rank].to_string()]).status();
        assert!(status.unwrap().success());
        let begun = Instant::now();
        let ended = job.wait_with_output().unwrap();
        assert!(!ended.status.success() && begun.elapsed() < Duration::from_secs(10));
        let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(errors.contains(&format!("rank {rank}")), "{errors}");
        assert!(processes(&run).is_empty());
    }
    // by one process, which ends where the others end but for rounding
    sandbox.succeed(&[&arguments[..], &["--resume"]].concat());
    let [whole, killed] = ["whole", &run].map(|run| {
        let log = sandbox.read(&format!("{run}/log.jsonl"));
        let line: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
        (log.lines().count(), line["step"].as_u64().unwrap(), line["loss"].as_f64().unwrap())
    });
    assert_eq!((whole.0, whole.1), (20, 300));
    assert_eq!((killed.0, killed.1), (20, 300));
    assert!((whole.2 / killed.2 - 1.0).abs() < 0.01, "{whole:?} {killed:?}");
}

#[test]
fn a_rank_that_finds_an_error_ends_the_job() {
    if !has_mpirun("a_rank_that_finds_an_error_ends_the_job") {
        return;
    }
    let sandbox = Sandbox::new();
    // all find the same: rank 0 alone says so
    let errors = fail(&sandbox, 2, &["train", "missing.toml"]);
    assert!(errors.contains("rank 0: error: missing.toml"), "{errors}");
    assert!(!errors.contains("rank 1: error"), "{errors}");
    // one finds another file than the others
    let other =
        "if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then exec \"$@\" --set seed=7; else exec \"$@\"; fi";
    let started =
        |script: &str| fail_by_script(&sandbox, script, &["train", "small.toml", "--out", "run"]);
    let errors = started(other);
    assert!(errors.contains("rank 1: its configuration's fingerprint is"), "{errors}");
    let changed = sandbox.read("data/small/train.tsv").replacen("an open chain", "a chain", 1);
    fs::create_dir_all(sandbox.path("elsewhere")).unwrap();
    crate::sandbox::copy(&sandbox.path("data"), &sandbox.path("elsewhere"));
    sandbox.write("elsewhere/small/train.tsv", &changed);
    let other = other.replacen("--set seed=7", "--data elsewhere", 1);
    let errors = started(&other);
    assert!(errors.contains("rank 1: its fingerprint of the data"), "{errors}");
    assert!(!sandbox.path("run").exists());
    // one alone finds that its data are missing
    fs::remove_file(sandbox.path("elsewhere/small/train.tsv")).unwrap();
    let errors = started(&other);
    assert!(errors.contains("rank 1: error: elsewhere/small/train.tsv"), "{errors}");
    // what is not shared
    for (arguments, expected) in [
        (&["train", "small.toml", "--seeds", "0..2"][..], "number of processes = 2"),
        (&["predict", "run", "x"][..], "number of processes = 2"),
    ] {
        assert!(fail(&sandbox, 2, arguments).contains(expected), "{arguments:?}");
    }
    sandbox.write("machine.toml", &CONFIG.replacen(BAG, RIDGE, 1));
    let errors = fail(&sandbox, 2, &["train", "machine.toml"]);
    assert!(errors.contains("number of processes = 2: allowed is 1 for this encoder"), "{errors}");
}

#[test]
fn ranks_fit_the_kernel_machine_of_one_process() {
    if !has_mpirun("ranks_fit_the_kernel_machine_of_one_process") {
        return;
    }
    let sandbox = Sandbox::new();
    let solver = "solver = { name = \"sketched\", sketch = { size = 40 } }";
    let machine = CONFIG.replacen(BAG, &format!("{RIDGE}\n{solver}"), 1);
    sandbox.write("machine.toml", &machine);
    let train = ["train", "machine.toml", "--json", "--out"];
    let alone = json(&sandbox.succeed(&[&train[..], &["alone"]].concat()));
    let weights = |run: &str| fs::read(sandbox.path(run).join("ridge.safetensors")).unwrap();
    for ranks in [1, 2, 5] {
        let run = ranks.to_string();
        let printed = json(&succeed(&sandbox, ranks, &[&train[..], &[&run]].concat()));
        assert_eq!(printed["mrr"], alone["mrr"]);
        assert_eq!(weights(&run) == weights("alone"), ranks == 1);
        // the same number of ranks, the same bits
        succeed(&sandbox, ranks, &[&train[..], &[&format!("again-{run}")]].concat());
        assert!(weights(&format!("again-{run}")) == weights(&run));
        let evaluated = json(&sandbox.succeed(&["evaluate", &run, "--json"]));
        assert_eq!(evaluated["mrr"], printed["mrr"]);
    }
}

#[test]
fn ranks_study_sketches_as_one_process() {
    if !has_mpirun("ranks_study_sketches_as_one_process") {
        return;
    }
    let sandbox = Sandbox::new();
    let study = ["sketch", "small.toml", "--sizes", "5,20", "--draws", "2", "--json"];
    let study = [&study[..], &["--methods", "leverage,gaussian"]].concat();
    let found = |printed: String| {
        let mut found = json(&printed);
        for curve in found["curves"].as_array_mut().unwrap() {
            for point in curve["points"].as_array_mut().unwrap() {
                point.as_object_mut().unwrap().remove("seconds").unwrap();
            }
        }
        found
    };
    let one = found(sandbox.succeed(&study));
    assert!(number(&one["curves"][0]["points"][1], "mean") > 0.0);
    // more ranks than blocks of the 80 outputs
    for ranks in [1, 2, 3] {
        assert_eq!(found(succeed(&sandbox, ranks, &study)), one);
    }
}

#[test]
fn shards_that_do_not_fit_are_refused() {
    if !has_mpirun("shards_that_do_not_fit_are_refused") {
        return;
    }
    let sandbox = Sandbox::new();
    for (run, seed) in [("run", "seed=1"), ("other", "seed=2")] {
        sandbox.succeed(&["train", "small.toml", "--out", run, "--quiet", "--set", seed]);
        sandbox.succeed(&["candidates", "shard", run, "--parts", "2"]);
    }
    let evaluate =
        |ranks, options: &[&str]| fail(&sandbox, ranks, &[&["evaluate", "run"], options].concat());
    // of a different run
    let errors = evaluate(2, &["--shards", "other/shards"]);
    assert!(errors.contains("a shard of other candidates: their fingerprint is"), "{errors}");
    // ranks of which one has no shards, a different number of them, or a different run
    let elsewhere = |change: &dyn Fn(), expected: &str| {
        change();
        let script = "if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then cd elsewhere; fi; exec \"$@\"";
        let errors = fail_by_script(&sandbox, script, &["evaluate", "run", "--data", "data"]);
        assert!(errors.contains(expected), "{errors}");
    };
    let copy = |run: &str| crate::sandbox::copy(&sandbox.path(run), &sandbox.path("elsewhere/run"));
    let there = sandbox.path("elsewhere/run/shards");
    elsewhere(
        &|| {
            copy("run");
            fs::remove_dir_all(&there).unwrap();
        },
        "rank 1: its folder run/shards is missing, that of rank 0 is there",
    );
    elsewhere(
        &|| {
            sandbox.succeed(&["candidates", "shard", "elsewhere/run", "--parts", "3"]);
        },
        "rank 1: its number of shards is 3, that of rank 0 is 2",
    );
    elsewhere(
        &|| {
            fs::remove_dir_all(sandbox.path("elsewhere/run")).unwrap();
            copy("other");
        },
        "rank 1: its fingerprint of the candidates is ",
    );
    // missing, and damaged
    let file = sandbox.path("run/shards/shard-1-of-2.safetensors");
    let kept = fs::read(&file).unwrap();
    fs::write(&file, &kept[..kept.len() - 9]).unwrap();
    let errors = evaluate(2, &[]);
    assert!(errors.contains("rank 1: error: run/shards/shard-1-of-2.safetensors: "), "{errors}");
    fs::remove_file(&file).unwrap();
    let errors = evaluate(2, &[]);
    let expected = "rank 1: error: run/shards/shard-1-of-2.safetensors: no such file";
    assert!(errors.contains(expected), "{errors}");
    // lists of candidates
    fs::write(&file, &kept).unwrap();
    sandbox.write("lists.jsonl", "");
    let errors = evaluate(2, &["--candidates", "lists.jsonl"]);
    assert!(errors.contains("lists of candidates = lists.jsonl: allowed is absent"), "{errors}");
}

#[test]
fn ranks_evaluate_and_search_as_one_process() {
    if !has_mpirun("ranks_evaluate_and_search_as_one_process") {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--out", "run", "--quiet"]);
    let evaluate = ["evaluate", "run", "--ci", "--json"];
    let one = sandbox.succeed(&evaluate);
    let search = ["search", "run", "a ring of kind METH", "--top", "25", "--json"];
    let hits = sandbox.succeed(&search);
    // more ranks than the ten queries, fewer than the candidates
    for ranks in [1, 2, 11] {
        assert_eq!(succeed(&sandbox, ranks, &evaluate), one);
        assert_eq!(succeed(&sandbox, ranks, &search), hits);
    }
    succeed(&sandbox, 2, &["evaluate", "run", "--report", "report"]);
    assert!(sandbox.path("report/ranks.tsv").exists());
    // shards in the run directory are used by several processes, with the same answers
    for (parts, precision) in [("3", "f32"), ("2", "i8")] {
        let shard = ["candidates", "shard", "run", "--parts", parts, "--precision", precision];
        let written = sandbox.succeed(&shard);
        assert!(written.contains(&format!("in {parts} shards ({precision})")), "{written}");
        // fewer and more ranks than shards, and more than candidates
        for ranks in [2, 5] {
            assert_eq!(succeed(&sandbox, ranks, &evaluate), one, "{parts} {precision} {ranks}");
            assert_eq!(succeed(&sandbox, ranks, &search), hits, "{parts} {precision} {ranks}");
        }
    }
    for name in ["ranks.tsv", "worst.tsv", "metrics.json"] {
        let whole = sandbox.read(&format!("report/{name}"));
        if name == "ranks.tsv" {
            succeed(&sandbox, 2, &["evaluate", "run", "--report", "of-shards"]);
        }
        assert_eq!(sandbox.read(&format!("of-shards/{name}")), whole, "{name}");
    }
    // lines of the standard input go to all ranks through the first
    sandbox.write("texts", "a ring of kind METH\nan open chain\n");
    let search = ["search", "run", "--top", "3", "--json"];
    let mut command = mpirun(&sandbox, 2, &search);
    let found = command.stdin(fs::File::open(sandbox.path("texts")).unwrap()).output().unwrap();
    let mut command = sandbox.command(&search);
    let one = command.stdin(fs::File::open(sandbox.path("texts")).unwrap()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), String::from_utf8_lossy(&one.stdout));
    assert!(one.status.success() && !one.stdout.is_empty());
}

/// Sends a signal to a process.
#[cfg(all(target_os = "linux", feature = "serve"))]
fn signal(name: &str, process: u32) {
    assert!(Command::new("kill").args([name, &process.to_string()]).status().unwrap().success());
}

#[cfg(all(target_os = "linux", feature = "serve"))]
#[test]
fn ranks_serve_as_one_process() {
    if !has_mpirun("ranks_serve_as_one_process") {
        return;
    }
    let sandbox = crate::served::molecules();
    // the name is found in the list of processes of this machine
    let run = format!("served-{}", std::process::id());
    fs::rename(sandbox.path("molecules"), sandbox.path(&run)).unwrap();
    let one = Served::start(&sandbox, &[&run]);
    let texts = ["A carboxylic acid with a bromine atom.", "An ether."];
    let post = |server: &Served, path: &str, body: &Value| {
        let body = body.to_string();
        let answer = send(&server.address, "POST", path, "application/json", body.as_bytes());
        (answer.status, answer.body)
    };
    let search = |text: &str| post(&one, "/api/search", &json!({"texts": [text]})).1;
    // how sure answers are is known a little later
    let begun = Instant::now();
    while !search(texts[0]).contains("\"confidence\":{") {
        assert!(begun.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(50));
    }
    let found: Value = serde_json::from_str(&search(texts[0])).unwrap();
    let hits = found["answers"][0]["hits"].as_array().unwrap();
    let id = hits[3]["id"].as_str().or(hits[3]["candidate"]["id"].as_str()).unwrap();
    let embedded = post(&one, "/api/embed", &json!({"texts": [texts[0]]})).1;
    let embedded: Value = serde_json::from_str(&embedded).unwrap();
    let z = embedded["coordinates"].clone();
    let width = z[0].as_array().unwrap().len();
    let filter = json!({"formula": "C7*", "groups": ["carboxylic acid"]});
    let asked = [
        ("/api/search", json!({"texts": texts, "top": 20, "explain": true})),
        ("/api/search", json!({"texts": texts, "top": 5, "skip": 7})),
        ("/api/search", json!({"texts": texts, "top": 30, "filter": filter, "explain": true})),
        ("/api/search", json!({"coordinates": z})),
        ("/api/search", json!({"texts": texts, "top": 0})),
        ("/api/search", json!({"texts": [" "]})),
        ("/api/search", json!({"texts": texts, "model": "none"})),
        ("/api/search", json!({"coordinates": [vec![3e38; width]]})),
        ("/api/search", json!({"coordinates": [vec![-1e39; width]]})),
        ("/api/search", json!({"coordinates": [[1.0, 2.0]]})),
        ("/api/embed", json!({"texts": texts})),
        ("/api/rank", json!({"texts": texts, "ids": [[id], [id, "1"]]})),
        ("/api/rank", json!({"texts": texts, "ids": [[id], [id]]})),
        ("/api/candidates", json!({"ids": [id, id]})),
        ("/api/candidates", json!({"ids": [id, "none"]})),
        ("/api/export", json!({"format": "sdf", "search": {"texts": [texts[0]]}})),
        ("/api/export", json!({"format": "csv", "search": {"texts": texts}})),
    ];
    let drawing = format!("/api/drawing?id={id}");
    let draw = |server: &Served| send(&server.address, "GET", &drawing, "", b"").body;
    let models = |server: &Served| send(&server.address, "GET", "/api/models", "", b"").body;
    let expected = asked.each_ref().map(|(path, body)| post(&one, path, body));
    let statuses = expected.each_ref().map(|(status, _)| *status);
    let known =
        [200, 200, 200, 200, 422, 422, 404, 422, 400, 422, 200, 404, 200, 200, 404, 200, 422];
    assert_eq!(statuses, known, "{expected:#?}");
    for (parts, ranks) in [("", 2), ("2", 3), ("3", 2)] {
        if !parts.is_empty() {
            sandbox.succeed(&["candidates", "shard", &run, "--parts", parts]);
        }
        let log = format!("serve-{parts}.log");
        let command = mpirun(&sandbox, ranks, &["serve", "--port", "0", &run]);
        let mut server = Served::spawn(&sandbox, command, &log);
        for ((path, body), expected) in asked.iter().zip(&expected) {
            let (status, answer) = post(&server, path, body);
            // an error of one rank is reported with its number
            let answer = match status {
                200 => answer,
                _ => (1..ranks)
                    .fold(answer, |text, rank| text.replace(&format!("rank {rank}: "), "")),
            };
            assert_eq!(&(status, answer), expected, "{parts} {ranks} {path} {body}");
        }
        assert_eq!((draw(&server), models(&server)), (draw(&one), models(&one)));
        // at once
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(post(&server, asked[0].0, &asked[0].1), expected[0]));
            }
        });
        let mut all = processes(&run);
        all.retain(|&process| process != one.child.id());
        assert_eq!(all.len(), ranks);
        match parts {
            // Ctrl-C and time limits reach rank 0, or mpirun, which passes them on
            "" => signal("-TERM", all[0]),
            "2" => signal("-TERM", server.child.id()),
            _ => signal("-KILL", all[1]),
        }
        let run_of_one = [one.child.id()];
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = server.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "{}", sandbox.read(&log));
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(processes(&run), run_of_one);
        let errors = sandbox.read(&log);
        match parts {
            "3" => assert!(!status.success() && errors.contains("rank 1"), "{errors}"),
            _ => assert!(errors.contains("stopping: what has begun is finished"), "{errors}"),
        }
        assert!(!parts.is_empty() || status.success(), "{errors}");
    }
}
