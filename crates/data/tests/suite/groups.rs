//! Splits that divide no molecule, text, id, scaffold or value of a column.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use dsokr_data::config::{DataConfig, OutputFeatures};
use dsokr_data::{DataRoot, Dataset, Source, Split, SplitName};
use dsokr_molecule::Molecule;

use crate::Folder;

/// Each in two texts.
const MOLECULES: [[&str; 2]; 8] = [
    ["CCO", "OCC"],
    ["c1ccccc1O", "Oc1ccccc1"],
    ["CC(=O)O", "OC(C)=O"],
    ["C[C@H](N)C(=O)O", "OC(=O)[C@@H](N)C"],
    ["C[C@@H](N)C(=O)O", "N[C@H](C)C(=O)O"],
    ["Cc1ccncc1", "c1cc(C)ccn1"],
    ["Clc1ccncc1", "c1cc(Cl)ccn1"],
    ["c1ccc2ccccc2c1C", "Cc1cccc2ccccc12"],
];

const POOL: &str = "source = 'pool'\nfolder = '.'\nfile = 'pool.tsv'\n";

/// 80 rows: row i has molecule i mod 8, in one of its texts, and every fifth row the text of the row before.
fn repeated() -> String {
    let row = |row: usize| {
        let smiles = MOLECULES[row % 8][(row / 8) % 2];
        let text = if row % 40 == 5 { row - 1 } else { row };
        format!("{row}\ttext {text}\t{smiles}\tc{}\n", row % 11)
    };
    format!("id\tdescription\tsmiles\tcluster\n{}", (0..80).map(row).collect::<String>())
}

/// 80 rows with a molecule each.
fn distinct() -> String {
    let row = |row: usize| format!("{row}\ttext {row}\t{}O\tc{row}\n", "C".repeat(1 + row));
    format!("id\tdescription\tsmiles\tcluster\n{}", (0..80).map(row).collect::<String>())
}

fn with_source<T>(
    folder: &Folder,
    splits: &str,
    read: impl FnOnce(&Source, &DataRoot) -> Result<T, dsokr_data::Error>,
) -> Result<T, String> {
    let text = format!("{POOL}splits = {{ {splits} }}");
    let data: DataConfig = toml::from_str(&text).map_err(|error| error.to_string())?;
    data.validate().map_err(|error| error.to_string())?;
    let features: OutputFeatures = toml::from_str(
        "kind = 'substructures'\ncolumn = 'smiles'\ncount = { name = 'composition' }",
    )
    .unwrap();
    let outputs = crate::outputs(None, Some("smiles"), &features);
    let source = Source { data: &data, outputs, seed: 3, input_columns: None };
    read(&source, &DataRoot::at(folder.path(""))).map_err(|error| error.to_string())
}

fn load(folder: &Folder, splits: &str) -> Result<Dataset, String> {
    with_source(folder, splits, |source, root| source.load(root))
}

fn parts(dataset: &Dataset) -> [&Split; 3] {
    [&dataset.train, &dataset.validation, dataset.test.as_ref().unwrap()]
}

/// Returns the values of a column of the rows of each split.
fn values(
    table: &str,
    dataset: &Dataset,
    column: usize,
    group_of: impl Fn(&str) -> String,
) -> [BTreeSet<String>; 3] {
    let rows: BTreeMap<&str, Vec<&str>> = table
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .map(|cells| (cells[0], cells))
        .collect();
    parts(dataset)
        .map(|split| split.ids.iter().map(|id| group_of(rows[id.as_str()][column])).collect())
}

fn assert_apart(sets: &[BTreeSet<String>; 3]) {
    for (at, set) in sets.iter().enumerate() {
        assert!(!set.is_empty());
        for other in &sets[at + 1..] {
            assert!(set.is_disjoint(other), "{set:?} {other:?}");
        }
    }
}

fn canonical(smiles: &str) -> String {
    Molecule::parse(smiles).unwrap().canonical_smiles()
}

