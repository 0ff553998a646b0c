use std::path::Path;

use super::{MultiLabel, Rows, each_line, number};
use crate::Error;

/// The largest index of a feature that is taken; a wider file is more likely a spelling mistake than data.
const WIDEST: usize = 1 << 28;

/// The most labels where their number is not given: each takes memory, whether it occurs or not.
const MOST_LABELS: usize = 1 << 22;

/// Reads a multi-label libsvm file: `label,label feature:value feature:value`. Labels count from 0, and
/// there are as many as occur where `labels` does not say how many; features count from 1.
///
/// A line that starts with a space has no labels; `#` starts a comment; features of a line are in
/// any order, each once. Inputs are sparse rows; labels are named by their numbers.
///
/// # Errors
/// [`Error::Io`]; [`Error::Line`] with the line and what is wrong with it; `NoRows` and `ZeroWidth` of
/// the crate `dsokr-basis` for a file without rows, features or labels.
pub fn read_libsvm(path: &Path, labels: Option<usize>) -> Result<MultiLabel, Error> {
    let (mut rows, mut most) = (Rows::default(), 0);
    each_line(path, |line, text| {
        let text = text.split('#').next().unwrap_or("");
        if text.trim().is_empty() {
            return Ok(());
        }
        let wrong = |message: String| Error::line(path, line, message);
        let index = |text: &str, low: usize, high: usize, what: &str| {
            let index = text.parse().ok().filter(|index| (low..=high).contains(index));
            let message = || format!("{what} {text:?}, allowed: {low}..={high}");
            index.ok_or_else(|| wrong(message())).map(|index| index - low)
        };
        let mut words = text.split_whitespace().peekable();
        let mut set: Vec<u32> = Vec::new();
        let labelled = !text.starts_with([' ', '\t']);
        if labelled && let Some(word) = words.next_if(|word| !word.contains(':')) {
            for label in word.split(',').filter(|label| !label.is_empty()) {
                // "3.0" is how some writers put a label
                let label = label.strip_suffix(".0").unwrap_or(label);
                let high = labels.unwrap_or(MOST_LABELS).saturating_sub(1);
                let label = index(label, 0, high, "label")?;
                most = most.max(label + 1);
                set.push(label as u32);
            }
        }
        let mut row: Vec<(u32, f32)> = Vec::new();
        for word in words {
            let pair = word.split_once(':');
            let (at, value) =
                pair.ok_or_else(|| wrong(format!("{word:?}, allowed: feature:value")))?;
            let column = index(at, 1, WIDEST, "feature")?;
            rows.width = rows.width.max(column + 1);
            row.push((column as u32, number(value).map_err(wrong)?));
        }
        row.sort_by_key(|entry| entry.0);
        if let Some(pair) = row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(wrong(format!("feature {} twice", pair[0].0 + 1)));
        }
        rows.inputs.push(row);
        rows.labels.push(set);
        Ok(())
    })?;
    let count = labels.unwrap_or(most);
    rows.named(path, count, (0..count).map(|label| label.to_string()))
}
