//! Molecules from SMILES.

use dsokr_core::Cancellation;
use dsokr_molecule::graph::Graph as Inner;
use dsokr_molecule::{Molecule, Substructures};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::errors::{Failure, table};
use crate::graphs::Graph;
use crate::rows::Rows;
use crate::work::work;

fn parse(smiles: &[String]) -> Result<Vec<Molecule>, Failure> {
    let cancellation = Cancellation::current();
    let molecule = |smiles: &String| {
        cancellation.check()?;
        Molecule::parse(smiles)
    };
    let parsed: Vec<_> = smiles.par_iter().map(molecule).collect();
    cancellation.check()?;
    let named = |(at, molecule): (usize, Result<Molecule, _>)| {
        molecule.map_err(|error| {
            Failure::argument("smiles", format!("{:?} at {at}: {error}", smiles[at]))
        })
    };
    parsed.into_iter().enumerate().map(named).collect()
}

/// Returns counts of substructures, or with `bits` the bits of a Morgan fingerprint; `options` is a table of a
/// configuration as JSON.
#[pyfunction]
pub fn molecule_features(
    py: Python,
    smiles: Vec<String>,
    options: &str,
    bits: bool,
) -> PyResult<Rows> {
    let kind: Substructures = table("kind", options)?;
    work(py, || {
        let molecules = parse(&smiles)?;
        match (&kind, bits) {
            (Substructures::Morgan(morgan), true) => Ok(Rows::owned(morgan.bits(&molecules)?)),
            (_, false) => Ok(Rows::owned(kind.counts(&molecules)?)),
            (_, true) => Err(Failure::argument("bits", "True, allowed only for kind = \"morgan\"")),
        }
    })
}

/// Returns one SMILES for all that stand for the same molecule.
#[pyfunction]
pub fn canonical_smiles(py: Python, smiles: Vec<String>) -> PyResult<Vec<String>> {
    work(py, || {
        let molecules = parse(&smiles)?;
        let cancellation = Cancellation::current();
        let canonical = |molecule: &Molecule| {
            cancellation.check()?;
            Ok(molecule.canonical_smiles())
        };
        molecules.par_iter().map(canonical).collect::<Result<Vec<_>, Failure>>()
    })
}

/// Returns a drawing as SVG.
#[pyfunction]
pub fn drawing(py: Python, smiles: String) -> PyResult<String> {
    work(py, || Ok::<_, Failure>(parse(&[smiles])?[0].svg()))
}

/// Returns the graphs of molecules: elements as node labels, bond orders as edge labels.
#[pyfunction]
pub fn molecule_graphs(py: Python, smiles: Vec<String>) -> PyResult<Vec<Graph>> {
    work(py, || {
        let graph = |molecule: &Molecule| Graph { inner: Inner::from(molecule) };
        Ok::<_, Failure>(parse(&smiles)?.iter().map(graph).collect())
    })
}
