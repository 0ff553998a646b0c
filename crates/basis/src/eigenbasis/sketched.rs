//! The sketched covariance, from which a basis is decomposed: by sketched features, or by anchors (Nyström).

use std::ops::Range;
use std::sync::Arc;

use dsokr_core::{Cancellation, Error, Processes};
use faer::{ColRef, Mat, MatMut, MatRef};
use rayon::prelude::*;

use super::algebra::{Eigen, Number, check_finite, gram_of_rows, leading, multiply_wide};
use super::{Basis, Projector};
use crate::features::{self, Block, Features, RowKind, RowSource, product};
use crate::kernel::{Kernel, OutputKernel, gram, zero_rows};
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
    let transposed = sketched.transpose();
    let gram = if by_rows { gram_of_rows(sketched) } else { gram_of_rows(transposed) };
    let Eigen { values: spectrum, vectors: mut columns } = leading(gram, tolerance)?;
    if by_rows {
        columns = Eigen::over_roots(&spectrum, multiply_wide(transposed, columns.as_ref()));
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
            RowKind::Bits | RowKind::Sparse => {
                let mut transposed = vec![0.0; matrix.len()];
                let columns = transposed.par_chunks_mut(dimension.max(1)).enumerate();
                columns.for_each(|(column, out)| {
                    let values = matrix[column..].iter().step_by(width);
                    out.iter_mut().zip(values).for_each(|(out, &value)| *out = value);
                });
                transposed
            }
        };
        Self::Linear { matrix, transposed, zero }
    }
}

/// Returns `R Φ`, m × d, row-major for dense rows, else with m contiguous; Φ holds the scaled rows. Also the sum of the
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
    let few = sketch.kind.has_few_entries();
    // the elements that this process adds up: with m contiguous whole columns, of few entries whole rows
    let share = if !dense {
        elements(processes.part_in_blocks(d, product::SPAN), m)
    } else if few {
        elements(processes.part(m), d)
    } else {
        processes.part(m * d)
    };
    let mut sum = vec![0.0f64; share.len()];
    let mut zero = Vec::new();
    let wave = wave(processes, bytes_of_block(m, d, dense, few))?;
    for start in (0..sketch.blocks()).step_by(wave) {
        let rank_blocks = processes.part(wave.min(sketch.blocks() - start));
        let blocks =
            (start + rank_blocks.start..start + rank_blocks.end).into_par_iter().map(|block| {
                stage.advance(1)?;
                part_of_block(kernel, rows, sketch, block)
            });
        let parts = blocks.collect::<Result<Vec<_>, Error>>()?;
        let mut sums = Vec::new();
        let mut factors = Vec::new();
        let mut zeros = Vec::new();
        for (part, zero) in parts.into_iter().flatten() {
            zeros.extend(zero);
            match part {
                Part::Product(values) => sums.push(values),
                Part::Factors(columns, rows) => factors.push((columns, rows)),
            }
        }
        for part in processes.gather_numbers(&zeros)?.concat().chunks_exact(m) {
            zero.resize(m, 0.0);
            zero.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        if dense && !few {
            sums = processes.divide(sums, m * d)?.into_iter().flatten().collect();
        } else if processes.size() > 1 {
            factors = gather(processes, factors, sketch, rows)?;
        }
        // Every element is summed in the order of the blocks, whoever computed them.
        sum.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, sum)| {
            for part in &sums {
                let part = &part[chunk * CHUNK..];
                sum.iter_mut().zip(part).for_each(|(sum, &part)| *sum += f64::from(part));
            }
        });
        if dense {
            product::sketch_dense_rows(&factors, d, share.start / d, &mut sum);
        } else {
            product::sketch_other_rows(&factors, m, share.start / m, &mut sum);
        }
    }
    if zero.iter().all(|&value| value == 0.0) {
        zero.clear();
    }
    Ok((processes.join(sum)?, zero))
}

/// Returns the part of `R Φ` of a block of columns of R, and the sum of those of its columns that belong to zero rows; empty
/// where there are none. `None` of a block without columns.
fn part_of_block<'r>(
    kernel: &dyn OutputKernel,
    rows: &'r dyn RowSource,
    sketch: &Sketch,
    block: usize,
) -> Result<Option<(Part<'r>, Vec<f64>)>, Error> {
    let m = sketch.m();
    let Columns { rows: outputs, values: mut columns } = sketch.columns(block);
    if outputs.is_empty() {
        return Ok(None);
    }
    let rows = read(kernel, rows, &outputs)?;
    let zeros = zero_rows(kernel, &rows);
    let mut zero = vec![0.0; if zeros.is_empty() { 0 } else { m }];
    for row in zeros {
        columns.entries(row, 0..m, |at, value| zero[at] += f64::from(value));
    }
    let rows = if kernel.built_in() == Some(&Kernel::Linear) {
        rows
    } else {
        let (scales, rows) = f32::scales_and_rows(kernel, rows);
        let scales: Vec<f64> = scales.into_iter().map(f64::from).collect();
        columns = columns.scaled(&scales);
        rows
    };
    // the product of dense rows with a dense sketch, the factors of others
    if let (Block::Dense(columns), Block::Dense(rows)) = (&columns, &rows) {
        let product = product::sketch_dense(columns, rows);
        return Ok(Some((Part::Product(product), zero)));
    }
    Ok(Some((Part::Factors(columns, rows), zero)))
}

