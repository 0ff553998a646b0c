use super::cosine::CosineOf;
use super::formula::Values;
use crate::features::RowKind;

pub(super) struct Hamming;

impl CosineOf for Hamming {
    const ROWS: &'static [RowKind] = &[RowKind::Bits, RowKind::Sparse];
    const VALUES: Option<Values> = Some(("0, 1", |value| value == 0.0 || value == 1.0));
}
