//! Files of mass spectra in mzML.

use std::io::Write;

use dsokr_data::spectra::Spectrum;
use dsokr_data::table::{OnBadRow, Table};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::Folder;
use super::spectra::{COLUMNS, GLUCOSE, row};

/// Written by hand, with arrays by Python's struct, zlib and base64: a survey scan, and two tandem spectra, the second of which
/// says the window of its precursor only.
pub(super) const MZML: &str = include_str!("../golden/glucose.mzml");

#[test]
fn mzml_has_the_same_spectrum() {
    let folder = Folder::new();
    let mut expected = GLUCOSE;
    expected[5] = "20";
    let table = Table::read(&folder.file("a.mzML", MZML), &COLUMNS).unwrap_err();
    assert!(table.to_string().contains("no field \"adduct\""), "{table}");
    let first =
        MZML.replace("id=\"ms2\"", "id=\"other\"").replacen("ref=\"ms2\"", "ref=\"other\"", 1);
    let table = Table::read(&folder.file("a.mzml", &first), &COLUMNS).unwrap();
    assert_eq!(row(&table, 0, &COLUMNS), expected);
    let columns = ["identifier", "ion_mode", "spectrum"];
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(MZML.as_bytes()).unwrap();
    let path = folder.file("b.mzml.gz", gzip.finish().unwrap());
    let table = Table::read(&path, &columns).unwrap();
    assert_eq!(row(&table, 0, &columns), ["scan=2 & 3", "positive", GLUCOSE[6]]);
    let other = "181.1 85.02841:0.25 127.03897:1";
    assert_eq!(row(&table, 1, &columns), ["scan=4", "positive", other]);
    assert_eq!(table.line(0), 14);
    let own =
        first.split_once("<spectrum index=\"1\"").unwrap().1.split_once("</spectrum>").unwrap().0;
    let pasted = format!("<spectrum index=\"1\"{own}</spectrum>")
        .replace("<referenceableParamGroupRef ref=\"mz\"/>", "<cvParam accession=\"MS:1000514\"/>")
        .replace(
            "<referenceableParamGroupRef ref=\"other\"/>",
            "<cvParam accession=\"MS:1000511\" value=\"2\"/>",
        );
    let expected: Spectrum = GLUCOSE[6].parse().unwrap();
    assert_eq!(pasted.parse::<Spectrum>().unwrap(), expected);
}

#[test]
fn what_is_wrong_in_mzml_has_its_line_and_its_spectrum() {
    let folder = Folder::new();
    // the second of three spectra is the first that counts
    let (head, rest) = MZML.split_once("<spectrum index=\"1\"").unwrap();
    for (from, to, message) in [
        (
            "AACAPgAAgD8=",
            "AACAPgAAAAA=",
            "14: spectrum \"scan=2 & 3\": a peak's intensity \"0\" is not a number above 0",
        ),
        (
            "AACAPgAAgD8=",
            "AACAPg==",
            "14: spectrum \"scan=2 & 3\": 2 m/z and 1 intensities; it states 2",
        ),
        ("AACAPgAAgD8=", "AACA!", "spectrum \"scan=2 & 3\": an array: "),
        (
            "MS:1000521",
            "MS:1000522",
            "an array with 32-bit float; 32 or 64 bits, plain or zlib, are read",
        ),
        (
            "zlib compression",
            "zlib compression\"/><cvParam accession=\"MS:1002312\" name=\"MS-Numpress linear prediction compression",
            "an array with MS-Numpress linear prediction compression",
        ),
        ("MS:1000576", "MS:1000574", "an array that zlib does not read: "),
        (
            "<precursorList",
            "<cvParam accession=\"MS:1000128\"/><precursorList",
            "a profile; peaks that are picked are needed",
        ),
        (
            "selected ion m/z\" value=\"181.07066\"",
            "selected ion m/z\" value=\"-1\"",
            "the precursor's m/z \"-1\" is not a number above 0",
        ),
        ("</spectrum>\n<spectrum", "<spectrum", "a second <spectrum> before </spectrum> or"),
        ("<selectedIonList", "<!-- <selectedIonList", "no XML that can be read"),
    ] {
        assert!(rest.contains(from), "{from}");
        let text = format!("{head}<spectrum index=\"1\"{}", rest.replacen(from, to, 1));
        let error =
            Table::read(&folder.file("a.mzml", &text), &["spectrum"]).unwrap_err().to_string();
        assert!(error.contains("a.mzml:") && error.contains(message), "{message}: {error}");
    }
    let cut = &MZML[..MZML.rfind("<binary>").unwrap()];
    let error = Table::read(&folder.file("b.mzml", cut), &["spectrum"]).unwrap_err().to_string();
    assert!(error.contains("spectrum \"scan=4\": no </spectrum>"), "{error}");
    // a bad spectrum is left out on request
    let text =
        format!("{head}<spectrum index=\"1\"{}", rest.replacen("AACAPgAAgD8=", "AACAPgAAAAA=", 1));
    let table =
        Table::read_rows(&folder.file("c.mzml", &text), &["spectrum"], OnBadRow::Skip).unwrap();
    assert_eq!(table.len(), 1);
}
