//! Mol blocks that other programs write.

use std::fmt::Write;

use dsokr_molecule::{Error, Molecule};

use crate::support::parse;

/// Returns the V2000 block of atoms in a row, each with what stands behind its place.
fn v2000(atoms: &[&str], bonds: &[&str], properties: &str) -> String {
    let [atom_count, bond_count] = [atoms.len(), bonds.len()];
    let mut block =
        format!("\n\n\n{atom_count:3}{bond_count:3}  0  0  0  0  0  0  0  0999 V2000\n");
    for (at, atom) in atoms.iter().enumerate() {
        writeln!(block, "{:10.4}    0.0000    0.0000 {atom}", 1.5 * at as f64).unwrap();
    }
    for bond in bonds {
        writeln!(block, "{bond}").unwrap();
    }
    block + properties + "M  END\n"
}

/// Returns the V3000 block of these lines.
fn v3000(sections: &str) -> String {
    let head = "\n\n\n  0  0  0     0  0            999 V3000\nM  V30 BEGIN CTAB\n";
    format!("{head}{sections}M  V30 END CTAB\nM  END\n")
}

fn is_read_as(block: &str, smiles: &str) {
    let read = Molecule::parse_mol_block(block).unwrap_or_else(|error| panic!("{error}\n{block}"));
    assert_eq!(read.canonical_smiles(), parse(smiles).canonical_smiles(), "{block}");
}

#[test]
fn differences_of_mass_are_isotopes_where_no_property_states_them() {
    let bond = &["  1  2  1  0"][..];
    is_read_as(&v2000(&["C   1  0"], &[], ""), "[13CH4]");
    is_read_as(&v2000(&["C  -1  0"], &[], ""), "[11CH4]");
    is_read_as(&v2000(&["C   0  0", "H   1  0"], bond, ""), "[2H]C");
    is_read_as(&v2000(&["C   1  0", "H   1  0"], bond, "M  ISO  1   2   3\n"), "[3H]C");
    is_read_as(&v2000(&["C   0  0", "D   0  0"], bond, "M  ISO  1   1  13\n"), "[2H][13CH3]");
    is_read_as(&v2000(&["C   0  0", "R#  1  0"], bond, ""), "*C");
}

#[test]
fn atoms_that_give_electrons_keep_their_hydrogens() {
    let bond = &["  1  2  9  0"][..];
    let atoms = ["N   0  0", "Cu  0  0"];
    is_read_as(&v2000(&atoms, bond, "M  CHG  1   2   2\n"), "[NH3]->[Cu+2]");
    let water = v3000(
        "M  V30 COUNTS 2 1 0 0 0\nM  V30 BEGIN ATOM\nM  V30 1 O 0 0 0 0\nM  V30 2 Fe 1.5 0 0 0 CHG=2\n\
         M  V30 END ATOM\nM  V30 BEGIN BOND\nM  V30 1 9 1 2\nM  V30 END BOND\n",
    );
    is_read_as(&water, "[OH2]->[Fe+2]");
    is_read_as(&parse("CN->[Cu+2]").mol_block(""), "CN->[Cu+2]");
}

/// RDKit 2026.09 reads the same.
#[test]
fn charged_atoms_have_the_hydrogens_of_their_neighbours_in_the_table() {
    for (symbol, charge, carbons, smiles) in [
        ("F ", 1, 1, "C[FH+]"),
        ("Cl", 1, 1, "C[ClH+]"),
        ("I ", 1, 2, "C[I+]C"),
        ("I ", 1, 3, "C[IH+](C)C"),
        ("Br", 2, 3, "C[Br+2](C)C"),
        ("Cl", 3, 4, "C[Cl+3](C)(C)C"),
        ("I ", -1, 0, "[I-]"),
        ("I ", -1, 1, "C[IH-]"),
        ("P ", -1, 0, "[PH2-]"),
        ("P ", -1, 1, "C[PH-]"),
        ("P ", -1, 6, "C[P-](C)(C)(C)(C)C"),
        ("As", -1, 1, "C[AsH-]"),
    ] {
        let charged = format!("{symbol}  0  0");
        let mut atoms = vec![charged.as_str()];
        atoms.resize(1 + carbons, "C   0  0");
        let bonds: Vec<String> = (2..).take(carbons).map(|to| format!("  1{to:3}  1  0")).collect();
        let bonds: Vec<&str> = bonds.iter().map(String::as_str).collect();
        is_read_as(&v2000(&atoms, &bonds, &format!("M  CHG  1   1{charge:4}\n")), smiles);
    }
}

