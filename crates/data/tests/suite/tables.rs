use std::error::Error;
use std::fmt::Write;

use dsokr_data::table::{Table, unique_ids};

use super::{Folder, published};

type Outcome = Result<(), Box<dyn Error>>;

/// What is tried, file name, content, and the expected id, text and line of each row.
type Accepted<'c> = (&'c str, &'c str, &'c str, &'c [(&'c str, &'c str, usize)]);

/// Rows of `id` and `text` with their lines.
fn rows(table: &Table) -> Result<Vec<(String, String, usize)>, dsokr_data::Error> {
    let (ids, texts) = (table.column("id")?, table.column("text")?);
    assert_eq!(ids.len(), table.len());
    assert_eq!(texts.len(), table.len());
    Ok((0..table.len())
        .map(|row| (ids[row].clone(), texts[row].clone(), table.line(row)))
        .collect())
}

#[test]
fn good_tables_are_read_as_written() -> Outcome {
    let long = "x".repeat(200_000);
    let long_line = format!("id\ttext\n1\t{long}\n");
    let cases: &[Accepted] = &[
        ("plain", "a.tsv", "id\ttext\n1\ta b\n2\tc\n", &[("1", "a b", 2), ("2", "c", 3)]),
        ("no last line end", "a.tsv", "id\ttext\n1\ta", &[("1", "a", 2)]),
        ("other order, other columns", "a.tsv", "x\ttext\ty\tid\n-\ta\t-\t1\n", &[("1", "a", 2)]),
        (
            "stray quotes are characters",
            "a.tsv",
            "id\ttext\n1\t\"a\n2\t5\" b\n",
            &[("1", "\"a", 2), ("2", "5\" b", 3)],
        ),
        ("empty fields", "a.tsv", "id\ttext\n\t\n", &[("", "", 2)]),
        ("byte-order mark", "a.tsv", "\u{feff}id\ttext\n1\ta\n", &[("1", "a", 2)]),
        (
            "line ends of Windows",
            "a.tsv",
            "id\ttext\r\n1\ta\r\n2\tb\r\n",
            &[("1", "a", 2), ("2", "b", 3)],
        ),
        ("blank lines at the end", "a.tsv", "id\ttext\n1\ta\n\n \n\n", &[("1", "a", 2)]),
        ("extension in capitals", "A.TSV", "id\ttext\n1\ta\n", &[("1", "a", 2)]),
        ("not ASCII", "a.tsv", "id\ttext\n1\tα-D-glucose\n", &[("1", "α-D-glucose", 2)]),
        ("a long line", "a.tsv", &long_line, &[("1", &long, 2)]),
        ("plain", "a.csv", "id,text\n1,a b\n2,c\n", &[("1", "a b", 2), ("2", "c", 3)]),
        (
            "quoted",
            "a.csv",
            "id,text\n1,\"a, \"\"b\"\"\"\n2,c\n",
            &[("1", "a, \"b\"", 2), ("2", "c", 3)],
        ),
        (
            "a field of two lines",
            "a.csv",
            "id,text\n1,\"a\nb\"\n2,c\n",
            &[("1", "a\nb", 2), ("2", "c", 4)],
        ),
        ("tabs are characters", "a.csv", "id,text\n1,a\tb\n", &[("1", "a\tb", 2)]),
        ("byte-order mark", "a.csv", "\u{feff}\"id\",text\n1,a\n", &[("1", "a", 2)]),
        (
            "line ends of Windows",
            "a.csv",
            "id,text\r\n1,\"a\r\nb\"\r\n2,c\r\n",
            &[("1", "a\r\nb", 2), ("2", "c", 4)],
        ),
        (
            "quoted carriage returns",
            "a.csv",
            "id,text\n1,\"a\rb\"\"\r\"\n",
            &[("1", "a\rb\"\r", 2)],
        ),
        ("blank lines at the end", "a.csv", "id,text\n1,a\n\n\n", &[("1", "a", 2)]),
        (
            "blank lines of Windows at the end",
            "a.csv",
            "id,text\r\n1,a\r\n\r\n\r\n",
            &[("1", "a", 2)],
        ),
        (
            "plain",
            "a.jsonl",
            "{\"id\": \"1\", \"text\": \"a\"}\n{\"text\": \"b\", \"id\": \"2\", \"x\": [1]}\n",
            &[("1", "a", 1), ("2", "b", 2)],
        ),
        (
            "numbers as written",
            "a.jsonl",
            "{\"id\": 12345678901234567890123, \"text\": 1.50e-3}\n{\"id\":-0,\"text\":2}",
            &[("12345678901234567890123", "1.50e-3", 1), ("-0", "2", 2)],
        ),
        (
            "escapes",
            "a.ndjson",
            "{\"id\": \"1\", \"te\\u0078t\": \"a\\n\\u00e9\\ud83e\\uddea\"}\n",
            &[("1", "a\né🧪", 1)],
        ),
        (
            "mark, Windows, blank at the end",
            "a.jsonl",
            "\u{feff}{\"id\":1,\"text\":\"a\"}\r\n\r\n\r\n",
            &[("1", "a", 1)],
        ),
    ];
    for (case, name, content, expected) in cases {
        let folder = Folder::new();
        let table = Table::read(&folder.file(name, content), &["id", "text"])
            .map_err(|error| format!("{name}, {case}: {error}"))?;
        let found = rows(&table)?;
        let found: Vec<_> =
            found.iter().map(|(id, text, line)| (id.as_str(), text.as_str(), *line)).collect();
        assert_eq!(&found, expected, "{name}, {case}");
    }
    Ok(())
}

