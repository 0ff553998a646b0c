//! Multi-label libsvm files.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use super::{MultiLabel, Rows, each_line, number};
use crate::error::Error;
use crate::input_columns::Numbering;

/// The largest index of a feature of a libsvm file that is taken; a wider file is more likely a spelling mistake than
/// data.
const WIDEST: usize = 1 << 28;

/// The most labels of a libsvm file where their number is not given: each takes memory, whether it occurs or not.
const MOST_LABELS: usize = 1 << 22;

/// The label of a row without a class, in a file other than that of the training pairs of a binary problem.
const UNLABELLED: &str = "unlabelled";

/// Reads a multi-label libsvm file: `label,label feature:value feature:value`. Labels count from 0. Where `labels` does
/// not give their number, there are as many as occur. Features count from 1, or from 0 where one is 0.
///
/// A line that starts with a space has no labels; `#` starts a comment; features of a line are in any order, each once.
/// Inputs are sparse rows; labels are named by their numbers. A first line of three numbers is the header of the
/// Extreme Classification Repository: rows, features and labels; features then count from 0. Where all labels are `+1`
/// and `-1`, the classes of a binary problem, there is one label, `+1`. Groups of rows (`qid:3`), which rankers read,
/// are left out.
///
/// # Errors
/// [`Error::Io`]; [`dsokr_core::Error::File`] with the line and what is wrong with it, and for a file
/// without rows; [`dsokr_core::Error::Shape`] for one without features or labels.
pub fn read_libsvm(path: &Path, labels: Option<usize>) -> Result<MultiLabel, Error> {
    let file = LibsvmFile::read(path, labels, None)?;
    file.multi_label(path, labels)
}

/// Reads the file of the training pairs like [`read_libsvm`], whose features are counted as `numbering` says.
pub(crate) fn read_libsvm_training(
    path: &Path,
    labels: Option<usize>,
    numbering: Numbering,
) -> Result<MultiLabel, Error> {
    let file = LibsvmFile::read(path, labels, Some(numbering))?;
    file.multi_label(path, labels)
}

/// Reads another file like [`read_libsvm`], whose features and labels are those of the file of the training pairs. A label
/// that has no meaning there is one that no prediction has: LIBSVM's files of queries have any number where the label is not
/// known.
pub(crate) fn read_libsvm_like(
    path: &Path,
    labels: Option<usize>,
    training: Numbering,
) -> Result<MultiLabel, Error> {
    let file = LibsvmFile::read(path, labels, Some(training))?;
    file.queries(path, training.binary)
}

impl Numbering {
    /// Reads a file; `zero_based`, where it is given, is right.
    pub(crate) fn of_file(path: &Path, zero_based: Option<bool>) -> Result<Self, Error> {
        let mut has_zero = false;
        let mut binary = false;
        let mut columns = None;
        let mut last = 0;
        let mut first = true;
        each_line(path, |_, text| {
            let text = libsvm_text(text);
            if text.trim().is_empty() {
                return Ok(());
            }
            if std::mem::take(&mut first)
                && let Some([_, features, _]) = header(text)
            {
                columns = Some(features);
                return Ok(());
            }
            let features = text.split_whitespace().filter_map(|word| word.split_once(':'));
            for feature in features.filter_map(|(at, _)| at.parse::<usize>().ok()) {
                has_zero |= feature == 0;
                last = last.max(feature);
            }
            binary |= labels_of(text).any(|label| label.parse() == Ok(-1i64));
            Ok(())
        })?;
        let zero_based = zero_based.unwrap_or(has_zero || columns.is_some());
        let width = columns.unwrap_or(if zero_based { last.saturating_add(1) } else { last });
        Ok(Self { width, zero_based, binary })
    }

    /// Returns the numbers of the features as files write them.
    fn features(self) -> Range<usize> {
        let first = usize::from(!self.zero_based);
        first..self.width.saturating_add(first)
    }
}

/// Returns a line without its comment.
fn libsvm_text(line: &str) -> &str {
    line.split('#').next().unwrap_or_default()
}

/// Returns the labels of a line, as numbers are written; a line that starts with a blank has none.
fn labels_of(text: &str) -> impl Iterator<Item = &str> {
    let word = if text.starts_with([' ', '\t']) { None } else { text.split_whitespace().next() };
    let labels = word.filter(|word| !word.contains(':')).into_iter();
    let labels = labels.flat_map(|word| word.split(',')).filter(|label| !label.is_empty());
    // "3.0" is how some writers put a label
    labels.map(|label| label.strip_suffix(".0").unwrap_or(label))
}

/// Returns the numbers of rows, features and labels in the first line of a file of the Extreme Classification
/// Repository.
fn header(text: &str) -> Option<[usize; 3]> {
    let numbers: Option<Vec<usize>> =
        text.split_whitespace().map(|word| word.parse().ok()).collect();
    numbers?.try_into().ok()
}

