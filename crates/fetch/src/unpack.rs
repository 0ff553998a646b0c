use std::fs::{self, File};
use std::io::{self as stdio, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use dsokr_core::store::{ScratchFolder, sync_file};
use flate2::read::MultiGzDecoder;

use crate::error::Error;
use crate::folder::create_parent;
use crate::table::{RemoteFile, Unpack};

/// Takes the entries of a download to their places under `out`. They are unpacked in `work` and renamed when
/// all of them are whole. Paths inside an archive name entries and nothing else: no file is written under them.
pub(crate) fn unpack(file: &RemoteFile, from: &Path, work: &Path, out: &Path) -> Result<(), Error> {
    let scratch = ScratchFolder::inside(work).map_err(Error::io(work))?;
    let entry = |(at, (name, to)): (usize, (String, String))| Entry {
        name,
        to: out.join(to),
        at: scratch.path().join(at.to_string()),
    };
    let wanted: Vec<Entry> = file.targets().into_iter().enumerate().map(entry).collect();
    let unpacking = Unpacking { file, from, wanted: &wanted };
    let open = || File::open(from).map(BufReader::new).map_err(Error::io(from));
    match file.unpack {
        Unpack::Plain => unpacking.write(&wanted[0], &mut open()?)?,
        Unpack::Gzip => unpacking.write(&wanted[0], &mut MultiGzDecoder::new(open()?))?,
        Unpack::Zip => unpacking.zip(open()?)?,
        Unpack::TarGz => unpacking.tar(MultiGzDecoder::new(open()?))?,
    }
    for entry in &wanted {
        if !entry.at.exists() {
            return Err(Error::download(
                from.display(),
                format!("it has no entry {:?}", entry.name),
            ));
        }
    }
    for entry in &wanted {
        create_parent(&entry.to)?;
        fs::rename(&entry.at, &entry.to).map_err(Error::io(&entry.to))?;
    }
    Ok(())
}

struct Entry {
    name: String,
    /// The destination of the entry.
    to: PathBuf,
    /// The path to which it is unpacked.
    at: PathBuf,
}

struct Unpacking<'a> {
    file: &'a RemoteFile,
    from: &'a Path,
    wanted: &'a [Entry],
}

impl Unpacking<'_> {
    fn wrong(&self, message: impl std::fmt::Display) -> Error {
        Error::download(self.from.display(), format!("it cannot be unpacked: {message}"))
    }

    /// Writes a file of an archive, if it is an entry that is wanted.
    fn offer(&self, path: &str, reader: &mut dyn Read) -> Result<(), Error> {
        // the entry is the path, or its end
        let path = path.replace('\\', "/");
        let is =
            |name: &str| path.strip_suffix(name).is_some_and(|s| s.is_empty() || s.ends_with('/'));
        let entry = self.wanted.iter().find(|entry| is(&entry.name));
        entry.map_or(Ok(()), |entry| self.write(entry, reader))
    }

    /// Writes an entry, of at most the bytes that the table allows.
    fn write(&self, entry: &Entry, reader: &mut dyn Read) -> Result<(), Error> {
        let most = self.file.most_bytes;
        let file = File::create(&entry.at).map_err(Error::io(&entry.at))?;
        let mut out = BufWriter::new(file);
        let bytes = stdio::copy(&mut reader.take(most.saturating_add(1)), &mut out)
            .map_err(|e| self.wrong(e))?;
        if bytes > most {
            let name = &entry.name;
            return Err(
                self.wrong(format!("{name:?} has more than {most} bytes; the limit is {most}"))
            );
        }
        out.flush().and_then(|()| sync_file(out.get_ref())).map_err(Error::io(&entry.at))
    }

    fn zip(&self, reader: BufReader<File>) -> Result<(), Error> {
        let mut archive = zip::ZipArchive::new(reader).map_err(|e| self.wrong(e))?;
        for at in 0..archive.len() {
            let mut inner = archive.by_index(at).map_err(|e| self.wrong(e))?;
            let path = inner.name().map_err(|e| self.wrong(e))?.into_owned();
            if inner.is_file() {
                self.offer(&path, &mut inner)?;
            }
        }
        Ok(())
    }

    fn tar(&self, reader: impl Read) -> Result<(), Error> {
        // what is not wanted is read too, so the whole archive is limited
        let most = self.file.most_bytes.saturating_mul(16);
        let mut archive = tar::Archive::new(reader.take(most));
        for inner in archive.entries().map_err(|e| self.wrong(e))? {
            let mut inner = inner.map_err(|e| self.wrong(e))?;
            let path = String::from_utf8_lossy(&inner.path_bytes()).into_owned();
            if inner.header().entry_type().is_file() {
                self.offer(&path, &mut inner)?;
            }
        }
        Ok(())
    }
}
