//! What rounding to 32 bits leaves of numbers.

use crate::message::{first_of, number};

/// The largest error of rounding to 32 bits, as a share of the range of the numbers.
const MOST: f64 = 1e-3;

/// A range below this share of the largest number, 16 steps of its last place, is what rounding to 64 bits leaves of a constant. More
/// steps may be whole numbers from 2^53 on, which are no constant.
const CONSTANT: f64 = 16.0 * f64::EPSILON;

/// Two numbers alone may be close to each other by chance.
const FEWEST: usize = 3;

/// The range of some numbers, and the largest error of rounding one of them to 32 bits.
///
/// ```
/// use dsokr_core::rounding::{Rounding, check};
///
/// let mut times = Rounding::default();
/// for second in 0..600 {
///     let time = 1_700_000_000.0 + f64::from(second);
///     times.add(time as f32, time);
/// }
/// let refused = check(&[times], false, |column| format!("in column {column}")).unwrap_err();
/// assert_eq!(
///     refused,
///     "the numbers in column 0 lie between 1700000000 and 1700000599, and rounding to 32 bits changes them by up to 64: \
///      subtract a constant from all of them"
/// );
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rounding {
    count: usize,
    least: f64,
    most: f64,
    error: f64,
}

/// What 32 bits leave of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Left {
    /// A constant, which they were before, or too few numbers to say more.
    Constant,
    /// All that tells them apart.
    Apart,
    /// Zeros, or the last digits of numbers that are as small: no number is one of 32 bits with all digits.
    Tiny,
    /// One value, or two that are next to each other.
    Alike,
    /// Several values, whose distances are not those of the numbers.
    Rounded,
}

impl Default for Rounding {
    fn default() -> Self {
        Self { count: 0, least: f64::INFINITY, most: f64::NEG_INFINITY, error: 0.0 }
    }
}

impl Rounding {
    /// Creates the rounding of `count` numbers from the least and the largest of them, and the largest error of rounding one.
    pub fn from_extremes(count: usize, least: f64, most: f64, error: f64) -> Self {
        Self { count, least, most, error }
    }

    /// Adds a number, in 32 and in 64 bits.
    pub fn add(&mut self, narrow: f32, wide: f64) {
        self.count += 1;
        self.least = self.least.min(wide);
        self.most = self.most.max(wide);
        self.error = self.error.max((f64::from(narrow) - wide).abs());
    }

    /// Returns how many numbers have been added.
    pub fn count(&self) -> usize {
        self.count
    }

    fn left(&self) -> Left {
        let Self { count, least, most, error } = *self;
        let range = most - least;
        let size = least.abs().max(most.abs());
        let varies = count >= FEWEST && range > CONSTANT * size;
        if !varies {
            Left::Constant
        } else if error <= MOST * range {
            Left::Apart
        } else if size < f64::from(f32::MIN_POSITIVE) {
            Left::Tiny
        } else if (least as f32).next_up() >= most as f32 {
            Left::Alike
        } else {
            Left::Rounded
        }
    }

    /// Returns what is wrong with these numbers, if they are not told apart, and what to do; `place` says where they are.
    fn refusal(&self, place: &str) -> String {
        let least = number(self.least);
        let most = number(self.most);
        let between = format!("the numbers {place} lie between {least} and {most}");
        if self.left() == Left::Tiny {
            return format!("{between}, too small for 32 bits: multiply all of them by a constant");
        }
        let error = number(self.error);
        format!(
            "{between}, and rounding to 32 bits changes them by up to {error}: subtract a constant from all of them"
        )
    }
}

/// Returns warnings of columns of numbers of which 32 bits leave one value or two, or that are too small for 32 bits, where there
/// are columns that vary: `others` says that there are some beside `columns`. `place` says where a column is.
///
/// # Errors
/// What is wrong with all columns of numbers that 32 bits do not tell apart, and what to do.
pub fn check(
    columns: &[Rounding],
    others: bool,
    place: impl Fn(usize) -> String,
) -> Result<Vec<String>, String> {
    let left: Vec<Left> = columns.iter().map(Rounding::left).collect();
    let some = |wanted: &[Left]| -> Vec<usize> {
        (0..left.len()).filter(|&column| wanted.contains(&left[column])).collect()
    };
    let is_any_apart = others || left.contains(&Left::Apart);
    let refused = if is_any_apart {
        some(&[Left::Rounded])
    } else {
        some(&[Left::Rounded, Left::Alike, Left::Tiny])
    };
    if let [first, rest @ ..] = refused.as_slice() {
        let mut message = columns[*first].refusal(&place(*first));
        if !rest.is_empty() {
            let places = first_of(rest.iter().map(|&column| place(column)));
            message += &format!("; 32 bits do not tell the numbers {places} apart either");
        }
        return Err(message);
    }
    let warning = |lost: Left, what: &str| {
        let columns = some(&[lost]);
        if columns.is_empty() {
            return None;
        }
        let places = first_of(columns.into_iter().map(&place));
        Some(format!("the numbers {places} {what}"))
    };
    let warnings = [
        warning(
            Left::Alike,
            "are one value or two in 32 bits: subtract a constant from all of them, or leave the column out",
        ),
        warning(
            Left::Tiny,
            "are too small for 32 bits and count as zeros: multiply all of them by a constant, or leave the column out",
        ),
    ];
    Ok(warnings.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::{Rounding, check};

    fn message(numbers: &[f64]) -> Option<String> {
        let mut column = Rounding::default();
        for &number in numbers {
            column.add(number as f32, number);
        }
        check(&[column], false, |column| format!("in column {column}")).err()
    }

    #[test]
    fn a_constant_that_is_computed_is_not_refused() {
        assert_eq!(message(&[0.3, 0.1 + 0.2, 0.1 * 3.0, 0.9 / 3.0]), None);
    }

    /// Doubles of this size are 2 apart, and those of 32 bits 2^30.
    #[test]
    fn whole_numbers_from_2_to_the_53_on_are_refused_as_smaller_ones_are() {
        for least in [2f64.powi(40), 2f64.powi(53), -2f64.powi(53) - 200.0] {
            let numbers: Vec<f64> = (0..100).map(|at| least + 2.0 * f64::from(at)).collect();
            let message = message(&numbers).unwrap_or_default();
            assert!(message.contains("subtract a constant from all of them"), "{least}: {message}");
        }
    }
}
