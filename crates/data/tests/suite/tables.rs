mod refused;

use std::error::Error;
use std::fmt::Write;
#[cfg(feature = "parquet")]
use std::path::Path;

use dsokr_data::table::{OnBadRow, Table, TableOptions, unique_ids};
#[cfg(feature = "parquet")]
use dsokr_data::table::{TextFormat, TextReader, open_text};

use super::{Folder, published};

type Outcome = Result<(), Box<dyn Error>>;

/// What is tried, file name, content, and the expected id, text and line of each row.
type Accepted<'c> = (&'c str, &'c str, &'c str, &'c [(&'c str, &'c str, usize)]);

/// Returns rows of `id` and `text` with their lines.
fn rows(table: &Table) -> Result<Vec<(String, String, usize)>, dsokr_data::Error> {
    let ids = table.column("id")?;
    let texts = table.column("text")?;
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
        (
            "fields that pandas quotes",
            "a.tsv",
            "id\ttext\na\t\"[\"\"b\"\", \"\"c d\"\"]\"\n\"the \"\"e\"\"\"\t\"\"\"f\"\"\"\n",
            &[("a", "[\"b\", \"c d\"]", 2), ("the \"e\"", "\"f\"", 3)],
        ),
        (
            "quotations at the ends of a text",
            "a.tsv",
            "id\ttext\n\"\"\t\"I bought a\" drill\n\"\"a\"\"\t\"a\" or \"b\"\n\"\t\"one\"\n",
            &[
                ("\"\"", "\"I bought a\" drill", 2),
                ("\"\"a\"\"", "\"a\" or \"b\"", 3),
                ("\"", "\"one\"", 4),
            ],
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
            "blanks behind commas",
            "a.csv",
            "id, text, class\n1, \"a, b\", 0\n2,  c ,1\n3,, 1\n",
            &[("1", "a, b", 2), ("2", "c ", 3), ("3", "", 4)],
        ),
        ("one blank in the names", "a.csv", "id,text, x\n1, a,2\n", &[("1", " a", 2)]),
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
        let actual = rows(&table)?;
        let actual: Vec<_> =
            actual.iter().map(|(id, text, line)| (id.as_str(), text.as_str(), *line)).collect();
        assert_eq!(&actual, expected, "{name}, {case}");
    }
    Ok(())
}

#[test]
fn columns_are_found_by_names_that_begin_with_blanks() -> Outcome {
    let folder = Folder::new();
    let path = folder.file("a.csv", "text, label, class\na, x, 1\nb, y, 2\n");
    let table = Table::read(&path, &["text", " label", " label.. class"])?;
    assert_eq!(table.column(" label")?, ["x", "y"]);
    assert_eq!(table.column(" label.. class")?, ["x 1", "y 2"]);
    // names of the file come first
    let path = folder.file("b.csv", "label, label,text\nx,y,z\n");
    assert_eq!(Table::read(&path, &[" label"])?.column(" label")?, ["y"]);
    Table::read(&path, &[" x"]).expect_err("no column of the name");
    Ok(())
}

#[test]
fn names_of_columns_below_the_first_line_are_no_row() -> Outcome {
    let folder = Folder::new();
    let path = folder.file("a.tsv", "id\ttext\n1\ta\nid\ttext\n2\tb\n");
    let table = Table::read_rows(&path, &["id", "text"], OnBadRow::Skip)?;
    assert_eq!((table.column("id")?, table.skipped()), (&["1".into(), "2".into()][..], 1));
    // a word is a text as others
    let path = folder.file("b.csv", "text\na\ntext\n");
    assert_eq!(Table::read(&path, &["text"])?.column("text")?, ["a", "text"]);
    Ok(())
}

