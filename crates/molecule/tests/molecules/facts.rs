//! Facts that hold of molecules.

use dsokr_molecule::Fact;

use crate::support::{parse, quickstart};

/// Asserts that a fact holds for the molecules `yes` and not for the molecules `no`.
fn check(fact: &str, yes: &[&str], no: &[&str]) {
    let parsed: Fact = fact.parse().unwrap();
    for (smiles, expected) in
        yes.iter().map(|yes| (yes, true)).chain(no.iter().map(|no| (no, false)))
    {
        let actual = Fact::which(std::slice::from_ref(&parsed), parse(smiles));
        assert_eq!(actual, [Some(expected)], "{fact} of {smiles}");
    }
}

#[test]
fn whole_molecules_have_elements_charges_and_components() {
    check("atom Cl", &["ClCC", "[Na+].[Cl-]"], &["CC", "C[Co]"]);
    check("charge negative", &["CC([O-])=O", "[O-]C(=O)C[NH3+].[Cl-]"], &["CC", "[NH4+].[Cl-]"]);
    check("charge positive", &["C[NH3+]"], &["CC", "[O-]C(=O)C[NH3+]"]);
    check("charge -2", &["[O-]C(=O)C([O-])=O"], &["CC([O-])=O", "C[N+](C)(C)C.[Cl-]"]);
    check("charge 0", &["CC", "[Na+].[Cl-]"], &["[Na+]"]);
    check("zwitterion", &["[O-]C(=O)C[NH3+]"], &["C[N+](=O)[O-]", "CC([O-])=O", "CC"]);
    check("components", &["CC.O", "[Na+].[Cl-]"], &["CCO"]);
    check("isotope", &["[13CH4]", "[2H]C"], &["C"]);
    let r = "C[C@@H](O)CC";
    let s = "C[C@H](O)CC";
    check("center R", &[r], &[s, "CC(O)CC"]);
    check("center S", &[s], &[r]);
    check("double bond E", &["C/C=C/C"], &["C/C=C\\C", "CC=CC"]);
    check("double bond Z", &["C/C=C\\C"], &["C/C=C/C"]);
}

/// A part matches only its own configuration (α or β, D or L, E or Z), whatever substituents it carries. The sugars are
/// from PubChem.
#[test]
fn parts_have_the_configurations_that_they_are_written_with() {
    let glucose = |anomer| format!("C([C@@H]1[C@H]([C@@H]([C@H]({anomer}(O1)O)O)O)O)O");
    let alpha = glucose("[C@H]");
    let beta = glucose("[C@@H]");
    let galactose = "C([C@@H]1[C@@H]([C@@H]([C@H]([C@@H](O1)O)O)O)O)O";
    let salicin = "C1=CC=C(C(=C1)CO)O[C@H]2[C@@H]([C@H]([C@@H]([C@H](O2)CO)O)O)O";
    let open = "OCC1OC(O)C(O)C(O)C1O";
    let part = "C[C@@H]1[C@H]([C@@H]([C@H]([C@@H](O1)*)*)O)O";
    check(&format!("part {part}"), &[&beta, salicin], &[&alpha, galactose, open]);
    // written from the other end; a hydrogen of the part may be any ligand
    let alanine = "C[C@H](N)C(O)=O";
    let mirrored = "OC(=O)[C@@H](C)N";
    check("part N[C@@H](C)C=O", &[alanine, "C[C@@H](C(=O)O)N"], &["C[C@@H](N)C(O)=O", "CC(N)C=O"]);
    check("part N[C@@H](C)C=O", &[&mirrored.replace("@@", "@")], &[mirrored]);
    check("part N[C@@H](C)C=O", &["N[C@](C)(F)C=O"], &["N[C@@](C)(F)C=O"]);
    let oleic = r"CCCC/C=C\CCC(=O)O";
    let elaidic = r"CCCC/C=C/CCC(=O)O";
    check(r"part O=CCC/C=C\C", &[oleic, r"OC(=O)CC/C=C\CCCC"], &[elaidic, "CCCCC=CCCC(=O)O"]);
    // the neighbours that its SMILES gives a side to are others than the part's
    check(r"part C/C=C\C", &[r"C/C(O)=C(/N)C", r"O/C(C)=C(/C)N"], &[r"C/C(O)=C(\N)C"]);
}

