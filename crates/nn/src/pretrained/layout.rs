//! Where each parameter of a body lies in a weight file, for reading and for writing.

use crate::transformer::Architecture;

/// One parameter of the body, and the tensors of the file that it consists of.
pub(super) struct Piece {
    /// Path of the parameter in the body.
    pub(super) path: String,
    /// Its shape.
    pub(super) shape: Vec<usize>,
    /// The tensors, side by side along the parameter's last dimension: one tensor, or query, key and
    /// value.
    pub(super) names: Vec<String>,
}

/// All parameters of a body.
pub(super) fn layout(architecture: &Architecture) -> Vec<Piece> {
    let Architecture { width: d, feed_forward: ff, vocabulary, positions, types, .. } =
        *architecture;
    let mut pieces = Vec::new();
    let mut add = |path: String, shape: &[usize], names: &[&str], end: &str| {
        let names = names.iter().map(|name| format!("{name}{end}")).collect();
        pieces.push(Piece { path, shape: shape.to_vec(), names });
    };
    let tables = [("tokens", "word", vocabulary), ("positions", "position", positions)];
    for (path, name, rows) in tables.into_iter().chain([("types", "token_type", types)]) {
        let name = format!("embeddings.{name}_embeddings");
        add(path.into(), &[rows, d], &[&name], ".weight");
    }
    add("norm.gamma".into(), &[d], &["embeddings.LayerNorm"], ".weight");
    add("norm.beta".into(), &[d], &["embeddings.LayerNorm"], ".bias");
    let qkv = ["query", "key", "value"].map(|part| format!("attention.self.{part}"));
    let linear: [(&str, &[&str], [usize; 2]); 4] = [
        ("qkv", &qkv.each_ref().map(String::as_str), [d, 3 * d]),
        ("output", &["attention.output.dense"], [d, d]),
        ("up", &["intermediate.dense"], [d, ff]),
        ("down", &["output.dense"], [ff, d]),
    ];
    let norms = [
        ("attention_norm", "attention.output.LayerNorm"),
        ("feed_forward_norm", "output.LayerNorm"),
    ];
    for i in 0..architecture.layers {
        let full = |name: &&str| format!("encoder.layer.{i}.{name}");
        for (path, names, shape) in &linear {
            let names: Vec<String> = names.iter().map(full).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            add(format!("layers.{i}.{path}.weight"), shape, &names, ".weight");
            add(format!("layers.{i}.{path}.bias"), &shape[1..], &names, ".bias");
        }
        for (path, name) in norms {
            add(format!("layers.{i}.{path}.gamma"), &[d], &[&full(&name)], ".weight");
            add(format!("layers.{i}.{path}.beta"), &[d], &[&full(&name)], ".bias");
        }
    }
    pieces
}

impl Piece {
    /// Whether the tensors are matrices `[out, in]`, as in PyTorch's linear layers, while the parameter
    /// is `[in, out]`.
    fn is_transposed(&self) -> bool {
        self.path.ends_with(".weight")
    }

    /// Shape of each tensor.
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

    /// The parameter's values from `tensors` in the order of `names`, each of the
    /// [`file_shape`](Self::file_shape).
    pub(super) fn join(&self, tensors: Vec<Vec<f32>>) -> Vec<f32> {
        let values = tensors.concat();
        match self.is_transposed() {
            // query, key and value are rows below one another
            true => transposed(&values, self.shape[0]),
            false => values,
        }
    }

    /// The inverse of [`join`](Self::join), for `values` that fill the parameter's shape.
    pub(super) fn split(&self, values: &[f32]) -> Vec<Vec<f32>> {
        let values = match self.is_transposed() {
            true => &transposed(values, self.shape[1])[..],
            false => values,
        };
        values.chunks_exact(values.len() / self.names.len()).map(<[f32]>::to_vec).collect()
    }
}

/// The transpose of a matrix with rows of `width` values.
pub(super) fn transposed(values: &[f32], width: usize) -> Vec<f32> {
    let column = |j| values.iter().skip(j).step_by(width).copied();
    (0..width).flat_map(column).collect()
}
