//! The comparison of codes: AVX-512's dot products of bytes, or the same sums without them.

use super::{Comparison, Doubt, GROUP, LANES, UNIT};

/// Whether dot products of bytes are faster than exact ones.
pub(crate) fn supported() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// A comparison of rows and lanes in the unit of ‖z‖: `⟨w, k⟩ scale + b / ‖z‖ − bar / ‖z‖`, and how far that may be
/// from the exact difference.
pub(super) struct Prepared<'a> {
    comparison: &'a Comparison<'a>,
    rows: Terms,
    /// −bar / ‖z‖, one a lane.
    bars: Vec<f32>,
    /// Whether a constant is not 0.
    constants: bool,
}

/// What the comparison of a row takes beside its codes, its constant and its weight; one a row.
#[derive(Default)]
struct Terms {
    /// −128 Σ k: codes of queries are 128 too large, to have no sign.
    offsets: Vec<i32>,
    scales: Vec<f32>,
    bounds: Vec<f32>,
}

impl Terms {
    /// Those of all rows; the largest |bar| / ‖z‖ and the largest 1 / ‖z‖ of the queries.
    #[inline(always)]
    fn new(comparison: &Comparison, bar: f32, inverse: f32) -> Self {
        let Comparison { tile, rows, constants, .. } = comparison;
        let (slack, count) = (rows.slack, rows.numbers.len());
        let (mut offsets, mut scales, mut bounds) =
            (vec![0; count], vec![0.0; count], vec![0.0; count]);
        let out = offsets.iter_mut().zip(&mut scales).zip(&mut bounds);
        for (((offset, scale), bound), (&[unit, sum, error, norm], constant)) in
            out.zip(rows.numbers.iter().zip(*constants))
        {
            *offset = sum as i32 * -128;
            *scale = unit * tile.scale;
            // ‖x' − σk‖ with what all roundings in 32 bits add to it, and ‖σk‖
            let error = error + slack * norm;
            let norm = norm + error;
            // the last digits of constants and bars count, too, and 1e-35 is more than what is lost by numbers
            // that are too small for all their digits
            *bound = (error + tile.error * norm) * (1.0 + 16.0 * UNIT)
                + 16.0 * UNIT * (constant.abs() * inverse + bar)
                + 1e-35 * inverse;
        }
        Self { offsets, scales, bounds }
    }
}

impl<'a> Prepared<'a> {
    pub(super) fn new(comparison: &'a Comparison<'a>) -> Self {
        let Comparison { tile, rows, constants, weights, bars } = comparison;
        let (count, lanes) = (rows.numbers.len(), tile.inverse.len());
        assert!(lanes.is_multiple_of(LANES) && bars.len() == lanes);
        assert!(constants.len() == count && weights.len() == count);
        assert_eq!(rows.codes.len(), count * rows.width);
        assert_eq!(tile.width, rows.width * LANES);
        let finite = bars.iter().zip(&tile.inverse).filter(|(bar, _)| bar.is_finite());
        let (bar, inverse) = finite.fold((0.0f32, 0.0f32), |(bar, largest), (own, inverse)| {
            (bar.max(own.abs() * inverse), largest.max(*inverse))
        });
        #[cfg(target_arch = "x86_64")]
        let rows = match supported() {
            // SAFETY: the processor has the instructions
            true => unsafe { x86::terms(comparison, bar, inverse) },
            false => Terms::new(comparison, bar, inverse),
        };
        #[cfg(not(target_arch = "x86_64"))]
        let rows = Terms::new(comparison, bar, inverse);
        let bars = bars.iter().zip(&tile.inverse).map(|(bar, inverse)| -bar * inverse).collect();
        let constants = constants.iter().any(|&constant| constant != 0.0);
        Self { comparison, rows, bars, constants }
    }

