//! Multi-label files: what is read, what is refused, and that nothing panics.

use std::path::{Path, PathBuf};

use dsokr_basis::features::{BitRows, DenseRows, SparseRows};
use dsokr_basis::{Features, RowSource};
use dsokr_core::Error::File;
use dsokr_data::Error;
use dsokr_data::multi_label::{MultiLabel, read_arff, read_libsvm};
use proptest::prelude::*;

fn with_file<T>(text: &[u8], read: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, text).unwrap();
    read(&path)
}

fn arff(text: &str, labels: impl Into<Option<usize>>) -> Result<MultiLabel, Error> {
    with_file(text.as_bytes(), |path| read_arff(path, labels))
}

fn libsvm(text: &str, labels: Option<usize>) -> Result<MultiLabel, Error> {
    with_file(text.as_bytes(), |path| read_libsvm(path, labels))
}

/// Line and reason of an error in a file.
fn line(result: Result<MultiLabel, Error>) -> (usize, String) {
    match result {
        Err(Error::Core(File { line: Some(line), message, .. })) => (line, message),
        other => panic!("{other:?}"),
    }
}

const HEADER: &str = "% a comment\n@RELATION 'x y'\n@attribute a numeric\n\
    @attribute 'b b' {0,1}\n@Attribute c REAL\n@attribute L1 {0,1}\n@attribute \"L 2\" {0, 1}\n@data\n";

#[test]
fn sparse_and_dense_arff() {
    let sparse = arff(&format!("{HEADER}{{0 2.5,4 1}}\n\n{{}}\n% c\n{{3 1, 1 1 ,2 0}}\r\n"), 2);
    let sparse = sparse.unwrap();
    let rows = [vec![(0, 2.5)], vec![], vec![(1, 1.0)]];
    assert_eq!(sparse.inputs, Features::Sparse(SparseRows::from_rows(3, rows).unwrap()));
    assert_eq!(sparse.labels, BitRows::from_indices(2, [vec![1], vec![], vec![0]]).unwrap());
    assert_eq!(sparse.names, ["L1", "L 2"]);
    let dense = arff(&format!("{HEADER}2.5,0,-1e3,0,'1'\n0, 1 ,0,1,0\n"), 2).unwrap();
    let values = vec![2.5, 0.0, -1e3, 0.0, 1.0, 0.0];
    assert_eq!(dense.inputs, Features::Dense(DenseRows::new(3, values).unwrap()));
    assert_eq!(dense.labels, BitRows::from_indices(2, [vec![1], vec![0]]).unwrap());
}

#[test]
fn arff_errors_have_the_line() {
    let data = |row: &str| line(arff(&format!("{HEADER}{{0 1}}\n{row}\n"), 2));
    for (row, part) in [
        ("{5 1}", "index 5, allowed: 0..=4"),
        ("{0 1, 0 2}", "index 0 twice"),
        ("{0 1", "ends with }"),
        ("{0}", "an index and a value"),
        ("{x 1}", "an index and a value"),
        ("{0 ?}", "a finite number"),
        ("{0 inf}", "a finite number"),
        ("{1 2}", "allowed: 0, 1"),
        ("1,0,0,0", "4 values for 5 attributes"),
    ] {
        let (at, reason) = data(row);
        assert_eq!(at, 10, "{row}");
        assert!(reason.contains(part), "{row}: {reason}");
    }
    let labels = "@attribute a real\n@attribute l numeric\n@data\n1,0.5\n";
    assert_eq!(line(arff(labels, 1)).0, 4);
    let head = |text: &str| line(arff(text, 1));
    assert_eq!(head("@relation x\n@attribute a string\n").0, 2);
    assert_eq!(head("@attribute a {red,blue}\n").0, 1);
    assert_eq!(head("@attribute a\n").0, 1);
    assert_eq!(head("hello\n").0, 1);
    assert!(head("@relation x\n").1.contains("@data"));
    assert!(matches!(arff(HEADER, 2), Err(Error::Core(File { .. }))));
    for count in [0, 5, 9] {
        let error = arff(HEADER, count).unwrap_err().to_string();
        assert_eq!(error, format!("data.labels = {count}: expected 1 to 4"));
    }
    let missing = read_arff(Path::new("/no/such/file"), 1);
    assert!(matches!(missing, Err(Error::Io { .. })));
    let latin = with_file(b"@relation \xff\n", |path| read_arff(path, 1));
    assert_eq!(line(latin).0, 1);
}

