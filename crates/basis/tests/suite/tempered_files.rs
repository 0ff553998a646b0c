//! Tempered bases in files, and what cannot be tempered.

use std::collections::BTreeMap;

use dsokr_basis::features::{BitRows, DenseRows};
use dsokr_basis::{Basis, Features, Kernel, SketchKind, SketchOptions, Tempering};
use dsokr_core::store::{self, Stored, Tensor};

use crate::support::{cases, describe, refused};
use crate::tempering::{temperings, whole};

#[test]
fn a_tempering_that_changes_nothing_leaves_the_basis_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("basis.safetensors");
    for (kernel, rows) in cases(40) {
        let basis =
            Basis::fit(kernel, &rows, &SketchOptions::new(SketchKind::Gaussian, 7)).unwrap();
        let same = basis.clone().tempered(&Tempering::default(), &rows).unwrap();
        assert_eq!(same.fingerprint(), basis.fingerprint());
        assert_eq!(same.project(&rows).unwrap(), basis.project(&rows).unwrap());
        assert_eq!(same.offset(), None);
        same.save(&path).unwrap();
        assert!(!Stored::open(&path, "basis", 5).unwrap().all_metadata().contains_key("tempering"));
    }
}

#[test]
fn a_loaded_tempered_basis_is_the_saved_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("basis.safetensors");
    for (kernel, rows) in cases(40) {
        let basis = Basis::fit(
            kernel.clone(),
            &rows,
            &SketchOptions::new(SketchKind::Gaussian, 7).with_seed(11).with_tolerance(1e-9),
        )
        .unwrap();
        let mut fingerprints = vec![basis.fingerprint()];
        for tempering in temperings().into_iter().filter(|t| !t.changes_nothing()) {
            let what = format!("{}, {tempering:?}", describe(&kernel, &rows));
            let tempered = basis.clone().tempered(&tempering, &rows).unwrap();
            tempered.save(&path).unwrap();
            let loaded = Basis::load(&path).unwrap();
            assert_eq!(loaded.tempering(), tempering, "{what}");
            assert_eq!(loaded.project(&rows).unwrap(), tempered.project(&rows).unwrap(), "{what}");
            let wide = |basis: &Basis| basis.project_wide(&rows, 0..40).unwrap();
            assert_eq!(wide(&loaded), wide(&tempered), "{what}");
            assert_eq!(loaded.spectrum(), tempered.spectrum(), "{what}");
            assert_eq!(loaded.offset(), tempered.offset(), "{what}");
            assert_eq!(loaded.fingerprint(), tempered.fingerprint(), "{what}");
            fingerprints.push(tempered.fingerprint());
        }
        let count = fingerprints.len();
        fingerprints.sort();
        fingerprints.dedup();
        assert_eq!(fingerprints.len(), count);
    }
}

