//! The layout of weight files: where each parameter of a body lies, for reading and for writing, and the tensors of a
//! file as parameters.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::families::Names;
use super::tensors::{Tensor, Tensors};
use crate::error::{Error, check_names};
use crate::parameters::{Parameter, Parameters};
use crate::transformer::{Architecture, NormPlace};

/// Buffers that some versions of transformers save.
const BUFFERS: [&str; 2] = ["embeddings.position_ids", "embeddings.token_type_ids"];
/// The layer on the first token's vector, which a body does not use.
const POOLER: &str = "pooler.";

/// A parameter of the body, and the tensors of the file that it consists of.
pub(super) struct Piece {
    /// Path of the parameter in the body.
    pub(super) path: String,
    /// The shape of the parameter.
    pub(super) shape: Vec<usize>,
    /// The tensors, side by side along the parameter's last dimension: one tensor, or query, key and
    /// value.
    pub(super) parts: Vec<Part>,
}

/// A tensor of a file that a parameter consists of.
pub(super) struct Part {
    pub(super) name: String,
    /// Its share of the parameter's last dimension.
    width: usize,
}

/// Returns all parameters of a body, and the names of their tensors in a family.
pub(super) fn layout(architecture: &Architecture, names: &Names) -> Vec<Piece> {
    let Architecture { width: d, feed_forward: ff, vocabulary, positions, types, .. } =
        *architecture;
    let Architecture { norm_bias, attention_bias, output_bias, feed_forward_bias, .. } =
        *architecture;
    let table_width = architecture.table_width();
    let mut pieces = Pieces(Vec::new());
    pieces.table("tokens", names.tokens, [vocabulary, table_width]);
    if architecture.position_kind.has_table() {
        pieces.table("positions", names.positions, [positions, table_width]);
    }
    if types > 0 {
        pieces.table("types", names.types, [types, table_width]);
    }
    if let Some(distances) = architecture.position_kind.distances() {
        pieces.table("relative", names.relative, [distances.buckets, architecture.heads]);
    }
    if let Some(vectors) = architecture.position_kind.distance_vectors() {
        pieces.table("relative", names.relative, [vectors.count(), d]);
        if vectors.has_norm {
            pieces.norm("relative_norm", names.relative_norm, d, norm_bias);
        }
    }
    if architecture.embedding_norm {
        pieces.norm("norm", names.norm, table_width, norm_bias);
    }
    if architecture.embedding_width > 0 {
        let projection = vec![Part { name: names.projection.into(), width: d }];
        pieces.linear("projection", projection, table_width, true);
    }
    for i in 0..architecture.own_layers() {
        let path = |name: &str| format!("layers.{i}.{name}");
        let layer = names.layer.replace('#', &i.to_string());
        let full = |name: &str| format!("{layer}{name}");
        let part = |name: &str, width: usize| Part { name: full(name), width };
        let attention = architecture.attention_width();
        let keys = architecture.key_width();
        let qkv = match names.qkv {
            [query, key, value] => vec![part(query, attention), part(key, keys), part(value, keys)],
            all => all.iter().map(|name| part(name, attention + 2 * keys)).collect(),
        };
        pieces.linear(&path("qkv"), qkv, d, attention_bias);
        if architecture.head_norm {
            let head = architecture.head_width();
            pieces.norm(&path("query_norm"), &full(names.query_norm), head, norm_bias);
            pieces.norm(&path("key_norm"), &full(names.key_norm), head, norm_bias);
        }
        pieces.linear(&path("output"), vec![part(names.output, d)], attention, output_bias);
        let up = if architecture.gated { names.gated_up } else { names.up };
        let units = architecture.inner_units() / up.len();
        let up = up.iter().map(|name| part(name, units)).collect();
        pieces.linear(&path("up"), up, d, feed_forward_bias);
        pieces.linear(&path("down"), vec![part(names.down, d)], ff, feed_forward_bias);
        if i > 0 || architecture.norm_place != NormPlace::BeforeButFirst {
            pieces.norm(&path("attention_norm"), &full(names.attention_norm), d, norm_bias);
        }
        pieces.norm(&path("feed_forward_norm"), &full(names.feed_forward_norm), d, norm_bias);
        if architecture.normalises_results() {
            for (part, name) in [
                ("attention_result_norm", names.attention_result_norm),
                ("feed_forward_result_norm", names.feed_forward_result_norm),
            ] {
                pieces.norm(&path(part), &full(name), d, norm_bias);
            }
        }
    }
    if architecture.normalises_before() {
        pieces.norm("final_norm", names.final_norm, d, norm_bias);
    }
    pieces.0
}

