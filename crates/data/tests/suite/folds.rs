//! Parts of cross-validations, and splits by shares and by seeds of their own.

use std::collections::{BTreeMap, BTreeSet};

use dsokr_basis::RowSource;
use dsokr_data::config::{DataConfig, OutputFeatures};
use dsokr_data::{DataRoot, Dataset, Source, Split, SplitName};

use crate::Folder;

/// Returns rows in groups of 1 + i² mod 7.
fn pool() -> String {
    let groups = (0..20).flat_map(|group| std::iter::repeat_n(group, 1 + group * group % 7));
    let rows = groups.enumerate();
    let rows = rows.map(|(row, group)| format!("{row}\ttext {row}\t{}\tg{group}\n", row % 9));
    format!("id\tdescription\tnumber\tgroup\n{}", rows.collect::<String>())
}

fn load(folder: &Folder, data: &str) -> Result<(Dataset, DataConfig), String> {
    let data: DataConfig = toml::from_str(data).map_err(|error| error.to_string())?;
    data.validate().map_err(|error| error.to_string())?;
    let features: OutputFeatures =
        toml::from_str("kind = 'numbers'\ncolumn = 'number'").map_err(|e| e.to_string())?;
    let source = source(&data, &features);
    let dataset = source.load(&DataRoot::at(folder.path(""))).map_err(|error| error.to_string())?;
    Ok((dataset, data))
}

fn source<'a>(data: &'a DataConfig, features: &'a OutputFeatures) -> Source<'a> {
    let outputs = crate::outputs(None, Some("number"), features);
    Source { data, outputs, seed: 3, input_columns: None }
}

const POOL: &str = "source = 'pool'\nfolder = '.'\nfile = 'pool.tsv'\n";

fn ids(split: &Split) -> BTreeSet<String> {
    split.ids.iter().cloned().collect()
}

#[test]
fn parts_partition_the_pairs_and_groups_stay_together() {
    let folder = Folder::new();
    let text = pool();
    folder.file("pool.tsv", &text);
    let group: BTreeMap<String, String> = text
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .map(|cells| (cells[0].into(), cells[3].into()))
        .collect();
    let splits = "splits = { validation = 0.2, test = 5 }\n";
    let (whole, _) = load(&folder, &format!("{POOL}{splits}")).unwrap();
    let all = group.len();
    let test = ids(whole.test.as_ref().unwrap());
    assert_eq!((all, whole.validation.ids.len(), test.len()), (61, 12, 5));
    for (grouped, count, sizes) in
        [(false, 3, [18, 19, 19].as_slice()), (true, 3, &[]), (true, 5, &[])]
    {
        for nested in [false, true] {
            let mut held = Vec::new();
            for part in 1..=count {
                let group_key = if grouped { ", group = 'group'" } else { "" };
                let fold = format!(
                    "fold = {{ count = {count}, held = {part}, nested = {nested}{group_key} }}\n"
                );
                let (dataset, _) = load(&folder, &format!("{POOL}{fold}{splits}")).unwrap();
                let train = ids(&dataset.train);
                let validation = ids(&dataset.validation);
                let tested = ids(dataset.test.as_ref().unwrap());
                let out = if nested { &tested } else { &validation };
                if nested {
                    // the share of the validation pairs stays what it was
                    let expected = 12.0 / 56.0 * (train.len() + validation.len()) as f64;
                    let size = validation.len() as f64;
                    assert!(size <= expected.round() && size > expected - 6.0, "{size} {expected}");
                } else {
                    assert_eq!(tested, test);
                }
                let three = [&train, &validation, &tested];
                let sum: usize = three.iter().map(|split| split.len()).sum();
                let union: BTreeSet<&String> = three.into_iter().flatten().collect();
                assert_eq!(union.len(), sum, "splits share no pair");
                assert_eq!(sum, if nested { all - test.len() } else { all });
                if grouped {
                    let groups = |split: &BTreeSet<String>| -> BTreeSet<String> {
                        split.iter().map(|id| group[id].clone()).collect()
                    };
                    let parts = [groups(&train), groups(&validation)];
                    assert!(parts[0].is_disjoint(&parts[1]));
                    assert!(
                        parts.iter().all(|other| !nested || other.is_disjoint(&groups(&tested)))
                    );
                }
                held.push(out.clone());
            }
            let union: BTreeSet<&String> = held.iter().flatten().collect();
            let mut sizes_of_parts: Vec<usize> = held.iter().map(BTreeSet::len).collect();
            assert_eq!(sizes_of_parts.iter().sum::<usize>(), union.len(), "parts share no pair");
            assert_eq!(union.len(), all - test.len(), "parts are all pairs but those of the test");
            sizes_of_parts.sort_unstable();
            if !sizes.is_empty() {
                assert_eq!(sizes_of_parts, sizes);
            }
        }
    }
}

