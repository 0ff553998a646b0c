//! `[data]`: what may be left out, and what is refused in each of its forms.

use dsokr_data::config::{
    DataConfig, DataSource, InputKind, OutputFeatures, TablesConfig, TrainingFiles,
};
use dsokr_data::{DataRoot, Source};

use crate::Folder;

fn data(text: &str) -> Result<DataConfig, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

#[test]
fn the_common_case_is_short() {
    let tables = data("folder = 'x'").unwrap();
    assert_eq!(tables, data("source = 'tables'\nfolder = 'x'\ninputs = {}").unwrap());
    assert_eq!(tables, data("folder = 'x'\ninputs = { kind = 'text' }\ncorrupted = 0.0").unwrap());
    assert!(
        matches!(&tables.source, DataSource::Tables(TablesConfig { train, .. }) if *train == TrainingFiles::One("train.tsv".into()))
    );
    assert_eq!(tables.facts().inputs, InputKind::Texts);
    let pool = data(
        "source = 'pool'\nfolder = 'x'\nfile = 'a.smi'\nsplits = { validation = 3 }\ncorrupted = 0.5",
    );
    assert_eq!(pool.unwrap().corrupted, 0.5);
}

#[test]
fn what_is_written_is_read_again() {
    for text in [
        "folder = 'x'\ntest = 'test.tsv'\ninputs = { column = 'smiles', more_smiles = 2 }",
        "folder = 'x'\ninputs = { kind = 'features', table = 't.tsv', file = 'f.npy' }",
        "folder = 'x'\ninputs = { kind = 'kernels', table = 't.tsv', column = 'c', files = ['k.npy'] }",
        "folder = 'x'\ntrain = ['a.tsv', { path = 'b.tsv', weight = 0.5 }]",
        "source = 'official'\nfolder = 'x'\ncorrupted = 0.25\nlimit = 9",
        "source = 'multi-label'\nfolder = 'x'\nfile = 'a.arff'\nlabels = 2\nsplits = { validation = 3 }",
        "source = 'synthetic'\ntrain = 9\nvalidation = 3\ninputs = 2\noutputs = 2\ninput_decay = 1.0\n\
         map = { kind = 'dense' }\nnoise = { variance = 0.1 }",
    ] {
        let config = data(text).unwrap();
        config.validate().unwrap();
        assert_eq!(data(&toml::to_string(&config).unwrap()).unwrap(), config, "{text}");
    }
}

#[test]
fn training_files_have_weights_above_zero() {
    for (files, said) in [
        ("[]", "data.train = []: expected at least one file"),
        (
            "['a.tsv', 'a.tsv']",
            "data.train[1] = \"a.tsv\": expected a file that is not named before it",
        ),
        ("['../a.tsv']", "data.train = "),
        (
            "['a.tsv', { path = 'b.tsv', weight = 0.0 }]",
            "data.train[1].weight = 0: expected finite",
        ),
        ("[{ path = 'a.tsv', weight = -1.5 }]", "data.train[0].weight = -1.5: expected finite"),
    ] {
        let config = data(&format!("folder = 'x'\ntrain = {files}")).unwrap();
        let message = config.validate().unwrap_err().to_string();
        assert!(message.contains(said), "{files}: {message}");
    }
    for (files, said) in [
        ("3", "expected a file, or a list of files"),
        ("{ path = 'a.tsv' }", "expected a file, or a list of files"),
        ("[3]", "expected a file, or { path = FILE, weight = NUMBER }"),
        ("[{ path = 'a.tsv' }]", "missing field `weight`"),
        ("[{ path = 'a.tsv', weight = 1.0, wieght = 2 }]", "unknown field `wieght`"),
    ] {
        let message = data(&format!("folder = 'x'\ntrain = {files}")).unwrap_err();
        assert!(message.contains(said), "{files}: {message}");
    }
}

/// To compare each row with all before it takes hours.
#[test]
fn many_pairs_of_one_input_are_read_at_once() {
    let folder = Folder::new();
    let pairs = |n: usize| {
        let rows: String = (0..n).map(|row| format!("{}\tone text\n", row % 2)).collect();
        format!("id\tdescription\n{rows}")
    };
    folder.file("outputs.tsv", "id\tname\n0\tx\n1\ty\n");
    folder.file("validation.tsv", pairs(1));
    let features: OutputFeatures =
        toml::from_str("kind = 'ngrams'\ncolumn = 'name'\nmin = 1\nmax = 1").unwrap();
    let outputs = crate::outputs(Some("outputs.tsv"), None, &features);
    for (files, rows) in [(&["train.tsv"][..], 1_000_000), (&["train.tsv", "more.tsv"], 500_000)] {
        files.iter().for_each(|file| drop(folder.file(file, pairs(rows))));
        let data = data(&format!("folder = '.'\ntrain = {files:?}")).unwrap();
        let source = Source { data: &data, outputs: outputs.clone(), seed: 0, input_columns: None };
        let dataset = source.load(&DataRoot::at(folder.path(""))).unwrap();
        assert_eq!(dataset.train.ids.len(), 1_000_000, "{files:?}");
    }
}

#[test]
fn a_limit_is_of_pairs_that_can_be_drawn() {
    for text in [
        "folder = 'x'\nlimit = 0",
        "limit = 3\nfolder = 'x'\ninputs = { kind = 'kernels', table = 't.tsv', column = 'c', files = ['k.npy'] }",
    ] {
        let message = data(text).unwrap().validate().unwrap_err().to_string();
        assert!(message.contains("data.limit"), "{text}: {message}");
    }
    assert!(data("folder = 'x'\nlimit = -1").unwrap_err().contains("limit"));
    let message = data("folder = 'x'\nseed = 1").unwrap().validate().unwrap_err().to_string();
    assert!(message.contains("data.seed = 1: remove it, unless data.limit"), "{message}");
}

