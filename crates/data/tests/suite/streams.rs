//! Texts that are read some at a time.

use std::io::{self, Read};
use std::path::Path;

use dsokr_data::Error;
use dsokr_data::config::OnBadRow;
use dsokr_data::table::{TextFormat, TextReader, TextRow};
use dsokr_spectra::SpectrumFormat;

fn reader<'s>(
    stream: &'s str,
    format: TextFormat,
    id: Option<&str>,
) -> Result<TextReader<&'s [u8]>, Error> {
    TextReader::new(Path::new("stream"), stream.as_bytes(), format, "text", id, OnBadRow::Stop)
}

/// Leaves out texts that cannot be read.
fn skipping(stream: &str, format: TextFormat) -> TextReader<&[u8]> {
    let name = Path::new("stream");
    TextReader::new(name, stream.as_bytes(), format, "text", None, OnBadRow::Skip).unwrap()
}

fn row(line: usize, id: &str, text: &str) -> TextRow {
    TextRow { line, id: id.into(), text: text.into() }
}

#[test]
fn ids_are_read_where_the_names_of_the_columns_have_theirs() {
    let ids = |stream: &str, format: TextFormat| -> Vec<String> {
        let name = Path::new("stream");
        let stop = OnBadRow::Stop;
        let texts =
            TextReader::with_ids_if_named(name, stream.as_bytes(), format, "text", "id", stop);
        texts.unwrap().batch(9).unwrap().into_iter().map(|row| row.id).collect()
    };
    for (stream, format, expected) in [
        ("id\ttext\na\tone\nb\ttwo\n", TextFormat::Tabs, ["a", "b"]),
        ("text;id\none;a\ntwo;b\n", TextFormat::Commas, ["a", "b"]),
        ("id,text\na,one\n,two\n", TextFormat::Commas, ["a", "2"]),
        ("id,text\na,one\na,two\n", TextFormat::Commas, ["a", "2"]),
        ("id,text\n2,one\n2,two\n", TextFormat::Commas, ["2", "row 2"]),
        ("name\ttext\na\tone\nb\ttwo\n", TextFormat::Tabs, ["1", "2"]),
        // which of the two would be it?
        ("id,text,id\na,one,x\nb,two,y\n", TextFormat::Commas, ["1", "2"]),
        (
            "{\"id\": \"a\", \"text\": \"one\"}\n{\"text\": \"two\"}\n",
            TextFormat::JsonLines,
            ["a", "2"],
        ),
        ("{\"text\": \"one\"}\n{\"text\": \"two\"}\n", TextFormat::JsonLines, ["1", "2"]),
        ("one\ntwo\n", TextFormat::Lines, ["1", "2"]),
    ] {
        assert_eq!(ids(stream, format), expected, "{stream:?}");
    }
}

#[test]
fn every_format_has_lines_ids_and_texts() {
    let lines = "\u{feff}one text\r\nits \"second\"\n\n\n";
    let rows = reader(lines, TextFormat::Lines, None).unwrap().batch(9).unwrap();
    assert_eq!(rows, [row(1, "1", "one text"), row(2, "2", "its \"second\"")]);
    let tabs = "\u{feff}name\ttext\na\tone\nb\ttwo\n";
    let rows = reader(tabs, TextFormat::Tabs, Some("name")).unwrap().batch(9).unwrap();
    assert_eq!(rows, [row(2, "a", "one"), row(3, "b", "two")]);
    let commas = "\u{feff}text,name\n\"one, \"\"quoted\"\"\nand long\",a\ntwo,b\n";
    let rows = reader(commas, TextFormat::Commas, Some("name")).unwrap().batch(9).unwrap();
    assert_eq!(rows, [row(2, "a", "one, \"quoted\"\nand long"), row(4, "b", "two")]);
    let windows = "text\r\none\r\n\"two\r\nlines\"\r\nthree\r\n";
    let rows = reader(windows, TextFormat::Commas, None).unwrap().batch(9).unwrap();
    assert_eq!(rows, [row(2, "1", "one"), row(3, "2", "two\r\nlines"), row(5, "3", "three")]);
    let objects = "{\"text\": \"one\", \"name\": 7}\n{\"name\": \"b\", \"text\": \"t\\u0077o\"}";
    let mut texts = reader(objects, TextFormat::JsonLines, Some("name")).unwrap();
    assert_eq!(texts.batch(1).unwrap(), [row(1, "7", "one")]);
    assert_eq!(texts.batch(1).unwrap(), [row(2, "b", "two")]);
    assert!(texts.batch(1).unwrap().is_empty());
    for (name, format) in [("a.TSV", TextFormat::Tabs), ("-", TextFormat::Lines)] {
        assert_eq!(TextFormat::from_path(Path::new(name)), format);
    }
}

