//! Matrices in NumPy's own format, NEP 1: versions 1 to 3 are read, and version 1 is written.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use dsokr_core::message::{self, shorten};
use dsokr_core::store::{Entry, write_atomically};
use faer::Mat;
use half::f16;
use safetensors::Dtype;

use crate::error::{Error, open};
use crate::memory::check_memory;
use crate::rounding::ColumnRoundings;

const NUMBERS: &str = "f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8, bool";
const BYTES: &str = "u1 (eight bits a byte, as numpy.packbits writes them)";

/// The fewest bytes of features that stay in their file: 64 MiB. `numpy.save` writes into a file that is there, and a small
/// one is read at once, so that it may.
const IN_FILE: usize = 64 << 20;

/// The longest header that is parsed, as in NumPy.
const LONGEST_HEADER: usize = 10_000;

/// Reads a matrix of numbers of any type as 64-bit numbers: a kernel matrix as `numpy.save` writes it.
/// Integers beyond 2⁵³ are rounded.
///
/// # Errors
/// A file that cannot be read, is not a matrix of numbers, or is shorter or longer than its header says; NaN
/// or an infinity, with row and column.
pub fn read_matrix(path: &Path) -> Result<Mat<f64>, Error> {
    Ok(read_rounded(path)?.0)
}

/// Reads a matrix like [`read_matrix`], with the relative rounding of its numbers: 0 of those that are whole or have 64 bits.
pub(crate) fn read_rounded(path: &Path) -> Result<(Mat<f64>, f64), Error> {
    let npy = Npy::open(path, NUMBERS)?;
    let rounding = match npy.element.name {
        "f2" => f16::EPSILON.into(),
        "f4" => f32::EPSILON.into(),
        _ => 0.0,
    };
    let (rows, width, values) = npy.numbers("finite number", |_, value| value)?;
    Ok((Mat::from_fn(rows, width, |row, column| values[row * width + column]), rounding))
}

/// Reads numbers of any type as `f32`; each must be finite in `f32`. With `training`, columns that 32 bits do not tell
/// apart are refused.
pub(crate) fn read_numbers(path: &Path, training: bool) -> Result<Matrix<f32>, Error> {
    let npy = Npy::open(path, NUMBERS)?;
    let mut roundings = ColumnRoundings::new(npy.shape[1] as usize);
    let numbers = npy.numbers("finite 32-bit number", |column, value| {
        roundings.add(column, value);
        value as f32
    })?;
    if training {
        roundings.check(path)?;
    }
    Ok(numbers)
}

/// Returns the number of elements of a file that can be read.
pub(crate) fn elements(path: &Path) -> Option<f64> {
    let npy = Npy::open(path, NUMBERS).ok()?;
    Some(npy.shape.iter().map(|&size| size as f64).product())
}

/// Returns the place of the features of a large file that can be read from it piece by piece: floating-point numbers, or
/// `packed` bytes, which are little-endian and written by rows.
pub(crate) fn rows_in_file(path: &Path, packed: bool) -> Result<Option<Entry>, Error> {
    let npy = Npy::open(path, if packed { BYTES } else { NUMBERS })?;
    let dtype = match npy.element.name {
        "f2" => Dtype::F16,
        "f4" => Dtype::F32,
        "f8" => Dtype::F64,
        BYTE if packed => Dtype::U8,
        _ => return Ok(None),
    };
    if npy.big_endian || npy.by_columns {
        return Ok(None);
    }
    // the length of the file has been compared
    let shape: Vec<usize> = npy.shape.iter().map(|&size| size as usize).collect();
    let start = npy.start as usize;
    let bytes = start..start + shape.iter().product::<usize>() * npy.element.size;
    if bytes.len() < IN_FILE {
        return Ok(None);
    }
    Ok(Some(Entry { dtype, shape, bytes }))
}

/// Reads packed bytes.
pub(crate) fn read_bytes(path: &Path) -> Result<Matrix<u8>, Error> {
    Npy::open(path, BYTES)?.numbers("", |_, value| value as u8)
}

