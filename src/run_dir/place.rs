//! Where runs lie, and where commands write their results: outside of run directories, and folders whole or not at
//! all.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsokr_core::Argument;
use dsokr_core::store::{Listed, create_folder, new_folder, remove_abandoned, replace_folder};

use super::{CANDIDATES, CONFIG, FINGERPRINTS, MEMBERS};
use crate::config::Checked;
use crate::error::{Error, ensure};

/// Returns whether a folder is a run directory. Other folders too may have a file of the configuration's name.
pub(crate) fn is_run(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).exists();
    has(CONFIG) && [FINGERPRINTS, CANDIDATES, MEMBERS].into_iter().any(has)
}

/// Returns the run directory that a path is, or that it lies in; the path need not exist.
pub(crate) fn run_of(path: &Path) -> Option<PathBuf> {
    let within = |path: &Path| {
        let path = std::path::absolute(path).ok()?;
        let there = path.ancestors().find_map(|path| path.canonicalize().ok())?;
        there.ancestors().find(|folder| is_run(folder)).map(Path::to_path_buf)
    };
    // a link in a run is one of its files, wherever it leads
    within(path).or_else(|| within(parent(path)))
}

/// Returns the run directory: `--out`, else `runs/<name>`, else the first one of `runs/<name>-2`, `-3`, … that is free and
/// that no other process is about to make; to resume, the last one that exists.
pub(crate) fn place_of(name: &str, out: Option<&Path>, resume: bool) -> Result<PathBuf, Error> {
    if let Some(out) = out {
        check_link("out", out)?;
        return if out.exists() && !resume {
            Err(Error::RunExists { path: out.into() })
        } else {
            Ok(out.into())
        };
    }
    let numbered = |i: usize| match i {
        1 => PathBuf::from("runs").join(name),
        _ => PathBuf::from("runs").join(format!("{name}-{i}")),
    };
    let number = if resume {
        last_number(name).unwrap_or(1)
    } else {
        let is_free = |run: &Path| !run.exists() && !RunLock::is_taken(run);
        (1..).find(|&number| is_free(&numbered(number))).unwrap_or(1)
    };
    Ok(numbered(number))
}

/// Returns the run directory as [`place_of`] does, and the right to make it, if it is a new one: before the work whose results
/// it is for, so that nobody else takes the place meanwhile, and a place in which nothing can be written is refused.
///
/// # Errors
/// As [`place_of`]; a run that another process makes; what the file system reports.
pub(crate) fn reserve(
    name: &str,
    out: Option<&Path>,
    resume: bool,
) -> Result<(PathBuf, Option<RunLock>), Error> {
    loop {
        let path = place_of(name, out, resume)?;
        if path.exists() {
            return Ok((path, None));
        }
        check_writable(&path)?;
        let made = create_parent(&path)?;
        let lock = RunLock::take(&path);
        // another process has been faster: it has made the run, or the next number may be free
        let takes_next = out.is_none() && !resume && lock.is_err();
        if takes_next || path.exists() {
            continue;
        }
        let mut lock = lock?;
        if let Some(lock) = &mut lock {
            lock.made = made;
        }
        return Ok((path, lock));
    }
}

/// Refuses a place in which nothing can be written, such as that of a name that is too long: makes and removes a temporary
/// file for it, as its writers name them. Of folders that do not exist the first one above them is tried.
fn check_writable(path: &Path) -> Result<(), Error> {
    let mut folder = parent(path);
    while !folder.exists() {
        folder = parent(folder);
    }
    let prefix = format!(".{}.", name(path));
    let temporary = tempfile::Builder::new().prefix(&prefix).suffix(".partial").tempfile_in(folder);
    temporary.map(drop).map_err(Error::io(folder))
}

/// Returns the largest number of a folder `runs/<name>`, which has 1, or `runs/<name>-2`, `-3`, …; none where none exists.
fn last_number(name: &str) -> Option<usize> {
    let number = |folder: &str| match folder.strip_prefix(name)? {
        "" => Some(1),
        rest => rest.strip_prefix('-')?.parse().ok().filter(|&number| number > 1),
    };
    let folders = std::fs::read_dir("runs").ok()?;
    folders.filter_map(|folder| number(folder.ok()?.file_name().to_str()?)).max()
}

