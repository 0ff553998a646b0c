//! The comparison of codes: AVX-512's dot products of bytes, or the same sums without them.

use super::{CodedBlock, Doubt, GROUP, LANES, TileCodes, UNIT};

/// Returns whether dot products of bytes are faster than exact ones.
pub(crate) fn supported() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The scores that rows are compared with, one a lane of a tile. No score is greater than an infinite bar.
#[derive(Default)]
pub(crate) struct Bars {
    /// Rows with a greater score are counted.
    pub counted: Option<Vec<f32>>,
    /// Rows are listed whose score is as great, or may be.
    pub reached: Option<Vec<f32>>,
}

/// Compares the scores of rows with the bars of a tile's queries. The weights of rows whose score is surely greater than
/// the bar of those that are counted are added to `above`, one a lane. `doubts` gets, for each group of lanes, the pairs
/// for which this is in doubt, and those whose score is not surely less than the bar to be reached.
pub(crate) fn compare(
    tile: &TileCodes,
    rows: &CodedBlock,
    bars: &Bars,
    above: &mut [u32],
    doubts: &mut [Vec<Doubt>],
) {
    let count = rows.numbers.len();
    let lanes = tile.inverse.len();
    let all = [&bars.counted, &bars.reached];
    assert!(lanes.is_multiple_of(LANES) && all.iter().all(|bars| has_length(bars, lanes)));
    assert!(rows.constants.len() == count && rows.multiplicities.len() == count);
    assert_eq!(rows.codes.len(), count * rows.width);
    assert_eq!(tile.width, rows.width * LANES);
    assert!(above.len() == lanes && doubts.len() == lanes / LANES);
    #[cfg(target_arch = "x86_64")]
    if supported() {
        // SAFETY: the processor has the instructions, and the lengths were checked
        return unsafe {
            match (&bars.counted, &bars.reached) {
                (Some(_), Some(_)) => x86::compare::<true, true>(tile, rows, bars, above, doubts),
                (Some(_), None) => x86::compare::<true, false>(tile, rows, bars, above, doubts),
                (None, Some(_)) => x86::compare::<false, true>(tile, rows, bars, above, doubts),
                (None, None) => {}
            }
        };
    }
    CodeComparison::new(tile, rows, bars).portable(above, doubts);
}

fn has_length(bars: &Option<Vec<f32>>, lanes: usize) -> bool {
    bars.as_ref().is_none_or(|bars| bars.len() == lanes)
}

/// A comparison of rows and lanes in the unit of ‖z‖: `⟨w, k⟩ scale + b / ‖z‖ − bar / ‖z‖`, and how far that may be
/// from the exact difference.
struct CodeComparison<'a> {
    tile: &'a TileCodes,
    rows: &'a CodedBlock<'a>,
    /// b(c), one a row.
    constants: &'a [f32],
    /// The weight of each row.
    weights: &'a [u32],
    /// −bar / ‖z‖ of the bars of rows that are counted, one a lane; none where none are.
    counted: Option<Vec<f32>>,
    /// −bar / ‖z‖ of the bars that are reached.
    reached: Option<Vec<f32>>,
    /// Whether a constant is not 0.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "read by its instructions")
    )]
    shifted: bool,
    /// −128 Σ k, one a row: codes of queries are 128 too large, to have no sign.
    offsets: Vec<i32>,
    scales: Vec<f32>,
    bounds: Vec<f32>,
}

impl<'a> CodeComparison<'a> {
    #[inline(always)]
    fn new(tile: &'a TileCodes, rows: &'a CodedBlock<'a>, bars: &Bars) -> Self {
        // the largest |bar| / ‖z‖ and the largest 1 / ‖z‖ of the queries
        let all = [&bars.counted, &bars.reached].into_iter().flatten();
        let all = all.flat_map(|bars| bars.iter().zip(&tile.inverse));
        let (bar, inverse) = all.filter(|(bar, _)| bar.is_finite()).fold(
            (0.0f32, 0.0f32),
            |(bar, largest), (query_bar, inverse)| {
                (bar.max(query_bar.abs() * inverse), largest.max(*inverse))
            },
        );
        let slack = rows.slack;
        let count = rows.numbers.len();
        let mut offsets = vec![0; count];
        let mut scales = vec![0.0; count];
        let mut bounds = vec![0.0; count];
        let out = offsets.iter_mut().zip(&mut scales).zip(&mut bounds);
        for (((offset, scale), bound), (&[unit, sum, error, norm], constant)) in
            out.zip(rows.numbers.iter().zip(&rows.constants[..]))
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
        let constants = &rows.constants[..];
        let weights = &rows.multiplicities[..];
        let negative = |bars: &Vec<f32>| -> Vec<f32> {
            bars.iter().zip(&tile.inverse).map(|(bar, inverse)| -bar * inverse).collect()
        };
        let counted = bars.counted.as_ref().map(negative);
        let reached = bars.reached.as_ref().map(negative);
        let shifted = constants.iter().any(|&constant| constant != 0.0);
        Self { tile, rows, constants, weights, counted, reached, shifted, offsets, scales, bounds }
    }

