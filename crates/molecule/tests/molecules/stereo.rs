//! R and S, E and Z against the names of chemists, read from the features at radius 0.

use dsokr_core::random::generator;
use dsokr_molecule::{HashedFeatures, Molecule, Stereo};

use crate::support::parse;

fn combine(hash: u32, value: u32) -> u32 {
    hash ^ value.wrapping_add(0x9e37_79b9).wrapping_add(hash << 6).wrapping_add(hash >> 2)
}

/// Returns how often the features hold each name, 1 (R or Z), 2 (S or E) and 3 (none), with the code of an atom that
/// `marked` gives for it.
fn names(molecule: &Molecule, marked: impl Fn(u32, u32) -> u32) -> [u32; 3] {
    let codes = Stereo { radius: 0, ..Stereo::default() }.codes(molecule);
    let ring = |at: usize| molecule.rings().iter().any(|ring| ring.atoms.contains(&at));
    let atoms = molecule.atoms().iter().enumerate().map(|(at, atom)| {
        let hydrogens = u32::from(atom.hydrogens);
        let words = [
            u32::from(atom.element.atomic_number()),
            molecule.degree(at) as u32 + hydrogens,
            hydrogens,
            i32::from(atom.charge) as u32,
            atom.isotope.map_or(0, u32::from),
        ];
        words.into_iter().chain(ring(at).then_some(1)).fold(0, combine)
    });
    let mut atoms: Vec<u32> = atoms.collect();
    atoms.sort_unstable();
    atoms.dedup();
    [1, 2, 3].map(|name| atoms.iter().filter_map(|&atom| codes.get(&marked(atom, name))).sum())
}

/// Returns how many centres are R, S, and neither.
fn centers(smiles: &str) -> [u32; 3] {
    names(&parse(smiles), combine)
}

#[test]
fn centers_are_named_as_chemists_name_them() {
    for (smiles, name, right, left) in [
        // PubChem's isomeric SMILES and its names
        ("C[C@@H](C(=O)O)N", "(2S)-alanine", 0, 1),
        ("C([C@@H](C(=O)O)N)S", "(2R)-cysteine", 1, 0),
        ("C[C@H]([C@@H](C(=O)O)N)O", "(2S,3R)-threonine", 1, 1),
        ("C([C@H](C=O)O)O", "(2R)-2,3-dihydroxypropanal", 1, 0),
        ("C[C@@H](C(=O)O)O", "(2S)-lactic acid", 0, 1),
        ("CC1=CC[C@@H](CC1)C(=C)C", "(4R)-limonene", 1, 0),
        ("CC(C)CC1=CC=C(C=C1)[C@H](C)C(=O)O", "(2S)-ibuprofen", 0, 1),
        ("C([C@@H]1[C@H]([C@@H]([C@H]([C@@H](O1)O)O)O)O)O", "beta-D-glucose", 3, 2),
        ("C([C@@H]1[C@H]([C@@H]([C@H]([C@H](O1)O)O)O)O)O", "alpha-D-glucose", 2, 3),
        (
            "C[C@H](CCCC(C)C)[C@H]1CC[C@@H]2[C@@]1(CC[C@H]3[C@H]2CC=C4[C@@]3(CC[C@@H](C4)O)C)C",
            "(3S,8S,9S,10R,13R,14S,17R,20R)-cholesterol",
            4,
            4,
        ),
        // a mirrored molecule has the other name, and one spelled another way the same
        ("N[C@@H](C)C(=O)O", "S", 0, 1),
        ("OC(=O)[C@H](C)N", "S", 0, 1),
        ("N[C@H](C)C(=O)O", "R", 1, 0),
        // Names by atomic numbers and then by masses are those of RDKit's CIP labeler.
        // heavier isotopes precede where all atomic numbers are the same
        ("[C@@H](C)([13CH3])O", "carbon 13 before carbon", 1, 0),
        ("[C@@H](C)([11CH3])O", "carbon before carbon 11", 0, 1),
        ("[C@@](C)([2H])(N)O", "deuterium after carbon", 0, 1),
        ("[C@@H](C)([2H])O", "deuterium before hydrogen", 0, 1),
        ("[C@@H](CC)(C[13CH3])O", "carbon 13, a bond further", 1, 0),
        // a difference of atomic numbers precedes one of masses that is nearer
        ("[C@@H]([13CH2]C)(CO)N", "oxygen before carbon 13", 1, 0),
        ("[C@@H](CC)([13CH2]O)N", "oxygen before carbon", 1, 0),
        ("[C@@H](C([2H])C)(CCF)O", "fluorine before deuterium", 1, 0),
        // what a multiple bond duplicates has nothing bound to it
        ("[C@@H](C=O)(C(O)O)C", "an aldehyde and its hydrate", 0, 1),
        ("C#C[C@]1(O)CCCC1(C)C", "an ethynyl group and a carbon with three", 0, 1),
    ] {
        assert_eq!(centers(smiles), [right, left, 0], "{name}");
    }
    // ligands that are alike have no order: the ring of cis-1,4-dimethylcyclohexane is the same on both ways round
    assert_eq!(centers("C[C@H]1CC[C@H](C)CC1"), [0, 0, 2]);
    assert_eq!(centers("C[C@H](C)O"), [0, 0, 0]);
}

