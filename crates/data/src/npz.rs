//! Sparse matrices as `scipy.sparse.save_npz` writes them: a zip archive of arrays in NumPy's format.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use dsokr_basis::features::SparseRows;
use dsokr_core::message;
use dsokr_core::rounding::Rounding;
use zip::ZipArchive;
use zip::read::ZipFile;

use crate::error::{Error, check, open};
use crate::npy;
use crate::rounding::check_rounding;

/// Reads a matrix in compressed sparse rows, of numbers of any type as `f32`. Columns may come in any order in a row. With
/// `training`, columns that 32 bits do not tell apart are refused.
///
/// Sizes, offsets and columns are whole numbers. The length of each array follows from the sizes or from the last offset, and
/// is compared with its header, and its memory with what there is, before its numbers are read: a few compressed bytes may be
/// many.
pub(crate) fn read_sparse(path: &Path, training: bool) -> Result<SparseRows, Error> {
    let wrong = |reason: String| Error::file(path, reason);
    let archive = ZipArchive::new(BufReader::new(open(path)?));
    let mut archive = archive.map_err(|error| wrong(format!("not an .npz file: {error}")))?;
    let format = npy::read_word(path, entry(&mut archive, path, "format")?)?;
    let allowed = "\"csr\", which matrix.tocsr() gives";
    check(format == "csr", format!("{}: format", path.display()), format!("{format:?}"), allowed)?;
    let mut numbers = |name: &str, count: f64| {
        let entry = entry(&mut archive, path, name)?;
        let size = entry.size();
        npy::read_vector(path, name, entry, size, count)
    };
    let shape = numbers("shape", 2.0)?;
    check_whole(path, "shape", &shape)?;
    let rows = shape[0];
    let width = shape[1];
    if rows < 1.0 || width < 1.0 {
        return Err(wrong(format!(
            "{rows} rows of {width} columns; at least one of each is needed"
        )));
    }
    let offsets = numbers("indptr", rows + 1.0)?;
    check_whole(path, "indptr", &offsets)?;
    let ascends = offsets[0] == 0.0 && offsets.is_sorted();
    let count = offsets[offsets.len() - 1];
    if !ascends {
        return Err(wrong("array \"indptr\": its offsets do not ascend from 0".into()));
    }
    let columns = numbers("indices", count)?;
    check_whole(path, "indices", &columns)?;
    if let Some(column) = columns.iter().find(|&&column| column >= width) {
        let column = message::number(*column);
        let last = message::number(width - 1.0);
        return Err(wrong(format!("array \"indices\": column {column}; allowed: 0 to {last}")));
    }
    let values = numbers("data", count)?;
    let offsets: Vec<usize> = offsets.into_iter().map(|offset| offset as usize).collect();
    if training {
        check_columns(path, &offsets, &columns, &values, width as usize)?;
    }
    let row = |range: &[usize]| {
        let range = range[0]..range[1];
        let entries = columns[range.clone()].iter().zip(&values[range]);
        let entries = entries.filter(|(_, value)| **value != 0.0);
        let mut entries: Vec<(u32, f32)> =
            entries.map(|(&column, &value)| (column as u32, value as f32)).collect();
        entries.sort_unstable_by_key(|&(column, _)| column);
        entries
    };
    let rows = SparseRows::from_rows(width as usize, offsets.windows(2).map(row));
    rows.map_err(|reason| Error::rows(path, reason))
}

/// Returns what reads an array of the archive.
fn entry<'a, R: Read + Seek>(
    archive: &'a mut ZipArchive<R>,
    path: &Path,
    name: &str,
) -> Result<ZipFile<'a, R>, Error> {
    archive.by_name(&format!("{name}.npy")).map_err(|error| {
        let has = "scipy.sparse.save_npz writes format, shape, indptr, indices and data";
        Error::file(path, format!("array {name:?}: {error}; {has}"))
    })
}

/// Refuses an array with a number that is not whole, or below 0.
fn check_whole(path: &Path, name: &str, numbers: &[f64]) -> Result<(), Error> {
    let is_whole = |number: f64| number >= 0.0 && number == number.trunc();
    let Some(at) = numbers.iter().position(|&number| !is_whole(number)) else { return Ok(()) };
    let number = message::number(numbers[at]);
    let allowed = "whole numbers from 0";
    Err(Error::file(path, format!("array {name:?}: {number} at {at}; allowed: {allowed}")))
}

/// Refuses columns that 32 bits do not tell apart, among those without zeros, which are in the first row too. Others reach
/// from zero to their numbers, which rounding hardly changes.
fn check_columns(
    path: &Path,
    offsets: &[usize],
    columns: &[f64],
    values: &[f64],
    width: usize,
) -> Result<(), Error> {
    let rows = offsets.len() - 1;
    let first_row = &columns[..offsets[1]];
    let mut roundings: BTreeMap<u32, Rounding> =
        first_row.iter().map(|&column| (column as u32, Rounding::default())).collect();
    for (&column, &value) in columns.iter().zip(values).filter(|(_, value)| **value != 0.0) {
        if let Some(rounding) = roundings.get_mut(&(column as u32)) {
            rounding.add(value as f32, value);
        }
    }
    let full = roundings.into_iter().filter(|(_, rounding)| rounding.count() == rows);
    let (numbers, full): (Vec<u32>, Vec<Rounding>) = full.unzip();
    check_rounding(path, &full, full.len() < width, |at| format!("in column {}", numbers[at]))
}
