//! Vectors that are drawn, and the squared error of answers against a computation in the outputs' own space.

use dsokr::basis::{Basis, Block, RowSource, SketchKind, SketchOptions};
use dsokr::config::Checked;
use dsokr::core::Processes;
use dsokr::data::{DataRoot, Dataset, Split, SplitName};
use dsokr::decode::CandidateBlocks;
use dsokr::machines::OutputSpace;
use dsokr::run::{EmbeddingCurve, Member, Run};
use dsokr::{Config, Request, fit};
use faer::Mat;
use faer::prelude::Solve;

use crate::Folder;

const CONFIG: &str = concat!(
    r#"
seed = 3

[data]
source = "synthetic"
train = 700
validation = 40
test = 50
unlabelled = 30
inputs = 12
outputs = 20
"#,
    drawn!(),
    r#"
[training]
epochs = 2
learning_rate = 0.01

[evaluation]
metric = "squared_error"
split = "test"
"#
);

const RIDGE: &str = "\n[encoder]\nkind = \"kernel-machine\"\nlambda = 1e-3\n";

fn checked(folder: &Folder, text: &str) -> Checked {
    Config::load(folder.file("drawn.toml", text)).expect("a configuration")
}

fn dataset(config: &Checked) -> Dataset {
    config.source().load(&DataRoot::find("", None, None).unwrap()).expect("a data set")
}

/// Returns all numbers of dense rows.
fn numbers(rows: &dyn RowSource) -> Vec<f32> {
    match rows.block(0..rows.len()).unwrap() {
        Block::Dense(rows) => rows.values().to_vec(),
        _ => panic!("dense rows are drawn"),
    }
}

fn inputs(split: &Split) -> Vec<f32> {
    numbers(&*split.inputs.vectors().expect("vectors"))
}

#[test]
fn a_seed_stands_for_the_data_whatever_the_threads() {
    let folder = Folder::new();
    let config = checked(&folder, &format!("{CONFIG}{RIDGE}"));
    let draw = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let found = dataset(&config);
            (inputs(&found.train), numbers(found.outputs.rows.as_ref()))
        })
    };
    let (x, y) = draw(1);
    assert_eq!((x.len(), y.len()), (700 * 12, 820 * 20));
    assert!(draw(3) == (x.clone(), y));
    let found = dataset(&config);

    assert_eq!(found.outputs.ids[819], "820");
    assert_eq!(found.outputs.candidates, (700..790).collect::<Vec<_>>());
    assert_eq!(found.unlabelled(), (790..820).collect::<Vec<_>>());
    let root = DataRoot::find("", None, None).unwrap();
    for name in [SplitName::Validation, SplitName::Test] {
        let alone = config.source().read_split(name, &root).unwrap();
        let split = found.split(name).unwrap();
        assert_eq!(alone.ids, split.ids);
        assert_eq!(inputs(&alone), inputs(split));
    }
    let other = checked(&folder, &format!("{CONFIG}{RIDGE}").replace("seed = 3", "seed = 4"));
    assert_ne!(inputs(&dataset(&other).train), x);
}

#[test]
fn inputs_have_the_covariance_and_outputs_the_rank_that_are_asked_for() {
    let folder = Folder::new();
    let found = dataset(&checked(&folder, &format!("{CONFIG}{RIDGE}")));
    let x = inputs(&found.train);
    let power: f64 = x.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / 700.0;
    let trace: f64 = (1..=12).map(|j| 1.0 / f64::from(j)).sum();
    // Its standard deviation is √(2 Σ j⁻² / 700) = 0.067.
    assert!((power - trace).abs() < 0.3, "{power} against {trace}");
    let all = SketchKind::Subsampling { replacement: false };
    let kernel = dsokr::basis::Kernel::Linear;
    let basis = Basis::fit(
        kernel,
        found.outputs.rows.as_ref(),
        &SketchOptions::new(all.clone(), 50).with_tolerance(1e-9),
    )
    .unwrap();
    assert_eq!(basis.dimension(), 4);

    // Noise alone, in decaying directions: its power is the trace of E.
    let noise = CONFIG
        .replace("variance = 0.0", "variance = 1.0e6, decay = 1.0")
        .replace("train = 700", "train = 2000");
    let found = dataset(&checked(&folder, &format!("{noise}{RIDGE}")));
    let y = numbers(found.outputs.rows.as_ref());
    let power = y.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / (y.len() / 20) as f64;
    let trace: f64 = (1..=20).map(|j| 1e6 / f64::from(j)).sum();
    assert!((power / trace - 1.0).abs() < 0.05, "{power} against {trace}");
}

