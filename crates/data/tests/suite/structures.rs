//! SD files as tables, against the molecules that RDKit reads of them.

use std::path::{Path, PathBuf};

use dsokr_data::canonical;
use dsokr_data::table::{OnBadRow, Table, TableOptions};

use crate::Folder;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// `golden/structures.py`.
#[test]
fn molecules_of_sd_files_are_those_of_rdkit() {
    for name in ["structures.sdf", "structures_v3000.sdf", "structures_3d.sdf"] {
        let path = golden(name);
        let names = Table::header(&path, TableOptions::default()).unwrap().names;
        assert_eq!(names, ["smiles", "title", "rdkit", "half"], "{name}");
        let table = Table::read(&path, &["title", "smiles", "rdkit", "half"]).unwrap();
        assert!(table.len() >= 38, "{name}: {}", table.len());
        let column = |name: &str| table.column(name).unwrap();
        let rows = column("title").iter().zip(column("smiles")).zip(column("rdkit"));
        let differ: Vec<String> = rows
            .filter(|((_, actual), expected)| canonical(actual) != canonical(expected))
            .map(|((title, actual), expected)| format!("{title}: {actual}, RDKit: {expected}"))
            .collect();
        assert!(differ.is_empty(), "{name}:\n{}", differ.join("\n"));
        // data that a record does not have are empty
        assert_eq!((&*column("half")[0], &*column("half")[1]), ("0.0", ""));
    }
}

const METHANE: &str = "\n  made by hand\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 C   0  0\nM  END\n";

