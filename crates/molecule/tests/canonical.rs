//! Canonical SMILES: the same text for the same molecule, and a text that reads back as it.

mod data;

use dsokr_basis::random::generator;
use dsokr_molecule::Molecule;

fn parse(smiles: &str) -> Molecule {
    Molecule::parse(smiles).unwrap_or_else(|e| panic!("{smiles}: {e}"))
}

/// What is wrong with the canonical SMILES of a molecule, if anything is: it must read back as a
/// molecule with the same one, and so must texts with the atoms in other orders.
fn wrong(smiles: &str, orders: u64) -> Option<String> {
    let molecule = parse(smiles);
    let canonical = molecule.canonical_smiles();
    let mut texts = vec![canonical.clone()];
    texts.extend((0..orders).map(|step| {
        molecule.random_smiles(&mut generator(step, "atom order", smiles.len() as u64))
    }));
    texts.into_iter().find_map(|text| match Molecule::parse(&text) {
        Err(error) => Some(format!("{smiles} -> {text}: {error}")),
        Ok(read) => {
            let again = read.canonical_smiles();
            (again != canonical).then(|| format!("{smiles}: {canonical}, from {text}: {again}"))
        }
    })
}

#[test]
#[ignore]
fn probe() {
    for smiles in [
        "CCO",
        "C1=CC=CC=C1",
        "OC(=O)[C@@H](N)C",
        "F/C=C/F",
        "F/C=C\\F",
        "[Na+].[Cl-]",
        "CC(C)(C)c1cc(C(C)(C)C)cc(C(C)(C)C)c1",
        "C1CC1C(C1CC1)C1CC1",
    ] {
        println!("{smiles} {} {:?}", parse(smiles).canonical_smiles(), wrong(smiles, 5));
    }
    let orders: u64 = std::env::var("ORDERS").ok().and_then(|v| v.parse().ok()).unwrap_or(2);
    let step: usize = std::env::var("STEP").ok().and_then(|v| v.parse().ok()).unwrap_or(10);
    let start = std::time::Instant::now();
    let rows = data::chebi("probe").unwrap();
    let mut bad = 0;
    for smiles in rows.iter().step_by(step) {
        let t = std::time::Instant::now();
        if let Some(w) = wrong(smiles, orders) {
            println!("{w}");
            bad += 1;
        }
        if t.elapsed().as_secs_f64() > 0.5 {
            println!("slow {smiles} {:?}", t.elapsed());
        }
    }
    println!("bad {bad} {:?}", start.elapsed());
}
