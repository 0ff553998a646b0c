//! Text that is no molecule: an error with the place, never a panic.

use dsokr_core::random::generator;
use dsokr_molecule::{
    BondOrder, Formula, HashedFeatures, MAX_ATOMS, MAX_LENGTH, MAX_NESTING, MAX_RING_WILDCARDS,
    MAX_RINGS, Molecule, Morgan,
};
use proptest::prelude::*;

#[test]
fn malformed_smiles_are_errors_with_their_place() {
    let cases = [
        ("", 0),
        (" ", 0),
        ("CC O", 2),
        ("CC\n", 2),
        ("Cé", 1),
        ("C1CC", 1),
        ("C%12CC", 1),
        ("C%1", 1),
        ("C1CC2CC1", 4),
        ("CC(C", 2),
        ("CC)C", 2),
        ("CC()C", 3),
        ("(C)C", 0),
        ("C.", 2),
        (".C", 0),
        ("C..C", 2),
        ("C(.C)", 2),
        ("[CH4", 0),
        ("C]", 1),
        ("[C[C]]", 0),
        ("[]", 1),
        ("[Xx]", 1),
        ("[13]", 3),
        ("[CH4+x]", 5),
        ("Xx", 0),
        ("CQ", 1),
        ("C=", 2),
        ("C==C", 2),
        ("C11", 2),
        ("C12C12", 4),
        ("C12CC12", 6),
        ("C=1CC-1", 6),
        ("C~C", 1),
        ("C!C", 1),
        ("F(C)C", 0),
        ("CO(C)C", 1),
        ("C(C)(C)(C)(C)C", 0),
        ("[H]CC(=C)(=C)[H]", 4),
        ("C[NH3]C", 1),
        ("CN(C)(C)C", 1),
        ("[O-]C(=O)[NH4+]", 9),
        ("c1cccc1", 0),
        ("Cccc", 1),
        ("=C", 0),
        ("1CC1", 0),
        ("C:C", 0),
        ("cc", 0),
        ("c", 0),
        ("c1ccccc1c", 8),
        ("[xe]1cccc1", 0),
        ("[Pt@SP4](F)(Cl)(Br)I", 3),
    ];
    for (smiles, position) in cases {
        let error =
            Molecule::parse(smiles).map(|m| panic!("{smiles:?} was read: {m:?}")).unwrap_err();
        assert_eq!(error.position(), Some(position), "{smiles:?}: {error}");
        assert!(
            error.to_string().starts_with(&format!("position {position}: ")),
            "{smiles:?}: {error}"
        );
    }
}

#[test]
fn sizes_beyond_the_limits_are_refused_and_at_the_limits_read() {
    let refused = |smiles: &str| Molecule::parse(smiles).unwrap_err().to_string();
    let chain = "C".repeat(MAX_ATOMS);
    assert_eq!(Molecule::parse(&chain).unwrap().atoms().len(), MAX_ATOMS);
    let said = format!("position {MAX_ATOMS}: more than {MAX_ATOMS} atoms, the largest molecule");
    assert!(refused(&format!("{chain}C")).starts_with(&said));
    let long = format!("C{}", "(C)".repeat(MAX_LENGTH / 3 + 1));
    let said = format!("the SMILES has {} bytes; at most {MAX_LENGTH} are read", long.len());
    assert!(refused(&long).ends_with(&said));
    let nested = |depth: usize| format!("C{}{}", "(C".repeat(depth), ")".repeat(depth));
    assert_eq!(Molecule::parse(&nested(MAX_NESTING)).unwrap().atoms().len(), MAX_NESTING + 1);
    let said = format!("branches nested deeper than {MAX_NESTING}");
    assert!(refused(&nested(MAX_NESTING + 1)).ends_with(&said));
    let rings = |count: usize| "C1CC1".repeat(count);
    assert_eq!(Molecule::parse(&rings(MAX_RINGS)).unwrap().rings().len(), MAX_RINGS);
    let said = format!("position {}: more than {MAX_RINGS} rings", 5 * MAX_RINGS + 4);
    assert!(refused(&rings(MAX_RINGS + 1)).starts_with(&said));
    // The deepest nesting fits a quarter of the stack that threads get by default.
    let deepest = nested(MAX_NESTING);
    let thread = std::thread::Builder::new().stack_size(512 * 1024);
    let read = thread.spawn(move || Molecule::parse(&deepest).is_ok());
    assert!(read.unwrap().join().unwrap());
}

