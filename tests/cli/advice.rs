//! Lines of advice after a training, each where it applies and where it does not.

use std::fmt::Write;

use crate::sandbox::{CONFIG, Sandbox, json, npy};

/// The lines of advice of a training with values of the configuration changed.
fn advice(sandbox: &Sandbox, config: &str, changes: &[&str]) -> String {
    let sets = changes.iter().flat_map(|change| ["--set", *change]);
    let arguments: Vec<&str> = ["train", config, "--quiet"].into_iter().chain(sets).collect();
    let text = sandbox.succeed(&arguments);
    text.lines().filter(|line| line.starts_with("advice: ")).collect::<Vec<_>>().join("\n")
}

fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text:?}");
    }
}

#[test]
fn a_good_run_gets_no_advice() {
    let sandbox = Sandbox::new();
    let text = advice(&sandbox, "small.toml", &["training.epochs=60", "sketch.size=60"]);
    assert_eq!(text, "");
}

#[test]
fn models_worse_than_chance() {
    let sandbox = Sandbox::new();
    let train = sandbox.read("data/small/train.tsv");
    let texts = train.lines().skip(1).filter_map(|line| line.split('\t').nth(1));
    let mut wrong = String::from("id\tdescription\n");
    for (at, text) in texts.take(10).enumerate() {
        writeln!(wrong, "o{}\t{text}", 79 - at).unwrap();
    }
    sandbox.write("data/small/wrong.tsv", &wrong);
    let changes = ["training.epochs=60", "data.test=wrong.tsv"];
    let text = advice(&sandbox, "small.toml", &changes);
    assert_says(&text, &["worse than chance (mrr 0.0", "the right outputs, and the learning rate"]);
    // a network has none
    assert!(!text.contains("λ"), "{text}");
    // the same texts, whose outputs are others
    assert_says(
        &text,
        &["10 of 10 test texts are training texts too (o79, o78, o77, o76, o75 and 5 more)"],
    );
}

#[test]
fn a_low_ceiling_and_the_size_that_raises_it() {
    let sandbox = Sandbox::new();
    let text = advice(&sandbox, "small.toml", &["sketch.size=3"]);
    assert_says(
        &text,
        &["perfect h has only mrr 0.", "sketch.size = 3: a sketch of size 12 reaches 0."],
    );
    // a kernel machine is fitted for each size by the study
    sandbox.write("ridge.toml", &ridge("0.001"));
    let text = advice(&sandbox, "ridge.toml", &["sketch.size=3"]);
    assert_says(&text, &["perfect h has only mrr 0.", "dsokr sketch"]);
}

#[test]
fn larger_sketches_are_compared_on_the_data_of_the_training() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["train", "small.toml", "--set", "sketch.size=3"]);
    assert!(output.status.success());
    let log = String::from_utf8(output.stderr).unwrap();
    let lines = |part: &str| log.lines().filter(|line| line.contains(part)).count();
    assert_eq!(lines("data loaded"), 1, "{log}");
    assert_eq!(lines("perfect h of larger sketches, for advice"), 1, "{log}");
}

#[test]
fn a_sketch_as_large_as_the_data_is_not_compared_with_others() {
    let sandbox = Sandbox::new();
    let outputs = sandbox.read("data/small/outputs.tsv");
    let mut table = String::from("id\tname\tfirst\n");
    for line in outputs.lines().skip(1) {
        let name = line.split('\t').nth(1).unwrap();
        writeln!(table, "{line}\t{}", &name[..2]).unwrap();
    }
    sandbox.write("data/small/coarse.tsv", &table);
    let features = "output.features={kind=\"ngrams\", column=\"first\", min=1, max=2}";
    let changes = |size| ["output.table=coarse.tsv", features, size];
    let text = advice(&sandbox, "small.toml", &changes("sketch.size=60"));
    assert_says(
        &text,
        &["with sketch.size = 60, as large as the training data: try a different kernel or"],
    );
    assert!(!text.contains("dsokr sketch"), "{text}");
    assert_says(&advice(&sandbox, "small.toml", &changes("sketch.size=8")), &["dsokr sketch"]);
}

