//! Candidates that are added to ensembles, to resumed trainings and where writing fails.

use super::*;

/// At each point where a process that adds candidates may be killed, all members of the ensemble `part` have the
/// `old` candidates or all have the new ones, which are in their `files`; so have readers while others write.
fn replacement_is_of_all_members(sandbox: &Sandbox, files: &[String; 2], old: &[Vec<u8>; 2]) {
    let place = |name: &str| sandbox.path(name);
    let next = files.each_ref().map(|file| place(&file.replace("candidates.", "candidates.next.")));
    let files = files.each_ref().map(|file| place(file));
    let new = files.each_ref().map(|file| fs::read(file).unwrap());
    let switch = place("part/candidates.next");
    let checksums = ["first", "second"]
        .map(|name| place(&format!("part/members/{name}/fingerprints.safetensors")));
    let sealed = checksums.each_ref().map(|file| fs::read(file).unwrap());
    // a process takes the checksums of the candidates away before it replaces them
    let unseal = || {
        for name in ["first", "second"] {
            sandbox.forget_checksum(&format!("part/members/{name}"), "candidates.safetensors");
        }
    };
    unseal();
    let device = dsokr::device::Processor::Cpu;
    let counts = || -> Vec<usize> {
        let run = Run::open_all(&[place("part")], &device.open().unwrap()).unwrap();
        run.members().iter().map(|member| member.candidates.len()).collect()
    };
    (0..2).for_each(|at| fs::write(&files[at], &old[at]).unwrap());
    assert_eq!(counts(), [60, 60]);
    fs::write(&next[0], &new[0]).unwrap();
    assert_eq!(counts(), [60, 60]);
    fs::write(&next[1], &new[1]).unwrap();
    assert_eq!(counts(), [60, 60]);
    fs::write(&switch, "").unwrap();
    assert_eq!(counts(), [80, 80]);
    fs::rename(&next[0], &files[0]).unwrap();
    assert_eq!(counts(), [80, 80]);
    // an archive has the new candidates of all members
    sandbox.succeed(&["export", "part", "--archive", "part.tar.zst"]);
    assert!(!next[1].exists() && !switch.exists());
    assert_eq!(counts(), [80, 80]);
    unseal();
    fs::write(&files[1], &old[1]).unwrap();
    fs::write(&next[1], &new[1]).unwrap();
    fs::write(&switch, "").unwrap();
    // the next one that adds ends the replacement, and then finds its candidates to be there
    sandbox.fail(&["candidates", "add", "part", "new.tsv"], 2, &["is that of candidate"]);
    assert!(!next[1].exists() && !switch.exists());
    assert_eq!(counts(), [80, 80]);
    unseal();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for version in [old, &new].into_iter().cycle().take(21) {
                (0..2).for_each(|at| fs::write(&next[at], &version[at]).unwrap());
                fs::write(&switch, "").unwrap();
                (0..2).for_each(|at| fs::rename(&next[at], &files[at]).unwrap());
                fs::remove_file(&switch).unwrap();
            }
        });
        while !writer.is_finished() {
            let found = counts();
            assert_eq!(found[0], found[1]);
        }
    });
    (0..2).for_each(|at| fs::write(&files[at], &new[at]).unwrap());
    (0..2).for_each(|at| fs::write(&checksums[at], &sealed[at]).unwrap());
}

#[test]
fn all_members_of_an_ensemble_get_the_candidates() {
    let sandbox = sandbox();
    write(&sandbox, "name", NGRAMS, SKETCH, RIDGE);
    let members = "\n[ensemble]\n[[ensemble.members]]\nname = \"first\"\n[[ensemble.members]]\nname = \"second\"\noutput.power = 0.5\n";
    sandbox.write("run.toml", &(sandbox.read("run.toml") + members));
    for (folder, column) in [("all", "all"), ("part", "old")] {
        let column = format!("output.candidate.column={column:?}");
        sandbox.succeed(&["train", "run.toml", "--out", folder, "--set", &column]);
    }
    let files =
        ["first", "second"].map(|name| format!("part/members/{name}/candidates.safetensors"));
    let bytes = || files.each_ref().map(|file| fs::read(sandbox.path(file)).unwrap());
    let old = bytes();
    let printed = json(&sandbox.succeed(&["candidates", "add", "part", "new.tsv", "--json"]));
    let new = bytes();
    sandbox.succeed(&["candidates", "remove", "part", "new.tsv"]);
    assert!(bytes() == old, "the candidates are not those before");
    sandbox.succeed(&["candidates", "add", "part", "new.tsv"]);
    assert!(bytes() == new, "the candidates are not those that were added before");
    replacement_is_of_all_members(&sandbox, &files, &old);
    assert_eq!(printed["unknown"].as_array().unwrap().len(), 2, "{printed}");
    let evaluate = |run: &str| json(&sandbox.succeed(&["evaluate", run, "--json"]));
    let all = evaluate("all");
    let part = evaluate("part");
    assert_eq!((&all["mrr"], &all["mean_rank"]), (&part["mrr"], &part["mean_rank"]));
    let member = ["candidates", "add", "part/members/first", "new.tsv"];
    sandbox.fail(&member, 2, &["a member of the ensemble"]);
    let member = ["candidates", "remove", "part/members/first", "new.tsv"];
    sandbox.fail(&member, 2, &["a member of the ensemble"]);

    // a member, and then the ensemble, that are evaluated again as reliability.md says
    let before = bytes();
    for report in ["part/members/first/metrics.json", "part/metrics.json"] {
        fs::remove_file(sandbox.path(report)).unwrap();
        let resume = ["train", "run.toml", "--out", "part", "--resume", "--set"];
        sandbox.succeed(&[&resume[..], &["output.candidate.column=\"old\""]].concat());
        assert!(bytes() == before, "{report}: candidates have changed");
        assert_eq!(number(&json(&sandbox.read(report).replace('\n', " ")), "candidates"), 80.0);
        assert_eq!(evaluate("part")["mrr"], part["mrr"]);
    }
    // an ensemble whose members differ is not read
    sandbox.succeed(&[
        "train",
        "run.toml",
        "--out",
        "old",
        "--set",
        "output.candidate.column=\"old\"",
    ]);
    let file = "members/second/candidates.safetensors";
    fs::copy(sandbox.path(&format!("old/{file}")), sandbox.path(&format!("part/{file}"))).unwrap();
    let search = ["search", "part", "a ring"];
    sandbox.fail(&search, 2, &[&format!("part/{file}"), "of a different run"]);
    // a process that is killed while it replaces candidates leaves them without a checksum
    sandbox.forget_checksum("part/members/second", "candidates.safetensors");
    sandbox.fail(&search, 2, &["part: candidate", "\"first\"", "\"second\""]);
}

