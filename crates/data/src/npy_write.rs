use std::io;
use std::path::Path;

use dsokr_basis::store::write_atomically;

use crate::Error;

/// Writes a matrix of 32-bit numbers as `numpy.save` does, row-major, atomically: `next` gives some
/// rows at a time, and none at the end. What [`read_matrix`](crate::read_matrix) and NumPy read.
///
/// # Errors
/// The errors of `next`; [`Error::File`] for another number of rows than `rows`; what the file system
/// reports. No file is left then.
///
/// ```
/// use dsokr_data::{read_matrix, write_matrix};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("z.npy");
/// let mut blocks = [vec![1.0, 2.0, 3.0, 4.0], vec![5.0, 6.0]].into_iter();
/// write_matrix(&path, (3, 2), || Ok::<_, dsokr_data::Error>(blocks.next()))?;
/// assert_eq!(read_matrix(&path)?[(2, 1)], 6.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_matrix<E: From<Error>>(
    path: &Path,
    (rows, width): (usize, usize),
    mut next: impl FnMut() -> Result<Option<Vec<f32>>, E>,
) -> Result<(), E> {
    let mut failed = None;
    let written = write_atomically(path, |file| {
        file.write_all(&header(&format!("{rows}, {width}")))?;
        let mut count = 0;
        loop {
            match next() {
                Ok(Some(block)) => {
                    count += block.len();
                    block.iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))?;
                }
                Ok(None) if count == rows * width => return Ok(()),
                Ok(None) => {
                    let message = format!("{count} numbers for {rows} rows of {width}");
                    failed = Some(Error::file(path, message).into());
                    return Err(io::Error::other("the rows cannot be made"));
                }
                Err(error) => {
                    failed = Some(error);
                    return Err(io::Error::other("the rows cannot be made"));
                }
            }
        }
    });
    match (failed, written) {
        (Some(error), _) => Err(error),
        (None, written) => written.map_err(|error| Error::from(error).into()),
    }
}

/// Writes 32-bit numbers as `numpy.save` writes an array of one dimension, atomically.
///
/// # Errors
/// What the file system reports.
pub fn write_vector(path: &Path, values: &[f32]) -> Result<(), Error> {
    Ok(write_atomically(path, |file| {
        file.write_all(&header(&format!("{},", values.len())))?;
        values.iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))
    })?)
}

/// Magic, version 1.0, the header's length, and the header with the sizes of a shape, padded to a
/// multiple of 64 bytes.
fn header(sizes: &str) -> Vec<u8> {
    let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({sizes}), }}");
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    // two sizes have at most 40 digits, so the length fits
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{text:<width$}\n", width = length - 1).bytes());
    bytes
}
