//! No two modules of a crate import each other, directly or through others, and none imports from the root of its crate
//! what a module defines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const SOURCES: [&str; 13] = [
    "bindings/python/src",
    "src",
    "crates/basis/src",
    "crates/core/src",
    "crates/data/src",
    "crates/decode/src",
    "crates/fetch/src",
    "crates/kernels/src",
    "crates/machines/src",
    "crates/molecule/src",
    "crates/nn/src",
    "crates/spectra/src",
    "crates/train/src",
];

/// What each module of a crate imports from, by the names of modules.
type Imports = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_form_no_circle() {
    for name in SOURCES {
        let files = imports(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name));
        let arrows: usize = files.values().map(BTreeSet::len).sum();
        assert!(files.len() > 5 && arrows > 5, "{name}: {files:?}");
        assert_eq!(circle(&files), None, "files of {name}");
        let mut top = Imports::new();
        let first = |path: &str| path.split("::").next().unwrap_or_default().to_owned();
        for (module, to) in &files {
            let others = to.iter().map(|to| first(to)).filter(|to| *to != first(module));
            top.entry(first(module)).or_default().extend(others);
        }
        assert_eq!(circle(&top), None, "modules of {name}");
    }
}

#[test]
fn names_come_from_the_modules_that_define_them() {
    for name in SOURCES {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let modules = Modules::read(&source);
        let mut paths_of_root: Vec<String> = Vec::new();
        for (module, text) in &modules.texts {
            if module.is_empty() {
                continue;
            }
            let named = uses(text).into_iter().chain(paths(text));
            let of_root = named.filter(|path| modules.names_root(path, module));
            paths_of_root.extend(of_root.map(|path| format!("{}: {path}", module.join("::"))));
        }
        assert!(paths_of_root.is_empty(), "{name}: names of the root, {paths_of_root:#?}");
    }
}

#[test]
fn names_of_the_root_are_found() {
    let module = |path: &str| -> Module { path.split("::").map(String::from).collect() };
    let texts = ["error", "fit", "fit::plan"].map(|path| (module(path), String::new()));
    let modules = Modules { texts: texts.into(), exported: BTreeMap::new() };
    let plan = module("fit::plan");
    for (path, is_of_root) in [
        ("crate::Error", true),
        ("super::super::Error", true),
        ("crate::error::Error", false),
        ("super::Fit", false),
        ("super::super::error::Error", false),
        ("dsokr_core::Error", false),
    ] {
        assert_eq!(modules.names_root(path, &plan), is_of_root, "{path}");
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

/// Returns the modules on circles, and those between two of them; `None` without a circle.
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

/// The path of a module below its crate.
type Module = Vec<String>;

/// The modules of a crate, a file each.
struct Modules {
    texts: BTreeMap<Module, String>,
    /// The module that defines each name that a module exports of others.
    exported: BTreeMap<(Module, String), Module>,
}

/// Returns what the code of each file imports from, items by the file that defines them. A module names its children by nature.
fn imports(source: &Path) -> Imports {
    let modules = Modules::read(source);
    let of = |(module, text): (&Module, &String)| {
        let named = uses(text).into_iter().chain(paths(text));
        let named = named.filter(|path| ["crate", "super", "self"].contains(&first_of(path)));
        let to = named.map(|path| modules.resolve(&path, module));
        let to = to.filter(|to| !to.is_empty() && !to.starts_with(module));
        (module.join("::"), to.map(|to| to.join("::")).collect())
    };
    modules.texts.iter().filter(|(module, _)| !module.is_empty()).map(of).collect()
}

impl Modules {
    /// Returns the modules of the files below a folder.
    fn read(source: &Path) -> Self {
        let mut modules = Self { texts: BTreeMap::new(), exported: BTreeMap::new() };
        for file in files(source) {
            let path = file.strip_prefix(source).unwrap().with_extension("");
            let mut parts: Module = path.iter().map(|part| part.to_str().unwrap().into()).collect();
            if parts.iter().any(|part| part == "tests") || parts == ["main"] {
                continue;
            }
            if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
                parts.pop();
            }
            modules.texts.insert(parts, code(&file));
        }
        for (module, text) in &modules.texts {
            for path in public_uses(text) {
                let (from, name) = path.rsplit_once("::").unwrap_or((&path, ""));
                let defines = modules.resolve(from, module);
                modules.exported.insert((module.clone(), name.to_owned()), defines);
            }
        }
        modules
    }

    /// Returns whether a path in the code of a module names an item of the root of the crate, which is none of its modules.
    fn names_root(&self, path: &str, module: &Module) -> bool {
        let mut here = module.clone();
        let mut names = path.split("::").peekable();
        if names.next_if_eq(&"crate").is_some() {
            here.clear();
        } else if names.peek() != Some(&"super") {
            return false;
        }
        while names.next_if_eq(&"super").is_some() {
            here.pop();
        }
        let is_module = |name: &str| self.texts.contains_key(&vec![name.to_owned()]);
        let name = names.next().filter(|name| !name.is_empty());
        here.is_empty() && name.is_some_and(|name| !is_module(name))
    }

    /// Returns the module that a path in the code of a module leads to, through what modules export of others.
    fn resolve(&self, path: &str, module: &Module) -> Module {
        let mut here = module.clone();
        let mut names = path.split("::").peekable();
        if names.next_if_eq(&"crate").is_some() {
            here.clear();
        }
        names.next_if_eq(&"self");
        while names.next_if_eq(&"super").is_some() {
            here.pop();
        }
        for name in names {
            let child = [here.as_slice(), &[name.to_owned()]].concat();
            let exported = self.exported.get(&(here.clone(), name.to_owned()));
            match (self.texts.contains_key(&child), exported) {
                (true, _) => here = child,
                (false, Some(defines)) => here = defines.clone(),
                (false, None) => break,
            }
        }
        here
    }
}

fn first_of(path: &str) -> &str {
    path.split("::").next().unwrap_or_default()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let inside = entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    inside.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// Returns the code of a file without comments and unit tests.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the paths of all `use` items.
fn uses(text: &str) -> Vec<String> {
    let items = text.split("use ").skip(1).filter_map(|rest| rest.split_once(';'));
    items.flat_map(|(tree, _)| expand(tree)).collect()
}

/// Returns the paths of the `use` items that other modules see.
fn public_uses(text: &str) -> Vec<String> {
    let public = text.split("pub use ").skip(1);
    let within = text.split("pub(crate) use ").skip(1).chain(text.split("pub(super) use ").skip(1));
    let items = public.chain(within).filter_map(|rest| rest.split_once(';'));
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

/// Returns the paths of a tree of imports.
fn expand(tree: &str) -> Vec<String> {
    let tree = tree.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((head, body)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let body = body.strip_suffix('}').unwrap_or(body);
    let mut depth = 0usize;
    let mut start = 0;
    let mut parts = Vec::new();
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