/// Rings without a Kekulé structure took time that doubled with each wildcard.
#[test]
fn rings_of_wildcards_are_bounded() {
    let refused = |smiles: &str| Molecule::parse(smiles).unwrap_err().to_string();
    let rings = |a: usize, b: usize| {
        format!("c1ccc2O{}Occ2cccO*2{}Occ2[nH]1", "*".repeat(a), "*".repeat(b))
    };
    let half = MAX_RING_WILDCARDS / 2;
    assert!(refused(&rings(half, half - 1)).contains("Kekulé"));
    let said = format!("more than {MAX_RING_WILDCARDS} wildcards in rings");
    assert!(refused(&rings(30, 30)).contains(&said));
    assert!(refused(&format!("*1{}1", "*".repeat(4_000))).starts_with("position 11: more than"));
    assert!(Molecule::parse(&"C(*)".repeat(1_000)).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn any_text_is_read_or_refused_with_a_place(text in "\\PC{0,40}") {
        check(&text)?;
    }

    #[test]
    fn text_of_smiles_tokens_is_read_or_refused_with_a_place(
        tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..30)
    ) {
        check(&tokens.concat())?;
    }

    #[test]
    fn real_smiles_with_a_few_edits_are_read_or_refused_with_a_place(
        row in 0..2_000_usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..2_usize, prop::sample::select(TOKENS)), 1..4)
    ) {
        let table = include_str!("../../../datasets/quickstart/molecules.tsv");
        let line = table.lines().nth(row + 1).unwrap_or_default();
        let mut smiles = line.split('\t').nth(1).unwrap_or_default().to_owned();
        for (place, removed, token) in edits {
            let start = place.index(smiles.len());
            smiles.replace_range(start..start + removed, token);
        }
        check(&smiles)?;
    }
}

const TOKENS: &[&str] = &[
    "C", "c", "N", "n", "O", "o", "S", "s", "P", "p", "B", "b", "F", "Cl", "Br", "I", "*", "(",
    ")", "1", "2", "3", "%10", "%(100)", "=", "#", "$", "-", ":", "/", "\\", ".", "->", "<-", "[",
    "]", "[nH]", "[C@H]", "[C@@]", "[N+]", "[O-]", "[Fe+2]", "[13C]", "[H]", "[2H]", "[se]",
    "[te]", "[C:1]", "@", "+", "H", "[Pt@SP1]", "[S@TB1]", "[H+]", "[*-]", "[U]",
];

fn check(text: &str) -> Result<(), TestCaseError> {
    let formula = Formula::parse(text).map_err(|error| error.position());
    let molecule = Molecule::parse(text);
    let expected = molecule.as_ref().map(Formula::from).map_err(|error| error.position());
    prop_assert_eq!(formula, expected, "{}", text);
    match molecule {
        Ok(molecule) => {
            prop_assert!(!molecule.atoms().is_empty());
            for bond in molecule.bonds() {
                prop_assert!(bond.atoms[0] != bond.atoms[1]);
                prop_assert!(bond.atoms.iter().all(|&a| a < molecule.atoms().len()));
            }
            let components = molecule.components().len();
            // Fewer where a coordinative bond to a metal closes a ring.
            let rings = molecule.bonds().len() + components - molecule.atoms().len();
            prop_assert!(molecule.rings().len() <= rings);
            for ring in molecule.rings() {
                let next = ring.atoms.iter().cycle().skip(1);
                for (&a, &b) in ring.atoms.iter().zip(next) {
                    prop_assert!(molecule.neighbors(a).iter().any(|n| n.atom == b));
                }
            }
            let canonical = molecule.canonical_smiles();
            let other = molecule.random_smiles(&mut generator(0, "atom order", 0));
            // Perceiving aromatic rings with radicals, bonds to metals, and multiple bonds to halogens,
            // depends on how they are written: see `canonical_smiles`.
            const ORGANIC: [u8; 11] = [0, 1, 5, 6, 7, 8, 9, 16, 17, 35, 53];
            let mut atoms = molecule.atoms().iter();
            let plain = atoms.all(|a| !a.aromatic && ORGANIC.contains(&a.element.atomic_number()));
            let halogen = |&atom: &usize| {
                [9, 17, 35, 53].contains(&molecule.atoms()[atom].element.atomic_number())
            };
            let mut bonds = molecule.bonds().iter();
            let plain = plain
                && bonds.all(|b| b.order == BondOrder::Single || !b.atoms.iter().any(halogen));
            for written in [&canonical, &other].into_iter().filter(|_| plain) {
                let read = Molecule::parse(written);
                let read =
                    read.map_err(|e| TestCaseError::fail(format!("{text}: {written}: {e}")))?;
                prop_assert_eq!(&read.canonical_smiles(), &canonical, "{} as {}", text, written);
                let morgan = Morgan::default();
                prop_assert_eq!(morgan.codes(&read), morgan.codes(&molecule), "{}", written);
            }
        }
        Err(error) => prop_assert!(error.position().is_some_and(|at| at <= text.len())),
    }
    Ok(())
}

/// A text with its own double bonds is a molecule even where perception finds rings without any Kekulé
/// structure; found by the fuzz target.
#[test]
fn rings_that_are_perceived_in_vain_stay_as_they_are_written() {
    let molecule = Molecule::parse("*-1-C=C2BNSC(=C1)C=CC=C2").unwrap();
    assert!(molecule.atoms().iter().all(|atom| !atom.aromatic));
    let again = Molecule::parse(&molecule.canonical_smiles()).unwrap();
    assert_eq!(again.canonical_smiles(), molecule.canonical_smiles());
}
