//! Words of texts beside facts about molecules.

use std::collections::HashMap;
use std::path::Path;

use dsokr_basis::store::read_text;
use dsokr_decode::Lexicon;
use dsokr_molecule::{Fact, Molecule};
use regex::{Regex, RegexSet, RegexSetBuilder};

use crate::Error;

/// The words that come with the program, made for names and descriptions as ChEBI has them.
const CHEMISTRY: &str = include_str!("chemistry.tsv");

/// The most bytes that the automaton of all words takes, in each thread. The 2 MB that are usual do not hold that of the
/// program's words, and a search goes over to a slower method.
const AUTOMATON: usize = 64 << 20;

const HEADER: &str = "words\tstructure";

/// Most pairs: the time of a text grows with their number.
const MOST: usize = 10_000;

/// Most bytes of a line.
const LONGEST: usize = 10_000;

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
                let text = read_text(file).map_err(|error| Error::reading(file, &error))?;
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
            let found: String = header.chars().take(100).collect();
            return Err(wrong(1, format!("{found:?}; allowed: {HEADER:?}, the two columns")));
        }
        if let Some((_, number)) = lines.clone().nth(MOST) {
            return Err(wrong(number, format!("one more pair; allowed: at most {MOST}")));
        }
        let (mut words, mut facts, mut seen) = (Vec::new(), Vec::new(), HashMap::new());
        for (line, number) in lines {
            if line.len() > LONGEST {
                let found = line.len();
                return Err(wrong(number, format!("{found} bytes; allowed: at most {LONGEST}")));
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
        let words = RegexSetBuilder::new(words).dfa_size_limit(AUTOMATON).build();
        let words = words.map_err(|error| {
            refused(format!("the regular expressions of all lines together: {error}"))
        })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        MoleculeLexicon::parse(text, Path::new("own.tsv")).unwrap_err().to_string()
    }

    fn pairs(count: usize) -> String {
        (0..count).map(|at| format!("word{at}\tisotope\n")).collect()
    }

    #[test]
    fn a_file_may_come_from_any_editor() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.tsv");
        let lines = "\u{feff}words\tstructure\r\nchlor\tatom Cl\r\n\\W?brom\tatom Br\r\n\r\n";
        std::fs::write(&path, lines).unwrap();
        let lexicon = MoleculeLexicon::read(Some(&path)).unwrap();
        assert_eq!(lexicon.said("Bromine"), [false, true]);
        // as a run keeps it
        assert_eq!(MoleculeLexicon::parse(lexicon.text(), &path).unwrap().len(), 2);
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
            assert_eq!((said[at], holds[at]), (expected.0, Some(expected.1)), "{at}");
        }
        assert!(lexicon.holds("no molecule").iter().all(|&holds| holds == Some(false)));
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
            (
                own("a\tisotope\nb\tisotope\na\tisotope"),
                &["line 4", "\"a\\tisotope\"", "in line 2"],
            ),
            (own("a\tisotope\n\nb\tisotope"), &["line 3", "\"\"", "a tab"]),
            (own("Labelled\tisotope"), &["line 2", "\"Labelled\"", "lower case"]),
            (own("\tisotope"), &["line 2", "words \"\"", "an empty text does not match"]),
            (own("chlor|\tatom Cl"), &["line 2", "\"chlor|\"", "an empty text does not match"]),
            (own(&format!("{}\tisotope", "a".repeat(20_000))), &["line 2", "20008 bytes", "10000"]),
            (own(&pairs(10_001)), &["line 10002", "one more pair", "at most 10000"]),
            (own(&pairs(4).replace("word", "\\w{150}")), &["own.tsv: the regular", "size limit"]),
        ] {
            assert!(says.iter().all(|says| message.contains(says)), "{message} has not {says:?}");
        }
    }
}