/// Returns the V2000 and the V3000 block of atoms by their symbols, and of bonds, each two atoms and a type.
fn both(symbols: &[&str], bonds: &[[usize; 3]]) -> [String; 2] {
    let atoms: Vec<String> = symbols.iter().map(|symbol| format!("{symbol:3} 0  0")).collect();
    let lines: Vec<String> =
        bonds.iter().map(|[a, b, order]| format!("{a:3}{b:3}{order:3}  0")).collect();
    let atoms: Vec<&str> = atoms.iter().map(String::as_str).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut sections = "M  V30 BEGIN ATOM\n".to_owned();
    for (at, symbol) in (1..).zip(symbols) {
        writeln!(sections, "M  V30 {at} {symbol} {at} 0 0 0").unwrap();
    }
    sections += "M  V30 END ATOM\nM  V30 BEGIN BOND\n";
    for (at, [a, b, order]) in (1..).zip(bonds) {
        writeln!(sections, "M  V30 {at} {order} {a} {b}").unwrap();
    }
    sections += "M  V30 END BOND\n";
    [v2000(&atoms, &lines, ""), v3000(&sections)]
}

/// RDKit 2026.09 reads and refuses the same.
#[test]
fn aromatic_atoms_give_pairs_of_electrons_to_metals() {
    let six =
        |orders: [usize; 6]| [0, 1, 2, 3, 4, 5].map(|at| [1 + at, 1 + (at + 1) % 6, orders[at]]);
    let five: [[usize; 3]; 5] = [0, 1, 2, 3, 4].map(|at| [1 + at, 1 + (at + 1) % 5, 4]);
    let pyridine = ["N", "C", "C", "C", "C", "C", "Cu"];
    for (orders, bond) in [([4; 6], 9), ([2, 1, 2, 1, 2, 1], 9), ([2, 1, 2, 1, 2, 1], 1)] {
        for block in both(&pyridine, &[&six(orders)[..], &[[1, 7, bond]]].concat()) {
            is_read_as(&block, "[n]1(->[Cu])ccccc1");
        }
    }
    let imidazole = ["N", "C", "N", "C", "C", "Cu", "H"];
    for block in both(&imidazole, &[&five[..], &[[1, 6, 9], [3, 7, 1]]].concat()) {
        is_read_as(&block, "[n]1(->[Cu])c[nH]cc1");
    }
    for block in both(&imidazole[..6], &[&five[..], &[[1, 6, 1]]].concat()) {
        is_read_as(&block, "[Cu]n1ccnc1");
    }
    let phosphinine = ["P", "C", "C", "C", "C", "C", "Pd"];
    for block in both(&phosphinine, &[&six([4; 6])[..], &[[1, 7, 9]]].concat()) {
        is_read_as(&block, "[p]1(->[Pd])ccccc1");
    }
    is_read_as(&parse("[Cu+2]<-[n]1ccccc1").mol_block(""), "n1(->[Cu+2])ccccc1");
    // the atom that gives the pair is the first one of a bond of type 9
    for bond in [[1, 7, 1], [7, 1, 1], [7, 1, 9]] {
        for block in both(&pyridine, &[&six([4; 6])[..], &[bond]].concat()) {
            let error = Molecule::parse_mol_block(&block).unwrap_err().to_string();
            assert!(error.contains("type 9 in MOL files"), "{error}\n{block}");
        }
    }
    for block in both(&imidazole[..6], &[&five[..], &[[1, 6, 9]]].concat()) {
        let error = Molecule::parse_mol_block(&block).unwrap_err().to_string();
        assert!(error.contains("no Kekulé structure"), "{error}\n{block}");
    }
}

