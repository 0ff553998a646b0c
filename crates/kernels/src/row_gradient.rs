//! Gradients of tables of which a batch reads few rows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burn::backend::Flex;
use burn::module::ParamId;
use burn::tensor::{Tensor, TensorData};
use rayon::prelude::*;

use crate::operation::wrap;
use crate::simd::{ROWS_AHEAD, add_scaled, prefetch};

/// Number of elements that one task squares.
const CHUNK: usize = 1 << 14;

/// The gradient of a table `[rows, p]` that is 0 but for some rows.
#[derive(Clone, Debug, PartialEq)]
pub struct RowGradient {
    /// The numbers of these rows, ascending.
    rows: Vec<u32>,
    /// The gradients of these rows one behind the other, p numbers each.
    values: Vec<f32>,
    /// p.
    width: usize,
}

impl RowGradient {
    pub(super) fn new(rows: Vec<u32>, values: Vec<f32>, width: usize) -> Self {
        assert!(rows.len() * width == values.len(), "a gradient has p numbers a row");
        Self { rows, values, width }
    }

    /// Returns the numbers of the rows that are not 0, ascending.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Returns the gradients of these rows one behind the other.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Returns the number and gradient of each row that is not 0, by number.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &[f32])> {
        let values = self.values.chunks_exact(self.width.max(1));
        self.rows.iter().map(|&row| row as usize).zip(values)
    }

    /// Returns the number and gradient of each row from number `first` on.
    pub(super) fn behind(&self, first: usize) -> impl Iterator<Item = (usize, &[f32])> {
        self.iter().skip(self.rows.partition_point(|&row| (row as usize) < first))
    }

    /// Returns the gradients of these rows as a vector on the CPU engine.
    pub fn vector(&self) -> Tensor<1> {
        Tensor::from_primitive::<Flex>(wrap(self.values.clone(), [self.values.len()]))
    }

    /// Returns the squares of the numbers of these rows, `[rows, p]`.
    pub fn squares(&self) -> Tensor<2> {
        let mut squares = vec![0.0; self.values.len()];
        let chunks = squares.par_chunks_mut(CHUNK).zip(self.values.par_chunks(CHUNK));
        chunks.for_each(|(squares, values)| {
            for (square, value) in squares.iter_mut().zip(values) {
                *square = value * value;
            }
        });
        Tensor::from_primitive::<Flex>(wrap(squares, [self.rows.len(), self.width]))
    }

    /// Multiplies it.
    pub fn scale(&mut self, factor: f32) {
        self.values.par_iter_mut().for_each(|value| *value *= factor);
    }

    /// Adds the gradient of a different use of the table.
    fn add(&mut self, other: Self) {
        let mut rows = Vec::with_capacity(self.rows.len() + other.rows.len());
        let mut values = Vec::with_capacity(self.values.len() + other.values.len());
        let mut theirs = other.iter().peekable();
        for (row, gradient) in self.iter() {
            while let Some((before, gradient)) = theirs.next_if(|(number, _)| *number < row) {
                rows.push(before as u32);
                values.extend_from_slice(gradient);
            }
            rows.push(row as u32);
            let start = values.len();
            values.extend_from_slice(gradient);
            if let Some((_, gradient)) = theirs.next_if(|(number, _)| *number == row) {
                add_scaled(&mut values[start..], 1.0, gradient);
            }
        }
        for (row, gradient) in theirs {
            rows.push(row as u32);
            values.extend_from_slice(gradient);
        }
        *self = Self { rows, values, width: self.width };
    }

    /// Adds `factor` times the gradient to a table, row-major on the CPU.
    pub fn add_to(&self, table: &mut [f32], factor: f32) {
        let width = self.width.max(1);
        let rows = table.len() / width;
        // each task owns a range of rows
        let per_task = rows.div_ceil(4 * rayon::current_num_threads()).max(1);
        table.par_chunks_mut(per_task * width).enumerate().for_each(|(task, table)| {
            let first = task * per_task;
            let from = self.rows.partition_point(|&row| (row as usize) < first);
            let to = self.rows.partition_point(|&row| (row as usize) < first + per_task);
            for at in from..to {
                let place = |at: usize| (self.rows[at] as usize - first) * width;
                if at + ROWS_AHEAD < to {
                    prefetch(&table[place(at + ROWS_AHEAD)..][..width]);
                }
                let gradient = &self.values[at * width..][..width];
                add_scaled(&mut table[place(at)..][..width], factor, gradient);
            }
        });
    }

    /// Returns all rows, row-major, of a table with so many numbers.
    pub fn dense(&self, numbers: usize) -> Vec<f32> {
        let mut dense = vec![0.0; numbers];
        for (row, gradient) in self.iter() {
            dense[row * self.width..][..self.width].copy_from_slice(gradient);
        }
        dense
    }
}

/// The gradient of a parameter.
#[derive(Clone, Debug)]
pub enum Gradient<const D: usize> {
    /// A number for each of the parameter.
    Dense(Tensor<D>),
    /// The gradient of some rows of a table.
    Rows(RowGradient),
}

impl<const D: usize> Gradient<D> {
    /// Returns the gradient with a number for each of `parameter`.
    pub fn dense(self, parameter: &Tensor<D>) -> Tensor<D> {
        match self {
            Self::Dense(gradient) => gradient,
            Self::Rows(gradient) => {
                let shape = parameter.shape();
                let dense = TensorData::new(gradient.dense(shape.num_elements()), shape);
                Tensor::from_data(dense, (&parameter.device(), parameter.dtype()))
            }
        }
    }
}

/// The receiver of gradients by rows in a backward pass, in which Burn gets none for these tables. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct RowGradients(Arc<Mutex<HashMap<ParamId, RowGradient>>>);

impl RowGradients {
    fn lock(&self) -> MutexGuard<'_, HashMap<ParamId, RowGradient>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the gradient of one use of a table.
    pub(super) fn add(&self, table: ParamId, gradient: RowGradient) {
        let mut all = self.lock();
        match all.get_mut(&table) {
            Some(sum) => sum.add(gradient),
            None => drop(all.insert(table, gradient)),
        }
    }

    /// Takes the gradients of all tables since the last call.
    pub fn take(&self) -> HashMap<ParamId, RowGradient> {
        std::mem::take(&mut self.lock())
    }
}
