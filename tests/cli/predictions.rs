//! Predictions without golds, and coordinates in and out.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use dsokr::data::read_matrix;
use serde_json::Value;

use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, json, npy, number};

/// A sandbox with a trained run, and the texts of its test split.
fn trained() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    sandbox.train("small.toml", &[]);
    let test = sandbox.read("data/small/test.tsv");
    let texts = test.lines().skip(1).map(|line| line.split('\t').nth(1).unwrap().to_string());
    let texts = texts.collect();
    (sandbox, texts)
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Standard output of a call with this standard input.
fn piped(sandbox: &Sandbox, arguments: &[&str], input: &[u8]) -> (Option<i32>, String, String) {
    let mut command = sandbox.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!errors.contains("panicked"), "{errors}");
    (output.status.code(), String::from_utf8(output.stdout).unwrap(), errors)
}

/// A decompressed table with the name of a compressed one would be read as lines of text, its header as a query.
#[test]
fn a_compressed_table_is_refused_with_a_command_whose_file_is_read_as_the_table() {
    let (sandbox, texts) = trained();
    let table = sandbox.read("data/small/test.tsv");
    let packed = zstd::encode_all(table.as_bytes(), 3).unwrap();
    std::fs::write(sandbox.path("t.tsv.zst"), packed).unwrap();
    let command = "decompress it first: zstd -dc t.tsv.zst > new-t.tsv";
    sandbox.fail(&["predict", "runs/small", "t.tsv.zst"], 2, &["t.tsv.zst", command]);
    sandbox.fail(&["embed", "runs/small", "t.tsv.zst", "--out", "z.npy"], 2, &[command]);
    sandbox.write("new-t.tsv", &table);
    let answers = json_lines(&sandbox.succeed(&["predict", "runs/small", "new-t.tsv"]));
    let queries: Vec<&str> =
        answers.iter().map(|answer| answer["query"].as_str().unwrap()).collect();
    assert_eq!(queries, texts);
    // no table is taken for lines of text by its name
    sandbox.write("new-t.tsv.zst", &table);
    sandbox.fail(&["predict", "runs/small", "new-t.tsv.zst"], 2, &["compressed files"]);
    // a stream has no name that could end in another way
    let gzip = b"\x1f\x8b\x08\0\0\0\0\0";
    let (code, _, errors) = piped(&sandbox, &["predict", "runs/small", "-"], gzip);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("(gzip): decompress them before: gzip -dc"), "{errors}");
    assert!(!errors.contains("let it end"), "{errors}");
}

/// A text of several lines that was written on Windows is the text that the table of answers has.
#[test]
fn line_breaks_of_windows_stay_in_cells_of_csv() {
    let (sandbox, _) = trained();
    let text = "an open chain\r\nof kind ETH";
    sandbox.write("texts.jsonl", &serde_json::json!({ "text": text }).to_string());
    let predict = ["predict", "runs/small", "texts.jsonl", "--column", "text", "--format", "csv"];
    let table = sandbox.succeed(&predict);
    assert!(table.contains(&format!("1,\"{text}\",1,")), "{table:?}");
}