/// RDKit 2026.09 reads the same.
#[test]
fn a_double_bond_has_its_geometry_where_one_of_two_neighbours_is_on_its_axis() {
    let places = [[-0.75, 1.3], [0.0, 0.0], [1.5, 0.0], [3.0, 0.04], [1.5, 1.5]];
    let bonds = "  1  2  1  0\n  2  3  2  0\n  3  4  1  0\n  3  5  1  0\n";
    for (down, smiles) in [(1.0, "C/C=C(\\N)C"), (-1.0, "C/C=C(/N)C")] {
        let mut block = "\n\n\n  5  4  0  0  0  0  0  0  0  0999 V2000\n".to_owned();
        for (symbol, [x, y]) in ["C", "C", "C", "C", "N"].into_iter().zip(places) {
            let y = if symbol == "N" { down * y } else { y };
            writeln!(block, "{x:10.4}{y:10.4}    0.0000 {symbol:<3} 0  0").unwrap();
        }
        is_read_as(&(block + bonds + "M  END\n"), smiles);
    }
}

#[test]
fn lines_that_go_on_keep_their_blanks() {
    let atom = |lines: &str| v3000(&format!("M  V30 BEGIN ATOM\n{lines}\nM  V30 END ATOM\n"));
    is_read_as(&atom("M  V30 1 C 0 0 0 0-\nM  V30  CHG=-1"), "[CH3-]");
    is_read_as(&atom("M  V30 1 C 0 0 0 0 -\nM  V30 CHG=-1"), "[CH3-]");
    is_read_as(&atom("M  V30 1 C 0 0 0 0 CH-\nM  V30 G=-1"), "[CH3-]");
}

#[test]
fn polymers_are_refused_and_numbered_rests_are_wildcards() {
    let atoms = ["R1  0  0", "C   0  0", "R99 0  0"];
    let bonds = ["  1  2  1  0", "  2  3  1  0"];
    is_read_as(&v2000(&atoms, &bonds, "M  STY  1   1 DAT\n"), "*C*");
    let sections = |kind: &str| {
        v3000(&format!(
            "M  V30 BEGIN ATOM\nM  V30 1 C 0 0 0 0\nM  V30 END ATOM\nM  V30 BEGIN SGROUP\n\
             M  V30 1 {kind} 0 ATOMS=(1 1)\nM  V30 END SGROUP\n"
        ))
    };
    is_read_as(&sections("SUP"), "C");
    let units = "M  STY  2   1 DAT   2 SRU\nM  SMT   2 n\n";
    for block in [v2000(&atoms, &bonds, units), sections("SRU"), sections("COP")] {
        let error = Molecule::parse_mol_block(&block).unwrap_err().to_string();
        assert!(error.contains("which is a polymer"), "{error}\n{block}");
    }
}

/// A SMILES has two digits for the hydrogens of an atom. V2000 has three columns for the number of an atom, so that 300 fit.
#[test]
fn atoms_of_more_hydrogens_than_a_smiles_writes_are_refused() {
    let hydrides = |count: usize| {
        let symbols: Vec<&str> =
            std::iter::once("U").chain(std::iter::repeat_n("H", count)).collect();
        let bonds: Vec<[usize; 3]> = (2..count + 2).map(|hydrogen| [1, hydrogen, 1]).collect();
        both(&symbols, &bonds)
    };
    for block in hydrides(99) {
        is_read_as(&block, "[UH99]");
    }
    let valence = v3000("M  V30 BEGIN ATOM\nM  V30 1 C 0 0 0 0 VAL=200\nM  V30 END ATOM\n");
    let blocks = hydrides(100).into_iter().chain(hydrides(300)).chain([valence]);
    for block in blocks {
        let Err(Error::MolBlock { line, message }) = Molecule::parse_mol_block(&block) else {
            panic!("read: {block}")
        };
        let lines: Vec<&str> = block.lines().collect();
        assert!(lines[line].contains(['U', 'C']), "line {line} of {block}");
        assert!(message.contains("more than 99 hydrogens"), "{message}");
    }
}
