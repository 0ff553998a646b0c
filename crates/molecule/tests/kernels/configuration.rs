//! Kernels in configuration files.

use dsokr_molecule::graph::Graph;
use dsokr_molecule::kernels::{GraphKernel, MAX_NESTING, Nspd};

use crate::support::{all_kernels, kernel};

#[test]
fn defaults_are_those_that_are_documented() {
    let histogram = GraphKernel::VertexHistogram { edge_labels: false };
    assert_eq!(kernel(r#"{"name": "vertex-histogram"}"#), histogram);
    let wl = GraphKernel::WeisfeilerLehman {
        iterations: 5,
        edge_labels: false,
        base: Box::new(histogram),
    };
    assert_eq!(kernel(r#"{"name": "weisfeiler-lehman"}"#), wl);
    assert_eq!(kernel(r#"{"name": "core"}"#), GraphKernel::Core { base: Box::new(wl) });
    assert_eq!(
        kernel(r#"{"name": "shortest-path"}"#),
        GraphKernel::ShortestPath { edge_labels: false }
    );
    assert_eq!(
        kernel(r#"{"name": "nspd"}"#),
        GraphKernel::Nspd(Nspd { radius: 3, distance: 4, edge_labels: true, normalised: true })
    );
}

#[test]
fn what_is_written_is_read_again() {
    for kernel in all_kernels() {
        let text = serde_json::to_string(&kernel).unwrap();
        assert_eq!(serde_json::from_str::<GraphKernel>(&text).unwrap(), kernel);
        assert!(text.starts_with(&format!(r#"{{"name":"{}""#, kernel.name())), "{text}");
    }
}

#[test]
fn unknown_names_and_keys_are_refused() {
    for (text, said) in [
        (r#"{"name": "graphlet"}"#, "unknown variant `graphlet`"),
        (r#"{"name": "vertex-histogram", "iterations": 3}"#, "unknown field `iterations`"),
        (r#"{"name": "shortest-path", "radius": 3}"#, "unknown field `radius`"),
        (r#"{"name": "weisfeiler-lehman", "h": 3}"#, "unknown field `h`"),
        (r#"{"name": "core", "edge_labels": true}"#, "unknown field `edge_labels`"),
        (r#"{"name": "core", "base": {"name": "nspd", "r": 1}}"#, "unknown field `r`"),
        (r#"{"name": "nspd", "radius": -1}"#, "invalid value: integer `-1`"),
        (r#"{"iterations": 3}"#, "missing field `name`"),
    ] {
        let error = serde_json::from_str::<GraphKernel>(text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn sizes_out_of_range_are_refused_with_what_is_allowed() {
    let graph = [Graph::new(vec![1], &[]).unwrap()];
    for (text, said) in [
        (
            r#"{"name": "weisfeiler-lehman", "iterations": 101}"#,
            "iterations = 101: expected 0..=100",
        ),
        (r#"{"name": "nspd", "radius": 21}"#, "radius = 21: expected 0..=20"),
        (
            r#"{"name": "core", "base": {"name": "nspd", "distance": 99}}"#,
            "base.distance = 99: expected 0..=20",
        ),
    ] {
        let kernel = kernel(text);
        assert_eq!(kernel.validate().unwrap_err().to_string(), said);
        assert_eq!(kernel.features(&graph[0]).unwrap_err().to_string(), said);
    }
    for text in [
        r#"{"name": "weisfeiler-lehman", "iterations": 0}"#,
        r#"{"name": "weisfeiler-lehman", "iterations": 100}"#,
        r#"{"name": "nspd", "radius": 20, "distance": 20}"#,
    ] {
        kernel(text).validate().unwrap();
    }
}

#[test]
fn kernels_nest_four_deep() {
    let nested = |depth: usize| {
        let innermost = GraphKernel::VertexHistogram { edge_labels: false };
        (1..depth).fold(innermost, |base, _| GraphKernel::Core { base: Box::new(base) })
    };
    nested(MAX_NESTING).validate().unwrap();
    let error = nested(MAX_NESTING + 1).validate().unwrap_err();
    let said = "base.base.base.base.name = vertex-histogram: expected at most 4 levels of kernels";
    assert_eq!(error.to_string(), said);
}

#[test]
fn the_schema_describes_every_kernel() {
    let schema = serde_json::to_value(schemars::schema_for!(GraphKernel)).unwrap().to_string();
    for kernel in all_kernels() {
        assert!(schema.contains(&format!(r#""const":"{}""#, kernel.name())), "{schema}");
    }
}
