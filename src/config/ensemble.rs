//! The table `[ensemble]`: its members, each the configuration with some values changed, and how they are combined.

use crate::error::ensure;
use dsokr_data::config::SplitsConfig;
use dsokr_decode::Combination;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::rules::{Rule, check};
use super::table::from_table;
use super::{Checked, Config, IN_ENSEMBLES};
use crate::error::Error;

/// Where the weights of an ensemble's members come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MemberWeights {
    /// The queries of the validation split.
    Validation,
    /// Training pairs.
    HeldOut,
}

/// Several models that vote. Each is trained in a run directory of its own, under `members/`.
///
/// A member is the configuration with some of its values changed: `[[ensemble.members]]` holds them as
/// the configuration does. A table of a member is merged into that of the configuration, but one that
/// says its `kind` or `name` takes its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct EnsembleConfig {
    /// How scores are combined.
    #[default(Combination::Mean { weights: None, standardise: true })]
    pub combination: Combination,
    /// Queries on which weights have the largest MRR: of the validation split, or, for `held-out`, training pairs by models
    /// that were fitted without them, which leaves that split clean. Kernel machines know their
    /// leave-one-out predictions; encoders are trained without parts of the pairs, as for `decoding.hubs`.
    pub weights: Option<MemberWeights>,
    /// The name of a member with a reranker, `decoding.reranker`: members without one have that
    /// one too. Its network and its neighbours are in coordinates of the basis, which must be the same, so they
    /// score the first candidates of an encoder too.
    pub reranker: Option<String>,
    /// How many times each member is trained, with the configuration's seed and those after it: several
    /// sketches, and several starts. All learn from the same pairs: the configuration's seed draws splits, `data.limit` and
    /// `data.corrupted`.
    #[default(1)]
    pub seeds: usize,
    /// How many members are trained at the same time. Each needs memory of its own, and all share
    /// the cores.
    #[default(1)]
    pub parallel: usize,
    /// The values in which members differ, a table each, with a `name` of their own; one member
    /// without changes, if left out.
    #[schemars(with = "Vec<std::collections::BTreeMap<String, serde_json::Value>>")]
    pub members: Vec<toml::Table>,
}

/// The most seeds of each member.
const MOST_SEEDS: usize = 10_000;

impl EnsembleConfig {
    /// Returns whether weights are fitted on the validation split.
    pub(super) fn fits_on_validation(&self) -> bool {
        self.weights == Some(MemberWeights::Validation)
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        let seeds = (1..=MOST_SEEDS).contains(&self.seeds);
        ensure(seeds, "ensemble.seeds", self.seeds, format!("1 to {MOST_SEEDS}"))?;
        ensure(self.parallel > 0, "ensemble.parallel", self.parallel, "at least 1")?;
        let fitted = self.weights.is_some();
        let rules = [
            Rule {
                key: "ensemble.combination.weights",
                refused_when: fitted && self.combination.weights().is_some(),
                because: "ensemble.weights fits them; remove one of them",
            },
            Rule {
                key: "ensemble.weights",
                refused_when: fitted && matches!(self.combination, Combination::Max { .. }),
                because: "the combination \"max\" has no weights; remove it",
            },
        ];
        check(self, "ensemble", &rules)
    }
}

impl Checked {
    /// Returns the members' configurations, each with its name; none where there is no `[ensemble]`.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for a member without a name or with that of a different one, and for values that do not make a
    /// valid configuration.
    pub fn members(&self) -> Result<Vec<Self>, Error> {
        let Some(ensemble) = &self.ensemble else { return Ok(Vec::new()) };
        let mut base = self.to_changeable()?;
        base.remove("ensemble");
        let have_seeds =
            ensemble.seeds > 1 || ensemble.members.iter().any(|change| change.contains_key("seed"));
        // members with other seeds learn from the same pairs
        let draw_seed = have_seeds.then_some(self.seed);
        let splits = self.data.facts().splits;
        if have_seeds && splits.is_some_and(SplitsConfig::are_drawn_by_configuration) {
            share_splits(&mut base);
        }
        // the ensemble searches, not its members
        if let Some(toml::Value::Table(decoding)) = base.get_mut("decoding") {
            decoding.remove("beyond");
        }
        let unchanged = [toml::Table::from_iter([("name".to_owned(), "member".into())])];
        let changes = if ensemble.members.is_empty() { &unchanged[..] } else { &ensemble.members };
        let mut members: Vec<Self> = Vec::new();
        for (place, change) in changes.iter().enumerate() {
            let key = format!("ensemble.members[{place}]");
            let allowed = "a single model; nested ensembles are not allowed";
            ensure(!change.contains_key("ensemble"), &key, "an ensemble", allowed)?;
            let Some(name) = change.get("name").and_then(toml::Value::as_str) else {
                return Err(Error::value(format!("{key}.name"), "absent", "the member's name"));
            };
            let named = |error| Error::Member { name: name.into(), source: Box::new(error) };
            for draw in 0..ensemble.seeds {
                let member = member(&base, change, draw, draw_seed, ensemble, &key);
                let member = member.map_err(named)?;
                let new = members.iter().all(|other| other.name != member.name);
                let allowed = "a name of its own for each member";
                ensure(new, format_args!("{key}.name"), &member.name, allowed)?;
                // settings that a resumed training may change are changed in the members
                let member = Self { overrides: self.overrides.clone(), ..member };
                members.push(member.given(Some(&self.encoder)));
            }
        }
        let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        ensemble.combination.validate(&names).map_err(|error| Error::Config {
            path: self.file.clone().unwrap_or_else(|| self.name.clone().into()),
            message: format!("ensemble.combination: {error}"),
        })?;
        if let Some(name) = &ensemble.reranker {
            check_reranker(name, &members)?;
        }
        if ensemble.weights == Some(MemberWeights::HeldOut) {
            check_same_draws(&members)?;
        }
        Ok(members)
    }
}

