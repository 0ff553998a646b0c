//! Pages are linked as they say, and the code that they quote is in the files that they name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use regex::Regex;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: impl AsRef<Path>) -> String {
    let path = root().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the Markdown files of a folder, in order.
fn pages(folder: &str) -> Vec<PathBuf> {
    let inside = root().join(folder).read_dir().expect("a folder with pages");
    let names = inside.map(|entry| entry.expect("an entry").file_name());
    let mut pages: Vec<PathBuf> = names.map(|name| Path::new(folder).join(name)).collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages
}

/// Returns the lines of a page outside its fenced blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    page.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !(inside || fence)
    })
}

/// Returns the targets of the links and pictures of a page.
fn links(page: &str) -> Vec<&str> {
    let parts = prose(page).flat_map(|line| line.split("](").skip(1));
    parts.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

/// Returns the anchors of a page's headings, as mdBook and GitHub make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(page).filter_map(|line| line.strip_prefix('#'));
    let anchor = |heading: &str| {
        let letters = heading.trim_start_matches('#').trim().chars();
        let kept = letters.filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let anchor = anchor.to_lowercase();
        let count = seen.entry(anchor.clone()).or_default();
        *count += 1;
        if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
    };
    headings.map(anchor).collect()
}

/// The configurations, sets and programs that the benchmarks name.
#[test]
fn every_file_of_a_benchmark_is_there() {
    let inside = root().join("benches").read_dir().expect("the folder of benchmarks");
    let is_script = |path: &PathBuf| path.extension().is_some_and(|end| end == "py" || end == "sh");
    let mut found = 0;
    for script in inside.map(|entry| entry.expect("an entry").path()).filter(is_script) {
        let text = read(&script);
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "_-./".contains(c)));
        for word in words {
            let folder = word.split_once('/').map_or("", |(folder, _)| folder);
            let names_a_file =
                [".toml", ".tsv", ".py", ".rs"].iter().any(|end| word.ends_with(end));
            if names_a_file && ["benches", "configs", "datasets", "examples"].contains(&folder) {
                assert!(root().join(word).exists(), "{}: {word}", script.display());
                found += 1;
            }
        }
    }
    assert!(found > 0);
}

#[test]
fn the_lines_of_installation_name_what_a_release_has() {
    let lines = read(".github/install.md");
    let workflow = read(".github/workflows/release.yml");
    let targets = ["linux-gnu", "apple-darwin", "windows-msvc"];
    let words = lines.split(|c: char| !(c.is_ascii_alphanumeric() || "_-./".contains(c)));
    let mut found = 0;
    for word in words.map(|word| word.trim_end_matches('.')) {
        let file = word.rsplit('/').next().unwrap_or_default();
        let name = file.trim_end_matches(".tar.gz").trim_end_matches(".tar.zst");
        let name = name.trim_start_matches("dsokr-");
        if targets.iter().any(|end| name.ends_with(end)) || file.ends_with(".tar.zst") {
            assert!(workflow.contains(name), "no {name} in the release");
            found += 1;
        }
    }
    assert!(found >= 7, "{found} names in {lines}");
    assert!(workflow.contains("s/@VERSION@/${TAG#v}/g") && !lines.contains("0.1"), "{lines}");
}

#[test]
fn every_link_leads_to_a_page_and_a_heading() {
    let mut all = pages("book/src");
    all.extend(pages("."));
    for name in ["basis", "data", "decode", "machines", "molecule", "nn", "train"] {
        all.push(format!("crates/{name}/README.md").into());
    }
    let mut count = 0;
    for file in all {
        let page = read(&file);
        for link in links(&page).into_iter().filter(|link| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => file.clone(),
                path => file.parent().expect("a folder").join(path),
            };
            let shown = file.display();
            assert!(root().join(&target).exists(), "{shown}: no file {link}");
            // a page of the book is also read where nothing but the book is
            let leaves = file.starts_with("book") && path.contains('/');
            assert!(!leaves, "{shown}: {link} is not in the book");
            let known = anchor.is_empty() || anchors(&read(&target)).contains(anchor);
            assert!(known, "{shown}: no heading {link}");
            count += 1;
        }
    }
    assert!(count > 100, "{count} links");
}

#[test]
fn every_page_is_in_the_summary_once() {
    let summary = read("book/src/SUMMARY.md");
    let mut listed: Vec<PathBuf> =
        links(&summary).into_iter().map(|link| Path::new("book/src").join(link)).collect();
    listed.push("book/src/SUMMARY.md".into());
    listed.sort();
    assert_eq!(listed, pages("book/src"));
    assert!(!root().join("docs").exists(), "pages are in book/src, not in docs");
}

