//! Ensembles of runs.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use burn::tensor::Device;
use dsokr_core::store::ScratchFolder;
use dsokr_core::{Argument, Processes};
use dsokr_data::DataRoot;
use dsokr_data::config::OnBadRow;
use dsokr_decode::{Alignment, AllCandidates, Candidates, Combination, Shards};

use super::Member;
use super::beyond::search_of;
use super::candidates::open_shards;
use super::coverage::Calibrations;
use super::placement::Placement;
use crate::config::masses::CandidateMasses;
use crate::config::{BeyondConfig, Checked, EncoderTable, IN_ENSEMBLES};
use crate::decoding::beyond::{BeyondSearch, Restrictions};
use crate::decoding::evaluation::{Models, shared_candidates};
use crate::decoding::filter::{ColumnDecimals, MoleculeFacts};
use crate::error::{Error, ensure};
use crate::metrics::evaluation::SharedCandidates;
use crate::run_dir::{RULE, RunDir, candidates, inner, name, read_json};

/// A trained run: one model, or an ensemble of models with the same candidates and the rule that combines them.
pub struct Run {
    /// The run directory; none of several that were opened together, and of a model that was made from its parts.
    pub(super) folder: Option<PathBuf>,
    /// At least one.
    pub(super) members: Vec<Member>,
    /// The candidates of several members, joined.
    alignment: Option<Alignment>,
    /// The temporary folder of the run directory, which is removed after the members have been dropped.
    scratch: Option<ScratchFolder>,
    /// How their scores are combined.
    pub rule: Combination,
    /// The candidates of the one run, if they are in shards.
    pub(super) shards: Option<Shards>,
    /// Searches molecules beyond the candidates.
    pub(crate) search: Option<BeyondSearch>,
    /// Masses of the candidates of the first member.
    pub(super) masses: CandidateMasses,
    /// The fingerprints of these candidates, once they have been made.
    shared: OnceLock<SharedCandidates>,
    /// What filters need to know of candidates that are molecules.
    pub(super) molecules: MoleculeFacts,
    /// How the numbers of the candidates' columns are written.
    pub(super) decimals: ColumnDecimals,
    /// How molecules that are not candidates are placed.
    pub(super) placement: Placement,
    /// The member whose reranker the others share.
    pub(super) reranker_of: Option<String>,
    /// The last calibrations of candidate sets.
    pub(super) calibrations: Calibrations,
    /// Whether the log has what is doubtful about queries.
    pub(super) logs_cautions: bool,
}

impl fmt::Debug for Run {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let members = &self.members;
        out.debug_struct("Run")
            .field("members", members)
            .field("rule", &self.rule)
            .finish_non_exhaustive()
    }
}