/// Gives its parts one by one, as a pipe does.
struct Pipe(Vec<&'static [u8]>);

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Ok(0);
        }
        let part = self.0.remove(0);
        buffer[..part.len()].copy_from_slice(part);
        Ok(part.len())
    }
}

#[test]
fn nobody_waits_for_texts_that_come_later() {
    let pipe = Pipe(vec![b"a\nb\nc", b"c\nd\n", b"\xff\n"]);
    let name = Path::new("pipe");
    let on_bad_row = OnBadRow::Stop;
    let texts = TextReader::new(name, pipe, TextFormat::Lines, "text", None, on_bad_row);
    let mut texts = texts.unwrap();
    let mut next = || texts.batch(9).map(|rows| rows.into_iter().map(|row| row.text).collect());
    let blocks: [Vec<String>; 2] = [next().unwrap(), next().unwrap()];
    assert_eq!(blocks, [vec!["a", "b"], vec!["cc", "d"]]);
    let error = next().unwrap_err().to_string();
    assert!(error.starts_with("pipe:5: byte 0xff"), "{error}");
}

#[test]
fn errors_name_the_line_behind_the_texts_before_it() {
    for (format, stream, id, says) in [
        (TextFormat::Lines, "a\n\nb\n", None, "stream:2: blank line"),
        (TextFormat::Tabs, "text\tn\na\t1\nb\n", None, "stream:3: 1 fields; expected 2"),
        (TextFormat::Tabs, "text\na\n \u{a0}\n", None, "stream:3: empty value in column \"text\""),
        (TextFormat::Commas, "text,n\na,1\n\"\",2\n", None, "stream:3: empty value"),
        (TextFormat::Commas, "text,n\na,1\nb\n", None, "stream:3: 1 fields; expected 2"),
        (TextFormat::Commas, "text\r\na\r\nb\rc\r\n", None, "stream:3: a carriage return without"),
        (TextFormat::Commas, "text\na\n\nb\n", None, "stream:3: blank line inside the table"),
        (TextFormat::Commas, "text\na\n\"b\nc\n", None, "stream:3: the record that starts here"),
        (TextFormat::JsonLines, "{\"text\": \"a\"}\n{\"t\": 1}", None, "stream:2: no key \"text\""),
    ] {
        let mut texts = reader(stream, format, id).unwrap();
        assert_eq!(texts.batch(9).unwrap().len(), 1, "{stream:?}");
        let error = texts.batch(9).unwrap_err().to_string();
        assert!(error.starts_with(says), "{stream:?}: {error}");
    }
    for (format, stream, id, says) in [
        (TextFormat::Tabs, "", None, "stream: the file is empty"),
        (TextFormat::Commas, "", None, "stream: the file is empty"),
        (TextFormat::Commas, "a,b\n", None, "stream: no column \"text\""),
        (TextFormat::Commas, "text\ra\r", None, "stream:1: a carriage return without"),
        (TextFormat::Tabs, "text\ttext\n", None, "stream:1: \"text\" names both"),
        (TextFormat::Lines, "a\n", Some("n"), "the column of ids = \"n\": remove it"),
    ] {
        let error = reader(stream, format, id).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with(says), "{stream:?}: {error}");
    }
}

