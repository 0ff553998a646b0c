use burn::backend::flex::FlexTensor;

use super::buffer::{Shared, UninitBuffer, contiguous, sides, values, wrap};
use super::heads::{Heads, Setting};
use super::operation::CpuOp;

/// Every token attends, of one input: `qkv` `[n, 3d]` to `[n, d]`. Each text's first token attends, of two inputs:
/// `q` `[texts, d]` and `kv` `[n, 2d]` to `[texts, d]`.
#[derive(Clone)]
pub struct Attention(pub Setting);

impl<const N: usize> CpuOp<N> for Attention {
    /// The inputs, and the logarithms of the sums of each row's exponentials.
    type Saved = ([FlexTensor; N], Vec<f32>);

    fn forward(&self, inputs: [FlexTensor; N]) -> (FlexTensor, Self::Saved) {
        let (y, log_sums) = heads(&inputs, &self.0).forward();
        (y, (inputs, log_sums))
    }

    fn backward(
        self,
        (inputs, log_sums): Self::Saved,
        dy: FlexTensor,
        wanted: [bool; N],
    ) -> [Option<FlexTensor>; N] {
        if wanted == [false; N] {
            return wanted.map(|_| None);
        }
        let dy = contiguous(dy);
        let heads = heads(&inputs, &self.0);
        let mut gradients = inputs.each_ref().map(|input| UninitBuffer::new(values(input).len()));
        let starts = gradients.each_mut().map(UninitBuffer::as_mut_ptr);
        // SAFETY: gradients lie as their inputs do, and keys and values side by side behind the queries of one input
        unsafe {
            let keys = starts[N - 1].add(if N == 1 { heads.d } else { 0 });
            let targets = [starts[0], keys, keys.add(heads.d)].map(Shared);
            heads.backward(&log_sums, values(&dy), targets);
        }
        let all = gradients.into_iter().zip(&inputs).zip(wanted);
        let mut all = all.map(|((gradient, input), wanted)| {
            // SAFETY: the call writes every row, since texts have no padding
            let written = unsafe { gradient.written() };
            wanted.then(|| wrap(written, input.layout().shape().clone()))
        });
        std::array::from_fn(|_| all.next().flatten())
    }
}

fn heads<'a, const N: usize>(inputs: &'a [FlexTensor; N], setting: &'a Setting) -> Heads<'a> {
    let ((rows, query_width), (_, key_width)) = (sides(&inputs[0]), sides(&inputs[N - 1]));
    // queries, keys and values lie side by side in the columns of one matrix
    let packed = N == 1;
    let d = if packed { query_width / 3 } else { query_width };
    let keys = &values(&inputs[N - 1])[if packed { d } else { 0 }..];
    Heads {
        queries: values(&inputs[0]),
        query_width,
        query_rows: match packed {
            true => setting.sequences.ranges().collect(),
            false => (0..rows).map(|text| text..text + 1).collect(),
        },
        keys,
        values: &keys[d..],
        key_width,
        rows,
        d,
        setting,
    }
}
