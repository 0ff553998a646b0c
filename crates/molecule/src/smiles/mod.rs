//! Reads text into a [`Molecule`]: the crate's scanner checks it, then chematic parses it and perceives the structure.
//!
//! The scan gives every atom its place in the text, refuses what chematic lets pass (empty
//! branches and components, rings of one atom, query bonds) and bounds length, size and nesting
//! before any recursion starts.

mod formula;
mod plain;
mod scan;
mod stereo;
mod valence;

use std::collections::HashMap;
use std::sync::OnceLock;

use chematic_core::{
    AtomIdx, BondEntry, BondIdx, BondOrder as Order, KekuleResult, Molecule as Parsed,
    MoleculeBuilder, atom_must_be_matched, kekulize_with,
};
use chematic_perception::{
    apply_aromaticity_rdkit_parity_shared, find_sssr_shared, rdkit_canonical_kekule,
    rdkit_model_may_disagree, rdkit_organometallic_dative_bonds,
};
use chematic_smiles::{SmilesError, rdkit_detect_chemistry_problems, rdkit_mol_block};

pub use self::formula::Formula;
use self::plain::plain;
pub use self::scan::{MAX_ATOMS, MAX_LENGTH, MAX_NESTING, MAX_RING_WILDCARDS, MAX_RINGS};
use self::scan::{Positions, check_aromatic_atoms, check_wildcards, has_aromatic};
use self::stereo::{centers, directed, geometries};
use self::valence::{check_valences, too_many_bonds};
use crate::element::Element;
use crate::error::Error;
use crate::molecule::{Atom, Bond, BondOrder, HYDROGEN, Molecule, Ring};

impl Molecule {
    /// Reads a SMILES (OpenSMILES grammar), perceives aromaticity by RDKit's default model, and
    /// takes RDKit's canonical Kekulé structure. Where the port of its rules does not model the
    /// molecule, any Kekulé structure is taken.
    ///
    /// Parts separated by `.` are one molecule; the atoms of a part that begins in a branch come behind those of the
    /// part around it. Isotopes are kept, and make a hydrogen an atom of its own. The wildcard `*` is an atom of
    /// element [`Element::WILDCARD`] without hydrogens or limits to its bonds. Nitro groups, azides and oxides of
    /// halogens that are written without charges get theirs. Marks of configurations (`@`, `/`) fall away at atoms and
    /// double bonds that have one configuration only: `C[C@H](C)O` is `CC(C)O`. So do marks of double bonds at an atom whose
    /// only other neighbour is a hydrogen (`[H]/N=C(/C)CC` is `CCC(C)=N`), and of square planes and other figures than
    /// tetrahedra (`@SP1`, `@TB1`, `@OH1`, `@AL1`). A mark at an atom with three single
    /// bonds, a pair of electrons and one ring label means what RDKit means by it, the opposite of what OpenSMILES does:
    /// `C[S@+]1CC[C@H]1C` is `C1C[S@+]([C@@H]1C)C`.
    ///
    /// # Errors
    /// [`Error::Smiles`] with the position of the mistake: in text that does not follow the grammar, at an atom with
    /// more bonds than RDKit allows it (metals may have any number), and in aromatic atoms without a Kekulé structure.
    /// Text
    /// longer than [`MAX_LENGTH`] bytes, more than [`MAX_ATOMS`] atoms, [`MAX_RINGS`] rings or [`MAX_RING_WILDCARDS`]
    /// wildcards in rings, and branches deeper than [`MAX_NESTING`] are refused.
    pub fn parse(smiles: &str) -> Result<Self, Error> {
        read(smiles, perceive)
    }
}

/// Reads a text by what `make` makes of its parsed and checked form, and of the places of its atoms.
fn read<T>(
    smiles: &str,
    make: impl Fn(&Parsed, &Positions) -> Result<T, Error>,
) -> Result<T, Error> {
    let read = |smiles: &str, places: &Positions| {
        let parsed = chematic_smiles::parse(smiles).map_err(|e| translate(e, smiles, places))?;
        check_aromatic_atoms(&parsed, places)?;
        check_wildcards(&parsed, places)?;
        check_sanitization(&parsed, places)?;
        make(&parsed, places)
    };
    let places = scan::scan(smiles)?;
    let Some(plain) = plain(smiles) else { return read(smiles, &places) };
    let read = scan::scan(&plain.text).and_then(|places| read(&plain.text, &places));
    read.map_err(|error| error.moved(|position| plain.place(position)))
}

