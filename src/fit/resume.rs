//! Resumed runs, and what may change in their configurations.

use dsokr_core::Argument;

use dsokr_core::store::remove_partial;
use serde::Serialize;
use tracing::info;

use crate::config::Checked;
use crate::error::Error;
use crate::run_dir::{CHECKPOINTS, RunDir, RunLock};

/// Settings of the optimisation that a resumed training may change, each named by an override: they do
/// not change what the run is.
const CHANGEABLE: [(&str, Affects); 14] = [
    ("training.learning_rate", Affects::Rate),
    ("training.clip", Affects::Steps),
    ("training.warmup", Affects::Rate),
    ("training.decay", Affects::Rate),
    ("training.floor", Affects::Rate),
    ("training.cooldown", Affects::Rate),
    ("training.plateau_patience", Affects::Rate),
    ("training.plateau_factor", Affects::Rate),
    ("training.epochs", Affects::Steps),
    ("training.patience", Affects::Steps),
    ("training.checkpoint_seconds", Affects::NoModel),
    ("training.checkpoint_every", Affects::NoModel),
    ("training.checkpoints", Affects::NoModel),
    ("evaluation.batch", Affects::NoModel),
];

/// What a setting of the optimisation affects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Affects {
    /// The learning rate of the schedule.
    Rate,
    /// The steps in a different way, or their number.
    Steps,
    /// Nothing of the model: only when states are stored, or how many inputs are encoded at once.
    NoModel,
}

/// Returns what a key affects; none of one that may not change.
fn affects(key: &str) -> Option<Affects> {
    let (_, affects) = CHANGEABLE.iter().find(|(changeable, _)| *changeable == key)?;
    Some(*affects)
}

/// A value of the configuration that differs from that of the run: a line of `changes.jsonl`.
#[derive(Clone, Debug, Serialize)]
struct Change {
    /// Steps done before; none of an ensemble, whose members have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u64>,
    key: String,
    before: Option<toml::Value>,
    now: Option<toml::Value>,
}

impl Change {
    fn raises_epochs(&self) -> bool {
        let number = |value: &Option<toml::Value>| value.as_ref()?.as_integer();
        self.key == "training.epochs" && number(&self.now) > number(&self.before)
    }
}

/// A run that is resumed: the right to write it, and what is changed in its configuration.
pub(super) struct Resumed {
    changes: Vec<Change>,
    pub lock: Option<RunLock>,
}

impl Resumed {
    /// Locks a run, and removes what was left when it was being written.
    pub fn lock(run: &RunDir, config: &Checked) -> Result<Self, Error> {
        let path = run.path();
        let resumed = Self { changes: changes(run, config)?, lock: RunLock::take(path)? };
        for folder in [path, &path.join(CHECKPOINTS)] {
            remove_partial(folder);
        }
        Ok(resumed)
    }

    /// Writes the changed configuration into a run of one model, which is not complete from then on, and a line of
    /// `changes.jsonl` for each change.
    pub fn record(&self, run: &RunDir, config: &Checked) -> Result<(), Error> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let affected = |what| self.changes.iter().any(|change| affects(&change.key) == Some(what));
        let changes_rate = affected(Affects::Rate);
        if changes_rate || affected(Affects::Steps) {
            run.forget_fits()?;
        }
        let last = run.last_checkpoint()?;
        let step = last.as_ref().map_or(0, |checkpoint| checkpoint.step);
        run.reopen()?;
        if let Some(last) = last {
            let patience = config.training.patience;
            let is_raised = self.changes.iter().any(Change::raises_epochs);
            let is_exhausted = patience > 0 && last.stale >= patience;
            run.adapt_checkpoint(last, changes_rate, is_raised && is_exhausted)?;
        }
        self.change(run, config, Some(step))
    }

    /// Writes the changed configuration into the directory of an ensemble, whose members have steps of their own.
    pub fn record_of_ensemble(&self, run: &RunDir, config: &Checked) -> Result<(), Error> {
        if self.changes.is_empty() { Ok(()) } else { self.change(run, config, None) }
    }

    fn change(&self, run: &RunDir, config: &Checked, step: Option<u64>) -> Result<(), Error> {
        let mut lines = String::new();
        for change in &self.changes {
            let show = |v: &Option<toml::Value>| v.as_ref().map(ToString::to_string);
            let before = show(&change.before);
            let now = show(&change.now);
            info!(step, before, now, "{} is changed", change.key);
            lines += &(serde_json::to_string(&Change { step, ..change.clone() })? + "\n");
        }
        run.change(config, &lines)
    }
}

