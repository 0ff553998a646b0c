//! How files of spectra are written.

use super::mzml::{END, ParamGroups, mzml};
use super::record::{Record, Wrong};

/// A format of files with several spectra.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpectrumFormat {
    /// Mascot generic format: `BEGIN IONS`, fields `KEY=value`, peaks, `END IONS`. Lines outside are not read, nor are
    /// comments that start with `#`, `;`, `!` or `/`.
    Mgf,
    /// NIST text: fields `Key: value`, then `Num Peaks: n` and the peaks, and a blank line behind it.
    Msp,
    /// MassBank records: fields `TAG$NAME: value`, peaks with two spaces before them, `//` at the end.
    MassBank,
    /// mzML: elements `<spectrum>` with base64 arrays; those of MS level 2 count.
    MzMl,
}

impl SpectrumFormat {
    /// The format that an extension names.
    pub(crate) fn from_extension(extension: &str) -> Option<Self> {
        match extension {
            "mgf" => Some(Self::Mgf),
            "msp" => Some(Self::Msp),
            "massbank" => Some(Self::MassBank),
            "mzml" => Some(Self::MzMl),
            _ => None,
        }
    }

    /// The format that the first line of a text tells.
    pub(super) fn told_by(text: &str) -> Self {
        let first = text.trim_start();
        if first.starts_with("BEGIN IONS") {
            Self::Mgf
        } else if first.starts_with("ACCESSION:") {
            Self::MassBank
        } else if first.starts_with('<') {
            Self::MzMl
        } else {
            Self::Msp
        }
    }

    /// Whether a spectrum ends with a line.
    pub(crate) fn ends(self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        match self {
            Self::Mgf => line == b"END IONS",
            Self::Msp => line.is_empty(),
            Self::MassBank => line == b"//",
            Self::MzMl => line.windows(END.len()).any(|own| own == END),
        }
    }

    /// The spectrum of a text that ends with it; none where lines are comments only. `groups` has the parameters of mzML that
    /// texts before it define.
    pub(crate) fn record(
        self,
        text: &str,
        groups: &mut ParamGroups,
    ) -> Result<Option<Record>, Wrong> {
        match self {
            Self::Mgf => mgf(text),
            Self::Msp => msp(text).map(Some),
            Self::MassBank => massbank(text).map(Some),
            Self::MzMl => mzml(text, groups),
        }
    }
}

fn mgf(text: &str) -> Result<Option<Record>, Wrong> {
    let (mut record, mut inside, mut ended) = (Record::default(), false, false);
    for (at, line) in text.lines().map(str::trim).enumerate() {
        match line {
            "BEGIN IONS" if inside => {
                return Err(record.wrong(at, "BEGIN IONS before its END IONS"));
            }
            "BEGIN IONS" => (inside, record.start) = (true, at),
            "END IONS" if !inside => return Err(record.wrong(at, "END IONS without BEGIN IONS")),
            "END IONS" => ended = true,
            _ if !inside || line.is_empty() || line.starts_with(['#', ';', '!', '/']) => {}
            _ => match line.split_once('=') {
                Some((name, value)) if !line.starts_with(|c: char| c.is_ascii_digit()) => {
                    record.add(name, value);
                }
                Some(_) | None => add_peak(&mut record, at, line)?,
            },
        }
    }
    match (inside, ended) {
        (true, false) => Err(record.wrong(record.start, "no END IONS")),
        (true, true) => Ok(Some(record)),
        (false, _) => Ok(None),
    }
}

fn msp(text: &str) -> Result<Record, Wrong> {
    let (mut record, mut expected, mut found) = (Record::default(), None, 0);
    for (at, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() {
            continue;
        }
        if let Some(expected) = expected {
            // several peaks on a line have semicolons between
            for pair in line.split(';').map(str::trim).filter(|pair| !pair.is_empty()) {
                if found == expected {
                    let reason = format!("more than {expected} peaks, the number that it states");
                    return Err(record.wrong(at, &reason));
                }
                add_peak(&mut record, at, pair)?;
                found += 1;
            }
            continue;
        }
        let Some((name, value)) = line.split_once(':') else {
            let reason =
                format!("{line:?} is not \"Key: value\", which is needed before \"Num Peaks\"");
            return Err(record.wrong(at, &reason));
        };
        match name.to_ascii_lowercase().as_str() {
            "num peaks" => {
                let count = value.trim().parse::<usize>();
                expected = Some(count.map_err(|_| {
                    let reason = format!("Num Peaks {:?} is not a number", value.trim());
                    record.wrong(at, &reason)
                })?);
            }
            "comment" | "comments" => record.add_comments(value),
            _ => record.add(name, value),
        }
    }
    match expected {
        Some(expected) if expected != found => {
            let reason = format!("{found} peaks; it states {expected}");
            Err(record.wrong(0, &reason))
        }
        Some(_) => Ok(record),
        None => Err(record.wrong(0, "no \"Num Peaks\"")),
    }
}

fn massbank(text: &str) -> Result<Record, Wrong> {
    let (mut record, mut inside, mut ended) = (Record::default(), false, false);
    for (at, line) in text.lines().enumerate() {
        let indented = line.starts_with(' ');
        match line.split_once(':') {
            _ if line.trim() == "//" => ended = true,
            _ if indented && inside => add_peak(&mut record, at, line.trim())?,
            // lines of other tables, as that of annotations, and comments
            _ if indented || line.trim().is_empty() || line.starts_with('#') => {}
            Some((tag, value)) => {
                inside = tag == "PK$PEAK";
                // `AC$MASS_SPECTROMETRY: COLLISION_ENERGY 30` and `CH$LINK: INCHIKEY …` have names of their own
                let own = matches!(tag, "AC$MASS_SPECTROMETRY" | "MS$FOCUSED_ION" | "CH$LINK");
                match value.trim().split_once(' ') {
                    Some((name, value)) if own => record.add(name, value),
                    _ => record.add(tag.split_once('$').map_or(tag, |(_, name)| name), value),
                }
            }
            None => {
                let reason = format!("{line:?} is not \"TAG: value\"");
                return Err(record.wrong(at, &reason));
            }
        }
    }
    if ended { Ok(record) } else { Err(record.wrong(0, "no // at its end")) }
}

/// Adds a line with m/z and intensity, and perhaps more behind them.
fn add_peak(record: &mut Record, at: usize, line: &str) -> Result<(), Wrong> {
    let mut words =
        line.split(|c: char| c.is_ascii_whitespace() || c == ',').filter(|w| !w.is_empty());
    let (Some(mz), Some(intensity)) = (words.next(), words.next()) else {
        return Err(record.wrong(at, &format!("a peak {line:?} is not m/z and intensity")));
    };
    record.add_peak(mz, intensity).map_err(|reason| record.wrong(at, &reason))
}