/// The parameters of a body that are listed so far.
struct Pieces(Vec<Piece>);

impl Pieces {
    /// Adds a parameter of one tensor.
    fn add(&mut self, path: String, shape: &[usize], name: String) {
        let width = shape[shape.len() - 1];
        self.0.push(Piece { path, shape: shape.to_vec(), parts: vec![Part { name, width }] });
    }

    fn table(&mut self, path: &str, name: &str, shape: [usize; 2]) {
        self.add(path.into(), &shape, format!("{name}.weight"));
    }

    fn norm(&mut self, path: &str, name: &str, width: usize, has_bias: bool) {
        self.add(format!("{path}.gamma"), &[width], format!("{name}.weight"));
        if has_bias {
            self.add(format!("{path}.beta"), &[width], format!("{name}.bias"));
        }
    }

    /// Adds a linear layer of one or several side by side, whose names lack their endings.
    fn linear(&mut self, path: &str, layers: Vec<Part>, inputs: usize, has_bias: bool) {
        let outputs = layers.iter().map(|layer| layer.width).sum();
        let mut add = |leaf: &str, shape: &[usize]| {
            let part =
                |layer: &Part| Part { name: format!("{}.{leaf}", layer.name), width: layer.width };
            let parts = layers.iter().map(part).collect();
            self.0.push(Piece { path: format!("{path}.{leaf}"), shape: shape.to_vec(), parts });
        };
        add("weight", &[inputs, outputs]);
        if has_bias {
            add("bias", &[outputs]);
        }
    }
}

impl Piece {
    /// Returns whether the tensors are matrices `[out, in]`, as in PyTorch's linear layers, while the parameter
    /// is `[in, out]`.
    fn is_transposed(&self) -> bool {
        self.path.ends_with(".weight")
    }

    /// Returns the shape of a tensor.
    pub(super) fn file_shape(&self, part: &Part) -> Vec<usize> {
        let mut shape = self.shape.clone();
        if let Some(last) = shape.last_mut() {
            *last = part.width;
        }
        if self.is_transposed() {
            shape.reverse();
        }
        shape
    }

    /// Returns the parameter's values from `tensors` in the order of `parts`, each of its
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
        let widths = self.parts.iter().map(|part| part.width);
        let rows = values.len() / widths.clone().sum::<usize>();
        let mut rest = values;
        let mut parts = Vec::new();
        for width in widths {
            let (part, others) = rest.split_at(width * rows);
            parts.push(part.to_vec());
            rest = others;
        }
        parts
    }
}

/// Returns the transpose of a matrix with rows of `width` values.
pub(super) fn transposed(values: &[f32], width: usize) -> Vec<f32> {
    let column = |j| values.iter().skip(j).step_by(width).copied();
    (0..width).flat_map(column).collect()
}

/// Returns the body's parameters, and the sorted names of the tensors that it does not use: known ones, and those beside
/// the body.
pub(super) fn body(
    tensors: &Tensors,
    architecture: &Architecture,
    names: &Names,
) -> Result<(Parameters, Vec<String>), Error> {
    let pieces = layout(architecture, names);
    let (used, unused) = assigned(tensors, &pieces, architecture, names)?;
    let read = |piece: &Piece| -> Result<Parameter, Error> {
        let values: Result<_, _> =
            piece.parts.iter().map(|part| used[&part.name].read_finite()).collect();
        let values = piece.join(values?).into();
        Ok(Parameter { shape: piece.shape.clone(), values })
    };
    // all tensors are read before the first error is reported, so that it is always the same one
    let read: Vec<_> = pieces.par_iter().map(read).collect();
    let named = pieces.iter().zip(read).map(|(piece, read)| Ok((piece.path.clone(), read?)));
    Ok((named.collect::<Result<_, Error>>()?, unused))
}

