//! Molecules whose features and coordinates were computed, for all queries.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dsokr_basis::Basis;
use dsokr_basis::kernel::squared_norm_of_constant;
use dsokr_core::Cancellation;
use dsokr_data::Outputs;
use dsokr_decode::{CandidateParts, Candidates};
use dsokr_molecule::{Molecule, Moves, Palette, SeenStructures};
use rayon::prelude::*;

use super::keep::Keep;
use super::{Placer, SearchedModel};
use crate::error::Error;
use crate::targets::{OutputSpace, unknown_shares};

/// Molecules that are placed at once.
const BATCH: usize = 4_096;

/// Molecules that are moved from at once; what they lead to is not made again for the next ones.
const TOGETHER: usize = 16;

/// Bytes of a molecule without its coordinates: texts, numbers, and its place among the neighbours of others.
const BYTES: usize = 512;

/// Bytes of a structure that is not made again, whether its molecule was left out or not.
const MADE: usize = 96;

/// Molecules by number, each once by its canonical SMILES.
#[derive(Default)]
pub(super) struct MoleculePool {
    /// Their coordinates for each model.
    models: Vec<Placed>,
    numbers: HashMap<String, u32>,
    all: Vec<EvaluatedMolecule>,
    restricted: bool,
    neighbours: HashMap<u32, Vec<u32>>,
    /// Structures that are not made again.
    seen: SeenStructures,
}

/// Properties of a molecule other than its coordinates.
pub(super) struct EvaluatedMolecule {
    /// Its canonical SMILES.
    pub label: String,
    pub formula: String,
    /// The mass in Da of its atoms with all of their electrons.
    pub mass: f64,
    /// Number of its atoms, hydrogens not counted.
    pub atoms: usize,
    /// Whether it has what is to be kept.
    pub kept: bool,
}

/// Molecules in the coordinates of a model.
#[derive(Default)]
struct Placed {
    dim: usize,
    points: Vec<f32>,
    constants: Vec<f32>,
    /// Hashes of their rows of features.
    hashes: Vec<u64>,
    /// The share that the basis does not know; NaN where it is not known.
    unknown: Vec<f64>,
}

impl Placed {
    fn point(&self, molecule: u32) -> &[f32] {
        &self.points[molecule as usize * self.dim..][..self.dim]
    }
}

impl MoleculePool {
    /// Creates a pool without molecules, for models of some dimensions.
    pub fn new(dims: &[usize]) -> Self {
        let placed = |&dim: &usize| Placed { dim, ..Placed::default() };
        Self { models: dims.iter().map(placed).collect(), ..Self::default() }
    }

    /// Returns a pool without molecules, for the same models.
    pub fn cleared(&self) -> Self {
        Self::new(&self.models.iter().map(|placed| placed.dim).collect::<Vec<_>>())
    }

    /// Returns the bytes of so many molecules.
    pub fn bytes_of(&self, molecules: usize) -> usize {
        let dims: usize = self.models.iter().map(|placed| placed.dim).sum();
        molecules.saturating_mul(4 * dims + BYTES)
    }

    /// Returns the bytes of its molecules and of the structures that are not made again.
    pub fn bytes(&self) -> usize {
        self.bytes_of(self.all.len()).saturating_add(self.seen.len().saturating_mul(MADE))
    }

    /// Returns a molecule by its number.
    pub fn molecule(&self, molecule: u32) -> &EvaluatedMolecule {
        &self.all[molecule as usize]
    }

    pub fn is_restricted(&self) -> bool {
        self.restricted
    }

