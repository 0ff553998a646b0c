//! The sign of ions.

use serde::{Deserialize, Serialize};

/// The sign of ions.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, derive_more::Display, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Polarity {
    /// Positive mode.
    #[display("positive")]
    Positive,
    /// Negative mode.
    #[display("negative")]
    Negative,
}

impl Polarity {
    /// Creates the polarity of ions of this charge; none of a neutral molecule.
    pub fn of_charge(charge: i32) -> Option<Self> {
        match charge.signum() {
            1 => Some(Self::Positive),
            -1 => Some(Self::Negative),
            _ => None,
        }
    }

    /// 1 of positive ions, -1 of negative ones.
    pub(crate) fn sign(self) -> f64 {
        match self {
            Self::Positive => 1.0,
            Self::Negative => -1.0,
        }
    }

    /// Creates the polarity of an ion mode such as `POSITIVE`, `P`, `neg` and `-`.
    pub(crate) fn of_mode(mode: &str) -> Option<Self> {
        match mode.trim().to_lowercase().chars().next()? {
            'p' | '+' => Some(Self::Positive),
            'n' | '-' => Some(Self::Negative),
            _ => None,
        }
    }
}
