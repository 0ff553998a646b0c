//! Candidates that are added to a trained run.

use std::fs;

use dsokr::data::read_matrix;
use dsokr::decode::Candidates;
use dsokr::run::{EnsembleRun, Run};
use serde_json::Value;

use crate::sandbox::{Sandbox, json, npy, number};
use crate::served::Served;

/// A kernel machine, whose candidates change nothing but the candidates.
const CONFIG: &str = r#"
[data]
folder = "small"
test = "test.tsv"

[output]
table = "outputs.tsv"
label = "LABEL"
candidate = { column = "all" }
OUTPUT

[encoder]
kind = "kernel-machine"
inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1 }] }
SOLVER

[evaluation]
split = "test"
missing_gold = "rank-infinity"
"#;

const RIDGE: &str = "lambda = 0.001";
const SKETCH: &str = "[sketch]\nsize = 20\n";
const NGRAMS: &str = r#"features = { kind = "ngrams", column = "smiles", min = 1, max = 3, log = true, min_outputs = 3 }
kernel = { name = "ngram" }"#;

/// Outputs are molecules with names, a number, labels, a ranking, a graph and a vector each. Those of every
/// fourth row are candidates in the column `all` alone, and not in `old`; `new.tsv` holds them.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let heads = ["C", "N", "O", "C=C", "c1ccccc1"];
    let tails = ["C", "N", "F", "C#N"];
    let heading = "id\tname\tsmiles\tsize\tlabels\tranks\tall\told\n";
    let (mut table, mut new, mut graphs) = (heading.to_owned(), heading.to_owned(), String::new());
    let (mut vectors, mut new_vectors, mut new_graphs) = (Vec::new(), Vec::new(), String::new());
    for (i, line) in sandbox.read("data/small/outputs.tsv").lines().skip(1).enumerate() {
        let (head, tail, length) = (heads[i % 5], tails[i / 5 % 4], 1 + i / 20);
        let smiles = format!("{head}{}{tail}", "C".repeat(length));
        let (labels, size) = (format!("{head} {tail}"), i as f64 * 0.5);
        let mut ranks: Vec<usize> = (1..=5).collect();
        ranks.rotate_left(i % 5);
        ranks.swap(0, 1 + i / 5 % 4);
        let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
        let added = i % 4 == 0;
        let row = format!(
            "{line}\t{smiles}\t{size}\t{labels}\t{}\t1\t{}\n",
            ranks.join(" "),
            u8::from(!added)
        );
        let nodes: Vec<String> = (0..3 + i % 4).map(|node| (node * i % 3).to_string()).collect();
        let edges: Vec<String> =
            (1..nodes.len()).map(|node| format!("[{},{node},{}]", node - 1, i % 2)).collect();
        let graph = format!(
            "{{\"id\":\"o{i}\",\"nodes\":[{}],\"edges\":[{}]}}\n",
            nodes.join(","),
            edges.join(",")
        );
        let vector = [(i as f64 * 0.7).sin(), 100.0 * (i as f64 * 1.3).cos(), size];
        table += &row;
        graphs += &graph;
        vectors.extend(vector);
        if added {
            new += &row;
            new_graphs += &graph;
            new_vectors.extend(vector);
        }
    }
    sandbox.write("data/small/outputs.tsv", &table);
    sandbox.write("data/small/graphs.jsonl", &graphs);
    fs::write(sandbox.path("data/small/vectors.npy"), npy(3, &vectors)).unwrap();
    sandbox.write("new.tsv", &new);
    sandbox.write("new.jsonl", &new_graphs);
    fs::write(sandbox.path("new.npy"), npy(3, &new_vectors)).unwrap();
    sandbox
}

fn write(sandbox: &Sandbox, label: &str, output: &str, sketch: &str, solver: &str) {
    let config = CONFIG.replace("\"LABEL\"", &format!("{label:?}"));
    let config = config.replace("OUTPUT", &format!("{output}\n{sketch}")).replace("SOLVER", solver);
    let metric = if output.contains("numbers") { "pinball" } else { "mrr" };
    let config = config + &format!("metric = {metric:?}\n");
    let config = if label.is_empty() { config.replace("label = \"\"\n", "") } else { config };
    sandbox.write("run.toml", &config);
}

