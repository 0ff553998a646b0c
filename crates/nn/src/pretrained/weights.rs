//! The layout of weight files: where each parameter of a body lies, for reading and for writing, and the tensors of a
//! file as parameters.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::tensors::{Tensor, Tensors};
use crate::error::{Error, check_names};
use crate::parameters::{Parameter, Parameters};
use crate::transformer::Architecture;

/// The tensor that locates a body in a file: all names of tensors have the same prefix as its name.
const WORDS: &str = "embeddings.word_embeddings.weight";
/// Integer buffers that older versions of transformers saved.
const BUFFERS: [&str; 2] = ["embeddings.position_ids", "embeddings.token_type_ids"];
/// The heads of pre-training and of other tasks, which a body does not use.
const HEADS: [&str; 5] = [POOLER, "cls.", "lm_head.", "classifier.", "qa_outputs."];
const POOLER: &str = "pooler.";

/// A parameter of the body, and the tensors of the file that it consists of.
pub(super) struct Piece {
    /// Path of the parameter in the body.
    pub(super) path: String,
    /// The shape of the parameter.
    pub(super) shape: Vec<usize>,
    /// The tensors, side by side along the parameter's last dimension: one tensor, or query, key and
    /// value.
    pub(super) names: Vec<String>,
}

/// Returns all parameters of a body.
pub(super) fn layout(architecture: &Architecture) -> Vec<Piece> {
    let Architecture { width: d, feed_forward: ff, vocabulary, positions, types, .. } =
        *architecture;
    let tables = [
        ("tokens", "word", vocabulary),
        ("positions", "position", positions),
        ("types", "token_type", types),
    ];
    let table = |(path, name, rows): (&str, &str, usize)| {
        let names = vec![format!("embeddings.{name}_embeddings.weight")];
        Piece { path: path.into(), shape: vec![rows, d], names }
    };
    let mut pieces: Vec<Piece> = tables.map(table).into();
    let norm = ["gamma", "beta"];
    let linear = ["weight", "bias"];
    let mut add = |path: String, leaves: [&str; 2], names: &[String], shape: &[usize]| {
        let shapes = [shape, &shape[shape.len() - 1..]];
        for ((leaf, end), shape) in leaves.into_iter().zip(linear).zip(shapes) {
            let names = names.iter().map(|name| format!("{name}.{end}")).collect();
            pieces.push(Piece { path: format!("{path}.{leaf}"), shape: shape.to_vec(), names });
        }
    };
    add("norm".into(), norm, &["embeddings.LayerNorm".into()], &[d]);
    for i in 0..architecture.layers {
        let path = |name: &str| format!("layers.{i}.{name}");
        let full = |name: &str| format!("encoder.layer.{i}.{name}");
        let qkv = ["query", "key", "value"].map(|part| full(&format!("attention.self.{part}")));
        add(path("qkv"), linear, &qkv, &[d, 3 * d]);
        add(path("output"), linear, &[full("attention.output.dense")], &[d, d]);
        add(path("up"), linear, &[full("intermediate.dense")], &[d, ff]);
        add(path("down"), linear, &[full("output.dense")], &[ff, d]);
        add(path("attention_norm"), norm, &[full("attention.output.LayerNorm")], &[d]);
        add(path("feed_forward_norm"), norm, &[full("output.LayerNorm")], &[d]);
    }
    pieces
}

impl Piece {
    /// Returns whether the tensors are matrices `[out, in]`, as in PyTorch's linear layers, while the parameter
    /// is `[in, out]`.
    fn is_transposed(&self) -> bool {
        self.path.ends_with(".weight")
    }