impl Run {
    /// Reads a run directory, of one model or of an ensemble, with encoders on the CPU.
    ///
    /// # Errors
    /// A file that is missing, damaged, of a different version, or that belongs to a different
    /// basis; a run without an evaluation, which has no model yet.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_all(&[path.as_ref().to_path_buf()], &Device::flex())
    }

    /// Reads run directories, of one model each, or one of an ensemble, as one run. An ensemble's directory has
    /// its rule; otherwise the rule is the mean of standardised scores.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_all(paths: &[PathBuf], device: &Device) -> Result<Self, Error> {
        Self::open_shared(&Processes::default(), paths, None, None, device)
    }

    /// Opens run directories as [`open_all`](Self::open_all) does, for several [`Processes`].
    ///
    /// These share the candidates of a run of one model if they are in shards
    /// ([`shard_candidates`](super::shard_candidates)): in the folder `shards`, by default that of the run directory. Each
    /// rank then opens its own shards; the [`candidates`](Run::candidates) of the run are only one of them, and answers come
    /// with those that they name. One rank uses shards only if they are named. `encoder` has what the files of the runs cannot hold of their encoder's settings ([`Checked::given`]).
    ///
    /// # Errors
    /// As [`open_all`](Self::open_all) and [`Shards::open`]; [`dsokr_core::Error::Value`] for shards of several runs or an ensemble.
    pub fn open_shared(
        processes: &Processes,
        paths: &[PathBuf],
        shards: Option<&Path>,
        encoder: Option<&EncoderTable>,
        device: &Device,
    ) -> Result<Self, Error> {
        let configs = paths.iter().map(|path| Ok(RunDir::at(path).config()?.given(encoder)));
        let configs = configs.collect::<Result<Vec<_>, Error>>()?;
        let shards = shards_of(processes, paths, &configs, shards)?;
        let decoding = configs.first().map(|config| config.decoding.clone()).unwrap_or_default();
        for (path, config) in paths.iter().zip(&configs) {
            let key = format!("decoding.beyond of {}", path.display());
            let same = config.decoding.beyond == decoding.beyond;
            ensure(same, key, "other than of the first run", "the same in all runs")?;
        }
        let mut members = Vec::new();
        let mut rule = Combination::Mean { weights: None, standardise: true };
        let mut reranker_of = None;
        for (path, config) in paths.iter().zip(configs) {
            let Some(ensemble) = &config.ensemble else {
                members.push(open_one(processes, path, config, shards.as_ref(), device)?);
                continue;
            };
            if paths.len() == 1 {
                rule = rule_of(path)?;
                reranker_of = ensemble.reranker.clone();
            }
            members.extend(open_inner(path, &config, device)?);
        }
        let folder = if let [path] = paths { Some(path.clone()) } else { None };
        let runs = Self::from_members(folder, members, rule, reranker_of)?;
        let reads = shards.is_none() || runs.config().decoding.expected_f1.is_none();
        let allowed = "absent: the label sets of candidates in shards are not read";
        ensure(reads, "decoding.expected_f1", "given", allowed)?;
        Self { shards, ..runs }.with_beyond(decoding.beyond.as_ref())
    }

    /// Opens the trained members of an ensemble's directory, which may have no rule yet; `root` has their data.
    pub(crate) fn open_members(
        path: &Path,
        config: &Checked,
        root: &DataRoot,
        device: &Device,
    ) -> Result<Self, Error> {
        let settings = config.ensemble.as_ref();
        let reranker_of = settings.and_then(|settings| settings.reranker.clone());
        let mut members = open_inner(path, config, device)?;
        for member in &mut members {
            member.config.trained_on = root.folder().map(Path::to_path_buf);
        }
        let folder = Some(path.to_path_buf());
        let run = Self::from_members(folder, members, Combination::default(), reranker_of)?;
        run.with_beyond(config.decoding.beyond.as_ref())
    }

    fn from_members(
        folder: Option<PathBuf>,
        members: Vec<Member>,
        rule: Combination,
        reranker_of: Option<String>,
    ) -> Result<Self, Error> {
        if members.is_empty() {
            return Err(dsokr_core::Error::too_few("an ensemble of no members", 1).into());
        }
        let several = members.len() > 1;
        for Member { name, config, .. } in members.iter().filter(|_| several) {
            if let Some((key, value)) = config.decoding.of_one_model() {
                return Err(Error::refused(format!("{key} of {name}"), value, IN_ENSEMBLES));
            }
        }
        let rule = if several { rule } else { Combination::default() };
        let alignment = if several { Some(aligned(folder.as_deref(), &members)?) } else { None };
        Ok(Self {
            folder,
            members,
            alignment,
            scratch: None,
            rule,
            shards: None,
            search: None,
            masses: CandidateMasses::default(),
            shared: OnceLock::new(),
            molecules: MoleculeFacts::default(),
            decimals: ColumnDecimals::default(),
            placement: Placement::default(),
            reranker_of,
            calibrations: Calibrations::default(),
            logs_cautions: true,
        })
    }

    /// Adds a search for molecules beyond the candidates, by the scores of all members, in place of the one that it has.
    ///
    /// # Errors
    /// Outputs that have no moves; settings out of range; members that were not read from their directories; candidates in
    /// shards.
    pub fn with_beyond(mut self, settings: Option<&BeyondConfig>) -> Result<Self, Error> {
        let Some(settings) = settings else { return Ok(self) };
        let allowed =
            "absent, or a run whose candidates are in one file: a search needs all candidates";
        let value = "given, of candidates in shards";
        ensure(self.shards.is_none(), "decoding.beyond", value, allowed)?;
        self.search = Some(search_of(&mut self.members, settings.clone())?);
        Ok(self)
    }

    /// Sets the action at rows of tables that cannot be read; `None` keeps that of the configuration.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for [`OnBadRow::Skip`] of a run whose data are not tables.
    pub fn on_bad_row(mut self, on_bad_row: Option<OnBadRow>) -> Result<Self, Error> {
        for member in &mut self.members {
            on_bad_row.map_or(Ok(()), |action| member.config.set_on_bad_row(action))?;
        }
        Ok(self)
    }

    /// Creates the run of one model, which is searched beyond its candidates as its configuration says.
    ///
    /// # Errors
    /// As [`with_beyond`](Self::with_beyond).
    pub fn from_member(member: Member) -> Result<Self, Error> {
        let folder = member.folder.clone();
        let settings = member.config.decoding.beyond.clone();
        let run = Self::from_members(folder, vec![member], Combination::default(), None)?;
        run.with_beyond(settings.as_ref())
    }

    /// Leaves what is doubtful about queries to the answers, which have it too: the log of a server would have a line for
    /// each request.
    #[cfg(any(feature = "command", feature = "serve"))]
    #[must_use]
    pub(crate) fn without_cautions_in_log(self) -> Self {
        Self { logs_cautions: false, ..self }
    }

    /// Keeps the temporary folder of the run directory while the run is open.
    pub(crate) fn keep_while_open(&mut self, scratch: ScratchFolder) {
        self.scratch = Some(scratch);
    }

    /// Returns the run directory; none of several that were opened together, and of a model that was made from its parts.
    pub fn path(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the names of the members.
    pub fn names(&self) -> Vec<String> {
        self.members.iter().map(|member| member.name.clone()).collect()
    }

    /// Returns the members; at least one.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns the fingerprints of the candidates of the first member; none of candidates in shards, of which each process
    /// has some.
    pub(super) fn shared_candidates(&self) -> Option<SharedCandidates> {
        if self.shards.is_some() {
            return None;
        }
        if let Some(shared) = self.shared.get() {
            return Some(shared.clone());
        }
        let Member { candidates, config, .. } = &self.members[0];
        let shared = shared_candidates(candidates, config.output.label.as_deref());
        Some(self.shared.get_or_init(|| shared).clone())
    }

    /// Returns the configuration of the first member, for the settings that all members share.
    pub fn config(&self) -> &Checked {
        &self.members[0].config
    }

    /// Returns the members as models.
    pub(super) fn models<'a>(&'a self, processes: &Processes) -> Models<'a> {
        let are_several = self.members.len() > 1;
        // messages name the members of an ensemble
        let model = |member: &'a Member| {
            (if are_several { member.name.as_str() } else { "" }, member.decoder())
        };
        Models {
            each: self.members.iter().map(model).collect(),
            rule: self.rule.clone(),
            alignment: self.alignment.as_ref(),
            shards: self.shards.as_ref(),
            processes: processes.clone(),
            search: self.search.as_ref(),
            restrictions: Restrictions::default(),
            missing_gold: None,
            mces: false,
            label_scores: true,
            chance: true,
        }
    }

    pub(crate) fn all(&self) -> AllCandidates<'_> {
        let whole = AllCandidates::Whole(&self.members[0].candidates);
        self.shards.as_ref().map_or(whole, AllCandidates::Shards)
    }

    /// Returns the names of the further columns of candidates, such as a price.
    pub fn columns(&self) -> Vec<&str> {
        self.all().further_names()
    }

    /// Returns the number of candidates, duplicates counted.
    pub fn candidates(&self) -> usize {
        self.all().len()
    }

    /// Returns the numbers of candidates among all, by id; none for an id that does not belong to a candidate. Of shards, all
    /// processes that have opened them look together.
    ///
    /// # Errors
    /// As [`Shards::find`].
    pub fn numbers(
        &self,
        processes: &Processes,
        ids: &[String],
    ) -> Result<Vec<Option<usize>>, Error> {
        let places = self.all().find(processes, ids)?.into_iter();
        Ok(places.map(|place| place.map(|place| place.candidate)).collect())
    }

    /// Returns the places of candidates by id, none for an id that does not belong to a candidate, and the candidates that they
    /// are places among: those of the run, or, where they are in shards, those that are found.
    ///
    /// # Errors
    /// As [`Shards::find`] and [`Shards::some`].
    pub fn find(
        &self,
        processes: &Processes,
        ids: &[String],
    ) -> Result<(Vec<Option<usize>>, Cow<'_, Candidates>), Error> {
        let numbers = self.numbers(processes, ids)?;
        let some = self.all().some(processes, numbers.iter().flatten().copied())?;
        let places = numbers.into_iter().map(|number| number.map(|at| some.place(at)).transpose());
        Ok((places.collect::<Result<_, _>>()?, some.candidates))
    }

    /// Returns the shards of the candidates, if they are in shards.
    pub fn shards(&self) -> Option<&Shards> {
        self.shards.as_ref()
    }
}

