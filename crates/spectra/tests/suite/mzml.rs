//! Files of mass spectra in mzML.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dsokr_data::table::{OnBadRow, Table};
use dsokr_spectra::Spectrum;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::Folder;
use super::spectra::{COLUMNS, GLUCOSE, row};

/// Written by hand, with arrays by Python's struct, zlib and base64: a survey scan, and two tandem spectra, the second
/// of which says the window of its precursor only.
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
    let other = "181.1 adduct=[M+H]+ 85.02841:0.25 127.03897:1";
    assert_eq!(row(&table, 1, &columns), ["scan=4", "positive", other]);
    assert_eq!(table.line(0), 14);
    let second =
        first.split_once("<spectrum index=\"1\"").unwrap().1.split_once("</spectrum>").unwrap().0;
    let pasted = format!("<spectrum index=\"1\"{second}</spectrum>")
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
            "AACAPgAAgL8=",
            "14: spectrum \"scan=2 & 3\": a peak's intensity \"-1\" is not a number from 0 to 1e30",
        ),
        (
            "AACAPgAAgD8=",
            "AACAPg==",
            "spectrum \"scan=2 & 3\": 1 intensities; its defaultArrayLength states 2",
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
            "a profile, and no peaks: pick peaks first, such as by ProteoWizard, msconvert",
        ),
        (
            "selected ion m/z\" value=\"181.07066\"",
            "selected ion m/z\" value=\"-1\"",
            "the precursor's m/z \"-1\" is not a number above 0",
        ),
        ("</spectrum>\n<spectrum", "<spectrum", "a second <spectrum> before </spectrum>"),
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
        format!("{head}<spectrum index=\"1\"{}", rest.replacen("AACAPgAAgD8=", "AACAPgAAgL8=", 1));
    let path = folder.file("c.mzml", &text);
    for on_bad_row in [OnBadRow::Skip, OnBadRow::default()] {
        let table = Table::read_rows(&path, &["spectrum"], on_bad_row).unwrap();
        assert_eq!((table.len(), table.skipped()), (1, 1));
    }
}

/// Returns the spectra of a text in mzML.
fn spectra_of(text: &str) -> Vec<String> {
    let folder = Folder::new();
    let table = Table::read_rows(&folder.file("a.mzml", text), &["spectrum"], OnBadRow::default());
    table.unwrap().column("spectrum").unwrap().to_vec()
}

#[test]
fn mzml_may_be_one_line_and_says_polarity_and_charge() {
    let expected = spectra_of(MZML);
    assert_eq!(expected.len(), 2);
    for text in [MZML.replace('\n', ""), MZML.replace('\n', "\r"), MZML.replace('\n', "\r\n")] {
        assert_eq!(spectra_of(&text), expected);
    }
    let unnamed = MZML.replace("name=\"Adduct\"", "name=\"note\"");
    let negative = unnamed.replace("MS:1000130", "MS:1000129");
    assert!(spectra_of(&negative)[0].starts_with("181.07066 adduct=[M-H]- "));
    let ion = "<cvParam accession=\"MS:1000744\"";
    let charge = "<cvParam accession=\"MS:1000041\" name=\"charge state\" value=\"2\"/>";
    let charged = unnamed.replacen(ion, &format!("{charge}{ion}"), 1);
    assert!(spectra_of(&charged)[0].starts_with("181.07066 adduct=[M+2H]2+ "));
    // a named adduct of the other polarity is no adduct of this spectrum
    let contradicting = MZML.replace("MS:1000130", "MS:1000129");
    assert_eq!(spectra_of(&contradicting).len(), 1);
}

#[test]
fn arrays_of_mzml_may_state_their_lengths_themselves() {
    let expected = spectra_of(MZML);
    let own = |length: &str| {
        MZML.replace("defaultArrayLength=\"2\"", "defaultArrayLength=\"0\"").replace(
            "<binaryDataArray encoded",
            &format!("<binaryDataArray arrayLength=\"{length}\" encoded"),
        )
    };
    assert_eq!(spectra_of(&own("2")), expected);
    let folder = Folder::new();
    let error = |text: &str| {
        let path = folder.file("a.mzml", text);
        Table::read(&path, &["spectrum"]).unwrap_err().to_string()
    };
    let says = error(&own("3"));
    assert!(says.contains("m/z; its arrayLength states 3"), "{says}");
    // a single intensity, as it states
    let intensities = "<binaryDataArray encodedLength=\"12\">";
    let single = MZML
        .replace(intensities, "<binaryDataArray arrayLength=\"1\">")
        .replace("AACAPgAAgD8=", "AACAPg==");
    let says = error(&single);
    assert!(says.contains("2 m/z and 1 intensities; each peak needs both"), "{says}");
}

#[test]
fn the_window_of_mzml_counts_where_the_selected_ion_is_0() {
    let named = "selected ion m/z\" value=\"181.07066\"";
    for zero in ["0", "0.0"] {
        let text = MZML.replace(named, &format!("selected ion m/z\" value=\"{zero}\""));
        let [first, second] = &spectra_of(&text)[..] else { panic!("two spectra") };
        assert!(first.starts_with("181.1 adduct=[M+H]+ "), "{first}");
        assert_eq!(*second, spectra_of(MZML)[1]);
    }
}

/// A compressed array of a megabyte for two peaks, and one of as many as it states that is too much for a spectrum.
#[test]
fn a_compressed_array_ends_at_the_length_that_it_states() {
    let compressed = |bytes: usize| {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), Compression::best());
        out.write_all(&vec![0; bytes]).unwrap();
        STANDARD.encode(out.finish().unwrap())
    };
    let array = |accession: &str, length: usize, data: &str| {
        format!(
            "<spectrum id=\"bomb\" defaultArrayLength=\"{length}\"><cvParam accession=\"MS:1000511\" value=\"2\"/>\
             <binaryDataArray><cvParam accession=\"{accession}\"/><cvParam accession=\"MS:1000523\"/><cvParam \
             accession=\"MS:1000574\"/><binary>{data}</binary></binaryDataArray></spectrum>\n"
        )
    };
    let folder = Folder::new();
    for (length, bytes, says) in [
        (
            2,
            1 << 20,
            "a compressed array of more than the 16 bytes that its defaultArrayLength states",
        ),
        (
            1_000_000_000,
            1 << 20,
            "1000000000 peaks by its defaultArrayLength: at most 10000000 peaks are read",
        ),
        (2, 8, "1 m/z; its defaultArrayLength states 2"),
    ] {
        let text = array("MS:1000514", length, &compressed(bytes));
        let error = Table::read(&folder.file("a.mzml", &text), &["spectrum"]).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        // the next spectrum is read
        let both = text + MZML;
        assert_eq!(spectra_of(&both).len(), 2);
    }
}