#[test]
fn inputs_that_have_nothing_in_common_under_their_kernel() {
    let sandbox = Sandbox::new();
    sandbox.write("ridge.toml", &ridge("[0.001, 0.01, 0.1]"));
    let kernel = |gamma: &str| format!("encoder.kernel={{name=\"gaussian\", gamma={gamma}}}");
    let solver = "encoder.solver={name=\"conjugate-gradients\", sketch={size=60}}";
    for changes in [vec![], vec![solver]] {
        let far = kernel("1000000.0");
        let text = advice(&sandbox, "ridge.toml", &[vec![&far[..]], changes.clone()].concat());
        let expected = "all 3 values of encoder.lambda are equally good, since 60 of 60 training inputs have \
                        nothing in common with the others under the kernel: try an encoder.kernel.gamma below 1000000";
        assert_says(&text, &[expected]);
        assert!(!text.contains("of the 3 values tried"), "{text}");
        let near = kernel("0.5");
        let text = advice(&sandbox, "ridge.toml", &[vec![&near[..]], changes].concat());
        assert!(!text.contains("in common"), "{text}");
    }
}

/// Conjugate gradients with too few iterations, and a Lipschitz loss with too few steps.
#[test]
fn solvers_that_have_not_converged() {
    let sandbox = Sandbox::new();
    sandbox.write("ridge.toml", &ridge("0.001"));
    let gradients = |more: &str| {
        format!(
            "encoder.solver={{name=\"conjugate-gradients\", sketch={{size=40}}, sample=10{more}}}"
        )
    };
    let huber = |steps: usize| {
        format!(
            "encoder.solver={{name=\"lipschitz\", sketch={{size=40}}, loss={{name=\"huber\", kappa=1.0}}, \
             stop={{gap=0.01, steps={steps}}}}}"
        )
    };
    let ends = "the solver ended before it converged: raise encoder.solver.";
    for (few, many, limit) in [
        (gradients(", iterations=1"), gradients(", iterations=1000"), "iterations above 1"),
        (huber(1), huber(20_000), "stop.steps above 1"),
    ] {
        let output = sandbox.run(&["train", "ridge.toml", "--set", &few]);
        let log = String::from_utf8(output.stderr).unwrap();
        let warns = |line: &str| line.contains("WARN") && line.contains(ends);
        assert!(output.status.success() && log.lines().any(warns), "{log}");
        let expected = format!("{ends}{limit}, or encoder.lambda");
        assert_says(&advice(&sandbox, "ridge.toml", &[&few]), &[&expected]);
        let text = advice(&sandbox, "ridge.toml", &[&many]);
        assert!(!text.contains("converged"), "{text}");
    }
}

fn ridge(lambda: &str) -> String {
    let start = CONFIG.find("[encoder]").unwrap();
    let end = CONFIG.find("[training]").unwrap();
    let inputs =
        "inputs = { kind = \"ngrams\", blocks = [{ kind = \"words\", min = 1, max = 1 }] }";
    let encoder = format!("[encoder]\nkind = \"kernel-machine\"\nlambda = {lambda}\n{inputs}\n\n");
    [&CONFIG[..start], &encoder, &CONFIG[end..]].concat()
}

#[test]
fn values_at_the_edge_of_their_grid() {
    let sandbox = Sandbox::new();
    sandbox.write("ridge.toml", &ridge("[10.0, 100.0, 1000.0]"));
    let text = advice(&sandbox, "ridge.toml", &[]);
    assert_says(
        &text,
        &["encoder.lambda = 10 is the smallest of the 3 values tried: try smaller ones"],
    );
    assert_says(
        &text,
        &["[training] has no effect: encoder.kind = \"kernel-machine\" is not trained in steps"],
    );
    let defaults = ["training.epochs=20", "training.batch=32", "training.checkpoint_seconds=60"];
    assert!(!advice(&sandbox, "ridge.toml", &defaults).contains("[training]"));
    for inside in ["[1e-12, 1e-3, 1e4]", "0.001"] {
        let text = advice(&sandbox, "ridge.toml", &[&format!("encoder.lambda={inside}")]);
        assert!(!text.contains("encoder.lambda"), "{text}");
    }
    let hubs = "decoding.hubs={weights=[0.5], neighbours=[59, 60]}";
    let text = advice(&sandbox, "ridge.toml", &["encoder.lambda=0.001", hubs]);
    assert!(!text.contains("neighbours = 60"), "there are 60 training pairs: {text}");
}