#[test]
fn bad_tables_are_refused_with_place_and_value() {
    let gzip: &[u8] = b"\x1f\x8b\x08\x00";
    let cases: &[(&str, &[u8], &str)] = &[
        ("a.tsv", b"", "a.tsv: the file is empty; at least one row is needed"),
        ("a.csv", b"", "a.csv: the file is empty; at least one row is needed"),
        ("a.jsonl", b"\n\n", "a.jsonl: the file is empty; at least one row is needed"),
        ("a.tsv", b"\xef\xbb\xbf", "a.tsv: the file is empty; at least one row is needed"),
        (
            "a.tsv",
            b"id\ttext\n",
            "a.tsv: zero rows after the header (columns: \"id\", \"text\"); at least one is needed",
        ),
        (
            "a.csv",
            b"id,text\r\n\r\n",
            "a.csv: zero rows after the header (columns: \"id\", \"text\"); at least one is needed",
        ),
        ("a.tsv", b"cid\ttext\n1\ta\n", "a.tsv: no column \"id\"; the file has: \"cid\", \"text\""),
        ("a.csv", b"id, text\n1,a\n", "a.csv: no column \"text\"; the file has: \"id\", \" text\""),
        (
            "a.tsv",
            b"id\ttext\tid\n1\ta\t2\n",
            "a.tsv:1: \"id\" names both column 1 and column 3; names must be distinct",
        ),
        (
            "a.csv",
            b"text,id,text\n1,a,2\n",
            "a.csv:1: \"text\" names both column 1 and column 3; names must be distinct",
        ),
        (
            "a.jsonl",
            b"{\"id\":1,\"text\":\"a\"}\n{\"id\":1,\"text\":\"a\",\"id\":2}\n",
            "a.jsonl:2: \"id\" names both column 1 and column 3; names must be distinct",
        ),
        ("a.tsv", b"id\ttext\n1\ta\n2\n", "a.tsv:3: 1 fields; expected 2 (\"id\", \"text\")"),
        ("a.tsv", b"id\ttext\n1\ta\tb\n", "a.tsv:2: 3 fields; expected 2 (\"id\", \"text\")"),
        (
            "a.csv",
            b"id,text\n1,\"a\nb\"\n2,c,d\n",
            "a.csv:4: 3 fields; expected 2 (\"id\", \"text\")",
        ),
        (
            "a.tsv",
            b"id\ttext\n1\ta\n\n\n2\tb\n",
            "a.tsv:3: blank line inside the table; blank lines are allowed only at the end",
        ),
        (
            "a.tsv",
            b"\nid\ttext\n1\ta\n",
            "a.tsv:1: blank line inside the table; blank lines are allowed only at the end",
        ),
        (
            "a.csv",
            b"id,text\n1,a\n\n2,b\n",
            "a.csv:3: blank line inside the table; blank lines are allowed only at the end",
        ),
        (
            "a.csv",
            b"id,text\r\n1,a\r\n\r\n2,b\r\n",
            "a.csv:3: blank line inside the table; blank lines are allowed only at the end",
        ),
        (
            "a.csv",
            b"\nid,text\n1,a\n",
            "a.csv:1: blank line inside the table; blank lines are allowed only at the end",
        ),
        (
            "a.jsonl",
            b"{\"id\":1,\"text\":\"a\"}\n\n{\"id\":2,\"text\":\"a\"}\n",
            "a.jsonl:2: blank line inside the table; blank lines are allowed only at the end",
        ),
        (
            "a.csv",
            b"id,text\n1,\"a\n2,b\n",
            "a.csv:2: the record that starts here has a quotation mark without a partner (\"1,\\\"a\\n2,b\"); quote a field on both sides and double the marks inside it (RFC 4180)",
        ),
        (
            "a.csv",
            b"id,text\r1,a\r2,b\r",
            "a.csv:1: a carriage return without a line feed; lines end with \\n or \\r\\n, and a field with either in it is quoted (RFC 4180)",
        ),
        (
            "a.csv",
            b"id,text\r\n1,\"a\r\"\r\n2,b\r\r\n",
            "a.csv:3: a carriage return without a line feed; lines end with \\n or \\r\\n, and a field with either in it is quoted (RFC 4180)",
        ),
        (
            "a.tsv",
            b"id\ttext\n1\ta\xff\n",
            "a.tsv:2: byte 0xff at position 4 of the line is not UTF-8; tables must be UTF-8 text",
        ),
        (
            "a.csv",
            b"id,text\n1,a\n2,\xe9\n",
            "a.csv:3: byte 0xe9 at position 3 of the line is not UTF-8; tables must be UTF-8 text",
        ),
        (
            "a.csv",
            b"\xff\xfei\0d\0",
            "a.csv:1: byte 0xff at position 1 of the line is not UTF-8; tables must be UTF-8 text",
        ),
        (
            "a.tsv",
            gzip,
            "a.tsv:1: byte 0x8b at position 2 of the line is not UTF-8; tables must be UTF-8 text",
        ),
        ("a.tsv.gz", b"id\n", "a.tsv.gz: cannot be read: unexpected end of file"),
        ("a.tsv.xz", b"", "a.tsv.xz: compressed files (\"xz\") are not read; decompress it first"),
        (
            "a.txt",
            b"1",
            "a.txt: unknown extension \"txt\"; allowed: .csv, .tsv, .jsonl, .ndjson, .mgf, .msp, .massbank, also with .gz behind (data.source = \"official\" reads the official ChEBI-20 .txt layout)",
        ),
        (
            "a",
            b"1",
            "a: unknown extension \"\"; allowed: .csv, .tsv, .jsonl, .ndjson, .mgf, .msp, .massbank, also with .gz behind (data.source = \"official\" reads the official ChEBI-20 .txt layout)",
        ),
        (
            "a.jsonl",
            b"{\"id\":1,\"text\":\"a\"}\n{\"id\":1,\n",
            "a.jsonl:2: not JSON at position 8: EOF while parsing a value; each line must be one JSON object",
        ),
        (
            "a.jsonl",
            b"{\"id\": 1 \"text\"}\n",
            "a.jsonl:1: not JSON at position 10: expected `,` or `}`; each line must be one JSON object",
        ),
        (
            "a.jsonl",
            b"{\"id\":1,\"text\":\"\\ud800\"}\n",
            "a.jsonl:1: not JSON at position 23: unexpected end of hex escape; each line must be one JSON object",
        ),
        (
            "a.jsonl",
            b"{\"id\":1,\"text\":\"a\"} x\n",
            "a.jsonl:1: not JSON at position 21: trailing characters; each line must be one JSON object",
        ),
        ("a.jsonl", b"[1, 2]\n", "a.jsonl:1: found [1, 2]; each line must be one JSON object"),
        ("a.jsonl", b"\"text\"\n", "a.jsonl:1: found \"text\"; each line must be one JSON object"),
        (
            "a.jsonl",
            b"{\"id\":1,\"text\":\"a\"}\n{\"ID\":1,\"text\":\"a\"}\n",
            "a.jsonl:2: no key \"id\"; this line has: \"ID\", \"text\"",
        ),
        ("a.jsonl", b"{}\n", "a.jsonl:1: no key \"id\"; this line has: none"),
        (
            "a.jsonl",
            b"{\"id\":{},\"text\":\"a\"}\n",
            "a.jsonl:1: key \"id\" holds {}; a string, a number, null or a list of strings or of numbers is needed",
        ),
        (
            "a.jsonl",
            b"{\"id\":1,\"text\":[\"a;b\"]}\n",
            "a.jsonl:1: key \"text\" holds [\"a;b\"]; a string, a number, null or a list of strings or of numbers is needed",
        ),
    ];
    for (name, content, expected) in cases {
        let folder = Folder::new();
        let path = folder.file(name, content);
        match Table::read(&path, &["id", "text"]) {
            Ok(table) => panic!("accepted: {expected}: {table:?}"),
            Err(error) => assert_eq!(&folder.message(error), expected),
        }
    }
}