/// Golden: `sklearn.model_selection.GroupKFold(k).split(g, groups=g)` of scikit-learn 1.9.1.
#[test]
fn sizes_of_grouped_parts_are_those_of_scikit_learn() {
    let groups = || {
        let mut start = 0;
        let group = |size: usize| {
            start += size;
            (start - size..start).collect::<Vec<_>>()
        };
        (0..20).map(|group| 1 + group * group % 7).map(group).collect::<Vec<_>>()
    };
    for seed in 0..5 {
        for (count, expected) in
            [(3, [20, 20, 21].as_slice()), (5, [12, 12, 12, 12, 13].as_slice())]
        {
            let random = &mut dsokr_core::random::generator(seed, "test", 0);
            let mut sizes: Vec<usize> =
                dsokr_data::divide(groups(), count, random).iter().map(Vec::len).collect();
            sizes.sort_unstable();
            assert_eq!(sizes, expected);
        }
    }
}

#[test]
fn seeds_of_splits_and_parts_are_their_own() {
    let folder = Folder::new();
    folder.file("pool.tsv", pool());
    let fold = |keys: &str| {
        let text =
            format!("{POOL}fold = {{ count = 4, held = 2 {keys} }}\nsplits = {{ validation = 9 }}");
        ids(&load(&folder, &text).unwrap().0.validation)
    };
    assert_eq!(fold(""), fold(", seed = 0"));
    assert_ne!(fold(""), fold(", seed = 1"));
    let split = |keys: &str| {
        ids(&load(&folder, &format!("{POOL}splits = {{ validation = 9 {keys} }}"))
            .unwrap()
            .0
            .validation)
    };
    assert_eq!(split(""), split(", seed = 3"));
    assert_ne!(split(""), split(", seed = 4"));
}

/// Parts by a column divide no group of the splits either, and training pairs keep the groups of the splits.
#[test]
fn parts_of_a_column_keep_the_groups_of_the_splits() {
    let folder = Folder::new();
    // four rows of each of 12 texts: one in each site, and all in one laboratory, which has two texts
    let row = |row: usize| {
        let text = row / 4;
        format!("{row}\ttext {text}\t{}\ts{}\tl{}\tr{row}\n", row % 9, row % 4, text / 2)
    };
    let rows: String = (0..48).map(row).collect();
    folder.file("pool.tsv", format!("id\tdescription\tnumber\tsite\tlaboratory\trow\n{rows}"));
    let fold = |keys: &str| {
        let splits = "splits = { validation = 8, group = 'repeats' }";
        load(&folder, &format!("{POOL}fold = {{ count = 3, held = 2{keys} }}\n{splits}"))
    };
    let texts = |split: &Split| -> BTreeSet<usize> {
        split.ids.iter().map(|id| id.parse::<usize>().unwrap() / 4).collect()
    };
    for (keys, held) in [("", 4), (", group = 'row'", 4), (", group = 'laboratory'", 4)] {
        let (dataset, _) = fold(keys).unwrap();
        let [train, validation] = [&dataset.train, &dataset.validation].map(texts);
        assert!(train.is_disjoint(&validation), "{keys}: {train:?}, {validation:?}");
        assert_eq!((validation.len(), dataset.validation.ids.len()), (held, 4 * held), "{keys}");
        assert_eq!(dataset.training_groups().len(), train.len(), "{keys}");
    }
    let (dataset, _) = fold(", group = 'laboratory'").unwrap();
    let laboratories = |split| texts(split).into_iter().map(|text| text / 2).collect();
    let [train, validation]: [BTreeSet<usize>; 2] =
        [&dataset.train, &dataset.validation].map(laboratories);
    assert!(train.is_disjoint(&validation), "{train:?}, {validation:?}");
    // every text is in every site
    let error = fold(", group = 'site'").err().unwrap();
    assert!(error.contains("data.fold.group = \"site\""), "{error}");
    assert!(error.contains("the 4 groups are 1 where pairs of all kinds stay together"), "{error}");
}

