//! Answers as files.

use super::answer::Asked;
use super::problem::Problem;
use super::requests::{ExportRequest, Format, SearchRequest};
use super::responses::{Hit, Outputs};
use super::{Limits, Model, answer};
use dsokr_molecule::Molecule;

impl Format {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::Sdf => "chemical/x-mdl-sdfile; charset=utf-8",
            Self::Smiles => "chemical/x-daylight-smiles; charset=utf-8",
        }
    }
}

impl Asked for ExportRequest {
    const NAME: &'static str = "export";
    type Answer = String;

    fn model(&self) -> Option<&str> {
        self.search.model.as_deref()
    }

    fn queries(&self) -> usize {
        self.search.queries()
    }

    /// The hits of the one query of a search.
    fn answer(&self, model: &Model, limits: &Limits) -> Result<String, Problem> {
        file(model, limits, self.format, &self.search)
    }
}

fn file(
    model: &Model,
    limits: &Limits,
    format: Format,
    search: &SearchRequest,
) -> Result<String, Problem> {
    if search.queries() != 1 {
        let found = format!("{} queries", search.queries());
        return Err(Problem::value("search", found, "one query, for a file"));
    }
    if let (Format::Sdf | Format::Smiles, false) = (format, model.outputs == Outputs::Molecules) {
        return Err(Problem::value("format", "of molecules", "csv: candidates are no molecules"));
    }
    let response = answer::search(model, limits, search)?;
    let hits = response.answers.first().map_or(&[][..], |answer| &answer.hits);
    let records = hits.iter().map(|hit| match format {
        Format::Csv => csv(hit),
        Format::Sdf => sdf(hit),
        Format::Smiles => format!("{} {}\n", hit.candidate.label, line(&hit.candidate.id)),
    });
    let header = match format {
        Format::Csv => "rank,id,label,score,formula,mass,duplicates\r\n",
        Format::Sdf | Format::Smiles => "",
    };
    Ok(header.to_owned() + &records.collect::<String>())
}

/// A text on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn csv(hit: &Hit) -> String {
    let molecule = hit.candidate.molecule.as_ref();
    let cells = [
        hit.rank.to_string(),
        hit.candidate.id.clone(),
        hit.candidate.label.clone(),
        hit.score.to_string(),
        molecule.map_or_else(String::new, |own| own.formula.clone()),
        molecule.map_or_else(String::new, |own| format!("{:.3}", own.mass)),
        hit.duplicates.join(" "),
    ];
    let quoted = cells.map(|cell| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    });
    quoted.join(",") + "\r\n"
}

fn sdf(hit: &Hit) -> String {
    let Ok(molecule) = Molecule::parse(&hit.candidate.label) else { return String::new() };
    let mut record = molecule.mol_block(&hit.candidate.id);
    for (name, value) in [
        ("id", hit.candidate.id.clone()),
        ("smiles", hit.candidate.label.clone()),
        ("rank", hit.rank.to_string()),
        ("score", hit.score.to_string()),
        ("formula", molecule.formula()),
        ("molar_mass", format!("{:.3}", molecule.molar_mass())),
        ("duplicates", hit.duplicates.join(" ")),
    ] {
        record += &format!("> <{name}>\n{}\n\n", line(&value));
    }
    record + "$$$$\n"
}
