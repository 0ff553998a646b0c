//! Pretrained encoders from the Hugging Face Hub.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use dsokr_core::store::write_atomically;
use dsokr_nn::pretrained::{
    ADAPTER, COMPANIONS, MODULES, Pretrained, WEIGHT_FILES, module_folders, sentence_files,
    sentence_piece_remedy, transformer_folder, weight_parts,
};
use ureq::http::StatusCode;

use crate::error::Error;
use crate::folder::{create_parent, lock, try_lock};
use crate::network::{Network, Progress, Token};
use crate::part::text;
use crate::table::{RemoteFile, is_hexadecimal};

/// The file that every encoder has.
const CONFIG: &str = "config.json";

/// Returns files that an encoder's folder may have in addition to its weights; all but the first may be absent.
fn files() -> impl Iterator<Item = &'static str> {
    [CONFIG, ADAPTER, "tokenizer.json"].into_iter().chain(COMPANIONS).chain(sentence_files())
}

/// The answers to a request without a token that opens the model. The hub does not tell private models from those that
/// it does not have.
const REFUSED: [StatusCode; 2] = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];

/// The folder in which the cache notes, by commit, the files that a model does not have.
const ABSENT: &str = ".no_exist";

/// The file in a model's folder of the cache that a process locks while it downloads the model.
const LOCK: &str = ".lock";

/// The largest file.
const MOST_BYTES: u64 = 64 << 30;

/// A model of the hub, of a branch, a tag or a commit: `NAME` or `NAME@REVISION`.
struct HubModel<'a> {
    name: &'a str,
    revision: &'a str,
    endpoint: String,
    /// The folder in the cache.
    cache: PathBuf,
}

/// Returns the folder of an encoder in the local cache, filled first where it is not there. The cache has the layout of
/// Python's `huggingface_hub`, and is the same folder: `HF_HUB_CACHE`, else `hub` in `HF_HOME`, else
/// `~/.cache/huggingface/hub`. `HF_ENDPOINT` names a different server, and with `HF_HUB_OFFLINE` nothing is
/// downloaded. The server is sent the token of `HF_TOKEN`, else of the file `token` in `HF_HOME`, if there is one.
///
/// # Errors
/// [`dsokr_core::Error::Value`] for an invalid name; [`Error::Download`] for a model that cannot be downloaded and is
/// not in the cache; what the file system reports.
pub fn folder(name: &str, network: &Network) -> Result<PathBuf, Error> {
    let model = HubModel::new(name)?;
    let reference = model.cache.join("refs").join(model.revision);
    let cached = fs::read_to_string(&reference).unwrap_or_else(|_| model.revision.to_owned());
    let cached = model.cache.join("snapshots").join(cached.trim());
    let is_complete = complete(&cached);
    if is_complete && model.has_modules(&cached) {
        return Ok(cached);
    }
    let downloaded = if std::env::var_os("HF_HUB_OFFLINE").is_some_and(|value| value == "1") {
        Err(Error::download(format!("hub:{name}"), "HF_HUB_OFFLINE is 1"))
    } else {
        model.download(&Network { token: model.token(), ..network.clone() })
    };
    let used_as_it_is = |why: &str| {
        tracing::warn!(
            "{}: {why}; whether the model has a {MODULES}, which says how texts become vectors, is not known, \
             and it is used as it is in the cache",
            cached.display()
        );
        Ok(cached.clone())
    };
    match downloaded {
        Err(Error::Download { message, .. }) if is_complete => used_as_it_is(&message),
        Err(Error::Core(error)) if is_complete && is_read_only(&error) => {
            used_as_it_is(&error.to_string())
        }
        Err(Error::Download { what, message }) => {
            Err(Error::download(what, model.absent(&message)))
        }
        other => other,
    }
}

