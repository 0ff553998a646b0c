//! Parts of the training pairs that models are fitted without.

use dsokr_core::random::generator;
use dsokr_data::{Dataset, divide};

use crate::error::{Error, ensure};

/// How training pairs are divided. A model is fitted without each of the first parts, and predicts for it.
#[derive(Clone, Copy)]
pub(crate) struct Folds {
    /// The table of the configuration that says so.
    pub key: &'static str,
    /// Number of parts.
    pub count: usize,
    /// Number of parts that are held_out_folds.
    pub held_out_folds: usize,
}

impl Folds {
    /// Refuses numbers out of range.
    pub fn validate(self) -> Result<(), Error> {
        let Self { key, count, held_out_folds } = self;
        ensure(count > 1, format_args!("{key}.folds"), count, "at least 2")?;
        let holds = (1..=count).contains(&held_out_folds);
        let key = format_args!("{key}.held_out_folds");
        ensure(holds, key, held_out_folds, format_args!("1 to {count}, the number of parts"))
    }

    /// The parts of the training pairs that are held_out_folds, drawn by a seed, of about equal sizes. What validation keeps
    /// apart stays together ([`Dataset::training_groups`]).
    pub fn draw(self, dataset: &Dataset, seed: u64) -> Result<Vec<Vec<usize>>, Error> {
        let all: Vec<usize> = (0..dataset.train.ids.len()).collect();
        self.draw_among(dataset, &all, seed)
    }

    /// The same parts of some of the training pairs, which are given in rising order.
    pub fn draw_among(
        self,
        dataset: &Dataset,
        pairs: &[usize],
        seed: u64,
    ) -> Result<Vec<Vec<usize>>, Error> {
        let Self { key, count, held_out_folds } = self;
        let mut groups = dataset.training_groups();
        groups.iter_mut().for_each(|group| group.retain(|pair| pairs.binary_search(pair).is_ok()));
        groups.retain(|group| !group.is_empty());
        let n = groups.len();
        let allowed = if n < 2 {
            "absent: the training pairs are all of one output".to_owned()
        } else if n == pairs.len() {
            format!("2 to {n}, the number of training pairs")
        } else {
            format!("2 to {n}, the number of outputs of training pairs")
        };
        ensure((2..=n).contains(&count), format_args!("{key}.folds"), count, allowed)?;
        let mut parts = divide(groups, count, &mut generator(seed, "folds", 0));
        parts.truncate(held_out_folds);
        Ok(parts)
    }

    /// Number of the n pairs without the largest part.
    pub fn rest(self, n: usize) -> usize {
        n - n.div_ceil(self.count.max(1)).min(n)
    }
}

/// One of so many pairs that a model was fitted to is [repeated].
pub(crate) const REPEATED: usize = 8;

/// The pairs that a model was fitted to and predicts for all the same.
pub(crate) fn repeated(learned: &[usize]) -> Vec<usize> {
    learned.iter().copied().step_by(REPEATED).collect()
}

/// The others of n pairs.
pub(crate) fn rest(held: &[usize], n: usize) -> Vec<usize> {
    outside(0..n, held)
}

/// The pairs that are not in a part of them.
pub(crate) fn without(pairs: &[usize], part: &[usize]) -> Vec<usize> {
    outside(pairs.iter().copied(), part)
}

fn outside(pairs: impl Iterator<Item = usize>, part: &[usize]) -> Vec<usize> {
    pairs.filter(|pair| part.binary_search(pair).is_err()).collect()
}