/// Four rows of each of 24 texts, of which the last one is in a file of its own.
#[test]
fn parts_divide_no_group_of_rows_of_two_files() {
    let folder = Folder::new();
    let table = |is_held: bool, has_group: bool| {
        let rows = (0..96).filter(|row| (row % 4 == 3) == is_held);
        let row = |row: usize| {
            let group = if has_group { format!("\tg{}", row / 4) } else { String::new() };
            format!("{row}\ttext {}\t{}{group}\n", row / 4, row % 9)
        };
        let group = if has_group { "\tgroup" } else { "" };
        format!("id\tdescription\tnumber{group}\n{}", rows.map(row).collect::<String>())
    };
    folder.file("pool.tsv", table(false, true));
    folder.file("val.tsv", table(true, true));
    folder.file("plain.tsv", table(true, false));
    let load = |file: &str, group: &str, keys: &str| {
        let splits = format!("splits = {{ validation = 0, group = '{group}' }}");
        load(&folder, &format!("{POOL}validation = '{file}'\n{keys}{splits}")).unwrap().0
    };
    let texts = |split: &Split| -> BTreeSet<usize> {
        split.ids.iter().map(|id| id.parse::<usize>().unwrap() / 4).collect()
    };
    for (file, group) in [("val.tsv", "repeats"), ("plain.tsv", "repeats"), ("val.tsv", "group")] {
        let whole = load(file, group, "");
        assert_eq!((whole.train.ids.len(), whole.validation.ids.len()), (72, 24));
        // the groups of the validation file are those that it has by itself
        let alone: BTreeSet<&String> = whole.validation.groups.iter().collect();
        assert_eq!(alone.len(), 24, "{file} {group}");
        for (pair, name) in whole.validation.groups_among_files().iter().enumerate() {
            let of_training = whole.train.groups_among_files().iter();
            assert_eq!(of_training.filter(|other| *other == name).count(), 3, "{file} {pair}");
        }
        for part in 1..=3 {
            let fold = format!("fold = {{ count = 3, held = {part} }}\n");
            let dataset = load(file, group, &fold);
            let [train, held] = [&dataset.train, &dataset.validation].map(texts);
            assert!(train.is_disjoint(&held), "{file} {group}: {train:?}, {held:?}");
            assert_eq!((held.len(), dataset.validation.ids.len()), (8, 32));
            assert_eq!(dataset.training_groups().len(), 16);
        }
    }
    // rows of a file without the column are in no group
    let whole = load("plain.tsv", "group", "");
    let names: BTreeSet<&String> = whole.train.groups_among_files().iter().collect();
    assert!(whole.validation.groups_among_files().iter().all(|name| !names.contains(name)));
}

/// Ten groups of four rows, and 40 rows whose cell says nothing.
#[test]
fn rows_without_a_group_are_divided_one_by_one() {
    let folder = Folder::new();
    let row = |row: usize| {
        let group = match row % 4 {
            0 | 1 => format!("s{}", row / 8),
            2 => String::new(),
            _ => "N/A".to_owned(),
        };
        format!("{row}\ttext {row}\t{}\t{group}\n", row % 9)
    };
    let rows: String = (0..80).map(row).collect();
    folder.file("pool.tsv", format!("id\tdescription\tnumber\tgroup\n{rows}"));
    for keys in [
        "fold = { count = 5, held = 1, group = 'group' }\nsplits = { validation = 20 }",
        "fold = { count = 5, held = 1 }\nsplits = { validation = 20, group = 'group' }",
    ] {
        let (dataset, _) = load(&folder, &format!("{POOL}{keys}")).unwrap();
        assert_eq!((dataset.train.ids.len(), dataset.validation.ids.len()), (64, 16), "{keys}");
    }
    let (dataset, _) =
        load(&folder, &format!("{POOL}splits = {{ validation = 20, group = 'group' }}")).unwrap();
    let alone = dataset.training_groups().iter().filter(|group| group.len() == 1).count();
    assert!(alone >= 20, "{alone}");
}

