//! Matrices in NumPy's own format, NEP 1.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use npyz::half::f16;
use npyz::{DType, Deserialize, NpyFile, NpyHeader, Order, TypeChar};

use super::super::error::{DataError, shorten};

const NUMBERS: &str = "f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8, bool";
const BYTES: &str = "u1 (eight bits a byte, as numpy.packbits writes them)";

/// As NumPy: a longer header is refused before it is parsed.
const LONGEST_HEADER: usize = 10_000;

/// A matrix in row-major order, whatever the order in the file.
pub(super) struct Matrix<T> {
    pub(super) width: usize,
    pub(super) values: Vec<T>,
}

/// Reads numbers of any type as `f32`; each must be finite in `f32`.
pub(super) fn read_numbers(path: &Path) -> Result<Matrix<f32>, DataError> {
    let file = Opened::open(path, NUMBERS)?;
    match file.element() {
        Some((TypeChar::Float, 2)) => file.numbers(|x: f16| x.to_f64()),
        Some((TypeChar::Float, 4)) => file.numbers(|x: f32| f64::from(x)),
        Some((TypeChar::Float, 8)) => file.numbers(|x: f64| x),
        Some((TypeChar::Int, 1)) => file.numbers(|x: i8| f64::from(x)),
        Some((TypeChar::Int, 2)) => file.numbers(|x: i16| f64::from(x)),
        Some((TypeChar::Int, 4)) => file.numbers(|x: i32| f64::from(x)),
        Some((TypeChar::Int, 8)) => file.numbers(|x: i64| x as f64),
        Some((TypeChar::Uint, 1)) => file.numbers(|x: u8| f64::from(x)),
        Some((TypeChar::Uint, 2)) => file.numbers(|x: u16| f64::from(x)),
        Some((TypeChar::Uint, 4)) => file.numbers(|x: u32| f64::from(x)),
        Some((TypeChar::Uint, 8)) => file.numbers(|x: u64| x as f64),
        Some((TypeChar::Bool, 1)) => file.numbers(|x: bool| f64::from(u8::from(x))),
        _ => Err(element_type(path, &file.npy, NUMBERS)),
    }
}

/// Reads packed bytes.
pub(super) fn read_bytes(path: &Path) -> Result<Matrix<u8>, DataError> {
    let file = Opened::open(path, BYTES)?;
    match file.element() {
        Some((TypeChar::Uint, 1)) => file.matrix(|x: u8| Ok(x)),
        _ => Err(element_type(path, &file.npy, BYTES)),
    }
}

/// A file whose header is understood and whose length is the one that the header promises.
struct Opened<'p> {
    path: &'p Path,
    npy: NpyFile<BufReader<File>>,
    rows: usize,
    width: usize,
}

impl<'p> Opened<'p> {
    fn open(path: &'p Path, allowed: &'static str) -> Result<Self, DataError> {
        let io = |source| DataError::io(path, source);
        let mut file = File::open(path).map_err(io)?;
        let (header, start) = read_header(path, &mut file)?;
        if header.uses_pickled_array() {
            return Err(element_type(path, &header, allowed));
        }
        let shape = || DataError::Shape {
            path: path.to_path_buf(),
            key: None,
            shape: header.shape().to_vec(),
        };
        let &[rows, width] = header.shape() else {
            return Err(shape());
        };
        if rows == 0 || width == 0 {
            return Err(shape());
        }
        let length = file.metadata().map_err(io)?.len();
        let expected = header
            .dtype()
            .num_bytes()
            .and_then(|size| rows.checked_mul(width)?.checked_mul(size as u64))
            .and_then(|bytes| bytes.checked_add(start))
            .ok_or_else(shape)?;
        if length != expected {
            return Err(DataError::Length { path: path.to_path_buf(), found: length, expected });
        }
        let (Ok(rows), Ok(width)) = (usize::try_from(rows), usize::try_from(width)) else {
            return Err(shape());
        };
        file.seek(SeekFrom::Start(start)).map_err(io)?;
        Ok(Opened {
            path,
            npy: NpyFile::with_header(header, BufReader::with_capacity(1 << 18, file)),
            rows,
            width,
        })
    }

    /// The kind of number and its size in bytes, if the elements are plain.
    fn element(&self) -> Option<(TypeChar, u64)> {
        match self.npy.dtype() {
            DType::Plain(element) => Some((element.type_char(), element.size_field())),
            _ => None,
        }
    }

