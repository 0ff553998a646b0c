//! A trained run with what explains its answers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use burn::tensor::Device;
use dsokr_core::Processes;
use dsokr_data::config::TextConfig;
use dsokr_data::{InputKind, Split, SplitName};
use dsokr_decode::CandidateBlocks;
use dsokr_decode::report::ReliabilityBin;
use dsokr_molecule::Molecule;
use tokio::sync::watch;

use super::description::{About, ModelDescription, NamedMetric, Outputs, examples, outputs};
use super::explanations::{QueryWords, Training};
use super::refusal::Refusal;
use super::work;
use crate::config::BeyondConfig;
use crate::decoding::beyond::BeyondSearch;
use crate::decoding::filter::MOST;
use crate::encoders::WordsRead;
use crate::error::{Error, ensure};
use crate::run::beyond::search_by;
use crate::run::{Member, Record, Run, SplitUse};
use crate::run_dir::{MEMBERS, Report};

/// How often the files of a run are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Bins of gaps.
const BINS: usize = 10;

/// A model to serve: a run directory, of one model or of an ensemble, as it was when it was opened.
#[derive(derive_more::Debug)]
#[debug("Model({name:?}, {})", folder.display())]
pub struct Model {
    folder: PathBuf,
    pub(super) run: Run,
    /// The data root; none for the folder of the data that the run was trained on.
    pub(super) data: Option<PathBuf>,
    pub(super) outputs: Outputs,
    files: Files,
    /// When the files were looked at last, and whether they had changed.
    looked: Mutex<(Option<Instant>, bool)>,
    name: String,
    /// Its metrics, if it has been evaluated.
    record: Option<Record>,
    training: OnceLock<Result<Training, String>>,
    validation: OnceLock<Result<Split, String>>,
    reliability: OnceLock<Result<Vec<ReliabilityBin>, String>>,
    /// Searches beyond the candidates by the default settings, where the run has none.
    search: OnceLock<Result<BeyondSearch, String>>,
    /// Whether a request has asked for the properties before the background has read them.
    is_hurried: AtomicBool,
    /// The parts that have been read in the background.
    read: ReadParts,
}

/// A part of a model that is read in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ReadPart {
    /// Training texts and validation queries.
    Texts,
    /// The properties that filters compare.
    Properties,
}

/// The parts of a model that have been read.
struct ReadParts(watch::Sender<BTreeSet<ReadPart>>);

impl ReadParts {
    /// Returns no parts.
    fn none() -> Self {
        Self(watch::Sender::new(BTreeSet::new()))
    }

    /// Returns whether a part is read.
    fn has(&self, part: ReadPart) -> bool {
        self.0.borrow().contains(&part)
    }

    /// Adds a part, and tells those who wait for it.
    fn add(&self, part: ReadPart) {
        self.0.send_modify(|read| {
            read.insert(part);
        });
    }

    /// Waits until all of some parts are read; refuses them after `limit`.
    async fn wait(&self, needed: &BTreeSet<ReadPart>, limit: Duration) -> Result<(), Refusal> {
        let mut read = self.0.subscribe();
        let are_read = read.wait_for(|read| needed.is_subset(read));
        let _ = tokio::time::timeout(limit, are_read).await;
        let what = match needed.difference(&self.0.borrow()).next() {
            None => return Ok(()),
            Some(ReadPart::Texts) => "the texts of the data",
            Some(ReadPart::Properties) => "the properties for filters",
        };
        let error = format!("{what} are still read after the start of the server: try again");
        Err(Refusal::later(error))
    }
}

impl Model {
    /// Reads a run directory. The name of the model is that of the folder.
    ///
    /// # Errors
    /// As [`Run::open`].
    pub fn open(folder: &Path, device: &Device) -> Result<Self, Error> {
        Self::open_shared(&Processes::default(), folder, None, device)
    }

