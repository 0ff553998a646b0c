use std::collections::BTreeMap;

use dsokr_basis::store::{self, Tensor};
use dsokr_data::{Dataset, Inputs};
use dsokr_decode::Candidates;

use crate::Error;

/// The fingerprint of the data, with the lexicon of a second look: a run is resumed only with the data that it was
/// started with.
pub(super) fn fingerprint(
    dataset: &Dataset,
    targets: &[f32],
    candidates: &Candidates,
    lexicon: Option<&str>,
) -> Result<String, Error> {
    let splits = [&dataset.train, &dataset.validation];
    let texts = splits.map(|split| {
        let texts = match &split.inputs {
            Inputs::Texts(texts) => texts.join("\0"),
            Inputs::Vectors(_) | Inputs::Kernels(_) => String::new(),
        };
        [split.ids.join("\0"), texts].join("\0")
    });
    let kernels = splits.map(|split| match &split.inputs {
        Inputs::Kernels(rows) => rows.values(),
        Inputs::Texts(_) | Inputs::Vectors(_) => Vec::new(),
    });
    let ids = candidates.ids().collect::<Vec<_>>().join("\0");
    let coordinates = candidates.coordinates()?;
    let mut tensors = vec![
        Tensor::u8("train texts", &[texts[0].len()], texts[0].as_bytes()),
        Tensor::u8("validation texts", &[texts[1].len()], texts[1].as_bytes()),
        Tensor::u8("ids", &[ids.len()], ids.as_bytes()),
        Tensor::f32("targets", &[targets.len()], targets),
        Tensor::f32("candidates", &[coordinates.len()], &coordinates),
    ];
    for (split, name) in splits.iter().zip(["train vectors", "validation vectors"]) {
        if let Inputs::Vectors(rows) = &split.inputs {
            tensors.extend(rows.tensors(name));
        }
    }
    for (values, name) in kernels.iter().zip(["train kernels", "validation kernels"]) {
        if !values.is_empty() {
            tensors.push(Tensor::f64(name, &[values.len()], values));
        }
    }
    tensors.extend(lexicon.map(|text| Tensor::u8("lexicon", &[text.len()], text.as_bytes())));
    Ok(store::Contents::new("data", 1, &BTreeMap::new(), &tensors).checksum())
}
