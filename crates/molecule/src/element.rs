//! Chemical elements.

/// A chemical element by its atomic number; 0 is the wildcard `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Element(pub(crate) u8);

impl Element {
    /// The wildcard `*`: an atom of unknown element.
    pub const WILDCARD: Self = Self(0);
    /// Hydrogen.
    pub const H: Self = Self(1);
    /// Boron.
    pub const B: Self = Self(5);
    /// Carbon.
    pub const C: Self = Self(6);
    /// Nitrogen.
    pub const N: Self = Self(7);
    /// Oxygen.
    pub const O: Self = Self(8);
    /// Fluorine.
    pub const F: Self = Self(9);
    /// Phosphorus.
    pub const P: Self = Self(15);
    /// Sulfur.
    pub const S: Self = Self(16);
    /// Chlorine.
    pub const CL: Self = Self(17);
    /// Bromine.
    pub const BR: Self = Self(35);
    /// Iodine.
    pub const I: Self = Self(53);

    /// Returns the atomic number, 0 for the wildcard.
    pub fn atomic_number(self) -> u8 {
        self.0
    }

    /// Returns the symbol as in the periodic table (`Cl`), `*` for the wildcard.
    pub fn symbol(self) -> &'static str {
        chematic_core::Element::from_atomic_number(self.0).map_or("*", |e| e.symbol())
    }

    /// Returns whether the element is fluorine, chlorine, bromine or iodine.
    pub fn is_halogen(self) -> bool {
        matches!(self, Self::F | Self::CL | Self::BR | Self::I)
    }
}
