//! Line ends of comma-separated values.

use std::collections::VecDeque;
use std::io::{Read, Result};
use std::path::Path;

use crate::Error;

/// Passes comma-separated values on with `\n` in the place of `\r\n` outside quoted fields, so that lines are
/// counted right. A `\r` there that no `\n` follows is left out and noted: the csv crate would end a record at it.
pub(super) struct LineEnds<R> {
    stream: R,
    place: Place,
    /// Whether a `\r` outside quoted fields came last.
    returned: bool,
    /// The bytes passed on, and the line of the last one.
    bytes: u64,
    line: usize,
    /// Of each lone `\r`: the bytes before it, and its line.
    lone: VecDeque<(u64, usize)>,
}

/// The place of a byte, as RFC 4180 reads it.
#[derive(Clone, Copy)]
enum Place {
    /// The first byte of a field.
    Start,
    /// In a field without quotation marks around it.
    Plain,
    /// Between quotation marks.
    Quoted,
    /// After a quotation mark in a quoted field.
    Mark,
}

impl<R: Read> LineEnds<R> {
    pub(super) fn new(stream: R) -> Self {
        let (place, lone) = (Place::Start, VecDeque::new());
        Self { stream, place, returned: false, bytes: 0, line: 1, lone }
    }

    /// Refuses the first `bytes` bytes passed on if they have a lone `\r` that was not refused before.
    pub(super) fn check(&mut self, path: &Path, bytes: u64) -> std::result::Result<(), Error> {
        let mut first = None;
        while let Some((_, line)) = self.lone.pop_front_if(|(before, _)| *before < bytes) {
            first.get_or_insert(line);
        }
        let Some(line) = first else { return Ok(()) };
        let message = "a carriage return without a line feed; lines end with \\n or \\r\\n, and a field with either in \
                       it is quoted (RFC 4180)";
        Err(Error::line(path, line, message))
    }
}

impl<R: Read> Read for LineEnds<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            let read = self.stream.read(buffer)?;
            let mut kept = 0;
            for at in 0..read {
                let byte = buffer[at];
                if self.returned && byte != b'\n' {
                    self.lone.push_back((self.bytes, self.line));
                }
                let quoted = matches!(self.place, Place::Quoted);
                self.place = match (self.place, byte) {
                    (Place::Quoted, b'"') => Place::Mark,
                    (Place::Quoted, _) | (Place::Start | Place::Mark, b'"') => Place::Quoted,
                    (_, b',' | b'\r' | b'\n') => Place::Start,
                    (Place::Start | Place::Plain | Place::Mark, _) => Place::Plain,
                };
                self.returned = byte == b'\r' && !quoted;
                if !self.returned {
                    buffer[kept] = byte;
                    kept += 1;
                    self.bytes += 1;
                    self.line += usize::from(byte == b'\n');
                }
            }
            if kept > 0 || read == 0 {
                return Ok(kept);
            }
        }
    }
}