/// A libsvm file while it is read.
#[derive(Default)]
struct LibsvmFile {
    rows: Rows,
    /// The labels of each row. A binary problem has the labels 1 and −1.
    sets: Vec<Vec<i64>>,
    /// Whether a line that is not blank has been read.
    is_begun: bool,
    /// The numbers in the header: rows, features and labels.
    header: Option<[usize; 3]>,
    /// Whether a feature has been 0.
    has_zero: bool,
    /// Whether a label has been `-1`.
    binary: bool,
    /// Number of rows with a group.
    grouped: usize,
    /// The features that no training pair has, which are left out, by their numbers as they are written.
    unknown: BTreeSet<u32>,
    /// The first of them in the file, and its line.
    first_unknown: Option<(u32, usize)>,
}

impl LibsvmFile {
    /// Reads a file whose features are counted as in the file of the `training` pairs, if that is given.
    fn read(
        path: &Path,
        labels: Option<usize>,
        training: Option<Numbering>,
    ) -> Result<Self, Error> {
        let mut file = Self::default();
        each_line(path, |line, text| {
            let wrong = |message: String| Error::line(path, line, message);
            file.line(line, libsvm_text(text), labels, training).map_err(wrong)
        })?;
        let counts_from_zero = match training {
            Some(training) => training.zero_based,
            None => file.has_zero || file.header.is_some(),
        };
        if !counts_from_zero {
            file.count_from_zero();
        }
        file.check_header(path)?;
        if let Some(training) = training {
            file.take_width(path, training)?;
        }
        if file.grouped > 0 {
            tracing::warn!(
                rows = file.grouped,
                "{}: groups of rows (qid) are not read",
                path.display()
            );
        }
        Ok(file)
    }

    /// Takes a line without its comment: the header, or a row.
    fn line(
        &mut self,
        line: usize,
        text: &str,
        labels: Option<usize>,
        training: Option<Numbering>,
    ) -> Result<(), String> {
        if text.trim().is_empty() {
            return Ok(());
        }
        if !std::mem::replace(&mut self.is_begun, true) {
            self.header = header(text);
            if self.header.is_some() {
                return Ok(());
            }
        }
        let high = labels.or(self.header.map(|[.., labels]| labels)).unwrap_or(MOST_LABELS);
        let mut row = self.row(text, high)?;
        let row_has_zero = row.first().is_some_and(|&(feature, _)| feature == 0);
        self.has_zero |= row_has_zero;
        self.rows.width = self.rows.width.max(row.last().map_or(0, |&(last, _)| last as usize + 1));
        if let Some(training) = training {
            if row_has_zero && !training.zero_based {
                return Err("feature \"0\", allowed: 1 and above: features of the training pairs count from 1".into());
            }
            self.leave_out_unknown(line, &mut row, training);
        }
        self.rows.inputs.push(row);
        Ok(())
    }

    /// Takes the features that no training pair has out of a row.
    fn leave_out_unknown(&mut self, line: usize, row: &mut Vec<(u32, f32)>, training: Numbering) {
        let of_training = training.features();
        let beyond = row.partition_point(|&(feature, _)| of_training.contains(&(feature as usize)));
        let unknown = row.split_off(beyond);
        let first = unknown.first().map(|&(feature, _)| (feature, line));
        self.first_unknown = self.first_unknown.or(first);
        self.unknown.extend(unknown.iter().map(|&(feature, _)| feature));
    }

    /// Counts features from 0 that the file counts from 1.
    fn count_from_zero(&mut self) {
        self.rows.width = self.rows.width.saturating_sub(1);
        let entries = self.rows.inputs.iter_mut().flatten();
        entries.for_each(|(feature, _)| *feature -= 1);
    }

    /// Takes the width of the training inputs, and refuses features that seem to be counted otherwise than theirs.
    fn take_width(&mut self, path: &Path, training: Numbering) -> Result<(), Error> {
        let last = self.unknown.last().map(|&feature| feature as usize);
        if training.zero_based && !self.has_zero && last == Some(training.width) {
            let message = format!(
                "features count from 1, to {}; those of the training pairs count from 0, to {}: subtract 1 from each",
                training.width,
                training.width - 1
            );
            return Err(Error::file(path, message));
        }
        self.rows.width = training.width;
        self.warn_of_unknown(path, training);
        Ok(())
    }

    /// Warns of features that no training pair has: no model has learned anything of them.
    fn warn_of_unknown(&self, path: &Path, training: Numbering) {
        let Some((feature, line)) = self.first_unknown else { return };
        let of_training = training.features();
        tracing::warn!(
            "{}: {} features that no training pair has are left out, the first {feature} on line {line}; those of the training \
             pairs are {} to {}",
            path.display(),
            self.unknown.len(),
            of_training.start,
            of_training.end.saturating_sub(1)
        );
    }