/// A comment is neither the line of names nor a row, which may begin with `#` too.
#[test]
fn comments_before_the_names_are_left_out() -> Outcome {
    let folder = Folder::new();
    let two = ["id", "text"];
    for (name, text, comments, names) in [
        ("a.csv", "# of the tool 1.2\nid,text\n1,a\n", 1, two),
        ("a.csv", "\u{feff}# of the tool 1.2\r\nid;text\r\n1;a\r\n", 1, two),
        ("a.csv", "# tool 1.2\n# 2024-05-01, unit: mg\nid,text\n1,a\n", 2, two),
        ("a.tsv", "##tool, \"1.2\n##unit=mg\nid\ttext\n1\ta\n", 2, two),
        ("a.tsv", "##tool 1.2\n#id\ttext\n1\ta\n", 1, ["#id", "text"]),
        ("a.csv", "#id,text\n1,a\n", 0, ["#id", "text"]),
        ("a.csv", "# id,text\n1,a\n", 0, ["# id", "text"]),
        ("a.tsv", "#fun\tgood\n#sad\tbad\nold\tbad\n", 0, ["#fun", "good"]),
    ] {
        let path = folder.file(name, text);
        let header = Table::header(&path, TableOptions::default())?;
        assert_eq!((header.comments, &header.names[..]), (comments, &names.map(String::from)[..]));
        let table = Table::read(&path, &names[1..])?;
        assert_eq!(table.line(0), comments + 2, "{text}");
    }
    // without names, lines of as many fields as rows are rows
    let headless = TableOptions { headless: true, ..TableOptions::default() };
    for (text, comments, rows) in [
        ("# good day,pos\n# bad day,neg\na day,pos\n", 0, 3),
        ("# of the tool 1.2\na day,pos\na night,neg\n", 1, 2),
        ("# good day,pos\na night,neg\n", 0, 2),
    ] {
        let path = folder.file("headless.csv", text);
        assert_eq!(Table::header(&path, headless)?.comments, comments, "{text}");
        let table = Table::read_with(&path, &["column_1"], headless)?;
        assert_eq!(table.len(), rows, "{text}");
    }
    // one column alone may have anything in it
    let header = Table::header(&folder.file("b.csv", "#text\na\n"), TableOptions::default())?;
    assert_eq!((header.comments, &*header.names[0]), (0, "#text"));
    Ok(())
}

/// R names the columns of data alone. A last field without a name is none of these.
#[test]
fn names_of_rows_may_stand_before_the_columns() -> Outcome {
    let folder = Folder::new();
    for (name, text) in [
        ("a.tsv", "\"id\"\t\"text\"\n\"1\"\t\"x\"\t\"a b\"\n\"2\"\t\"y\"\t\"c\"\n"),
        ("a.csv", "\"id\"\t\"text\"\n\"1\"\t\"x\"\t\"a b\"\n\"2\"\t\"y\"\t\"c\"\n"),
        ("b.tsv", "id\ttext\r\n1\tx\ta b\r\n2\ty\tc\r\n"),
    ] {
        let path = folder.file(name, text);
        let header = Table::header(&path, TableOptions::default())?;
        assert_eq!(header.names, ["", "id", "text"], "{name}");
        let read = rows(&Table::read(&path, &["id", "text"])?)?;
        let read: Vec<_> =
            read.iter().map(|(id, text, line)| (id.as_str(), text.as_str(), *line)).collect();
        assert_eq!(read, [("x", "a b", 2), ("y", "c", 3)], "{name}");
    }
    for (name, text) in [
        ("ends.tsv", "id\ttext\n1\ta\t\n2\tb\t\n"),
        ("twice.tsv", "id\ttext\n1\ta\tb\n1\tb\tc\n"),
        ("commas.csv", "id,text\n1,a,b\n2,b,c\n"),
    ] {
        let refused = Table::read(&folder.file(name, text), &["id"]).expect_err("3 fields");
        let message = folder.message(refused);
        assert!(message.starts_with(&format!("{name}:2: 3 fields; expected 2")), "{message}");
    }
    Ok(())
}

