//! The mode of a forward pass, with the keys of its dropout masks.

use burn::tensor::Tensor;
use dsokr_core::random::finalise;
use dsokr_kernels::{Dropout, masked};

use crate::error::{Error, check};

/// The mode of a forward pass: dropout acts in training only.
///
/// The mode is an argument, not a state of the module, so a model cannot be left in the wrong one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// An evaluation pass without dropout; the output is a function of the input only.
    Evaluate,
    /// Dropout acts: a pass made by [`Pass::train`].
    Train(Masks),
}

/// The dropout masks of a training pass, and counts of what precedes its inputs in their batch. Nothing precedes them
/// unless they are a part of the batch. Counts wrap around, as the numbers of elements do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Masks {
    pub(crate) key: u64,
    /// Number of inputs.
    pub(crate) inputs: u32,
    /// Sum of their lengths.
    pub(crate) lengths: u32,
    /// Sum of the squares of these lengths.
    pub(crate) squares: u32,
    /// Sum of their numbers of entries.
    pub(crate) entries: u32,
}

impl Pass {
    /// Creates a training pass. Dropout masks are functions of `key`, the layer and the element's index: the same key
    /// gives the same masks whatever the number of threads, so a resumed run needs no stored state. The key differs
    /// from step to step, for example drawn from (seed, "dropout", step).
    pub fn train(key: u64) -> Self {
        Self::Train(Masks { key, ..Masks::default() })
    }

    /// Returns the key of a training pass, or of the part of one: the seed of an encoder that draws its masks itself.
    pub fn key(self) -> Option<u64> {
        match self {
            Self::Train(masks) => Some(finalise(masks.key ^ u64::from(masks.inputs))),
            Self::Evaluate => None,
        }
    }

    /// Returns the dropout at one place of a model, or `None` if nothing is dropped: in evaluation, or with
    /// probability 0. Places with the same `site` share their masks. Elements are counted from 0.
    ///
    /// `probability` must lie in `[0, 1)`; configurations check it.
    pub fn dropout(self, site: u64, probability: f32) -> Option<Dropout> {
        self.row_dropout(site, probability, 0, |_| 0)
    }

    /// Returns the [dropout](Self::dropout) of the [entries](crate::Encoder::entries) of the inputs with `width`
    /// elements each, in which a part of a batch has the masks of the whole batch.
    pub fn entry_dropout(self, site: u64, probability: f32, width: usize) -> Option<Dropout> {
        self.row_dropout(site, probability, width, |masks| masks.entries)
    }

    /// Returns the [dropout](Self::dropout) of rows of `width` elements. `preceding` elements of the batch lie before
    /// those of this pass.
    pub(crate) fn row_dropout(
        self,
        site: u64,
        probability: f32,
        width: usize,
        preceding: impl Fn(Masks) -> u32,
    ) -> Option<Dropout> {
        match self {
            // NaN is no probability: it makes the pass NaN, which is noticed
            Self::Train(masks) if probability > 0.0 || probability.is_nan() => {
                let mask = Dropout::new(masks.key, site, probability);
                Some(mask.after(preceding(masks).wrapping_mul(width as u32)))
            }
            Self::Train(_) | Self::Evaluate => None,
        }
    }
}

/// Checks a dropout probability.
pub(crate) fn check_dropout(key: &'static str, probability: f32) -> Result<(), Error> {
    check((0.0..1.0).contains(&probability), key, probability, "a number in [0, 1)")
}

/// Drops elements of `x` with probability `p` in a training pass; see [`Pass::dropout`]. The first dimension
/// is that of the inputs.
pub fn dropout<const D: usize>(x: Tensor<D>, pass: Pass, site: u64, p: f32) -> Tensor<D> {
    let row: usize = x.dims()[1..].iter().product();
    masked(x, pass.row_dropout(site, p, row, |masks| masks.inputs))
}