    /// Returns the share that the basis does not know, the mean over the models that know it.
    pub fn unknown(&self, molecule: u32) -> Option<f64> {
        let shares = self.models.iter().map(|placed| placed.unknown[molecule as usize]);
        let shares: Vec<f64> = shares.filter(|share| !share.is_nan()).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    /// Returns the point of a molecule under the first model.
    pub fn point(&self, molecule: u32) -> &[f32] {
        self.models[0].point(molecule)
    }

    /// Returns `⟨z, ψ̃(c)⟩ + b(c) − w u(c)` of a molecule under each model, w = `weight`.
    pub fn scores(&self, molecule: u32, z: &[&[f32]], weight: f64) -> impl Iterator<Item = f64> {
        self.models.iter().zip(z).enumerate().map(move |(model, (placed, z))| {
            let constant = f64::from(placed.constants[molecule as usize]);
            dot(z, placed.point(molecule)) + constant - self.penalty(molecule, model, weight)
        })
    }

    /// Returns `w u(c)` of a molecule under a model, w = `weight`; 0 where u(c) is not known.
    pub fn penalty(&self, molecule: u32, model: usize, weight: f64) -> f64 {
        let share = self.models[model].unknown[molecule as usize];
        if share.is_nan() { 0.0 } else { weight * share }
    }

    /// Returns some molecules as candidates of each model.
    pub fn candidates(&self, molecules: &[u32]) -> Result<Vec<Candidates>, Error> {
        let labels: Vec<String> =
            molecules.iter().map(|&molecule| self.molecule(molecule).label.clone()).collect();
        let candidates = |placed: &Placed| {
            let rows = || molecules.iter().map(|&molecule| molecule as usize);
            Ok(Candidates::new(CandidateParts {
                ids: labels.clone(),
                labels: labels.clone(),
                dim: placed.dim,
                coordinates: molecules
                    .iter()
                    .flat_map(|&molecule| placed.point(molecule))
                    .copied()
                    .collect(),
                constants: rows().map(|row| placed.constants[row]).collect(),
                hashes: rows().filter_map(|row| placed.hashes.get(row).copied()).collect(),
                ..CandidateParts::default()
            })?)
        };
        self.models.iter().map(candidates).collect()
    }

    /// Returns the molecules one move away from one.
    pub fn neighbours(&self, molecule: u32) -> &[u32] {
        self.neighbours.get(&molecule).map_or(&[], Vec::as_slice)
    }
}

/// Returns the inner product, in eight sums of f64.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0f64; 8];
    let a = a.as_chunks::<8>();
    let b = b.as_chunks::<8>();
    for (a, b) in a.0.iter().zip(b.0) {
        for lane in 0..8 {
            sums[lane] += f64::from(a[lane] * b[lane]);
        }
    }
    let rest: f64 = a.1.iter().zip(b.1).map(|(a, b)| f64::from(a * b)).sum();
    sums.iter().sum::<f64>() + rest
}

/// Returns a molecule without configurations where these are not searched: features do not see them.
pub(super) fn as_searched(molecule: Molecule, palette: &Palette) -> Molecule {
    if palette.stereo { molecule } else { molecule.without_stereo() }
}

/// How molecules are evaluated.
pub(super) struct MoleculeEvaluator<'a> {
    pub models: &'a [SearchedModel<'a>],
    /// The placer of each model.
    pub placers: &'a [Placer],
    pub keep: &'a Keep,
    pub palette: &'a Palette,
    /// Weight of the share that the basis does not know.
    pub weight: f64,
}

