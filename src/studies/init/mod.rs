//! A configuration for a table that nobody has described: which column holds texts, which one outputs, and of what kind.

mod column_cells;
mod columns;
mod configuration;
mod copies;
mod division;
mod guess;
mod header;
mod inputs;
mod join;
mod kind;
mod nested;
mod notations;
mod opened;
mod others;
mod qualifiers;
mod remarks;
mod roles;
mod spectra;
mod template;
mod uses;

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use tracing::subscriber::{NoSubscriber, with_default};

use crate::config::{Config, EncoderTable};
use crate::error::Error;
use crate::run_dir::{check_not_read, write_text};
use crate::targets::constant_kernels;
pub use column_cells::Exceptions;
pub use columns::{Column, LONGEST_EXAMPLE, Qualifier, Readings};
pub use division::Division;
pub(crate) use guess::{CLASSES, recur_as_classes};
pub use header::{HeaderContent, HeaderLine};
pub use join::{Joined, join};
pub use kind::{ColumnKind, KindName, Lists, StatedKind};
pub use notations::remarks_on_notations;
use opened::OpenTable;
pub use opened::TableFacts;
pub use others::LeftOut;
use others::Others;
pub use remarks::{
    ClassRemarks, ListRemarks, NumberRemarks, PointsAndCommas, StandIn, WordRemarks,
};
pub use roles::Roles;
pub use spectra::SpectraSurvey;
use uses::{is_aside, varies};

/// The fewest rows, and pairs, from which a configuration is made.
pub(crate) const LEAST: usize = 10;

/// What the caller knows of a table.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// The column of the inputs.
    pub input: Option<String>,
    /// The column of the outputs, or several of numbers.
    pub outputs: Vec<String>,
    /// What columns hold.
    pub kinds: Vec<StatedKind>,
    /// Whether the first line has the names of the columns, or is a row; if left out, it is a row where it has what no names of
    /// columns have.
    pub header: Option<bool>,
    /// How rows are divided: `random`, `scaffold`, `column=` and the name of the column that names the split of each row, or
    /// the column whose values no split divides; `random`, if left out.
    pub split: Option<String>,
    /// A file of validation pairs.
    pub validation: Option<PathBuf>,
    /// A file of test pairs.
    pub test: Option<PathBuf>,
    /// An encoder that learns by gradient descent, in the place of the kernel machine that is recommended.
    pub encoder: Option<EncoderTable>,
}

/// A table, and what was found in it.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The table's absolute path.
    pub file: PathBuf,
    /// How the table was read.
    pub table: TableFacts,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The columns that the configuration uses.
    pub roles: Roles,
    /// Whether the outputs are numbers of several columns that rank as many items in each row.
    pub outputs_are_ranks: bool,
    /// The columns that it leaves out although they could be learned or learned from.
    pub left_out: LeftOut,
    /// The column that names the split of each row, where nobody has said how rows are divided.
    pub names_splits: Option<String>,
    /// Number of rows that can be read, but lack an input or an output that can be learned.
    pub unusable: usize,
    /// Which pairs are for validation and for the test.
    pub division: Division,
    /// The encoder that learns by gradient descent, where the caller has one.
    pub encoder: Option<EncoderTable>,
}

impl Survey {
    /// Looks at a table.
    ///
    /// # Errors
    /// A file that is not a table; columns that are missing; no column of texts or of outputs; fewer than ten rows, or pairs.
    pub fn read(path: &Path, choices: &Choices) -> Result<Self, Error> {
        let opened = OpenTable::read(path, choices.header, choices.input.as_deref())?;
        let columns = opened.columns(&choices.kinds)?;

        let divides_alone = |column: &&Column| division::divides_alone(column, choices);
        let learned: Vec<Column> =
            columns.iter().filter(|column| !divides_alone(column)).cloned().collect();
        let mut roles = opened.roles(&learned, choices)?;
        let unusable = unusable_rows(&roles);
        opened.check_pairs(unusable)?;

        let OpenTable { table, facts, .. } = opened;
        let files = [&choices.validation, &choices.test];
        roles.id = roles.id.filter(|id| division::ids_differ(&table, id, &files));
        let outputs_are_ranks = roles.are_ranks(&table)?;
        let file = fs::canonicalize(path).map_err(Error::io(path))?;
        let pair = [&roles.input, &roles.output];
        let division = Division::choose(choices, (&table, &file), &columns, pair)?;
        let is_divided = choices.split.is_some() || files.into_iter().any(|file| file.is_some());
        let names_splits = if is_divided { None } else { division::splits_named(&table, &columns) };

        let is_other = |column: &&Column| {
            let is_used = column.name == roles.input.name
                || roles.outputs().any(|output| output.name == column.name);
            let is_aside = is_aside(column) || names_splits.as_ref() == Some(&column.name);
            !is_used && varies(column) && !is_aside
        };
        let columns_of_others = learned.iter().filter(is_other).collect();
        let others = Others { choices, roles: &roles, columns: columns_of_others };
        let left_out = others.left_out();

        Ok(Self {
            file,
            table: facts,
            columns,
            roles,
            outputs_are_ranks,
            left_out,
            names_splits,
            unusable,
            division,
            encoder: choices.encoder.clone(),
        })
    }

