//! A test of paired differences by their signs.

use dsokr_core::random::{below, generator};
use dsokr_core::{Cancellation, Error};
use rayon::prelude::*;

use crate::error::check_least;

/// The most differences of which all signs are tried.
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
    check_least(draws, 1, "no draws of signs")?;
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
    if signed.len() <= EXACT {
        let count: u32 = 1 << signed.len();
        let sum_of = |signs: u32| -> f64 {
            let value = |(at, value): (usize, &f64)| {
                if signs >> at & 1 == 1 { -value } else { *value }
            };
            signed.iter().enumerate().map(value).sum()
        };
        let extreme = (0..count).filter(|&signs| sum_of(signs).abs() >= least).count();
        return Ok(extreme as f64 / f64::from(count));
    }

    let stage = Cancellation::current().stage("signs of differences", draws);
    let is_extreme = |draw: u64| {
        stage.advance(1)?;
        let mut random = generator(seed, "signs", draw);
        let mut drawn_sum = 0.0;
        for part in signed.chunks(SIGNS) {
            let mut signs = below(&mut random, 1 << SIGNS);
            for value in part {
                drawn_sum += if signs & 1 == 1 { -value } else { *value };
                signs >>= 1;
            }
        }
        Ok(drawn_sum.abs() >= least)
    };
    let extreme: Result<Vec<bool>, Error> =
        (0..draws as u64).into_par_iter().map(is_extreme).collect();
    let extreme = extreme?.into_iter().filter(|&is_extreme| is_extreme).count();
    Ok((1 + extreme) as f64 / (1 + draws) as f64)
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
}
