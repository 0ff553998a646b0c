//! A part is one entry of one list: these tests walk each list and look for every entry in every place that shows the
//! entries, so that a place that was forgotten fails.

use std::collections::BTreeSet;
use std::path::Path;

use dsokr::Metric;
use dsokr::basis::{Kernel, SketchKind};
use dsokr::data::table::{TABLE_FORMATS, Table};
use dsokr::machines::Solver;
use dsokr::train::LossConfig;
use serde_json::json;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the pages of the book but for the reference, which is made of the types.
fn book() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("book/src");
    let mut texts = read("README.md");
    for entry in folder.read_dir().expect("the book") {
        let path = entry.expect("a page").path();
        let is_page = path.extension().is_some_and(|extension| extension == "md");
        if is_page && path.file_name().is_some_and(|name| name != "configuration.md") {
            texts += &std::fs::read_to_string(&path).expect("a page");
        }
    }
    texts
}

/// Returns the names that a table of a configuration may have: `name = "…"` or `kind = "…"` of each variant, from the reference
/// that the types make. It is compared with them where it is tested; a program may have further kinds.
pub fn choices(table: &str) -> Vec<String> {
    let reference = read("book/src/configuration.md");
    let section = reference.split(&format!("\n## `{table}`\n")).nth(1);
    let section = section.unwrap_or_else(|| panic!("no table {table}")).split("\n## ").next();
    let lines = section.unwrap_or_default().lines();
    let name = |line: &str| {
        let rest = line.strip_prefix("`name = \"").or(line.strip_prefix("`kind = \""))?;
        Some(rest.split('"').next()?.to_owned())
    };
    let names: Vec<String> = lines.filter_map(name).collect();
    assert!(names.len() > 2, "{table}: {names:?}");
    names
}

/// Returns whether a text has a name in backticks or quotation marks.
fn names(text: &str, name: &str) -> bool {
    text.contains(&format!("`{name}`")) || text.contains(&format!("\"{name}\""))
}