#[test]
fn predictions_are_those_of_the_search_however_texts_are_written() {
    let (sandbox, texts) = trained();
    sandbox.write("texts.txt", &(texts.join("\n") + "\n\n"));
    let lines = sandbox.succeed(&["predict", "runs/small", "texts.txt", "--top", "3"]);
    let answers = json_lines(&lines);
    assert_eq!(answers.len(), texts.len());
    for (at, (answer, text)) in answers.iter().zip(&texts).enumerate() {
        assert_eq!(
            (&answer["id"], &answer["query"]),
            (&(at + 1).to_string().into(), &text[..].into())
        );
        let found = json(&sandbox.succeed(&["search", "runs/small", text, "--top", "3", "--json"]));
        for (ours, theirs) in (0..3).map(|k| (&answer["candidates"][k], &found["candidates"][k])) {
            assert_eq!((&ours["rank"], &ours["id"]), (&theirs["rank"], &theirs["id"]));
            assert!((number(ours, "score") - number(theirs, "score")).abs() < 1e-5, "{ours}");
        }
    }
    // a table, whose columns are those of the run's data, and ids of its own
    let table = ["predict", "runs/small", "data/small/test.tsv", "--id", "id", "--top", "3"];
    let from_table = json_lines(&sandbox.succeed(&table));
    assert_eq!(from_table[0]["id"], "o70");
    // the configuration's column of ids names the right outputs, not the rows
    let numbered = json_lines(&sandbox.succeed(&["predict", "runs/small", "data/small/test.tsv"]));
    assert_eq!((&numbered[0]["id"], &numbered[9]["id"]), (&"1".into(), &"10".into()));
    assert_eq!(from_table[9]["candidates"], answers[9]["candidates"]);

    // among candidates of each text's own
    let list = |at: usize| {
        let candidates = [format!("o{at}"), format!("o{}", at + 7)];
        serde_json::json!({"query": at.to_string(), "candidates": candidates}).to_string()
    };
    let lists: Vec<String> = (1..=texts.len()).map(list).collect();
    sandbox.write("lists.jsonl", &lists.join("\n"));
    let listed = ["predict", "runs/small", "texts.txt", "--candidates", "lists.jsonl"];
    for (at, answer) in json_lines(&sandbox.succeed(&listed)).iter().enumerate() {
        let ids = answer["candidates"].as_array().unwrap().iter();
        let ids: Vec<&str> = ids.map(|hit| hit["id"].as_str().unwrap()).collect();
        let own = [format!("o{}", at + 1), format!("o{}", at + 8)];
        assert!(!ids.is_empty() && ids.iter().all(|id| own.contains(&id.to_string())), "{answer}");
    }
    // other formats, from standard input
    let object =
        |(at, text): (usize, &String)| serde_json::json!({"n": at, "words": text}).to_string();
    let objects: Vec<String> = texts.iter().enumerate().map(object).collect();
    let call = ["predict", "runs/small", "-", "--input", "jsonl", "--column", "words", "--id", "n"];
    let (code, out, errors) = piped(&sandbox, &call, objects.join("\n").as_bytes());
    assert_eq!(code, Some(0), "{errors}");
    let ids: Vec<Value> = json_lines(&out).iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, (0..10).map(|n| Value::from(n.to_string())).collect::<Vec<_>>());
    let comma =
        format!("name,text\n{}", texts.iter().map(|t| format!("a,\"{t}\"\n")).collect::<String>());
    sandbox.write("texts.csv", &comma);
    let call =
        ["predict", "runs/small", "texts.csv", "--column", "text", "--format", "tsv", "--top", "2"];
    let rows = sandbox.succeed(&call);
    let rows: Vec<Vec<&str>> = rows.lines().map(|line| line.split('\t').collect()).collect();
    let names = ["id", "query", "rank", "candidate", "label", "score", "gap", "tied", "duplicates"];
    assert_eq!(rows[0], names);
    assert_eq!(rows.len(), 21);
    assert_eq!(rows[20][..3], ["10", &texts[9][..], "2"]);
    assert_eq!(rows[20][3], answers[9]["candidates"][1]["id"].as_str().unwrap());
    // several runs are an ensemble
    sandbox.train("small.toml", &["seed=1"]);
    let both = ["predict", "runs/small", "runs/small-2", "texts.txt", "--combine", "rank"];
    assert_eq!(json_lines(&sandbox.succeed(&both)).len(), 10);
    // standard input of a search is answered line by line
    let (code, out, errors) =
        piped(&sandbox, &["search", "runs/small", "--json"], texts[..2].join("\n").as_bytes());
    assert_eq!((code, json_lines(&out).len()), (Some(0), 2), "{errors}");
}

#[test]
fn answers_come_before_the_input_ends_and_a_closed_pipe_ends_silently() {
    let (sandbox, texts) = trained();
    let call = ["predict", "runs/small", "-", "--top", "1"];
    let start = || {
        let mut command = sandbox.command(&call);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut child = start();
    let mut input = child.stdin.take().unwrap();
    let output = child.stdout.take().unwrap();
    let mut answers = BufReader::new(output).lines();
    for text in &texts[..3] {
        writeln!(input, "{text}").unwrap();
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["query"], text[..]);
    }
    drop(input);
    assert!(answers.next().is_none() && child.wait().unwrap().success());

    // like `| head -1`, on more answers than a pipe holds
    let mut child = start();
    let mut input = child.stdin.take().unwrap();
    let output = child.stdout.take().unwrap();
    let many = format!("{}\n", texts[0]).repeat(20_000);
    let writer = std::thread::spawn(move || {
        // the command may end before it has read everything
        let _ = input.write_all(many.as_bytes());
    });
    let mut answers = BufReader::new(output);
    answers.read_line(&mut String::new()).unwrap();
    drop(answers);
    let ended = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && !errors.contains("error"), "{errors}");
}

