//! The sweep that a folder has already.

use std::path::Path;

use dsokr_data::SplitName;
use serde::Deserialize;

use super::{Setting, SweepRequest, SweepRun, folder};
use crate::Error;
use crate::run_dir::{Folder, read_optional};

/// What is read of `sweep.json`.
#[derive(Deserialize)]
struct Before {
    keys: Vec<String>,
    runs: Vec<SweepRun>,
}

impl SweepRequest<'_> {
    /// The runs of the folder's table that are not among `settings`, and stay in it. Those that are gone are
    /// left out.
    ///
    /// # Errors
    /// [`Error::Run`] where the folder has a sweep over other keys or of a different configuration, or a table
    /// that cannot be read.
    pub(super) fn others(
        &self,
        path: &Path,
        settings: &[Setting],
        split: SplitName,
    ) -> Result<Vec<SweepRun>, Error> {
        let file = path.join("sweep.json");
        let refused = |message: String| Error::Run { path: file.clone(), message };
        let Some(text) = read_optional(&file)? else { return Ok(Vec::new()) };
        let before: Before = serde_json::from_str(&text).map_err(|e| refused(e.to_string()))?;
        let keys: Vec<&str> = self.axes.iter().map(|axis| axis.key.as_str()).collect();
        if before.keys != keys {
            let (found, given) = (before.keys.join(", "), keys.join(", "));
            let message = format!(
                "the folder has a sweep over {found}, not {given}: choose a different one with the argument out"
            );
            return Err(refused(message));
        }
        let mut others = Vec::new();
        for SweepRun { setting, failure, .. } in before.runs {
            let setting: Setting = before.keys.iter().cloned().zip(setting).collect();
            let out = path.join(folder(&setting));
            if settings.contains(&setting) || !out.exists() {
                continue;
            }
            let config = self.config_of(&setting, split)?;
            if Folder::config(&out)? != config {
                let message = format!(
                    "the folder has a sweep of a different configuration, as {} says: choose a different one \
                     with the argument out",
                    out.join("config.toml").display()
                );
                return Err(refused(message));
            }
            let report = match (Folder::finished(&out)?, failure) {
                (Some(report), _) => Ok(report),
                (None, Some(failure)) => Err(failure),
                (None, None) => continue,
            };
            others.push(SweepRun::of(&setting, out, config.evaluation.metric, report));
        }
        Ok(others)
    }
}
