//! No two modules of a crate import each other, directly or through others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const SOURCES: [&str; 8] = [
    "src",
    "crates/basis/src",
    "crates/data/src",
    "crates/decode/src",
    "crates/machines/src",
    "crates/molecule/src",
    "crates/nn/src",
    "crates/train/src",
];

/// Imported names of a crate's top-level modules, by module.
type Imports = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_form_no_circle() {
    for name in SOURCES {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let imports = imports(&source);
        let arrows: usize = imports.values().map(BTreeSet::len).sum();
        assert!(imports.len() > 5 && arrows > 5, "{name}: {imports:?}");
        assert_eq!(circle(&imports), None, "{name}");
    }
}

#[test]
fn circles_are_found() {
    let imports = |arrows: &[(&str, &[&str])]| -> Imports {
        let set = |to: &[&str]| to.iter().map(|to| to.to_string()).collect();
        arrows.iter().map(|&(from, to)| (from.to_owned(), set(to))).collect()
    };
    let tree = imports(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]);
    assert_eq!(circle(&tree), None);
    let knot = imports(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])]);
    assert_eq!(circle(&knot), Some(["b", "c"].map(String::from).into()));
    let paths = expand("crate::{a::{b, c as d}, E}");
    assert_eq!(paths, ["crate::a::b", "crate::a::c", "crate::E"]);
}

/// The modules on circles, and those between two of them; `None` without a circle.
fn circle(imports: &Imports) -> Option<Vec<String>> {
    let mut left = imports.clone();
    loop {
        let imported: BTreeSet<String> = left.values().flatten().cloned().collect();
        let before = left.len();
        // a module on a circle imports another on it, and is imported by one
        left.retain(|module, to| !to.is_empty() && imported.contains(module));
        let kept: BTreeSet<String> = left.keys().cloned().collect();
        left.values_mut().for_each(|to| to.retain(|module| kept.contains(module)));
        if left.len() == before {
            return (!left.is_empty()).then(|| left.into_keys().collect());
        }
    }
}

/// What each top-level module imports of others, items by the module that defines them.
fn imports(source: &Path) -> Imports {
    let mut texts: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    for file in files(source) {
        let path = file.strip_prefix(source).unwrap().with_extension("");
        let mut parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
        if parts.contains(&"tests") || parts == ["lib"] || parts == ["main"] {
            continue;
        }
        if parts.last() == Some(&"mod") {
            parts.pop();
        }
        let text = (parts.len(), code(&file));
        texts.entry(parts[0].to_owned()).or_default().push(text);
    }
    let root = code(&source.join("lib.rs"));
    let exported: BTreeMap<String, String> = uses(&root)
        .into_iter()
        .filter_map(|path| {
            let (module, name) = path.split_once("::")?;
            Some((name.rsplit("::").next()?.to_owned(), module.to_owned()))
        })
        .collect();
    let module_of = |name: &str| match texts.contains_key(name) {
        true => Some(name.to_owned()),
        false => exported.get(name).cloned(),
    };
    let of = |(module, texts): (&String, &Vec<(usize, String)>)| {
        let paths = texts.iter().flat_map(|(depth, text)| {
            let (inline, depth) = (paths(text), *depth);
            uses(text).into_iter().chain(inline).filter_map(move |path| from_root(&path, depth))
        });
        let to = paths.filter_map(|name| module_of(&name)).filter(|to| to != module);
        (module.clone(), to.collect())
    };
    texts.iter().map(of).collect()
}

/// The first name of a path below the crate, in a module so many levels below it; `None` of paths that stay
/// inside the module or leave the crate.
fn from_root(path: &str, depth: usize) -> Option<String> {
    let mut names = path.split("::").peekable();
    let mut up = 0;
    while names.next_if_eq(&"super").is_some() {
        up += 1;
    }
    let root = up > 0 && up >= depth || up == 0 && names.next_if_eq(&"crate").is_some();
    root.then(|| names.next().map(str::to_owned)).flatten()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let inside = entries.flat_map(|path| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    });
    inside.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The code of a file without comments and unit tests.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The paths of all `use` items.
fn uses(text: &str) -> Vec<String> {
    let items = text.split("use ").skip(1).filter_map(|rest| rest.split_once(';'));
    items.flat_map(|(tree, _)| expand(tree)).collect()
}

/// Paths in expressions and types.
fn paths(text: &str) -> Vec<String> {
    let is_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let words = text.split(|letter: char| !is_path(letter));
    words
        .filter(|word| word.starts_with("crate::") || word.starts_with("super::"))
        .map(String::from)
        .collect()
}

/// The paths of a tree of imports.
fn expand(tree: &str) -> Vec<String> {
    let tree = tree.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((head, body)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let body = body.strip_suffix('}').unwrap_or(body);
    let (mut depth, mut start, mut parts) = (0usize, 0, Vec::new());
    for (at, letter) in body.char_indices().chain([(body.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(body[start..at].trim());
                start = (at + 1).min(body.len());
            }
            _ => {}
        }
    }
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.flat_map(|part| expand(part).into_iter().map(|path| format!("{head}{path}"))).collect()
}
