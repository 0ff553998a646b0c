//! Words of texts and facts about molecules.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use dsokr_core::store::{Stored, read_text};
use dsokr_decode::{Evidence, Lexicon, Reranker};
use dsokr_molecule::{Fact, Molecule};
use regex::{Regex, RegexSet};

use crate::decoding::spectra::SpectrumEvidence;
use crate::error::Error;

/// The words that come with the program, made for names and descriptions as ChEBI has them.
const CHEMISTRY: &str = include_str!("chemistry.tsv");

/// Expressions that are searched together. The states of their automaton are combinations of their own states: that of all
/// words of the program does not fit into the memory that is usual, and a search goes over to a slower method.
const TOGETHER: usize = 64;

const HEADER: &str = "words\tstructure";

/// Most pairs: the time of a text grows with their number.
const MOST: usize = 10_000;

/// Most bytes of a line.
const LONGEST: usize = 10_000;

/// Reads a reranker with the lexicon and the training spectra in its file.
pub(crate) fn read_reranker(stored: &Stored) -> Result<Reranker, Error> {
    let parse = |text| -> Result<Arc<dyn Lexicon>, Error> {
        Ok(Arc::new(MoleculeLexicon::parse(text, stored.path())?))
    };
    let lexicon = stored.metadata(Reranker::LEXICON).ok().map(parse).transpose()?;
    let evidence = match Reranker::evidence_text(stored)? {
        None => None,
        Some(text) => {
            let evidence = SpectrumEvidence::parse(&text).map_err(|reason| {
                let message = format_args!("its training spectra cannot be read: {reason}");
                dsokr_core::Error::file(stored.path(), message)
            })?;
            let evidence: Arc<dyn Evidence> = Arc::new(evidence);
            Some(evidence)
        }
    };
    Ok(Reranker::read(stored, lexicon, evidence)?)
}

/// Pairs of a regular expression on the text in lower case and a [`Fact`] about the molecule of a label.
#[derive(Debug)]
pub(crate) struct MoleculeLexicon {
    /// The expressions, [`TOGETHER`] in each set.
    words: Vec<RegexSet>,
    facts: Vec<Fact>,
    text: String,
}

impl MoleculeLexicon {
    /// Reads the lexicon of a file; without a file, the one of the program.
    pub fn read(file: Option<&Path>) -> Result<Self, Error> {
        match file {
            Some(file) => {
                let text = read_text(file).map_err(Error::reading(file))?;
                Self::parse(&text, file)
            }
            None => Self::parse(CHEMISTRY, Path::new("the lexicon of the program")),
        }
    }

    /// Reads a table with tabs and the columns `words` and `structure`; `path` is what errors call it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let refused = |message: String| Error::Config { path: path.into(), message };
        let wrong = |line: usize, message: String| refused(format!("line {line}: {message}"));
        // blank lines at the end are allowed, as in other tables
        let mut lines = text.trim_end_matches(['\r', '\n']).lines().zip(1..);
        let header = lines.next().map_or("", |(header, _)| header);
        if header != HEADER {
            let beginning: String = header.chars().take(100).collect();
            return Err(wrong(1, format!("{beginning:?}; allowed: {HEADER:?}, the two columns")));
        }
        if let Some((_, number)) = lines.clone().nth(MOST) {
            return Err(wrong(number, format!("one more pair; allowed: at most {MOST}")));
        }
        let mut words = Vec::new();
        let mut facts = Vec::new();
        let mut seen = HashMap::new();
        for (line, number) in lines {
            if line.len() > LONGEST {
                let bytes = line.len();
                return Err(wrong(number, format!("{bytes} bytes; allowed: at most {LONGEST}")));
            }
            let [said, fact] = line.split('\t').collect::<Vec<_>>()[..] else {
                let message = format!("{line:?}; allowed: a regular expression, a tab and a fact");
                return Err(wrong(number, message));
            };
            if let Some(first) = seen.insert(line, number) {
                let message = format!("{line:?} as in line {first}; allowed: each pair once");
                return Err(wrong(number, message));
            }
            // behind a backslash it is a class such as \W
            let mut letters = said.chars().zip(std::iter::once(' ').chain(said.chars()));
            if letters.any(|(letter, before)| letter.is_uppercase() && before != '\\') {
                let allowed = "lower-case letters: texts are compared in lower case";
                return Err(wrong(number, format!("words {said:?}; allowed: {allowed}")));
            }
            match Regex::new(said) {
                Err(error) => return Err(wrong(number, format!("words {said:?}: {error}"))),
                Ok(regex) if regex.is_match("") => {
                    let allowed = "a regular expression that an empty text does not match";
                    return Err(wrong(number, format!("words {said:?}; allowed: {allowed}")));
                }
                Ok(_) => words.push(said),
            }
            facts.push(
                fact.parse()
                    .map_err(|error: dsokr_molecule::Error| wrong(number, error.to_string()))?,
            );
        }
        if facts.is_empty() {
            return Err(wrong(1, "no words below it; allowed: at least one line".into()));
        }
        let words = words.chunks(TOGETHER).map(RegexSet::new).collect::<Result<_, _>>();
        let words = words.map_err(|error| {
            refused(format!("the regular expressions of {TOGETHER} lines together: {error}"))
        })?;
        Ok(Self { words, facts, text: text.to_owned() })
    }
}

impl Lexicon for MoleculeLexicon {
    fn len(&self) -> usize {
        self.facts.len()
    }

    fn said(&self, text: &str) -> Vec<bool> {
        let text = text.to_lowercase();
        let mut said = vec![false; self.facts.len()];
        for (words, said) in self.words.iter().zip(said.chunks_mut(TOGETHER)) {
            words.matches(&text).iter().for_each(|at| said[at] = true);
        }
        said
    }

    /// Returns which facts hold of a label; none do of one that is not a SMILES.
    fn holds(&self, label: &str) -> Vec<Option<bool>> {
        match Molecule::parse(label) {
            Ok(molecule) => Fact::which(&self.facts, molecule),
            Err(_) => vec![Some(false); self.facts.len()],
        }
    }

    fn text(&self) -> &str {
        &self.text
    }
}