#[test]
fn groups_and_alternatives_hold_if_one_does() {
    check("group Ester", &["CC(=O)OC"], &["CC(=O)O", "O=C1CCCO1"]);
    check("group Ester | group Lactone", &["CC(=O)OC", "O=C1CCCO1"], &["CC(=O)O"]);
}

#[test]
fn chains_are_measured_from_their_ends() {
    // in stearic acid, both sides of oleic acid's double bond count; rings and other elements end a chain
    check("chain 18", &["CCCCCCCCCCCCCCCCCC(=O)O", "CCCCCCCC/C=C\\CCCCCCCC(=O)O"], &["CCCC"]);
    check("chain 4", &["CCCCC1CCCCC1", "CCCCOC", "CCC(C)C"], &["CC(C)C", "C1CCC1", "CCC"]);
    check("chain 5", &["CCC(C)CC"], &["CC(C)CC"]);
    // of a branched chain, from each of its ends
    check("chain 3", &["CC(C)C", "CCC"], &["CCCC"]);
    check("chain 1", &["C", "COC"], &["CC", "O"]);
}

#[test]
fn parts_are_found_by_elements_rings_and_multiple_bonds() {
    let piperidine = "C1CCNCC1";
    let pyridine = "c1ccncc1";
    check("part C1CCNCC1", &[piperidine, pyridine, "C1=CCNCC1"], &["CCCNCC", "c1ccccc1"]);
    check("part c1ccncc1", &[pyridine, "Cc1ccc2ncccc2c1"], &[piperidine]);
    // a ring of the part is a ring; an open bond of it may be in one
    check("part CNC", &["CNC", piperidine], &["CN"]);
    check("part C1CC1", &["C1CC1C", "C1CC12CC2"], &["C1CCC1"]);
    check("part C=O", &["CC=O", "O=C1CCCCC1"], &["CO", "CCO"]);
    check("part CO", &["CO", "C=O"], &["CC"]);
    // double bonds of aromatic rings are those of the Kekulé structure, however the molecule is written
    check("part C=C", &["CC=C", "c1ccccc1"], &["CCC"]);
    check(
        "part CC(C)=C(C)C",
        &["CC(C)=C(C)C"],
        &["Cc1ccccc1C", "CC1=C(C)C=CC=C1", "CC1=CC=CC=C1C"],
    );
    check("part C#N", &["CC#N"], &["CC=N", "CCN"]);
    check("part [N+]", &["C[N+](C)(C)C"], &["CN(C)C"]);
    check("part *C(*)(*)*", &["CC(C)(C)C", "FC(F)(F)Cl"], &["CC(C)C"]);
    // as many atoms as the part has, each once
    check("part OCO", &["OCO"], &["OC=C", "CO"]);
    check("part POPOP", &["OP(O)(=O)OP(O)(=O)OP(O)(O)=O"], &["OP(O)(=O)OP(O)(O)=O"]);
    let steroid = "C1CCC2C(C1)CCC1C2CCC2CCCC12";
    let cholesterol = "CC(C)CCCC(C)C1CCC2C1(CCC3C2CC=C4C3(CCC(C4)O)C)C";
    check(&format!("part {steroid}"), &[cholesterol], &["C1CCC2C(C1)CCC1C2CCCC1"]);
}

