//! Feature matrices from files: safetensors, NumPy's npy, and SciPy's npz of sparse matrices.
//!
//! | extension | element types | rows |
//! |---|---|---|
//! | `.safetensors` | F32, F16, BF16, F64 | dense `f32`, memory-mapped |
//! | `.safetensors` | U8 | packed bits, memory-mapped: column j is bit 7 − j mod 8 of byte ⌊j/8⌋ |
//! | `.npy` | f2, f4, f8, i1 to i8, u1 to u8, bool; either order, either endianness | dense `f32`, in memory |
//! | `.npy`, packed | u1 as `numpy.packbits` writes it | packed bits, in memory |
//! | `.npy` of 64 MiB and more | f2, f4, f8, or packed bits, by rows and little-endian | the same, memory-mapped |
//! | `.npz` | a matrix in compressed sparse rows, as `scipy.sparse.save_npz` writes it; numbers as of `.npy` | sparse `f32`, in memory |

use std::path::Path;

use dsokr_basis::features::{BitRows, DenseRows, Features, MappedRows, RowKind, RowSource};
use dsokr_core::message::list;

use crate::error::{Error, extension_of, open};
use crate::rounding::ColumnRoundings;
use crate::table::Table;
use crate::{npy, npz};

/// Numbers that are held at once while a mapped file is checked: 1 MiB of `f32`.
const CHECKED_AT_ONCE: usize = 1 << 18;

/// The rows of a feature file: at least one, all finite. Rows that are memory-mapped are read from the file block by
/// block, so that resident memory does not grow with the file, which must not be changed meanwhile.
pub type FeatureFile = Box<dyn RowSource>;

/// Opens a matrix of features, one row per object; the extension, in any case, says the format. `packed` says that
/// the rows are bits, eight columns a byte, the most significant bit first; a width that is not a multiple of eight is
/// rounded up to one: the padding is zeros.
///
/// `key` names a tensor of a safetensors file; it may be left out if there is only one. Numbers of
/// a npy file, single bytes and truth values among them, become dense `f32`, rounded to the
/// nearest, unless they are packed bits.
///
/// The whole file is read once, in blocks of 1 MiB, so that NaN is found before work begins. Numbers of 64 bits are
/// rounded; [`read_training_features`] refuses those that this makes alike.
///
/// ```
/// use dsokr_basis::features::RowSource;
/// use dsokr_data::feature_file::read_features;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("features.npy");
/// let header = format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }");
/// let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
/// file.extend(header.bytes());
/// file.extend(1.5f32.to_le_bytes());
/// file.extend((-2.0f32).to_le_bytes());
/// std::fs::write(&path, file)?;
///
/// let features = read_features(&path, None, false)?;
/// assert_eq!((features.len(), features.width()), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// An unknown extension, a file that is not what its extension says, truncated, or followed by
/// something else; a missing or ambiguous key, or one for a npy file; an array that is not a
/// matrix, or has a zero side; an element type not in the table above; NaN or an infinity, with
/// row and column.
pub fn read_features(path: &Path, key: Option<&str>, packed: bool) -> Result<FeatureFile, Error> {
    read(path, key, packed, false)
}

/// Opens a matrix of features that a model is trained on, as [`read_features`] does.
///
/// # Errors
/// The errors of [`read_features`]; columns whose numbers 32 bits do not tell apart, such as times in seconds since
/// 1970 within one hour. Columns of which 32 bits leave one value or two, and columns of numbers below 1.2e-38, are a warning
/// where other columns vary. Queries may be closer to each other than training rows are, so that they are not compared.
pub fn read_training_features(
    path: &Path,
    key: Option<&str>,
    packed: bool,
) -> Result<FeatureFile, Error> {
    read(path, key, packed, true)
}