#[test]
fn skipped_rows_are_counted_in_the_ids_of_others() {
    let mgf = |mz: &str, peaks: &str| format!("BEGIN IONS\nPEPMASS={mz}\n{peaks}END IONS\n");
    let spectra = mgf("100", "") + "# a comment\n" + &mgf("200", "50 1\n") + &mgf("300", "60 1\n");
    let table = "precursor_mz\tmzs\tintensities\n100\t50\t1,2\n200\t50\t1\n300\t60\t1\n";
    let objects = [("100", "[1, 2]"), ("200", "[1]"), ("300", "[1]")].map(|(mz, intensities)| {
        let peak = if mz == "300" { 60 } else { 50 };
        format!("{{\"precursor_mz\": {mz}, \"mzs\": [{peak}], \"intensities\": {intensities}}}\n")
    });
    let objects = objects.concat();
    for (stream, format) in [
        (spectra.as_str(), TextFormat::Spectra(SpectrumFormat::Mgf)),
        (table, TextFormat::Tabs),
        (objects.as_str(), TextFormat::JsonLines),
        ("spectrum\tn\n100\n200 50:1\t2\n300 60:1\t3\n", TextFormat::Tabs),
        ("{}\n{\"spectrum\": \"200 50:1\"}\n{\"spectrum\": \"300 60:1\"}\n", TextFormat::JsonLines),
    ] {
        let on_bad_row = OnBadRow::Skip;
        let name = Path::new("stream");
        let bytes = stream.as_bytes();
        let texts = TextReader::new(name, bytes, format, "spectrum", None, on_bad_row);
        let rows = texts.unwrap().batch(9).unwrap();
        let found: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.text.as_str())).collect();
        assert_eq!(found, [("2", "200 50:1"), ("3", "300 60:1")], "{stream:?}");
    }
}

#[test]
fn a_line_without_a_spectrum_or_a_part_of_one_names_the_keys_that_are_read() {
    for keys in [["precursor_mz", "mz", "intensity"], ["precursor_mz", "intensities", "adduct"]] {
        let [first, second, third] = keys;
        let stream = format!("{{\"{first}\": 200, \"{second}\": [50], \"{third}\": [1]}}\n");
        let name = Path::new("stream");
        let format = TextFormat::JsonLines;
        let texts =
            TextReader::new(name, stream.as_bytes(), format, "spectrum", None, OnBadRow::Stop);
        let error = texts.unwrap().batch(9).unwrap_err().to_string();
        let says = "stream:1: no key \"spectrum\", nor all of \"precursor_mz\", \"mzs\" and \"intensities\"; this line has: ";
        let expected = format!("{says}{first:?}, {second:?}, {third:?}");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn a_stream_goes_on_behind_carriage_returns() {
    let stream = "text\na\nb\rc\rd\ne\n\"f\rg\"\n";
    let rows = skipping(stream, TextFormat::Commas).batch(9).unwrap();
    assert_eq!(rows, [row(2, "1", "a"), row(4, "3", "e"), row(5, "4", "f\rg")]);
}

#[test]
fn blank_lines_before_the_names_of_columns_are_bad_rows_too() {
    for format in [TextFormat::Tabs, TextFormat::Commas] {
        let stream = "\n \ntext\na\n\nb\nc\n";
        let rows = skipping(stream, format).batch(9).unwrap();
        assert_eq!(rows, [row(4, "1", "a"), row(6, "2", "b"), row(7, "3", "c")]);
        let error = reader(stream, format, None).err().unwrap().to_string();
        assert!(error.starts_with("stream:1: blank line inside the table"), "{error}");
        // no text is left
        let error = skipping("\ntext\n", format).batch(9).unwrap_err().to_string();
        assert!(error.starts_with("stream:1: blank line"), "{error}");
    }
}

/// The half of a text that a line begins with is not skipped, nor is the other half read as a row.
#[test]
fn quoted_texts_of_several_lines_between_tabs_are_refused() {
    for (stream, says) in [
        ("text\tn\na\t1\n\"b\nc\"\t2\n", "stream:3: 1 fields; expected 2"),
        ("n\ttext\n1\ta\n2\t\"b\nc\"\n", "stream:4: 1 fields; expected 2"),
    ] {
        let mut texts = skipping(stream, TextFormat::Tabs);
        assert!(!texts.batch(9).unwrap().is_empty(), "{stream:?}");
        let error = texts.batch(9).unwrap_err().to_string();
        assert!(error.starts_with(says) && error.contains(".csv"), "{stream:?}: {error}");
    }
    // marks within a text, or around a part of it, are characters
    let stream = "text\tn\n\"a\" b\t1\n5\" c\t2\nbad\n\"d\t3\n\"e\" f\t4\n";
    let rows = skipping(stream, TextFormat::Tabs).batch(9).unwrap();
    let expected =
        [row(2, "1", "\"a\" b"), row(3, "2", "5\" c"), row(5, "4", "\"d"), row(6, "5", "\"e\" f")];
    assert_eq!(rows, expected);
}
