//! Spectra of NIST's text format MSP.

use crate::peak_lines::add_peaks;
use crate::record::{Record, Wrong};

/// The field behind which peaks stand, without case and signs between its words.
pub(crate) const NUM_PEAKS: &str = "numpeaks";

/// Returns the name of a field without case and signs between its words.
pub(crate) fn compact(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace([' ', '_'], "")
}

/// Returns whether a line is a comment.
pub(crate) fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// Returns the spectrum of a text; none of a text without fields.
pub(crate) fn msp(text: &str) -> Result<Option<Record>, Wrong> {
    let mut record = Record::default();
    let mut has_fields = false;
    let mut expected = None;
    let mut peaks: Vec<(usize, String)> = Vec::new();
    for (at, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || is_comment(line) {
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

/// Returns the peaks one by one. With pairs of numbers alone, as many as are expected, a line may have several
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

/// Returns the peaks on a line: without their annotations between quotation marks, with semicolons between or
/// each in brackets.
fn pairs(line: &str) -> Vec<String> {
    let outside = line.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let pairs = outside.replace('(', " ").replace(')', ";");
    pairs.split(';').map(|pair| pair.trim().to_owned()).filter(|pair| !pair.is_empty()).collect()
}
