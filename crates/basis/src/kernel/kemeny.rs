use super::cosine::CosineOf;
use super::formula::Values;
use crate::features::RowKind;

pub(super) struct Kemeny;

impl CosineOf for Kemeny {
    const ROWS: &'static [RowKind] = &[RowKind::Dense, RowKind::Sparse];
    const VALUES: Option<Values> = Some(("-1, 0, 1", |value| value == 0.0 || value.abs() == 1.0));
}