    /// Returns codes of a row.
    fn row(&self, row: usize) -> &[i8] {
        &self.rows.codes[row * self.rows.width..][..self.rows.width]
    }

    /// Returns codes of a group of lanes.
    fn group(&self, group: usize) -> &[u8] {
        &self.tile.codes[group * self.tile.width..][..self.tile.width]
    }

    /// Returns codes of a query, in the order of the coordinates, with zeros up to whole vectors.
    #[cfg(target_arch = "x86_64")]
    fn query(&self, lane: usize) -> Vec<u8> {
        let fours = self.group(lane / LANES)[lane % LANES * GROUP..].chunks(GROUP * LANES);
        let mut codes: Vec<u8> = fours.flat_map(|four| &four[..GROUP]).copied().collect();
        codes.resize(codes.len().next_multiple_of(64), 0);
        codes
    }

    fn portable(&self, above: &mut [u32], doubts: &mut [Vec<Doubt>]) {
        let Self { tile, constants, weights, offsets, scales, bounds, .. } = self;
        for (group, above) in above.chunks_mut(LANES).enumerate() {
            // the lanes behind the queries are padding
            let used = LANES.min(tile.count - group * LANES);
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
                let bound = bounds[row];
                let mut lanes = 0;
                let mut counted = 0;
                for (lane, (&sum, above)) in sums[..used].iter().zip(&mut *above).enumerate() {
                    let at = group * LANES + lane;
                    let difference = |bars: &Vec<f32>| {
                        let base = constants[row] * tile.inverse[at] + bars[at];
                        sum as f32 * scales[row] + base
                    };
                    let over_bar = self.counted.as_ref().map(difference);
                    let is_above = over_bar.is_some_and(|difference| difference > bound);
                    let is_doubtful =
                        !is_above && over_bar.is_some_and(|difference| difference >= -bound);
                    let reaches = self.reached.as_ref().map(difference);
                    let is_listed =
                        is_doubtful || reaches.is_some_and(|difference| difference >= -bound);
                    *above += if is_above { weights[row] } else { 0 };
                    lanes |= u16::from(is_listed) << lane;
                    counted |= u16::from(is_listed && is_above) << lane;
                }
                if lanes != 0 {
                    doubts[group].push(Doubt { row: row as u32, lanes, counted });
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Bars, CodeComparison, CodedBlock, Doubt, GROUP, LANES, TileCodes};

    /// Rows and groups of lanes whose sums are kept in registers.
    const ROWS: usize = 4;
    const GROUPS: usize = 4;
    /// The most queries for which sums along the codes of a row are faster than sums of many lanes at once.
    const FEW: usize = 8;

    /// Compares like [`CodeComparison::portable`], in a different order of rows and groups.
    ///
    /// # Safety
    /// On a processor with AVX-512's foundation and dot products of bytes; what belongs to rows and lanes has
    /// their number.
    #[target_feature(enable = "avx512f,avx512vnni")]
    pub(super) unsafe fn compare<const COUNTING: bool, const REACHING: bool>(
        tile: &TileCodes,
        rows: &CodedBlock,
        bars: &Bars,
        above: &mut [u32],
        doubts: &mut [Vec<Doubt>],
    ) {
        let each = &CodeComparison::new(tile, rows, bars);
        let rows = each.offsets.len();
        let groups = above.len() / LANES;
        if tile.count <= FEW {
            for (lane, above) in above[..tile.count].iter_mut().enumerate() {
                // SAFETY: the query is there
                unsafe { one::<COUNTING, REACHING>(each, lane, above, &mut doubts[lane / LANES]) };
            }
            return;
        }
        for row in (0..rows).step_by(ROWS) {
            let all = rows - row >= ROWS;
            for group in (0..groups).step_by(GROUPS) {
                // SAFETY: rows and groups are there
                unsafe {
                    if all && groups - group >= GROUPS {
                        block::<COUNTING, REACHING, ROWS, GROUPS>(each, row, group, above, doubts);
                        continue;
                    }
                    for group in group..groups.min(group + GROUPS) {
                        if all {
                            block::<COUNTING, REACHING, ROWS, 1>(each, row, group, above, doubts);
                            continue;
                        }
                        for row in row..rows {
                            block::<COUNTING, REACHING, 1, 1>(each, row, group, above, doubts);
                        }
                    }
                }
            }
        }
    }

    /// Compares R rows with G groups of lanes.
    #[target_feature(enable = "avx512f,avx512vnni")]
    unsafe fn block<const COUNTING: bool, const REACHING: bool, const R: usize, const G: usize>(
        each: &CodeComparison,
        row: usize,
        group: usize,
        above: &mut [u32],
        doubts: &mut [Vec<Doubt>],
    ) {
        let of_block = row..row + R;
        let scales = &each.scales[of_block.clone()];
        let bounds = &each.bounds[of_block.clone()];
        let constants = &each.constants[of_block.clone()];
        let weights = &each.weights[of_block.clone()];
        let codes: [*const i8; R] = std::array::from_fn(|r| each.row(row + r).as_ptr());
        let queries: [*const u8; G] = std::array::from_fn(|g| each.group(group + g).as_ptr());
        let mut sums = [[_mm512_setzero_si512(); G]; R];
        for (sums, &offset) in sums.iter_mut().zip(&each.offsets[of_block]) {
            *sums = [_mm512_set1_epi32(offset); G];
        }
        // SAFETY: a row has `width` codes, and a group of lanes has LANES times as many
        unsafe {
            for at in (0..each.rows.width).step_by(GROUP) {
                // a loop, since `from_fn` would go through memory
                let mut four = [_mm512_setzero_si512(); G];
                for (four, query) in four.iter_mut().zip(queries) {
                    *four = _mm512_loadu_si512(query.add(at * LANES).cast());
                }
                for (sums, codes) in sums.iter_mut().zip(codes) {
                    let four_codes =
                        _mm512_set1_epi32(codes.add(at).cast::<i32>().read_unaligned());
                    for (sum, four) in sums.iter_mut().zip(four) {
                        *sum = _mm512_dpbusd_epi32(*sum, four, four_codes);
                    }
                }
            }
            for g in 0..G {
                let lane = (group + g) * LANES;
                let inverse = _mm512_loadu_ps(each.tile.inverse.as_ptr().add(lane));
                let bars_of = |bars: &Option<Vec<f32>>| match bars {
                    Some(bars) => _mm512_loadu_ps(bars.as_ptr().add(lane)),
                    None => _mm512_setzero_ps(),
                };
                let counted_bars = bars_of(&each.counted);
                let reached_bars = bars_of(&each.reached);
                let counts: *mut i32 = above.as_mut_ptr().add(lane).cast();
                let mut counted = _mm512_loadu_si512(counts.cast());
                for r in 0..R {
                    let sum = _mm512_cvtepi32_ps(sums[r][g]);
                    let scale = _mm512_set1_ps(scales[r]);
                    let difference = |bars: __m512| {
                        let base = if each.shifted {
                            _mm512_fmadd_ps(_mm512_set1_ps(constants[r]), inverse, bars)
                        } else {
                            bars
                        };
                        _mm512_fmadd_ps(sum, scale, base)
                    };
                    let below = _mm512_set1_ps(-bounds[r]);
                    let mut lanes = 0;
                    let mut surely = 0;
                    if COUNTING {
                        let bound = _mm512_set1_ps(bounds[r]);
                        let difference = difference(counted_bars);
                        surely = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(difference, bound);
                        let weight = _mm512_set1_epi32(weights[r] as i32);
                        counted = _mm512_mask_add_epi32(counted, surely, counted, weight);
                        lanes = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(difference, below) & !surely;
                    }
                    if REACHING {
                        let difference = difference(reached_bars);
                        lanes |= _mm512_cmp_ps_mask::<_CMP_GE_OQ>(difference, below);
                    }
                    if lanes != 0 {
                        let row = (row + r) as u32;
                        doubts[group + g].push(Doubt { row, lanes, counted: surely & lanes });
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
    /// The conditions of [`compare`].
    #[target_feature(enable = "avx512f,avx512vnni")]
    unsafe fn one<const COUNTING: bool, const REACHING: bool>(
        each: &CodeComparison,
        lane: usize,
        above: &mut u32,
        doubts: &mut Vec<Doubt>,
    ) {
        let CodeComparison { tile, rows, constants, weights, .. } = *each;
        let width = rows.width;
        let count = rows.numbers.len();
        let query = each.query(lane);
        let inverse = _mm512_set1_ps(tile.inverse[lane]);
        let bar_of =
            |bars: &Option<Vec<f32>>| _mm512_set1_ps(bars.as_ref().map_or(0.0, |bars| bars[lane]));
        let counted_bar = bar_of(&each.counted);
        let reached_bar = bar_of(&each.reached);
        for first in (0..count).step_by(LANES) {
            let used = LANES.min(count - first);
            let mask = u16::MAX >> (LANES - used);
            let mut sums = [_mm512_setzero_si512(); LANES];
            // SAFETY: codes, queries and terms are read within their lengths, which were checked; the rows behind
            // the last are the last again
            unsafe {
                let codes = rows.codes.as_ptr().add(first * width);
                for at in (0..width).step_by(64) {
                    let codes_of_query = _mm512_loadu_si512(query.as_ptr().add(at).cast());
                    let there = u16::MAX >> (LANES - LANES.min((width - at) / GROUP));
                    for (r, sum) in sums.iter_mut().enumerate() {
                        let codes = codes.add(r.min(used - 1) * width + at);
                        let codes = _mm512_maskz_loadu_epi32(there, codes.cast());
                        *sum = _mm512_dpbusd_epi32(*sum, codes_of_query, codes);
                    }
                }
                let row = |terms: &[f32]| _mm512_maskz_loadu_ps(mask, terms.as_ptr().add(first));
                let offsets = each.offsets.as_ptr().add(first);
                let sums = _mm512_add_epi32(total(sums), _mm512_maskz_loadu_epi32(mask, offsets));
                let sums = _mm512_cvtepi32_ps(sums);
                let scales = row(&each.scales);
                let constants = row(constants);
                let difference = |bar: __m512| {
                    let base =
                        if each.shifted { _mm512_fmadd_ps(constants, inverse, bar) } else { bar };
                    _mm512_fmadd_ps(sums, scales, base)
                };
                let bound = row(&each.bounds);
                let below = _mm512_sub_ps(_mm512_setzero_ps(), bound);
                let mut listed = 0;
                let mut surely = 0;
                if COUNTING {
                    let difference = difference(counted_bar);
                    surely = _mm512_mask_cmp_ps_mask::<_CMP_GT_OQ>(mask, difference, bound);
                    let weights =
                        _mm512_maskz_loadu_epi32(surely, weights.as_ptr().add(first).cast());
                    *above += _mm512_reduce_add_epi32(weights) as u32;
                    listed = _mm512_mask_cmp_ps_mask::<_CMP_GE_OQ>(mask, difference, below);
                    listed &= !surely;
                }
                if REACHING {
                    let difference = difference(reached_bar);
                    listed |= _mm512_mask_cmp_ps_mask::<_CMP_GE_OQ>(mask, difference, below);
                }
                while listed != 0 {
                    let at = listed.trailing_zeros();
                    let row = first as u32 + at;
                    let lane = lane % LANES;
                    let counted = (surely >> at & 1) << lane;
                    doubts.push(Doubt { row, lanes: 1 << lane, counted });
                    listed &= listed - 1;
                }
            }
        }
    }

    /// Returns the sum of the numbers of each of 16 vectors.
    #[target_feature(enable = "avx512f")]
    fn total(rows: [__m512i; LANES]) -> __m512i {
        let mut pairs = [_mm512_setzero_si512(); 8];
        for (pair, two_rows) in pairs.iter_mut().zip(rows.as_chunks().0) {
            let [a, b] = *two_rows;
            *pair = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        }
        let mut fours = [_mm512_setzero_si512(); 4];
        for (four, two_pairs) in fours.iter_mut().zip(pairs.as_chunks().0) {
            let [a, b] = *two_pairs;
            *four = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
        }
        let halves = |a, b| {
            let even = _mm512_shuffle_i32x4::<0b10_00_10_00>(a, b);
            _mm512_add_epi32(even, _mm512_shuffle_i32x4::<0b11_01_11_01>(a, b))
        };
        halves(halves(fours[0], fours[1]), halves(fours[2], fours[3]))
    }
}
