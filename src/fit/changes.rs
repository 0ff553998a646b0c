//! What `--resume` may change.

use std::path::Path;

use dsokr_train::Checkpoint;
use serde::Serialize;
use tracing::info;

use crate::Error;
use crate::config::Checked;
use crate::run_dir::Folder;
use crate::run_files::CHECKPOINT;

/// Settings of the optimisation that a resumed training may change, each named by an override: they do
/// not change what the run is.
const CHANGEABLE: [&str; 7] = [
    "training.learning_rate",
    "training.clip",
    "training.warmup",
    "training.decay",
    "training.epochs",
    "training.patience",
    "evaluation.batch",
];

/// A value of the configuration that differs from that of the run.
#[derive(Debug)]
pub(super) struct Change {
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

/// One line of `changes.jsonl`.
#[derive(Serialize)]
struct ChangeLine<'a> {
    /// Steps done before; none of an ensemble, whose members have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u64>,
    key: &'a str,
    before: &'a Option<toml::Value>,
    now: &'a Option<toml::Value>,
}

/// The changes of the configuration of the run at `path`, which is resumed.
///
/// # Errors
/// [`Error::Changed`] for a value that may not change, one that no override has set, and for every one
/// of a complete run that does not go on: it goes on from a checkpoint if `training.epochs` is raised.
pub(super) fn changes(path: &Path, config: &Checked) -> Result<Vec<Change>, Error> {
    let changes = differing(path, config)?;
    let raised = changes.iter().any(Change::raises_epochs) && Folder::has_checkpoint(path);
    let goes_on = raised || Folder::finished(path)?.is_none();
    for Change { key, before, now } in &changes {
        let changeable = CHANGEABLE.contains(&key.as_str());
        let hint = match (changeable, goes_on, config.is_set(key)) {
            (true, true, true) => continue,
            (true, false, _) => {
                ", and the run is complete: a training goes on if training.epochs is raised".into()
            }
            (true, true, false) => {
                format!("; the argument set {key}=VALUE with the argument resume changes it")
            }
            (false, ..) => String::new(),
        };
        let show =
            |v: &Option<toml::Value>| v.as_ref().map_or("absent".to_string(), ToString::to_string);
        return Err(Error::Changed {
            path: path.join("config.toml"),
            key: key.clone(),
            found: show(before),
            given: show(now),
            hint,
        });
    }
    Ok(changes)
}

/// Writes the changed configuration into the run at `path`, whose coordinates have the fingerprint
/// `space`, and a line of `changes.jsonl` for each change. The run is not complete from then on.
pub(super) fn record(
    path: &Path,
    config: &Checked,
    changes: &[Change],
    space: &str,
) -> Result<(), Error> {
    if changes.is_empty() {
        return Ok(());
    }
    let step = match Folder::has_checkpoint(path) {
        true => Checkpoint::load(&path.join(CHECKPOINT), space)?.step,
        false => 0,
    };
    // first: a run with a report is complete as its configuration says
    Folder::reopen(path)?;
    write(path, config, changes, Some(step))
}

/// As [`record`], of the ensemble at `path`.
pub(super) fn record_in_ensemble(
    path: &Path,
    config: &Checked,
    changes: &[Change],
) -> Result<(), Error> {
    if changes.is_empty() { Ok(()) } else { write(path, config, changes, None) }
}

/// Whether the run at `path` differs from the configuration, in nothing but values that may change and that
/// overrides have set.
///
/// # Errors
/// A run whose configuration cannot be read.
pub(super) fn are_settings(path: &Path, config: &Checked) -> Result<bool, Error> {
    let changes = differing(path, config)?;
    let setting = |key: &str| CHANGEABLE.contains(&key) && config.is_set(key);
    Ok(!changes.is_empty() && changes.iter().all(|change| setting(&change.key)))
}

/// The values of the configuration that differ from those of the run at `path`.
fn differing(path: &Path, config: &Checked) -> Result<Vec<Change>, Error> {
    let table = |config: &Checked| -> Result<toml::Table, Error> {
        let text = config.to_toml()?;
        text.parse().map_err(|e: toml::de::Error| Error::Serialise(e.to_string()))
    };
    let mut changes = Vec::new();
    differences("", &table(&Folder::config(path)?)?, &table(config)?, &mut changes);
    Ok(changes)
}

fn write(
    path: &Path,
    config: &Checked,
    changes: &[Change],
    step: Option<u64>,
) -> Result<(), Error> {
    let mut lines = String::new();
    for Change { key, before, now } in changes {
        let show = |v: &Option<toml::Value>| v.as_ref().map(ToString::to_string);
        info!(step, before = show(before), now = show(now), "{key} is changed");
        let line = serde_json::to_string(&ChangeLine { step, key, before, now });
        lines += &(line.map_err(|e| Error::Serialise(e.to_string()))? + "\n");
    }
    Folder::change(path, config, &lines)
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
            (a, b) => all.push(Change { key: full, before: a.cloned(), now: b.cloned() }),
        }
    }
}