/// Returns the mean of `‖ŷ − y‖²` over the test pairs, in the outputs' own space.
fn by_hand(config: &Checked, run: &std::path::Path) -> f64 {
    let data = dataset(config);
    let opened = Member::open(run).unwrap();
    let test = data.test.as_ref().unwrap();
    let basis = Basis::load(&run.join("basis.safetensors")).unwrap();
    let z = opened.coordinates(test).unwrap();
    let z = match run.join("outputs.safetensors") {
        file if file.exists() => {
            let space = OutputSpace::load(&file, Some(basis.clone())).unwrap();
            space.restored(&z).map_or(z, |(_, restored)| restored)
        }
        _ => z,
    };
    let y = numbers(data.outputs.rows.as_ref());
    let one = |(z, output): (&[f32], &Option<usize>)| {
        let answer = basis.feature_direction(z).unwrap().expect("a direction");
        let y = &y[output.unwrap() * 20..][..20];
        answer.iter().zip(y).map(|(a, y)| f64::from(a - y).powi(2)).sum::<f64>()
    };
    let errors = z.chunks_exact(basis.dimension()).zip(&test.outputs).map(one);
    errors.sum::<f64>() / test.ids.len() as f64
}

#[test]
fn the_squared_error_is_that_in_the_space_of_the_outputs() {
    let folder = Folder::new();
    let mlp = "\n[encoder]\nkind = \"mlp\"\nhidden = []\ndropout = 0.0\n";
    // with a basis that leaves something of the outputs out
    let noisy = CONFIG.replace("variance = 0.0", "variance = 0.3");
    let plain = noisy.replace("size = 4", "size = 4\nfull = true");
    for (name, text) in [
        ("ridge", format!("{noisy}{RIDGE}")),
        ("network", format!("{noisy}{mlp}")),
        ("plain regression", format!("{plain}{mlp}")),
    ] {
        let config = checked(&folder, &text);
        let out = folder.path(name);
        let root = DataRoot::find("", None, None).unwrap();
        let report = fit(&config, &out).unwrap().report;
        let found = report.metrics.squared_error.expect("an error");
        let expected = by_hand(&config, &out);
        assert!((found / expected - 1.0).abs() < 1e-4, "{name}: {found} against {expected}");
        let perfect = report.perfect_h.unwrap().squared_error.unwrap();
        // at least 16 directions of noise are outside of the basis, or none
        match name {
            "plain regression" => assert!(perfect < 1e-5, "rounding of constants: {perfect}"),
            _ => assert!(perfect > 0.8 * 16.0 * 0.3, "{name}: {perfect}"),
        }
        assert!(found > perfect);

        let run = Run::open(&out).unwrap();
        let split = config.source().read_split(SplitName::Test, &root).unwrap();
        let queries = run.predict(&Processes::default(), |_| Ok(split.clone()), None).unwrap();
        let again = run.evaluate(&queries).unwrap().0.scores.squared_error.unwrap();
        assert!((again / found - 1.0).abs() < 1e-6, "{name}: {again} against {found}");
    }
}

#[test]
fn an_embedding_is_chosen_by_the_validation_error() {
    let folder = Folder::new();
    let noisy = CONFIG
        .replace("variance = 0.0", "variance = 2.0")
        .replace("size = 4", "size = 20")
        .replace("train = 700", "train = 30")
        .replace("unlabelled = 30", "unlabelled = 500");
    let ridge = "\n[encoder]\nkind = \"kernel-machine\"\nlambda = [0.1, 0.01]\n\
                 predictions = { kind = \"embedded\", ranks = [1, 4, 10], supervised = [1.0, 0.0] }\n";
    let config = checked(&folder, &format!("{noisy}{ridge}"));
    let out = folder.path("run");
    let root = DataRoot::find("", None, None).unwrap();
    let report = fit(&config, &out).unwrap().report;
    let curve = EmbeddingCurve::read(&out).unwrap().expect("a curve");
    assert_eq!(curve.points.len(), 2 * 2 * 4);
    let least = curve.points.iter().map(|point| point.value).fold(f64::INFINITY, f64::min);
    assert_eq!(curve.chosen.value, least);
    // Outputs vary along four directions, which 500 outputs show and 30 pairs hide.
    assert_eq!((curve.chosen.rank, curve.chosen.supervised), (4, 0.0), "{curve:?}");
    // At full rank c changes nothing.
    for lambda in [0.1, 0.01] {
        let full = curve.points.iter().filter(|point| (point.lambda, point.rank) == (lambda, 20));
        let values: Vec<f64> = full.map(|point| point.value).collect();
        assert!((values[0] / values[1] - 1.0).abs() < 1e-4, "{values:?}");
    }
    // The run answers as the chosen embedding does: a projection of rank 4, in four numbers.
    assert!((by_hand(&config, &out) / report.metrics.squared_error.unwrap() - 1.0).abs() < 1e-4);
    let run = Run::open(&out).unwrap();
    assert_eq!(run.members()[0].candidates.dim(), 4);
    let validation = config.source().read_split(SplitName::Validation, &root).unwrap();
    let queries = run.predict(&Processes::default(), |_| Ok(validation.clone()), None).unwrap();
    let scores = run.evaluate(&queries).unwrap().0.scores;
    assert!((scores.squared_error.unwrap() / least - 1.0).abs() < 1e-4);
}

