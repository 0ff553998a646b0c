//! Kernel ridge regression from TF-IDF n-grams onto Mol2vec on ChEBI-20, as the scikit-learn peer:
//! `cargo bench -p dsokr-ridge --bench ngram_ridge -- [--power A] [--csls W]`.
//!
//! Reads `chebi20/` under `DSOKR_DATA`. One JSON line with the peer's keys: `fit_s` holds the TF-IDF,
//! the Gram matrix, the solving, and with `--power` and `--csls` the tempered targets and the hub
//! constants; `predict_s` the queries' rows, their predictions and the exact ranks.

use std::path::PathBuf;
use std::time::Instant;

use dsokr_basis::eigenbasis::leading;
use dsokr_basis::features::{DenseRows, MappedRows, NgramConfig, NgramKind, TfIdf, distinct};
use dsokr_basis::{Block, Features, Kernel, Mat, RowSource};
use dsokr_decode::{Candidates, Metrics, MissingGold, Pool, Queries, top_rows};
use dsokr_ridge::{Precision, Targets, fit};

type Failure = Box<dyn std::error::Error>;

/// nλ.
const RIDGE: f64 = 0.1;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| -> f64 {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(0.0)
    };
    let (power, csls) = (option("--power"), option("--csls"));
    let root =
        std::env::var_os("DSOKR_DATA").map_or(PathBuf::from("../../../shared/data"), PathBuf::from);
    let root = root.join("chebi20");
    let molecules = table(&root.join("molecules.tsv"))?;
    let (train, val) = (table(&root.join("train.tsv"))?, table(&root.join("val.tsv"))?);
    let vectors = MappedRows::open(&root.join("mol2vec.safetensors"), "mol2vec")?;
    let by_id: std::collections::BTreeMap<&str, usize> =
        molecules.iter().enumerate().map(|(at, m)| (m[0].as_str(), at)).collect();
    let chosen: Vec<usize> = train.iter().filter_map(|t| by_id.get(&t[0][..]).copied()).collect();
    let pool: Vec<usize> = (0..molecules.len()).filter(|&at| molecules[at][2] == "1").collect();

    let start = Instant::now();
    let text = |rows: &[Vec<String>]| rows.iter().map(|row| row[1].clone()).collect::<Vec<_>>();
    let texts = text(&train);
    let ngrams = |kind, min, max, min_texts| NgramConfig {
        kind,
        min,
        max,
        lowercase: true,
        min_texts,
        buckets: 0,
    };
    let configs = [ngrams(NgramKind::Words, 1, 2, 2), ngrams(NgramKind::Characters, 3, 5, 3)];
    let tf_idf = TfIdf::fit(&configs, texts.iter().map(String::as_str))?;
    let x = Features::Sparse(tf_idf.rows(&texts)?);
    let tf_idf_s = start.elapsed().as_secs_f64();
    let y = tempered(&vectors, &chosen, power)?;
    let train_y: Vec<f64> = chosen
        .iter()
        .flat_map(|&at| y[at * 300..(at + 1) * 300].iter().map(|&v| v.into()))
        .collect();
    let targets = Targets::new(300, &train_y)?;
    let lambda = RIDGE / chosen.len() as f64;
    let fitted = fit(Kernel::Linear, &x, &targets, lambda, Precision::Single)?;
    let points: Vec<f32> =
        pool.iter().flat_map(|&at| y[at * 300..(at + 1) * 300].iter().copied()).collect();
    let groups = distinct(&Features::Dense(DenseRows::new(300, points.clone())?))?;
    let rows: Vec<f32> = groups
        .representative
        .iter()
        .flat_map(|&at| points[at * 300..(at + 1) * 300].iter().copied())
        .collect();
    let mut constants = vec![0.0f32; groups.representative.len()];
    if csls > 0.0 {
        // the mean of the 10 largest similarities to predictions that did not see their own target
        let left_out = unit(fitted.leave_one_out(&targets)?);
        let own = Queries::new(300, &rows)?;
        let names = (0..chosen.len()).map(|at| at.to_string()).collect();
        let class = (0..chosen.len() as u32).collect();
        let empty = vec![String::new(); chosen.len()];
        let zero = vec![0.0; chosen.len()];
        let predictions = Candidates::new(names, empty, class, 300, left_out, zero)?;
        for (constant, hits) in constants.iter_mut().zip(top_rows(&own, &predictions, 10)?) {
            let mean: f64 = hits.iter().map(|hit| f64::from(hit.score)).sum::<f64>() / 10.0;
            *constant = -(csls * mean) as f32;
        }
    }
    let fit_s = start.elapsed().as_secs_f64();

    let ids = pool.iter().map(|&at| molecules[at][0].clone()).collect();
    let labels = pool.iter().map(|&at| molecules[at][1].clone()).collect();
    let candidates = Candidates::new(ids, labels, groups.class, 300, rows, constants)?;
    let start = Instant::now();
    let queries = Features::Sparse(tf_idf.rows(&text(&val))?);
    let z = unit(fitted.model.predict(&queries)?);
    let names: Vec<String> = val.iter().map(|row| row[0].clone()).collect();
    let queries = Queries::named(&names, 300, &z)?;
    let gold = Pool::Shared.gold(&names, &names, &candidates, MissingGold::Error)?;
    let metrics = Metrics::of(&Pool::Shared.rank(&queries, &gold, &candidates)?, &candidates)?;
    let predict_s = start.elapsed().as_secs_f64();
    println!(
        "{}",
        serde_json::json!({
            "split": "val", "power": power, "csls": csls, "fit_s": fit_s, "tf_idf_s": tf_idf_s,
            "predict_s": predict_s, "mrr": metrics.mrr, "hits@1": metrics.hits_1,
            "hits@10": metrics.hits_10, "mean_rank": metrics.mean_rank,
            "condition": fitted.model.summary().condition, "memory_mib": memory(),
        })
    );
    Ok(())
}