    /// Counts the scores that are surely above, if that is wanted, and lists the others that are not surely
    /// below.
    pub(super) fn compare(&self, counting: bool, above: &mut [u32], doubts: &mut [Vec<Doubt>]) {
        assert!(above.len() == self.bars.len() && doubts.len() == self.bars.len() / LANES);
        #[cfg(target_arch = "x86_64")]
        if supported() {
            // SAFETY: the processor has the instructions, and the lengths were checked
            return unsafe {
                match counting {
                    true => x86::compare::<true>(self, above, doubts),
                    false => x86::compare::<false>(self, above, doubts),
                }
            };
        }
        self.portable(counting, above, doubts);
    }

    /// Codes of a row.
    fn row(&self, row: usize) -> &[i8] {
        let rows = self.comparison.rows;
        &rows.codes[row * rows.width..][..rows.width]
    }

    /// Codes of a group of lanes.
    fn group(&self, group: usize) -> &[u8] {
        let tile = self.comparison.tile;
        &tile.codes[group * tile.width..][..tile.width]
    }

    /// Codes of a query, in the order of the coordinates, with zeros up to whole vectors.
    #[cfg(target_arch = "x86_64")]
    fn query(&self, lane: usize) -> Vec<u8> {
        let fours = self.group(lane / LANES)[lane % LANES * GROUP..].chunks(GROUP * LANES);
        let mut codes: Vec<u8> = fours.flat_map(|four| &four[..GROUP]).copied().collect();
        codes.resize(codes.len().next_multiple_of(64), 0);
        codes
    }