#[test]
fn wrong_texts_are_named_behind_the_answers_to_those_before() {
    let (sandbox, texts) = trained();
    let call = ["predict", "runs/small", "-"];
    for (bad, says) in [(&b"\xff\xfe"[..], "not UTF-8"), (b"\n", "blank line")] {
        let input = [texts[0].as_bytes(), b"\n", bad, b"\n", texts[1].as_bytes()].concat();
        let (code, out, errors) = piped(&sandbox, &call, &input);
        assert_eq!((code, out.lines().count()), (Some(2), 1), "{errors}");
        assert!(errors.contains("standard input:2: ") && errors.contains(says), "{errors}");
    }
    let cases: [(&str, &str, &[&str]); 6] = [
        ("t.jsonl", "{\"description\": \"\"}", &["t.jsonl:1", "empty value"]),
        ("t.tsv", "id\ttext\n1\ta ring\n", &["t.tsv", "no column \"description\"", "\"text\""]),
        ("t.csv", "description,id\na ring,1\nb\n", &["t.csv:3", "1 fields; expected 2"]),
        ("t.tsv", "description\tn\n \t1\n", &["t.tsv:2", "empty value"]),
        ("t.jsonl", "[1]", &["t.jsonl:1", "JSON object"]),
        ("t.tsv", "", &["t.tsv", "the file is empty"]),
    ];
    for (file, content, says) in cases {
        sandbox.write(file, content);
        let output = sandbox.run(&["predict", "runs/small", file]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        says.iter().for_each(|part| assert!(errors.contains(part), "{part:?} in {errors}"));
    }
    sandbox.write("t.txt", "a ring\n");
    for (arguments, says) in [
        (&["predict", "runs/small", "t.txt", "--top", "0"][..], &["top 0", "at least 1"][..]),
        (&["predict", "runs/small", "missing.txt"], &["missing.txt", "no such file"]),
        (&["predict", "runs/small", "t.txt", "--id", "n"], &["column of ids", "no columns"]),
        (&["predict", "runs/small", "runs"], &["runs", "directory"]),
        (&["predict", "runs/small"], &["FILE"]),
        (&["search", "runs/small", " "], &["the text", "not empty"]),
        (&["embed", "runs/small", "-", "--out", "z.npy"], &["FILE = -"]),
    ] {
        sandbox.fail(arguments, 2, says);
    }
}

#[test]
fn coordinates_go_out_and_come_back() {
    let (sandbox, _) = trained();
    let report = json(&sandbox.succeed(&["evaluate", "runs/small", "--json"]));
    sandbox.succeed(&["embed", "runs/small", "data/small/test.tsv", "--out", "z.npy"]);
    let outputs = ["embed", "runs/small", "data/small/outputs.tsv", "--outputs", "--out", "y.npy"];
    assert!(sandbox.succeed(&outputs).contains("80 rows"));
    // a naive ranking of the two files gives the same MRR
    let z = read_matrix(&sandbox.path("z.npy")).unwrap();
    let y = read_matrix(&sandbox.path("y.npy")).unwrap();
    let mut mrr = 0.0;
    for query in 0..z.nrows() {
        let score = |c: usize| -> f64 { (0..z.ncols()).map(|j| z[(query, j)] * y[(c, j)]).sum() };
        let gold = score(70 + query);
        let above = (0..y.nrows()).filter(|&c| c != 70 + query && score(c) > gold).count();
        mrr += 1.0 / (above + 1) as f64 / z.nrows() as f64;
    }
    assert!((mrr - number(&report, "mrr")).abs() < 1e-9, "{mrr} {report}");
    // the same coordinates are judged as the run's own
    let rank = ["rank", "--run", "runs/small", "--predictions", "z.npy", "--json", "--report", "r"];
    let ranked = json(&sandbox.succeed(&rank));
    for key in ["mrr", "hits@1", "mean_rank", "squared_error", "queries", "candidates"] {
        assert_eq!(ranked[key], report[key], "{key}");
    }
    assert_eq!(sandbox.read("r/ranks.tsv").lines().count(), 11);
    // perfect coordinates find every output
    sandbox.succeed(&["embed", "runs/small", "data/small/test.tsv", "--outputs", "--out", "h.npy"]);
    let rank = ["rank", "--run", "runs/small", "--predictions", "h.npy", "--json"];
    assert_eq!(number(&json(&sandbox.succeed(&rank)), "mrr"), 1.0);

    std::fs::write(sandbox.path("wide.npy"), npy(3, &[0.0; 30])).unwrap();
    std::fs::write(sandbox.path("nan.npy"), npy(1, &[f64::NAN])).unwrap();
    for (file, says) in [
        ("wide.npy", &["wide.npy", "[10 × 3]", "[10 × 20]"][..]),
        ("nan.npy", &["nan.npy", "row 0, column 0"]),
        ("y.npy", &["y.npy", "[80 × 20]"]),
        ("none.npy", &["none.npy", "no such file"]),
    ] {
        sandbox.fail(&["rank", "--run", "runs/small", "--predictions", file], 2, says);
    }
    sandbox.write("strange.tsv", "id\no1\nstranger\n");
    let strange = ["embed", "runs/small", "strange.tsv", "--outputs", "--out", "s.npy"];
    sandbox.fail(&strange, 2, &["strange.tsv", "line 3", "\"stranger\""]);
    assert!(!sandbox.path("s.npy").exists());
}

#[test]
fn outputs_that_are_no_candidates_have_coordinates_too() {
    let sandbox = Sandbox::new();
    sandbox.write("few.toml", &CONFIG.replacen("label =", "only_training = true\nlabel =", 1));
    let changes = ["evaluation.missing_gold=rank-infinity"];
    sandbox.train("small.toml", &[]);
    sandbox.train("few.toml", &changes);
    for (run, out) in [("runs/small", "all.npy"), ("runs/few", "few.npy")] {
        let table = "data/small/outputs.tsv";
        sandbox.succeed(&["embed", run, table, "--outputs", "--out", out]);
    }
    let all = read_matrix(&sandbox.path("all.npy")).unwrap();
    let few = read_matrix(&sandbox.path("few.npy")).unwrap();
    assert_eq!((few.nrows(), few.ncols()), (80, 20));
    let apart = (&all - &few).norm_max();
    assert!(apart < 1e-5, "{apart}");
    // an n-gram more moves all columns
    let outputs = sandbox.read("data/small/outputs.tsv");
    sandbox.write("data/small/outputs.tsv", &outputs.replacen("methane", "aaazane", 1));
    let again = ["embed", "runs/few", "data/small/outputs.tsv", "--outputs", "--out", "no.npy"];
    sandbox.fail(&again, 2, &["data/small", "have changed"]);
}

#[test]
fn a_text_of_which_no_model_knows_a_part_has_a_caution() {
    let (sandbox, texts) = trained();
    let grams = RIDGE
        .replace("kind = \"words\", min = 1, max = 1", "kind = \"across-words\", min = 3, max = 4");
    sandbox.write("grams.toml", &CONFIG.replace(BAG, &grams));
    let hubs = "decoding.hubs={weights=[0.5], neighbours=[5]}";
    sandbox.succeed(&["train", "grams.toml", "--out", "runs/grams", "--set", hubs]);
    let transformer =
        "kind = \"transformer\"\nlayers = 1\nwidth = 16\nheads = 2\nfeed_forward = 16";
    sandbox.write("tokens.toml", &CONFIG.replace(BAG, transformer));
    sandbox.succeed(&["train", "tokens.toml", "--out", "runs/tokens"]);
    sandbox.write("texts.txt", &format!("東京\n{}\n", texts[0]));
    for runs in [
        &["runs/small"][..],
        &["runs/grams"],
        &["runs/tokens"],
        &["runs/small", "runs/grams", "runs/tokens"],
    ] {
        let predict = [&["predict"][..], runs, &["texts.txt", "--top", "2"]].concat();
        let answers = json_lines(&sandbox.succeed(&predict));
        let says = answers[0]["cautions"][0].as_str().unwrap();
        assert_eq!(says, "the model knows no part of this text: the order means nothing");
        assert!(answers[1].get("cautions").is_none(), "{runs:?} {}", answers[1]);
    }
    sandbox.write("unknown.txt", "東京\n京都\n");
    let output = sandbox.run(&["predict", "runs/small", "unknown.txt", "--top", "2"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    let caution = "query \"1\" and 1 other: the model knows no part of this text";
    assert!(errors.contains(caution), "{errors}");
}

/// Features of outputs that are numbers.
const NUMBERS: &str = "kind = \"numbers\", column = \"number\"";

#[test]
fn sets_of_candidates_are_calibrated_on_what_is_held_out() {
    let (sandbox, texts) = trained();
    sandbox.write("texts.txt", &texts.join("\n"));
    let predict = |run: &str, more: &[&str]| {
        let all = [&["predict", run, "texts.txt"][..], more].concat();
        json_lines(&sandbox.succeed(&all))
    };
    // of 10 validation queries two are for the temperature, and eight give 8/9 at most
    let all = predict("runs/small", &["--top", "80"]);
    let few = predict("runs/small", &["--coverage", "0.3"]);
    let many = predict("runs/small", &["--coverage", "0.85"]);
    for ((all, few), many) in all.iter().zip(&few).zip(&many) {
        assert_eq!((&few["coverage"], &many["coverage"]), (&0.3.into(), &0.85.into()));
        let hits = |answer: &Value| answer["candidates"].as_array().unwrap().clone();
        let all = hits(all);
        let few = hits(few);
        let many = hits(many);
        assert!(!few.is_empty() && few.len() <= many.len() && all.starts_with(&many));
        assert!(many.starts_with(&few));
    }
    // of a set that is cut the size stays
    let cut = predict("runs/small", &["--coverage", "0.85", "--top", "1"]);
    for (many, cut) in many.iter().zip(&cut) {
        let all = many["candidates"].as_array().unwrap();
        assert_eq!(many["set_size"], all.len(), "{many}");
        assert_eq!(cut["set_size"], all.len(), "{cut}");
        assert_eq!(cut["candidates"].as_array().unwrap()[..], all[..1]);
    }
    let table = ["predict", "runs/small", "texts.txt", "--format", "tsv", "--coverage", "0.85"];
    let rows_of = |more: &[&str]| -> Vec<Vec<String>> {
        let rows = sandbox.succeed(&[&table[..], more].concat());
        rows.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    };
    let rows = rows_of(&["--top", "1"]);
    assert_eq!((rows.len(), rows[0].last().unwrap().as_str()), (texts.len() + 1, "set_size"));
    for (row, many) in rows[1..].iter().zip(&many) {
        assert_eq!(*row.last().unwrap(), many["set_size"].to_string());
    }
    let sizes = many.iter().map(|answer| answer["candidates"].as_array().unwrap().len());
    assert_eq!(rows_of(&[]).len(), 1 + sizes.sum::<usize>());
    sandbox.fail(&[&table[..], &["--top", "0"]].concat(), 2, &["--top = 0: expected at least 1"]);
    let more = ["--coverage", "0.9"];
    sandbox.fail(
        &[&["predict", "runs/small", "texts.txt"][..], &more].concat(),
        2,
        &["coverage = 0.9", "at most 0.8889"],
    );
    // a table of queries that nothing was chosen on stands for the validation split
    let own = ["--coverage", "0.85", "--calibration", "data/small/test.tsv"];
    let errors = sandbox.run(&[&["predict", "runs/small", "texts.txt"][..], &own].concat()).stderr;
    let errors = String::from_utf8(errors).unwrap();
    assert!(errors.contains("calibrated on 10 queries: data/small/test.tsv"), "{errors}");
    let own = ["predict", "runs/small", "texts.txt", "--coverage", "0.85"];
    let errors = String::from_utf8(sandbox.run(&own).stderr).unwrap();
    assert!(
        errors.contains("10 queries: validation; checkpoints are chosen on these queries"),
        "{errors}"
    );

    // a file of lists has those of the queries that calibrate too
    sandbox.write("lists.jsonl", "{\"query\": \"1\", \"candidates\": [\"o1\", \"o2\"]}\n");
    sandbox.fail(
        &[&own[..], &["--candidates", "lists.jsonl"]].concat(),
        2,
        &["lists.jsonl", "no list of candidates for query"],
    );

    // without validation pairs, leave-one-out answers are what is held out
    let rows: String =
        (0..60).map(|i| format!("{i}\ta text of {} and {}\t{}\n", i % 5, i % 12, i % 12)).collect();
    sandbox.write("data/small/pool.tsv", &format!("id\tdescription\tnumber\n{rows}"));
    let (_, tail) = CONFIG.split_once("[sketch]").unwrap();
    let (head, _) = tail.split_once("[encoder]").unwrap();
    let pool = format!(
        "[data]\nsource = \"pool\"\nfolder = \"small\"\nfile = \"pool.tsv\"\nsplits = {{ validation = 0, test = 0.1 }}\n\n\
         [output]\nlabel = \"number\"\nfeatures = {{ kind = \"ngrams\", column = \"number\", min = 1, max = 2 }}\nkernel = {{ name = \"ngram\" }}\n\n\
         [sketch]{head}[encoder]\n{RIDGE}\n\n[evaluation]\nsplit = \"test\"\n"
    );
    sandbox.write("pool.toml", &pool);
    sandbox.succeed(&["train", "pool.toml", "--out", "none"]);
    let none = ["predict", "none", "texts.txt", "--coverage", "0.8"];
    sandbox.fail(
        &none,
        2,
        &["coverage = given, of none, for which nothing is held out", "decoding.held_out"],
    );
    sandbox.succeed(&[
        "train",
        "pool.toml",
        "--out",
        "held",
        "--set",
        "decoding.held_out=true",
        "--set",
        "encoder.lambda=[1e-3,1e-2]",
    ]);
    let held = ["predict", "held", "texts.txt", "--coverage", "0.8"];
    let output = sandbox.run(&held);
    let errors = String::from_utf8(output.stderr).unwrap();
    let says = "54 queries: held-out predictions; each is predicted by a model without it, in a basis that knows its \
                output, and λ is chosen on all of them";
    assert!(output.status.success() && errors.contains(says), "{errors}");
    // five rows have each number
    sandbox.succeed(&[
        "train",
        "pool.toml",
        "--out",
        "grouped",
        "--set",
        "decoding.held_out=true",
        "--set",
        "data.splits.group=number",
    ]);
    let grouped = ["predict", "grouped", "texts.txt", "--coverage", "0.8"];
    let output = sandbox.run(&grouped);
    let errors = String::from_utf8(output.stderr).unwrap();
    let says = "55 queries in 11 groups, each of which counts as one: held-out predictions; each is predicted by a model \
                without its group";
    assert!(output.status.success() && errors.contains(says), "{errors}");
    let many = ["predict", "grouped", "texts.txt", "--coverage", "0.95"];
    sandbox.fail(&many, 2, &["coverage = 0.95", "at most 0.9000", "55 queries in 11 groups"]);
    // a number of a new row is no candidate, so that no set of candidates holds it
    let numbers = pool.replace("kind = \"ngrams\", column = \"number\", min = 1, max = 2", NUMBERS);
    sandbox.write("numbers.toml", &numbers.replace("name = \"ngram\"", "name = \"linear\""));
    sandbox.succeed(&["train", "numbers.toml", "--out", "numbers"]);
    let numbers = ["predict", "numbers", "texts.txt", "--coverage", "0.8"];
    sandbox.fail(&numbers, 2, &["coverage = given, of a model of numbers", "pinball"]);
    // there are choices, and nothing to choose on
    for (change, says) in [
        (
            "encoder.predictions={kind=\"embedded\", ranks=[1]}",
            "data.splits.validation = 0: encoders choose their checkpoint on validation pairs; use at least 1",
        ),
        ("evaluation.split=validation", "there are no validation pairs; set it to \"test\""),
        ("decoding.hubs={}", "decoding.hubs is chosen on validation pairs"),
    ] {
        let lambda = "encoder.lambda=[1e-3,1e-2]";
        sandbox.fail(&["train", "pool.toml", "--set", lambda, "--set", change], 2, &[says]);
    }
}
