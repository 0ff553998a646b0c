//! The fields and peaks of one spectrum of a file, by name.

use std::path::Path;

use dsokr_core::Error;
use dsokr_core::message::{list, shorten};

use crate::ionization::{adduct, names_methods_alone};
use crate::peaks::PeakList;
use crate::polarity::Polarity;
use crate::text::{PARTS, SPECTRUM, head, precursor};
use crate::tree::tree_text;

/// An error in a text: its line, from 0, and the message.
pub type Wrong = (usize, String);

/// A spectrum as its file writes it.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Names and values, in the order of the file.
    fields: Vec<(String, String)>,
    peaks: PeakList,
    /// The line of the text on which it starts, from 0.
    pub start: usize,
}

/// Names of one field in files. The first one is MassSpecGym's.
const FIELDS: [&[&str]; 13] = [
    IDENTIFIER,
    NAME,
    &["precursor_mz", "pepmass", "precursor_m/z", "isolation_mz", "parent"],
    ADDUCT,
    FORMULA,
    &["smiles", "computed smiles"],
    &["inchi", "iupac", "computed inchi"],
    &["inchikey", "inchi_key", "computed inchikey", "inchiaux"],
    &["collision_energy", "ce"],
    &["instrument_type", "source_instrument"],
    ION_MODE,
    CHARGE,
    LEVEL,
];

const IDENTIFIER: &[&str] =
    &["identifier", "title", "accession", "db#", "spectrumid", "spectrum_id", "nist#", "scans"];
const NAME: &[&str] = &["name", "compound_name"];
const ADDUCT: &[&str] = &["adduct", "precursor_type", ION_TYPE];
const ION_TYPE: &str = "ion_type";
const FORMULA: &[&str] = &["formula", "molecular_formula"];
const TREE: &str = "tree";
/// Names of fields that hold the adduct in some files, and the method of ionisation in others.
const ADDUCT_OR_METHOD: [&str; 2] = ["ion", METHOD];
const METHOD: &str = "ionization";
const ION_MODE: &[&str] = &["ion_mode", "polarity", MODE_OF_METHOD];
const MODE_OF_METHOD: &str = "ionization_mode";
const CHARGE: &[&str] = &["charge", "precursor_charge", "charge_state"];
const LEVEL: &[&str] = &["ms_level", "ms_type", "spectrum_type"];

/// The texts that files write where a value is not known.
const UNKNOWN: [&str; 22] = [
    "n/a",
    "n.a.",
    "n.a",
    "na",
    "nan",
    "nil",
    "none",
    "null",
    "unknown",
    "?",
    "--",
    "---",
    "—",
    "undefined",
    "undetermined",
    "unspecified",
    "not applicable",
    "not available",
    "not known",
    "not recorded",
    "not reported",
    "not specified",
];

/// Returns a name without case, and without what files write between words.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric() || *c == '#').flat_map(char::to_lowercase).collect()
}

/// Returns whether a value is more than a word for what is not known.
pub(crate) fn is_known(value: &str) -> bool {
    !value.is_empty() && !UNKNOWN.contains(&value.to_lowercase().as_str())
}

/// Returns the MS level that a text such as `2`, `2.0`, `MS2`, `MS/MS` and `MS` says.
fn level(text: &str) -> Option<u32> {
    let text = plain(text.strip_suffix(".0").unwrap_or(text));
    match text.trim_start_matches("ms") {
        "" => Some(text.len() as u32 / 2),
        number => number.parse().ok(),
    }
}

/// Returns all names of the field that has this one; none of other fields.
fn names_of(name: &str) -> &'static [&'static str] {
    let has = |names: &&&[&str]| names.iter().any(|synonym| plain(synonym) == plain(name));
    FIELDS.iter().find(has).copied().unwrap_or_default()
}

/// Returns a number without the type that NumPy writes around it in a list of Python, as in `np.float64(0.5)`.
fn without_type(number: &str) -> &str {
    let typed = number.strip_prefix("np.").and_then(|rest| rest.strip_suffix(')'));
    typed.and_then(|rest| rest.split_once('(')).map_or(number, |(_, number)| number)
}

impl Record {
    /// Returns whether a field with this name is one that spectra have, by any name that files have for it.
    pub(crate) fn is_field(name: &str) -> bool {
        !names_of(name).is_empty()
    }

