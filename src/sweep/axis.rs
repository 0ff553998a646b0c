//! The values of one key that a sweep tries.

use std::collections::BTreeSet;
use std::str::FromStr;

use dsokr_basis::random::generator;
use rand::{Rng, RngExt};

use crate::Error;

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
    /// These values, as TOML, or as a string where that is no TOML value.
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
        let allowed = "allowed is section.key=a,b,… or section.key=low..high, :log behind it for a \
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
    let (low, high) = (end(low)?, end(high)?);
    let holds = low < high && (!logarithmic || low > 0.0);
    holds.then_some(AxisValues::Range { low, high, logarithmic, whole })
}

/// The values between commas that are in no bracket and in no quotation marks.
fn list(text: &str) -> Option<Vec<String>> {
    let (mut values, mut depth, mut quote) = (vec![String::new()], 0usize, None);
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

/// All combinations of the values of axes; the last axis changes fastest.
///
/// # Errors
/// [`Error::Value`] for no axis, for a range, and for more than 10,000 settings.
pub fn grid(axes: &[Axis]) -> Result<Vec<Setting>, Error> {
    check(axes)?;
    let mut settings: Vec<Setting> = vec![Vec::new()];
    for Axis { key, values } in axes {
        let AxisValues::List(values) = values else {
            let allowed = "a list of values: a range needs the argument random";
            return Err(Error::value("the argument grid", format!("a range of {key}"), allowed));
        };
        if settings.len().saturating_mul(values.len()) > MOST {
            let found = format!("{} × {} settings", settings.len(), values.len());
            return Err(Error::value("the argument grid", found, format!("at most {MOST}")));
        }
        let extended = settings.iter().flat_map(|setting| {
            values.iter().map(|value| {
                let own = (key.clone(), value.clone());
                setting.iter().cloned().chain([own]).collect()
            })
        });
        settings = extended.collect();
    }
    Ok(distinct(settings))
}

/// `count` settings, each value drawn uniformly: of a list, or of a range, with four digits.
///
/// Setting i draws from the generator of (`seed`, "sweep", i), so that a larger count begins with the
/// same settings. Settings that are drawn twice are left out.
///
/// # Errors
/// [`Error::Value`] for no axis, and for a count of 0 or above 10,000.
pub fn random(axes: &[Axis], count: usize, seed: u64) -> Result<Vec<Setting>, Error> {
    check(axes)?;
    if !(1..=MOST).contains(&count) {
        return Err(Error::value("the argument random", count, format!("1 to {MOST}")));
    }
    let setting = |at: usize| {
        let mut random = generator(seed, "sweep", at as u64);
        axes.iter().map(|axis| (axis.key.clone(), axis.values.draw(&mut random))).collect()
    };
    Ok(distinct((0..count).map(setting).collect()))
}

fn check(axes: &[Axis]) -> Result<(), Error> {
    let keys: Vec<&str> = axes.iter().map(|axis| axis.key.as_str()).collect();
    if keys.is_empty() {
        return Err(Error::value(
            "the argument grid",
            "absent",
            "at least one key with its values",
        ));
    }
    match (1..keys.len()).find(|&at| keys[..at].contains(&keys[at])) {
        None => Ok(()),
        Some(at) => {
            Err(Error::value("the argument grid", format!("{} twice", keys[at]), "each key once"))
        }
    }
}

/// The settings without those that came before.
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
                // of whole numbers, each end has the share of a number between
                let (from, to) = if whole { (low - 0.5, high + 0.5) } else { (low, high) };
                let share: f64 = random.random();
                let drawn = match logarithmic {
                    true => (from.ln() + share * (to.ln() - from.ln())).exp(),
                    false => from + share * (to - from),
                };
                if whole {
                    return format!("{}", drawn.round().clamp(low, high));
                }
                let short = format!("{drawn:.3e}").parse().unwrap_or(drawn);
                format!("{:?}", short.clamp(low, high))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(text: &str) -> Axis {
        text.parse().unwrap()
    }

    #[test]
    fn axes_are_lists_or_ranges() {
        let values = |text: &str| match axis(text).values {
            AxisValues::List(values) => values.join(" | "),
            AxisValues::Range { .. } => panic!("{text}"),
        };
        assert_eq!(values("training.learning_rate=1e-3,3e-3"), "1e-3 | 3e-3");
        assert_eq!(values("encoder.hidden=[16], [32, 8]"), "[16] | [32, 8]");
        assert_eq!(values("a.b=\"x,y\",z"), "\"x,y\" | z");
        assert_eq!(values("data.train=\"../a.tsv\""), "\"../a.tsv\"");
        let expected = AxisValues::Range { low: 1e-4, high: 1e-2, logarithmic: true, whole: false };
        assert_eq!(axis("training.learning_rate=1e-4..1e-2:log").values, expected);
        let expected = AxisValues::Range { low: 10.0, high: 40.0, logarithmic: false, whole: true };
        assert_eq!(axis("sketch.size=10..40").values, expected);
        for wrong in
            ["a", "=1", "a.=1", "a=", "a=1,,2", "a=[1", "a=1]", "a=2..1", "a=0..1:log", "a=1..x"]
        {
            assert!(wrong.parse::<Axis>().unwrap_err().contains(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_grid_is_a_product_and_random_settings_are_in_their_ranges() {
        let axes = [axis("a=1,2"), axis("b=x,y,x")];
        let text: Vec<String> = grid(&axes)
            .unwrap()
            .iter()
            .map(|setting| setting.iter().map(|(_, value)| value.as_str()).collect())
            .collect();
        assert_eq!(text, ["1x", "1y", "2x", "2y"]);
        assert!(grid(&[]).is_err());
        assert!(grid(&[axis("a=1..2")]).unwrap_err().to_string().contains("the argument random"));
        assert!(grid(&[axis("a=1"), axis("a=2")]).unwrap_err().to_string().contains("a twice"));

        let axes = [axis("rate=1e-4..1e-2:log"), axis("size=1..3"), axis("name=p,q")];
        let drawn = random(&axes, 200, 7).unwrap();
        assert_eq!(random(&axes, 50, 7).unwrap(), drawn[..50]);
        let number = |setting: &Setting, at: usize| setting[at].1.parse::<f64>().unwrap();
        let below = drawn.iter().filter(|setting| number(setting, 0) < 1e-3).count();
        assert!((70..130).contains(&below), "half of the logarithms: {below}");
        for size in 1..=3 {
            let count = drawn.iter().filter(|s| s[1].1 == size.to_string()).count();
            assert!((40..95).contains(&count), "{size}: {count} of {}", drawn.len());
        }
        assert!(drawn.iter().all(|setting| (1e-4..=1e-2).contains(&number(setting, 0))));
        for count in [0, 10_001, usize::MAX] {
            let error = random(&axes, count, 7).unwrap_err().to_string();
            assert!(error.contains(&format!("{count}")) && error.contains("1 to 10000"), "{error}");
        }
        let hundred = (0..100).map(|value| value.to_string()).collect::<Vec<_>>().join(",");
        let axes = ["a", "b", "c"].map(|key| axis(&format!("{key}={hundred}")));
        assert_eq!(grid(&axes[..2]).unwrap().len(), 10_000);
        let error = grid(&axes).unwrap_err().to_string();
        assert!(error.contains("10000 × 100") && error.contains("at most 10000"), "{error}");
    }
}