#[test]
fn rows_are_skipped_of_files_that_are_read_row_by_row() {
    let splits = "splits = { validation = 3 }\non_bad_row = 'skip'";
    let multi_label = |file: &str| {
        let keys = "source = 'multi-label'\nfolder = 'x'\nlabels = 2";
        data(&format!("{keys}\nfile = '{file}'\n{splits}")).unwrap()
    };
    for config in [
        data("folder = 'x'\non_bad_row = 'skip'").unwrap(),
        data(&format!("source = 'pool'\nfolder = 'x'\nfile = 'a.csv'\n{splits}")).unwrap(),
        multi_label("a.arff"),
    ] {
        config.validate().unwrap();
    }
    let message = multi_label("a.svm").validate().unwrap_err().to_string();
    let expected = "data.on_bad_row = \"skip\": expected \"stop\" or \"skip-spectra\": rows are skipped in tables, pools and \
                    .arff files";
    assert_eq!(message, expected);
}

#[test]
fn pairs_of_a_smaller_limit_are_among_those_of_a_larger_one() {
    let folder = Folder::new();
    folder.file("texts.txt", (0..41).map(|row| format!("text {row}\n")).collect::<String>());
    let features: OutputFeatures =
        toml::from_str("kind = 'ngrams'\ncolumn = 'description'\nmin = 1\nmax = 1").unwrap();
    let load_with = |limit: usize, seed, key: &str| {
        let data = format!(
            "source = 'pool'\nfolder = '.'\nfile = 'texts.txt'\nlimit = {limit}\n{key}\n\
             splits = {{ validation = 1, order = 'file' }}"
        );
        let outputs = crate::outputs(None, None, &features);
        let source =
            Source { data: &self::data(&data).unwrap(), outputs, seed, input_columns: None };
        source.load(&DataRoot::at(folder.path("")))
    };
    let load = |limit, seed| load_with(limit, seed, "");
    let drawn = |limit, seed| load(limit, seed).unwrap().train.inputs.texts().unwrap().to_vec();
    let few = drawn(10, 3);
    let more = drawn(25, 3);
    assert_eq!((few.len(), more.len()), (10, 25));
    assert!(few.iter().all(|text| more.contains(text)), "{few:?}, {more:?}");
    assert_ne!(few, drawn(10, 4));
    let with_own_seed = load_with(10, 4, "seed = 3").unwrap();
    assert_eq!(with_own_seed.train.inputs.texts().unwrap(), few);
    assert_eq!(drawn(40, 3)[39], "text 39");
    let message = load(41, 3).err().unwrap().to_string();
    assert!(message.contains("data.limit") && message.contains("1 to 40"), "{message}");
}

#[test]
fn an_unknown_key_is_refused_in_every_form_with_those_that_are_known() {
    for (text, keys) in [
        ("folder = 'x'\nfoo = 1", &["train", "validation", "inputs", "corrupted", "limit"][..]),
        ("source = 'tables'\nfolder = 'x'\nfoo = 1", &["id", "test"]),
        ("folder = 'x'\ninputs = { foo = 1 }", &["column", "more_smiles"]),
        (
            "folder = 'x'\ninputs = { kind = 'features', table = 't', file = 'f', foo = 1 }",
            &["key"],
        ),
        ("folder = 'x'\ninputs = { kind = 'kernels', table = 't', foo = 1 }", &["column", "files"]),
        (
            "source = 'pool'\nfolder = 'x'\nfile = 'f'\nsplits = { validation = 1 }\nfoo = 1",
            &["splits"],
        ),
        (
            "source = 'pool'\nfolder = 'x'\nfile = 'f'\nsplits = { validation = 1, foo = 1 }",
            &["order"],
        ),
        (
            "source = 'pool'\nfolder = 'x'\nfile = 'f'\nsplits = { validation = 1 }\ninputs = { foo = 1 }",
            &["column"],
        ),
        ("source = 'multi-label'\nfolder = 'x'\nfile = 'f'\nfoo = 1", &["labels", "corrupted"]),
        ("source = 'official'\nfolder = 'x'\nfoo = 1", &["train", "test"]),
        ("source = 'synthetic'\ntrain = 1\nfoo = 1", &["input_decay", "unlabelled"]),
        ("source = 'foo'", &["tables", "pool", "multi-label", "official", "synthetic"]),
        ("folder = 'x'\ninputs = { kind = 'foo' }", &["text", "features", "kernels"]),
    ] {
        let message = data(text).unwrap_err();
        assert!(message.contains("`foo`"), "{text}: {message}");
        for key in keys {
            assert!(message.contains(&format!("`{key}`")), "{text}: no {key} in {message}");
        }
    }
    let features = |text: &str| toml::from_str::<OutputFeatures>(text).map_err(|e| e.to_string());
    for kind in ["source", "labels", "numbers", "file", "molecules"] {
        let message = features(&format!("kind = '{kind}'\nfoo = 1")).unwrap_err();
        assert!(message.contains("`foo`"), "{kind}: {message}");
    }
}

#[test]
fn a_wrong_type_is_named() {
    let message = data("folder = 'x'\ncorrupted = 'much'").unwrap_err();
    assert!(message.contains("corrupted") && message.contains("much"), "{message}");
    let message = data("folder = 3").unwrap_err();
    assert!(message.contains('3') && message.contains("string"), "{message}");
}
