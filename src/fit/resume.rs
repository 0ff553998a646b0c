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
const CHANGEABLE: [&str; 14] = [
    "training.learning_rate",
    "training.clip",
    "training.warmup",
    "training.decay",
    "training.floor",
    "training.cooldown",
    "training.plateau_patience",
    "training.plateau_factor",
    "training.epochs",
    "training.patience",
    "training.checkpoint_seconds",
    "training.checkpoint_every",
    "training.checkpoints",
    "evaluation.batch",
];

/// Those that say when states are stored and how many inputs are encoded at once: no model depends on them.
const OF_THE_RUN: [&str; 4] = [
    "training.checkpoint_seconds",
    "training.checkpoint_every",
    "training.checkpoints",
    "evaluation.batch",
];

/// Those that make the learning rate of a step.
const OF_RATES: [&str; 7] = [
    "training.learning_rate",
    "training.warmup",
    "training.decay",
    "training.floor",
    "training.cooldown",
    "training.plateau_patience",
    "training.plateau_factor",
];

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
        let changes_fits =
            self.changes.iter().any(|change| !OF_THE_RUN.contains(&change.key.as_str()));
        if changes_fits {
            run.forget_fits()?;
        }
        let changes_rate =
            self.changes.iter().any(|change| OF_RATES.contains(&change.key.as_str()));
        if changes_rate {
            run.forget_fixed_rate()?;
        }
        let step = run.last_checkpoint()?.map_or(0, |checkpoint| checkpoint.step);
        run.reopen()?;
        run.forget_later_best()?;
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

/// The changes of the configuration of a run that is resumed.
///
/// # Errors
/// [`Error::Changed`] for a value that may not change, one that no override has set, and for every one
/// of a complete run that does not go on: it goes on from a checkpoint if `training.epochs` is raised.
fn changes(run: &RunDir, config: &Checked) -> Result<Vec<Change>, Error> {
    let changes = differing(run, config)?;
    let raised = changes.iter().any(Change::raises_epochs) && run.has_checkpoint();
    let goes_on = raised || run.report()?.is_none();
    for Change { key, before, now, .. } in &changes {
        let changeable = CHANGEABLE.contains(&key.as_str());
        let hint = match (changeable, goes_on, config.is_set(key)) {
            (true, true, true) => continue,
            (true, false, _) => {
                ", and the run is complete: a training goes on if training.epochs is raised".into()
            }
            (true, true, false) => {
                let set = Argument::new("set").with(format_args!("{key}=VALUE"));
                format!("; {set} with {} changes it", Argument::switch("resume"))
            }
            (false, ..) => String::new(),
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

/// Whether a run differs from the configuration, in nothing but values that may change and that
/// overrides have set.
///
/// # Errors
/// A run whose configuration cannot be read.
pub(super) fn are_settings(run: &RunDir, config: &Checked) -> Result<bool, Error> {
    let changes = differing(run, config)?;
    let setting = |key: &str| CHANGEABLE.contains(&key) && config.is_set(key);
    Ok(!changes.is_empty() && changes.iter().all(|change| setting(&change.key)))
}

/// The values of the configuration that differ from those of a run.
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
