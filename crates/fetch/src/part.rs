//! The part of a file that an interrupted download leaves, and the source of that file.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use ureq::http::HeaderMap;

use crate::error::Error;
use crate::table::RemoteFile;

/// A server's description of the file that it sends.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    url: String,
    etag: Option<String>,
    last_modified: Option<String>,
    /// The size of the whole file.
    pub bytes: Option<u64>,
}

impl Source {
    /// Returns the version for `If-Range`: a strong entity tag, else the date of the last change.
    pub fn version(&self) -> Option<&str> {
        self.strong().or(self.last_modified.as_deref())
    }

    fn strong(&self) -> Option<&str> {
        self.etag.as_deref().filter(|tag| !tag.starts_with("W/"))
    }

    /// Returns whether a part that a server sends can be of the same version. A part has the entity tag that the whole
    /// file has; other headers may be left out.
    fn is_version(&self, headers: &HeaderMap) -> bool {
        let [etag, date] = ["etag", "last-modified"].map(|name| text(headers, name));
        let tag = match self.strong() {
            Some(tag) => etag.as_deref() == Some(tag),
            None => etag.is_none() || etag == self.etag,
        };
        tag && (date.is_none() || self.last_modified.is_none() || date == self.last_modified)
    }

    /// Returns the end of the part that a server sends, and the size of the whole file, if the part begins at byte
    /// `have` of this file.
    pub fn rest(&self, headers: &HeaderMap, have: u64) -> Option<(u64, Option<u64>)> {
        let range = text(headers, "content-range")?;
        let (range, total) = range.strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let end = last.parse::<u64>().ok()?.checked_add(1)?;
        let total = match total {
            "*" => self.bytes,
            total => Some(total.parse().ok()?),
        };
        let same = self.bytes.is_none_or(|bytes| total == Some(bytes));
        let inside = end > have && total.is_none_or(|total| end <= total);
        let fits = first.parse() == Ok(have) && same && inside && self.is_version(headers);
        fits.then_some((end, total))
    }
}

pub(crate) fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// The parts of a download on disk.
pub(crate) struct PartialDownload<'a> {
    /// The bytes.
    pub file: PathBuf,
    /// The file with the source of these bytes.
    source: PathBuf,
    pub remote: &'a RemoteFile,
}

impl<'a> PartialDownload<'a> {
    /// Creates the part of a download to `path`. A part of a different file is removed.
    pub fn beside(path: &Path, remote: &'a RemoteFile) -> Self {
        // no name in a table begins with a dot
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = |suffix: &str| path.with_file_name(format!(".{name}.{suffix}"));
        let part = Self { file: beside("part"), source: beside("source"), remote };
        if part.source().is_none() {
            part.remove();
        }
        part
    }

    /// Returns the source of the bytes, where it is the file that is wanted.
    pub fn source(&self) -> Option<Source> {
        let source: Source = serde_json::from_slice(&fs::read(&self.source).ok()?).ok()?;
        Some(source).filter(|source| source.url == self.remote.url)
    }

    /// Begins anew with what a server says of the file.
    pub fn begin(&self, headers: &HeaderMap, bytes: Option<u64>) -> Result<(), Error> {
        self.remove();
        let etag = text(headers, "etag");
        let last_modified = text(headers, "last-modified");
        let source = Source { url: self.remote.url.clone(), etag, last_modified, bytes };
        // strings and numbers only: serialising them cannot fail
        let json = serde_json::to_vec(&source).unwrap_or_default();
        fs::write(&self.source, json).map_err(Error::io(&self.source))
    }

    pub fn len(&self) -> u64 {
        fs::metadata(&self.file).map_or(0, |data| data.len())
    }

    /// Takes the bytes, which are whole, to their place.
    pub fn finish(&self, path: &Path) -> Result<(), Error> {
        fs::rename(&self.file, path).map_err(Error::io(path))?;
        let _ = fs::remove_file(&self.source);
        Ok(())
    }

    pub fn remove(&self) {
        for file in [&self.file, &self.source] {
            let _ = fs::remove_file(file);
        }
    }
}
