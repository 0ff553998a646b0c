//! A trained run as one file, to be published or sent.
//!
//! The file is a tar archive, compressed by zstd with a checksum, that holds one folder: the run directory without
//! what only a further training needs (`checkpoint/`, `tensorboard/`), what is made again (`shards/`), and what says
//! where the data lay on the machine of the training (`data.json`). Equal runs give equal bytes.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};

use dsokr_core::store::{Stored, check_inside, open_input, sync_file, write_atomically};

use super::Run;
use crate::error::{Error, ensure_run};
use crate::run_dir::{
    ALL, CHECKPOINTS, DATA, NEXT_CANDIDATES, RunDir, RunLock, SHARDS, TENSORBOARD, candidates,
    check_sealed_files, create_whole, inner, name,
};

/// Files and folders of a run that an archive leaves out.
const LEFT_OUT: [&str; 5] = [CHECKPOINTS, DATA, NEXT_CANDIDATES, SHARDS, TENSORBOARD];

/// The level of zstd: the numbers of a model hardly become smaller at a higher one.
const LEVEL: i32 = 3;

/// An archive may hold this many times its own bytes, and [`SMALL`] more. One of a run that is compressed further has
/// [frames that are skipped](skipped_frame) behind it.
const MOST_EXPANSION: u64 = 256;
const SMALL: u64 = 64 << 20;

/// The bytes of a frame that is skipped.
const SKIPPED: u32 = 64 << 10;

/// The most bytes of the name of an entry.
const LONGEST_NAME: u64 = 64 << 10;

/// The bytes that are read at once.
const PART: usize = 1 << 20;

