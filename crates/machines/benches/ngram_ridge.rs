//! Kernel ridge regression from TF-IDF n-grams onto Mol2vec on ChEBI-20, as the scikit-learn peer:
//! `cargo bench -p dsokr-machines --bench ngram_ridge -- [--power A] [--csls W] [--neighbours K]
//! [--kernel linear|cosine|tanimoto] [--sketch gaussian|subsampling] [--size M] [--seed S]`.
//!
//! `--power` tempers the targets (centred and normalised) and `--csls` is the weight of the correction for
//! hubs, of 10 neighbours. The peer's targets are the default: every direction of the rows, under the
//! cosine kernel, or the linear one with a power. A smaller size is a sketch; `--kernel tanimoto`
//! takes Morgan fingerprints in the place of Mol2vec.
//!
//! Reads `chebi20/` under `DSOKR_DATA`. One JSON line with the peer's keys: `fit_s` holds the TF-IDF,
//! the Gram matrix, the solving, the basis with all candidates, and the hub means;
//! `predict_s` the queries' rows, their predictions and the exact ranks.

mod process;

use std::path::PathBuf;
use std::time::Instant;

use dsokr_basis::features::{MappedRows, distinct};
use dsokr_basis::kernel::candidate_constant;
use dsokr_basis::{Basis, Features, Kernel, RowSource, SketchKind, SketchOptions, Tempering};
use dsokr_data::featurizers::{NgramConfig, NgramKind, TfIdf};
use dsokr_decode::{
    CandidateParts, Candidates, Combination, Ensemble, Hubs, MissingGold, Pool, Queries,
};
use dsokr_machines::{Arithmetic, Targets, TrainingInputs, fit};

type Failure = Box<dyn std::error::Error>;

/// nλ.
const RIDGE: f64 = 0.1;

/// The options of the command line.
struct Options {
    power: f64,
    csls: f32,
    neighbours: usize,
    kernel: Option<Kernel>,
    sketch: SketchKind,
    size: usize,
    seed: u64,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut options = Self {
            power: 0.0,
            csls: 0.0,
            neighbours: 10,
            kernel: None,
            sketch: SketchKind::Gaussian,
            // more rows than columns: all 300 directions
            size: 600,
            seed: 0,
        };
        while let Some(name) = arguments.next() {
            if name == "--bench" {
                continue; // cargo's own
            }
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            match (&name[..], &value[..]) {
                ("--power", _) => options.power = value.parse()?,
                ("--csls", _) => options.csls = value.parse()?,
                ("--neighbours", _) => options.neighbours = value.parse()?,
                ("--kernel", "linear") => options.kernel = Some(Kernel::Linear),
                ("--kernel", "cosine") => options.kernel = Some(Kernel::Cosine),
                ("--kernel", "tanimoto") => options.kernel = Some(Kernel::Tanimoto),
                ("--sketch", "gaussian") => options.sketch = SketchKind::Gaussian,
                ("--sketch", "subsampling") => {
                    options.sketch = SketchKind::Subsampling { replacement: false };
                }
                ("--size", _) => options.size = value.parse()?,
                ("--seed", _) => options.seed = value.parse()?,
                _ => return Err(format!("{name} {value} is no option").into()),
            }
        }
        Ok(options)
    }
}

