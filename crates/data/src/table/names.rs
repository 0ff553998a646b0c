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
        // the numbers of lines on which the value of a key is a list of texts, one of numbers, another cell, neither, and an
        // empty list
        let mut names: Vec<(String, [usize; 5])> = Vec::new();
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
                let kinds = [
                    ValueKind::List,
                    ValueKind::Numbers,
                    ValueKind::Cell,
                    ValueKind::Nested,
                    ValueKind::EmptyList,
                ];
                let lines = kinds.map(|other| usize::from(kind == other));
                match places.get(&key) {
                    Some(&place) => {
                        let (_, seen) = &mut names[place];
                        *seen = [0, 1, 2, 3, 4].map(|at| seen[at] + lines[at]);
                    }
                    None => {
                        places.insert(key.clone(), names.len());
                        names.push((key, lines));
                    }
                }
            }
        }
        if count == 0 {
            return Err(self.no_rows());
        }
        let mut header = TableHeader::default();
        for (key, [lists, numbers, cells, others, empty_lists]) in names {
            if LINES_OF_A_NESTED * others > lists + numbers + cells {
                header.nested.push(key);
                continue;
            }
            if lists > 0 && LINES_OF_A_NESTED * (numbers + cells) <= lists {
                header.lists.push(key.clone());
            }
            if numbers > 0 && LINES_OF_A_NESTED * (lists + cells) <= numbers {
                header.number_lists.push(key.clone());
            }
            if empty_lists > 0 {
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