/// The first bytes of a file that is compressed by zstd.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Returns whether a path is a file that is compressed as archives of runs are.
pub fn is_archive(path: &Path) -> bool {
    let mut first = [0; 4];
    open_input(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == MAGIC
}

/// Writes the complete run at `run`, of a model or of an ensemble, as the archive `archive`, whole or not at all.
///
/// # Errors
/// A folder that is no run, is damaged, cannot be opened or is not trained to its end; errors of the file system.
pub fn pack(run: &Path, archive: &Path) -> Result<(), Error> {
    check_complete(run)?;
    let _lock = RunLock::take_to_read(run)?;
    let config = RunDir::at(run).config()?;
    if config.ensemble.is_some() {
        candidates::finish(run, &inner(run, &config)?)?;
    }
    let folder = run.canonicalize().map_err(Error::io(run))?;
    let root = PathBuf::from(name(&folder));
    let files = files_of(&folder, Path::new(""))?;
    let written = write_atomically(archive, |out| {
        let mut encoder = zstd::Encoder::new(Counted { inner: out, bytes: 0 }, LEVEL)?;
        encoder.include_checksum(true)?;
        let mut tar = tar::Builder::new(Counted { inner: encoder, bytes: 0 });
        tar.mode(tar::HeaderMode::Deterministic);
        tar.sparse(false);
        for file in &files {
            tar.append_path_with_name(folder.join(file), root.join(file))?;
        }
        let unpacked = tar.into_inner()?;
        let mut packed = unpacked.inner.finish()?;
        while most_unpacked(packed.bytes) < unpacked.bytes {
            packed.write_all(&skipped_frame())?;
        }
        Ok(())
    });
    Ok(written?)
}

/// Returns the most bytes that an archive of so many bytes may hold.
fn most_unpacked(bytes: u64) -> u64 {
    bytes.saturating_mul(MOST_EXPANSION).saturating_add(SMALL)
}

/// Returns a frame that readers of zstd skip (RFC 8878, section 3.1.2).
fn skipped_frame() -> Vec<u8> {
    let mut frame = vec![0x50, 0x2a, 0x4d, 0x18];
    frame.extend(SKIPPED.to_le_bytes());
    frame.resize(frame.len() + SKIPPED as usize, 0);
    frame
}

/// A writer that counts its bytes.
struct Counted<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Unpacks the run of an archive at the path that `place` gives for the run's name, whole or not at all; returns that
/// path.
///
/// # Errors
/// A file that [`pack`] has not written, or that is damaged; a path at which something is; errors of the file system.
pub fn unpack(
    archive: &Path,
    place: impl FnOnce(&str) -> Result<PathBuf, Error>,
) -> Result<PathBuf, Error> {
    check_headers(archive)?;
    let name = name_of(archive)?;
    let run = place(&name)?;
    let whole = |here: &Path| {
        extract(archive, &name, here)?;
        check_complete(here)
            .map_err(|error| Error::run(archive, format_args!("it holds no complete run: {error}")))
    };
    create_whole(&run, None, whole)?;
    Ok(run)
}

/// The entries of an archive, as a reader of all that it holds.
type Unpacked = io::Take<zstd::Decoder<'static, BufReader<File>>>;

fn open(archive: &Path) -> Result<tar::Archive<Unpacked>, Error> {
    let file = open_input(archive).map_err(Error::reading(archive))?;
    let bytes = file.metadata().map_err(Error::io(archive))?.len();
    ensure_run(bytes > 0, archive, "damaged: an empty file, not the archive of a run")?;
    let decoder = zstd::Decoder::new(file).map_err(damaged(archive))?;
    Ok(tar::Archive::new(decoder.take(most_unpacked(bytes))))
}

fn damaged(archive: &Path) -> impl Fn(io::Error) -> Error {
    move |error| Error::run(archive, format_args!("damaged, or not an archive of a run: {error}"))
}

fn ends_early(archive: &Path) -> Error {
    let message = format_args!(
        "damaged: it ends early, or holds more than {MOST_EXPANSION} times its own size"
    );
    Error::run(archive, message)
}

/// Reads an archive to its end, where its checksum stands, and refuses names of entries that are longer than any path: a
/// reader of entries takes them into memory.
fn check_headers(archive: &Path) -> Result<(), Error> {
    let mut tar = open(archive)?;
    for entry in tar.entries().map_err(damaged(archive))?.raw(true) {
        let mut entry = entry.map_err(damaged(archive))?;
        let kind = entry.header().entry_type();
        let is_name = kind.is_gnu_longname() || kind.is_gnu_longlink();
        let is_pax = kind.is_pax_local_extensions() || kind.is_pax_global_extensions();
        // headers of pax could say other sizes than the headers that are read here
        ensure_run(!is_pax, archive, "it has headers of the format pax: not an archive of a run")?;
        let message = "an entry has a name of more than 64 KiB: not an archive of a run";
        ensure_run(!is_name || entry.size() <= LONGEST_NAME, archive, message)?;
        let read = io::copy(&mut entry, &mut io::sink()).map_err(damaged(archive))?;
        if read < entry.size() {
            return Err(ends_early(archive));
        }
    }
    io::copy(&mut tar.into_inner(), &mut io::sink()).map_err(damaged(archive))?;
    Ok(())
}

/// Returns the name of an archive's run: that of the folder which the archive holds.
fn name_of(archive: &Path) -> Result<String, Error> {
    let mut tar = open(archive)?;
    let first = tar.entries().and_then(|mut entries| entries.next().transpose());
    let Some(entry) = first.map_err(damaged(archive))? else {
        return Err(Error::run(archive, "empty; an archive of a run is needed"));
    };
    let path = entry.path().map_err(damaged(archive))?;
    let folder = path.components().next();
    match folder.and_then(|folder| folder.as_os_str().to_str().map(|name| (folder, name))) {
        Some((Component::Normal(_), name)) => Ok(name.to_owned()),
        Some(_) | None => Err(Error::run(archive, "it does not hold the folder of a run")),
    }
}

/// Writes the files of an archive, which all lie in its folder `name`, into the folder `here`.
fn extract(archive: &Path, name: &str, here: &Path) -> Result<(), Error> {
    let mut tar = open(archive)?;
    for entry in tar.entries().map_err(damaged(archive))? {
        let mut entry = entry.map_err(damaged(archive))?;
        let path = entry.path().map_err(damaged(archive))?.into_owned();
        let kind = entry.header().entry_type();
        if kind.is_dir() {
            continue;
        }
        let inside = path.strip_prefix(name).ok();
        let inside =
            inside.filter(|inside| check_inside("entry", &inside.to_string_lossy()).is_ok());
        let Some(inside) = inside.filter(|_| kind.is_file()) else {
            let message = format_args!(
                "{} is not a plain file in the folder {name}: not an archive of a run",
                path.display()
            );
            return Err(Error::run(archive, message));
        };
        write_new(archive, &mut entry, &here.join(inside))?;
    }
    Ok(())
}

/// Writes an entry of an archive as a new file.
fn write_new(archive: &Path, entry: &mut tar::Entry<Unpacked>, path: &Path) -> Result<(), Error> {
    let failed = Error::io(path);
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(&failed)?;
    let mut file = File::create_new(path).map_err(&failed)?;
    let mut written = 0;
    let mut part = vec![0; PART];
    loop {
        let bytes = entry.read(&mut part).map_err(damaged(archive))?;
        if bytes == 0 {
            break;
        }
        file.write_all(&part[..bytes]).map_err(&failed)?;
        written += bytes as u64;
    }
    if written < entry.size() {
        return Err(ends_early(archive));
    }
    sync_file(&file).map_err(&failed)
}

/// Refuses a folder that is no run, is damaged, is not trained to its end, or cannot be opened, as one without its model.
fn check_complete(run: &Path) -> Result<(), Error> {
    check_files(run)?;
    Run::open(run).map(drop)
}

/// Refuses a run that is not trained to its end, and one with a damaged file: readers verify some files in part, and
/// others never.
fn check_files(run: &Path) -> Result<(), Error> {
    let folder = RunDir::at(run);
    let config = folder.config()?;
    let message = "not trained to its end: only a complete run becomes an archive";
    ensure_run(folder.report()?.is_some(), run, message)?;
    check_sealed_files(run)?;
    for name in ALL.iter().filter(|name| name.ends_with(".safetensors") && !is_left_out(name)) {
        let file = run.join(name);
        if file.exists() {
            Stored::verify(&file)?;
        }
    }
    inner(run, &config)?.iter().try_for_each(|member| check_files(member))
}

/// Returns whether an archive leaves out a file or a folder of this name. A hidden file is one that another process is about to
/// put into its place.
fn is_left_out(name: &str) -> bool {
    name.starts_with('.') || LEFT_OUT.contains(&name)
}

/// Returns the files of the folder of a run, by their paths in it, in order.
fn files_of(run: &Path, within: &Path) -> Result<Vec<PathBuf>, Error> {
    let folder = run.join(within);
    let entries: io::Result<Vec<fs::DirEntry>> = fs::read_dir(&folder).and_then(Iterator::collect);
    let mut names: Vec<_> =
        entries.map_err(Error::io(&folder))?.iter().map(fs::DirEntry::file_name).collect();
    names.sort();
    let mut files = Vec::new();
    for name in names {
        let text = name.to_string_lossy();
        if is_left_out(&text) {
            continue;
        }
        let path = within.join(&name);
        if run.join(&path).is_dir() {
            files.extend(files_of(run, &path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}