#[test]
fn a_loss_that_still_falls() {
    let sandbox = Sandbox::new();
    let changes = ["training.epochs=12", "evaluation.metric=squared_error"];
    let text = advice(&sandbox, "small.toml", &changes);
    assert_says(
        &text,
        &["the loss still falls at the last epoch", "raise training.epochs above 12"],
    );
}

#[test]
fn splits_that_share_pairs_or_outputs() {
    let sandbox = Sandbox::new();
    let text = advice(&sandbox, "small.toml", &["data.test=train.tsv"]);
    assert_says(
        &text,
        &["60 of 60 test pairs are training pairs too (o0, o1, o2, o3, o4 and 55 more)"],
    );
    assert!(!text.contains("validation pairs"), "{text}");
    sandbox
        .write("data/small/outputs-only.tsv", "id\tdescription\no1\tanother text\no79\tone more\n");
    let text = advice(&sandbox, "small.toml", &["data.test=outputs-only.tsv"]);
    assert_says(&text, &["1 of 2 test outputs are training outputs too (o1)"]);
    // one pair does not hide that the other output is known too
    let train = sandbox.read("data/small/train.tsv");
    let pair = train.lines().find(|line| line.starts_with("o1\t")).unwrap();
    sandbox.write("data/small/both.tsv", &format!("id\tdescription\n{pair}\no2\tanother text\n"));
    let text = advice(&sandbox, "small.toml", &["data.test=both.tsv"]);
    assert_says(
        &text,
        &["1 of 2 test pairs are training pairs too (o1); \
             2 of 2 test outputs are training outputs too (o1, o2)"],
    );
    assert!(!text.contains("test texts"), "{text}");
    // a table of one's own is compared with the training pairs as well
    let queries = |file: &str| {
        let output = sandbox.run(&["evaluate", "runs/small", "--queries", file]);
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let caution = "60 of 60 queries have inputs of training pairs";
    assert_says(&queries("data/small/train.tsv"), &[caution]);
    let of_file = ["--queries", "data/small/train.tsv", "--json"];
    let found = json(&sandbox.succeed(&[&["evaluate", "runs/small"][..], &of_file[..]].concat()));
    assert_says(found["caution"].as_str().unwrap(), &[caution]);
    let runs = ["compare", "runs/small", "runs/small-2"];
    let compared = json(&sandbox.succeed(&[&runs[..], &of_file[..]].concat()));
    assert_says(compared["caution"].as_str().unwrap(), &["runs/small: ", caution]);
    assert_says(
        &queries("data/small/both.tsv"),
        &["1 of 2 queries has the input of a training pair: the metrics say less"],
    );
    sandbox.write("data/small/one.tsv", &format!("id\tdescription\n{pair}\n"));
    assert_says(
        &queries("data/small/one.tsv"),
        &["1 of 1 query has the input of a training pair: the metrics say less"],
    );
    let of_one = ["--queries", "data/small/one.tsv"];
    let compared = sandbox.succeed(&[&runs[..], &of_one[..]].concat());
    assert_says(&compared, &["1 query, 10000 bootstrap resamples"]);
    let others = queries("data/small/outputs-only.tsv");
    assert!(!others.contains("inputs of training pairs"), "{others}");
}

/// Molecules are one however their SMILES are written, as inputs and as outputs.
#[test]
fn splits_that_share_molecules_in_other_spellings() {
    let sandbox = Sandbox::new();
    let chain = |length: usize| "C".repeat(length);
    let smiles = |at: usize| format!("{}O", chain(at + 1));
    let spelled = |at: usize| format!("O{}", chain(at + 1));
    let rows = |range: std::ops::Range<usize>, smiles: &dyn Fn(usize) -> String| -> String {
        range.map(|at| format!("{},{}.25\n", smiles(at), at)).collect()
    };
    sandbox.write("chains.csv", &format!("smiles,y\n{}", rows(0..40, &smiles)));
    sandbox.write("others.csv", &format!("smiles,y\n{}", rows(30..42, &spelled)));
    let init = ["init", "chains.csv", "--input", "smiles", "--output", "y", "--test", "others.csv"];
    sandbox.succeed(&init);
    // all rows but one train
    let text = advice(&sandbox, "chains.toml", &["data.splits.validation=1"]);
    let count = |text: &str| -> usize {
        let at = text.find(" of 12 test texts are training texts too").expect(text);
        text[..at].rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!((9..=10).contains(&count(&text)), "{text}");
    let row = |id: char, at: usize, smiles: &str| format!("{id}{at}\t{id} word{at}\t{smiles}\n");
    let pool: String =
        (0..30).map(|at| row('a', at, &smiles(at)) + &row('b', at, &spelled(at))).collect();
    sandbox.write("data/small/pool.tsv", &format!("id\tdescription\tsmiles\n{pool}"));
    sandbox.write("pool.toml", POOL);
    let text = advice(&sandbox, "pool.toml", &[]);
    assert_says(&text, &[" of 10 test outputs are training outputs too ("]);
    assert!(!text.contains("test texts"), "{text}");
}

const POOL: &str = r#"
[data]
folder = "small"
source = "pool"
file = "pool.tsv"
splits = { validation = 10, test = 10 }

[output]
label = "smiles"
features = { kind = "substructures", column = "smiles", count = { name = "morgan" } }
kernel = { name = "tanimoto" }

[sketch]
size = 20

[encoder]
kind = "kernel-machine"
inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1 }] }
lambda = 1e-3