/// Returns the fenced blocks of a page that begin with the given fence.
fn blocks<'a>(page: &'a str, fence: &str) -> Vec<&'a str> {
    let opened = page.split(fence).skip(1);
    opened.map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn every_block_of_rust_is_compiled_or_quoted() {
    let library = read("src/lib.rs");
    let known = ["rust", "rust,ignore", "toml", "sh", "text", "python"];
    for file in pages("book/src") {
        let page = read(&file);
        let name = file.display();
        let mut fences = page.lines().filter_map(|line| line.strip_prefix("```"));
        while let (Some(language), Some(end)) = (fences.next(), fences.next()) {
            assert!(known.contains(&language) && end.is_empty(), "{name}: a block of {language:?}");
            let compiled = library.contains(&format!("include_str!(\"../{name}\")"));
            assert!(language != "rust" || compiled, "{name}: src/lib.rs does not include it");
            let quoted =
                ["custom-encoder.md", "extending.md"].iter().any(|page| file.ends_with(page));
            assert!(language != "rust,ignore" || quoted, "{name}: a block that nothing compares");
        }
    }
}

#[test]
fn every_quoted_block_is_in_the_example() {
    let page = read("book/src/custom-encoder.md");
    let code = blocks(&page, "```rust,ignore\n");
    let (manifest, settings): (Vec<&str>, Vec<&str>) =
        blocks(&page, "```toml\n").into_iter().partition(|block| !block.starts_with("[encoder]"));
    assert_eq!((code.len(), settings.len(), manifest.len()), (6, 1, 2));
    let version = manifest[0].split('"').nth(1).expect("the version of Burn");
    assert!(read("Cargo.toml").contains(&format!("\nburn = {{ version = \"{version}\"")));
    for (blocks, file) in [(code, "custom_encoder.rs"), (settings, "custom_encoder.toml")] {
        let example = read(format!("examples/{file}"));
        for block in blocks {
            assert!(example.contains(block), "not in {file}:\n{block}");
        }
    }
}

#[test]
fn the_example_has_the_lines_that_the_page_says() {
    let example = read("examples/custom_encoder.rs");
    let code = example.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//"));
    let said = format!("is {} lines of code", code.count());
    assert!(read("book/src/custom-encoder.md").contains(&said), "{said}");
}

#[test]
fn every_block_on_extending_is_in_the_file_that_it_names() {
    let page = read("book/src/extending.md");
    let mut named = page.split("`:\n\n```rust,ignore\n");
    let mut before = named.next().unwrap_or_default();
    let mut count = 0;
    for rest in named {
        let file = before.rsplit('`').next().unwrap_or_default();
        let (block, after) = rest.split_once("```").expect("the end of a block");
        assert!(read(file).contains(block), "not in {file}:\n{block}");
        before = after;
        count += 1;
    }
    assert_eq!(count, 12, "a file and a line in a list for each kind of part");
    assert_eq!(page.matches("```rust").count(), count, "a block without a file");
}

/// Returns the texts in backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Returns whether a text names a file or a folder of the repository.
fn is_path(text: &str) -> bool {
    let top = ["src/", "crates/", "bindings/", "book/", "fuzz/"];
    top.iter().any(|folder| text.starts_with(folder))
}

/// Returns the texts of a file, or of all files in a folder.
fn texts_below(path: &Path) -> String {
    if path.is_file() {
        return std::fs::read_to_string(path).unwrap_or_default();
    }
    let entries = path.read_dir().expect("a folder");
    entries.map(|entry| texts_below(&entry.expect("an entry").path())).collect()
}

/// Returns the rows of the tables below a heading, without those that name the columns.
fn rows<'a>(page: &'a str, heading: &str) -> Vec<&'a str> {
    let section = page.split(heading).nth(1).expect("the heading").split("\n## ").next();
    let rows = section.unwrap_or_default().lines().filter(|line| line.starts_with("| "));
    rows.filter(|row| !row.starts_with("| to add")).collect()
}

/// Each row of the tables of parts names files that there are, and what it quotes besides is in one of them.
#[test]
fn every_row_of_the_parts_names_what_there_is() {
    let page = read("CONTRIBUTING.md");
    let rows = rows(&page, "\n## Adding a part\n");
    assert!(rows.len() > 15, "{} rows", rows.len());
    for row in rows {
        let (paths, names): (Vec<&str>, Vec<&str>) =
            quoted(row).into_iter().partition(|text| is_path(text));
        for path in &paths {
            assert!(root().join(path).exists(), "no {path}: {row}");
        }
        if paths.is_empty() {
            continue;
        }
        let texts: String = paths.iter().map(|path| texts_below(&root().join(path))).collect();
        for name in &names {
            let word = name.split(|c: char| !c.is_alphanumeric() && c != '_').next();
            let word = word.unwrap_or_default();
            assert!(!word.is_empty() && texts.contains(word), "no {name} in the files of: {row}");
        }
    }
}