/// Returns `(X X'ᵀ)`-ridge predictions with λ: `x'ᵀ (XᵀX + nλI)⁻¹ Xᵀ Y`, rows of `new`.
fn ridge(x: &Mat<f64>, y: &Mat<f64>, lambda: f64, new: &Mat<f64>) -> Mat<f64> {
    let n = x.nrows() as f64;
    let d = x.ncols();
    let moment = x.transpose() * x;
    let system = Mat::from_fn(d, d, |i, j| moment[(i, j)] + if i == j { n * lambda } else { 0.0 });
    new * system.partial_piv_lu().solve(x.transpose() * y)
}

#[test]
fn an_embedding_learns_its_directions_with_a_lambda_of_its_own() {
    let folder = Folder::new();
    let noisy = CONFIG.replace("variance = 0.0", "variance = 2.0").replace("size = 4", "size = 20");
    let noisy = noisy.replace("train = 700", "train = 30");
    let config = format!(
        "{noisy}\n[encoder]\nkind = \"kernel-machine\"\nlambda = [1.0, 0.01]\n\
         predictions = {{ kind = \"embedded\", ranks = [2, 5], lambda = [0.3, 0.003] }}\n"
    );
    let config = checked(&folder, &config);
    let out = folder.path("run");
    let report = fit(&config, &out).unwrap().report;
    let curve = EmbeddingCurve::read(&out).unwrap().expect("a curve");
    assert_eq!(curve.points.len(), 2 * 2 * 3);
    let data = dataset(&config);
    let rows = |split: &Split| {
        let x = inputs(split);
        let y = numbers(data.outputs.rows.as_ref());
        let n = split.ids.len();
        let x = Mat::from_fn(n, 12, |i, j| f64::from(x[i * 12 + j]));
        let y = Mat::from_fn(n, 20, |i, j| f64::from(y[split.outputs[i].unwrap() * 20 + j]));
        (x, y)
    };
    let (x, y) = rows(&data.train);
    let (new, truth) = rows(&data.validation);
    // reduced rank paper, equations 7 and 8
    let error = |lambda, first, rank, new: &Mat<f64>, truth: &Mat<f64>| {
        let known = ridge(&x, &y, first, &x);
        let eigen = (known.transpose() * &known).self_adjoint_eigen(faer::Side::Lower).unwrap();
        let directions = eigen.U().subcols(20 - rank, rank);
        let found = ridge(&x, &y, lambda, new) * directions * directions.transpose();
        (found - truth).squared_norm_l2() / truth.nrows() as f64
    };
    for point in &curve.points {
        let first = point.embedding_lambda.expect("a λ of its own");
        let expected = error(point.lambda, first, point.rank, &new, &truth);
        assert!((point.value / expected - 1.0).abs() < 1e-4, "{point:?}: {expected}");
    }
    let chosen = curve.chosen;
    let (new, truth) = rows(data.test.as_ref().unwrap());
    let first = chosen.embedding_lambda.unwrap();
    let expected = error(chosen.lambda, first, chosen.rank, &new, &truth);
    assert!((report.metrics.squared_error.unwrap() / expected - 1.0).abs() < 1e-4, "{report:?}");

    // a finished run is read as it is, and one without its report is evaluated anew
    let request =
        Request { out: Some(out.clone()), resume: true, ..Request::new(&config).unwrap() };
    assert!(request.run(&mut ()).unwrap().report == report);
    std::fs::remove_file(out.join("metrics.json")).unwrap();
    assert!(request.run(&mut ()).unwrap().report == report);
    // one without its model chooses anew
    std::fs::remove_file(out.join("metrics.json")).unwrap();
    std::fs::remove_file(out.join("ridge.safetensors")).unwrap();
    assert!(request.run(&mut ()).unwrap().report == report);
    assert_eq!(EmbeddingCurve::read(&out).unwrap().expect("a curve"), curve);
}