/// Reads the array `name`, of one dimension and numbers of any type, from a file of `size` bytes. Before a number is read, the
/// header is compared with that size and with `count`, the number of numbers that the caller needs, and their memory with what
/// there is.
pub(crate) fn read_vector(
    path: &Path,
    name: &str,
    reader: impl Read,
    size: u64,
    count: f64,
) -> Result<Vec<f64>, Error> {
    let wrong = |message: String| Error::file(path, format!("array {name:?}: {message}"));
    let mut npy = Npy::new(path, BufReader::with_capacity(1 << 18, reader), NUMBERS)?;
    let &[stated] = &npy.shape[..] else {
        return Err(wrong(format!("shape {:?}; allowed: one size", npy.shape)));
    };
    if stated as f64 != count {
        return Err(wrong(format!("{stated} numbers; {} are needed", message::number(count))));
    }
    let bytes = stated.checked_mul(npy.element.size as u64);
    let expected = bytes.and_then(|bytes| bytes.checked_add(npy.start));
    if expected != Some(size) {
        let type_name = npy.element.name;
        return Err(wrong(format!("{size} bytes for {stated} numbers of type {type_name}")));
    }
    check_memory(path, 8.0 * count, format_args!("the {stated} numbers of array {name:?}"))?;
    let numbers = (0..stated).map(|_| npy.number()).collect::<Result<_, _>>()?;
    // the end of an entry of an archive is where its checksum is compared
    match npy.reader.read(&mut [0]) {
        Ok(0) => Ok(numbers),
        Ok(_) => Err(wrong(format!("more than {size} bytes"))),
        Err(source) => Err(Error::io(path, source)),
    }
}

/// Reads an array of one short ASCII word, of bytes or of characters.
pub(crate) fn read_word(path: &Path, mut reader: impl Read) -> Result<String, Error> {
    let (_, _, bytes) = header_of(path, &mut reader)?;
    Ok(bytes.iter().filter(|&&byte| byte != 0).take(20).map(|&byte| char::from(byte)).collect())
}

/// Rows, width, and the values of a matrix in row-major order, whatever the order in the file.
pub(crate) type Matrix<T> = (usize, usize, Vec<T>);

/// A type of numbers.
struct Element {
    /// The letter and the size in bytes that NumPy writes.
    name: &'static str,
    size: usize,
    /// The number whose little-endian bytes are the lowest of a word, which are zeros else.
    number: fn(u64) -> f64,
}

static ELEMENTS: [Element; 12] = [
    Element { name: "f2", size: 2, number: |bits| f16::from_bits(bits as u16).to_f64() },
    Element { name: "f4", size: 4, number: |bits| f32::from_bits(bits as u32).into() },
    Element { name: "f8", size: 8, number: f64::from_bits },
    Element { name: "i1", size: 1, number: |bits| (bits as i8).into() },
    Element { name: "i2", size: 2, number: |bits| (bits as i16).into() },
    Element { name: "i4", size: 4, number: |bits| (bits as i32).into() },
    Element { name: "i8", size: 8, number: |bits| bits as i64 as f64 },
    Element { name: BYTE, size: 1, number: |bits| bits as f64 },
    Element { name: "u2", size: 2, number: |bits| bits as f64 },
    Element { name: "u4", size: 4, number: |bits| bits as f64 },
    Element { name: "u8", size: 8, number: |bits| bits as f64 },
    Element { name: BOOL, size: 1, number: |bits| bits as f64 },
];

const BYTE: &str = "u1";
const BOOL: &str = "b1";

/// An array whose header is understood, with what reads its elements.
struct Npy<'p, R> {
    path: &'p Path,
    reader: io::Chain<Cursor<Vec<u8>>, R>,
    element: &'static Element,
    big_endian: bool,
    by_columns: bool,
    shape: Vec<u64>,
    /// The position of the first element.
    start: u64,
}

impl<'p> Npy<'p, BufReader<File>> {
    /// Creates the matrix of a file, whose length is the one that its header promises. `allowed` are the types of
    /// elements that the caller reads.
    fn open(path: &'p Path, allowed: &str) -> Result<Self, Error> {
        let file = open(path)?;
        let size = file.metadata().map_err(|source| Error::io(path, source))?.len();
        let npy = Npy::new(path, BufReader::with_capacity(1 << 18, file), allowed)?;
        let bytes = match npy.shape[..] {
            [rows @ (1..), width @ (1..)] => rows.checked_mul(width),
            _ => None,
        };
        let bytes = bytes.and_then(|count| count.checked_mul(npy.element.size as u64));
        let expected = bytes.and_then(|bytes| bytes.checked_add(npy.start)).ok_or_else(|| {
            let allowed = "features must be a matrix [rows, columns] without a zero";
            Error::file(path, format!("the array has shape {:?}; {allowed}", npy.shape))
        })?;
        if size != expected {
            let how = if size < expected { "truncated" } else { "followed by something else" };
            let message =
                format!("{size} bytes; its header promises {expected}, so the file is {how}");
            return Err(Error::file(path, message));
        }
        Ok(npy)
    }
}