    fn numbers<T: Deserialize>(self, widen: impl Fn(T) -> f64) -> Result<Matrix<f32>, DataError> {
        self.matrix(|value| {
            let value = widen(value);
            let narrow = value as f32;
            if narrow.is_finite() { Ok(narrow) } else { Err(value) }
        })
    }

    /// Streams the elements through `check` to their place in row-major order.
    fn matrix<T: Deserialize, U: Copy + Default>(
        self,
        check: impl Fn(T) -> Result<U, f64>,
    ) -> Result<Matrix<U>, DataError> {
        let Opened { path, npy, rows, width } = self;
        let order = npy.order();
        let place = |step: usize| match order {
            Order::C => (step / width, step % width),
            Order::Fortran => (step % rows, step / rows),
        };
        let elements = npy.data::<T>().map_err(|error| DataError::Format {
            path: path.to_path_buf(),
            format: ".npy",
            message: error.to_string(),
        })?;
        let mut values = vec![U::default(); rows * width];
        for (step, element) in elements.take(rows * width).enumerate() {
            let element = element.map_err(|source| DataError::io(path, source))?;
            let checked = check(element).map_err(|value| {
                let (row, column) = place(step);
                DataError::NotFinite { path: path.to_path_buf(), row, column, value }
            })?;
            let at = match order {
                Order::C => step,
                Order::Fortran => {
                    let (row, column) = place(step);
                    row * width + column
                }
            };
            values[at] = checked;
        }
        Ok(Matrix { width, values })
    }
}

fn element_type(path: &Path, header: &NpyHeader, allowed: &'static str) -> DataError {
    DataError::ElementType {
        path: path.to_path_buf(),
        key: None,
        found: shorten(&header.dtype().descr()),
        allowed,
    }
}

/// Parses the header; returns it with the position of the first element.
///
/// npyz multiplies the sizes without asking whether the product overflows, which stops a program
/// built with overflow checks. So the text is looked over first.
fn read_header(path: &Path, file: &mut File) -> Result<(NpyHeader, u64), DataError> {
    let wrong =
        |message: String| DataError::Format { path: path.to_path_buf(), format: ".npy", message };
    let mut head = Vec::new();
    file.take(LONGEST_HEADER as u64 + 12)
        .read_to_end(&mut head)
        .map_err(|source| DataError::io(path, source))?;
    // Magic, version, then the header's length in two bytes (version 1) or four.
    let (start, length) = match *head.as_slice() {
        [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _, a, b, ..] => {
            (10, usize::from(u16::from_le_bytes([a, b])))
        }
        [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _, a, b, c, d, ..] => {
            (12, u32::from_le_bytes([a, b, c, d]) as usize)
        }
        [0x93, b'N', b'U', b'M', b'P', b'Y', version, _, ..] if version > 3 || version == 0 => {
            return Err(wrong(format!("format version {version}; allowed: 1, 2, 3")));
        }
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => {
            return Err(wrong("the header ends early".to_owned()));
        }
        _ => return Err(wrong("it does not start with \\x93NUMPY".to_owned())),
    };
    if length > LONGEST_HEADER {
        return Err(wrong(format!(
            "a header of {length} bytes; at most {LONGEST_HEADER} are allowed"
        )));
    }
    let Some(text) = head.get(start..start + length) else {
        return Err(wrong("the header ends early".to_owned()));
    };
    look_over(&String::from_utf8_lossy(text)).map_err(wrong)?;
    let header =
        NpyHeader::from_reader(head.as_slice()).map_err(|error| wrong(first_line(&error)))?;
    Ok((header, (start + length) as u64))
}

/// A parser's message without the text that it points into.
fn first_line(error: &std::io::Error) -> String {
    shorten(error.to_string().lines().next().unwrap_or_default().trim())
}

/// Refuses numbers that are not plain decimal, and sizes whose product overflows.
fn look_over(header: &str) -> Result<(), String> {
    let mut product: u64 = 1;
    let words = header.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
    for word in words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
        let size: u64 =
            word.parse().map_err(|_| format!("{:?} in the header is not a size", shorten(word)))?;
        product = product.checked_mul(size.max(1)).ok_or("the sizes in the header overflow")?;
    }
    Ok(())
}
