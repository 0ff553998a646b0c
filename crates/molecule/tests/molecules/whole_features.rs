//! Features of chains, ring systems, components and configurations.

use std::collections::BTreeMap;

use dsokr_core::random::generator;
use dsokr_molecule::{
    Chains, Components, Composition, HashedFeatures, Molecule, MoleculeFeatures, Morgan, Rings,
    Stereo, Substructures,
};

use crate::support::{chebi, parse, quickstart};

type Codes = BTreeMap<u32, u32>;

fn all(molecule: &Molecule) -> [Codes; 4] {
    [
        Chains::default().codes(molecule),
        Rings::default().codes(molecule),
        Components::default().codes(molecule),
        Stereo::default().codes(molecule),
    ]
}

fn same_however_written<'a>(rows: impl Iterator<Item = &'a str>) {
    for (at, smiles) in rows.enumerate() {
        let molecule = parse(smiles);
        let text = molecule.random_smiles(&mut generator(0, "written again", at as u64));
        assert_eq!(all(&molecule), all(&parse(&text)), "{smiles} as {text}");
    }
}

#[test]
fn features_do_not_depend_on_how_a_molecule_is_written() {
    same_however_written(quickstart());
    let Some(rows) = chebi("features_do_not_depend_on_how_a_molecule_is_written") else { return };
    // radicals in aromatic rings and multiple bonds to halogens are known to change when written
    let plain =
        |text: &&str| !text.contains("[Cl") && !text.contains("[Br") && !text.contains("[I");
    let some = rows.iter().step_by(7).map(String::as_str);
    same_however_written(some.filter(|text| plain(text) && text.len() < 200));
}

/// Where rings of one size are not independent, the atoms around them decide which one counts. The second texts are RDKit's with
/// all hydrogens as atoms, `Chem.MolToSmiles(Chem.AddHs(mol), doRandom=True)`.
#[test]
fn features_do_not_depend_on_hydrogens_that_are_written_as_atoms() {
    for (smiles, with_hydrogens) in [
        ("N#CC12C=CC(N1)C2O", "N#CC12C([H])=C([H])C([H])(N1[H])C2([H])O[H]"),
        ("CC12CN(C1)C21CC1", "C12(C([H])([H])N(C32C([H])([H])C3([H])[H])C1([H])[H])C([H])([H])[H]"),
        (
            "COC12CN(C1)C2(C)C",
            "[H]C([H])(OC12C([H])([H])N(C2(C([H])([H])[H])C([H])([H])[H])C1([H])[H])[H]",
        ),
        (
            "C#C[C@]12C=C[C@H](C1)N2C",
            "[H]C([H])([H])N1[C@@]2(C([H])=C([H])[C@]1(C2([H])[H])C#C[H])[H]",
        ),
        (
            "O=C1C[C@@H]2O[C@H]1C21CC1",
            "O=C1C([C@]2([H])O[C@@]1([H])C21C([H])([H])C1([H])[H])([H])[H]",
        ),
        ("O=C1[C@@H]2C=C[C@@]1(O)C2", "C1(=O)[C@]2(O[H])C([C@]1(C(=C2[H])[H])[H])([H])[H]"),
    ] {
        let molecule = parse(smiles);
        let other = parse(with_hydrogens);
        assert_eq!(other.canonical_smiles(), molecule.canonical_smiles(), "{with_hydrogens}");
        assert_eq!(all(&other), all(&molecule), "{with_hydrogens}");
    }
}

#[test]
fn mirror_images_differ_in_configurations_alone() {
    let mut asymmetric = 0;
    for smiles in quickstart().filter(|smiles| smiles.contains('@')) {
        let mirrored = smiles.replace("@@", "!").replace('@', "@@").replace('!', "@");
        let one = parse(smiles);
        let other = parse(&mirrored);
        assert_eq!(Chains::default().codes(&one), Chains::default().codes(&other));
        assert_eq!(Components::default().codes(&one), Components::default().codes(&other));
        let count = |codes: &Codes| codes.values().sum::<u32>();
        let at_centers = Stereo { radius: 0, ..Stereo::default() };
        let left = at_centers.codes(&one);
        let right = at_centers.codes(&other);
        assert_eq!(count(&left), count(&right), "{smiles}");
        asymmetric += usize::from(left != right);
    }
    assert!(asymmetric > 100, "{asymmetric}");
}

#[test]
fn chains_tell_lengths_and_places() {
    let codes = |smiles: &str| Chains::default().codes(&parse(smiles));
    let shared = |one: &Codes, other: &Codes| one.keys().filter(|c| other.contains_key(c)).count();
    // the acyl chain of an ester is that of the acid, at both its ends and in between
    let acid = codes("CCCCCCCCCC(=O)O");
    let ester = codes("CCCCCCCCCC(=O)OCC");
    let longer = codes("CCCCCCCCCCC(=O)O");
    let diacid = codes("OC(=O)CCCCCCCCC(=O)O");
    assert!(shared(&acid, &ester) >= 4, "{acid:?} {ester:?}");
    assert_eq!(shared(&acid, &longer), 0);
    assert!(shared(&acid, &diacid) < shared(&acid, &ester));
    // where the double bond and the branch are
    let nine = codes("CCCCCCCCC=CCCCCCCCC(=O)O");
    let eleven = codes("CCCCCCC=CCCCCCCCCCC(=O)O");
    assert!(shared(&nine, &eleven) < nine.len());
    assert_ne!(codes("CC(C)CCCC(=O)O"), codes("CCC(C)CCC(=O)O"));
    assert_ne!(codes("CCCCC(=O)O"), codes("CCCCC(=O)[O-]"));
}

