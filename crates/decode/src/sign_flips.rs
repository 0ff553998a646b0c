//! Tests of two models on the same queries: of differences by their signs, and of any metric by exchanges of answers.

use dsokr_core::random::{below, generator};
use dsokr_core::{Cancellation, Error};
use rayon::prelude::*;

use crate::error::check_least;

/// The most differences, or units, of which all signs are tried.
const EXACT: usize = 12;

/// The number of signs that one random number gives.
const SIGNS: usize = 32;

/// Returns the two-sided p-value of the hypothesis that each of several independent differences is as likely of either
/// sign (Fisher 1935).
///
/// It is the share of all signs that the differences can have of those whose sum is as far from 0 as that of the differences, or
/// farther. Differences of 0 have no sign. All signs of up to 12 others are tried. Of more, `draws` are drawn, and with
/// these and the differences themselves `p = (1 + extreme) / (1 + draws)`. Draw b is from the generator of (`seed`,
/// "signs", b).
///
/// # Errors
/// [`Error::TooFew`] for no draws; [`Error::Value`] for a difference that is not finite, and for differences whose sizes have
/// no finite sum.
///
/// ```
/// use dsokr_decode::sign_flip_p;
///
/// assert_eq!(sign_flip_p(&[1.0], 1000, 0)?, 1.0);
/// assert_eq!(sign_flip_p(&[1.0, 0.0, 0.5, 2.0, 1.0], 1000, 0)?, 0.125);
/// assert_eq!(sign_flip_p(&[0.0; 5], 1000, 0)?, 1.0);
/// assert_eq!(sign_flip_p(&[1.0; 40], 1000, 0)?, 1.0 / 1001.0);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
pub fn sign_flip_p(differences: &[f64], draws: usize, seed: u64) -> Result<f64, Error> {
    for (position, &value) in differences.iter().enumerate() {
        let what = format_args!("difference {position}");
        Error::ensure(value.is_finite(), what, value, "a finite number")?;
    }
    let signed: Vec<f64> = differences.iter().copied().filter(|&value| value != 0.0).collect();
    let sum: f64 = signed.iter().sum();
    let sizes: f64 = signed.iter().map(|value| value.abs()).sum();
    let allowed = "a finite number: scale the differences down";
    Error::ensure(sizes.is_finite(), "the sum of the sizes of differences", sizes, allowed)?;
    // sums are rounded, but equal ones must count as equal
    let least = sum.abs() - 1e-9 * sizes;
    share_of_signs(signed.len(), draws, seed, |is_negative| {
        let value = |(value, is_negative): (&f64, &bool)| {
            if *is_negative { -value } else { *value }
        };
        signed.iter().zip(is_negative).map(value).sum::<f64>().abs() >= least
    })
}

/// Returns the two-sided p-value of the hypothesis that two models may be exchanged in each of `count` independent units, such as
/// queries, by approximate randomisation (Noreen 1989; Yeh 2000).
///
/// `values` returns a metric of both models after the answers to the units that are marked have been exchanged. p is the share
/// of all exchanges after which the two values are as far apart as without any, or farther. All exchanges of up to 12 units are
/// tried. Of more, `draws` are drawn, as the signs of [`sign_flip_p`], and `p = (1 + extreme) / (1 + draws)`. Values that are not
/// known (NaN) count as far apart. Units whose answers are the same are best left out.
///
/// # Errors
/// [`Error::TooFew`] for no draws.
///
/// ```
/// use dsokr_decode::exchange_p;
///
/// let errors: [[f64; 2]; 3] = [[1.0, 2.0], [2.0, 5.0], [0.5, 4.0]];
/// let rmse = |exchanged: &[bool]| {
///     [0, 1].map(|model| {
///         let error = |(errors, exchanged): (&[f64; 2], &bool)| errors[model ^ usize::from(*exchanged)].powi(2);
///         (errors.iter().zip(exchanged).map(error).sum::<f64>() / 3.0).sqrt()
///     })
/// };
/// assert_eq!(exchange_p(3, 1000, 0, rmse)?, 0.25);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
pub fn exchange_p(
    count: usize,
    draws: usize,
    seed: u64,
    values: impl Fn(&[bool]) -> [f64; 2] + Sync,
) -> Result<f64, Error> {
    let [first, other] = values(&vec![false; count]);
    // values are rounded, but equal differences must count as equal
    let least = (first - other).abs() - 1e-9 * (first.abs() + other.abs());
    share_of_signs(count, draws, seed, |exchanged| {
        let [first, other] = values(exchanged);
        let distance = (first - other).abs();
        distance >= least || distance.is_nan() || least.is_nan()
    })
}

/// Returns the share of all ways to mark some of `count` things that are extreme; of more than [`EXACT`] things that of `draws`
/// ways and of the one that marks none, which is extreme.
fn share_of_signs(
    count: usize,
    draws: usize,
    seed: u64,
    is_extreme: impl Fn(&[bool]) -> bool + Sync,
) -> Result<f64, Error> {
    check_least(draws, 1, "no draws of signs")?;
    let is_exact = count <= EXACT;
    let ways = if is_exact { 1 << count } else { draws };
    let stage = Cancellation::current().stage("paired randomisation test", ways);
    let is_way_extreme = |way: u64| {
        stage.advance(1)?;
        let marked = if is_exact { marks(way, count) } else { drawn_marks(seed, way, count) };
        Ok(is_extreme(&marked))
    };
    let extreme: Result<Vec<bool>, Error> =
        (0..ways as u64).into_par_iter().map(is_way_extreme).collect();
    let extreme = extreme?.into_iter().filter(|&is_extreme| is_extreme).count();
    if is_exact {
        return Ok(extreme as f64 / ways as f64);
    }
    // one way more: that which marks none, and is extreme
    Ok((1 + extreme) as f64 / (1 + ways) as f64)
}

/// Returns which of `count` things the lowest bits mark.
fn marks(bits: u64, count: usize) -> Vec<bool> {
    (0..count).map(|at| bits >> at & 1 == 1).collect()
}

/// Returns which of `count` things a draw marks.
fn drawn_marks(seed: u64, draw: u64, count: usize) -> Vec<bool> {
    let mut random = generator(seed, "signs", draw);
    let mut marked = Vec::with_capacity(count);
    while marked.len() < count {
        let signs = below(&mut random, 1 << SIGNS);
        marked.extend(marks(signs, SIGNS.min(count - marked.len())));
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_without_a_finite_sum_are_refused() {
        let message =
            |differences: &[f64]| sign_flip_p(differences, 10, 0).unwrap_err().to_string();
        assert_eq!(message(&[0.1, f64::NAN]), "difference 1 = NaN: expected a finite number");
        assert_eq!(message(&[f64::INFINITY, 1.0]), "difference 0 = inf: expected a finite number");
        let overflow = message(&[1e308, 1e308, 1e308, -1.0]);
        assert!(overflow.starts_with("the sum of the sizes of differences = inf"), "{overflow}");
        let many = [f64::NAN; 40];
        assert_eq!(message(&many), "difference 0 = NaN: expected a finite number");
    }

    #[test]
    fn what_is_no_number_says_nothing_against_equal_models() {
        for count in [3, 40] {
            assert_eq!(exchange_p(count, 10, 0, |_| [f64::NAN, 1.0]).unwrap(), 1.0);
            let of_exchanged = |exchanged: &[bool]| {
                let is_any = exchanged.contains(&true);
                [if is_any { f64::NAN } else { 2.0 }, 1.0]
            };
            assert_eq!(exchange_p(count, 10, 0, of_exchanged).unwrap(), 1.0);
        }
    }
}
