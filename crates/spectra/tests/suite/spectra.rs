//! Files of mass spectra, as tables and as texts.

use std::io::Write;

use dsokr_basis::features::SparseRows;
use dsokr_basis::kernel::{OutputKernel, ProbabilityProduct, contract};
use dsokr_basis::{Features, Kernel, RowSource};
use dsokr_core::Error::File;
use dsokr_data::Error;
use dsokr_data::table::{OnBadRow, Table, TableOptions, TextFormat, TextReader};
use dsokr_molecule::Molecule;
use dsokr_spectra::{
    Adduct, FittedPeaks, POSITIONS, PeakFeatures, PeakSource, Polarity, Spectrum, SpectrumFormat,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::*;

use super::mzml::MZML;
use super::{Folder, published};

const MGF: &str = "# a comment\n\nCOM=outside of spectra\nBEGIN IONS\nTITLE=one\nPEPMASS=181.07066 1000\nCHARGE=1+\n\
    ADDUCT=[M+H]+\nFORMULA=C6H12O6\nINCHIKEY=WQZGKKKJIJFFOK\nSMILES=OC[C@H]1OC(O)C(O)C(O)C1O\nCOLLISION_ENERGY=20 eV\n\
    85.02841 0.25\n127.03897\t1 2+\nEND IONS\n\nBEGIN IONS\nTITLE=two\nPEPMASS=47.04914\nSMILES=CCO\n# ethanol\n\
    29.03858 100\nEND IONS\n";

/// One spectrum as NIST and as MoNA write it, whose comments hold fields.
const MSP: &str = "Name: one\nPrecursorMZ: 181.07066\nPrecursor_type: [M+H]+\nFormula: C6H12O6\nInChIKey: \
    WQZGKKKJIJFFOK\nCollision_energy: 20 eV\nSMILES: OC[C@H]1OC(O)C(O)C(O)C1O\nNum Peaks: 2\n85.02841 0.25; 127.03897 1 \
    \"C6H7O3\"\n\n\nName: glucose\nDB#: one\nPrecursor_Type: [M+H]+\nPrecursorMZ: 181.07066\nComments: \
    \"SMILES=OC[C@H]1OC(O)C(O)C(O)C1O\" \"InChIKey=WQZGKKKJIJFFOK\" \"collision energy=20 eV\" author=a\nFormula: \
    C6H12O6\nNum Peaks: 2\n85.02841\t0.25\n127.03897\t1\n";

const MASSBANK: &str = "ACCESSION: one\nRECORD_TITLE: glucose; LC-ESI-QTOF; MS2\nCH$NAME: glucose\nCH$NAME: D-glucose\n\
    CH$FORMULA: C6H12O6\nCH$SMILES: OC[C@H]1OC(O)C(O)C(O)C1O\nCH$LINK: CAS 50-99-7\nCH$LINK: INCHIKEY WQZGKKKJIJFFOK\n\
    AC$INSTRUMENT_TYPE: LC-ESI-QTOF\nAC$MASS_SPECTROMETRY: MS_TYPE MS2\nAC$MASS_SPECTROMETRY: COLLISION_ENERGY 20 eV\n\
    MS$FOCUSED_ION: PRECURSOR_M/Z 181.07066\nMS$FOCUSED_ION: PRECURSOR_TYPE [M+H]+\nPK$ANNOTATION: m/z ion\n  85.02841 \
    C4H5O2+\nPK$NUM_PEAK: 2\nPK$PEAK: m/z int. rel.int.\n  85.02841 0.25 250\n  127.03897 1 999\n//\n";

pub(super) const COLUMNS: [&str; 7] =
    ["precursor_mz", "adduct", "formula", "smiles", "inchikey", "collision_energy", "spectrum"];

pub(super) const GLUCOSE: [&str; 7] = [
    "181.07066",
    "[M+H]+",
    "C6H12O6",
    "OC[C@H]1OC(O)C(O)C(O)C1O",
    "WQZGKKKJIJFFOK",
    "20 eV",
    "181.07066 adduct=[M+H]+ formula=C6H12O6 85.02841:0.25 127.03897:1",
];

pub(super) fn row(table: &Table, row: usize, columns: &[&str]) -> Vec<String> {
    columns.iter().map(|column| table.column(column).unwrap()[row].clone()).collect()
}

#[test]
fn one_spectrum_is_the_same_in_every_format() {
    let folder = Folder::new();
    let columns = "precursor_mz\tadduct\tformula\tsmiles\tinchikey\tcollision_energy\tmzs\tintensities\n\
        181.07066\t[M+H]+\tC6H12O6\tOC[C@H]1OC(O)C(O)C(O)C1O\tWQZGKKKJIJFFOK\t20 eV\t85.02841,127.03897\t0.25,1\n";
    let object = "{\"precursor_mz\": 181.07066, \"adduct\": \"[M+H]+\", \"formula\": \"C6H12O6\", \"smiles\": \
        \"OC[C@H]1OC(O)C(O)C(O)C1O\", \"inchikey\": \"WQZGKKKJIJFFOK\", \"collision_energy\": \"20 eV\", \"name\": {}, \
        \"mzs\": [85.02841, 127.03897], \"intensities\": [0.25, 1]}\n";
    let texts = object.replace("[85.02841, 127.03897]", "\"85.02841,127.03897\"");
    // as pandas writes lists of numbers of NumPy
    let typed = columns
        .replace("85.02841,127.03897", "[np.float64(85.02841), np.float64(127.03897)]")
        .replace("0.25,1\n", "[np.float64(0.25), 1]\n");
    // pairs, as matchms has them, and as a text, as GNPS does
    let lists = "\"mzs\": [85.02841, 127.03897], \"intensities\": [0.25, 1]";
    let matchms = object.replace(lists, "\"peaks_json\": [[85.02841, 0.25], [127.03897, 1, null]]");
    let gnps = object
        .replace(lists, "\"peaks_json\": \"[[85.02841,0.25],[127.03897,1]]\"")
        .replace("\"precursor_mz\": 181.07066", "\"Precursor_MZ\": \"181.07066\"")
        .replace("\"smiles\"", "\"Smiles\"");
    for (name, text, at) in [
        ("a.mgf", MGF.replace("END IONS\n\nBEGIN", "END IONS\nBEGIN"), 0),
        ("b.MGF", MGF.replace('\n', "\r\n"), 0),
        ("a.msp", MSP.into(), 0),
        ("b.msp", MSP.into(), 1),
        ("a.massbank", MASSBANK.repeat(2), 1),
        ("a.tsv", columns.into(), 0),
        ("b.tsv", typed, 0),
        ("a.jsonl", object.into(), 0),
        ("b.jsonl", texts, 0),
        ("c.jsonl", matchms, 0),
        ("d.jsonl", gnps, 0),
    ] {
        // the second spectrum of the MGF file has fewer fields
        let text = if name.ends_with("mgf") || name.ends_with("MGF") {
            text.split_inclusive("END IONS").next().unwrap().to_owned()
        } else {
            text
        };
        let table = Table::read(&folder.file(name, text), &COLUMNS).unwrap();
        assert_eq!(row(&table, at, &COLUMNS), GLUCOSE, "{name}");
    }
    for pasted in [MGF, MASSBANK, MSP.split("\n\n").next().unwrap()] {
        let pasted = &pasted[pasted.find("BEGIN").unwrap_or(0)..];
        let pasted = pasted.split_inclusive("END IONS").next().unwrap();
        let expected: Spectrum = GLUCOSE[6].parse().unwrap();
        assert_eq!(pasted.parse::<Spectrum>().unwrap(), expected, "{pasted}");
    }
}

#[test]
fn peaks_of_json_are_pairs_or_two_lists() {
    let folder = Folder::new();
    let read = |peaks: &str| {
        let line = format!("{{\"precursor_mz\": 181.07, {peaks}}}\n");
        let table = Table::read(&folder.file("a.jsonl", line), &["spectrum"]);
        table.map(|table| row(&table, 0, &["spectrum"]).remove(0))
    };
    for peaks in [
        "\"peaks\": [[50.1, 0.2], [60.1, 1], [70.1, 0.5]]",
        "\"peaks\": [[50.1, 60.1, 70.1], [0.2, 1, 0.5]]",
        // a number of peaks beside them, and an annotation
        "\"Peaks\": 3, \"Peaks_json\": [[50.1, 0.2, 7], [60.1, 1], [70.1, 0.5]]",
        "\"peaks\": [{\"mz\": 50.1, \"intensity\": 0.2}, {\"intensity\": 1, \"mz\": 60.1}, [70.1, 0.5]]",
        "\"peaks\": \"50.1:0.2 60.1:1 70.1:0.5\"",
    ] {
        assert_eq!(read(peaks).unwrap(), "181.07 50.1:0.2 60.1:1 70.1:0.5", "{peaks}");
    }
    for (peaks, says) in [
        ("\"peaks\": [[0.2, 1, 0.5], [50.1, 60.1, 70.1]]", "two lists"),
        ("\"peaks\": [[50.1, 1, 2, 3]]", "the peak [50.1, 1, 2, 3]"),
        ("\"peaks\": [[50.1, 1], [3]]", "the peak [3]"),
    ] {
        let error = read(peaks).unwrap_err().to_string();
        assert!(error.contains("key \"peaks\" holds") && error.contains(says), "{error}");
    }
}

#[test]
fn peaks_of_a_column_are_pairs_too() {
    let folder = Folder::new();
    let table = |peaks: &str| {
        let text = format!("Precursor_MZ,Smiles,peaks_json\n181.07,CCO,\"{peaks}\"\n");
        let path = folder.file("a.csv", text);
        Table::read(&path, &["spectrum", "smiles"])
    };
    let read = table("[[50.1, 0.2], [60.1, 1]]").unwrap();
    assert_eq!(row(&read, 0, &["spectrum", "smiles"]), ["181.07 50.1:0.2 60.1:1", "CCO"]);
    let error = table("[[50.1], [60.1, 1]]").unwrap_err().to_string();
    assert!(error.contains("column \"peaks_json\" holds the peak [50.1]"), "{error}");
    // a row that lacks a field is named by the columns of the file
    let path = folder.file("b.csv", "precursor_mz,smiles,peaks_json\n181.07,CCO\n");
    let error = Table::read(&path, &["smiles"]).unwrap_err().to_string();
    assert!(error.contains("2 fields; expected 3 "), "{error}");
}

#[test]
fn spectra_of_other_levels_are_left_out_of_tables() {
    let folder = Folder::new();
    let lines = "{\"ms_level\": 1, \"precursor_mz\": 149.0961, \"peaks\": [[149.1, 1]]}\n\
                 {\"ms_level\": 2, \"precursor_mz\": 149.0961, \"peaks\": [[91.1, 1]]}\n\
                 {\"ms_level\": \"MS1\", \"peaks\": [[149.1, 1]]}\n";
    let commas = "MS_Level,precursor_mz,mzs,intensities\n1,149.0961,149.1,1\n2,149.0961,91.1,1\n";
    for (name, text) in [("a.jsonl", lines), ("a.csv", commas)] {
        let table = Table::read(&folder.file(name, text), &["spectrum"]).unwrap();
        assert_eq!(table.column("spectrum").unwrap(), ["149.0961 91.1:1"], "{name}");
        let others: String =
            text.split_inclusive('\n').filter(|line| !line.contains("91.1")).collect();
        let error = Table::read(&folder.file(name, others), &["spectrum"]).unwrap_err();
        assert!(error.to_string().contains("no tandem spectra"), "{error}");
    }
}

#[test]
fn names_of_the_file_count_too_and_gzip_is_read() {
    let folder = Folder::new();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(MGF.as_bytes()).unwrap();
    let path = folder.file("a.mgf.gz", gzip.finish().unwrap());
    let table = Table::read(&path, &["identifier", "TITLE", "pepmass", "spectrum"]).unwrap();
    let spectrum = "47.04914 29.03858:100";
    let columns = ["identifier", "TITLE", "pepmass", "spectrum"];
    assert_eq!(row(&table, 1, &columns), ["two", "two", "47.04914", spectrum]);
    assert_eq!((table.line(0), table.line(1)), (4, 17));
    let names = Table::header(&path, TableOptions::default()).unwrap().names;
    assert_eq!(names[..4], ["identifier", "precursor_mz", "charge", "adduct"]);
    assert_eq!(names.last().unwrap(), "spectrum");
}

#[test]
fn a_name_is_a_name_also_where_it_says_that_nothing_is_known() {
    let folder = Folder::new();
    let entry = |name: &str| {
        format!(
            "NAME: {name}\nPRECURSORMZ: 149.1\nPRECURSORTYPE: [M+H]+\nFORMULA: N/A\nNum Peaks: 1\n91.05 1\n\n"
        )
    };
    let path = folder.file("dial.msp", entry("Caffeine") + &entry("Unknown") + &entry("NA"));
    let table = Table::read_rows(&path, &["name", "spectrum"], OnBadRow::Stop).unwrap();
    assert_eq!(table.column("name").unwrap(), ["Caffeine", "Unknown", "NA"]);
    let path = folder.file("na.mgf", mgf("TITLE=NA"));
    let table = Table::read_rows(&path, &["identifier"], OnBadRow::Stop).unwrap();
    assert_eq!(table.column("identifier").unwrap(), ["NA"]);
    // a known value precedes, by any name of the field
    let path = folder.file("scans.mgf", mgf("TITLE=N/A\nSCANS=7"));
    let table = Table::read_rows(&path, &["identifier"], OnBadRow::Stop).unwrap();
    assert_eq!(table.column("identifier").unwrap(), ["7"]);
    // what else is not known has no value
    let path = folder.file("dial.msp", entry("Unknown"));
    let error = Table::read_rows(&path, &["formula"], OnBadRow::Stop).unwrap_err();
    assert_eq!(
        folder.message(error),
        "dial.msp:1: a spectrum: the field \"formula\" is \"N/A\", which is no value"
    );
}

#[test]
fn what_is_wrong_has_its_line_and_its_spectrum() {
    let folder = Folder::new();
    let read = |name: &str, text: &str, on_bad_row| {
        Table::read_rows(&folder.file(name, text), &["smiles", "spectrum"], on_bad_row)
    };
    for (name, from, to, message) in [
        (
            "a.mgf",
            "0.25",
            "-1",
            "a.mgf:13: spectrum \"one\": a peak's intensity \"-1\" is not a number from 0 to 1e30",
        ),
        (
            "a.mgf",
            "0.25",
            "NaN",
            "a.mgf:13: spectrum \"one\": a peak's intensity \"NaN\" is not a number from 0 to 1e30",
        ),
        (
            "a.mgf",
            "85.02841 0.25",
            "85,02841 0,25",
            "a.mgf:13: spectrum \"one\": a peak \"85,02841 0,25\" has commas in its numbers; write decimal points, and no sign between thousands",
        ),
        (
            "a.mgf",
            "85.02841 0.25",
            "85,02841 1000",
            "a.mgf:13: spectrum \"one\": a peak \"85,02841 1000\" has commas in its numbers; write decimal points, and no sign between thousands",
        ),
        (
            "a.mgf",
            "85.02841 0.25",
            "85.02841\t1,234.5",
            "a.mgf:13: spectrum \"one\": a peak \"85.02841\\t1,234.5\" has commas in its numbers; write decimal points, and no sign between thousands",
        ),
        (
            "a.mgf",
            "85.02841 0.25",
            "85,02841,10",
            "a.mgf:13: spectrum \"one\": a peak \"85,02841,10\" has commas in its numbers; write decimal points, and no sign between thousands",
        ),
        (
            "a.mgf",
            "85.02841 0.25",
            "85,128,10\n99,290,8",
            "a.mgf:13: spectrum \"one\": a peak \"85,128,10\" has commas in its numbers; write decimal points, and no sign between thousands",
        ),
        (
            "a.mgf",
            "85.02841 0.25",
            "85,12,10\n99,29,8,5",
            "a.mgf:14: spectrum \"one\": a peak \"99,29,8,5\" has commas in its numbers; write decimal points, and no sign between thousands",
        ),
        (
            "a.massbank",
            "  85.02841 0.25 250",
            "  85,02841 10 250",
            "a.massbank:18: spectrum \"one\": a peak \"85,02841 10 250\" has commas in its numbers; write decimal points, and no sign between thousands",
        ),
        (
            "a.mgf",
            "0.25",
            "",
            "a.mgf:13: spectrum \"one\": a peak \"85.02841\" is not m/z and intensity",
        ),
        (
            "a.mgf",
            "CHARGE=1+\nADDUCT=[M+H]+",
            "IONMODE=Negative\nADDUCT=M+H",
            "a.mgf:4: spectrum \"one\": the adduct M+H is positive, and the ion mode negative",
        ),
        (
            "a.mgf",
            "CHARGE=1+\nADDUCT=[M+H]+",
            "IONMODE=ESI+/-",
            "a.mgf:4: spectrum \"one\": the ion mode \"ESI+/-\" is neither positive nor negative; write one of these, or the adduct",
        ),
        (
            "a.mgf",
            "CHARGE=1+\nADDUCT=[M+H]+",
            "IONMODE=positive/negative",
            "a.mgf:4: spectrum \"one\": the ion mode \"positive/negative\" is neither positive nor negative; write one of these, or the adduct",
        ),
        (
            "a.mgf",
            "29.03858 100\n",
            "",
            "a.mgf:17: spectrum \"two\": a spectrum without peaks; at least one is needed",
        ),
        (
            "a.mgf",
            "PEPMASS=47.04914\n",
            "",
            "a.mgf:17: spectrum \"two\": no precursor's m/z; a number above 0 is needed",
        ),
        (
            "a.mgf",
            "PEPMASS=47.04914",
            "PEPMASS=0.0",
            "a.mgf:17: spectrum \"two\": the precursor's m/z \"0.0\" is not a number above 0",
        ),
        (
            "a.mgf",
            "SMILES=CCO\n",
            "",
            "a.mgf:17: spectrum \"two\": no field \"smiles\"; it has: \"identifier\", \"precursor_mz\", \"spectrum\"",
        ),
        ("a.mgf", "END IONS\n\n", "\n", "a.mgf:4: spectrum \"one\": no END IONS"),
        (
            "a.msp",
            "Num Peaks: 2\n85",
            "Num Peaks: 3\n85",
            "a.msp:1: spectrum \"one\": 2 peaks; it states 3",
        ),
        (
            "a.msp",
            "85.02841 0.25; 127.03897 1",
            "85.02841 0.25 127.03897 1 128 2",
            "a.msp:9: spectrum \"one\": \"85.02841 0.25 127.03897 1 128 2\" has the numbers of several peaks; write one peak a line, or as many in all as \"Num Peaks\" states",
        ),
        (
            "a.msp",
            "Formula: C6H12O6\nInChI",
            "no key\nInChI",
            "a.msp:4: spectrum \"one\": \"no key\" is not \"Key: value\", which is needed before \"Num Peaks\"",
        ),
        (
            "a.msp",
            "127.03897 1 \"C6H7O3\"",
            "127.03897 1\nComment: after peaks",
            "a.msp:10: spectrum \"one\": \"Comment: after peaks\" is no peak; behind \"Num Peaks\" stand peaks alone, up to a blank line",
        ),
        (
            "a.msp",
            "Num Peaks: 2",
            "\nNum Peaks: 2",
            "a.msp:1: spectrum \"one\": no \"Num Peaks\"; a blank line ends a spectrum",
        ),
        ("a.massbank", "//\n", "", "a.massbank:1: spectrum \"one\": no // at its end"),
        (
            "a.massbank",
            "//\n",
            "ACCESSION: two\nPK$PEAK: m/z int.\n  50 1\n//\n",
            "a.massbank:1: spectrum \"one\": no // at its end",
        ),
        (
            "a.massbank",
            "  127.03897 1 999\n",
            "",
            "a.massbank:1: spectrum \"one\": 1 peaks; it states 2",
        ),
        ("a.tsv", ",127", "", "a.tsv:2: spectrum \"t\": 2 intensities of 1 peaks"),
        ("a.tsv", "85.02,127.04", "", "a.tsv:2: spectrum \"t\": 2 intensities, and no \"mzs\""),
    ] {
        let text = match name {
            "a.mgf" => MGF,
            "a.msp" => MSP,
            "a.massbank" => MASSBANK,
            _ => {
                "identifier\tsmiles\tprecursor_mz\tmzs\tintensities\nt\tC\t181.07\t85.02,127.04\t0.25,1\n"
            }
        };
        assert!(text.contains(from), "{from}");
        let wrong = text.replacen(from, to, 1);
        let error = read(name, &wrong, OnBadRow::Stop).unwrap_err();
        assert!(matches!(error, Error::Core(File { line: Some(_), .. })));
        assert_eq!(folder.message(error), message);
        if name == "a.mgf" && !from.contains("END") {
            let left = read(name, &wrong, OnBadRow::Skip).unwrap();
            assert_eq!((left.len(), left.skipped()), (1, 1), "{message}");
            // by default too
            let left = read(name, &wrong, OnBadRow::default()).unwrap();
            assert_eq!((left.len(), left.skipped()), (1, 1), "{message}");
        }
    }
}

#[test]
fn a_spectrum_without_its_end_leaves_the_next_one() {
    let ends = |mz: &str| mgf(&format!("TITLE={mz}")).replace("181.07", mz);
    let open = |mz: &str| ends(mz).replace("END IONS\n", "");
    let file = open("100") + &open("200") + &ends("300") + "\n" + &ends("400") + &open("500");
    let folder = Folder::new();
    let path = folder.file("open.mgf", file);
    let read = |on_bad_row| Table::read_rows(&path, &["spectrum"], on_bad_row);
    let table = read(OnBadRow::Skip).unwrap();
    assert_eq!(table.column("spectrum").unwrap(), ["300 50:1 60:2", "400 50:1 60:2"]);
    assert_eq!(([table.line(0), table.line(1)], table.skipped()), ([11, 18], 3));
    let error = folder.message(read(OnBadRow::Stop).unwrap_err());
    assert_eq!(error, "open.mgf:1: spectrum \"100\": no END IONS");

    // however many lack it: a copy of the rest for each takes an hour
    let title = "x".repeat(400);
    let many = mgf(&format!("TITLE={title}")).replace("END IONS\n", "").repeat(200_000);
    let path = folder.file("many.mgf", many + &ends("300"));
    let table = Table::read_rows(&path, &["spectrum"], OnBadRow::Skip).unwrap();
    assert_eq!((table.len(), table.skipped()), (1, 200_000));

    let second =
        MASSBANK.replace("181.07066", "182.07066").replace("ACCESSION: one", "ACCESSION: two");
    let open = MASSBANK.replace("//\n", "");
    let expected = GLUCOSE[6].replace("181.07066", "182.07066");
    assert_eq!(spectra_of("open.massbank", &(open + &second)), [expected]);
}

#[test]
fn a_spectrum_of_msp_without_its_blank_line_leaves_the_next_one() {
    let entry = |at: usize, count: usize| {
        format!("NAME: q{at}\nPRECURSORMZ: 18{at}.07\nNum Peaks: {count}\n50 1\n60 2 \"a: b\"\n")
    };
    // the second one has the peaks that it states, the fourth is cut off
    let whole = [entry(0, 2) + "\n", entry(1, 2), entry(2, 2) + "\n"].concat();
    let file = whole + &entry(3, 8) + &entry(4, 2) + &entry(5, 2);
    let folder = Folder::new();
    let path = folder.file("open.msp", &file);
    let read = |on_bad_row| Table::read_rows(&path, &["name", "spectrum"], on_bad_row);
    let table = read(OnBadRow::Skip).unwrap();
    assert_eq!(table.column("name").unwrap(), ["q0", "q1", "q2", "q4", "q5"]);
    assert_eq!(table.column("spectrum").unwrap()[3], "184.07 50:1 60:2");
    assert_eq!((table.line(2), table.line(3), table.skipped()), (12, 23, 1));
    let error = folder.message(read(OnBadRow::Stop).unwrap_err());
    assert_eq!(error, "open.msp:18: spectrum \"q3\": 2 peaks; it states 8");

    // ids are numbers among all rows
    let ids_of = |file: &str| {
        let name = std::path::Path::new("-");
        let format = TextFormat::Spectra(SpectrumFormat::Msp);
        let skip = OnBadRow::Skip;
        let mut texts =
            TextReader::new(name, file.as_bytes(), format, "spectrum", None, skip).unwrap();
        let batches =
            std::iter::from_fn(|| Some(texts.batch(10).unwrap()).filter(|b| !b.is_empty()));
        batches.flatten().map(|row| row.id).collect::<Vec<String>>()
    };
    let ids = ids_of(&file);
    assert_eq!(ids, ["1", "2", "3", "5", "6"]);

    // a blank line within a spectrum leaves a rest that is no row of its own
    let file = entry(0, 2).replace("Num", "\nNum") + "\n" + &entry(1, 2);
    let ids = ids_of(&file);
    assert_eq!(ids, ["2"]);

    // comments, also one with a colon before the first spectrum, and behind peaks without a blank line
    let file =
        "# a: b\n\n# c: d\n".to_owned() + &entry(0, 2) + "# e: f\n" + &entry(1, 2) + "\n# g: h\n";
    assert_eq!(spectra_of("comments.msp", &file), ["180.07 50:1 60:2", "181.07 50:1 60:2"]);

    // where names stand behind other fields, and with no blank line in the whole file
    let entry = |mz: usize| format!("PRECURSORMZ: {mz}.07\nName: a\nNum Peaks: 1\n50 1\n");
    let all = [181, 182, 183].map(entry).concat();
    let expected = ["181.07 50:1", "182.07 50:1", "183.07 50:1"];
    assert_eq!(spectra_of("none.msp", &all), expected);
}

#[test]
fn a_text_of_json_begins_no_file_of_spectra() {
    for start in ["{\"precursor_mz\": 5", "[{\"precursor_mz\": 5", "\"name\": 5", "[[50.1, 1]]"] {
        assert_eq!(SpectrumFormat::of_start(start), None, "{start}");
    }
    for start in ["Name: a\n", "\n  PRECURSORMZ: 5\n", "DB#: 5\n"] {
        assert_eq!(SpectrumFormat::of_start(start), Some(SpectrumFormat::Msp), "{start}");
    }
}

#[test]
fn a_pasted_text_of_several_spectra_is_no_query() {
    let refused = |text: String, says: &str| {
        let error = text.parse::<Spectrum>().unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("is needed here"), "{error}");
    };
    refused(MASSBANK.replace("//\n", MASSBANK), "no // before ACCESSION \"one\"");
    refused(mgf("").replace("END IONS\n", &mgf("")), "BEGIN IONS before its END IONS");
    let second = MASSBANK.replace("one", "two").replace("85.02841", "87.02841");
    let error = (MASSBANK.to_owned() + &second).parse::<Spectrum>().unwrap_err().to_string();
    assert!(error.contains("lines behind its //; one record is needed here"), "{error}");
    // blank lines and comments are none
    assert!(format!("{MASSBANK}\n# end\n").parse::<Spectrum>().is_ok());
    let uncounted = MASSBANK.replace("PK$NUM_PEAK: 2\n", "");
    assert_eq!(uncounted.parse::<Spectrum>().unwrap(), MASSBANK.parse::<Spectrum>().unwrap());
}

