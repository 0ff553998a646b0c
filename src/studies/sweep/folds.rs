//! Cross-validation: a sweep over the parts of the pairs, and its comparison with others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_data::config::{FoldConfig, SplitsConfig};

use super::measured::MeasuredRun;
use super::table::{TABLE, stored};
use super::{Axis, AxisValues, FOLD_SEED, HELD, SweepRun};
use crate::config::{Checked, Override};
use crate::error::{Error, ensure};
use crate::metrics::compare::{
    Compared, MetricComparison, PairedDifference, RunComparison, RunValue,
};
use crate::metrics::mean::MeanAndDeviation;
use crate::metrics::metric::Metric;
use crate::run_dir::RunDir;

/// Repeated k-fold cross-validation of a configuration: a run for each part of each division of the pairs.
#[derive(Clone, Debug)]
pub struct CrossValidation {
    /// Number of parts of the pairs, k; each is held out once.
    pub folds: usize,
    /// Number of times that the pairs are divided anew.
    pub repeats: usize,
    /// Draw validation pairs from the other parts, on which checkpoints, λ and the like are chosen. Without it the part
    /// that is held out is the validation split: what is chosen on it makes its metrics too good.
    pub nested: bool,
    /// The groups that parts do not share: the values of a column of the tables of pairs, or skeleton, the skeletons of molecules.
    pub group: Option<String>,
    /// The seed that draws the parts first; repeats have those after it. That of trainings is the configuration's.
    pub seed: u64,
}

impl CrossValidation {
    /// Returns the changes that all runs share, and the keys in which they differ, for a [`SweepRequest`](super::SweepRequest).
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for less than two parts, and for no repeats.
    pub fn sweep(&self, base: &Checked) -> Result<(Vec<Override>, Vec<Axis>), Error> {
        let Self { folds, repeats, nested, group, seed } = self;
        ensure(*folds > 1, Argument::new("folds"), folds, "at least 2")?;
        let seeds = seed.checked_add(*repeats as u64).filter(|_| (1..=10_000).contains(repeats));
        let seeds = *seed..seeds.ok_or_else(|| {
            Error::value(Argument::new("repeats"), repeats, "1 to 10000, with seeds below 2⁶⁴")
        })?;
        let group =
            group.as_ref().map(|group| format!(", group = {}", toml::Value::from(&**group)));
        let group = group.unwrap_or_default();
        let split = if *nested { "test" } else { "validation" };
        let fold = format!("{{ count = {folds}, held = 1, nested = {nested}{group} }}");
        let mut shared =
            vec![Override::new("data.fold", fold), Override::new("evaluation.split", split)];
        // members of an ensemble divide the same rows, whatever their seeds
        if base.data.facts().splits.is_some_and(SplitsConfig::are_drawn_by_configuration) {
            shared.push(Override::new("data.splits.seed", base.seed));
        }
        let axis = |key: &str, values: Vec<String>| Axis {
            key: key.into(),
            values: AxisValues::List(values),
        };
        let parts = (1..=*folds).map(|part| part.to_string()).collect();
        let seeds = seeds.map(|seed| seed.to_string()).collect();
        Ok((shared, vec![axis(FOLD_SEED, seeds), axis(HELD, parts)]))
    }
}

/// The runs of a cross-validation, by the seed of the division and the part.
struct FoldRuns {
    fold: FoldConfig,
    runs: BTreeMap<Vec<String>, Part>,
}

/// The run of a part.
struct Part {
    metrics: BTreeMap<String, f64>,
    /// What the run was measured on; none where its directory is gone.
    measured: Option<MeasuredRun>,
}

impl FoldRuns {
    fn read(path: &Path, expected: Option<&Checked>) -> Result<(Self, Checked), Error> {
        let refused = |message: String| Error::run(path.join(TABLE), message);
        let absent = || {
            refused(
                "no such file: cross-validations are compared with each other, and runs with runs"
                    .into(),
            )
        };
        let stored = stored(path)?.ok_or_else(absent)?;
        if stored.keys != [FOLD_SEED, HELD] {
            let message =
                format!("a sweep over {}: compared are cross-validations", stored.keys.join(", "));
            return Err(refused(message));
        }
        let first = stored.runs.first().ok_or_else(|| refused("no runs".into()))?;
        // the table may name the folder in other words
        let run_of = |run: &SweepRun| path.join(run.path.file_name().unwrap_or_default());
        let config = RunDir::at(run_of(first)).config()?;
        let fold = |config: &Checked| {
            let fold = config.data.fold.clone();
            fold.map(|fold| FoldConfig { held: 1, seed: 0, ..fold })
        };
        let Some(settings) = fold(&config) else {
            return Err(refused("runs without data.fold".into()));
        };
        if let Some(first) = expected {
            let facts = [&config, first].map(|config| {
                let facts = config.data.facts();
                (fold(config), facts.folder, facts.files, facts.splits)
            });
            if facts[0] != facts[1] {
                let message = "other data or parts than those of the first cross-validation";
                return Err(refused(message.into()));
            }
            if config.data.limit != first.data.limit {
                let pairs = |config: &Checked| match config.data.limit {
                    Some(limit) => format!("{limit} training pairs (data.limit)"),
                    None => "all training pairs".into(),
                };
                let message = format!(
                    "runs of {}, and those of the first cross-validation are of {}: compared are cross-validations with as many",
                    pairs(&config),
                    pairs(first)
                );
                return Err(refused(message));
            }
        }
        let mut runs = BTreeMap::new();
        for run in &stored.runs {
            let SweepRun { setting, metrics, failure, .. } = run;
            if let Some(failure) = failure {
                return Err(refused(format!("part {} failed: {failure}", setting.join(":"))));
            }
            let measured = MeasuredRun::read(&run_of(run), &config)?;
            runs.insert(setting.clone(), Part { metrics: metrics.clone(), measured });
        }
        Ok((Self { fold: settings, runs }, config))
    }