/// Trains with all candidates, and with the old ones alone, to which the others are added; the runs are
/// `all` and `part`. Returns what the command prints.
fn add(sandbox: &Sandbox, files: &[&str]) -> Value {
    for folder in ["all", "part"] {
        let _ = fs::remove_dir_all(sandbox.path(folder));
    }
    sandbox.succeed(&["train", "run.toml", "--out", "all"]);
    let old = ["--set", "output.candidate.column=\"old\""];
    sandbox.succeed(&[&["train", "run.toml", "--out", "part"][..], &old].concat());
    let files = files.iter().flat_map(|file| ["--features", *file]).collect::<Vec<_>>();
    let arguments = ["candidates", "add", "part", "new.tsv", "--json", "--out", "found.tsv"];
    let printed = json(&sandbox.succeed(&[&arguments[..], &files].concat()));
    assert_eq!((number(&printed, "added"), number(&printed, "candidates")), (20.0, 80.0));
    assert_eq!(sandbox.read("found.tsv").lines().count(), 21);
    printed
}

fn candidates(sandbox: &Sandbox, run: &str) -> Candidates {
    Run::open(&sandbox.path(run)).unwrap().candidates
}

fn point(candidates: &Candidates, id: &str) -> (Vec<f32>, f32, String) {
    let at = candidates.find(id).unwrap();
    let row = candidates.class_of(at) as usize;
    let coordinates = candidates.point(row).unwrap().into_owned();
    (coordinates, candidates.constants()[row], candidates.label(at).to_owned())
}

/// The candidates of both runs are the same, bit for bit but for constants, which differ by `bound` at most; and
/// so are their metrics.
fn check(sandbox: &Sandbox, what: &str, bound: f32) {
    let (all, part) = (candidates(sandbox, "all"), candidates(sandbox, "part"));
    assert_eq!((all.len(), all.distinct()), (part.len(), part.distinct()), "{what}");
    for id in all.ids() {
        let (mut own, other) = (point(&all, id), point(&part, id));
        assert!((own.1 - other.1).abs() <= bound, "{what}: {id}: {} {}", own.1, other.1);
        own.1 = other.1;
        assert_eq!(own, other, "{what}: {id}");
        let names = |of: &Candidates| {
            let members = of.members(of.class_of(of.find(id).unwrap()));
            let mut names: Vec<_> =
                members.iter().map(|&member| of.id(member as usize).to_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&all), names(&part), "{what}: {id}");
    }
    let evaluate = |run: &str| json(&sandbox.succeed(&["evaluate", run, "--json"]));
    let (all, part) = (evaluate("all"), evaluate("part"));
    for key in ["mrr", "hits@10", "mean_rank", "candidates", "ged", "f1", "pinball"] {
        assert_eq!(all[key], part[key], "{what}: {key}");
    }
}

