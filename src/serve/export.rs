//! Answers as files.

use std::collections::BTreeSet;

use dsokr_core::Processes;
use dsokr_molecule::Molecule;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Limits;
use super::answer::ExplainedHit;
use super::description::Outputs;
use super::model::{Model, ReadPart};
use super::queries::{Endpoint, RequestQueries};
use super::refusal::Refusal;
use super::search::SearchRequest;
use crate::error::{Error, ensure};
use crate::metrics::table::Table;
use crate::run::Hit;

/// A search of one query, for a file.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportRequest {
    /// The form of the file.
    pub format: Format,
    /// The search.
    pub search: SearchRequest,
}

/// The form of an exported file.
#[derive(Clone, Copy, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Format {
    /// Fields separated by commas.
    Csv,
    /// Molecules with 2D coordinates.
    Sdf,
    /// A SMILES and an id a line.
    Smiles,
}

impl Format {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::Sdf => "chemical/x-mdl-sdfile; charset=utf-8",
            Self::Smiles => "chemical/x-daylight-smiles; charset=utf-8",
        }
    }
}

impl Endpoint for ExportRequest {
    const NAME: &'static str = "export";
    type Answer = String;

    fn queries(&self) -> RequestQueries<'_> {
        self.search.queries()
    }

    fn needs(&self) -> BTreeSet<ReadPart> {
        self.search.needs()
    }

    /// Returns the hits of the one query of a search.
    fn answer(
        &self,
        processes: &Processes,
        model: &Model,
        limits: &Limits,
    ) -> Result<String, Refusal> {
        let count = self.queries().len();
        ensure(count == 1, "search", format!("{count} queries"), "one query, for a file")?;
        let allowed = "false: a file has candidates alone";
        ensure(self.search.beyond != Some(true), "search.beyond", true, allowed)?;
        let molecules = model.outputs == Outputs::Molecules;
        if let Format::Sdf | Format::Smiles = self.format
            && !molecules
        {
            let allowed = "csv: candidates are not molecules";
            return Err(Error::value("format", "of molecules", allowed).into());
        }
        let response = self.search.answer(processes, model, limits)?;
        let hits = response.answers.first().map_or(&[][..], |answer| &answer.hits);
        let smiles = |ExplainedHit { hit, .. }: &ExplainedHit| {
            format!("{} {}\n", line(&hit.label), line(&hit.id))
        };
        Ok(match self.format {
            Format::Csv => csv(hits, &model.run.columns(), molecules),
            Format::Sdf => hits.iter().map(sdf).collect(),
            Format::Smiles => hits.iter().map(smiles).collect(),
        })
    }
}

/// Returns a text on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a value of an SD file: a line that neither ends the record nor begins the next item.
fn value(text: &str) -> String {
    let line = line(text);
    if line.starts_with("$$$$") || line.starts_with('>') { format!(" {line}") } else { line }
}

/// The names of the values of a molecule, which are no cells of a hit.
const OF_MOLECULES: [&str; 2] = ["formula", "mass"];

/// Returns names and values of a hit, with those of a molecule behind them.
fn cells(ExplainedHit { hit, properties, .. }: &ExplainedHit) -> Vec<(&str, String)> {
    let cells = hit.cells().map(|(name, cell)| (name, cell.to_string()));
    let molecule = properties.molecule.iter().flat_map(|molecule| {
        let values = [molecule.formula.clone(), format!("{:.3}", molecule.mass)];
        OF_MOLECULES.into_iter().zip(values)
    });
    cells.chain(molecule).collect()
}

/// Returns a row for each hit. Molecules have two columns more, which are empty for a label that is no SMILES.
fn csv(hits: &[ExplainedHit], columns: &[&str], molecules: bool) -> String {
    let of_molecules = if molecules { &OF_MOLECULES[..] } else { &[] };
    let names: Vec<&str> = Hit::NAMES
        .into_iter()
        .chain(columns.iter().copied())
        .chain(of_molecules.iter().copied())
        .collect();
    let row = |hit: &ExplainedHit| {
        let mut row: Vec<String> = cells(hit).into_iter().map(|(_, value)| value).collect();
        row.resize(names.len(), String::new());
        row
    };
    Table::new(names.iter().copied(), names.len()).with(hits.iter().map(row)).csv("\r\n")
}

/// Returns a record of a molecule, in which the label is the item `smiles` and the mass `molar_mass`.
fn sdf(hit: &ExplainedHit) -> String {
    let Ok(molecule) = Molecule::parse(&hit.hit.label) else { return String::new() };
    let mut record = molecule.mol_block(&hit.hit.id);
    for (name, text) in cells(hit) {
        let name = match name {
            "label" => "smiles",
            "mass" => "molar_mass",
            name => name,
        };
        record += &format!("> <{}>\n{}\n\n", line(name), value(&text));
    }
    record + "$$$$\n"
}