/// Rows of one query are in one part beside groups of a column too, and are left out together.
#[test]
fn queries_stay_whole_beside_groups() {
    let folder = Folder::new();
    let rows = |from: usize, to: usize| {
        let row =
            |row: usize| format!("{}\ttext {}\tq{}\ts{}\n", row % 9, row / 3, row / 3, row % 20);
        format!("id\tdescription\tq\tsite\n{}", (from..to).map(row).collect::<String>())
    };
    folder.file("train.tsv", rows(0, 60));
    folder.file("validation.tsv", rows(60, 72));
    let outputs: String = (0..9).map(|row| format!("{row}\t{row}\n")).collect();
    folder.file("outputs.tsv", format!("id\tnumber\n{outputs}"));
    let features: OutputFeatures = toml::from_str("kind = 'numbers'\ncolumn = 'number'").unwrap();
    let load = |keys: &str| {
        let data: DataConfig = toml::from_str(&format!("folder = '.'\nquery = 'q'\n{keys}"))
            .map_err(|error| error.to_string())?;
        let mut source = source(&data, &features);
        source.outputs.table = Some("outputs.tsv");
        source.load(&DataRoot::at(folder.path(""))).map_err(|error| error.to_string())
    };
    let whole = load("").unwrap();
    assert_eq!(whole.training_groups(), dsokr_core::grouped(&whole.train.queries.unwrap()));
    // every site is in many queries, which connect them
    let error = load("fold = { count = 3, held = 1, group = 'site' }").err().unwrap();
    assert!(error.contains("data.fold.group = \"site\""), "{error}");
    let mut held = 0;
    for part in 1..=3 {
        let dataset = load(&format!("fold = {{ count = 3, held = {part}, group = 'q' }}")).unwrap();
        held += dataset.validation.ids.len();
        let trained: BTreeSet<String> = dataset.train.queries.unwrap().into_iter().collect();
        let tested = dataset.validation.queries.unwrap();
        assert!(tested.iter().all(|query| !trained.contains(query)));
    }
    assert_eq!(held, 24);
}

#[test]
fn a_split_without_rows_has_vectors_as_wide_as_the_others() {
    let folder = Folder::new();
    let row = |row: usize| format!("{row}\t{row}.5\t{}\t{}\n", row % 5, row % 9);
    let rows: String = (0..30).map(row).collect();
    folder.file("pool.tsv", format!("id\tx0\tx1\tnumber\n{rows}"));
    let splits = "splits = { validation = 0, test = 6 }";
    let inputs = "inputs = { column = 'x0..x1', numbers = true }\n";
    let (dataset, _) = load(&folder, &format!("{POOL}{inputs}{splits}")).unwrap();
    let sizes =
        [&dataset.train, &dataset.validation, dataset.test.as_ref().unwrap()].map(|split| {
            let vectors = split.inputs.vectors().unwrap();
            (RowSource::len(&*vectors), RowSource::width(&*vectors))
        });
    assert_eq!(sizes, [(24, 2), (0, 2), (6, 2)]);
}

#[test]
fn too_few_groups_are_named() {
    let folder = Folder::new();
    folder.file("pool.tsv", pool());
    let error = load(
        &folder,
        &format!(
            "{POOL}fold = {{ count = 21, held = 1 }}\nsplits = {{ validation = 9, group = 'group' }}"
        ),
    );
    let error = error.err().unwrap();
    assert!(error.contains("at most 20, the number of groups of data.splits.group"), "{error}");
}

#[test]
fn a_part_is_read_again_as_a_split() {
    let folder = Folder::new();
    folder.file("pool.tsv", pool());
    let fold = "fold = { count = 4, held = 2, nested = true, group = 'group' }\n";
    let (dataset, data) =
        load(&folder, &format!("{POOL}{fold}splits = {{ validation = 9 }}")).unwrap();
    let features: OutputFeatures = toml::from_str("kind = 'numbers'\ncolumn = 'number'").unwrap();
    let source = source(&data, &features);
    let root = DataRoot::at(folder.path(""));
    for (name, expected) in [
        (SplitName::Validation, &dataset.validation),
        (SplitName::Test, dataset.test.as_ref().unwrap()),
    ] {
        let split = source.read_split(name, &root).unwrap();
        assert_eq!((&split.ids, &split.inputs), (&expected.ids, &expected.inputs));
        assert!(split.outputs.iter().all(Option::is_none));
    }
    assert_eq!(source.read_split(SplitName::Train, &root).unwrap().ids, dataset.train.ids);
}

