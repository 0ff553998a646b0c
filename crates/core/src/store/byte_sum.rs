//! Checksums of bytes, of which several processes may have parts, and of files.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::fs::{self, Metadata};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use crc32fast::Hasher;

use crate::error::Error;
use crate::processes::Processes;
use crate::store::open_input;

/// The checksum of some bytes, with their number, from which that of the bytes of several processes is made.
///
/// ```
/// use dsokr_core::processes::threads;
/// use dsokr_core::store::ByteSum;
///
/// let sums = threads(2, |processes| {
///     let text = if processes.is_first() { "first, " } else { "second" };
///     ByteSum::of(text.as_bytes()).joined(processes)
/// });
/// for sum in sums {
///     assert_eq!(sum?, ByteSum::of(b"first, second"));
/// }
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteSum {
    checksum: u32,
    length: u64,
}

/// Writes the checksum as eight hexadecimal digits.
impl Display for ByteSum {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        write!(out, "{:08x}", self.checksum)
    }
}

impl ByteSum {
    /// Returns the checksum of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { checksum: crc32fast::hash(bytes), length: bytes.len() as u64 }
    }

    /// Returns the checksum of a file, which is not held in memory.
    ///
    /// # Errors
    /// The errors of [`open_input`].
    ///
    /// ```
    /// # use dsokr_core::store::ByteSum;
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("table.tsv");
    /// std::fs::write(&path, "id\tname\n")?;
    /// assert_eq!(ByteSum::of_file(&path)?, ByteSum::of(b"id\tname\n"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(1 << 20, open_input(path)?);
        let mut sum = Self::default();
        loop {
            let bytes = file.fill_buf()?;
            let read = bytes.len();
            if read == 0 {
                return Ok(sum);
            }
            sum = sum.followed_by(bytes);
            file.consume(read);
        }
    }

    /// Returns the checksum of a file, as [`of_file`](Self::of_file) does, which a process reads once, and again only where it
    /// has changed: where it has another length or time of modification; on Unix also where it is another file or has another
    /// time of the last change, and on Windows where it has another time of creation.
    ///
    /// # Errors
    /// The errors of [`open_input`].
    pub fn of_file_once(path: &Path) -> io::Result<Self> {
        Self::of_file_at(path, SystemTime::now())
    }

    /// Returns what [`of_file_once`](Self::of_file_once) does at a time.
    fn of_file_at(path: &Path, begun: SystemTime) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let state = FileState::of(&fs::metadata(&path)?)?;
        // who would wait for the lock reads the file: a fork of the process may inherit a lock that is never given back
        if let Ok(known) = KNOWN.try_lock()
            && let Some((known_state, sum)) = known.get(&path)
            && *known_state == state
        {
            return Ok(*sum);
        }
        let sum = Self::of_file(&path)?;
        let is_unchanged = FileState::of(&fs::metadata(&path)?)? == state;
        if state.tells_changes_from(begun)
            && is_unchanged
            && let Ok(mut known) = KNOWN.try_lock()
        {
            known.insert(path, (state, sum));
        }
        Ok(sum)
    }

    /// Returns the checksum of these bytes with more behind them.
    ///
    /// ```
    /// # use dsokr_core::store::ByteSum;
    /// assert_eq!(ByteSum::of(b"first, ").followed_by(b"second"), ByteSum::of(b"first, second"));
    /// ```
    pub fn followed_by(self, more: &[u8]) -> Self {
        let mut hasher = self.hasher();
        hasher.update(more);
        Self { checksum: hasher.finalize(), length: self.length + more.len() as u64 }
    }

    /// Returns the checksum of the bytes of all processes, those of rank 0 first.
    ///
    /// # Errors
    /// The errors of [`Processes::gather`].
    pub fn joined(self, processes: &Processes) -> Result<Self, Error> {
        let all = processes.gather_numbers(&[u64::from(self.checksum), self.length])?.concat();
        let mut joined = Hasher::new();
        let mut length = 0;
        for &[checksum, length_of_part] in all.as_chunks::<2>().0 {
            let part = Self { checksum: checksum as u32, length: length_of_part };
            joined.combine(&part.hasher());
            length += part.length;
        }
        Ok(Self { checksum: joined.finalize(), length })
    }

    /// Returns the checksum as one that goes on with further bytes.
    pub(super) fn hasher(self) -> Hasher {
        Hasher::new_with_initial_len(self.checksum, self.length)
    }
}

