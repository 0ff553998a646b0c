use super::cosine::CosineOf;
use super::formula::Values;
use crate::features::RowKind;

pub(super) struct NGram;

impl CosineOf for NGram {
    const ROWS: &'static [RowKind] = &[RowKind::Sparse];
    const VALUES: Option<Values> = Some(("0 and more", |value| value >= 0.0));
}
