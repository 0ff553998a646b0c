//! Morgan fingerprints as bits, for many comparisons.

use dsokr_molecule::{HashedFeatures, Molecule, Morgan};

/// The Morgan fingerprint of a molecule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fingerprint(Box<[u64]>);

impl Fingerprint {
    pub fn new(molecule: &Molecule) -> Self {
        let morgan = Morgan::default();
        let mut words = vec![0; morgan.width.div_ceil(64)];
        for code in morgan.codes(molecule).into_keys() {
            let column = code % morgan.width as u32;
            words[column as usize / 64] |= 1u64 << (column % 64);
        }
        Self(words.into())
    }

    /// Returns the Tanimoto similarity: bits that both have, of those that either has; 1 for two without bits.
    pub fn tanimoto(&self, other: &Self) -> f64 {
        let mut both = 0;
        let mut either = 0;
        for (a, b) in self.0.iter().zip(&other.0) {
            both += (a & b).count_ones();
            either += (a | b).count_ones();
        }
        if either == 0 { 1.0 } else { f64::from(both) / f64::from(either) }
    }
}