/// A name that is said to be in a file is defined there, or a type has methods there; a macro makes a list there.
#[test]
fn a_name_in_a_file_is_defined_there() {
    let named = Regex::new(r"`([^`]+)`\s+in\s+`([^`]+\.rs)`").expect("a pattern");
    let mut count = 0;
    for page in ["CONTRIBUTING.md", "DESIGN.md"] {
        let text = read(page);
        for found in named.captures_iter(&text) {
            let (_, [name, file]) = found.extract();
            let code = read(file);
            let last = name.rsplit("::").next().unwrap_or(name);
            let word = last.split(|c: char| !c.is_alphanumeric() && c != '_').next();
            let word = word.unwrap_or_default();
            let pattern = if last.ends_with('!') {
                format!(r"\b{word}!")
            } else {
                format!(r"\b(fn|struct|enum|trait|const|static|type|mod|impl(<[^>]*>)?) {word}\b")
            };
            let definition = Regex::new(&pattern).expect("a pattern");
            assert!(definition.is_match(&code), "{page}: no {name} in {file}");
            count += 1;
        }
    }
    assert!(count > 30, "{count} names");
}

/// A type of the glossary is defined once, or all files that define one of its name are in the table of names that stand in
/// several places. Classes of Python have the names of the types that they hold.
#[test]
fn a_type_of_the_glossary_is_the_only_one_or_listed() {
    let page = read("DESIGN.md");
    let (_, words) = page.split_once("\n| word | meaning | type |\n").expect("the glossary");
    let (glossary, others) = words.split_once("\nSome names stand").expect("the second table");
    let listed = others.split("\n## ").next().unwrap_or_default();
    let types = glossary.lines().filter_map(|row| row.split('|').nth(3)).flat_map(quoted);
    let types: BTreeSet<&str> =
        types.map(|path| path.rsplit("::").next().unwrap_or(path)).collect();
    assert!(types.len() > 20, "{types:?}");
    let definition = Regex::new(r"(?m)^(?:pub(?:\([a-z]+\))? )?(?:struct|enum|trait|type) (\w+)");
    let definition = definition.expect("a pattern");
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in sources() {
        for named in definition.captures_iter(&read(&file)) {
            let (_, [name]) = named.extract();
            if types.contains(name) {
                files.entry(name.to_owned()).or_default().push(file.clone());
            }
        }
    }
    assert!(files.len() > 20, "{files:?}");
    for (name, files) in files.iter().filter(|(_, files)| files.len() > 1) {
        for file in files {
            assert!(listed.contains(file.as_str()), "{name} of {file} is not in the table");
        }
    }
}

/// Returns the files of the library and its crates, without tests, from the root of the repository.
fn sources() -> Vec<String> {
    let crates = root().join("crates").read_dir().expect("the crates");
    let folders = crates.map(|entry| entry.expect("a crate").path().join("src"));
    let mut folders: Vec<PathBuf> = folders.chain([root().join("src")]).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let path = path.strip_prefix(root()).expect("a path below the root");
                files.push(path.to_str().expect("a name of letters").replace('\\', "/"));
            }
        }
    }
    files
}

/// The crates of the manifest, which all manifests share, are in the table that says what each is for.
#[test]
fn every_dependency_has_a_reason() {
    let manifest: toml::Table = read("Cargo.toml").parse().expect("a manifest");
    let page = read("DESIGN.md");
    let table = page.split("\n| crate | for |\n").nth(1).expect("the table");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let first: Vec<&str> = rows.filter_map(|row| row.split('|').nth(1)).collect();
    let words: BTreeSet<&str> = first.iter().flat_map(|cell| cell.split([' ', ',', ';'])).collect();
    let dependencies = manifest["workspace"]["dependencies"].as_table().expect("a table");
    let missing: Vec<&String> = dependencies
        .keys()
        .filter(|name| !name.starts_with("dsokr-") && !words.contains(name.as_str()))
        .collect();
    assert!(missing.is_empty(), "DESIGN.md does not say what these are for: {missing:?}");
}

/// Returns the paths that a text with alternatives in braces stands for: `src/{a,b}.rs` for two files.
fn alternatives(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let (inside, after) = rest.split_once('}').expect("the end of a brace");
    inside.split(',').flat_map(|one| alternatives(&format!("{before}{one}{after}"))).collect()
}

/// Every path that the design quotes begins at the root of the repository, and there is something at it.
#[test]
fn the_design_names_files_that_there_are() {
    let page = read("DESIGN.md");
    let text = prose(&page).collect::<Vec<_>>().join("\n");
    let others = ["tests/", "benches/", "notes/", "configs/", "examples/", "datasets/"];
    let quoted = quoted(&text).into_iter().filter(|text| {
        is_path(text)
            || others.iter().any(|folder| text.starts_with(folder))
            || text.ends_with(".rs")
    });
    let paths: Vec<String> = quoted.flat_map(alternatives).collect();
    assert!(paths.len() > 100, "{} paths", paths.len());
    let absent: Vec<&String> = paths.iter().filter(|path| !root().join(path).exists()).collect();
    assert!(absent.is_empty(), "DESIGN.md names what there is not: {absent:?}");
}
