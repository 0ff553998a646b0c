//! Further outputs, in the columns that a training gave.

use dsokr_data::config::{DataConfig, OutputFeatures};
use dsokr_data::{DataRoot, Source};

use crate::Folder;

fn source<'a>(data: &'a DataConfig, features: &'a OutputFeatures) -> Source<'a> {
    let outputs = crate::outputs(None, None, features);
    Source { data, outputs, seed: 0, input_columns: None }
}

/// A message about 40 names shows the first 30.
#[test]
fn names_that_the_training_did_not_know_are_refused_with_those_that_it_knew() {
    let folder = Folder::new();
    let row = |row: usize| format!("{row}\ttext {row}\tn{:02}\n", row % 40);
    let rows: String = (0..80).map(row).collect();
    folder.file("pool.tsv", format!("id\tdescription\tname\n{rows}"));
    let data: DataConfig = toml::from_str(
        "source = 'pool'\nfolder = '.'\nfile = 'pool.tsv'\nsplits = { validation = 8 }",
    )
    .unwrap();
    let root = DataRoot::at(folder.path(""));
    let names: Vec<String> = (0..30).map(|name| format!("\"n{name:02}\"")).collect();
    let known = names.join(", ") + " and 10 more";
    for (what, kind) in [("class", "classes"), ("label", "labels")] {
        let features: OutputFeatures =
            toml::from_str(&format!("kind = '{kind}'\ncolumn = 'name'")).unwrap();
        let source = source(&data, &features);
        let fitted = source.load(&root).unwrap().outputs.features.clone();
        let read = |name: &str| {
            let path = folder.file("more.tsv", format!("id\tname\na\tn00\nb\t{name}\n"));
            source.read_further(&path, &[], &fitted)
        };
        assert_eq!(read("n39").unwrap().0.ids, ["a", "b"]);
        let message = folder.message(read("n40").err().unwrap());
        let expected = format!(
            "more.tsv:3: the {what} \"n40\" in the column \"name\": the run was trained with {known}"
        );
        assert_eq!(message, expected);
    }
    let features: OutputFeatures =
        toml::from_str("kind = 'classes'\ncolumn = 'name'\npositive = 'n40'").unwrap();
    let message = source(&data, &features).load(&root).err().unwrap().to_string();
    let expected =
        format!("output.features.positive = \"n40\": expected one of the classes: {known}");
    assert_eq!(message, expected);
}
