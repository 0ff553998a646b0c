//! Where commands write their results: outside of run directories, and folders whole or not at all.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_core::store::replace_folder;

use super::place::{canonical, check_link, check_writable, run_of};
use crate::error::{Error, ensure};

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
