//! Any bytes as a file of data. The first byte says which reader gets them; what it accepts must be
//! consistent.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use dsokr_basis::RowSource;
use dsokr_basis::store::Stored;
use dsokr_data::config::OnBadRow;
use dsokr_data::feature_file::{read_features, read_packed};
use dsokr_data::multi_label::{MultiLabel, read_arff, read_libsvm};
use dsokr_data::read_candidate_lists;
use dsokr_data::table::Table;
use libfuzzer_sys::fuzz_target;

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("dsokr-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
});

/// The columns of tables.
const COLUMNS: [&str; 2] = ["id", "text"];

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, bytes)) = bytes.split_first() else {
        return;
    };
    let names =
        ["a.csv", "a.tsv", "a.jsonl", "a.arff", "a.txt", "a.npy", "a.safetensors", "lists.jsonl"];
    let name = names[usize::from(kind) % names.len()];
    let path = FOLDER.join(name);
    fs::write(&path, bytes).unwrap();
    match name {
        "a.csv" | "a.tsv" | "a.jsonl" => {
            for action in [OnBadRow::Stop, OnBadRow::Skip] {
                if let Ok(table) = Table::read_rows(&path, &COLUMNS, action) {
                    assert!(!table.is_empty());
                    for column in COLUMNS {
                        assert_eq!(table.column(column).unwrap().len(), table.len());
                    }
                }
            }
        }
        "a.arff" => check(read_arff(&path, 1)),
        "a.txt" => check(read_libsvm(&path, None)),
        "a.npy" | "a.safetensors" => {
            if let Ok(rows) = read_features(&path, None) {
                assert!(rows.len() > 0 && rows.width() > 0);
                rows.block(0..rows.len()).unwrap();
            }
            drop(read_packed(&path, None));
            drop(Stored::open(&path, "basis", 1));
        }
        _ => drop(read_candidate_lists(&path, &["1".to_owned(), "2".to_owned()])),
    }
});

fn check<E>(read: Result<MultiLabel, E>) {
    if let Ok(read) = read {
        assert!(!read.is_empty());
        assert_eq!(RowSource::len(&read.inputs), read.len());
    }
}