/// `rm metrics.json` and `train --resume` evaluate a run again, which keeps the candidates that were added to it.
#[test]
fn added_candidates_are_those_of_a_resumed_training_too() {
    let sandbox = sandbox();
    sandbox.write("new.tsv", "id\tname\tsmiles\nnew\tcyclobutan\tC1CCC1\nmore\tmethanal\tC=O\n");
    let hubs = format!("{}\n[decoding.hubs]\nneighbours = [2, 3]\n", crate::sandbox::CONFIG)
        .replacen(crate::sandbox::BAG, crate::sandbox::RIDGE, 1);
    let ids: Vec<String> = (0..80).map(|i| format!("\"o{i}\"")).collect();
    let lists: String = (60..80)
        .map(|i| format!("{{\"query\": \"o{i}\", \"candidates\": [{}]}}\n", ids.join(", ")))
        .collect();
    sandbox.write("data/small/lists.jsonl", &lists);
    sandbox.write("hubs.toml", &hubs);
    let listed = ["--set", "evaluation.candidates=\"lists.jsonl\""];
    for (config, more, counted) in
        [("small.toml", &[][..], 82.0), ("hubs.toml", &[], 82.0), ("hubs.toml", &listed, 80.0)]
    {
        let _ = fs::remove_dir_all(sandbox.path("run"));
        let train = [&["train", config, "--quiet", "--out", "run"][..], more].concat();
        sandbox.succeed(&train);
        sandbox.succeed(&["candidates", "add", "run", "new.tsv"]);
        let evaluated = json(&sandbox.succeed(&["evaluate", "run", "--json"]));
        let before = fs::read(sandbox.path("run/candidates.safetensors")).unwrap();
        fs::remove_file(sandbox.path("run/metrics.json")).unwrap();
        sandbox.succeed(&[&train[..], &["--resume"]].concat());
        let after = fs::read(sandbox.path("run/candidates.safetensors")).unwrap();
        assert!(before == after, "{config} {more:?}: candidates have changed");
        let report = json(&sandbox.read("run/metrics.json").replace('\n', " "));
        assert_eq!(number(&report, "candidates"), counted, "{config} {more:?}");
        for key in ["candidates", "mrr", "mean_rank"] {
            assert_eq!(report[key], evaluated[key], "{config} {more:?}: {key}");
        }
    }
}

#[test]
fn nothing_is_added_where_what_is_found_cannot_be_written() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    sandbox.write("new.tsv", "id\tname\nnew\tcyclobutan\n");
    let before = fs::read(sandbox.path("run/candidates.safetensors")).unwrap();
    let add = ["candidates", "add", "run", "new.tsv", "--out"];
    for (out, code) in [("nowhere/found.tsv", 1), ("run/candidates.safetensors", 2), ("run/x", 2)] {
        for dry in [&[][..], &["--dry-run"]] {
            sandbox.fail(&[&add[..], &[out], dry].concat(), code, &[out]);
            assert!(fs::read(sandbox.path("run/candidates.safetensors")).unwrap() == before);
        }
    }
    sandbox.succeed(&[&add[..], &["found.tsv"]].concat());
    assert!(sandbox.read("found.tsv").contains("\nnew\t"));
}

/// Nothing but an ensemble's configuration makes a run its member.
#[test]
fn a_run_in_a_folder_named_members_is_an_ordinary_run() {
    let sandbox = Sandbox::new();
    sandbox.write("new.tsv", "id\tname\nnew\tcyclobutan\n");
    // the folder above has a config.toml
    sandbox.write("config.toml", crate::sandbox::CONFIG);
    let out = "members/run";
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", out]);
    sandbox.succeed(&["candidates", "add", out, "new.tsv"]);
    assert_eq!(candidates(&sandbox, out).len(), 81);
}
