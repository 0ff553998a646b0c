use std::sync::Arc;

use dsokr_core::{Cancellation, Error, Processes};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use super::algebra::{Eigen, Number, leading, multiply};
use super::{Basis, Projector};
use crate::features::{self, Block, Features, RowKind, RowSource, SparseRows, product};
use crate::kernel::{Kernel, OutputKernel, zero_rows};
use crate::sketch::{COLUMNS, Columns, Sketch, SketchOptions};

/// Largest `m · d` for which `R Φ` is formed (512 MiB in `f64`); beyond it anchors are kept instead.
const LINEAR_ELEMENTS: usize = 1 << 26;

/// Memory for what is in flight between two sums, beyond one block a thread.
const WAVE_BYTES: usize = 8 << 20;

/// Elements of a sum that one task adds up.
const CHUNK: usize = 4096;

impl Basis {
    /// Creates the basis of a drawn sketch of the rows; see [`Basis::fit`].
    pub(crate) fn from_sketch(
        processes: &Processes,
        kernel: Arc<dyn OutputKernel>,
        rows: &dyn RowSource,
        drawn: &Sketch,
        tolerance: f64,
    ) -> Result<Self, Error> {
        let kind = rows.kind();
        let width = rows.width();
        let linear = kernel.feature_scale(1.0).is_some()
            && drawn.m().checked_mul(width).is_some_and(|elements| elements <= LINEAR_ELEMENTS);
        let (spectrum, map) = if linear {
            fit_linear(processes, kernel.as_ref(), rows, drawn, tolerance)?
        } else {
            fit_nystrom(processes, kernel.as_ref(), rows, drawn, tolerance)?
        };
        Ok(Self {
            kernel,
            options: SketchOptions {
                kind: drawn.kind.clone(),
                size: drawn.m(),
                seed: drawn.seed,
                tolerance,
            },
            trained_rows: rows.len(),
            spectrum,
            kind,
            width,
            map,
            tempered: None,
        })
    }
}

fn fit_linear(
    processes: &Processes,
    kernel: &dyn OutputKernel,
    rows: &dyn RowSource,
    sketch: &Sketch,
    tolerance: f64,
) -> Result<(Vec<f64>, Projector), Error> {
    let m = sketch.m();
    let d = rows.width();
    let (sketched, zero) = sketched_features(processes, kernel, rows, sketch)?;
    let mut sketched = match rows.kind() {
        RowKind::Dense => MatRef::from_row_major_slice(&sketched, m, d),
        RowKind::Bits | RowKind::Sparse => MatRef::from_column_major_slice(&sketched, m, d),
    };
    // the feature of the zero row behind the others
    let joined;
    if !zero.is_empty() {
        let element = |i: usize, j: usize| if j < d { sketched[(i, j)] } else { zero[i] };
        joined = Mat::from_fn(m, d + 1, element);
        sketched = joined.as_ref();
    }
    // The smaller of (RΦ)(RΦ)ᵀ and (RΦ)ᵀ(RΦ), which share their eigenvalues above 0.
    let by_rows = m <= sketched.ncols();
    let left = sketched;
    let right = sketched.transpose();
    let gram = if by_rows { multiply(left, right) } else { multiply(right, left) };
    let Eigen { values: spectrum, vectors: mut columns } = leading(gram, tolerance)?;
    if by_rows {
        columns = Eigen::over_roots(&spectrum, multiply(right, columns.as_ref()));
    }
    let features = columns.subrows(0, d);
    let matrix: Vec<f32> =
        features.col_iter().flat_map(|column| column.iter().map(|&v| v as f32)).collect();
    let below = columns.subrows(d, columns.nrows() - d);
    let zero = below.row_iter().flat_map(|row| row.iter().map(|&v| v as f32)).collect();
    Ok((spectrum, Projector::linear(matrix, zero, d, rows.kind())))
}

impl Projector {
    /// Creates the projector from M, p × d row-major, and ψ̃(0).
    pub(super) fn linear(matrix: Vec<f32>, zero: Vec<f32>, width: usize, kind: RowKind) -> Self {
        let dimension = matrix.len() / width;
        let transposed = match kind {
            RowKind::Dense => Vec::new(),
            RowKind::Bits | RowKind::Sparse => (0..matrix.len())
                .map(|at| matrix[at % dimension * width + at / dimension])
                .collect(),
        };
        Self::Linear { matrix, transposed, zero }
    }
}

