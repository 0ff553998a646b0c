//! Moves give molecules, have inverses, and reach everything.

mod data;

use std::collections::{BTreeSet, HashSet};
use std::sync::Mutex;

use data::data;
use dsokr_basis::features::SparseRows;
use dsokr_molecule::graph::Graph;
use dsokr_molecule::kernels::GraphKernel;
use dsokr_molecule::{
    Chains, Composition, Molecule, MoleculeFeatures, Morgan, Moves, Palette, Rings, SeenStructures,
};
use proptest::prelude::*;
use rayon::prelude::*;

/// Molecules as small as the molecules of QM9.
const SMALL: [&str; 24] = [
    "C",
    "CCO",
    "CC=O",
    "C#CC#N",
    "OCC1CN1",
    "c1ccccc1",
    "c1cc[nH]c1",
    "Cc1ccno1",
    "CC1(C)CC1=O",
    "NC(=O)C1CC1",
    "OC1C2CC1C2",
    "CN1C=NC=N1",
    "O=C1OCC=C1",
    "FC(F)(F)C#N",
    "CC(=O)NC=N",
    "C1CC2CC1O2",
    "CN(C)C=O",
    "[NH3+]CC([O-])=O",
    "OC1=CC=NC=C1",
    "N#CC1CO1",
    "CC12CC1C2O",
    "Fc1cncnc1",
    "CCOC(C)=O",
    "C1=CC2C=CC12",
];

fn parse(smiles: &str) -> Molecule {
    Molecule::parse(smiles).unwrap_or_else(|error| panic!("{smiles}: {error}"))
}

fn small() -> (Vec<Molecule>, Palette) {
    let all: Vec<Molecule> = SMALL.iter().map(|smiles| parse(smiles)).collect();
    let usual = Molecule::palette(&all);
    let palette = Palette { groups: Vec::new(), atoms: 9, environments: None, ..usual };
    (all, palette)
}

fn keys(neighbours: &[(String, Molecule)]) -> BTreeSet<&str> {
    neighbours.iter().map(|(key, _)| key.as_str()).collect()
}

/// Returns atoms without hydrogens.
fn size(molecule: &Molecule) -> usize {
    molecule.atoms().len()
}

#[test]
fn neighbours_are_molecules_by_their_canonical_forms() {
    let (all, palette) = small();
    for molecule in &all {
        let neighbours = molecule.neighbours(&palette);
        assert!(neighbours.len() > 4, "{}", molecule.key());
        for (key, other) in &neighbours {
            assert_ne!(*key, molecule.key());
            assert_eq!(parse(key).key(), *key);
            assert_eq!(other.key(), *key);
            assert!(size(other) <= 9);
        }
        let again = parse(&molecule.key()).neighbours(&palette);
        assert_eq!(keys(&again), keys(&neighbours), "{}", molecule.key());
    }
}

/// Returns whether one move leads back from `b` to `a`, as for all moves but those that fuse a ring at once.
fn has_inverse(a: &Molecule, b: &Molecule) -> bool {
    size(a).abs_diff(size(b)) <= 1
}

fn check_inverses(molecules: &[Molecule], palette: &Palette, every: usize) {
    for molecule in molecules {
        let neighbours = molecule.neighbours(palette);
        for (key, other) in
            neighbours.iter().step_by(every).filter(|(_, b)| has_inverse(molecule, b))
        {
            let back = other.neighbours(palette);
            assert!(keys(&back).contains(molecule.key().as_str()), "{} {key}", molecule.key());
        }
    }
}

#[test]
fn moves_have_inverses() {
    let (all, palette) = small();
    check_inverses(&all, &palette, 5);
}

