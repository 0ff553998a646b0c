//! Training pairs from several files, with weights.

use crate::sandbox::{BAG, RIDGE, Sandbox, json, number};

/// The training pairs in two files, as `first.tsv` and `more.tsv`.
fn divided(sandbox: &Sandbox) {
    let train = sandbox.read("data/small/train.tsv");
    let at = train.find("o40\t").unwrap();
    sandbox.write("data/small/first.tsv", &train[..at]);
    sandbox.write("data/small/more.tsv", &format!("id\tdescription\n{}", &train[at..]));
}

const TWO: &str = "data.train=[\"first.tsv\", \"more.tsv\"]";

fn weighted(weight: &str) -> String {
    format!("data.train=[\"first.tsv\", {{ path = \"more.tsv\", weight = {weight} }}]")
}

#[test]
fn several_files_are_as_one() {
    let sandbox = Sandbox::new();
    divided(&sandbox);
    for (name, encoder) in [("bag", BAG), ("ridge", RIDGE)] {
        let set = format!("encoder={{ {} }}", encoder.replace('\n', ", "));
        let train = |out: &str, files: &str| {
            let out = format!("{name}-{out}");
            let train = ["train", "small.toml", "--json", "--out", &out, "--set", &set];
            let report = json(&sandbox.succeed(&[&train[..], &["--set", files]].concat()));
            ["mrr", "mean_rank", "squared_error"].map(|key| number(&report, key))
        };
        let one = train("one", "data.train=train.tsv");
        assert_eq!(train("two", TWO), one, "{name}");
        // all pairs weigh the same
        let same = "data.train=[{ path = \"first.tsv\", weight = 1.0 }, \"more.tsv\"]";
        assert_eq!(train("same", same), one, "{name}");
        assert_ne!(train("weighted", &weighted("0.01")), one, "{name}");
    }
}

#[test]
fn a_weighted_run_is_resumed_with_its_weights_only() {
    let sandbox = Sandbox::new();
    divided(&sandbox);
    let files = weighted("0.5");
    let train = ["train", "small.toml", "--out", "run", "--set", &files];
    sandbox.succeed(&train);
    sandbox.succeed(&[&train[..], &["--resume"]].concat());
    let other = weighted("0.25");
    let train = ["train", "small.toml", "--out", "run", "--set", &other, "--resume"];
    sandbox.fail(&train, 2, &["data.train"]);
    // a file of the list that has changed
    let more = sandbox.read("data/small/more.tsv");
    sandbox.write("data/small/more.tsv", &more.replace("a ring", "the ring"));
    let train = ["train", "small.toml", "--out", "run", "--set", &files, "--resume"];
    sandbox.fail(&train, 2, &["data"]);
}

#[test]
fn repeated_pairs_are_reported_and_errors_name_the_file() {
    let sandbox = Sandbox::new();
    divided(&sandbox);
    let more = sandbox.read("data/small/more.tsv");
    let first = sandbox.read("data/small/first.tsv");
    let repeated = first.lines().nth(3).unwrap();
    let other = first.lines().nth(5).unwrap().replacen("o4", "o7", 1);
    // a further text of an output is nothing to report
    let text = "o0\ta text of its own";
    sandbox.write("data/small/more.tsv", &format!("{more}{repeated}\n{other}\n{text}\n"));
    let output = sandbox.run(&["train", "small.toml", "--out", "run", "--set", TWO]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    let pairs = "more.tsv: 1 of 23 pairs are in a file before it too, where each counts again; the first: line 22 and ";
    let outputs = "more.tsv: 1 of 23 pairs have an input that has a different output in a file before it; the first: line 23 and ";
    for (said, place) in [(pairs, "first.tsv:4"), (outputs, "first.tsv:6")] {
        assert!(errors.contains(said) && errors.contains(place), "no {said:?} {place} in {errors}");
    }
    assert_eq!(errors.matches("in a file before it").count(), 2, "{errors}");

    sandbox.write("data/small/more.tsv", &format!("{more}o99\tan unknown output\n"));
    let train = ["train", "small.toml", "--out", "bad", "--set", TWO];
    sandbox.fail(&train, 2, &["more.tsv:22: id \"o99\" is not among the outputs"]);
    let absent = "data.train=[\"first.tsv\", \"absent.tsv\"]";
    let train = ["train", "small.toml", "--out", "bad", "--set", absent];
    sandbox.fail(&train, 2, &["absent.tsv: not found; data.train[1] names it"]);
}
