//! The values of one key that a sweep tries.

use std::collections::BTreeSet;
use std::str::FromStr;

use dsokr_core::Argument;
use dsokr_core::message::four_digits;
use dsokr_core::random::generator;
use rand::{Rng, RngExt};

use crate::error::{Error, ensure};

/// A key of the configuration and the values to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The key, e.g. `training.learning_rate`.
    pub key: String,
    /// Its values.
    pub values: AxisValues,
}

/// The values of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum AxisValues {
    /// Listed values, as TOML, or as a string where that is not a TOML value.
    List(Vec<String>),
    /// Numbers from `low` to `high`, for random search.
    Range {
        /// The lower end.
        low: f64,
        /// The upper end, above the lower one.
        high: f64,
        /// Whether logarithms are drawn uniformly, not the numbers.
        logarithmic: bool,
        /// Whether numbers are whole: both ends were written so, and the key is not one of fractions.
        whole: bool,
    },
}

/// The most settings of a sweep.
const MOST: usize = 10_000;

/// One value for each key of a sweep, in the order of its axes.
pub type Setting = Vec<(String, String)>;

impl FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = "expected section.key=a,b,… or section.key=low..high, :log behind it for a \
                       logarithmic scale";
        let wrong = || format!("{text:?}: {allowed}");
        let (key, values) = text.split_once('=').ok_or_else(wrong)?;
        let key = key.trim();
        if key.is_empty() || key.split('.').any(|part| part.trim().is_empty()) {
            return Err(wrong());
        }
        let values = values.trim();
        let quoted = values.starts_with(['"', '\'', '[', '{']);
        let values = match values.split_once("..") {
            Some((low, high)) if !quoted => range(low, high).ok_or_else(wrong)?,
            _ => AxisValues::List(list(values).ok_or_else(wrong)?),
        };
        Ok(Self { key: key.to_owned(), values })
    }
}

fn range(low: &str, high: &str) -> Option<AxisValues> {
    let (high, logarithmic) = match high.strip_suffix(":log") {
        Some(high) => (high, true),
        None => (high, false),
    };
    let whole = [low, high].iter().all(|end| end.trim().parse::<i64>().is_ok());
    let end = |text: &str| text.trim().parse::<f64>().ok().filter(|end| end.is_finite());
    let low = end(low)?;
    let high = end(high)?;
    let holds = low < high && (!logarithmic || low > 0.0);
    holds.then_some(AxisValues::Range { low, high, logarithmic, whole })
}

/// Returns the values between commas that are in no bracket and in no quotation marks.
fn list(text: &str) -> Option<Vec<String>> {
    let mut values = vec![String::new()];
    let mut depth = 0usize;
    let mut quote = None;
    for c in text.chars() {
        match (c, quote) {
            (',', None) if depth == 0 => {
                values.push(String::new());
                continue;
            }
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth = depth.checked_sub(1)?,
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
        values.last_mut()?.push(c);
    }
    let values: Vec<String> = values.into_iter().map(|value| value.trim().to_owned()).collect();
    (depth == 0 && quote.is_none() && !values.iter().any(String::is_empty)).then_some(values)
}

/// Returns all combinations of the values of axes; the last axis changes fastest.
///
/// # Errors
/// [`dsokr_core::Error::Value`] for no axis, for a range, and for more than 10,000 settings.
pub fn grid(axes: &[Axis]) -> Result<Vec<Setting>, Error> {
    check(axes)?;
    let mut settings: Vec<Setting> = vec![Vec::new()];
    for Axis { key, values } in axes {
        let AxisValues::List(values) = values else {
            let allowed =
                format_args!("a list of values: a range needs {}", Argument::new("random"));
            return Err(Error::value(Argument::new("grid"), format!("a range of {key}"), allowed));
        };
        let all = settings.len().saturating_mul(values.len());
        let product = format!("{} × {} settings", settings.len(), values.len());
        ensure(all <= MOST, Argument::new("grid"), product, format!("at most {MOST}"))?;
        let extended = settings.iter().flat_map(|setting| {
            values.iter().map(|value| {
                let pair = (key.clone(), value.clone());
                setting.iter().cloned().chain([pair]).collect()
            })
        });
        settings = extended.collect();
    }
    Ok(distinct(settings))
}

/// Draws `count` settings, each value uniformly: of a list, or of a range, with four digits.
///
/// Setting i draws from the generator of (`seed`, "sweep", i), so that a larger count begins with the
/// same settings. Settings that are drawn twice are left out.
///
/// # Errors
/// [`dsokr_core::Error::Value`] for no axis, and for a count of 0 or above 10,000.
pub fn random(axes: &[Axis], count: usize, seed: u64) -> Result<Vec<Setting>, Error> {
    check(axes)?;
    let allowed = format!("1 to {MOST}");
    ensure((1..=MOST).contains(&count), Argument::new("random"), count, allowed)?;
    let setting = |at: usize| {
        let mut random = generator(seed, "sweep", at as u64);
        axes.iter().map(|axis| (axis.key.clone(), axis.values.draw(&mut random))).collect()
    };
    Ok(distinct((0..count).map(setting).collect()))
}

fn check(axes: &[Axis]) -> Result<(), Error> {
    let keys: Vec<&str> = axes.iter().map(|axis| axis.key.as_str()).collect();
    let allowed = "at least one key with its values";
    ensure(!keys.is_empty(), Argument::new("grid"), "absent", allowed)?;
    let again = (1..keys.len()).find(|&at| keys[..at].contains(&keys[at]));
    let repeated = again.map(|at| format!("{} twice", keys[at])).unwrap_or_default();
    ensure(again.is_none(), Argument::new("grid"), repeated, "each key once")
}

/// Returns the settings without those that came before.
fn distinct(mut settings: Vec<Setting>) -> Vec<Setting> {
    let mut seen = BTreeSet::new();
    settings.retain(|setting| seen.insert(setting.clone()));
    settings
}

impl AxisValues {
    fn draw(&self, random: &mut impl Rng) -> String {
        match *self {
            Self::List(ref values) => values[random.random_range(0..values.len())].clone(),
            Self::Range { low, high, logarithmic, whole } => {
                // each end of a range of whole numbers has the share of a number between
                let (from, to) = if whole { (low - 0.5, high + 0.5) } else { (low, high) };
                let share: f64 = random.random();
                let drawn = if logarithmic {
                    (from.ln() + share * (to.ln() - from.ln())).exp()
                } else {
                    from + share * (to - from)
                };
                if whole {
                    return format!("{}", drawn.round().clamp(low, high));
                }
                format!("{:?}", four_digits(drawn).clamp(low, high))
            }
        }
    }
}
