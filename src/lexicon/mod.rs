//! Words of texts beside facts about molecules.

use std::path::Path;

use dsokr_decode::Lexicon;
use dsokr_molecule::{Fact, Molecule};
use regex::{Regex, RegexSet};

use crate::Error;

/// The words that come with the program, made for names and descriptions as ChEBI has them.
const CHEMISTRY: &str = include_str!("chemistry.tsv");

const HEADER: &str = "words\tstructure";

/// Pairs of a regular expression on the text in lower case and a [`Fact`] about the molecule of a label.
#[derive(Debug)]
pub(crate) struct MoleculeLexicon {
    words: RegexSet,
    facts: Vec<Fact>,
    text: String,
}

impl MoleculeLexicon {
    /// That of a file; the one of the program, if none is given.
    pub fn read(file: Option<&Path>) -> Result<Self, Error> {
        match file {
            Some(file) => {
                let text = std::fs::read_to_string(file);
                Self::parse(&text.map_err(|error| Error::reading(file, &error))?, file)
            }
            None => Self::parse(CHEMISTRY, Path::new("the lexicon of the program")),
        }
    }

    /// Reads a table with tabs and the columns `words` and `structure`; `path` is what errors call it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let wrong = |line: usize, message: String| Error::Config {
            path: path.into(),
            message: format!("line {line}: {message}"),
        };
        let mut lines = text.lines().zip(1..);
        let header = lines.next().map_or("", |(header, _)| header);
        if header != HEADER {
            return Err(wrong(1, format!("{header:?}; allowed: {HEADER:?}, the two columns")));
        }
        let (mut words, mut facts) = (Vec::new(), Vec::new());
        for (line, number) in lines {
            let [said, fact] = line.split('\t').collect::<Vec<_>>()[..] else {
                let message = format!("{line:?}; allowed: a regular expression, a tab and a fact");
                return Err(wrong(number, message));
            };
            if let Err(error) = Regex::new(said) {
                return Err(wrong(number, format!("words {said:?}: {error}")));
            }
            words.push(said);
            facts.push(
                fact.parse()
                    .map_err(|error: dsokr_molecule::Error| wrong(number, error.to_string()))?,
            );
        }
        if facts.is_empty() {
            return Err(wrong(1, "no words below it; allowed: at least one line".into()));
        }
        let words = RegexSet::new(words).map_err(|error| wrong(1, error.to_string()))?;
        Ok(Self { words, facts, text: text.to_owned() })
    }
}

impl Lexicon for MoleculeLexicon {
    fn len(&self) -> usize {
        self.facts.len()
    }

    fn said(&self, text: &str) -> Vec<bool> {
        let found = self.words.matches(&text.to_lowercase());
        (0..self.facts.len()).map(|at| found.matched(at)).collect()
    }

    /// Nothing holds of a label that is no SMILES.
    fn holds(&self, label: &str) -> Vec<bool> {
        match Molecule::parse(label) {
            Ok(molecule) => Fact::which(&self.facts, molecule),
            Err(_) => vec![false; self.facts.len()],
        }
    }

    fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        MoleculeLexicon::parse(text, Path::new("own.tsv")).unwrap_err().to_string()
    }

    #[test]
    fn words_of_a_text_and_facts_of_a_molecule_are_found() {
        let lexicon = MoleculeLexicon::read(None).unwrap();
        assert_eq!(lexicon.len(), CHEMISTRY.lines().count() - 1);
        let of = |words: &str, structure: &str| {
            let line = format!("{words}\t{structure}");
            CHEMISTRY.lines().position(|own| own == line).unwrap_or_else(|| panic!("{line}")) - 1
        };
        let (said, holds) = (
            lexicon.said("The hydrochloride salt of Piperazine, an octadecanoic acid ester."),
            lexicon.holds("Cl.C1CNCCN1CC(=O)OCC"),
        );
        for (at, expected) in [
            (of("chlor", "atom Cl"), (true, true)),
            (of("brom", "atom Br"), (false, false)),
            (of("piperazin", "part C1CNCCN1"), (true, true)),
            (of("piperidin", "part C1CCNCC1"), (false, false)),
            (of("\\bsalt", "components"), (true, true)),
            (of("anion", "charge negative"), (false, false)),
        ] {
            assert_eq!((said[at], holds[at]), expected, "{at}");
        }
        assert!(lexicon.holds("no molecule").iter().all(|holds| !holds));
    }

    #[test]
    fn a_line_that_is_wrong_is_named() {
        let own = |lines: &str| refused(&format!("words\tstructure\n{lines}\n"));
        for (message, says) in [
            (
                refused("words\tfact\nchlor\tatom Cl"),
                &["own.tsv", "line 1", "words\\tstructure"][..],
            ),
            (refused("words\tstructure\n"), &["line 1", "at least one line"]),
            (own("chlor\tatom Cl\nbrom"), &["line 3", "\"brom\"", "a tab"]),
            (own("chlor(\tatom Cl"), &["line 2", "\"chlor(\"", "unclosed group"]),
            (own("chlor\tatom Cx"), &["line 2", "\"atom Cx\"", "symbol of an element"]),
            (own("ester\tgroup Estre"), &["line 2", "\"group Estre\"", "Ester, Lactone"]),
            (own("ring\tpart C1CC"), &["line 2", "\"part C1CC\"", "position"]),
            (own("salt\tpart [Na+].[Cl-]"), &["line 2", "several components; allowed: one"]),
            (own("acid\tcharge few"), &["line 2", "\"charge few\"", "negative or positive"]),
            (own("long\tchain 0"), &["line 2", "\"chain 0\"", "number of carbons"]),
            (own("ring\trings 3"), &["line 2", "\"rings 3\"", "components or isotope"]),
        ] {
            assert!(says.iter().all(|says| message.contains(says)), "{message} has not {says:?}");
        }
    }
}
