//! The columns of inputs that the file of the training pairs has, by which other files are read.

use std::io::ErrorKind;
use std::path::Path;

use dsokr_core::message::list;
use dsokr_core::store::read_text;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::table::{Table, TableOptions};

/// The file beside JSON lines that has the names of the numbers in their lists. A fit of Python writes it.
const BESIDE_LISTS: &str = "input-columns.json";

/// What only the file of the training pairs tells of the columns of its inputs, and of outputs that are found by their names. A
/// run keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputColumns {
    /// The columns of an .arff file or of a table, which have names.
    Named(NamedColumns),
    /// The columns of a .libsvm file, which have numbers.
    Numbered(Numbering),
}

impl InputColumns {
    /// Reads the names of the numbers in the lists of JSON lines from the file beside these; none where there is no such file.
    pub(crate) fn beside_lists(lines: &Path) -> Result<Option<Self>, Error> {
        let path = lines.with_file_name(BESIDE_LISTS);
        match read_text(&path) {
            Ok(text) => {
                let columns = serde_json::from_str(&text);
                columns.map(Some).map_err(|error| Error::file(&path, error))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(&path, error)),
        }
    }

    /// Returns the names of the columns, where they have some.
    pub(crate) fn named(&self) -> Option<&NamedColumns> {
        match self {
            Self::Named(named) => Some(named),
            Self::Numbered(_) => None,
        }
    }
}

/// The names of columns, in the order of the training file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedColumns {
    /// The attributes of an .arff file that are inputs, the columns of a table that `FIRST..LAST` names as inputs, or the names of
    /// the numbers in lists of JSON lines.
    pub inputs: Vec<String>,
    /// The attributes that are numbers to predict, or the columns that `FIRST..LAST` names as outputs.
    pub outputs: Vec<String>,
    /// Whether each input has a number in each column, as in a table or a frame of Python. A query by names that lacks one is
    /// refused there, while a row of an .arff file, or a dictionary of Python, may be sparse.
    pub dense: bool,
}

impl NamedColumns {
    /// Returns the columns of a table that are `inputs` and `outputs`, where `FIRST..LAST` names them.
    pub(crate) fn of_table(
        path: &Path,
        options: TableOptions,
        [inputs, outputs]: [Option<&str>; 2],
    ) -> Result<Self, Error> {
        if ![inputs, outputs].into_iter().flatten().any(|column| column.contains("..")) {
            return Ok(Self::default());
        }
        let header = Table::header(path, options)?;
        let names = |column| header.range(column).map(<[String]>::to_vec).unwrap_or_default();
        let [inputs, outputs] = [inputs, outputs].map(|column| column.map_or_else(Vec::new, names));
        let dense = !inputs.is_empty();
        Ok(Self { inputs, outputs, dense })
    }

    /// Returns the columns as a run keeps them; none where there are none.
    pub(crate) fn kept(self) -> Option<InputColumns> {
        let is_empty = self.inputs.is_empty() && self.outputs.is_empty();
        (!is_empty).then_some(InputColumns::Named(self))
    }

    /// Refuses a table in which `FIRST..LAST` names other columns than in the training, or the same ones in another order:
    /// numbers are taken by their places. Blanks around names are not compared. A table of queries may be without outputs.
    pub(crate) fn check(&self, path: &Path, training: &Self) -> Result<(), Error> {
        let both = [
            ("inputs", &self.inputs, &training.inputs),
            ("outputs", &self.outputs, &training.outputs),
        ];
        for (what, names, training) in both {
            if names.is_empty() || training.is_empty() {
                continue;
            }
            let differing =
                names.iter().zip(training).find(|(name, own)| name.trim() != own.trim());
            let difference = match differing {
                Some((name, own)) => format!("{name:?} is in the place of {own:?}"),
                None if names.len() == training.len() => continue,
                None => format!("{} in the place of {}", names.len(), training.len()),
            };
            let message = format!(
                "the columns of the {what} are {}; those of the training are {}: write them in this order, without others \
                 between ({difference})",
                list(names),
                list(training)
            );
            return Err(Error::file(path, message));
        }
        Ok(())
    }
}

/// How a .libsvm file counts its features and writes its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbering {
    /// The number of features. Another file may name fewer, of which the others are 0, and more, which are left out.
    pub width: usize,
    /// Whether features count from 0: the header says so, or one of them is 0.
    pub zero_based: bool,
    /// Whether a label is `-1`, so that labels are the classes of a binary problem.
    pub binary: bool,
}
