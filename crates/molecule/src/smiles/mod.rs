//! From text to [`Molecule`]: a scan of our own at the border, then chematic's parser and
//! perception behind it.
//!
//! The scan gives every atom its place in the text, refuses what chematic lets pass (empty
//! branches and components, rings of one atom, query bonds) and bounds length, size and nesting
//! before any recursion starts.

mod checks;
mod configuration;
mod scan;

use chematic_core::{AtomIdx, BondIdx, BondOrder as Order, KekuleResult, kekulize};
use chematic_perception::{
    apply_aromaticity_rdkit_parity_shared, find_sssr_shared, rdkit_canonical_kekule,
};
use chematic_smiles::{SmilesError, rdkit_mol_block};

use self::checks::{check_aromatic_atoms, check_valences, check_wildcards, has_aromatic};
pub use self::scan::{MAX_ATOMS, MAX_LENGTH, MAX_NESTING, MAX_RING_WILDCARDS, MAX_RINGS};
use self::scan::{Places, scan};
use crate::Error;
use crate::molecule::{Atom, Bond, BondOrder, Element, Molecule, Ring};

impl Molecule {
    /// Reads a SMILES (OpenSMILES grammar), perceives aromaticity by RDKit's default model, and
    /// takes RDKit's canonical Kekulé structure. Where the port of its rules does not model the
    /// molecule, any Kekulé structure is taken.
    ///
    /// Parts separated by `.` are one molecule. Isotopes are kept, and make a hydrogen an atom of its own.
    /// The wildcard `*` is an atom of element [`Element::WILDCARD`] without hydrogens or limits to its
    /// bonds. B, C, N, O and F with more bonds than they can have are refused, except that a neutral
    /// nitrogen may have five, the old way to write nitro groups; other elements are not checked.
    ///
    /// # Errors
    /// [`Error::Smiles`] with the position of what is wrong. Text longer than [`MAX_LENGTH`] bytes, more
    /// than [`MAX_ATOMS`] atoms, [`MAX_RINGS`] rings or [`MAX_RING_WILDCARDS`] wildcards in rings, and
    /// branches deeper than [`MAX_NESTING`] are refused.
    pub fn parse(smiles: &str) -> Result<Self, Error> {
        let places = scan(smiles)?;
        let parsed = chematic_smiles::parse(smiles).map_err(|e| translate(e, smiles, &places))?;
        check_aromatic_atoms(&parsed, &places)?;
        check_wildcards(&parsed, &places)?;
        let no_kekule = |reason: &str| {
            let atom = parsed.atoms().position(|(_, a)| a.aromatic).unwrap_or(0);
            checks::no_kekule(places.atom(atom), reason)
        };
        let view = apply_aromaticity_rdkit_parity_shared(&parsed);
        let view = view.as_ref().as_ref().map_err(|e| no_kekule(&e.to_string()))?;
        match kekule_structure(view, &parsed) {
            Ok(kekule) => convert(view, &kekule, &places),
            // the rings that were perceived cannot be: the text itself is a Kekulé structure
            Err(_) if !has_aromatic(&parsed) => convert(&parsed, &KekuleResult::default(), &places),
            Err(reason) => Err(no_kekule(&reason)),
        }
    }
}

/// RDKit's canonical Kekulé structure where one of the two ports of its rules reaches it.
fn kekule_structure(
    view: &chematic_core::Molecule,
    parsed: &chematic_core::Molecule,
) -> Result<KekuleResult, String> {
    let valid = kekulize(view).map_err(|e| e.detail)?;
    if valid.is_empty() {
        return Ok(valid);
    }
    Ok(from_mol_block(view, parsed, &valid)
        .or_else(|| rdkit_canonical_kekule(view, &valid))
        .unwrap_or(valid))
}

