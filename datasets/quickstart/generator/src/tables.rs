//! The quickstart set: choosing its molecules, describing them, and splitting them.

use std::collections::{BTreeMap, BTreeSet};

use dsokr_molecule::graph::Graph;
use dsokr_molecule::{Element, Molecule, functional_groups};
use thiserror::Error;

use crate::describe::describe;
use crate::draw::Draw;
use crate::ring_names::named_systems;

/// Seed of the committed set.
pub const SEED: u64 = 20;
/// Molecules, all of them candidates.
pub const MOLECULES: usize = 2_000;
/// Molecules whose descriptions are for validation.
pub const VALIDATION: usize = 200;
/// Molecules whose descriptions are for testing.
pub const TEST: usize = 200;

/// Why a list of molecules makes no quickstart set.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum QuickstartError {
    /// A line that cannot be used.
    #[error("line {line}{message}")]
    Line {
        /// Its number, from 1, the header included.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// Too few molecules for the sizes asked for.
    #[error("{found} molecules; at least {needed} are needed")]
    TooFew {
        /// Molecules at hand.
        found: usize,
        /// Molecules needed.
        needed: usize,
    },
}

impl QuickstartError {
    fn smiles(line: usize, id: &str, smiles: &str, reason: &dsokr_molecule::Error) -> Self {
        Self::Line { line, message: format!(", id {id}: SMILES {smiles:?}: {reason}") }
    }
}

/// The three tables of descriptions, as the text of their files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// `id<TAB>description` with a header line.
    pub train: String,
    /// The table of the validation split, in the form of `train`.
    pub validation: String,
    /// The table of the test split, in the form of `train`.
    pub test: String,
    /// `id<TAB>atoms` with a header line: the number of heavy atoms of every molecule.
    pub atoms: String,
}

const HEADER: &str = "id\tsmiles";

/// Describes and splits every molecule of a table `id<TAB>smiles`.
///
/// The seed decides the wording and the split: a shuffle of all molecules gives the last
/// [`TEST`] to the test, the [`VALIDATION`] before them to validation, the rest to training.
/// Within a file the order is that of `molecules`.
///
/// # Errors
/// A [`QuickstartError`] for a wrong header, a ragged line, a duplicate id, a SMILES that cannot
/// be read, or no molecule left for training.
pub fn tables(molecules: &str, seed: u64) -> Result<Tables, QuickstartError> {
    let rows = read(molecules)?;
    let needed = VALIDATION + TEST + 1;
    if rows.len() < needed {
        return Err(QuickstartError::TooFew { found: rows.len(), needed });
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    Draw::new(seed, "split", "").shuffle(&mut order);
    let mut split = vec![0; rows.len()];
    for (rank, &row) in order.iter().rev().enumerate() {
        split[row] = match rank {
            r if r < TEST => 2,
            r if r < TEST + VALIDATION => 1,
            _ => 0,
        };
    }
    let mut texts = ["id\tdescription\n"; 3].map(str::to_owned);
    let mut atoms = "id\tatoms\n".to_owned();
    for ((id, molecule), split) in rows.iter().zip(split) {
        atoms.push_str(&format!("{id}\t{}\n", molecule.atoms().len()));
        texts[split].push_str(&format!("{id}\t{}\n", describe(molecule, seed, id)));
    }
    let [train, validation, test] = texts;
    Ok(Tables { train, validation, test, atoms })
}

fn read(molecules: &str) -> Result<Vec<(&str, Molecule)>, QuickstartError> {
    let mut lines = molecules.lines().enumerate();
    let header = lines.next().map_or("", |(_, l)| l);
    if header != HEADER {
        let message = format!(": header {header:?}; expected {HEADER:?}");
        return Err(QuickstartError::Line { line: 1, message });
    }
    let mut seen = BTreeSet::new();
    let mut rows = Vec::new();
    for (index, line) in lines {
        let line_number = index + 1;
        let columns: Vec<&str> = line.split('\t').collect();
        let &[id, smiles] = &columns[..] else {
            let message = format!(": {} columns; expected 2", columns.len());
            return Err(QuickstartError::Line { line: line_number, message });
        };
        if !seen.insert(id) {
            let message = format!(": id {id} is there already");
            return Err(QuickstartError::Line { line: line_number, message });
        }
        let molecule = Molecule::parse(smiles)
            .map_err(|reason| QuickstartError::smiles(line_number, id, smiles, &reason))?;
        rows.push((id, molecule));
    }
    Ok(rows)
}

/// The (id, SMILES) pairs of a table of molecules whose first two columns they are, such as
/// ChEBI-20's: below the header, those rows whose id is a number.
pub fn sources(table: &str) -> Vec<(&str, &str)> {
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut columns = line.split('\t');
            Some((columns.next()?, columns.next()?))
        })
        .filter(|(id, _)| id.bytes().all(|b| b.is_ascii_digit()))
        .collect()
}