#[test]
fn values_of_json_are_cells() -> Outcome {
    let folder = Folder::new();
    let line = b"{\"id\":1,\"a\":[\"x\",\"y z\"],\"b\":[2,1.5],\"c\":null,\"d\":true,\"e\":[],\"f\":[\"x; y\",\"z\"]}\n";
    let path = folder.file("a.jsonl", line);
    let table = Table::read(&path, &["a", "b", "c", "d", "e", "f"])?;
    // a list of texts with the sign that stands between texts stays a list
    let expected = [
        ("a", "x;y z"),
        ("b", "2 1.5"),
        ("c", ""),
        ("d", "true"),
        ("e", ""),
        ("f", "[\"x; y\",\"z\"]"),
    ];
    assert_eq!(Table::header(&path, TableOptions::default())?.lists, ["a", "f"]);
    for (name, cell) in expected {
        assert_eq!(table.column(name)?, [cell], "{name}");
    }
    // lists whose texts would be read as others, as Python writes them
    let line = r#"{"a": ["S\u00e4ure; organisch", "\u916f"], "b": ["NA"], "c": ["[x, y]"], "d": [""], "e": [" x", ""]}"#;
    let table = Table::read(&folder.file("lists.jsonl", line), &["a", "b", "c", "d", "e"])?;
    let expected = [
        ("a", "[\"S\u{e4}ure; organisch\",\"\u{916f}\"]"),
        ("b", "[\"NA\"]"),
        ("c", "[\"[x, y]\"]"),
        ("d", ""),
        ("e", " x;"),
    ];
    for (name, cell) in expected {
        assert_eq!(table.column(name)?, [cell], "{name}");
    }
    // numbers that are none
    let line =
        b"{\"a\":NaN,\"b\":-Infinity,\"c\":Infinity,\"d\":\"NaN \\\"NaN\",\"e\":[],\"f\":[NaN]}\n";
    let path = folder.file("nan.jsonl", line);
    let table = Table::read(&path, &["a", "b", "c", "d", "e"])?;
    let expected = [("a", ""), ("b", ""), ("c", ""), ("d", "NaN \"NaN"), ("e", "")];
    for (name, cell) in expected {
        assert_eq!(table.column(name)?, [cell], "{name}");
    }
    assert_eq!(Table::header(&path, TableOptions::default())?.nested, ["f"]);
    let message = folder.message(Table::read(&path, &["f"]).expect_err("NaN in a list"));
    assert!(message.contains("holds [null] (bare NaN and Infinity are read as null)"), "{message}");
    let excel = Table::read(&folder.path("a.xlsx"), &["a"]).expect_err("Excel");
    assert!(folder.message(excel).contains("pandas.read_excel("));
    Ok(())
}

/// Codes keep their zeros, small numbers their digits and dates their form.
#[cfg(unix)]
#[test]
fn the_command_that_converts_json_changes_no_value() -> Outcome {
    let python = |program: &str| {
        let mut command = std::process::Command::new("python3");
        command.args(["-c", program]);
        command
    };
    if !python("").status().is_ok_and(|status| status.success()) {
        println!("skipped: the_command_that_converts_json_changes_no_value: there is no python3");
        return Ok(());
    }
    let folder = Folder::new();
    let rows = r#"[{"icd": "0389", "ref": "0704.0010", "created_at": "2024-05-11", "kd": 1.491e-11, "n": 7, "code": null},
        {"icd": "4019", "ref": "00000", "created_at": "2024-07-13", "kd": 2e-300, "n": 12345678901234567890, "code": 4019}]"#;
    let columns = r#"{"icd": {"0": "0389", "1": "4019"}, "ref": {"0": "0704.0010", "1": "00000"},
        "created_at": {"0": "2024-05-11", "1": "2024-07-13"}, "kd": {"0": 1.491e-11, "1": 2e-300},
        "n": {"0": 7, "1": 12345678901234567890}, "code": {"0": null, "1": 4019}}"#;
    let lists = r#"{"icd": ["0389", "4019"], "ref": ["0704.0010", "00000"], "created_at": ["2024-05-11", "2024-07-13"],
        "kd": [1.491e-11, 2e-300], "n": [7, 12345678901234567890], "code": [null, 4019]}"#;
    let several =
        format!(r#"{{"info": {{"n": 1}}, "images": [{{"icd": "7"}}], "annotations": {rows}}}"#);
    for (name, content) in [
        ("Anna's rows.json", rows),
        ("columns.json", columns),
        ("lists.json", lists),
        ("several.json", several.as_str()),
    ] {
        let path = folder.file(name, content);
        let error = Table::read(&path, &["icd"]).expect_err(name).to_string();
        let (_, remedy) = error.split_once("convert it: ").expect("a command");
        let status = std::process::Command::new("sh").args(["-c", remedy]).status()?;
        assert!(status.success(), "{error}");
        let names = ["icd", "ref", "created_at", "kd", "n", "code"];
        let table = Table::read(&path.with_extension("jsonl"), &names)?;
        let expected = [
            ["0389", "4019"],
            ["0704.0010", "00000"],
            ["2024-05-11", "2024-07-13"],
            ["1.491e-11", "2e-300"],
            ["7", "12345678901234567890"],
            ["", "4019"],
        ];
        for (column, cells) in names.iter().zip(expected) {
            assert_eq!(table.column(column)?, cells, "{name}: {column}");
        }
    }
    Ok(())
}

