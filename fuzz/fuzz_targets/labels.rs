//! Any bytes as a multi-label file, ARFF or libsvm; the first byte says which. What is read is the same
//! again when it is written in the same format.

#![no_main]

use std::fmt::Write;
use std::path::Path;

use dsokr_basis::{Block, Features, RowSource};
use dsokr_data::multi_label::{MultiLabel, read_arff, read_libsvm};
use dsokr_fuzz::{choose, file};
use libfuzzer_sys::fuzz_target;

/// Wider rows are read but not written again.
const NARROW: usize = 64;

fuzz_target!(|bytes: &[u8]| {
    let Some((name, bytes)) = choose(bytes, &["a.arff", "a.txt"]) else { return };
    let path = file(name, bytes);
    let arff = name == "a.arff";
    for labels in 1..=2 {
        let read = |path: &Path| {
            if arff {
                read_arff(path, labels)
            } else {
                read_libsvm(path, (labels == 2).then_some(3))
            }
        };
        let Ok(read_once) = read(&path) else { continue };
        assert!(!read_once.labels.is_empty());
        assert_eq!(RowSource::len(&read_once.inputs), read_once.labels.len());
        assert_eq!(read_once.labels.width(), read_once.names.len());
        assert!(!arff || read_once.names.len() == labels);
        if read_once.inputs.width() > NARROW || read_once.names.len() > NARROW {
            continue;
        }
        let text = if arff { written_arff(&read_once) } else { written_libsvm(&read_once) };
        let again = read(&file(name, &text)).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again.labels, read_once.labels, "{text}");
        // columns behind the last one that a libsvm file names are not known
        if arff {
            assert_eq!(again.inputs, read_once.inputs, "{text}")
        } else {
            assert_eq!(rows(&again), rows(&read_once), "{text}")
        }
        file(name, bytes);
    }
});

/// Returns the columns that are not 0, with their values, of each row.
fn rows(read: &MultiLabel) -> Vec<Vec<(usize, f32)>> {
    let block = read.inputs.block(0..read.labels.len()).unwrap();
    let entry = |row: usize| match &block {
        Block::Dense(rows) => {
            let values = rows.row(row).iter().copied().enumerate();
            values.filter(|(_, value)| *value != 0.0).collect()
        }
        Block::Sparse(rows) => {
            let (columns, values) = rows.row(row);
            columns.iter().map(|&column| column as usize).zip(values.iter().copied()).collect()
        }
        Block::Bits(_) => unreachable!("inputs are numbers"),
    };
    (0..read.labels.len()).map(entry).collect()
}

fn sets(read: &MultiLabel) -> Vec<Vec<usize>> {
    (0..read.labels.len()).map(|row| read.labels.ones(row).collect()).collect()
}

fn written_arff(read: &MultiLabel) -> String {
    let width = read.inputs.width();
    let mut text = "@relation again\n".to_owned();
    (0..width).for_each(|at| text += &format!("@attribute x{at} numeric\n"));
    (0..read.names.len()).for_each(|at| text += &format!("@attribute 'y {at}' {{0,1}}\n"));
    text += "@data\n";
    let dense = matches!(read.inputs, Features::Dense(_));
    for (row, set) in rows(read).iter().zip(sets(read)) {
        let labels = set.iter().map(|label| (width + label, 1.0));
        let entries: Vec<(usize, f32)> = row.iter().copied().chain(labels).collect();
        let cells: Vec<String> = if dense {
            let value =
                |at| entries.iter().find(|entry| entry.0 == at).map_or(0.0, |entry| entry.1);
            (0..width + read.names.len()).map(|at| value(at).to_string()).collect()
        } else {
            entries.iter().map(|(at, value)| format!("{at} {value}")).collect()
        };
        let cells = cells.join(",");
        let _ = if dense { writeln!(text, "{cells}") } else { writeln!(text, "{{{cells}}}") };
    }
    text
}

fn written_libsvm(read: &MultiLabel) -> String {
    let mut text = String::new();
    for (row, set) in rows(read).iter().zip(sets(read)) {
        let labels: Vec<String> = set.iter().map(usize::to_string).collect();
        let _ = write!(text, "{}", labels.join(","));
        // a row without features is not a blank line
        let row = if row.is_empty() { &[(0, 0.0)] } else { &row[..] };
        row.iter().for_each(|(at, value)| text += &format!(" {}:{value}", at + 1));
        text.push('\n');
    }
    text
}
