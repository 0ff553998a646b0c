//! The memory that files take once they are read, known from their sizes and headers. A file that cannot be read
//! counts as nothing: reading it says what is wrong.

use std::fs;
use std::path::Path;

use crate::error::extension_of;
use crate::npy;

/// Bytes that graphs and the entries of rows take, for each byte of their text.
pub(crate) const A_BYTE_OF_NUMBERS: f64 = 4.0;

/// A matrix that is held in memory, with so many bytes an element; other matrices are mapped.
pub(crate) fn matrix(path: &Path, an_element: f64) -> f64 {
    match extension_of(path).as_str() {
        "npy" => npy::elements(path).map_or(0.0, |count| an_element * count),
        _ => 0.0,
    }
}

/// The length of a file in bytes, which the columns of a table take at the most; 0 where there is none.
pub(crate) fn size(path: &Path) -> f64 {
    fs::metadata(path).map_or(0.0, |file| if file.is_file() { file.len() as f64 } else { 0.0 })
}
