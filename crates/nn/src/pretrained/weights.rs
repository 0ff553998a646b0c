//! The tensors of a weight file as parameters of a body.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::layout::{Piece, layout};
use super::tensors::{Tensor, Tensors};
use crate::parameters::{Parameter, Parameters};
use crate::transformer::Architecture;
use crate::{Error, NamedShapes};

/// The tensor that locates a body in a file: the prefix of its name is that of all tensors.
const WORDS: &str = "embeddings.word_embeddings.weight";
/// Integer buffers that older versions of transformers saved.
const BUFFERS: [&str; 2] = ["embeddings.position_ids", "embeddings.token_type_ids"];
/// The heads of pre-training and of other tasks, which a body does not use.
const HEADS: [&str; 5] = [POOLER, "cls.", "lm_head.", "classifier.", "qa_outputs."];
const POOLER: &str = "pooler.";

/// The body's parameters, and the sorted names of the known tensors that it does not use.
pub(super) fn body(
    tensors: &Tensors,
    architecture: &Architecture,
) -> Result<(Parameters, Vec<String>), Error> {
    let pieces = layout(architecture);
    let shapes: BTreeMap<&str, Vec<usize>> = pieces
        .iter()
        .flat_map(|piece| piece.names.iter().map(|name| (name.as_str(), piece.file_shape())))
        .collect();
    let prefix = prefix(tensors)?;
    let mut used: BTreeMap<String, &Tensor> = BTreeMap::new();
    let mut unused = Vec::new();
    let mut unknown = NamedShapes::default();
    for (full, tensor) in &tensors.by_name {
        let name = full.strip_prefix(prefix).map(present);
        if let Some(name) = name.as_ref().filter(|name| shapes.contains_key(name.as_str())) {
            if used.insert(name.clone(), tensor).is_some() {
                let message = format!("`{full}` occurs under its old and its new name");
                return Err(Error::file(&tensors.path, message));
            }
        } else if is_unused(name.as_deref().unwrap_or_else(|| outside(full, prefix))) {
            unused.push(full.clone());
        } else {
            unknown.0.push((full.clone(), tensor.shape.clone()));
        }
    }
    let missing = shapes.iter().filter(|(name, _)| !used.contains_key(**name));
    let missing = missing.map(|(name, shape)| (format!("{prefix}{name}"), shape.clone()));
    let missing = NamedShapes(missing.collect());
    if !(missing.0.is_empty() && unknown.0.is_empty()) {
        let place = format!("{}: not the weights of this architecture", tensors.path.display());
        return Err(Error::Names { place, missing, unknown });
    }
    for (name, tensor) in &used {
        tensor.check_shape(&shapes[name.as_str()])?;
    }
    let read = |piece: &Piece| -> Result<Parameter, Error> {
        let values: Result<_, _> =
            piece.names.iter().map(|name| used[name].read_finite()).collect();
        let values = piece.join(values?).into();
        Ok(Parameter { id: None, shape: piece.shape.clone(), values })
    };
    // all tensors are read before the first error is reported, so that it is always the same one
    let read: Vec<_> = pieces.par_iter().map(read).collect();
    let named = pieces.iter().zip(read).map(|(piece, read)| Ok((piece.path.clone(), read?)));
    Ok((named.collect::<Result<_, Error>>()?, unused))
}

/// The pooler's tensors by their names in a body; empty if the file has no pooler.
pub(super) fn pooler(tensors: &Tensors) -> Result<Vec<(String, Parameter)>, Error> {
    let prefix = prefix(tensors)?;
    let named = tensors.by_name.iter().filter_map(|(full, tensor)| {
        let name = full.strip_prefix(prefix).filter(|name| name.starts_with(POOLER))?;
        Some((name.to_owned(), tensor))
    });
    let read = |(name, tensor): (String, &Tensor)| {
        let values = tensor.read()?.into();
        Ok((name, Parameter { id: None, shape: tensor.shape.clone(), values }))
    };
    named.map(read).collect()
}

/// What precedes the names of the body's tensors: nothing, `bert.`, `state_dict.roberta.`, …
fn prefix(tensors: &Tensors) -> Result<&str, Error> {
    let ends = tensors.by_name.keys().filter_map(|name| name.strip_suffix(WORDS));
    let prefixes: Vec<&str> = ends.filter(|end| end.is_empty() || end.ends_with('.')).collect();
    match prefixes[..] {
        [] => Ok(""),
        [prefix] => Ok(prefix),
        [first, second, ..] => {
            let message = format!("holds several encoders: `{first}{WORDS}`, `{second}{WORDS}`");
            Err(Error::file(&tensors.path, message))
        }
    }
}

/// The name of a tensor outside of the body, without the outer part of the body's `prefix`.
fn outside<'n>(full: &'n str, prefix: &str) -> &'n str {
    let outer = prefix.trim_end_matches('.').rsplit_once('.').map_or("", |(outer, _)| outer);
    full.strip_prefix(outer).map_or(full, |name| name.strip_prefix('.').unwrap_or(name))
}

/// A tensor's current name; BERT's first files use `gamma` and `beta`.
fn present(name: &str) -> String {
    let renamed = |old: &str, new: &str| {
        name.strip_suffix(old)
            .filter(|stem| stem.ends_with("LayerNorm"))
            .map(|s| s.to_owned() + new)
    };
    renamed(".gamma", ".weight")
        .or_else(|| renamed(".beta", ".bias"))
        .unwrap_or_else(|| name.to_owned())
}

fn is_unused(name: &str) -> bool {
    BUFFERS.contains(&name) || HEADS.iter().any(|head| name.starts_with(head))
}
