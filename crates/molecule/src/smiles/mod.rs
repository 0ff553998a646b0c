//! From text to [`Molecule`]: a scan of our own at the border, then chematic's parser and
//! perception behind it.
//!
//! The scan gives every atom its place in the text, refuses what chematic lets pass (empty
//! branches and components, rings of one atom, query bonds) and bounds length, size and nesting
//! before any recursion starts.

mod scan;

use std::sync::OnceLock;

use chematic_core::ez_markers::marker_side;
use chematic_core::{
    AtomIdx, BondOrder as Order, Chirality, KekuleResult, Molecule as Parsed, STEREO_H_SENTINEL,
    kekulize,
};
use chematic_perception::{
    apply_aromaticity_rdkit_parity_shared, find_sssr_shared, rdkit_canonical_kekule,
};
use chematic_smiles::{SmilesError, rdkit_mol_block};

pub use self::scan::{MAX_ATOMS, MAX_LENGTH, MAX_NESTING, MAX_RING_WILDCARDS, MAX_RINGS};
use self::scan::{Positions, check_aromatic_atoms, check_valences, check_wildcards, has_aromatic};
use crate::Error;
use crate::molecule::{Atom, Bond, BondOrder, Center, Element, Geometry, HYDROGEN, Molecule, Ring};

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
        let places = scan::scan(smiles)?;
        let parsed = chematic_smiles::parse(smiles).map_err(|e| translate(e, smiles, &places))?;
        check_aromatic_atoms(&parsed, &places)?;
        check_wildcards(&parsed, &places)?;
        let no_kekule = |reason: &str| {
            let atom = parsed.atoms().position(|(_, a)| a.aromatic).unwrap_or(0);
            scan::no_kekule(places.atom(atom), reason)
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
fn kekule_structure(view: &Parsed, parsed: &Parsed) -> Result<KekuleResult, String> {
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
fn from_mol_block(view: &Parsed, parsed: &Parsed, valid: &KekuleResult) -> Option<KekuleResult> {
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
        }
    }
    let doubles = |orders: &KekuleResult| {
        let mut doubles = vec![0; view.atom_count()];
        for (idx, _) in orders.iter().filter(|(_, order)| **order == Order::Double) {
            let bond = view.bond(*idx);
            [bond.atom1, bond.atom2].iter().for_each(|atom| doubles[atom.0 as usize] += 1);
        }
        doubles
    };
    let complete = valid.keys().all(|idx| orders.contains_key(idx)) && orders.len() == valid.len();
    (complete && doubles(&orders) == doubles(valid)).then_some(orders)
}