[evaluation]
split = "test"
"#;

/// Each row twice, without a rule that keeps the two together.
#[test]
fn splits_that_share_vectors() {
    let sandbox = Sandbox::new();
    let row = |row: usize| format!("{row},{}.5,{}.25,{}.125\n", row / 2, 40 - row / 2, row % 7);
    let rows: String = (0..80).map(row).collect();
    sandbox.write("data/small/vectors.csv", &format!("id,x0,x1,y\n{rows}"));
    sandbox.write("vectors.toml", VECTORS);
    let text = advice(&sandbox, "vectors.toml", &[]);
    assert_says(
        &text,
        &[" of 16 test vectors are training vectors too (", " of 16 validation vectors"],
    );
    let text = advice(&sandbox, "vectors.toml", &["data.splits.group=repeats"]);
    assert!(!text.contains("training vectors"), "{text}");
}

/// The rows of a column's groups stay where a different column puts them.
#[test]
fn splits_that_divide_a_group() {
    let sandbox = Sandbox::new();
    let row = |row: usize| {
        let set = ["train", "train", "validation", "test"][row / 20];
        format!("{row},{row}.5,{}.25,{}.125,{set},g{}\n", 80 - row, row % 7, row / 15)
    };
    let rows: String = (0..80).map(row).collect();
    sandbox.write("data/small/vectors.csv", &format!("id,x0,x1,y,set,batch\n{rows}"));
    sandbox.write("vectors.toml", VECTORS);
    let text = advice(&sandbox, "vectors.toml", &["data.splits={column=\"set\", group=\"batch\"}"]);
    assert_says(
        &text,
        &["5 of 20 validation pairs are new, but in groups of training pairs (40, 41, 42"],
    );
    assert!(!text.contains("test pairs are new"), "{text}");
}

#[test]
fn training_pairs_of_one_group_choose_nothing() {
    let sandbox = Sandbox::new();
    let row = |row: usize| {
        let set = ["train", "train", "validation", "test"][row / 20];
        let batch = if row < 40 { "one".to_owned() } else { format!("g{row}") };
        format!("{row},{row}.5,{}.25,{}.125,{set},{batch}\n", 80 - row, row % 7)
    };
    let rows: String = (0..80).map(row).collect();
    sandbox.write("data/small/vectors.csv", &format!("id,x0,x1,y,set,batch\n{rows}"));
    sandbox.write("vectors.toml", VECTORS);
    let lambda = "encoder.lambda=[1e-3,1e-2,1e-1]";
    let splits = "data.splits={column=\"set\", group=\"batch\"}";
    let text = advice(&sandbox, "vectors.toml", &[splits, lambda]);
    assert_says(
        &text,
        &[
            "all 3 values of encoder.lambda are equally good, since all 40 training pairs are one group",
        ],
    );
    let text = advice(&sandbox, "vectors.toml", &["data.splits={column=\"set\"}", lambda]);
    assert!(!text.contains("one group"), "{text}");
}

