//! How files of spectra are written.

use crate::massbank::massbank;
use crate::mgf::{BEGIN, ENDED, mgf};
use crate::msp::{NUM_PEAKS, compact, is_comment, msp};
use crate::mzml::{END, ParamGroups, mzml};
use crate::record::{Record, Wrong};

/// A format of files with several spectra.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpectrumFormat {
    /// Mascot generic format: `BEGIN IONS`, fields `KEY=value`, peaks, `END IONS`. `PEPMASS` has the precursor's m/z, and may
    /// have its intensity and its charge behind it. Of lines outside only adduct, ion mode and charge are read, which are
    /// those of the spectra that follow. Comments start with `#`, `;`, `!` or `/`.
    Mgf,
    /// NIST text: fields `Key: value`, then `Num Peaks: n` and the peaks, and a blank line behind it. Comments start with `#`.
    Msp,
    /// MassBank records: fields `TAG$NAME: value`, peaks with two spaces before them, as many as `PK$NUM_PEAK` states where
    /// it does, `//` at the end.
    MassBank,
    /// mzML: elements `<spectrum>` with base64 arrays; only spectra of MS level 2 are read.
    MzMl,
}

/// What a file says before its spectra, about all of them.
#[derive(derive_more::Debug, Default)]
#[debug("FileContext({} fields of a header)", header.len())]
pub struct FileContext {
    /// Parameters that spectra of mzML refer to.
    groups: ParamGroups,
    /// Fields before the first `BEGIN IONS` of MGF.
    header: Vec<(String, String)>,
}

impl SpectrumFormat {
    /// Returns the format that the first line of a text tells, or of MGF the first line of its first spectrum.
    pub(crate) fn told_by(text: &str) -> Self {
        let first = text.trim_start();
        if first.starts_with("ACCESSION:") {
            Self::MassBank
        } else if first.starts_with('<') {
            Self::MzMl
        } else if text.split(['\n', '\r']).any(|line| line.trim().eq_ignore_ascii_case(BEGIN)) {
            Self::Mgf
        } else {
            Self::Msp
        }
    }

    /// Returns the format of a file of spectra that begins with this text; none of a text that begins no such file, as lines
    /// that are a spectrum each do not.
    pub fn of_start(text: &str) -> Option<Self> {
        let format = Self::told_by(text);
        let begins = match format {
            Self::Mgf | Self::MassBank => true,
            Self::MzMl => text.contains("<mzML") || text.contains("<indexedmzML"),
            // a name of a field begins with a letter, and a text of JSON with another sign
            Self::Msp => {
                let field = text.trim_start().split_once(':');
                let has_letter = |name: &str| name.starts_with(char::is_alphabetic);
                field.is_some_and(|(name, _)| has_letter(name) && Record::is_field(name))
            }
        };
        begins.then_some(format)
    }

    /// Returns the end of a spectrum within a line, for formats that may be one line.
    pub fn inner_end(self) -> Option<&'static [u8]> {
        match self {
            Self::Mgf | Self::Msp | Self::MassBank => None,
            Self::MzMl => Some(END),
        }
    }

    /// Returns whether a spectrum ends with a line, or with what is behind it up to an [inner end](Self::inner_end).
    pub fn ends(self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        match self {
            Self::Mgf => line.eq_ignore_ascii_case(ENDED.as_bytes()),
            Self::Msp => line.is_empty(),
            Self::MassBank => line == b"//",
            Self::MzMl => line.ends_with(END),
        }
    }

    /// Returns where another spectrum begins in a text that [ends](Self::ends) with one, as where the first lacks its end: the
    /// bytes and the lines before it.
    pub fn second_start(self, text: &str) -> Option<[usize; 2]> {
        match self {
            Self::Mgf => starts(text, |line| line.trim().eq_ignore_ascii_case(BEGIN)).nth(1),
            Self::MassBank => starts(text, |line| line.starts_with("ACCESSION:")).nth(1),
            Self::Msp => {
                // each spectrum of a file begins with the same field; peaks begin with a number
                let mut first = None;
                let mut is_counted = false;
                let begins = |line: &str| {
                    let field = line.split_once(':').filter(|_| !is_comment(line));
                    let Some((name, _)) = field else { return false };
                    let name = compact(name);
                    let is_first = *first.get_or_insert_with(|| name.clone()) == name;
                    let begins = is_counted && (is_first || name == "name");
                    is_counted |= name == NUM_PEAKS;
                    begins
                };
                starts(text, begins).next()
            }
            Self::MzMl => None,
        }
    }

    /// Returns the text of precursor and peaks of the only spectrum of a text.
    pub(crate) fn line(self, text: &str) -> Result<String, String> {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let record = self.record(&text, &mut FileContext::default());
        let record = record.map_err(|(_, reason)| reason)?.ok_or("no tandem spectrum")?;
        record.spectrum(None).map_err(|(_, reason)| reason)
    }

    /// Returns the tandem spectrum of a text that ends with it; none where lines are comments only, and of other MS
    /// levels. `context` has what texts before it say for all.
    pub fn record(self, text: &str, context: &mut FileContext) -> Result<Option<Record>, Wrong> {
        let record = match self {
            Self::Mgf => mgf(text, &mut context.header)?,
            Self::Msp => msp(text)?,
            Self::MassBank => Some(massbank(text)?),
            Self::MzMl => mzml(text, &mut context.groups)?,
        };
        Ok(record.filter(Record::is_tandem))
    }
}

/// Returns the bytes and the lines before each line of a text that begins a spectrum.
fn starts(text: &str, mut begins: impl FnMut(&str) -> bool) -> impl Iterator<Item = [usize; 2]> {
    let mut bytes = 0;
    text.split_inclusive('\n').enumerate().filter_map(move |(lines, line)| {
        let start = [bytes, lines];
        bytes += line.len();
        begins(line).then_some(start)
    })
}