/// m/z of ions of glucose, from RDKit's masses of isotopes.
#[test]
fn adducts_have_the_masses_of_their_atoms() {
    let mass = Molecule::parse(GLUCOSE[3]).unwrap().exact_mass();
    for (adduct, mz) in [
        ("[M+H]+", 181.070664),
        ("[M+NH4]+", 198.097214),
        ("[2M+Na]1+", 383.115997),
        ("[M+2H]2+", 91.038970),
        ("[M-H]-", 179.056112),
        ("[M+CH3COO]-", 239.077241),
        ("[M+H-2H2O]+", 145.049535),
        ("[M]+.", 180.062839),
        ("[M]+*", 180.062839),
        ("[M-2H]2-", 89.024418),
        // as GNPS, MoNA, NIST, MS-DIAL and SIRIUS write them
        ("M+H", 181.070664),
        ("(M+H)+", 181.070664),
        ("M-H", 179.056112),
        ("M+2H", 91.038970),
        ("M+NH4", 198.097214),
        ("M+Na-2H", 201.038056),
        ("M-H2O+H", 163.060100),
        ("[M + H]+", 181.070664),
        ("\"[M+H]1+\"", 181.070664),
        ("[M+H]", 181.070664),
        ("[M+2H]++", 91.038970),
        ("[M-2H]--", 89.024418),
        ("M+", 180.062839),
        ("M+.", 180.062839),
        ("[Cat]+", 180.062839),
        ("[M+ACN+H]+", 222.097214),
        ("[M+FA-H]-", 225.061591),
        ("[2M+FA-H]-", 405.124979),
        ("[M+Hac-H]-", 239.077241),
        ("[M+TFA-H]-", 293.048976),
        ("[M+DMSO+H]+", 259.084600),
        ("[M+IsoProp+Na+H]2+", 132.058700),
        ("[M+13C+H]+", 182.074019),
        ("[M+37Cl]-", 217.029839),
        ("[M+13C2+H]+", 183.077374),
        ("[M+15N2+H]+", 183.064734),
        // radicals with the dot of IUPAC
        ("[M]+•", 180.062839),
        ("[M]•+", 180.062839),
        ("M+•", 180.062839),
        // a name of an acid or of its anion, and the charge says which
        ("[M+Ac-H]-", 239.077241),
        ("[M+OAc-H]-", 239.077241),
        ("[M+acetate-H]-", 239.077241),
        ("[M+Ac]-", 239.077241),
        ("[M+HAc]-", 239.077241),
        ("[M+AcOH]1-", 239.077241),
        ("[M+FA]-", 225.061591),
        ("[M+HFA]-", 225.061591),
        ("[M+For-H]-", 225.061591),
        ("[M+formate-H]-", 225.061591),
        ("[M+formate]-", 225.061591),
        ("[2M+FA]-", 405.124979),
        ("[M+TFA]-", 293.048976),
        ("[M+Ac+Na-H]-", 261.059187),
        ("[M+Ac+Na-2H]-", 261.059187),
        ("[M+FA+H]+", 227.076144),
        ("[M-H-FA]-", 133.050632),
        // a digit before the sign is of the charge or of a formula
        ("M+2H2+", 91.038970),
        ("M-2H2-", 89.024418),
        ("M+2Na2+", 113.020915),
        ("M+3H3+", 61.028406),
        ("M+Ca2+", 110.012441),
        ("M+H1+", 181.070664),
        ("M+2H-H2O2+", 82.033688),
        ("M+NH4+", 198.097214),
        ("M+H-NH3+", 164.044115),
        ("M+2H++", 91.038970),
        ("M+H+", 181.070664),
        ("M-H-", 179.056112),
        ("M+Na-2H-", 201.038056),
        ("M+FA-H-", 225.061591),
        ("M+FA-", 225.061591),
        ("M+Ac-H-", 239.077241),
        ("(M+2H)2+", 91.038970),
        ("M+Ni-H+", 236.990357),
        ("M+Fe-H+", 234.989951),
        ("M+Pd-H+", 284.958495),
        ("M+Al-2H+", 205.028728),
        ("M-Br+O-", 117.140514),
        // what is no ion leaves the sign of the charge alone
        ("M+O2-", 212.053766),
        ("M+SO3-", 260.020752),
        ("M-CO2-", 136.074107),
        ("M-CH3+", 165.039364),
        ("M+H-CH3+", 166.047189),
    ] {
        let read: Adduct = adduct.parse().unwrap();
        assert!((read.mz(mass) - mz).abs() < 1e-5, "{adduct}: {}", read.mz(mass));
        assert!((read.mass(mz) - mass).abs() < 1e-5, "{adduct}");
    }
    for wrong in [
        "", "M", "[M+?]+", "[M-3]+", "[M+H]0+", "[M+]+", "[M+Xx]+", "[0M+H]+", "[+H]+", "[M+H]+x",
        "M+H2+", "M+Na2+", "M-C2-", "M2+", "M+2H+", "M+2Na+", "M+H+Na+", "M-2H-", "M+H-", "M+K+H+",
    ] {
        assert!(wrong.parse::<Adduct>().is_err(), "{wrong}");
    }
}

