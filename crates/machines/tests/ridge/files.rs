//! Models and output spaces in files.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::{Basis, Block, Mat, OutputKernel, RowSource, Sketch, SketchKind, SketchOptions};
use dsokr_core::store::{Contents, Tensor};
use dsokr_core::{Error, Error as BasisError};
use dsokr_machines::{
    Arithmetic, Convergence, GramMatrix, KernelModel, OutputSpace, Scaling, Solution, Summary,
    TrainingInputs, fit,
};

use crate::naive::*;

fn load(folder: &Path) -> Result<KernelModel, Error> {
    KernelModel::read(&KernelModel::open(folder)?.unwrap())
}

/// Earlier versions wrote the means in 32 bits.
#[test]
fn scalings_are_read_with_means_of_either_precision() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scaling.safetensors");
    let scaling = Scaling::fit(&Problem::new(40, 41).inputs(), true).unwrap();
    scaling.save(&path).unwrap();
    assert_eq!(Scaling::load(&path).unwrap(), scaling);
    let means = [1.5f32, 16_000_004.0];
    let scale = [0.5f32, 1.0];
    let write = |means: &[f32]| {
        let tensors = [
            Tensor::f32("scaling.scale", &[2], &scale),
            Tensor::f32("scaling.centre", &[means.len()], means),
        ];
        Contents::new("scaling", 1, &BTreeMap::new(), &tensors).write(&path).unwrap();
    };
    write(&means);
    let read = Scaling::load(&path).unwrap();
    assert_eq!(read.means(), Some(&[1.5, 16_000_004.0][..]));
    assert_eq!(read.restore(&[1.0, 1.0]), [3.5, 16_000_005.0]);
    write(&means[..1]);
    assert!(matches!(Scaling::load(&path), Err(Error::File { .. })));
}

#[test]
fn models_predict_the_same_after_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let problem = Problem::new(40, 40);
    let (space, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let x = problem.inputs();
    let scaling = Scaling::fit(&x, true).unwrap();
    let k = gaussian(GAMMA_X, &problem.x, &problem.x);
    let gram = Mat::from_fn(40, 40, |i, j| k[i][j]);
    let scaled = scaling.rows(&x).unwrap();
    let sketch = SketchKind::Gaussian;
    let models = [
        (
            fit(&TrainingInputs::rows(kernel_x(), &x), &targets, 1e-3, Arithmetic::Single)
                .unwrap()
                .model,
            x.clone(),
        ),
        (
            fit_sketched(kernel_x(), &scaled, &targets, &sketch, 9, 0, 1e-3)
                .unwrap()
                .model
                .with_scaling(scaling)
                .unwrap(),
            x.clone(),
        ),
        (
            fit(
                &TrainingInputs::rows(kernel_x(), &problem.outputs()),
                &targets,
                1e-3,
                Arithmetic::Double,
            )
            .unwrap()
            .model,
            problem.outputs(),
        ),
    ];
    for (model, rows) in models {
        model.save(path, &BTreeMap::new()).unwrap();
        let read = load(path).unwrap();
        assert_eq!(read.summary(), model.summary());
        assert_eq!(read.predict(&rows).unwrap(), model.predict(&rows).unwrap());
    }
    let model = fit(
        &TrainingInputs::Gram(&GramMatrix::new(gram.clone())),
        &targets,
        1e-3,
        Arithmetic::Double,
    )
    .unwrap()
    .model;
    model.save(path, &BTreeMap::new()).unwrap();
    let read = load(path).unwrap();
    assert_eq!(
        read.predict_gram(gram.as_ref()).unwrap(),
        model.predict_gram(gram.as_ref()).unwrap()
    );
    let message = read.predict(&x).unwrap_err().to_string();
    assert!(message.contains("expected values of the precomputed kernel"), "{message}");
    let file = path.join("ridge.safetensors");
    space.save(&file).unwrap();
    let read = OutputSpace::load(&file, None).unwrap();
    assert_eq!(read.points(&problem.outputs()).unwrap(), space.points(&problem.outputs()).unwrap());
    assert!(matches!(load(path), Err(error) if error.to_string().contains("holds \"")));
}

#[test]
fn a_space_of_a_basis_needs_that_basis() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("outputs.safetensors");
    let problem = Problem::new(30, 41);
    let outputs = problem.outputs();
    let basis = |seed| {
        Basis::fit(
            kernel_y(),
            &outputs,
            &SketchOptions::new(SketchKind::Gaussian, 5).with_seed(seed),
        )
        .unwrap()
    };
    let (space, _) = OutputSpace::basis(basis(0), Some(3), &outputs).unwrap();
    space.save(&path).unwrap();
    let read = OutputSpace::load(&path, Some(basis(0))).unwrap();
    assert_eq!(
        (read.dimension(), read.points(&outputs).unwrap()),
        (3, space.points(&outputs).unwrap())
    );
    for given in [None, Some(basis(1))] {
        let error = OutputSpace::load(&path, given).unwrap_err();
        assert!(matches!(&error, Error::File { path: p, .. } if *p == path), "{error}");
    }
}

