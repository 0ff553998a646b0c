//! IOKR, SIOKR, ISOKR and SISOKR on Bibtex with the published hyper-parameters:
//! `cargo bench -p dsokr-machines --bench bibtex -- [SEED] [--only SYSTEM]`.
//!
//! The split of the NumPy peer: the first 4,000 rows train, the last 880 are predicted among the
//! distinct label sets of the training rows. Reads `bibtex/bibtex-train.arff` under `DSOKR_DATA`.
//! One JSON line a system, with the peer's keys: `fit_s` holds the Gram matrices, the bases and the
//! solving, `predict_s` the candidates' points, the inputs' coordinates and the decoding.

mod process;

use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use dsokr_basis::features::{BitRows, distinct};
use dsokr_basis::{Basis, Features, Kernel, RowSource, SketchKind, SketchOptions};
use dsokr_core::Processes;
use dsokr_data::multi_label::{MultiLabel, read_arff};
use dsokr_decode::{CandidateParts, Candidates, MultiLabelMetrics, Queries, top_rows};
use dsokr_machines::{
    Arithmetic, InputSketch, OutputSpace, RidgeProblem, Scaling, TrainingInputs, fit, fit_sketched,
};

type Failure = Box<dyn std::error::Error>;

const TRAIN: usize = 4000;

/// A method with its published hyper-parameters; widths are σ² of `exp(−‖a − b‖² / 2σ²)`.
struct System {
    name: &'static str,
    lambda: f64,
    input: f64,
    output: f64,
    input_sketch: Option<usize>,
    output_sketch: Option<usize>,
}

const SYSTEMS: [System; 4] = [
    System {
        name: "IOKR",
        lambda: 1e-5,
        input: 1e4,
        output: 1.0,
        input_sketch: None,
        output_sketch: None,
    },
    System {
        name: "SIOKR",
        lambda: 1e-6,
        input: 1e4,
        output: 1e7,
        input_sketch: Some(2250),
        output_sketch: None,
    },
    System {
        name: "ISOKR",
        lambda: 1e-5,
        input: 1e4,
        output: 1e6,
        input_sketch: None,
        output_sketch: Some(200),
    },
    System {
        name: "SISOKR",
        lambda: 1e-5,
        input: 1e4,
        output: 1e4,
        input_sketch: Some(2250),
        output_sketch: Some(200),
    },
];

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let seed = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(0);
    let only = arguments.iter().position(|a| a == "--only").and_then(|at| arguments.get(at + 1));
    let root =
        std::env::var_os("DSOKR_DATA").map_or(PathBuf::from("../../../shared/data"), PathBuf::from);
    let all = read_arff(&root.join("bibtex/bibtex-train.arff"), 159)?;
    let part = |rows: Range<usize>| -> Result<MultiLabel, Failure> {
        let rows: Vec<usize> = rows.collect();
        let ones = rows.iter().map(|&row| all.labels.ones(row).map(|label| label as u32));
        let labels = BitRows::from_indices(all.names.len(), ones)?;
        Ok(MultiLabel { inputs: all.inputs.select(&rows)?, labels, names: all.names.clone() })
    };
    let train = part(0..TRAIN)?;
    let test = part(TRAIN..all.labels.len())?;
    // A Gaussian kernel does not see a shift: columns are scaled and rows stay sparse.
    let scaling = Scaling::fit(&train.inputs, false)?;
    for system in SYSTEMS.iter().filter(|s| only.is_none_or(|only| s.name == only)) {
        run(system, &train, &test, &scaling, seed)?;
    }
    Ok(())
}

fn run(
    system: &System,
    train: &MultiLabel,
    test: &MultiLabel,
    scaling: &Scaling,
    seed: u64,
) -> Result<(), Failure> {
    let gaussian = |squared_width: f64| Kernel::Gaussian { gamma: 0.5 / squared_width };
    let outputs = Features::Bits(train.labels.clone());
    let inputs = scaling.rows(&train.inputs)?;

    let start = Instant::now();
    let (space, targets) = match system.output_sketch {
        None => OutputSpace::training(gaussian(system.output), &outputs)?,
        Some(m) => {
            let sketch = SketchKind::SparsifiedGaussian { density: 20.0 / TRAIN as f64 };
            let kernel = gaussian(system.output);
            let basis = Basis::fit(
                kernel,
                &outputs,
                &SketchOptions::new(sketch.clone(), m).with_seed(seed),
            )?;
            OutputSpace::basis(basis, None, &outputs)?
        }
    };
    let kernel = gaussian(system.input);
    let model = match system.input_sketch {
        None => {
            fit(
                &TrainingInputs::rows(kernel, &inputs),
                &targets,
                system.lambda,
                Arithmetic::Double,
            )?
            .model
        }
        Some(m) => {
            let rows = &inputs;
            let targets = &targets;
            let lambda = system.lambda;
            let problem = RidgeProblem {
                kernel,
                rows,
                targets,
                lambda,
                seed,
                processes: &Processes::default(),
            };
            fit_sketched(problem, &InputSketch::subsampling(m))?.model
        }
    };
    let model = model.with_scaling(scaling.clone())?;
    let fit_s = start.elapsed().as_secs_f64();

    let groups = distinct(&outputs)?;
    let sets = outputs.select(&groups.representative)?;
    let start = Instant::now();
    let points = space.points(&sets)?;
    let ids: Vec<String> = (0..sets.len()).map(|row| row.to_string()).collect();
    let class = (0..sets.len() as u32).collect();
    let labels = vec![String::new(); sets.len()];
    let rank = points.dimension;
    let candidates = Candidates::new(CandidateParts {
        ids,
        labels,
        class,
        dim: rank,
        coordinates: points.coordinates,
        constants: points.constants,
        ..CandidateParts::default()
    })?;
    let z = model.predict(&test.inputs)?;
    let best = top_rows(&Queries::new(rank, &z)?, &candidates, 1)?;
    let predict_s = start.elapsed().as_secs_f64();

    let chosen: Vec<usize> = best.iter().map(|hits| hits[0].row).collect();
    let Features::Bits(predicted) = sets.select(&chosen)? else {
        return Err("label sets are bits".into());
    };
    let metrics = MultiLabelMetrics::from_sets(&test.labels, &BitRows::clone(&predicted))?;
    let rounded =
        |value: f64, digits: i32| (value * 10f64.powi(digits)).round() / 10f64.powi(digits);
    let line = serde_json::json!({
        "system": system.name, "fit_s": rounded(fit_s, 3), "predict_s": rounded(predict_s, 3),
        "f1": rounded(metrics.f1, 4), "micro_f1": rounded(metrics.micro_f1, 4),
        "macro_f1": rounded(metrics.macro_f1, 4),
        "hamming_loss": rounded(metrics.hamming_loss, 5), "rank": rank,
        "condition": model.summary().ridge().map(|ridge| ridge.condition),
        "jitter": model.summary().ridge().map(|ridge| ridge.jitter),
        "memory_mib": process::peak_mib(),
    });
    println!("{line}");
    Ok(())
}