#[test]
fn values_of_json_are_cells() -> Outcome {
    let folder = Folder::new();
    let line = b"{\"id\":1,\"a\":[\"x\",\"y z\"],\"b\":[2,1.5],\"c\":null,\"d\":true,\"e\":[]}\n";
    let path = folder.file("a.jsonl", line);
    let table = Table::read(&path, &["a", "b", "c", "d", "e"])?;
    let expected = [("a", "x;y z"), ("b", "2 1.5"), ("c", ""), ("d", "true"), ("e", "")];
    for (name, cell) in expected {
        assert_eq!(table.column(name)?, [cell], "{name}");
    }
    let parquet = Table::read(&folder.path("a.parquet"), &["a"]).expect_err("parquet");
    assert!(folder.message(parquet).contains("pandas.read_parquet("));
    Ok(())
}

#[test]
fn missing_files_and_directories_are_told_apart() -> Outcome {
    let folder = Folder::new();
    for name in ["a.tsv", "a.csv", "a.jsonl"] {
        let path = folder.path(name);
        let error = Table::read(&path, &["id"]).expect_err("no file");
        assert!(matches!(error, dsokr_data::Error::Io { .. }));
        assert_eq!(folder.message(error), format!("{name}: no such file"));

        std::fs::create_dir(&path)?;
        let error = Table::read(&path, &["id"]).expect_err("a directory");
        assert!(matches!(error, dsokr_data::Error::Io { .. }));
        assert_eq!(folder.message(error), format!("{name}: is a directory; a file is needed"));
    }
    Ok(())
}