impl<'p, R: Read> Npy<'p, R> {
    fn new(path: &'p Path, mut reader: R, allowed: &str) -> Result<Self, Error> {
        let (text, start, read) = header_of(path, &mut reader)?;
        let reader = Cursor::new(read).chain(reader);
        let (descr, by_columns, shape) = parse(&text).map_err(|e| invalid(path, &e))?;
        let element = element(&descr).filter(|read| allowed == NUMBERS || read.name == BYTE);
        let element = element.ok_or_else(|| {
            let element_type = shorten(&descr);
            Error::file(
                path,
                format!("the array has elements of type {element_type}; allowed: {allowed}"),
            )
        })?;
        let big_endian = descr.starts_with("'>");
        Ok(Self { path, reader, element, big_endian, by_columns, shape, start })
    }

    /// Returns the next element.
    fn number(&mut self) -> Result<f64, Error> {
        let mut word = [0; 8];
        let bytes = &mut word[..self.element.size];
        self.reader.read_exact(bytes).map_err(|source| Error::io(self.path, source))?;
        if self.big_endian {
            bytes.reverse();
        }
        Ok((self.element.number)(u64::from_le_bytes(word)))
    }

    /// Streams the elements of a matrix as `narrow` makes them of a column and a number, which must be finite, to their
    /// place in row-major order.
    fn numbers<T: Copy + Default + Into<f64>>(
        mut self,
        allowed: &str,
        mut narrow: impl FnMut(usize, f64) -> T,
    ) -> Result<Matrix<T>, Error> {
        // the length of the file has been compared
        let rows = self.shape[0] as usize;
        let width = self.shape[1] as usize;
        let mut values = vec![T::default(); rows * width];
        for step in 0..values.len() {
            let (row, column) = if self.by_columns {
                (step % rows, step / rows)
            } else {
                (step / width, step % width)
            };
            let value = self.number()?;
            let number = narrow(column, value);
            let allowed = match self.element.name {
                BOOL if value > 1.0 => "truth value, 0 or 1",
                _ if !number.into().is_finite() => allowed,
                _ => {
                    values[row * width + column] = number;
                    continue;
                }
            };
            let value = message::number(value);
            let message = format!("row {row}, column {column}: {value} is not a {allowed}");
            return Err(Error::file(self.path, message));
        }
        Ok((rows, width, values))
    }
}

/// Returns the type that a header writes.
fn element(descr: &str) -> Option<&'static Element> {
    let name = descr.strip_prefix('\'')?.strip_suffix('\'')?;
    let (order, name) = name.split_at_checked(1)?;
    ELEMENTS.iter().find(|element| element.name == name).filter(|_| "<>|=".contains(order))
}

fn invalid(path: &Path, message: &str) -> Error {
    Error::file(path, format!("not a valid .npy file: {message}"))
}

/// Returns the text of a file's header, the position of the first element, and the bytes from there on that have been
/// read.
fn header_of(path: &Path, file: &mut impl Read) -> Result<(String, u64, Vec<u8>), Error> {
    let mut head = Vec::new();
    let read = file.take(LONGEST_HEADER as u64 + 12).read_to_end(&mut head);
    read.map_err(|source| Error::io(path, source))?;
    let wrong = |message: &str| invalid(path, message);
    let Some(rest) = head.strip_prefix(b"\x93NUMPY") else {
        return Err(wrong("it does not start with \\x93NUMPY"));
    };
    // version, then the header's length in two bytes (version 1) or four
    let (start, length) = match *rest {
        [1, _, a, b, ..] => (10, usize::from(u16::from_le_bytes([a, b]))),
        [2 | 3, _, a, b, c, d, ..] => (12, u32::from_le_bytes([a, b, c, d]) as usize),
        [version @ (0 | 4..), _, ..] => {
            return Err(wrong(&format!("format version {version}; allowed: 1, 2, 3")));
        }
        _ => return Err(wrong("the header ends early")),
    };
    if length > LONGEST_HEADER {
        let message = format!("a header of {length} bytes; at most {LONGEST_HEADER} are allowed");
        return Err(wrong(&message));
    }
    let text = head.get(start..start + length).ok_or_else(|| wrong("the header ends early"))?;
    let text = String::from_utf8_lossy(text).into_owned();
    Ok((text, (start + length) as u64, head.split_off(start + length)))
}

