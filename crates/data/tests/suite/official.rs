use std::collections::HashMap;
use std::error::Error;

use dsokr_basis::features::{Features, MappedRows, RowSource};
use dsokr_data::read_official;
use dsokr_data::table::Table;

use super::features::dense;
use super::{Folder, published};

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn ids_descriptions_and_vectors() -> Outcome {
    let folder = Folder::new();
    let path = folder.file(
        "a.txt",
        "\u{feff}X7\t1 -2.5 3e-2\tThe \"molecule\r\n8\t 4.0  5 +6 \té, an acid\r\n\r\n",
    );
    let official = read_official(&path)?;
    assert_eq!(official.ids, ["X7", "8"]);
    assert_eq!(official.descriptions, ["The \"molecule", "é, an acid"]);
    assert_eq!(
        dense(&Features::from(official.features.clone()))?,
        [vec![1.0, -2.5, 0.03], vec![4.0, 5.0, 6.0]]
    );
    Ok(())
}

#[test]
fn bad_files_are_refused_with_place_and_value() -> Outcome {
    let ragged = "expected 3 (\"cid\", \"mol2vec\", \"description\")";
    let cases: &[(&str, &[u8], String)] = &[
        ("a.txt", b"", "a.txt: the file is empty; at least one row is needed".into()),
        ("a.txt", b"1\t2 3\n", format!("a.txt:1: 2 fields; {ragged}")),
        ("a.txt", b"1\t2 3\ta\n2\t3 4\tb\tc\n", format!("a.txt:2: 4 fields; {ragged}")),
        ("a.txt", b"1\t2 3\ta\n2\t3 4 5\tb\n", "a.txt:2: 3 numbers in column \"mol2vec\"; expected 2, as on line 1".into()),
        ("a.txt", b"1\t2 3\ta\n2\t3\tb\n", "a.txt:2: 1 numbers in column \"mol2vec\"; expected 2, as on line 1".into()),
        ("a.txt", b"1\t2 3\ta\n2\t3 nan\tb\n", "a.txt:2: component 1 of column \"mol2vec\" is \"nan\"; a finite 32-bit number is needed".into()),
        ("a.txt", b"1\t-inf 3\ta\n", "a.txt:1: component 0 of column \"mol2vec\" is \"-inf\"; a finite 32-bit number is needed".into()),
        ("a.txt", b"1\t2 1e39\ta\n", "a.txt:1: component 1 of column \"mol2vec\" is \"1e39\"; a finite 32-bit number is needed".into()),
        ("a.txt", b"1\t2,3\ta\n", "a.txt:1: component 0 of column \"mol2vec\" is \"2,3\"; a finite 32-bit number is needed".into()),
        ("a.txt", b"1\t \ta\n", "a.txt:1: empty value in column \"mol2vec\"; a value is needed".into()),
        ("a.txt", b"\t2\ta\n", "a.txt:1: empty value in column \"cid\"; a value is needed".into()),
        ("a.txt", b"1\t2\t \n", "a.txt:1: empty value in column \"description\"; a value is needed".into()),
        ("a.txt", b"1\t2\ta\n2\t2\tb\n1\t2\tc\n", "a.txt:3: id \"1\" in column \"cid\" is already on line 1; ids must be unique".into()),
        ("a.txt", b"1\t2\ta\n\n2\t2\tb\n", "a.txt:2: blank line inside the table; blank lines are allowed only at the end".into()),
        ("a.txt", b"1\t2\t\xff\n", "a.txt:1: byte 0xff at position 5 of the line is not UTF-8; tables must be UTF-8 text; if it is WINDOWS-1252, as some programs write it (GB18030 of Chinese, SHIFT_JIS of Japanese), convert it: iconv -f WINDOWS-1252 -t UTF-8 a.txt > new-a.txt".into()),
        ("a.txt.gz", b"\x1f\x8b", "a.txt.gz: compressed files (\"gz\") are not read; decompress it first: gzip -dc a.txt.gz > new-a.txt".into()),
    ];
    for (name, content, expected) in cases {
        let folder = Folder::new();
        match read_official(&folder.file(name, content)) {
            Ok(official) => panic!("accepted: {expected}: {official:?}"),
            Err(error) => assert_eq!(&folder.message(error), expected),
        }
    }

    let folder = Folder::new();
    let error = read_official(&folder.path("a.txt")).expect_err("no file");
    assert_eq!(folder.message(error), "a.txt: no such file");
    std::fs::create_dir(folder.path("b.txt"))?;
    let error = read_official(&folder.path("b.txt")).expect_err("a directory");
    assert!(matches!(error, dsokr_data::Error::Io { .. }), "{error}");
    Ok(())
}

/// The published sample against the same vectors in half precision.
#[test]
fn published_sample() -> Outcome {
    let name = "published_sample";
    let Some(sample) = published(name, "chebi20/official_format_sample.txt") else {
        return Ok(());
    };
    let Some(molecules) = published(name, "chebi20/molecules.tsv") else {
        return Ok(());
    };
    let Some(vectors) = published(name, "chebi20/mol2vec.safetensors") else {
        return Ok(());
    };
    let official = read_official(&sample)?;
    assert_eq!(official.ids.len(), 200);
    assert_eq!(official.descriptions.len(), 200);
    let rows_of_features = dense(&Features::from(official.features.clone()))?;

    let molecules = Table::read(&molecules, &["cid"])?;
    let rows: HashMap<&str, usize> =
        molecules.column("cid")?.iter().enumerate().map(|(row, cid)| (cid.as_str(), row)).collect();
    let vectors = MappedRows::open(&vectors, "mol2vec")?;
    assert_eq!(vectors.len(), molecules.len());
    let expected = dense(&vectors)?;
    let mut compared = 0;
    for (id, actual) in official.ids.iter().zip(&rows_of_features) {
        let Some(&row) = rows.get(id.as_str()) else {
            continue;
        };
        assert_eq!(actual.len(), 300);
        for (a, b) in actual.iter().zip(&expected[row]) {
            // Half precision keeps 11 bits; below 2^-14 its steps are 2^-24 wide.
            let step = (a.abs() * 2f32.powi(-11)).max(2f32.powi(-25));
            assert!((a - b).abs() <= step, "{id}: {a} and {b}");
        }
        compared += 1;
    }
    assert_eq!(compared, 200);
    Ok(())
}