#[test]
fn json_lines_that_are_named_json_need_another_name() {
    let folder = Folder::new();
    let lines = "\u{feff}{\"id\": 1}\r\n{\"id\": 2}\r\n";
    let mut compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut compressed, lines.as_bytes()).expect("bytes in memory");
    let compressed = compressed.finish().expect("bytes in memory");
    for (name, content, needed) in [
        ("a.json", lines.as_bytes(), "a.jsonl"),
        ("A.JSON", lines.as_bytes(), "A.jsonl"),
        ("a.json.gz", &compressed[..], "a.jsonl.gz"),
    ] {
        let error = Table::read(&folder.file(name, content), &["id"]).expect_err(name);
        let expected = format!("{name}: the lines are JSON objects: name it {needed}");
        assert_eq!(folder.message(error), expected);
    }
    for (name, content, program) in [
        ("a.json", "[\n{\"id\": 1},\n{\"id\": 2}]", "rows = json.load("),
        ("a.json", "{\n\"id\": [1, 2]\n}", "columns = json.load("),
        ("a.feather", "", "pandas.read_feather(sys.argv[1]).to_parquet("),
        ("a.arrow", "ARROW1\0\0", "pandas.read_feather(sys.argv[1]).to_parquet("),
        ("a.arrow", "\u{fffd}", "stream = pyarrow.ipc.open_stream(open(sys.argv[1], 'rb'))"),
        ("a.pkl", "", "pandas.read_pickle(sys.argv[1]).to_parquet(sys.argv[2])"),
        ("a.h5", "", "pandas.read_hdf(sys.argv[1]).to_parquet(sys.argv[2])"),
        ("a.rds", "", "Rscript -e 'write.csv(readRDS(\"a.rds\"), \"a.csv\", row.names = FALSE)'"),
        ("a.sqlite", "", "sqlite3 -header -csv a.sqlite 'select * from NAME' > NAME.csv"),
        ("a.smi", "CCO ethanol", "['smiles\\ttitle\\n']"),
        ("a.mol2", "", "obabel a.mol2 -O a.sdf"),
        ("a.npy", "", "kind = \"features\""),
        ("a.soc", "", "votes of PrefLib have no inputs"),
        ("a.dat", "a\0b", "it is no text"),
    ] {
        let error = Table::read(&folder.file(name, content), &["id"]).expect_err(name);
        let message = folder.message(error);
        assert!(message.contains(program), "{message}");
    }
}

/// A set is the same whatever the separator, and other columns are as they are without one.
#[test]
fn lists_of_json_have_the_separator_of_sets_of_labels_between() -> Outcome {
    let folder = Folder::new();
    let lines = "{\"tags\":[\"b\",\"a b\"],\"words\":[\"x\",\"y\"]}\n\
        {\"tags\":[\"b\",\"c\"],\"words\":[\"x\",\"y\"]}\n{\"tags\":[1,6],\"words\":[\"x\",\"y\"]}\n";
    let path = folder.file("a.jsonl", lines);
    for (separator, cells) in [
        (' ', ["[\"b\",\"a b\"]", "b c", "1 6"]),
        (',', ["b,a b", "b,c", "1,6"]),
        (';', ["b;a b", "b;c", "1;6"]),
    ] {
        let options = TableOptions { sets: Some(("tags", separator)), ..TableOptions::default() };
        let table = Table::read_with(&path, &["tags", "words"], options)?;
        assert_eq!(table.column("tags")?, cells);
        assert_eq!(table.column("words")?, ["x;y"; 3]);
    }
    Ok(())
}