#[test]
fn training_pairs_are_read_again_as_they_were_drawn() {
    let folder = Folder::new();
    folder.file("pool.tsv", pool());
    let features: OutputFeatures = toml::from_str("kind = 'numbers'\ncolumn = 'number'").unwrap();
    let root = DataRoot::at(folder.path(""));
    for keys in ["limit = 7", "corrupted = 0.5", "limit = 7\ncorrupted = 0.5"] {
        let text = format!("{POOL}{keys}\nsplits = {{ validation = 9 }}");
        let (dataset, data) = load(&folder, &text).unwrap();
        let read = |name| source(&data, &features).read_split(name, &root).unwrap();
        let train = read(SplitName::Train);
        assert_eq!((&train.ids, &train.inputs), (&dataset.train.ids, &dataset.train.inputs));
        assert_eq!(train.truth, dataset.outputs.truth_of(&dataset.train.outputs), "{keys}");
        assert!(train.outputs.iter().all(Option::is_none));
        assert_eq!(read(SplitName::Validation).ids, dataset.validation.ids, "{keys}");
    }
}

/// Blanks group thousands, which one row of the training pairs says.
#[test]
fn numbers_of_a_split_are_read_as_those_of_the_whole_table() {
    let folder = Folder::new();
    let row = |row: usize| {
        let number = if row == 0 { "950".to_owned() } else { format!("1 2{row:02}") };
        format!("{row}\ttext {row}\t{number}\n")
    };
    let rows: String = (0..20).map(row).collect();
    folder.file("pool.tsv", format!("id\tdescription\tnumber\n{rows}"));
    let splits = "splits = { order = 'file', train = 16, validation = 4 }";
    let (dataset, data) = load(&folder, &format!("{POOL}{splits}")).unwrap();
    let features: OutputFeatures = toml::from_str("kind = 'numbers'\ncolumn = 'number'").unwrap();
    let root = DataRoot::at(folder.path(""));
    let split = source(&data, &features).read_split(SplitName::Validation, &root).unwrap();
    assert!(split.truth.is_some());
    assert_eq!(split.truth, dataset.validation.truth);
}

#[test]
fn queries_with_several_right_outputs_stay_whole() {
    let folder = Folder::new();
    let rows = |from: usize, to: usize| {
        let row = |row: usize| format!("{row}\ttext {}\tq{}\n", row / 2, row / 2);
        format!("id\tdescription\tq\n{}", (from..to).map(row).collect::<String>())
    };
    folder.file("train.tsv", rows(0, 40));
    folder.file("validation.tsv", rows(40, 60));
    let outputs: String = (0..60).map(|row| format!("{row}\t{row}\n")).collect();
    folder.file("outputs.tsv", format!("id\tnumber\n{outputs}"));
    let features: OutputFeatures = toml::from_str("kind = 'numbers'\ncolumn = 'number'").unwrap();
    let mut held = BTreeSet::new();
    for part in 1..=3 {
        let data: DataConfig = toml::from_str(&format!(
            "folder = '.'\nquery = 'q'\nfold = {{ count = 3, held = {part}, nested = true }}"
        ))
        .unwrap();
        let mut source = source(&data, &features);
        source.outputs.table = Some("outputs.tsv");
        let dataset = source.load(&DataRoot::at(folder.path(""))).unwrap();
        let test = dataset.test.unwrap();
        assert_eq!(
            (dataset.train.ids.len(), dataset.validation.ids.len(), test.ids.len()),
            (28, 6, 10)
        );
        for split in [&dataset.validation, &test] {
            for (id, further) in split.ids.iter().zip(&split.further) {
                let first: usize = id.parse().unwrap();
                assert_eq!((first % 2, further), (0, &vec![(first + 1).to_string()]));
            }
        }
        held.extend(test.queries.unwrap());
    }
    assert_eq!(held.len(), 30);
}

