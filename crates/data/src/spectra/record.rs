//! The fields and peaks of one spectrum of a file, by name.

use std::path::Path;

use super::{KNOWN, NO_PEAKS, PARTS, Peak, SPECTRUM, head, peak, precursor, tree_text};
use crate::Error;
use crate::error::{list, shorten};

/// An error in a text: its line, from 0, and the message.
pub(crate) type Wrong = (usize, String);

/// One spectrum as its file writes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// Names and values, in the order of the file.
    fields: Vec<(String, String)>,
    /// Each peak, ` m/z:intensity`, as it is written.
    peaks: String,
    last: Option<Peak>,
    /// The line of the text on which it starts, from 0.
    pub(crate) start: usize,
}

/// Names of one field in files. The first one is MassSpecGym's.
const FIELDS: [&[&str]; 11] = [
    &["identifier", "title", "accession", "db#", "spectrumid", "spectrum_id", "nist#", "scans"],
    &["name", "compound_name"],
    &["precursor_mz", "pepmass", "precursor_m/z", "isolation_mz"],
    &["adduct", "precursor_type"],
    &["formula", "molecular_formula"],
    &["smiles", "computed smiles"],
    &["inchi", "iupac", "computed inchi"],
    &["inchikey", "inchi_key", "computed inchikey"],
    &["collision_energy", "ce"],
    &["instrument_type"],
    &["ion_mode", "polarity"],
];

/// A name without case, and without what files write between words.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric() || *c == '#').flat_map(char::to_lowercase).collect()
}

/// All names of the field that has this one; none of other fields.
fn names_of(name: &str) -> &'static [&'static str] {
    let has = |names: &&&[&str]| names.iter().any(|own| plain(own) == plain(name));
    FIELDS.iter().find(has).copied().unwrap_or_default()
}

impl Record {
    /// The spectrum of a table's row, whose m/z and intensities are lists with commas between, by the names of the cells.
    pub(crate) fn of_cells<'c>(
        cells: impl Iterator<Item = (&'c str, &'c str)>,
    ) -> Result<Self, Wrong> {
        let (mut record, mut lists) = (Self::default(), [Vec::new(), Vec::new()]);
        for (name, cell) in cells {
            match PARTS[1..].iter().position(|own| *own == name) {
                Some(at) => {
                    let list = cell.trim().trim_start_matches('[').trim_end_matches(']').split(',');
                    lists[at] = list.map(str::trim).filter(|cell| !cell.is_empty()).collect();
                }
                None => record.add(name, cell),
            }
        }
        let [mzs, intensities] = lists;
        let (found, expected) = (intensities.len(), mzs.len());
        if found != expected {
            return Err(record.wrong(0, &format!("{found} intensities of {expected} peaks")));
        }
        for (mz, intensity) in mzs.into_iter().zip(intensities) {
            record.add_peak(mz, intensity).map_err(|reason| record.wrong(0, &reason))?;
        }
        Ok(record)
    }

    /// Adds a field; of several with one name the first counts.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        self.fields.push((name.trim().to_owned(), value.trim().to_owned()));
    }

    /// Adds the fields that MSP comments hold: `"key=value"`, and `key=value` without quotation marks.
    pub(super) fn add_comments(&mut self, text: &str) {
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (word, behind) = match rest.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => rest.split_once(' ').unwrap_or((rest, "")),
            };
            if let Some((name, value)) = word.split_once('=') {
                self.add(name, value);
            }
            rest = behind.trim_start();
        }
    }

    /// Adds a peak, behind those before it.
    pub(super) fn add_peak(&mut self, mz: &str, intensity: &str) -> Result<(), String> {
        self.last = Some(peak(mz, intensity, self.last.as_ref())?);
        self.peaks.push_str(&format!(" {mz}:{intensity}"));
        Ok(())
    }

    /// Its name in errors.
    fn title(&self) -> String {
        let named = self.first_of(FIELDS[0]).or_else(|| self.first_of(FIELDS[1]));
        named.map_or_else(|| "a spectrum".into(), |name| format!("spectrum {:?}", shorten(name)))
    }

    fn first_of(&self, names: &[&str]) -> Option<&str> {
        let value = |name: &&str| {
            let name = plain(name);
            let mut fields = self.fields.iter();
            fields.find(|(own, value)| plain(own) == name && !value.is_empty())
        };
        names.iter().find_map(value).map(|(_, value)| value.as_str())
    }

    /// The value of a field, by the file's name or by MassSpecGym's; of the precursor's m/z without the intensity that MGF
    /// may have behind it.
    fn field(&self, name: &str) -> Option<&str> {
        let names = names_of(name);
        let value = self.first_of(&[name]).or_else(|| self.first_of(names))?;
        if names == FIELDS[2] { value.split_ascii_whitespace().next() } else { Some(value) }
    }

    /// The text of precursor and peaks, of a spectrum in a file in this folder.
    pub(crate) fn spectrum(&self, folder: Option<&Path>) -> Result<String, Wrong> {
        let wrong = |reason: String| (self.start, format!("{}: {reason}", self.title()));
        let mz = self.field(PARTS[0]).unwrap_or_default();
        if mz.is_empty() {
            return Err(wrong("no precursor's m/z; a number above 0 is needed".into()));
        }
        precursor(mz).map_err(wrong)?;
        if self.last.is_none() {
            return Err(wrong(NO_PEAKS.into()));
        }
        let [adduct, formula, tree] = KNOWN.map(|name| self.field(name));
        let tree = tree.map(|own| tree_text(own, folder)).transpose().map_err(wrong)?;
        Ok(head(mz, [adduct, formula, tree.as_deref()]) + &self.peaks)
    }

    /// The names of its columns.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (own, _) in &self.fields {
            let name = names_of(own).first().map_or(own.as_str(), |name| name);
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names.push(SPECTRUM.to_owned());
        names
    }

    /// The values of columns.
    pub(crate) fn cells(
        &self,
        path: &Path,
        line: usize,
        columns: &[String],
    ) -> Result<Vec<String>, Error> {
        let cell = |column: &String| {
            if column == SPECTRUM {
                return self
                    .spectrum(path.parent())
                    .map_err(|(at, reason)| Error::line(path, line + at, reason));
            }
            self.field(column).map(str::to_owned).ok_or_else(|| {
                let (title, names) = (self.title(), list(&self.names()));
                Error::line(
                    path,
                    line + self.start,
                    format!("{title}: no field {column:?}; it has: {names}"),
                )
            })
        };
        columns.iter().map(cell).collect()
    }

    /// The error about a line of it.
    pub(super) fn wrong(&self, line: usize, reason: &str) -> Wrong {
        (line, format!("{}: {reason}", self.title()))
    }
}
