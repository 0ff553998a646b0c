//! A configuration for a table that nobody has described: which column holds texts, which one outputs, and of what kind.

mod columns;

use dsokr_basis::Argument;
use std::fs;
use std::path::{Path, PathBuf};

use dsokr_data::table::Table;

use crate::error::{ensure, listed};
use crate::run_dir::{check_not_read, write_text};
use crate::{Config, Error};
use columns::KINDS_SEEN;
pub use columns::{Column, Holds};

/// The fewest rows from which a configuration is made.
const LEAST: usize = 10;

/// The fewest training pairs with which a second look and the correction for hubs are worth their time.
const MANY: usize = 500;

/// The most training pairs whose inputs are all compared with each other.
const COMPARED: usize = 20_000;

/// The solver of the templates, and the one for more than [`COMPARED`] pairs.
const CLOSED_FORM: &str = "{ name = \"closed-form\", precision = \"single\" }";
const SKETCHED: &str = "{ name = \"sketched\", sketch = { size = 5000 } }";

/// Names of columns that divide rows or say where they are from.
const ASIDE: [&str; 6] = ["split", "set", "fold", "source", "year", "date"];

/// Names that columns of texts have.
const TEXTS: [&str; 7] =
    ["description", "text", "caption", "abstract", "sentence", "query", "title"];

/// A table, and what was found in it.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The table's absolute path.
    pub table: PathBuf,
    /// Number of rows.
    pub rows: usize,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The names of columns that are left out: their values are not texts, numbers or lists of these.
    pub nested: Vec<String>,
    /// The column of the inputs.
    pub input: Column,
    /// The column of the outputs.
    pub output: Column,
    /// The column of the ids; `None` if the numbers of the lines are.
    pub id: Option<String>,
}

impl Survey {
    /// Looks at a table. `input` and `output` are the names of columns, for tables that leave it open.
    ///
    /// # Errors
    /// A file that is not a table; columns that are missing; no column of texts or of outputs; fewer than ten rows.
    pub fn read(table: &Path, input: Option<&str>, output: Option<&str>) -> Result<Self, Error> {
        let [names, nested] = Table::header(table)?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let cells = Table::read(table, &names)?;
        let rows = cells.len();
        let allowed = format!("at least {LEAST}, to have training, validation and test pairs");
        ensure(rows >= LEAST, "rows of the table", rows, allowed)?;
        let column = |name: &&str| Ok(Column::from_cells(name, cells.column(name)?));
        let columns: Vec<Column> = names.iter().map(column).collect::<Result<_, Error>>()?;
        let named = |argument: &Argument, name: Option<&str>| {
            let found = |name: &str| {
                let column = columns.iter().find(|column| column.name == name);
                column.cloned().ok_or_else(|| {
                    Error::value(
                        argument.clone(),
                        format!("{name:?}"),
                        listed(names.iter().copied()),
                    )
                })
            };
            name.map(found).transpose()
        };
        let [input_argument, output_argument] = ["input", "output"].map(Argument::new);
        let input = named(&input_argument, input)?;
        let output = named(&output_argument, output)?;
        let missing = |argument: &Argument, what: &str| {
            let found = format!("no column of {what}");
            let allowed = format!("the name of one: {}", listed(names.iter().copied()));
            Error::value(argument.clone(), found, allowed)
        };
        let taken = output.as_ref().map(|output| output.name.as_str());
        let input = input
            .or_else(|| input_of(&columns, taken))
            .ok_or_else(|| missing(&input_argument, "texts"))?;
        let output = output.or_else(|| output_of(&columns, &input)).ok_or_else(|| {
            missing(&output_argument, "SMILES, rankings, labels, numbers or further texts")
        })?;
        let differ = input.name != output.name;
        ensure(
            differ,
            output_argument,
            format!("{:?}", output.name),
            "a column other than the input's",
        )?;
        let id = |column: &&Column| column.holds == Holds::Ids && column.empty == 0;
        let id = columns
            .iter()
            .find(|column| id(column) && column.name != input.name && column.name != output.name);
        let id = id.map(|column| column.name.clone());
        let table = fs::canonicalize(table).map_err(Error::io(table))?;
        Ok(Self { table, rows, columns, nested, input, output, id })
    }

    /// Number of rows that are pairs.
    pub fn pairs(&self) -> usize {
        self.rows - self.skipped()
    }

    /// Number of rows without an output that can be learned: an empty cell, or one that is not a molecule or a number.
    pub fn skipped(&self) -> usize {
        match self.output.holds {
            Holds::Smiles | Holds::Numbers | Holds::Rankings(_) => {
                self.output.empty + self.output.invalid
            }
            Holds::Labels(_) | Holds::Texts | Holds::Ids | Holds::Nothing => 0,
        }
    }

    /// Number of validation pairs, and of test pairs: a tenth of all, at most 2,000.
    pub fn held_out(&self) -> usize {
        (self.pairs() / 10).clamp(1, 2000)
    }

    /// Number of training pairs.
    pub fn training(&self) -> usize {
        self.pairs().saturating_sub(2 * self.held_out())
    }