/// A kernel that is not built in: `1 + Σ min(a_j, b_j)` on rows in the positive quadrant.
#[derive(Debug)]
struct Own;

impl OutputKernel for Own {
    fn name(&self) -> String {
        "one more than the intersection".into()
    }
    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, BasisError> {
        let Block::Dense(a) = a else { return Ok(Mat::zeros(0, 0)) };
        let Block::Dense(b) = b else { return Ok(Mat::zeros(0, 0)) };
        let row = |rows: &dsokr_basis::features::DenseBlock, i: usize| {
            rows.values()[i * rows.width()..(i + 1) * rows.width()].to_vec()
        };
        Ok(Mat::from_fn(a.len(), b.len(), |i, j| {
            1.0 + row(a, i).iter().zip(row(b, j)).map(|(a, b)| f64::from(a.min(b))).sum::<f64>()
        }))
    }
    fn diagonal(&self, rows: &Block) -> Result<Vec<f64>, BasisError> {
        let gram = self.block(rows, rows)?;
        Ok((0..gram.nrows()).map(|i| gram[(i, i)]).collect())
    }
}

#[test]
fn a_model_of_an_own_kernel_is_loaded_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let problem = Problem::new(20, 42);
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let x = dense(&problem.x.iter().map(|row| row.iter().map(|v| v.abs()).collect()).collect());
    let model =
        fit(&TrainingInputs::rows(Own, &x), &targets, 1e-2, Arithmetic::Double).unwrap().model;
    model.save(path, &BTreeMap::new()).unwrap();
    assert!(
        matches!(load(path), Err(error) if error.to_string().contains("which is not built in"))
    );
    let stored = KernelModel::open(path).unwrap().unwrap();
    let other = KernelModel::read_with(&stored, kernel_x());
    assert!(matches!(other, Err(error) if error.to_string().contains("fitted with the kernel")));
    let read = KernelModel::read_with(&stored, Own).unwrap();
    assert_eq!(read.predict(&x).unwrap(), model.predict(&x).unwrap());
    assert_eq!(read.anchors(), x.len());
}

/// A model of a sketch with few entries keeps these, and predicts as one with a weight for each anchor.
#[test]
fn entries_of_a_sketch_are_kept_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let problem = Problem::new(60, 43);
    let options = SketchOptions::new(SketchKind::Gaussian, 8);
    let basis = Basis::fit(kernel_y(), &problem.outputs(), &options).unwrap();
    let (_, targets) = OutputSpace::basis(basis, None, &problem.outputs()).unwrap();
    let x = problem.inputs();
    for kind in [SketchKind::CountSketch, SketchKind::Accumulation { terms: 5 }] {
        let model = fit_sketched(kernel_x(), &x, &targets, &kind, 9, 0, 1e-3).unwrap().model;
        assert_eq!(model.anchors(), 9, "{kind:?}: a weight for each row of the sketch");
        let predicted = model.predict(&x).unwrap();
        model.save(path, &BTreeMap::new()).unwrap();
        let stored = KernelModel::open(path).unwrap().unwrap();
        assert_eq!(stored.version(), 3);
        let read = KernelModel::read(&stored).unwrap();
        assert_eq!(read.predict(&x).unwrap(), predicted, "{kind:?}");

        // Σ_j k(x, a_j) (Rᵀ B)_j, from the sketch written out
        let drawn = Sketch::draw(&kind, 9, 60, 0).unwrap().dense();
        let k = gaussian(GAMMA_X, &problem.x, &problem.x);
        let weights = model.weights();
        for (row, actual) in k.iter().zip(predicted.chunks(targets.width())) {
            for (j, &actual) in actual.iter().enumerate() {
                let weight = |at: usize| -> f64 {
                    (0..9).map(|i| drawn[(i, at)] * weights[i * targets.width() + j]).sum()
                };
                let expected: f64 = row.iter().enumerate().map(|(at, k)| k * weight(at)).sum();
                assert!(
                    (f64::from(actual) - expected).abs() < 1e-5,
                    "{kind:?}: {actual}, {expected}"
                );
            }
        }
    }
}

#[test]
fn a_condition_beyond_all_numbers_is_read_again() {
    let problem = Problem::new(10, 1);
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let x = problem.inputs();
    let inputs = TrainingInputs::rows(kernel_x(), &x);
    let model = fit(&inputs, &targets, 1e-3, Arithmetic::Double).unwrap().model;
    for condition in [f64::INFINITY, f64::NAN] {
        let mut summary = model.summary().clone();
        let Solution::Ridge(ridge) = &mut summary.solution else { panic!() };
        ridge.condition = condition;
        let iterations = 3;
        let residual = f64::NAN;
        let tolerance = 1e-8;
        ridge.convergence = Some(Convergence { iterations, residual, tolerance });
        // as files of models hold it
        let text = serde_json::to_string(&summary).unwrap();
        let read: Summary = serde_json::from_str(&text).unwrap();
        let ridge = read.ridge().unwrap();
        assert_eq!(ridge.condition, f64::INFINITY);
        let convergence = ridge.convergence.unwrap();
        assert!(!convergence.converged() && convergence.iterations == 3);
    }
}
