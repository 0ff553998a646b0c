//! Records of MassBank.

use crate::peak_lines::add_peaks;
use crate::record::{Record, Wrong};

/// Returns the spectrum of a record.
pub(crate) fn massbank(text: &str) -> Result<Record, Wrong> {
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