/// Returns the spectra of `file`, each row one, as programs write them.
fn spectra_of(name: &str, file: &str) -> Vec<String> {
    let folder = Folder::new();
    let table = Table::read_rows(&folder.file(name, file), &["spectrum"], OnBadRow::default());
    table.unwrap().column("spectrum").unwrap().to_vec()
}

/// Returns one spectrum in MGF with these fields, whose peaks are 50 and 60.
fn mgf(fields: &str) -> String {
    format!("BEGIN IONS\nPEPMASS=181.07\n{fields}\n50 1\n60 2\nEND IONS\n")
}

/// `tests/golden/adducts.py` made the values, from the tables of matchms.
#[test]
fn adducts_are_those_of_matchms() {
    let mass = Molecule::parse(GLUCOSE[3]).unwrap().exact_mass();
    let mut count = 0;
    for line in include_str!("../golden/adducts.tsv").lines().skip(1) {
        let (written, mz) = line.split_once('\t').unwrap();
        let adduct: Adduct = written.parse().unwrap();
        // its corrections have three or four places
        assert!((adduct.mz(mass) - mz.parse::<f64>().unwrap()).abs() < 1e-3, "{line}");
        count += 1;
    }
    assert!(count > 90, "{count}");
}

#[test]
fn odd_files_are_read() {
    let peaks = "50:1 60:2";
    let plain = format!("181.07 {peaks}");
    for (name, file) in [
        ("unsorted.mgf", "BEGIN IONS\nPEPMASS=181.07\n60 2\n50 1\nEND IONS\n"),
        ("zeros.mgf", "BEGIN IONS\nPEPMASS=181.07\n40 0\n50 1\n55 0.0\n60 2\nEND IONS\n"),
        ("lower.mgf", "begin ions\npepmass=181.07\n50 1\n60 2\nend ions\n"),
        ("return.mgf", "BEGIN IONS\rPEPMASS=181.07\r50 1\r60 2\rEND IONS\r"),
        ("dos.mgf", "BEGIN IONS\r\nPEPMASS=181.07\r\n50 1\r\n60 2\r\nEND IONS\r\n"),
        ("commas.mgf", "BEGIN IONS\nPEPMASS=181.07\n50,1\n60, 2\nEND IONS\n"),
        ("columns.mgf", "BEGIN IONS\nPEPMASS=181.07\n50,1,9\n60,2,10\nEND IONS\n"),
        ("columns.msp", "Name: a\nPrecursorMZ: 181.07\nNum Peaks: 2\n50,1,9\n60,2,10\n"),
        ("no-end.mgf", "BEGIN IONS\nPEPMASS=181.07\n50 1\n60 2\nEND IONS"),
        (
            "quoted.msp",
            "Name: a\nPrecursorMZ: 181.07\nNum Peaks: 2\n50 1 \"a;b 2\"; 60 2 \"c; d\"\n",
        ),
        ("brackets.msp", "NAME: a\nPRECURSORMZ: 181.07\nNum peaks: 2\n(50,1)(60,2)\n"),
        ("columns.msp", "NAME: a\nPRECURSORMZ: 181.07\nNum peaks: 2\n50 1 2 2.06\n60 2 2 1.5\n"),
        ("tabs.msp", "NAME: a\nPRECURSORMZ: 181.07\nNum peaks: 3\n40 0\t50 1\n60 2\n"),
        (
            "parent.msp",
            "Name: a\nMW: 181\nComment: Parent=181.07 Mods=0\nNum peaks: 2\n50 1\n60 2\n",
        ),
        ("dial.msp", "NAME: a\nPRECURSORMZ: 181.07\nADDUCT: N/A\nNumPeaks: 2\n50\t1\n60\t2\n"),
        ("return.msp", "Name: a\rPrecursorMZ: 181.07\rNum Peaks: 2\r50 1\r60 2\r\r"),
    ] {
        assert_eq!(spectra_of(name, file), std::slice::from_ref(&plain), "{name}");
    }
    let exponents = mgf("").replace("50 1", "50,1e3,1");
    assert_eq!(spectra_of("exponents.mgf", &exponents), ["181.07 50:1e3 60:2"]);
    // empty spectra, profiles and levels other than 2 are left out, and the file goes on
    let hump = [1, 3, 9, 14, 9, 3, 1];
    let profile: String = (0..10)
        .flat_map(|top| hump.iter().enumerate().map(move |(at, height)| (top, at, height)))
        .map(|(top, at, height)| format!("{}.0{at} {height}\n", 50 + top))
        .collect();
    let others = [
        "BEGIN IONS\nPEPMASS=181.07\nEND IONS\n".to_owned(),
        "BEGIN IONS\nPEPMASS=181.07\n50 0\nEND IONS\n".to_owned(),
        format!("BEGIN IONS\nPEPMASS=181.07\n{profile}END IONS\n"),
        mgf("MSLEVEL=1"),
        mgf("MS_LEVEL=MS3"),
        "BEGIN IONS\nPEPMASS=0\n50 1\nEND IONS\n".to_owned(),
    ];
    let all = others.concat() + &mgf("MSLEVEL=2");
    assert_eq!(spectra_of("all.mgf", &all), std::slice::from_ref(&plain));
    let floats = mgf("MS_LEVEL=1.0") + &mgf("MS_LEVEL=2.0");
    assert_eq!(spectra_of("floats.mgf", &floats), std::slice::from_ref(&plain));
    let folder = Folder::new();
    let error = |text: &str| {
        let path = folder.file("one.mgf", text);
        Table::read_rows(&path, &["spectrum"], OnBadRow::default()).unwrap_err().to_string()
    };
    assert!(error(&others[0]).contains("one.mgf:1: a spectrum: a spectrum without peaks"));
    let says = error(&others[2]);
    assert!(says.contains("a profile") && says.contains("msconvert"), "{says}");
    // triple quadrupoles sample each 0.1 or 0.2 Da, and peaks of unit resolution are no profile
    let curve = |step: f64, each: i32| {
        let mut points = String::new();
        for top in 0..5 {
            for at in -each..=each {
                let mz = f64::from(100 + 50 * top) + f64::from(at) * step;
                let height = 100.0 * (-5.0 * f64::from(at * at) / f64::from(each * each)).exp();
                points += &format!("{mz:.2} {height}\n");
            }
        }
        format!("BEGIN IONS\nPEPMASS=500\n{points}END IONS\n")
    };
    for (step, each) in [(0.05, 20), (0.1, 10), (0.2, 5)] {
        assert!(error(&curve(step, each)).contains("a profile"), "{step}");
    }
    for (step, each) in [(0.5, 10), (1.0, 10)] {
        assert_eq!(spectra_of("units.mgf", &curve(step, each)).len(), 1, "{step}");
    }
    // nor are isotopes of ions with five charges, 1.00335 / 5 Da apart, nor peaks without a rise
    let isotopes = |ion: i32| {
        let heights = [40, 90, 100, 70, 35, 10];
        let isotope = move |(at, height): (i32, i32)| {
            let mz = 300.0 + 41.73 * f64::from(ion) + 1.00335 / 5.0 * f64::from(at);
            format!("{mz:.4} {height}\n")
        };
        (0..).zip(heights).map(isotope).collect::<String>()
    };
    let isotopes: String = (0..12).map(isotopes).collect();
    let level: String =
        (0..80).map(|at: i32| format!("{:.1} 7\n", 100.0 + 0.2 * f64::from(at))).collect();
    for peaks in [isotopes, level] {
        let text = format!("BEGIN IONS\nPEPMASS=900\n{peaks}END IONS\n");
        assert_eq!(spectra_of("peaks.mgf", &text).len(), 1, "{peaks}");
    }
    assert!(error(&others[3]).contains("no tandem spectra; at least one is needed"));
    let survey = MASSBANK.replace("MS_TYPE MS2", "MS_TYPE MS") + MASSBANK;
    assert_eq!(spectra_of("levels.massbank", &survey), [GLUCOSE[6]]);
}

