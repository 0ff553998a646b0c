//! Which candidates a search wants, by properties of molecules.

use crate::error::ensure;

use dsokr_decode::Candidates;
use dsokr_molecule::{
    Element, ElementCounts, FunctionalGroup, HashedFeatures, Molecule, Morgan, functional_groups,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::Error;

/// Properties of candidates that are molecules; those that are given must all hold.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Filter {
    /// A formula, whose elements may be in any order. With `*` at the end: at least these atoms.
    #[schema(example = "C9H8O4")]
    pub formula: Option<String>,
    /// The least molar mass in g/mol.
    pub min_mass: Option<f64>,
    /// The largest molar mass in g/mol.
    pub max_mass: Option<f64>,
    /// Functional groups, by the names that `GET /api/models` lists.
    #[serde(default)]
    #[schema(example = json!(["carboxylic acid"]))]
    pub groups: Vec<String>,
    /// A molecule, as a SMILES.
    #[schema(example = "OC(=O)c1ccccc1Br")]
    pub similar_to: Option<String>,
    /// The least Tanimoto similarity of Morgan fingerprints (radius 2, 2,048 bits) to that molecule.
    #[schema(default = 0.5, minimum = 0, maximum = 1)]
    pub min_similarity: Option<f64>,
}

/// The properties of each candidate that filters compare; none for labels that are not SMILES.
pub(super) struct Molecules(Vec<Option<Properties>>);

struct Properties {
    mass: f64,
    /// A bit a group, in the order of [`FunctionalGroup::ALL`].
    groups: u128,
    composition: Box<[(Element, usize)]>,
    fingerprint: Box<[u32]>,
}

impl Properties {
    fn from_label(label: &str) -> Option<Self> {
        let molecule = Molecule::parse(label).ok()?;
        let groups = functional_groups(&molecule);
        let bits = FunctionalGroup::ALL.iter().zip(0..);
        let groups = bits.filter(|(group, _)| groups.contains_key(group));
        Some(Self {
            mass: molecule.molar_mass(),
            groups: groups.map(|(_, bit)| 1 << bit).sum(),
            composition: molecule.composition().into_iter().collect(),
            fingerprint: fingerprint(&molecule),
        })
    }
}

/// The columns of a Morgan fingerprint, ascending.
pub(super) fn fingerprint(molecule: &Molecule) -> Box<[u32]> {
    let morgan = Morgan::default();
    let columns = morgan.codes(molecule).into_keys().map(|code| code % morgan.width as u32);
    let mut columns: Vec<u32> = columns.collect();
    columns.sort_unstable();
    columns.dedup();
    columns.into()
}

/// Tanimoto similarity: columns that both have, of those that either has; 1 for two without columns.
pub(super) fn tanimoto(a: &[u32], b: &[u32]) -> f64 {
    let both = a.iter().filter(|column| b.binary_search(column).is_ok()).count();
    match a.len() + b.len() - both {
        0 => 1.0,
        either => both as f64 / either as f64,
    }
}

impl Molecules {
    /// The most candidates whose properties are kept.
    pub(super) const MOST: usize = 1_000_000;

    pub(super) fn from_candidates<'a>(all: impl IntoIterator<Item = &'a Candidates>) -> Self {
        let properties = |candidates: &'a Candidates| {
            (0..candidates.len())
                .into_par_iter()
                .map(|candidate| Properties::from_label(candidates.label(candidate)))
                .collect::<Vec<_>>()
        };
        Self(all.into_iter().flat_map(properties).collect())
    }

    /// Whether each candidate is wanted.
    pub(super) fn wanted(&self, wanted: &Wanted) -> Vec<bool> {
        self.0.par_iter().map(|own| own.as_ref().is_some_and(|own| wanted.holds(own))).collect()
    }
}

/// A filter that has been read.
pub(super) struct Wanted {
    /// Numbers of atoms; whether there may be more.
    formula: Option<(ElementCounts, bool)>,
    mass: [f64; 2],
    groups: u128,
    /// A fingerprint with the least similarity to it.
    similar: Option<(Box<[u32]>, f64)>,
}

impl Wanted {
    pub(super) fn read(filter: &Filter) -> Result<Self, Error> {
        let given = |text: &&String| !text.trim().is_empty();
        let mass = [filter.min_mass.unwrap_or(0.0), filter.max_mass.unwrap_or(f64::INFINITY)];
        let allowed = format!("at most filter.max_mass = {}", mass[1]);
        ensure(mass[0] <= mass[1], "filter.min_mass", mass[0], allowed)?;
        let mut groups = 0;
        for name in &filter.groups {
            let bit = FunctionalGroup::ALL.iter().position(|group| group.name() == *name);
            let allowed = "the names that GET /api/models lists";
            ensure(bit.is_some(), "filter.groups", format_args!("{name:?}"), allowed)?;
            groups |= 1 << bit.unwrap_or_default();
        }
        let least = filter.min_similarity.unwrap_or(0.5);
        ensure((0.0..=1.0).contains(&least), "filter.min_similarity", least, "0 to 1")?;
        let similar = |smiles: &String| {
            let molecule = Molecule::parse(smiles.trim()).map_err(|reason| {
                Error::value("filter.similar_to", format!("{smiles:?} ({reason})"), "a SMILES")
            })?;
            Ok::<_, Error>((fingerprint(&molecule), least))
        };
        let similar = filter.similar_to.as_ref().filter(given).map(similar).transpose()?;
        let formula = filter.formula.as_ref().filter(given);
        let formula = formula.map(|text| read_formula(text)).transpose()?;
        Ok(Self { formula, mass, groups, similar })
    }

    fn holds(&self, own: &Properties) -> bool {
        let [low, high] = self.mass;
        let formula = self.formula.as_ref().is_none_or(|(wanted, more)| {
            let holds = |(element, wanted): (&Element, &usize)| {
                let count = own.composition.iter().find(|(own, _)| own == element);
                let count = count.map_or(0, |(_, count)| *count);
                count == *wanted || (*more && count > *wanted)
            };
            (*more || wanted.len() == own.composition.len()) && wanted.iter().all(holds)
        });
        let similar =
            |(bits, least): &(Box<[u32]>, f64)| tanimoto(bits, &own.fingerprint) >= *least;
        formula
            && (low..=high).contains(&own.mass)
            && own.groups & self.groups == self.groups
            && self.similar.as_ref().is_none_or(similar)
    }
}

/// Numbers of atoms of a formula such as `C9H8O4`, and whether `*` at its end allows more.
fn read_formula(text: &str) -> Result<(ElementCounts, bool), Error> {
    let wrong = || {
        let allowed =
            "element symbols with counts, such as C9H8O4, and * at the end for at least these";
        Error::value("filter.formula", format!("{text:?}"), allowed)
    };
    let compact: String = text.split_whitespace().collect();
    let (atoms, more) = match compact.strip_suffix('*') {
        Some(atoms) => (atoms, true),
        None => (compact.as_str(), false),
    };
    Ok((dsokr_molecule::read_formula(atoms).ok_or_else(wrong)?, more))
}
