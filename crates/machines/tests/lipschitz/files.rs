//! The file of a machine.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::SketchKind;
use dsokr_core::Error;
use dsokr_machines::{KernelModel, LipschitzProblem, Loss, Offset, Scaling, Stop, Targets};

use crate::support::{EVERY, basis, coupled, fit_on, regression, two_outputs};

fn machine() -> KernelModel {
    let (x, y) = regression(80, 0);
    let targets = Targets::new(2, two_outputs(&y, 0)).unwrap();
    let loss = Loss::pinball(vec![0.25, 0.75]);
    let problem =
        LipschitzProblem { loss, output: coupled(), lambda: 1e-3, offset: Offset::Constant };
    fit_on(basis(&x, &EVERY, 15), &x, &targets, &problem, &Stop::default()).unwrap()
}

fn load(folder: &Path) -> Result<KernelModel, Error> {
    KernelModel::read(&KernelModel::open(folder)?.unwrap())
}

#[test]
fn a_loaded_machine_predicts_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let saved = machine();
    saved.save(folder.path(), &BTreeMap::new()).unwrap();
    let loaded = load(folder.path()).unwrap();
    let (x, _) = regression(30, 1);
    assert_eq!(loaded.predict(&x).unwrap(), saved.predict(&x).unwrap());
    assert_eq!(loaded.summary(), saved.summary());
    assert_eq!(loaded.offset(), saved.offset());
}

/// The machine of standardised rows takes raw rows and predicts the same.
#[test]
fn a_machine_of_standardised_rows_takes_raw_ones() {
    let folder = tempfile::tempdir().unwrap();
    let (raw, y) = regression(80, 0);
    let scaling = Scaling::fit(&raw, true).unwrap();
    let x = scaling.rows(&raw).unwrap();
    let targets = Targets::new(2, two_outputs(&y, 0)).unwrap();
    let loss = Loss::pinball(vec![0.25, 0.75]);
    let problem =
        LipschitzProblem { loss, output: coupled(), lambda: 1e-3, offset: Offset::Constant };
    let machine = fit_on(basis(&x, &EVERY, 15), &x, &targets, &problem, &Stop::default()).unwrap();
    let expected = machine.predict(&x).unwrap();
    assert_ne!(machine.predict(&raw).unwrap(), expected);
    machine.with_scaling(scaling).unwrap().save(folder.path(), &BTreeMap::new()).unwrap();
    assert_eq!(load(folder.path()).unwrap().predict(&raw).unwrap(), expected);
}

#[test]
fn another_basis_and_damaged_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(KernelModel::open(folder.path()).unwrap().is_none());
    let file = folder.path().join("machine.safetensors");
    machine().save(folder.path(), &BTreeMap::new()).unwrap();
    let (x, _) = regression(80, 0);
    let other = basis(&x, &SketchKind::Gaussian, 15);
    other.save(&folder.path().join("inputs.safetensors")).unwrap();
    let error = load(folder.path()).unwrap_err();
    assert!(error.to_string().contains("fitted on the basis"), "{error}");
    let mut bytes = std::fs::read(&file).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let error = load(folder.path()).unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
}