/// Chooses [`MOLECULES`] diverse molecules from (id, SMILES) pairs and writes them as a table
/// `id<TAB>smiles`, in the order of the source.
///
/// Taken are molecules of 6 to 40 heavy atoms with a SMILES of at most 90 characters, made of common
/// elements, without isotopes and wildcards, in one part (every thirtieth may be a salt). After a
/// shuffle by `seed`, a molecule is passed over if its constitution has been taken, or if two with
/// its molecular formula or three with its groups and rings have been.
///
/// # Errors
/// [`QuickstartError::Line`] if a SMILES cannot be read, with the number of the pair as line;
/// [`QuickstartError::TooFew`] if fewer than [`MOLECULES`] remain.
pub fn select(source: &[(&str, &str)], seed: u64) -> Result<String, QuickstartError> {
    let mut order: Vec<usize> = (0..source.len()).collect();
    Draw::new(seed, "selection", "").shuffle(&mut order);
    let mut formulas: BTreeMap<String, usize> = BTreeMap::new();
    let mut profiles: BTreeMap<String, usize> = BTreeMap::new();
    let mut constitutions = BTreeSet::new();
    let mut chosen = Vec::new();
    let mut salts = 0;
    for row in order {
        if chosen.len() == MOLECULES {
            break;
        }
        let (id, smiles) = source[row];
        if smiles.len() > 90 {
            continue;
        }
        let molecule = Molecule::parse(smiles)
            .map_err(|reason| QuickstartError::smiles(row + 1, id, smiles, &reason))?;
        let parts = molecule.components().len();
        if !is_ordinary(&molecule) || parts > 3 || (parts > 1 && salts * 30 > chosen.len()) {
            continue;
        }
        let formula = formula(&molecule);
        let profile = profile(&molecule);
        if formulas.get(&formula).copied().unwrap_or(0) >= 2
            || profiles.get(&profile).copied().unwrap_or(0) >= 3
            || !constitutions.insert(constitution(&molecule))
        {
            continue;
        }
        *formulas.entry(formula).or_default() += 1;
        *profiles.entry(profile).or_default() += 1;
        salts += usize::from(parts > 1);
        chosen.push(row);
    }
    if chosen.len() < MOLECULES {
        return Err(QuickstartError::TooFew { found: chosen.len(), needed: MOLECULES });
    }
    chosen.sort_unstable();
    let mut text = format!("{HEADER}\n");
    for row in chosen {
        let (id, smiles) = source[row];
        text.push_str(&format!("{id}\t{smiles}\n"));
    }
    Ok(text)
}

fn is_ordinary(molecule: &Molecule) -> bool {
    let common = ["C", "N", "O", "S", "P", "F", "Cl", "Br", "I", "Na", "K", "Si", "B", "Se"];
    (6..=40).contains(&molecule.atoms().len())
        && molecule.count(Element::C) >= 3
        && molecule
            .atoms()
            .iter()
            .all(|a| a.isotope.is_none() && common.contains(&a.element.symbol()))
}

/// Atom counts by element.
fn formula(molecule: &Molecule) -> String {
    let elements: BTreeSet<Element> = molecule.atoms().iter().map(|a| a.element).collect();
    let mut text = format!("H{}", molecule.count(Element::H));
    for element in elements {
        text.push_str(&format!("{}{}", element.symbol(), molecule.count(element)));
    }
    text
}

/// Groups with their counts, and ring systems.
fn profile(molecule: &Molecule) -> String {
    let mut rings: Vec<String> =
        named_systems(molecule).iter().map(|s| format!("{:?}{}", s.name, s.atoms.len())).collect();
    rings.sort();
    format!("{:?} {rings:?}", functional_groups(molecule))
}

/// Equal for molecules with equal atoms and connections, whatever their configuration and the
/// order of their atoms.
fn constitution(molecule: &Molecule) -> u64 {
    let labels = molecule.atoms().iter().map(|a| {
        u64::from(a.element.atomic_number())
            | u64::from(a.hydrogens) << 8
            | u64::from(a.charge.cast_unsigned()) << 16
    });
    let edges = molecule.bonds().iter().map(|bond| {
        let order = if bond.aromatic { 9 } else { bond.order.multiplicity() };
        (bond.atoms[0], bond.atoms[1], u64::from(order))
    });
    let graph = Graph::new(labels.collect(), &edges.collect::<Vec<_>>());
    // A molecule is a graph.
    graph.map_or(0, |graph| graph.invariant())
}
