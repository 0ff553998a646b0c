//! Fingerprints of what metrics are measured on.

use dsokr_core::random::hash;
use dsokr_core::store::Tensor;
use dsokr_data::{Inputs, Split, Truth};
use dsokr_decode::{Candidates, PerQuery, Pool};
use dsokr_molecule::graph::NamedGraph;
use rayon::prelude::*;

use crate::error::Error;
use crate::metrics::evaluation::SharedCandidates;
use crate::run_dir::{MeasuredOn, fingerprint_of};

/// Returns a number that lists have in common which give each query the same of these candidates, in any order.
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

/// Returns the fingerprints of candidates that all queries share, whose labels are in the column `label`.
pub(crate) fn shared_candidates(candidates: &Candidates, label: Option<&str>) -> SharedCandidates {
    let sums = |candidate: usize| {
        let id = hash(candidates.id(candidate).as_bytes());
        let label = hash(candidates.label(candidate).as_bytes());
        // the hash of an id with its label, so that labels which two candidates exchange are others
        let both = (u128::from(id) << 64) | u128::from(label);
        [id, hash(&both.to_le_bytes())]
    };
    let added = |[a, b]: [u64; 2], [c, d]: [u64; 2]| [a.wrapping_add(c), b.wrapping_add(d)];
    let [ids, labels] = (0..candidates.len()).into_par_iter().map(sums).reduce(|| [0; 2], added);
    // numbers of JSON are exact to 53 bits in most programs
    let [ids, labels] = [ids, labels].map(|sum| format!("{sum:016x}"));
    SharedCandidates { ids, label: label.map(str::to_owned), labels }
}

/// Returns the fingerprints of what metrics are measured on: of the queries of a split with the ids of their right outputs
/// and the candidates of each, of these outputs as what they are, and of the candidates that queries share, if they do and
/// these are known.
pub(crate) fn measured_on(
    split: &Split,
    pool: Pool,
    candidates: &Candidates,
    shared: Option<SharedCandidates>,
) -> Result<MeasuredOn, Error> {
    Ok(MeasuredOn {
        queries: queries_fingerprint(split, pool, candidates)?,
        right_outputs: outputs_fingerprint(split),
        candidates: match pool {
            Pool::PerQuery(_) => None,
            Pool::Shared => shared,
        },
        pairs: split.ids.len() + split.further.iter().map(Vec::len).sum::<usize>(),
    })
}

/// Returns the fingerprint of the queries of a split with the ids of their right outputs and the candidates of each.
pub(crate) fn queries_fingerprint(
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

/// Returns the fingerprint of the right outputs of a split as what they are, in their order; none where they are not known.
pub(crate) fn outputs_fingerprint(split: &Split) -> Option<String> {
    fn joined<T: ToString>(parts: &[T]) -> String {
        parts.iter().map(T::to_string).collect::<Vec<_>>().join("\u{1}")
    }
    let cells: Vec<String> = match split.truth.as_ref()? {
        Truth::Molecules(all) => all.iter().map(|molecule| molecule.smiles.clone()).collect(),
        Truth::Graphs(all) => all.iter().map(NamedGraph::json_line).collect(),
        Truth::Labels(all) => all.iter().map(|labels| joined(labels)).collect(),
        Truth::Classes(all) => all.clone(),
        Truth::Rankings(all) => all.iter().map(|ranks| joined(ranks)).collect(),
        Truth::Numbers(all) => all.iter().map(|numbers| joined(numbers)).collect(),
    };
    let cells = cells.join("\0");
    let cells = Tensor::u8("cells", &[cells.len()], cells.as_bytes());
    Some(fingerprint_of("right outputs", &[cells]))
}
