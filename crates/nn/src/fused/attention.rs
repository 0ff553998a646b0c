use burn::backend::flex::FlexTensor;

use super::buffer::{Fresh, contiguous, sides, values, wrap};
use super::heads::{HeadGradients, Heads, Setting};
use super::operation::CpuOp;

/// Every token attends: `qkv` `[n, 3d]` to `[n, d]`.
#[derive(Clone, Debug)]
pub struct Attention(pub Setting);

impl CpuOp<1> for Attention {
    /// The input, and the logarithms of the sums of each row's exponentials.
    type Saved = (FlexTensor, Vec<f32>);

    fn forward(&self, [qkv]: [FlexTensor; 1]) -> (FlexTensor, Self::Saved) {
        let (y, log_sums) = packed(&qkv, &self.0).forward();
        (y, (qkv, log_sums))
    }

    fn backward(
        self,
        (qkv, log_sums): Self::Saved,
        dy: FlexTensor,
        [wanted]: [bool; 1],
    ) -> [Option<FlexTensor>; 1] {
        if !wanted {
            return [None];
        }
        let dy = contiguous(dy);
        let (n, width) = sides(&qkv);
        let d = width / 3;
        let mut gradient = Fresh::new(n * width);
        let start = gradient.as_mut_ptr();
        // SAFETY: the three parts lie side by side in rows of `width`; the call writes every row, since
        // texts have no padding
        let gradient = unsafe {
            let parts = HeadGradients::new(start, start.add(d), start.add(2 * d));
            packed(&qkv, &self.0).backward(&log_sums, values(&dy), parts);
            gradient.written()
        };
        [Some(wrap(gradient, [n, width]))]
    }
}

/// Each text's first token attends: `q` `[texts, d]` and `kv` `[n, 2d]` to `[texts, d]`.
#[derive(Clone, Debug)]
pub struct FirstAttention(pub Setting);

impl CpuOp<2> for FirstAttention {
    /// The inputs, and the logarithms of the sums of each row's exponentials.
    type Saved = ([FlexTensor; 2], Vec<f32>);

    fn forward(&self, [q, kv]: [FlexTensor; 2]) -> (FlexTensor, Self::Saved) {
        let (y, log_sums) = first(&q, &kv, &self.0).forward();
        (y, ([q, kv], log_sums))
    }

    fn backward(
        self,
        ([q, kv], log_sums): Self::Saved,
        dy: FlexTensor,
        [of_q, of_kv]: [bool; 2],
    ) -> [Option<FlexTensor>; 2] {
        let dy = contiguous(dy);
        let ((texts, d), (n, width)) = (sides(&q), sides(&kv));
        let (mut dq, mut dkv) = (Fresh::new(texts * d), Fresh::new(n * width));
        let start = dkv.as_mut_ptr();
        // SAFETY: as above, with the gradient of the queries in a separate matrix
        let (dq, dkv) = unsafe {
            let parts = HeadGradients::new(dq.as_mut_ptr(), start, start.add(d));
            first(&q, &kv, &self.0).backward(&log_sums, values(&dy), parts);
            (dq.written(), dkv.written())
        };
        [of_q.then(|| wrap(dq, [texts, d])), of_kv.then(|| wrap(dkv, [n, width]))]
    }
}

/// Queries, keys and values side by side in the columns of one matrix.
fn packed<'a>(qkv: &'a FlexTensor, setting: &'a Setting) -> Heads<'a> {
    let (_, width) = sides(qkv);
    let d = width / 3;
    let all = values(qkv);
    Heads {
        queries: all,
        query_width: width,
        query_rows: setting.sequences.ranges().collect(),
        keys: &all[d..],
        values: &all[2 * d..],
        key_width: width,
        rows: setting.sequences.rows(),
        d,
        setting,
    }
}

/// One query a text.
fn first<'a>(q: &'a FlexTensor, kv: &'a FlexTensor, setting: &'a Setting) -> Heads<'a> {
    let ((texts, d), (_, width)) = (sides(q), sides(kv));
    let all = values(kv);
    Heads {
        queries: values(q),
        query_width: d,
        query_rows: (0..texts).map(|i| i..i + 1).collect(),
        keys: all,
        values: &all[d..],
        key_width: width,
        rows: texts,
        d,
        setting,
    }
}
