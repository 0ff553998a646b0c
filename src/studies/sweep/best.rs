//! What a sweep chooses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use dsokr_core::Argument;

use super::seeds::{Repeat, name, repeat_of, setting_of};
use super::{Setting, Sweep, SweepRun, chooses, repeats, title};
use crate::metrics::mean::MeanAndDeviation;
use crate::metrics::table::places;

/// What a sweep chooses by its metric.
#[derive(Clone, Debug, PartialEq)]
pub enum Best<'a> {
    /// The best run, where no key only repeats settings.
    Run(&'a SweepRun),
    /// The setting whose runs have the best mean, where some key only repeats settings.
    Setting(BestSetting),
    /// Nothing, for this reason.
    Undecided(String),
}

/// The setting whose runs have the best mean.
#[derive(Clone, Debug, PartialEq)]
pub struct BestSetting {
    /// The keys that do not only repeat it, with their values.
    pub setting: Setting,
    /// Mean and standard deviation of the metric that chooses.
    pub spread: MeanAndDeviation,
    /// The seeds that both are over, which all settings have, ascending; of parts `SEED:PART`.
    pub seeds: Vec<String>,
    /// The number of settings with this mean, of which this one is the first in the table.
    pub equal: usize,
}

/// Writes the setting, its mean, and the seeds of this.
impl Display for BestSetting {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        let Self { setting, spread: MeanAndDeviation { mean, .. }, seeds, .. } = self;
        let places = places(*mean);
        let title = title(setting);
        write!(out, "{title}, mean {mean:.places$} of {} runs ({})", seeds.len(), seeds.join(", "))
    }
}

impl BestSetting {
    /// Returns whether a run of the sweep is of this setting.
    pub fn has(&self, sweep: &Sweep, run: &SweepRun) -> bool {
        let values = self.setting.iter().map(|(_, value)| value);
        values.eq(&setting_of(&sweep.keys, run))
    }
}

impl Sweep {
    /// Returns the best run. Where some key only repeats settings it is the setting with the best mean over the seeds and parts
    /// that all settings have, since the best run may only have the easiest queries or the luckiest start; a setting with a run
    /// that has no value is not chosen. None where all runs failed, and where only seeds and parts differ, which chooses
    /// nothing.
    pub fn best(&self) -> Option<Best<'_>> {
        if !chooses(&self.keys) {
            return None;
        }
        let first = self.runs.first().filter(|run| run.value.is_some())?;
        if let Some(reason) = &self.undecided {
            return Some(Best::Undecided(reason.clone()));
        }
        if !self.keys.iter().any(|key| repeats(key)) {
            return Some(Best::Run(first));
        }
        let settings = self.values_of_settings();
        let each = settings.values().map(|values| values.keys().collect::<BTreeSet<&Repeat>>());
        let Some(common) = each.reduce(|common, repeats| &common & &repeats) else {
            let reason = format!("each setting has a run without a value of {}", self.metric);
            return Some(Best::Undecided(reason));
        };
        if common.is_empty() {
            let reason = format!(
                "no seed or part is one of all settings, so their means are not compared: lists of seeds in {} without {} are those \
                 of all settings",
                Argument::new("grid"),
                Argument::new("random")
            );
            return Some(Best::Undecided(reason));
        }
        let spread = |values: &BTreeMap<Repeat, f64>| {
            let common = values.iter().filter(|(repeat, _)| common.contains(repeat));
            MeanAndDeviation::from_values(&common.map(|(_, &value)| value).collect::<Vec<_>>())
        };
        let spreads: Vec<(&Vec<String>, MeanAndDeviation)> =
            settings.iter().map(|(setting, values)| (setting, spread(values))).collect();
        let sign = if self.larger_is_better { 1.0 } else { -1.0 };
        let place = |setting: &[String]| {
            self.runs.iter().position(|run| setting_of(&self.keys, run) == setting)
        };
        // among equal means the first in the table, as without seeds
        let (values, spread) = spreads.iter().max_by(|(one, a), (other, b)| {
            let by_mean = (sign * a.mean).total_cmp(&(sign * b.mean));
            by_mean.then_with(|| place(other).cmp(&place(one)))
        })?;
        let equal = spreads.iter().filter(|(_, other)| other.mean == spread.mean).count();
        let keys = self.keys.iter().filter(|key| !repeats(key)).cloned();
        let setting = keys.zip(values.iter().cloned()).collect();
        let seeds = common.iter().map(|repeat| name(repeat)).collect();
        Some(Best::Setting(BestSetting { setting, spread: *spread, seeds, equal }))
    }

    /// Says by which rule the best was chosen, where several are equally good by the metric; none where one is better than
    /// all others, and where nothing is chosen.
    pub(super) fn tie(&self) -> Option<String> {
        let (equal, what) = match self.best()? {
            Best::Run(best) => {
                (self.runs.iter().filter(|run| run.value == best.value).count(), "runs")
            }
            Best::Setting(best) => (best.equal, "settings"),
            Best::Undecided(_) => return None,
        };
        let metric = &self.metric;
        let rule = "the first of them in the table is chosen";
        (equal > 1).then(|| format!("{equal} {what} have the best {metric}: {rule}"))
    }

    /// Returns the values of each setting by the seeds and parts that repeat it, without settings that have a run without
    /// a value.
    fn values_of_settings(&self) -> BTreeMap<Vec<String>, BTreeMap<Repeat, f64>> {
        let mut settings: BTreeMap<Vec<String>, Option<BTreeMap<Repeat, f64>>> = BTreeMap::new();
        for run in &self.runs {
            let setting = setting_of(&self.keys, run);
            let values = settings.entry(setting).or_insert_with(|| Some(BTreeMap::new()));
            let Some(value) = run.value else {
                *values = None;
                continue;
            };
            if let Some(values) = values {
                values.insert(repeat_of(&self.keys, run), value);
            }
        }
        settings.into_iter().filter_map(|(setting, values)| Some((setting, values?))).collect()
    }
}
