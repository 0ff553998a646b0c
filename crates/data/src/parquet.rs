//! Files of Parquet, read as JSON lines.

use std::fs::File;
use std::io::{Cursor, Error, Read, Result};

use half::f16;
use parquet::basic::{Compression, LogicalType, TimeUnit};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;
use parquet::schema::types::Type;
use serde_json::Value;

/// The rows of a file, one JSON object a line.
struct JsonLines {
    rows: RowIter<'static>,
    /// What the nanoseconds of each column, or of its lists, are; none of columns of other values.
    nanoseconds: Vec<Option<Nanoseconds>>,
    line: Cursor<String>,
    /// An error behind rows that were returned before it.
    pending: Option<Error>,
}

/// Opens a file. One line is in memory at a time.
pub(crate) fn json_lines(file: File) -> Result<impl Read> {
    let reader = SerializedFileReader::new(file).map_err(Error::other)?;
    let columns = reader.metadata().row_groups().iter().flat_map(|group| group.columns());
    if let Some(name) = columns.map(|column| column.compression()).find_map(unread) {
        return Err(Error::other(format!(
            "its columns are compressed with {name}, which is not read; write them with zstd, gzip, snappy, lz4 or none, in pandas \
             by to_parquet(…, compression=\"zstd\")"
        )));
    }
    let schema = reader.metadata().file_metadata().schema();
    let nanoseconds = schema.get_fields().iter().map(|column| Nanoseconds::of(column)).collect();
    let rows = reader.into_iter();
    Ok(JsonLines { rows, nanoseconds, line: Cursor::default(), pending: None })
}

impl JsonLines {
    /// Returns the next row as a line; none at the end.
    fn next_line(&mut self) -> Result<Option<String>> {
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        let Some(row) = self.rows.next() else { return Ok(None) };
        let row = row.map_err(Error::other)?;
        let columns = row.get_column_iter().zip(&self.nanoseconds);
        let cells = columns.map(|((name, field), nanoseconds)| {
            let value = json_value(field, *nanoseconds);
            format!("{}:{value}", Value::from(name.as_str()))
        });
        let cells: Vec<String> = cells.collect();
        Ok(Some(format!("{{{}}}\n", cells.join(","))))
    }
}

impl Read for JsonLines {
    /// Fills the buffer: who answers texts that are ready would otherwise get them one by one.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut count = 0;
        while count < buffer.len() {
            if self.line.position() == self.line.get_ref().len() as u64 {
                match self.next_line() {
                    Ok(Some(line)) => self.line = Cursor::new(line),
                    Ok(None) => break,
                    Err(error) if count == 0 => return Err(error),
                    Err(error) => {
                        self.pending = Some(error);
                        break;
                    }
                }
            }
            count += self.line.read(&mut buffer[count..])?;
        }
        Ok(count)
    }
}

/// Returns the name of a way to compress columns that is not read; none of those that are.
fn unread(compression: Compression) -> Option<&'static str> {
    match compression {
        Compression::BROTLI(_) => Some("brotli"),
        Compression::LZO => Some("LZO"),
        Compression::UNCOMPRESSED
        | Compression::SNAPPY
        | Compression::GZIP(_)
        | Compression::LZ4
        | Compression::ZSTD(_)
        | Compression::LZ4_RAW => None,
    }
}

/// What nanoseconds in a column are. Rows have them as numbers like others, but shorter units as points in time.
#[derive(Clone, Copy, Debug)]
enum Nanoseconds {
    /// Points in time, since 1970.
    Timestamps,
    /// Times of day, since midnight.
    Times,
}

impl Nanoseconds {
    /// Returns what the nanoseconds of a column, or of its lists, are; none if it has other values.
    fn of(column: &Type) -> Option<Self> {
        // a list is a group of one that repeats
        if column.is_group() {
            let [inner] = column.get_fields() else { return None };
            return Self::of(inner);
        }
        match column.get_basic_info().logical_type_ref()? {
            LogicalType::Timestamp(time) if time.unit == TimeUnit::NANOS => Some(Self::Timestamps),
            LogicalType::Time(time) if time.unit == TimeUnit::NANOS => Some(Self::Times),
            _ => None,
        }
    }

    /// Returns the value of so many nanoseconds, as it is of microseconds.
    fn value(self, count: i64) -> Value {
        let microseconds = count.div_euclid(1000);
        let field = match self {
            Self::Timestamps => Field::TimestampMicros(microseconds),
            Self::Times => Field::TimeMicros(microseconds),
        };
        field.to_json_value()
    }
}

/// Returns the value of a field of a column with these nanoseconds, if it has some. Bytes that are UTF-8 are texts, which older
/// programs write without saying that they are. A number of 16 or 32 bits has the fewest digits that tell it from others of as many
/// bits, as programs write it.
fn json_value(field: &Field, nanoseconds: Option<Nanoseconds>) -> Value {
    match (field, nanoseconds) {
        (Field::Long(count), Some(nanoseconds)) => nanoseconds.value(*count),
        (Field::Bytes(bytes), _) => match bytes.as_utf8() {
            Ok(text) => Value::from(text),
            Err(_) => field.to_json_value(),
        },
        (Field::Float16(number), _) => shortest(*number),
        (Field::Float(number), _) => {
            number.to_string().parse::<f64>().map_or(Value::Null, Value::from)
        }
        (Field::ListInternal(list), _) => {
            list.elements().iter().map(|element| json_value(element, nanoseconds)).collect()
        }
        (other, _) => other.to_json_value(),
    }
}

/// Returns a number of 16 bits with the fewest digits that tell it from others of 16 bits, which are five at most.
fn shortest(number: f16) -> Value {
    let written = (0..5).map(|decimals| format!("{:.decimals$e}", number.to_f64()));
    let mut read = written.filter_map(|digits| digits.parse::<f64>().ok());
    read.find(|&read| f16::from_f64(read) == number).map_or(Value::Null, Value::from)
}