    /// Returns the mean number of pairs of a part to that of the pairs that its run is trained on, which `limit` and a
    /// validation split within the other parts make fewer than those of these parts.
    ///
    /// # Errors
    /// Runs that are gone, of which these numbers are not known.
    fn ratio(&self, limit: Option<usize>, path: &Path) -> Result<f64, Error> {
        let reason = match (limit, self.fold.nested) {
            (None, false) => return Ok(1.0 / (self.fold.count as f64 - 1.0)),
            (Some(_), _) => "data.limit is given",
            (None, true) => "the parts are nested",
        };
        let mut held = 0;
        let mut trained = 0;
        for (setting, Part { measured, .. }) in &self.runs {
            let gone = || {
                let message = format!(
                    "the run of part {} is gone, which says how many pairs it is trained and measured on: train it again, since \
                     {reason}",
                    setting.join(":")
                );
                Error::run(path.join(TABLE), message)
            };
            let run = measured.as_ref().ok_or_else(gone)?;
            held += run.measured_on.pairs;
            trained += run.learned_from.pairs;
        }
        Ok(held as f64 / trained as f64)
    }

    /// Refuses a cross-validation with a part that is known to be measured on others than the same part of `before`.
    fn check_measured(&self, before: &Self) -> Result<(), Error> {
        for (part, other) in self.runs.values().zip(before.runs.values()) {
            let (Some(part), Some(other)) = (&part.measured, &other.measured) else { continue };
            let Some(difference) = part.difference(other) else { continue };
            let message = format!(
                "it is measured on {difference} than {}: compared are cross-validations on the same data, with the same candidates",
                other.path.display()
            );
            return Err(Error::run(&part.path, message));
        }
        Ok(())
    }
}

/// Compares cross-validations with the first one, by the folders of their runs and names for them: the mean of every metric
/// over the parts, and paired differences by the corrected resampled t-test.
///
/// With J parts in all, d_j the difference on part j, d̄ its mean and s² its sample variance,
/// `t = d̄ / √((1/J + n₂/n₁) s²)` has about a t-distribution with J − 1 degrees of freedom where there is no difference
/// (Nadeau and Bengio 2003, section 5; Bouckaert and Frank 2004 for repeats). n₂/n₁ is the number of pairs of a part to
/// those that its run is trained on: 1/(k − 1), or more with `data.limit` or nested parts. The training pairs of parts overlap, so their metrics are correlated,
/// and the uncorrected test, whose factor is 1/J, finds differences that are not there. Intervals are
/// `d̄ ± t₀.₉₇₅ √((1/J + n₂/n₁) s²)`; the interval of a metric has the mean and the variance of the metric itself. They end where
/// the values of a metric, or differences of these, do; values that are equal in all parts have none. p is at least 2^(1 − J), which the signs of J differences do not go below.
///
/// # Errors
/// [`dsokr_core::Error::Value`] for less than two; a folder without a cross-validation, of other data or parts, or with
/// a run that failed; a part that is measured on other queries, right outputs or candidates than that of the first one.
pub fn compare_folds(paths: &[PathBuf], names: &[String]) -> Result<RunComparison, Error> {
    let mut all: Vec<FoldRuns> = Vec::new();
    let mut first_config: Option<Checked> = None;
    for path in paths {
        let (folds, config) = FoldRuns::read(path, first_config.as_ref())?;
        let parts = |folds: &FoldRuns| {
            let parts: Vec<String> = folds.runs.keys().map(|setting| setting.join(":")).collect();
            parts.join(", ")
        };
        if let Some(before) = all.first() {
            let same = before.runs.keys().eq(folds.runs.keys());
            let found = format_args!("{}, with the parts {}", path.display(), parts(&folds));
            let allowed = format_args!("cross-validations with the parts {}", parts(before));
            ensure(same, "compare", found, allowed)?;
            folds.check_measured(before)?;
        }
        first_config.get_or_insert(config);
        all.push(folds);
    }
    let count = format!("{} cross-validations", all.len());
    let first = all.first().filter(|_| all.len() > 1);
    let before = first.ok_or_else(|| Error::value("compare", count, "at least two"))?;
    let parts = before.runs.len();
    let folds = before.fold.count;
    let limit = first_config.as_ref().and_then(|config| config.data.limit);
    let test = TTest::new(parts, before.ratio(limit, &paths[0])?)?;
    let values = |at: usize, metric: Metric| -> Option<Vec<f64>> {
        all[at].runs.values().map(|part| part.metrics.get(metric.name()).copied()).collect()
    };
    let compared = Metric::all().filter_map(|metric| {
        let reference = values(0, metric);
        let value = |at: usize| {
            let ours = values(at, metric)?;
            let (value, ci95) = test.interval(&ours);
            let theirs = reference.as_ref().filter(|_| at > 0);
            let difference = theirs.map(|theirs| {
                let difference = test.difference(&ours, theirs);
                let ci95 = difference.ci95.map(|ends| metric.difference_within_range(ends));
                PairedDifference { ci95, ..difference }
            });
            let run = names[at].clone();
            let ci95 = ci95.map(|ends| metric.within_range(ends));
            Some(RunValue { run, value, ci95, difference })
        };
        MetricComparison::from_runs(metric, (0..all.len()).filter_map(value).collect())
    });
    let metrics = compared.collect();
    let caution = None;
    Ok(RunComparison { compared: Compared::Parts { parts, folds }, metrics, caution })
}