/// Weka's `Utils.quote` writes a backslash before a quotation mark, a percent sign and a backslash, which SciPy's `loadarff`
/// leaves in the names; both refuse two attributes of one name.
#[test]
fn names_of_attributes_have_quotation_marks_and_escapes() {
    let names = |attributes: &str, count: usize| {
        let text =
            format!("@relation x\n@attribute a real\n{attributes}@data\n0{}\n", ",1".repeat(count));
        arff(&text, count).unwrap().names
    };
    let escaped = "@attribute 'don\\'t' {0,1}\n@attribute '50\\% off'{0,1}\n@attribute \"a \\\"b\\\" \\\\ c\" {0,1}\n";
    assert_eq!(names(escaped, 3), ["don't", "50% off", "a \"b\" \\ c"]);
    assert_eq!(names("@attribute z{0,1}\n@attribute\t'y'\t{0,1}\n", 2), ["z", "y"]);
    let twice = "@attribute a real\n@attribute y {0,1}\n@attribute 'y' {0,1}\n@data\n1,0,1\n";
    let (at, reason) = line(arff(twice, 2));
    assert!(at == 3 && reason.contains("a second attribute \"y\""), "{reason}");
    for text in ["'y", "'y\\", "'y\\' {0,1}", "y"] {
        let (at, reason) = line(arff(&format!("@attribute {text}\n"), 1));
        assert!(at == 1 && reason.contains("a name and a type"), "{text}: {reason}");
    }
}

/// A short file may name more labels than there is memory for.
#[cfg(target_os = "linux")]
#[test]
fn labels_beyond_the_memory_are_refused() {
    let text = "0 1:1\n".repeat(200_000);
    let message = libsvm(&text, Some(1 << 40)).unwrap_err().to_string();
    assert!(message.contains("1099511627776 labels"), "{message}");
    assert!(message.contains("available is"), "{message}");
    let (at, message) = line(libsvm("0 1:1\n77777777 1:1\n", None));
    assert_eq!((at, &*message), (2, "label \"77777777\", allowed: 0..=4194303, or +1 and -1"));
}

#[test]
fn libsvm_files() {
    let text = "1,3 2:0.5 1:-2 # comment\n 4:1\n\n0 \n3.0 3:1e1\n";
    let data = libsvm(text, None).unwrap();
    let rows = [vec![(0, -2.0), (1, 0.5)], vec![(3, 1.0)], vec![], vec![(2, 10.0)]];
    assert_eq!(data.inputs, Features::Sparse(SparseRows::from_rows(4, rows).unwrap()));
    let labels = [vec![1, 3], vec![], vec![0], vec![3]];
    assert_eq!(data.labels, BitRows::from_indices(4, labels).unwrap());
    assert_eq!(data.names, ["0", "1", "2", "3"]);
    let wider = libsvm("6 9:1 1:2\n", Some(9)).unwrap();
    let rows = [vec![(0, 2.0), (8, 1.0)]];
    assert_eq!(wider.inputs, Features::Sparse(SparseRows::from_rows(9, rows).unwrap()));
    assert_eq!(wider.labels.width(), 9);
    for (text, labels, part) in [
        ("7 1:1\n", Some(7), "label \"7\", allowed: 0..=6"),
        ("-2 1:1\n", None, "label \"-2\", allowed: 0..="),
        ("+-1 1:1\n", None, "label"),
        ("1 1:1 1:2\n", None, "feature 1 twice"),
        ("1 1:nan\n", None, "a finite number"),
        ("1 1:1 2\n", None, "feature:value"),
    ] {
        let (at, reason) = line(libsvm(&format!("0 1:1\n{text}"), labels));
        assert_eq!(at, 2, "{text}");
        assert!(reason.contains(part), "{text}: {reason}");
    }
    assert!(matches!(libsvm("\n", None), Err(Error::Core(File { .. }))));
}