/// Returns the molecule of a parsed text, whose atoms have these places.
fn perceive(parsed: &Parsed, places: &Positions) -> Result<Molecule, Error> {
    let no_kekule = |reason: &str| {
        let atom = parsed.atoms().position(|(_, atom)| atom.aromatic).unwrap_or(0);
        scan::no_kekule(places.atom(atom), &format!("{reason}{}", dative_remedy(parsed)))
    };
    let view = apply_aromaticity_rdkit_parity_shared(parsed);
    let view = view.as_ref().as_ref().map_err(|e| no_kekule(&e.to_string()))?;
    match kekule_structure(view, parsed) {
        Ok(kekule) => convert(view, parsed, &kekule, places),
        // the rings that were perceived cannot be: the text itself is a Kekulé structure
        Err(_) if !has_aromatic(parsed) => {
            convert(parsed, parsed, &KekuleResult::default(), places)
        }
        Err(reason) => Err(no_kekule(&reason)),
    }
}

/// Refuses what RDKit's sanitization refuses: too many bonds, and aromatic atoms without a Kekulé structure. Only texts
/// that are unusual are looked at; of others the perception behind this finds the same.
fn check_sanitization(parsed: &Parsed, places: &Positions) -> Result<(), Error> {
    if !rdkit_model_may_disagree(parsed) {
        return Ok(());
    }
    let problems = rdkit_detect_chemistry_problems(parsed).unwrap_or_default();
    let Some(problem) = problems.into_iter().find(|problem| problem.kind.contains("Kekulize"))
    else {
        return Ok(());
    };
    let atom = problem.atoms.first().copied().unwrap_or(0);
    let reason = format!("RDKit finds none{}", dative_remedy(parsed));
    Err(scan::no_kekule(places.atom(atom), &reason))
}

/// Returns how the bond is written by which an aromatic atom gives a metal a pair of electrons, where such an atom has a bond to
/// a metal that is not written so; else nothing.
fn dative_remedy(parsed: &Parsed) -> &'static str {
    let may_give = |idx: AtomIdx| {
        let atom = parsed.atom(idx);
        let is_pnictogen = !atom.wildcard && matches!(atom.element.atomic_number(), 7 | 15);
        atom.aromatic && is_pnictogen && atom.charge == 0
    };
    let is_metal = |idx: AtomIdx| {
        let atom = parsed.atom(idx);
        !atom.wildcard && valence::is_metal(atom.element.atomic_number())
    };
    let is_other = parsed.bonds().any(|(_, bond)| {
        let [first, second] = [bond.atom1, bond.atom2];
        let is_given = bond.order == Order::Dative && may_give(first);
        let joins = may_give(first) && is_metal(second) || may_give(second) && is_metal(first);
        joins && !is_given
    });
    if is_other {
        "; a bond by which an aromatic atom gives a metal two electrons is written `->` from it to the metal, and has type 9 in MOL \
         files"
    } else {
        ""
    }
}

/// Returns RDKit's canonical Kekulé structure where one of the two ports of its rules reaches it.
fn kekule_structure(view: &Parsed, parsed: &Parsed) -> Result<KekuleResult, String> {
    let valid =
        kekulize_with(view, |atom| has_double_bond(view, atom)).map_err(|error| error.detail)?;
    if valid.is_empty() {
        return Ok(valid);
    }
    Ok(from_mol_block(view, parsed, &valid)
        .or_else(|| rdkit_canonical_kekule(view, &valid))
        .unwrap_or(valid))
}

