//! The book's examples are run, its commands are checked against the program's arguments, and its
//! configurations are read.

use std::fs;
use std::path::{Path, PathBuf};

use dsokr::Config;

use crate::sandbox::Sandbox;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages of the book, and those beside it that show commands: name and text.
fn pages() -> Vec<(String, String)> {
    let inside = fs::read_dir(root().join("book/src")).unwrap();
    let mut paths: Vec<PathBuf> = inside.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.extend(["README.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    paths.sort();
    let page = |path: PathBuf| {
        (
            path.file_name().unwrap().to_string_lossy().into_owned(),
            fs::read_to_string(path).unwrap(),
        )
    };
    paths.into_iter().map(page).collect()
}

/// A fenced block of a page.
struct Block<'a> {
    /// What follows the opening fence.
    language: &'a str,
    /// The file that the line above names, as `` `NAME`: ``.
    file: Option<&'a str>,
    text: String,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut all = Vec::new();
    let mut lines = page.lines();
    let mut above = "";
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let inner = lines.by_ref().take_while(|line| *line != "```");
            let text = inner.flat_map(|line| [line, "\n"]).collect();
            let file = above.strip_prefix('`').and_then(|name| name.strip_suffix("`:"));
            all.push(Block { language, file, text });
        }
        above = if line.is_empty() { above } else { line };
    }
    all
}

/// The arguments of each call of `dsokr` in a shell block.
fn calls(block: &str) -> Vec<Vec<String>> {
    let commands = block.lines().flat_map(|line| line.split(" && "));
    let words = commands.map(|command| words(command.trim()));
    let arguments = words.filter_map(|words| match words.first()?.as_str() {
        "dsokr" => Some(words[1..].to_vec()),
        "cargo" if words.get(1).is_some_and(|word| word == "run") => {
            let start = words.iter().position(|word| word == "--")?;
            let example = words[..start].iter().any(|word| word == "--example");
            (!example).then(|| words[start + 1..].to_vec())
        }
        _ => None,
    });
    arguments.collect()
}

/// The words of a command as a shell splits them, up to a comment or a redirection.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for letter in command.chars() {
        match (quote, letter) {
            (None, '#') if word.is_empty() => break,
            (None, '>') => break,
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if letter == open => quote = None,
            (None, ' ') if word.is_empty() => {}
            (None, ' ') => words.push(std::mem::take(&mut word)),
            (_, letter) => word.push(letter),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// The lines with the digits of every decimal as `#`, which may depend on the machine.
fn shape(text: &str) -> Vec<String> {
    let decimal = regex::Regex::new(r"\d+\.\d+").unwrap();
    let line = |line: &str| {
        if line.contains("quantile ") {
            // these numbers have as many digits as they need
            decimal.replace_all(line, "#").into_owned()
        } else {
            let digits = |own: &regex::Captures| "#".repeat(own[0].len());
            decimal.replace_all(line, digits).into_owned()
        }
    };
    text.trim_matches('\n').lines().map(line).collect()
}

#[test]
fn the_examples_for_each_kind_of_output_print_what_the_page_shows() {
    let page = fs::read_to_string(root().join("book/src/your-data.md")).unwrap();
    let sandbox = Sandbox::new();
    let mut printed = None::<String>;
    let mut compared = 0;
    for Block { language, file, text } in blocks(&page) {
        match (language, file) {
            (_, Some(file)) => {
                let path = sandbox.path(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            ("sh", None) => {
                for call in calls(&text) {
                    let call: Vec<&str> = call.iter().map(String::as_str).collect();
                    printed = Some(sandbox.succeed(&call));
                }
            }
            ("text", None) => {
                let printed = printed.take().expect("a command above the output");
                let printed = printed.split("\nrun directory: ").next().unwrap_or_default();
                assert_eq!(shape(printed), shape(&text), "printed:\n{printed}\nshown:\n{text}");
                compared += 1;
            }
            other => panic!("a block of {other:?}"),
        }
    }
    assert_eq!(compared, 10, "a training and a search for each of five kinds of outputs");
}

/// Names of all files in a folder and below.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let names = entries.flat_map(|path| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path.file_name().unwrap().to_string_lossy().into_owned()]
        }
    });
    names.collect()
}

#[test]
fn every_file_key_and_column_of_a_run_is_described() {
    let page = fs::read_to_string(root().join("book/src/files.md")).unwrap();
    let described = |name: &str| assert!(page.contains(&format!("`{name}`")), "{name}");
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--out", "bag"]);
    let machine = "encoder={kind=\"kernel-machine\", lambda=0.1, inputs={kind=\"ngrams\", \
                   blocks=[{kind=\"words\", min=1, max=1}]}}";
    sandbox.succeed(&["train", "small.toml", "--out", "machine", "--set", machine]);
    sandbox.succeed(&["evaluate", "bag", "--ci", "--report", "report"]);
    for folder in ["bag", "machine", "report"] {
        for name in files(&sandbox.path(folder)) {
            let known = page.contains(&format!("`{name}`")) || page.contains(&format!("/{name}`"));
            assert!(known, "{folder}/{name}");
        }
    }
    let object = |text: &str| -> serde_json::Map<String, serde_json::Value> {
        serde_json::from_str(text).unwrap()
    };
    for name in ["bag/metrics.json", "report/metrics.json"] {
        object(&sandbox.read(name)).keys().for_each(|key| described(key));
    }
    let log = sandbox.read("bag/log.jsonl");
    object(log.lines().next().unwrap()).keys().for_each(|key| described(key));
    for table in ["report/ranks.tsv", "report/worst.tsv"] {
        sandbox.read(table).lines().next().unwrap().split('\t').for_each(described);
    }
}

