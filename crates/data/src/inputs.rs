//! The inputs of pairs: texts, vectors, or values of kernels.

use std::borrow::Cow;

use dsokr_basis::{Features, RowSource};
use faer::Mat;

use crate::error::Error;
use crate::vectors::Vectors;

/// A kind of inputs.
#[derive(Clone, Copy, Debug, Default, derive_more::Display, PartialEq, Eq)]
#[display(rename_all = "lowercase")]
pub enum InputKind {
    /// Texts.
    #[default]
    Texts,
    /// Feature vectors.
    #[display("feature vectors")]
    Vectors,
    /// Values of kernels with the training inputs.
    Kernels,
}

/// The inputs of pairs.
#[derive(Clone, Debug, PartialEq)]
pub enum Inputs {
    /// Texts.
    Texts(Vec<String>),
    /// A vector each.
    Vectors(Vectors),
    /// The values of kernels with the training inputs.
    Kernels(KernelRows),
}

impl Default for Inputs {
    fn default() -> Self {
        Self::Texts(Vec::new())
    }
}

impl Inputs {
    /// Returns the number of inputs.
    pub fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Vectors(rows) => rows.len(),
            Self::Kernels(rows) => rows.matrices.first().map_or(0, Mat::nrows),
        }
    }

    /// Returns the values of the kernels, one after the other; none of texts and vectors.
    pub fn kernel_values(&self) -> Vec<f64> {
        match self {
            Self::Kernels(rows) => rows.values(),
            Self::Texts(_) | Self::Vectors(_) => Vec::new(),
        }
    }

    /// Returns whether there are no inputs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns some of the inputs, in a given order.
    ///
    /// # Errors
    /// A row out of range, where inputs are vectors.
    ///
    /// # Panics
    /// If a row is out of range, where they are not.
    pub fn select(&self, rows: &[usize]) -> Result<Self, Error> {
        Ok(match self {
            Self::Texts(texts) => Self::Texts(rows.iter().map(|&row| texts[row].clone()).collect()),
            Self::Vectors(all) => Self::Vectors(all.chosen(rows)?),
            Self::Kernels(all) => Self::Kernels(all.select(rows)),
        })
    }

    /// Returns the inputs as a model reads them that has learned only some of the training inputs: without the values of
    /// kernels with the others.
    pub(crate) fn among(self, learned: &[usize]) -> Self {
        match self {
            Self::Kernels(all) => Self::Kernels(all.among(learned)),
            Self::Texts(_) | Self::Vectors(_) => self,
        }
    }

    /// Puts other inputs behind these.
    ///
    /// # Errors
    /// Inputs of a different kind, and vectors of a different width.
    pub(crate) fn append(&mut self, other: Self) -> Result<(), Error> {
        match (self, other) {
            (Self::Texts(texts), Self::Texts(other)) => texts.extend(other),
            (Self::Vectors(vectors), Self::Vectors(other)) => vectors.append(&other)?,
            (Self::Kernels(kernels), Self::Kernels(other)) => kernels.append(&other),
            (inputs, other) => return Err(inputs.unfit(other.kind())),
        }
        Ok(())
    }

    /// Returns the texts.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] where inputs are not texts.
    pub fn texts(&self) -> Result<&[String], Error> {
        if let Self::Texts(texts) = self { Ok(texts) } else { Err(self.unfit("texts")) }
    }

    /// Returns the vectors, a row each, which are read if they are in a file.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] where inputs are not vectors; errors from reading them.
    pub fn vectors(&self) -> Result<Cow<'_, Features>, Error> {
        self.vector_rows()?.features()
    }

    /// Returns the number of columns of the vectors.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] where inputs are not vectors.
    pub fn vector_width(&self) -> Result<usize, Error> {
        Ok(self.vector_rows()?.width())
    }

    fn vector_rows(&self) -> Result<&Vectors, Error> {
        if let Self::Vectors(rows) = self { Ok(rows) } else { Err(self.unfit("feature vectors")) }
    }

    /// Returns the values of kernels with the training inputs.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] where inputs are not values of kernels.
    pub fn kernels(&self) -> Result<&KernelRows, Error> {
        if let Self::Kernels(rows) = self { Ok(rows) } else { Err(self.unfit("values of kernels")) }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Texts(_) => "texts",
            Self::Vectors(_) => "feature vectors",
            Self::Kernels(_) => "values of kernels",
        }
    }

    fn unfit(&self, read: &str) -> Error {
        Error::value("the inputs", self.kind(), format!("{read}, which this model reads"))
    }
}

/// Values of some inputs with the n training inputs, or with m anchors, of one or several kernels: a row for each
/// input.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelRows {
    /// The values of each kernel, rows × n or rows × m.
    pub matrices: Vec<Mat<f64>>,
    /// The values of the anchors with each other, m × m of each kernel; empty without anchors.
    pub anchors: Vec<Mat<f64>>,
}

impl KernelRows {
    /// Returns all values, of one kernel after the other, row by row.
    pub fn values(&self) -> Vec<f64> {
        let rows = self.matrices.iter().flat_map(|matrix| matrix.row_iter());
        rows.flat_map(|row| row.iter().copied()).collect()
    }

    /// Returns the number of training inputs, n, or of anchors, m.
    pub fn training(&self) -> usize {
        self.matrices.first().map_or(0, Mat::ncols)
    }

    /// Returns the values with only some of the training inputs; with anchors they stay as they are.
    fn among(self, learned: &[usize]) -> Self {
        if !self.anchors.is_empty() {
            return self;
        }
        let pick = |matrix: &Mat<f64>| {
            Mat::from_fn(matrix.nrows(), learned.len(), |i, j| matrix[(i, learned[j])])
        };
        Self { matrices: self.matrices.iter().map(pick).collect(), anchors: Vec::new() }
    }

    /// Puts the values of other inputs behind these.
    fn append(&mut self, other: &Self) {
        for (matrix, other) in self.matrices.iter_mut().zip(&other.matrices) {
            let rows = matrix.nrows();
            let value = |i: usize, j: usize| match i.checked_sub(rows) {
                None => matrix[(i, j)],
                Some(i) => other[(i, j)],
            };
            *matrix = Mat::from_fn(rows + other.nrows(), matrix.ncols(), value);
        }
    }

    /// Returns some of the inputs, in a given order.
    ///
    /// # Panics
    /// If a row is out of range.
    pub fn select(&self, rows: &[usize]) -> Self {
        let pick = |matrix: &Mat<f64>| {
            Mat::from_fn(rows.len(), matrix.ncols(), |i, j| matrix[(rows[i], j)])
        };
        let matrices = self.matrices.iter().map(pick).collect();
        Self { matrices, anchors: self.anchors.clone() }
    }
}
