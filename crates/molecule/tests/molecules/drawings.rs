//! Drawings are well-formed documents that show the molecule.

use std::path::Path;

use dsokr_basis::random::generator;
use dsokr_molecule::graph::parse_json_lines;
use dsokr_molecule::svg_pair;

use crate::support::{chebi, parse, quickstart};

/// Panics unless the text is one XML element with balanced tags and quoted attributes. Returns the
/// names of its elements.
fn elements(svg: &str) -> Vec<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut names = Vec::new();
    let mut rest = svg.trim_end();
    let mut roots = 0;
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        assert!(!text.contains('>'), "{text}");
        for entity in text.split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;", "apos;", "#"];
            assert!(known.iter().any(|known| entity.starts_with(known)), "{text}");
        }
        assert!(at == 0 || !open.is_empty() || text.trim().is_empty(), "text outside: {text}");
        let end = rest.find('>').unwrap_or_else(|| panic!("no end of tag: {rest}"));
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let name = tag.split_whitespace().next().unwrap();
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        assert!(!tag.contains('<') && !tag.contains("NaN") && !tag.contains("inf"), "{tag}");
        if open.is_empty() {
            roots += 1;
        }
        names.push(name.to_owned());
        if !closed {
            open.push(name);
        }
    }
    assert!(open.is_empty() && roots == 1, "{open:?}, {roots} roots");
    assert!(rest.trim().is_empty());
    names
}

#[test]
fn chebi_molecules_are_drawn() {
    let Some(rows) = chebi("chebi_molecules_are_drawn") else { return };
    for smiles in rows.iter().step_by(50) {
        let molecule = parse(smiles);
        let names = elements(&molecule.svg());
        assert_eq!(names[0], "svg");
        assert!(names.len() > molecule.bonds().len(), "{smiles}");
    }
}

#[test]
fn the_order_of_atoms_does_not_matter() {
    for smiles in quickstart().take(50) {
        let molecule = parse(smiles);
        let other = parse(&molecule.random_smiles(&mut generator(0, "atom order", 2)));
        assert_eq!(molecule.svg(), other.svg(), "{smiles}");
    }
}

#[test]
fn pairs_have_two_drawings_and_their_captions() {
    let (one, other) = (parse("OC(=O)c1ccccc1"), parse("C"));
    let svg = svg_pair((&one.svg(), "truth <a & \"b\">"), (&other.svg(), "GED\n3\u{0}"));
    let names = elements(&svg);
    assert_eq!(names.iter().filter(|name| *name == "svg").count(), 3);
    assert!(svg.contains("truth &lt;a &amp; \"b\"&gt;</text>"));
    assert!(svg.contains("GED 3\u{fffd}</text>"));
}

#[test]
fn graphs_of_any_kind_are_drawn() {
    let drawn = |text: &str| parse_json_lines(text.as_bytes(), Path::new("g")).unwrap()[0].svg();
    let svg = drawn(
        r#"{"nodes": ["a<b", "a long label", 7, 0], "edges": [[0, 1, "x"], [1, 2, 3], [2, 3, 0]]}"#,
    );
    let names = elements(&svg);
    let count = |wanted: &str| names.iter().filter(|name| *name == wanted).count();
    assert_eq!((count("circle"), count("line")), (4, 3));
    // two edges have labels, which stand on white ground
    assert_eq!((count("rect"), count("text")), (1 + 2, 3 + 2));
    for label in [">a&lt;b<", ">a long …<", ">7<", ">x<", ">3<"] {
        assert!(svg.contains(label), "no {label:?} in {svg}");
    }
    for text in [r#"{"nodes": [1], "edges": []}"#, r#"{"nodes": [1, 1, 2], "edges": [[0, 1]]}"#] {
        assert!(elements(&drawn(text)).contains(&"circle".to_owned()), "{text}");
    }
    assert!(drawn(r#"{"nodes": [], "edges": []}"#).contains("0 nodes, 0 edges"));
    let large = format!("{{\"nodes\": [{}0], \"edges\": [[0, 100]]}}", "0, ".repeat(100));
    assert!(drawn(&large).contains("101 nodes, 1 edges"));
}
