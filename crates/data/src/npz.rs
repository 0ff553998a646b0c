//! Sparse matrices as `scipy.sparse.save_npz` writes them: a zip archive of arrays in NumPy's format.

use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::path::Path;

use dsokr_basis::features::SparseRows;
use dsokr_core::rounding::Rounding;
use zip::ZipArchive;

use crate::error::{Error, check, open};
use crate::npy;
use crate::rounding::check_rounding;

/// Reads a matrix in compressed sparse rows, of numbers of any type as `f32`. Columns may come in any order in a row. With
/// `training`, columns that 32 bits do not tell apart are refused.
pub(crate) fn read_sparse(path: &Path, training: bool) -> Result<SparseRows, Error> {
    let wrong = |reason: String| Error::file(path, reason);
    let archive = ZipArchive::new(BufReader::new(open(path)?));
    let mut archive = archive.map_err(|error| wrong(format!("not an .npz file: {error}")))?;
    let mut array = |name: &str| -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let entry = archive.by_name(&format!("{name}.npy"));
        let mut entry = entry.map_err(|error| {
            let has = "scipy.sparse.save_npz writes format, shape, indptr, indices and data";
            wrong(format!("array {name:?}: {error}; {has}"))
        })?;
        entry.read_to_end(&mut bytes).map_err(|source| Error::io(path, source))?;
        Ok(bytes)
    };
    let format = npy::read_word(path, &array("format")?)?;
    let allowed = "\"csr\", which matrix.tocsr() gives";
    check(format == "csr", format!("{}: format", path.display()), format!("{format:?}"), allowed)?;
    let mut numbers = |name: &str| npy::read_vector(path, &array(name)?);
    let shape = numbers("shape")?;
    let offsets = numbers("indptr")?;
    let columns = numbers("indices")?;
    let values = numbers("data")?;
    let &[rows, width] = &shape[..] else {
        return Err(wrong(format!("shape {shape:?}; allowed: two sizes")));
    };
    let offsets: Vec<usize> = offsets.iter().map(|&offset| offset as usize).collect();
    let fits = offsets.len() as f64 == rows + 1.0
        && offsets.first() == Some(&0)
        && offsets.is_sorted()
        && offsets.last() == Some(&values.len())
        && columns.len() == values.len()
        && columns.iter().all(|column| (0.0..width).contains(column));
    if !fits || rows < 1.0 || width < 1.0 {
        let indptr = offsets.len();
        let indices = columns.len();
        let data = values.len();
        let sizes = format!("{indptr} offsets, {indices} columns and {data} values");
        return Err(wrong(format!("{sizes} for {rows} rows of {width} columns")));
    }
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
