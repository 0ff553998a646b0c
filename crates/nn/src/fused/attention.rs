// The macro's generated dispatch is undocumented.
#![allow(missing_docs)]

use super::buffer::{Fresh, contiguous, input, register, sides, tracked, values, wrap};
use super::engine::*;
use super::heads::{HeadGradients, Heads, Setting};

#[backend_extension(Flex, Autodiff)]
pub trait AttentionOps: Backend {
    /// Every token attends: `qkv` `[n, 3d]` to `[n, d]`.
    fn attend(qkv: FloatTensor<Self>, setting: Setting) -> FloatTensor<Self>;

    /// Each text's first token attends: `q` `[texts, d]` and `kv` `[n, 2d]` to `[texts, d]`.
    fn attend_first(
        q: FloatTensor<Self>,
        kv: FloatTensor<Self>,
        setting: Setting,
    ) -> FloatTensor<Self>;
}

impl AttentionOps for Flex {
    fn attend(qkv: FlexTensor, setting: Setting) -> FlexTensor {
        let qkv = contiguous(qkv);
        packed(&qkv, &setting).forward().0
    }

    fn attend_first(q: FlexTensor, kv: FlexTensor, setting: Setting) -> FlexTensor {
        let (q, kv) = (contiguous(q), contiguous(kv));
        first(&q, &kv, &setting).forward().0
    }
}

impl<C: CheckpointStrategy> AttentionOps for Autodiff<Flex, C> {
    fn attend(qkv: FloatTensor<Self>, setting: Setting) -> FloatTensor<Self> {
        let (qkv, node) = input::<C>(qkv);
        let (y, log_sums) = packed(&qkv, &setting).forward();
        tracked::<C, _, _>(AttendBackward, [node], (qkv, log_sums, setting), y)
    }

    fn attend_first(
        q: FloatTensor<Self>,
        kv: FloatTensor<Self>,
        setting: Setting,
    ) -> FloatTensor<Self> {
        let [(q, q_node), (kv, kv_node)] = [q, kv].map(input::<C>);
        let (y, log_sums) = first(&q, &kv, &setting).forward();
        tracked::<C, _, _>(AttendFirstBackward, [q_node, kv_node], (q, kv, log_sums, setting), y)
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

#[derive(Debug)]
struct AttendBackward;

impl Backward<Flex, 1> for AttendBackward {
    type State = (FlexTensor, Vec<f32>, Setting);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [node] = ops.parents.map(|node| node.map(|node| node.id));
        let (qkv, log_sums, setting) = ops.state;
        let dy = contiguous(grads.consume::<Flex>(&ops.node));
        if node.is_none() {
            return;
        }
        let (n, width) = sides(&qkv);
        let d = width / 3;
        let mut gradient = Fresh::new(n * width);
        let start = gradient.as_mut_ptr();
        // SAFETY: the three parts lie side by side in rows of `width`; the call writes every row, since
        // texts have no padding
        let gradient = unsafe {
            let parts = HeadGradients::new(start, start.add(d), start.add(2 * d));
            packed(&qkv, &setting).backward(&log_sums, values(&dy), parts);
            gradient.written()
        };
        register(grads, node, || wrap(gradient, [n, width]));
    }
}

#[derive(Debug)]
struct AttendFirstBackward;

impl Backward<Flex, 2> for AttendFirstBackward {
    type State = (FlexTensor, FlexTensor, Vec<f32>, Setting);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [q_node, kv_node] = ops.parents.map(|node| node.map(|node| node.id));
        let (q, kv, log_sums, setting) = ops.state;
        let dy = contiguous(grads.consume::<Flex>(&ops.node));
        let ((texts, d), (n, width)) = (sides(&q), sides(&kv));
        let (mut dq, mut dkv) = (Fresh::new(texts * d), Fresh::new(n * width));
        let start = dkv.as_mut_ptr();
        // SAFETY: as above, with the gradient of the queries in a separate matrix
        let (dq, dkv) = unsafe {
            let parts = HeadGradients::new(dq.as_mut_ptr(), start, start.add(d));
            first(&q, &kv, &setting).backward(&log_sums, values(&dy), parts);
            (dq.written(), dkv.written())
        };
        register(grads, q_node, || wrap(dq, [texts, d]));
        register(grads, kv_node, || wrap(dkv, [n, width]));
    }
}