#[test]
fn keys_of_all_lines_of_json_are_columns() -> Outcome {
    let folder = Folder::new();
    let lines = "{\"id\":1,\"a\":null,\"b\":{}}\n[1]\n{\"text\":\"x\",\"id\":2,\"a\":[1,{}],\"b\":null}\n\
        {\"id\":3,\"text\":{},\"c\":null}\n";
    let path = folder.file("a.jsonl", lines);
    let header = Table::header(&path, TableOptions::default())?;
    assert_eq!(header.names, ["id", "c"]);
    assert_eq!(header.nested, ["a", "b", "text"]);
    assert!(header.lists.is_empty(), "{header:?}");
    // one in ten may be an object, and an empty list says nothing
    let many = "{\"text\":\"x\",\"tags\":[]}\n".repeat(10) + "{\"text\":{},\"tags\":[{}]}\n";
    let path = folder.file("many.jsonl", &many);
    let header = Table::header(&path, TableOptions::default())?;
    assert_eq!([header.names, header.nested], [["text"], ["tags"]]);
    // a text in the place of a list is one of a few, and numbers are no texts
    let lists = "{\"a\":[ \"x\"],\"b\":[1],\"c\":[\"x\"]}\n".repeat(10)
        + "{\"a\":\"x\",\"b\":[2,3],\"c\":\"x\"}\n{\"a\":null,\"b\":[],\"c\":\"y\"}\n";
    let path = folder.file("lists.jsonl", &lists);
    let header = Table::header(&path, TableOptions::default())?;
    assert_eq!(
        (header.names, header.lists, header.number_lists),
        (["a", "b", "c"].map(String::from).to_vec(), vec!["a".to_owned()], vec!["b".to_owned()])
    );
    // Label Studio writes a list of several choices in an object
    let choices = "{\"a\":{\"choices\": [\"x\", \"y\"]},\"b\":{\"choices\":[\"x\",1]},\"c\":{\"choices\":[],\"d\":1}}\n\
        {\"a\":\"x\"}\n{\"a\":{\"choices\":[]}}\n{\"a\":{\"choices\":[\"x;y\"]}}\n{\"a\":null}\n";
    let path = folder.file("choices.jsonl", choices);
    let header = Table::header(&path, TableOptions::default())?;
    assert_eq!(header.names, ["a"]);
    assert_eq!(header.nested, ["b", "c"]);
    let options = TableOptions { optional_keys: true, ..TableOptions::default() };
    let table = Table::read_with(&path, &["a"], options)?;
    assert_eq!(table.column("a")?, ["x;y", "x", "", "[\"x;y\"]", ""]);
    let bad = folder.file("b.jsonl", "[1]\n2\n");
    let message = folder.message(Table::header(&bad, TableOptions::default()).expect_err("none"));
    assert!(message.starts_with("b.jsonl:1: found [1]; each line"), "{message}");
    let empty = folder.file("c.jsonl", "\n");
    let message = folder.message(Table::header(&empty, TableOptions::default()).expect_err("none"));
    assert!(message.starts_with("c.jsonl: the file is empty"), "{message}");
    Ok(())
}

/// The rows are those of the same table as .csv, and each line has its own order of the keys.
#[test]
fn many_keys_of_json_lines_are_found_in_every_order() -> Outcome {
    let folder = Folder::new();
    let names: Vec<String> = (0..600).map(|column| format!("c{column}")).collect();
    let mut fields = names.join(",") + "\n";
    let mut objects = String::new();
    for row in 0..3 {
        let cell = |column: usize| format!("r{row}-{column}");
        fields += &((0..600).map(cell).collect::<Vec<_>>().join(",") + "\n");
        // 7 and 600 have no common divisor
        let order = (0..600).map(|at| if row == 0 { at } else { (at * 7 + row) % 600 });
        let entries = order.map(|column| format!("\"c{column}\":\"{}\"", cell(column)));
        writeln!(objects, "{{{}}}", entries.collect::<Vec<_>>().join(","))?;
    }
    let [fields, objects] = [folder.file("a.csv", &fields), folder.file("a.jsonl", &objects)];
    for path in [&fields, &objects] {
        assert_eq!(Table::header(path, TableOptions::default())?.names, names);
    }
    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
    let [fields, objects] = [Table::read(&fields, &columns)?, Table::read(&objects, &columns)?];
    for name in columns {
        assert_eq!(fields.column(name)?, objects.column(name)?, "{name}");
    }
    // a key that is there several times matters where it is read, and its first two places are named
    let path = folder.file("twice.jsonl", "{\"a\":1,\"b\":2,\"a\":3,\"c\":4,\"a\":5}\n");
    assert_eq!(Table::header(&path, TableOptions::default())?.names, ["a", "b", "c"]);
    assert_eq!(Table::read(&path, &["c", "b"])?.column("c")?, ["4"]);
    let message = folder.message(Table::read(&path, &["b", "a"]).expect_err("a twice"));
    let expected = "twice.jsonl:1: \"a\" names both column 1 and column 3; names must be distinct";
    assert_eq!(message, expected);
    Ok(())
}

