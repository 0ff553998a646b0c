//! Mol blocks, the records of SD files, as molecules: V2000 and V3000.

mod configuration;
mod v2000;
mod v3000;

use crate::element::Element;
use crate::error::Error;
use crate::molecule::{Atom, Bond, BondOrder, HYDROGEN, Molecule};
use crate::moves::builder::valences;

/// The most hydrogens of an atom: those that a SMILES writes in two digits.
const MOST_HYDROGENS: u8 = 99;

/// A line of a block, counted from 0, and what is wrong with it.
type Wrong = (usize, String);

/// An atom as a block describes it.
struct BlockAtom {
    element: Element,
    charge: i8,
    isotope: Option<u16>,
    /// Unpaired electrons, each in the place of a hydrogen.
    radical: u8,
    /// The number of all bonds, where the block states it.
    valence: Option<u8>,
    place: [f64; 3],
}

/// A bond as a block describes it.
struct BlockBond {
    atoms: [usize; 2],
    order: BlockOrder,
    mark: Mark,
}

/// The type of a bond.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockOrder {
    Kekule(BondOrder),
    Aromatic,
}

/// How a bond is drawn: a wedge is narrow at its first atom.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Plain,
    Up,
    Down,
    /// A wavy single bond, or a crossed double bond: its configuration is unknown.
    Either,
}

/// A block before hydrogens are folded and configurations are found.
struct Block {
    atoms: Vec<BlockAtom>,
    /// The line of each atom.
    atom_lines: Vec<usize>,
    bonds: Vec<BlockBond>,
}

