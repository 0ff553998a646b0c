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

    /// Creates the polarity of an ion mode: by a word, as in `POSITIVE`, `neg`, `P` and `ESI Negative`, or by a sign before or
    /// behind it, as in `-`, `ESI-`, `APCI(+)` and `+ESI`; none of one that says both or neither.
    pub(crate) fn of_mode(mode: &str) -> Option<Self> {
        let mode = mode.to_lowercase().replace(['−', '–'], "-");
        let mode = mode.trim_matches([' ', '\t', '(', ')', '[', ']']);
        let says = |word: &str, letter: &str| mode.contains(word) || mode == letter;
        let has = |sign: char| mode.starts_with(sign) || mode.ends_with(sign);
        let said = match [says("pos", "p"), says("neg", "n")] {
            [false, false] => [has('+') || mode == "1", has('-')],
            words => words,
        };
        match said {
            [true, false] => Some(Self::Positive),
            [false, true] => Some(Self::Negative),
            [true, true] | [false, false] => None,
        }
    }
}
