//! The card of a run.

use serde_json::Value;

use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, json, number};

/// The scalars and lists of the front matter by their keys, whose texts are strings of JSON; a key below
/// another one has the path `a.b`.
fn front_matter(card: &str) -> Vec<(String, Value)> {
    let rest = card.strip_prefix("---\n").unwrap();
    let (front, _) = rest.split_once("\n---\n").unwrap();
    let mut path = Vec::new();
    let mut all = Vec::new();
    for line in front.lines() {
        let level = line.len() - line.trim_start().len();
        let (key, value) = line.trim_start().split_once(':').unwrap();
        path.truncate(level / 2);
        path.push(key.trim_matches('"').to_owned());
        if !value.is_empty() {
            all.push((path.join("."), serde_json::from_str(value).unwrap()));
        }
    }
    all
}

fn value<'a>(front: &'a [(String, Value)], key: &str) -> &'a Value {
    &front.iter().find(|(own, _)| own == key).unwrap_or_else(|| panic!("{key} in {front:?}")).1
}

#[test]
fn a_run_has_a_card_with_its_data_and_its_metrics() {
    let sandbox = Sandbox::new();
    let folder = "it's: \"ñ\" #1 `分子`";
    let licence = "CC BY 4.0: \"attribution\" – ©";
    std::fs::rename(sandbox.path("data/small"), sandbox.path("data").join(folder)).unwrap();
    let own = format!("[data]\nlicence = '{licence}'\nfolder = '''{folder}'''");
    sandbox.write("own.toml", &CONFIG.replace("[data]\nfolder = \"small\"", &own));
    let report = sandbox.train("own.toml", &[]);
    let card = sandbox.read("runs/own/README.md");
    let front = front_matter(&card);
    assert_eq!(value(&front, "data.folder"), folder);
    assert_eq!(value(&front, "data.licence"), licence);
    assert_eq!(value(&front, "split"), "test");
    for metric in ["mrr", "hits@1", "mean_rank", "squared_error"] {
        assert_eq!(value(&front, &format!("metrics.{metric}.value")), &report[metric]);
        let interval = value(&front, &format!("metrics.{metric}.ci95"));
        assert_eq!(interval, &report["intervals"][metric]);
    }
    let record: Value = serde_json::from_str(&sandbox.read("runs/own/metrics.json")).unwrap();
    assert_eq!(value(&front, "configuration.fingerprint"), &record["fingerprint"]);
    assert!(card.contains(&sandbox.read("runs/own/config.toml")));

    // an equal run has an equal card, and the commands of the card do what they say
    let data = sandbox.path("data");
    let here = |arguments: &[&str]| {
        let mut command = sandbox.command(arguments);
        let output = command.current_dir(sandbox.path("runs/own")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    here(&["train", "config.toml", "--data", data.to_str().unwrap(), "--out", "../again"]);
    assert_eq!(sandbox.read("runs/again/README.md"), card);
    here(&["search", ".", "a ring of kind METH"]);
    assert_eq!(json(&here(&["evaluate", ".", "--json"]))["mrr"], report["mrr"]);

    // users may change it, or take it away
    sandbox.write("runs/own/README.md", "mine");
    sandbox.succeed(&["evaluate", "runs/own"]);
    std::fs::remove_file(sandbox.path("runs/own/README.md")).unwrap();
    sandbox.succeed(&["evaluate", "runs/own"]);
}

#[test]
fn a_card_without_a_licence_or_metrics_says_so() {
    let sandbox = Sandbox::new();
    sandbox.train("small.toml", &[]);
    let card = sandbox.read("runs/small/README.md");
    assert_eq!(value(&front_matter(&card), "data.licence"), "unknown");
    assert!(card.contains("licence: unknown"), "{card}");
    for wrong in ["data.licence=\"\"", "data.licence=\"a\\nb\""] {
        let arguments = ["train", "small.toml", "--set", wrong];
        sandbox.fail(&arguments, 2, &["data.licence", "one line of text"]);
    }
}

#[test]
fn a_card_says_among_how_many_candidates_each_query_is() {
    let sandbox = Sandbox::new();
    sandbox.train("small.toml", &["evaluation.candidates=\"sample:20\""]);
    let card = sandbox.read("runs/small/README.md");
    let front = front_matter(&card);
    for size in ["least", "median", "most"] {
        assert_eq!(*value(&front, &format!("candidates_per_query.{size}")), 21);
    }
    let says = "10 queries among 21 candidates each (in all ";
    assert!(card.contains(says), "{card}");
    sandbox.train("small.toml", &[]);
    let card = sandbox.read("runs/small-2/README.md");
    assert!(card.contains("10 queries among 80 candidates ("), "{card}");
}

#[test]
fn a_training_ends_with_a_search_that_can_be_run() {
    let sandbox = Sandbox::new();
    let printed = sandbox.succeed(&["train", "small.toml"]);
    let command = printed.lines().find_map(|line| line.strip_prefix("try: ")).unwrap();
    let (_, text) = command.split_once(" search runs/small ").unwrap();
    let text = text.trim_matches('"');
    assert!(sandbox.read("data/small/validation.tsv").contains(text), "{command}");
    assert!(sandbox.succeed(&["search", "runs/small", text]).contains("score"));
    // a run that is complete already ends with the same one
    let resume = ["train", "small.toml", "--out", "runs/small", "--resume"];
    assert!(sandbox.succeed(&resume).contains(&format!("try: {command}\n")), "{command}");
    // a shell reads a path with blanks as one argument
    let printed = sandbox.succeed(&["train", "small.toml", "--out", "it's small"]);
    assert!(printed.contains(r"try: dsokr search 'it'\''s small' "), "{printed}");
    // a path that begins with a hyphen is no option
    let printed = sandbox.succeed(&["train", "small.toml", "--out=-r1", "--quiet"]);
    assert!(printed.contains("try: dsokr search ./-r1 "), "{printed}");
    sandbox.succeed(&["search", "./-r1", "a ring"]);
    let packed = sandbox.succeed(&["export", "it's small", "--archive", "a b.tar.zst"]);
    assert!(packed.contains("dsokr serve 'a b.tar.zst' opens it"), "{packed}");
    // of long texts, the first sentences of the shortest
    for name in ["train", "validation", "test"] {
        let name = format!("data/small/{name}.tsv");
        let more = ". It has more atoms".repeat(20);
        let long =
            |row: &str| if row.starts_with("id") { row.to_owned() } else { row.to_owned() + &more };
        let rows: Vec<String> = sandbox.read(&name).lines().map(long).collect();
        sandbox.write(&name, &rows.join("\n"));
    }
    let printed = sandbox.succeed(&["train", "small.toml", "--out", "long"]);
    let command = printed.lines().find_map(|line| line.strip_prefix("try: ")).unwrap();
    let (_, text) = command.split_once(" search long ").unwrap();
    let text = text.trim_matches('"');
    assert!(text.ends_with("It has more atoms.") && text.len() <= 160, "{command}");
    assert!(sandbox.succeed(&["search", "long", text]).contains("score"));
}

/// A program that no folder of PATH has, such as one that Cargo runs, is called by its path.
#[cfg(unix)]
#[test]
fn a_printed_search_calls_the_program_as_it_was_called() {
    let sandbox = Sandbox::new();
    let program = env!("CARGO_BIN_EXE_dsokr");
    std::os::unix::fs::symlink(program, sandbox.path("my tool")).unwrap();
    let shell = |command: &str| {
        let mut shell = std::process::Command::new("/bin/sh");
        let output = shell.args(["-c", command]).current_dir(sandbox.path(".")).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = shell("'./my tool' train small.toml");
    let command = printed.lines().find_map(|line| line.strip_prefix("try: ")).unwrap();
    assert!(command.starts_with("'./my tool' search runs/small "), "{command}");
    assert!(shell(command).contains("score"), "{command}");
}

/// A text that begins with a hyphen is no option in what `init`, a training and its card print.
#[cfg(unix)]
#[test]
fn printed_searches_run_with_texts_that_begin_with_a_hyphen() {
    let sandbox = Sandbox::new();
    let row = |at: usize| {
        let (text, rate) =
            [("--help with apples", "good"), ("-5 degrees for pears", "bad")][at % 2];
        format!("{text} in box {at},{rate}\n")
    };
    sandbox.write("signs.csv", &("text,rate\n".to_owned() + &(0..40).map(row).collect::<String>()));
    let looked = sandbox.succeed(&["init", "signs.csv"]);
    let trained = sandbox.succeed(&["train", "signs.toml"]);
    let card = sandbox.read("runs/signs/README.md");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_dsokr"));
    for (folder, printed) in [(".", looked), (".", trained), ("runs/signs", card)] {
        let mut commands = printed.lines().map(|line| line.trim_start_matches("try: ").trim());
        let command = commands.find(|line| line.starts_with("dsokr search ")).unwrap();
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", command]).current_dir(sandbox.path(folder));
        let output = shell.env("PATH", program.parent().unwrap()).output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("good") && shown.contains("bad"), "{command}: {output:?}");
    }
}

#[test]
fn a_training_on_spectra_ends_with_a_command_for_a_file_that_it_has_read() {
    let sandbox = crate::spectra::sandbox();
    let printed = sandbox.succeed(&["train", "bins.toml"]);
    let command = printed.lines().find_map(|line| line.strip_prefix("try: dsokr ")).unwrap();
    assert_eq!(command, "predict runs/bins data/spectra/validation.mgf");
    let command: Vec<&str> = command.split(' ').collect();
    assert_eq!(sandbox.succeed(&command).lines().count(), 17);
    // the card says what it predicts, and no candidate has the mass of its first validation query
    let card = sandbox.read("runs/bins/README.md");
    assert!(card.contains("that maps mass spectra to molecules: encoder"), "{card}");
    assert!(!card.contains("The first answers"), "{card}");
}

#[test]
fn a_card_shows_a_validation_text_with_the_first_answers_of_a_search() {
    let sandbox = Sandbox::new();
    sandbox.train("small.toml", &[]);
    let card = sandbox.read("runs/small/README.md");
    let (_, example) = card.split_once("The first answers to this text:\n\n```text\n").unwrap();
    let text = example.lines().next().unwrap();
    assert!(sandbox.read("data/small/validation.tsv").contains(text), "{card}");
    let first = json(&sandbox.succeed(&["search", "runs/small", text, "--json"]));
    let row = row_of_hit(&first["candidates"][0]);
    assert!(example.contains(&row), "{row} {card}");
    assert!(card.contains(&format!("dsokr search . '{text}'\n")), "{card}");
    assert!(card.contains(&format!("run.search({text:?}, 5)?")), "{card}");
}

/// A process may be killed before it writes the example.
#[test]
fn a_complete_run_gets_the_example_that_its_card_lacks() {
    let sandbox = Sandbox::new();
    let train = ["train", "small.toml", "--out", "run", "--quiet"];
    sandbox.succeed(&train);
    let card = sandbox.read("run/README.md");
    let (start, rest) = card.split_once("The first answers to this text:").unwrap();
    let (example, end) = rest.split_once("\n## ").unwrap();
    let text = example.lines().nth(3).unwrap();
    let start = start.rsplit_once("## ").map_or(start, |(start, _)| start);
    let end = end
        .replace(&format!("dsokr search . '{text}'"), "dsokr search . 'a text'")
        .replace(&format!("{text:?}"), "\"a text\"");
    let plain = format!("{start}## {end}");
    sandbox.write("run/README.md", &plain);
    sandbox.succeed(&[&train[..], &["--resume"]].concat());
    assert_eq!(sandbox.read("run/README.md"), card);
    // a card that the user has changed is theirs
    sandbox.write("run/README.md", &(plain.clone() + "mine\n"));
    sandbox.succeed(&[&train[..], &["--resume"]].concat());
    assert_eq!(sandbox.read("run/README.md"), plain + "mine\n");
}

/// The row of a candidate on the card.
fn row_of_hit(hit: &Value) -> String {
    let [id, label] = ["id", "label"].map(|key| hit[key].as_str().unwrap());
    format!("| {} | {:.4} | `{id}` | `{label}` |\n", hit["rank"], number(hit, "score"))
}

/// The rows of the answers on the card of a run.
fn rows_of_answers(sandbox: &Sandbox, run: &str) -> Vec<String> {
    let card = sandbox.read(&format!("{run}/README.md"));
    let (_, table) = card.split_once("| rank | score | id | label |\n").unwrap();
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    rows.map(str::to_owned).collect()
}

#[test]
fn a_card_lists_molecules_beyond_the_candidates_first() {
    let sandbox = crate::beyond::trained();
    let set = format!("decoding.beyond={{{}}}", crate::beyond::SETTINGS);
    sandbox.succeed(&["train", "molecules.toml", "--quiet", "--set", &set, "--out", "searched"]);
    let card = sandbox.read("searched/README.md");
    let (_, example) = card.split_once("The first answers to this text:\n\n```text\n").unwrap();
    let text = example.lines().next().unwrap();
    let search = ["search", "searched", "--top", "3", "--json", "--", text];
    let answer = json(&sandbox.succeed(&search));
    let found = answer["beyond"].as_array().unwrap();
    assert!(!found.is_empty(), "{answer}");
    let of_search = found.iter().map(|molecule| {
        let id = if molecule["in_table"].as_bool().unwrap() {
            format!("`{}`", molecule["nearest"].as_str().unwrap())
        } else {
            String::new()
        };
        let label = molecule["label"].as_str().unwrap();
        format!("| new | {:.4} | {id} | `{label}` |", number(molecule, "score"))
    });
    let hits = answer["candidates"].as_array().unwrap().iter().map(row_of_hit);
    let hits = hits.map(|row| row.trim_end().to_owned());
    let expected: Vec<String> = of_search.chain(hits).take(3).collect();
    assert_eq!(rows_of_answers(&sandbox, "searched"), expected, "{card}");
}

/// The number of the answer itself stands in the column of outputs, as the numbers of candidates do, and not in that of ids.
#[test]
fn a_card_has_ids_and_predicted_numbers_in_two_columns() {
    let sandbox = crate::classes::sandbox();
    sandbox.write("numbers.toml", &crate::classes::numbers());
    sandbox.succeed(&["train", "numbers.toml", "--quiet"]);
    let rows = rows_of_answers(&sandbox, "runs/numbers");
    assert!(rows[0].starts_with("| all | ") && rows[0].contains(" |  | `"), "{rows:?}");
    for (rank, row) in (1..).zip(&rows[1..]) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [place, _, id, numbers] = cells[..] else { panic!("{rows:?}") };
        assert_eq!(place, format!("| {rank}"), "{rows:?}");
        assert!(id.starts_with("`m"), "{rows:?}");
        assert_eq!(numbers.split_whitespace().count(), 4, "{rows:?}");
    }
}

/// Four decimal places of an error of 1e-10 show nothing, in the place of chance too.
#[test]
fn errors_of_small_numbers_have_digits_on_the_card_and_the_page() {
    let sandbox = crate::classes::sandbox();
    let config = crate::classes::numbers();
    sandbox.write("small.toml", &config.replace(r#"["logp", "tpsa", "rings"]"#, "\"logp\""));
    let small = |line: &str| {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        if let Ok(logp) = cells[4].parse::<f64>() {
            cells[4] = format!("{:e}", logp * 1e-9);
        }
        cells.join(",") + "\n"
    };
    let table: String = sandbox.read("table.csv").lines().map(small).collect();
    sandbox.write("table.csv", &table);
    let report = sandbox.train("small.toml", &[]);
    sandbox.succeed(&["evaluate", "runs/small", "--report", "report"]);
    let card = sandbox.read("runs/small/README.md");
    let page = sandbox.read("report/report.html");
    for (name, title) in [("mae", "MAE"), ("rmse", "RMSE")] {
        let value = number(&report, name);
        assert!(value > 1e-12 && value < 1e-9, "{report}");
        let row = |text: &str, head: &str| {
            text.lines().find(|line| line.contains(head)).unwrap().to_owned()
        };
        let rows = [row(&card, &format!("| {title} |")), row(&page, &format!("<td>{title}</td>"))];
        for row in rows {
            let has_zero = ["0.0000 ", "0.0000<"].iter().any(|zero| row.contains(zero));
            assert!(row.contains("0.0000000") && !has_zero, "{row}");
        }
    }
}

#[test]
fn metrics_that_something_is_chosen_on_have_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.write("ridge.toml", &CONFIG.replace(BAG, RIDGE));
    let train = |out: &str, lambda_by: &str| {
        let lambda_by = format!("encoder.lambda_by={lambda_by:?}");
        let sets =
            ["encoder.lambda=[1e-4, 1e-2]", lambda_by.as_str(), "evaluation.split=validation"];
        let sets = sets.into_iter().flat_map(|set| ["--set", set]);
        let train = ["train", "ridge.toml", "--out", out].into_iter().chain(sets);
        sandbox.succeed(&train.collect::<Vec<_>>())
    };
    let says = "λ is chosen on these queries, so the metrics are too good: a test split says more";
    let texts_of = |out: &str, lambda_by: &str| {
        let trained = train(out, lambda_by);
        let metrics: Value =
            serde_json::from_str(&sandbox.read(&format!("{out}/metrics.json"))).unwrap();
        let evaluate = sandbox.succeed(&["evaluate", out]);
        let compare = sandbox.succeed(&["compare", out, out]);
        let card = sandbox.read(&format!("{out}/README.md"));
        [trained, evaluate, compare, card, metrics["caution"].to_string()]
    };
    for text in texts_of("chosen", "validation") {
        assert!(text.contains(says), "{text}");
    }
    for text in texts_of("left-out", "leave-one-out") {
        assert!(!text.contains("too good"), "{text}");
    }
    let test = sandbox.succeed(&["evaluate", "chosen", "--split", "test"]);
    assert!(!test.contains("too good"), "{test}");
    let runs = ["evaluate", "left-out", "chosen", "--fit-weights", "--split"];
    let fitted = sandbox.succeed(&[&runs[..], &["validation"]].concat());
    assert!(fitted.contains("weights of the runs are chosen on these queries"), "{fitted}");
    let fitted = sandbox.succeed(&[&runs[..], &["test"]].concat());
    assert!(!fitted.contains("too good"), "{fitted}");
}