#[test]
fn added_candidates_are_those_of_a_training_with_them() {
    let sandbox = sandbox();
    let power = |output: &str| format!("{output}\npower = 0.5");
    let substructures = |of: &str, more: &str| {
        format!(
            "features = {{ kind = \"substructures\", column = \"smiles\", of = {of}, {more} }}\nkernel = {{ name = \"tanimoto\" }}"
        )
    };
    let morgan = substructures("{ name = \"morgan\", width = 64 }", "log = true");
    let exact = substructures("{ name = \"composition\" }", "exact = true, min_outputs = 2");
    let graph = "{ name = \"graph\", kernel = { name = \"weisfeiler-lehman\", iterations = 2 } }";
    let full = "[sketch]\nfull = true\n";
    let hubs = format!("{RIDGE}\n[decoding.hubs]\nweights = [0.5]\nneighbours = [3]");
    let rankings = |embedding: &str, kernel: &str| {
        format!(
            "features = {{ kind = \"rankings\", column = \"ranks\", embedding = {embedding:?} }}\nkernel = {{ name = {kernel:?} }}"
        )
    };
    for (what, label, output, sketch, solver, files) in [
        ("n-grams", "name", NGRAMS.to_owned(), SKETCH, RIDGE, &[][..]),
        ("hubs", "name", power(NGRAMS), SKETCH, &hubs, &[]),
        ("no sketch", "name", NGRAMS.to_owned(), full, RIDGE, &[]),
        ("morgan", "smiles", morgan, SKETCH, RIDGE, &[]),
        ("exact", "smiles", exact, SKETCH, RIDGE, &[]),
        ("graph counts", "smiles", power(&substructures(graph, "min_outputs = 2")), SKETCH, RIDGE, &[]),
        (
            "molecules",
            "smiles",
            "features = { kind = \"molecules\", column = \"smiles\", graph = { name = \"weisfeiler-lehman\", iterations = 1 } }\nkernel = { name = \"cosine\" }".to_owned(),
            SKETCH,
            RIDGE,
            &[],
        ),
        (
            "labels",
            "labels",
            "features = { kind = \"labels\", column = \"labels\" }\nkernel = { name = \"tanimoto\" }".to_owned(),
            "[sketch]\nsize = 6\n",
            RIDGE,
            &[],
        ),
        ("kemeny", "ranks", rankings("kemeny", "kemeny"), SKETCH, RIDGE, &[]),
        ("hamming", "ranks", rankings("hamming", "hamming"), SKETCH, RIDGE, &[]),
        (
            "quantiles",
            "name",
            "features = { kind = \"numbers\", column = \"size\" }\nkernel = { name = \"linear\" }".to_owned(),
            full,
            "lambda = 0.001\nsolver = { name = \"lipschitz\", sketch = { size = 40 }, loss = { name = \"pinball\", levels = [0.1, 0.5, 0.9] } }",
            &[],
        ),
        (
            "vectors",
            "name",
            "features = { kind = \"file\", file = \"vectors.npy\" }\nkernel = { name = \"gaussian\", gamma = 0.3 }\nscaling = \"standard\"".to_owned(),
            SKETCH,
            RIDGE,
            &["new.npy"],
        ),
        (
            "graphs",
            "",
            "features = { kind = \"graphs\", file = \"graphs.jsonl\", graph = { name = \"shortest-path\" } }\nkernel = { name = \"cosine\" }".to_owned(),
            SKETCH,
            RIDGE,
            &["new.jsonl"],
        ),
        (
            "several kernels",
            "name",
            format!("[[output.kernels]]\n{NGRAMS}\nsize = 20\n[[output.kernels]]\nfeatures = {{ kind = \"file\", file = \"vectors.npy\" }}\nkernel = {{ name = \"gaussian\", gamma = 0.001 }}\nsize = 10"),
            "[sketch]\nsize = 25\n",
            RIDGE,
            &["new.npy"],
        ),
    ] {
        write(&sandbox, label, &output, sketch, solver);
        let printed = add(&sandbox, files);
        // the run keeps the answers that constants are computed from in 16 bits
        check(&sandbox, what, if what == "hubs" { 0.5 * 0.5f32.powi(11) } else { 0.0 });
        let sketched = !["no sketch", "quantiles"].contains(&what);
        assert_eq!(printed["unknown"][0].is_array(), sketched, "{what}: {printed}");
        assert_eq!(printed["same_molecule"].is_null(), label != "smiles", "{what}: {printed}");
    }
}

