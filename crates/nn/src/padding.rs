use burn::tensor::{Device, Int, Tensor, TensorData};

/// A batch of id sequences, padded to the longest.
#[derive(Clone, Debug)]
pub struct Padded {
    /// The ids `[batch, length]`, padded with 0.
    pub ids: Tensor<2, Int>,
    /// 1 for an id and 0 for padding, `[batch, length, 1]`: a factor of token vectors.
    pub mask: Tensor<3>,
    /// Number of ids of each sequence `[batch, 1]`, at least 1.
    pub lengths: Tensor<2>,
}

/// Pads a batch of sequences with zeros to the length of the longest, at least 1.
///
/// Padding must not reach the output of an encoder: multiply by `mask` before every operation that
/// mixes positions, and before a sum over positions. [`contract::check`](crate::contract::check)
/// detects padding that does.
pub fn pad<T: AsRef<[u32]>>(batch: &[&T], device: &Device) -> Padded {
    let batch: Vec<&[u32]> = batch.iter().map(|ids| ids.as_ref()).collect();
    let length = batch.iter().map(|ids| ids.len()).max().unwrap_or(0).max(1);
    let mut ids = vec![0i32; batch.len() * length];
    let mut mask = vec![0.0f32; ids.len()];
    let rows = ids.chunks_exact_mut(length).zip(mask.chunks_exact_mut(length));
    for ((ids, mask), sequence) in rows.zip(&batch) {
        ids.iter_mut().zip(sequence.iter()).for_each(|(id, &given)| *id = given as i32);
        mask[..sequence.len()].fill(1.0);
    }
    let lengths: Vec<f32> = batch.iter().map(|ids| ids.len().max(1) as f32).collect();
    let shape = [batch.len(), length];
    Padded {
        ids: Tensor::from_data(TensorData::new(ids, shape), device),
        mask: Tensor::from_data(TensorData::new(mask, [batch.len(), length, 1]), device),
        lengths: Tensor::from_data(TensorData::new(lengths, [batch.len(), 1]), device),
    }
}
