//! Vectors that are drawn: the papers' synthetic least squares.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dsokr_basis::Features;
use dsokr_basis::features::DenseRows;
use dsokr_core::Argument;
use dsokr_core::random::{Generator, generator};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as reflections_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply_reflections,
};
use faer::linalg::matmul::matmul;
use faer::linalg::qr::no_pivoting::factor::{
    qr_in_place, qr_in_place_scratch, recommended_block_size,
};
use faer::reborrow::{IntoConst, ReborrowMut};
use faer::{Accum, Conj, Mat, MatMut, MatRef, Par};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PairFacts, Pairs, Wanted};
use crate::dataset::{Dataset, Split, SplitName};
use crate::error::{Error, check};
use crate::inputs::{InputKind, Inputs};
use crate::outputs::{OutputSource, Outputs};
use crate::root::DataRoot;

/// H of `y = H x + ε`. `H_0` has independent standard normal entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SyntheticMap {
    /// `U H_0` with `rank` orthonormal columns U in random directions, and that many rows in `H_0`:
    /// outputs lie near a subspace (thesis, equation 5.21).
    LowRank {
        /// Dimension of the subspace, at most `outputs`.
        rank: usize,
    },
    /// `H_0`.
    Dense {},
    /// `C H_0` with the inputs' covariance C, as many outputs as inputs (thesis, section 4.5).
    Covariance {},
    /// `s (H_0 C H_0ᵀ) H_0`, whose outputs vary most where they can be predicted. This is the case in which reduced
    /// rank gains (reduced rank paper, section 5.1, β = 1/3). With the factor s the outputs vary as much as with `H_0`.
    Aligned {},
}

/// ε of `y = H x + ε`, from `N(0, E)` with eigenvectors of E in random directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoiseConfig {
    /// The largest eigenvalue σ² of E.
    pub variance: f64,
    /// The j-th eigenvalue is `σ² j^−decay`; 0 gives the same noise in all directions.
    #[serde(default)]
    pub decay: f64,
}

/// Vectors that are drawn in place of files, the papers' synthetic least squares: inputs
/// `x ~ N(0, C)` and outputs `y = H x + ε`, everything drawn from `seed`.
///
/// The candidates are the outputs of validation and test pairs. Ids are numbers from 1: of training,
/// validation and test pairs, and of outputs without inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyntheticConfig {
    /// Number of training pairs.
    pub train: usize,
    /// Number of validation pairs.
    pub validation: usize,
    /// Number of test pairs.
    #[serde(default)]
    pub test: usize,
    /// Number of outputs that come without an input.
    #[serde(default)]
    pub unlabelled: usize,
    /// Coordinates of an input.
    pub inputs: usize,
    /// Coordinates of an output.
    pub outputs: usize,
    /// The j-th eigenvalue of C is `j^−input_decay`; its eigenvectors are drawn.
    pub input_decay: f64,
    /// H.
    pub map: SyntheticMap,
    /// ε.
    pub noise: NoiseConfig,
}

/// Rows that are drawn from one generator.
const ROWS: usize = 512;

/// `C^{1/2}`, H and `E^{1/2}`, all in single precision: they are what the data are drawn from.
struct GenerativeModel<'a> {
    config: &'a SyntheticConfig,
    seed: u64,
    inputs: Mat<f32>,
    map: Mat<f32>,
    /// The covariance of the noise; none if noise is the same in all directions.
    noise: Option<Mat<f32>>,
}