#[test]
fn what_is_found_of_added_candidates_is_right() {
    let sandbox = sandbox();
    write(&sandbox, "smiles", NGRAMS, "[sketch]\nsize = 4\n", RIDGE);
    add(&sandbox, &[]);
    sandbox.succeed(&["embed", "part", "new.tsv", "--outputs", "--out", "targets.npy"]);
    let targets = read_matrix(&sandbox.path("targets.npy")).unwrap();
    let found = sandbox.read("found.tsv");
    let mut shares = Vec::new();
    for (row, line) in found.lines().skip(1).enumerate() {
        let norm: f64 = (0..targets.ncols()).map(|j| targets[(row, j)].powi(2)).sum();
        let share: f64 = line.split('\t').nth(1).unwrap().parse().unwrap();
        // the kernel is normalised
        assert!((share - (1.0 - norm)).abs() < 1e-5, "{line}: {norm}");
        shares.push(share);
    }
    assert!(shares.iter().any(|&share| share > 0.01), "{found}");
    // a and b are two SMILES of a molecule that is a candidate, c and d of one that is not
    let table = "id\tsmiles\na\tNCC\nb\tCCN\nc\tC(Cl)Br\nd\tBrCCl\n";
    sandbox.write("more.tsv", table);
    let before = fs::read(sandbox.path("part/candidates.safetensors")).unwrap();
    let dry = ["candidates", "add", "part", "more.tsv", "--out", "found.tsv", "--dry-run"];
    let text = sandbox.succeed(&dry);
    for part in
        ["4 candidates would be added, 84 in all", "2 have the features", "3 are the same molecule"]
    {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert_eq!(fs::read(sandbox.path("part/candidates.safetensors")).unwrap(), before);
    let found = sandbox.read("found.tsv");
    let cells = found.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let same: Vec<_> =
        cells.skip(1).map(|cells| (cells[0].to_owned(), cells[2..].join(" "))).collect();
    let expected = [("a", "o1 o1"), ("b", "o5 o1"), ("c", " "), ("d", " c")];
    assert_eq!(same, expected.map(|(id, same)| (id.to_owned(), same.to_owned())), "{found}");
    sandbox.succeed(&["candidates", "add", "part", "more.tsv"]);
    let all = candidates(&sandbox, "part");
    assert_eq!((all.len(), all.added()), (84, 24));
    assert_eq!(all.class_of(80), all.class_of(all.find("o1").unwrap()));
    let ask =
        ["search", "part", "an open chain of kind ETH and class ANE", "--top", "84", "--json"];
    let answer = json(&sandbox.succeed(&ask));
    let hits = answer["candidates"].as_array().unwrap();
    let hit = |id: &str| hits.iter().find(|hit| hit["id"] == id);
    assert!(["c", "d", "o4"].iter().all(|id| hit(id).is_some()), "{answer}");
    for (id, same) in [("o1", "a"), ("o5", "b")] {
        assert_eq!(hit(id).unwrap()["duplicates"], serde_json::json!([same]), "{answer}");
    }
    // targets of outputs are found as before
    sandbox.write("ids.tsv", "id\no1\na\n");
    sandbox.succeed(&["embed", "part", "ids.tsv", "--outputs", "--out", "targets.npy"]);
    // a complete run with more candidates is still complete
    let resume = ["train", "run.toml", "--out", "part", "--resume", "--set"];
    sandbox.succeed(&[&resume[..], &["output.candidate.column=\"old\""]].concat());
    assert_eq!(candidates(&sandbox, "part"), all);
}

#[test]
fn duplicates_of_molecules_are_one_hit_of_the_command_and_of_the_server() {
    let sandbox = sandbox();
    write(&sandbox, "smiles", NGRAMS, "[sketch]\nsize = 4\n", RIDGE);
    add(&sandbox, &[]);
    sandbox.write("more.tsv", "id\tsmiles\na\tNCC\nb\tCCN\nc\tNCC\n");
    sandbox.succeed(&["candidates", "add", "part", "more.tsv"]);
    let served = Served::start(&sandbox, &["part"]);
    for (text, top) in [("an open chain of kind ETH and class ANE", 83), ("a ring", 7)] {
        let query = ["search", "part", text, "--top", &top.to_string(), "--json"];
        let found = json(&sandbox.succeed(&query))["candidates"].clone();
        let query = serde_json::json!({"texts": [text], "top": top});
        let mut hits = served.ask("/api/search", &query)["answers"][0]["hits"].clone();
        for hit in hits.as_array_mut().unwrap() {
            // the command does not describe molecules
            assert!(hit.as_object_mut().unwrap().remove("molecule").is_some(), "{hit}");
        }
        assert_eq!(found, hits);
        let hits = hits.as_array().unwrap();
        assert_eq!(hits.len(), top.min(80));
        let place = hits.iter().position(|hit| hit["id"] == "o1");
        if let Some(at) = place.filter(|&at| at + 1 < hits.len()) {
            assert_eq!(hits[at]["duplicates"], serde_json::json!(["a", "c"]));
            assert_eq!(number(&hits[at + 1], "rank"), number(&hits[at], "rank") + 3.0);
        }
        assert!(place.is_some() || top < 83, "{found}");
    }
}

#[test]
fn what_cannot_be_added_is_refused_and_changes_nothing() {
    let sandbox = sandbox();
    let labels =
        "features = { kind = \"labels\", column = \"labels\" }\nkernel = { name = \"tanimoto\" }";
    write(&sandbox, "labels", labels, "[sketch]\nsize = 6\n", RIDGE);
    add(&sandbox, &[]);
    let before = fs::read(sandbox.path("part/candidates.safetensors")).unwrap();
    let add = |file: &str, more: &[&'static str]| {
        [&["candidates", "add", "part", file][..], more]
            .concat()
            .iter()
            .map(|&part| part.to_owned())
            .collect::<Vec<_>>()
    };
    let refused = |arguments: &[String], expected: &[&str]| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        sandbox.fail(&arguments, 2, expected);
        assert_eq!(fs::read(sandbox.path("part/candidates.safetensors")).unwrap(), before);
    };
    refused(&add("new.tsv", &[]), &["new.tsv", "line 2", "\"o0\"", "candidate 60 of part"]);
    for (table, expected) in [
        (
            "id\tlabels\nx\tC purple\n",
            &["wrong.tsv:2", "\"purple\"", "labels that the run was trained with"][..],
        ),
        ("id\tlabels\nx\tC\nx\tN\n", &["wrong.tsv:3", "already on line 2"]),
        ("id\nx\n", &["wrong.tsv", "labels"]),
        ("id\tlabels\n", &["wrong.tsv", "zero rows"]),
    ] {
        sandbox.write("wrong.tsv", table);
        refused(&add("wrong.tsv", &[]), expected);
    }
    sandbox.write("right.tsv", "id\tlabels\nx\tC\n");
    refused(&add("right.tsv", &["--features", "new.npy"]), &["--features", "new.npy"]);
    refused(&add("none.tsv", &[]), &["none.tsv"]);
    {
        let lock = fs::File::create(sandbox.path(".part.lock")).unwrap();
        lock.lock().unwrap();
        refused(&add("right.tsv", &[]), &["is writing this run"]);
    }
    // a run of a version that kept no features
    fs::remove_file(sandbox.path("part/fingerprints.safetensors")).unwrap();
    fs::remove_file(sandbox.path("part/features.safetensors")).unwrap();
    refused(&add("right.tsv", &[]), &["features.safetensors", "train it again"]);
    fs::remove_file(sandbox.path("part/metrics.json")).unwrap();
    refused(&add("right.tsv", &[]), &["not complete"]);

    write(
        &sandbox,
        "name",
        "features = { kind = \"file\", file = \"vectors.npy\" }\nkernel = { name = \"gaussian\", gamma = 0.3 }",
        SKETCH,
        RIDGE,
    );
    sandbox.succeed(&["train", "run.toml", "--out", "vectors"]);
    sandbox.write("right.tsv", "id\tname\nx\tan x\n");
    fs::write(sandbox.path("wide.npy"), npy(4, &[1.0, 2.0, 3.0, 4.0])).unwrap();
    for (files, expected) in [
        (&[][..], &["--features", "too few"][..]),
        (&["--features", "new.npy"], &["new.npy", "20 rows", "1"]),
        (&["--features", "wide.npy"], &["right.tsv", "4 features", "3"]),
    ] {
        let arguments = [&["candidates", "add", "vectors", "right.tsv"][..], files].concat();
        sandbox.fail(&arguments, 2, expected);
    }
}

