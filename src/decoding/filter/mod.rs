//! Which candidates a search wants: one expression on their columns and, where they are molecules, on properties.
//!
//! The command, the server, its page and Python all read the same text, [`Filter`].

mod condition;
mod expression;
mod molecules;
mod numbers;
mod tokens;

use std::collections::HashSet;
use std::str::FromStr;

use dsokr_core::{Argument, Place};
use dsokr_data::cells::is_missing;
use dsokr_decode::{Candidates, Columns};
use rayon::prelude::*;

pub use condition::{Comparison, Condition, Operator, Value};
pub(crate) use molecules::{MOST, MoleculeFacts, MoleculeProperties, PROPERTIES};
pub(crate) use numbers::{ColumnDecimals, NumberCounts};

use crate::error::{Error, did_you_mean};
use molecules::{MoleculeTest, Properties, equality};
use numbers::{Decimals, NotNumbers};

/// Which candidates are wanted.
///
/// As a text it compares columns of the candidates and, where labels are SMILES, properties of molecules (`mass`,
/// `formula`, `group`, `similarity("SMILES")`), joined by `and`, `or`, `not` and brackets:
///
/// ```
/// use dsokr::Filter;
///
/// let filter: Filter = "price < 10 and not supplier = \"A & B\"".parse()?;
/// assert_eq!(filter.names(), ["price", "supplier"]);
/// let error = "price <".parse::<Filter>().unwrap_err().to_string();
/// assert!(error.contains("at position 8 the end: expected a number or a text"), "{error}");
/// # Ok::<(), dsokr::Error>(())
/// ```
///
/// A number is compared with cells as numbers, a text with `=` and `!=`. A candidate whose cell is missing, or no number
/// where one is compared, is never wanted for that comparison, nor for its opposite. Of a column most of whose cells are no
/// numbers, a number is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter(Condition);

impl FromStr for Filter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(Argument::new("filter"), text)
    }
}

impl Filter {
    /// Reads an expression, which messages call `place`.
    ///
    /// # Errors
    /// A text that is no expression, with the position and what is expected there.
    pub fn parse(place: impl Into<Place>, text: &str) -> Result<Self, Error> {
        Ok(Self(expression::parse(place.into(), text)?))
    }

    /// Creates the filter of candidates for which all of some conditions hold.
    pub fn all(conditions: Vec<Condition>) -> Self {
        Self(Condition::All(conditions))
    }

    /// Returns the condition.
    pub fn into_condition(self) -> Condition {
        self.0
    }

    /// Returns the names that it compares, in their order.
    pub fn names(&self) -> Vec<&str> {
        fn collect<'c>(condition: &'c Condition, names: &mut Vec<&'c str>) {
            match condition {
                Condition::Not(inner) => collect(inner, names),
                Condition::All(all) | Condition::Any(all) => {
                    all.iter().for_each(|inner| collect(inner, names));
                }
                Condition::Holds(comparison) => names.push(&comparison.name),
            }
        }
        let mut names = Vec::new();
        collect(&self.0, &mut names);
        names
    }

    /// Returns whether it compares properties of molecules.
    pub(crate) fn reads_molecules(&self) -> bool {
        self.names().iter().any(|name| PROPERTIES.iter().any(|(property, _)| property == name))
    }

    /// Finds its names among the columns of candidates, and where they `are_molecules` among the properties of molecules.
    /// `decimals` says how the numbers of a column are written, or why they are not compared.
    ///
    /// # Errors
    /// A name that is neither a column nor a property; a value that cannot be compared with it; errors of `decimals`.
    pub(crate) fn read(
        &self,
        columns: &Columns,
        are_molecules: bool,
        decimals: &FindDecimals,
    ) -> Result<ReadFilter, Error> {
        Ok(ReadFilter(Test::read(&self.0, columns, are_molecules, decimals)?))
    }
}

/// Says how the numbers of a column are written, or why they are not compared.
type FindDecimals<'f> = dyn Fn(usize) -> Result<Result<Decimals, NotNumbers>, Error> + 'f;

/// A filter whose names have been found among the columns of candidates and the properties of molecules.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReadFilter(Test);

impl ReadFilter {
    /// Returns whether each candidate of some sets is wanted, one set behind the other; the sets have the columns that it was
    /// read for. Where it [reads](Filter::reads_molecules) properties of molecules, it needs those of all of them.
    pub fn wanted<'a>(
        &self,
        sets: impl IntoIterator<Item = &'a Candidates>,
        molecules: Option<&MoleculeProperties>,
    ) -> Vec<bool> {
        let mut wanted = Vec::new();
        for candidates in sets {
            let columns = candidates.columns();
            let first = wanted.len();
            let each = (0..candidates.len()).into_par_iter().map(|candidate| {
                let molecule = molecules.and_then(|all| all.get(first + candidate));
                self.0.holds(Some((columns, candidate)), molecule) == Some(true)
            });
            wanted.extend(each.collect::<Vec<bool>>());
        }
        wanted
    }

    /// Returns the filter of molecules that are found beside candidates, of which each is `wanted` or not.
    pub fn of_found(&self, wanted: &[bool]) -> FoundFilter {
        let wanted = (0..).zip(wanted).filter(|(_, wanted)| **wanted);
        let wanted = wanted.map(|(candidate, _)| candidate).collect();
        FoundFilter { test: self.0.clone(), wanted, wanted_labels: HashSet::new() }
    }
}

/// A filter of molecules that a search finds.
pub(crate) struct FoundFilter {
    test: Test,
    /// The candidates that are wanted, ascending.
    pub wanted: Vec<u32>,
    /// The labels that the search gives to these, where it needs them: a molecule that is one of them has its columns.
    pub wanted_labels: HashSet<String>,
}