/// All rows as unit vectors; with a power centred at the training rows' mean and divided by the
/// principal deviations to that power first.
fn tempered(rows: &MappedRows, train: &[usize], power: f64) -> Result<Vec<f32>, Failure> {
    let Block::Dense(all) = rows.block(0..rows.len())? else {
        return Err("mol2vec is dense".into());
    };
    let values = all.values();
    if power == 0.0 {
        return Ok(unit(values.to_vec()));
    }
    let mut mean = vec![0.0f64; 300];
    for &at in train {
        mean.iter_mut().zip(&values[at * 300..]).for_each(|(m, &v)| *m += f64::from(v));
    }
    mean.iter_mut().for_each(|mean| *mean /= train.len() as f64);
    let centred = |row: usize, j: usize| f64::from(values[row * 300 + j]) - mean[j];
    let own = Mat::from_fn(train.len(), 300, |i, j| centred(train[i], j));
    let found = leading(own.transpose() * &own, 1e-12)?;
    let scale = |value: &f64| (value / train.len() as f64).powf(-power / 2.0);
    let scales: Vec<f64> = found.values.iter().map(scale).collect();
    let axes = Mat::from_fn(300, scales.len(), |i, j| found.vectors[(i, j)] * scales[j]);
    let everything = Mat::from_fn(rows.len(), 300, centred);
    let turned = &everything * &axes;
    // axes beyond the rank stay 0
    let value = |at: usize| match at % 300 {
        j if j < turned.ncols() => turned[(at / 300, j)] as f32,
        _ => 0.0,
    };
    Ok(unit((0..rows.len() * 300).map(value).collect()))
}

fn unit(mut rows: Vec<f32>) -> Vec<f32> {
    for row in rows.chunks_exact_mut(300) {
        let norm = row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt().max(1e-9);
        row.iter_mut().for_each(|value| *value = (f64::from(*value) / norm) as f32);
    }
    rows
}

/// The columns of a tab-separated file without quotes, behind its header.
fn table(path: &std::path::Path) -> Result<Vec<Vec<String>>, Failure> {
    let mut reader = csv::ReaderBuilder::new().delimiter(b'\t').quoting(false).from_path(path)?;
    let row = |record: Result<csv::StringRecord, csv::Error>| -> Result<Vec<String>, Failure> {
        Ok(record?.iter().map(String::from).collect())
    };
    reader.records().map(row).collect()
}

/// The most memory that the process has held, in MiB.
fn memory() -> i64 {
    // SAFETY: getrusage fills the struct it is given, which is plain numbers.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    usage.ru_maxrss / 1024
}
