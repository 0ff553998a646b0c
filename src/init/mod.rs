//! A configuration for a table that nobody has described: which column holds texts, which one outputs, and of what kind.

mod columns;

use std::fs;
use std::path::{Path, PathBuf};

use dsokr_data::table::Table;

use crate::error::{ensure, listed};
use crate::run_dir::write_text;
use crate::{Config, Error};
pub use columns::{Column, Holds};

/// The fewest rows from which a configuration is made.
const LEAST: usize = 10;

/// The fewest training pairs with which a second look and the correction for hubs are worth their time.
const MANY: usize = 500;

/// The most training pairs of which all inputs are compared with all others.
const COMPARED: usize = 20_000;

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
    pub fn of(table: &Path, input: Option<&str>, output: Option<&str>) -> Result<Self, Error> {
        let names = Table::header(table)?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let cells = Table::read(table, &names)?;
        let rows = cells.len();
        let allowed = format!("at least {LEAST}, to have training, validation and test pairs");
        ensure(rows >= LEAST, "rows of the table", rows, allowed)?;
        let column = |name: &&str| Ok(Column::of(name, cells.column(name)?));
        let columns: Vec<Column> = names.iter().map(column).collect::<Result<_, Error>>()?;
        let named = |key: &str, name: Option<&str>| {
            let found = |name: &str| {
                let column = columns.iter().find(|column| column.name == name);
                column.cloned().ok_or_else(|| {
                    Error::value(key, format!("{name:?}"), listed(names.iter().copied()))
                })
            };
            name.map(found).transpose()
        };
        let input = named("the argument input", input)?;
        let output = named("the argument output", output)?;
        let missing = |key: &str, what: &str| {
            let found = format!("no column of {what}");
            Error::value(key, found, format!("the name of one: {}", listed(names.iter().copied())))
        };
        let taken = output.as_ref().map(|output| output.name.as_str());
        let input = input
            .or_else(|| input_of(&columns, taken))
            .ok_or_else(|| missing("the argument input", "texts"))?;
        let output = output.or_else(|| output_of(&columns, &input)).ok_or_else(|| {
            missing("the argument output", "SMILES, rankings, labels, numbers or further texts")
        })?;
        let differ = input.name != output.name;
        ensure(
            differ,
            "the argument output",
            format!("{:?}", output.name),
            "a column other than the input's",
        )?;
        let id = |column: &&Column| column.holds == Holds::Ids && column.empty == 0;
        let id = columns
            .iter()
            .find(|column| id(column) && column.name != input.name && column.name != output.name);
        let id = id.map(|column| column.name.clone());
        let table = fs::canonicalize(table).map_err(Error::io(table))?;
        Ok(Self { table, rows, columns, input, output, id })
    }

    /// Number of rows that are pairs.
    pub fn pairs(&self) -> usize {
        self.rows - self.skipped()
    }

    /// Number of rows whose output is not a molecule.
    pub fn skipped(&self) -> usize {
        match self.output.holds {
            Holds::Smiles => self.output.empty + self.output.invalid,
            _ => 0,
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
        let mut page = format!(
            "# Texts of the column {input} → outputs of the column {output}. Every key is explained by\n\
             # `dsokr config-reference`.\n\
             [data]\nsource = \"pool\"\n\
             folder = {}                      # beside this file\nfile = {}\n{id}\n{bad}\
             inputs = {{ column = {input} }}\n\
             # drawn by the seed; the rest trains\n\
             splits = {{ validation = {held_out}, test = {held_out} }}\n\n",
            text(folder),
            text(&file),
        );
        let template = match self.output.holds {
            Holds::Smiles => include_str!("templates/molecules.toml"),
            Holds::Labels(_) => include_str!("templates/labels.toml"),
            Holds::Rankings(_) => include_str!("templates/rankings.toml"),
            Holds::Numbers => include_str!("templates/numbers.toml"),
            Holds::Nothing | Holds::Ids | Holds::Texts => include_str!("templates/texts.toml"),
        };
        let paragraphs = template.split_inclusive("\n\n").filter_map(|paragraph| {
            let Some(rest) = paragraph.strip_prefix("@when ") else { return Some(paragraph) };
            let (what, kernel) = rest.split_once("@\n")?;
            self.output.seen.contains(&what).then_some(kernel)
        });
        let template: String = paragraphs.collect();
        let parts = template.split('@').enumerate();
        page.extend(
            parts.map(|(at, part)| if at % 2 == 0 { part.to_owned() } else { self.value(part) }),
        );
        page + &self.decoding() + &self.evaluation()
    }

    /// The value of a placeholder of a template.
    fn value(&self, placeholder: &str) -> String {
        let n = self.training();
        let (name, argument) = placeholder.split_once(' ').unwrap_or((placeholder, ""));
        let most: usize = argument.parse().unwrap_or_default();
        match (name, self.output.holds) {
            // a sketch has at most as many columns as there are outputs
            ("size", _) => most.min(n).to_string(),
            // what only one of few rows has can still be learned from
            ("rows", _) => most.min(1 + n / 200).to_string(),
            ("solver", _) if n > COMPARED => {
                "{ name = \"sketched\", sketch = { size = 5000 } }".into()
            }
            ("solver", _) => "{ name = \"closed-form\", precision = \"single\" }".into(),
            ("learned", _) if n > COMPARED => String::new(),
            ("learned", _) => ", weights = \"learned\"".into(),
            ("separator", Holds::Labels(separator)) => {
                toml::Value::from(separator.to_string()).to_string()
            }
            _ => toml::Value::from(self.output.name.as_str()).to_string(),
        }
    }

    fn decoding(&self) -> String {
        let many = self.training() >= MANY;
        let (comment, keys) = match self.output.holds {
            Holds::Smiles if many => (
                "A correction for molecules that are near every answer, and a second look at the first hundred candidates,\n\
                 # which compares words of the text with structures.",
                "hubs = { weights = [0.5], neighbours = [5] }\nsecond_look = { words = {} }",
            ),
            Holds::Rankings(items) if items <= 8 => {
                ("The best of all rankings, not only of those in the table.", "search = \"exact\"")
            }
            Holds::Labels(_) => {
                ("Predicts the label set with the largest expected F1.", "expected_f1 = {}")
            }
            _ => return String::new(),
        };
        format!("\n# {comment}\n[decoding]\n{keys}\n")
    }

    fn evaluation(&self) -> String {
        let metric = match self.output.holds {
            Holds::Labels(_) => "metric = \"f1\"\n",
            Holds::Rankings(_) => "metric = \"kendall_tau\"\n",
            Holds::Numbers => "metric = \"pinball\"\n",
            Holds::Smiles | Holds::Texts | Holds::Ids | Holds::Nothing => "",
        };
        format!(
            "\n# The test pairs are for the last report, not for choices.\n[evaluation]\n{metric}split = \"test\"\n"
        )
    }

    /// Writes the configuration to a file, which must not be there unless `force`. The table must be in the folder of
    /// the file or below it, so that both can be moved together.
    ///
    /// # Errors
    /// A file that is there, or away from the table; what the file system reports.
    pub fn write(&self, path: &Path, force: bool) -> Result<(), Error> {
        if !force && path.exists() {
            let message = "is there already: name a different file by the argument out, or replace it by the argument \
                           force";
            return Err(Error::run(path, message));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let holder = fs::canonicalize(folder).map_err(Error::io(folder))?;
        let home = self.table.parent().unwrap_or(Path::new("/"));
        let Ok(below) = home.strip_prefix(&holder) else {
            let allowed = format!("a file in {} or above it, where the table is", home.display());
            return Err(Error::value("the argument out", path.display(), allowed));
        };
        let config = self.config(&format!("./{}", below.to_string_lossy()));
        Config::parse(&config, &[])?;
        write_text(path, &config)
    }
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
