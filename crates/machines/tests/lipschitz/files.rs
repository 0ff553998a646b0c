//! The file of a machine.

use std::collections::BTreeMap;

use dsokr_basis::{Basis, SketchKind};
use dsokr_machines::{Error, LipschitzModel, LipschitzProblem, Loss, Offset, Stop, Targets};

use crate::support::{EVERY, basis, coupled, fit_on, regression, two_outputs};

fn machine() -> LipschitzModel {
    let (x, y) = regression(80, 0);
    let targets = Targets::new(2, two_outputs(&y, 0)).unwrap();
    let loss = Loss::pinball(vec![0.25, 0.75]);
    let problem =
        LipschitzProblem { loss, output: coupled(), lambda: 1e-3, offset: Offset::Constant };
    fit_on(basis(&x, &EVERY, 15), &x, &targets, &problem, &Stop::default()).unwrap()
}

#[test]
fn a_loaded_machine_predicts_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let (basis_file, file) = (folder.path().join("basis"), folder.path().join("machine"));
    let saved = machine();
    saved.save(&file, &BTreeMap::new()).unwrap();
    saved.basis.save(&basis_file).unwrap();
    let loaded = LipschitzModel::load(&file, Basis::load(&basis_file).unwrap()).unwrap();
    let (x, _) = regression(30, 1);
    assert_eq!(loaded.predict(&x).unwrap(), saved.predict(&x).unwrap());
    assert_eq!(loaded.summary, saved.summary);
    assert_eq!(loaded.offset, saved.offset);
}

#[test]
fn another_basis_and_damaged_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("machine");
    let saved = machine();
    saved.save(&file, &BTreeMap::new()).unwrap();
    let (x, _) = regression(80, 0);
    let other = basis(&x, &SketchKind::Gaussian, 15);
    let error = LipschitzModel::load(&file, other).unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
    let mut bytes = std::fs::read(&file).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let error = LipschitzModel::load(&file, *saved.basis.clone()).unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
    let error =
        LipschitzModel::load(&folder.path().join("none"), *saved.basis.clone()).unwrap_err();
    assert!(error.to_string().contains("no such file"), "{error}");
}
