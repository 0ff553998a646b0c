//! Ensembles of runs.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use dsokr_data::config::OnBadRow;
use dsokr_decode::{Combination, Shards};

use super::Run;
use crate::Error;
use crate::config::{Checked, IN_ENSEMBLES};
use crate::decoder::ExactDecoder;
use crate::evaluation::Models;
use crate::run_dir::{Folder, RULE, candidates, inner, name, read_json, replace_json};

/// Trained runs with the same candidates, and the rule that combines them.
pub struct EnsembleRun {
    pub(super) names: Vec<String>,
    /// At least one.
    pub(super) members: Vec<Run>,
    /// How their scores are combined.
    pub rule: Combination,
    /// The candidates of the one run, if they are in shards.
    pub(super) shards: Option<Shards>,
}

impl EnsembleRun {
    /// Reads run directories, of one model each, or one of an ensemble. An ensemble's directory has
    /// its rule; otherwise the rule is the mean of standardised scores. One run alone is an
    /// ensemble of one, which ranks like the run.
    ///
    /// # Errors
    /// As [`Run::open`].
    pub fn open(paths: &[PathBuf], device: &Device) -> Result<Self, Error> {
        let configs = paths.iter().map(|path| Folder::config(path));
        Self::open_all(paths, configs.collect::<Result<_, _>>()?, device)
    }

    /// As [`open`](Self::open), of runs with these configurations.
    pub(super) fn open_all(
        paths: &[PathBuf],
        configs: Vec<Checked>,
        device: &Device,
    ) -> Result<Self, Error> {
        let mut opened = Vec::new();
        let mut rule = Combination::Mean { weights: None, standardise: true };
        for (path, config) in paths.iter().zip(configs) {
            if config.ensemble.is_none() {
                let run = Run::open_with(path, config, candidates::open(path)?, device)?;
                opened.push((path.display().to_string(), run));
                continue;
            }
            if let [_] = paths {
                rule = read_rule(path)?;
            }
            opened.extend(open_inner(path, &config, device)?);
        }
        Self::of(opened, rule)
    }

    /// The trained members of an ensemble's directory, which may have no rule yet.
    pub(crate) fn open_members(
        path: &Path,
        config: &Checked,
        device: &Device,
    ) -> Result<Self, Error> {
        Self::of(open_inner(path, config, device)?, Combination::default())
    }

    fn of(opened: Vec<(String, Run)>, rule: Combination) -> Result<Self, Error> {
        if opened.is_empty() {
            let found = "an ensemble of no members".into();
            return Err(dsokr_decode::Error::TooFew { found, least: 1 }.into());
        }
        let (names, members): (Vec<String>, Vec<Run>) = opened.into_iter().unzip();
        let beyond = names.iter().zip(&members).find_map(|(name, run)| {
            run.config.decoding.beyond_candidates().map(|refused| (name, refused))
        });
        if let (true, Some((name, (key, found)))) = (members.len() > 1, beyond) {
            return Err(Error::value(format!("{key} of {name}"), found, IN_ENSEMBLES));
        }
        let rule = if members.len() == 1 { Combination::default() } else { rule };
        Ok(Self { names, members, rule, shards: None })
    }

    /// The same with [`Run::on_bad_row`] of every member.
    ///
    /// # Errors
    /// As of the members.
    pub fn on_bad_row(mut self, on_bad_row: OnBadRow) -> Result<Self, Error> {
        let members = self.members.into_iter().map(|run| run.on_bad_row(on_bad_row));
        self.members = members.collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// The names of the members.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The members; at least one.
    pub fn members(&self) -> &[Run] {
        &self.members
    }

    pub(super) fn member(&self, name: &str) -> Option<&Run> {
        self.names.iter().position(|own| own == name).map(|at| &self.members[at])
    }

    /// The configuration of the first member, for the settings that all members share.
    pub fn config(&self) -> &Checked {
        &self.members[0].config
    }

    /// The members as models; `exact` finds outputs that need not be candidates.
    pub(super) fn models<'a>(&'a self, exact: Option<&'a ExactDecoder<'a>>) -> Models<'a> {
        let model = |(run, name): (&'a Run, &'a String)| (name.as_str(), run.decoder(exact));
        Models {
            each: self.members.iter().zip(&self.names).map(model).collect(),
            rule: self.rule.clone(),
            shards: self.shards.as_ref(),
        }
    }

    /// Writes the rule into the ensemble's directory.
    pub(crate) fn save_rule(&self, path: &Path) -> Result<(), Error> {
        replace_json(path, RULE, &self.rule)
    }
}

/// Names and runs of an ensemble's members.
fn open_inner(path: &Path, config: &Checked, device: &Device) -> Result<Vec<(String, Run)>, Error> {
    let places = inner(path, config)?;
    let configs = places.iter().map(|place| Run::config_of_one(place));
    let configs = configs.collect::<Result<Vec<_>, Error>>()?;
    let stored = candidates::open_all(path, &places)?;
    let runs = places.iter().zip(configs).zip(stored);
    let runs = runs.map(|((place, config), stored)| Run::open_with(place, config, stored, device));
    let mut opened: Vec<(String, Run)> = places
        .iter()
        .map(|place| name(place))
        .zip(runs.collect::<Result<Vec<_>, Error>>()?)
        .collect();
    same_candidates(path, &opened)?;
    let shared = config.ensemble.as_ref().and_then(|settings| settings.second_look.as_ref());
    let of = opened.iter().position(|(name, _)| Some(name) == shared);
    for (at, of) in (0..opened.len()).zip(of.into_iter().cycle()) {
        let (run, other) = (&opened[at].1, &opened[of].1);
        if let (None, Some(look)) = (&run.look, &other.look) {
            opened[at].1.look = Some(run.second_look_from(look, other)?);
        }
    }
    Ok(opened)
}

/// Refuses members of an ensemble whose candidates differ.
fn same_candidates(path: &Path, opened: &[(String, Run)]) -> Result<(), Error> {
    let Some((first, others)) = opened.split_first() else { return Ok(()) };
    let beyond = |(_, has): &(String, Run), (_, lacks): &(String, Run)| {
        let (ours, theirs) = (&has.candidates, &lacks.candidates);
        // the same order is usual, and then nothing is searched
        let is_there = |at: usize, id: &str| {
            (at < theirs.len() && theirs.id(at) == id) || theirs.find(id).is_some()
        };
        ours.ids().enumerate().find(|(at, id)| !is_there(*at, id)).map(|(_, id)| id.to_owned())
    };
    for other in others {
        for (has, lacks) in [(first, other), (other, first)] {
            if let Some(id) = beyond(has, lacks) {
                let message = format!(
                    "the candidate {id:?} of the member {:?} is not a candidate of {:?}; members have the same ones",
                    has.0, lacks.0
                );
                return Err(Error::run(path, message));
            }
        }
    }
    Ok(())
}

fn read_rule(path: &Path) -> Result<Combination, Error> {
    let file = path.join(RULE);
    let message = "the ensemble is not complete: go on with the argument resume";
    read_json(&file)?.ok_or_else(|| Error::run(file, message))
}
