//! Formulas of fragments.

use dsokr_molecule::{ElementCounts, exact_mass, read_formula};
use dsokr_spectra::{Adduct, Spectrum, Subformulas};
use proptest::prelude::*;

fn ion(formula: &str, adduct: &str) -> Subformulas {
    let adduct: Adduct = adduct.parse().unwrap();
    Subformulas::new(&read_formula(formula).unwrap(), &adduct).unwrap()
}

/// Returns elements by their symbols, each with its count.
fn written(atoms: &ElementCounts) -> String {
    let mut all: Vec<_> = atoms.iter().map(|(element, count)| (element.symbol(), count)).collect();
    all.sort();
    all.iter().map(|(symbol, count)| format!("{symbol}{count}")).collect()
}

/// `tests/golden/subformulas.py` compares all combinations of counts with each mass.
#[test]
fn parts_of_ions_are_those_of_numpy() {
    let golden: serde_json::Value =
        serde_json::from_str(include_str!("../golden/subformulas.json")).unwrap();
    let mut some = 0;
    for case in golden.as_array().unwrap() {
        let [molecule, adduct] = ["molecule", "adduct"].map(|key| case[key].as_str().unwrap());
        let ion = ion(molecule, adduct);
        for peak in case["peaks"].as_array().unwrap() {
            let [mz, ppm] = [0, 1].map(|at| peak[at].as_f64().unwrap());
            let fragments = ion.at(mz, ppm).unwrap();
            let mut parts: Vec<String> =
                fragments.iter().map(|fragment| written(&fragment.atoms)).collect();
            parts.sort();
            some += parts.len();
            let expected: Vec<String> = serde_json::from_value(peak[2].clone()).unwrap();
            assert_eq!(parts, expected, "{molecule} {adduct} {mz} {ppm}");
            for part in fragments {
                assert!((part.mz - mz).abs() <= mz * ppm * 1e-6);
                let rest = exact_mass(
                    &adduct
                        .parse::<Adduct>()
                        .unwrap()
                        .ion(&read_formula(molecule).unwrap())
                        .unwrap(),
                );
                let lost = exact_mass(&part.lost);
                assert!((exact_mass(&part.atoms) + lost - rest).abs() < 1e-6);
            }
        }
    }
    assert!(some > 100, "{some}");
}

proptest! {
    /// Every combination of counts is either found or too far.
    #[test]
    fn no_part_is_missed(
        counts in proptest::array::uniform5(0..7usize),
        mz in 12.0..250.0f64,
        ppm in 1.0..1000.0f64,
    ) {
        prop_assume!(counts.iter().sum::<usize>() > 0);
        let symbols = ["C", "H", "N", "O", "S"];
        let formula: String =
            symbols.iter().zip(counts).filter(|pair| pair.1 > 0).map(|(symbol, count)| format!("{symbol}{count}")).collect();
        let fragments = ion(&formula, "[M+H]+").at(mz, ppm).unwrap();
        let mut expected = 0;
        let hydrogens = counts[1] + 1;
        for c in 0..=counts[0] {
            for h in 0..=hydrogens {
                for n in 0..=counts[2] {
                    for o in 0..=counts[3] {
                        for s in 0..=counts[4] {
                            let mass = c as f64 * 12.0 + h as f64 * 1.00782503223 + n as f64 * 14.00307400443
                                + o as f64 * 15.99491461957 + s as f64 * 31.9720711744 - 5.48579909e-4;
                            expected += usize::from((mass - mz).abs() <= mz * ppm * 1e-6);
                        }
                    }
                }
            }
        }
        prop_assert_eq!(fragments.len(), expected, "{} {} {}", formula, mz, ppm);
    }
}

#[test]
fn what_has_too_many_parts_or_no_formula_is_an_error() {
    let all: String = ["C", "H", "N", "O", "S", "P", "F", "Cl", "Br", "I", "Si", "B", "Se"]
        .iter()
        .map(|symbol| format!("{symbol}99"))
        .collect();
    let error = ion(&all, "[M+H]+").at(900.0, 10.0).unwrap_err().to_string();
    assert!(error.contains("the parts of the formula") && error.contains("1000000"), "{error}");
    let subformulas = |text: &str| Subformulas::from_spectrum(&text.parse::<Spectrum>().unwrap());
    for (text, says) in [
        ("100.1 50.1:1", "the spectrum's formula = absent: expected a formula such as C9H8O4"),
        ("100.1 formula=Xx 50.1:1", "the spectrum's formula = \"Xx\""),
        ("100.1 adduct=[M+H-H2O]+ formula=CH4 50.1:1", "with the adduct \"[M+H-H2O]+\""),
        ("100.1 adduct=M formula=CH4 50.1:1", "the adduct = \"M\""),
    ] {
        let error = subformulas(text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