/// The checksums of files that this process has read, with the state in which they were.
static KNOWN: Mutex<BTreeMap<PathBuf, (FileState, ByteSum)>> = Mutex::new(BTreeMap::new());

/// More than the steps in which file systems count times: two seconds at most.
const STEP: Duration = Duration::from_secs(3);

/// What is different in another file, and in the same file after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    length: u64,
    modified: SystemTime,
    /// The time of the last change of bytes or attributes, which nobody can set; none where the system does not keep it.
    changed: Option<SystemTime>,
    /// What the system knows besides.
    identity: [u64; 2],
}

impl FileState {
    fn of(file: &Metadata) -> io::Result<Self> {
        Ok(Self {
            length: file.len(),
            modified: file.modified()?,
            changed: changed(file),
            identity: identity(file),
        })
    }

    /// Returns whether every change from a time on gives the file another state.
    fn tells_changes_from(&self, time: SystemTime) -> bool {
        // a copy may have the time of modification of its source
        let last = self.changed.map_or(self.modified, |changed| changed.max(self.modified));
        time.duration_since(last).is_ok_and(|age| age > STEP)
    }
}

#[cfg(unix)]
fn changed(file: &Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;
    let seconds = u64::try_from(file.ctime()).ok()?;
    let nanoseconds = u32::try_from(file.ctime_nsec()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds))
}

#[cfg(not(unix))]
fn changed(_: &Metadata) -> Option<SystemTime> {
    None
}

/// Returns the device and the number of a file.
#[cfg(unix)]
fn identity(file: &Metadata) -> [u64; 2] {
    use std::os::unix::fs::MetadataExt;
    [file.dev(), file.ino()]
}

/// Returns the time of creation of a file, which is another one for most files that take the place of others.
#[cfg(windows)]
fn identity(file: &Metadata) -> [u64; 2] {
    use std::os::windows::fs::MetadataExt;
    [file.creation_time(), 0]
}

/// Returns nothing: length and time of modification must do.
#[cfg(not(any(unix, windows)))]
fn identity(_: &Metadata) -> [u64; 2] {
    [0; 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_where_it_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("table.tsv");
        let now = SystemTime::now();
        let write = |text: &str, age: u64| {
            fs::write(&path, text).unwrap();
            let file = fs::File::options().append(true).open(&path).unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
        };
        // changes of the files are now, and cannot be put into the past
        let sum = || ByteSum::of_file_at(&path, now + Duration::from_secs(60)).unwrap();
        let is_known = || KNOWN.lock().unwrap().contains_key(&path);

        // a later change might have the same time
        write("first", 0);
        assert_eq!(ByteSum::of_file_once(&path).unwrap(), ByteSum::of(b"first"));
        assert!(!is_known());
        // so might one of a copy that has the time of its source
        write("copy", 60);
        assert_eq!(ByteSum::of_file_once(&path).unwrap(), ByteSum::of(b"copy"));
        assert_eq!(is_known(), !cfg!(unix));
        write("First", 60);
        for _ in 0..2 {
            assert_eq!(sum(), ByteSum::of(b"First"));
            assert!(is_known());
        }
        write("other", 50);
        assert_eq!(sum(), ByteSum::of(b"other"));
        if cfg!(unix) {
            // a tick of the system's clock
            std::thread::sleep(Duration::from_millis(50));
            write("Other", 50);
            assert_eq!(sum(), ByteSum::of(b"Other"));
        }
        fs::remove_file(&path).unwrap();
        assert!(ByteSum::of_file_once(&path).is_err());
    }
}
