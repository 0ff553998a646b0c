//! Fingerprints of what metrics are measured on.

use dsokr_core::random::hash;
use dsokr_core::store::Tensor;
use dsokr_data::{Inputs, Split};
use dsokr_decode::{Candidates, PerQuery, Pool};

use crate::error::Error;
use crate::run_dir::fingerprint_of;

/// A number that lists have in common which give each query the same of these candidates, in any order.
pub(crate) fn lists_fingerprint(lists: &PerQuery, candidates: &Candidates) -> u64 {
    let hashes: Vec<u64> = candidates.ids().map(|id| hash(id.as_bytes())).collect();
    let mut bytes = Vec::with_capacity(8 * lists.len());
    // queries may have one list in common
    let mut last: Option<(&[u32], u64)> = None;
    for query in 0..lists.len() {
        let list = lists.list(query);
        let sum = match last {
            Some((earlier, sum)) if std::ptr::eq(earlier, list) => sum,
            Some(_) | None => {
                list.iter().fold(0, |sum: u64, &listed| sum.wrapping_add(hashes[listed as usize]))
            }
        };
        last = Some((list, sum));
        bytes.extend(sum.to_le_bytes());
    }
    hash(&bytes)
}

/// The fingerprint of what metrics are measured on: the queries of a split, their right outputs, and the candidates of
/// each, where queries do not share them.
pub(crate) fn measured_on(
    split: &Split,
    pool: Pool,
    candidates: &Candidates,
) -> Result<String, Error> {
    let names = split.names().join("\0");
    let golds = [&split.ids].into_iter().chain(&split.further).map(|ids| ids.join("\0"));
    let golds = golds.collect::<Vec<_>>().join("\n");
    let texts = split.inputs.texts().map(|texts| texts.join("\0")).unwrap_or_default();
    let kernels = split.inputs.kernel_values();
    let lists = match pool {
        Pool::PerQuery(lists) => vec![lists_fingerprint(lists, candidates)],
        Pool::Shared => Vec::new(),
    };
    let mut tensors = vec![
        Tensor::u8("names", &[names.len()], names.as_bytes()),
        Tensor::u8("golds", &[golds.len()], golds.as_bytes()),
        Tensor::u8("texts", &[texts.len()], texts.as_bytes()),
        Tensor::f64("kernels", &[kernels.len()], &kernels),
        Tensor::u64("lists", &[lists.len()], &lists),
    ];
    if let Inputs::Vectors(rows) = &split.inputs {
        tensors.extend(rows.tensors("vectors")?);
    }
    Ok(fingerprint_of("queries", &tensors))
}