    fn portable(&self, counting: bool, above: &mut [u32], doubts: &mut [Vec<Doubt>]) {
        let count = self.comparison.tile.count;
        for (group, above) in above.chunks_mut(LANES).enumerate() {
            // the lanes behind the queries are padding
            let used = LANES.min(count - group * LANES);
            let Terms { offsets, scales, bounds } = &self.rows;
            for row in 0..offsets.len() {
                let mut sums = [offsets[row]; LANES];
                let queries = self.group(group).chunks_exact(GROUP * LANES);
                for (codes, queries) in self.row(row).chunks_exact(GROUP).zip(queries) {
                    let queries = queries.chunks_exact(GROUP);
                    for (sum, query) in sums[..used].iter_mut().zip(queries) {
                        let products = codes.iter().zip(query);
                        *sum += products.map(|(&a, &b)| i32::from(a) * i32::from(b)).sum::<i32>();
                    }
                }
                let Comparison { constants, weights, .. } = self.comparison;
                let mut lanes = 0;
                for (lane, (&sum, above)) in sums[..used].iter().zip(&mut *above).enumerate() {
                    let at = group * LANES + lane;
                    let base = constants[row] * self.comparison.tile.inverse[at] + self.bars[at];
                    let difference = sum as f32 * scales[row] + base;
                    let surely = counting && difference > bounds[row];
                    *above += if surely { weights[row] } else { 0 };
                    lanes |= u16::from(difference >= -bounds[row] && !surely) << lane;
                }
                if lanes != 0 {
                    doubts[group].push(Doubt { row: row as u32, lanes });
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{GROUP, LANES, Prepared, Terms};
    use crate::codes::{Comparison, Doubt};

    /// Rows and groups of lanes whose sums are kept in registers.
    const ROWS: usize = 4;
    const GROUPS: usize = 4;
    /// Queries up to which sums along the codes of a row are faster than those of many lanes at once.
    const FEW: usize = 8;

    /// As [`Terms::new`].
    ///
    /// # Safety
    /// On a processor with AVX-512's foundation.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn terms(comparison: &Comparison, bar: f32, inverse: f32) -> Terms {
        Terms::new(comparison, bar, inverse)
    }

    /// As [`Prepared::portable`], in another order of rows and groups.
    ///
    /// # Safety
    /// On a processor with AVX-512's foundation and dot products of bytes; what belongs to rows and lanes has
    /// their number.
    #[target_feature(enable = "avx512f,avx512vnni")]
    pub(super) unsafe fn compare<const COUNTING: bool>(
        each: &Prepared,
        above: &mut [u32],
        doubts: &mut [Vec<Doubt>],
    ) {
        let (rows, groups) = (each.rows.offsets.len(), above.len() / LANES);
        if each.comparison.tile.count <= FEW {
            for (lane, above) in above[..each.comparison.tile.count].iter_mut().enumerate() {
                // SAFETY: the query is there
                unsafe { one::<COUNTING>(each, lane, above, &mut doubts[lane / LANES]) };
            }
            return;
        }
        for row in (0..rows).step_by(ROWS) {
            let all = rows - row >= ROWS;
            for group in (0..groups).step_by(GROUPS) {
                // SAFETY: rows and groups are there
                unsafe {
                    if all && groups - group >= GROUPS {
                        block::<COUNTING, ROWS, GROUPS>(each, row, group, above, doubts);
                        continue;
                    }
                    for group in group..groups.min(group + GROUPS) {
                        if all {
                            block::<COUNTING, ROWS, 1>(each, row, group, above, doubts);
                            continue;
                        }
                        for row in row..rows {
                            block::<COUNTING, 1, 1>(each, row, group, above, doubts);
                        }
                    }
                }
            }
        }
    }

    /// Compares R rows with G groups of lanes.
    #[target_feature(enable = "avx512f,avx512vnni")]
    unsafe fn block<const COUNTING: bool, const R: usize, const G: usize>(
        each: &Prepared,
        row: usize,
        group: usize,
        above: &mut [u32],
        doubts: &mut [Vec<Doubt>],
    ) {
        let own = row..row + R;
        let (scales, bounds) = (&each.rows.scales[own.clone()], &each.rows.bounds[own.clone()]);
        let constants = &each.comparison.constants[own.clone()];
        let weights = &each.comparison.weights[own.clone()];
        let codes: [*const i8; R] = std::array::from_fn(|r| each.row(row + r).as_ptr());
        let queries: [*const u8; G] = std::array::from_fn(|g| each.group(group + g).as_ptr());
        let mut sums = [[_mm512_setzero_si512(); G]; R];
        for (sums, &offset) in sums.iter_mut().zip(&each.rows.offsets[own]) {
            *sums = [_mm512_set1_epi32(offset); G];
        }
        // SAFETY: a row has `width` codes, and a group of lanes has LANES times as many
        unsafe {
            for at in (0..each.comparison.rows.width).step_by(GROUP) {
                // a loop, since `from_fn` would go through memory
                let mut four = [_mm512_setzero_si512(); G];
                for (four, query) in four.iter_mut().zip(queries) {
                    *four = _mm512_loadu_si512(query.add(at * LANES).cast());
                }
                for (sums, codes) in sums.iter_mut().zip(codes) {
                    let own = _mm512_set1_epi32(codes.add(at).cast::<i32>().read_unaligned());
                    for (sum, four) in sums.iter_mut().zip(four) {
                        *sum = _mm512_dpbusd_epi32(*sum, four, own);
                    }
                }
            }
            for g in 0..G {
                let lane = (group + g) * LANES;
                let bars = _mm512_loadu_ps(each.bars.as_ptr().add(lane));
                let inverse = _mm512_loadu_ps(each.comparison.tile.inverse.as_ptr().add(lane));
                let counts: *mut i32 = above.as_mut_ptr().add(lane).cast();
                let mut counted = _mm512_loadu_si512(counts.cast());
                for r in 0..R {
                    let base = match each.constants {
                        true => _mm512_fmadd_ps(_mm512_set1_ps(constants[r]), inverse, bars),
                        false => bars,
                    };
                    let scale = _mm512_set1_ps(scales[r]);
                    let difference = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[r][g]), scale, base);
                    let bound = _mm512_set1_ps(bounds[r]);
                    let mut lanes =
                        _mm512_cmp_ps_mask::<_CMP_GE_OQ>(difference, _mm512_set1_ps(-bounds[r]));
                    if COUNTING {
                        let surely = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(difference, bound);
                        let weight = _mm512_set1_epi32(weights[r] as i32);
                        counted = _mm512_mask_add_epi32(counted, surely, counted, weight);
                        lanes &= !surely;
                    }
                    if lanes != 0 {
                        doubts[group + g].push(Doubt { row: (row + r) as u32, lanes });
                    }
                }
                if COUNTING {
                    _mm512_storeu_si512(counts.cast(), counted);
                }
            }
        }
    }

    /// Compares all rows with one query.
    ///
    /// # Safety
    /// As [`compare`].
    #[target_feature(enable = "avx512f,avx512vnni")]
    unsafe fn one<const COUNTING: bool>(
        each: &Prepared,
        lane: usize,
        above: &mut u32,
        doubts: &mut Vec<Doubt>,
    ) {
        let Comparison { tile, rows, constants, weights, .. } = each.comparison;
        let (width, count, query) = (rows.width, rows.numbers.len(), each.query(lane));
        let (inverse, bar) = (_mm512_set1_ps(tile.inverse[lane]), _mm512_set1_ps(each.bars[lane]));
        for first in (0..count).step_by(LANES) {
            let used = LANES.min(count - first);
            let mask = u16::MAX >> (LANES - used);
            let mut sums = [_mm512_setzero_si512(); LANES];
            // SAFETY: codes, queries and terms are read within their lengths, which were checked; the rows behind
            // the last are the last again
            unsafe {
                let codes = rows.codes.as_ptr().add(first * width);
                for at in (0..width).step_by(64) {
                    let own = _mm512_loadu_si512(query.as_ptr().add(at).cast());
                    let there = u16::MAX >> (LANES - LANES.min((width - at) / GROUP));
                    for (r, sum) in sums.iter_mut().enumerate() {
                        let codes = codes.add(r.min(used - 1) * width + at);
                        let codes = _mm512_maskz_loadu_epi32(there, codes.cast());
                        *sum = _mm512_dpbusd_epi32(*sum, own, codes);
                    }
                }
                let row = |terms: &[f32]| _mm512_maskz_loadu_ps(mask, terms.as_ptr().add(first));
                let offsets = each.rows.offsets.as_ptr().add(first);
                let sums = _mm512_add_epi32(total(sums), _mm512_maskz_loadu_epi32(mask, offsets));
                let base = match each.constants {
                    true => _mm512_fmadd_ps(row(constants), inverse, bar),
                    false => bar,
                };
                let sums = _mm512_cvtepi32_ps(sums);
                let difference = _mm512_fmadd_ps(sums, row(&each.rows.scales), base);
                let bound = row(&each.rows.bounds);
                let below = _mm512_sub_ps(_mm512_setzero_ps(), bound);
                let mut reached = _mm512_mask_cmp_ps_mask::<_CMP_GE_OQ>(mask, difference, below);
                if reached == 0 {
                    continue;
                }
                if COUNTING {
                    let surely = _mm512_mask_cmp_ps_mask::<_CMP_GT_OQ>(mask, difference, bound);
                    let weights =
                        _mm512_maskz_loadu_epi32(surely, weights.as_ptr().add(first).cast());
                    *above += _mm512_reduce_add_epi32(weights) as u32;
                    reached &= !surely;
                }
                while reached != 0 {
                    let row = (first + reached.trailing_zeros() as usize) as u32;
                    doubts.push(Doubt { row, lanes: 1 << (lane % LANES) });
                    reached &= reached - 1;
                }
            }
        }
    }

    /// The sum of the numbers of each of 16 vectors.
    #[target_feature(enable = "avx512f")]
    fn total(rows: [__m512i; LANES]) -> __m512i {
        let mut pairs = [_mm512_setzero_si512(); 8];
        for (pair, own) in pairs.iter_mut().zip(rows.as_chunks().0) {
            let [a, b] = *own;
            *pair = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        }
        let mut fours = [_mm512_setzero_si512(); 4];
        for (four, own) in fours.iter_mut().zip(pairs.as_chunks().0) {
            let [a, b] = *own;
            *four = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
        }
        let halves = |a, b| {
            let even = _mm512_shuffle_i32x4::<0b10_00_10_00>(a, b);
            _mm512_add_epi32(even, _mm512_shuffle_i32x4::<0b11_01_11_01>(a, b))
        };
        halves(halves(fours[0], fours[1]), halves(fours[2], fours[3]))
    }
}