#[test]
fn rings_tell_positions_and_configurations() {
    let codes = |smiles: &str| Rings::default().codes(&parse(smiles));
    assert_ne!(codes("Oc1ccc(N)cc1"), codes("Oc1cccc(N)c1"));
    assert_eq!(codes("Oc1ccc(NC)cc1"), codes("Oc1ccc(NCCCC)cc1"));
    // alpha and beta glucose share all but the pattern with configurations
    let alpha = codes("C([C@@H]1[C@H]([C@@H]([C@H]([C@H](O1)O)O)O)O)O");
    let beta = codes("C([C@@H]1[C@H]([C@@H]([C@H]([C@@H](O1)O)O)O)O)O");
    assert_eq!(alpha.keys().filter(|code| !beta.contains_key(code)).count(), 1);
}

#[test]
fn components_tell_ions_charges_and_isotopes() {
    let codes = |smiles: &str| Components::default().codes(&parse(smiles));
    // one component: how many, and its charge
    assert_eq!(codes("CCO"), codes("C[N+](C)(C)CC(=O)[O-]"));
    assert_eq!(codes("CCO").len(), 2);
    assert_ne!(codes("CC(=O)O"), codes("CC(=O)[O-]"));
    // an isotope is one feature more
    assert_eq!(codes("[2H]CO").len(), 3);
    // each of two ions is a feature; the second is counted
    let one = codes("[Na+].CC(=O)[O-]");
    let two = codes("[Na+].[Na+].[O-]C(=O)C(=O)[O-]");
    assert!(two.values().any(|&count| count == 2) && one.values().all(|&count| count == 1));
    // a salt and its acid with hydrogen chloride share the elements of the ions, not the ions
    let ions = codes("C[NH3+].[Cl-]");
    let neutral = codes("CN.Cl");
    assert_eq!(ions.keys().filter(|code| neutral.contains_key(code)).count(), 3);
    assert_eq!((ions.len(), neutral.len()), (7, 7));
}

#[test]
fn widths_fold_and_none_is_refused() {
    let molecules = [parse("C[C@H](N)CCCc1ccccc1")];
    assert_eq!(Chains { width: 16 }.counts(&molecules).unwrap().width(), 16);
    assert!(Chains { width: 0 }.counts(&molecules).is_err());
    assert!(Rings { width: 0 }.counts(&molecules).is_err());
    assert!(Components { width: 0 }.counts(&molecules).is_err());
    assert!(Stereo { width: 0, radius: 1 }.counts(&molecules).is_err());
}

#[test]
fn configurations_name_featurizers_and_their_settings() {
    let read = |text: &str| serde_json::from_str::<Substructures>(text);
    for (text, substructures) in [
        (r#"{"name":"morgan","radius":2,"width":2048}"#, Substructures::Morgan(Morgan::default())),
        (r#"{"name":"chains","width":16}"#, Substructures::Chains(Chains { width: 16 })),
        (r#"{"name":"composition"}"#, Substructures::Composition(Composition {})),
    ] {
        assert_eq!(read(text).unwrap(), substructures);
        assert_eq!(serde_json::to_string(&substructures).unwrap(), text);
    }
    assert_eq!(
        read(r#"{"name": "morgan"}"#).unwrap(),
        Substructures::Morgan(Morgan { radius: 2, width: 2048 })
    );
    for (text, said) in [
        (r#"{"name": "rings", "radius": 1}"#, "unknown field `radius`, expected `width`"),
        (r#"{"name": "composition", "width": 1}"#, "unknown field `width`"),
        (r#"{"name": "graph"}"#, "missing field `kernel`"),
        (r#"{"name": "atoms"}"#, "unknown variant `atoms`"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    for (text, said) in [
        (r#"{"name": "rings", "width": 0}"#, "width = 0: expected at least 1"),
        (
            r#"{"name": "graph", "kernel": {"name": "core", "base": {"name": "nspd", "radius": 99}}}"#,
            "kernel.base.radius = 99: expected 0..=20",
        ),
    ] {
        let substructures = read(text).unwrap();
        assert_eq!(substructures.validate().unwrap_err().to_string(), said);
        assert_eq!(substructures.counts(&[parse("CCO")]).unwrap_err().to_string(), said);
    }
    // no table of its own in the reference: each setting with its type and default
    let schema = serde_json::to_value(schemars::schema_for!(Substructures)).unwrap();
    let morgan = &schema["oneOf"][0];
    assert_eq!(morgan["properties"]["name"]["const"], "morgan");
    assert_eq!(morgan["properties"]["width"]["default"], 2048);
    assert_eq!(morgan["required"], serde_json::json!(["name"]));
    assert_eq!(
        morgan["description"],
        "Surroundings of atoms, as Morgan fingerprints count them, folded into columns."
    );
}