/// Features that count from 0, the header of the Extreme Classification Repository, binary classes and groups of rows.
#[test]
fn libsvm_files_of_other_tools() {
    let sparse = |width, rows: Vec<Vec<(u32, f32)>>| {
        Features::Sparse(SparseRows::from_rows(width, rows).unwrap())
    };
    // as scikit-learn's load_svmlight_file(zero_based="auto")
    let from_zero = libsvm("0 0:2 3:1\n1 1:1\n", None).unwrap();
    assert_eq!(from_zero.inputs, sparse(4, vec![vec![(0, 2.0), (3, 1.0)], vec![(1, 1.0)]]));
    // the header says how wide rows are, and that features count from 0
    let repository = libsvm("2 6 5\n1,4 1:2\n 4:1\n", None).unwrap();
    assert_eq!(repository.inputs, sparse(6, vec![vec![(1, 2.0)], vec![(4, 1.0)]]));
    assert_eq!(repository.labels, BitRows::from_indices(5, [vec![1, 4], vec![]]).unwrap());
    for (text, said) in [
        ("3 6 5\n1 1:2\n", "the first line states 3 rows"),
        ("1 6 5\n1 6:2\n", "6 features, from 0"),
        ("1 6 5\n5 5:2\n", "label \"5\", allowed: 0..=4"),
        ("+1 1:1\n-1 1:1\n2 1:1\n", "row 3 has the labels [2]"),
    ] {
        let error = libsvm(text, None).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
    let binary = libsvm("+1 qid:1 1:1\n-1 qid:1 2:1\n1 qid:2 1:3\n", None).unwrap();
    assert_eq!(binary.names, ["+1"]);
    assert_eq!(binary.labels, BitRows::from_indices(1, [vec![0], vec![], vec![0]]).unwrap());
    assert_eq!(binary.inputs, sparse(2, vec![vec![(0, 1.0)], vec![(1, 1.0)], vec![(0, 3.0)]]));
}

/// MEKA's `-C n`: labels come first, or last for a negative n; and values that sparse rows need not list.
#[test]
fn arff_files_of_meka() {
    let names =
        "@attribute l {0,1}\n@attribute k {0,1}\n@attribute x numeric\n@attribute y numeric\n";
    let head = |relation: &str| format!("@relation {relation}\n{names}@data\n");
    let dense = |width, values: &[f32]| {
        Features::Dense(dsokr_basis::features::DenseRows::new(width, values.to_vec()).unwrap())
    };
    for relation in [
        "'Music: -C 2'",
        "\"Music: -C 2 -split-number 391\"",
        "Music:-C 2",
        "'E-weka.filters.unsupervised.attribute.StringToWordVector -C -W 1000: -C 2'",
    ] {
        let first = arff(&(head(relation) + "1,0,0.5,2\n0,1,3,4\n"), None).unwrap();
        assert_eq!(first.names, ["l", "k"], "{relation}");
        assert_eq!(first.inputs, dense(2, &[0.5, 2.0, 3.0, 4.0]));
        assert_eq!(first.labels, BitRows::from_indices(2, [vec![0], vec![1]]).unwrap());
    }
    let labels_last = "@attribute x numeric\n@attribute l {0,1}\n@data\n0.5,1\n";
    let last = arff(&format!("@relation 'a: -C -1'\n{labels_last}"), None).unwrap();
    assert_eq!((last.names.as_slice(), last.inputs), (&["l".to_owned()][..], dense(1, &[0.5])));
    // without it, the last attributes, whose number must be given
    let plain = format!("@relation a\n{labels_last}");
    assert_eq!(arff(&plain, 1).unwrap().names, ["l"]);
    assert!(arff(&plain, None).unwrap_err().to_string().contains("data.labels = absent"));
    let error = arff(&format!("@relation 'a: -C -1'\n{labels_last}"), 2).unwrap_err().to_string();
    assert!(error.contains("data.labels = 2") && error.contains("-C -1"), "{error}");

    // {1,0} is 1 where a sparse row does not list it, in inputs and in labels
    let text = "@relation a\n@attribute x {1,0}\n@attribute y numeric\n@attribute l {1,0}\n@attribute k {0,1}\n\
                @data\n{1 2}\n{0 0, 2 0, 3 1}\n";
    let implied = arff(text, 2).unwrap();
    let rows = [vec![(0, 1.0), (1, 2.0)], vec![]];
    assert_eq!(implied.inputs, Features::Sparse(SparseRows::from_rows(2, rows).unwrap()));
    assert_eq!(implied.labels, BitRows::from_indices(2, [vec![0], vec![1]]).unwrap());
}

proptest! {
    /// Whatever the bytes, reading ends with rows or an error.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = with_file(&bytes, |path| read_libsvm(path, None));
        let _ = with_file(&bytes, |path| read_arff(path, 1));
    }

    /// Lines of the characters that the formats are made of.
    #[test]
    fn almost_files_are_read_or_refused(text in "[0-3{}:, .'\"%#a@\\-e\n]{0,120}") {
        let _ = libsvm(&text, None);
        let _ = arff(&format!("{HEADER}{text}"), 2);
        let _ = arff(&format!("@attribute {text}"), 1);
    }

    /// What is written is what is read, in all three layouts.
    #[test]
    fn files_give_back_their_rows(
        rows in prop::collection::vec(
            (prop::collection::btree_map(0u32..6, -100i32..100, 0..6),
             prop::collection::btree_set(0u32..3, 0..3)), 1..12)
    ) {
        let inputs = rows.iter().map(|(row, _)| {
            row.iter().filter(|e| *e.1 != 0).map(|(&c, &v)| (c, v as f32 / 8.0)).collect::<Vec<_>>()
        });
        let inputs = Features::Sparse(SparseRows::from_rows(6, inputs).unwrap());
        let sets = rows.iter().map(|(_, set)| set.iter().copied().collect::<Vec<_>>());
        let labels = BitRows::from_indices(3, sets).unwrap();
        let mut svm = String::new();
let mut sparse = String::new();
let mut dense = String::new();
        for j in 0..6 {
            sparse += &format!("@attribute x{j} numeric\n");
        }
        for j in 0..3 {
            sparse += &format!("@attribute {j} {{0,1}}\n");
        }
        sparse += "@data\n";
        dense += &sparse;
        for (row, set) in &rows {
            let set: Vec<String> = set.iter().map(u32::to_string).collect();
            let value = |j: &u32| row.get(j).map_or(0.0, |&v| f64::from(v) / 8.0);
            let entries: Vec<String> = row.keys().map(|j| format!("{}:{}", j + 1, value(j))).collect();
            svm += &format!("{} {}\n", set.join(","), entries.join(" "));
            let mut entries: Vec<String> = row.keys().map(|j| format!("{j} {}", value(j))).collect();
            entries.extend(set.iter().map(|j| format!("{} 1", j.parse::<u32>().unwrap() + 6)));
            sparse += &format!("{{{}}}\n", entries.join(", "));
            let mut values: Vec<String> = (0..6).map(|j| value(&j).to_string()).collect();
            values.extend((0..3).map(|j: u32| u8::from(set.contains(&j.to_string())).to_string()));
            dense += &format!("{}\n", values.join(","));
        }
        // a line without labels and entries is an empty line, which is no row
        if rows.iter().all(|(row, set)| !row.is_empty() || !set.is_empty()) {
            let svm = libsvm(&svm, Some(3));
            let widest = rows.iter().filter_map(|(row, _)| row.keys().last()).max();
            match widest {
                Some(&widest) => {
                    let svm = svm.unwrap();
                    prop_assert_eq!(&svm.labels, &labels);
                    prop_assert_eq!(svm.inputs.width(), widest as usize + 1);
                    if widest == 5 {
                        prop_assert_eq!(&svm.inputs, &inputs);
                    }
                }
                None => prop_assert!(svm.is_err()),
            }
        }
        let sparse = arff(&sparse, 3).unwrap();
        prop_assert_eq!((&sparse.inputs, &sparse.labels), (&inputs, &labels));
        let dense = arff(&dense, 3).unwrap();
        prop_assert_eq!(&dense.labels, &labels);
        let Features::Dense(inputs) = &dense.inputs else { panic!("dense") };
        let expanded: Vec<f32> = rows.iter().flat_map(|(row, _)| {
            (0..6).map(|j| row.get(&j).map_or(0.0, |&v| v as f32 / 8.0))
        }).collect();
        prop_assert_eq!(inputs.values(), &expanded[..]);
    }
}

#[test]
fn bibtex() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let root = std::env::var_os("DSOKR_DATA").map_or(PathBuf::from(default), PathBuf::from);
    let path = root.join("bibtex/bibtex-train.arff");
    if !path.exists() {
        return println!("skipped bibtex: DSOKR_DATA has no bibtex/bibtex-train.arff");
    }
    let data = read_arff(&path, 159).unwrap();
    let Features::Sparse(inputs) = &data.inputs else { panic!("sparse rows") };
    assert_eq!((data.labels.len(), inputs.width(), data.labels.width()), (4880, 1836, 159));
    // as often as ", i 1" with i in the range occurs in the text
    let text = std::fs::read_to_string(&path).unwrap();
    let mut features = 0;
    let mut labels = 0;
    for row in text.lines().filter(|line| line.starts_with('{')) {
        for item in row.trim_matches(['{', '}']).split(',').filter(|item| !item.trim().is_empty()) {
            let index: usize = item.split_whitespace().next().unwrap().parse().unwrap();
            if index < 1836 { features += 1 } else { labels += 1 }
        }
    }
    assert_eq!(inputs.entries(), features);
    let ones: u32 = data.labels.values().iter().map(|word| word.count_ones()).sum();
    assert_eq!(ones, labels);
}