#[test]
fn repeats_are_on_one_side() {
    let folder = Folder::new();
    let table = repeated();
    folder.file("pool.tsv", &table);
    let mut drawn = HashSet::new();
    for seed in 0..6 {
        let splits = format!("validation = 20, test = 20, seed = {seed}");
        let dataset = load(&folder, &format!("{splits}, group = 'repeats'")).unwrap();
        assert_apart(&values(&table, &dataset, 2, canonical));
        assert_apart(&values(&table, &dataset, 1, str::to_owned));
        let [train, validation, test] = parts(&dataset).map(|split| split.ids.len());
        assert_eq!(train + validation + test, 80);
        assert!((10..=20).contains(&validation) && (10..=20).contains(&test));
        // rows 4 and 5 have one text, so their molecules are one group of 20 rows; each other molecule has 10
        let groups: HashSet<&String> =
            parts(&dataset).iter().flat_map(|split| &split.groups).collect();
        assert_eq!(groups.len(), 7);
        drawn.insert(dataset.validation.ids.concat());
        // as drawn row by row they are on both sides
        let plain = load(&folder, &splits).unwrap();
        let [train, validation, _] = values(&table, &plain, 2, canonical);
        assert!(!train.is_disjoint(&validation));
    }
    assert!(drawn.len() > 1, "the seed draws the groups");
}

/// Equal numbers are the same input, however they are written.
#[test]
fn rows_with_equal_vectors_are_on_one_side() {
    let folder = Folder::new();
    let row = |row: usize| {
        let [x, zeros] = [row / 2, row % 2].map(|value| value as f64 * 0.5);
        let zeros = if zeros > 0.0 { "0" } else { "" };
        format!("{row},{x:.1}{zeros},{:.1},{row}.25\n", 3.0 - x)
    };
    folder.file("pool.csv", format!("id,x0,x1,y\n{}", (0..80).map(row).collect::<String>()));
    let features: OutputFeatures = toml::from_str("kind = 'numbers'\ncolumn = 'y'").unwrap();
    let twins = |split: &Split| -> BTreeSet<usize> {
        split.ids.iter().map(|id| id.parse::<usize>().unwrap() / 2).collect()
    };
    let load = |group: &str| {
        let text = format!(
            "source = 'pool'\nfolder = '.'\nfile = 'pool.csv'\n\
             inputs = {{ column = 'x0..x1', numbers = true }}\n\
             splits = {{ validation = 16, test = 16{group} }}"
        );
        let data: DataConfig = toml::from_str(&text).unwrap();
        data.validate().unwrap();
        let outputs = crate::outputs(None, Some("y"), &features);
        let source = Source { data: &data, outputs, seed: 3, input_columns: None };
        let root = DataRoot::at(folder.path(""));
        let dataset = source.load(&root).unwrap();
        let test = source.read_split(SplitName::Test, &root).unwrap();
        assert_eq!(test.ids, dataset.test.as_ref().unwrap().ids);
        dataset
    };
    let grouped = load(", group = 'repeats'");
    let [train, validation, test] = parts(&grouped).map(twins);
    assert!(train.is_disjoint(&validation) && train.is_disjoint(&test));
    assert!(validation.is_disjoint(&test));
    assert_eq!([&train, &validation, &test].map(BTreeSet::len), [24, 8, 8]);
    let plain = load("");
    let [train, validation, _] = parts(&plain).map(twins);
    assert!(!train.is_disjoint(&validation));
    // fewer are like classes, whose rows are no copies of one another
    for (doses, are_alike) in [(19, true), (20, false)] {
        let row = |row: usize| format!("{row},{}.5,1.0,{row}.25\n", row % doses);
        folder.file("pool.csv", format!("id,x0,x1,y\n{}", (0..80).map(row).collect::<String>()));
        let [grouped, plain] =
            [", group = 'repeats'", ""].map(|group| load(group).test.unwrap().ids);
        assert_eq!(grouped == plain, are_alike, "{doses}");
    }
}