/// Our own graph from chematic's, with written hydrogens folded into their neighbours.
fn convert(view: &Parsed, kekule: &KekuleResult, places: &Positions) -> Result<Molecule, Error> {
    let mut index = Vec::with_capacity(view.atom_count());
    let (mut atoms, mut kept) = (Vec::with_capacity(view.atom_count()), Vec::new());
    for (idx, atom) in view.atoms() {
        if folds(view, idx) {
            index.push(HYDROGEN);
            continue;
        }
        let written = view.neighbors(idx).filter(|&(n, _)| folds(view, n)).count();
        index.push(atoms.len());
        kept.push(places.atom(idx.0 as usize));
        atoms.push(Atom {
            element: Element(if atom.wildcard { 0 } else { atom.element.atomic_number() }),
            charge: atom.charge,
            hydrogens: chematic_core::implicit_hcount(view, idx)
                .saturating_add(u8::try_from(written).unwrap_or(u8::MAX)),
            isotope: atom.isotope,
            aromatic: atom.aromatic,
            stereo: atom.chirality != Chirality::None,
        });
    }

    let mut bonds = Vec::with_capacity(view.bond_count());
    for (idx, entry) in view.bonds() {
        let [a, b] = [entry.atom1, entry.atom2].map(|a| index[a.0 as usize]);
        if a == HYDROGEN || b == HYDROGEN {
            continue;
        }
        let order = order(kekule.get(&idx).copied().unwrap_or(entry.order)).ok_or_else(|| {
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

    let mut molecule = Molecule::assemble(atoms, bonds);
    check_valences(&molecule, &kept)?;
    let ring = |ring: &Vec<AtomIdx>| {
        let atoms = ring.iter().map(|a| index[a.0 as usize]).collect();
        let ring = Ring { atoms, aromatic: false };
        let aromatic = molecule.ring_bonds(&ring).all(|bond| molecule.bonds()[bond].aromatic);
        Ring { aromatic, ..ring }
    };
    let rings: Vec<Ring> = find_sssr_shared(view).rings().iter().map(ring).collect();
    molecule.rings = OnceLock::from(rings);
    molecule.centers = centers(view, &index, &molecule);
    molecule.geometries = geometries(view, &index, &molecule);
    Ok(molecule)
}

/// A hydrogen written as an atom that is nothing but a hydrogen of its one neighbour.
fn folds(view: &Parsed, idx: AtomIdx) -> bool {
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
fn directed(view: &Parsed, atom: AtomIdx) -> bool {
    view.neighbors(atom).any(|(_, bond)| {
        matches!(view.bond(bond).order, Order::Up | Order::Down)
            || view.bond_direction(bond).is_some()
    })
}

/// Tetrahedral centres. `index` maps chematic's atoms to ours; `usize::MAX` is a folded hydrogen.
fn centers(view: &Parsed, index: &[usize], molecule: &Molecule) -> Vec<Center> {
    let center = |(idx, atom): (AtomIdx, &chematic_core::Atom)| {
        let clockwise = match atom.chirality {
            Chirality::Clockwise => true,
            Chirality::CounterClockwise => false,
            _ => return None,
        };
        let own = *index.get(idx.0 as usize).filter(|&&own| own != HYDROGEN)?;
        let ligands = view.stereo_neighbor_order(idx)?.iter().map(|&ligand| match ligand {
            STEREO_H_SENTINEL => Some(HYDROGEN),
            ligand => index.get(ligand as usize).copied(),
        });
        let ligands: Vec<usize> = ligands.collect::<Option<_>>()?;
        let hydrogens = ligands.iter().filter(|&&ligand| ligand == HYDROGEN).count();
        let fits = (3..=4).contains(&ligands.len())
            && hydrogens <= 1
            && hydrogens == usize::from(molecule.atoms()[own].hydrogens)
            && ligands.len() - hydrogens == molecule.degree(own);
        fits.then_some(Center { atom: own, ligands, clockwise })
    };
    view.atoms().filter_map(center).collect()
}

/// Geometries of double bonds outside aromatic systems.
fn geometries(view: &Parsed, index: &[usize], molecule: &Molecule) -> Vec<Geometry> {
    if !view.has_bond_directions()
        && !view.bonds().any(|(_, bond)| matches!(bond.order, Order::Up | Order::Down))
    {
        return Vec::new();
    }
    let own = |atom: AtomIdx| Some(index[atom.0 as usize]).filter(|&own| own != HYDROGEN);
    let bond = |a: AtomIdx, b: AtomIdx| molecule.bond_between(own(a)?, own(b)?);
    let mut geometries = Vec::new();
    for (idx, entry) in view.bonds().filter(|(_, bond)| bond.order == Order::Double) {
        let Some(bond) = bond(entry.atom1, entry.atom2) else { continue };
        let side = |end: AtomIdx| {
            let substituents: Vec<_> = view.neighbors(end).filter(|&(_, b)| b != idx).collect();
            if !(1..=2).contains(&substituents.len()) {
                return None;
            }
            let side = |&(atom, b): &(AtomIdx, _)| Some((atom, b, marker_side(view, b, end)?));
            let mut marked = substituents.iter().filter_map(side);
            let (atom, _, up) = marked.next()?;
            // Two marks on the same side contradict one another.
            if marked.any(|(_, _, other)| other == up) {
                return None;
            }
            let single = |atom: AtomIdx| {
                let bond = molecule.bonds()[molecule.bond_between(own(end)?, own(atom)?)?];
                own(atom).filter(|_| bond.order == BondOrder::Single && !bond.aromatic)
            };
            // A hydrogen that was written is folded; the other substituent lies opposite.
            let opposite = || {
                let mut others = substituents.iter().filter(|&&(other, _)| other != atom);
                others.find_map(|&(other, _)| single(other)).map(|other| (other, !up))
            };
            single(atom).map(|atom| (atom, up)).or_else(opposite)
        };
        if let (Some((first, up)), Some((second, other))) = (side(entry.atom1), side(entry.atom2)) {
            geometries.push(Geometry {
                bond,
                ends: [entry.atom1, entry.atom2].map(|atom| index[atom.0 as usize]),
                references: [first, second],
                together: up == other,
            });
        }
    }
    geometries
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

/// An error of the parser with its place; open rings and much else the scan has refused before.
fn translate(error: SmilesError, smiles: &str, places: &Positions) -> Error {
    let text = error.to_string();
    // The parser's own wording ends in the position that our errors give themselves.
    let (reason, rest) = text.split_once(" at position ").unwrap_or((&text, ""));
    let position = rest.split(':').next().and_then(|number| number.parse().ok()).unwrap_or(0);
    match (error, smiles.as_bytes().get(position)) {
        (SmilesError::UnexpectedCharacter { .. }, Some(&found)) => scan::unexpected(
            position,
            char::from(found),
            "an atom, a bond, a ring label or a branch is expected; elements other than B C N O P S F Cl Br I stand in brackets",
        ),
        (SmilesError::InvalidBracketAtom { detail, .. }, _) if detail.starts_with("duplicate") => {
            let message = "a second bond between two atoms that are already joined";
            Error::smiles(places.ring_label_before(position), message)
        }
        (SmilesError::InvalidBracketAtom { detail, .. }, _) => {
            Error::smiles(position, format!("bracket atom: {detail}"))
        }
        (
            SmilesError::ConflictingRingBond { .. }
            | SmilesError::ConflictingExtendedRingBond { .. },
            _,
        ) => Error::smiles(places.ring_label_before(position), reason),
        (SmilesError::InvalidValence { element, atom, valence, max }, _) => {
            scan::too_many_bonds(places.atom(atom), element, valence, max)
        }
        _ => Error::smiles(position, reason),
    }
}
