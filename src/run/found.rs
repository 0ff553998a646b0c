//! Molecules that searches beyond the candidates have found, as `search` and `predict` write them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

use dsokr_core::Argument;
use dsokr_data::config::OnBadRow;
use dsokr_data::table::{Table, TextFormat, open_text};
use serde::Deserialize;

use crate::error::{Error, ensure};

/// The prefix of the ids of candidates that a search has found, before their SMILES.
const MARK: &str = "new:";

/// A molecule that searches have found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCandidate {
    /// The SMILES, as the search writes it.
    pub smiles: String,
    /// Ids of the queries that it was found for, or their texts.
    pub queries: Vec<String>,
    /// The candidate that it was already.
    pub candidate: Option<String>,
}

impl FoundCandidate {
    /// Returns the id that it has as a candidate: that of the candidate that it was already, or `new:` with the SMILES.
    pub fn id(&self) -> String {
        self.candidate.clone().unwrap_or_else(|| format!("{MARK}{}", self.smiles))
    }
}

/// An answer as `--json` and `--format jsonl` write it on a line.
#[derive(Deserialize)]
struct AnswerLine {
    id: Option<String>,
    query: Option<String>,
    #[serde(default)]
    beyond: Vec<Beyond>,
}

#[derive(Deserialize)]
struct Beyond {
    label: String,
    in_table: bool,
    nearest: String,
}

/// Reads the molecules in a file, each once, in the order of the file: JSON lines, or in a file `.tsv` or `.csv` the rows with
/// the rank `new`; also with `.gz` behind.
///
/// # Errors
/// A file that cannot be read; a line of a different kind, or of an answer without a search; only molecules that were
/// candidates.
pub fn read_found(path: &Path) -> Result<Vec<FoundCandidate>, Error> {
    let mut molecules: Vec<FoundCandidate> = Vec::new();
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    let mut add = |smiles: String, query: String, candidate: Option<String>| {
        let at = *positions.entry(smiles.clone()).or_insert(molecules.len());
        if at == molecules.len() {
            molecules.push(FoundCandidate { smiles, queries: Vec::new(), candidate });
        }
        molecules[at].queries.push(query);
    };
    if TextFormat::from_path(path).has_separators() {
        let columns = ["id", "rank", "candidate", "label"];
        let table = Table::read_rows(path, &columns, OnBadRow::Stop)?;
        let [ids, ranks, candidates, labels] = columns.map(|column| table.column(column));
        let ids = ids?;
        let candidates = candidates?;
        let labels = labels?;
        for (at, _) in ranks?.iter().enumerate().filter(|(_, rank)| *rank == "new") {
            let candidate = Some(candidates[at].clone()).filter(|id| !id.is_empty());
            add(labels[at].clone(), ids[at].clone(), candidate);
        }
    } else {
        // line by line: a compressed file may hold many
        for (line, number) in BufReader::new(open_text(path)?).lines().zip(1..) {
            let line = line.map_err(Error::io(path))?;
            if line.trim().is_empty() {
                continue;
            }
            let wrong = |message: String| {
                let message = format!("line {number}: {message}");
                Error::Config { path: path.into(), message }
            };
            let AnswerLine { id, query, beyond } =
                serde_json::from_str(&line).map_err(|error| wrong(error.to_string()))?;
            if beyond.is_empty() {
                let argument = Argument::new("beyond");
                return Err(wrong(format!("an answer without a search: ask with {argument}")));
            }
            let query = id.or(query).unwrap_or_default();
            for Beyond { label, in_table, nearest } in beyond {
                add(label, query.clone(), in_table.then_some(nearest));
            }
        }
    }
    let any_new = molecules.iter().any(|molecule| molecule.candidate.is_none());
    let argument = Argument::new("beyond");
    let allowed = format_args!(
        "answers of search or predict with {argument}, some with a molecule that is not a candidate"
    );
    ensure(any_new, path.display().to_string(), "only molecules that are candidates", allowed)?;
    Ok(molecules)
}