#[test]
fn every_command_has_arguments_that_the_program_takes() {
    let sandbox = Sandbox::new();
    let mut count = 0;
    for (name, page) in pages() {
        let shell = blocks(&page).into_iter().filter(|block| block.language == "sh");
        for call in shell.flat_map(|block| calls(&block.text)) {
            let call: Vec<&str> = call.iter().map(String::as_str).collect();
            // nothing that it names is in the folder, and files in the place of folders keep it from writing there or
            // asking a server, so it stops as soon as it has read its arguments
            let folder = tempfile::tempdir().unwrap();
            ["data", "configs"]
                .iter()
                .for_each(|name| fs::write(folder.path().join(name), "").unwrap());
            let output = sandbox.command(&call).current_dir(&folder).output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            let refused = errors.contains("Usage:") || errors.contains("'--help'");
            assert!(!refused, "{name}: dsokr {}:\n{errors}", call.join(" "));
            count += 1;
        }
    }
    assert!(count > 30, "{count} commands");
}

/// Arguments that every program has.
const STANDARD: [&str; 2] = ["--help", "--version"];

/// The first words of the lines of a help text below a heading.
fn listed<'h>(help: &'h str, heading: &str) -> Vec<&'h str> {
    let section = help.split(heading).nth(1).unwrap_or_default();
    let lines = section.lines().skip(1).take_while(|line| line.starts_with(' '));
    let entries = lines.filter_map(|line| line.strip_prefix("  "));
    entries
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split(' ').next())
        .collect()
}

/// The long arguments that a help text explains.
fn arguments(help: &str) -> Vec<&str> {
    let starts = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let long =
        starts.filter_map(|line| line.split([' ', ',', '[', '=']).find(|w| w.starts_with("--")));
    long.map(|word| word.trim_end_matches("...")).collect()
}

/// A command, then the commands below it.
fn with_commands_below(sandbox: &Sandbox, command: &[&str], found: &mut Vec<(String, String)>) {
    let help = sandbox.succeed(&[command, &["--help"]].concat());
    for name in listed(&help, "Commands:").into_iter().filter(|name| *name != "help") {
        with_commands_below(sandbox, &[command, &[name]].concat(), found);
    }
    found.push((command.join(" "), help));
}

/// The command's own list of arguments is the only one: each of them is on a page.
#[test]
fn every_argument_of_every_command_is_on_a_page() {
    let sandbox = Sandbox::new();
    let pages: String = pages().into_iter().map(|(_, page)| page).collect();
    let mut commands = Vec::new();
    with_commands_below(&sandbox, &[], &mut commands);
    assert!(commands.len() > 15, "{} commands", commands.len());
    let mut count = 0;
    for (command, help) in &commands {
        for argument in arguments(help).into_iter().filter(|name| !STANDARD.contains(name)) {
            let is_shown = pages.match_indices(argument).any(|(at, _)| {
                let next = pages[at + argument.len()..].chars().next();
                next.is_none_or(|next| next != '-' && !next.is_alphanumeric())
            });
            assert!(is_shown, "dsokr {command} {argument} is on no page");
            count += 1;
        }
    }
    assert!(count > 60, "{count} arguments");
}

/// What a part of a configuration is read together with.
const BASE: &str = r#"
[data]
folder = "somewhere"

[output]
table = "outputs.tsv"
features = { kind = "file", file = "features.npy" }
kernel = { name = "cosine" }

[encoder]
kind = "ngram-bag"
"#;

/// A configuration of a page, completed where it shows some tables alone.
fn completed(text: &str) -> toml::Table {
    let mut whole: toml::Table = BASE.parse().unwrap();
    let shown: toml::Table = text.parse().unwrap();
    if ["data", "output", "encoder"].iter().all(|key| shown.contains_key(*key)) {
        return shown;
    }
    for (key, value) in shown {
        match (key.as_str(), whole.get_mut(&key), value) {
            // a label or features, beside the base's table of outputs
            ("output", Some(toml::Value::Table(base)), toml::Value::Table(output)) => {
                if output.contains_key("kernels") {
                    base.remove("kernel");
                    base.remove("features");
                }
                base.extend(output);
            }
            (_, _, value) => {
                whole.insert(key, value);
            }
        }
    }
    whole
}

#[test]
fn every_configuration_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shown.toml");
    let mut count = 0;
    for (name, page) in pages() {
        // its kind is registered by the example, whose test reads it
        let shown = blocks(&page).into_iter().filter(|_| name != "custom-encoder.md");
        for block in shown.filter(|block| block.language == "toml") {
            fs::write(&file, toml::to_string(&completed(&block.text)).unwrap()).unwrap();
            if let Err(error) = Config::load(&file) {
                panic!("{name}: {error}\n{}", block.text);
            }
            count += 1;
        }
    }
    assert!(count >= 10, "{count} configurations");
}