/// Rows that belong together stay where a column puts them.
#[test]
fn groups_beside_a_column_of_splits_move_no_row() {
    let folder = Folder::new();
    let lines = repeated();
    let lines = lines.lines().enumerate().map(|(at, line)| match at.checked_sub(1) {
        None => format!("{line}\tset\n"),
        Some(row) => format!("{line}\t{}\n", ["train", "train", "valid", "test"][row / 20]),
    });
    folder.file("pool.tsv", lines.collect::<String>());
    let plain = load(&folder, "column = 'set'").unwrap();
    assert_eq!(plain.training_groups().len(), 40);
    for (group, count) in [("repeats", 7), ("cluster", 11)] {
        let splits = format!("column = 'set', group = '{group}'");
        let grouped = load(&folder, &splits).unwrap();
        assert_eq!(grouped.training_groups().len(), count, "{group}");
        for (a, b) in parts(&plain).into_iter().zip(parts(&grouped)) {
            assert_eq!((&a.ids, &a.inputs), (&b.ids, &b.inputs));
        }
        let read = |source: &Source, root: &DataRoot| source.read_split(SplitName::Test, root);
        let again = with_source(&folder, &splits, read).unwrap();
        let test = grouped.test.as_ref().unwrap();
        assert_eq!((&again.ids, &again.groups), (&test.ids, &test.groups));
        assert_eq!(sizes(&test.groups).iter().sum::<usize>(), 20);
    }
}

#[test]
fn rows_without_repeats_are_drawn_as_without_groups() {
    let folder = Folder::new();
    folder.file("pool.tsv", distinct());
    for more in ["", ", train = 30"] {
        let splits = format!("validation = 0.1, test = 9{more}");
        let plain = load(&folder, &splits).unwrap();
        let grouped = load(&folder, &format!("{splits}, group = 'repeats'")).unwrap();
        for (a, b) in parts(&plain).into_iter().zip(parts(&grouped)) {
            assert_eq!((&a.ids, &a.inputs), (&b.ids, &b.inputs));
        }
    }
}

#[test]
fn a_split_of_groups_is_read_again() {
    let folder = Folder::new();
    folder.file("pool.tsv", repeated());
    for group in ["repeats", "molecule", "scaffold", "cluster"] {
        let splits = format!("validation = 20, test = 20, group = '{group}'");
        let dataset = load(&folder, &splits).unwrap();
        let names = [SplitName::Train, SplitName::Validation, SplitName::Test];
        for (name, split) in names.into_iter().zip(parts(&dataset)) {
            let read = |source: &Source, root: &DataRoot| source.read_split(name, root);
            let again = with_source(&folder, &splits, read).unwrap();
            assert_eq!((&again.ids, &again.groups), (&split.ids, &split.groups), "{group}");
            assert_eq!(split.groups.len(), split.ids.len(), "{group}");
        }
    }
}

/// Returns how many rows each group has, in the order of the first ones.
fn sizes(groups: &[String]) -> Vec<usize> {
    let mut sizes: Vec<(&String, usize)> = Vec::new();
    for group in groups {
        match sizes.iter_mut().find(|(known, _)| *known == group) {
            Some((_, size)) => *size += 1,
            None => sizes.push((group, 1)),
        }
    }
    sizes.into_iter().map(|(_, size)| size).collect()
}

/// A bootstrap draws the groups of queries whole, so that queries of other files have them too.
#[test]
fn queries_of_other_files_have_the_groups_of_the_rule() {
    let folder = Folder::new();
    folder.file("pool.tsv", repeated());
    let rows = "100\tone\tCCO\ta\n101\ttwo\tOCC\tb\n102\tone\tCCN\tb\n103\tthree\tCCCl\tc\n";
    folder.file("queries.tsv", format!("id\tdescription\tsmiles\tcluster\n{rows}"));
    folder.file("texts.tsv", "id\tdescription\n100\tone\n101\ttwo\n102\tone\n");
    for (group, file, expected, lacks) in [
        ("cluster", "queries.tsv", vec![1, 2, 1], false),
        ("repeats", "texts.tsv", vec![2, 1], false),
        ("cluster", "texts.tsv", vec![1, 1, 1], true),
        ("scaffold", "texts.tsv", vec![1, 1, 1], true),
    ] {
        let splits = format!("validation = 20, group = '{group}'");
        let read =
            |source: &Source, root: &DataRoot| source.read_queries(&folder.path(file), Some(root));
        let queries = with_source(&folder, &splits, read).unwrap();
        assert_eq!(sizes(&queries.groups), expected, "{group} {file}");
        assert_eq!(queries.lacks_groups, lacks, "{group} {file}");
    }
    let read = |source: &Source, root: &DataRoot| {
        source.read_queries(&folder.path("queries.tsv"), Some(root))
    };
    assert!(with_source(&folder, "validation = 20", read).unwrap().groups.is_empty());
}

