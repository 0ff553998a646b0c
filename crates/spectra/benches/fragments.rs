//! Candidates of the right formula ranked by the fragments that explain a spectrum, on one thread:
//! `cargo bench -p dsokr-spectra --bench fragments -- [FILE]`.
//!
//! FILE is `train.mgf` or `validation.mgf` of MassBank's files under `DSOKR_DATA/massbank` (default: `../shared/data`), whose
//! `molecules.tsv` has the candidates. Nothing is learned, so that the training spectra say how well it ranks. Prints one JSON
//! line: queries with two candidates or more, Hits@1 and MRR with ties averaged, candidates, and the candidates a second, with
//! and without the reading of their SMILES.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use dsokr_molecule::Molecule;
use dsokr_spectra::{FileContext, PeakExplainer, Spectrum, SpectrumFormat};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let Some(file) = arguments.next_back() else {
        // it needs data, so `cargo bench` of everything does not run it
        eprintln!("no file: train.mgf, validation.mgf");
        return Ok(());
    };
    let root = std::env::var_os("DSOKR_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let folder = root.join("massbank");
    let pool = std::fs::read_to_string(folder.join("molecules.tsv"))?;
    let mut by_formula: HashMap<&str, Vec<(&str, &str)>> = HashMap::new();
    for line in pool.lines().skip(1) {
        let [id, smiles, formula, ..] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        by_formula.entry(formula).or_default().push((id, smiles));
    }

    let text = std::fs::read_to_string(folder.join(file))?;
    let mut context = FileContext::default();
    let mut ranking = Ranking::default();
    for entry in text.split_inclusive("END IONS") {
        let Ok(Some(record)) = SpectrumFormat::Mgf.record(entry, &mut context) else { continue };
        let spectrum: Spectrum = record.spectrum(None).map_err(|(_, reason)| reason)?.parse()?;
        let id = record.field("inchikey").unwrap_or_default();
        let candidates = spectrum.formula().and_then(|formula| by_formula.get(formula));
        if let Some(candidates) = candidates.filter(|candidates| candidates.len() > 1) {
            ranking.add(&spectrum, id, candidates)?;
        }
    }
    println!("{}", ranking.json());
    Ok(())
}

#[derive(Default)]
struct Ranking {
    queries: usize,
    first: f64,
    reciprocal: f64,
    candidates: usize,
    reading: Duration,
    explaining: Duration,
}

impl Ranking {
    /// Ranks the candidates of a spectrum, of which `gold` is the right one.
    fn add(
        &mut self,
        spectrum: &Spectrum,
        gold: &str,
        candidates: &[(&str, &str)],
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let molecules = candidates.iter().map(|(_, smiles)| Molecule::parse(smiles));
        let molecules = molecules.collect::<Result<Vec<_>, _>>()?;
        let read = Instant::now();
        let explainer = PeakExplainer::new(spectrum, 10.0)?;
        let score = |molecule: &Molecule| {
            explainer.explain(molecule).map_or(0.0, |explained| explained.score)
        };
        let scores: Vec<f64> = molecules.iter().map(score).collect();
        self.explaining += read.elapsed();
        self.reading += read - started;
        self.candidates += candidates.len();
        let Some(at) = candidates.iter().position(|(id, _)| *id == gold) else { return Ok(()) };
        let above = scores.iter().filter(|&&score| score > scores[at] + 1e-9).count();
        let tied = scores.iter().filter(|&&score| (score - scores[at]).abs() <= 1e-9).count();
        self.queries += 1;
        let ranks = above + 1..=above + tied;
        self.first += if above == 0 { 1.0 / tied as f64 } else { 0.0 };
        self.reciprocal += ranks.map(|rank| 1.0 / rank as f64).sum::<f64>() / tied as f64;
        Ok(())
    }

    fn json(&self) -> String {
        let queries = self.queries as f64;
        let a_second = |time: Duration| self.candidates as f64 / time.as_secs_f64();
        format!(
            "{{\"queries\": {queries}, \"hits@1\": {:.4}, \"mrr\": {:.4}, \"candidates\": {}, \"explained_a_second\": {:.0}, \
             \"with_reading_a_second\": {:.0}}}",
            self.first / queries,
            self.reciprocal / queries,
            self.candidates,
            a_second(self.explaining),
            a_second(self.explaining + self.reading),
        )
    }
}
