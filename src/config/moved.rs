//! What version 1 of the configuration called by other names.

use std::fmt::Write;

/// Keys of version 1, some with the value that is meant, and what version 2 has in their place.
const MOVED: &[(&str, &str)] = &[
    ("data.text", "data.inputs.column"),
    ("data.more_smiles", "data.inputs.more_smiles"),
    ("data.inputs.features", "data.inputs.file and key, beside kind = \"features\""),
    ("data.kernels", "data.inputs, with kind = \"kernels\""),
    ("data.synthetic", "data, with source = \"synthetic\""),
    ("data.pool.file", "data.file, with data.source = \"pool\" or \"multi-label\""),
    ("data.pool.labels", "data.labels, with data.source = \"multi-label\""),
    ("data.pool.order", "data.splits.order"),
    ("data.pool.train", "data.splits.train"),
    ("data.pool.validation", "data.splits.validation"),
    ("data.pool.test", "data.splits.test"),
    ("training.metric", "evaluation.metric"),
    (
        "encoder.kind = \"ridge\"",
        "encoder.kind = \"kernel-machine\", whose ngrams are encoder.inputs.blocks",
    ),
    ("encoder.kernels", "encoder.inputs.combination, of kind \"kernels\""),
    ("encoder.scaling", "encoder.inputs.scaling, of kind \"vectors\""),
    ("encoder.sketch", "encoder.solver.sketch, of name \"sketched\" or \"lipschitz\""),
    ("encoder.loss", "encoder.solver.loss, of name \"lipschitz\""),
    ("encoder.coupling", "encoder.solver.coupling, of name \"lipschitz\""),
    ("encoder.precision", "encoder.solver.precision, of name \"closed-form\""),
    ("encoder.lambdas", "encoder.lambda, a list"),
    ("encoder.rank", "encoder.answers.rank, of kind \"leading\""),
    ("encoder.embedding.ranks", "encoder.answers.ranks, of kind \"embedded\""),
    ("output.features.kind = \"official\"", "data.source = \"official\""),
    ("output.features.kind = \"synthetic\"", "data.source = \"synthetic\""),
];

/// Which keys of version 1 a configuration has, and where they moved; none if it has none and does not
/// say `format = 1`.
pub(super) fn moved(table: &toml::Table) -> Option<String> {
    let mut message = String::from("this is format 1 of the configuration, allowed is 2");
    let mut any = table.get("format") == Some(&toml::Value::Integer(1));
    let machine = find(table, "encoder.kind").and_then(toml::Value::as_str);
    let machine = matches!(machine, Some("ridge" | "kernel-machine"));
    for (old, new) in MOVED.iter().filter(|(old, _)| machine || !old.starts_with("encoder.")) {
        let (key, value) = old.split_once(" = ").map_or((*old, None), |(key, v)| (key, Some(v)));
        let found = find(table, key);
        if found.is_some_and(|found| value.is_none_or(|value| found.to_string() == value)) {
            any = true;
            let _ = write!(message, "\n  {old} is now {new}");
        }
    }
    any.then_some(message)
}

fn find<'t>(table: &'t toml::Table, key: &str) -> Option<&'t toml::Value> {
    match key.split_once('.') {
        None => table.get(key),
        Some((first, rest)) => find(table.get(first)?.as_table()?, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_version_1_are_named_with_their_new_places() {
        let says = |text: &str| moved(&text.parse().unwrap());
        assert_eq!(says("[data]\nfolder = 'x'\ninputs = { column = 'smiles' }"), None);
        let text = "format = 1\n[data]\ntext = 'smiles'\npool = { file = 'x', test = 3 }";
        let message = says(text).unwrap();
        for part in ["data.text is now data.inputs.column", "data.file", "data.splits.test"] {
            assert!(message.contains(part), "{message}");
        }
        let official = says("[output]\nfeatures = { kind = 'official' }").unwrap();
        assert!(official.contains("is now data.source = \"official\""), "{official}");
        assert!(says("format = 1").unwrap().contains("allowed is 2"));
    }
}