/// The Kekulé structure that RDKit writes into a MOL block, if it is one of the same aromatic
/// bonds with double bonds at the same atoms.
fn from_mol_block(
    view: &chematic_core::Molecule,
    parsed: &chematic_core::Molecule,
    valid: &KekuleResult,
) -> Option<KekuleResult> {
    let block = rdkit_mol_block(parsed).ok()?;
    // RDKit's atoms are ours without the hydrogens that it folds, in the same order.
    let kept = view.atoms().filter(|&(idx, _)| !folds(view, idx)).map(|(idx, _)| idx);
    let kept: Vec<AtomIdx> = kept.collect();
    let same = kept.len() == block.atoms.len()
        && kept.iter().zip(&block.atoms).all(|(&idx, theirs)| {
            let atom = view.atom(idx);
            atom.wildcard || u32::from(atom.element.atomic_number()) == theirs.atomic_num
        });
    if !same {
        return None;
    }
    let mut orders = KekuleResult::default();
    let mut doubles = vec![0_i32; view.atom_count()];
    for bond in &block.bonds {
        let (a, b) = (*kept.get(bond.begin)?, *kept.get(bond.end)?);
        let (idx, entry) = view.bond_between(a, b)?;
        if entry.order == Order::Aromatic {
            let order = match bond.bond_type {
                1 => Order::Single,
                2 => Order::Double,
                _ => return None,
            };
            orders.insert(idx, order);
            if order == Order::Double {
                [a, b].iter().for_each(|atom| doubles[atom.0 as usize] += 1);
            }
        }
    }
    for (idx, order) in valid {
        if *order == Order::Double {
            let bond = view.bond(*idx);
            [bond.atom1, bond.atom2].iter().for_each(|atom| doubles[atom.0 as usize] -= 1);
        }
    }
    let complete = valid.keys().all(|idx| orders.contains_key(idx)) && orders.len() == valid.len();
    (complete && doubles.iter().all(|&difference| difference == 0)).then_some(orders)
}

/// Our own graph from chematic's, with written hydrogens folded into their neighbours.
fn convert(
    view: &chematic_core::Molecule,
    kekule: &KekuleResult,
    places: &Places,
) -> Result<Molecule, Error> {
    const FOLDED: usize = usize::MAX;
    let mut index = Vec::with_capacity(view.atom_count());
    let mut atoms = Vec::with_capacity(view.atom_count());
    for (idx, atom) in view.atoms() {
        if folds(view, idx) {
            index.push(FOLDED);
            continue;
        }
        let written = view.neighbors(idx).filter(|&(n, _)| folds(view, n)).count();
        index.push(atoms.len());
        atoms.push(Atom {
            element: if atom.wildcard {
                Element::WILDCARD
            } else {
                Element(atom.element.atomic_number())
            },
            charge: atom.charge,
            hydrogens: chematic_core::implicit_hcount(view, idx)
                .saturating_add(u8::try_from(written).unwrap_or(u8::MAX)),
            isotope: atom.isotope,
            aromatic: atom.aromatic,
            stereo: atom.chirality != chematic_core::Chirality::None,
        });
    }

    let mut bonds = Vec::with_capacity(view.bond_count());
    for (idx, entry) in view.bonds() {
        let [a, b] = [entry.atom1, entry.atom2].map(|a| index[a.0 as usize]);
        if a == FOLDED || b == FOLDED {
            continue;
        }
        let written = kekule.get(&idx).copied().unwrap_or(entry.order);
        let order = order(written).ok_or_else(|| {
            let message = "an aromatic bond between atoms that are not aromatic";
            Error::smiles(places.atom(entry.atom2.0 as usize), message)
        })?;
        bonds.push(Bond {
            atoms: [a, b],
            order,
            aromatic: entry.order == Order::Aromatic,
            stereo: entry.order == Order::Double
                && directed(view, entry.atom1)
                && directed(view, entry.atom2),
        });
    }

    check_valences(&atoms, &bonds, |atom| {
        // The inverse of `index`: kept atoms are numbered in their old order.
        let mut kept = (0..index.len()).filter(|&i| index[i] != FOLDED);
        places.atom(kept.nth(atom).unwrap_or(0))
    })?;

    let rings = find_sssr_shared(view)
        .rings()
        .iter()
        .map(|ring| Ring {
            atoms: ring.iter().map(|a| index[a.0 as usize]).collect(),
            aromatic: bonds_of(view, ring).all(|b| view.bond(b).order == Order::Aromatic),
        })
        .collect();
    let centers = configuration::centers(view, &index, &atoms, &bonds);
    let geometries = configuration::geometries(view, &index, &bonds);
    let mut molecule = Molecule::assemble(atoms, bonds, rings);
    (molecule.centers, molecule.geometries) = (centers, geometries);
    Ok(molecule)
}