    /// Returns the features of a line, by their numbers as they are written; its labels, which are below `high`, are
    /// kept.
    fn row(&mut self, text: &str, high: usize) -> Result<Vec<(u32, f32)>, String> {
        let mut words = text.split_whitespace().peekable();
        let mut set = Vec::new();
        for number in labels_of(text) {
            let label = number.parse::<i64>().ok().filter(|&number| {
                number == -1 || usize::try_from(number).is_ok_and(|number| number < high)
            });
            let allowed = || {
                format!("label {number:?}, allowed: 0..={}, or +1 and -1", high.saturating_sub(1))
            };
            let label = label.ok_or_else(allowed)?;
            self.binary |= label == -1;
            set.push(label);
        }
        if !text.starts_with([' ', '\t']) {
            let _ = words.next_if(|word| !word.contains(':'));
        }
        self.sets.push(set);
        let mut row: Vec<(u32, f32)> = Vec::new();
        for word in words {
            let (at, value) =
                word.split_once(':').ok_or_else(|| format!("{word:?}, allowed: feature:value"))?;
            if at == "qid" {
                self.grouped += 1;
                continue;
            }
            let feature = at.parse().ok().filter(|feature| (0..=WIDEST).contains(feature));
            let feature =
                feature.ok_or_else(|| format!("feature {at:?}, allowed: 0..={WIDEST}"))?;
            row.push((feature as u32, number(value)?));
        }
        row.sort_by_key(|entry| entry.0);
        match row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(format!("feature {} twice", pair[0].0)),
            None => Ok(row),
        }
    }

    /// Compares the file with its header. The number of features must be the number of columns.
    fn check_header(&mut self, path: &Path) -> Result<(), Error> {
        let Some([rows, features, _]) = self.header else { return Ok(()) };
        let row_count = self.rows.inputs.len();
        let width = self.rows.width;
        if row_count != rows || width > features {
            let message = format!(
                "{row_count} rows with features up to {}; the first line states {rows} rows and {features} features, from 0",
                width.saturating_sub(1)
            );
            return Err(Error::file(path, message));
        }
        self.rows.width = features;
        Ok(())
    }

    fn multi_label(self, path: &Path, labels: Option<usize>) -> Result<MultiLabel, Error> {
        let Self { rows, sets, header, binary, .. } = self;
        if binary {
            return binary_labels(path, rows, &sets);
        }
        let most = sets.iter().flatten().max().map_or(0, |&most| most as usize + 1);
        let count = labels.or(header.map(|[.., labels]| labels)).unwrap_or(most);
        let sets = sets.into_iter().map(|set| set.into_iter().map(|label| label as u32).collect());
        rows.named(path, sets.collect(), (0..count).map(|label| label.to_string()))
    }

    /// Returns the rows of a file other than that of the training pairs, whose labels are the classes of a `binary` problem
    /// or not. Each label that occurs has a name, whether training pairs have it or not.
    fn queries(self, path: &Path, binary: bool) -> Result<MultiLabel, Error> {
        let Self { rows, sets, .. } = self;
        let occurring: BTreeSet<i64> = sets.iter().flatten().copied().collect();
        let occurring: Vec<i64> = occurring.into_iter().collect();
        let is_no_class = |set: &&Vec<i64>| !matches!(set.as_slice(), [1] | [-1]);
        let others = sets.iter().filter(is_no_class).count();
        if binary && others > 0 {
            tracing::warn!(
                "{}: {others} rows have other labels than +1 and -1; an evaluation counts them as wrong",
                path.display()
            );
        }
        let place = |label: &i64| occurring.partition_point(|other| other < label) as u32;
        let places = |set: &Vec<i64>| match set.as_slice() {
            [] if binary => vec![occurring.len() as u32],
            [-1] if binary => Vec::new(),
            labels => labels.iter().map(place).collect(),
        };
        let places = sets.iter().map(places).collect();
        let name = |&label: &i64| match label {
            1 if binary => "+1".to_owned(),
            label => label.to_string(),
        };
        let mut names: Vec<String> = occurring.iter().map(name).collect();
        names.push(UNLABELLED.to_owned());
        rows.named(path, places, names.into_iter())
    }
}

/// Returns the one label of a binary problem, whose classes are `+1` and `-1`.
fn binary_labels(path: &Path, rows: Rows, sets: &[Vec<i64>]) -> Result<MultiLabel, Error> {
    let is_class = |set: &Vec<i64>| matches!(set.as_slice(), [1] | [-1]);
    if let Some(row) = sets.iter().position(|set| !is_class(set)) {
        let message = format!(
            "row {} has the labels {:?}; where a row has the label -1, every row has the class +1 or -1",
            row + 1,
            sets[row]
        );
        return Err(Error::file(path, message));
    }
    let positive = sets.iter().map(|set| if set[0] == 1 { vec![0] } else { Vec::new() });
    rows.named(path, positive.collect(), std::iter::once("+1".to_owned()))
}