    /// The configuration, in TOML, with comments. `folder` is that of the table, as `data.folder` names it.
    fn config(&self, folder: &str) -> String {
        let text = |text: &str| toml::Value::from(text).to_string();
        let file = self.table.file_name().unwrap_or_default().to_string_lossy();
        let (input, output) = (text(&self.input.name), text(&self.output.name));
        let id = match &self.id {
            Some(id) => format!("id = {}", text(id)),
            None => {
                "numbered = true                  # ids are the numbers of the lines".to_owned()
            }
        };
        let bad = match self.skipped() {
            0 => String::new(),
            n => format!("on_bad_row = \"skip\"              # {n} rows have no valid output\n"),
        };
        let held_out = self.held_out();
        let page = format!(
            "# Texts of the column {input} → outputs of the column {output}. Every key is explained by\n\
             # `dsokr config-reference`.\n\
             [data]\nsource = \"pool\"\n\
             folder = {}                      # next to this file\nfile = {}\n{id}\n{bad}\
             inputs = {{ column = {input} }}\n\
             # drawn by the seed; the rest trains\n\
             splits = {{ validation = {held_out}, test = {held_out} }}\n\n",
            text(folder),
            text(&file),
        );
        let template = match self.output.holds {
            Holds::Smiles => include_str!("../../configs/molecules.toml"),
            Holds::Labels(_) => include_str!("templates/labels.toml"),
            Holds::Rankings(_) => include_str!("templates/rankings.toml"),
            Holds::Numbers => include_str!("templates/numbers.toml"),
            Holds::Nothing | Holds::Ids | Holds::Texts => include_str!("templates/texts.toml"),
        };
        let paragraphs = template.split_inclusive("\n\n").filter(|paragraph| self.keeps(paragraph));
        page + &self.adapted(&paragraphs.collect::<String>())
    }

    /// Whether a paragraph of a template is of use to this table.
    fn keeps(&self, paragraph: &str) -> bool {
        let decodes = match self.output.holds {
            Holds::Smiles => self.training() >= MANY,
            Holds::Rankings(items) => items <= 8,
            Holds::Labels(_) | Holds::Numbers | Holds::Texts | Holds::Ids | Holds::Nothing => true,
        };
        let unseen = KINDS_SEEN.iter().any(|(kind, _)| {
            paragraph.contains(&format!("name = \"{kind}\"")) && !self.output.seen.contains(kind)
        });
        !paragraph.contains("[data]") && (decodes || !paragraph.contains("[decoding]")) && !unseen
    }

    /// A template with the column, the separator and the sizes of this table.
    fn adapted(&self, template: &str) -> String {
        let n = self.training();
        let mut text = template.to_owned();
        if n > COMPARED {
            text = text.replace(CLOSED_FORM, SKETCHED).replace(", weights = \"learned\"", "");
        }
        // a sketch has at most as many columns as there are outputs, and of few rows what only one has can still be
        // learned from
        for (key, most) in [("size", n), ("min_outputs", 1 + n / 200), ("min_texts", 1 + n / 200)] {
            text = lowered(&text, &format!("{key} = "), most);
        }
        if let Holds::Labels(separator) = self.output.holds {
            let separator = toml::Value::from(separator.to_string());
            text = text.replace("separator = \";\"", &format!("separator = {separator}"));
        }
        let column = toml::Value::from(self.output.name.as_str()).to_string();
        ["label", "column"].iter().fold(text, |text, key| {
            ["smiles", "output"].iter().fold(text, |text, name| {
                text.replace(&format!("{key} = \"{name}\""), &format!("{key} = {column}"))
            })
        })
    }

    /// Writes the configuration to a file, which must not be there unless `force`. The table must be in the folder of
    /// the file or below it, so that both can be moved together.
    ///
    /// # Errors
    /// A file that is there, or away from the table; what the file system reports.
    pub fn write(&self, path: &Path, force: bool) -> Result<(), Error> {
        if !force && path.exists() {
            let (out, force) = (Argument::new("out"), Argument::switch("force"));
            let message = format_args!(
                "is there already: name a different file by {out}, or replace it by {force}"
            );
            return Err(Error::run(path, message));
        }
        check_not_read("out", path, &self.table)?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let holder = fs::canonicalize(folder).map_err(Error::io(folder))?;
        let home = self.table.parent().unwrap_or(Path::new("/"));
        let Ok(below) = home.strip_prefix(&holder) else {
            let allowed = format!("a file in {} or above it, where the table is", home.display());
            return Err(Error::value(Argument::new("out"), path.display(), allowed));
        };
        let config = self.config(&format!("./{}", below.to_string_lossy()));
        Config::parse(&config, &[])?;
        write_text(path, &config)
    }
}

/// A text in which numbers behind `key` are at most `most`.
fn lowered(text: &str, key: &str, most: usize) -> String {
    let mut parts = text.split(key);
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        let number = number.parse().map_or(number.to_owned(), |n: usize| n.min(most).to_string());
        page += &format!("{key}{number}{rest}");
    }
    page
}

/// The column whose texts are the inputs: of those with the name of one, else of all, the longest texts; else SMILES.
fn input_of(columns: &[Column], output: Option<&str>) -> Option<Column> {
    let known = |column: &Column| TEXTS.contains(&column.name.to_lowercase().as_str());
    let free = columns.iter().filter(|column| output != Some(column.name.as_str()));
    let of = |holds| free.clone().filter(move |column| column.holds == holds);
    let longest =
        of(Holds::Texts).max_by(|a, b| known(a).cmp(&known(b)).then(a.length.total_cmp(&b.length)));
    longest.or_else(|| of(Holds::Smiles).next()).cloned()
}

/// The column of the outputs: the first of the kind that says most.
fn output_of(columns: &[Column], input: &Column) -> Option<Column> {
    let order = |holds| match holds {
        Holds::Smiles => Some(0),
        Holds::Rankings(_) => Some(1),
        Holds::Labels(_) => Some(2),
        Holds::Numbers => Some(3),
        Holds::Texts => Some(4),
        Holds::Ids | Holds::Nothing => None,
    };
    let aside = |name: &str| ASIDE.contains(&name.to_lowercase().as_str());
    let free = columns.iter().filter(|column| column.name != input.name && !aside(&column.name));
    free.filter(|column| order(column.holds).is_some())
        .min_by_key(|column| order(column.holds))
        .cloned()
}
