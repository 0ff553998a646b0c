//! Parts of the training pairs that models are fitted without.

use dsokr_core::random::generator;
use dsokr_data::{Dataset, divide};

use crate::error::{Error, ensure};

/// The key by which a run keeps held-out predictions.
pub(crate) const HELD_OUT: &str = "decoding.held_out";

/// How training pairs are divided. A model is fitted without each of the first parts, and predicts for it.
#[derive(Clone, Copy)]
pub(crate) struct Folds {
    /// The key of the configuration that needs the parts.
    pub key: &'static str,
    /// Whether the table of this key has their number, as `folds`; else that is fixed.
    pub has_count: bool,
    /// Number of parts.
    pub count: usize,
    /// Number of parts that are held out.
    pub held_out_folds: usize,
}

impl Folds {
    /// Refuses numbers out of range.
    pub fn validate(self) -> Result<(), Error> {
        let Self { key, count, held_out_folds, .. } = self;
        ensure(count > 1, format_args!("{key}.folds"), count, "at least 2")?;
        let holds = (1..=count).contains(&held_out_folds);
        let key = format_args!("{key}.held_out_folds");
        ensure(holds, key, held_out_folds, format_args!("1 to {count}, the number of parts"))
    }

    /// Returns the parts of the training pairs that are held out, drawn by a seed, of about equal sizes. What validation keeps
    /// apart stays together ([`Dataset::training_groups`]).
    pub fn draw(self, dataset: &Dataset, seed: u64) -> Result<Vec<Vec<usize>>, Error> {
        let all: Vec<usize> = (0..dataset.train.ids.len()).collect();
        self.draw_among(dataset, &all, seed)
    }

    /// Divides some of the training pairs, which are given in rising order, as [`draw`](Self::draw) divides all. It is a
    /// division of its own: two pairs that are in one part of all may be in two of these.
    pub fn draw_among(
        self,
        dataset: &Dataset,
        pairs: &[usize],
        seed: u64,
    ) -> Result<Vec<Vec<usize>>, Error> {
        let mut groups = dataset.training_groups();
        groups.iter_mut().for_each(|group| group.retain(|pair| pairs.binary_search(pair).is_ok()));
        groups.retain(|group| !group.is_empty());
        let n = groups.len();
        if !(2..=n).contains(&self.count) {
            let counted = if n == pairs.len() {
                "training pairs"
            } else if dataset.train.named_groups().is_some() {
                "groups of training pairs"
            } else {
                "outputs of training pairs"
            };
            return Err(self.refused(n, counted));
        }
        let mut parts = divide(groups, self.count, &mut generator(seed, "folds", 0));
        parts.truncate(self.held_out_folds);
        Ok(parts)
    }

    /// Returns the error for more parts than there are of what they hold, `n` things that are `counted`.
    fn refused(self, n: usize, counted: &str) -> Error {
        let Self { key, has_count, count, .. } = self;
        if has_count && n >= 2 {
            let possible = if n == 2 { "2".to_owned() } else { format!("2 to {n}") };
            let allowed = format_args!("{possible}, the number of {counted}");
            return Error::value(format_args!("{key}.folds"), count, allowed);
        }
        let value = if key == HELD_OUT { "true" } else { "given" };
        let because = format_args!(
            "models are fitted without each of {count} parts, but the number of {counted} is {n}; remove it"
        );
        Error::refused(key, value, because)
    }

    /// Returns the number of the n pairs without the largest part.
    pub fn rest(self, n: usize) -> usize {
        n - n.div_ceil(self.count.max(1)).min(n)
    }
}

/// One of so many pairs that a model was fitted to is [repeated].
pub(crate) const REPEATED: usize = 8;

/// Returns the pairs that a model was fitted to and predicts for all the same.
pub(crate) fn repeated(learned: &[usize]) -> Vec<usize> {
    learned.iter().copied().step_by(REPEATED).collect()
}

/// Returns the others of n pairs.
pub(crate) fn rest(held: &[usize], n: usize) -> Vec<usize> {
    outside(0..n, held)
}

/// Returns the pairs that are not in a part of them.
pub(crate) fn without(pairs: &[usize], part: &[usize]) -> Vec<usize> {
    outside(pairs.iter().copied(), part)
}

fn outside(pairs: impl Iterator<Item = usize>, part: &[usize]) -> Vec<usize> {
    pairs.filter(|pair| part.binary_search(pair).is_err()).collect()
}
