//! Answers to texts, as `search` and `predict` print them.

use dsokr::run::{EnsembleRun, Run, SearchAnswer, tables};
use dsokr::{Error, PredictedOutput};
use serde::Serialize;

/// The widest column of ids, in characters; longer ids push their label aside.
const WIDEST: usize = 64;

/// The answer to one text.
#[derive(Serialize)]
pub struct Answer<'a> {
    /// Of one of several texts: its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    /// The text; none of a vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<&'a str>,
    /// The predicted quantiles, if outputs are numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    quantiles: Vec<Quantile>,
    /// The predicted output where it need not be a candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<&'a PredictedOutput>,
    candidates: Vec<Candidate<'a>>,
}

#[derive(Serialize)]
struct Quantile {
    level: f64,
    value: f32,
}

#[derive(Serialize)]
struct Candidate<'a> {
    rank: usize,
    id: &'a str,
    label: &'a str,
    score: f32,
    /// How many candidates have this label set.
    #[serde(skip_serializing_if = "Option::is_none")]
    same_set: Option<u32>,
}

impl<'a> Answer<'a> {
    pub fn new(
        id: Option<&'a str>,
        query: Option<&'a str>,
        answer: &'a SearchAnswer,
        run: &'a Run,
    ) -> Self {
        let named = answer.candidates(run);
        let labels = run.config.output.features.are_labels();
        let candidates = answer.hits.iter().enumerate().map(|(i, hit)| Candidate {
            rank: i + 1,
            id: named.id(hit.candidate),
            label: named.label(hit.candidate),
            score: hit.score,
            same_set: labels.then(|| named.multiplicity(named.class_of(hit.candidate))),
        });
        let quantiles = answer.quantiles.iter().flat_map(|q| q.levels.iter().zip(&q.values));
        let quantiles = quantiles.map(|(&level, &value)| Quantile { level, value }).collect();
        Self {
            id,
            query,
            quantiles,
            exact: answer.exact.as_ref(),
            candidates: candidates.collect(),
        }
    }

    /// One line of JSON.
    pub fn json_line(&self) -> Result<String, Error> {
        let json = serde_json::to_string(self).map_err(|e| Error::Serialise(e.to_string()))?;
        Ok(json + "\n")
    }

    /// A table for people.
    pub fn text(&self) -> String {
        let ids = self.candidates.iter().map(|c| c.id.chars().count());
        let width = ids.max().unwrap_or(0).clamp(2, WIDEST);
        let mut text = String::new();
        for Quantile { level, value } in &self.quantiles {
            text += &format!("{:>14}  {value}\n", format!("quantile {level}"));
        }
        text += &format!("{:>4} {:>8}  {:<width$}  label\n", "rank", "score", "id");
        if let Some(PredictedOutput { label, score }) = self.exact {
            let label = tables::cell(label);
            text += &format!("{:>4} {score:>8.4}  {:<width$}  {label}\n", "all", "");
        }
        for c in &self.candidates {
            let shared = match c.same_set {
                Some(count) if count > 1 => format!(" ({count} candidates)"),
                Some(_) | None => String::new(),
            };
            let Candidate { rank, score, .. } = c;
            let (id, label) = (tables::cell(c.id), tables::cell(c.label));
            text += &format!("{rank:>4} {score:>8.4}  {id:<width$}  {label}{shared}\n");
        }
        text
    }

    /// Names of the columns of [`rows`](Self::rows).
    pub fn columns(runs: &EnsembleRun) -> Vec<String> {
        let config = runs.config();
        let levels = match runs.members() {
            [_] => config.encoder.abilities().levels.unwrap_or_default(),
            _ => &[],
        };
        let own = ["id", "rank", "candidate", "label", "score"].map(String::from).into_iter();
        let same_set = config.output.features.are_labels().then(|| "same_set".to_owned());
        let levels = levels.iter().map(|level| format!("quantile {level}"));
        own.chain(same_set).chain(levels).collect()
    }

    /// A row of a table for each candidate; the best of all outputs has the rank `all` and no id.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let id = self.id.unwrap_or_default().to_owned();
        let quantiles: Vec<String> = self.quantiles.iter().map(|q| q.value.to_string()).collect();
        let row = |(own, same_set): ([String; 4], Option<String>)| {
            let own = [id.clone()].into_iter().chain(own).chain(same_set);
            own.chain(quantiles.iter().cloned()).collect()
        };
        let sets = self.candidates.iter().any(|c| c.same_set.is_some());
        let best = self.exact.iter().map(|best| {
            let own = ["all".to_owned(), String::new(), best.label.clone(), best.score.to_string()];
            (own, sets.then(String::new))
        });
        let candidates = self.candidates.iter().map(|c| {
            let score = c.score.to_string();
            let own = [c.rank.to_string(), c.id.to_owned(), c.label.to_owned(), score];
            (own, c.same_set.map(|count| count.to_string()))
        });
        best.chain(candidates).map(row).collect()
    }
}