/// `R Φ`, m × d, row-major for dense rows, else with m contiguous; Φ holds the scaled rows. Also the sum of the
/// columns of R that belong to zero rows, m numbers, where these have a feature of their own and some of the
/// numbers are not 0; else empty.
fn sketched_features(
    processes: &Processes,
    kernel: &dyn OutputKernel,
    rows: &dyn RowSource,
    sketch: &Sketch,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let m = sketch.m();
    let d = rows.width();
    let stage = Cancellation::current().stage("sketched Gram matrix", sketch.blocks());
    let dense = rows.kind() == RowKind::Dense;
    // the elements that this process adds up
    let columns = processes.part_in_blocks(d, product::SPAN);
    let sparse = m * columns.start..m * columns.end;
    let share = if dense { processes.part(m * d) } else { sparse };
    let mut sum = vec![0.0f64; share.len()];
    let mut zero = Vec::new();
    let bytes = size_of::<f32>() * (m * COLUMNS + if dense { m * d } else { 0 });
    let wave = wave(processes, bytes)?;
    for start in (0..sketch.blocks()).step_by(wave) {
        let rank_blocks = processes.part(wave.min(sketch.blocks() - start));
        let blocks =
            (start + rank_blocks.start..start + rank_blocks.end).into_par_iter().map(|block| {
                stage.advance(1)?;
                let mut columns = sketch.columns(block);
                if columns.is_empty() {
                    return Ok(None);
                }
                let rows = read(kernel, rows, &columns.rows)?;
                // the sum of the columns of zero rows
                let zeros = zero_rows(kernel, &rows);
                let mut zero = vec![0.0; if zeros.is_empty() { 0 } else { m }];
                for row in zeros {
                    let column = &columns.values[row * m..(row + 1) * m];
                    zero.iter_mut().zip(column).for_each(|(sum, &value)| *sum += f64::from(value));
                }
                let (scales, rows) = match kernel.built_in() {
                    Some(Kernel::Linear) => (Vec::new(), rows),
                    _ => f32::scales_and_rows(kernel, rows),
                };
                for (column, scale) in columns.values.chunks_exact_mut(m).zip(scales) {
                    column.iter_mut().for_each(|value| *value *= scale);
                }
                // the product of dense rows, the factors of others
                Ok(Some(match rows {
                    Block::Dense(rows) => {
                        (product::sketch_dense(&columns.values, m, &rows), None, zero)
                    }
                    rows => (columns.values, Some(rows), zero),
                }))
            });
        let parts = blocks.collect::<Result<Vec<_>, Error>>()?;
        let mut sums = Vec::new();
        let mut factors = Vec::new();
        let mut zeros = Vec::new();
        for (values, rows, zero) in parts.into_iter().flatten() {
            zeros.extend(zero);
            match rows {
                None => sums.push(values),
                Some(rows) => factors.push((values, rows)),
            }
        }
        for part in processes.gather_numbers(&zeros)?.concat().chunks_exact(m) {
            zero.resize(m, 0.0);
            zero.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        if dense {
            sums = processes.divide(sums, m * d)?.into_iter().flatten().collect();
        } else if processes.size() > 1 {
            factors = gather(processes, factors, d)?;
        }
        // Every element is summed in the order of the blocks, whoever computed them.
        sum.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, sum)| {
            for part in &sums {
                let part = &part[chunk * CHUNK..];
                sum.iter_mut().zip(part).for_each(|(sum, &part)| *sum += f64::from(part));
            }
        });
        if !factors.is_empty() {
            product::sketch_sparse(&factors, m, share.start / m, &mut sum);
        }
    }
    if zero.iter().all(|&value| value == 0.0) {
        zero.clear();
    }
    Ok((processes.join(sum)?, zero))
}

/// Blocks of all ranks that are computed between two sums; a block takes so many bytes.
fn wave(processes: &Processes, bytes: usize) -> Result<usize, Error> {
    let blocks_of_rank = rayon::current_num_threads().max(WAVE_BYTES / bytes);
    // ranks may have different numbers of threads
    Ok(processes.broadcast_number(blocks_of_rank as u64)? as usize * processes.size())
}

/// Returns the factors of all processes, each as one block of sparse rows.
fn gather(
    processes: &Processes,
    rank_blocks: Vec<(Vec<f32>, Block)>,
    width: usize,
) -> Result<Vec<(Vec<f32>, Block<'static>)>, Error> {
    let mut weights = Vec::new();
    let mut rows = SparseRows::empty(width)?;
    for (block_weights, block) in rank_blocks {
        weights.extend(block_weights);
        rows.append(&block.to_sparse(0..width)?);
    }
    let weights = processes.gather_numbers(&weights)?.into_iter();
    Ok(weights.zip(rows.gather(processes)?.into_iter().map(Block::Sparse)).collect())
}