#[test]
fn polarity_and_charge_say_the_adduct_where_nothing_names_it() {
    let head = |fields: &str| {
        let text = spectra_of("a.mgf", &mgf(fields)).remove(0);
        let head = text.strip_suffix(" 50:1 60:2").unwrap();
        head.strip_prefix("181.07").unwrap().trim().to_owned()
    };
    for (fields, adduct) in [
        ("", ""),
        ("CHARGE=1", ""),
        ("CHARGE=0", ""),
        ("CHARGE=1+", "adduct=[M+H]+"),
        ("CHARGE=1-", "adduct=[M-H]-"),
        ("CHARGE=-1", "adduct=[M-H]-"),
        ("CHARGE=(1-)", "adduct=[M-H]-"),
        ("CHARGE=-", "adduct=[M-H]-"),
        ("CHARGE=2+", "adduct=[M+2H]2+"),
        ("CHARGE=2", "adduct=[M+2H]2+"),
        ("CHARGE=2-", "adduct=[M-2H]2-"),
        ("CHARGE=2+ and 3+", "adduct=[M+2H]2+/[M+3H]3+"),
        ("CHARGE=2.0\nIONMODE=positive", "adduct=[M+2H]2+"),
        ("CHARGE=-2.0", "adduct=[M-2H]2-"),
        ("IONMODE=Negative", "adduct=[M-H]-"),
        ("ION_MODE=N", "adduct=[M-H]-"),
        ("IONMODE=ESI-", "adduct=[M-H]-"),
        ("IONMODE=-ESI", "adduct=[M-H]-"),
        ("IONMODE=ESI(−)", "adduct=[M-H]-"),
        ("IONMODE=APCI+", "adduct=[M+H]+"),
        ("IONMODE=positive-20eV", "adduct=[M+H]+"),
        ("POLARITY=ESI Negative", "adduct=[M-H]-"),
        ("IONIZATION_MODE=negative", "adduct=[M-H]-"),
        ("IONMODE=NI", "adduct=[M-H]-"),
        ("IONMODE=Négatif", "adduct=[M-H]-"),
        ("IONMODE=N.", "adduct=[M-H]-"),
        ("IONMODE=NEG_ESI", "adduct=[M-H]-"),
        ("IONMODE=ESI (-) QTOF", "adduct=[M-H]-"),
        ("IONMODE=PI", "adduct=[M+H]+"),
        ("IONMODE=P.", "adduct=[M+H]+"),
        ("IONMODE=P (ESI)", "adduct=[M+H]+"),
        ("IONMODE=P;ESI", "adduct=[M+H]+"),
        ("IONMODE=P-ESI", "adduct=[M+H]+"),
        ("IONMODE=p ESI", "adduct=[M+H]+"),
        ("IONMODE=ESI - P", "adduct=[M+H]+"),
        ("IONMODE=ESI+ QTOF", "adduct=[M+H]+"),
        ("IONMODE=FTMS + p ESI d Full ms2", "adduct=[M+H]+"),
        ("IONMODE=N.A.\nPOLARITY=Positive", "adduct=[M+H]+"),
        ("IONMODE=ESI", ""),
        ("IONMODE=ESI/APCI", ""),
        ("IONMODE=LC-ESI", ""),
        ("IONMODE=LC/ESI", ""),
        ("IONMODE=nano-ESI", ""),
        ("IONMODE=HESI-II", ""),
        ("IONMODE=DI-ESI", ""),
        ("IONMODE=H-ESI", ""),
        ("IONMODE=ESI - QTOF", ""),
        ("IONMODE=LC-ESI-QTOF", ""),
        ("IONMODE=LC-ESI-QTOF-", "adduct=[M-H]-"),
        ("IONMODE=anion", "adduct=[M-H]-"),
        ("IONMODE=Cation", "adduct=[M+H]+"),
        ("IONMODE=-", "adduct=[M-H]-"),
        ("IONMODE=--", ""),
        ("IONMODE=n.a.", ""),
        ("IONMODE=not applicable", ""),
        ("IONMODE=Not specified", ""),
        ("IONMODE=undefined", ""),
        ("IONMODE=--\nPOLARITY=Negative", "adduct=[M-H]-"),
        ("IONMODE=unspecified", ""),
        ("IONMODE=Not available", ""),
        ("IONMODE=ESI\nPOLARITY=Negative", "adduct=[M-H]-"),
        ("IONMODE=ESI\nIONIZATION=ESI-", "adduct=[M-H]-"),
        ("IONMODE=Positive\nPOLARITY=Negative", "adduct=[M+H]+"),
        ("IONIZATION=MALDI, deposited", ""),
        ("IONIZATION=ESI-", "adduct=[M-H]-"),
        ("IONIZATION=NSI", ""),
        ("IONIZATION=LC-ESI-QTOF", ""),
        ("IONIZATION=ESI-\nIONMODE=Positive", "adduct=[M+H]+"),
        ("IONMODE=ESI\nADDUCT=[M+Na]+", "adduct=[M+Na]+"),
        ("IONMODE=ESI\nCHARGE=1-", "adduct=[M-H]-"),
        ("IONMODE=Negative\nCHARGE=1+", "adduct=[M-H]-"),
        ("IONMODE=Negative\nCHARGE=2", "adduct=[M-2H]2-"),
        ("ADDUCT=M+Na\nCHARGE=1+", "adduct=M+Na"),
        ("ADDUCT=[M+?]-", "adduct=[M+?]-"),
        ("NAME=Mellein M+H\nIONMODE=positive\nADDUCT=N/A", "adduct=M+H"),
        ("NAME=Vitamin M\nIONMODE=positive", "adduct=[M+H]+"),
        ("ION=[M+Na]+\nCHARGE=1+", "adduct=[M+Na]+"),
        ("IONIZATION=[M+NH4]+", "adduct=[M+NH4]+"),
        ("IONIZATION=ESI", ""),
        ("ION=ESI\nCHARGE=1+", "adduct=[M+H]+"),
        ("ION=[M+Na]+\nPRECURSOR_TYPE=M+K", "adduct=M+K"),
        ("ADDUCT=unknown\nCHARGE=1+", "adduct=[M+H]+"),
        ("ADDUCT=?\nCHARGE=1-", "adduct=[M-H]-"),
        ("PEPMASS=181.07 1000 2-", "adduct=[M-2H]2-"),
        ("PEPMASS=181.07 1000 2+ and 3+", "adduct=[M+2H]2+/[M+3H]3+"),
        ("PEPMASS=181.07 1000 2-\nCHARGE=1-", "adduct=[M-H]-"),
        ("PEPMASS=181.07 1000", ""),
    ] {
        assert_eq!(head(fields), adduct, "{fields:?}");
    }
    // methods and instruments of MassBank, and words for what is not known, say nothing
    for mode in [
        "EI-B",
        "CI-B",
        "FAB-B",
        "FAB-EB",
        "FD-B",
        "FI-B",
        "SI-BE",
        "GC-FI-TOF",
        "MALDI-QITTOF",
        "ESI-FTICR",
        "ESI-LTQ",
        "UHPLC-ESI-QTOF",
        "LC-ESI-QEHF",
        "IMS-QTOF",
        "ESI-ASAP",
        "LC-ESI-TIMS-QTOF",
        "N.A",
        "not known",
        "Not recorded",
        "not reported",
        "nil",
        "undetermined",
    ] {
        assert_eq!(head(&format!("IONMODE={mode}")), "", "{mode}");
        assert_eq!(head(&format!("IONMODE={mode}\nCHARGE=1-")), "adduct=[M-H]-", "{mode}");
    }
    assert_eq!(head("IONMODE=UHPLC-ESI-QTOF-"), "adduct=[M-H]-");
    // of Mascot's spectrum and of its file the spectrum says more
    let third = "CHARGE=1+\n".to_owned() + &mgf("PEPMASS=181.07 1000 2+");
    assert_eq!(spectra_of("third.mgf", &third), ["181.07 adduct=[M+2H]2+ 50:1 60:2"]);
    let comment = "Name: AAAK/2\nMW: 360\nComment: Charge=2 Parent=181.07\nNum peaks: 1\n50 1\n";
    assert_eq!(spectra_of("nist.msp", comment), ["181.07 adduct=[M+2H]2+ 50:1"]);
    let negative = "Name: a\nPrecursorMZ: 181.07\nIon_mode: N\nNum Peaks: 1\n50 1\n";
    assert_eq!(spectra_of("a.msp", negative), ["181.07 adduct=[M-H]- 50:1"]);
    let mona = "Name: a\nPrecursorMZ: 181.07\nComments: \"ionization mode=negative\"\nNum Peaks: 1\n50 1\n";
    assert_eq!(spectra_of("mona.msp", mona), ["181.07 adduct=[M-H]- 50:1"]);
    let method = MASSBANK
        .replace("MS$FOCUSED_ION: PRECURSOR_TYPE [M+H]+", "AC$MASS_SPECTROMETRY: IONIZATION ESI");
    let unnamed = GLUCOSE[6].replace(" adduct=[M+H]+", "");
    assert_eq!(spectra_of("method.massbank", &method), [unnamed]);
    // the head of a Mascot file is about all of its spectra
    let all = "CHARGE=1-\n".to_owned() + &mgf("") + &mgf("CHARGE=2-");
    let peaks = "50:1 60:2";
    let expected = ["[M-H]-", "[M-2H]2-"].map(|adduct| format!("181.07 adduct={adduct} {peaks}"));
    assert_eq!(spectra_of("all.mgf", &all), expected);
    // which a method of ionisation there does not stop
    let method = "IONMODE=ESI\n".to_owned() + &mgf("") + &mgf("IONMODE=Negative");
    let expected_of_method = [format!("181.07 {peaks}"), expected[0].clone()];
    assert_eq!(spectra_of("method.mgf", &method), expected_of_method);
    // and a query may be such a file of one spectrum
    for header in ["# of Mascot\nCHARGE=1-\n\n", "COM=a: b\r\nIONMODE=Negative\r\n"] {
        let query = header.to_owned() + &mgf("");
        assert_eq!(query.parse::<Spectrum>().unwrap().to_string(), expected[0], "{query:?}");
    }
    let table = "precursor_mz\tmzs\tintensities\tcharge\n181.07\t50,60\t1,2\t-1\n";
    assert_eq!(spectra_of("a.tsv", table), [expected[0].clone()]);
    // columns have every name that fields of files have
    for (column, cell, adduct) in [
        ("ionmode", "negative", "[M-H]-"),
        ("ION_MODE", "Negative", "[M-H]-"),
        ("Polarity", "N", "[M-H]-"),
        ("precursor_charge", "-2", "[M-2H]2-"),
        ("precursor_type", "[M+Na]+", "[M+Na]+"),
        ("Adduct", "[M+K]+", "[M+K]+"),
        ("ionization", "[M+NH4]+", "[M+NH4]+"),
    ] {
        let table =
            format!("mzs\tintensities\t{column}\tprecursor_mz\n50,60\t1,2\t{cell}\t181.07\n");
        let expected = format!("181.07 adduct={adduct} {peaks}");
        assert_eq!(spectra_of("named.tsv", &table), [expected], "{column}");
    }
    let formula = "precursor_mz\tmzs\tintensities\tmolecular_formula\tdescription\n181.07\t50\t1\tC6H12O6\tN\n";
    assert_eq!(spectra_of("formula.tsv", formula), ["181.07 formula=C6H12O6 50:1"]);

    let polarity = |text: &str| text.parse::<Spectrum>().unwrap().polarity();
    assert_eq!(polarity(&expected[0]), Some(Polarity::Negative));
    assert_eq!(Polarity::of_text(&expected[0]), Some(Polarity::Negative));
    for unknown in
        ["[M+?]-", "M+?-", "2M-Xx+H-"].map(|adduct| format!("181.07 adduct={adduct} 50:1"))
    {
        assert_eq!(polarity(&unknown), Some(Polarity::Negative), "{unknown}");
        assert!(unknown.parse::<Spectrum>().unwrap().ions().is_err(), "{unknown}");
    }
    assert_eq!(polarity("181.07 50:1"), None);
    // an adduct that is not known is none, as in files
    for unknown in ["?", "unknown", "N/A"] {
        let query: Spectrum = format!("181.07 adduct={unknown} 50:1").parse().unwrap();
        assert_eq!(query, "181.07 50:1".parse().unwrap(), "{unknown}");
    }
    let open = "181.07 adduct=[M+CH3COO]-/[M-CH3]- 50:1".parse::<Spectrum>().unwrap();
    assert_eq!(open.ions().unwrap().len(), 2);
}