/// Checks that moves make a molecule smaller until one carbon is left, each counted once, and that each has one back.
fn check_reduced(molecules: &[Molecule], palette: &Palette) {
    let seen = Mutex::new(HashSet::new());
    let reduce = |molecule: &Molecule| {
        let bonds = |m: &Molecule| -> u32 {
            m.bonds().iter().map(|bond| u32::from(bond.order.multiplicity())).sum()
        };
        let charges = |m: &Molecule| m.atoms().iter().filter(|atom| atom.charge != 0).count();
        let hydrogens = |m: &Molecule| m.atoms().iter().map(|atom| atom.hydrogens).sum::<u8>();
        let measure = |m: &Molecule| (charges(m), size(m), bonds(m), u8::MAX - hydrogens(m));
        let mut molecule = molecule.clone();
        while size(&molecule) > 1 && seen.lock().unwrap().insert(molecule.key()) {
            let smaller =
                Palette { elements: Vec::new(), atoms: size(&molecule), ..palette.clone() };
            let next = molecule.neighbours(&smaller).into_iter();
            let next =
                next.min_by(|(a_key, a), (b_key, b)| (measure(a), a_key).cmp(&(measure(b), b_key)));
            let (key, next) = next.unwrap();
            assert!(measure(&next) < measure(&molecule), "{} {key}", molecule.key());
            let elements: BTreeSet<_> = molecule.atoms().iter().map(|atom| atom.element).collect();
            let larger = Palette { elements: elements.into_iter().collect(), ..smaller };
            let back = next.neighbours(&larger);
            assert!(keys(&back).contains(molecule.key().as_str()), "{} {key}", molecule.key());
            molecule = next;
        }
    };
    molecules.par_iter().for_each(reduce);
}

#[test]
fn any_molecule_is_reached_from_any_other() {
    // a single atom becomes any other by a change of its element, and moves have inverses
    let (all, palette) = small();
    check_reduced(&all, &palette);
    let Some(path) = data("any_molecule_is_reached_from_any_other", "qm9/smiles.txt") else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    // configurations may take several moves to undo
    let flat = |smiles: &str| parse(&smiles.replace(['@', '/', '\\'], ""));
    let all: Vec<Molecule> = text.lines().step_by(117).map(flat).take(1_000).collect();
    assert_eq!(all.len(), 1_000);
    let palette = Molecule::palette(&all);
    assert_eq!((palette.atoms, palette.elements.len()), (9, 4));
    assert!(!palette.groups.is_empty());
    let charges = Molecule::palette(&[parse("[NH3+]CC([O-])=O")]).charges;
    let usual = Palette { groups: Vec::new(), charges, ..palette };
    let palette = Palette { environments: None, ..usual.clone() };
    check_reduced(&all, &palette);
    check_inverses(&all[..20], &palette, 23);
    check_inverses(&all[..20], &usual, 7);
}

#[test]
fn larger_molecules_exchange_groups_and_fuse_rings() {
    let usual = ["CCCC(=O)O", "c1ccccc1CC(=O)O", "CC(=O)Nc1ccc(O)cc1", "OC(=O)CCc1ccccc1C#N"];
    let palette = Molecule::palette(&usual.map(parse));
    let groups: Vec<_> = palette.groups.iter().map(|g| (g.smiles.as_str(), g.count)).collect();
    assert!(groups.contains(&("*-CC(=O)O", 3)), "{groups:?}");
    let palette = Palette { atoms: 20, environments: None, ..palette };
    let neighbours = parse("CCc1ccccc1").neighbours(&palette);
    let reached = keys(&neighbours);
    let is_reached = |smiles: &str| reached.contains(parse(smiles).key().as_str());
    assert!(is_reached("CCc1ccccc1CC(=O)O"), "a group in the place of a hydrogen");
    assert!(is_reached("OC(=O)c1ccccc1"), "a group in the place of another");
    assert!(is_reached("CCc1cccc2ccccc12"), "a ring on a bond");
    assert!(is_reached("CCc1ccccc1C"), "an atom more");
}

