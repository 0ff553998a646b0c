//! Basis files: what is saved is what is loaded, and damage is an error.

use std::collections::BTreeMap;

use dsokr_basis::{Basis, RowSource, SketchKind, SketchOptions};
use dsokr_core::store::{self, Stored, Tensor};

use crate::support::{cases, describe, refused};

#[test]
fn a_loaded_basis_is_the_saved_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("basis.safetensors");
    let mut zero_rows = 0;
    let mut mixed = 0;
    for (kernel, rows) in cases(40) {
        let what = describe(&kernel, &rows);
        let sketch = SketchKind::SparsifiedGaussian { density: 0.1 };
        let basis = Basis::fit(
            kernel,
            &rows,
            &SketchOptions::new(sketch.clone(), 7).with_seed(11).with_tolerance(1e-9),
        )
        .unwrap();
        basis.save(&path).unwrap();
        let loaded = Basis::load(&path).unwrap();
        assert_eq!(loaded.kernel().built_in(), basis.kernel().built_in(), "{what}");
        assert_eq!(&loaded.options().kind, &sketch, "{what}");
        assert_eq!(loaded.spectrum(), basis.spectrum(), "{what}");
        assert_eq!(
            (loaded.options().seed, loaded.options().size, loaded.trained_rows()),
            (11, 7, 40)
        );
        assert_eq!((loaded.kind(), loaded.width()), (rows.kind(), rows.width()));
        assert_eq!(loaded.options().tolerance, 1e-9);
        assert_eq!(loaded.fingerprint(), basis.fingerprint(), "{what}");
        let stored = Stored::open(&path, "basis", 5).unwrap();
        assert_eq!(loaded.fingerprint(), stored.checksum());
        zero_rows += u32::from(basis.zero_row().is_some());
        mixed += u32::from(stored.has("mixing.offsets"));
        assert_eq!(loaded.project(&rows).unwrap(), basis.project(&rows).unwrap(), "{what}");
    }
    assert!(zero_rows > 2, "{zero_rows}");
    assert!(mixed > 2, "{mixed}");
}

#[test]
fn another_seed_has_another_fingerprint() {
    let (kernel, rows) = cases(40).swap_remove(1);
    let fingerprint = |seed| {
        Basis::fit(
            kernel.clone(),
            &rows,
            &SketchOptions::new(SketchKind::Gaussian, 3).with_seed(seed),
        )
        .unwrap()
        .fingerprint()
    };
    assert_ne!(fingerprint(0), fingerprint(1));
}

/// Tests every single flipped bit and every truncation of two whole files.
#[test]
fn damage_is_an_error_and_never_another_basis() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("basis.safetensors");
    let mut cases = cases(8);
    for (kernel, rows) in [cases.swap_remove(1), cases.swap_remove(8)] {
        let basis =
            Basis::fit(kernel, &rows, &SketchOptions::new(SketchKind::Gaussian, 2)).unwrap();
        basis.save(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let damaged = folder.path().join("damaged.safetensors");
        let refused = |bytes: &[u8], what: &str| {
            std::fs::write(&damaged, bytes).unwrap();
            assert!(Basis::load(&damaged).is_err(), "{what} of {} bytes", whole.len());
        };
        for length in 0..whole.len() {
            refused(&whole[..length], &format!("cut to {length}"));
        }
        for bit in 0..8 * whole.len() {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            refused(&bytes, &format!("bit {bit} flipped"));
        }
        refused(&[&whole[..], b"\0"].concat(), "one byte appended");
    }
}

/// Whole files, with a right checksum, that contradict themselves.
#[test]
fn a_file_that_contradicts_itself_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("basis.safetensors");
    let metadata = || -> BTreeMap<String, String> {
        [
            ("kernel", r#"{"name":"cosine"}"#),
            ("sketch", r#"{"kind":"gaussian"}"#),
            ("size", "2"),
            ("seed", "0"),
            ("trained_rows", "9"),
            ("tolerance", "0.0000000001"),
            ("row_kind", "dense"),
            ("row_width", "3"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
    };
    let spectrum = [2.0, 1.0];
    let matrix = [0.5f32; 6];
    let load = |metadata: &BTreeMap<String, String>, tensors: &[Tensor]| {
        store::Contents::new("basis", 5, metadata, tensors).write(&path).unwrap();
        Basis::load(&path)
    };
    let good = [Tensor::f64("spectrum", &[2], &spectrum), Tensor::f32("matrix", &[2, 3], &matrix)];
    assert_eq!(load(&metadata(), &good).unwrap().dimension(), 2);

    for (key, value) in [
        ("kernel", "{}"),
        ("kernel", r#"{"name":"tanimoto"}"#),
        ("sketch", "gaussian"),
        ("size", "-2"),
        ("seed", "one"),
        ("trained_rows", ""),
        ("tolerance", "small"),
        ("row_kind", "graphs"),
        ("row_width", "many"),
    ] {
        let mut metadata = metadata();
        metadata.insert(key.to_owned(), value.to_owned());
        let expected = format!("metadata {key:?} is {value:?}, expected ");
        assert!(refused(load(&metadata, &good), &expected), "{key} = {value}");
        metadata.remove(key);
        let error = load(&metadata, &good).unwrap_err();
        assert!(error.to_string().contains("no metadata"), "{error}");
    }
    for spectrum in [[1.0, 2.0], [1.0, 0.0], [f64::NAN, 1.0]] {
        let tensors = [Tensor::f64("spectrum", &[2], &spectrum), good[1].clone()];
        let error = load(&metadata(), &tensors).unwrap_err();
        assert!(error.to_string().contains("has shape"), "{error}");
    }
    let none: [f64; 0] = [];
    for tensors in [
        vec![Tensor::f64("spectrum", &[0], &none), Tensor::f32("matrix", &[2, 3], &matrix)],
        vec![good[0].clone(), Tensor::f32("matrix", &[3, 2], &matrix)],
        vec![good[0].clone(), Tensor::f32("matrix", &[6], &matrix)],
    ] {
        let error = load(&metadata(), &tensors).unwrap_err();
        assert!(error.to_string().contains("has shape"), "{error}");
    }
    let error = load(&metadata(), &good[..1]).unwrap_err();
    assert!(error.to_string().contains("no tensor"), "{error}");
    let doubles = [0.5; 6];
    let tensors = [good[0].clone(), Tensor::f64("matrix", &[2, 3], &doubles)];
    assert!(refused(load(&metadata(), &tensors), ", allowed: "));
}