#[test]
fn ids_must_be_unique_and_not_empty() -> Outcome {
    let folder = Folder::new();
    let path = folder.file("good.csv", "id,text\nb,\"x\ny\"\na,x\n");
    let table = Table::read(&path, &["id"])?;
    let rows = unique_ids(&table, "id")?;
    assert_eq!((rows.len(), rows["b"], rows["a"]), (2, 0, 1));

    let cases = [
        (
            "a.csv",
            "id,text\nb,\"x\ny\"\na,x\nb,x\n",
            "a.csv:5: id \"b\" in column \"id\" is already on line 2; ids must be unique",
        ),
        (
            "a.tsv",
            "id\ttext\n1\tx\n\ty\n",
            "a.tsv:3: empty value in column \"id\"; a value is needed",
        ),
        (
            "a.tsv",
            "id\ttext\n1\tx\n \ty\n",
            "a.tsv:3: empty value in column \"id\"; a value is needed",
        ),
        (
            "a.jsonl",
            "{\"id\":7}\n{\"id\":\"7\"}\n",
            "a.jsonl:2: id \"7\" in column \"id\" is already on line 1; ids must be unique",
        ),
    ];
    for (name, content, expected) in cases {
        let table = Table::read(&folder.file(name, content), &["id"])?;
        let error = unique_ids(&table, "id").expect_err(expected);
        assert_eq!(folder.message(error), expected);
    }

    let error = unique_ids(&table, "text").expect_err("a column that was not read");
    assert_eq!(folder.message(error), "good.csv: no column \"text\"; the file has: \"id\"");
    Ok(())
}

#[test]
fn long_values_and_many_columns_are_shortened() -> Outcome {
    let folder = Folder::new();
    let id = "é".repeat(1000);
    let path = folder.file("a.tsv", format!("id\n{id}\n{id}\n"));
    let error = unique_ids(&Table::read(&path, &["id"])?, "id").expect_err("twice");
    let message = folder.message(error);
    assert!(message.contains(&format!("\"{}…\"", "é".repeat(60))), "{message}");

    let mut header = String::from("c0");
    for column in 1..1000 {
        write!(header, ",c{column}")?;
    }
    let path = folder.file("a.csv", header);
    let message = folder.message(Table::read(&path, &["id"]).expect_err("no such column"));
    assert!(message.ends_with("\"c29\" and 970 more"), "{message}");
    Ok(())
}

