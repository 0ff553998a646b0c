//! The names of all columns of a table.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use super::TableHeader;
use super::bad_rows::{BadRows, OnBadRow};
use super::formats::TextFormat;
use super::json::{ValueKind, json_names};
use super::rows::{Rows, next_structure_text};
use super::structures::StructureRecord;
use crate::error::Error;

/// A key of JSON lines is a column where cells hold its values on at least so many lines for each line on which they do not, and
/// it holds lists where these are on at least so many for each line with another value.
const LINES_OF_A_NESTED: usize = 10;

/// The numbers of lines on which the value of a key is of each kind.
#[derive(Default)]
struct KindCounts {
    lists: usize,
    number_lists: usize,
    empty_lists: usize,
    cells: usize,
    nested: usize,
}

impl KindCounts {
    /// Counts a line on which the value is of a kind.
    fn add(&mut self, kind: ValueKind) {
        match kind {
            ValueKind::List => self.lists += 1,
            ValueKind::Numbers => self.number_lists += 1,
            ValueKind::EmptyList => self.empty_lists += 1,
            ValueKind::Cell => self.cells += 1,
            ValueKind::Nested => self.nested += 1,
            ValueKind::Empty => {}
        }
    }

    /// Returns whether no cell can hold the values of more than a few lines.
    fn are_nested(&self) -> bool {
        LINES_OF_A_NESTED * self.nested > self.lists + self.number_lists + self.cells
    }

    /// Returns whether nearly all values are lists of texts.
    fn are_lists(&self) -> bool {
        self.lists > 0 && LINES_OF_A_NESTED * (self.number_lists + self.cells) <= self.lists
    }

    /// Returns whether nearly all values are lists of numbers.
    fn are_number_lists(&self) -> bool {
        self.number_lists > 0 && LINES_OF_A_NESTED * (self.lists + self.cells) <= self.number_lists
    }
}

impl<R: Read> Rows<R> {
    /// Returns the names of all columns: of the header, or those keys of the objects that hold what a cell can hold, or
    /// the fields of the first spectrum; and the other keys of the objects.
    pub(super) fn names(mut self) -> Result<TableHeader, Error> {
        if let TextFormat::Spectra(format) = self.format {
            loop {
                match self.next_spectrum(format) {
                    Ok(Some((_, record))) => return Ok(TableHeader::of(record.names())),
                    Ok(None) => return Err(self.no_rows()),
                    Err(error) => self.skip(error)?,
                }
            }
        }
        if self.format == TextFormat::Structures {
            return self.names_of_structures();
        }
        if self.format == TextFormat::JsonLines {
            return self.names_of_objects();
        }
        Ok(TableHeader { comments: self.comments, ..TableHeader::of(self.header) })
    }

    /// Returns the keys of all lines, in the order of their first occurrence: those whose value a cell can hold on nearly all
    /// lines that have one, and the others. Lines that are no objects are left out, unless there is no other.
    fn names_of_objects(mut self) -> Result<TableHeader, Error> {
        self.bad = BadRows::new(OnBadRow::Skip, false);
        let mut seen: Vec<(String, KindCounts)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut count = 0;
        loop {
            let keys = match self.lines.next(|_| true) {
                Ok(Some((line, text))) => json_names(&self.path, line, text),
                Ok(None) => break,
                Err(error) => Err(error),
            };
            let keys = match keys {
                Ok(keys) => keys,
                Err(error) => {
                    self.skip(error)?;
                    continue;
                }
            };
            count += 1;
            for (key, kind) in keys {
                let place = places.get(&key).copied().unwrap_or_else(|| {
                    places.insert(key.clone(), seen.len());
                    seen.push((key, KindCounts::default()));
                    seen.len() - 1
                });
                let (_, counts) = &mut seen[place];
                counts.add(kind);
            }
        }
        if count == 0 {
            return Err(self.no_rows());
        }
        let mut header = TableHeader::default();
        for (key, counts) in seen {
            if counts.are_nested() {
                header.nested.push(key);
                continue;
            }
            if counts.are_lists() {
                header.lists.push(key.clone());
            }
            if counts.are_number_lists() {
                header.number_lists.push(key.clone());
            }
            if counts.empty_lists > 0 {
                header.empty_lists.push(key.clone());
            }
            header.names.push(key);
        }
        Ok(header)
    }

    /// Returns the names of the data of all records, in the order of their first occurrence.
    fn names_of_structures(mut self) -> Result<TableHeader, Error> {
        let mut names: Vec<String> = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        while let Some((_, text)) = next_structure_text(&mut self.lines, &mut self.rest)? {
            for name in StructureRecord::new(&text).names() {
                if !seen.contains(name) {
                    seen.insert(name.to_owned());
                    names.push(name.to_owned());
                }
            }
        }
        if names.is_empty() { Err(Error::empty(&self.path)) } else { Ok(TableHeader::of(names)) }
    }
}
