//! Rows in 8 bits, which decide most comparisons of scores without the exact ones.
//!
//! A row `x` is rotated, `x' = Qx`, and rounded to whole numbers `k` from −127 to 127 with a scale, `x' ≈ σk`. With
//! `z' ≈ τw` for a query,
//!
//! ```text
//! |⟨z, x⟩ − στ⟨w, k⟩| ≤ ‖z‖ ‖x' − σk‖ + ‖z' − τw‖ ‖σk‖
//! ```
//!
//! by Cauchy and Schwarz. A score that is farther than this bound from the score that it is compared with needs no
//! exact product. For 100 coordinates of rows of length 1 and 192 queries, which share τ, the bound is about 0.016 ‖z‖,
//! of which 0.006 ‖z‖ are the row's. The rotation `Q`, a few rounds of sums and differences of pairs, spreads large
//! coordinates over many. Without it the scale is that of the largest coordinate, and the bound is three times as wide.
//!
//! Ranks and hits do not change in a bit: bounds count every rounding in 32 bits, including the rounding of the exact
//! scores, and what they leave undecided is scored exactly.

mod dot;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

pub(crate) use dot::{Bars, compare, supported};
use dsokr_core::Error;
use dsokr_core::store::{CheckedArray, Filling, Stored, Tensor};

/// Largest dimension: sums of products stay whole numbers in 32 bits.
pub(crate) const LARGEST: usize = 1 << 15;
/// Largest score, and smallest norm of a query: nothing overflows when the one is divided by the other.
const FINITE: f32 = 1e30;
const SMALL: f32 = 1e-8;
/// The unit of rounding to 32 bits.
const UNIT: f32 = f32::EPSILON / 2.0;
/// Coordinates that are multiplied and added up at once.
const GROUP: usize = 4;
/// Names of the tensors.
const CODES: &str = "codes";
const NUMBERS: &str = "code_numbers";
/// Queries are padded to a multiple of this, and compared that many at a time.
pub(crate) const LANES: usize = 16;

/// Consecutive distinct rows of a candidate set, with codes of 8 bits in place of coordinates.
#[derive(derive_more::Debug)]
#[debug("CodedBlock({} × {width})", constants.len())]
pub struct CodedBlock<'a> {
    /// Bytes of a row.
    width: usize,
    codes: Cow<'a, [i8]>,
    /// σ, Σk, ‖x' − σk‖ and ‖x‖ of each row.
    numbers: Cow<'a, [[f32; 4]]>,
    /// The share of ‖x‖ that roundings add to a bound.
    slack: f32,
    /// The largest ‖x‖, and the largest |b|.
    largest: (f32, f32),
    pub(crate) constants: Cow<'a, [f32]>,
    pub(crate) multiplicities: Cow<'a, [u32]>,
}

/// Codes of rows `[n × p]`, `[n × width]`, and the numbers of each row: σ, Σk, ‖x' − σk‖ and ‖x‖, the last
/// two rounded up.
pub(crate) struct Coded {
    codes: Vec<i8>,
    numbers: Vec<[f32; 4]>,
}

/// Codes of candidates in a mapped file, verified as they are read.
#[derive(Debug)]
pub(crate) struct StoredCodes {
    dim: usize,
    codes: CheckedArray<u8>,
    numbers: CheckedArray<f32>,
}

/// The queries of a tile in 8 bits, divided by their norms: `z' ≈ ‖z‖ τw`.
pub(crate) struct TileCodes {
    /// Codes + 128, four coordinates of each lane in turn, by groups of [`LANES`].
    codes: Vec<u8>,
    /// Number of queries.
    count: usize,
    /// Codes of a group of lanes.
    width: usize,
    /// τ, of all lanes.
    scale: f32,
    /// 1 / ‖z‖, one a lane; 0 for queries that are nearly 0, which are always in doubt.
    inverse: Vec<f32>,
    /// The largest ‖z'/‖z‖ − τw‖.
    error: f32,
    /// The largest ‖z‖.
    largest: f32,
}

/// Comparisons that the bound does not decide, or that ask for the score, of a row and the queries of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubt {
    /// The row, from the first of the block.
    pub row: u32,
    /// A bit for each query of the group.
    pub lanes: u16,
    /// A bit for each of these whose row is counted already, because its score is surely above the bar.
    pub counted: u16,
}

/// Returns the number of bytes of a row of p coordinates.
fn width(dim: usize) -> usize {
    dim.next_multiple_of(GROUP)
}

