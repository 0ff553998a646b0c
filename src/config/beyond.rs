//! The table `[decoding.beyond]`: the search for molecules that are not candidates.

use std::str::FromStr;

use dsokr_molecule::{Fact, formula, read_formula};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use crate::error::{Error, ensure};

/// The search for molecules that are not candidates, from the best candidates by small changes of a molecule.
///
/// A round makes the neighbours of the best molecules that were found, each by one move, such as a different element, an
/// atom more, a ring closed or a group exchanged, and scores them as candidates are scored. The candidates and their
/// ranks stay what they are; the molecule that is found is shown next to them. For models whose features of outputs
/// are of kind `molecules` or `substructures`; an ensemble combines the members' scores of a molecule as those of a
/// candidate, by a rule of scores, not of ranks. With a reranker the answer is the best of the molecules that were
/// found and of `starts`, as if these were candidates. It takes some tenths of a second a query of small molecules, and
/// seconds of molecules of 30 atoms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct BeyondConfig {
    /// How many of the best molecules of a query are moved from.
    #[default(10)]
    pub beam: usize,
    /// How many candidates it starts with: the best ones. Where a formula, a mass or a part is kept, the best of those that
    /// have it come first, behind the best of all.
    #[default(20)]
    pub starts: usize,
    /// The most rounds.
    #[default(8)]
    pub rounds: usize,
    /// The most molecules that are scored for a query. A round moves from as many of the best as its share of what is left
    /// allows, at least one.
    #[default(20_000)]
    pub evaluations: usize,
    /// Weight of the share of a molecule that the basis does not know, which is subtracted from its score. At -0.5
    /// what the basis knows of molecules is compared with the prediction: under a normalised kernel the score is then
    /// `(1 + ‖z‖² - ‖z - ψ̃(c)‖²) / 2`.
    pub unknown: f64,
    /// Whether atoms may be in an environment (their element, charge, hydrogens and bonds, and the elements at the other
    /// ends of these) that no candidate has. Of more than 10,000 candidates, that many are looked at.
    pub unusual: bool,
    /// A formula that predicted molecules have, in Hill's order, such as `C9H8O4`; `first` is that of the best candidate;
    /// any, if left out.
    pub formula: Option<String>,
    /// The least and the largest molar mass of predicted molecules in g/mol; any, if left out.
    pub mass: Option<[f64; 2]>,
    /// A part that predicted molecules have, as a SMILES; any, if left out.
    pub part: Option<String>,
}

impl BeyondConfig {
    /// Returns whether the formula that is kept is that of the best candidate.
    pub(crate) fn keeps_first_formula(&self) -> bool {
        self.formula.as_deref() == Some("first")
    }

    /// Returns the part that molecules have.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for a text that is not the SMILES of a part.
    pub(crate) fn part(&self) -> Result<Option<Fact>, Error> {
        let Some(smiles) = &self.part else { return Ok(None) };
        let refused = |reason| format!("the SMILES of one component: {reason}");
        let part = Fact::from_part(smiles).map_err(|reason| {
            Error::value("decoding.beyond.part", format_args!("{smiles:?}"), refused(reason))
        })?;
        Ok(Some(part))
    }

    pub(crate) fn validate(&self) -> Result<(), Error> {
        let Self { beam, starts, rounds, evaluations, unknown, .. } = *self;
        let counts =
            [("beam", beam), ("starts", starts), ("rounds", rounds), ("evaluations", evaluations)];
        for (name, count) in counts {
            ensure(count > 0, format!("decoding.beyond.{name}"), count, "at least 1")?;
        }
        ensure(unknown.is_finite(), "decoding.beyond.unknown", unknown, "a number")?;
        if let Some(text) = self.formula.as_ref().filter(|_| !self.keeps_first_formula()) {
            let ordered = |atoms| text.starts_with(&formula(&atoms));
            let holds = text.is_empty() || read_formula(text).is_some_and(ordered);
            let allowed = "\"first\", or a formula in Hill's order, such as \"C9H8O4\"";
            ensure(holds, "decoding.beyond.formula", format_args!("{text:?}"), allowed)?;
        }
        self.part()?;
        if let Some([low, high]) = self.mass {
            let range = format!("[{low}, {high}]");
            let allowed = "two masses in g/mol, the lower one first";
            ensure(0.0 <= low && low <= high, "decoding.beyond.mass", range, allowed)?;
        }
        Ok(())
    }
}

/// The settings of a text such as `beam = 20, formula = "first"`; those that it leaves out have their defaults.
impl FromStr for BeyondConfig {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Table {
            beyond: BeyondConfig,
        }
        let read = toml::from_str::<Table>(&format!("beyond = {{ {text} }}"));
        let settings = read.map(|table| table.beyond).map_err(|error| {
            let allowed = format!("keys of the table with their values: {}", error.message());
            Error::value("decoding.beyond", format!("{text:?}"), allowed)
        })?;
        settings.validate()?;
        Ok(settings)
    }
}