/// The rows of a file of its own are in groups of training rows.
#[test]
fn files_that_share_groups() {
    let sandbox = Sandbox::new();
    let row = |row: usize| format!("{row},{row}.5,{}.25,{}.125,b{}\n", 80 - row, row % 7, row / 4);
    let rows = |is_held: bool| -> String {
        let rows = (0..80).filter(|row| (row % 4 == 3) == is_held).map(row);
        format!("id,x0,x1,y,batch\n{}", rows.collect::<String>())
    };
    sandbox.write("data/small/vectors.csv", &rows(false));
    sandbox.write("data/small/held.csv", &rows(true));
    sandbox.write("vectors.toml", VECTORS);
    let file = "data.validation=held.csv";
    let splits = "data.splits={validation=0, test=12, group=\"batch\"}";
    let text = advice(&sandbox, "vectors.toml", &[file, splits]);
    // twelve test rows are four of the twenty groups
    assert_says(&text, &["16 of 20 validation pairs are new, but in groups of training pairs ("]);
}

/// Intervals of a single group are not known, and a warning says so.
#[test]
fn a_test_split_of_one_group() {
    let sandbox = Sandbox::new();
    let row = |row: usize| format!("{row},{row}.5,{}.25,{}.125,d{}\n", 80 - row, row % 7, row / 16);
    let rows: String = (0..80).map(row).collect();
    sandbox.write("data/small/vectors.csv", &format!("id,x0,x1,y,dose\n{rows}"));
    sandbox.write("vectors.toml", VECTORS);
    let warning = "all 16 queries are one group of data.splits.group";
    let says_so = |arguments: &[&str]| {
        let run = sandbox.run(arguments);
        let errors = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{errors}");
        errors.contains(warning)
    };
    assert!(says_so(&["train", "vectors.toml", "--set", "data.splits.group=dose"]));
    assert!(says_so(&["evaluate", "runs/vectors"]));
    assert!(!says_so(&["train", "vectors.toml", "--out", "plain"]));
}

/// Intervals of few groups are too short, and of two there are none.
#[test]
fn a_test_split_of_few_groups() {
    let sandbox = Sandbox::new();
    sandbox.write("vectors.toml", VECTORS);
    for (size, groups, warning, has_intervals) in [
        (8, 2, "the 16 queries are 2 groups of data.splits.group", false),
        (4, 4, "the 16 queries are 4 groups of data.splits.group, which are drawn whole", true),
    ] {
        let row =
            |row: usize| format!("{row},{row}.5,{}.25,{}.125,d{}\n", 80 - row, row % 7, row / size);
        let rows: String = (0..80).map(row).collect();
        sandbox.write("data/small/vectors.csv", &format!("id,x0,x1,y,dose\n{rows}"));
        let out = format!("of{groups}");
        let train = ["train", "vectors.toml", "--set", "data.splits.group=dose", "--out", &out];
        let run = sandbox.run(&train);
        let errors = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success() && errors.contains(warning), "{errors}");
        let found = json(&sandbox.succeed(&["evaluate", &out, "--ci", "--json"]));
        assert_eq!(found["groups"], groups, "{found}");
        let kept = json(&sandbox.read(&format!("{out}/metrics.json")).replace('\n', " "));
        assert_eq!(kept["groups"], groups, "{kept}");
        let card = sandbox.read(&format!("{out}/README.md"));
        let over = format!("by a bootstrap over {groups} groups of queries:");
        assert_eq!(card.contains(&over), has_intervals, "{card}");
        assert_eq!(found["intervals"]["mae"].is_array(), has_intervals, "{found}");
        let text = sandbox.succeed(&["evaluate", &out, "--ci"]);
        let line = format!("intervals draw {groups} groups of queries whole:");
        assert_eq!(text.contains(&line), has_intervals, "{text}");
        // of two runs the warning comes once
        for calls in [&["compare", &out, &out][..], &["evaluate", &out]] {
            let run = sandbox.run(calls);
            let errors = String::from_utf8_lossy(&run.stderr);
            assert!(run.status.success(), "{errors}");
            assert_eq!(errors.matches(warning).count(), 1, "{errors}");
        }
        let text = sandbox.succeed(&["compare", &out, &out]);
        let too_few = "16 queries in 2 groups: fewer than 3 have no intervals and no differences.";
        assert_eq!(text.contains(too_few), !has_intervals, "{text}");
    }
}

