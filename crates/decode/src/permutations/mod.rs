//! Rankings as outputs, without candidates: the best of all permutations of K items.
//!
//! Under a kernel that is linear in scaled features a prediction z is a direction w in feature space
//! ([`Basis::feature_direction`](dsokr_basis::Basis::feature_direction)), and the pre-image is
//! `argmax_σ ⟨w, φ(σ)⟩`. All permutations have the same norm, so that neither the kernel's scale nor
//! the constant `−½k(σ, σ)` of decoding changes which is best. With
//! [`kemeny_signs`](dsokr_basis::features::kemeny_signs) that is a linear ordering problem
//! ([`pairs`]), with [`hamming_one_hot`](dsokr_basis::features::hamming_one_hot) a linear sum
//! assignment problem ([`positions`]) (Korba, Garcia and d'Alché-Buc 2018).
//!
//! Weights are rounded to multiples of 2⁻⁴⁰ of the power of two above the largest, and then summed
//! exactly: equal scores are equal whatever the order of the sums. `f32` weights within 2⁻¹⁶ of the
//! largest are not rounded at all.

mod assignment;
mod pairs;
mod positions;
mod ranking;

pub(crate) use pairs::best_by_pairs;
pub(crate) use positions::best_by_positions;
pub use ranking::Ranking;
