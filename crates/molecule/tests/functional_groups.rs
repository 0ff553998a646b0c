//! Groups, rings and chains of molecules whose answers every chemist knows, and that the answers do
//! not depend on how a molecule is written.

use std::collections::BTreeMap;
use std::fs;

use dsokr_molecule::{
    Element, FunctionalGroup as G, Molecule, functional_groups, longest_carbon_chain, ring_systems,
};

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
fn ring_systems_have_their_names_and_sizes() {
    let cases: &[Case<(Option<&'static str>, usize)>] = &[
        ("caffeine", "Cn1cnc2c1c(=O)n(C)c(=O)n2C", &[(Some("xanthine"), 2)]),
        ("serotonin", "NCCc1c[nH]c2ccc(O)cc12", &[(Some("indole"), 2)]),
        ("warfarin's core", "O=c1ccc2ccccc2o1", &[(Some("coumarin"), 2)]),
        (
            "biphenyl, Kekulé form",
            "C1=CC=CC=C1C1=CC=CC=C1",
            &[(Some("benzene"), 1), (Some("benzene"), 1)],
        ),
        (
            "spiro[4.5]decane",
            "C1CCCC12CCCCC2",
            &[(Some("cyclopentane"), 1), (Some("cyclohexane"), 1)],
        ),
        ("cubane", "C12C3C4C1C5C2C3C45", &[(None, 5)]),
    ];
    for (name, smiles, expected) in cases {
        let found: Vec<_> =
            ring_systems(&molecule(smiles)).iter().map(|s| (s.name, s.rings.len())).collect();
        assert_eq!(found, *expected, "{name}");
    }
    let cholesterol =
        "C[C@H](CCCC(C)C)[C@H]1CC[C@@H]2[C@@]1(CC[C@H]3[C@H]2CC=C4[C@@]3(CC[C@@H](C4)O)C)C";
    let systems = ring_systems(&molecule(cholesterol));
    assert_eq!(systems.len(), 1);
    assert_eq!(systems[0].skeleton, Some("steroid"));
    assert_eq!(systems[0].atoms.len(), 17);
}

#[test]
fn chains_are_the_longest_paths_outside_rings() {
    let cases = [
        ("methane", "C", 1),
        ("benzene", "c1ccccc1", 0),
        ("stearic acid", "CCCCCCCCCCCCCCCCCC(=O)O", 18),
        ("isobutane", "CC(C)C", 3),
        ("3-ethylpentane from its middle", "C(CC)(CC)CC", 5),
        ("an ether breaks the chain", "CCCOCCCC", 4),
        ("toluene", "Cc1ccccc1", 1),
        ("water", "O", 0),
        // No ring by RDKit's rules, so the walk must not go round for ever.
        ("a dative bond breaks a cycle", "C1CCC<-C1", 5),
    ];
    for (name, smiles, length) in cases {
        let molecule = molecule(smiles);
        let path = longest_carbon_chain(&molecule);
        assert_eq!(path.len(), length, "{name}");
        for step in path.windows(2) {
            let mut neighbors = molecule.neighbors(step[0]).iter();
            assert!(neighbors.any(|n| n.atom == step[1]), "{name}");
        }
        assert!(path.iter().all(|&a| molecule.atoms()[a].element == Element::C));
    }
}

#[test]
fn atoms_carry_what_the_smiles_says() {
    let salt = molecule("[2H]OC.[NH4+].[13CH4].[Cl-]");
    assert_eq!(salt.charge(), 0);
    assert_eq!(salt.components(), [0, 0, 0, 1, 2, 3]);
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
    let names = |m: &Molecule| {
        let mut names: Vec<_> =
            ring_systems(m).into_iter().map(|s| (s.name, s.skeleton, s.atoms.len())).collect();
        names.sort_unstable();
        names
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
            assert_eq!(names(&ours), names(&theirs), "{smiles} as {other}");
            assert_eq!(
                longest_carbon_chain(&ours).len(),
                longest_carbon_chain(&theirs).len(),
                "{smiles} as {other}"
            );
        }
    }
    assert!(rewritten > 3_000, "{rewritten}");
}
