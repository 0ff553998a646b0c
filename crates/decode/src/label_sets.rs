use std::ops::RangeInclusive;

use dsokr_basis::OutputKernel;

use crate::Error;
use crate::direction::{self, Direction};

/// A set of labels and its score.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelSet {
    /// Columns of the labels, ascending.
    pub labels: Vec<u32>,
    /// `⟨z, ψ̃(Y)⟩ + b(Y)`, or its expected F1.
    pub score: f64,
}

/// The best of all sets of labels for a direction w in feature space: of the sets Y of `sizes` labels the one with
/// the largest `⟨z, ψ̃(Y)⟩ + b(Y)`, exactly.
///
/// Rows are of zeros and ones with a column for each label, as
/// [`LabelVocabulary`](dsokr_basis::features::LabelVocabulary) makes them, under a kernel that is
/// linear in rows scaled by s(|Y|). As in decoding `b(Y) = −½ k(Y, Y) = −½ s(|Y|)² |Y|`, and 0 under a
/// normalised kernel. The best set of k labels is that of the k largest weights, so that one pass over sorted weights
/// sees every size. Of equal weights the first label is taken, of equal scores the smaller set. The empty set has the
/// score that a normalised kernel gives it by its own feature ([`zero_row`](dsokr_basis::Basis::zero_row)).
pub(crate) fn best_in(
    kernel: &dyn OutputKernel,
    Direction { weights, zero }: &Direction,
    sizes: RangeInclusive<usize>,
) -> Result<LabelSet, Error> {
    let labels = weights.len();
    if sizes.is_empty() || *sizes.end() > labels {
        return Err(Error::out_of_range(
            format!("sets of {}..={} labels", sizes.start(), sizes.end()),
            format!("sizes within 0..={labels}, at least one"),
        ));
    }
    if let Some(at) = weights.iter().position(|weight| !weight.is_finite()) {
        return Err(Error::NotFinite { place: format!("weight {at}"), value: weights[at] });
    }
    let mut order: Vec<u32> = (0..labels as u32).collect();
    order.sort_by(|&a, &b| weights[b as usize].total_cmp(&weights[a as usize]));
    let mut best: Option<(usize, f64)> = None;
    let mut sum = 0.0;
    for size in 0..=*sizes.end() {
        if let Some(&label) = size.checked_sub(1).and_then(|last| order.get(last)) {
            sum += f64::from(weights[label as usize]);
        }
        let scale = direction::scale(kernel, size as f64)?;
        let constant = match kernel.is_normalised() {
            true => 0.0,
            false => -0.5 * scale * scale * size as f64,
        };
        let score = if size == 0 { *zero } else { scale * sum + constant };
        if sizes.contains(&size) && best.is_none_or(|(_, most)| score > most) {
            best = Some((size, score));
        }
    }
    let (size, score) = best.unwrap_or_default();
    order.truncate(size);
    order.sort_unstable();
    Ok(LabelSet { labels: order, score })
}
