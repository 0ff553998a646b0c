//! Names of rings and lengths of chains whose answers every chemist knows, and that the answers do not
//! depend on how a molecule is written.

use std::fs;

use dsokr_molecule::{Element, Molecule};
use dsokr_quickstart_generator::{longest_carbon_chain, named_systems};

/// Name, SMILES, and what is known of it.
type Case<T> = (&'static str, &'static str, &'static [T]);

fn molecule(smiles: &str) -> Molecule {
    Molecule::parse(smiles).unwrap_or_else(|e| panic!("{smiles}: {e}"))
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
            named_systems(&molecule(smiles)).iter().map(|s| (s.name, s.rings.len())).collect();
        assert_eq!(found, *expected, "{name}");
    }
    let cholesterol =
        "C[C@H](CCCC(C)C)[C@H]1CC[C@@H]2[C@@]1(CC[C@H]3[C@H]2CC=C4[C@@]3(CC[C@@H](C4)O)C)C";
    let systems = named_systems(&molecule(cholesterol));
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

/// The committed molecules, each written with its atoms in other orders.
#[test]
fn answers_do_not_depend_on_the_order_of_atoms() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../molecules.tsv");
    let table = fs::read_to_string(path).unwrap();
    let names = |m: &Molecule| {
        let mut names: Vec<_> =
            named_systems(m).into_iter().map(|s| (s.name, s.skeleton, s.atoms.len())).collect();
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
