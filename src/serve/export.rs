//! Answers as files.

use super::answer::Asked;
use super::model::Needs;
use super::problem::Problem;
use super::requests::{ExportRequest, Format, SearchRequest};
use super::responses::{Hit, Outputs};
use super::{Limits, Model, answer};
use crate::compare::quoted;
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

    fn needs(&self) -> Needs {
        self.search.needs()
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
        Format::Smiles => format!("{} {}\n", line(&hit.candidate.label), line(&hit.candidate.id)),
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

/// A value of an SD file: a line that neither ends the record nor begins the next item.
fn value(text: &str) -> String {
    let line = line(text);
    match line.starts_with("$$$$") || line.starts_with('>') {
        true => format!(" {line}"),
        false => line,
    }
}

fn csv(hit: &Hit) -> String {
    let molecule = hit.candidate.molecule.as_ref();
    let cells = [
        hit.rank.to_string(),
        quoted(&hit.candidate.id),
        quoted(&hit.candidate.label),
        hit.score.to_string(),
        molecule.map_or_else(String::new, |own| quoted(&own.formula)),
        molecule.map_or_else(String::new, |own| format!("{:.3}", own.mass)),
        quoted(&hit.duplicates.join(" ")),
    ];
    cells.join(",") + "\r\n"
}

fn sdf(hit: &Hit) -> String {
    let Ok(molecule) = Molecule::parse(&hit.candidate.label) else { return String::new() };
    let mut record = molecule.mol_block(&hit.candidate.id);
    for (name, text) in [
        ("id", hit.candidate.id.clone()),
        ("smiles", hit.candidate.label.clone()),
        ("rank", hit.rank.to_string()),
        ("score", hit.score.to_string()),
        ("formula", molecule.formula()),
        ("molar_mass", format!("{:.3}", molecule.molar_mass())),
        ("duplicates", hit.duplicates.join(" ")),
    ] {
        record += &format!("> <{name}>\n{}\n\n", value(&text));
    }
    record + "$$$$\n"
}

#[cfg(test)]
mod tests {
    use super::super::responses::Candidate;
    use super::*;

    fn hit(id: &str, label: &str) -> Hit {
        let candidate =
            Candidate { id: id.into(), label: label.into(), link: None, molecule: None };
        let duplicates = vec![id.into()];
        Hit { rank: 1, candidate, score: -1.5, gap: None, tied: 0, duplicates, shared: Vec::new() }
    }

    #[test]
    fn ids_are_no_formulas_and_end_no_records() {
        assert_eq!(csv(&hit("=1+1", "-2")), "1,'=1+1,-2,-1.5,,,'=1+1\r\n");
        for id in ["$$$$", "$$$$\n", "x\n$$$$\n", "\r\n$$$$", "> <smiles>\nO", "a\u{2028}$$$$"] {
            let record = sdf(&hit(id, "C"));
            let ends = record.split('\n').filter(|line| line.starts_with("$$$$")).count();
            assert_eq!(ends, 1, "{record}");
            // behind the title
            let items = record.split('\n').skip(1).filter(|line| line.starts_with('>')).count();
            assert_eq!(items, 7, "{record}");
            assert_eq!(record.lines().count(), 6 + 3 * 7 + 1, "{record}");
        }
    }
}
