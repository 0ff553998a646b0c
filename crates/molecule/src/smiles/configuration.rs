//! The configurations that a SMILES gives, as far as [`Molecule`](crate::Molecule) keeps them.

use chematic_core::ez_markers::marker_side;
use chematic_core::{AtomIdx, BondOrder as Order, Chirality, STEREO_H_SENTINEL};

use crate::molecule::{Atom, Bond, BondOrder};
use crate::stereo::{Center, Geometry, HYDROGEN};

/// Tetrahedral centres. `index` maps chematic's atoms to ours; `usize::MAX` is a folded hydrogen.
pub(super) fn centers(
    view: &chematic_core::Molecule,
    index: &[usize],
    atoms: &[Atom],
    bonds: &[Bond],
) -> Vec<Center> {
    let mut degrees = vec![0; atoms.len()];
    bonds.iter().flat_map(|bond| bond.atoms).for_each(|atom| degrees[atom] += 1);
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
            && hydrogens == usize::from(atoms[own].hydrogens)
            && ligands.len() - hydrogens == degrees[own];
        fits.then_some(Center { atom: own, ligands, clockwise })
    };
    view.atoms().filter_map(center).collect()
}

/// Geometries of double bonds outside aromatic systems.
pub(super) fn geometries(
    view: &chematic_core::Molecule,
    index: &[usize],
    bonds: &[Bond],
) -> Vec<Geometry> {
    if !view.has_bond_directions()
        && !view.bonds().any(|(_, bond)| matches!(bond.order, Order::Up | Order::Down))
    {
        return Vec::new();
    }
    let mut numbers = vec![None; view.bond_count()];
    let kept = view.bonds().filter(|(_, bond)| {
        [bond.atom1, bond.atom2].iter().all(|atom| index[atom.0 as usize] != HYDROGEN)
    });
    kept.zip(0..).for_each(|((bond, _), number)| numbers[bond.0 as usize] = Some(number));

    let mut geometries = Vec::new();
    for (idx, entry) in view.bonds().filter(|(_, bond)| bond.order == Order::Double) {
        let Some(bond) = numbers[idx.0 as usize] else { continue };
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
                let own = index[atom.0 as usize];
                let number = view.bond_between(end, atom).and_then(|(b, _)| numbers[b.0 as usize]);
                let plain = |number: usize| {
                    let bond: &Bond = &bonds[number];
                    bond.order == BondOrder::Single && !bond.aromatic
                };
                (own != HYDROGEN && number.is_some_and(plain)).then_some(own)
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
