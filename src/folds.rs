//! Parts of the training pairs that models are fitted without.

use dsokr_basis::random::generator;
use dsokr_data::divide;

use crate::Error;
use crate::error::ensure;

/// How training pairs are divided. A model is fitted without each of the first parts, and answers it.
#[derive(Clone, Copy)]
pub(crate) struct Folds {
    /// The table of the configuration that says so.
    pub key: &'static str,
    /// Number of parts.
    pub count: usize,
    /// Number of parts that are answered.
    pub answered: usize,
}

impl Folds {
    /// Refuses numbers out of range.
    pub fn validate(self) -> Result<(), Error> {
        let Self { key, count, answered } = self;
        ensure(count > 1, format_args!("{key}.folds"), count, "at least 2")?;
        let (holds, key) = ((1..=count).contains(&answered), format_args!("{key}.answered"));
        ensure(holds, key, answered, format_args!("1 to {count}, the number of parts"))
    }

    /// The parts of n pairs that are answered, drawn by a seed; sizes differ by one at most.
    pub fn draw(self, n: usize, seed: u64) -> Result<Vec<Vec<usize>>, Error> {
        let Self { key, count, answered } = self;
        let allowed = format_args!("2 to {n}, the number of training pairs");
        ensure((2..=n).contains(&count), format_args!("{key}.folds"), count, allowed)?;
        let pairs = (0..n).map(|pair| vec![pair]).collect();
        let mut parts = divide(pairs, count, &mut generator(seed, "folds", 0));
        parts.truncate(answered);
        Ok(parts)
    }

    /// Number of the n pairs without the largest part.
    pub fn rest(self, n: usize) -> usize {
        n - n.div_ceil(self.count.max(1)).min(n)
    }
}

/// The others of n pairs.
pub(crate) fn rest(held: &[usize], n: usize) -> Vec<usize> {
    (0..n).filter(|pair| held.binary_search(pair).is_err()).collect()
}