    /// Reads a run directory for several [`Processes`], which share the candidates where these are in
    /// shards ([`Run::open_shared`]).
    ///
    /// # Errors
    /// As [`Run::open_shared`].
    pub fn open_shared(
        processes: &Processes,
        folder: &Path,
        shards: Option<&Path>,
        device: &Device,
    ) -> Result<Self, Error> {
        let files = files(folder);
        let run = Run::open_shared(processes, &[folder.to_path_buf()], shards, None, device)?;
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let name = whole.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        let run = run.without_cautions_in_log();
        let outputs = outputs(processes, &run)?;
        Ok(Self {
            folder: folder.to_path_buf(),
            run,
            data: None,
            outputs,
            files,
            looked: Mutex::default(),
            name,
            record: Record::read(folder)?,
            training: OnceLock::new(),
            validation: OnceLock::new(),
            reliability: OnceLock::new(),
            search: OnceLock::new(),
            is_hurried: AtomicBool::new(false),
            read: ReadParts::none(),
        })
    }

    /// Returns the model with its data under this root, if one is given.
    #[must_use]
    pub fn with_data(self, data: Option<&Path>) -> Self {
        Self { data: data.map(Path::to_path_buf), ..self }
    }

    /// Returns the name in requests and answers.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the first member, for what members share.
    pub(super) fn member(&self) -> &Member {
        &self.run.members()[0]
    }

    /// Reads what explains answers; what cannot be read is logged once.
    pub(super) fn read_texts(&self) {
        if self.member().config.encoder.abilities().reads == InputKind::Texts {
            self.warn("the training texts", self.training().err());
        }
        self.warn("the validation queries", self.validation().err());
        self.read.add(ReadPart::Texts);
    }

    /// Reads what chooses candidates and what filters compare, while searches that need neither go on; what cannot be read is
    /// logged once.
    pub(super) fn read_properties(&self) {
        work::in_background(|| {
            let masses = self.run.read_rule().map_err(text);
            self.warn("the masses of candidates", masses.err().as_ref());
        });
        if self.has_properties() {
            work::in_background(|| {
                self.run.molecule_properties();
            });
        }
        self.read.add(ReadPart::Properties);
    }

    /// Returns whether filters compare properties of the candidates.
    fn has_properties(&self) -> bool {
        self.outputs == Outputs::Molecules && self.run.candidates() <= MOST
    }

    /// Reads the properties for a request that waits for them, on a thread of its own: on a machine with other work the background
    /// may not come to it for minutes. Further requests wait for the same thread.
    pub(super) fn hurry(self: &Arc<Self>) {
        let is_read = self.read.has(ReadPart::Properties);
        if is_read || !self.has_properties() || self.is_hurried.swap(true, Relaxed) {
            return;
        }
        let model = Arc::clone(self);
        std::thread::spawn(move || {
            model.run.molecule_properties();
            model.read.add(ReadPart::Properties);
        });
    }

    /// Waits for what a request needs and [`read_texts`](Self::read_texts) and [`read_properties`](Self::read_properties) read,
    /// without a worker.
    pub(super) async fn wait(
        &self,
        needed: &BTreeSet<ReadPart>,
        limit: Duration,
    ) -> Result<(), Refusal> {
        self.read.wait(needed, limit).await
    }

    fn warn(&self, what: &str, missing: Option<&String>) {
        if let Some(reason) = missing {
            tracing::warn!("{}: answers go without {what}: {reason}", self.name());
        }
    }

    /// Returns the search beyond the candidates where it is `wanted`, or the run's configuration says it.
    pub(super) fn search(&self, wanted: Option<bool>) -> Result<Option<&BeyondSearch>, Refusal> {
        match (wanted, &self.run.search) {
            (Some(false), _) | (None, None) => Ok(None),
            (_, Some(search)) => Ok(Some(search)),
            (Some(true), None) => {
                let allowed =
                    "false or absent: only molecules of one file of candidates can be searched";
                ensure(self.is_searchable(), "beyond", true, allowed)?;
                let search =
                    || search_by(self.run.members(), BeyondConfig::default()).map_err(text);
                self.search.get_or_init(search).as_ref().map(Some).map_err(Refusal::failed)
            }
        }
    }