impl Coded {
    pub(crate) fn new(dim: usize, rows: &[f32]) -> Self {
        let width = width(dim);
        let count = rows.len() / dim;
        let mut codes = Vec::with_capacity(count * width);
        let mut numbers = Vec::with_capacity(count);
        let mut rotated = vec![0.0; dim];
        let mut whole = vec![0.0; dim];
        for row in rows.chunks_exact(dim) {
            rotated.copy_from_slice(row);
            rotate(&mut rotated);
            // one that is too small has no inverse
            let most = largest_of(&rotated);
            let scale = if most > 1e-30 { most / 127.0 } else { 0.0 };
            let norm = up(squares(row).sqrt() as f32);
            let error = round(&rotated, scale, &mut whole);
            let start = codes.len();
            codes.extend(whole.iter().map(|&code| code as i8));
            codes.resize(start + width, 0);
            numbers.push([scale, whole.iter().sum(), error, norm]);
        }
        Self { codes, numbers }
    }

    /// Returns `codes` U8 `[k, width]`, the bytes of signed numbers, and `code_numbers` F32 `[k, 4]` of k rows, to be filled.
    pub(crate) fn tensors(rows: usize, dim: usize) -> [Tensor<'static>; 2] {
        [
            Tensor::to_fill::<u8>(CODES, &[rows, width(dim)]),
            Tensor::to_fill::<f32>(NUMBERS, &[rows, 4]),
        ]
    }

    /// Appends these rows to the tensors.
    pub(crate) fn append(&self, filling: &mut Filling) -> Result<(), Error> {
        filling.append(CODES, &self.codes)?;
        filling.append(NUMBERS, self.numbers.as_flattened())
    }
}

impl StoredCodes {
    /// Returns whether a file has codes.
    pub(crate) fn are_in(stored: &Stored) -> bool {
        stored.has(CODES)
    }

    /// Creates the codes of k rows of p coordinates, where the file has them.
    pub(crate) fn read(
        stored: &Arc<Stored>,
        rows: usize,
        dim: usize,
    ) -> Result<Option<Self>, Error> {
        if !Self::are_in(stored) {
            return Ok(None);
        }
        let codes = stored.checked_array::<u8>(CODES, 2)?;
        let codes = codes.filter(|(shape, _)| *shape == [rows, width(dim)]);
        let numbers = stored.checked_array::<f32>(NUMBERS, 2)?;
        let numbers = numbers.filter(|(shape, _)| *shape == [rows, 4]);
        let expected = || format!("those of {rows} rows of {dim} coordinates, in blocks");
        let message = || format!("{CODES} or {NUMBERS} are not {}", expected());
        let wrong = || Error::file(stored.path(), message());
        let ((_, codes), (_, numbers)) = codes.zip(numbers).ok_or_else(wrong)?;
        Ok(Some(Self { dim, codes, numbers }))
    }

    /// Returns the codes of some rows, or none where scores might overflow.
    pub(crate) fn block<'a>(
        &'a self,
        rows: Range<usize>,
        constants: &'a [f32],
        multiplicities: Vec<u32>,
    ) -> Result<Option<CodedBlock<'a>>, Error> {
        let width = width(self.dim);
        let codes =
            self.codes.get(rows.start * width..rows.end * width, |_, _| Ok::<_, Error>(()))?;
        let numbers = self.numbers.get(4 * rows.start..4 * rows.end, |_, _| Ok::<_, Error>(()))?;
        let codes = Cow::Borrowed(bytemuck::cast_slice(codes));
        let numbers = numbers.as_chunks().0.into();
        let constants = constants.into();
        Ok(CodedBlock::from_coded(self.dim, codes, numbers, constants, multiplicities.into()))
    }
}

impl<'a> CodedBlock<'a> {
    /// Creates the codes of rows `[n × p]`, or none for rows so large that their scores might overflow.
    pub(crate) fn new(
        dim: usize,
        rows: &[f32],
        constants: Cow<'a, [f32]>,
        multiplicities: Cow<'a, [u32]>,
    ) -> Option<Self> {
        let Coded { codes, numbers } = Coded::new(dim, rows);
        Self::from_coded(dim, codes.into(), numbers.into(), constants, multiplicities)
    }

