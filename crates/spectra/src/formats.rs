//! How files of spectra are written.

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
                    let field = line.split_once(':').filter(|_| !is_comment_of_msp(line));
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

const BEGIN: &str = "BEGIN IONS";
const ENDED: &str = "END IONS";

/// The field of MSP behind which peaks stand, without case and signs between its words.
const NUM_PEAKS: &str = "numpeaks";

/// Returns the bytes and the lines before each line of a text that begins a spectrum.
fn starts(text: &str, mut begins: impl FnMut(&str) -> bool) -> impl Iterator<Item = [usize; 2]> {
    let mut bytes = 0;
    text.split_inclusive('\n').enumerate().filter_map(move |(lines, line)| {
        let start = [bytes, lines];
        bytes += line.len();
        begins(line).then_some(start)
    })
}

/// Returns the name of a field of MSP without case and signs between its words.
fn compact(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace([' ', '_'], "")
}

fn mgf(text: &str, header: &mut Vec<(String, String)>) -> Result<Option<Record>, Wrong> {
    let mut record = Record::default();
    let mut charge = String::new();
    let mut peaks = Vec::new();
    let mut inside = false;
    let mut ended = false;
    for (at, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || line.starts_with(['#', ';', '!', '/']) {
            continue;
        }
        if line.eq_ignore_ascii_case(BEGIN) {
            if inside {
                return Err(
                    record.wrong(at, "BEGIN IONS before its END IONS; one spectrum is needed here")
                );
            }
            inside = true;
            record.start = at;
            continue;
        }
        if line.eq_ignore_ascii_case(ENDED) {
            if !inside {
                return Err(record.wrong(at, "END IONS without BEGIN IONS"));
            }
            ended = true;
            continue;
        }
        let is_peak = line.starts_with(|c: char| c.is_ascii_digit());
        let field = line.split_once('=').filter(|_| !is_peak);
        match field {
            Some((name, value)) if inside => {
                if name.trim().eq_ignore_ascii_case("PEPMASS") {
                    // m/z, intensity and charges
                    charge = value.split_ascii_whitespace().skip(2).collect::<Vec<_>>().join(" ");
                }
                record.add(name, value);
            }
            Some((name, value)) if Record::is_of_files(name) => {
                header.push((name.to_owned(), value.to_owned()));
            }
            None if inside => peaks.push((at, line)),
            Some(_) | None => {}
        }
    }
    match (inside, ended) {
        (true, false) => Err(record.wrong(record.start, "no END IONS")),
        (true, true) => {
            add_peaks(&mut record, &peaks)?;
            // a field of its own says more
            if !charge.is_empty() && record.field("charge").is_none() {
                record.add("charge", &charge);
            }
            record.add_header(header);
            Ok(Some(record))
        }
        (false, _) => Ok(None),
    }
}

