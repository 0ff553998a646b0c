//! ARFF files, sparse and dense, of Weka, Mulan and MEKA.

mod header;
mod outputs;
mod row;

use std::path::Path;

use dsokr_basis::Features;
use dsokr_core::rounding::Rounding;

use self::header::Header;
use self::outputs::OutputAttributes;
use self::row::Listed;
use super::{BadRows, MultiLabel, Rows, check_rows, each_line};
use crate::error::Error;
use crate::input_columns::NamedColumns;
use crate::rounding::check_rounding;

/// Reads a multi-label ARFF file, sparse (`{3 1, 17 0.5}`) or dense, whose last `labels` attributes are the labels. In
/// a file of MEKA, whose relation ends with `-C n`, the labels are the first n attributes, or the last ones where n is
/// negative; `labels`, if given, must agree.
///
/// Attributes are numeric, real, integer, or nominal with numbers for values (`{0,1}`); labels hold 0
/// or 1. Names may be quoted, and no two are equal. `%` starts a comment, indices count from 0. What a sparse row does not
/// list is 0, or the first value of a nominal attribute: 1 of `{1,0}`. Inputs are sparse rows when the first row is sparse,
/// else dense.
///
/// # Errors
/// [`Error::Io`]; [`dsokr_core::Error::File`] with the line and what is wrong with it, a missing value (`?`) among
/// others, and the number of such rows, and for a file without data; [`dsokr_core::Error::Value`] unless at least one
/// attribute is a label and one is none, for a number of labels that neither the file nor the argument says, and for
/// two that differ.
pub fn read_arff(path: &Path, labels: impl Into<Option<usize>>) -> Result<MultiLabel, Error> {
    let (read, bad, _) = arff_labels(path, labels.into(), Columns::Any, None)?;
    check_rows(bad).map(|()| read)
}

/// What the columns of numbers in a file may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Columns {
    /// Any: a few queries may differ by less than 32 bits tell apart.
    Any,
    /// Columns whose numbers 32 bits tell apart, to train with.
    ToldApart,
}

/// Inputs and sets of labels, the rows that cannot be read, which are empty, and the names of the inputs; labels have their
/// own.
type Labels = (MultiLabel, BadRows, NamedColumns);

/// Reads a file like [`read_arff`], whose inputs are in the order of those of the training, where these are known.
pub(crate) fn arff_labels(
    path: &Path,
    labels: Option<usize>,
    columns: Columns,
    training: Option<&NamedColumns>,
) -> Result<Labels, Error> {
    let mut sets: Vec<Vec<u32>> = Vec::new();
    let reader = ArffReader::new(path, labels, training);
    let (mut rows, NamedColumns { inputs, outputs, dense }) =
        reader.read(columns, |_, outputs| {
            let set = outputs.iter().filter_map(|&(label, name, value, text)| match value {
                1.0 => Some(Ok(label as u32)),
                0.0 => None,
                _ => Some(Err(format!("label {name}: {text}, allowed: 0, 1"))),
            });
            sets.push(set.collect::<Result<_, _>>()?);
            Ok(())
        })?;
    let bad = std::mem::take(&mut rows.bad);
    let read = rows.named(path, sets, outputs.into_iter())?;
    Ok((read, bad, NamedColumns { inputs, outputs: Vec::new(), dense }))
}

/// Inputs, a row of numbers for each, the rows that cannot be read, which are zeros, and the names of both.
type Numbers = (Features, Vec<Vec<f32>>, BadRows, NamedColumns);

/// Reads a multi-target ARFF file, whose last `targets` attributes are numbers to predict: the features, and a row of
/// numbers for each, in the order of those of the training, where these are known. The rest is as in [`arff_labels`].
pub(crate) fn arff_numbers(
    path: &Path,
    targets: Option<usize>,
    columns: Columns,
    training: Option<&NamedColumns>,
) -> Result<Numbers, Error> {
    let mut numbers: Vec<Vec<f32>> = Vec::new();
    let reader = ArffReader::new(path, targets, training);
    let (mut rows, named) = reader.read(columns, |targets, outputs| {
        let mut row = vec![0.0; targets];
        outputs.iter().for_each(|&(target, _, value, _)| row[target] = value);
        numbers.push(row);
        Ok(())
    })?;
    let bad = std::mem::take(&mut rows.bad);
    let targets = named.outputs.len();
    Ok((rows.features(path, targets, 4.0 * targets as f64)?, numbers, bad, named))
}

/// What a file has from `@data` on.
struct Data {
    rows: Rows,
    /// The attributes that are outputs.
    places: OutputAttributes,
    /// The roundings of each attribute.
    roundings: Vec<Rounding>,
}

impl Data {
    /// Reads a row: hands its outputs to `output`, and returns its inputs.
    fn read(
        &mut self,
        text: &str,
        header: &Header,
        output: &mut impl FnMut(usize, &[Listed]) -> Result<(), String>,
    ) -> Result<Vec<(u32, f32)>, String> {
        if self.rows.inputs.is_empty() {
            self.rows.dense = !text.starts_with('{');
        }
        let row = header.row(text, &self.places)?;
        output(self.places.outputs.len(), &row.outputs)?;
        if self.rows.dense {
            self.add_roundings(&row.numbers);
        }
        Ok(row.inputs)
    }