    /// Returns whether outputs beyond the candidates can be searched.
    fn is_searchable(&self) -> bool {
        let can = |member: &Member| {
            member.space.is_some() && member.config.output.source().check_made().is_ok()
        };
        self.run.shards().is_none() && self.run.members().iter().all(can)
    }

    /// Returns whether queries are mass spectra.
    pub(super) fn reads_spectra(&self) -> bool {
        self.member().config.encoder.abilities().spectra
    }

    /// Returns the molecule that the label of a candidate stands for; none where candidates are no molecules.
    pub(super) fn molecule(&self, label: &str) -> Option<Molecule> {
        if self.outputs == Outputs::Molecules { Molecule::parse(label).ok() } else { None }
    }

    /// Returns the training texts.
    pub(super) fn training(&self) -> Result<&Training, &String> {
        let read = || {
            Training::new(
                self.read_split(SplitName::Train).map_err(text)?,
                self.reads_spectra(),
                self.words_read(),
            )
        };
        self.training.get_or_init(read).as_ref()
    }

    /// Returns how far the members read words.
    fn words_read(&self) -> WordsRead {
        let members = self.run.members().iter();
        WordsRead::of_parts(members.map(|member| member.config.encoder.abilities().words))
    }

    /// Returns the words of a query that training texts have and lack; none where no member reads n-grams of words.
    pub(super) fn words(&self, query: &str) -> Option<QueryWords> {
        let alone = match self.words_read() {
            WordsRead::None => return None,
            WordsRead::Among { .. } => false,
            WordsRead::Alone { .. } => true,
        };
        self.training().ok()?.words(query, alone)
    }

    /// Returns a split of the data as the first member reads it.
    fn read_split(&self, name: SplitName) -> Result<Split, Error> {
        self.member().read_split(name, self.data.as_deref())
    }

    fn validation(&self) -> Result<&Split, &String> {
        let read = || self.read_split(SplitName::Validation).map_err(text);
        self.validation.get_or_init(read).as_ref()
    }

    /// Finds out how often first candidates are right.
    pub(super) fn read_reliability(&self, processes: &Processes) {
        let compute = || {
            if self.run.config().encoder.abilities().levels.is_some() {
                return Err("the predicted quantiles say it".to_owned());
            }
            if self.outputs == Outputs::Numbers {
                let reason = "the number of a new query is a candidate by accident only, and no quantiles are predicted";
                return Err(reason.to_owned());
            }
            let data = self.data.as_deref();
            let read = |member: &Member| {
                member.read_split_for(SplitName::Validation, data, SplitUse::Confidence)
            };
            let queries = self.run.predict(processes, read, None).map_err(text)?;
            self.run.gap_reliability(&queries, BINS).map_err(text)
        };
        let reliability = self.reliability.get_or_init(compute);
        self.warn("how often validation queries are right", reliability.as_ref().err());
    }

    /// Returns how often first candidates are right, by their gap; none while this is not known.
    pub(super) fn reliability(&self) -> Option<&Vec<ReliabilityBin>> {
        self.reliability.get()?.as_ref().ok()
    }

    /// Returns whether that is still computed.
    pub(super) fn reliability_is_pending(&self) -> bool {
        self.reliability.get().is_none()
    }

    /// Returns the part of every answer about the model.
    pub(super) fn about(&self) -> About {
        About { model: self.name().to_owned(), notice: self.notice() }
    }

