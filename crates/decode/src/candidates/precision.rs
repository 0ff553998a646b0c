use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// Metadata key of the precision of a shard.
pub(super) const PRECISION: &str = "precision";

/// How shards keep the coordinates of candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// As they are, in 32 bits; from 256 MiB of them on with codes of 8 bits beside them. Answers are those of
    /// the candidates.
    #[default]
    F32,
    /// Rounded to 16 bits, half the bytes, with codes as [`F32`](Self::F32) has them. Answers are those of the
    /// candidates with rounded coordinates.
    F16,
    /// As they are, with codes of 8 bits beside them, a quarter more bytes, which are read in their place for all
    /// but the few candidates that the bound on their error leaves in doubt. Answers are those of the candidates.
    I8,
}

impl Display for Precision {
    fn fmt(&self, out: &mut Formatter) -> std::fmt::Result {
        out.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::I8 => "i8",
        })
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::F32, Self::F16, Self::I8];
        let named = all.into_iter().find(|own| own.to_string() == text);
        named.ok_or_else(|| format!("{text:?} is none of f32, f16 and i8"))
    }
}
