//! What can be wrong with a SMILES.

use thiserror::Error;

/// Why a SMILES was refused. Positions are byte offsets into the text, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no text at all.
    #[error("position 0: the SMILES is empty; at least one atom is needed")]
    Empty,
    /// The text is longer than [`MAX_LENGTH`](crate::MAX_LENGTH).
    #[error("position {limit}: the SMILES has {length} bytes; at most {limit} are read")]
    TooLong {
        /// Bytes found.
        length: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// More atoms than [`MAX_ATOMS`](crate::MAX_ATOMS).
    #[error("position {position}: more than {limit} atoms, the largest molecule that is read")]
    TooManyAtoms {
        /// Where the first atom too many stands.
        position: usize,
        /// Atoms allowed.
        limit: usize,
    },
    /// More ring bonds than [`MAX_RINGS`](crate::MAX_RINGS).
    #[error("position {position}: more than {limit} rings, the most that are read")]
    TooManyRings {
        /// Where the label that closes the first ring too many stands.
        position: usize,
        /// Rings allowed.
        limit: usize,
    },
    /// More open parentheses than [`MAX_NESTING`](crate::MAX_NESTING).
    #[error("position {position}: branches nested deeper than {limit}")]
    TooDeep {
        /// Where the parenthesis too many stands.
        position: usize,
        /// Depth allowed.
        limit: usize,
    },
    /// A character that no SMILES has at this place.
    #[error("position {position}: unexpected {found:?}; {expected}")]
    Character {
        /// Where it stands.
        position: usize,
        /// What was found.
        found: char,
        /// What could have stood there.
        expected: &'static str,
    },
    /// A parenthesis or bracket without its partner.
    #[error("position {position}: {found:?} has no partner")]
    Unbalanced {
        /// Where it stands.
        position: usize,
        /// The parenthesis or bracket.
        found: char,
    },
    /// A ring bond that is opened and never closed.
    #[error("position {position}: ring bond {label} is opened here and never closed")]
    UnclosedRing {
        /// Where the ring bond is opened.
        position: usize,
        /// Its label.
        label: u32,
    },
    /// A ring bond from an atom to itself or doubling another bond, or with two different orders.
    #[error("position {position}: {reason}")]
    RingBond {
        /// Where the label that closes the ring stands.
        position: usize,
        /// What is wrong with the bond.
        reason: String,
    },
    /// An atom, bond or bracket that the grammar does not know.
    #[error("position {position}: {reason}")]
    Syntax {
        /// Where reading stopped.
        position: usize,
        /// What the parser says.
        reason: String,
    },
    /// An atom with more bonds than its element can have.
    #[error("position {position}: {element} has valence {valence}, at most {allowed} is possible")]
    Valence {
        /// Where the atom stands.
        position: usize,
        /// Its element.
        element: String,
        /// Sum of its bond orders.
        valence: u32,
        /// What the element allows.
        allowed: u32,
    },
    /// Lower-case atoms that admit no alternation of single and double bonds.
    #[error("position {position}: the aromatic atoms have no Kekulé structure: {reason}")]
    Kekule {
        /// Where the first aromatic atom stands.
        position: usize,
        /// What the assignment ran into.
        reason: String,
    },
}

impl Error {
    /// Byte offset of the offending place in the SMILES, from 0.
    #[must_use]
    pub fn position(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::TooLong { limit, .. } => *limit,
            Self::TooManyAtoms { position, .. }
            | Self::TooManyRings { position, .. }
            | Self::TooDeep { position, .. }
            | Self::Character { position, .. }
            | Self::Unbalanced { position, .. }
            | Self::UnclosedRing { position, .. }
            | Self::RingBond { position, .. }
            | Self::Syntax { position, .. }
            | Self::Valence { position, .. }
            | Self::Kekule { position, .. } => *position,
        }
    }
}
