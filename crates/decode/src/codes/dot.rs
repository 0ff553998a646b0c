//! The comparison of codes: AVX-512's dot products of bytes, or the same sums without them.

use super::{Comparison, Doubt, GROUP, LANES, RowCode, UNIT};

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
    rows: Vec<Row>,
    /// −bar / ‖z‖, one a lane.
    bars: Vec<f32>,
    /// Whether a constant is not 0.
    constants: bool,
}

struct Row {
    offset: i32,
    scale: f32,
    bound: f32,
    constant: f32,
    weight: u32,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(comparison: &'a Comparison<'a>) -> Self {
        let Comparison { tile, rows, constants, weights, bars } = comparison;
        let (count, lanes) = (rows.rows.len(), tile.inverse.len());
        assert!(lanes.is_multiple_of(LANES) && bars.len() == lanes);
        assert!(constants.len() == count && weights.len() == count);
        assert_eq!(tile.width, rows.width * LANES);
        let finite = bars.iter().zip(&tile.inverse).filter(|(bar, _)| bar.is_finite());
        let (bar, inverse) = finite.fold((0.0f32, 0.0f32), |(bar, largest), (own, inverse)| {
            (bar.max(own.abs() * inverse), largest.max(*inverse))
        });
        let row = |((own, &constant), &weight): ((&RowCode, &f32), &u32)| Row {
            offset: own.offset,
            scale: own.scale * tile.scale,
            // the last digits of constants and bars count, too, and 1e-35 is more than what is lost by numbers
            // that are too small for all their digits
            bound: (own.error + tile.error * own.norm) * (1.0 + 16.0 * UNIT)
                + 16.0 * UNIT * (constant.abs() * inverse + bar)
                + 1e-35 * inverse,
            constant,
            weight,
        };
        let rows = rows.rows.iter().zip(*constants).zip(*weights).map(row).collect();
        let bars = bars.iter().zip(&tile.inverse).map(|(bar, inverse)| -bar * inverse).collect();
        let constants = constants.iter().any(|&constant| constant != 0.0);
        Self { comparison, rows, bars, constants }
    }

    /// Counts the scores that are surely above, if that is wanted, and lists the others that are not surely
    /// below. `fast` asks for the instructions of a processor that is [`supported`].
    pub(super) fn compare(
        &self,
        fast: bool,
        counting: bool,
        above: &mut [u32],
        doubts: &mut [Vec<Doubt>],
    ) {
        assert!(above.len() == self.bars.len() && doubts.len() == self.bars.len() / LANES);
        #[cfg(target_arch = "x86_64")]
        if fast && supported() {
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

    fn portable(&self, counting: bool, above: &mut [u32], doubts: &mut [Vec<Doubt>]) {
        let count = self.comparison.tile.count;
        for (group, above) in above.chunks_mut(LANES).enumerate() {
            // the lanes behind the queries are padding
            let used = LANES.min(count - group * LANES);
            for row in 0..self.rows.len() {
                let mut sums = [self.rows[row].offset; LANES];
                let queries = self.group(group).chunks_exact(GROUP * LANES);
                for (codes, queries) in self.row(row).chunks_exact(GROUP).zip(queries) {
                    let queries = queries.chunks_exact(GROUP);
                    for (sum, query) in sums[..used].iter_mut().zip(queries) {
                        let products = codes.iter().zip(query);
                        *sum += products.map(|(&a, &b)| i32::from(a) * i32::from(b)).sum::<i32>();
                    }
                }
                let own = &self.rows[row];
                let mut lanes = 0;
                for (lane, (&sum, above)) in sums[..used].iter().zip(&mut *above).enumerate() {
                    let at = group * LANES + lane;
                    let base = own.constant * self.comparison.tile.inverse[at] + self.bars[at];
                    let difference = sum as f32 * own.scale + base;
                    let surely = counting && difference > own.bound;
                    *above += if surely { own.weight } else { 0 };
                    lanes |= u16::from(difference >= -own.bound && !surely) << lane;
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

    use super::{GROUP, LANES, Prepared};
    use crate::codes::Doubt;

    /// Rows and groups of lanes whose sums are kept in registers.
    const ROWS: usize = 4;
    const GROUPS: usize = 4;

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
        let (rows, groups) = (each.rows.len(), above.len() / LANES);
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
        let rows = &each.rows[row..row + R];
        let codes: [*const i8; R] = std::array::from_fn(|r| each.row(row + r).as_ptr());
        let queries: [*const u8; G] = std::array::from_fn(|g| each.group(group + g).as_ptr());
        let mut sums = [[_mm512_setzero_si512(); G]; R];
        for (sums, row) in sums.iter_mut().zip(rows) {
            *sums = [_mm512_set1_epi32(row.offset); G];
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
                for (r, own) in rows.iter().enumerate() {
                    let base = match each.constants {
                        true => _mm512_fmadd_ps(_mm512_set1_ps(own.constant), inverse, bars),
                        false => bars,
                    };
                    let scale = _mm512_set1_ps(own.scale);
                    let difference = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[r][g]), scale, base);
                    let bound = _mm512_set1_ps(own.bound);
                    let mut lanes =
                        _mm512_cmp_ps_mask::<_CMP_GE_OQ>(difference, _mm512_set1_ps(-own.bound));
                    if COUNTING {
                        let surely = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(difference, bound);
                        let weight = _mm512_set1_epi32(own.weight as i32);
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
}