impl Molecule {
    /// Reads a V2000 or V3000 mol block: a molecule with its charges, isotopes and radicals. Hydrogens that the block
    /// leaves to the reader follow from the valences of elements, as RDKit has them. Configurations come from wedges
    /// and the places of atoms in a drawing, or from three-dimensional places; wavy and crossed bonds leave them open.
    ///
    /// It is for programs that hold mol blocks; readers of tables take the SMILES of one, [`smiles_of_mol_block`].
    ///
    /// The block begins with its title or, without leading blank lines, anywhere before the line of counts; lines
    /// behind `M  END` are not read. Query atoms (`A`, `Q`, `*`, `R#`, `R1`) are wildcards; query bonds, lists of atoms
    /// and polymers are refused.
    ///
    /// ```
    /// use dsokr_molecule::Molecule;
    ///
    /// let alanine = Molecule::parse("C[C@H](N)C(=O)[O-]")?;
    /// let read = Molecule::parse_mol_block(&alanine.mol_block("alanine"))?;
    /// assert_eq!(read.canonical_smiles(), alanine.canonical_smiles());
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::MolBlock`] with the line of the block that is wrong; the errors of [`parse`](Self::parse) for a
    /// molecule that is none.
    pub fn parse_mol_block(block: &str) -> Result<Self, Error> {
        Self::parse(&smiles_of_mol_block(block)?)
    }
}

/// Returns a SMILES of the molecule of a mol block, with its atoms in the order of the block as far as bonds allow.
///
/// # Errors
/// [`Error::MolBlock`] with the line of the block that is wrong.
pub fn smiles_of_mol_block(block: &str) -> Result<String, Error> {
    let lines: Vec<&str> = block.lines().map(|line| line.trim_end_matches('\r')).collect();
    let wrong = |(line, message): Wrong| Error::MolBlock { line, message };
    let counts = counts_line(&lines).ok_or_else(|| {
        wrong((0, "no line of counts that ends with V2000 or V3000: not a mol block".into()))
    })?;
    let read = if lines[counts].contains("V3000") {
        v3000::read(&lines, counts)
    } else {
        v2000::read(&lines, counts)
    };
    let molecule = read.and_then(|block| assemble(&block)).map_err(wrong)?;
    Ok(molecule.written())
}

/// Returns the place of the line of counts, and of the title, which is three lines before.
pub(crate) fn counts_line(lines: &[&str]) -> Option<usize> {
    lines.iter().position(|line| line.contains("V2000") || line.contains("V3000"))
}

/// Returns the title of a mol block; none where its first line is blank or missing.
pub fn title_of_mol_block(block: &str) -> Option<&str> {
    let lines: Vec<&str> = block.lines().collect();
    let counts = counts_line(&lines)?;
    let title = lines.get(counts.checked_sub(3)?)?.trim();
    (!title.is_empty()).then_some(title)
}

/// Returns the element of a symbol, and the mass number where the symbol names an isotope of hydrogen.
fn element(symbol: &str) -> Option<(Element, Option<u16>)> {
    match symbol {
        "D" => Some((Element::H, Some(2))),
        "T" => Some((Element::H, Some(3))),
        "A" | "Q" | "*" | "R" | "R#" | "X" | "M" => Some((Element::WILDCARD, None)),
        _ if is_numbered_rest(symbol) => Some((Element::WILDCARD, None)),
        _ => Element::from_symbol(symbol).map(|element| (element, None)),
    }
}

/// Returns whether a symbol is that of a numbered rest, `R1` to `R99`.
fn is_numbered_rest(symbol: &str) -> bool {
    let number = symbol.strip_prefix('R').and_then(|number| number.parse::<u8>().ok());
    number.is_some_and(|number| (1..=99).contains(&number))
}

/// Types of groups of atoms that repeat.
const POLYMERS: [&str; 7] = ["SRU", "MON", "MER", "COP", "CRO", "MOD", "GRA"];

/// Refuses a group of atoms, by its type, that is a part of a polymer.
fn check_group(kind: &str) -> Result<(), String> {
    if POLYMERS.contains(&kind) {
        Err(format!("a group of type {kind}, which is a polymer; molecules are needed"))
    } else {
        Ok(())
    }
}

/// Returns the type of a bond by its number.
fn bond_order(number: usize) -> Result<BlockOrder, String> {
    Ok(match number {
        1 => BlockOrder::Kekule(BondOrder::Single),
        2 => BlockOrder::Kekule(BondOrder::Double),
        3 => BlockOrder::Kekule(BondOrder::Triple),
        4 => BlockOrder::Aromatic,
        9 => BlockOrder::Kekule(BondOrder::Dative),
        other => {
            return Err(format!(
                "a bond of type {other}; allowed: 1, 2, 3, 4 (aromatic) and 9 (coordination): others are queries"
            ));
        }
    })
}

/// Returns whether an atom is nothing but a hydrogen of its one neighbour, into which it is folded.
fn folds(block: &Block, atom: usize, bonds_of: &[Vec<usize>]) -> bool {
    let candidate = &block.atoms[atom];
    let plain = candidate.element == Element::H
        && candidate.charge == 0
        && candidate.isotope.is_none()
        && candidate.radical == 0;
    let [bond] = bonds_of[atom].as_slice() else { return false };
    let bond = &block.bonds[*bond];
    let other = block.atoms[bond.atoms[0] + bond.atoms[1] - atom].element;
    let single = bond.order == BlockOrder::Kekule(BondOrder::Single);
    plain && single && ![Element::H, Element::WILDCARD].contains(&other)
}

/// Returns the molecule of a block: a Kekulé structure, or atoms and bonds that the block says are aromatic.
///
/// # Errors
/// An atom of more hydrogens than a SMILES can write.
fn assemble(block: &Block) -> Result<Molecule, Wrong> {
    let mut bonds_of = vec![Vec::new(); block.atoms.len()];
    for (at, bond) in block.bonds.iter().enumerate() {
        bond.atoms.iter().for_each(|&atom| bonds_of[atom].push(at));
    }
    let folded: Vec<bool> =
        (0..block.atoms.len()).map(|atom| folds(block, atom, &bonds_of)).collect();
    let mut index = vec![HYDROGEN; block.atoms.len()];
    let kept: Vec<usize> = (0..block.atoms.len()).filter(|&atom| !folded[atom]).collect();
    kept.iter().enumerate().for_each(|(at, &atom)| index[atom] = at);
    let atom = |&at: &usize| {
        let BlockAtom { element, charge, isotope, .. } = block.atoms[at];
        let aromatic =
            bonds_of[at].iter().any(|&bond| block.bonds[bond].order == BlockOrder::Aromatic);
        let hydrogens = hydrogens(block, at, &bonds_of[at], &folded);
        if hydrogens > MOST_HYDROGENS {
            let symbol = element.symbol();
            let message = format!(
                "an atom {symbol} of more than {MOST_HYDROGENS} hydrogens, which no molecule has"
            );
            return Err((block.atom_lines[at], message));
        }
        Ok(Atom { element, charge, hydrogens, isotope, aromatic, stereo: false })
    };
    let atoms = kept.iter().map(atom).collect::<Result<_, Wrong>>()?;
    let whole = block.bonds.iter().filter(|bond| bond.atoms.iter().all(|&atom| !folded[atom]));
    let bond = |bond: &BlockBond| {
        let (order, aromatic) = match bond.order {
            BlockOrder::Kekule(order) => (order, false),
            BlockOrder::Aromatic => (BondOrder::Single, true),
        };
        Bond { atoms: bond.atoms.map(|atom| index[atom]), order, aromatic, stereo: false }
    };
    let molecule = Molecule::assemble(atoms, whole.map(bond).collect());
    Ok(configuration::with_configurations(block, &bonds_of, &index, molecule))
}

/// Returns the number of hydrogens of an atom: the hydrogens in the block, and those that its valence leaves room for; 255 of
/// an atom that has more.
fn hydrogens(block: &Block, at: usize, bonds: &[usize], folded: &[bool]) -> u8 {
    let drawn = &block.atoms[at];
    let mut written = 0u8;
    let mut used = 0u8;
    let mut aromatic = 0u8;
    for bond in bonds.iter().map(|&bond| &block.bonds[bond]) {
        let is_folded = folded[bond.atoms[0] + bond.atoms[1] - at];
        written = written.saturating_add(u8::from(is_folded));
        match bond.order {
            // the atom that gives the pair of electrons keeps its hydrogens
            BlockOrder::Kekule(BondOrder::Dative) if bond.atoms[0] == at => {}
            BlockOrder::Kekule(order) => used = used.saturating_add(order.multiplicity()),
            BlockOrder::Aromatic => aromatic = aromatic.saturating_add(1),
        }
    }
    // an aromatic atom has a double bond more, unless it gives a pair of electrons
    let gives_pair = [Element::O, Element::S, Element(34), Element(52)].contains(&drawn.element);
    let double = u8::from(aromatic > 0 && !gives_pair);
    used = used.saturating_add(aromatic).saturating_add(double);
    if let Some(valence) = drawn.valence {
        return written.saturating_add(valence.saturating_sub(used));
    }
    if gives_pair && aromatic > 0 {
        return written;
    }
    let taken = used.saturating_add(drawn.radical);
    written.saturating_add(assumed_hydrogens(drawn.element, drawn.charge, taken))
}

/// Returns the number of hydrogens that readers assume of an atom whose bonds take so many of its valence.
pub(crate) fn assumed_hydrogens(element: Element, charge: i8, taken: u8) -> u8 {
    let valence = normal_valences(element, charge).iter().find(|&&valence| valence >= taken);
    valence.map_or(0, |valence| valence - taken)
}

/// Returns the valences of an element with a charge, ascending.
fn normal_valences(element: Element, charge: i8) -> &'static [u8] {
    const GERMANIUM: Element = Element(32);
    const ARSENIC: Element = Element(33);
    const TELLURIUM: Element = Element(52);
    match (element, charge) {
        (GERMANIUM, 0) => &[4],
        (ARSENIC, 0) => &[3, 5],
        (TELLURIUM, 0) => &[2, 4, 6],
        // as RDKit, those of the neutral element with as many electrons
        (Element::F, 1) => &[2],
        (Element::F, 2) => &[3],
        (Element::F, 3) | (Element::CL | Element::BR, 3) => &[4],
        (Element::CL | Element::BR | Element::I, 1) => &[2, 4, 6],
        (Element::CL | Element::BR | Element::I, 2) => &[3, 5],
        (Element::I, 3) => &[2, 4],
        (Element::I, -1) => &[0, 2, 4, 6],
        (Element::P | ARSENIC, -1) => &[2, 4, 6],
        _ => valences(element, charge),
    }
}