#[test]
fn configurations_and_charges_change_where_known_molecules_have_them() {
    let usual = ["C[C@H](N)C(=O)O", "C/C=C/C", "C[NH3+]", "CC([O-])=O", "CCCCCC[NH]"].map(parse);
    let palette = Molecule::palette(&usual);
    let charges = palette.charges.iter().map(|&(element, charge)| (element.symbol(), charge));
    assert_eq!(charges.collect::<Vec<_>>(), [("N", 1), ("O", -1)]);
    assert!(palette.stereo);
    let palette = Palette { environments: None, ..palette };
    let reached = |from: &str, to: &str| {
        let neighbours = parse(from).neighbours(&palette);
        keys(&neighbours).contains(parse(to).key().as_str())
    };
    assert!(reached("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"));
    assert!(reached("C[C@H](N)C(=O)O", "CC(N)C(=O)O"));
    assert!(reached("CC(N)C(=O)O", "C[C@@H](N)C(=O)O"));
    assert!(reached("C/C=C/C", "C/C=C\\C"));
    assert!(reached("CC=CC", "C/C=C\\C"));
    assert!(reached("CN", "C[NH3+]") && reached("C[NH3+]", "CN"));
    assert!(reached("CC(=O)O", "CC(=O)[O-]"));
    assert!(reached("CCN", "CC[NH]") && reached("CC[NH]", "CCN"));
    // no known molecule has these
    assert!(!reached("CCO", "CC[O]") && !reached("CC", "C[CH2]"));
    assert!(!reached("CO", "C[OH2+]") && !reached("CN", "C[NH-]") && !reached("C", "[CH3-]"));
    // an edit elsewhere keeps a centre, an exchanged ligand takes the place of the one before
    assert!(reached("C[C@H](N)C(=O)O", "CC[C@H](N)C(=O)O"));
    assert!(reached("C[C@H](N)C(=O)O", "C[C@H](O)C(=O)O"));
    assert!(!reached("C[C@H](N)C(=O)O", "CC[C@@H](N)C(=O)O"));
    let charges = BTreeSet::new();
    let radicals = BTreeSet::new();
    let plain = Palette { charges, radicals, stereo: false, ..palette };
    let neighbours = parse("CC(N)C(=O)O").neighbours(&plain);
    assert!(neighbours.iter().all(|(key, _)| !key.contains(['@', '+']) && !key.contains("[NH]")));
}

#[test]
fn environments_that_no_known_molecule_has_are_left_out() {
    let usual = ["CCO", "CC=O", "CN", "CNC", "CCCC", "CC(C)=C", "C1CC1", "CC(C)C"].map(parse);
    let palette = Palette { atoms: 8, ..Molecule::palette(&usual) };
    let ethanol = parse("CCO");
    let neighbours = ethanol.neighbours(&palette);
    let reached = |smiles: &str| keys(&neighbours).contains(parse(smiles).key().as_str());
    assert!(reached("CCCO") && reached("CCC") && reached("CC=O"));
    // a peroxide, an N-oxide, an enol, an ether
    assert!(!reached("CCOO") && !reached("CCON") && !reached("C=CO") && !reached("CCOC"));
    assert_eq!((palette.unusual(&ethanol), palette.unusual(&parse("CCOO"))), (0, 2));
    // a molecule that has some may keep them
    let peroxide = parse("CCOO");
    let neighbours = peroxide.neighbours(&palette);
    assert!(keys(&neighbours).contains(parse("CCCOO").key().as_str()));
    assert!(neighbours.iter().all(|(_, neighbour)| palette.unusual(neighbour) <= 2));
    let any = Palette { environments: None, ..palette };
    assert!(keys(&ethanol.neighbours(&any)).contains("CCOO"));
}

/// Checks that neighbours that were made without a text are those that reading the text gives.
fn check_read(molecules: &[Molecule]) {
    let palette = Molecule::palette(molecules);
    let seen = Mutex::new(HashSet::new());
    let check = |molecule: &Molecule| {
        for (key, neighbour) in molecule.neighbours(&palette) {
            if !seen.lock().unwrap().insert(key.clone()) {
                continue;
            }
            let read = parse(&key);
            assert_eq!((neighbour.key(), neighbour.formula()), (key.clone(), read.formula()));
            let sizes = |molecule: &Molecule| {
                let sizes = molecule.rings().iter().map(|ring| ring.atoms.len());
                sizes.collect::<std::collections::BinaryHeap<_>>().into_sorted_vec()
            };
            assert_eq!(sizes(&neighbour), sizes(&read), "{key}");
            let both = [neighbour, read];
            let equal = |rows: SparseRows| assert_eq!(rows.row(0), rows.row(1), "{key}");
            equal(Composition {}.counts(&both).unwrap());
            equal(Morgan::default().counts(&both).unwrap());
            equal(Chains::default().counts(&both).unwrap());
            // which of equally small rings are taken depends on the order of atoms
            if sizes(&both[0]).len() < 2 {
                equal(Rings::default().counts(&both).unwrap());
            }
            // of aromatic rings a text chooses the Kekulé structure
            if both.iter().all(|molecule| molecule.bonds().iter().all(|bond| !bond.aromatic)) {
                let kernel = GraphKernel::Core { base: Box::new(wl()) };
                let [from_move, read] =
                    both.each_ref().map(|molecule| kernel.features(&Graph::from(molecule)));
                assert_eq!(from_move.unwrap(), read.unwrap(), "{key}");
            }
        }
    };
    molecules.par_iter().for_each(check);
    assert!(seen.into_inner().unwrap().len() > 1_000);
}