#[test]
fn test_pairs_of_a_file_have_groups_whether_it_has_their_column_or_not() {
    let folder = Folder::new();
    folder.file("pool.tsv", repeated());
    let text = |test: &str| {
        format!("{POOL}test = '{test}'\nsplits = {{ validation = 20, group = 'cluster' }}")
    };
    folder.file("with.tsv", "id\tdescription\tsmiles\tcluster\n100\tx\tCCO\ta\n101\ty\tCCN\ta\n");
    folder.file("without.tsv", "id\tdescription\tsmiles\n100\tx\tCCO\n101\ty\tCCN\n");
    for (file, expected) in [("with.tsv", vec![2]), ("without.tsv", vec![1, 1])] {
        let data: DataConfig = toml::from_str(&text(file)).unwrap();
        let features: OutputFeatures = toml::from_str(
            "kind = 'substructures'\ncolumn = 'smiles'\ncount = { name = 'composition' }",
        )
        .unwrap();
        let outputs = crate::outputs(None, Some("smiles"), &features);
        let source = Source { data: &data, outputs, seed: 3, input_columns: None };
        let root = DataRoot::at(folder.path(""));
        let test = source.load(&root).unwrap().test.unwrap();
        let again = source.read_split(SplitName::Test, &root).unwrap();
        for groups in [&test.groups, &again.groups] {
            assert_eq!(sizes(groups), expected, "{file}");
        }
    }
}

#[test]
fn groups_are_molecules_scaffolds_or_values_of_a_column() {
    let folder = Folder::new();
    let table = repeated();
    folder.file("pool.tsv", &table);
    let flat = |smiles: &str| Molecule::parse(smiles).unwrap().without_stereo().canonical_smiles();
    let load = |group: &str| {
        load(&folder, &format!("validation = 20, test = 20, group = '{group}'")).unwrap()
    };
    // the two alanines are one molecule
    assert_apart(&values(&table, &load("molecule"), 2, flat));
    // the two pyridines have one scaffold, molecules without rings another one
    let scaffold =
        |smiles: &str| Molecule::parse(smiles).unwrap().skeleton().invariant().to_string();
    let scaffolds = load("scaffold");
    assert_eq!(scaffolds.training_groups().len(), 1, "the 40 rows without rings");
    assert_apart(&values(&table, &scaffolds, 2, scaffold));
    assert_apart(&values(&table, &load("cluster"), 3, str::to_owned));
}

#[test]
fn groups_that_fit_nowhere_are_refused() {
    let folder = Folder::new();
    folder.file("pool.tsv", repeated());
    for (splits, said) in [
        (
            "validation = 5, group = 'repeats'",
            "none fits into the validation split of 5 rows; 7 groups of up to 20 rows",
        ),
        ("validation = 20, group = 'clutser'", "clutser"),
        ("validation = 20, group = 'repeats', order = 'file'", "data.splits.group = \"repeats\""),
        ("validation = 20, train = 70, group = 'repeats'", "data.splits"),
    ] {
        let error = load(&folder, splits).err().unwrap();
        assert!(error.contains(said), "{splits}: {error}");
    }
    let rows = |range: std::ops::Range<usize>| {
        range.map(|row| format!("{row}\tword number {row}\tx{row}\n")).collect::<String>()
    };
    folder.file("pool.tsv", format!("id\tdescription\tsmiles\n{}", rows(0..20)));
    let error = load(&folder, "validation = 5, group = 'scaffold'").err().unwrap();
    assert!(error.contains("data.splits.group = \"scaffold\", with \"x"), "{error}");
}
