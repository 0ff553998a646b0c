//! Lines of a file that are a peak each.

use crate::record::{Record, Wrong};

/// Adds the peaks of a spectrum, each on its line.
pub(crate) fn add_peaks(record: &mut Record, peaks: &[(usize, &str)]) -> Result<(), Wrong> {
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
    let columns = words.iter().flat_map(|word| word.split(',')).filter(|word| !word.is_empty());
    let columns: Vec<&str> = columns.collect();
    let [mz, intensity, ..] = columns.as_slice() else {
        return Err(record.wrong(at, &format!("a peak {line:?} is not m/z and intensity")));
    };
    record.add_peak(mz, intensity).map_err(|reason| record.wrong(at, &reason))
}