const VECTORS: &str = r#"
[data]
folder = "small"
source = "pool"
file = "vectors.csv"
inputs = { column = "x0..x1", numbers = true }
splits = { validation = 16, test = 16 }

[output]
features = { kind = "numbers", column = "y" }
kernel = { name = "linear" }
scaling = "standard"

[sketch]
full = true

[decoding]
search = "exact"

[encoder]
kind = "kernel-machine"
inputs = { kind = "vectors", scaling = "standard" }
kernel = { name = "gaussian", gamma = "median" }
lambda = 1e-2

[evaluation]
split = "test"
metric = "r2"
"#;

#[test]
fn metrics_of_numbers_name_the_search_that_predicts_them() {
    let sandbox = Sandbox::new();
    let row = |row: usize| format!("{row},{row}.5,{}.25,{}.125\n", 80 - row, row % 7);
    let rows: String = (0..80).map(row).collect();
    sandbox.write("data/small/vectors.csv", &format!("id,x0,x1,y\n{rows}"));
    let config = VECTORS
        .replace("[decoding]\nsearch = \"exact\"\n\n", "")
        .replace("scaling = \"standard\"\n\n[sketch]", "\n[sketch]");
    sandbox.write("vectors.toml", &config);
    let says = ["evaluation.metric = r2", "for these outputs; decoding.search = \"exact\""];
    sandbox.fail(&["train", "vectors.toml"], 2, &says);
}

#[test]
fn empty_texts_are_named() {
    let sandbox = Sandbox::new();
    let train = sandbox.read("data/small/train.tsv");
    let line = train.lines().find(|line| line.starts_with("o7\t")).unwrap();
    sandbox.write("data/small/gaps.tsv", &train.replace(line, "o7\t "));
    let text = advice(&sandbox, "small.toml", &["data.train=gaps.tsv"]);
    assert_says(&text, &["1 training texts are empty (o7)"]);
}

#[test]
fn packed_bits_that_are_read_as_numbers() {
    let sandbox = Sandbox::new();
    let bytes: Vec<f64> = (0..80 * 4).map(|at| f64::from(at * 37 % 256)).collect();
    let halves: Vec<f64> = bytes.iter().map(|byte| byte / 2.0).collect();
    for (name, values, applies) in [("bytes", &bytes, true), ("halves", &halves, false)] {
        std::fs::write(sandbox.path(&format!("data/small/{name}.npy")), npy(4, values)).unwrap();
        let features = format!("output.features={{kind=\"file\", file=\"{name}.npy\"}}");
        let changes = [&features[..], "output.kernel={name=\"cosine\"}", "sketch.size=4"];
        let text = advice(&sandbox, "small.toml", &changes);
        let line = "all values of bytes.npy are whole numbers from 0 to 255";
        assert_eq!(text.contains(line), applies, "{text}");
    }
}

#[test]
fn columns_of_a_network_s_inputs_in_other_units() {
    let sandbox = Sandbox::new();
    let alike: Vec<f64> = (0..80 * 3).map(|at| f64::from(at * 37 % 101) / 50.0 - 1.0).collect();
    let scaled = |(at, value): (usize, &f64)| if at % 3 == 1 { value * 1e3 } else { *value };
    let other: Vec<f64> = alike.iter().enumerate().map(scaled).collect();
    for (name, values, applies) in [("alike", &alike, false), ("other", &other, true)] {
        std::fs::write(sandbox.path(&format!("data/small/{name}.npy")), npy(3, values)).unwrap();
        let inputs = format!(
            "data.inputs={{kind=\"features\", table=\"outputs.tsv\", file=\"{name}.npy\"}}"
        );
        let changes = [&inputs[..], "encoder={kind=\"mlp\", hidden=[]}"];
        let text = advice(&sandbox, "small.toml", &changes);
        assert_eq!(text.contains("values of column 1 of the inputs"), applies, "{text}");
    }
}