    /// Returns the number of rows that are pairs.
    pub fn pairs(&self) -> usize {
        self.table.rows - self.skipped()
    }

    /// Returns the number of rows that cannot be read, or are without an input or output that can be learned: an empty cell,
    /// or one that is not what the column holds.
    pub fn skipped(&self) -> usize {
        self.table.malformed.count + self.unusable
    }

    /// Returns the number of validation pairs and of test pairs that are drawn: a tenth of all, at most 2,000; none of
    /// a split with a file of its own.
    pub fn held_out(&self) -> [usize; 2] {
        self.division.sizes(division::size_of_split(self.pairs()))
    }

    /// Returns the number of training pairs.
    pub fn training(&self) -> usize {
        self.pairs().saturating_sub(self.held_out().iter().sum())
    }

    /// Writes the configuration to a file, which must not be there unless `force`. The table must be in the folder of
    /// the file or below it, so that both can be moved together.
    ///
    /// # Errors
    /// A file that is there, or away from the table; what the file system reports.
    pub fn write(&self, path: &Path, force: bool) -> Result<(), Error> {
        refuse_present(path, force, different_file())?;
        check_not_read("out", path, &self.file)?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let holder = fs::canonicalize(folder).map_err(Error::io(folder))?;
        let home = self.file.parent().unwrap_or(Path::new("/"));
        let Ok(below) = home.strip_prefix(&holder) else {
            let allowed = format!("a file in {} or above it, where the table is", home.display());
            return Err(Error::value(Argument::new("out"), path.display(), allowed));
        };
        let folder = format!("./{}", below.to_string_lossy());
        write_configuration(path, |constant| self.configuration(&folder, constant))
    }
}

/// Columns without a name, which are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nameless {
    /// Their number.
    pub count: usize,
    /// Whether several, and at least half of the columns, have no name, as where a title stands before the line of names.
    pub are_half: bool,
}

impl Nameless {
    /// Counts them among the names of all columns.
    fn among(names: &[String]) -> Option<Self> {
        let count = names.iter().filter(|name| name.is_empty()).count();
        (count > 0).then_some(Self { count, are_half: count > 1 && 2 * count >= names.len() })
    }
}

impl fmt::Display for Nameless {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} columns without a name are left out", self.count)?;
        if self.are_half {
            f.write_str(
                " (is a line below the first that of the names? remove the lines before it)",
            )?;
        }
        Ok(())
    }
}

/// Returns the number of rows without an output in one of the columns, or without an input.
fn unusable_rows(roles: &Roles) -> usize {
    let mut rows: HashSet<usize> = roles.input.unusable_inputs().iter().copied().collect();
    rows.extend(roles.outputs().flat_map(Column::unusable_rows));
    rows.len()
}

/// Returns what can be done where the file of a configuration is there.
fn different_file() -> String {
    format!("name a different file by {}", Argument::new("out"))
}

/// Refuses a file or folder that is there, unless it is replaced. `remedy` says what else can be done.
fn refuse_present(path: &Path, force: bool, remedy: impl fmt::Display) -> Result<(), Error> {
    let switch = Argument::switch("force");
    let message = format_args!("is there already: {remedy}, or replace it by {switch}");
    if force || !path.exists() { Ok(()) } else { Err(Error::run(path, message)) }
}

/// Writes a configuration to a file, without the output kernels that a training would leave out: `text` makes it without those at
/// some places.
fn write_configuration(
    path: &Path,
    text: impl Fn(&[usize]) -> Result<String, Error>,
) -> Result<(), Error> {
    let whole = text(&[])?;
    let constant = constant_kernels_of(&whole, path)?;
    let config = if constant.is_empty() { whole } else { text(&constant)? };
    Config::parse(&config, &[])?;
    write_text(path, &config)
}

/// Returns the places of those output kernels of a configuration, which is to be the file `path`, that a training would leave
/// out. All are kept where no other is left.
fn constant_kernels_of(text: &str, path: &Path) -> Result<Vec<usize>, Error> {
    let config = Config::parse(text, &[])?.placed(path);
    if config.output.kernels.is_empty() {
        return Ok(Vec::new());
    }
    // rows that are skipped have been counted already
    let dataset = with_default(NoSubscriber::new(), || {
        let root = config.data_root(None)?;
        config.read_data(&root)
    })?;
    let constant = constant_kernels(&config, &dataset)?;
    Ok(if constant.len() < config.output.kernels.len() { constant } else { Vec::new() })
}