/// Returns whether an aromatic atom has a double bond in each Kekulé structure. A pair of electrons that nitrogen or phosphorus
/// gives to a metal is none of the ring's: the atom is as it is without the dative bond, as in complexes of pyridine.
fn has_double_bond(view: &Parsed, idx: AtomIdx) -> bool {
    if atom_must_be_matched(view, idx) {
        return true;
    }
    let atom = view.atom(idx);
    let is_pnictogen = !atom.wildcard && matches!(atom.element.atomic_number(), 7 | 15);
    let mut outside =
        view.neighbors(idx).filter(|&(_, bond)| view.bond(bond).order != Order::Aromatic);
    let gives_pairs = outside.all(|(_, bond)| {
        let bond = view.bond(bond);
        bond.order == Order::Dative && bond.atom1 == idx
    });
    is_pnictogen && atom.charge == 0 && atom.hydrogen_count.unwrap_or(0) == 0 && gives_pairs
}

/// Returns the Kekulé structure that RDKit writes into a MOL block, if it is one of the same aromatic
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
        let a = *kept.get(bond.begin)?;
        let b = *kept.get(bond.end)?;
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

/// Makes our own graph from chematic's, with written hydrogens folded into their neighbours, its rings and configurations.
/// `view` is the parsed text with its aromatic bonds.
fn convert(
    view: &Parsed,
    parsed: &Parsed,
    kekule: &KekuleResult,
    places: &Positions,
) -> Result<Molecule, Error> {
    let donors = donors(parsed);
    let (mut molecule, index) = graph(view, &donors, kekule, places)?;
    let ring = |ring: &Vec<AtomIdx>| {
        let atoms = ring.iter().map(|a| a.0 as usize).collect();
        let ring = Ring { atoms, aromatic: false };
        let aromatic = molecule.ring_bonds(&ring).all(|bond| molecule.bonds()[bond].aromatic);
        Ring { aromatic, ..ring }
    };
    // the choice between rings of one size would depend on hydrogens that stand as atoms, and dative bonds close no ring
    let is_other = index.contains(&HYDROGEN) || !donors.is_empty();
    let folded = is_other.then(|| ring_graph(view, &index, &donors));
    let ring_set = find_sssr_shared(folded.as_ref().unwrap_or(view));
    let rings: Vec<Ring> = ring_set.rings().iter().map(ring).collect();
    molecule.rings = OnceLock::from(rings);
    molecule.centers = centers(view, parsed, &index, &molecule);
    molecule.geometries = geometries(view, &index, &molecule);
    molecule.drop_marks_without_meaning();
    Ok(molecule)
}

/// The atoms that give metals pairs of electrons, by the bonds that the text writes as single ones.
type Donors = HashMap<BondIdx, AtomIdx>;

/// Returns the donors of the bonds that RDKit makes dative and the text has as single ones. The bonds that chematic perceives lead
/// from the first atom of the text, which may be the metal. Only nitrogen and oxygen are among the donors that have single bonds
/// alone, as do their neighbours: of others the pair is part of what makes rings aromatic, which is perceived without it.
fn donors(parsed: &Parsed) -> Donors {
    let number = |idx: AtomIdx| {
        let atom = parsed.atom(idx);
        if atom.wildcard { 0 } else { atom.element.atomic_number() }
    };
    // most molecules have no metal
    let may_be_metal = |number: u8| !matches!(number, 0 | 1 | 5..=9 | 14..=17 | 34 | 35 | 53);
    if !parsed.atoms().any(|(idx, _)| may_be_metal(number(idx))) {
        return Donors::new();
    }
    let is_single = |order: Order| matches!(order, Order::Single | Order::Up | Order::Down);
    let is_saturated = |idx: AtomIdx| {
        parsed.neighbors(idx).all(|(_, bond)| {
            let order = parsed.bond(bond).order;
            is_single(order) || order == Order::Dative
        })
    };
    let may_give = |&idx: &AtomIdx| {
        matches!(number(idx), 7 | 8)
            && is_saturated(idx)
            && parsed
                .neighbors(idx)
                .all(|(other, _)| valence::is_metal(number(other)) || is_saturated(other))
    };
    let donor = |((idx, entry), is_dative): ((BondIdx, &BondEntry), bool)| {
        if !is_dative || !is_single(entry.order) {
            return None;
        }
        let donor = [entry.atom1, entry.atom2].into_iter().find(may_give)?;
        Some((idx, donor))
    };
    parsed.bonds().zip(rdkit_organometallic_dative_bonds(parsed)).filter_map(donor).collect()
}