/// What is around an atom is compared before its bonds are followed.
#[test]
fn atoms_of_parts_are_found_in_any_surroundings() {
    let tungsten = |carbons: usize| format!("[W]{}C", "(C)".repeat(carbons - 1));
    check(&format!("part {}", tungsten(8)), &[&tungsten(8), &tungsten(9)], &[&tungsten(7)]);
    // any neighbour is of no kind, and stands beside one that is
    check("part *C(O)*", &["CC(O)N", "OC(O)O", "C1C(O)C1"], &["CO", "CC(N)C"]);
    check("part *=C", &["C=O", "C=S", "c1ccccc1"], &["CO"]);
    check("part N[Cu]", &["N->[Cu]", "C1N[Cu]1"], &["N.[Cu]"]);
    check("part [Re][Re]", &["[Re]$[Re]", "[Re]=[Re]"], &["[Re]O"]);
    check("part c1ccccc1N", &["NC1=CC=CC=C1", "Nc1ccccc1"], &["NC1=CCCCC1", "CC1=CC=CC=C1"]);
    check("part OC[C@H](N)C", &["C[C@@H](N)CO"], &["NC(C)CO"]);
    // atoms with many bonds come first, and those that close a ring before others
    check("part C1CC12CC2", &["OC1CC12CC2C"], &["C1CC1C1CC1", "C1CC12CCC2"]);
}

/// Returns a sheet of rings of six atoms, each row of atoms bound to the next.
fn sheet(rows: usize, columns: usize) -> String {
    // rows are chains; the bond between rows that a ring closure writes has the number of its column
    let mut chains = Vec::new();
    for row in 0..rows {
        let mut chain = String::new();
        for column in 0..columns {
            chain.push('C');
            let down = (row + column) % 2 == 0 && row + 1 < rows;
            let up = (row + column) % 2 == 1 && row > 0;
            if down || up {
                chain += &format!("%{}", 10 + column);
            }
        }
        chains.push(chain);
    }
    chains.join(".")
}

#[test]
fn what_a_search_that_is_given_up_looks_for_is_not_known() {
    // no ring of an odd number of atoms is in the sheet, and the paths in it are too many to try
    let ring = format!("part C1{}C1", "C".repeat(49));
    let facts =
        [&ring, "part C1CCC2CCCCC2C1", &format!("{ring} | atom Cl"), &format!("{ring} | atom C")];
    let facts: Vec<Fact> = facts.iter().map(|fact| fact.parse().unwrap()).collect();
    let actual = Fact::which(&facts, parse(&sheet(10, 14)));
    assert_eq!(actual, [None, Some(true), None, Some(true)]);
}

#[test]
fn a_molecule_has_itself_as_a_part_however_it_is_written() {
    let mut count = 0;
    for smiles in quickstart().filter(|smiles| !smiles.contains('.')).take(200) {
        let molecule = parse(smiles);
        if molecule.atoms().len() <= 64 {
            let fact: Fact = format!("part {smiles}").parse().unwrap();
            let written = parse(&molecule.canonical_smiles());
            assert_eq!(Fact::which(&[fact], written), [Some(true)], "{smiles}");
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn what_is_no_fact_is_refused_with_what_is_allowed() {
    for (fact, says) in [
        ("atom Xx", "symbol of an element"),
        ("group Esters", "CarboxylicAcid, "),
        ("part", "SMILES behind \"part\""),
        ("part C.C", "several components; allowed: one"),
        ("part C1CC", "position"),
        ("chain", "number of carbons"),
        ("charge much", "negative or positive"),
        ("zwitterion 2", "zwitterion, components, isotope, "),
        ("center", "center R, center S"),
        ("double bond", "double bond E or double bond Z"),
        ("group Ester | what", "\"what\""),
        ("", "atom SYMBOL"),
    ] {
        let message = fact.parse::<Fact>().unwrap_err().to_string();
        assert!(message.contains(says), "{message} has not {says:?}");
    }
    let long = format!("part {}", "C".repeat(65));
    let message = long.parse::<Fact>().unwrap_err().to_string();
    assert!(message.contains("65 atoms; allowed: 1 to 64"), "{message}");
}
