//! The code that pages of docs quote is in the files that they name.

use std::path::Path;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The fenced blocks of a page that begin with the given fence.
fn blocks<'a>(page: &'a str, fence: &str) -> Vec<&'a str> {
    let opened = page.split(fence).skip(1);
    opened.map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn every_quoted_block_is_in_the_example() {
    let page = read("docs/custom-encoder.md");
    let code = blocks(&page, "```rust,ignore\n");
    let settings = blocks(&page, "```toml\n");
    assert_eq!((code.len(), settings.len()), (6, 1));
    for (blocks, file) in [(code, "custom_encoder.rs"), (settings, "custom_encoder.toml")] {
        let example = read(&format!("examples/{file}"));
        for block in blocks {
            assert!(example.contains(block), "not in {file}:\n{block}");
        }
    }
}

#[test]
fn the_example_has_the_lines_that_the_page_says() {
    let example = read("examples/custom_encoder.rs");
    let code = example.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//"));
    assert_eq!(code.count(), 60);
    assert!(read("docs/custom-encoder.md").contains("[60 lines of code]"));
}

#[test]
fn every_block_on_extending_is_in_the_file_that_it_names() {
    let page = read("docs/extending.md");
    let mut named = page.split("`:\n\n```rust,ignore\n");
    let mut before = named.next().unwrap_or_default();
    let mut count = 0;
    for rest in named {
        let file = before.rsplit('`').next().unwrap_or_default();
        let (block, after) = rest.split_once("```").expect("the end of a block");
        assert!(read(file).contains(block), "not in {file}:\n{block}");
        (before, count) = (after, count + 1);
    }
    assert_eq!(count, 12, "a file and a line in a list for each kind of part");
    assert_eq!(page.matches("```rust").count(), count, "a block without a file");
}
