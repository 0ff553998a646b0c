//! Morgan fingerprints against RDKit's and against properties.

use std::collections::BTreeSet;

use dsokr_core::random::{below, generator};
use dsokr_molecule::{HashedFeatures, Molecule, MoleculeFeatures, Morgan};
use safetensors::SafeTensors;

use crate::data::data;
use crate::support::{chebi, parse, quickstart};

fn tanimoto(a: &[u64], b: &[u64]) -> f64 {
    let count = |words: Vec<u64>| words.iter().map(|word| word.count_ones()).sum::<u32>();
    let both = count(a.iter().zip(b).map(|(a, b)| a & b).collect());
    let any = count(a.iter().zip(b).map(|(a, b)| a | b).collect());
    f64::from(both) / f64::from(any)
}

fn pearson(pairs: &[(f64, f64)]) -> f64 {
    let count = pairs.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| pairs.iter().map(value).sum::<f64>() / count;
    let x = mean(|p| p.0);
    let y = mean(|p| p.1);
    let sum =
        |term: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|p| term(p.0 - x, p.1 - y)).sum::<f64>();
    sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
}

#[test]
fn similarities_of_chebi_pairs_correlate_with_rdkit_s() {
    let test = "similarities_of_chebi_pairs_correlate_with_rdkit_s";
    let Some(rows) = chebi(test) else {
        return;
    };
    let Some(path) = data(test, "chebi20/morgan.safetensors") else {
        return;
    };
    let file = std::fs::read(path).unwrap();
    let theirs = SafeTensors::deserialize(&file).unwrap();
    let theirs = theirs.tensor("morgan_r2_2048").unwrap();
    let theirs = dsokr_basis::features::BitRows::from_packed(2048, theirs.data()).unwrap();

    let mut random = generator(0, "chebi pairs", 0);
    let mut draw = || below(&mut random, rows.len() as u64) as usize;
    let pairs: Vec<(usize, usize)> = (0..5_000).map(|_| (draw(), draw())).collect();
    let chosen: BTreeSet<usize> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    let chosen: Vec<usize> = chosen.into_iter().collect();
    let molecules: Vec<Molecule> = chosen.iter().map(|&row| parse(&rows[row])).collect();
    let ours = Morgan::default().bits(&molecules).unwrap();
    let row = |at: usize| &ours.values()[32 * at..32 * (at + 1)];
    let actual = |number: usize| row(chosen.binary_search(&number).unwrap());
    let golden = |number: usize| &theirs.values()[32 * number..32 * (number + 1)];
    let similarities: Vec<(f64, f64)> = pairs
        .iter()
        .map(|&(a, b)| (tanimoto(actual(a), actual(b)), tanimoto(golden(a), golden(b))))
        .collect();
    let correlation = pearson(&similarities);
    println!("Pearson correlation {correlation:.5}");
    assert!(correlation >= 0.98, "{correlation}");
    let same = chosen.iter().filter(|&&number| actual(number) == golden(number)).count();
    println!("{same} of {} fingerprints equal RDKit's bit for bit", chosen.len());
    assert!(same * 20 > chosen.len() * 19, "{same}");
}

#[test]
fn fingerprints_do_not_depend_on_the_order_of_atoms() {
    for smiles in quickstart() {
        let molecule = parse(smiles);
        let other = parse(&molecule.random_smiles(&mut generator(0, "atom order", 1)));
        for radius in [0, 1, 2, 5, 40] {
            let morgan = Morgan { radius, ..Morgan::default() };
            assert_eq!(morgan.codes(&molecule), morgan.codes(&other), "{smiles}, radius {radius}");
        }
    }
}

/// Surroundings counted by hand.
#[test]
fn small_molecules_have_the_features_of_the_definition() {
    let count = |smiles: &str, radius| {
        let codes = Morgan { radius, ..Morgan::default() }.codes(&parse(smiles));
        (codes.len(), codes.values().sum::<u32>())
    };
    assert_eq!(count("C", 2), (1, 1));
    assert_eq!(count("CC", 0), (1, 2));
    // Both atoms have the same bond around them.
    assert_eq!(count("CC", 2), (2, 3));
    assert_eq!(count("CCO", 0), (3, 3));
    assert_eq!(count("CCO", 1), (6, 6));
    assert_eq!(count("CCO", 2), (6, 6));
    // CH3 and CH2, two of each; ends and middles at radius 1; two halves of three bonds are one set.
    assert_eq!(count("CCCC", 1), (4, 8));
    assert_eq!(count("CCCC", 2), (5, 9));
    assert_eq!(count("C.C", 2), (1, 2));
    // Every atom of benzene looks the same at every radius; at radius 3 all bonds are one set.
    assert_eq!(count("c1ccccc1", 2), (3, 18));
    assert_eq!(count("c1ccccc1", 3), (4, 19));
    assert_eq!(count("c1ccccc1", 9), (4, 19));
}

#[test]
fn atoms_differ_by_what_the_definition_names() {
    let atom = |smiles: &str| Morgan { radius: 0, ..Morgan::default() }.codes(&parse(smiles));
    for (one, other) in [
        ("C", "[13CH4]"),
        ("C", "[CH3-]"),
        ("C", "[CH2]"),
        ("C", "[SiH4]"),
        ("CC", "C=C"),
        ("C1CC1", "C.C.C"),
    ] {
        assert_ne!(atom(one), atom(other), "{one} {other}");
    }
}

#[test]
fn rows_are_the_molecules_codes_in_their_columns() {
    let molecules: Vec<Molecule> = quickstart().take(100).map(parse).collect();
    let morgan = Morgan { radius: 3, width: 4096 };
    let bits = morgan.bits(&molecules).unwrap();
    let counts = morgan.counts(&molecules).unwrap();
    assert_eq!((bits.len(), bits.width(), counts.len(), counts.width()), (100, 4096, 100, 4096));
    for (row, molecule) in molecules.iter().enumerate() {
        let mut expected = vec![0.0; 4096];
        for (code, count) in morgan.codes(molecule) {
            expected[(code % 4096) as usize] += count as f32;
        }
        let (columns, values) = counts.row(row);
        let mut actual = vec![0.0; 4096];
        columns.iter().zip(values).for_each(|(&column, &value)| actual[column as usize] = value);
        assert_eq!(actual, expected);
        for (column, &value) in expected.iter().enumerate() {
            let bit = bits.values()[64 * row + column / 64] >> (column % 64) & 1;
            assert_eq!(bit == 1, value > 0.0);
        }
    }
    assert!(Morgan { width: 0, radius: 2 }.bits(&molecules).is_err());
    assert!(Morgan { width: 0, radius: 2 }.counts(&molecules).is_err());
    assert!(Morgan::default().bits(&[]).unwrap().is_empty());
}

/// Codes that other runs and machines must find again.
#[test]
fn codes_do_not_change() {
    let codes = Morgan::default().codes(&parse("CO"));
    let codes: Vec<_> = codes.into_iter().collect();
    assert_eq!(codes, [(864_662_311, 1), (1_533_899_907, 1), (2_246_728_737, 1)]);
}
