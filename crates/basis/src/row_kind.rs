/// The three kinds of feature rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RowKind {
    /// `f32` numbers, every column stored.
    Dense,
    /// One bit a column.
    Bits,
    /// `f32` numbers, only the non-zero columns stored.
    Sparse,
}

impl std::fmt::Display for RowKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Dense => "dense",
            Self::Bits => "bit",
            Self::Sparse => "sparse",
        })
    }
}

impl std::str::FromStr for RowKind {
    type Err = ();

    /// From the name that it is displayed by.
    fn from_str(name: &str) -> Result<Self, ()> {
        let mut kinds = [Self::Dense, Self::Bits, Self::Sparse].into_iter();
        kinds.find(|kind| kind.to_string() == name).ok_or(())
    }
}
