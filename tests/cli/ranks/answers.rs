//! Evaluation, search and the server.

use std::fs;
#[cfg(feature = "serve")]
use std::time::{Duration, Instant};

#[cfg(feature = "serve")]
use serde_json::{Value, json};

use super::{fail, fail_by_script, has_mpirun, mpirun, succeed};
#[cfg(all(target_os = "linux", feature = "serve"))]
use super::{processes, signal};
use crate::sandbox::Sandbox;
#[cfg(feature = "serve")]
use crate::served::{Served, send};

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
    assert!(errors.contains("candidates = lists.jsonl: remove it"), "{errors}");
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
    // shards are not searched beyond the candidates
    let models = |server: &Served| {
        let models = send(&server.address, "GET", "/api/models", "", b"").body;
        models.replacen("\"beyond\":false,", "", 1)
    };
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
            assert!(begun.elapsed() < Duration::from_secs(60), "{}", sandbox.read(&log));
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