/// Returns the shards of the candidates of one model; none where its candidates are in one file, and of several models.
fn shards_of(
    processes: &Processes,
    paths: &[PathBuf],
    configs: &[Checked],
    folder: Option<&Path>,
) -> Result<Option<Shards>, Error> {
    match (paths, configs, folder) {
        ([path], [config], folder) if config.ensemble.is_none() => {
            open_shards(processes, path, folder)
        }
        (_, _, None) => Ok(None),
        (_, _, Some(folder)) => {
            let allowed = "absent: the candidates of several models are not in shards";
            Err(Error::value(Argument::new("shards"), folder.display(), allowed))
        }
    }
}

/// Opens the run of one model, with all candidates, or with one of those in shards.
fn open_one(
    processes: &Processes,
    path: &Path,
    config: Checked,
    shards: Option<&Shards>,
    device: &Device,
) -> Result<Member, Error> {
    let Some(shards) = shards else {
        return Member::open_with(path, config, candidates::open(path)?, device);
    };
    // one candidate says the dimension of all
    let first = shards.some(processes, [0])?.candidates.into_owned();
    Member::read(path, config, shards.stored(), first, device)
}

/// Reads the rule of an ensemble's directory, with a warning where the ensemble is not trained to its end.
fn rule_of(path: &Path) -> Result<Combination, Error> {
    let file = path.join(RULE);
    let resume = Argument::switch("resume");
    let message = format_args!("the ensemble is not complete: go on with {resume}");
    let run = RunDir::at(path);
    let rule = read_json(&file)?.ok_or_else(|| run.lacks(&file, message))?;
    run.warn_of_end();
    Ok(rule)
}

