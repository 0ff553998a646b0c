//! Kernel machines: ridge regression with vector-valued outputs, and IOKR.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dsokr_basis::{Basis, Kernel, Sketch, SketchKind, SketchOptions};
use dsokr_decode::CandidateParts;
use dsokr_machines::{
    InputSketch, KernelModel, LastSystem, OutputSpace, Points, Sketched, Solver, Targets,
    TrainingInputs,
};
use pyo3::prelude::*;

use crate::arrays::{Matrix, MatrixView, matrix, numbers};
use crate::candidates::{Candidates, check_spread, named_columns, placed};
use crate::errors::{About, Failure, table};
use crate::rows::Rows;
use crate::work::work;

const SPACE: &str = "outputs.safetensors";
const BASIS: &str = "basis.safetensors";

/// A fitted kernel ridge regression: `z(x) = Σ_j k(x, a_j) A_j`.
#[pyclass(frozen, module = "dsokr._dsokr")]
pub struct KernelMachine {
    model: KernelModel,
    /// The space that its predictions are coordinates of; none for plain vectors.
    space: Option<OutputSpace>,
}

/// Returns the solver of a ridge regression, of a kernel and a sketch of the inputs, as tables of a configuration in JSON.
fn ridge<'r>(
    rows: &'r Rows,
    kernel: &str,
    sketch: Option<(String, usize)>,
    lambda: f64,
    seed: u64,
) -> Result<impl FnOnce(&Targets) -> Result<KernelModel, Failure> + Send + use<'r>, Failure> {
    let solver = match sketch {
        None => Solver::default(),
        Some((method, size)) => {
            let sketch = InputSketch { size, method: table("sketch", &method)? };
            Solver::Sketched(Sketched { sketch })
        }
    };
    let kernel: Kernel = table("kernel", kernel)?;
    Ok(move |targets: &Targets| {
        let inputs = TrainingInputs::rows(kernel, rows.source());
        let prepared = solver.prepare(inputs, seed, LastSystem::default())?;
        Ok(prepared.fit(targets, lambda, false)?.0)
    })
}

/// Returns targets with the weights of their pairs, where these are given.
fn weighted(targets: Targets, weights: Option<&[f64]>) -> Result<Targets, Failure> {
    match weights {
        Some(weights) => targets.with_weights(weights).about("sample_weight"),
        None => Ok(targets),
    }
}

#[pymethods]
impl KernelMachine {
    /// Fits the least of `Σ_i w_i ‖h(x_i) − y_i‖² / Σ_i w_i + λ ‖h‖²`, over all functions, or over those in the span of a sketch
    /// of the inputs; without `weights` all w are 1.
    #[staticmethod]
    #[expect(clippy::too_many_arguments)]
    fn ridge(
        py: Python,
        rows: &Bound<Rows>,
        kernel: &str,
        targets: MatrixView<f64>,
        lambda_: f64,
        sketch: Option<(String, usize)>,
        seed: u64,
        weights: Option<Vec<f64>>,
    ) -> PyResult<Self> {
        let fit = ridge(rows.get(), kernel, sketch, lambda_, seed)?;
        let (values, [_, width]) = numbers(&targets, "y")?;
        let model = work(py, || {
            let targets = Targets::new(width, values).about("y")?;
            fit(&weighted(targets, weights.as_deref())?)
        });
        Ok(Self { model: model?, space: None })
    }

    /// Fits a ridge regression onto outputs ψ(y) of a kernel's feature space, in the basis of a sketch of the training
    /// outputs, or in their span; pairs have `weights` as those of `ridge`.
    #[staticmethod]
    #[expect(clippy::too_many_arguments)]
    fn structured(
        py: Python,
        rows: &Bound<Rows>,
        kernel: &str,
        outputs: &Bound<Rows>,
        output_kernel: &str,
        output_sketch: Option<(String, usize)>,
        lambda_: f64,
        sketch: Option<(String, usize)>,
        seed: u64,
        weights: Option<Vec<f64>>,
    ) -> PyResult<Self> {
        let fit = ridge(rows.get(), kernel, sketch, lambda_, seed)?;
        let kernel: Kernel = table("output_kernel", output_kernel)?;
        let options = output_sketch.map(|(kind, size)| {
            let kind: SketchKind = table("output_sketch", &kind)?;
            Ok::<_, Failure>(SketchOptions::new(kind, size).with_seed(seed))
        });
        let options = options.transpose()?;
        let outputs = outputs.get();
        let (model, space) = work(py, || {
            let outputs = outputs.source();
            check_spread(&kernel, outputs, 0.0, "subtract the mean of each column")?;
            let (space, targets) = match options {
                None => OutputSpace::training(kernel, outputs),
                Some(options) => {
                    let basis = Basis::fit(kernel, outputs, &options).about("Y")?;
                    OutputSpace::basis(basis, None, outputs)
                }
            }
            .about("Y")?;
            let targets = weighted(targets, weights.as_deref())?;
            Ok::<_, Failure>((fit(&targets)?, space))
        })?;
        Ok(Self { model, space: Some(space) })
    }

