//! Results are the same bits whatever the number of threads.

use dsokr_basis::{Basis, Features, Kernel, SketchKind, SketchOptions, leverage};
use dsokr_core::{Processes, RowWeights};
use dsokr_machines::{LastSystem, OutputEmbedding, OutputSpace, Solver, TrainingInputs};

use crate::naive::*;

/// Runs the same with one, three and twenty threads.
fn same_on_threads<T: PartialEq + Send>(what: &str, work: impl Fn() -> T + Sync) -> T {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(&work)
    };
    let alone = run(1);
    for threads in [3, 20] {
        assert!(run(threads) == alone, "{what}, {threads} threads");
    }
    alone
}

/// Makes more rows than one task takes, of outputs that repeat.
fn outputs() -> Features {
    let rows: Rows = (0..2100)
        .map(|row| (0..40).map(|at| f64::from(row * 31 % 701 * (at + 3) % 17) / 17.0).collect())
        .collect();
    dense(&rows)
}

#[test]
fn targets_and_points_of_a_basis() {
    let y = outputs();
    let options = SketchOptions::new(SketchKind::Gaussian, 80);
    let basis = Basis::fit(Kernel::Gaussian { gamma: 0.2 }, &y, &options).unwrap();
    let weights: Vec<f64> = (0..2100).map(|row| 1.0 + f64::from(row % 3)).collect();
    let weights = RowWeights::new(&weights).unwrap();
    same_on_threads("points", || {
        let alone = Processes::default();
        let (space, targets) =
            OutputSpace::basis_weighted(basis.clone(), None, &y, &weights, &alone, None).unwrap();
        let coordinates = basis.project(&y).unwrap().into_coordinates();
        let width = basis.dimension();
        let embedding = OutputEmbedding::learn(width, &coordinates, &[], 1.0, 7).unwrap();
        let (embedded, turned) = space.embedded(&embedding, &targets).unwrap();
        let points = embedded.points(&y).unwrap();
        let values = turned.values().unwrap().into_owned();
        (space.centre().to_vec(), space.points(&y).unwrap(), points, values)
    });
}

#[test]
fn leverage_scores() {
    let y = outputs();
    same_on_threads("leverage scores", || {
        let alone = Processes::default();
        leverage::scores(Kernel::Gaussian { gamma: 0.2 }, &y, 1e-3, 200, 3, &alone).unwrap()
    });
}

#[test]
fn predictions_of_features_in_a_basis() {
    let y = outputs();
    let options = SketchOptions::new(SketchKind::Gaussian, 20);
    let basis = Basis::fit(Kernel::Linear, &y, &options).unwrap();
    let (_, targets) = OutputSpace::basis(basis, None, &y).unwrap();
    for solver in [
        r#"{"name": "sketched", "sketch": {"size": 60, "method": {"kind": "count-sketch"}}}"#,
        r#"{"name": "lipschitz", "sketch": {"size": 60}, "loss": {"name": "huber", "kappa": 0.5}}"#,
    ] {
        let solver: Solver = serde_json::from_str(solver).unwrap();
        same_on_threads(&solver.name(), || {
            let inputs = TrainingInputs::rows(Kernel::Gaussian { gamma: 0.1 }, &y);
            let prepared = solver.prepare(inputs, 0, LastSystem::default()).unwrap();
            let (model, _) = prepared.fit(&targets, 1e-2, false).unwrap();
            model.predict(&y).unwrap()
        });
    }
}
