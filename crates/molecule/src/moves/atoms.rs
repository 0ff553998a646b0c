//! Moves of single atoms, bonds, and what hangs on them.

use super::Edits;
use super::builder::{Builder, valences};
use super::palette::RING;
use crate::element::Element;
use crate::graph::Distances;
use crate::molecule::BondOrder;

/// The orders that moves give bonds.
const ORDERS: [BondOrder; 3] = [BondOrder::Single, BondOrder::Double, BondOrder::Triple];

impl Edits<'_> {
    /// Adds molecules with other elements, elements swapped, atoms added, removed and taken out from between two others.
    pub(super) fn change_atoms(&mut self, builder: &Builder) {
        for atom in 0..builder.len() {
            let element = builder.atoms[atom].element;
            let charge = builder.atoms[atom].charge;
            if builder.is_plain(atom) && charge == 0 {
                for &element in self.palette.elements.iter().filter(|&&other| other != element) {
                    self.try_edit(builder, |edit| edit.set_kind(atom, element, 0));
                }
                for other in 0..atom {
                    let theirs = builder.atoms[other].element;
                    let charge = builder.atoms[other].charge;
                    if theirs != element && charge == 0 && builder.is_plain(other) {
                        self.try_edit(builder, |edit| {
                            // the first may need the bonds of the second
                            edit.atoms[other].element = element;
                            edit.set_kind(atom, theirs, 0)?;
                            edit.set_kind(other, element, 0)
                        });
                    }
                }
            }
            if self.room(builder) > 0 {
                self.add_atoms(builder, atom);
            }
            // a charge or a radical that moves can change comes back by these only
            let is_changed = match charge {
                0 => builder.is_radical(atom) && self.palette.radicals.contains(&element),
                charge => self.palette.has_charge(element, charge),
            };
            if !is_changed {
                self.remove_atom(builder, atom);
            }
        }
    }

    fn add_atoms(&mut self, builder: &Builder, atom: usize) {
        for &element in &self.palette.elements {
            let most = valences(element, 0).last().copied().unwrap_or(0);
            for order in ORDERS.into_iter().filter(|order| order.multiplicity() <= most) {
                self.try_edit(builder, |edit| {
                    let added = edit.add_atom(element);
                    edit.connect(atom, added, order)
                });
            }
        }
    }

    /// Removes an atom with one bond, or one with two single bonds, whose neighbours are joined.
    fn remove_atom(&mut self, builder: &Builder, atom: usize) {
        let around: Vec<(usize, usize)> = builder.around(atom).collect();
        match around[..] {
            [(_, bond)] => self.try_edit(builder, |edit| {
                edit.disconnect(bond)?;
                edit.remove(atom);
                Some(())
            }),
            [(a, first), (b, second)]
                if [first, second].map(|bond| builder.bonds[bond].order)
                    == [BondOrder::Single; 2] =>
            {
                for order in ORDERS {
                    self.try_edit(builder, |edit| {
                        for end in [a, b] {
                            edit.disconnect(edit.bond_between(atom, end)?)?;
                        }
                        edit.remove(atom);
                        edit.connect(a, b, order)
                    });
                }
            }
            _ => {}
        }
    }

    /// Adds molecules with other orders of bonds, double bonds shifted, atoms inserted, rings opened, and bonds of rings moved.
    pub(super) fn change_bonds(&mut self, builder: &Builder) {
        let in_ring = builder.ring_bonds();
        for (bond, &in_ring) in in_ring.iter().enumerate() {
            let [a, b] = builder.bonds[bond].atoms;
            let present = builder.bonds[bond].order;
            if !ORDERS.contains(&present) {
                continue;
            }
            for order in ORDERS.into_iter().filter(|&order| order != present) {
                self.try_edit(builder, |edit| edit.set_order(bond, order));
            }
            for end in [a, b] {
                self.shift_order(builder, bond, end);
            }
            if self.room(builder) > 0 {
                self.insert_atoms(builder, bond);
            }
            if in_ring && present == BondOrder::Single {
                self.try_edit(builder, |edit| edit.disconnect(bond));
            }
            if in_ring {
                for (stays, leaves) in [(a, b), (b, a)] {
                    let next: Vec<usize> = builder.around(leaves).map(|(end, _)| end).collect();
                    for to in next.into_iter().filter(|&to| to != stays) {
                        self.try_edit(builder, |edit| {
                            edit.disconnect(bond)?;
                            edit.connect(stays, to, present)
                        });
                    }
                }
            }
        }
    }

    /// Lowers the order of a bond by one and raises that of another bond at its atom `end`.
    fn shift_order(&mut self, builder: &Builder, bond: usize, end: usize) {
        let step = |order: BondOrder, by: usize| {
            let at = ORDERS.iter().position(|&listed| listed == order)?;
            ORDERS.get(at.checked_add(by)?.checked_sub(1)?).copied()
        };
        for (_, next) in builder.around(end).filter(|&(_, next)| next != bond) {
            let orders = (step(builder.bonds[bond].order, 0), step(builder.bonds[next].order, 2));
            if let (Some(less), Some(more)) = orders {
                self.try_edit(builder, |edit| {
                    edit.bonds[bond].order = less;
                    edit.set_order(next, more)?;
                    edit.set_order(bond, less)
                });
            }
        }
    }

    fn insert_atoms(&mut self, builder: &Builder, bond: usize) {
        let [a, b] = builder.bonds[bond].atoms;
        let joins = |element: &Element| valences(*element, 0).last().is_some_and(|&most| most > 1);
        for element in self.palette.elements.iter().copied().filter(joins) {
            self.try_edit(builder, |edit| {
                edit.disconnect(bond)?;
                let added = edit.add_atom(element);
                edit.connect(a, added, BondOrder::Single)?;
                edit.connect(added, b, BondOrder::Single)
            });
        }
    }

    /// Adds molecules with single bonds that close rings.
    pub(super) fn close_rings(&mut self, builder: &Builder) {
        let graph = builder.graph();
        let mut search = Distances::new(&graph);
        for atom in 0..builder.len() {
            search.search(&graph, atom, RING, |_| true);
            for other in 0..atom {
                let Some(2..RING) = search.distance_to(other) else { continue };
                self.try_edit(builder, |edit| edit.connect(atom, other, BondOrder::Single));
            }
        }
    }

    /// Adds molecules with substituents at other atoms, with the bonds that they had.
    pub(super) fn move_substituents(&mut self, builder: &Builder) {
        for bond in 0..builder.bonds.len() {
            let [a, b] = builder.bonds[bond].atoms;
            let order = builder.bonds[bond].order;
            for (from, stays) in [(a, b), (b, a)] {
                let Some(side) = builder.side(bond, from) else { continue };
                for to in (0..builder.len()).filter(|to| *to != stays && !side.contains(to)) {
                    self.try_edit(builder, |edit| {
                        edit.disconnect(bond)?;
                        edit.connect(from, to, order)
                    });
                }
            }
        }
    }
}
