use burn::tensor::{Tensor, activation};

use crate::Pass;
use crate::pass::dropout;

/// Scaled dot-product attention on packed projections: `softmax(q kᵀ / √d_h + mask) v` per head.
///
/// `qkv` `[batch, length, 3d]` holds queries, keys and values side by side; `mask`
/// `[batch, 1, 1, length]` is 0 where a key is a token and very negative where it is padding.
/// Probabilities are dropped at `site`. Returns `[batch, length, d]`.
pub(super) fn attention(
    qkv: Tensor<3>,
    mask: Option<Tensor<4>>,
    heads: usize,
    pass: Pass,
    site: u64,
    drop: f32,
) -> Tensor<3> {
    let [batch, length, triple] = qkv.dims();
    let d = triple / 3;
    let part = |i: usize| {
        let part = qkv.clone().slice([0..batch, 0..length, i * d..(i + 1) * d]);
        part.reshape([batch, length, heads, d / heads]).swap_dims(1, 2)
    };
    let scale = ((d / heads) as f64).sqrt().recip();
    let mut scores = part(0).matmul(part(1).swap_dims(2, 3)) * scale;
    if let Some(mask) = mask {
        scores = scores + mask;
    }
    let probabilities = dropout(activation::softmax(scores, 3), pass, site, drop);
    probabilities.matmul(part(2)).swap_dims(1, 2).reshape([batch, length, d])
}