/// Checks that no member draws other training pairs than the first one: held-out predictions are compared pair by pair.
fn check_same_draws(members: &[Checked]) -> Result<(), Error> {
    let Some((first, others)) = members.split_first() else { return Ok(()) };
    let drawn_alike =
        |member: &&Checked| member.data.draws_as(member.seed, &first.data, first.seed);
    match others.iter().find(|member| !drawn_alike(member)) {
        Some(other) => {
            let because = format!(
                "the members {} and {} have different training pairs, as data.limit, data.corrupted or data.seed differs; \
                 remove it",
                first.name, other.name
            );
            Err(Error::refused("ensemble.weights", "\"held-out\"", because))
        }
        None => Ok(()),
    }
}

/// Checks that the member of this name has a reranker, in the coordinates of the members that share it.
fn check_reranker(name: &str, members: &[Checked]) -> Result<(), Error> {
    let refused =
        |allowed: String| Err(Error::value("ensemble.reranker", format!("{name:?}"), &allowed));
    let (owners, sharing): (Vec<&Checked>, Vec<&Checked>) =
        members.iter().partition(|member| member.decoding.reranker.is_some());
    let Some(owner) = owners.iter().find(|member| member.name == name) else {
        let names: Vec<&str> = owners.iter().map(|member| member.name.as_str()).collect();
        let names = if names.is_empty() { "none has one".into() } else { names.join(", ") };
        return refused(format!("the name of a member with decoding.reranker: {names}"));
    };
    let first =
        sharing.iter().find_map(|member| Some((&member.name, different_basis(owner, member)?)));
    match first {
        Some((other, key)) => {
            let because = format!(
                "the member {other} has a different {key}, and so a different basis; remove it"
            );
            Err(Error::refused("ensemble.reranker", format!("{name:?}"), because))
        }
        None => Ok(()),
    }
}

/// Returns the first key by which two members on the same data have different bases.
fn different_basis(one: &Config, other: &Config) -> Option<&'static str> {
    let ours = &one.output;
    let theirs = &other.output;
    let keys = [
        ("seed", one.seed != other.seed),
        ("sketch", one.sketch != other.sketch),
        ("output.features", ours.features != theirs.features),
        ("output.scaling", ours.scaling != theirs.scaling),
        ("output.kernel", ours.kernel != theirs.kernel),
        ("output.kernels", ours.kernels != theirs.kernels),
        ("output.power", ours.tempering() != theirs.tempering()),
    ];
    keys.into_iter().find_map(|(key, differs)| differs.then_some(key))
}

/// Returns the configuration of a member, whose changes are at `key`, with its own seed for a `draw` of several. Training pairs
/// that it draws are drawn by `draw_seed`, unless it has a seed for them.
fn member(
    base: &toml::Table,
    change: &toml::Table,
    draw: usize,
    draw_seed: Option<u64>,
    ensemble: &EnsembleConfig,
    key: &str,
) -> Result<Checked, Error> {
    let mut table = base.clone();
    merge(&mut table, change);
    let fail =
        |message: String| Error::value(key, message.trim(), "values as a configuration has them");
    let mut config = from_table(table).map_err(fail)?;
    if !config.encoder.abilities().trains_in_steps && !change.contains_key("training") {
        config.training = Default::default();
    }
    config.decoding.normalise |= ensemble.reranker.is_some();
    config.decoding.held_out |= ensemble.weights == Some(MemberWeights::HeldOut);
    if config.data.draws_training_pairs() {
        config.data.seed = config.data.seed.or(draw_seed);
    }
    if ensemble.seeds > 1 {
        config.name += &format!("-{}", draw + 1);
        config.seed = config.seed.wrapping_add(draw as u64);
    }
    let inner = config.decoding.beyond.as_ref().map(|_| ("decoding.beyond", "given"));
    let checked = match config.decoding.of_one_model().or(inner) {
        Some((inner, value)) => Err(Error::refused(inner, value, IN_ENSEMBLES)),
        None => config.validate(),
    };
    checked.map_err(|error| match error {
        Error::Core(error) => error.of(format_args!("{key}.")).into(),
        other => other,
    })
}

/// Gives the splits the seed of the configuration, so that members with other seeds learn from the same pairs.
fn share_splits(base: &mut toml::Table) {
    let seed = base.get("seed").cloned();
    let splits = base.get_mut("data").and_then(|data| data.get_mut("splits"));
    if let (Some(seed), Some(toml::Value::Table(splits))) = (seed, splits) {
        splits.insert("seed".to_owned(), seed);
    }
}

/// Puts the values of `change` into `table`.
fn merge(table: &mut toml::Table, change: &toml::Table) {
    for (key, new) in change {
        match (table.get_mut(key), new) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new))
                if !new.contains_key("kind") && !new.contains_key("name") =>
            {
                merge(old, new);
            }
            _ => {
                table.insert(key.clone(), new.clone());
            }
        }
    }
}