impl Pairs for SyntheticConfig {
    fn facts(&self) -> PairFacts<'_> {
        let has_test = self.test > 0;
        let inputs = InputKind::Vectors;
        PairFacts { has_test, inputs, ..PairFacts::default() }
    }

    fn validate(&self) -> Result<(), Error> {
        let counts = [
            ("data.train", self.train),
            ("data.validation", self.validation),
            ("data.inputs", self.inputs),
            ("data.outputs", self.outputs),
        ];
        counts.iter().try_for_each(|&(key, count)| check(count > 0, key, count, "at least 1"))?;
        let numbers = [
            ("data.input_decay", self.input_decay),
            ("data.noise.variance", self.noise.variance),
            ("data.noise.decay", self.noise.decay),
        ];
        for (key, number) in numbers {
            check(number.is_finite() && number >= 0.0, key, number, "zero or a positive number")?;
        }
        match self.map {
            SyntheticMap::LowRank { rank } => {
                let holds = rank > 0 && rank <= self.outputs;
                let allowed = format!("1 to {}, the coordinates of an output", self.outputs);
                check(holds, "data.map.rank", rank, &allowed)
            }
            SyntheticMap::Covariance {} if self.inputs != self.outputs => {
                let allowed = format!("{}, as data.inputs, for this map", self.inputs);
                Err(Error::value("data.outputs", self.outputs, allowed))
            }
            SyntheticMap::Covariance {} | SyntheticMap::Dense {} | SyntheticMap::Aligned {} => {
                Ok(())
            }
        }
    }

    fn validate_outputs(&self, outputs: &OutputSource) -> Result<(), Error> {
        outputs.check_own()?;
        check(!outputs.only_training, "output.only_training", true, OutputSource::ALL)
    }

    fn memory(&self, _: &DataRoot) -> Vec<(&'static str, f64)> {
        let counts = [self.train, self.validation, self.test, self.unlabelled];
        let rows: f64 = counts.iter().map(|&count| count as f64).sum();
        let [from, to] = [self.inputs, self.outputs].map(|width| width as f64);
        // the roots of the covariances with their factors; the map with what it is made of
        vec![
            ("data.train × data.inputs", rows * (4.0 * from + 100.0)),
            ("data.train × data.outputs", 8.0 * rows * to),
            ("data.inputs", 16.0 * from * from),
            ("data.outputs", if self.noise.decay > 0.0 { 16.0 * to * to } else { 0.0 }),
            ("data.inputs × data.outputs", 12.0 * from * to),
        ]
    }

    fn load(&self, wanted: &Wanted) -> Result<Dataset, Error> {
        let model = GenerativeModel::new(self, wanted.seed);
        let counts = [self.train, self.validation, self.test, self.unlabelled];
        let mut outputs = Vec::with_capacity(counts.iter().sum::<usize>() * self.outputs);
        let mut start = 0;
        let mut split = |part: usize| {
            let (split, rows) = model.split(part, start, counts[part])?;
            outputs.extend(rows);
            start += counts[part];
            Ok::<_, Error>(split)
        };
        let train = split(0)?;
        let validation = split(1)?;
        let test = split(2)?;
        split(3)?;
        let ids: Vec<String> = (1..=start).map(|id| id.to_string()).collect();
        let held = self.train..self.train + self.validation + self.test;
        let outputs = Outputs::from_vectors(ids, held.collect(), self.outputs, outputs)?;
        let test = (self.test > 0).then_some(test);
        let outputs = Arc::new(outputs);
        let skipped = BTreeMap::new();
        Ok(Dataset { outputs, train, validation, test, skipped, input_columns: None })
    }

    fn split(&self, name: SplitName, wanted: &Wanted) -> Result<Option<Split>, Error> {
        let (part, start, count) = match name {
            SplitName::Train => (0, 0, self.train),
            SplitName::Validation => (1, self.train, self.validation),
            SplitName::Test if self.test > 0 => (2, self.train + self.validation, self.test),
            SplitName::Test => return Ok(None),
        };
        let (split, _) = GenerativeModel::new(self, wanted.seed).split(part, start, count)?;
        Ok(Some(Split { outputs: vec![None; count], ..split }))
    }

    fn queries(&self, path: &Path, _: &Wanted) -> Result<Split, Error> {
        let allowed = "absent: the inputs of this run are drawn, not read";
        Err(Error::value(Argument::new("queries"), path.display(), allowed))
    }
}

impl<'a> GenerativeModel<'a> {
    fn new(config: &'a SyntheticConfig, seed: u64) -> Self {
        let from = config.inputs;
        let to = config.outputs;
        let mut random = generator(seed, "synthetic model", 0);
        let power = |decay: f64| move |j: usize| ((j + 1) as f64).powf(-0.5 * decay);
        let inputs = root(from, power(config.input_decay), &mut random);
        let map = match config.map {
            SyntheticMap::LowRank { rank } => {
                let directions = orthonormal(normal(to, rank, &mut random));
                product(&directions, &normal(rank, from, &mut random))
            }
            SyntheticMap::Dense {} => normal(to, from, &mut random),
            SyntheticMap::Covariance {} => {
                let plain = normal(to, from, &mut random);
                product(&inputs, &product(&inputs.transpose().to_owned(), &plain))
            }
            SyntheticMap::Aligned {} => {
                let plain = normal(to, from, &mut random);
                let spread = product(&plain, &inputs);
                let covariance = product(&spread, &spread.transpose().to_owned());
                let aligned = product(&covariance, &plain);
                let signal = |map: &Mat<f32>| product(map, &inputs).squared_norm_l2();
                let scale = (signal(&plain) / signal(&aligned).max(f32::MIN_POSITIVE)).sqrt();
                aligned * faer::Scale(scale)
            }
        };
        let deviation = config.noise.variance.sqrt();
        let noise = (config.noise.decay > 0.0).then(|| {
            let power = power(config.noise.decay);
            root(to, |j| deviation * power(j), &mut random)
        });
        Self { config, seed, inputs, map, noise }
    }

