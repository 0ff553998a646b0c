//! Any bytes as a table or as lines of texts; the first byte says which.
//!
//! A table that is read has its columns in full, skipping bad rows changes nothing where there are none,
//! and it is the same again when it is written in each of the formats. A stream has the rows of the table.

#![no_main]

use std::fmt::Write;

use dsokr_data::config::OnBadRow;
use dsokr_data::table::{Table, TextFormat, TextReader, TextRow};
use dsokr_fuzz::{choose, file};
use libfuzzer_sys::fuzz_target;

const COLUMNS: [&str; 2] = ["id", "text"];

fuzz_target!(|bytes: &[u8]| {
    let names = ["a.csv", "a.tsv", "a.jsonl", "a.txt"];
    let Some((name, bytes)) = choose(bytes, &names) else { return };
    match name {
        "a.txt" => lines(bytes),
        name => table(name, bytes),
    }
});

fn table(name: &str, bytes: &[u8]) {
    let path = file(name, bytes);
    let read = |action| Table::read_rows(&path, &COLUMNS, action);
    let stopped = read(OnBadRow::Stop);
    let skipped = read(OnBadRow::Skip);
    let streamed = stream(name, bytes);
    let Ok(skipped) = skipped else {
        assert!(stopped.is_err());
        return;
    };
    let rows = columns(&skipped);
    let ascend = (1..skipped.len()).all(|row| skipped.line(row - 1) < skipped.line(row));
    assert!(!skipped.is_empty() && ascend);
    if skipped.skipped() > 0 {
        assert!(stopped.is_err());
    } else {
        assert_eq!(columns(&stopped.unwrap()), rows);
    }
    if let Some(streamed) = streamed {
        let streamed: Vec<_> =
            streamed.into_iter().map(|row| (row.line, row.id, row.text)).collect();
        let texts = (0..rows.len()).filter(|&row| !rows[row].1.trim().is_empty());
        let texts = texts.map(|row| (skipped.line(row), rows[row].0.clone(), rows[row].1.clone()));
        assert!(texts.eq(streamed), "the stream differs from the table");
    }
    for (name, text) in written(&rows) {
        let again = Table::read(&file(&name, text), &COLUMNS).unwrap();
        assert_eq!(columns(&again), rows, "{name}");
    }
}

fn columns(table: &Table) -> Vec<(String, String)> {
    let [ids, texts] = COLUMNS.map(|name| table.column(name).unwrap().to_vec());
    assert_eq!([ids.len(), texts.len()], [table.len(); 2]);
    ids.into_iter().zip(texts).collect()
}

/// Returns the rows as a stream reads them, bad ones left out; none where it cannot be read.
fn stream(name: &str, bytes: &[u8]) -> Option<Vec<TextRow>> {
    let path = std::path::Path::new(name);
    let format = TextFormat::from_path(path);
    let reader = TextReader::new(path, bytes, format, "text", Some("id"), OnBadRow::Skip);
    let mut reader = reader.ok()?;
    let mut rows = Vec::new();
    loop {
        match reader.batch(3).ok()? {
            batch if batch.is_empty() => break,
            batch => rows.extend(batch),
        }
    }
    Some(rows)
}

/// Returns the files that hold these rows.
fn written(rows: &[(String, String)]) -> Vec<(String, String)> {
    let mut commas = "id,text\n".to_owned();
    let mut tabs = "text\tid\n".to_owned();
    let mut json = String::new();
    for (id, text) in rows {
        let _ =
            writeln!(commas, "\"{}\",\"{}\"", id.replace('"', "\"\""), text.replace('"', "\"\""));
        let _ = writeln!(tabs, "{text}\t{id}");
        let _ = writeln!(json, "{}", serde_json::json!({"text": text, "id": id}));
    }
    let mut files = vec![("b.csv".into(), commas), ("b.jsonl".into(), json)];
    if !rows.iter().any(|(id, text)| format!("{id}{text}").contains(['\t', '\n', '\r'])) {
        files.push(("b.tsv".into(), tabs));
    }
    files
}

fn lines(bytes: &[u8]) {
    let path = file("a.txt", bytes);
    let read = |action| Table::read_lines(&path, "id", "text", action);
    if let Ok(table) = read(OnBadRow::Stop) {
        let rows = columns(&table);
        assert_eq!(columns(&read(OnBadRow::Skip).unwrap()), rows);
        assert!((1..=rows.len()).all(|row| rows[row - 1].0 == row.to_string()));
        // a text may start with a byte-order mark, if it is behind one
        let lines = rows.iter().flat_map(|(_, text)| [text, "\r\n"]);
        let text: String = std::iter::once("\u{feff}").chain(lines).collect();
        let again = Table::read_lines(&file("b.txt", text), "id", "text", OnBadRow::Stop).unwrap();
        assert_eq!(columns(&again), rows);
    }
}