    /// Counts the numbers of a row among dense ones; a sparse row, which has none here, has zeros.
    fn add_roundings(&mut self, numbers: &[(f32, f64)]) {
        if numbers.is_empty() {
            self.roundings.iter_mut().for_each(|rounding| rounding.add(0.0, 0.0));
            return;
        }
        for (rounding, &(narrow, wide)) in self.roundings.iter_mut().zip(numbers) {
            rounding.add(narrow, wide);
        }
    }

    /// Refuses columns of inputs, and outputs, whose numbers 32 bits do not tell apart.
    fn check_told_apart(&self, path: &Path, header: &Header) -> Result<(), Error> {
        let Self { places, roundings, .. } = self;
        let place = |at: usize| format!("of the attribute {:?}", header.attributes[at].name);
        let is_input = |at: &usize| places.output(*at).is_none();
        let inputs: Vec<usize> = (0..roundings.len()).filter(is_input).collect();
        let of_inputs: Vec<Rounding> = inputs.iter().map(|&at| roundings[at]).collect();
        check_rounding(path, &of_inputs, false, |at| place(inputs[at]))?;
        // each output is predicted, so that none may be lost
        places.outputs.clone().try_for_each(|output| {
            check_rounding(path, &roundings[output..=output], false, |_| place(output))
        })
    }
}

/// Reads an ARFF file line by line, of whose attributes some are outputs, as [`OutputAttributes::new`] finds them.
struct ArffReader<'a> {
    path: &'a Path,
    /// The number of outputs, where it is given.
    count: Option<usize>,
    /// The columns of the training, in whose order inputs and outputs are put where it has their names.
    training: Option<&'a NamedColumns>,
    header: Header,
    /// The rows; none before `@data`.
    data: Option<Data>,
}

impl<'a> ArffReader<'a> {
    fn new(path: &'a Path, count: Option<usize>, training: Option<&'a NamedColumns>) -> Self {
        Self { path, count, training, header: Header::default(), data: None }
    }

    /// Reads the whole file: the rows, and the names of inputs and outputs. `output` takes the number of outputs and what
    /// each row lists of them, or says what is wrong with it.
    fn read(
        mut self,
        columns: Columns,
        mut output: impl FnMut(usize, &[Listed]) -> Result<(), String>,
    ) -> Result<(Rows, NamedColumns), Error> {
        let path = self.path;
        each_line(path, |line, text| self.line(line, text.trim(), &mut output))?;
        self.finish(columns)
    }

    /// Takes a line.
    fn line(
        &mut self,
        line: usize,
        text: &str,
        output: &mut impl FnMut(usize, &[Listed]) -> Result<(), String>,
    ) -> Result<(), Error> {
        if text.is_empty() || text.starts_with('%') {
            return Ok(());
        }
        let path = self.path;
        let wrong = |message: String| Error::line(path, line, message);
        let Some(data) = &mut self.data else {
            return self.declare(line, text);
        };
        match data.read(text, &self.header, output) {
            Ok(inputs) => data.rows.inputs.push(inputs),
            Err(message) => {
                let row = data.rows.inputs.len();
                data.rows.bad.push((row, wrong(message)));
                output(data.places.outputs.len(), &[]).map_err(wrong)?;
                data.rows.inputs.push(Vec::new());
            }
        }
        Ok(())
    }

    /// Takes a line before the rows. The last one says which attributes are outputs.
    fn declare(&mut self, line: usize, text: &str) -> Result<(), Error> {
        let path = self.path;
        let wrong = |message: String| Error::line(path, line, message);
        if !self.header.declare(text).map_err(wrong)? {
            return Ok(());
        }
        let header = &self.header;
        let mut places =
            OutputAttributes::new(&header.relation, self.count, header.attributes.len())?;
        if let Some(training) = self.training {
            let inputs: Vec<&str> = header.inputs(&places).collect();
            let outputs: Vec<&str> = header.outputs(&places).collect();
            places = places.ordered(&inputs, &outputs, training).map_err(wrong)?;
        }
        let rows = Rows { width: places.inputs(), ..Rows::default() };
        let roundings = vec![Rounding::default(); places.all];
        self.data = Some(Data { rows, places, roundings });
        Ok(())
    }

    /// Returns the rows, and the names of inputs and outputs.
    fn finish(self, columns: Columns) -> Result<(Rows, NamedColumns), Error> {
        let Self { path, header, data, .. } = self;
        let data = data.ok_or_else(|| Error::line(path, 1, "no line @data in the file"))?;
        if columns == Columns::ToldApart {
            data.check_told_apart(path, &header)?;
        }
        let Data { rows, places, .. } = data;
        let inputs = header.inputs(&places).map(str::to_owned).collect();
        let outputs = header.outputs(&places).map(str::to_owned).collect();
        Ok((rows, NamedColumns { inputs, outputs, dense: false }))
    }
}
