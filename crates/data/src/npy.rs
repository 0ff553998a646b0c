//! Matrices in NumPy's own format, NEP 1, versions 1 to 3.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use dsokr_basis::store::open_input;
use faer::Mat;
use half::f16;

use crate::Error;
use crate::error::shorten;

const NUMBERS: &str = "f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8, bool";
const BYTES: &str = "u1 (eight bits a byte, as numpy.packbits writes them)";

/// As NumPy: a longer header is refused before it is parsed.
const LONGEST_HEADER: usize = 10_000;

/// Reads a matrix of numbers of any type as 64-bit numbers: a kernel matrix as `numpy.save` writes it.
/// Integers beyond 2⁵³ are rounded.
///
/// # Errors
/// A file that cannot be read, is no matrix of numbers, or is shorter or longer than its header says; NaN
/// or an infinity, with row and column.
pub fn read_matrix(path: &Path) -> Result<Mat<f64>, Error> {
    let Matrix { rows, width, values } =
        Npy::open(path, NUMBERS)?.numbers("matrices must hold finite numbers", |value| value)?;
    Ok(Mat::from_fn(rows, width, |row, column| values[row * width + column]))
}

/// Reads numbers of any type as `f32`; each must be finite in `f32`.
pub(crate) fn read_numbers(path: &Path) -> Result<Matrix<f32>, Error> {
    Npy::open(path, NUMBERS)?
        .numbers("features must be finite 32-bit numbers", |value| value as f32)
}

/// Number of elements of a file that can be read.
pub(crate) fn elements(path: &Path) -> Option<f64> {
    let npy = Npy::open(path, NUMBERS).ok()?;
    Some(npy.rows as f64 * npy.width as f64)
}

/// Reads packed bytes.
pub(crate) fn read_bytes(path: &Path) -> Result<Matrix<u8>, Error> {
    let npy = Npy::open(path, BYTES)?;
    match npy.element.name {
        BYTE => npy.matrix(|word| Ok(word as u8)),
        _ => Err(npy.header.element_type(path, BYTES)),
    }
}

/// A matrix in row-major order, whatever the order in the file.
pub(crate) struct Matrix<T> {
    pub rows: usize,
    pub width: usize,
    pub values: Vec<T>,
}

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

/// A file whose header is understood and whose length is the one that the header promises.
struct Npy<'p> {
    path: &'p Path,
    reader: BufReader<File>,
    header: Header,
    element: &'static Element,
    rows: usize,
    width: usize,
}

impl<'p> Npy<'p> {
    /// `allowed` are the types of elements that the caller reads.
    fn open(path: &'p Path, allowed: &str) -> Result<Self, Error> {
        let io = |source| Error::io(path, source);
        let mut file = open_input(path).map_err(io)?;
        let header = read_header(path, &mut file)?;
        let element = header.element().ok_or_else(|| header.element_type(path, allowed))?;
        let shape = || {
            let message = format!(
                "the array has shape {:?}; features must be a matrix [rows, columns] without a zero",
                header.shape
            );
            Error::file(path, message)
        };
        let &[rows @ (1..), width @ (1..)] = &header.shape[..] else { return Err(shape()) };
        let expected = rows
            .checked_mul(width)
            .and_then(|count| count.checked_mul(element.size as u64))
            .and_then(|bytes| bytes.checked_add(header.start))
            .ok_or_else(shape)?;
        let found = file.metadata().map_err(io)?.len();
        if found != expected {
            let how = if found < expected { "truncated" } else { "followed by something else" };
            let message =
                format!("{found} bytes; its header promises {expected}, so the file is {how}");
            return Err(Error::file(path, message));
        }
        let (Ok(rows), Ok(width)) = (usize::try_from(rows), usize::try_from(width)) else {
            return Err(shape());
        };
        file.seek(SeekFrom::Start(header.start)).map_err(io)?;
        let reader = BufReader::with_capacity(1 << 18, file);
        Ok(Self { path, reader, header, element, rows, width })
    }

    /// The elements as `narrow` makes them, which must be finite.
    fn numbers<T: Copy + Default + Into<f64>>(
        self,
        allowed: &str,
        narrow: impl Fn(f64) -> T,
    ) -> Result<Matrix<T>, Error> {
        let element = self.element;
        self.matrix(|word| {
            let value = (element.number)(word);
            let number = narrow(value);
            if element.name == BOOL && value > 1.0 {
                return Err(format!("{value}; truth values are 0 and 1"));
            }
            number.into().is_finite().then_some(number).ok_or_else(|| format!("{value}; {allowed}"))
        })
    }