    /// Creates the bounds of [`Coded`] rows, like [`new`](Self::new).
    fn from_coded(
        dim: usize,
        codes: Cow<'a, [i8]>,
        numbers: Cow<'a, [[f32; 4]]>,
        constants: Cow<'a, [f32]>,
        multiplicities: Cow<'a, [u32]>,
    ) -> Option<Self> {
        const SIGN: u32 = 1 << 31;
        // as integers, the bits of what is negative, infinite or not a number are greater than those of all others
        let mut most = [0; 4];
        for bounds in &numbers[..] {
            let bits = bounds.map(f32::to_bits);
            let bits = [bits[0], bits[1] & !SIGN, bits[2], bits[3]];
            most = std::array::from_fn(|at| most[at].max(bits[at]));
        }
        let constant = constants
            .iter()
            .fold(0, |most, constant_of_row| (constant_of_row.to_bits() & !SIGN).max(most));
        let [scale, sum, error, norm] = most;
        let finite = [scale, error, norm, constant].iter().all(|&most| most < FINITE.to_bits());
        let whole = sum <= ((127 * LARGEST) as f32).to_bits();
        let largest = (f32::from_bits(norm), f32::from_bits(constant));
        let width = width(dim);
        let slack = slack(dim);
        let usable = finite && whole && dim <= LARGEST;
        usable.then_some(Self { width, codes, numbers, slack, largest, constants, multiplicities })
    }

    /// Returns whether every score with the queries of a tile is finite.
    pub(crate) fn finite_with(&self, tile: &TileCodes) -> bool {
        tile.largest * self.largest.0 + self.largest.1 < FINITE
    }
}

impl TileCodes {
    /// Creates the codes of up to a tile of queries `[q × p]`, padded with queries of zeros.
    pub(crate) fn new(dim: usize, queries: &[f32]) -> Self {
        let count = queries.len() / dim;
        let lanes = count.next_multiple_of(LANES);
        let width = width(dim) * LANES;
        let mut inverse = vec![0.0; lanes];
        let mut units = queries.to_vec();
        let mut norm = 0.0f32;
        let mut largest = 0.0f32;
        for (unit, inverse) in units.chunks_exact_mut(dim).zip(&mut inverse) {
            let length = squares(unit).sqrt() as f32;
            *inverse = if length > SMALL { 1.0 / length } else { 0.0 };
            unit.iter_mut().for_each(|value| *value *= *inverse);
            rotate(unit);
            norm = norm.max(length);
            largest = largest.max(largest_of(unit));
        }
        let scale = largest / 127.0;
        let mut codes = vec![128; lanes / LANES * width];
        let mut error = 0.0f32;
        let mut whole = vec![0.0; dim];
        for (lane, unit) in units.chunks_exact(dim).enumerate() {
            error = error.max(round(unit, scale, &mut whole));
            let group = &mut codes[lane / LANES * width..];
            for (at, &code) in whole.iter().enumerate() {
                let place = (at / GROUP * LANES + lane % LANES) * GROUP + at % GROUP;
                group[place] = (code + 128.0) as u8;
            }
        }
        Self { codes, count, width, scale, inverse, error, largest: up(norm) }
    }
}

/// Computes `Σ x²`
fn squares(row: &[f32]) -> f64 {
    row.iter().map(|&value| f64::from(value) * f64::from(value)).sum()
}

fn largest_of(row: &[f32]) -> f32 {
    row.iter().fold(0.0, |largest, value| largest.max(value.abs()))
}

/// Returns a value from 0 on, made larger by more than a rounding.
fn up(value: f32) -> f32 {
    value * (1.0 + 4.0 * UNIT)
}

/// Writes whole numbers `k` for a rotated row into `whole`. Returns how far σk is from the row, rounded up.
fn round(rotated: &[f32], scale: f32, whole: &mut [f32]) -> f32 {
    /// Numbers of at most 22 bits lose their fraction when this is added.
    const WHOLE: f32 = 1.5 * (1u32 << 23) as f32;
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    let mut missed = 0.0f64;
    for (whole, &value) in whole.iter_mut().zip(rotated) {
        *whole = ((value * inverse + WHOLE) - WHOLE).clamp(-127.0, 127.0);
        let rest = f64::from(value) - f64::from(scale) * f64::from(*whole);
        missed += rest * rest;
    }
    up(missed.sqrt() as f32)
}

/// Returns the share of ‖z‖ ‖x‖ that roundings add to a bound: of an exact product of p coordinates, of the sum with
/// its constant, of two rotations with log₂ p rounds, and of the comparison.
fn slack(dim: usize) -> f32 {
    let rounds = dim.next_power_of_two().ilog2();
    (1.05 * dim as f32 + 16.0 * rounds as f32 + 64.0) * UNIT
}

/// Applies an orthogonal map, by rounds of `(a + b) / √2` and `(a − b) / √2` for pairs at distances 1, 2, 4 and so on.
fn rotate(row: &mut [f32]) {
    const HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;
    let mut distance = 1;
    while distance < row.len() {
        for pairs in row.chunks_mut(2 * distance) {
            let (first, second) = pairs.split_at_mut(distance.min(pairs.len()));
            for (a, b) in first.iter_mut().zip(second) {
                (*a, *b) = ((*a + *b) * HALF, (*a - *b) * HALF);
            }
        }
        distance *= 2;
    }
}