fn main() -> Result<(), Failure> {
    let options = Options::parse(std::env::args().skip(1))?;
    let root =
        std::env::var_os("DSOKR_DATA").map_or(PathBuf::from("../../../shared/data"), PathBuf::from);
    let root = root.join("chebi20");
    let molecules = table(&root.join("molecules.tsv"))?;
    let train = table(&root.join("train.tsv"))?;
    let val = table(&root.join("val.tsv"))?;
    let peer = if options.power > 0.0 { Kernel::Linear } else { Kernel::Cosine };
    let kernel = options.kernel.clone().unwrap_or(peer);
    let (file, key) = match kernel {
        Kernel::Tanimoto => ("morgan.safetensors", "morgan_r2_2048"),
        _ => ("mol2vec.safetensors", "mol2vec"),
    };
    let outputs = MappedRows::open(&root.join(file), key)?;
    let by_id: std::collections::BTreeMap<&str, usize> =
        molecules.iter().enumerate().map(|(at, m)| (m[0].as_str(), at)).collect();
    let chosen: Vec<usize> = train.iter().filter_map(|t| by_id.get(&t[0][..]).copied()).collect();
    let pool: Vec<usize> = (0..molecules.len()).filter(|&at| molecules[at][2] == "1").collect();

    let start = Instant::now();
    let text = |rows: &[Vec<String>]| rows.iter().map(|row| row[1].clone()).collect::<Vec<_>>();
    let texts = text(&train);
    let ngrams =
        |kind, min, max, min_texts| NgramConfig { min_texts, ..NgramConfig::new(kind, min, max) };
    let configs = [ngrams(NgramKind::Words, 1, 2, 2), ngrams(NgramKind::Characters, 3, 5, 3)];
    let tf_idf = TfIdf::fit(&configs, texts.iter().map(String::as_str))?;
    let x = Features::Sparse(tf_idf.rows(&texts)?);
    let tf_idf_s = start.elapsed().as_secs_f64();

    let train_rows = outputs.select(&chosen)?;
    let Options { sketch, size, seed, .. } = &options;
    let mut basis = Basis::fit(
        kernel,
        &train_rows,
        &SketchOptions::new(sketch.clone(), *size).with_seed(*seed),
    )?;
    if options.power > 0.0 {
        basis = basis.tempered(
            &Tempering { power: options.power, centred: true, normalised: true },
            &train_rows,
        )?;
    }
    let targets = Targets::from_projection(&basis.project(&train_rows)?)?;
    let basis_s = start.elapsed().as_secs_f64() - tf_idf_s;
    let lambda = RIDGE / chosen.len() as f64;
    let fitted =
        fit(&TrainingInputs::rows(Kernel::Linear, &x), &targets, lambda, Arithmetic::Single)?;

    let rank = basis.dimension();
    let groups = distinct(&outputs.select(&pool)?)?;
    let distinct: Vec<usize> = groups.representative.iter().map(|&at| pool[at]).collect();
    let points = basis.project(&outputs.select(&distinct)?)?;
    let is_normalised = basis.is_normalised();
    let constant = |&squared_norm: &f64| candidate_constant(squared_norm, is_normalised) as f32;
    let constants = points.squared_norms().iter().map(constant).collect();
    let ids = pool.iter().map(|&at| molecules[at][0].clone()).collect();
    let labels = pool.iter().map(|&at| molecules[at][1].clone()).collect();
    let mut candidates = Candidates::new(CandidateParts {
        ids,
        labels,
        class: groups.class,
        dim: rank,
        coordinates: points.into_coordinates(),
        constants,
        ..CandidateParts::default()
    })?;
    let before_hubs = start.elapsed().as_secs_f64();
    if options.csls > 0.0 {
        let left_out = fitted.leave_one_out(&targets)?;
        let left_out = Queries::new(rank, &left_out)?.normalised();
        let hubs = Hubs::fit(&Queries::new(rank, &left_out)?, &candidates, options.neighbours)?;
        candidates = candidates.with_hubs(hubs, options.csls)?;
    }
    let fit_s = start.elapsed().as_secs_f64();
    let hubs_s = fit_s - before_hubs;

    let start = Instant::now();
    let queries = Features::Sparse(tf_idf.rows(&text(&val))?);
    let z = Queries::new(rank, &fitted.model.predict(&queries)?)?.normalised();
    let names: Vec<String> = val.iter().map(|row| row[0].clone()).collect();
    let queries = Queries::named(&names, rank, &z)?;
    let model = Ensemble::one(queries, &candidates, None)?;
    let gold = model.gold(Pool::Shared, &names, MissingGold::Error)?;
    let ranks = model.rank(Pool::Shared, &Combination::default(), &gold)?;
    let metrics = model.metrics(Pool::Shared, &ranks)?;
    let predict_s = start.elapsed().as_secs_f64();
    println!(
        "{}",
        serde_json::json!({
            "split": "val", "power": options.power, "csls": options.csls,
            "kernel": basis.kernel().name(), "rank": rank, "fit_s": fit_s, "tf_idf_s": tf_idf_s,
            "basis_s": basis_s, "hubs_s": hubs_s, "predict_s": predict_s, "mrr": metrics.mrr(),
            "hits@1": metrics.value("hits@1"), "hits@10": metrics.value("hits@10"), "mean_rank": metrics.value("mean_rank"),
            "condition": fitted.model.summary().ridge().map(|ridge| ridge.condition), "memory_mib": process::peak_mib(),
        })
    );
    Ok(())
}

/// Returns the columns of a tab-separated file without quotes, behind its header.
fn table(path: &std::path::Path) -> Result<Vec<Vec<String>>, Failure> {
    let mut reader = csv::ReaderBuilder::new().delimiter(b'\t').quoting(false).from_path(path)?;
    let row = |record: Result<csv::StringRecord, csv::Error>| -> Result<Vec<String>, Failure> {
        Ok(record?.iter().map(String::from).collect())
    };
    reader.records().map(row).collect()
}
