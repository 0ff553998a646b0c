//! The configurations that a text marks.

use chematic_core::ez_markers::marker_side;
use chematic_core::{
    AtomIdx, BondIdx, BondOrder as Order, Chirality, Molecule as Parsed, STEREO_H_SENTINEL,
};

use crate::marked::Marked;
use crate::molecule::{BondOrder, Center, Geometry, HYDROGEN, Molecule};

/// Returns whether a bond of an end of a double bond is written with a direction, and no second one contradicts it.
pub(super) fn directed(view: &Parsed, double_bond: BondIdx, end: AtomIdx) -> bool {
    let mut bonds = view.neighbors(end);
    let has_mark = bonds.any(|(_, bond)| {
        matches!(view.bond(bond).order, Order::Up | Order::Down)
            || view.bond_direction(bond).is_some()
    });
    let others = view.neighbors(end).filter(|&(_, bond)| bond != double_bond);
    let sides: Vec<bool> = others.filter_map(|(_, bond)| marker_side(view, bond, end)).collect();
    has_mark && (sides.len() < 2 || sides[0] != sides[1])
}

/// Returns how a text writes an atom whose brackets hold a hydrogen or not.
fn marked(parsed: &Parsed, atom: AtomIdx, has_hydrogen: bool) -> Marked {
    let is_single = |bond: BondIdx| {
        let order = parsed.bond(bond).order;
        matches!(order, Order::Single | Order::Up | Order::Down | Order::Dative)
    };
    let is_before = |(other, bond): (AtomIdx, BondIdx)| {
        other.0 < atom.0 && !parsed.is_smiles_ring_closure(bond)
    };
    Marked {
        degree: parsed.degree(atom),
        has_hydrogen,
        is_saturated: parsed.neighbors(atom).all(|(_, bond)| is_single(bond)),
        is_first: !parsed.neighbors(atom).any(is_before),
        ring_labels: parsed.smiles_ring_closure_count(atom),
    }
}

/// Returns tetrahedral centres. `view` has the atoms of `parsed`, which is the text as it is written. `index` maps them to
/// ours; [`HYDROGEN`] is a folded hydrogen.
pub(super) fn centers(
    view: &Parsed,
    parsed: &Parsed,
    index: &[usize],
    molecule: &Molecule,
) -> Vec<Center> {
    let center = |(idx, atom): (AtomIdx, &chematic_core::Atom)| {
        let clockwise = match atom.chirality {
            Chirality::Clockwise => true,
            Chirality::CounterClockwise => false,
            _ => return None,
        };
        let atom = *index.get(idx.0 as usize).filter(|&&atom| atom != HYDROGEN)?;
        let order = view.stereo_neighbor_order(idx)?;
        let marked = marked(parsed, idx, order.contains(&STEREO_H_SENTINEL));
        let clockwise = clockwise ^ marked.is_turned();
        let ligands = order.iter().map(|&ligand| match ligand {
            STEREO_H_SENTINEL => Some(HYDROGEN),
            ligand => index.get(ligand as usize).copied(),
        });
        let ligands: Vec<usize> = ligands.collect::<Option<_>>()?;
        let hydrogens = ligands.iter().filter(|&&ligand| ligand == HYDROGEN).count();
        let fits = (3..=4).contains(&ligands.len())
            && hydrogens <= 1
            && hydrogens == usize::from(molecule.atoms()[atom].hydrogens)
            && ligands.len() - hydrogens == molecule.degree(atom);
        fits.then_some(Center { atom, ligands, clockwise })
    };
    view.atoms().filter_map(center).collect()
}

/// Returns geometries of double bonds outside aromatic systems.
pub(super) fn geometries(view: &Parsed, index: &[usize], molecule: &Molecule) -> Vec<Geometry> {
    if !view.has_bond_directions()
        && !view.bonds().any(|(_, bond)| matches!(bond.order, Order::Up | Order::Down))
    {
        return Vec::new();
    }
    let parsed_atom = |atom: AtomIdx| Some(index[atom.0 as usize]).filter(|&atom| atom != HYDROGEN);
    let bond = |a: AtomIdx, b: AtomIdx| molecule.bond_between(parsed_atom(a)?, parsed_atom(b)?);
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
                let bond = molecule.bonds()
                    [molecule.bond_between(parsed_atom(end)?, parsed_atom(atom)?)?];
                parsed_atom(atom).filter(|_| bond.order == BondOrder::Single && !bond.aromatic)
            };
            // A hydrogen that was written is folded; the other substituent lies opposite.
            let opposite = || {
                let mut others = substituents.iter().filter(|&&(other, _)| other != atom);
                others.find_map(|&(other, _)| single(other)).map(|other| (other, !up))
            };
            single(atom).map(|atom| (atom, up)).or_else(opposite)
        };
        if let Some((first, up)) = side(entry.atom1)
            && let Some((second, other)) = side(entry.atom2)
        {
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