fn read(
    path: &Path,
    key: Option<&str>,
    packed: bool,
    training: bool,
) -> Result<FeatureFile, Error> {
    match (extension_of(path).as_str(), key) {
        ("safetensors", _) => map_tensor(path, key, packed, training),
        ("npy", Some(key)) => {
            let has = "a .npy file holds one array without a name; leave the key out";
            Err(Error::file(path, format!("key {key:?} given, but {has}")))
        }
        ("npy", None) => match npy::rows_in_file(path, packed)? {
            Some(array) => {
                let mapped = MappedRows::of_array(path, array);
                checked(path, mapped.map_err(|reason| Error::rows(path, reason))?, training)
            }
            None => Ok(Box::new(read_npy(path, packed, training)?)),
        },
        ("npz", None) if !packed => Ok(Box::new(Features::from(npz::read_sparse(path, training)?))),
        ("npz", _) => {
            let message = "a .npz file holds one sparse matrix; leave key and packed out";
            Err(Error::file(path, message))
        }
        _ => Err(Error::extension(path, ".safetensors, .npy, .npz")),
    }
}

/// Reads the features of a .npy file into memory.
fn read_npy(path: &Path, packed: bool, training: bool) -> Result<Features, Error> {
    if packed {
        let (_, width, values) = npy::read_bytes(path)?;
        let bits = BitRows::from_packed(width.saturating_mul(8), &values);
        return Ok(bits.map_err(|reason| Error::rows(path, reason))?.into());
    }
    let (_, width, values) = npy::read_numbers(path, training)?;
    let rows = DenseRows::new(width, values);
    Ok(rows.map_err(|reason| Error::rows(path, reason))?.into())
}

/// Refuses rows of the file `path` that are not one for each row of a table.
pub(crate) fn check_row_count(rows: &FeatureFile, path: &Path, table: &Table) -> Result<(), Error> {
    if rows.len() == table.len() {
        return Ok(());
    }
    Err(Error::row_count(path, rows.len(), table.path(), table.len()))
}

/// Maps a tensor of a safetensors file and checks every row.
fn map_tensor(
    path: &Path,
    given: Option<&str>,
    packed: bool,
    training: bool,
) -> Result<FeatureFile, Error> {
    open(path)?;
    let keys = MappedRows::tensors(path)?;
    let key = match (given, keys.as_slice()) {
        (Some(key), _) => key,
        (None, [only]) => only,
        (None, []) => return Err(Error::file(path, "it holds no tensor")),
        (None, _) => {
            let count = keys.len();
            let keys = list(&keys);
            let message = format!("the file holds {count} tensors; name one with a key: {keys}");
            return Err(Error::file(path, message));
        }
    };
    let mapped = MappedRows::open(path, key).map_err(|reason| Error::rows(path, reason))?;
    let len = mapped.len();
    let width = mapped.width();
    if len == 0 {
        let allowed = "features must be a matrix [rows, columns] without a zero";
        return Err(Error::file(path, format!("tensor {key:?} has shape [0, {width}]; {allowed}")));
    }
    if packed && mapped.kind() != RowKind::Bits {
        let tensor = given.map_or("the tensor".into(), |key| format!("tensor {key:?}"));
        let rows = mapped.kind();
        let allowed = "U8 (eight bits a byte)";
        let message =
            format!("{tensor} has elements of type number ({rows} rows); allowed: {allowed}");
        return Err(Error::file(path, message));
    }
    checked(path, mapped, training)
}

/// Reads all rows once.
///
/// # Errors
/// A number that is not finite; for `training`, a column that 32 bits do not tell apart.
fn checked(path: &Path, mapped: MappedRows, training: bool) -> Result<FeatureFile, Error> {
    // Bits are always finite; only the columns of dense rows can hold anything wrong.
    if mapped.kind() != RowKind::Bits {
        let len = mapped.len();
        let width = mapped.width();
        let step = (CHECKED_AT_ONCE / width).max(1);
        let mut roundings = ColumnRoundings::new(width);
        for start in (0..len).step_by(step) {
            let end = start.saturating_add(step).min(len);
            if training {
                // before the block, which gives the pages back
                let wide =
                    mapped.doubles(start..end).map_err(|reason| Error::rows(path, reason))?;
                let numbers = wide.iter().flatten().enumerate();
                numbers.for_each(|(at, &number)| roundings.add(at % width, number));
            }
            mapped.block(start..end).map_err(|reason| Error::rows(path, reason))?;
        }
        roundings.check(path)?;
    }
    Ok(Box::new(mapped))
}