#[test]
fn records_that_cannot_be_read_are_refused_with_their_line_or_skipped() {
    let folder = Folder::new();
    let data = "> <boiling point>  (1)\n-161.5\n\n> <note>\ntwo\nlines\n\n> 25\nunnamed\n\n$$$$\n";
    let bad = METHANE.replace(" C ", " Xx");
    folder.file("a.sdf", format!("{METHANE}{data}{bad}$$$$\n{METHANE}"));
    let path = folder.path("a.sdf");
    let columns = ["smiles", "boiling point", "note"];
    let error = Table::read_rows(&path, &columns, OnBadRow::Stop).unwrap_err().to_string();
    assert!(error.contains("a.sdf:") && error.contains("an atom \"Xx\""), "{error}");
    let table = Table::read_rows(&path, &columns, OnBadRow::Skip).unwrap();
    assert_eq!((table.len(), table.skipped()), (2, 1));
    let row = columns.map(|name| table.column(name).unwrap()[0].clone());
    assert_eq!(row, ["C", "-161.5", "two lines"]);
    // values that begin as headers do
    let data = ">  <IC50>  (1)\n>10000\n\n> <note>\nfirst\n> 5 fold active\n<last>\n> <unit>\nnM\n\n$$$$\n";
    folder.file("c.sdf", format!("{METHANE}{data}"));
    let table = Table::read(&folder.path("c.sdf"), &["IC50", "note", "unit"]).unwrap();
    let row = ["IC50", "note", "unit"].map(|name| table.column(name).unwrap()[0].clone());
    assert_eq!(row, [">10000", "first > 5 fold active <last>", "nM"]);
    // names keep the order in which they are first seen, and of data that are given twice the first ones are read
    let data = "> <b>\n1\n\n> <a>\n2\n\n> <b>\n3\n\n$$$$\n";
    let more = "> <c>\n4\n\n> <a>\n5\n\n$$$$\n";
    folder.file("d.sdf", format!("{METHANE}{data}{METHANE}{more}"));
    let path = folder.path("d.sdf");
    let names = Table::header(&path, TableOptions::default()).unwrap().names;
    assert_eq!(names, ["smiles", "title", "b", "a", "c"]);
    let table = Table::read(&path, &["a", "b", "c"]).unwrap();
    let read = ["a", "b", "c"].map(|name| table.column(name).unwrap().to_vec());
    assert_eq!(read, [["2", "5"], ["1", ""], ["", "4"]]);
    for (line, said) in [
        ("  2  0  0  0  0  0  0  0  0  0999 V2000", "coordinate"),
        ("  1  1  0  0  0  0  0  0  0  0999 V2000", "a bond"),
    ] {
        let counts = METHANE.lines().nth(3).unwrap();
        folder.file("b.sdf", METHANE.replace(counts, line));
        let error = Table::read(&folder.path("b.sdf"), &["smiles"]).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_record_without_its_end_leaves_the_next_one() {
    let folder = Folder::new();
    let record = |at: usize, data: &str| {
        format!("m{at}{METHANE}{data}").replace(" C ", ["", " N ", " O ", " C ", " S "][at])
    };
    let ends = "$$$$\n";
    // a block within data is no record, and the fourth is cut off
    let inner = format!("> <block>\ninner{METHANE}\n");
    let third = record(3, &inner);
    let cut = record(4, "").replace("M  END\n", "").replace("  1  0", "  2  0");
    let file = record(1, "> <a>\n1\n\n") + &record(2, "> <a>\n2\n\n") + ends + &third + ends;
    let file = file + &cut + &record(1, "> <b>\n3\n\n") + ends;
    folder.file("open.sdf", file);
    let path = folder.path("open.sdf");
    let names = Table::header(&path, TableOptions::default()).unwrap().names;
    assert_eq!(names, ["smiles", "title", "a", "block", "b"]);
    let columns = ["title", "smiles", "a", "b"];
    let table = Table::read_rows(&path, &columns, OnBadRow::Skip).unwrap();
    let read = columns.map(|name| table.column(name).unwrap().to_vec());
    assert_eq!(read[0], ["m1", "m2", "m3", "m1"]);
    assert_eq!(read[1], ["N", "O", "C", "N"]);
    assert_eq!(read[2..], [["1", "2", "", ""], ["", "", "", "3"]]);
    assert_eq!(table.skipped(), 1);
    let error = Table::read_rows(&path, &columns, OnBadRow::Stop).unwrap_err().to_string();
    assert!(error.contains("the block ends before its last atom"), "{error}");
}

#[test]
fn blocks_within_data_are_no_records() {
    let folder = Folder::new();
    let butane = format!("butane{METHANE}");
    let in_reaction = format!("$MOL\n{METHANE}$MOL\n{butane}");
    for (name, item) in [
        ("behind the name", butane.clone()),
        ("behind a line", format!("a note\n{butane}")),
        ("behind a blank line", format!("a note\n\n{butane}")),
        ("without a title", format!("a note\n{METHANE}")),
        ("two", format!("{butane}{butane}")),
        ("two with a blank line between", format!("{butane}\n{butane}")),
        ("a reaction", format!("$RXN\nname\n  prog\nc\n  1  1\n{in_reaction}")),
        ("a reaction with blank lines", format!("$RXN\n\n  prog\n\n  1  1\n{in_reaction}")),
        ("V3000", format!("a note\n{}", butane.replace("V2000", "V3000"))),
    ] {
        let record =
            |at: usize| format!("m{at}{METHANE}> <a>\n{at}\n\n> <block>\n{item}\n> <b>\nb{at}\n\n");
        let read = |file: String| {
            let path = folder.file("blocks.sdf", file);
            let table = Table::read(&path, &["title", "smiles", "a", "b"]).unwrap();
            ["title", "smiles", "a", "b"].map(|column| table.column(column).unwrap().to_vec())
        };
        let expected = [["m1", "m2", "m3"], ["C", "C", "C"], ["1", "2", "3"], ["b1", "b2", "b3"]];
        let closed = [1, 2, 3].map(|at| record(at) + "$$$$\n").concat();
        assert_eq!(read(closed.clone()), expected, "{name}");
        assert_eq!(read(closed.replace('\n', "\r\n")), expected, "{name}");
        // nor where the records lack their ends
        assert_eq!(read([1, 2, 3].map(record).concat()), expected, "{name}");
        let last = [1, 2, 3].map(|at| record(at).replace(&format!("> <b>\nb{at}\n\n"), ""));
        let expected = [["m1", "m2", "m3"], ["C", "C", "C"], ["1", "2", "3"], [""; 3]];
        let has_b = format!("{}> <b>\n\n$$$$\n", last.concat());
        assert_eq!(read(has_b), expected, "{name}");
    }
}
