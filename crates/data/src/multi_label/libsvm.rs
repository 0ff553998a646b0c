use std::path::Path;

use dsokr_basis::features::BitRows;

use super::{MultiLabel, each_line, features, number};
use crate::Error;

/// How a libsvm file counts, and how wide it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LibsvmOptions {
    /// Whether features count from 0 (default: from 1). Labels always count from 0.
    pub zero_based: bool,
    /// Number of features; default: the largest that occurs. Give it to read a test file.
    pub features: Option<usize>,
    /// Number of labels; default: the largest that occurs.
    pub labels: Option<usize>,
}

/// The largest index that is taken; a wider file is more likely a spelling mistake than data.
const WIDEST: u32 = 1 << 28;

/// Reads a multi-label libsvm file: `label,label feature:value feature:value`.
///
/// A line that starts with a space has no labels; `#` starts a comment; features of a line are in
/// any order, each once. Inputs are sparse rows; labels are named by their numbers.
///
/// # Errors
/// [`Error::Io`]; [`Error::Line`] with the line and what is wrong with it; `NoRows` and `ZeroWidth` of
/// the crate `dsokr-basis` for a file without rows, features or labels.
pub fn read_libsvm(path: &Path, options: LibsvmOptions) -> Result<MultiLabel, Error> {
    let (mut inputs, mut labels) = (Vec::new(), Vec::new());
    let (mut widest, mut most) = (0, 0);
    let first = u32::from(!options.zero_based);
    each_line(path, |line, text| {
        let text = text.split('#').next().unwrap_or("");
        if text.trim().is_empty() {
            return Ok(());
        }
        let index = |text: &str, low: u32, limit: Option<usize>, what: &str| {
            let high = limit.map_or(WIDEST as usize, |count| count + low as usize - 1);
            match text.parse::<u32>() {
                Ok(found) if found >= low && found as usize <= high => Ok(found - low),
                _ => Err(Error::line(
                    path,
                    line,
                    format!("{what} {text:?}, allowed: {low}..={high}"),
                )),
            }
        };
        let mut words = text.split_whitespace().peekable();
        let mut set: Vec<u32> = Vec::new();
        let labelled = !text.starts_with([' ', '\t']);
        if labelled && let Some(word) = words.next_if(|word| !word.contains(':')) {
            for label in word.split(',').filter(|label| !label.is_empty()) {
                // "3.0" is how some writers put a label
                let label = label.strip_suffix(".0").unwrap_or(label);
                let label = index(label, 0, options.labels, "label")?;
                most = most.max(label + 1);
                set.push(label);
            }
        }
        let mut row: Vec<(u32, f32)> = Vec::new();
        for word in words {
            let Some((at, value)) = word.split_once(':') else {
                return Err(Error::line(path, line, format!("{word:?}, allowed: feature:value")));
            };
            let column = index(at, first, options.features, "feature")?;
            widest = widest.max(column + 1);
            row.push((column, number(path, line, value)?));
        }
        row.sort_by_key(|entry| entry.0);
        if let Some(pair) = row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::line(path, line, format!("feature {} twice", pair[0].0 + first)));
        }
        inputs.push(row);
        labels.push(set);
        Ok(())
    })?;
    if inputs.is_empty() {
        return Err(Error::rows(path, dsokr_basis::Error::no_rows()));
    }
    let count = options.labels.unwrap_or(most as usize);
    Ok(MultiLabel {
        inputs: features(options.features.unwrap_or(widest as usize), inputs, false)?,
        labels: BitRows::from_indices(count, labels)?,
        names: (0..count).map(|label| label.to_string()).collect(),
    })
}