/// Returns the tensors of the parameters of a body, by their names in it, and the sorted names of the others. Every tensor
/// is there and has its shape.
fn assigned<'t>(
    tensors: &'t Tensors,
    pieces: &[Piece],
    architecture: &Architecture,
    names: &Names,
) -> Result<(BTreeMap<String, &'t Tensor>, Vec<String>), Error> {
    let mut shapes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for piece in pieces {
        let parts = piece.parts.iter();
        shapes.extend(parts.map(|part| (part.name.as_str(), piece.file_shape(part))));
    }
    let prefix = prefix(tensors, names)?;
    let table_again = TableAgain::find(tensors, prefix, names)?;
    let mut used: BTreeMap<String, &Tensor> = BTreeMap::new();
    let mut unused = Vec::new();
    let mut unknown = Vec::new();
    for (full, tensor) in &tensors.by_name {
        // heads of any task lie beside a body that has a prefix
        let Some(name) = full.strip_prefix(prefix).map(present) else {
            unused.push(full.clone());
            continue;
        };
        let again = table_again.as_ref().filter(|again| again.name == name);
        if again.is_some_and(|again| again.is_beside) {
            unused.push(full.clone());
            continue;
        }
        let name = if again.is_some() { format!("{}.weight", names.tokens) } else { name };
        if shapes.contains_key(name.as_str()) {
            if used.insert(name, tensor).is_some() {
                let message = format!("`{full}` occurs under its old and its new name");
                return Err(Error::file(&tensors.path, message));
            }
        } else if is_needless(&name, architecture, names) {
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
        tensor.check_shape(&shapes[name.as_str()])?;
    }
    Ok((used, unused))
}

/// Returns whether a body is known not to use a tensor of this name: a buffer, the pooler, or a head.
fn is_needless(name: &str, architecture: &Architecture, names: &Names) -> bool {
    // transformers leaves it out too: many files of ESM-2 have one beside rotary positions
    let has_needless_table = !architecture.position_kind.has_table();
    let is_table = name.strip_suffix(".weight") == Some(names.positions);
    BUFFERS.contains(&name)
        || name.ends_with(".inv_freq")
        || (has_needless_table && is_table)
        || name.starts_with(POOLER)
        || names.unused.iter().any(|head| name.starts_with(head))
}

/// The table of tokens under its other name.
struct TableAgain {
    /// The name of the tensor in a body.
    name: String,
    /// Whether the file has the table under its first name too.
    is_beside: bool,
}

impl TableAgain {
    /// Returns what a file has under the other name of a family's table, if it has one.
    fn find(tensors: &Tensors, prefix: &str, names: &Names) -> Result<Option<Self>, Error> {
        let Some(again) = names.tokens_again else { return Ok(None) };
        let name = format!("{again}.weight");
        let Some(other) = tensors.by_name.get(&format!("{prefix}{name}")) else { return Ok(None) };
        let first = tensors.by_name.get(&format!("{prefix}{}.weight", names.tokens));
        if let Some(first) = first
            && (first.shape != other.shape || first.read()? != other.read()?)
        {
            let message = format!(
                "`{prefix}{name}` has other values than `{prefix}{}.weight`: one table, or twice the same; versions of \
                 transformers choose differently",
                names.tokens
            );
            return Err(Error::file(&tensors.path, message));
        }
        Ok(Some(Self { name, is_beside: first.is_some() }))
    }
}

/// Returns the pooler's tensors by their names in a body; empty if the file has no pooler.
pub(super) fn pooler(tensors: &Tensors, names: &Names) -> Result<Vec<(String, Parameter)>, Error> {
    let prefix = prefix(tensors, names)?;
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
fn prefix<'t>(tensors: &'t Tensors, names: &Names) -> Result<&'t str, Error> {
    // the table of tokens locates a body in a file: all names of tensors have the same prefix as its name
    for table in [Some(names.tokens), names.tokens_again].into_iter().flatten() {
        let words = format!("{table}.weight");
        let ends = tensors.by_name.keys().filter_map(|name| name.strip_suffix(&words));
        let prefixes: Vec<&str> = ends.filter(|end| end.is_empty() || end.ends_with('.')).collect();
        match prefixes[..] {
            [] => {}
            [prefix] => return Ok(prefix),
            [first, second, ..] => {
                let message =
                    format!("holds several encoders: `{first}{words}`, `{second}{words}`");
                return Err(Error::file(&tensors.path, message));
            }
        }
    }
    Ok("")
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
