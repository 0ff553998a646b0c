//! A walk from a cell of a hit to every place that shows it.

use dsokr::run::Hit;
use serde_json::Value;

use crate::sandbox::{Sandbox, json};

const QUERY: &str = "a ring of kind METH and class ANE";

fn repository(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of the cells of the first hit.
fn keys(hit: &Value) -> Vec<&str> {
    hit.as_object().unwrap().keys().map(String::as_str).collect()
}

fn has_all(names: &[&str], place: &str) {
    for name in Hit::NAMES {
        assert!(names.contains(&name), "no {name} in {place}: {names:?}");
    }
    for name in names {
        let count = names.iter().filter(|other| *other == name).count();
        assert_eq!(count, 1, "{name} in {place}: {names:?}");
    }
}

/// A sandbox with a run of molecules, whose answers can be exported in every form.
fn sandbox() -> Sandbox {
    let sandbox = crate::molecules::sandbox();
    let train =
        ["train", "molecules.toml", "--set", "training.epochs=1", "--out", "run", "--quiet"];
    sandbox.succeed(&train);
    sandbox
}

#[test]
fn every_cell_of_a_hit_is_in_what_the_command_prints() {
    let sandbox = sandbox();
    let found = json(&sandbox.succeed(&["search", "run", QUERY, "--top", "2", "--json"]));
    has_all(&keys(&found["candidates"][0]), "search --json");
    sandbox.write("texts.txt", QUERY);
    for (format, separator) in [("tsv", '\t'), ("csv", ',')] {
        let table = sandbox.succeed(&["predict", "run", "texts.txt", "--format", format]);
        let heading = table.lines().next().unwrap();
        // `id` is that of the query
        let names = heading.split(separator).filter(|name| *name != "id");
        let names: Vec<&str> =
            names.map(|name| if name == "candidate" { "id" } else { name }).collect();
        has_all(&names, format);
    }
    let line = json(&sandbox.succeed(&["predict", "run", "texts.txt", "--top", "2"]));
    has_all(&keys(&line["candidates"][0]), "predict");
}

/// What the page, Python and the book say is text of the repository.
#[test]
fn every_cell_of_a_hit_is_on_the_page_in_python_and_in_the_book() {
    let page = repository("src/serve/page/answers.js");
    let python = repository("bindings/python/python/dsokr/_hits.py");
    let documented = python.split("\n    cells: dict[str, Any]\n").nth(1).unwrap();
    let documented = documented.split("\n\n").next().unwrap();
    let words: Vec<&str> = documented.split(|c: char| !c.is_alphanumeric()).collect();
    let book = repository("book/src/predictions.md");
    for name in Hit::NAMES {
        assert!(page.contains(&format!("hit.{name}")), "no {name} on the page");
        assert!(words.contains(&name), "no {name} in {documented}");
        let in_book = [format!("`{name}`"), format!("\"{name}\"")];
        assert!(in_book.iter().any(|cell| book.contains(cell)), "no {name} in the book");
    }
}

#[cfg(feature = "serve")]
#[test]
fn every_cell_of_a_hit_is_in_answers_exports_and_the_description_of_the_server() {
    use crate::served::{Served, send};

    let sandbox = sandbox();
    let served = Served::start(&sandbox, &["run"]);
    let answer = served.ask("/api/search", &serde_json::json!({"texts": [QUERY], "top": 2}));
    has_all(&keys(&answer["answers"][0]["hits"][0]), "/api/search");

    let described: Value = serde_json::from_str(&served.get("/api").body).unwrap();
    has_all(&keys(&described["components"]["schemas"]["Hit"]["properties"]), "the description");

    let export = |format: &str| {
        let search = serde_json::json!({"texts": [QUERY], "top": 2});
        let body = serde_json::json!({"format": format, "search": search}).to_string();
        let kind = "application/json";
        send(&served.address, "POST", "/api/export", kind, body.as_bytes()).body
    };
    let csv = export("csv");
    has_all(&csv.lines().next().unwrap().split(',').collect::<Vec<_>>(), "the export as CSV");
    let records = export("sdf");
    let record = records.lines().take_while(|line| *line != "$$$$");
    let items = record.filter_map(|line| line.strip_prefix("> <")?.strip_suffix('>'));
    let items = items.map(|name| if name == "smiles" { "label" } else { name });
    has_all(&items.collect::<Vec<_>>(), "the export as SD file");
}
