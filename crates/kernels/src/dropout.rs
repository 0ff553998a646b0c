//! Dropout as a function of a key and of the number of an element.

#[cfg(feature = "cube")]
use cubecl::prelude::*;
use dsokr_core::random::finalise;

/// Counter-based dropout: element `i` is kept with probability `1 − p` and then multiplied by
/// `1 / (1 − p)`, decided by a hash of (key, site, i).
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "cube", derive(CubeType, CubeLaunch))]
pub struct Dropout {
    /// Number of the first element.
    pub(crate) first: u32,
    pub(crate) low: u32,
    pub(crate) high: u32,
    pub(crate) threshold: u32,
    pub(crate) scale: f32,
}

impl Dropout {
    /// Creates the masks of a key at one place of a model.
    ///
    /// `probability` must lie in `[0, 1)`.
    pub fn new(key: u64, site: u64, probability: f32) -> Self {
        // adding an odd constant keeps neighbouring keys and sites from sharing bits
        let next = |z: u64| finalise(z.wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mixed = next(next(key).wrapping_add(site));
        Self {
            first: 0,
            low: mixed as u32,
            high: (mixed >> 32) as u32,
            // 31 bits allow a signed comparison in `at`, which vectorises everywhere
            threshold: (f64::from(probability) * f64::from(1u32 << 31)) as u32,
            scale: 1.0 / (1.0 - probability),
        }
    }

    /// Returns the same masks behind `elements` more: element i is the one that was number `elements + i`.
    pub fn after(self, elements: u32) -> Self {
        Self { first: self.first.wrapping_add(elements), ..self }
    }

    /// Returns the factor of element `i`: 0 or `1 / (1 − p)`.
    #[inline(always)]
    pub fn at(&self, i: u32) -> f32 {
        let mut x = i.wrapping_add(self.first) ^ self.low;
        x ^= x >> 16;
        x = x.wrapping_mul(0x7feb_352d);
        x ^= x >> 15;
        x = x.wrapping_add(self.high).wrapping_mul(0x846c_a68b);
        x ^= x >> 16;
        if (x >> 1) as i32 >= self.threshold as i32 { self.scale } else { 0.0 }
    }
}