/// Returns the members of an ensemble, each with the name of its folder.
fn open_inner(path: &Path, config: &Checked, device: &Device) -> Result<Vec<Member>, Error> {
    let places = inner(path, config)?;
    let given = Some(&config.encoder);
    let configs = places.iter().map(|place| Ok(Member::config_of_one(place)?.given(given)));
    let configs = configs.collect::<Result<Vec<_>, Error>>()?;
    let stored = candidates::open_all(path, &places)?;
    let mut opened = Vec::new();
    for ((place, config), stored) in places.iter().zip(configs).zip(stored) {
        let member = Member::open_with(place, config, stored, device)?;
        opened.push(Member { name: name(place), ..member });
    }
    let shared = config.ensemble.as_ref().and_then(|settings| settings.reranker.as_ref());
    if let Some(owner) = opened.iter().position(|member| Some(&member.name) == shared) {
        share_reranker(&mut opened, owner)?;
    }
    Ok(opened)
}

/// Gives the reranker of one member to all members that have none.
fn share_reranker(members: &mut [Member], owner: usize) -> Result<(), Error> {
    for at in 0..members.len() {
        let member = &members[at];
        let owner = &members[owner];
        if member.reranker.is_none()
            && let Some(reranker) = &owner.reranker
        {
            members[at].reranker = Some(member.reranker_from(reranker, owner)?);
        }
    }
    Ok(())
}

/// Returns the candidates of several members, joined by id. They are those of the ensemble in `folder`, if they are read
/// from one.
///
/// # Errors
/// Members whose candidates differ.
fn aligned(folder: Option<&Path>, members: &[Member]) -> Result<Alignment, Error> {
    let named = members.iter().map(|member| (member.name.as_str(), &member.candidates));
    let alignment = Alignment::new(&named.collect::<Vec<_>>());
    alignment.map_err(|error| match folder {
        Some(folder) => Error::run(folder, error),
        None => error.into(),
    })
}
