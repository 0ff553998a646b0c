//! Any bytes as a file of spectra, as the text of one, as an adduct, or as a fragmentation tree; the first byte says which.
//! A spectrum that is read is the same again when it is written as a text.

#![no_main]

use std::path::Path;

use dsokr_data::config::OnBadRow;
use dsokr_data::table::Table;
use dsokr_fuzz::{choose, file};
use dsokr_spectra::{Adduct, FragmentationTree, SPECTRUM, Spectrum};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 8] =
    ["a.mgf", "a.msp", "a.massbank", "a.mzml", "spectrum", "adducts", "tree", "tree.json"];

/// A spectrum whose tree is in a file of SIRIUS.
const WITH_TREE: &str = "BEGIN IONS\nPEPMASS=181.05\nTREE=tree.json\n50.1 10\nEND IONS\n";

fuzz_target!(|bytes: &[u8]| {
    let Some((name, bytes)) = choose(bytes, &NAMES) else { return };
    match name {
        "spectrum" | "adducts" | "tree" => {
            let Ok(text) = std::str::from_utf8(bytes) else { return };
            match name {
                "spectrum" => spectrum(text),
                "adducts" => adducts(text),
                _ => tree(text),
            }
        }
        "tree.json" => {
            file(name, bytes);
            table(&file("tree.mgf", WITH_TREE));
        }
        name => table(&file(name, bytes)),
    }
});

/// Checks the texts of a table of spectra, which are the same where bad rows are skipped and there are none.
fn table(path: &Path) {
    let read = |action| Table::read_rows(path, &[SPECTRUM], action);
    let stopped = read(OnBadRow::Stop);
    let Ok(skipped) = read(OnBadRow::Skip) else {
        assert!(stopped.is_err());
        return;
    };
    let texts = skipped.column(SPECTRUM).unwrap();
    for text in texts {
        let read: Spectrum = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
        check(&read);
    }
    if skipped.skipped() == 0 {
        assert_eq!(stopped.unwrap().column(SPECTRUM).unwrap(), texts);
    }
}

fn spectrum(text: &str) {
    if let Ok(read) = text.parse::<Spectrum>() {
        check(&read);
    }
}

/// Checks that a spectrum has peaks in order, and is the same again when it is written.
fn check(spectrum: &Spectrum) {
    assert!(!spectrum.peaks().is_empty() && spectrum.peaks().is_sorted_by(|a, b| a.mz <= b.mz));
    let written = spectrum.to_string();
    let again: Spectrum = written.parse().unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(again, *spectrum, "{written}");
    for text in spectrum.adduct().into_iter().chain(spectrum.tree()) {
        adducts(text);
        tree(text);
    }
}

fn adducts(text: &str) {
    for adduct in Adduct::alternatives(text).unwrap_or_default() {
        assert!(adduct.mz(180.06339).is_finite() && adduct.mass(203.05261).is_finite(), "{text}");
    }
}

fn tree(text: &str) {
    let Ok(tree) = text.parse::<FragmentationTree>() else { return };
    let fragments = tree.fragments().count();
    assert_eq!([tree.losses().count(), tree.root_losses().count()], [fragments - 1; 2], "{text}");
    assert!(tree.paths().count() >= fragments - 1, "{text}");
}