/// Reads the header's text, a Python dictionary: the type of the elements, as it is written, whether they are written
/// by columns, and the shape.
fn parse(text: &str) -> Result<(String, bool, Vec<u64>), String> {
    let value = |key: &str| {
        let quoted = [format!("'{key}':"), format!("\"{key}\":")];
        let rest = quoted.iter().find_map(|quoted| text.split_once(&quoted[..]));
        let rest = rest.map(|(_, rest)| rest.trim_start());
        rest.ok_or_else(|| format!("no {key} in the header {:?}", shorten(text)))
    };
    let descr = value("descr")?;
    let name = |quote: char| descr.strip_prefix(quote)?.split_once(quote);
    let name = ['\'', '"'].into_iter().find_map(name);
    let descr = name.map_or(descr.trim_end().to_owned(), |(name, _)| format!("'{name}'"));
    let order = value("fortran_order")?;
    let by_columns = order.starts_with("True");
    if !by_columns && !order.starts_with("False") {
        return Err(format!("fortran_order {:?}; allowed: True, False", shorten(order)));
    }
    let shape = value("shape")?;
    let sizes = shape.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (sizes, _) = sizes
        .ok_or_else(|| format!("shape {:?}; allowed: sizes in parentheses", shorten(shape)))?;
    let size = |word: &str| {
        word.parse::<u64>().map_err(|_| format!("{:?} in the header is not a size", shorten(word)))
    };
    let words = sizes.split(',').map(str::trim).filter(|word| !word.is_empty());
    let shape: Vec<u64> = words.map(size).collect::<Result<_, _>>()?;
    let product = shape.iter().try_fold(1u64, |product, &size| product.checked_mul(size.max(1)));
    product.ok_or("the sizes in the header overflow")?;
    Ok((descr, by_columns, shape))
}

/// Writes a matrix of 32-bit numbers as `numpy.save` does, row-major, atomically: `next` gives some rows at a time, and
/// none at the end. [`read_matrix`] and NumPy read the file.
///
/// # Errors
/// The errors of `next`; [`dsokr_core::Error::File`] for a number of rows other than `rows`; the errors of the file
/// system. No file is left then.
///
/// ```
/// use dsokr_data::{read_matrix, write_matrix};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("z.npy");
/// let mut blocks = [vec![1.0, 2.0, 3.0, 4.0], vec![5.0, 6.0]].into_iter();
/// write_matrix(&path, 3, 2, || Ok::<_, dsokr_data::Error>(blocks.next()))?;
/// assert_eq!(read_matrix(&path)?[(2, 1)], 6.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_matrix<E: From<Error>>(
    path: &Path,
    rows: usize,
    width: usize,
    mut next: impl FnMut() -> Result<Option<Vec<f32>>, E>,
) -> Result<(), E> {
    let mut failed = None;
    let written = write_atomically(path, |file| {
        file.write_all(&header(&format!("{rows}, {width}")))?;
        let mut count = 0;
        let mut refuse = |error: E| {
            failed = Some(error);
            io::Error::other("the rows cannot be made")
        };
        while let Some(block) = next().map_err(&mut refuse)? {
            count += block.len();
            block.iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))?;
        }
        if count == rows * width {
            return Ok(());
        }
        let message = format!("{count} numbers for {rows} rows of {width}");
        Err(refuse(Error::file(path, message).into()))
    });
    failed.map_or_else(|| written.map_err(|error| Error::from(error).into()), Err)
}

/// Writes 32-bit numbers as `numpy.save` writes an array of one dimension, atomically.
///
/// # Errors
/// The file system's errors.
pub fn write_vector(path: &Path, values: &[f32]) -> Result<(), Error> {
    Ok(write_atomically(path, |file| {
        file.write_all(&header(&format!("{},", values.len())))?;
        values.iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))
    })?)
}

/// Returns what stands before the numbers of a file: magic, version 1.0, the header's length, and the header with the sizes of a
/// shape, padded to a multiple of 64 bytes.
fn header(sizes: &str) -> Vec<u8> {
    let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({sizes}), }}");
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    // two sizes have at most 40 digits, so the length fits
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{text:<width$}\n", width = length - 1).bytes());
    bytes
}