/// At each point where a process that adds candidates may be killed, all members of the ensemble `part` have the
/// `old` candidates or all have the new ones, which are in their `files`; so have readers while others write.
fn replacement_is_of_all_members(sandbox: &Sandbox, files: &[String; 2], old: &[Vec<u8>; 2]) {
    let place = |name: &str| sandbox.path(name);
    let next = files.each_ref().map(|file| place(&file.replace("candidates.", "candidates.next.")));
    let files = files.each_ref().map(|file| place(file));
    let new = files.each_ref().map(|file| fs::read(file).unwrap());
    let (switch, device) = (place("part/candidates.next"), dsokr::device::Processor::Cpu);
    let counts = || -> Vec<usize> {
        let run = EnsembleRun::open(&[place("part")], &device.open().unwrap()).unwrap();
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
    // the next one that adds ends the replacement, and then finds its candidates to be there
    sandbox.fail(&["candidates", "add", "part", "new.tsv"], 2, &["is that of candidate"]);
    assert!(!next[1].exists() && !switch.exists());
    assert_eq!(counts(), [80, 80]);
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
    replacement_is_of_all_members(&sandbox, &files, &old);
    assert_eq!(printed["unknown"].as_array().unwrap().len(), 2, "{printed}");
    let evaluate = |run: &str| json(&sandbox.succeed(&["evaluate", run, "--json"]));
    let (all, part) = (evaluate("all"), evaluate("part"));
    assert_eq!((&all["mrr"], &all["mean_rank"]), (&part["mrr"], &part["mean_rank"]));
    let member = ["candidates", "add", "part/members/first", "new.tsv"];
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
    sandbox.fail(
        &["search", "part", "a ring"],
        2,
        &["part: the candidate", "\"first\"", "\"second\""],
    );
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
    // the folder above has a config.toml, and then is a run itself
    sandbox.write("config.toml", crate::sandbox::CONFIG);
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "runs"]);
    for out in ["members/run", "runs/members/run"] {
        sandbox.succeed(&["train", "small.toml", "--quiet", "--out", out]);
        sandbox.succeed(&["candidates", "add", out, "new.tsv"]);
        assert_eq!(candidates(&sandbox, out).len(), 81);
    }
}