/// Refuses a path for a folder, of this argument, that is a link to something that does not exist: a folder cannot take
/// the place of a link.
///
/// # Errors
/// [`dsokr_core::Error::Value`] of the argument.
pub(crate) fn check_link(argument: &'static str, path: &Path) -> Result<(), Error> {
    let Ok(target) = path.read_link() else { return Ok(()) };
    let found = format_args!("{}, a link to {}", path.display(), target.display());
    let allowed = "a path without a link to something that does not exist: remove the link, or create what it leads to";
    ensure(path.exists(), Argument::new(argument), found, allowed)
}

/// Returns the folder that holds a run.
pub(crate) fn parent(run: &Path) -> &Path {
    match run.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Returns the name of a run's folder.
pub(crate) fn name(run: &Path) -> String {
    run.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the run directories of an ensemble's members, each named as its member is.
pub(crate) fn inner(path: &Path, config: &Checked) -> Result<Vec<PathBuf>, Error> {
    let members = config.members()?;
    Ok(members.iter().map(|member| path.join(MEMBERS).join(&member.name)).collect())
}

/// Refuses a path for results, of this argument, that is a run directory or lies in one, whose files it may
/// replace, one that is neither a file nor a folder, such as a named pipe or a device, and a new one where nothing can be
/// written. None is allowed.
///
/// # Errors
/// [`dsokr_core::Error::Value`] of the argument; what the file system reports.
pub fn check_output<'a>(
    argument: &'static str,
    path: impl Into<Option<&'a PathBuf>>,
) -> Result<(), Error> {
    let path: Option<&PathBuf> = path.into();
    let Some(path) = path else { return Ok(()) };
    let is_other = fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir());
    let allowed = "a file or a new name: results are put into its place, and not written into it";
    ensure(!is_other, Argument::new(argument), path.display(), allowed)?;
    // what is there may lie behind a link, or be a folder into which a sweep puts further runs
    let Some(run) = run_of(path) else {
        return if path.exists() { Ok(()) } else { check_writable(path) };
    };
    let run = run.display();
    let allowed = format!("a path outside of {run}, a run directory, whose files it may replace");
    Err(Error::value(Argument::new(argument), path.display(), allowed))
}

/// Refuses a path for results, of this argument, that is the file `read`, which it would replace.
///
/// # Errors
/// [`dsokr_core::Error::Value`] of the argument.
pub fn check_not_read(argument: &'static str, path: &Path, read: &Path) -> Result<(), Error> {
    let same =
        path.canonicalize().is_ok_and(|path| read.canonicalize().is_ok_and(|read| read == path));
    ensure(!same, Argument::new(argument), path.display(), "a file other than the one that is read")
}

/// A folder for results of one kind. An earlier one of that kind is replaced as a whole.
#[derive(Clone, Copy, Debug)]
pub struct OutputFolder<'a> {
    /// The argument that names it.
    pub argument: &'static str,
    /// The contents of an earlier one, for the error.
    pub holds: &'a str,
    /// Whether a file or a folder of this name is one of these.
    pub is_own: fn(&str) -> bool,
    /// Files that every earlier one has. People give the names of these files too: a folder without one of them is a
    /// folder of the user.
    pub always: &'a [&'a str],
}

impl OutputFolder<'_> {
    /// Refuses a path that [`check_output`] refuses, and a folder that holds anything else.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] of the argument; what the file system reports.
    pub fn check(&self, folder: &Path) -> Result<(), Error> {
        check_output(self.argument, &folder.to_path_buf())?;
        self.check_contents(folder)?;
        // the new one is filled beside the earlier one
        check_writable(&canonical(folder))
    }

    fn check_contents(&self, folder: &Path) -> Result<(), Error> {
        let Self { argument, holds, is_own, always } = *self;
        let key = || Argument::new(argument);
        check_link(argument, folder)?;
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(Error::io(folder)(e)),
        };
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        let is_here =
            here.is_ok_and(|here| folder.canonicalize().is_ok_and(|folder| folder == here));
        let allowed = "a folder other than the current one, since it is replaced as a whole";
        ensure(!is_here, key(), folder.display(), allowed)?;
        let missing = always.iter().find(|name| !folder.join(name).exists());
        let lacks = missing.map(|name| format!(" and no {name}")).unwrap_or_default();
        for entry in entries {
            let name = entry.map_err(Error::io(folder))?.file_name();
            let name = name.to_string_lossy();
            let is_earlier = is_own(&name) && missing.is_none();
            let found = format_args!("{}, which holds {name}{lacks}", folder.display());
            let allowed = format_args!("a folder that does not exist, is empty, or holds {holds}");
            ensure(is_earlier, key(), found, allowed)?;
        }
        Ok(())
    }

    /// Fills the folder: `fill` fills a temporary one, which takes its place. Until then, and where it fails or the
    /// process is killed, the folder is as it was.
    ///
    /// # Errors
    /// As [`check`](Self::check), but in a run directory too; errors of `fill`.
    pub fn write(
        &self,
        folder: &Path,
        fill: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.check_contents(folder)?;
        replace_folder(folder, fill)
    }
}