    /// Returns inputs of `count` pairs with ids from `start + 1`, and their outputs, row-major. The draws depend on the
    /// part only, so a split can be drawn without the others.
    fn split(&self, part: usize, start: usize, count: usize) -> Result<(Split, Vec<f32>), Error> {
        let purpose = ["train", "validation", "test", "unlabelled"][part];
        let from = self.config.inputs;
        let to = self.config.outputs;
        let mut x = vec![0.0f32; count * from];
        let mut y = vec![0.0f32; count * to];
        let blocks = x.par_chunks_mut(ROWS * from).zip(y.par_chunks_mut(ROWS * to)).enumerate();
        blocks.for_each(|(block, (x, y))| {
            let rows = x.len() / from;
            let mut random = generator(self.seed, &format!("synthetic {purpose}"), block as u64);
            // columns are rows of the data
            let x = MatMut::from_column_major_slice_mut(x, from, rows);
            let mut y = MatMut::from_column_major_slice_mut(y, to, rows);
            let x = into(x, &self.inputs, &normal(from, rows, &mut random));
            let noise = normal(to, rows, &mut random);
            match &self.noise {
                Some(root) => {
                    into(y.rb_mut(), root, &noise);
                }
                None => {
                    let deviation = self.config.noise.variance.sqrt() as f32;
                    faer::zip!(y.rb_mut(), noise.as_ref())
                        .for_each(|faer::unzip!(y, noise)| *y = deviation * noise);
                }
            }
            matmul(y, Accum::Add, self.map.as_ref(), x, 1.0, Par::Seq);
        });
        let ids = (start + 1..=start + count).map(|id| id.to_string()).collect();
        let inputs = Inputs::Vectors(Features::Dense(DenseRows::new(from, x)?).into());
        Ok((Split::new(ids, inputs, (start..start + count).map(Some).collect()), y))
    }
}

fn into<'a>(mut out: MatMut<'a, f32>, a: &Mat<f32>, b: &Mat<f32>) -> MatRef<'a, f32> {
    matmul(out.rb_mut(), Accum::Replace, a.as_ref(), b.as_ref(), 1.0, Par::Seq);
    out.into_const()
}

/// Returns independent standard normal entries.
fn normal(rows: usize, columns: usize, random: &mut Generator) -> Mat<f32> {
    Mat::from_fn(rows, columns, |_, _| StandardNormal.sample(random))
}

/// Computes `V diag(s)` with random orthonormal V: a root of the covariance `V diag(s²) Vᵀ`.
fn root(size: usize, deviation: impl Fn(usize) -> f64, random: &mut Generator) -> Mat<f32> {
    let mut root = orthonormal(normal(size, size, random));
    for (j, column) in root.col_iter_mut().enumerate() {
        let deviation = deviation(j) as f32;
        column.iter_mut().for_each(|value| *value *= deviation);
    }
    root
}

/// Returns the factor Q of `A = QR`, with as many columns as A has, or rows where it has fewer.
///
/// On one thread: faer splits its sums by the number of threads.
fn orthonormal(mut a: Mat<f32>) -> Mat<f32> {
    let (rows, columns) = a.shape();
    let size = rows.min(columns);
    let block = recommended_block_size::<f32>(rows, columns);
    let mut factors = Mat::zeros(block, size);
    let scratch = qr_in_place_scratch::<f32>(rows, columns, block, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch.or(reflections_scratch::<f32>(rows, block, size)));
    let stack = MemStack::new(&mut memory);
    qr_in_place(a.as_mut(), factors.as_mut(), Par::Seq, stack, Default::default());
    let mut q = Mat::identity(rows, size);
    apply_reflections(a.get(.., ..size), factors.as_ref(), Conj::No, q.as_mut(), Par::Seq, stack);
    q
}

fn product(a: &Mat<f32>, b: &Mat<f32>) -> Mat<f32> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    into(out.as_mut(), a, b);
    out
}
