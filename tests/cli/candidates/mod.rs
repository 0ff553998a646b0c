//! Candidates that are added to a trained run, and removed from it.

mod members;
mod score;

use std::fs;

use dsokr::data::read_matrix;
use dsokr::decode::Candidates;
use dsokr::run::{Member, Run};
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
    let mut table = heading.to_owned();
    let mut graphs = String::new();
    let mut new = heading.to_owned();
    let mut vectors = Vec::new();
    let mut new_vectors = Vec::new();
    let mut new_graphs = String::new();
    for (i, line) in sandbox.read("data/small/outputs.tsv").lines().skip(1).enumerate() {
        let head = heads[i % 5];
        let tail = tails[i / 5 % 4];
        let length = 1 + i / 20;
        let smiles = format!("{head}{}{tail}", "C".repeat(length));
        let labels = format!("{head} {tail}");
        let size = i as f64 * 0.5;
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
    Member::open(sandbox.path(run)).unwrap().candidates
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
    let all = candidates(sandbox, "all");
    let part = candidates(sandbox, "part");
    assert_eq!((all.len(), all.distinct()), (part.len(), part.distinct()), "{what}");
    for id in all.ids() {
        let mut own = point(&all, id);
        let other = point(&part, id);
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
    let all = evaluate("all");
    let part = evaluate("part");
    for key in ["mrr", "hits@10", "mean_rank", "candidates", "ged", "f1", "pinball"] {
        assert_eq!(all[key], part[key], "{what}: {key}");
    }
}

#[test]
fn ranks_among_added_candidates_are_not_compared_with_others() {
    let sandbox = sandbox();
    write(&sandbox, "name", NGRAMS, SKETCH, RIDGE);
    let old = ["--set", "output.candidate.column=\"old\""];
    for run in ["a", "b"] {
        sandbox.succeed(&[&["train", "run.toml", "--out", run][..], &old].concat());
    }
    let compare = ["compare", "a", "b"];
    let against = ["evaluate", "a", "--against", "b"];
    sandbox.succeed(&compare);
    sandbox.succeed(&against);
    sandbox.succeed(&["candidates", "add", "b", "new.tsv"]);
    let says = ["b, with 80 candidates", "the candidates of a, 60 candidates", "--candidates"];
    sandbox.fail(&compare, 2, &says);
    sandbox.fail(&against, 2, &says);
    // lists give each query the same candidates
    let list = |query: usize| {
        let gold = if query.is_multiple_of(4) { 1 } else { query };
        format!("{{\"query\": \"o{query}\", \"candidates\": [\"o{gold}\", \"o2\", \"o3\"]}}\n")
    };
    sandbox.write("lists.jsonl", &(70..80).map(list).collect::<String>());
    for command in [&compare[..], &against] {
        sandbox.succeed(&[command, &["--candidates", "lists.jsonl"]].concat());
    }
}

#[test]
fn added_candidates_are_those_of_a_training_with_them() {
    let sandbox = sandbox();
    let power = |output: &str| format!("{output}\npower = 0.5");
    let substructures = |of: &str, more: &str| {
        format!(
            "features = {{ kind = \"substructures\", column = \"smiles\", count = {of}, {more} }}\nkernel = {{ name = \"tanimoto\" }}"
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
fn a_run_is_as_before_once_what_was_added_is_removed() {
    let sandbox = sandbox();
    let hubs = format!("{RIDGE}\n[decoding.hubs]\nweights = [0.5]\nneighbours = [3]");
    let old = ["--set", "output.candidate.column=\"old\""];
    let bytes = || fs::read(sandbox.path("part/candidates.safetensors")).unwrap();
    for solver in [RIDGE, &hubs] {
        let _ = fs::remove_dir_all(sandbox.path("part"));
        write(&sandbox, "name", NGRAMS, SKETCH, solver);
        sandbox.succeed(&[&["train", "run.toml", "--out", "part"][..], &old].concat());
        let before = bytes();
        sandbox.succeed(&["candidates", "add", "part", "new.tsv"]);
        let with_all = bytes();
        let text = sandbox.succeed(&["candidates", "remove", "part", "new.tsv", "--dry-run"]);
        assert!(text.starts_with("part: 20 candidates would be removed, 60 left, "), "{text}");
        assert!(bytes() == with_all, "a dry run has changed the candidates");
        let removed =
            json(&sandbox.succeed(&["candidates", "remove", "part", "new.tsv", "--json"]));
        assert_eq!((number(&removed, "removed"), number(&removed, "candidates")), (20.0, 60.0));
        assert!(bytes() == before, "the candidates are not those before");
        sandbox.succeed(&["candidates", "add", "part", "new.tsv"]);
        assert!(bytes() == with_all, "the candidates are not those that were added before");
    }
    let all = candidates(&sandbox, "part");
    for (row, expected) in [
        ("o1", "line 3: the id \"o1\" is that of a candidate of the training of part"),
        ("none", "line 3: the id \"none\" is no candidate of part"),
    ] {
        sandbox.write("wrong.csv", &format!("id\no0\n{row}\n"));
        sandbox.fail(&["candidates", "remove", "part", "wrong.csv"], 2, &["wrong.csv", expected]);
        assert_eq!(candidates(&sandbox, "part"), all);
    }
    // a molecule gets a different name
    sandbox.write("ids.csv", "id\no0\no4\no0\n");
    let text = sandbox.succeed(&["candidates", "remove", "part", "ids.csv"]);
    assert!(text.starts_with("part: 2 candidates removed, 78 left, "), "{text}");
    let row = sandbox.read("new.tsv").lines().nth(1).unwrap().to_owned();
    let heading = sandbox.read("new.tsv").lines().next().unwrap().to_owned();
    let name = all.label(all.find("o0").unwrap());
    let renamed = row.replacen(name, "a better name", 1);
    sandbox.write("corrected.tsv", &format!("{heading}\n{renamed}\n"));
    sandbox.succeed(&["candidates", "add", "part", "corrected.tsv"]);
    let after = candidates(&sandbox, "part");
    assert_eq!((after.len(), after.find("o4")), (79, None));
    assert_eq!(point(&after, "o0").2, "a better name");
    assert_eq!(point(&after, "o0").0, point(&all, "o0").0);
    let evaluated = json(&sandbox.succeed(&["evaluate", "part", "--json"]));
    assert_eq!(number(&evaluated, "candidates"), 79.0);
    // a resumed training keeps those that are left
    fs::remove_file(sandbox.path("part/metrics.json")).unwrap();
    sandbox.succeed(&[&["train", "run.toml", "--out", "part", "--resume"][..], &old].concat());
    assert_eq!(candidates(&sandbox, "part"), after);
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
            &["wrong.tsv:2", "\"purple\"", "the run was trained with \"C\""][..],
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
    // as of a model that was made from its parts
    sandbox.forget_checksum("part", "features.safetensors");
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
