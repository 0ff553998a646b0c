//! Spectra of the Mascot generic format.

use crate::peak_lines::add_peaks;
use crate::record::{Record, Wrong};

/// The line before a spectrum.
pub(crate) const BEGIN: &str = "BEGIN IONS";

/// The line behind a spectrum.
pub(crate) const ENDED: &str = "END IONS";

/// Returns the spectrum of a text, if there is one. Fields outside of it that are those of all spectra behind them are added to
/// `header`.
pub(crate) fn mgf(text: &str, header: &mut Vec<(String, String)>) -> Result<Option<Record>, Wrong> {
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