fn wl() -> GraphKernel {
    let base = Box::new(GraphKernel::VertexHistogram { edge_labels: true });
    GraphKernel::WeisfeilerLehman { iterations: 3, edge_labels: true, base }
}

#[test]
fn neighbours_are_what_reading_their_texts_gives() {
    let rings = ["C1CC2CCC1C2", "O=C1C=CC(=O)C=C1", "C1=CC2=CC=CC2=C1", "CS(=O)(=O)c1ccco1"];
    let charged = ["C[NH3+]", "CC([O-])=O", "C[N+](=O)[O-]", "OB(O)C", "C[Si](C)C", "CC[NH]"];
    let configured = ["C[C@H](N)C(=O)O", "C/C=C/C#N", "C[C@@H]1CCC[C@H](O)O1"];
    let texts = SMALL.iter().chain(&rings).chain(&charged).chain(&configured);
    check_read(&texts.map(|smiles| parse(smiles)).collect::<Vec<_>>());
    let Some(path) = data("neighbours_are_what_reading_their_texts_gives", "qm9/smiles.txt") else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    check_read(&text.lines().step_by(2_600).map(parse).collect::<Vec<_>>());
}

#[test]
fn structures_that_were_made_are_not_made_again() {
    let all = SMALL.map(parse);
    // the others have some atoms in environments that are unusual
    let palette = Palette { atoms: 9, ..Molecule::palette(&all[..12]) };
    let mut seen = SeenStructures::new();
    let mut keys_so_far = HashSet::new();
    let mut skipped = 0;
    for molecule in &all {
        let (neighbours, new) = molecule.neighbours_beside(&palette, &seen);
        let whole = molecule.neighbours(&palette);
        assert_eq!(neighbours.keys().map(String::as_str).collect::<BTreeSet<_>>(), keys(&whole));
        keys_so_far.insert(molecule.key());
        for (key, neighbour) in neighbours {
            assert!(neighbour.is_some() || keys_so_far.contains(&key), "{} {key}", molecule.key());
            skipped += usize::from(neighbour.is_none());
            keys_so_far.insert(key);
        }
        seen.extend(new);
        let (neighbours, new) = molecule.neighbours_beside(&palette, &seen);
        assert!(new.is_empty() && neighbours.values().all(Option::is_none), "{}", molecule.key());
    }
    assert!(skipped > 20, "{skipped}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn graphs_have_moves_with_inverses(
        labels in proptest::collection::vec(0u64..3, 1..6),
        joined in proptest::collection::vec((0usize..6, 0usize..6, 0u64..2), 0..7),
    ) {
        let mut edges: Vec<(usize, usize, u64)> = Vec::new();
        for (one, other, label) in joined {
            let a = one.min(other);
            let b = one.max(other);
            if a < b && b < labels.len() && edges.iter().all(|&(c, d, _)| (a, b) != (c, d)) {
                edges.push((a, b, label));
            }
        }
        let graph = Graph::new(labels.clone(), &edges).unwrap();
        let usual = [graph.clone(), Graph::new(vec![0, 1, 2], &[(0, 1, 0), (1, 2, 1)]).unwrap()];
        let palette = Graph::palette(&usual);
        // the same key however the nodes are numbered
        let last = labels.len() - 1;
        let turned = edges.iter().map(|&(a, b, label)| (last - a, last - b, label));
        let turned: Vec<_> = turned.collect();
        let turned = Graph::new(labels.iter().rev().copied().collect(), &turned).unwrap();
        prop_assert_eq!(turned.key(), graph.key());
        let neighbours = graph.neighbours(&palette);
        for (key, other) in neighbours.iter().step_by(5) {
            prop_assert_ne!(key, &graph.key());
            let back = other.neighbours(&palette);
            prop_assert!(back.iter().any(|(key, _)| *key == graph.key()), "{}", key);
        }
    }
}