#[test]
fn a_tempered_file_that_contradicts_itself_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("basis.safetensors");
    let tempering = r#"{"power":0.5,"centred":true,"normalised":true}"#;
    let metadata: BTreeMap<String, String> = [
        ("kernel", r#"{"name":"cosine"}"#),
        ("sketch", r#"{"kind":"gaussian"}"#),
        ("size", "2"),
        ("seed", "0"),
        ("trained_rows", "9"),
        ("tolerance", "0.0000000001"),
        ("row_kind", "dense"),
        ("row_width", "3"),
        ("tempering", tempering),
        ("tempered_rows", "9"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    let spectrum = [2.0, 1.0];
    let matrix = [0.5f32; 6];
    let offset = [0.1, 0.2, 0.3];
    let load = |version, metadata: &BTreeMap<String, String>, offset: Option<&[f64]>| {
        let mut tensors =
            vec![Tensor::f64("spectrum", &[2], &spectrum), Tensor::f32("matrix", &[2, 3], &matrix)];
        tensors.extend(offset.map(|offset| Tensor::f64("offset", &[offset.len()], offset)));
        store::Contents::new("basis", version, metadata, &tensors).write(&path).unwrap();
        Basis::load(&path)
    };
    assert_eq!(
        load(5, &metadata, Some(&offset[..2])).unwrap().tempering(),
        Tempering { power: 0.5, centred: true, normalised: true }
    );
    for version in [4, 6] {
        let error = load(version, &metadata, Some(&offset[..2])).unwrap_err().to_string();
        let expected = format!(
            "basis.safetensors: format version {version}, this program reads version 5: train again"
        );
        assert!(error.contains(&expected), "{error}");
    }
    let mut without = metadata.clone();
    without.insert("parts".to_owned(), "[]".to_owned());
    let error = load(5, &without, Some(&offset[..2])).unwrap_err();
    assert!(error.to_string().contains("metadata \"parts\" is \"[]\""), "{error}");
    for (key, value) in [
        ("tempering", "{}"),
        ("tempering", "0.5"),
        ("tempering", r#"{"power":1.5}"#),
        ("tempering", r#"{"power":0.5,"center":true}"#),
        ("tempered_rows", "many"),
    ] {
        let mut metadata = metadata.clone();
        metadata.insert(key.to_owned(), value.to_owned());
        let error = load(5, &metadata, Some(&offset[..2])).unwrap_err();
        assert!(
            error.to_string().contains(&format!("metadata {key:?} is")),
            "{key} = {value}: {error}"
        );
    }
    let mut without = metadata.clone();
    without.remove("tempered_rows");
    let error = load(5, &without, Some(&offset[..2])).unwrap_err();
    assert!(error.to_string().contains("no metadata"), "{error}");
    assert!(refused(load(5, &metadata, None), "no tensor"));
    for offset in [&offset[..], &[0.1, f64::NAN]] {
        let error = load(5, &metadata, Some(offset)).unwrap_err();
        assert!(error.to_string().contains("has shape"), "{error}");
    }
}

#[test]
fn what_cannot_be_tempered_is_refused() {
    let rows = Features::Dense(DenseRows::new(2, vec![1.0, 2.0, 3.0, 5.0, 0.5, 0.1]).unwrap());
    let basis = whole(&Kernel::Linear, &rows);
    let temper = |tempering: Tempering, rows: &Features| basis.clone().tempered(&tempering, rows);
    for power in [-0.1, 1.1, f64::NAN, f64::INFINITY, -f64::MIN_POSITIVE] {
        let error =
            temper(Tempering { power, centred: true, normalised: true }, &rows).unwrap_err();
        assert!(error.to_string().contains("tempering: power = "), "{error}");
    }
    let once = temper(Tempering { power: 0.5, centred: true, normalised: true }, &rows).unwrap();
    assert_eq!(once.feature_direction(&[1.0, 0.0]).unwrap(), None);
    let error = once
        .tempered(&Tempering { power: 0.5, centred: true, normalised: true }, &rows)
        .unwrap_err();
    assert!(error.to_string().contains("tempered already"), "{error}");
    let refused = |rows: &Features| {
        temper(Tempering { power: 0.5, centred: true, normalised: true }, rows).unwrap_err()
    };
    let dense =
        |width, values: &[f32]| Features::Dense(DenseRows::new(width, values.to_vec()).unwrap());
    assert!(
        refused(&dense(3, &[1.0; 6]))
            .to_string()
            .contains("rows of width 3 where width 2 is needed")
    );
    let bits = Features::Bits(BitRows::from_indices(2, [[0], [1]]).unwrap());
    assert!(refused(&bits).to_string().contains(" rows are needed"));
    assert!(refused(&dense(2, &[])).to_string().contains("no rows"));
    let same: Vec<f32> = [0.1, 0.7].repeat(3000);
    assert!(refused(&dense(2, &same)).to_string().contains("of 3000 outputs do not vary"));
    let zero = Tempering { power: 0.5, ..Tempering::default() };
    let error = temper(zero, &dense(2, &[0.0; 8])).unwrap_err();
    assert!(error.to_string().contains("of 4 outputs do not vary"), "{error}");
    // Not centred, rows that are all the same have a direction.
    assert_eq!(temper(zero, &dense(2, &same)).unwrap().dimension(), 1);
}
