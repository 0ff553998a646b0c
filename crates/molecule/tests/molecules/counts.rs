//! Counts of atoms, bonds and groups against the text itself.

use dsokr_molecule::{
    Composition, Element, FunctionalGroup, Molecule, MoleculeFeatures, functional_groups,
    read_formula,
};

use crate::data::data;
use crate::support::{parse, quickstart};

#[test]
fn every_group_has_its_place() {
    for (place, &group) in FunctionalGroup::ALL.iter().enumerate() {
        assert_eq!(group as usize, place);
    }
    let names = Composition::columns();
    let distinct: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
    assert_eq!(names[6], "atom C");
    assert_eq!(names.last().unwrap(), "stereo double bonds");
}

#[test]
fn rows_hold_what_the_molecules_have() {
    let molecules: Vec<Molecule> = quickstart().map(parse).collect();
    let rows = Composition {}.counts(&molecules).unwrap();
    let names = Composition::columns();
    assert_eq!((rows.len(), rows.width()), (molecules.len(), names.len()));
    for (row, molecule) in molecules.iter().enumerate() {
        let (columns, values) = rows.row(row);
        let value = |name: &str| {
            let column = names.iter().position(|other| other == name).unwrap() as u32;
            columns.iter().position(|&other| other == column).map_or(0.0, |at| values[at])
        };
        let sum = |kind: &str| -> f32 {
            let named =
                columns.iter().zip(values).filter(|(c, _)| names[**c as usize].starts_with(kind));
            named.map(|(_, value)| value).sum()
        };
        let hydrogens: f32 = molecule.atoms().iter().map(|atom| f32::from(atom.hydrogens)).sum();
        assert_eq!(sum("atom "), molecule.atoms().len() as f32 + hydrogens);
        assert_eq!(sum("bond "), molecule.bonds().len() as f32);
        assert_eq!(sum("group "), functional_groups(molecule).values().sum::<usize>() as f32);
        let charge = value("charge positive") - value("charge negative");
        assert_eq!(charge, molecule.charge() as f32);
        assert_eq!(value("rings"), molecule.rings().len() as f32);
        for element in ["C", "N", "O", "S", "Cl"] {
            let count = molecule.atoms().iter().filter(|a| a.element.symbol() == element).count();
            assert_eq!(value(&format!("atom {element}")), count as f32);
        }
    }
}

#[test]
fn unusual_atoms_and_bonds_have_columns() {
    let names = Composition::columns();
    let counts = |smiles: &str| -> Vec<(String, f32)> {
        let rows = Composition {}.counts(&[parse(smiles)]).unwrap();
        let (columns, values) = rows.row(0);
        columns.iter().zip(values).map(|(&c, &v)| (names[c as usize].clone(), v)).collect()
    };
    let expect = |list: &[(&str, f32)]| -> Vec<_> {
        list.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
    };
    assert_eq!(counts("*#*"), expect(&[("atom *", 2.0), ("bond triple", 1.0)]));
    assert_eq!(counts("[U]$[U]"), expect(&[("atom U", 2.0), ("bond quadruple", 1.0)]));
    assert_eq!(
        counts("c1ccccc1"),
        expect(&[("atom H", 6.0), ("atom C", 6.0), ("bond aromatic", 6.0), ("rings", 1.0)])
    );
    assert_eq!(counts("[Ca+2]"), expect(&[("atom Ca", 1.0), ("charge positive", 2.0)]));
    let stereo = counts(r"F/C=C/[C@H](F)Cl");
    assert!(stereo.contains(&("stereo centers".to_owned(), 1.0)), "{stereo:?}");
    assert!(stereo.contains(&("stereo double bonds".to_owned(), 1.0)), "{stereo:?}");
    assert_eq!(
        counts("N->[Fe]"),
        expect(&[("atom H", 3.0), ("atom N", 1.0), ("atom Fe", 1.0), ("bond dative", 1.0)])
    );
}

/// The pool's formulas and masses are RDKit's.
#[test]
fn exact_masses_are_those_of_rdkit() {
    let path = data("exact_masses_are_those_of_rdkit", "massbank/molecules.tsv");
    let Some(table) = path.map(|path| std::fs::read_to_string(path).unwrap()) else { return };
    for line in table.lines().skip(1) {
        let [_, smiles, formula, mass] = line.split('\t').collect::<Vec<_>>()[..] else { panic!() };
        let molecule = parse(smiles);
        let mass = mass.parse::<f64>().unwrap();
        let atoms = molecule.composition();
        assert_eq!(read_formula(formula), Some(atoms.clone()), "{smiles}");
        let off = (molecule.exact_mass() - mass).abs();
        assert!(off < 1e-5 + 1e-7 * mass, "{smiles}: {} {mass}", molecule.exact_mass());
    }
}

#[test]
fn formulas_and_masses_are_those_of_pubchem() {
    for (smiles, formula, mass) in [
        ("CC(=O)OC1=CC=CC=C1C(=O)O", "C9H8O4", 180.16),
        ("CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "C8H10N4O2", 194.19),
        ("[Ca+2].[Cl-].[Cl-]", "CaCl2", 110.98),
        ("C(C(=O)O)(C(=O)O)C(=O)[O-]", "C4H3O6-", 147.06),
        ("[O-]S(=O)(=O)[O-]", "O4S-2", 96.06),
        ("C(Br)(Cl)I", "CHBrClI", 255.28),
        ("[2H]O[2H]", "H2O", 20.028),
    ] {
        let molecule = parse(smiles);
        assert_eq!(molecule.formula(), formula, "{smiles}");
        let actual = molecule.molar_mass();
        assert!((actual - mass).abs() < 0.011, "{smiles}: {actual}");
    }
    assert_eq!(Element::from_symbol("Xy"), None);
}
