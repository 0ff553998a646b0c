//! Comma-separated values, quoted as in RFC 4180.

use std::io::Read;

use dsokr_basis::store::{BYTE_ORDER_MARK, open_input};

use super::Table;
use super::line_ends::LineEnds;
use super::lines::not_utf8;
use crate::Error;
use crate::error::shorten;

/// One record with the line on which it starts.
struct Record {
    line: usize,
    fields: csv::StringRecord,
}

/// Reads records and keeps what the csv crate drops: the line of a record, blank lines between
/// records (which it skips), and a quotation mark that is never closed (which silently swallows
/// the rest of the file).
struct Records<'b> {
    reader: csv::Reader<&'b [u8]>,
    bytes: &'b [u8],
    end: usize,
    line: usize,
}

pub(super) fn read(table: &mut Table) -> Result<(), Error> {
    let path = table.path.clone();
    let mut bytes = Vec::new();
    let io = |source| Error::io(&path, source);
    let mut stream = LineEnds::new(open_input(&path).map_err(io)?);
    stream.read_to_end(&mut bytes).map_err(io)?;
    std::str::from_utf8(&bytes).map_err(|error| not_utf8(&path, 1, &bytes, error))?;
    stream.check(&path, u64::MAX)?;
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);

    let mut records = Records {
        reader: csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes),
        bytes,
        end: 0,
        line: 1,
    };
    let Some(header) = records.next(table)? else {
        return Err(Error::empty(&path));
    };
    let names: Vec<String> = header.fields.iter().map(str::to_owned).collect();
    let positions = table.positions(header.line, &names)?;
    while let Some(Record { line, fields }) = records.next(table)? {
        if fields.len() != names.len() {
            table.bad.take(Error::ragged(&path, line, fields.len(), &names))?;
            continue;
        }
        let values = positions.iter().filter_map(|&at| fields.get(at));
        table.push(line, values.map(str::to_owned).collect());
    }
    table.first_bad_if_empty()?;
    if table.is_empty() {
        return Err(Error::no_rows(&path, &names));
    }
    Ok(())
}

impl Records<'_> {
    fn next(&mut self, table: &mut Table) -> Result<Option<Record>, Error> {
        let mut fields = csv::StringRecord::new();
        let more = self
            .reader
            .read_record(&mut fields)
            .map_err(|error| Error::io(&table.path, error.into()))?;
        if !more {
            return Ok(None);
        }
        // the record's bytes, and before them blank lines
        let start = self.end;
        self.end = usize::try_from(self.reader.position().byte()).unwrap_or(usize::MAX);
        let raw = self.bytes.get(start..self.end).unwrap_or_default();
        let (ends, raw) = raw.split_at(raw.iter().take_while(|&&byte| byte == b'\n').count());
        if !ends.is_empty() {
            table.bad.take(Error::blank_line(&table.path, self.line))?;
        }
        self.line += ends.len();
        let line = self.line;
        self.line += raw.iter().filter(|&&byte| byte == b'\n').count();
        if raw.iter().filter(|&&byte| byte == b'"').count() % 2 == 1 {
            let message = format!(
                "the record that starts here has a quotation mark without a partner ({:?}); quote a \
                 field on both sides and double the marks inside it (RFC 4180)",
                shorten(&String::from_utf8_lossy(raw))
            );
            return Err(Error::line(&table.path, line, message));
        }
        Ok(Some(Record { line, fields }))
    }
}