/// The second text is what RDKit 2026.09 reads in the first, by the stereo perception that is its default and by the
/// newer one (`Chem.SetUseLegacyStereoPerception(False)`).
#[test]
fn marks_fall_away_where_there_is_one_configuration() {
    for (marked, read) in [
        ("C[C@H](C)O", "CC(C)O"),
        ("C[C@@](C)(C)C", "CC(C)(C)C"),
        ("[C@@H2](F)Cl", "FCCl"),
        ("O=[S@](=O)(C)CC", "CCS(C)(=O)=O"),
        // a lone pair that changes its place, and lone pairs that do not
        ("C[N@](CC)CCC", "CCCN(C)CC"),
        ("C[C@H]1[N@](F)C1", "C[C@H]1[N@](F)C1"),
        ("C[S@](=O)CC", "CC[S@](C)=O"),
        ("C[P@](CC)CCC", "CCC[P@](C)CC"),
        ("C[O@+](CC)CCC", "CCC[O+](C)CC"),
        // one mark in a ring says nothing, two say cis or trans
        ("C[C@H]1CCC(C)CC1", "CC1CCC(C)CC1"),
        ("C[C@H]1CC[C@](C)(C)CC1", "CC1CCC(C)(C)CC1"),
        ("C[C@H]1CC[C@H](C)CC1", "C[C@H]1CC[C@H](C)CC1"),
        ("O[C@H]1[C@H](O)[C@@H]1O", "O[C@H]1[C@H](O)[C@@H]1O"),
        // a cage
        ("[C@@H]12C[C@H]3C[C@@H](C1)C[C@@H](C2)C3", "C1C2CC3CC1CC(C2)C3"),
        // the atom in the middle of a meso form is one where the two around it differ, and none where they are alike
        ("C[C@H](O)[C@H](O)[C@@H](C)O", "C[C@H](O)[C@H](O)[C@@H](C)O"),
        ("C[C@H](O)[C@H](O)[C@H](C)O", "C[C@H](O)C(O)[C@H](C)O"),
        ("CC(O)[C@H](Cl)C(C)O", "CC(O)C(Cl)C(C)O"),
        // double bonds in small rings, and with two ligands that are alike
        ("C1C/C=C/CC1", "C1CC=CCC1"),
        ("C1CCC/C=C/CC1", "C1CCC/C=C/CC1"),
        ("C/C=C1/CCCCC1", "CC=C1CCCCC1"),
        ("C/C=C(/C)C", "CC=C(C)C"),
        ("F/C=C(/F)F", "FC=C(F)F"),
        // E and Z at both ends tell the substituents of a third double bond apart
        ("C/C=C(/C=C/C)\\C=C/C", "C/C=C(/C=C/C)\\C=C/C"),
        ("CC=C(/C=C/C)/C=C/C", "CC=C(/C=C/C)/C=C/C"),
        ("C/C=C(/C=C/C)/C=C/C", "CC=C(/C=C/C)/C=C/C"),
    ] {
        let marked = parse(marked);
        assert_eq!(marked.canonical_smiles(), parse(read).canonical_smiles());
        let marks = read.replace("@@", "@").matches('@').count();
        assert_eq!(marked.atoms().iter().filter(|atom| atom.stereo).count(), marks, "{read}");
        assert_eq!(marked.bonds().iter().any(|bond| bond.stereo), read.contains('/'), "{read}");
    }
    // only the newer perception sees these
    for (one, other) in [
        // an axis, as in an allene
        ("C[C@H]1CC[C@]2(CC1)CC[C@@H](C)CC2", "C[C@H]1CC[C@]2(CC1)CC[C@H](C)CC2"),
        ("C/C=C1/CC[C@H](C)CC1", "C/C=C1/CC[C@@H](C)CC1"),
    ] {
        assert_ne!(parse(one).canonical_smiles(), parse(other).canonical_smiles());
    }
    let rings = |first: &str, second: &str, middle: &str| {
        let ring = |turn: &str| format!("[C@H]1CC[C{turn}H](C)CC1");
        parse(&format!("O[C{middle}H]({}){}", ring(first), ring(second))).canonical_smiles()
    };
    assert_ne!(rings("@", "@@", "@"), rings("@", "@@", "@@"));
    assert_eq!(rings("@", "@", "@"), rings("@", "@", "@@"));
}