#[test]
fn published_spectra_are_read() {
    let test = "published_spectra_are_read";
    let Some(path) = published(test, "massbank/validation.mgf") else { return };
    let table = Table::read(&path, &["identifier", "inchikey", "smiles", "spectrum"]).unwrap();
    assert_eq!(table.len(), 484);
    for text in table.column("spectrum").unwrap() {
        let spectrum: Spectrum = text.parse().unwrap();
        assert!(spectrum.peaks().len() <= 100);
        assert_eq!(spectrum.to_string().parse::<Spectrum>().unwrap(), spectrum);
    }
}

fn block(peaks: PeakSource, bin: f64, shift: f64) -> PeakFeatures {
    PeakFeatures { source: peaks, bin, shift, power: 0.5, min_spectra: 2, ppm: None }
}

/// `tests/golden/spectra.py` made the values.
#[test]
fn kernels_have_the_values_of_numpy() {
    let golden: serde_json::Value =
        serde_json::from_str(include_str!("../golden/spectra.json")).unwrap();
    let texts = golden["spectra"].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
    let texts: Vec<&str> = texts.collect();
    let spectra: Vec<Spectrum> = texts.iter().map(|text| text.parse().unwrap()).collect();
    let same = |name: &str, kernel: &dyn OutputKernel, rows: SparseRows, tolerance: f64| {
        let rows = Features::Sparse(rows);
        contract::check(kernel, &rows).unwrap();
        let gram = kernel.block(&rows, &rows).unwrap();
        for i in 0..rows.len() {
            for j in 0..rows.len() {
                let actual = gram[(i, j)];
                let expected = golden[name][i][j].as_f64().unwrap();
                assert!(
                    (actual - expected).abs() < tolerance,
                    "{name} {i} {j}: {actual}, {expected}"
                );
            }
        }
    };
    let blocks = [
        block(PeakSource::Peaks, 0.01, 0.0),
        block(PeakSource::Losses, 0.01, 0.005),
        block(PeakSource::Differences, 0.02, 0.0),
    ];
    let bins = FittedPeaks::fit(&blocks, &texts).unwrap();
    same("bins", &Kernel::Cosine, bins.rows(&texts).unwrap(), 1e-6);
    // a spectrum far behind is read too, and named where it is wrong
    let mut many: Vec<&str> = texts.iter().copied().cycle().take(9000).collect();
    let rows = bins.rows(&many).unwrap();
    assert_eq!(
        (rows.len(), rows.row(8999)),
        (9000, bins.rows(&texts).unwrap().row(8999 % texts.len()))
    );
    many[8000] = "none";
    for error in [bins.rows(&many).unwrap_err(), FittedPeaks::fit(&blocks, &many).unwrap_err()] {
        assert!(error.to_string().contains("the spectrum = \"none\""), "{error}");
    }
    let again: FittedPeaks = serde_json::from_str(&serde_json::to_string(&bins).unwrap()).unwrap();
    assert_eq!(again, bins);
    // positions are rounded to 1e-5 Da, weights to 32 bits
    for (name, peaks, power, deviation, values) in [
        ("peaks", PeakSource::Peaks, 0.5, 0.005, None),
        ("losses", PeakSource::Losses, 1.0, 0.01, None),
        ("values", PeakSource::Peaks, 0.5, 0.01, Some(0.2)),
    ] {
        let kernel = ProbabilityProduct { deviation: deviation * POSITIONS, values };
        same(name, &kernel, peaks.positions(power, &spectra).unwrap(), 1e-6);
    }
}

proptest! {
    /// Wrong bytes are an error with a line, or text of a field.
    #[test]
    fn damaged_files_never_panic(
        format in 0..4usize,
        damage in vec((0..5000usize, any::<u8>()), 1..6),
        cut in 0..5000usize,
    ) {
        let (name, text) =
            [("a.mgf", MGF), ("a.msp", MSP), ("a.massbank", MASSBANK), ("a.mzml", MZML)][format];
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte) in damage {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len().max(cut) - cut.min(bytes.len() / 2));
        let folder = Folder::new();
        let path = folder.file(name, &bytes);
        for on_bad_row in [OnBadRow::Stop, OnBadRow::Skip] {
            let _ = Table::header(&path, TableOptions::default());
            if let Ok(table) = Table::read_rows(&path, &["spectrum"], on_bad_row) {
                for text in table.column("spectrum").unwrap() {
                    prop_assert!(text.parse::<Spectrum>().is_ok(), "{}", text);
                }
            }
        }
        let _ = String::from_utf8_lossy(&bytes).parse::<Spectrum>();
    }
}