/// Nobody waits for rows of a file.
#[test]
#[cfg(feature = "parquet")]
fn rows_of_parquet_are_read_in_batches() -> Outcome {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/rows.parquet");
    let format = TextFormat::from_path(&path);
    let stop = OnBadRow::Stop;
    let mut texts = TextReader::new(&path, open_text(&path)?, format, "text", None, stop)?;
    for expected in [2, 1, 0] {
        assert_eq!(texts.batch(2)?.len(), expected);
    }
    Ok(())
}

/// The file is what PyArrow writes of columns of bytes.
#[test]
#[cfg(feature = "parquet")]
fn bytes_of_parquet_that_are_utf8_are_texts() -> Outcome {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let table = Table::read(&golden.join("binary.parquet"), &["id", "text", "tags"])?;
    let expected =
        [("id", ["a", "b", ""]), ("text", ["an alcohol", "βγ", ""]), ("tags", ["x;y z", "", "w"])];
    for (name, cells) in expected {
        assert_eq!(table.column(name)?, cells, "{name}");
    }
    Ok(())
}

/// The file is what PyArrow writes of these points in time, also without a time zone, times of day and numbers of 32 bits.
#[test]
#[cfg(feature = "parquet")]
fn nanoseconds_of_parquet_are_times_and_numbers_of_32_bits_have_their_digits() -> Outcome {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/moments.parquet");
    let columns = ["ns", "us", "utc_ns", "utc_us", "time_ns", "time_us", "count", "dose", "doses"];
    let table = Table::read(&path, &columns)?;
    for (nanoseconds, microseconds) in [("ns", "us"), ("utc_ns", "utc_us"), ("time_ns", "time_us")]
    {
        assert_eq!(table.column(nanoseconds)?, table.column(microseconds)?);
    }
    // as pandas prints them
    let timestamps = ["2024-01-01 06:30:15.123456 +00:00", "1969-12-31 23:59:59.500000 +00:00", ""];
    for (name, cells) in [
        ("ns", timestamps),
        ("time_ns", ["12:00:01.250000", "00:00:00.000000", ""]),
        ("count", ["1704067200000000000", "2", "3"]),
        ("dose", ["0.3", "2.0", ""]),
        ("doses", ["0.1 0.7", "", ""]),
    ] {
        assert_eq!(table.column(name)?, cells, "{name}");
    }
    Ok(())
}

/// The file is what PyArrow writes of lists of points in time and times of day, and of numbers of 16 bits.
#[test]
#[cfg(feature = "parquet")]
fn nanoseconds_in_lists_of_parquet_are_times_and_numbers_of_16_bits_have_their_digits() -> Outcome {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/moments-lists.parquet");
    let table = Table::read(&path, &["half", "halves", "ns", "us", "time_ns", "time_us"])?;
    for (nanoseconds, microseconds) in [("ns", "us"), ("time_ns", "time_us")] {
        assert_eq!(table.column(nanoseconds)?, table.column(microseconds)?);
    }
    let moment = "2024-01-01 06:30:15.123456 +00:00";
    let both = format!("{moment};1969-12-31 23:59:59.500000 +00:00");
    assert_eq!(table.column("ns")?, [both.as_str(), "", "", moment]);
    assert_eq!(table.column("time_ns")?, ["12:00:01.250000", "", "", "00:00:00.000000"]);
    // as NumPy and pandas print them
    let halves: Vec<f64> =
        table.column("half")?.iter().map(|cell| cell.parse::<f64>()).collect::<Result<_, _>>()?;
    assert_eq!(halves, [0.1, 65500.0, -3.15, 6e-8]);
    assert_eq!(table.column("half")?[0], "0.1");
    assert_eq!(table.column("halves")?, ["0.1 -3.15", "", "", "0.1"]);
    Ok(())
}