    /// Returns the shape of each tensor.
    pub(super) fn file_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.clone();
        // only parameters of several tensors are wider than their tensors
        if let Some(last) = shape.last_mut() {
            *last /= self.names.len();
        }
        if self.is_transposed() {
            shape.reverse();
        }
        shape
    }

    /// Returns the parameter's values from `tensors` in the order of `names`, each of the
    /// [`file_shape`](Self::file_shape).
    pub(super) fn join(&self, tensors: Vec<Vec<f32>>) -> Vec<f32> {
        let values = tensors.concat();
        if self.is_transposed() {
            // query, key and value are consecutive groups of rows
            transposed(&values, self.shape[0])
        } else {
            values
        }
    }

    /// Returns the inverse of [`join`](Self::join), for `values` that fill the parameter's shape.
    pub(super) fn split(&self, values: &[f32]) -> Vec<Vec<f32>> {
        let values =
            if self.is_transposed() { &transposed(values, self.shape[1])[..] } else { values };
        values.chunks_exact(values.len() / self.names.len()).map(<[f32]>::to_vec).collect()
    }
}

/// Returns the transpose of a matrix with rows of `width` values.
pub(super) fn transposed(values: &[f32], width: usize) -> Vec<f32> {
    let column = |j| values.iter().skip(j).step_by(width).copied();
    (0..width).flat_map(column).collect()
}

/// Returns the body's parameters, and the sorted names of the known tensors that it does not use.
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
    let mut unknown = Vec::new();
    for (full, tensor) in &tensors.by_name {
        let name = full.strip_prefix(prefix).map(present);
        if let Some(name) = name.as_ref().filter(|name| shapes.contains_key(name.as_str())) {
            if used.insert(name.clone(), tensor).is_some() {
                let message = format!("`{full}` occurs under its old and its new name");
                return Err(Error::file(&tensors.path, message));
            }
            continue;
        }
        let name = name.as_deref().unwrap_or_else(|| outside(full, prefix));
        if BUFFERS.contains(&name) || HEADS.iter().any(|head| name.starts_with(head)) {
            unused.push(full.clone());
        } else {
            unknown.push((full.clone(), tensor.shape.clone()));
        }
    }
    let missing = shapes.iter().filter(|(name, _)| !used.contains_key(**name));
    let missing = missing.map(|(name, shape)| (format!("{prefix}{name}"), shape.clone()));
    let place = || format!("{}: not the weights of this architecture", tensors.path.display());
    check_names(place, missing, unknown.into_iter())?;
    for (name, tensor) in &used {
        let expected = &shapes[name.as_str()];
        if tensor.shape != *expected {
            let actual = tensor.shape.clone();
            let expected = expected.clone();
            return Err(Error::Shape { tensor: tensor.place(), found: actual, expected });
        }
    }
    let read = |piece: &Piece| -> Result<Parameter, Error> {
        let values: Result<_, _> =
            piece.names.iter().map(|name| used[name].read_finite()).collect();
        let values = piece.join(values?).into();
        Ok(Parameter { shape: piece.shape.clone(), values })
    };
    // all tensors are read before the first error is reported, so that it is always the same one
    let read: Vec<_> = pieces.par_iter().map(read).collect();
    let named = pieces.iter().zip(read).map(|(piece, read)| Ok((piece.path.clone(), read?)));
    Ok((named.collect::<Result<_, Error>>()?, unused))
}

/// Returns the pooler's tensors by their names in a body; empty if the file has no pooler.
pub(super) fn pooler(tensors: &Tensors) -> Result<Vec<(String, Parameter)>, Error> {
    let prefix = prefix(tensors)?;
    let named = tensors.by_name.iter().filter_map(|(full, tensor)| {
        let name = full.strip_prefix(prefix).filter(|name| name.starts_with(POOLER))?;
        Some((name.to_owned(), tensor))
    });
    let read = |(name, tensor): (String, &Tensor)| {
        let values = tensor.read()?.into();
        Ok((name, Parameter { shape: tensor.shape.clone(), values }))
    };
    named.map(read).collect()
}

/// Returns the prefix of the names of the body's tensors: nothing, `bert.`, `state_dict.roberta.`, …
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

/// Returns the name of a tensor outside of the body, without the outer part of the body's `prefix`.
fn outside<'n>(full: &'n str, prefix: &str) -> &'n str {
    let outer = prefix.trim_end_matches('.').rsplit_once('.').map_or("", |(outer, _)| outer);
    full.strip_prefix(outer).map_or(full, |name| name.strip_prefix('.').unwrap_or(name))
}

/// Returns a tensor's current name; BERT's first files use `gamma` and `beta`.
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
