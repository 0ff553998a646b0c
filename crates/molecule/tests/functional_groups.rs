//! Groups of molecules whose answers every chemist knows, and that the answers do not depend on how a
//! molecule is written.

use std::collections::BTreeMap;
use std::fs;

use dsokr_molecule::{Element, FunctionalGroup as G, Molecule, functional_groups, ring_systems};

/// Name, SMILES, and what is known of it.
type Case<T> = (&'static str, &'static str, &'static [T]);

fn molecule(smiles: &str) -> Molecule {
    Molecule::parse(smiles).unwrap_or_else(|e| panic!("{smiles}: {e}"))
}

#[test]
fn hand_picked_molecules_have_their_known_groups() {
    let cases: &[Case<(G, usize)>] = &[
        ("acetic acid", "CC(=O)O", &[(G::CarboxylicAcid, 1)]),
        ("phenol", "Oc1ccccc1", &[(G::Phenol, 1)]),
        ("phenol, Kekulé form", "OC1=CC=CC=C1", &[(G::Phenol, 1)]),
        ("aspirin", "CC(=O)Oc1ccccc1C(=O)O", &[(G::CarboxylicAcid, 1), (G::Ester, 1)]),
        ("glycine zwitterion", "[NH3+]CC(=O)[O-]", &[(G::Carboxylate, 1), (G::Ammonium, 1)]),
        ("caffeine", "Cn1cnc2c1c(=O)n(C)c(=O)n2C", &[(G::RingOxo, 2)]),
        (
            "cholesterol",
            "C[C@H](CCCC(C)C)[C@H]1CC[C@@H]2[C@@]1(CC[C@H]3[C@H]2CC=C4[C@@]3(CC[C@@H](C4)O)C)C",
            &[(G::SecondaryAlcohol, 1), (G::Alkene, 1)],
        ),
        ("acetylcholine", "CC(=O)OCC[N+](C)(C)C", &[(G::Ester, 1), (G::QuaternaryAmmonium, 1)]),
        ("DDT", "ClC(Cl)(Cl)C(c1ccc(Cl)cc1)c1ccc(Cl)cc1", &[(G::Chloro, 5)]),
        ("TNT", "Cc1c([N+](=O)[O-])cc([N+](=O)[O-])cc1[N+](=O)[O-]", &[(G::Nitro, 3)]),
        ("nitromethane, five-valent", "CN(=O)=O", &[(G::Nitro, 1)]),
        ("paracetamol", "CC(=O)Nc1ccc(O)cc1", &[(G::Amide, 1), (G::Phenol, 1)]),
        (
            "ATP",
            "Nc1ncnc2c1ncn2[C@@H]1O[C@H](COP(=O)(O)OP(=O)(O)OP(=O)(O)O)[C@@H](O)[C@H]1O",
            &[(G::SecondaryAlcohol, 2), (G::Ether, 1), (G::AromaticAmine, 1), (G::Phosphate, 3)],
        ),
        ("glycerol", "OCC(O)CO", &[(G::PrimaryAlcohol, 2), (G::SecondaryAlcohol, 1)]),
        ("acetone", "CC(C)=O", &[(G::Ketone, 1)]),
        ("benzaldehyde", "O=Cc1ccccc1", &[(G::Aldehyde, 1)]),
        ("acetonitrile", "CC#N", &[(G::Nitrile, 1)]),
        (
            "cystine",
            "NC(CSSCC(N)C(=O)O)C(=O)O",
            &[(G::CarboxylicAcid, 2), (G::PrimaryAmine, 2), (G::Disulfide, 1)],
        ),
        (
            "methionine",
            "CSCCC(N)C(=O)O",
            &[(G::CarboxylicAcid, 1), (G::PrimaryAmine, 1), (G::Sulfide, 1)],
        ),
        (
            "cysteine",
            "NC(CS)C(=O)O",
            &[(G::CarboxylicAcid, 1), (G::PrimaryAmine, 1), (G::Thiol, 1)],
        ),
        ("taurine", "NCCS(=O)(=O)O", &[(G::PrimaryAmine, 1), (G::SulfonicAcid, 1)]),
        ("sulfanilamide", "Nc1ccc(S(N)(=O)=O)cc1", &[(G::AromaticAmine, 1), (G::Sulfonamide, 1)]),
        ("DMSO", "CS(C)=O", &[(G::Sulfoxide, 1)]),
        ("urea", "NC(N)=O", &[(G::Urea, 1)]),
        ("arginine side chain", "CNC(N)=N", &[(G::Guanidine, 1)]),
        ("acetic anhydride", "CC(=O)OC(C)=O", &[(G::Anhydride, 1)]),
        ("butyrolactone", "O=C1CCCO1", &[(G::Lactone, 1)]),
        ("caprolactam", "O=C1CCCCCN1", &[(G::Lactam, 1)]),
        ("succinimide", "O=C1CCC(=O)N1", &[(G::Imide, 1)]),
        ("ethyl carbamate", "CCOC(N)=O", &[(G::Carbamate, 1)]),
        ("S-methyl methylthiocarbamate", "CSC(=O)NC", &[(G::Thiocarbamate, 1)]),
        ("thiazolidinedione", "O=C1CSC(=O)N1", &[(G::Imide, 1)]),
        ("thiazolidin-2-one", "O=C1NCCS1", &[(G::Thiocarbamate, 1)]),
        ("diethyl ether", "CCOCC", &[(G::Ether, 1)]),
        ("anisole", "COc1ccccc1", &[(G::Ether, 1), (G::Methoxy, 1)]),
        ("ethylene oxide", "C1CO1", &[(G::Epoxide, 1)]),
        ("triethylamine", "CCN(CC)CC", &[(G::TertiaryAmine, 1)]),
        ("morpholine", "C1COCCN1", &[(G::Ether, 1), (G::SecondaryAmine, 1)]),
        ("azobenzene", "c1ccc(N=Nc2ccccc2)cc1", &[(G::Azo, 1)]),
        ("phenyl azide", "[N-]=[N+]=Nc1ccccc1", &[(G::Azide, 1)]),
        ("acetone oxime", "CC(C)=NO", &[(G::Oxime, 1)]),
        (
            "trifluoroacetic acid",
            "OC(=O)C(F)(F)F",
            &[(G::CarboxylicAcid, 1), (G::Fluoro, 3), (G::Trifluoromethyl, 1)],
        ),
        ("propyne", "CC#C", &[(G::Alkyne, 1)]),
        ("tert-butanol", "CC(C)(C)O", &[(G::TertiaryAlcohol, 1)]),
        ("acetyl-SCoA end", "CSC(C)=O", &[(G::Thioester, 1)]),
        ("pyridine", "c1ccncc1", &[]),
        ("furan", "c1ccoc1", &[]),
        ("sodium chloride", "[Na+].[Cl-]", &[]),
    ];
    for (name, smiles, expected) in cases {
        let expected: BTreeMap<G, usize> = expected.iter().copied().collect();
        assert_eq!(functional_groups(&molecule(smiles)), expected, "{name}");
    }
}

#[test]
fn atoms_carry_what_the_smiles_says() {
    let salt = molecule("[2H]OC.[NH4+].[13CH4].[Cl-]");
    assert_eq!(salt.charge(), 0);
    assert_eq!(salt.components(), [vec![0, 1, 2], vec![3], vec![4], vec![5]]);
    assert_eq!(salt.atoms()[0].isotope, Some(2));
    assert_eq!(salt.atoms()[3].hydrogens, 4);
    assert_eq!(salt.atoms()[4].isotope, Some(13));
    // Deuterium is an atom; written protium is folded into its neighbour.
    assert_eq!(salt.count(Element::H), 1 + 3 + 4 + 4);
    assert_eq!(molecule("[H]C([H])([H])[H]").atoms().len(), 1);
    assert_eq!(molecule("[H]C([H])([H])[H]").atoms()[0].hydrogens, 4);
    assert_eq!(molecule("[H][H]").atoms().len(), 2);

    let wildcard = molecule("*C");
    assert_eq!(wildcard.atoms()[0].element, Element::WILDCARD);
    assert_eq!(wildcard.atoms()[0].element.symbol(), "*");

    let butene = molecule("C/C=C/C=C");
    let stereo: Vec<bool> = butene.bonds().iter().map(|b| b.stereo).collect();
    assert_eq!(stereo, [false, true, false, false]);
    assert!(molecule("C[C@H](N)C(=O)O").atoms()[1].stereo);
    assert!(!molecule("CC(N)C(=O)O").atoms()[1].stereo);
}

/// The committed molecules, each written with its atoms in other orders.
#[test]
fn answers_do_not_depend_on_the_order_of_atoms() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../datasets/quickstart/molecules.tsv");
    let table = fs::read_to_string(path).unwrap();
    let sizes = |m: &Molecule| {
        let sizes = ring_systems(m).into_iter().map(|s| (s.rings.len(), s.atoms.len()));
        let mut sizes: Vec<_> = sizes.collect();
        sizes.sort_unstable();
        sizes
    };
    let mut rewritten = 0;
    for line in table.lines().skip(1) {
        let smiles = line.split('\t').nth(1).unwrap();
        let ours = molecule(smiles);
        let parsed = chematic_smiles::parse(smiles).unwrap();
        for seed in 1..=2 {
            let other = chematic_smiles::random_smiles(&parsed, seed);
            rewritten += usize::from(other != smiles);
            let theirs = molecule(&other);
            assert_eq!(functional_groups(&ours), functional_groups(&theirs), "{smiles} as {other}");
            assert_eq!(sizes(&ours), sizes(&theirs), "{smiles} as {other}");
        }
    }
    assert!(rewritten > 3_000, "{rewritten}");
}
