//! Pretrained encoders from the Hugging Face Hub.

use std::fs;
use std::path::{Path, PathBuf};

use dsokr_core::store::write_atomically;
use dsokr_nn::pretrained::{COMPANIONS, Pretrained};

use crate::error::Error;
use crate::folder::create_parent;
use crate::network::{Network, Progress};
use crate::part::text;
use crate::table::{RemoteFile, is_hexadecimal};

/// The file that every encoder has.
const CONFIG: &str = "config.json";

/// Returns files that an encoder's folder may have in addition to its weights; all but the first may be absent.
fn files() -> impl Iterator<Item = &'static str> {
    [CONFIG, "tokenizer.json"].into_iter().chain(COMPANIONS)
}

/// Weights, the preferred ones first.
const WEIGHTS: [&str; 2] = ["model.safetensors", "pytorch_model.bin"];

/// The largest file.
const MOST_BYTES: u64 = 64 << 30;

/// A model of the hub, of a branch, a tag or a commit: `NAME` or `NAME@REVISION`.
struct Model<'a> {
    name: &'a str,
    revision: &'a str,
    endpoint: String,
    /// The folder in the cache.
    cache: PathBuf,
}

/// Returns the folder of an encoder in the local cache, filled first where it is not there. The cache has the layout of
/// Python's `huggingface_hub`, and is the same folder: `HF_HUB_CACHE`, else `hub` in `HF_HOME`, else
/// `~/.cache/huggingface/hub`. `HF_ENDPOINT` names a different server, and with `HF_HUB_OFFLINE` nothing is
/// downloaded.
///
/// # Errors
/// [`dsokr_core::Error::Value`] for an invalid name; [`Error::Download`] for a model that cannot be downloaded and is
/// not in the cache; what the file system reports.
pub fn folder(name: &str, network: &Network) -> Result<PathBuf, Error> {
    let model = Model::new(name)?;
    let reference = model.cache.join("refs").join(model.revision);
    let cached = fs::read_to_string(&reference).unwrap_or_else(|_| model.revision.to_owned());
    let cached = model.cache.join("snapshots").join(cached.trim());
    if complete(&cached) {
        return Ok(cached);
    }
    if std::env::var_os("HF_HUB_OFFLINE").is_some_and(|value| value == "1") {
        return Err(Error::download(format!("hub:{name}"), model.absent("HF_HUB_OFFLINE is 1")));
    }
    model.download(network).map_err(|error| match error {
        Error::Download { what, message } => Error::download(what, model.absent(&message)),
        other => other,
    })
}

/// Returns whether a folder has what an encoder needs.
fn complete(folder: &Path) -> bool {
    let tokenizer = ["tokenizer.json", "vocab.txt"];
    folder.join(CONFIG).is_file()
        && tokenizer.iter().any(|name| folder.join(name).is_file())
        && WEIGHTS.iter().any(|name| folder.join(name).is_file())
}

impl<'a> Model<'a> {
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
        let set = |key: &str| std::env::var(key).ok().filter(|value| !value.is_empty());
        let endpoint = set("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".into());
        let home = || {
            let home = set("HOME").or_else(|| set("USERPROFILE")).unwrap_or_else(|| ".".into());
            Path::new(&home).join(".cache/huggingface")
        };
        let cache = match set("HF_HUB_CACHE") {
            Some(cache) => cache.into(),
            None => set("HF_HOME").map_or_else(home, PathBuf::from).join("hub"),
        };
        let cache = cache.join(format!("models--{}", repository.replace('/', "--")));
        Ok(Self {
            name: repository,
            revision,
            endpoint: endpoint.trim_end_matches('/').into(),
            cache,
        })
    }

    fn absent(&self, why: &str) -> String {
        format!(
            "{why}; the model is not in the cache {}. Without network, encoder.folder names a folder with \
             config.json, tokenizer.json or vocab.txt, and model.safetensors",
            self.cache.display()
        )
    }

    fn url(&self, file: &str) -> String {
        format!("{}/{}/resolve/{}/{file}", self.endpoint, self.name, self.revision)
    }

    /// Downloads the files into a folder next to the snapshot, which is renamed when it is whole.
    fn download(&self, network: &Network) -> Result<PathBuf, Error> {
        // the first file says which commit the revision is
        let (status, headers) = network.head(&self.url(CONFIG))?;
        if status.is_client_error() || status.is_server_error() {
            return Err(Error::download(self.url(CONFIG), format!("the server answers {status}")));
        }
        let commit_header = text(&headers, "x-repo-commit");
        let commit_header =
            commit_header.filter(|commit| is_hexadecimal(commit) && !commit.is_empty());
        let commit = commit_header.as_deref().unwrap_or(self.revision);
        let snapshots = self.cache.join("snapshots");
        // continued by the next call where it is cut off, if the files are of the same commit
        let here = snapshots.join(format!(".{commit}.partial"));
        if commit_header.is_none() && here.exists() {
            fs::remove_dir_all(&here).map_err(Error::io(&here))?;
        }
        fs::create_dir_all(&here).map_err(Error::io(&here))?;
        for file in files() {
            self.file(network, file, &here)?;
        }
        if let Err(error) = Pretrained::open_without_weights(&here) {
            // what is wrong is removed: the configuration and the tokenizer have no checksums
            files().for_each(|file| drop(fs::remove_file(here.join(file))));
            return Err(Error::download(
                format!("{}/{}", self.endpoint, self.name),
                error.to_string(),
            ));
        }
        let weights = |any, file| Ok::<_, Error>(any || self.file(network, file, &here)?);
        WEIGHTS.into_iter().try_fold(false, weights)?;
        if !complete(&here) {
            let message = "the model needs config.json, tokenizer.json or vocab.txt, and model.safetensors or \
                           pytorch_model.bin in one file";
            return Err(Error::download(format!("{}/{}", self.endpoint, self.name), message));
        }
        let snapshot = snapshots.join(commit);
        if !snapshot.exists() {
            fs::rename(&here, &snapshot).map_err(Error::io(&snapshot))?;
        } else {
            // one of huggingface_hub that lacks files
            for file in files().chain(WEIGHTS) {
                let stored = here.join(file);
                let there = snapshot.join(file);
                if stored.is_file() && !there.exists() {
                    fs::rename(&stored, &there).map_err(Error::io(&there))?;
                }
            }
            let _ = fs::remove_dir_all(&here);
        }
        if commit != self.revision {
            let reference = self.cache.join("refs").join(self.revision);
            create_parent(&reference)?;
            write_atomically(&reference, |out| out.write_all(commit.as_bytes()))?;
        }
        Ok(snapshot)
    }

    /// Downloads a file, if the model has it.
    fn file(&self, network: &Network, file: &str, here: &Path) -> Result<bool, Error> {
        let url = self.url(file);
        let (status, headers) = network.head(&url)?;
        if status == 404 {
            return Ok(false);
        }
        // of large files the entity tag is the SHA-256
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