    /// Returns the name that MassSpecGym has for a field, by any name that files have for it; none of other fields.
    pub fn common_name(name: &str) -> Option<&'static str> {
        names_of(name).first().copied()
    }

    /// Returns whether a column of a table with [`PARTS`] says something of their spectrum, by any name that files have for it:
    /// what it is called, its adduct, formula, ion mode, charge, MS level and fragmentation tree.
    pub fn has_column(name: &str) -> bool {
        let is_method = ADDUCT_OR_METHOD.contains(&plain(name).as_str());
        PARTS.contains(&name)
            || name == TREE
            || is_method
            || [IDENTIFIER, NAME, ADDUCT, FORMULA, ION_MODE, CHARGE, LEVEL]
                .contains(&names_of(name))
    }

    /// Returns whether a field says an MS level, by any name that files have for it.
    pub fn states_level(name: &str) -> bool {
        names_of(name) == LEVEL
    }

    /// Creates the spectrum of a table's row, whose m/z and intensities are lists with commas between, by the names of
    /// the cells. Lists without commas have blanks between, as those of JSON lines and NumPy, or semicolons.
    pub fn of_cells<'c>(cells: impl Iterator<Item = (&'c str, &'c str)>) -> Result<Self, Wrong> {
        let mut record = Self::default();
        let mut lists = [Vec::new(), Vec::new()];
        for (name, cell) in cells {
            match PARTS[1..].iter().position(|part| *part == name) {
                Some(at) => {
                    let list = cell.trim().trim_start_matches('[').trim_end_matches(']');
                    let has_commas = list.contains(',');
                    let divides = |c: char| {
                        if has_commas { c == ',' } else { c == ';' || c.is_whitespace() }
                    };
                    let numbers = list.split(divides).map(|number| without_type(number.trim()));
                    lists[at] = numbers.filter(|number| !number.is_empty()).collect();
                }
                None => record.add(name, cell),
            }
        }
        let [mzs, intensities] = lists;
        if mzs.len() != intensities.len() {
            let reason = match (mzs.len(), intensities.len()) {
                (0, intensity_count) => {
                    format!("{intensity_count} intensities, and no {:?}", PARTS[1])
                }
                (peak_count, 0) => format!("{peak_count} peaks, and no {:?}", PARTS[2]),
                (peak_count, intensity_count) => {
                    format!("{intensity_count} intensities of {peak_count} peaks")
                }
            };
            return Err(record.wrong(0, &reason));
        }
        for (mz, intensity) in mzs.into_iter().zip(intensities) {
            record.add_peak(mz, intensity).map_err(|reason| record.wrong(0, &reason))?;
        }
        Ok(record)
    }

    /// Adds a field; of several with one name the first counts. An adduct in a field that may say a method of
    /// ionisation is added as an adduct too, and the polarity of a method, such as `ESI-`, as an ion mode.
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        let [name, value] = [name, value].map(str::trim);
        self.fields.push((name.to_owned(), value.to_owned()));
        let may_be_adduct = ADDUCT_OR_METHOD.contains(&plain(name).as_str());
        if may_be_adduct && Polarity::of_adduct(value).is_some() {
            self.fields.push((ION_TYPE.to_owned(), value.to_owned()));
        } else if plain(name) == METHOD && Polarity::of_mode(value).is_some() {
            self.fields.push((MODE_OF_METHOD.to_owned(), value.to_owned()));
        }
    }

    /// Adds the fields that the header of a file gives all of its spectra.
    pub(crate) fn add_header(&mut self, header: &[(String, String)]) {
        self.fields.extend(header.iter().cloned());
    }

    /// Returns whether a field may stand in the header of a file for all of its spectra.
    pub(crate) fn is_of_files(name: &str) -> bool {
        [ADDUCT, ION_MODE, CHARGE].contains(&names_of(name))
    }

    /// Returns whether it is a tandem spectrum, or says no level.
    pub fn is_tandem(&self) -> bool {
        self.first_of(LEVEL).and_then(level).is_none_or(|level| level == 2)
    }

    /// Adds the fields that MSP comments hold: `"key=value"`, and `key=value` without quotation marks.
    pub(crate) fn add_comments(&mut self, text: &str) {
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

    /// Adds a peak.
    pub(crate) fn add_peak(&mut self, mz: &str, intensity: &str) -> Result<(), String> {
        self.peaks.add(mz, intensity)
    }

    /// Returns the name of the spectrum in errors.
    fn title(&self) -> String {
        let named = self.first_of(IDENTIFIER).or_else(|| self.first_of(NAME));
        named.map_or_else(|| "a spectrum".into(), |name| format!("spectrum {:?}", shorten(name)))
    }

    fn first_of(&self, names: &[&str]) -> Option<&str> {
        self.all_of(names).next()
    }

    /// Returns the known values of a field with several names: those by the first name, then those by the others.
    fn all_of(&self, names: &[&str]) -> impl Iterator<Item = &str> {
        self.written(names).filter(|value| is_known(value))
    }

    /// Returns the values of a field with several names as the file writes them, words for what is not known among them.
    fn written(&self, names: &[&str]) -> impl Iterator<Item = &str> {
        let fields = &self.fields;
        names.iter().flat_map(move |name| {
            let name = plain(name);
            let has_name = move |(field, _): &&(String, String)| plain(field) == name;
            fields.iter().filter(has_name).map(|(_, value)| value.as_str())
        })
    }

    /// Returns the ion mode: the first field that says a polarity, else the first that has more than methods of ionisation,
    /// which say none.
    fn mode(&self) -> Option<&str> {
        let says_more = |mode: &&str| !names_methods_alone(mode);
        let with_polarity = self.all_of(ION_MODE).find(|mode| Polarity::of_mode(mode).is_some());
        with_polarity.or_else(|| self.all_of(ION_MODE).find(says_more))
    }

    /// Returns the value of a field, by the file's name or by MassSpecGym's; of the precursor's m/z without the
    /// intensity and the charge that MGF may have behind it.
    pub fn field(&self, name: &str) -> Option<&str> {
        let names = names_of(name);
        let value = self.first_of(&[name]).or_else(|| self.first_of(names))?;
        if names == FIELDS[2] { value.split_ascii_whitespace().next() } else { Some(value) }
    }

    /// Returns the text of precursor and peaks, of a spectrum in a file in this folder.
    pub fn spectrum(&self, folder: Option<&Path>) -> Result<String, Wrong> {
        let wrong = |reason: String| self.wrong(self.start, &reason);
        let mz = self.field(PARTS[0]).unwrap_or_default();
        if mz.is_empty() {
            return Err(wrong("no precursor's m/z; a number above 0 is needed".into()));
        }
        precursor(mz).map_err(wrong)?;
        let peaks = self.peaks.clone().finish().map_err(wrong)?;
        let [named, name, charge] = [ADDUCT, NAME, CHARGE].map(|names| self.first_of(names));
        let adduct = adduct([named, name, self.mode(), charge]).map_err(wrong)?;
        let [formula, tree] = [FORMULA[0], TREE].map(|name| self.field(name));
        let tree = tree.map(|text| tree_text(text, folder)).transpose().map_err(wrong)?;
        Ok(head(mz, [adduct.as_deref(), formula, tree.as_deref()]) + &peaks.text)
    }

    /// Returns the names of its columns.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (field, _) in &self.fields {
            let name = names_of(field).first().map_or(field.as_str(), |name| name);
            if !names.iter().any(|seen| seen == name) {
                names.push(name.to_owned());
            }
        }
        names.push(SPECTRUM.to_owned());
        names
    }

    /// Returns the value of a column, as [`field`](Self::field) does. A name is a name also where it is `Unknown`, which a program
    /// writes that has identified nothing.
    fn cell(&self, column: &str) -> Result<&str, String> {
        if let Some(value) = self.field(column) {
            return Ok(value);
        }
        let names = names_of(column);
        let written = self.written(&[column]).chain(self.written(names)).next();
        match written {
            Some(value) if [IDENTIFIER, NAME].contains(&names) && !value.is_empty() => Ok(value),
            Some(value) => Err(format!("the field {column:?} is {value:?}, which is no value")),
            None => Err(format!("no field {column:?}; it has: {}", list(&self.names()))),
        }
    }

    /// Returns the values of columns.
    pub fn cells(
        &self,
        path: &Path,
        line: usize,
        columns: &[String],
    ) -> Result<Vec<String>, Error> {
        let cell = |column: &String| {
            if column == SPECTRUM {
                return self
                    .spectrum(path.parent())
                    .map_err(|(at, reason)| Error::at_line(path, line + at, reason));
            }
            self.cell(column).map(str::to_owned).map_err(|reason| {
                let title = self.title();
                Error::at_line(path, line + self.start, format!("{title}: {reason}"))
            })
        };
        columns.iter().map(cell).collect()
    }

    /// Returns the error about a line of it.
    pub(crate) fn wrong(&self, line: usize, reason: &str) -> Wrong {
        (line, format!("{}: {reason}", self.title()))
    }
}