/// Returns the changes of the configuration of a run that is resumed.
///
/// # Errors
/// [`Error::Changed`] for a value that may not change, one that no override has set, and for every one
/// of a complete run that does not go on: it goes on from a checkpoint if `training.epochs` is raised.
fn changes(run: &RunDir, config: &Checked) -> Result<Vec<Change>, Error> {
    let changes = differing(run, config)?;
    let raised = changes.iter().any(Change::raises_epochs) && run.has_checkpoint();
    let goes_on = raised || run.report()?.is_none();
    for Change { key, before, now, .. } in &changes {
        let changeable = affects(key).is_some();
        let hint = match (changeable, goes_on, config.is_set(key)) {
            (true, true, true) => continue,
            (true, false, _) if run.has_checkpoint() => {
                ", and the run is complete: a training goes on if training.epochs is raised".into()
            }
            (true, false, _) => {
                ", and the run is complete, without a checkpoint from which it could go on".into()
            }
            (true, true, false) => {
                let set = Argument::new("set").with(format_args!("{key}=VALUE"));
                format!("; {set} with {} changes it", Argument::switch("resume"))
            }
            (false, ..) => hint_of_fixed(key, before.as_ref()),
        };
        let show =
            |v: &Option<toml::Value>| v.as_ref().map_or("absent".to_string(), ToString::to_string);
        return Err(Error::Changed {
            path: run.path().join("config.toml"),
            key: key.clone(),
            found: show(before),
            given: show(now),
            hint,
        });
    }
    Ok(changes)
}

/// Returns what to do about a value that a run keeps. A list or a table is in the configuration rather than in an argument.
fn hint_of_fixed(key: &str, before: Option<&toml::Value>) -> String {
    match before {
        Some(value) if !value.is_array() && !value.is_table() => {
            let set = Argument::new("set").with(format_args!("{key}={value}"));
            format!("; a run keeps this key: go on with {set}, or start a new run")
        }
        Some(_) | None => {
            "; a run keeps this key: go on with the configuration of the run, or start a new run"
                .into()
        }
    }
}

/// Returns whether a run differs from the configuration, in nothing but values that may change and that
/// overrides have set.
///
/// # Errors
/// A run whose configuration cannot be read.
pub(super) fn are_settings(run: &RunDir, config: &Checked) -> Result<bool, Error> {
    let changes = differing(run, config)?;
    let setting = |key: &str| affects(key).is_some() && config.is_set(key);
    Ok(!changes.is_empty() && changes.iter().all(|change| setting(&change.key)))
}

/// Returns the values of the configuration that differ from those of a run.
fn differing(run: &RunDir, config: &Checked) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::new();
    differences("", &run.config()?.to_table()?, &config.to_table()?, &mut changes);
    Ok(changes)
}

fn differences(prefix: &str, before: &toml::Table, now: &toml::Table, all: &mut Vec<Change>) {
    let mut keys: Vec<&String> = before.keys().chain(now.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let full = format!("{prefix}{key}");
        match (before.get(key), now.get(key)) {
            (Some(toml::Value::Table(a)), Some(toml::Value::Table(b))) => {
                differences(&format!("{full}."), a, b, all);
            }
            (a, b) if a == b => {}
            (a, b) => {
                all.push(Change { step: None, key: full, before: a.cloned(), now: b.cloned() })
            }
        }
    }
}
