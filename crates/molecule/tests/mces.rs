//! The myopic MCES distance against the package myopic-mces, and against what makes it one.

use dsokr_molecule::Molecule;
use dsokr_molecule::ged::{Limit, MyopicDistance, myopic_distance};

fn distance(a: &str, b: &str, threshold: f64) -> MyopicDistance {
    let [a, b] = [a, b].map(|smiles| Molecule::parse(smiles).unwrap());
    myopic_distance(&a, &b, threshold, &Limit::NONE)
}

/// `tests/golden/mces.py` made the values, with integer linear programs.
#[test]
fn distances_are_those_of_the_package() {
    let golden: Vec<(String, String, f64, bool)> =
        serde_json::from_str(include_str!("golden/mces.json")).unwrap();
    assert_eq!(golden.len(), 100);
    for (at, (a, b, expected, exact)) in golden.iter().enumerate() {
        let expected = MyopicDistance { distance: *expected, exact: *exact, proven: true };
        assert_eq!(distance(a, b, 15.0), expected, "{a} {b}");
        if at % 5 == 0 {
            assert_eq!(distance(b, a, 15.0), expected, "{b} {a}");
        }
    }
}

/// Values that the package's own example has, with its threshold 10.
#[test]
fn a_threshold_bounds_the_search() {
    for (a, b, expected, exact) in [
        ("CC1=C(C(=CC=C1)O)N", "CC1=C(C=CC(=C1)O)N", 2.0, true),
        ("CC(CC1=CC2=C(C=C1)OC=C2)NC", "CN(C)CC1CC2=CC=CC=C2C1=O", 10.0, true),
        ("CCSC1=C(C=C(C(=C1)OC)CCN)OC", "CS/C=C/C(=O)OC[C@H]1CCN2[C@@H]1CCC2", 10.0, false),
        (
            "C(C(C(=O)NCC(=O)NC(CC(=O)O)C(=O)O)N)C(=O)O",
            "C(C1C(C(C(C(O1)OC2=C(NC(=O)NC2=O)N)O)O)O)O",
            13.0,
            false,
        ),
    ] {
        let result = distance(a, b, 10.0);
        assert_eq!(
            (result.distance, result.exact, result.proven),
            (expected, exact, true),
            "{a} {b}"
        );
    }
    let same = distance("OCC", "CCO", 0.0);
    assert_eq!((same.distance, same.exact), (0.0, true));
    // charges, hydrogens and configurations do not count
    assert_eq!(distance("C[C@H](N)C(=O)O", "C[C@@H]([NH3+])C(=O)[O-]", 15.0).distance, 0.0);
    assert_eq!(distance("C", "O", 15.0).distance, 0.0);
    assert_eq!(distance("CC", "CO", 15.0).distance, 2.0);
    assert_eq!(distance("CC", "C=C", 15.0).distance, 1.0);
    let [a, b] = ["CC(C)(C)CCCCCC", "CCCC(C)CC(C)CC"].map(|one| Molecule::parse(one).unwrap());
    let result = myopic_distance(&a, &b, 15.0, &Limit { states: Some(1), time: None });
    assert!(!result.proven && !result.exact && result.distance <= 15.0, "{result:?}");
}