/// Of 80 rows 60 are training pairs.
#[test]
fn columns_of_inputs_that_are_constant_in_training_alone() {
    let sandbox = Sandbox::new();
    for (name, other, applies) in [("same", 3.0, false), ("near", 4.0, false), ("far", 300.0, true)]
    {
        let number = |at: i32| match at % 3 {
            1 if at < 3 * 60 => 3.0,
            1 => other,
            _ => f64::from(at * 37 % 101) / 50.0 - 1.0,
        };
        let values: Vec<f64> = (0..80 * 3).map(number).collect();
        std::fs::write(sandbox.path(&format!("data/small/{name}.npy")), npy(3, &values)).unwrap();
        let inputs = format!(
            "data.inputs={{kind=\"features\", table=\"outputs.tsv\", file=\"{name}.npy\"}}"
        );
        let text = advice(&sandbox, "small.toml", &[&inputs, "encoder={kind=\"mlp\", hidden=[]}"]);
        let line = "1 of 3 columns of the inputs are constant in training pairs and differ in others (1, counted from 0)";
        assert_eq!(text.contains(line), applies, "{name}: {text}");
    }
}

#[test]
fn candidates_that_are_one_point_under_the_kernel() {
    let sandbox = Sandbox::new();
    let outputs = sandbox.read("data/small/outputs.tsv");
    let mut table = String::from("id\tname\tfirst\n");
    for line in outputs.lines().skip(1) {
        let name = line.split('\t').nth(1).unwrap();
        writeln!(table, "{line}\t{}", &name[..2]).unwrap();
    }
    sandbox.write("data/small/coarse.tsv", &table);
    let features = "output.features={kind=\"ngrams\", column=\"first\", min=1, max=2}";
    let changes = ["output.table=coarse.tsv", features, "sketch.size=8"];
    let text = advice(&sandbox, "small.toml", &changes);
    assert_says(
        &text,
        &["of 80 different candidates share their point with others under this kernel"],
    );
    // points of all candidates count, also where queries are ranked among some
    let text = advice(&sandbox, "small.toml", &["evaluation.candidates=queries"]);
    assert!(!text.contains("share their point"), "{text}");
    let among_some = [&changes[..], &["evaluation.candidates=queries"]].concat();
    let text = advice(&sandbox, "small.toml", &among_some);
    assert_says(
        &text,
        &["of 80 different candidates share their point with others under this kernel"],
    );
}

/// Three labels in 15 orders are seven sets.
#[test]
fn sets_of_labels_in_different_orders_are_one_point_and_no_loss() {
    let sandbox = Sandbox::new();
    let sets: [&[&str]; 15] = [
        &["acid"],
        &["base"],
        &["salt"],
        &["acid", "base"],
        &["base", "acid"],
        &["acid", "salt"],
        &["salt", "acid"],
        &["base", "salt"],
        &["salt", "base"],
        &["acid", "base", "salt"],
        &["acid", "salt", "base"],
        &["base", "acid", "salt"],
        &["base", "salt", "acid"],
        &["salt", "acid", "base"],
        &["salt", "base", "acid"],
    ];
    let mut table = "text,tags\n".to_owned();
    for at in 0..150 {
        let set = sets[at * 7 % 15];
        writeln!(table, "a bottle with {} on shelf {at},{}", set.join(" and "), set.join(";"))
            .unwrap();
    }
    sandbox.write("bottles.csv", &table);
    assert!(sandbox.succeed(&["init", "bottles.csv"]).contains("labels, with ';' between"));
    let text = advice(&sandbox, "bottles.toml", &[]);
    assert!(!text.contains("share their point"), "{text}");
}

#[test]
fn advice_on_ensembles_is_not_repeated_for_each_member() {
    let sandbox = Sandbox::new();
    let text = advice(&sandbox, "small.toml", &["ensemble={seeds=3}"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() <= 5, "{text}");
    assert_says(&text, &["advice: the ensemble is worse than chance", "; similarly "]);
    for part in ["the loss still falls", "the model is worse than chance"] {
        assert!(lines.iter().filter(|line| line.contains(part)).count() <= 1, "{text}");
    }
    // what is the same for all members names none
    let train = sandbox.read("data/small/train.tsv");
    sandbox.write("data/small/same.tsv", &train.lines().take(11).collect::<Vec<_>>().join("\n"));
    let text = advice(&sandbox, "small.toml", &["ensemble={seeds=2}", "data.test=same.tsv"]);
    assert_says(&text, &["advice: 10 of 10 test pairs are training pairs too (o0, "]);
    assert_eq!(text.matches("test pairs").count(), 1, "{text}");
}
