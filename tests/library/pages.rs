//! The code that docs/custom-encoder.md quotes is in the example.

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