/// A part of a sum of products.
enum Part<'a> {
    /// `R_B Φ_B`, m × d row-major.
    Product(Vec<f32>),
    /// The columns of R, and the rows that they belong to.
    Factors(Features, Block<'a>),
}

/// Returns the elements of some rows of so many numbers.
fn elements(rows: Range<usize>, numbers: usize) -> Range<usize> {
    rows.start * numbers..rows.end * numbers
}

/// Returns the bytes that one block of columns takes with its rows or their product.
fn bytes_of_block(m: usize, d: usize, dense: bool, few: bool) -> usize {
    let columns = if few { COLUMNS } else { m * COLUMNS };
    let rows = if !dense {
        0
    } else if few {
        COLUMNS * d
    } else {
        m * d
    };
    size_of::<f32>() * (columns + rows)
}

/// Returns the number of blocks of all ranks that are computed between two sums; a block takes so many bytes.
fn wave(processes: &Processes, bytes: usize) -> Result<usize, Error> {
    let blocks_of_rank = rayon::current_num_threads().max(WAVE_BYTES / bytes);
    // ranks may have different numbers of threads
    Ok(processes.broadcast_number(blocks_of_rank as u64)? as usize * processes.size())
}

/// Returns the factors of all processes of the sketch of some rows, the columns of R as one block and the rows as one of dense
/// or sparse rows.
fn gather(
    processes: &Processes,
    rank_blocks: Vec<(Features, Block)>,
    sketch: &Sketch,
    rows: &dyn RowSource,
) -> Result<Vec<(Features, Block<'static>)>, Error> {
    let column_kind = if sketch.kind.has_few_entries() { RowKind::Sparse } else { RowKind::Dense };
    let row_kind = match rows.kind() {
        RowKind::Dense => RowKind::Dense,
        RowKind::Bits | RowKind::Sparse => RowKind::Sparse,
    };
    let width = rows.width();
    let mut columns = Features::empty(column_kind, sketch.m())?;
    let mut rows = Features::empty(row_kind, width)?;
    for (block_columns, block) in rank_blocks {
        columns.append(&block_columns)?;
        match block {
            Block::Dense(_) => rows.append(&block)?,
            Block::Bits(_) | Block::Sparse(_) => rows.append(&block.to_sparse(0..width)?.into())?,
        }
    }
    Ok(columns.gather(processes)?.into_iter().zip(rows.gather(processes)?).collect())
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
    let (outputs, mixing) = sketch.mixed_anchors();
    let mut anchors = Features::empty(rows.kind(), rows.width())?;
    let parts: Vec<Range<usize>> = features::ranges(0..outputs.len(), COLUMNS).collect();
    for part in &parts {
        anchors.append(&read(kernel, rows, &outputs[part.clone()])?)?;
    }

    // K̃ = S + Sᵀ, S = Σ_I W_I (½ K_II W_Iᵀ + Σ_{J>I} K_IJ W_Jᵀ): each K_IJ is formed once.
    let pairs = parts.len() * (parts.len() + 1) / 2;
    let stage = Cancellation::current().stage("sketched Gram matrix", pairs);
    let mut half = vec![0.0; processes.part(m * m).len()];
    let wave = wave(processes, size_of::<f64>() * m * m)?;
    let order: Vec<usize> = (0..parts.len()).collect();
    for wave in order.chunks(wave) {
        // the first blocks have the most to be multiplied with
        let rank_pairs: Vec<usize> =
            wave.iter().copied().skip(processes.rank()).step_by(processes.size()).collect();
        let sums: Vec<Vec<f64>> = rank_pairs
            .into_par_iter()
            .map(|i| {
                let rows = anchors.block(parts[i].clone())?;
                let mut mixed = Mat::<f64>::zeros(rows.len(), m);
                for (j, part) in parts.iter().enumerate().skip(i) {
                    stage.advance(1)?;
                    let gram = gram(kernel, &rows, &anchors.block(part.clone())?)?;
                    check_finite(kernel, gram.as_ref())?;
                    let weight = if i == j { 0.5 } else { 1.0 };
                    mixing.add_mixed_right(part.clone(), gram.as_ref(), weight, mixed.as_mut());
                }
                let mut sum = vec![0.0; m * m];
                let out = MatMut::from_column_major_slice_mut(&mut sum, m, m);
                mixing.add_mixed(parts[i].clone(), mixed.as_ref(), out);
                Ok(sum)
            })
            .collect::<Result<_, Error>>()?;
        let sums = processes.divide(sums, m * m)?;
        for at in 0..wave.len() {
            // none of a process without elements
            if let Some(part) = sums[at % processes.size()].get(at / processes.size()) {
                half.iter_mut().zip(part).for_each(|(half, part)| *half += part);
            }
        }
    }
    let half = processes.join(half)?;
    let half = MatRef::from_column_major_slice(&half, m, m);
    let Eigen { values, vectors } = leading(half + half.transpose(), tolerance)?;
    // Ω = D^{-1/2} Uᵀ, p × m
    let turn = vectors.transpose();
    let kept = mixing.is_worth_keeping(values.len());
    let turned = if kept { turn.to_owned() } else { mixing.turned(turn) };
    let over_roots = |column: ColRef<f64>| -> Vec<f64> {
        column.iter().zip(&values).map(|(weight, value)| weight / value.sqrt()).collect()
    };
    let weights = turned.col_iter().flat_map(over_roots).collect();
    let mixing = kept.then_some(mixing);
    Ok((values, Projector::Anchored { weights, mixing, anchors }))
}
