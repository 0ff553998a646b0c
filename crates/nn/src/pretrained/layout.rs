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
    /// Whether the tensors are matrices `[out, in]`, as in PyTorch's linear layers, while the parameter
    /// is `[in, out]`.
    transposed: bool,
}

/// All parameters of a body.
pub(super) fn layout(architecture: &Architecture) -> Vec<Piece> {
    let (d, ff) = (architecture.width, architecture.feed_forward);
    let mut pieces = Vec::new();
    let tables = [
        ("tokens", "word", architecture.vocabulary),
        ("positions", "position", architecture.positions),
        ("types", "token_type", architecture.types),
    ];
    for (path, name, rows) in tables {
        let name = format!("embeddings.{name}_embeddings.weight");
        pieces.push(Piece::same(path.into(), vec![rows, d], name));
    }
    norm(&mut pieces, "norm", "embeddings.LayerNorm", d);
    for i in 0..architecture.layers {
        let (path, name) = (format!("layers.{i}"), format!("encoder.layer.{i}"));
        let attended =
            ["query", "key", "value"].map(|part| format!("{name}.attention.self.{part}"));
        linear(&mut pieces, &format!("{path}.qkv"), &attended, [d, 3 * d]);
        let output = format!("{name}.attention.output");
        linear(&mut pieces, &format!("{path}.output"), &[format!("{output}.dense")], [d, d]);
        norm(&mut pieces, &format!("{path}.attention_norm"), &format!("{output}.LayerNorm"), d);
        let up = format!("{name}.intermediate.dense");
        linear(&mut pieces, &format!("{path}.up"), &[up], [d, ff]);
        let down = format!("{name}.output.dense");
        linear(&mut pieces, &format!("{path}.down"), &[down], [ff, d]);
        let last = format!("{name}.output.LayerNorm");
        norm(&mut pieces, &format!("{path}.feed_forward_norm"), &last, d);
    }
    pieces
}

fn linear(pieces: &mut Vec<Piece>, path: &str, names: &[String], shape: [usize; 2]) {
    let with = |end: &str| names.iter().map(|name| format!("{name}.{end}")).collect();
    pieces.push(Piece {
        path: format!("{path}.weight"),
        shape: shape.to_vec(),
        names: with("weight"),
        transposed: true,
    });
    pieces.push(Piece {
        path: format!("{path}.bias"),
        shape: vec![shape[1]],
        names: with("bias"),
        transposed: false,
    });
}

fn norm(pieces: &mut Vec<Piece>, path: &str, name: &str, d: usize) {
    pieces.push(Piece::same(format!("{path}.gamma"), vec![d], format!("{name}.weight")));
    pieces.push(Piece::same(format!("{path}.beta"), vec![d], format!("{name}.bias")));
}

impl Piece {
    fn same(path: String, shape: Vec<usize>, name: String) -> Self {
        Self { path, shape, names: vec![name], transposed: false }
    }

    /// Shape of each tensor.
    pub(super) fn file_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.clone();
        // only parameters of several tensors are wider than their tensors
        if let Some(last) = shape.last_mut() {
            *last /= self.names.len();
        }
        if self.transposed {
            shape.reverse();
        }
        shape
    }

    /// The parameter's values from `tensors` in the order of `names`, each of the
    /// [`file_shape`](Self::file_shape).
    pub(super) fn join(&self, mut tensors: Vec<Vec<f32>>) -> Vec<f32> {
        if !self.transposed {
            let mut tensors = tensors.drain(..);
            let mut values = tensors.next().unwrap_or_default();
            tensors.for_each(|more| values.extend(more));
            return values;
        }
        let (rows, columns) = (self.shape[0], self.shape[1]);
        let mut values = vec![0.0; rows * columns];
        let outputs = tensors.iter().flat_map(|tensor| tensor.chunks_exact(rows));
        for (column, output) in outputs.enumerate() {
            for (row, value) in output.iter().enumerate() {
                values[row * columns + column] = *value;
            }
        }
        values
    }

    /// The inverse of [`join`](Self::join), for `values` that fill the parameter's shape.
    pub(super) fn split(&self, values: &[f32]) -> Vec<Vec<f32>> {
        let part = values.len() / self.names.len();
        let mut tensors = Vec::with_capacity(self.names.len());
        if self.transposed {
            let (rows, columns) = (self.shape[0], self.shape[1]);
            let width = columns / self.names.len();
            for first in (0..columns).step_by(width) {
                let outputs = first..first + width;
                let output = |column| (0..rows).map(move |row| values[row * columns + column]);
                tensors.push(outputs.flat_map(output).collect());
            }
        } else {
            tensors.extend(values.chunks_exact(part).map(<[f32]>::to_vec));
        }
        tensors
    }
}