    /// Returns the API's description of the model.
    pub(super) fn description(&self) -> ModelDescription {
        let members = self.run.members();
        let config = self.run.config();
        let report = self.record.as_ref().map(|record| &record.report);
        let validation = self.validation.get().map(Result::as_ref);
        let split = validation.and_then(Result::ok);
        let still = "they are still read".to_owned();
        let lack = |what, why: Option<&String>| Some(format!("{what}: {}", why?));
        let texts = config.data.facts().texts;
        let lacks = [
            lack("validation queries", validation.map_or(Some(&still), Result::err)),
            lack("training texts", self.training.get().and_then(|read| read.as_ref().err())),
            lack(
                "how sure answers are",
                self.reliability.get().and_then(|read| read.as_ref().err()),
            ),
        ];
        ModelDescription {
            name: self.name.clone(),
            notice: self.notice(),
            inputs: match config.encoder.abilities().reads {
                InputKind::Texts if self.reads_spectra() => "spectra",
                InputKind::Texts if texts.is_some_and(TextConfig::are_smiles) => "molecules",
                InputKind::Texts => "texts",
                InputKind::Vectors => "vectors",
                InputKind::Kernels => "kernels",
            },
            column: texts.map(|texts| texts.column.clone()),
            width: split.and_then(|split| split.inputs.vector_width().ok()),
            outputs: self.outputs,
            separator: config.output.features.separator().map(|separator| separator.to_string()),
            encoder: members.iter().map(|member| member.config.encoder.kind().to_owned()).collect(),
            members: if members.len() > 1 { self.run.names().to_vec() } else { Vec::new() },
            coordinates: members.iter().map(|member| member.candidates.dim()).collect(),
            candidates: self.run.candidates(),
            columns: self.run.columns().into_iter().map(str::to_owned).collect(),
            beyond: match &self.run.search {
                Some(_) => Some(true),
                None => self.is_searchable().then_some(false),
            },
            data: config.data.facts().trained_on(),
            split: report.map(|report| report.split.to_string()),
            queries: report.map(|report| report.metrics.ranks.queries),
            groups: report.and_then(|report| report.groups),
            pool: report.map(Report::candidates_text),
            date: self.record.as_ref().map(|record| record.date.clone()),
            metrics: report.map(NamedMetric::all).unwrap_or_default(),
            examples: split.map(examples).unwrap_or_default(),
            missing: lacks.into_iter().flatten().collect(),
        }
    }

    /// Returns a notice where the run directory has changed since it was read, which the log says once.
    pub(super) fn notice(&self) -> Option<String> {
        let looked = || self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = {
            let mut looked = looked();
            let (last, changed) = &mut *looked;
            let is_due = !*changed && last.is_none_or(|last| last.elapsed() >= LOOK);
            if is_due {
                *last = Some(Instant::now());
            }
            is_due
        };
        // not locked meanwhile: other answers do not wait for a slow disk
        if is_due && files(&self.folder) != self.files {
            let is_known = std::mem::replace(&mut looked().1, true);
            if !is_known {
                tracing::warn!(
                    "{}: the run directory has changed or is gone; answers go on with the model that was \
                     read at the start",
                    self.folder.display()
                );
            }
        }
        let (_, changed) = *looked();
        changed.then(|| {
            format!(
                "the run directory of {:?} has changed since the server read it: answers are those of the model \
                 before; start the server again for the new one",
                self.name()
            )
        })
    }
}

fn text(error: Error) -> String {
    error.to_string()
}

/// The files of a run that answers come from: name, length and date of each.
type Files = Vec<(PathBuf, u64, Option<SystemTime>)>;

/// Returns the files of a run directory and of its members. Logs, states to resume from and folders of other files do not count.
fn files(folder: &Path) -> Files {
    let mut files = Vec::new();
    let members = std::fs::read_dir(folder.join(MEMBERS)).into_iter().flatten();
    let members = members.flatten().map(|entry| entry.path());
    for folder in members.chain([folder.to_path_buf()]) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            if let Some("toml" | "json" | "safetensors") = extension
                && let Ok(about) = entry.metadata()
            {
                files.push((path, about.len(), about.modified().ok()));
            }
        }
    }
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request may hurry the properties, which are then known before the texts.
    #[test]
    fn each_part_that_is_needed_is_waited_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let read = ReadParts::none();
        let known = |needed: &[ReadPart]| {
            let needed = needed.iter().copied().collect();
            runtime.block_on(read.wait(&needed, Duration::ZERO)).is_ok()
        };
        assert!(known(&[]) && !known(&[ReadPart::Properties]));
        read.add(ReadPart::Properties);
        assert!(known(&[ReadPart::Properties]));
        assert!(!known(&[ReadPart::Texts]) && !known(&[ReadPart::Texts, ReadPart::Properties]));
        read.add(ReadPart::Texts);
        assert!(known(&[ReadPart::Texts, ReadPart::Properties]));
    }
}