/// A hydrogen written as an atom that is nothing but a hydrogen of its one neighbour.
fn folds(view: &chematic_core::Molecule, idx: AtomIdx) -> bool {
    let atom = view.atom(idx);
    !atom.wildcard
        && atom.element == chematic_core::Element::H
        && atom.charge == 0
        && atom.isotope.is_none()
        && atom.hydrogen_count.unwrap_or(0) == 0
        && view.degree(idx) == 1
        && view.neighbors(idx).all(|(n, b)| {
            let other = view.atom(n);
            view.bond(b).order != Order::Dative
                && !other.wildcard
                && other.element != chematic_core::Element::H
        })
}

/// Whether a bond of the atom is written with a direction.
fn directed(view: &chematic_core::Molecule, atom: AtomIdx) -> bool {
    view.neighbors(atom).any(|(_, bond)| {
        matches!(view.bond(bond).order, Order::Up | Order::Down)
            || view.bond_direction(bond).is_some()
    })
}

fn bonds_of<'a>(
    view: &'a chematic_core::Molecule,
    ring: &'a [AtomIdx],
) -> impl Iterator<Item = BondIdx> + 'a {
    (0..ring.len())
        .filter_map(move |i| view.bond_between(ring[i], ring[(i + 1) % ring.len()]).map(|(b, _)| b))
}

fn order(order: Order) -> Option<BondOrder> {
    match order {
        Order::Single | Order::Up | Order::Down => Some(BondOrder::Single),
        Order::Double => Some(BondOrder::Double),
        Order::Triple => Some(BondOrder::Triple),
        Order::Quadruple => Some(BondOrder::Quadruple),
        Order::Dative => Some(BondOrder::Dative),
        _ => None,
    }
}

fn translate(error: SmilesError, smiles: &str, places: &Places) -> Error {
    let reason = error.to_string();
    // The parser's own wording ends in the position that our errors give themselves.
    let reason = reason.split(" at position ").next().unwrap_or_default().to_owned();
    match error {
        SmilesError::UnexpectedCharacter { pos } => {
            match smiles[pos.min(smiles.len())..].chars().next() {
                Some(found) => scan::unexpected(
                    pos,
                    found,
                    "an atom, a bond, a ring label or a branch is expected; elements other than B C N O P S F Cl Br I stand in brackets",
                ),
                None => Error::smiles(pos, reason),
            }
        }
        SmilesError::EmptyInput => Error::smiles(0, reason),
        SmilesError::UnexpectedEnd { pos }
        | SmilesError::UnknownElement { pos, .. }
        | SmilesError::MismatchedParentheses { pos }
        | SmilesError::NestingTooDeep { pos }
        | SmilesError::UnsupportedChiralityClass { pos, .. } => Error::smiles(pos, reason),
        SmilesError::InvalidBracketAtom { detail, pos } if detail.starts_with("duplicate") => {
            let message = "a second bond between two atoms that are already joined";
            Error::smiles(places.ring_label_before(pos), message)
        }
        SmilesError::InvalidBracketAtom { detail, pos } => {
            Error::smiles(pos, format!("bracket atom: {detail}"))
        }
        SmilesError::UnmatchedRingClosure { ring_num, pos } => {
            scan::unclosed_ring(pos, u32::from(ring_num))
        }
        SmilesError::UnmatchedExtendedRingClosure { ring_num, pos } => {
            scan::unclosed_ring(pos, ring_num)
        }
        SmilesError::ConflictingRingBond { pos, .. }
        | SmilesError::ConflictingExtendedRingBond { pos, .. } => {
            Error::smiles(places.ring_label_before(pos), reason)
        }
        SmilesError::InvalidValence { element, atom, valence, max } => {
            checks::valence(places.atom(atom), element, valence, max)
        }
        SmilesError::ResourceLimit { actual, .. } => scan::too_long(actual),
    }
}