/// Creates the folder of a run, complete or not at all: `fill` fills it under a temporary name next to
/// its place, and it is renamed. Returns the right to write it, which is taken unless it is `reserved`.
pub(crate) fn create_whole(
    path: &Path,
    reserved: Option<Arc<RunLock>>,
    fill: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<Option<Arc<RunLock>>, Error> {
    let _made = create_parent(path)?;
    let lock = match reserved {
        Some(lock) => Some(lock),
        None => RunLock::take(path)?.map(Arc::new),
    };
    if path.exists() {
        return Err(Error::RunExists { path: path.into() });
    }
    new_folder(path, fill)?;
    Ok(lock)
}

/// Creates the folder that a run is to lie in, and those above it.
fn create_parent(path: &Path) -> Result<MadeFolders, Error> {
    let parent = parent(path);
    MadeFolders::create(parent)
        .map_err(|e| Error::run(parent, format!("no run directory can be made there: {e}")))
}

/// The folders that were made for runs which have not been written yet.
static MADE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Folders that were made for a run to lie in. Those that hold nothing go again when this is dropped, and by
/// [`remove_made_folders`].
#[derive(Debug, Default)]
struct MadeFolders {
    /// The lowest first.
    folders: Vec<PathBuf>,
}

impl MadeFolders {
    /// Creates a folder and the folders above it that do not exist.
    fn create(folder: &Path) -> io::Result<Self> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let missing = folder.ancestors().take_while(is_missing);
        let made = Self { folders: missing.map(Path::to_path_buf).collect() };
        made_folders().extend(made.folders.iter().cloned());
        create_folder(folder)?;
        Ok(made)
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in &self.folders {
            // one that holds something stays
            let _ = fs::remove_dir(folder);
            made_folders().remove(folder);
        }
    }
}

fn made_folders() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the folders that were made for runs and hold nothing, where a signal ends the process.
#[cfg(feature = "command")]
pub(crate) fn remove_made_folders() {
    // a folder comes before those in it
    for folder in made_folders().iter().rev() {
        let _ = fs::remove_dir(folder);
    }
}

/// The right to write a run directory, the folder of a sweep, or a download, which one process has at a time.
///
/// It is an advisory lock on the file `.NAME.lock` next to the run, which holds the number of the process.
/// The system releases the lock of a process that ends, however it ends.
#[derive(Debug)]
pub(crate) struct RunLock {
    file: File,
    path: PathBuf,
    /// The entry in the list of files that a signal removes when it ends the process; none while the lock is dropped.
    listed: Option<Listed>,
    /// The folders that were made for the place.
    made: MadeFolders,
}

impl RunLock {
    /// Takes the lock of the run at `run`, and removes what a killed process left next to it. None where
    /// the file system has no locks or nothing may be written next to the run.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] with the process that writes the run.
    pub(crate) fn take(run: &Path) -> Result<Option<Self>, Error> {
        Self::take_of("run", run)
    }

