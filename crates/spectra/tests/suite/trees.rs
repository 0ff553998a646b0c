//! Fragmentation trees, and formulas as features of spectra.

use dsokr_basis::{Features, Kernel, OutputKernel};
use dsokr_data::table::{OnBadRow, Table};
use dsokr_spectra::{FittedPeaks, PeakFeatures, Spectrum};
use serde_json::{Value, json};

use super::Folder;

/// Returns the values that `tests/golden/trees.py` made.
fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/trees.json")).unwrap()
}

fn texts(golden: &Value) -> Vec<&str> {
    golden["spectra"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

fn block(peaks: &str, power: f64) -> PeakFeatures {
    serde_json::from_value(json!({"source": peaks, "power": power})).unwrap()
}

#[test]
fn kernels_of_trees_and_subformulas_have_the_values_of_numpy() {
    let golden = golden();
    let texts = texts(&golden);
    for kind in [
        "tree-fragments",
        "tree-losses",
        "tree-root-losses",
        "tree-paths",
        "subformulas",
        "subformula-losses",
    ] {
        for case in golden[kind].as_array().unwrap() {
            let block = block(kind, case[0].as_f64().unwrap());
            block.validate("b").unwrap();
            let fitted = FittedPeaks::fit(&[block], &texts).unwrap();
            let stored = serde_json::to_string(&fitted).unwrap();
            assert_eq!(serde_json::from_str::<FittedPeaks>(&stored).unwrap(), fitted);
            let rows = Features::Sparse(fitted.rows(&texts).unwrap());
            let gram = Kernel::Linear.block(&rows, &rows).unwrap();
            for (i, row) in case[1].as_array().unwrap().iter().enumerate() {
                for (j, expected) in row.as_array().unwrap().iter().enumerate() {
                    let actual = gram[(i, j)];
                    let expected = expected.as_f64().unwrap();
                    assert!(
                        (actual - expected).abs() < 1e-6,
                        "{kind} {i} {j}: {actual}, {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn trees_are_read_from_fields_and_from_files_of_sirius() {
    let golden = golden();
    let folder = Folder::new();
    std::fs::create_dir(folder.path("trees")).unwrap();
    let spectra: Vec<Spectrum> = texts(&golden).iter().map(|text| text.parse().unwrap()).collect();
    let mut mgf = String::new();
    let mut table = "precursor_mz\tmzs\tintensities\ttree\n".to_owned();
    for (at, file) in golden["files"].as_array().unwrap().iter().enumerate() {
        folder.file(&format!("trees/{at}.json"), file.to_string());
        mgf += &format!(
            "BEGIN IONS\nTITLE={at}\nPEPMASS=300.1\nTREE=trees/{at}.json\n50.1 1\nEND IONS\n"
        );
        table += &format!("300.1\t50.1\t1\ttrees/{at}.json\n");
    }
    // trees of files have another order: their features are those of the texts
    let block = PeakFeatures { min_spectra: 1, ..block("tree-paths", 0.5) };
    let given: Vec<String> = spectra.iter().map(Spectrum::to_string).collect();
    let fitted = FittedPeaks::fit(&[block], &given).unwrap();
    for (name, text) in [("a.mgf", &mgf), ("a.tsv", &table)] {
        let read = Table::read(&folder.file(name, text), &["spectrum"]).unwrap();
        let read = fitted.rows(read.column("spectrum").unwrap()).unwrap();
        let expected = fitted.rows(&given).unwrap();
        for row in 0..spectra.len() {
            let actual = read.row(row);
            let expected = expected.row(row);
            assert_eq!(actual.0, expected.0, "{name} {row}");
            assert!(actual.1.iter().zip(expected.1).all(|(a, b)| (a - b).abs() < 1e-6));
        }
    }
    // spectra without tree, or without peaks of its fragments, have empty rows
    for text in ["300.1 50.1:1", "300.1 tree=C9H8O4:0/0>C9H6O3:0 50.1:1"] {
        assert!(fitted.rows(&[text]).unwrap().row(0).0.is_empty(), "{text}");
    }

    let spectrum =
        |tree: &str| format!("BEGIN IONS\nTITLE=a\nPEPMASS=300.1\nTREE={tree}\n50.1 1\nEND IONS\n");
    folder.file("trees/two.json", r#"{"fragments": [{"molecularFormula": "CH4"}, {"molecularFormula": "CH2"}], "losses": []}"#);
    folder.file("trees/none.json", "{");
    for (tree, says) in [
        (
            "CH4/0>C2H4",
            "a.mgf:1: spectrum \"a\": the tree \"CH4/0>C2H4\": C2H4 is not a part of its parent",
        ),
        ("CH4/1>CH2", "\"1>CH2\" does not name a parent that is before it"),
        ("CH4/CH2", "\"CH2\" does not name a parent that is before it"),
        ("CH4:-1", "the intensity \"-1\" is not a number from 0 on"),
        ("hello", "\"hello\" is not a formula"),
        ("trees/7.json", "trees/7.json: No such file"),
        (
            "../7.json",
            "the file of a tree = \"../7.json\": expected a relative path without \"..\"",
        ),
        ("trees/none.json", "trees/none.json: not a tree as SIRIUS writes it"),
        ("trees/two.json", "trees/two.json: 2 of 2 fragments below 2 roots; one tree is needed"),
    ] {
        let path = folder.file("a.mgf", spectrum(tree) + &mgf);
        let error = folder.message(Table::read(&path, &["spectrum"]).unwrap_err());
        assert!(error.starts_with("a.mgf:1: spectrum \"a\": ") && error.contains(says), "{error}");
        let left = Table::read_rows(&path, &["spectrum"], OnBadRow::Skip).unwrap();
        assert_eq!((left.len(), left.skipped()), (spectra.len(), 1));
    }
    // what is pasted names no files
    let error = spectrum("trees/0.json").parse::<Spectrum>().unwrap_err().to_string();
    assert!(error.contains("a file of a tree, which only files of spectra name"), "{error}");
}

#[test]
fn settings_of_formulas_are_checked() {
    let wrong = |block: Value| {
        let block: PeakFeatures = serde_json::from_value(block).unwrap();
        block.validate("b").unwrap_err().to_string()
    };
    assert!(
        wrong(json!({"source": "tree-losses", "bin": 0.1}))
            .contains("b.bin = 0.1: remove it: formulas are in no bins")
    );
    assert!(wrong(json!({"source": "tree-losses", "shift": 0.005})).contains("b.shift = 0.005"));
    assert!(wrong(json!({"source": "tree-losses", "ppm": 5.0})).contains("b.ppm = 5"));
    assert!(wrong(json!({"source": "subformulas", "ppm": 0.0})).contains("b.ppm = 0"));
    let fit = FittedPeaks::fit(&[block("subformulas", 0.5)], &["300.1 50.1:1"]);
    assert!(fit.unwrap_err().to_string().contains("the spectrum's formula = absent"));
}