/// The texts of a row are RDKit's of one molecule (`Chem.MolToSmiles(mol, doRandom=True)`, with hydrogens as atoms too).
/// The atom with a pair of electrons comes first, last or in between, in a branch, and with no ring label, one or two.
/// RDKit reads a row with the other mark at this atom as another molecule.
#[test]
fn centers_with_a_pair_of_electrons_are_read_and_written_as_rdkit_does() {
    let rows: [&[&str]; 13] = [
        &[
            "C[C@H]1CC[S@@+]1C",
            "C1[S@@+](C)[C@H](C1)C",
            "[S@@+]1(C)CC[C@@H]1C",
            "[C@H]1([S@@+](CC1)C)C",
            "C1C[C@@H]([S@+]1C)C",
            "C([H])([H])([H])[S@+]1C(C([C@@]1(C([H])([H])[H])[H])([H])[H])([H])[H]",
            "C([H])([H])([C@@]1([S@@+](C([H])(C1([H])[H])[H])C([H])([H])[H])[H])[H]",
        ],
        &[
            "C[C@H]1C[N@]1C",
            "C1[C@H](C)[N@@]1C",
            "C[C@@H]1[N@@](C)C1",
            "[N@]1(C)C[C@@H]1C",
            "[C@H]1([N@](C1)C)C",
        ],
        &[
            "C[C@H]1CC[P@]1C",
            "[C@@H]1(C)[P@@](C)CC1",
            "[P@@]1(C)[C@H](CC1)C",
            "C[P@@]1CC[C@@H]1C",
            "C1[C@@H]([P@@](C)C1)C",
            "C([P@@]1C(C([H])([C@@]1(C([H])([H])[H])[H])[H])([H])[H])([H])([H])[H]",
        ],
        &[
            "C[C@H]1CC[As@]1c1ccccc1",
            "c1([As@]2[C@H](CC2)C)ccccc1",
            "[As@@]1(c2ccccc2)[C@@H](C)CC1",
            "[C@H]1([As@@](c2ccccc2)CC1)C",
        ],
        &["C[C@H]1CCC[Se@+]1C", "[Se@+]1(C)CCC[C@@H]1C", "C1C[C@@H]([Se@+](C1)C)C"],
        // bridgeheads, of a row of MassBank and of a phosphine
        &[
            "C=C[C@H]1C[N@@]2CC[C@H]1CC2Cc1ccnc2ccccc12",
            "C1[C@@H]([C@@H]2CC([N@]1CC2)Cc1ccnc2ccccc21)C=C",
            "[N@]12C(C[C@@H]([C@@H](C=C)C2)CC1)Cc1ccnc2c1cccc2",
            "C=C[C@@H]1[C@H]2CC[N@@](C(C2)Cc2c3ccccc3ncc2)C1",
        ],
        &[
            "C[C@]12CC[P@@](CC1)C2",
            "C1[C@]2(CC[P@@](C2)C1)C",
            "C1[P@]2CC[C@]1(C)CC2",
            "[P@]12CC[C@](C2)(C)CC1",
        ],
        // the hydrogen of a phosphine, in brackets, as an atom and as an isotope
        &[
            "C[C@@H]1CC[P@@H]1",
            "[P@@H]1[C@H](C)CC1",
            "[C@H]1(C)[P@H]CC1",
            "C1[C@H]([P@H]C1)C",
            "[H][C@]1(C([H])([H])[H])[P@](C([H])(C1([H])[H])[H])[H]",
        ],
        &["CC[P@H]C", "[P@@H](C)CC", "C([P@H]C)C", "[P@]([H])(CC)C"],
        &["[2H][P@]1CC[C@H]1C", "[C@H]1(CC[P@@]1[2H])C", "[P@]1([2H])[C@@H](CC1)C"],
        // a fourth ligand, and double bonds, leave the mark as it is
        &["C[C@H]1C[N@H+]1C", "[N@H+]1(C)[C@@H](C)C1", "C[N@@H+]1C[C@@H]1C"],
        &["C[C@H]1CC[S@@]1=O", "[S@@]1(=O)CC[C@@H]1C", "O=[S@]1CC[C@@H]1C"],
        // the oxide of this row has charges and single bonds
        &["C[C@@H]1CC[S@+]1[O-]", "[S@+]1([C@@H](CC1)C)[O-]", "[C@@H]1([S@@+]([O-])CC1)C"],
    ];
    for texts in rows {
        let molecule = parse(texts[0]);
        let canonical = molecule.canonical_smiles();
        for text in texts {
            let read = parse(text);
            assert_eq!(read.canonical_smiles(), canonical, "{text}");
            for step in 0..5 {
                let written = read.random_smiles(&mut generator(step, "atom order", 0));
                assert_eq!(parse(&written).canonical_smiles(), canonical, "{text} as {written}");
            }
        }
        let at = ["[N@", "[P@", "[As@", "[S@", "[Se@"];
        let other = at.iter().fold(texts[0].to_owned(), |text, mark| {
            let once = text.replace(&format!("{mark}@"), &format!("{mark}!"));
            once.replace(mark, &format!("{mark}@")).replace("@@!", "@")
        });
        assert_ne!(other, texts[0]);
        assert_ne!(parse(&other).canonical_smiles(), canonical, "{other}");
    }
}

#[test]
fn double_bonds_are_named_as_chemists_name_them() {
    for (smiles, name, together) in [
        ("CCCCCCCC/C=C\\CCCCCCCC(=O)O", "oleic acid, 9Z", true),
        ("CCCCCCCC/C=C/CCCCCCCC(=O)O", "elaidic acid, 9E", false),
        ("C(=C\\C(=O)O)\\C(=O)O", "maleic acid, 2Z", true),
        ("C(=C/C(=O)O)\\C(=O)O", "fumaric acid, 2E", false),
        // the higher ligand is not the one that is marked first
        ("C/C=C(\\C)/C(=O)O", "tiglic acid, 2E", false),
        ("C/C=C(/C)\\C(=O)O", "angelic acid, 2Z", true),
    ] {
        // both ends of the double bond, whose code is 2, hold its name
        let ends = names(&parse(smiles), |atom, name| combine(atom, combine(2, name)));
        assert_eq!(ends, if together { [2, 0, 0] } else { [0, 2, 0] }, "{name}");
    }
    assert!(Stereo::default().codes(&parse("CC=CC")).is_empty());
}