/// Returns whether a line of MSP is a comment.
fn is_comment_of_msp(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

fn msp(text: &str) -> Result<Option<Record>, Wrong> {
    let mut record = Record::default();
    let mut has_fields = false;
    let mut expected = None;
    let mut peaks: Vec<(usize, String)> = Vec::new();
    for (at, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || is_comment_of_msp(line) {
            continue;
        }
        if expected.is_some() {
            let pairs = pairs(line);
            if pairs.first().is_some_and(|pair| pair.starts_with(char::is_alphabetic)) {
                let reason = format!(
                    "{line:?} is no peak; behind \"Num Peaks\" stand peaks alone, up to a blank line"
                );
                return Err(record.wrong(at, &reason));
            }
            peaks.extend(pairs.into_iter().map(|pair| (at, pair)));
            continue;
        }
        let Some((name, value)) = line.split_once(':') else {
            let reason =
                format!("{line:?} is not \"Key: value\", which is needed before \"Num Peaks\"");
            return Err(record.wrong(at, &reason));
        };
        match compact(name).as_str() {
            // the rest of a spectrum with a blank line before it, which the error about that one says
            NUM_PEAKS if !has_fields => return Ok(None),
            NUM_PEAKS => {
                let count = value.trim().parse::<usize>();
                expected = Some(count.map_err(|_| {
                    let reason = format!("Num Peaks {:?} is not a number", value.trim());
                    record.wrong(at, &reason)
                })?);
            }
            "comment" | "comments" => record.add_comments(value),
            _ => record.add(name, value),
        }
        has_fields = true;
    }
    if !has_fields {
        return Ok(None);
    }
    let Some(expected) = expected else {
        return Err(record.wrong(0, "no \"Num Peaks\"; a blank line ends a spectrum"));
    };
    let peaks = one_by_one(peaks, expected).map_err(|(at, line)| {
        let reason = format!(
            "{line:?} has the numbers of several peaks; write one peak a line, or as many in all as \"Num Peaks\" states"
        );
        record.wrong(at, &reason)
    })?;
    if let Some((at, _)) = peaks.get(expected) {
        let reason = format!("more than {expected} peaks, the number that it states");
        return Err(record.wrong(*at, &reason));
    }
    let lines: Vec<(usize, &str)> = peaks.iter().map(|(at, peak)| (*at, peak.as_str())).collect();
    add_peaks(&mut record, &lines)?;
    if peaks.len() < expected {
        let reason = format!("{} peaks; it states {expected}", peaks.len());
        return Err(record.wrong(0, &reason));
    }
    Ok(Some(record))
}

/// Returns the peaks of MSP one by one. With pairs of numbers alone, as many as are expected, a line may have several
/// without a sign between.
///
/// # Errors
/// The first line of several pairs where these are not as many as are expected.
fn one_by_one(
    peaks: Vec<(usize, String)>,
    expected: usize,
) -> Result<Vec<(usize, String)>, (usize, String)> {
    if peaks.len() == expected {
        return Ok(peaks);
    }
    let pair_count = |text: &str| {
        let words = text.split_ascii_whitespace();
        let numbers = words.clone().filter(|word| word.parse::<f64>().is_ok()).count();
        (numbers == words.count() && numbers.is_multiple_of(2)).then_some(numbers / 2)
    };
    let counts: Vec<Option<usize>> = peaks.iter().map(|(_, text)| pair_count(text)).collect();
    let several = counts.iter().position(|count| count.is_some_and(|count| count > 1));
    let Some(first) = several else { return Ok(peaks) };
    let all: Option<usize> = counts.into_iter().sum();
    if all != Some(expected) {
        return Err(peaks[first].clone());
    }
    let pairs = |(at, text): &(usize, String)| {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        words.chunks(2).map(|pair| (*at, pair.join(" "))).collect::<Vec<_>>()
    };
    Ok(peaks.iter().flat_map(pairs).collect())
}

fn massbank(text: &str) -> Result<Record, Wrong> {
    let mut record = Record::default();
    let mut begun = false;
    let mut inside = false;
    let mut ended = false;
    let mut peaks = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let indented = line.starts_with(' ');
        match line.split_once(':') {
            _ if line.trim().is_empty() || line.starts_with('#') => {}
            _ if ended => {
                let reason = "lines behind its //; one record is needed here";
                return Err(record.wrong(at, reason));
            }
            _ if line.trim() == "//" => ended = true,
            _ if indented && inside => peaks.push((at, line.trim())),
            // lines of other tables, as that of annotations
            _ if indented => {}
            Some(("ACCESSION", other)) if begun => {
                let reason =
                    format!("no // before ACCESSION {:?}; one record is needed here", other.trim());
                return Err(record.wrong(at, &reason));
            }
            Some((tag, value)) => {
                begun |= tag == "ACCESSION";
                inside = tag == "PK$PEAK";
                // `AC$MASS_SPECTROMETRY: COLLISION_ENERGY 30` and `CH$LINK: INCHIKEY …` have names of their own
                let has_subtag =
                    matches!(tag, "AC$MASS_SPECTROMETRY" | "MS$FOCUSED_ION" | "CH$LINK");
                match value.trim().split_once(' ') {
                    Some((name, value)) if has_subtag => record.add(name, value),
                    _ => record.add(tag.split_once('$').map_or(tag, |(_, name)| name), value),
                }
            }
            None => {
                let reason = format!("{line:?} is not \"TAG: value\"");
                return Err(record.wrong(at, &reason));
            }
        }
    }
    if !ended {
        return Err(record.wrong(0, "no // at its end"));
    }
    add_peaks(&mut record, &peaks)?;
    let peaks = peaks.len();
    let stated = record.field("NUM_PEAK").and_then(|count| count.parse::<usize>().ok());
    match stated.filter(|&stated| stated != peaks) {
        Some(stated) => Err(record.wrong(0, &format!("{peaks} peaks; it states {stated}"))),
        None => Ok(record),
    }
}