#[test]
fn skeletons_are_groups_of_molecules_that_are_inputs_or_outputs() {
    let folder = Folder::new();
    let smiles =
        ["c1ccccc1C", "c1ccccc1CC", "C1CCCCC1", "C1CCCCC1O", "CCO", "CCC", "c1ccncc1", "Nc1ccncc1"];
    let rows = smiles.iter().enumerate().map(|(row, smiles)| format!("{row}\t{smiles}\t{row}\n"));
    folder.file("pool.tsv", format!("id\tdescription\tnumber\n{}", rows.collect::<String>()));
    let fold = |keys: &str| {
        load(&folder, &format!("{POOL}fold = {{ {keys} }}\nsplits = {{ validation = 2 }}\n"))
    };
    for held in 1..=4 {
        let (dataset, _) = fold(&format!("count = 4, held = {held}, group = 'skeleton'")).unwrap();
        let pair: Vec<usize> =
            dataset.validation.ids.iter().map(|id| id.parse().unwrap()).collect();
        let first = pair[0].min(pair[1]);
        let second = pair[0].max(pair[1]);
        assert_eq!((first % 2, second), (0, first + 1));
    }
    let error = fold("count = 5, held = 1, group = 'skeleton'").err().unwrap();
    assert!(
        error.contains("data.fold.count = 5: expected at most 4, the number of groups"),
        "{error}"
    );
    folder.file("pool.tsv", pool());
    let error = fold("count = 5, held = 1, group = 'skeleton'").err().unwrap();
    assert!(error.contains("data.fold.group = \"scaffold\", with \"text\""), "{error}");
}

#[test]
fn sizes_and_parts_out_of_range_are_refused() {
    let folder = Folder::new();
    folder.file("pool.tsv", pool());
    for (keys, said) in [
        (
            "splits = { validation = 1.5 }",
            "data.splits.validation = 1.5: expected a share between 0 and 1",
        ),
        ("splits = { validation = 'x' }", "expected a number of rows, or a share between 0 and 1"),
        ("splits = { validation = -1 }", "expected a number of rows, or a share between 0 and 1"),
        ("splits = { validation = 1, test = 0.0 }", "data.splits.test = 0: expected a share"),
        (
            "splits = { validation = 1, train = 0 }",
            "data.splits.train = 0: expected a number of rows from 1",
        ),
        (
            "splits = { validation = 0.6, test = 0.6 }",
            "data.splits = 36 + 36 + the rest: expected at most 61",
        ),
        (
            "splits = { validation = 1 }\nfold = { count = 1, held = 1 }",
            "data.fold.count = 1: expected at least 2",
        ),
        (
            "splits = { validation = 1 }\nfold = { count = 3, held = 0 }",
            "data.fold.held = 0: expected 1 to 3",
        ),
        (
            "splits = { validation = 1 }\nfold = { count = 62, held = 1 }",
            "expected at most 61, the number of training and",
        ),
        ("splits = { validation = 1 }\nfold = { count = 3, held = 1, group = 'gruop' }", "gruop"),
    ] {
        let error = load(&folder, &format!("{POOL}{keys}")).err().unwrap();
        assert!(error.contains(said), "{keys}: {error}");
    }
    let drawn = "source = 'synthetic'\ntrain = 9\nvalidation = 3\ninputs = 2\noutputs = 2\ninput_decay = 1.0\n\
                 map = { kind = 'dense' }\nnoise = { variance = 0.1 }\nfold = { count = 3, held = 1 }";
    let error = load(&folder, drawn).err().unwrap();
    assert!(error.contains("data.fold = given: remove it: other pairs"), "{error}");
}

#[test]
fn pairs_of_one_output_stay_together_where_validation_outputs_are_new() {
    let folder = Folder::new();
    let table = |ids: &[usize]| {
        let row = |(row, id): (usize, &usize)| format!("{id}\ttext {row}\t{}\n", id * id);
        let rows = ids.iter().enumerate().map(row);
        format!("id\tdescription\tnumber\n{}", rows.collect::<String>())
    };
    folder.file("train.tsv", table(&[4, 2, 4, 7, 2, 4]));
    folder.file("outputs.tsv", table(&(0..9).collect::<Vec<_>>()));
    let data = "folder = '.'\ntrain = 'train.tsv'\nvalidation = 'val.tsv'\nid = 'id'";
    let data: DataConfig = toml::from_str(data).unwrap();
    let features = toml::from_str("kind = 'numbers'\ncolumn = 'number'").unwrap();
    let mut source = source(&data, &features);
    source.outputs.table = Some("outputs.tsv");
    let groups = |validation: &[usize]| {
        folder.file("val.tsv", table(validation));
        source.load(&DataRoot::at(folder.path(""))).unwrap().training_groups()
    };
    assert_eq!(groups(&[1, 3, 2]), [vec![0, 2, 5], vec![1, 4], vec![3]]);
    let single: Vec<Vec<usize>> = (0..6).map(|pair| vec![pair]).collect();
    assert_eq!(groups(&[1, 4, 2]), single);
}