/// Returns whether an error is that of a cache in which this process may not write.
fn is_read_only(error: &dsokr_core::Error) -> bool {
    let dsokr_core::Error::Io { source, .. } = error else { return false };
    matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Returns whether a folder has what an encoder needs.
fn complete(folder: &Path) -> bool {
    let Ok(transformer) = transformer_folder(folder) else { return false };
    let folder = folder.join(transformer);
    let has = |name: &str| folder.join(name).is_file();
    let has_pairs = has("vocab.json") && has("merges.txt");
    let has_tokenizer = has("tokenizer.json") || has("vocab.txt") || has_pairs;
    has(CONFIG) && has_tokenizer && has_weights(&folder)
}

/// Returns whether a folder has weights, all shards of them.
fn has_weights(folder: &Path) -> bool {
    // the first of these files is the one that is read
    let file = WEIGHT_FILES.iter().map(|name| folder.join(name)).find(|file| file.is_file());
    let parts = file.map(|file| weight_parts(&file));
    matches!(parts, Some(Ok(parts)) if parts.iter().all(|part| part.is_file()))
}

/// Returns the value of a variable that is set and not empty.
fn variable(key: &str) -> Option<String> {
    std::env::var(key).ok().filter(|value| !value.is_empty())
}

/// Returns the folder of huggingface_hub: `HF_HOME`, else `~/.cache/huggingface`.
fn home() -> PathBuf {
    variable("HF_HOME").map_or_else(
        || {
            let home = variable("HOME").or_else(|| variable("USERPROFILE"));
            Path::new(&home.unwrap_or_else(|| ".".into())).join(".cache/huggingface")
        },
        PathBuf::from,
    )
}

/// Returns what an answer that is no file means.
fn refusal(status: StatusCode) -> String {
    if REFUSED.contains(&status) {
        format!(
            "the server answers {status}: private or gated, or no such model: set HF_TOKEN, or name a downloaded folder"
        )
    } else {
        format!("the server answers {status}")
    }
}

/// Moves the files of a folder that another one lacks into it, with those of its subfolders.
fn add_files(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(Error::io(to))?;
    for entry in fs::read_dir(from).map_err(Error::io(from))? {
        let stored = entry.map_err(Error::io(from))?.path();
        let Some(name) = stored.file_name() else { continue };
        let there = to.join(name);
        if stored.is_dir() {
            add_files(&stored, &there)?;
        } else if !there.exists() {
            fs::rename(&stored, &there).map_err(Error::io(&there))?;
        }
    }
    Ok(())
}

impl<'a> HubModel<'a> {
    fn new(name: &'a str) -> Result<Self, Error> {
        let (repository, revision) = name.split_once('@').unwrap_or((name, "main"));
        let part = |part: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !part.is_empty() && !part.starts_with('.') && part.chars().all(plain)
        };
        if repository.split('/').count() > 2 || !repository.split('/').all(part) || !part(revision)
        {
            let allowed = "hub:NAME, hub:OWNER/NAME or hub:OWNER/NAME@REVISION";
            return Err(Error::value("encoder.folder", format!("\"hub:{name}\""), allowed));
        }
        let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".into());
        let cache = match variable("HF_HUB_CACHE") {
            Some(cache) => cache.into(),
            None => home().join("hub"),
        };
        let cache = cache.join(format!("models--{}", repository.replace('/', "--")));
        Ok(Self {
            name: repository,
            revision,
            endpoint: endpoint.trim_end_matches('/').into(),
            cache,
        })
    }

    /// Returns the token for the server.
    fn token(&self) -> Option<Token> {
        let stored = || fs::read_to_string(home().join("token")).ok();
        let secret = variable("HF_TOKEN").or_else(stored)?;
        let secret = secret.trim();
        let token = Token::new(&self.endpoint, secret);
        if token.is_none() && !secret.is_empty() {
            tracing::warn!(
                "HF_TOKEN, or the file token in HF_HOME, has characters that no token has: it is not sent"
            );
        }
        token
    }

    fn absent(&self, why: &str) -> String {
        format!(
            "{why}; the whole model is not in the cache {}. Without network, encoder.folder names a folder with \
             config.json, tokenizer.json or vocab.txt, and model.safetensors",
            self.cache.display()
        )
    }

    /// Returns whether a snapshot has the modules of a model of sentence-transformers, or is known to be none.
    fn has_modules(&self, snapshot: &Path) -> bool {
        if snapshot.join(MODULES).is_file() {
            let folders = module_folders(snapshot).unwrap_or_default();
            let has_weights_of = |folder: &str| has_weights(&snapshot.join(folder));
            return folders
                .iter()
                .all(|folder| !folder.has_weights || has_weights_of(&folder.name));
        }
        let commit = snapshot.file_name().unwrap_or_default();
        self.cache.join(ABSENT).join(commit).join(MODULES).exists()
    }

    /// Returns the model's place on the server.
    fn place(&self) -> String {
        format!("{}/{}", self.endpoint, self.name)
    }

    fn url(&self, file: &str) -> String {
        format!("{}/resolve/{}/{file}", self.place(), self.revision)
    }

    /// Returns the lock of the model's folder, for which a process waits that is not the first to download the model.
    fn lock(&self) -> Result<File, Error> {
        let path = self.cache.join(LOCK);
        create_parent(&path)?;
        if let Some(lock) = try_lock(&path)? {
            return Ok(lock);
        }
        tracing::info!("hub:{}: waits for a different process that downloads it", self.name);
        lock(&path)
    }

    /// Downloads the files into a folder next to the snapshot, into which they are moved when they are whole.
    fn download(&self, network: &Network) -> Result<PathBuf, Error> {
        let stated = self.commit(network)?;
        let commit = stated.as_deref().unwrap_or(self.revision);
        let snapshots = self.cache.join("snapshots");
        let snapshot = snapshots.join(commit);
        // two processes would write the same files; the file stays, since others may wait for it
        let _lock = self.lock()?;
        if complete(&snapshot) && self.has_modules(&snapshot) {
            self.note_commit(commit)?;
            return Ok(snapshot);
        }
        // continued by the next call where it is cut off, if the files are of the same commit
        let here = snapshots.join(format!(".{commit}.partial"));
        if stated.is_none() && here.exists() {
            fs::remove_dir_all(&here).map_err(Error::io(&here))?;
        }
        fs::create_dir_all(&here).map_err(Error::io(&here))?;
        for folder in self.description(network, commit, &here)? {
            if !has_weights(&snapshot.join(&folder)) {
                self.weights(network, &folder, &here)?;
            }
        }
        // one of huggingface_hub may lack files
        add_files(&here, &snapshot)?;
        let _ = fs::remove_dir_all(&here);
        if !complete(&snapshot) {
            let mut message = format!(
                "the model needs config.json, tokenizer.json, vocab.txt, or vocab.json and merges.txt, and one of {}",
                WEIGHT_FILES.join(", ")
            );
            let transformer = snapshot.join(transformer_folder(&snapshot).unwrap_or_default());
            if let Some(remedy) = sentence_piece_remedy(&transformer)
                && !transformer.join("tokenizer.json").exists()
            {
                message += &format!("; {remedy}");
            }
            return Err(Error::download(self.place(), message));
        }
        self.note_commit(commit)?;
        Ok(snapshot)
    }

    /// Returns the commit that the revision is, if the server says it.
    fn commit(&self, network: &Network) -> Result<Option<String>, Error> {
        let is_answered =
            |status: StatusCode| !status.is_client_error() && !status.is_server_error();
        let (status, mut headers) = network.head(&self.url(CONFIG))?;
        if !is_answered(status) {
            // where the transformer has a folder of its own, there is a list of modules, and of an adapter alone its
            // configuration
            let of_other = |file: &str| {
                let (status, headers) = network.head(&self.url(file))?;
                Ok::<_, Error>(is_answered(status).then_some(headers))
            };
            let others = match of_other(MODULES)? {
                None => of_other(ADAPTER)?,
                modules => modules,
            };
            let Some(others) = others.filter(|_| status == 404) else {
                return Err(Error::download(self.url(CONFIG), refusal(status)));
            };
            headers = others;
        }
        let commit = text(&headers, "x-repo-commit");
        Ok(commit.filter(|commit| is_hexadecimal(commit) && !commit.is_empty()))
    }

    /// Downloads all files but the weights, checks them, and returns the folders of the model that may have weights, `""`
    /// for itself.
    fn description(
        &self,
        network: &Network,
        commit: &str,
        here: &Path,
    ) -> Result<Vec<String>, Error> {
        for file in files() {
            let there = self.file(network, file, here)?;
            if file == MODULES && !there {
                let absent = self.cache.join(ABSENT).join(commit).join(MODULES);
                create_parent(&absent)?;
                write_atomically(&absent, |_| Ok(()))?;
            }
        }
        // what is wrong is removed: the small files have no checksums
        let damaged = |error: dsokr_nn::Error| {
            let _ = fs::remove_dir_all(here);
            Error::download(self.place(), error.to_string())
        };
        let transformer = transformer_folder(here).map_err(damaged)?;
        if !transformer.is_empty() {
            create_parent(&here.join(&transformer).join(CONFIG))?;
            for file in files() {
                self.file(network, &format!("{transformer}/{file}"), here)?;
            }
        }
        let folders = module_folders(here).map_err(damaged)?;
        for folder in &folders {
            let name = format!("{}/{CONFIG}", folder.name);
            create_parent(&here.join(&name))?;
            self.file(network, &name, here)?;
        }
        Pretrained::open_without_weights(here).map_err(damaged)?;
        let behind = folders.into_iter().filter(|folder| folder.has_weights);
        Ok([transformer].into_iter().chain(behind.map(|folder| folder.name)).collect())
    }

    /// Writes into the cache which commit the revision is.
    fn note_commit(&self, commit: &str) -> Result<(), Error> {
        if commit == self.revision {
            return Ok(());
        }
        let reference = self.cache.join("refs").join(self.revision);
        create_parent(&reference)?;
        Ok(write_atomically(&reference, |out| out.write_all(commit.as_bytes()))?)
    }

    /// Downloads the weights of a folder of the model, `""` for itself: a file, or an index and the shards that it names.
    fn weights(&self, network: &Network, folder: &str, here: &Path) -> Result<(), Error> {
        let inside = |file: &str| {
            if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") }
        };
        for file in WEIGHT_FILES {
            let file = inside(file);
            if !self.file(network, &file, here)? {
                continue;
            }
            let path = here.join(&file);
            let parts = weight_parts(&path)
                .map_err(|error| Error::download(self.url(&file), error.to_string()))?;
            for part in parts.iter().filter(|part| **part != path) {
                let name = part.file_name().unwrap_or_default().to_string_lossy();
                if !self.file(network, &inside(&name), here)? {
                    let message = format!("the model does not have {name}, which it names");
                    return Err(Error::download(self.url(&file), message));
                }
            }
            return Ok(());
        }
        Ok(())
    }

    /// Downloads a file, if the model has it.
    fn file(&self, network: &Network, file: &str, here: &Path) -> Result<bool, Error> {
        let url = self.url(file);
        let (status, headers) = network.head(&url)?;
        if status == 404 {
            return Ok(false);
        }
        if REFUSED.contains(&status) {
            return Err(Error::download(url, refusal(status)));
        }
        // the entity tag of a large file is the SHA-256
        let tag = text(&headers, "x-linked-etag").map(|tag| tag.trim_matches('"').to_owned());
        let sha256 = tag.filter(|tag| tag.len() == 64 && is_hexadecimal(tag));
        let remote = RemoteFile {
            name: file.into(),
            url,
            sha256,
            most_bytes: MOST_BYTES,
            to: Some(file.into()),
            ..RemoteFile::default()
        };
        let mut shown = 0;
        let mut progress = |progress: Progress| {
            // a line for every 64 MiB
            if progress.bytes >> 26 > shown {
                shown = progress.bytes >> 26;
                let total = progress.total.map(|total| format!(" of {}", total >> 20));
                tracing::info!("{file}: {}{} MiB", progress.bytes >> 20, total.unwrap_or_default());
            }
        };
        network.download(&remote, &here.join(file), &mut progress)?;
        Ok(true)
    }
}