#[test]
fn a_column_asked_for_twice_is_read_once() -> Outcome {
    let folder = Folder::new();
    let path = folder.file("a.tsv", "id\ttext\n1\ta\n");
    let table = Table::read(&path, &["id", "text", "id"])?;
    assert_eq!(table.column("id")?, ["1"]);
    assert_eq!(table.column("text")?, ["a"]);
    assert_eq!(table.path(), path);
    Ok(())
}

#[test]
fn neighbouring_columns_are_read_as_one() -> Outcome {
    let folder = Folder::new();
    let path = folder.file("a.csv", "id,x,x,y,z..w\n7,1,2,\"3,5\",\n");
    let table = Table::read(&path, &["x..y", "id", "id..y", "y..y", "z..w"]);
    let message = folder.message(table.expect_err("x twice"));
    assert!(message.ends_with("\"x\" names both column 2 and column 3; names must be distinct"));
    // a name twice between them is not asked for, and a column of the name itself is meant
    let table = Table::read(&path, &["id..y", "y..y", "z..w"])?;
    assert_eq!(table.column("id..y")?, ["7 1 2 3,5"]);
    assert_eq!((&table.column("y..y")?[0], &table.column("z..w")?[0]), (&"3,5".into(), &"".into()));
    let message = folder.message(Table::read(&path, &["y..id"]).expect_err("in this order"));
    assert!(message.ends_with("a.csv:1: \"id\" is before \"y\""), "{message}");
    let message = folder.message(Table::read(&path, &["id..v"]).expect_err("no such column"));
    assert!(message.contains("no column \"v\""), "{message}");
    Ok(())
}

/// Prefixes of good files, and files with one byte changed, are read or refused, never a panic.
#[test]
fn damaged_tables_never_panic() {
    let folder = Folder::new();
    let files: [(&str, &[u8]); 3] = [
        ("a.csv", b"id,text\r\n1,\"a\r\nb\"\"\"\n2,\xc3\xa9\n"),
        ("a.tsv", b"\xef\xbb\xbfid\ttext\r\n1\ta\n2\t\xc3\xa9\n"),
        ("a.jsonl", b"{\"id\":1,\"text\":\"\\u00e9\"}\n{\"id\":\"b\",\"text\":2e3}\n"),
    ];
    let (mut read, mut refused) = (0, 0);
    for (name, bytes) in files {
        for place in 0..bytes.len() {
            let mut damaged = vec![bytes[..place].to_vec()];
            for byte in [0, b'"', b'\n', b'\r', b',', b'\t', b'{', b'\\', 0xff] {
                let mut changed = bytes.to_vec();
                changed[place] = byte;
                damaged.push(changed);
            }
            for content in damaged {
                match Table::read(&folder.file(name, content), &["id", "text"]) {
                    Ok(table) => {
                        assert!(!table.is_empty());
                        read += 1;
                    }
                    Err(error) => {
                        folder.message(error);
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(read > 0 && refused > 0);
}

#[test]
fn published_tables() -> Outcome {
    let name = "published_tables";
    let (Some(molecules), Some(train)) =
        (published(name, "chebi20/molecules.tsv"), published(name, "chebi20/train.tsv"))
    else {
        return Ok(());
    };
    let molecules = Table::read(&molecules, &["cid", "smiles", "candidate"])?;
    assert_eq!(molecules.len(), 35_905);
    let candidates = molecules.column("candidate")?.iter();
    assert_eq!(candidates.filter(|flag| *flag == "1").count(), 33_010);
    let rows = unique_ids(&molecules, "cid")?;

    let train = Table::read(&train, &["cid", "description"])?;
    assert_eq!(train.len(), 9_244);
    assert!(train.column("cid")?.iter().all(|cid| rows.contains_key(cid.as_str())));
    // Twelve lines hold quotation marks; none may swallow its neighbours.
    let quoted = train.column("description")?.iter();
    assert_eq!(quoted.filter(|text| text.contains('"')).count(), 12);
    Ok(())
}