/// A t-test whose variance of a mean is `(1/J + ratio) s²`.
struct TTest {
    factor: f64,
    freedom: usize,
    /// The quantile at 0.975.
    quantile: f64,
}

impl TTest {
    fn new(parts: usize, ratio: f64) -> Result<Self, Error> {
        ensure(parts > 1, "compare", format_args!("{parts} parts"), "at least two")?;
        let freedom = parts - 1;
        let mut low = 0.0;
        let mut high = 1e3;
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if within(middle, freedom) < 0.95 { low = middle } else { high = middle }
        }
        Ok(Self { factor: 1.0 / parts as f64 + ratio, freedom, quantile: high })
    }

    /// Returns the mean and half the length of its 95 % interval.
    fn half_interval(&self, values: &[f64]) -> (f64, f64) {
        let MeanAndDeviation { mean, deviation } = MeanAndDeviation::from_values(values);
        (mean, self.quantile * self.factor.sqrt() * deviation)
    }

    /// Returns the mean and its 95 % interval; none where the values are equal up to rounding, by which few parts say nothing of
    /// others.
    fn interval(&self, values: &[f64]) -> (f64, Option<[f64; 2]>) {
        let (mean, half) = self.half_interval(values);
        let has_length = half > 1e-12 * mean.abs();
        (mean, has_length.then_some([mean - half, mean + half]))
    }

    fn difference(&self, ours: &[f64], theirs: &[f64]) -> PairedDifference {
        let differences: Vec<f64> =
            ours.iter().zip(theirs).map(|(ours, theirs)| ours - theirs).collect();
        let (difference, half) = self.half_interval(&differences);
        let (_, ci95) = self.interval(&differences);
        let t = self.quantile * difference / half;
        let p = match (half == 0.0, difference == 0.0) {
            (true, true) => 1.0,
            (true, false) => 0.0,
            (false, _) => 1.0 - within(t.abs(), self.freedom),
        };
        // a few differences that are nearly equal by chance prove no more than their signs
        let p = p.max(0.5_f64.powf(self.freedom as f64));
        PairedDifference { difference, ci95, p, p_holm: p }
    }
}

/// Returns the probability that Student's t of ν degrees of freedom is within ±t (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4).
fn within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    let odd = freedom % 2;
    // the terms cos^j with the products of odd and even numbers, each from the one before
    let mut term = if odd == 1 { cos } else { 1.0 };
    let mut sum = 0.0;
    for j in (odd..freedom.saturating_sub(1)).step_by(2) {
        sum += term;
        term *= cos * cos * (j + 1) as f64 / (j + 2) as f64;
    }
    match odd {
        1 => std::f64::consts::FRAC_2_PI * (angle + sin * sum),
        _ => sin * sum,
    }
}

#[cfg(test)]
mod tests {
    use super::TTest;

    #[test]
    fn equal_differences_of_few_parts_are_no_proof() {
        for (parts, expected) in [(2, 0.5), (5, 0.0625), (10, 1.0 / 512.0)] {
            let test = TTest::new(parts, 1.0 / (parts - 1) as f64).unwrap();
            let ours = vec![1.0; parts];
            let theirs = vec![0.25; parts];
            let equal = test.difference(&ours, &theirs);
            assert_eq!((equal.difference, equal.p), (0.75, expected), "{parts} parts");
            assert_eq!((equal.ci95, test.interval(&ours)), (None, (1.0, None)), "{parts} parts");
            assert_eq!(test.difference(&ours, &ours).p, 1.0);
            let nearly: Vec<f64> = (0..parts).map(|part| 0.25 + 1e-9 * part as f64).collect();
            let nearly = test.difference(&ours, &nearly);
            assert_eq!((nearly.p, nearly.ci95.is_some()), (expected, true), "{parts} parts");
        }
    }
}
