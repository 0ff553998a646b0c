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

    /// Returns 1 for positive ions, -1 for negative ones.
    pub(crate) fn sign(self) -> f64 {
        match self {
            Self::Positive => 1.0,
            Self::Negative => -1.0,
        }
    }

    /// Creates the polarity of an ion mode: by a word, as in `POSITIVE`, `Négatif`, `esi_neg` and `anion`; else by a letter at its start or
    /// end, as in `P`, `N.` and `P (ESI)`, by `PI` and `NI` at its start, or by a sign before or behind a word, as in `-`,
    /// `APCI(+)` and `ESI+ QTOF`; none of one that says both or neither.
    pub(crate) fn of_mode(mode: &str) -> Option<Self> {
        // a dash between blanks divides words
        let mode = mode.to_lowercase().replace(['−', '–'], "-").replace(" - ", " ");
        let words: Vec<&str> =
            mode.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let has_word = |stems: &[&str]| {
            let has_stem = |word: &&str| {
                stems.iter().any(|stem| word.starts_with(stem) || word.ends_with(stem))
            };
            words.iter().any(has_stem)
        };
        let has_ion = |ions: [&str; 2]| words.iter().any(|word| ions.contains(word));
        // several letters are an abbreviation, such as `N.A.`
        let letters = words.iter().filter(|word| word.len() == 1).count();
        let [first, last] = [words.first(), words.last()];
        let has_letter = |letter: &str, ions: &str| {
            let is_at_edge = [first, last].contains(&Some(&letter));
            (is_at_edge && letters == 1) || first == Some(&ions)
        };
        let signed = mode.split(|c: char| !c.is_alphanumeric() && !['+', '-'].contains(&c));
        let has_sign =
            |sign: char| signed.clone().any(|word| word.starts_with(sign) || word.ends_with(sign));
        let positive = has_word(&["pos"]) || has_ion(["cation", "cations"]);
        let negative = has_word(&["neg", "nég"]) || has_ion(["anion", "anions"]);
        let said = match [positive, negative] {
            [false, false] => [
                has_letter("p", "pi") || has_sign('+') || mode.trim() == "1",
                has_letter("n", "ni") || has_sign('-'),
            ],
            words => words,
        };
        match said {
            [true, false] => Some(Self::Positive),
            [false, true] => Some(Self::Negative),
            [true, true] | [false, false] => None,
        }
    }
}
