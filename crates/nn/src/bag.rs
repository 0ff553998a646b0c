//! The bag: a sparse row is a weighted sum of embeddings (`dsokr_kernels::bag`), and a linear path and an MLP map the
//! sum to coordinates.

use std::sync::Arc;

use burn::module::{Module, ModuleDisplay, Param};
use burn::tensor::Tensor;
use dsokr_basis::features::SparseRow;
use dsokr_kernels::{RowGradients, SparseBatch, bag};
use smart_default::SmartDefault;

use crate::encoder::{Encoder, PartSize};
use crate::error::{Error, check};
use crate::init::{self, Start};
use crate::mlp::{Mlp, MlpConfig};
use crate::onnx::{Dimension, Graph, Type, Value};
use crate::pass::{Pass, check_dropout};

/// A weighted sum of embeddings, and an MLP.
///
/// With a linear path, embeddings have p columns, and the MLP corrects the prediction that their sum
/// is: `z = b + h + MLP(h)`, `h = Σ x_i E_i` over the entries of a sparse row x. Without a linear path, `z = MLP(h)`.
#[derive(Clone, Debug, PartialEq, SmartDefault)]
pub struct BagConfig {
    /// Whether the sum of embeddings is added to the MLP's output.
    #[default(true)]
    pub linear: bool,
    /// Columns of the embedding without a linear path; with it there are p.
    #[default(256)]
    pub embedding: usize,
    /// Widths of the MLP's hidden layers. If empty, a linear path has no MLP next to it, and without one
    /// there is a single linear layer.
    #[default(vec![256])]
    pub hidden: Vec<usize>,
    /// Share of hidden units dropped in training, in `[0, 1)`.
    #[default(0.5)]
    pub dropout: f32,
    /// Share of the entries of a row dropped in training, in `[0, 1)`.
    pub entry_dropout: f32,
}

impl BagConfig {
    /// Checks sizes and rates; `entry_dropout` is the key of the share of entries dropped.
    ///
    /// # Errors
    /// A width of 0 or a rate outside `[0, 1)`.
    pub fn validate(&self, entry_dropout: &'static str) -> Result<(), Error> {
        check(self.embedding > 0, "embedding", 0, "at least 1")?;
        check_dropout(entry_dropout, self.entry_dropout)?;
        self.mlp().validate()
    }

    fn mlp(&self) -> MlpConfig {
        MlpConfig { hidden: self.hidden.clone(), dropout: self.dropout }
    }

    /// Returns the size of the encoder over rows of `features` columns and `length` entries, with `coordinates`
    /// coordinates; `features_key` is the key of the features.
    pub fn size(
        &self,
        features: usize,
        length: f64,
        coordinates: usize,
        features_key: &'static str,
    ) -> Vec<PartSize> {
        let width = if self.linear { coordinates } else { self.embedding };
        let table = PartSize {
            keys: if self.linear { features_key } else { "embedding" }.into(),
            parameters: features as f64 * width as f64,
            activations: 2.0 * length + 2.0 * width as f64,
            gpu_width: 4.0,
            products: length * width as f64,
        };
        if self.linear && self.hidden.is_empty() {
            vec![table]
        } else {
            vec![table, self.mlp().size(width, coordinates)]
        }
    }

    /// Draws a bag over rows of `features` columns. The offset becomes the bias b.
    ///
    /// With a linear path, embeddings and the MLP's last layer start at zero: training begins at the
    /// bias, and gradient descent on the embeddings first fits features that many inputs share, as ridge
    /// regression does.
    pub fn init(&self, features: usize, start: Start) -> NgramBag {
        let p = start.offset.len();
        let offset = start.offset;
        let device = start.device;
        let (table, mlp) = if self.linear {
            let start = Start { offset: &vec![0.0; p], ..start };
            let residual = || self.mlp().init(p, start).with_zero_head();
            (init::constant([features, p], 0.0, device), (!self.hidden.is_empty()).then(residual))
        } else {
            let table = init::normal([features, self.embedding], 0.1, start.random, device);
            (table, Some(self.mlp().init(self.embedding, start)))
        };
        NgramBag {
            table,
            bias: self.linear.then(|| init::vector(offset, device)),
            mlp,
            entry_dropout: self.entry_dropout,
            row_gradients: None,
        }
    }
}

/// See [`BagConfig`].
#[derive(Module, Debug)]
pub struct NgramBag {
    table: Param<Tensor<2>>,
    /// The bias; only with a linear path.
    bias: Option<Param<Tensor<1>>>,
    mlp: Option<Mlp>,
    #[module(skip)]
    entry_dropout: f32,
    /// The receiver of the table's gradient, if the gradient is by rows.
    #[module(skip)]
    row_gradients: Option<RowGradients>,
}

