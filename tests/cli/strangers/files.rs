//! Files of other tools, and tables whose rows repeat molecules.

use std::collections::HashSet;
use std::fmt::Write;

use super::{Bound, Stranger, pairs};
use crate::sandbox::{Sandbox, json, number};

/// Each molecule in two SMILES with two texts, in a table with ids: no molecule is on both sides.
#[test]
fn repeated_molecules_stay_together() {
    let mut table = "id,description,smiles\n".to_owned();
    let pairs = pairs(150);
    for (at, pair) in pairs.iter().enumerate() {
        writeln!(table, "a{at},\"{}\",{}", pair.text, pair.smiles).unwrap();
        // a component in front is another molecule, so the text is turned round instead
        let other = dsokr::molecule::Molecule::parse(&pair.smiles).unwrap().canonical_smiles();
        writeln!(table, "b{at},\"There are {} heavy atoms in it.\",{other}", pair.atoms).unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger::of_molecules("repeated.csv", table.clone(), 0.1);
    let (survey, _) = stranger.trains(&sandbox);
    assert_eq!(survey["group"], "repeats");
    let canonical: Vec<String> = table
        .lines()
        .skip(1)
        .map(|line| line.rsplit(',').next().unwrap())
        .map(|smiles| dsokr::molecule::Molecule::parse(smiles).unwrap().canonical_smiles())
        .collect();
    let ids: Vec<&str> =
        table.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    let of_split = |split: &str| -> HashSet<String> {
        sandbox.succeed(&["evaluate", "runs/repeated", "--split", split, "--report", split]);
        let ranks = sandbox.read(&format!("{split}/ranks.tsv"));
        let queries = ranks.lines().skip(1).map(|line| line.split('\t').next().unwrap());
        queries
            .map(|id| canonical[ids.iter().position(|own| *own == id).unwrap()].clone())
            .collect()
    };
    let [train, validation, test] = ["train", "validation", "test"].map(of_split);
    assert!(!validation.is_empty() && !test.is_empty());
    assert!(train.is_disjoint(&validation) && train.is_disjoint(&test));
    assert!(validation.is_disjoint(&test));
}

/// A table without ids, a validation and a test table beside it, and a new one that is evaluated after its molecules were
/// added.
#[test]
fn tables_without_ids_have_files_of_their_own_for_each_split() {
    let table = |from: usize, to: usize| {
        let mut text = "description,smiles\n".to_owned();
        for pair in &pairs(160)[from..to] {
            writeln!(text, "\"{}\",{}", pair.text, pair.smiles).unwrap();
        }
        text
    };
    let sandbox = Sandbox::new();
    for (name, from, to) in [("val.csv", 100, 120), ("test.csv", 120, 140), ("new.csv", 140, 160)] {
        sandbox.write(name, &table(from, to));
    }
    let stranger = Stranger {
        arguments: &["--validation", "val.csv", "--test", "test.csv"],
        ..Stranger::of_molecules("train.csv", table(0, 100), 0.05)
    };
    let (survey, report) = stranger.trains(&sandbox);
    assert_eq!((&survey["training"], &survey["test"]), (&100.into(), &0.into()));
    // no text is in two rows
    let splits = "# all rows train\nsplits = { validation = 0, test = 0 }\n";
    assert!(sandbox.read("train.toml").contains(splits));
    let again = ["init", "train.csv", "--force", "--validation", "val.csv", "--test", "test.csv"];
    let words =
        "100 training pairs, the validation pairs of val.csv and the test pairs of test.csv";
    assert!(sandbox.succeed(&again).contains(words));
    assert_eq!(number(&report, "queries"), 20.0);
    // rows of the test file are candidates already
    let evaluate =
        |file: &str| ["evaluate", "runs/train", "--queries", file, "--json"].map(str::to_owned);
    let again = evaluate("test.csv");
    let again = json(&sandbox.succeed(&again.each_ref().map(String::as_str)));
    assert_eq!(number(&again, "mrr"), number(&report, "mrr"));
    sandbox.fail(
        &["evaluate", "runs/train", "--queries", "new.csv"],
        2,
        &["outputs are no candidates", "from a table of those rows alone, with new ids"],
    );
    sandbox.succeed(&["candidates", "add", "runs/train", "new.csv"]);
    let new = evaluate("new.csv");
    let new = json(&sandbox.succeed(&new.each_ref().map(String::as_str)));
    assert_eq!(number(&new, "queries"), 20.0);
}

/// Ids that are running numbers, in a new table too: its molecules say which outputs are right.
#[test]
fn ids_of_other_molecules_name_no_right_outputs() {
    let table = |pairs: &[super::Pair]| {
        let mut text = "Key,description,smiles\n".to_owned();
        for (at, pair) in pairs.iter().enumerate() {
            writeln!(text, "{},\"{}\",{}", at + 1, pair.text, pair.smiles).unwrap();
        }
        text
    };
    let pairs = pairs(150);
    let reversed: Vec<_> = pairs.iter().rev().cloned().collect();
    let sandbox = Sandbox::new();
    let stranger = Stranger::of_molecules("keys.csv", table(&pairs), 0.05);
    stranger.trains(&sandbox);
    assert!(sandbox.read("keys.toml").contains("id = \"Key\""));
    sandbox.write("same.csv", &table(&pairs));
    sandbox.write("reversed.csv", &table(&reversed));
    let [same, other] = ["same.csv", "reversed.csv"].map(|file| {
        let report = ["evaluate", "runs/keys", "--queries", file, "--json"];
        number(&json(&sandbox.succeed(&report)), "mrr")
    });
    assert!(same > 0.5 && (same - other).abs() < 1e-9, "{same} {other}");
    // a molecule that is no candidate, with the id of one
    sandbox.write("new.csv", "Key,description,smiles\n7,\"a noble gas\",[Xe]\n");
    let new = ["evaluate", "runs/keys", "--queries", "new.csv"];
    let message =
        ["1 of 1 outputs are no candidates", "\"[Xe]\" with the id \"7\"", "--missing-gold"];
    sandbox.fail(&new, 2, &message);
    let half = format!("{}200,\"a noble gas\",[Xe]\n", table(&pairs[..1]));
    sandbox.write("half.csv", &half);
    let half =
        ["evaluate", "runs/keys", "--queries", "half.csv", "--missing-gold", "rank-infinity"];
    let report = json(&sandbox.succeed(&[&half[..], &["--json"]].concat()));
    assert_eq!((number(&report, "queries"), number(&report, "missing_gold")), (2.0, 1.0));
    assert!(number(&report, "mrr") <= 0.5, "{report}");
    // sets of candidates count it as missed
    sandbox.write("labelled.csv", &format!("{}200,\"a noble gas\",[Xe]\n", table(&pairs[..39])));
    let sets = ["predict", "runs/keys", "same.csv", "--coverage", "0.5"];
    let output = sandbox.run(&[&sets[..], &["--calibration", "labelled.csv"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("calibrated on 40 queries: labelled.csv"), "{errors}");
}

/// Molecules that are compared as graphs say which outputs are right, whatever ids the rows of a new table have.
#[test]
fn molecules_of_a_new_table_tell_their_ranks() {
    let all = pairs(40);
    let table = |pairs: &[super::Pair], id: &dyn Fn(usize) -> String| {
        let mut text = "id\tdescription\tsmiles\n".to_owned();
        for (at, pair) in pairs.iter().enumerate() {
            writeln!(text, "{}\t{}\t{}", id(at), pair.text, pair.smiles).unwrap();
        }
        text
    };
    let sandbox = Sandbox::new();
    let config = |features: &str| {
        format!(
            "[data]\nsource = \"pool\"\nfolder = \"./\"\nfile = \"pairs.tsv\"\n\
             splits = {{ order = \"file\", train = 30, validation = 10 }}\n\n\
             [output]\nlabel = \"smiles\"\nfeatures = {{ {features} }}\n\
             kernel = {{ name = \"cosine\" }}\n\n[sketch]\nsize = 20\n\n\
             [encoder]\nkind = \"kernel-machine\"\nlambda = 1e-3\n\
             inputs = {{ kind = \"ngrams\", blocks = [{{ kind = \"words\", min = 1, max = 2 }}] }}\n"
        )
    };
    sandbox.write("pairs.tsv", &table(&all, &|at| format!("m{at}")));
    let graph = "kind = \"molecules\", column = \"smiles\", \
                 graph = { name = \"weisfeiler-lehman\", iterations = 2 }";
    sandbox.write("graphs.toml", &config(graph));
    sandbox.train("graphs.toml", &[]);
    sandbox.write("same.tsv", &table(&all, &|at| format!("m{at}")));
    // each row has the id of another molecule, and each an id of its own
    sandbox.write("other.tsv", &table(&all, &|at| format!("m{}", 39 - at)));
    sandbox.write("new.tsv", &table(&all, &|at| format!("new{at}")));
    let [same, other, new] = ["same.tsv", "other.tsv", "new.tsv"].map(|file| {
        let report = ["evaluate", "runs/graphs", "--queries", file, "--json"];
        let report = json(&sandbox.succeed(&report));
        assert_eq!(number(&report, "missing_gold"), 0.0, "{file}: {report}");
        assert!(report["ged"].is_number(), "{file}: {report}");
        number(&report, "mrr")
    });
    assert!(same > 0.5, "{same}");
    assert!((same - other).abs() < 1e-9 && (same - new).abs() < 1e-9, "{same} {other} {new}");
    // a molecule that is no candidate, with the id of one: the rule that is asked for holds
    let half = format!("{}m7\ta noble gas\t[Xe]\n", table(&all[..1], &|_| "m1".to_owned()));
    sandbox.write("half.tsv", &half);
    let half = ["evaluate", "runs/graphs", "--queries", "half.tsv", "--missing-gold"];
    let error = [&half[..], &["error"]].concat();
    sandbox.fail(&error, 2, &["1 of 2 outputs are no candidates", "\"[Xe]\" with the id \"m7\""]);
    let infinite = [&half[..], &["rank-infinity", "--json"]].concat();
    let default = ["evaluate", "runs/graphs", "--queries", "half.tsv", "--json"];
    for call in [&infinite[..], &default] {
        let report = json(&sandbox.succeed(call));
        assert_eq!((number(&report, "queries"), number(&report, "missing_gold")), (2.0, 1.0));
    }
}

/// Answers to vectors of a new table have the ids of its rows, whatever its molecules are.
#[test]
fn answers_to_vectors_have_the_ids_of_their_rows() {
    let molecules = ["CO", "CCO", "CCCO", "CCCCO", "CN", "CCN", "CCCN", "CCCCN", "OC=O", "CC(=O)O"];
    let mut table = "id\tsmiles\tx\ty\n".to_owned();
    for (at, smiles) in molecules.iter().enumerate() {
        let count = |letter: char| smiles.matches(letter).count();
        writeln!(table, "m{at}\t{smiles}\t{}.5\t{}.5", count('C'), count('O')).unwrap();
    }
    let sandbox = Sandbox::new();
    sandbox.write("pairs.tsv", &table);
    sandbox.write(
        "pairs.toml",
        "[data]\nsource = \"pool\"\nfolder = \"./\"\nfile = \"pairs.tsv\"\n\
         splits = { order = \"file\", train = 8, validation = 2 }\n\
         inputs = { column = \"x..y\", numbers = true }\n\n\
         [output]\nlabel = \"smiles\"\nkernel = { name = \"linear\" }\n\
         features = { kind = \"substructures\", column = \"smiles\", count = { name = \"composition\" } }\n\n\
         [sketch]\nsize = 4\n\n[encoder]\nkind = \"kernel-machine\"\nlambda = 1e-3\n\
         inputs = { kind = \"vectors\" }\nkernel = { name = \"gaussian\", gamma = 0.5 }\n",
    );
    sandbox.train("pairs.toml", &[]);
    // the id of another molecule, and a molecule that is no candidate
    sandbox.write("new.tsv", "id\tsmiles\tx\ty\nm5\tCO\t1.5\t1.5\nnew\t[Xe]\t0.5\t0.5\n");
    let answers = sandbox.succeed(&["predict", "runs/pairs", "new.tsv", "--top", "1"]);
    let ids: Vec<_> = answers.lines().map(|line| json(line)["id"].clone()).collect();
    assert_eq!(ids, ["m5", "new"]);
    // rows without ids are named by their lines, and have the same answers
    sandbox.write("with.tsv", "id\tx\ty\nm5\t1.5\t1.5\nnew\t0.5\t0.5\n");
    sandbox.write("without.tsv", "x\ty\n1.5\t1.5\n0.5\t0.5\n");
    let [with, without] = ["with.tsv", "without.tsv"].map(|file| -> Vec<_> {
        let answers = sandbox.succeed(&["predict", "runs/pairs", file, "--top", "1"]);
        let answers = answers.lines().map(json).map(|mut answer| {
            let id = answer.as_object_mut().unwrap().remove("id");
            (id, answer)
        });
        answers.collect()
    });
    assert_eq!((with.len(), without.len()), (2, 2));
    for ((id, answer), (line, other)) in with.iter().zip(&without) {
        assert_eq!(answer, other);
        assert!(line.is_some() && line != id, "{line:?}");
    }
}

/// Rankings of a new table are compared as what they are: an id of the run names the right candidate only for the same
/// ranking.
#[test]
fn ids_of_other_rankings_give_no_ranks() {
    let words = ["cold", "tired", "thirsty", "awake"];
    let ranking = |at: usize| format!("{} {} {}", 1 + at % 3, 1 + (at + 1) % 3, 1 + (at + 2) % 3);
    let row = |id: usize, at: usize| {
        format!("g{id}\t{} {}\t{}\n", words[at % 3], words[at % 4], ranking(at))
    };
    let table = |rows: &mut dyn Iterator<Item = (usize, usize)>| {
        let rows: String = rows.map(|(id, at)| row(id, at)).collect();
        format!("id\tdescription\tranks\n{rows}")
    };
    let sandbox = Sandbox::new();
    sandbox.write("guests.tsv", &table(&mut (0..24).map(|at| (at, at))));
    sandbox.write(
        "guests.toml",
        "[data]\nsource = \"pool\"\nfolder = \"./\"\nfile = \"guests.tsv\"\n\
         splits = { order = \"file\", train = 18, validation = 6 }\n\n\
         [output]\nlabel = \"ranks\"\nkernel = { name = \"kemeny\" }\n\
         features = { kind = \"rankings\", column = \"ranks\", embedding = \"kemeny\" }\n\n\
         [sketch]\nfull = true\n\n[encoder]\nkind = \"kernel-machine\"\nlambda = 1e-3\n\
         inputs = { kind = \"ngrams\", blocks = [{ kind = \"words\", min = 1, max = 1 }] }\n",
    );
    sandbox.train("guests.toml", &[]);
    sandbox.write("same.tsv", &table(&mut (0..6).map(|at| (at, at))));
    sandbox.write("other.tsv", &table(&mut (0..6).map(|at| (at + 1, at))));
    // the same rankings, written in a different way
    sandbox.write("spaces.tsv", &sandbox.read("same.tsv").replace(' ', "  "));
    let [same, spaces, other] = ["same.tsv", "spaces.tsv", "other.tsv"].map(|file| {
        let report = ["evaluate", "runs/guests", "--queries", file, "--json"];
        json(&sandbox.succeed(&report))
    });
    assert_eq!(number(&same, "missing_gold"), 0.0, "{same}");
    assert_eq!(number(&spaces, "missing_gold"), 0.0, "{spaces}");
    assert_eq!(number(&spaces, "mrr"), number(&same, "mrr"));
    assert_eq!(number(&other, "missing_gold"), 6.0, "{other}");
    assert_eq!(number(&same, "kendall_tau"), number(&other, "kendall_tau"));
    let text = sandbox.succeed(&["evaluate", "runs/guests", "--queries", "other.tsv"]);
    assert!(text.contains("Kendall") && !text.contains("MRR"), "{text}");
    // equal rankings tie, in every pool
    let pools = ["evaluate", "runs/guests", "--pools", "3"];
    let text = sandbox.succeed(&pools);
    assert!(text.contains("sample:3") && !text.contains("MRR") && !text.contains('['), "{text}");
    let run = sandbox.run(&[&pools[..], &["--json"]].concat());
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(errors.contains("metrics of ranks are left out"), "{errors}");
    let found = json(&String::from_utf8(run.stdout).unwrap());
    for pool in found["pools"].as_array().unwrap() {
        assert!(pool["metrics"].as_object().unwrap().is_empty(), "{found}");
        assert!(pool["intervals"].as_object().unwrap().is_empty(), "{found}");
    }
}

/// Splits that the seed draws are those of all members of an ensemble.
#[test]
fn members_with_other_seeds_learn_from_the_same_rows() {
    let mut table = "description,smiles\n".to_owned();
    for pair in pairs(150) {
        writeln!(table, "\"{}\",{}", pair.text, pair.smiles).unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger::of_molecules("pairs.csv", table, 0.05);
    stranger.trains(&sandbox);
    let seeds = ["train", "pairs.toml", "--set", "ensemble.seeds=2", "--out", "both", "--json"];
    let both = number(&json(&sandbox.succeed(&seeds)), "mrr");
    let report = json(&sandbox.succeed(&["evaluate", "both", "--json"]));
    let members = report["members"].as_array().unwrap();
    assert!(members.iter().all(|member| number(member, "mrr") < 1.5 * both), "{report}");
    // runs with splits of their own have no query in common
    sandbox.succeed(&["train", "pairs.toml", "--set", "seed=1", "--out", "other"]);
    let runs = ["evaluate", "runs/pairs", "other"];
    sandbox.fail(&runs, 2, &["the queries of the member", "data.splits.seed"]);
}

/// Numbers of new molecules, whose ids are those of no candidate, are compared as what they are.
#[test]
fn numbers_of_a_new_table_with_ids_are_compared() {
    let table = |pairs: &[super::Pair]| {
        let mut text = "compound_id,smiles,weight\n".to_owned();
        for pair in pairs {
            writeln!(text, "{},{},{}.5", pair.id, pair.smiles, 12 * pair.atoms).unwrap();
        }
        text
    };
    let pairs = pairs(200);
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "weights.csv",
        content: table(&pairs[..160]).into_bytes(),
        arguments: &[],
        columns: ["smiles", "weight"],
        holds: "numbers",
        skipped: 0,
        floor: ("r2", Bound::AtLeast(0.5)),
    };
    stranger.trains(&sandbox);
    sandbox.write("new.csv", &table(&pairs[160..]));
    let new = ["evaluate", "runs/weights", "--queries", "new.csv", "--json"];
    let report = json(&sandbox.succeed(&new));
    assert!(number(&report, "r2") > 0.5, "{report}");
    assert_eq!(number(&report, "missing_gold"), 40.0, "{report}");
    // nothing is ranked
    let shown = sandbox.succeed(&new[..4]);
    assert!(!shown.contains("rank infinity"), "{shown}");
}

/// Lines of JSON some of which lack a key that is not needed.
#[test]
fn keys_of_json_lines_may_be_optional() {
    let mut lines = String::new();
    for (at, pair) in pairs(150).iter().enumerate() {
        let logp = if at % 10 == 3 { String::new() } else { format!(", \"logp\": {}.5", at % 4) };
        let text = serde_json::to_string(&pair.text).unwrap();
        let smiles = serde_json::to_string(&pair.smiles).unwrap();
        writeln!(lines, "{{\"text\": {text}, \"smiles\": {smiles}{logp}}}").unwrap();
    }
    let stranger = Stranger {
        file: "lines.jsonl",
        content: lines.into_bytes(),
        arguments: &[],
        columns: ["text", "smiles"],
        holds: "SMILES",
        skipped: 0,
        floor: ("mrr", Bound::AtLeast(0.05)),
    };
    stranger.trains(&Sandbox::new());
}

/// An SD file whose data are texts.
#[test]
fn an_sd_file_is_a_table_of_molecules() {
    let mut file = String::new();
    for pair in pairs(200) {
        let molecule = dsokr::molecule::Molecule::parse(&pair.smiles).unwrap();
        let block = molecule.mol_block(&pair.id);
        write!(file, "{block}> <description>\n{}\n\n$$$$\n", pair.text).unwrap();
    }
    let stranger = Stranger::of_molecules("molecules.sdf", file, 0.1);
    stranger.trains(&Sandbox::new());
}

/// A file of MEKA: two labels, and the named inputs.
fn flats(inputs: [&str; 4]) -> String {
    let mut file =
        "@relation 'flats: -C 2'\n\n@attribute cheap {0,1}\n@attribute large {0,1}\n".to_owned();
    inputs.iter().for_each(|name| writeln!(file, "@attribute {name} numeric").unwrap());
    file += "\n@data\n";
    for row in 0..120u32 {
        let [a, b] = [row % 7, row * 5 % 11];
        let cheap = u32::from(a < 3);
        let large = u32::from(b > 5);
        let value = |name: &str| match name {
            "x0" => a,
            "x1" => b,
            "x2" => 7 - a,
            _ => 11 - b,
        };
        let values = inputs.map(|name| value(name).to_string()).join(",");
        writeln!(file, "{cheap},{large},{values}").unwrap();
    }
    file
}

const FLATS: &str = "[data]\nsource = \"multi-label\"\nfolder = \"./\"\nfile = \"flats.arff\"\n\
     splits = { validation = 20 }\n\n\
     [output]\nlabel = \"labels\"\nonly_training = true\n\
     features = { kind = \"labels\", column = \"labels\" }\n\
     kernel = { name = \"gaussian\", gamma = 0.5 }\n\n[sketch]\nfull = true\n\n\
     [encoder]\nkind = \"kernel-machine\"\n\
     inputs = { kind = \"vectors\", scaling = \"standard\" }\n\
     kernel = { name = \"gaussian\", gamma = 0.5 }\nlambda = 1e-4\n\n\
     [evaluation]\nmetric = \"f1\"\nmissing_gold = \"rank-infinity\"\n";

/// Those that are learned are the labels.
#[test]
fn a_file_of_meka_has_its_labels_first() {
    let sandbox = Sandbox::new();
    sandbox.write("flats.arff", &flats(["x0", "x1", "x2", "x3"]));
    sandbox.write("flats.toml", FLATS);
    // some rows are alike, which is a warning
    let report = sandbox.train("flats.toml", &[]);
    assert!(number(&report, "f1") > 0.9, "{report}");
}

/// Weka takes attributes by their names only where the headers are equal, and refuses other ones.
#[test]
fn attributes_of_queries_are_found_by_their_names() {
    let sandbox = Sandbox::new();
    let names = ["x0", "x1", "x2", "x3"];
    let reversed = ["x3", "x2", "x1", "x0"];
    sandbox.write("flats.arff", &flats(names));
    sandbox.write("same.arff", &flats(names));
    sandbox.write("reversed.arff", &flats(reversed));
    sandbox.write("other.arff", &flats(["x0", "x1", "x2", "y"]));
    for test in ["same.arff", "reversed.arff"] {
        let test = format!("file = \"flats.arff\"\ntest = {test:?}");
        let config = FLATS.replacen("file = \"flats.arff\"", &test, 1);
        sandbox.write("flats.toml", &config.replacen("metric =", "split = \"test\"\nmetric =", 1));
        let report = sandbox.train("flats.toml", &[]);
        assert!(number(&report, "f1") > 0.9, "{test}: {report}");
        std::fs::remove_dir_all(sandbox.path("runs")).unwrap();
    }
    sandbox.write("flats.toml", FLATS);
    sandbox.train("flats.toml", &[]);
    let evaluated = |file: &str| {
        let call = ["evaluate", "runs/flats", "--queries", file, "--json"];
        number(&json(&sandbox.succeed(&call)), "f1")
    };
    assert_eq!(evaluated("reversed.arff"), evaluated("same.arff"));
    let predicted = |file: &str| sandbox.succeed(&["predict", "runs/flats", file]);
    assert_eq!(predicted("reversed.arff").replace("reversed", "same"), predicted("same.arff"));
    let other = ["predict", "runs/flats", "other.arff"];
    sandbox.fail(&other, 2, &["other.arff:10: ", "lacking: \"x3\"; unknown: \"y\""]);
}

/// `FIRST..LAST` takes numbers by their places, so that columns in another order would be other numbers.
#[test]
fn columns_of_numbers_keep_the_order_of_the_training() {
    let table = |names: [&str; 3]| {
        let mut table = format!("{},class\n", names.join(","));
        for row in 0..60 {
            let value = |name: &str| match name {
                "x1" => row % 7,
                "x2" => row * 5 % 11,
                _ => row * 3 % 13,
            };
            let values = names.map(|name| value(name).to_string()).join(",");
            let class = if row % 7 < 3 { "low" } else { "high" };
            writeln!(table, "{values},{class}").unwrap();
        }
        table
    };
    let config = |test: &str| {
        format!(
            "[data]\nsource = \"pool\"\nfolder = \"./\"\nfile = \"three.csv\"\nnumbered = true\n{test}\
             splits = {{ validation = 20 }}\ninputs = {{ column = \"x1..x3\", numbers = true }}\n\
             [output]\nlabel = \"class\"\nfeatures = {{ kind = \"classes\", column = \"class\" }}\n\
             kernel = {{ name = \"linear\" }}\n[sketch]\nfull = true\n\
             [encoder]\nkind = \"kernel-machine\"\nkernel = {{ name = \"gaussian\", gamma = 0.1 }}\nlambda = 1e-3\n\
             [evaluation]\nmetric = \"accuracy\"\n"
        )
    };
    let sandbox = Sandbox::new();
    sandbox.write("three.csv", &table(["x1", "x2", "x3"]));
    sandbox.write("same.csv", &table(["x1", "x2", "x3"]));
    sandbox.write("other.csv", &table(["x1", "x3", "x2"]));
    sandbox.write("swapped.csv", &table(["x1", "x2", "x3"]).replacen("x1,x2,x3", "x1,y,x3", 1));
    // blanks around a name, which are hard to see, change nothing; the case of letters does
    sandbox.write("blank.csv", &table(["x1", "x2", "x3"]).replacen("x1,x2,x3", "x1,x2 ,x3", 1));
    sandbox.write("case.csv", &table(["x1", "x2", "x3"]).replacen("x1,x2,x3", "x1,X2,x3", 1));
    let says = [
        "swapped.csv: the columns",
        "\"x1\", \"y\", \"x3\"",
        "\"x1\", \"x2\", \"x3\": write them",
        "\"y\" is in the place of \"x2\"",
    ];
    sandbox.write("three.toml", &config("test = \"swapped.csv\"\n"));
    sandbox.fail(&["train", "three.toml", "--quiet"], 2, &says);
    sandbox.write("three.toml", &config(""));
    sandbox.train("three.toml", &[]);
    let evaluate = |file: &'static str| ["evaluate", "runs/three", "--queries", file];
    sandbox.succeed(&evaluate("same.csv"));
    sandbox.fail(&evaluate("swapped.csv"), 2, &says);
    sandbox.succeed(&evaluate("blank.csv"));
    sandbox.fail(&evaluate("case.csv"), 2, &["\"X2\" is in the place of \"x2\""]);
    let other = "other.csv: the columns of the inputs are \"x1\", \"x3\"; those of the training";
    sandbox.fail(&evaluate("other.csv"), 2, &[other]);
    sandbox.fail(&["predict", "runs/three", "other.csv"], 2, &[other]);
    let predict = |file: &str| sandbox.succeed(&["predict", "runs/three", file]);
    sandbox.write("inputs.csv", &without_columns(&sandbox.read("same.csv"), 3));
    assert_eq!(predict("inputs.csv"), predict("same.csv"));
}

/// As Python writes the pairs of a frame: lists of numbers, and beside them the names of the frame's columns.
#[test]
fn a_run_keeps_the_names_of_numbers_in_lists_that_lie_beside_them() {
    let sandbox = Sandbox::new();
    let mut pairs = String::new();
    for row in 0..60 {
        let class = if row % 7 < 3 { "low" } else { "high" };
        let numbers = [f64::from(row % 7) / 8.0, f64::from(row * 5 % 11) / 8.0];
        let pair = serde_json::json!({"input": numbers, "output": class});
        writeln!(pairs, "{pair}").unwrap();
    }
    sandbox.write("pairs.jsonl", &pairs);
    sandbox.succeed(&["init", "pairs.jsonl"]);
    sandbox.train("pairs.toml", &[]);
    assert!(!sandbox.path("runs/pairs/input-columns.json").exists());
    let names = "{\"named\":{\"inputs\":[\"logP\",\"mass\"],\"outputs\":[],\"dense\":true}}\n";
    sandbox.write("input-columns.json", names);
    sandbox.train("pairs.toml", &[]);
    assert_eq!(sandbox.read("runs/pairs-2/input-columns.json"), names);
    // it is a file of the run, as the others are
    sandbox.write("runs/pairs-2/input-columns.json", &names.replace("mass", "size"));
    let evaluate = ["evaluate", "runs/pairs-2"];
    sandbox.fail(&evaluate, 2, &["runs/pairs-2/input-columns.json", "damaged or changed"]);
    sandbox.write("input-columns.json", "{}");
    sandbox.fail(&["train", "pairs.toml"], 2, &["input-columns.json"]);
}

/// The table with the first `kept` columns alone.
fn without_columns(table: &str, kept: usize) -> String {
    let line = |line: &str| {
        let cells: Vec<&str> = line.split(',').take(kept).collect();
        format!("{}\n", cells.join(","))
    };
    table.lines().map(line).collect()
}

/// So are those to predict, and a table of queries may be without them.
#[test]
fn columns_of_numbers_to_predict_keep_the_order_of_the_training() {
    let table = |names: [&str; 6]| {
        let mut table = format!("{}\n", names.join(","));
        for row in 0..60 {
            let value = |name: &str| match name {
                "x1" => row % 7,
                "x2" => row * 5 % 11,
                "y1" => row % 7 + row * 5 % 11,
                "y2" => 100 - row % 7,
                _ => 3 * (row * 5 % 11),
            };
            writeln!(table, "{}", names.map(|name| value(name).to_string()).join(",")).unwrap();
        }
        table
    };
    let sandbox = Sandbox::new();
    let names = ["x1", "x2", "y1", "y2", "y3", "y4"];
    let other = ["x1", "x2", "y1", "y3", "y2", "y4"];
    for (file, names) in [("five.csv", names), ("same.csv", names), ("other.csv", other)] {
        sandbox.write(file, &table(names));
    }
    let config = |test: &str| {
        format!(
            "[data]\nsource = \"pool\"\nfolder = \"./\"\nfile = \"five.csv\"\nnumbered = true\n{test}\
             splits = {{ validation = 20 }}\ninputs = {{ column = \"x1..x2\", numbers = true }}\n\
             [output]\nlabel = \"y1\"\nfeatures = {{ kind = \"numbers\", column = \"y1..y4\" }}\n\
             kernel = {{ name = \"linear\" }}\nscaling = \"standard\"\n[sketch]\nfull = true\n\
             [encoder]\nkind = \"kernel-machine\"\nkernel = {{ name = \"gaussian\", gamma = 0.1 }}\nlambda = 1e-3\n\
             [decoding]\nsearch = \"exact\"\n[evaluation]\nmetric = \"rmse\"\n"
        )
    };
    let says = ["other.csv: the columns of the outputs are", "\"y1\", \"y3\", \"y2\", \"y4\""];
    sandbox.write("five.toml", &config("test = \"other.csv\"\n"));
    sandbox.fail(&["train", "five.toml", "--quiet"], 2, &says);
    sandbox.write("five.toml", &config(""));
    sandbox.train("five.toml", &[]);
    let evaluate = |file: &'static str| ["evaluate", "runs/five", "--queries", file];
    sandbox.succeed(&evaluate("same.csv"));
    sandbox.fail(&evaluate("other.csv"), 2, &says);
    // what is to be predicted need not be there
    let predict = |file: &str| sandbox.succeed(&["predict", "runs/five", file]);
    sandbox.write("inputs.csv", &without_columns(&sandbox.read("same.csv"), 2));
    let empty = sandbox.read("inputs.csv").replace('\n', ",,,,\n");
    sandbox.write("empty.csv", &empty.replacen(",,,,\n", ",y1,y2,y3,y4\n", 1));
    assert_eq!(predict("inputs.csv"), predict("same.csv"));
    assert_eq!(predict("empty.csv"), predict("same.csv"));
}

/// A binary problem: rows of the class +1 have the features 1 and 2, those of the class -1 the features 3 and 4.
const BINARY: &str = r#"
[data]
source = "multi-label"
folder = "./"
file = "classes.svm"
splits = { validation = 20 }
[output]
label = "labels"
features = { kind = "labels", column = "labels" }
kernel = { name = "tanimoto" }
[sketch]
full = true
[encoder]
kind = "kernel-machine"
kernel = { name = "cosine" }
lambda = 1e-3
[evaluation]
metric = "f1"
"#;

fn class_row(row: usize) -> String {
    let value = 1 + row % 5;
    if row.is_multiple_of(2) {
        format!("+1 1:1 2:{value}\n")
    } else {
        format!("-1 3:1 4:{value}\n")
    }
}

#[test]
fn the_training_file_tells_that_labels_are_classes_of_a_binary_problem() {
    let sandbox = Sandbox::new();
    sandbox.write("classes.svm", &(0..80).map(class_row).collect::<String>());
    sandbox.write("classes.toml", BINARY);
    let report = sandbox.train("classes.toml", &[]);
    assert_eq!(number(&report, "f1"), 1.0, "{report}");
    let evaluated = |file: &str| {
        let call = ["evaluate", "runs/classes", "--queries", file, "--json"];
        number(&json(&sandbox.succeed(&call)), "f1")
    };
    for (file, first) in [("positive.svm", 0), ("negative.svm", 1)] {
        let rows: String = (first..20).step_by(2).map(class_row).collect();
        sandbox.write(file, &rows);
        assert_eq!(evaluated(file), 1.0, "{file}");
    }
    // one of two rows is right: a label other than the classes is none that is predicted, as is none at all
    sandbox.write("others.svm", "+1 1:1 2:3\n2 3:1 4:3\n");
    assert_eq!(evaluated("others.svm"), 0.5);
    sandbox.write("half.svm", "+1 1:1 2:3\n 3:1 4:3\n");
    assert_eq!(evaluated("half.svm"), 0.5);
    sandbox.write("unlabelled.svm", " 1:1 2:3\n 3:1 4:3\n");
    assert_eq!(evaluated("unlabelled.svm"), 0.0);
    sandbox.write("zero.svm", "0 1:1 2:3\n0 3:1 4:3\n");
    assert_eq!(evaluated("zero.svm"), 0.0);
    sandbox.write("from-zero.svm", "+1 0:1 1:3\n");
    let from_zero = ["predict", "runs/classes", "from-zero.svm"];
    sandbox.fail(&from_zero, 2, &["from-zero.svm:1: feature \"0\"", "count from 1"]);
    sandbox.write("mixed.svm", "+1 1:1 2:3\n-1 3:1 4:3\n2 3:1 4:3\n");
    let mixed = BINARY.replacen("classes.svm", "mixed.svm", 1).replacen("= 20", "= 1", 1);
    sandbox.write("mixed.toml", &mixed);
    let train = ["train", "mixed.toml", "--quiet"];
    sandbox.fail(&train, 2, &["mixed.svm", "row 3 has the labels [2]", "+1 or -1"]);
}

/// LIBSVM's README: if the labels of a test file are unknown, its first column has any numbers. Predictions are the same for all.
#[test]
fn labels_of_queries_may_be_any_numbers() {
    let sandbox = Sandbox::new();
    let queries = |label: &str| format!("{label} 1:1 2:3\n{label} 3:1 4:3\n");
    let ordinary = |row: usize| class_row(row).replacen("+1", "1", 1).replacen("-1", "3", 1);
    let binary: String = (0..80).map(class_row).collect();
    let ordinary: String = (0..80).map(ordinary).collect();
    for training in [binary, ordinary] {
        sandbox.write("classes.svm", &training);
        sandbox.write("classes.toml", BINARY);
        sandbox.train("classes.toml", &[]);
        let predicted = |label: &str| {
            sandbox.write("queries.svm", &queries(label));
            sandbox.succeed(&["predict", "runs/classes", "queries.svm"])
        };
        let known = predicted("1");
        for label in ["", "0", "+1", "-1", "2", "9", "99", "0,2", "-1,5"] {
            assert_eq!(predicted(label), known, "{label}");
        }
        sandbox.write("queries.svm", &queries("0"));
        let evaluated = sandbox.run(&["evaluate", "runs/classes", "--queries", "queries.svm"]);
        let errors = String::from_utf8_lossy(&evaluated.stderr);
        let is_binary = training.contains("-1 ");
        let warning = "queries.svm: 2 rows have other labels than +1 and -1";
        assert_eq!(errors.contains(warning), is_binary, "{errors}");
        std::fs::remove_dir_all(sandbox.path("runs")).unwrap();
    }
}

/// LIBSVM and scikit-learn's `load_svmlight_file(n_features=…)` take files that end at a smaller feature: what a row does not
/// list is 0. LIBSVM takes larger features too, as its a1a and a1a.t have them: 119 and 123. The run knows how many features
/// there are, and from where they count, when the training file is gone.
#[test]
fn files_of_queries_may_name_other_features_than_the_training_file() {
    let sandbox = Sandbox::new();
    let from_zero: String =
        (0..80).map(|row| format!("{},5 0:{} {}:1\n", row % 3, row % 4, 2 + row % 3)).collect();
    sandbox.write("classes.svm", &from_zero);
    sandbox.write("narrow.svm", "0,5 1:1\n0,5 0:3 2:1\n");
    let test = BINARY.replacen("splits =", "test = \"narrow.svm\"\nsplits =", 1);
    sandbox.write("classes.toml", &test.replacen("metric =", "split = \"test\"\nmetric =", 1));
    let report = sandbox.train("classes.toml", &[]);
    assert_eq!(number(&report, "queries"), 2.0, "{report}");
    let evaluate = ["evaluate", "runs/classes", "--queries", "narrow.svm", "--json"];
    let before = json(&sandbox.succeed(&evaluate));
    assert_eq!(number(&before, "f1"), number(&report, "f1"), "{before}");
    sandbox.write("one.svm", "0,5 1:1 2:1\n");
    let one = ["predict", "runs/classes", "one.svm"];
    let predicted = sandbox.succeed(&one);
    std::fs::remove_file(sandbox.path("classes.svm")).unwrap();
    assert_eq!(sandbox.succeed(&one), predicted);
    sandbox.write("wide.svm", "0,5 5:1 0:1\n1,5 2:1 30:1 5:2\n");
    let wide = sandbox.run(&["predict", "runs/classes", "wide.svm"]);
    let errors = String::from_utf8_lossy(&wide.stderr);
    let left_out = "2 features that no training pair has are left out, the first 5 on line 1; those of the training pairs are 0 to 4";
    assert!(errors.contains(left_out), "{errors}");
    sandbox.write("from-one.svm", "0,5 1:1 3:1\n1,5 2:1 5:1\n");
    let says = ["from-one.svm: features count from 1, to 5", "from 0, to 4: subtract 1"];
    sandbox.fail(&["predict", "runs/classes", "from-one.svm"], 2, &says);
    sandbox.write("within.svm", "0,5 0:1\n1,5 2:1\n");
    let within = sandbox.succeed(&["predict", "runs/classes", "within.svm"]);
    assert_eq!(String::from_utf8_lossy(&wide.stdout).replace("wide", "within"), within);
}

/// Times in seconds, which 32 bits round to multiples of 128. Queries may be that close to one another.
#[test]
fn inputs_that_32_bits_do_not_tell_apart_are_refused() {
    let row = |row: u32, step: u32| {
        let place = row * 7 % 60;
        (1_700_000_000 + place * step, f64::from(place) / 10.0)
    };
    let arff = |step: u32| {
        let mut file =
            "@relation times\n@attribute t numeric\n@attribute y numeric\n@data\n".to_owned();
        for (time, value) in (0..120).map(|at| row(at, step)) {
            writeln!(file, "{time},{value}").unwrap();
        }
        file
    };
    let mut table = "id,t,y\n".to_owned();
    for (at, (time, value)) in (0..120).map(|at| (at, row(at, 1))) {
        writeln!(table, "{at},{time},{value}").unwrap();
    }
    let config = |data: &str, column: &str| {
        format!(
            "[data]\nfolder = \"./\"\nsplits = {{ validation = 20 }}\n{data}\n\n\
             [output]\nlabel = \"{column}\"\nfeatures = {{ kind = \"numbers\", column = \"{column}\" }}\n\
             kernel = {{ name = \"linear\" }}\nscaling = \"standard\"\n\n[sketch]\nfull = true\n\n\
             [encoder]\nkind = \"kernel-machine\"\n\
             inputs = {{ kind = \"vectors\", scaling = \"standard\" }}\n\
             kernel = {{ name = \"gaussian\", gamma = 0.5 }}\nlambda = 1e-4\n\n\
             [decoding]\nsearch = \"exact\"\n\n[evaluation]\nmetric = \"rrmse\"\n"
        )
    };
    let sandbox = Sandbox::new();
    sandbox.write("times.arff", &arff(1));
    sandbox.write("times.csv", &table);
    let source = "source = \"multi-label\"\nfile = \"times.arff\"\nlabels = 1";
    sandbox.write("attributes.toml", &config(source, "targets"));
    let source =
        "source = \"pool\"\nfile = \"times.csv\"\ninputs = { column = \"t\", numbers = true }";
    sandbox.write("columns.toml", &config(source, "y"));
    let apart = "lie between 1700000000 and 1700000059, and rounding to 32 bits changes them by up to 59: subtract a \
                 constant from all of them";
    let attribute = "times.arff: the numbers of the attribute \"t\"";
    sandbox.fail(&["train", "attributes.toml", "--quiet"], 2, &[attribute, apart]);
    let column = "times.csv: the numbers in the column \"t\"";
    sandbox.fail(&["train", "columns.toml", "--quiet"], 2, &[column, apart]);
    sandbox.write("times.arff", &arff(10_000));
    sandbox.write("few.arff", &arff(1));
    sandbox.succeed(&["train", "attributes.toml", "--quiet"]);
    sandbox.succeed(&["evaluate", "runs/attributes", "--queries", "few.arff"]);
}
