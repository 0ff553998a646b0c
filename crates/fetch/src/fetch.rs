//! The files of a data set, downloaded or taken from a folder.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use dsokr_core::store::write_atomically;
use serde::Serialize;

use crate::error::Error;
use crate::folder::{create_parent, try_lock};
use crate::network::{self, Network, Progress};
use crate::table::{DataSet, RemoteFile, Unpack};
use crate::unpack;

/// The folder of downloads until they are unpacked, under the data root.
const WORK: &str = ".fetch";
/// The file there that a process locks; no name in a table begins with a dot.
const LOCK: &str = ".lock";

/// The source and the destination of files.
#[derive(Debug)]
pub struct Fetch<'a> {
    /// The data root.
    pub out: &'a Path,
    /// A folder that has the downloads, or what they hold, already; nothing is downloaded then.
    pub from: Option<&'a Path>,
    /// How files are downloaded.
    pub network: &'a Network,
}

/// A file that was taken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FetchedFile {
    /// The name in the table.
    pub name: String,
    /// The files under the data root.
    pub files: Vec<PathBuf>,
    /// The SHA-256 of the download; none where the files were there already.
    pub sha256: Option<String>,
    /// Whether the table has this SHA-256, or the git id of the download.
    pub verified: bool,
}

impl Fetch<'_> {
    /// Takes the files of a data set, and makes those that are made of them. Files that are there already are
    /// kept.
    ///
    /// # Errors
    /// [`Error::Download`] for a file that cannot be downloaded, differs from what the table says or cannot be
    /// unpacked; [`Error::NotFound`] for one that [`from`](Self::from) lacks; what the file system reports.
    pub fn run(
        &self,
        set: &DataSet,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<FetchedFile>, Error> {
        let work = self.out.join(WORK);
        fs::create_dir_all(&work).map_err(Error::io(&work))?;
        // the same download by two processes would mix
        let file = work.join(LOCK);
        let Some(_lock) = try_lock(&file)? else {
            return Err(Error::download(
                work.display(),
                "a different process fetches into this folder",
            ));
        };
        let fetched: Result<Vec<_>, Error> =
            set.files.iter().map(|file| self.file(file, &work, progress)).collect();
        let fetched = fetched?;
        set.make.iter().try_for_each(|conversion| conversion.run(self.out))?;
        // kept where it has downloads of a different data set
        let _ = fs::remove_file(&file).and_then(|()| fs::remove_dir(&work));
        Ok(fetched)
    }

    fn file(
        &self,
        file: &RemoteFile,
        work: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<FetchedFile, Error> {
        let targets = file.targets();
        let files: Vec<PathBuf> = targets.iter().map(|(_, to)| self.out.join(to)).collect();
        let done = |sha256: Option<String>| {
            let verified = sha256.is_some() && file.has_checksum();
            Ok(FetchedFile { name: file.name.clone(), files: files.clone(), sha256, verified })
        };
        if files.iter().all(|file| file.is_file()) {
            return done(None);
        }
        let Some(from) = self.from else {
            let part = work.join(&file.name);
            let sha256 = self.network.download(file, &part, progress)?;
            // what cannot be unpacked is damaged
            unpack::unpack(file, &part, work, self.out)
                .inspect_err(|_| drop(fs::remove_file(&part)))?;
            fs::remove_file(&part).map_err(Error::io(&part))?;
            return done(Some(sha256));
        };
        let whole = from.join(&file.name);
        let placed =
            file.to.iter().filter(|_| file.unpack == Unpack::Plain).map(|to| from.join(to));
        if let Some(whole) = [whole.clone()].into_iter().chain(placed).find(|path| path.is_file()) {
            let sha256 = network::check(file, &whole, &whole.to_string_lossy())?;
            unpack::unpack(file, &whole, work, self.out)?;
            return done(Some(sha256));
        }
        // unpacked by the user, under the names of the archive or of the data root
        for (entry, to) in &targets {
            let places = [entry.as_str(), to.as_str()].map(|name| from.join(name));
            let Some(source) = places.iter().find(|path| path.is_file()) else {
                let hint = format!(", nor {entry} or {to} in {}", from.display());
                return Err(Error::NotFound { path: whole, hint });
            };
            let mut reader = BufReader::new(File::open(source).map_err(Error::io(source))?);
            let target = self.out.join(to);
            create_parent(&target)?;
            write_atomically(&target, |out| std::io::copy(&mut reader, out).map(|_| ()))?;
        }
        done(None)
    }
}