/// Returns the peaks on a line of MSP: without their annotations between quotation marks, with semicolons between or
/// each in brackets.
fn pairs(line: &str) -> Vec<String> {
    let outside = line.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let pairs = outside.replace('(', " ").replace(')', ";");
    pairs.split(';').map(|pair| pair.trim().to_owned()).filter(|pair| !pair.is_empty()).collect()
}

/// Adds the peaks of a spectrum, each on its line.
fn add_peaks(record: &mut Record, peaks: &[(usize, &str)]) -> Result<(), Wrong> {
    if let Some((at, line)) = with_decimal_commas(peaks) {
        return Err(has_commas(record, at, line));
    }
    peaks.iter().try_for_each(|&(at, line)| add_peak(record, at, line))
}

/// Returns the first line that may have decimal commas, of lines of one word without points: `85,0284,10` may be m/z, intensity and
/// more, or m/z and intensity. What stands second looks like decimals where it begins with 0, and where it has as many digits on
/// each line, at least three; lines of other than three columns may be pairs of decimals.
fn with_decimal_commas<'l>(peaks: &[(usize, &'l str)]) -> Option<(usize, &'l str)> {
    let words = peaks.iter().filter_map(|&(at, line)| {
        let word = line.trim_matches(',');
        let is_list = is_numeric(word) && word.matches(',').count() > 1;
        let columns = word.split(',').filter(|column| !column.is_empty());
        is_list.then(|| (at, line, columns.collect::<Vec<&str>>()))
    });
    let words: Vec<(usize, &str, Vec<&str>)> = words.collect();
    if words.iter().any(|(_, line, _)| line.contains('.')) {
        return None;
    }
    let (_, _, first) = words.first()?;
    let length = first[1].len();
    let are_long = length >= 3
        && words.iter().all(|(_, _, columns)| {
            columns[1].len() == length && columns[1].bytes().all(|byte| byte.is_ascii_digit())
        });
    let may_be_decimal = |(_, _, columns): &&(usize, &str, Vec<&str>)| {
        let has_zero = columns[1].len() > 1 && columns[1].starts_with('0');
        are_long || has_zero || columns.len() != 3
    };
    words.iter().find(may_be_decimal).map(|&(at, line, _)| (at, line))
}

/// Returns whether a word has the signs of numbers alone, and commas.
fn is_numeric(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit() || ".,eE+-".contains(c))
}

/// Returns the error about a line with commas that may be decimal ones.
fn has_commas(record: &Record, at: usize, line: &str) -> Wrong {
    let reason = format!(
        "a peak {line:?} has commas in its numbers; write decimal points, and no sign between thousands"
    );
    record.wrong(at, &reason)
}

/// Adds a line with m/z and intensity, and perhaps more behind them.
fn add_peak(record: &mut Record, at: usize, line: &str) -> Result<(), Wrong> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let has_comma = |word: &str| word.trim_matches(',').contains(',');
    // `231.5046,88 y1` is m/z, intensity and an annotation
    if let [mz, intensity, ..] = words.as_slice()
        && (has_comma(mz) || has_comma(intensity))
        && is_numeric(intensity)
    {
        return Err(has_commas(record, at, line));
    }
    let mut words = words.iter().flat_map(|word| word.split(',')).filter(|word| !word.is_empty());
    let Some(mz) = words.next() else {
        return Err(record.wrong(at, &format!("a peak {line:?} is not m/z and intensity")));
    };
    let Some(intensity) = words.next() else {
        return Err(record.wrong(at, &format!("a peak {line:?} is not m/z and intensity")));
    };
    record.add_peak(mz, intensity).map_err(|reason| record.wrong(at, &reason))
}