impl FoundFilter {
    /// Returns whether the filter may hold of some molecule that is no candidate, of which no column says anything.
    pub fn may_hold(&self) -> bool {
        self.test.may_say(true)
    }

    /// Returns whether the filter compares columns, so that it may hold of a molecule for being a candidate.
    pub fn reads_columns(&self) -> bool {
        self.test.reads_columns()
    }

    /// Returns whether the filter holds of a molecule: for its properties, or since it is a candidate for which it holds.
    pub fn holds(&self, smiles: &str) -> bool {
        if self.wanted_labels.contains(smiles) {
            return true;
        }
        let molecule = Properties::from_label(smiles);
        self.test.holds(None, molecule.as_ref()) == Some(true)
    }
}

/// A condition whose names have been found.
#[derive(Clone, Debug, PartialEq)]
enum Test {
    Not(Box<Test>),
    All(Vec<Test>),
    Any(Vec<Test>),
    /// Whether the text of a column is equal to a given one.
    Text {
        column: usize,
        text: String,
        equal: bool,
    },
    /// How the number of a column compares with a given one.
    Number {
        column: usize,
        decimals: Decimals,
        operator: Operator,
        number: f64,
    },
    Molecule(MoleculeTest),
}

impl Test {
    fn read(
        condition: &Condition,
        columns: &Columns,
        molecules: bool,
        decimals: &FindDecimals,
    ) -> Result<Self, Error> {
        let read = |inner: &Condition| Self::read(inner, columns, molecules, decimals);
        let each = |all: &[Condition]| all.iter().map(read).collect::<Result<_, _>>();
        Ok(match condition {
            Condition::Not(inner) => Self::Not(Box::new(read(inner)?)),
            Condition::All(all) => Self::All(each(all)?),
            Condition::Any(all) => Self::Any(each(all)?),
            Condition::Holds(comparison) => {
                Self::of_comparison(comparison, columns, molecules, decimals)?
            }
        })
    }

    fn of_comparison(
        comparison: &Comparison,
        columns: &Columns,
        molecules: bool,
        decimals: &FindDecimals,
    ) -> Result<Self, Error> {
        let Comparison { name, argument, operator, value, places } = comparison;
        if let (Some(column), None) = (columns.find(name), argument) {
            return Ok(match value {
                Value::Number(number) => {
                    let decimals = decimals(column)?
                        .map_err(|(column, allowed)| places[2].error(&column, allowed))?;
                    Self::Number { column, decimals, operator: *operator, number: *number }
                }
                Value::Text(text) => {
                    Self::Text { column, text: text.clone(), equal: equality(comparison)? }
                }
            });
        }
        if let Some(test) = MoleculeTest::read(comparison)? {
            if molecules {
                return Ok(Self::Molecule(test));
            }
            let allowed = "absent: candidates are not molecules";
            return Err(places[0].error(&comparison.shown_name(), allowed));
        }
        let names = columns.names().collect::<Vec<_>>().join(", ");
        let mut allowed = format!(
            "a column of the candidates: {names} (a training adds those that output.columns names)"
        );
        if molecules {
            let examples = PROPERTIES.map(|(_, example)| example).join("; ");
            allowed += &format!("; or a property of molecules: {examples}");
        }
        let properties = PROPERTIES.iter().map(|(name, _)| *name).filter(|_| molecules);
        let question = did_you_mean(name, columns.names().chain(properties));
        Err(places[0].error(&(comparison.shown_name() + &question), &allowed))
    }

    /// Returns whether it may hold, or may not hold, of some molecule without cells, of which a comparison of a column says
    /// neither.
    fn may_say(&self, holds: bool) -> bool {
        match self {
            Self::Not(inner) => inner.may_say(!holds),
            Self::All(all) if holds => all.iter().all(|inner| inner.may_say(true)),
            Self::Any(all) if !holds => all.iter().all(|inner| inner.may_say(false)),
            Self::All(all) | Self::Any(all) => all.iter().any(|inner| inner.may_say(holds)),
            Self::Text { .. } | Self::Number { .. } => false,
            Self::Molecule(_) => true,
        }
    }

    /// Returns whether it compares columns.
    fn reads_columns(&self) -> bool {
        match self {
            Self::Not(inner) => inner.reads_columns(),
            Self::All(all) | Self::Any(all) => all.iter().any(Self::reads_columns),
            Self::Text { .. } | Self::Number { .. } => true,
            Self::Molecule(_) => false,
        }
    }

    /// Returns whether it holds of a molecule or another candidate, which has the cells of its number in the columns; none
    /// where that is not known, because a cell is missing or is no number, or there are no cells.
    fn holds(
        &self,
        cells: Option<(&Columns, usize)>,
        molecule: Option<&Properties>,
    ) -> Option<bool> {
        let each = |all: &[Self], decides: bool| {
            let mut all_decided = true;
            for test in all {
                match test.holds(cells, molecule) {
                    Some(holds) if holds == decides => return Some(decides),
                    Some(_) => {}
                    None => all_decided = false,
                }
            }
            all_decided.then_some(!decides)
        };
        match self {
            Self::Not(inner) => inner.holds(cells, molecule).map(|holds| !holds),
            Self::All(all) => each(all, false),
            Self::Any(all) => each(all, true),
            Self::Text { column, text, equal } => {
                let (columns, candidate) = cells?;
                let cell = columns.cell(*column, candidate);
                (!is_missing(cell)).then(|| (cell.trim() == text.trim()) == *equal)
            }
            Self::Number { column, decimals, operator, number } => {
                let (columns, candidate) = cells?;
                let cell = decimals.read(columns.cell(*column, candidate))?;
                Some(operator.holds(cell, *number))
            }
            Self::Molecule(test) => molecule.map(|molecule| test.holds(molecule)),
        }
    }
}
