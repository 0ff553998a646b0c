//! Checksums of bytes of which several processes have parts.

use std::fmt::{self, Display, Formatter};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

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