#[test]
fn separators_are_found_and_names_may_be_missing() -> Outcome {
    let folder = Folder::new();
    let cases = [
        ("id;text;x\n1;a, b;3,5\n2;c, d;4,5\n", ["a, b", "c, d"]),
        ("id\ttext\n1\ta;b\n2\tc d\n", ["a;b", "c d"]),
        ("id|text\n1|a,b\n2|c,d\n", ["a,b", "c,d"]),
        ("id,text\n1,a;b\n2,c;d\n", ["a;b", "c;d"]),
        ("id,text\n1,\"a;b;c\"\n2,\"c\nd\"\n", ["a;b;c", "c\nd"]),
        // as spreadsheets and R write them
        ("sep=;\nid;text\n1;a,b\n2;c,d\n", ["a,b", "c,d"]),
        ("\u{feff}sep=\t\r\nid\ttext\r\n1\ta,b\r\n2\tc\r\n", ["a,b", "c"]),
        ("\"id\"\t\"text\"\n1\t\"a, b\"\n2\t\"c\td\"\n", ["a, b", "c\td"]),
        ("\"id\",\"text\"\n1,\"a\tb\"\n2,\"c\"\n", ["a\tb", "c"]),
    ];
    for (text, expected) in cases {
        for name in ["a.csv", "a.tsv"] {
            let table = Table::read(&folder.file(name, text), &["id", "text"])?;
            assert_eq!(table.column("text")?, expected, "{name}: {text}");
            assert_eq!(table.line(0), if text.contains("sep=") { 3 } else { 2 });
        }
    }
    let escaped = "\"id\"\t\"text\"\n1\t\"a \\\"b\\\"\"\n2\t\"C/C=C\\\"\n3\t\"a\"\"b\"\n";
    let table = Table::read(&folder.file("d.tsv", escaped), &["id", "text"])?;
    assert_eq!(table.column("text")?, ["a \"b\"", "C/C=C\\", "a\"b"]);
    let old = folder.file("c.csv", "id,text\r1,a\r2,b\r");
    let message = folder.message(Table::read(&old, &["id"]).expect_err("carriage returns"));
    assert!(
        message.starts_with("c.csv:1: a carriage return without a line feed ends the lines"),
        "{message}"
    );
    let headless = TableOptions { headless: true, ..TableOptions::default() };
    let path = folder.file("b.csv", "1;a\n2;b\n");
    assert_eq!(Table::header(&path, headless)?.names, ["column_1", "column_2"]);
    let table = Table::read_with(&path, &["column_2"], headless)?;
    assert_eq!((table.column("column_2")?, table.line(0)), (&["a".into(), "b".into()][..], 1));
    // as the UCI repository writes them
    let path = folder.file("adult.csv", "39, State-gov\n50, Private\n");
    let table = Table::read_with(&path, &["column_2"], headless)?;
    assert_eq!(table.column("column_2")?, ["State-gov", "Private"]);
    Ok(())
}

/// The file is what pandas 2 writes of these columns.
#[test]
#[cfg(feature = "parquet")]
fn parquet_has_rows_as_json_lines_have() -> Outcome {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let columns = ["id", "text", "number", "count", "tags", "flag"];
    for name in ["rows.parquet", "rows-lz4.parquet", "rows-zstd.parquet"] {
        let header = Table::header(&golden.join(name), TableOptions::default())?;
        assert_eq!(header.names, columns);
        assert_eq!(header.lists, ["tags"]);
        let table = Table::read(&golden.join(name), &columns)?;
        for (column, expected) in columns.iter().zip([
            ["a", "b", ""],
            ["an \"alcohol\"", "line\nbreak", "βγ"],
            ["1.5", "2.0", ""],
            ["1", "2", "3"],
            ["x;y z", "", "w"],
            ["true", "false", "true"],
        ]) {
            assert_eq!(table.column(column)?, expected, "{name}: {column}");
        }
    }
    let brotli = golden.join("brotli.parquet");
    let message = Table::read(&brotli, &["id"]).expect_err("brotli").to_string();
    assert!(message.contains("compressed with brotli, which is not read; write them"), "{message}");
    let folder = Folder::new();
    let cut = folder.file("cut.parquet", &std::fs::read(golden.join("rows.parquet"))?[..900]);
    let message = folder.message(Table::read(&cut, &["id"]).expect_err("no footer"));
    assert!(message.contains("Parquet error"), "{message}");
    // gzip around the whole file
    let packed = folder.file("a.parquet.gz", b"\x1f\x8b");
    let message =
        folder.message(Table::header(&packed, TableOptions::default()).expect_err("gzip"));
    let expected = "a.parquet.gz: a .parquet file compresses its columns itself, and is not read with .gz behind; decompress \
                    it first: gunzip -k a.parquet.gz";
    assert_eq!(message, expected);
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

#[test]
fn published_tables() -> Outcome {
    let name = "published_tables";
    let Some(molecules) = published(name, "chebi20/molecules.tsv") else {
        return Ok(());
    };
    let Some(train) = published(name, "chebi20/train.tsv") else {
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
