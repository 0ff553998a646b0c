//! Files of Parquet, read as JSON lines.

use std::fs::File;
use std::io::{Cursor, Error, Read, Result};

use parquet::basic::Compression;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;
use serde_json::Value;

/// The rows of a file, one JSON object a line.
struct JsonLines {
    rows: RowIter<'static>,
    line: Cursor<String>,
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
    Ok(JsonLines { rows: reader.into_iter(), line: Cursor::default() })
}

impl Read for JsonLines {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.line.position() == self.line.get_ref().len() as u64 {
            let Some(row) = self.rows.next() else { return Ok(0) };
            let row = row.map_err(Error::other)?;
            let cell = |(name, field): (&String, &Field)| {
                format!("{}:{}", Value::from(name.as_str()), json_value(field))
            };
            let cells: Vec<String> = row.get_column_iter().map(cell).collect();
            self.line = Cursor::new(format!("{{{}}}\n", cells.join(",")));
        }
        self.line.read(buffer)
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

/// Returns the value of a field. Bytes that are UTF-8 are texts, which older programs write without saying that they
/// are.
fn json_value(field: &Field) -> Value {
    match field {
        Field::Bytes(bytes) => match bytes.as_utf8() {
            Ok(text) => Value::from(text),
            Err(_) => field.to_json_value(),
        },
        Field::ListInternal(list) => list.elements().iter().map(json_value).collect(),
        other => other.to_json_value(),
    }
}
