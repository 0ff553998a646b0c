//! Tables as strangers bring them, each odd in its own way: `dsokr init`, then `dsokr train`, and a floor.
//!
//! A test makes its table from the quickstart's pairs, or by a rule, and calls [`Stranger::trains`].

mod files;
mod kinds;
mod notations;
mod programs;
mod properties;
mod spectra;
mod tables;

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::{Sandbox, json, number};

/// A table, and what is expected of it.
pub struct Stranger<'s> {
    /// The file that is given to `init`.
    pub file: &'s str,
    /// What it holds.
    pub content: Vec<u8>,
    /// Further arguments of `init`.
    pub arguments: &'s [&'s str],
    /// The columns of the inputs and of the outputs that `init` finds.
    pub columns: [&'s str; 2],
    /// The kind of the outputs, as `init` names it.
    pub holds: &'s str,
    /// Number of rows that `init` announces as skipped.
    pub skipped: usize,
    /// The metric of the test pairs, and its bound.
    pub floor: (&'s str, Bound),
}

/// A bound of a metric.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// For metrics that are better the larger they are.
    AtLeast(f64),
    /// For metrics that are better the smaller they are.
    AtMost(f64),
}

impl<'s> Stranger<'s> {
    /// Descriptions of molecules and their SMILES, all rows of which are pairs, with the least MRR of a model.
    pub fn of_molecules(file: &'s str, content: impl Into<Vec<u8>>, least_mrr: f64) -> Self {
        Self {
            file,
            content: content.into(),
            arguments: &[],
            columns: ["description", "smiles"],
            holds: "SMILES",
            skipped: 0,
            floor: ("mrr", Bound::AtLeast(least_mrr)),
        }
    }

    /// Makes a configuration by `init` and trains it, without a warning. Returns what `init` and `train` print as JSON.
    pub fn trains(&self, sandbox: &Sandbox) -> (Value, Value) {
        fs::write(sandbox.path(self.file), &self.content).unwrap();
        let survey = [&["init", self.file, "--json"], self.arguments].concat();
        let survey = json(&sandbox.succeed(&survey));
        let [input, output] = self.columns;
        assert_eq!(
            (&survey["input"], &survey["output"], &survey["holds"], &survey["skipped"]),
            (&input.into(), &output.into(), &self.holds.into(), &self.skipped.into()),
            "{survey}"
        );
        let report = train(sandbox, survey["config"].as_str().unwrap());
        let (metric, bound) = self.floor;
        let found = number(&report, metric);
        let holds = match bound {
            Bound::AtLeast(least) => found >= least,
            Bound::AtMost(most) => found <= most,
        };
        assert!(holds, "{metric} {found}, bound {bound:?}: {report}");
        (survey, report)
    }
}

/// Trains a configuration, and returns its report. A warning is an error, but for that of few groups, of which small tables have
/// no more.
pub fn train(sandbox: &Sandbox, config: &str) -> Value {
    let trained = sandbox.run(&["train", config, "--json"]);
    let errors = String::from_utf8_lossy(&trained.stderr);
    assert!(trained.status.success(), "{errors}");
    let warnings: Vec<&str> = errors
        .lines()
        .filter(|line| line.contains("WARN") && !line.contains("intervals of so few are too short"))
        .collect();
    assert!(warnings.is_empty(), "{warnings:?}");
    json(&String::from_utf8(trained.stdout).unwrap())
}

/// A pair of the quickstart set.
#[derive(Clone, Debug)]
pub struct Pair {
    pub id: String,
    pub text: String,
    pub smiles: String,
    /// Number of heavy atoms.
    pub atoms: usize,
}

/// The first pairs of the quickstart set.
pub fn pairs(count: usize) -> Vec<Pair> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/quickstart");
    let read = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let rows = text.lines().skip(1).map(|line| line.split_once('\t').unwrap());
        rows.map(|(id, cell)| (id.to_owned(), cell.to_owned())).collect::<Vec<_>>()
    };
    let smiles: std::collections::HashMap<_, _> = read("molecules.tsv").into_iter().collect();
    let atoms: std::collections::HashMap<_, _> = read("atoms.tsv").into_iter().collect();
    let pair = |(id, text): (String, String)| Pair {
        smiles: smiles[&id].clone(),
        atoms: atoms[&id].parse().unwrap(),
        id,
        text,
    };
    read("train.tsv").into_iter().take(count).map(pair).collect()
}

/// An offer of a flat.
#[derive(Clone, Debug)]
pub struct Flat {
    pub text: String,
    /// What the words of the text say, nearly.
    pub rent: f64,
}

/// Offers with different texts, whose rents are sums over words, and noise.
pub fn flats(count: usize) -> Vec<Flat> {
    let flat = |at: usize| {
        let rooms = at % 5;
        let garden = at.is_multiple_of(2);
        let lift = at.is_multiple_of(3);
        let old = at % 7 < 3;
        let text = format!(
            "offer {at} of a flat with {} rooms {} {} in {} part of the town",
            ["one", "two", "three", "four", "five"][rooms],
            if garden { "and a garden" } else { "without any green" },
            if lift { "behind a lift" } else { "up the stairs" },
            if old { "the old" } else { "a new" },
        );
        let extras = [(garden, 150.0), (lift, 80.5), (old, 210.0)];
        let extras: f64 = extras.iter().map(|&(has, price)| if has { price } else { 0.0 }).sum();
        let noise = (at * 7919 % 61) as f64 - 30.0;
        Flat { text, rent: 300.0 + 260.0 * rooms as f64 + extras + noise }
    };
    (0..count).map(flat).collect()
}

/// Half of the pinball loss of the best constants for the levels that `init` writes.
pub fn half_of_constant(flats: &[Flat]) -> f64 {
    let mut rents: Vec<f64> = flats.iter().map(|flat| flat.rent).collect();
    rents.sort_by(f64::total_cmp);
    let loss = |level: f64| {
        let quantile = rents[(level * rents.len() as f64) as usize];
        let losses = rents.iter().map(|rent| {
            let over = rent - quantile;
            if over > 0.0 { level * over } else { (level - 1.0) * over }
        });
        losses.sum::<f64>() / rents.len() as f64
    };
    // the metric is the sum over levels
    [0.1, 0.5, 0.9].map(loss).iter().sum::<f64>() / 2.0
}