/// Returns the names that may stand for a table in Python, which are those of a literal type.
fn literal(kind: &str) -> BTreeSet<String> {
    let python = read("bindings/python/python/dsokr/_tables.py");
    let listed =
        python.split(&format!("\n{kind}: TypeAlias = Literal[")).nth(1).expect("the names");
    let listed = listed.split(']').next().unwrap_or_default();
    listed.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Checks that each entry is in the reference of this program, and that a page says when to choose it.
fn assert_in_book(table: &str) {
    let reference = dsokr::config::reference();
    let book = book();
    for name in choices(table) {
        assert!(names(&reference, &name), "no {name} of {table} in the reference");
        assert!(names(&book, &name), "no {name} of {table} on any page of the book");
    }
}

#[test]
fn every_kernel_is_in_the_book_and_in_python() {
    assert_in_book("encoder.kernel");
    let by_name = literal("Kernel");
    let documented = read("bindings/python/python/dsokr/_basis.py");
    for name in choices("encoder.kernel") {
        assert!(names(&documented, &name), "no {name} in the docstring of Basis.fit");
        // those without a required setting can be given by their name alone
        let alone = serde_json::from_value::<Kernel>(json!({ "name": name }));
        assert_eq!(by_name.contains(name.as_str()), alone.is_ok(), "{name} in Python");
        if let Ok(kernel) = alone {
            assert_eq!(kernel.name(), name);
        }
    }
}

#[test]
fn every_sketch_is_in_the_book_and_in_python() {
    let table = "encoder.solver.sketch.method";
    assert_in_book(table);
    let all = SketchKind::all(100);
    let of_list: BTreeSet<&str> = all.iter().map(SketchKind::name).collect();
    let in_configurations = choices(table);
    assert_eq!(of_list, in_configurations.iter().map(String::as_str).collect());

    let classes = read("bindings/python/python/dsokr/_sketches.py");
    let exported = read("bindings/python/python/dsokr/__init__.py");
    let estimators = read("bindings/python/python/dsokr/sklearn.py");
    for name in of_list {
        let kind = format!("    kind: ClassVar[str] = \"{name}\"");
        let (before, _) = classes.split_once(&kind).unwrap_or_else(|| panic!("no {name}"));
        let (_, class) = before.rsplit_once("\nclass ").expect("its class");
        let class = class.split('(').next().unwrap_or_default();
        assert!(names(&exported, class), "no {class} in __init__.py");
        assert!(names(&estimators, name), "no {name} in sklearn.py");
    }
}

#[test]
fn messages_name_every_solver_with_an_ability() {
    let all = choices("encoder.solver").into_iter().map(|name| format!("{name:?}"));
    let all = all.collect::<Vec<_>>();
    let (last, first) = all.split_last().expect("solvers");
    assert_eq!(Solver::names(|_| true), format!("{} or {last}", first.join(", ")));
    let shared = "\"sketched\", \"conjugate-gradients\" or \"divide-and-conquer\"";
    assert_eq!(Solver::names(|abilities| abilities.shared), shared);
    assert_eq!(Solver::names(|abilities| abilities.compares_all_inputs), "\"closed-form\"");
}

#[test]
fn every_encoder_is_in_the_book() {
    assert_in_book("encoder");
}

#[test]
fn all_features_are_in_the_book() {
    assert_in_book("output.features");
    assert_in_book("output.features.count");
}

/// The losses of a distance are those of encoders and of kernel machines alike.
#[test]
fn every_loss_is_in_the_book_and_of_both_kinds_of_learners() {
    assert_in_book("training.loss");
    assert_in_book("encoder.solver.loss");
    let of = |table: &str, others: &[&str]| -> BTreeSet<String> {
        choices(table).into_iter().filter(|name| !others.contains(&name.as_str())).collect()
    };
    let encoders = of("training.loss", &["contrastive", "softmax"]);
    assert_eq!(encoders, of("encoder.solver.loss", &["pinball"]));
}

/// A loop of a program's own has every loss of the trainer, by the same names.
#[test]
fn every_loss_of_encoders_is_in_python() {
    let functions = read("bindings/python/python/dsokr/_targets.py");
    let parameters = functions.split("\n_PARAMETERS = {\n").nth(1).expect("the losses");
    let lines = parameters.split("\n}\n").next().unwrap_or_default().lines();
    let known: Vec<&str> = lines.filter_map(|line| line.split('"').nth(1)).collect();
    assert_eq!(known, choices("training.loss"));

    let alone = literal("Loss");
    let documented = read("bindings/python/python/dsokr/_basis.py");
    for name in known {
        let is_alone = serde_json::from_value::<LossConfig>(json!({ "name": name })).is_ok();
        assert_eq!(alone.contains(name), is_alone, "{name} in Python");
        assert!(names(&documented, name), "no {name} in the docstring of Basis.loss");
    }
}

#[test]
fn every_metric_is_in_the_reference_and_on_the_page_of_metrics() {
    let reference = dsokr::config::reference();
    let page = read("book/src/metrics.md");
    let configurations = read("book/src/configuration.md");
    for metric in Metric::all() {
        let name = metric.name();
        assert!(names(&reference, name) && names(&configurations, name), "{name}");
        assert!(names(&page, name), "no {name} on the page of metrics");
        assert_eq!(Metric::find(name), Some(metric));
    }
}

#[test]
fn every_format_of_tables_is_in_messages_documentation_and_the_book() {
    let refused = Table::read(Path::new("table.unknown"), &["id"]).unwrap_err().to_string();
    let documentation = read("crates/data/src/table.rs");
    let page = read("book/src/your-data.md");
    for format in TABLE_FORMATS {
        for extension in format.extensions {
            assert!(refused.contains(&format!(".{extension}")), "{extension}: {refused}");
            let name = format!("`.{extension}`");
            assert!(documentation.contains(&name), "no {name} in the table of formats");
            assert!(page.contains(&name), "no {name} on the page of data");
        }
    }
}

/// Returns the variants of an enum, by its source.
fn variants(source: &str, declaration: &str) -> Vec<String> {
    let body = source.split(declaration).nth(1).expect("the enum").split("\n}\n").next();
    let lines = body.unwrap_or_default().lines().filter_map(|line| line.strip_prefix("    "));
    let starts = lines.filter(|line| line.starts_with(char::is_uppercase));
    let name = |line: &str| line.split(|c: char| !c.is_alphanumeric()).next().map(str::to_owned);
    starts.filter_map(name).collect()
}

/// Returns the fields of a struct that JSON has, by its source.
fn fields(source: &str, declaration: &str) -> Vec<String> {
    let body = source.split(declaration).nth(1).expect("the struct").split("\n}\n").next();
    let mut names = Vec::new();
    let mut is_skipped = false;
    for line in body.unwrap_or_default().lines() {
        is_skipped |= line.trim() == "#[serde(skip)]";
        let field = line.trim().strip_prefix("pub ").and_then(|field| field.split_once(':'));
        if let Some((name, _)) = field {
            if !is_skipped {
                names.push(name.to_owned());
            }
            is_skipped = false;
        }
    }
    names
}

/// What is known of a query is shown by the command, on the page and in Python.
#[test]
fn every_field_of_an_answer_is_in_texts_the_server_its_page_and_python() {
    let answer = fields(&read("src/decoding/answer.rs"), "pub struct Answer {");
    let served = fields(&read("src/serve/answer.rs"), "pub(super) struct Answer {");
    assert!(answer.len() > 4 && served.len() > answer.len(), "{answer:?} {served:?}");
    let page = ["answers.js", "search.js", "spectrum.js"]
        .map(|name| read(&format!("src/serve/page/{name}")))
        .concat();
    for field in &served {
        assert!(page.contains(field.as_str()), "no {field} on the page");
    }
    let command = read("src/cli/answers.rs");
    let python = read("bindings/python/python/dsokr/_hits.py");
    for field in &answer {
        assert!(served.contains(field), "no {field} in the server's answers");
        assert!(
            command.contains(&format!("answer.{field}")),
            "no {field} in the command's answers"
        );
        let key = if field == "hits" { "candidates" } else { field.as_str() };
        assert!(python.contains(&format!("\"{key}\"")), "no {key} in Python's answers");
    }
}

#[test]
fn every_kind_of_outputs_has_words_on_the_page() {
    let kinds = variants(&read("src/serve/description.rs"), "pub(super) enum Outputs");
    let page = read("src/serve/page/page.js");
    let words = page.split("\nconst OUTPUTS = {").nth(1).expect("the words");
    let words = words.split("};").next().unwrap_or_default();
    for kind in kinds {
        let key = format!(" {}: [", kind.to_lowercase());
        assert!(words.contains(&key), "no {kind} in {words}");
    }
}

/// Returns the names of the events of trainings.
pub fn events() -> Vec<String> {
    let events = variants(&read("crates/train/src/task.rs"), "pub enum Event");
    assert!(events.len() > 5, "{events:?}");
    events
}

/// The command and Python say of each event what they do at it, be it nothing.
#[test]
fn every_event_of_a_training_is_told_by_the_command_and_by_python() {
    let events = events();
    for file in ["src/cli/progress.rs", "bindings/python/src/run/mod.rs"] {
        let text = read(file);
        for event in &events {
            let name = format!("Event::{event}");
            let has = |after: &str| text.contains(&format!("{name}{after}"));
            assert!(has(" {") || has("(") || has(" |") || has(" =>"), "no {name} in {file}");
        }
    }
}

#[test]
fn every_key_that_a_resumed_run_may_change_is_on_the_page_of_runs() {
    let source = read("src/fit/resume.rs");
    let (_, list) = source.split_once("\nconst CHANGEABLE: ").expect("the list");
    let list = list.split("\n];\n").next().unwrap_or_default();
    let keys: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert!(keys.len() > 10, "{keys:?}");
    let page = read("book/src/runs.md");
    let sentence = page.split("With `--resume`, `--set` changes ").nth(1).expect("the sentence");
    let sentence = sentence.split(", of an incomplete run.").next().unwrap_or_default();
    for key in keys {
        let key = key.strip_prefix("training.").unwrap_or(key);
        assert!(names(sentence, key), "no {key} in: {sentence}");
    }
}

#[test]
fn every_endpoint_of_the_server_is_in_the_documentation_and_the_book() {
    let handlers = read("src/serve/handlers.rs");
    let list = handlers.split("\nendpoints! {\n").nth(1).expect("the list");
    let list = list.split("\n}\n").next().unwrap_or_default();
    let paths: Vec<&str> = list.split('"').filter(|text| text.starts_with('/')).collect();
    assert!(paths.len() > 7, "{paths:?}");
    let documentation = read("src/serve/mod.rs");
    let page = read("book/src/serve.md");
    for path in paths {
        for text in [&documentation, &page] {
            let is_named =
                ["GET", "POST"].iter().any(|method| text.contains(&format!("`{method} {path}`")));
            assert!(is_named, "no {path}");
        }
    }
}

#[test]
fn every_file_of_a_run_is_in_the_documentation_and_the_book() {
    let source = read("src/run_dir/mod.rs");
    let (documentation, code) = source.split_once("\npub(crate) mod candidates;").expect("modules");
    let list = code.split("\nfiles! {\n").nth(1).expect("the list").split("\n}\n").next();
    let page = read("book/src/files.md");
    let mut count = 0;
    for line in list.unwrap_or_default().lines() {
        let Some(name) = line.trim_start().strip_prefix('"') else { continue };
        let name = name.split('"').next().unwrap_or_default();
        for (place, text) in [("the documentation", documentation), ("the book", &page)] {
            assert!(text.contains(&format!("`{name}")), "no {name} in {place}");
        }
        count += 1;
    }
    assert!(count > 20, "{count} files");
}
