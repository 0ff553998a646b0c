//! The group of an atom, by its neighbours.

use super::FunctionalGroup as G;
use crate::element::Element;
use crate::molecule::{Atom, Bond, BondOrder, Molecule, Neighbor};

// Questions of the rules about an atom, and the rules.
impl Molecule {
    fn atom(&self, atom: usize) -> &Atom {
        &self.atoms()[atom]
    }

    /// Returns the neighbours of an atom, with the orders of the bonds to them.
    fn orders(&self, atom: usize) -> impl Iterator<Item = (usize, BondOrder)> + '_ {
        self.around(atom).map(|(end, bond)| (end, bond.order))
    }

    /// Returns neighbours of one element over bonds of one order.
    fn bound(&self, atom: usize, element: Element, order: BondOrder) -> Vec<usize> {
        let bound = |&(other, bond): &(usize, BondOrder)| {
            self.atom(other).element == element && bond == order
        };
        self.orders(atom).filter(bound).map(|(other, _)| other).collect()
    }

    fn neighbors_of(&self, atom: usize, element: Element) -> usize {
        self.orders(atom).filter(|&(other, _)| self.atom(other).element == element).count()
    }

    fn multiple_bonds(&self, atom: usize) -> usize {
        self.orders(atom).filter(|(_, order)| order.multiplicity() > 1).count()
    }

    fn valence(&self, atom: usize) -> u8 {
        let bonds: u8 = self.orders(atom).map(|(_, order)| order.multiplicity()).sum();
        bonds + self.atom(atom).hydrogens
    }

    /// Returns whether an atom has no charge, no aromaticity and single bonds only.
    fn is_plain(&self, atom: usize) -> bool {
        self.atom(atom).charge == 0
            && !self.atom(atom).aromatic
            && self.orders(atom).all(|(_, order)| order == BondOrder::Single)
    }

    /// Returns whether an atom is a carbon with a double bond to O, S or N that is not aromatic.
    fn is_acyl(&self, atom: usize) -> bool {
        self.atom(atom).element == Element::C
            && self.around(atom).any(|(end, bond)| {
                bond.order == BondOrder::Double
                    && !bond.aromatic
                    && matches!(self.atom(end).element, Element::O | Element::S | Element::N)
            })
    }

    fn is_carbonyl(&self, atom: usize) -> bool {
        self.atom(atom).element == Element::C
            && !self.bound(atom, Element::O, BondOrder::Double).is_empty()
    }

    fn share_ring(&self, a: usize, b: usize) -> bool {
        self.rings().iter().any(|r| r.atoms.contains(&a) && r.atoms.contains(&b))
    }

    /// Returns a group that an atom has in addition to the group of its element.
    pub(super) fn beside(&self, atom: usize) -> Option<G> {
        let methyl = |&c: &usize| self.degree(c) == 1 && self.atom(c).hydrogens == 3;
        match self.atom(atom).element {
            Element::C => {
                let three = self.degree(atom) == 4 && self.neighbors_of(atom, Element::F) == 3;
                three.then_some(G::Trifluoromethyl)
            }
            Element::O if self.atom(atom).charge == 0 => {
                let ends = self.bound(atom, Element::C, BondOrder::Single);
                (ends.len() == 2 && ends.iter().any(methyl)).then_some(G::Methoxy)
            }
            _ => None,
        }
    }

    /// Returns whether an atom is N⁺ between two nitrogens, one of them at the end: in a protonated triazole, none is.
    fn is_azide_middle(&self, atom: usize) -> bool {
        let neighbors = self.neighbors(atom);
        let ends = |n: &Neighbor| self.degree(n.atom) == 1 && self.atom(n.atom).hydrogens == 0;
        self.atom(atom).charge == 1
            && neighbors.len() == 2
            && self.neighbors_of(atom, Element::N) == 2
            && neighbors.iter().any(ends)
    }

    /// Returns whether nitrogens are N=N between two carbons.
    fn is_azo(&self, nitrogens: [usize; 2]) -> bool {
        nitrogens.iter().all(|&nitrogen| {
            self.degree(nitrogen) == 2 && self.neighbors_of(nitrogen, Element::C) == 1
        })
    }

    pub(super) fn of_carbon(&self, carbon: usize) -> Option<G> {
        if self.bound(carbon, Element::O, BondOrder::Double).is_empty() {
            return self.of_carbon_without_oxo(carbon);
        }
        let single = |element| self.bound(carbon, element, BondOrder::Single);
        let oxygens = single(Element::O);
        let nitrogens = single(Element::N);
        let sulfurs = single(Element::S);
        let has_halogen = || self.orders(carbon).any(|(n, _)| self.atom(n).element.is_halogen());
        match (&oxygens[..], &nitrogens[..], &sulfurs[..]) {
            _ if self.atom(carbon).aromatic => Some(G::RingOxo),
            _ if has_halogen() => Some(G::AcylHalide),
            ([], [], [sulfur]) if self.neighbors_of(*sulfur, Element::C) == 2 => Some(G::Thioester),
            ([], [], [_, ..]) => None,
            ([], [], []) => {
                match (self.atom(carbon).hydrogens, self.neighbors_of(carbon, Element::C)) {
                    (1.., 0..=1) => Some(G::Aldehyde),
                    (0, 2) => Some(G::Ketone),
                    _ => None,
                }
            }
            ([_, _], [], _) => Some(G::Carbonate),
            ([_, ..], [_, ..], _) => Some(G::Carbamate),
            ([], [_, _], _) => Some(G::Urea),
            // Counted once, at the nitrogen.
            ([], [nitrogen], _) if self.carbonyl_neighbors(*nitrogen) >= 2 => None,
            ([], [_], [_, ..]) => Some(G::Thiocarbamate),
            ([], [nitrogen], []) if self.share_ring(carbon, *nitrogen) => Some(G::Lactam),
            ([], [_], []) => Some(G::Amide),
            ([oxygen], [], []) => {
                match (self.atom(*oxygen).charge, self.degree(*oxygen)) {
                    (-1, 1) => Some(G::Carboxylate),
                    (0, 1) => Some(G::CarboxylicAcid),
                    // An anhydride is counted once, at the oxygen.
                    (0, 2) if self.carbonyl_neighbors(*oxygen) >= 2 => None,
                    (0, 2) if self.neighbors_of(*oxygen, Element::C) < 2 => None,
                    (0, 2) if self.share_ring(carbon, *oxygen) => Some(G::Lactone),
                    (0, 2) => Some(G::Ester),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn carbonyl_neighbors(&self, atom: usize) -> usize {
        let carbonyl = |&(other, _): &_| self.is_carbonyl(other) && !self.atom(other).aromatic;
        self.orders(atom).filter(carbonyl).count()
    }

    fn of_carbon_without_oxo(&self, carbon: usize) -> Option<G> {
        let nitriles = self.bound(carbon, Element::N, BondOrder::Triple);
        let imines = self.bound(carbon, Element::N, BondOrder::Double);
        match (&nitriles[..], &imines[..]) {
            // else an isonitrile, a cyanide ion or the oxide of a nitrile
            (&[nitrogen], _) => {
                let neutral = [carbon, nitrogen].iter().all(|&atom| self.atom(atom).charge == 0);
                (neutral && self.degree(nitrogen) == 1).then_some(G::Nitrile)
            }
            _ if !self.bound(carbon, Element::S, BondOrder::Double).is_empty() => {
                Some(G::Thiocarbonyl)
            }
            _ if self.atom(carbon).aromatic => None,
            // a diazo group
            (_, &[imine]) if self.multiple_bonds(imine) > 1 => None,
            // else a nitrone, which is an N-oxide
            (_, &[imine]) if self.neighbors_of(imine, Element::O) > 0 => {
                let oxime = self.atom(imine).charge == 0 && self.degree(imine) == 2;
                oxime.then_some(G::Oxime)
            }
            (_, [_]) => match self.bound(carbon, Element::N, BondOrder::Single).len() {
                0 => Some(G::Imine),
                1 => Some(G::Amidine),
                _ => Some(G::Guanidine),
            },
            _ => None,
        }
    }

    pub(super) fn of_oxygen(&self, oxygen: usize) -> Option<G> {
        let in_epoxide =
            || self.rings().iter().any(|r| r.atoms.len() == 3 && r.atoms.contains(&oxygen));
        let carbons = self.bound(oxygen, Element::C, BondOrder::Single);
        match (self.atom(oxygen).charge, &carbons[..], self.degree(oxygen)) {
            _ if self.atom(oxygen).aromatic => None,
            (-1, [carbon], 1) if !self.is_acyl(*carbon) => Some(G::Alkoxide),
            (0, [carbon], 1) if self.atom(oxygen).hydrogens == 1 => self.of_hydroxy(*carbon),
            (0, [_, _], 2) if self.carbonyl_neighbors(oxygen) == 2 => Some(G::Anhydride),
            (0, [a, b], 2) if self.is_acyl(*a) || self.is_acyl(*b) => None,
            (0, [_, _], 2) if in_epoxide() => Some(G::Epoxide),
            (0, [_, _], 2) => Some(G::Ether),
            _ => None,
        }
    }

    fn of_hydroxy(&self, carbon: usize) -> Option<G> {
        let oxygens = self.bound(carbon, Element::O, BondOrder::Single);
        match self.neighbors_of(carbon, Element::C) {
            _ if self.atom(carbon).aromatic => Some(G::Phenol),
            _ if self.is_acyl(carbon) => None,
            _ if !self.bound(carbon, Element::C, BondOrder::Double).is_empty() => Some(G::Enol),
            _ if self.multiple_bonds(carbon) > 0 => None,
            _ if oxygens.iter().any(|&o| self.neighbors_of(o, Element::C) == 2) => {
                Some(G::Hemiacetal)
            }
            0 | 1 => Some(G::PrimaryAlcohol),
            2 => Some(G::SecondaryAlcohol),
            _ => Some(G::TertiaryAlcohol),
        }
    }

    pub(super) fn of_nitrogen(&self, nitrogen: usize) -> Option<G> {
        let oxides = self.bound(nitrogen, Element::O, BondOrder::Single);
        let oxides = oxides.iter().filter(|&&o| self.atom(o).charge == -1).count();
        let double_o = self.bound(nitrogen, Element::O, BondOrder::Double).len();
        let atom = self.atom(nitrogen);
        let neighbors = self.neighbors(nitrogen);
        let carbons = self.neighbors_of(nitrogen, Element::C);
        let oxygens = self.neighbors_of(nitrogen, Element::O);
        let single = || self.orders(nitrogen).all(|(_, order)| order == BondOrder::Single);
        match (atom.charge, oxides, double_o) {
            // A second form has five valences: N(=O)=O. Nitrates and nitramines have no carbon there.
            (1, 1.., 1..) | (0, 0, 2) => (carbons == 1).then_some(G::Nitro),
            (1, 1.., 0) => Some(G::NOxide),
            (0, 0, 1) if self.valence(nitrogen) == 5 => Some(G::NOxide),
            // else a nitrite
            (0, 0, 1) => (neighbors.len() == 2 && oxygens == 1).then_some(G::Nitroso),
            _ if self.is_azide_middle(nitrogen) => Some(G::Azide),
            _ if !single() || atom.aromatic || neighbors.is_empty() => None,
            (1, ..) if atom.hydrogens > 0 => Some(G::Ammonium),
            (1, ..) => (carbons == 4).then_some(G::QuaternaryAmmonium),
            (0, ..) if self.carbonyl_neighbors(nitrogen) >= 2 => Some(G::Imide),
            (0, ..) if oxygens > 0 => Some(G::Hydroxylamine),
            (0, ..) if carbons < neighbors.len() => None,
            (0, ..) if neighbors.iter().any(|n| self.is_acyl(n.atom)) => None,
            (0, ..) if neighbors.iter().any(|n| self.atom(n.atom).aromatic) => {
                Some(G::AromaticAmine)
            }
            (0, ..) => match neighbors.len() {
                1 => Some(G::PrimaryAmine),
                2 => Some(G::SecondaryAmine),
                3 => Some(G::TertiaryAmine),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn of_sulfur(&self, sulfur: usize) -> Option<G> {
        let oxo = self.bound(sulfur, Element::O, BondOrder::Double).len();
        let oxygens = self.bound(sulfur, Element::O, BondOrder::Single);
        let nitrogens = self.neighbors_of(sulfur, Element::N);
        let carbons = self.neighbors_of(sulfur, Element::C);
        match (oxo, &oxygens[..]) {
            (2, [_, _]) => Some(G::Sulfate),
            (2, [oxygen]) if carbons == 1 => {
                let acid = self.atom(*oxygen).charge == 0 && self.degree(*oxygen) == 1;
                Some(if acid { G::SulfonicAcid } else { G::Sulfonate })
            }
            (2, _) if nitrogens > 0 => Some(G::Sulfonamide),
            (2, []) if carbons == 2 => Some(G::Sulfone),
            (1, []) if carbons == 2 => Some(G::Sulfoxide),
            (0, []) if self.is_plain(sulfur) => match (carbons, self.degree(sulfur)) {
                (1, 1) if self.atom(sulfur).hydrogens == 1 => Some(G::Thiol),
                (2, 2) if self.carbonyl_neighbors(sulfur) == 0 => Some(G::Sulfide),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn of_phosphorus(&self, phosphorus: usize) -> Option<G> {
        let oxygens = self.neighbors_of(phosphorus, Element::O);
        match (oxygens, self.neighbors_of(phosphorus, Element::C)) {
            (4.., _) => Some(G::Phosphate),
            (3, 1) => Some(G::Phosphonate),
            _ => None,
        }
    }

    pub(super) fn of_bond(&self, bond: &Bond) -> Option<G> {
        use BondOrder::{Double, Single, Triple};
        match (bond.atoms.map(|atom| self.atom(atom).element), bond.order) {
            ([Element::C, Element::C], Double) if !bond.aromatic => Some(G::Alkene),
            ([Element::C, Element::C], Triple) => Some(G::Alkyne),
            ([Element::O, Element::O], Single) => Some(G::Peroxide),
            ([Element::S, Element::S], Single) if !bond.aromatic => Some(G::Disulfide),
            ([Element::N, Element::N], Single) => {
                let plain = !bond.aromatic && bond.atoms.iter().all(|&n| self.is_plain(n));
                plain.then_some(G::Hydrazine)
            }
            ([Element::N, Element::N], Double) => {
                (!bond.aromatic && self.is_azo(bond.atoms)).then_some(G::Azo)
            }
            _ => None,
        }
    }
}