/// Dropout site of the entries; the MLP's sites start at 1.
const ENTRY_SITE: u64 = 0;

impl Encoder for NgramBag {
    type Input = SparseRow;

    fn dimension(&self) -> usize {
        match (&self.bias, &self.mlp) {
            (None, Some(mlp)) => mlp.dimension(),
            _ => self.table.dims()[1],
        }
    }

    /// Encodes sparse rows.
    ///
    /// # Panics
    /// If a row has a column that the table of embeddings does not have.
    fn forward(&self, batch: &[&SparseRow], pass: Pass) -> Tensor<2> {
        let rows = Arc::new(self.collate(batch, pass));
        let by_rows = self.row_gradients.clone().map(|gradients| (self.table.id, gradients));
        let sum = bag(self.table.val(), rows, by_rows);
        let deep = self.mlp.as_ref().map(|mlp| mlp.apply(sum.clone(), pass, 1));
        match (&self.bias, deep) {
            (Some(bias), Some(deep)) => sum + deep + bias.val().unsqueeze::<2>(),
            (Some(bias), None) => sum + bias.val().unsqueeze::<2>(),
            (None, Some(deep)) => deep,
            (None, None) => sum,
        }
    }

    fn entries(&self, row: &SparseRow) -> usize {
        row.len()
    }

    fn with_row_gradients(self, gradients: &RowGradients) -> Self {
        Self { row_gradients: Some(gradients.clone()), ..self }
    }

    fn onnx(&self, graph: &mut Graph) -> Option<Value> {
        let shape = ["batch", "entries"].map(Dimension::Any);
        let doc = "columns of an input's sparse row, padded with any";
        let columns = graph.input("columns", Type::Int, &shape, doc);
        let doc = "the values in these columns, padded with 0";
        let values = graph.input("values", Type::Float, &shape, doc);
        let table = graph.parameter(&self.table);
        let one = graph.ints(&[1]);
        let rows = graph.node("Gather", &[&table, &columns], &[]);
        let values = graph.node("Unsqueeze", &[&values, &one], &[]);
        let sum = graph.node("MatMul", &[&values, &rows], &[]);
        let sum = graph.node("Squeeze", &[&sum, &one], &[]);
        let deep = self.mlp.as_ref().map(|mlp| mlp.add_to(graph, sum.clone()));
        let Some(bias) = &self.bias else { return Some(deep.unwrap_or(sum)) };
        let bias = graph.parameter(bias);
        let linear = graph.node("Add", &[&sum, &bias], &[]);
        Some(match deep {
            Some(deep) => graph.node("Add", &[&linear, &deep], &[]),
            None => linear,
        })
    }
}

impl NgramBag {
    fn collate(&self, batch: &[&SparseRow], pass: Pass) -> SparseBatch {
        let mut all = SparseBatch { starts: vec![0], ..SparseBatch::default() };
        let mask = pass.entry_dropout(ENTRY_SITE, self.entry_dropout, 1);
        let mut elements = 0u32..;
        for row in batch {
            for (&(index, value), element) in row.iter().zip(&mut elements) {
                let factor = mask.map_or(1.0, |mask| mask.at(element));
                if factor != 0.0 {
                    all.indices.push(index);
                    all.values.push(value * factor);
                }
            }
            all.starts.push(all.indices.len());
        }
        all
    }
}

/// A bag of n-grams and a different encoder of the same text: the sum of their coordinates.
#[derive(Module, Debug)]
pub struct BagBeside<E: Module> {
    /// The bag.
    pub bag: NgramBag,
    /// The other encoder.
    pub beside: E,
}

impl<E: Encoder + ModuleDisplay> Encoder for BagBeside<E> {
    /// The inputs of both.
    type Input = (<NgramBag as Encoder>::Input, E::Input);

    fn dimension(&self) -> usize {
        self.beside.dimension()
    }

    fn length(&self, (_, input): &Self::Input) -> usize {
        self.beside.length(input)
    }

    fn entries(&self, (row, _): &Self::Input) -> usize {
        self.bag.entries(row)
    }

    fn forward(&self, batch: &[&Self::Input], pass: Pass) -> Tensor<2> {
        let (rows, inputs): (Vec<_>, Vec<_>) = batch.iter().map(|both| (&both.0, &both.1)).unzip();
        self.bag.forward(&rows, pass) + self.beside.forward(&inputs, pass)
    }

    fn with_row_gradients(self, gradients: &RowGradients) -> Self {
        let bag = self.bag.with_row_gradients(gradients);
        let beside = self.beside.with_row_gradients(gradients);
        Self { bag, beside }
    }

    fn onnx(&self, graph: &mut Graph) -> Option<Value> {
        let parts = [self.bag.onnx(graph)?, self.beside.onnx(graph)?];
        Some(graph.node("Add", &parts.each_ref(), &[]))
    }
}
