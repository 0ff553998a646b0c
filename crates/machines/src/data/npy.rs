use std::path::Path;

use faer::Mat;

use super::bad;
use crate::ridge::Error;

/// Reads a matrix of `f32` or `f64` numbers, little-endian, in NumPy's format (versions 1 to 3): a kernel
/// matrix as `numpy.save` writes it.
///
/// # Errors
/// [`Error::Io`]; [`Error::Line`], with line 1, the header, for another format, type or number of
/// dimensions, and for a file of another length than its header says. Numbers are checked where they are
/// used.
pub fn read_npy(path: &Path) -> Result<Mat<f64>, Error> {
    let bytes =
        std::fs::read(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    parse(&bytes).map_err(|reason| bad(path, 1, reason))
}

fn parse(bytes: &[u8]) -> Result<Mat<f64>, String> {
    let (header, numbers) = header(bytes)?;
    let value = |key: &str| {
        let quoted = [format!("'{key}':"), format!("\"{key}\":")];
        let found = quoted.iter().find_map(|quoted| header.split_once(&quoted[..]));
        found.map(|(_, rest)| rest.trim_start()).ok_or_else(|| format!("no {key} in {header:?}"))
    };
    let descr = value("descr")?;
    let descr = descr.trim_start_matches(['\'', '"']);
    let width = match descr.get(..3) {
        Some("<f4") => 4,
        Some("<f8") => 8,
        _ => {
            let found = descr.split(['\'', '"']).next().unwrap_or(descr);
            return Err(format!("numbers of type {found:?}, allowed: <f4, <f8"));
        }
    };
    let by_columns = match value("fortran_order")? {
        rest if rest.starts_with("True") => true,
        rest if rest.starts_with("False") => false,
        rest => return Err(format!("fortran_order {rest:?}, allowed: True, False")),
    };
    let shape = value("shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (shape, _) = shape.ok_or_else(|| format!("no shape in {header:?}"))?;
    let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
    let sizes: Vec<usize> = sizes
        .map(|size| size.parse().map_err(|_| format!("shape ({shape})")))
        .collect::<Result<_, _>>()?;
    let &[rows, columns] = &sizes[..] else {
        return Err(format!("shape ({shape}), allowed: two dimensions"));
    };
    let expected = rows.checked_mul(columns).and_then(|count| count.checked_mul(width));
    if expected != Some(numbers.len()) {
        let found = numbers.len();
        return Err(format!("{found} bytes of numbers for {rows} × {columns} of {width} bytes"));
    }
    let number = |i: usize, j: usize| {
        let at = width * if by_columns { j * rows + i } else { i * columns + j };
        let bytes = &numbers[at..at + width];
        match (bytes.first_chunk::<4>(), bytes.first_chunk::<8>()) {
            (_, Some(&bytes)) => f64::from_le_bytes(bytes),
            (Some(&bytes), None) => f32::from_le_bytes(bytes).into(),
            (None, None) => f64::NAN,
        }
    };
    Ok(Mat::from_fn(rows, columns, number))
}

/// The header's text, a Python dictionary, and what is behind it.
fn header(bytes: &[u8]) -> Result<(&str, &[u8]), String> {
    let short = || "shorter than the header of a NumPy file".to_owned();
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("not a NumPy file")?;
    let (&[major, _minor], rest) = rest.split_first_chunk::<2>().ok_or_else(short)?;
    let (length, rest) = match major {
        1 => {
            let (length, rest) = rest.split_first_chunk::<2>().ok_or_else(short)?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
        found => return Err(format!("NumPy format {found}, allowed: 1, 2, 3")),
    };
    let (header, numbers) = rest.split_at_checked(length).ok_or_else(short)?;
    let header = std::str::from_utf8(header).map_err(|error| format!("header: {error}"))?;
    Ok((header, numbers))
}