    /// As [`take`](Self::take), of a run that is only read. One next to which nothing may be written needs no warning.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(crate) fn take_to_read(run: &Path) -> Result<Option<Self>, Error> {
        match Self::try_take("run", run)? {
            Ok(lock) => Ok(Some(lock)),
            Err(error) => {
                if !forbids_writing(&error) {
                    warn_of_no_lock(run, &error);
                }
                Ok(None)
            }
        }
    }

    /// Returns the other process that writes the run at `run`; none where there is none, or where that is not known.
    pub(crate) fn other_holder(run: &Path) -> Option<String> {
        let holder = Self::is_taken(run).then(|| holder(&lock_file(run)))?;
        Some(holder).filter(|holder| *holder != own_name())
    }

    /// Returns whether a process has the lock of the run at `run`, which may be about to be made.
    fn is_taken(run: &Path) -> bool {
        let lock = File::open(lock_file(run)).map_err(TryLockError::Error);
        let locked = lock.and_then(|file| file.try_lock_shared());
        matches!(locked, Err(TryLockError::WouldBlock))
    }

    /// Takes the lock of the sweep at `folder`, whose tables a second process would replace. Creates the folder that it is to
    /// lie in.
    ///
    /// # Errors
    /// As [`take`](Self::take); a folder that cannot be made.
    pub(crate) fn take_of_sweep(folder: &Path) -> Result<Option<Self>, Error> {
        let made = create_parent(folder)?;
        let mut lock = Self::take_of("sweep", folder)?;
        if let Some(lock) = &mut lock {
            lock.made = made;
        }
        Ok(lock)
    }

    /// Takes the lock of the download of an archive to `file`, from its first byte until it is unpacked: two processes would
    /// mix its bytes.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    #[cfg(all(feature = "command", feature = "fetch"))]
    pub(crate) fn take_of_download(file: &Path) -> Result<Option<Self>, Error> {
        Self::take_of("download", file)
    }

    fn take_of(kind: &str, run: &Path) -> Result<Option<Self>, Error> {
        match Self::try_take(kind, run)? {
            Ok(lock) => Ok(Some(lock)),
            Err(error) => {
                // where nothing can be written into the run either, writing says so
                if !forbids_writing(&error) || check_writable(&run.join(FINGERPRINTS)).is_ok() {
                    warn_of_no_lock(run, &error);
                }
                Ok(None)
            }
        }
    }

    /// Takes a lock, or returns the file system's error where it has no locks or the file of the lock cannot be written.
    fn try_take(kind: &str, run: &Path) -> Result<io::Result<Self>, Error> {
        let place = canonical(run);
        let path = lock_file(run);
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let file = options.open(&path).map_err(TryLockError::Error);
            let mut file = match file.and_then(|file| file.try_lock().map(|()| file)) {
                Ok(file) => file,
                Err(TryLockError::WouldBlock) => {
                    let message = format!(
                        "{} is writing this {kind}; wait for its end or stop it",
                        holder(&path)
                    );
                    return Err(Error::run(run, message));
                }
                Err(TryLockError::Error(error)) => return Ok(Err(error)),
            };
            // the holder before may have removed the file between the two calls above
            if !is_at(&file, &path) {
                continue;
            }
            let written = file
                .set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| writeln!(file, "{}", own_name()));
            if let Err(e) = written {
                tracing::warn!("{}: {e}", path.display());
            }
            remove_abandoned(&place);
            let listed = Some(Listed::new(&path));
            return Ok(Ok(Self { file, path, listed, made: MadeFolders::default() }));
        }
    }
}

/// Returns the path of a run without links: two names of one run have one lock.
fn canonical(run: &Path) -> PathBuf {
    run.canonicalize().unwrap_or_else(|_| run.into())
}

/// Returns the file of the lock of a run.
fn lock_file(run: &Path) -> PathBuf {
    let run = canonical(run);
    parent(&run).join(format!(".{}.lock", name(&run)))
}

/// Returns how the file of a lock names this process.
fn own_name() -> String {
    format!("process {}", std::process::id())
}

/// Returns the process that the file of a lock names.
fn holder(lock: &Path) -> String {
    let holder = fs::read_to_string(lock).unwrap_or_default();
    let holder = holder.trim();
    if holder.is_empty() { "a process".to_owned() } else { holder.to_owned() }
}

/// Returns whether an error says that this process may write nothing at a place.
fn forbids_writing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Warns once of a run: the place of a new one is tried again when it is made.
fn warn_of_no_lock(run: &Path, error: &io::Error) {
    static WARNED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if WARNED.lock().unwrap_or_else(PoisonError::into_inner).insert(run.into()) {
        let run = run.display();
        tracing::warn!(
            "{run} cannot be locked ({error}): make sure that no other process writes it"
        );
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // before the file is removed: after that one of this name is of a different process
        drop(self.listed.take());
        // removed while it is locked: who opens it meanwhile finds that it is gone, and tries again
        if is_at(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns whether a path still names an open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        (_, Err(e)) if e.kind() == ErrorKind::NotFound => false,
        _ => true,
    }
}

/// Returns whether a path still names an open file: other systems do not remove one that is open.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    match fs::metadata(path) {
        Err(e) => e.kind() != ErrorKind::NotFound,
        Ok(_) => true,
    }
}
