//! Vectors that are drawn: the papers' synthetic least squares.

use std::collections::BTreeMap;

use dsokr_basis::Features;
use dsokr_basis::features::DenseRows;
use dsokr_basis::random::{Generator, generator};
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

use super::{Dataset, Outputs, Split};
use crate::config::{SplitName, SyntheticConfig, SyntheticMap};
use crate::{Error, FittedFeatures, Inputs};

/// Rows that are drawn from one generator.
const ROWS: usize = 512;

/// `C^{1/2}`, H and `E^{1/2}`, all in single precision: they are what the data are drawn from.
struct World<'a> {
    config: &'a SyntheticConfig,
    seed: u64,
    inputs: Mat<f32>,
    map: Mat<f32>,
    /// None if noise is the same in all directions.
    noise: Option<Mat<f32>>,
}

/// Draws all pairs and outputs of a configuration.
pub(super) fn load(config: &SyntheticConfig, seed: u64) -> Result<Dataset, Error> {
    let world = World::new(config, seed);
    let counts = [config.train, config.validation, config.test, config.unlabelled];
    let mut outputs = Vec::with_capacity(counts.iter().sum::<usize>() * config.outputs);
    let mut start = 0;
    let mut split = |part: usize| {
        let (split, rows) = world.split(part, start, counts[part])?;
        outputs.extend(rows);
        start += counts[part];
        Ok::<_, Error>(split)
    };
    let (train, validation, test) = (split(0)?, split(1)?, split(2)?);
    let unlabelled = split(3)?;
    let ids: Vec<String> = [&train, &validation, &test, &unlabelled]
        .iter()
        .flat_map(|split| split.ids.iter().cloned())
        .collect();
    let held = config.train..config.train + config.validation + config.test;
    let outputs = Outputs {
        labels: vec![String::new(); ids.len()],
        ids,
        rows: Box::new(Features::Dense(DenseRows::new(config.outputs, outputs)?)),
        candidates: held.collect(),
        truth: None,
        features: FittedFeatures::fixed(config.outputs),
    };
    let test = (config.test > 0).then_some(test);
    Ok(Dataset { outputs, train, validation, test, skipped: BTreeMap::new() })
}

/// The pairs of one split alone; none if there is no such split.
pub(super) fn read_split(
    config: &SyntheticConfig,
    seed: u64,
    name: SplitName,
) -> Result<Option<Split>, Error> {
    let (part, start, count) = match name {
        SplitName::Validation => (1, config.train, config.validation),
        SplitName::Test if config.test > 0 => (2, config.train + config.validation, config.test),
        SplitName::Test => return Ok(None),
    };
    let (split, _) = World::new(config, seed).split(part, start, count)?;
    Ok(Some(Split { outputs: vec![None; count], ..split }))
}

impl<'a> World<'a> {
    fn new(config: &'a SyntheticConfig, seed: u64) -> Self {
        let (from, to) = (config.inputs, config.outputs);
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

    /// Inputs of `count` pairs with ids from `start + 1`, and their outputs, row-major. What is drawn
    /// depends on the part alone, so that a split can be drawn without the others.
    fn split(&self, part: usize, start: usize, count: usize) -> Result<(Split, Vec<f32>), Error> {
        let purpose = ["train", "validation", "test", "unlabelled"][part];
        let (from, to) = (self.config.inputs, self.config.outputs);
        let (mut x, mut y) = (vec![0.0f32; count * from], vec![0.0f32; count * to]);
        let blocks = x.par_chunks_mut(ROWS * from).zip(y.par_chunks_mut(ROWS * to)).enumerate();
        blocks.for_each(|(block, (x, y))| {
            let rows = x.len() / from;
            let mut random = generator(self.seed, &format!("synthetic {purpose}"), block as u64);
            // columns are rows of the data
            let x = MatMut::from_column_major_slice_mut(x, from, rows);
            let mut y = MatMut::from_column_major_slice_mut(y, to, rows);
            let drawn = normal(from, rows, &mut random);
            let x = into(x, &self.inputs, &drawn);
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
        let inputs = Inputs::Vectors(Features::Dense(DenseRows::new(from, x)?));
        Ok((Split::new(ids, inputs, (start..start + count).map(Some).collect()), y))
    }
}

fn into<'a>(mut out: MatMut<'a, f32>, a: &Mat<f32>, b: &Mat<f32>) -> MatRef<'a, f32> {
    matmul(out.rb_mut(), Accum::Replace, a.as_ref(), b.as_ref(), 1.0, Par::Seq);
    out.into_const()
}

/// Independent standard normal entries.
fn normal(rows: usize, columns: usize, random: &mut Generator) -> Mat<f32> {
    Mat::from_fn(rows, columns, |_, _| StandardNormal.sample(random))
}

/// `V diag(s)` with random orthonormal V: a root of the covariance `V diag(s²) Vᵀ`.
fn root(size: usize, deviation: impl Fn(usize) -> f64, random: &mut Generator) -> Mat<f32> {
    let mut root = orthonormal(normal(size, size, random));
    for (j, column) in root.col_iter_mut().enumerate() {
        let deviation = deviation(j) as f32;
        column.iter_mut().for_each(|value| *value *= deviation);
    }
    root
}

/// The factor Q of `A = QR`, with as many columns as A has, or rows where it has fewer.
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
    let reflections = a.get(.., ..size);
    apply_reflections(reflections, factors.as_ref(), Conj::No, q.as_mut(), Par::Seq, stack);
    q
}

fn product(a: &Mat<f32>, b: &Mat<f32>) -> Mat<f32> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    matmul(out.as_mut(), Accum::Replace, a.as_ref(), b.as_ref(), 1.0, Par::Seq);
    out
}
