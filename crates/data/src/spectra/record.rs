//! The fields and peaks of one spectrum of a file, by name.

use std::path::Path;

use super::{KNOWN, NO_PEAKS, PARTS, Peak, SPECTRUM, head, peak, precursor, tree_text};
use crate::Error;
use crate::error::{list, shorten};

/// What is wrong in a text, with the line of it, from 0.
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

/// Names of one field in files, the first of which is MassSpecGym's.
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

impl Record {
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

    /// What it is called in errors.
    fn title(&self) -> String {
        let named = [FIELDS[0], FIELDS[1]].into_iter().find_map(|names| self.first_of(names));
        named.map_or_else(|| "a spectrum".into(), |name| format!("spectrum {:?}", shorten(name)))
    }

    fn first_of(&self, names: &[&str]) -> Option<&str> {
        names
            .iter()
            .find_map(|name| {
                let name = plain(name);
                let mut fields = self.fields.iter();
                fields.find(|(own, value)| plain(own) == name && !value.is_empty())
            })
            .map(|(_, value)| value.as_str())
    }

    /// The value of a field, by the file's name or by MassSpecGym's; of the precursor's m/z without the intensity that MGF
    /// may have behind it.
    fn field(&self, name: &str) -> Option<&str> {
        let is_precursor = FIELDS[2].iter().any(|own| plain(own) == plain(name));
        let value = self.value(name)?;
        if is_precursor { value.split_ascii_whitespace().next() } else { Some(value) }
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.first_of(&[name]).or_else(|| {
            let all = FIELDS.iter().find(|names| names.iter().any(|own| plain(own) == plain(name)));
            self.first_of(all?)
        })
    }

    /// The text of precursor and peaks, of a spectrum in a file in this folder.
    pub(super) fn spectrum(&self, folder: Option<&Path>) -> Result<String, Wrong> {
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
            let group =
                FIELDS.iter().find(|names| names.iter().any(|name| plain(name) == plain(own)));
            let name = group.map_or(own.as_str(), |names| names[0]);
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