    /// Streams the elements, each in the lowest bytes of a word, through `check` to their
    /// place in row-major order.
    fn matrix<T: Copy + Default>(
        mut self,
        check: impl Fn(u64) -> Result<T, String>,
    ) -> Result<Matrix<T>, Error> {
        let (rows, width, size) = (self.rows, self.width, self.element.size);
        let mut values = vec![T::default(); rows * width];
        for step in 0..values.len() {
            let mut word = [0; 8];
            let bytes = &mut word[..size];
            self.reader.read_exact(bytes).map_err(|source| Error::io(self.path, source))?;
            if self.header.big_endian {
                bytes.reverse();
            }
            let (row, column) = match self.header.by_columns {
                true => (step % rows, step / rows),
                false => (step / width, step % width),
            };
            values[row * width + column] = check(u64::from_le_bytes(word)).map_err(|what| {
                Error::file(self.path, format!("row {row}, column {column} is {what}"))
            })?;
        }
        Ok(Matrix { rows, width, values })
    }
}

/// What the header says.
struct Header {
    /// The type of the elements, as it is written.
    descr: String,
    big_endian: bool,
    by_columns: bool,
    shape: Vec<u64>,
    /// Position of the first element.
    start: u64,
}

impl Header {
    fn element(&self) -> Option<&'static Element> {
        let name = self.descr.strip_prefix('\'')?.strip_suffix('\'')?;
        let (order, name) = name.split_at_checked(1)?;
        let named = ELEMENTS.iter().find(|element| element.name == name);
        named.filter(|_| "<>|=".contains(order))
    }

    fn element_type(&self, path: &Path, allowed: &str) -> Error {
        let found = shorten(&self.descr);
        Error::file(path, format!("the array has elements of type {found}; allowed: {allowed}"))
    }
}

fn read_header(path: &Path, file: &mut File) -> Result<Header, Error> {
    let wrong = |message: &str| Error::file(path, format!("not a valid .npy file: {message}"));
    let mut head = Vec::new();
    file.take(LONGEST_HEADER as u64 + 12)
        .read_to_end(&mut head)
        .map_err(|source| Error::io(path, source))?;
    // Magic, version, then the header's length in two bytes (version 1) or four.
    let (start, length) = match *head.as_slice() {
        [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _, a, b, ..] => {
            (10, usize::from(u16::from_le_bytes([a, b])))
        }
        [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _, a, b, c, d, ..] => {
            (12, u32::from_le_bytes([a, b, c, d]) as usize)
        }
        [0x93, b'N', b'U', b'M', b'P', b'Y', version, _, ..] if version > 3 || version == 0 => {
            return Err(wrong(&format!("format version {version}; allowed: 1, 2, 3")));
        }
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => return Err(wrong("the header ends early")),
        _ => return Err(wrong("it does not start with \\x93NUMPY")),
    };
    if length > LONGEST_HEADER {
        let message = format!("a header of {length} bytes; at most {LONGEST_HEADER} are allowed");
        return Err(wrong(&message));
    }
    let text = head.get(start..start + length).ok_or_else(|| wrong("the header ends early"))?;
    parse(&String::from_utf8_lossy(text), (start + length) as u64).map_err(|e| wrong(&e))
}

/// Reads the header's text, a Python dictionary.
fn parse(text: &str, start: u64) -> Result<Header, String> {
    let value = |key: &str| {
        let quoted = [format!("'{key}':"), format!("\"{key}\":")];
        let rest = quoted.iter().find_map(|quoted| text.split_once(&quoted[..]));
        let rest = rest.map(|(_, rest)| rest.trim_start());
        rest.ok_or_else(|| format!("no {key} in the header {:?}", shorten(text)))
    };
    let descr = value("descr")?;
    let name = ['\'', '"'].into_iter().find_map(|quote| {
        let (name, _) = descr.strip_prefix(quote)?.split_once(quote)?;
        Some(format!("'{name}'"))
    });
    let descr = name.unwrap_or_else(|| descr.trim_end().to_owned());
    let order = value("fortran_order")?;
    let by_columns = match (order.starts_with("True"), order.starts_with("False")) {
        (false, false) => {
            return Err(format!("fortran_order {:?}; allowed: True, False", shorten(order)));
        }
        (by_columns, _) => by_columns,
    };
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
    Ok(Header { big_endian: descr.starts_with("'>"), descr, by_columns, shape, start })
}