    /// Returns predictions of input rows, one row each.
    fn predict<'py>(&self, py: Python<'py>, rows: &Bound<'py, Rows>) -> PyResult<Matrix<'py, f32>> {
        let rows = rows.get();
        let values = work(py, || self.model.predict(rows.source()))?;
        matrix(py, values, rows.source().len(), self.model.width())
    }

    /// Outputs as candidates of the predictions.
    fn candidates(
        &self,
        py: Python,
        outputs: &Bound<Rows>,
        ids: Vec<String>,
        labels: Vec<String>,
        columns: Vec<(String, Vec<String>)>,
    ) -> PyResult<Candidates> {
        let space = self.space.as_ref();
        let space =
            space.ok_or_else(|| Failure::Other("plain vectors have no candidates".into()))?;
        let rows = outputs.get();
        let inner = work(py, || {
            placed(rows.source(), named_columns(ids, labels, columns)?, |rows| {
                let Points { dimension: dim, coordinates, constants } = space.points(rows)?;
                Ok(CandidateParts { dim, coordinates, constants, ..CandidateParts::default() })
            })
        });
        Ok(Candidates::new(inner?, space.kernel().is_normalised()))
    }

    /// Returns the basis of the outputs, where they are sketched.
    #[getter]
    fn basis(&self) -> Option<crate::basis::Basis> {
        let basis = self.space.as_ref()?.as_basis()?;
        Some(crate::basis::Basis { inner: basis.clone() })
    }

    /// Returns how many numbers a prediction has.
    #[getter]
    fn width(&self) -> usize {
        self.model.width()
    }

    /// Writes files into a folder.
    fn save(&self, py: Python, folder: PathBuf) -> PyResult<()> {
        work(py, || {
            self.model.save(&folder, &BTreeMap::new())?;
            if let Some(space) = &self.space {
                space.save(&folder.join(SPACE))?;
                if let Some(basis) = space.as_basis() {
                    basis.save(&folder.join(BASIS))?;
                }
            }
            Ok::<_, Failure>(())
        })
    }

    /// Reads files that `save` wrote.
    #[staticmethod]
    fn load(py: Python, folder: PathBuf) -> PyResult<Self> {
        work(py, || {
            let none =
                || Failure::file(&folder, format!("{}: no kernel machine", folder.display()), None);
            let stored = KernelModel::open(&folder)?.ok_or_else(none)?;
            let model = KernelModel::read(&stored)?;
            let space = folder.join(SPACE);
            let basis = folder.join(BASIS);
            let basis = basis.exists().then(|| Basis::load(&basis)).transpose()?;
            let space = space.exists().then(|| OutputSpace::load(&space, basis)).transpose()?;
            Ok::<_, Failure>(Self { model, space })
        })
    }
}

/// Returns R of a sketch, m × n; `scores` are those of a leverage sketch.
#[pyfunction]
pub fn sketch_matrix<'py>(
    py: Python<'py>,
    sketch: &str,
    size: usize,
    n: usize,
    seed: u64,
    scores: Option<Vec<f64>>,
) -> PyResult<Matrix<'py, f64>> {
    let kind: SketchKind = table("sketch", sketch)?;
    let drawn = work(py, || {
        let drawn = match scores {
            None => Sketch::draw(&kind, size, n, seed)?,
            Some(scores) => Sketch::by_scores(&kind, size, &scores, seed)?,
        };
        let dense = drawn.dense();
        let entry = |at: usize| dense[(at / n, at % n)];
        Ok::<_, dsokr_core::Error>((0..size * n).map(entry).collect::<Vec<f64>>())
    });
    matrix(py, drawn?, size, n)
}