impl MoleculeEvaluator<'_> {
    /// Returns the numbers of molecules that labels write; labels that are not SMILES are left out.
    pub fn read(
        &self,
        pool: &mut MoleculePool,
        labels: &[Vec<&str>],
    ) -> Result<Vec<Vec<u32>>, Error> {
        pool.restricted = self.keep.is_restricted();
        let read = |label: &&str| {
            let molecule = as_searched(Molecule::parse(label).ok()?, self.palette);
            Some((molecule.key(), molecule))
        };
        let all: Vec<Vec<(String, Molecule)>> =
            labels.par_iter().map(|query| query.iter().filter_map(read).collect()).collect();
        let keys: Vec<Vec<String>> =
            all.iter().map(|query| query.iter().map(|(key, _)| key.clone()).collect()).collect();
        self.add(pool, all.into_iter().flatten())?;
        let number = |key: &String| pool.numbers.get(key).copied();
        Ok(keys.iter().map(|query| query.iter().filter_map(number).collect()).collect())
    }

    /// Evaluates the neighbours of molecules, where they are not known.
    pub fn expand(&self, pool: &mut MoleculePool, molecules: &[Vec<u32>]) -> Result<(), Error> {
        let wanted: BTreeSet<u32> = molecules.iter().flatten().copied().collect();
        let wanted: Vec<u32> =
            wanted.into_iter().filter(|molecule| !pool.neighbours.contains_key(molecule)).collect();
        let cancellation = Cancellation::current();
        for wanted in wanted.chunks(TOGETHER) {
            let moved = wanted.par_iter().with_max_len(1).map(|&molecule| {
                cancellation.check()?;
                let parsed = Molecule::parse(&pool.molecule(molecule).label);
                let neighbours =
                    parsed.map(|start| start.neighbours_beside(self.palette, &pool.seen));
                Ok(neighbours.unwrap_or_default())
            });
            let moved: Vec<(BTreeMap<_, _>, SeenStructures)> =
                moved.collect::<Result<_, Error>>()?;
            let (neighbours, structures): (Vec<_>, Vec<_>) = moved.into_iter().unzip();
            let keys: Vec<Vec<String>> =
                neighbours.iter().map(|of_one| of_one.keys().cloned().collect()).collect();
            let new = neighbours.into_iter().flatten().filter_map(|(key, new)| Some((key, new?)));
            self.add(pool, new)?;
            pool.seen.extend(structures.into_iter().flatten());
            for (&molecule, keys) in wanted.iter().zip(keys) {
                let numbers = keys.iter().filter_map(|key| pool.numbers.get(key).copied());
                pool.neighbours.insert(molecule, numbers.collect());
            }
        }
        Ok(())
    }

    /// Evaluates the molecules that have not been evaluated yet, each once.
    fn add(
        &self,
        pool: &mut MoleculePool,
        molecules: impl Iterator<Item = (String, Molecule)>,
    ) -> Result<(), Error> {
        let new: BTreeMap<String, Molecule> =
            molecules.filter(|(key, _)| !pool.numbers.contains_key(key)).collect();
        let mut new = new.into_iter();
        loop {
            let (labels, molecules): (Vec<_>, Vec<_>) = new.by_ref().take(BATCH).unzip();
            if labels.is_empty() {
                return Ok(());
            }
            Cancellation::current().check()?;
            self.place(pool, labels, molecules)?;
        }
    }

    /// Evaluates a batch.
    fn place(
        &self,
        pool: &mut MoleculePool,
        labels: Vec<String>,
        molecules: Vec<Molecule>,
    ) -> Result<(), Error> {
        for (model, coordinates) in self.models.iter().zip(self.placers).zip(&mut pool.models) {
            let (searched, placer) = model;
            let (placed, outputs) = placer.place(searched, labels.clone(), molecules.clone())?;
            let shares = self.unknown_shares(searched.space, &placed, &outputs)?;
            for at in 0..labels.len() {
                let row = placed.class_of(at) as usize;
                coordinates.points.extend_from_slice(&placed.point(row)?);
                coordinates.constants.push(placed.constants()[row]);
                coordinates.hashes.extend(placed.hash(row));
                coordinates.unknown.push(shares.get(row).copied().unwrap_or(f64::NAN));
            }
        }
        pool.numbers.extend(labels.iter().cloned().zip(pool.all.len() as u32..));
        pool.all.par_extend(labels.into_par_iter().zip(molecules).map(|(label, molecule)| {
            let formula = molecule.formula();
            let mass = molecule.neutral_mass();
            let atoms = molecule.atoms().len();
            let kept = self.keep.holds(&molecule, &formula);
            EvaluatedMolecule { label, formula, mass, atoms, kept }
        }));
        Ok(())
    }

    /// Returns the share of each distinct row that the basis does not know. Of a tempered basis and a kernel machine it takes
    /// a second projection, and is computed only where it counts; empty where it is not known.
    fn unknown_shares(
        &self,
        space: &OutputSpace,
        placed: &Candidates,
        outputs: &Outputs,
    ) -> Result<Vec<f64>, Error> {
        let Some(basis) = space.basis() else { return Ok(Vec::new()) };
        let is_plain = |basis: &Basis| basis.tempering().changes_nothing();
        let plain = matches!(space, OutputSpace::Basis(basis) if is_plain(basis));
        if !plain && self.weight == 0.0 {
            return Ok(Vec::new());
        }
        if !plain {
            return unknown_shares(basis, placed, outputs);
        }
        let constants = placed.clone().without_hubs();
        let share = |(row, &constant): (usize, &f32)| {
            let within: f64 = placed.point(row)?.iter().map(|&v| f64::from(v).powi(2)).sum();
            let norm = squared_norm_of_constant(constant.into(), basis.is_normalised());
            Ok(if norm > 0.0 { (1.0 - within / norm).clamp(0.0, 1.0) } else { 1.0 })
        };
        constants.constants().iter().enumerate().map(share).collect()
    }
}