/// Returns the rows of the given increasing indices, checked by the kernel; borrowed when they are consecutive.
fn read<'a>(
    kernel: &dyn OutputKernel,
    rows: &'a dyn RowSource,
    indices: &[usize],
) -> Result<Block<'a>, Error> {
    let block = match indices {
        &[first, .., last] if last - first + 1 == indices.len() => {
            features::read(rows, first..last + 1)?
        }
        _ => rows.select(indices)?,
    };
    kernel.check(&block).map_err(|error| error.at_rows(|row| indices[row]))?;
    Ok(block)
}

fn fit_nystrom(
    processes: &Processes,
    kernel: &dyn OutputKernel,
    rows: &dyn RowSource,
    sketch: &Sketch,
    tolerance: f64,
) -> Result<(Vec<f64>, Projector), Error> {
    let m = sketch.m();
    let blocks = (0..sketch.blocks()).into_par_iter().map(|block| sketch.columns(block));
    let blocks: Vec<Columns> = blocks.filter(|columns| !columns.is_empty()).collect();
    let mut anchors = Features::empty(rows.kind(), rows.width())?;
    let mut starts = vec![0];
    for columns in &blocks {
        anchors.append(&read(kernel, rows, &columns.rows)?)?;
        starts.push(anchors.len());
    }
    let mixing = |Columns { rows, values }: Columns| {
        Mat::from_fn(m, rows.len(), |i, j| f64::from(values[j * m + i]))
    };
    let mixing: Vec<Mat<f64>> = blocks.into_iter().map(mixing).collect();
    let part = |block: usize| anchors.block(starts[block]..starts[block + 1]);

    // K̃ = S + Sᵀ, S = Σ_I W_I (½ K_II W_Iᵀ + Σ_{J>I} K_IJ W_Jᵀ): each K_IJ is formed once.
    let pairs = mixing.len() * (mixing.len() + 1) / 2;
    let stage = Cancellation::current().stage("sketched Gram matrix", pairs);
    let mut half = vec![0.0; processes.part(m * m).len()];
    let wave = wave(processes, size_of::<f64>() * m * m)?;
    let order: Vec<usize> = (0..mixing.len()).collect();
    for wave in order.chunks(wave) {
        // the first blocks have the most to be multiplied with
        let rank_pairs: Vec<usize> =
            wave.iter().copied().skip(processes.rank()).step_by(processes.size()).collect();
        let parts: Vec<Vec<f64>> = rank_pairs
            .into_par_iter()
            .map(|i| {
                let rows = part(i)?;
                let mut mixed = Mat::<f64>::zeros(rows.len(), m);
                for (j, mixing) in mixing.iter().enumerate().skip(i) {
                    stage.advance(1)?;
                    let gram = kernel.block(&rows, &part(j)?)?;
                    let weight = if i == j { 0.5 } else { 1.0 };
                    let out = mixed.as_mut();
                    matmul(out, Accum::Add, gram.as_ref(), mixing.transpose(), weight, Par::Seq);
                }
                let part = multiply(mixing[i].as_ref(), mixed.as_ref());
                Ok(part.col_iter().flat_map(|column| column.iter().copied()).collect())
            })
            .collect::<Result<_, Error>>()?;
        let parts = processes.divide(parts, m * m)?;
        for at in 0..wave.len() {
            // none of a process without elements
            if let Some(part) = parts[at % processes.size()].get(at / processes.size()) {
                half.iter_mut().zip(part).for_each(|(half, part)| *half += part);
            }
        }
    }
    let half = processes.join(half)?;
    let half = MatRef::from_column_major_slice(&half, m, m);
    let Eigen { values, vectors } = leading(half + half.transpose(), tolerance)?;
    let dimension = values.len();
    let mut weights = vec![0.0; anchors.len() * dimension];
    for (at, mixing) in mixing.iter().enumerate() {
        // A column of Ω W_I is the p weights of one anchor.
        let columns = multiply(vectors.transpose(), mixing.as_ref());
        let out =
            weights[starts[at] * dimension..starts[at + 1] * dimension].chunks_exact_mut(dimension);
        for (out, column) in out.zip(columns.col_iter()) {
            for ((out, &weight), value) in out.iter_mut().zip(column.iter()).zip(&values) {
                *out = weight / value.sqrt();
            }
        }
    }
    Ok((values, Projector::Anchored { weights, anchors }))
}