/// Returns the atoms and bonds of chematic's graph as our own, and the number of each of its atoms; [`HYDROGEN`] for
/// hydrogens that are folded into their neighbours. `donors` are those of [`donors`].
fn graph(
    view: &Parsed,
    donors: &Donors,
    kekule: &KekuleResult,
    places: &Positions,
) -> Result<(Molecule, Vec<usize>), Error> {
    let mut index = Vec::with_capacity(view.atom_count());
    let mut atoms = Vec::with_capacity(view.atom_count());
    let mut kept = Vec::new();
    for (idx, atom) in view.atoms() {
        if folds(view, idx) {
            index.push(HYDROGEN);
            continue;
        }
        let written = view.neighbors(idx).filter(|&(n, _)| folds(view, n)).count();
        // without its bond to the metal a donor has as many bonds as it can have
        let is_full = atom.hydrogen_count.is_none() && donors.values().any(|&donor| donor == idx);
        let implied = if is_full { 0 } else { chematic_core::implicit_hcount(view, idx) };
        index.push(atoms.len());
        kept.push(places.atom(idx.0 as usize));
        atoms.push(Atom {
            element: Element(if atom.wildcard { 0 } else { atom.element.atomic_number() }),
            charge: atom.charge,
            hydrogens: implied.saturating_add(u8::try_from(written).unwrap_or(u8::MAX)),
            isotope: atom.isotope.filter(|&mass| mass > 0),
            aromatic: atom.aromatic,
            stereo: false,
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
        let (ends, order) = match donors.get(&idx) {
            Some(&donor) if donor == entry.atom2 => ([b, a], BondOrder::Dative),
            Some(_) => ([a, b], BondOrder::Dative),
            None => ([a, b], order),
        };
        bonds.push(Bond {
            atoms: ends,
            order,
            aromatic: entry.order == Order::Aromatic,
            stereo: entry.order == Order::Double
                && directed(view, idx, entry.atom1)
                && directed(view, idx, entry.atom2),
        });
    }

    let molecule = Molecule::assemble(atoms, bonds);
    check_valences(&molecule, &kept)?;
    Ok((molecule, index))
}

/// Returns the atoms that `index` numbers and the bonds between them, as chematic has them, without those of `donors`.
fn ring_graph(view: &Parsed, index: &[usize], donors: &Donors) -> Parsed {
    let mut graph = MoleculeBuilder::with_capacity(view.atom_count(), view.bond_count());
    for (_, atom) in view.atoms().filter(|(idx, _)| index[idx.0 as usize] != HYDROGEN) {
        graph.add_atom(atom.clone());
    }
    for (idx, bond) in view.bonds() {
        let [a, b] = [bond.atom1, bond.atom2].map(|end| index[end.0 as usize]);
        if a != HYDROGEN && b != HYDROGEN && !donors.contains_key(&idx) {
            // two atoms have one bond
            let _ = graph.add_bond(AtomIdx(a as u32), AtomIdx(b as u32), bond.order);
        }
    }
    graph.build()
}

/// Returns whether an atom is nothing but a hydrogen of its one neighbour, into which it is folded.
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
            matches!(view.bond(b).order, Order::Single | Order::Up | Order::Down)
                && !other.wildcard
                && other.element != chematic_core::Element::H
        })
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

/// Returns an error of the parser with its place; open rings and much else the scan has refused before.
fn translate(error: SmilesError, smiles: &str, places: &Positions) -> Error {
    let text = error.to_string();
    // The parser's own wording ends in the position that our errors give themselves.
    let (reason, rest) = text.split_once(" at position ").unwrap_or((&text, ""));
    let position = rest.split(':').next().and_then(|number| number.parse().ok()).unwrap_or(0);
    match (error, smiles.as_bytes().get(position)) {
        (SmilesError::UnexpectedCharacter { .. }, Some(&byte)) => scan::unexpected(
            position,
            char::from(byte),
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
            too_many_bonds(places.atom(atom), element, valence, max, "")
        }
        _ => Error::smiles(position, reason),
    }
}
