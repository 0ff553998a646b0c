//! Metrics as text.

use std::fmt::Write;

use dsokr_decode::PoolSizes;

use crate::{Coverage, OutputScores, Scores};

/// A cell of a table whose columns are separated by tabs: tabs and line breaks become spaces.
pub fn cell(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}

/// Metrics as text, one row each under one heading.
pub fn metrics(rows: &[(&str, &Scores)]) -> String {
    let mut text = String::new();
    if rows.iter().any(|(_, m)| m.has_ranks()) {
        text += &ranks(rows);
    }
    if rows.iter().any(|(_, m)| m.squared_error.is_some()) {
        text += &errors(rows);
    }
    if rows.iter().any(|(_, m)| m.quantiles.is_some()) {
        text += &quantiles(rows);
    }
    let molecules = |m: &Scores| matches!(m.outputs, Some(OutputScores::Molecules(_)));
    if rows.iter().any(|(_, m)| molecules(m)) {
        text += &distances(rows);
    }
    let labels = |m: &Scores| matches!(m.outputs, Some(OutputScores::Labels(_)));
    if rows.iter().any(|(_, m)| labels(m)) {
        text += &label_sets(rows);
    }
    let ranked = |m: &Scores| matches!(m.outputs, Some(OutputScores::Rankings(_)));
    if rows.iter().any(|(_, m)| ranked(m)) {
        text += &rankings(rows);
    }
    text
}

fn rankings(rows: &[(&str, &Scores)]) -> String {
    let width = width(rows);
    let mut text = format!("{:<width$} {:>13} {:>7}\n", "", "Kendall's tau", "exact");
    for (name, m) in rows {
        let Some(OutputScores::Rankings(m)) = &m.outputs else { continue };
        let _ = writeln!(text, "{name:<width$} {:>13.4} {:>7.3}", m.kendall_tau, m.exact);
    }
    text
}

fn label_sets(rows: &[(&str, &Scores)]) -> String {
    let width = width(rows);
    let mut text = format!(
        "{:<width$} {:>7} {:>9} {:>9} {:>13}\n",
        "", "F1", "micro F1", "macro F1", "Hamming loss"
    );
    for (name, m) in rows {
        let Some(OutputScores::Labels(m)) = &m.outputs else { continue };
        let _ = writeln!(
            text,
            "{name:<width$} {:>7.4} {:>9.4} {:>9.4} {:>13.5}",
            m.f1, m.micro_f1, m.macro_f1, m.hamming_loss
        );
    }
    text
}

fn ranks(rows: &[(&str, &Scores)]) -> String {
    let width = width(rows);
    let mut text = format!(
        "{:<width$} {:>7} {:>7} {:>7} {:>8} {:>10} {:>12}\n",
        "", "MRR", "Hits@1", "Hits@5", "Hits@10", "mean rank", "median rank"
    );
    for (name, m) in rows {
        let rank = |r: Option<f64>| r.map_or("infinite".to_string(), |r| format!("{r:.1}"));
        let _ = writeln!(
            text,
            "{name:<width$} {:>7.4} {:>7.4} {:>7.4} {:>8.4} {:>10} {:>12}",
            m.mrr,
            m.hits_1,
            m.hits_5,
            m.hits_10,
            rank(m.mean_rank),
            rank(m.median_rank)
        );
    }
    text
}

fn errors(rows: &[(&str, &Scores)]) -> String {
    let width = width(rows);
    let mut text = format!("{:<width$} {:>15}\n", "", "squared error");
    for (name, m) in rows {
        let Some(error) = m.squared_error else { continue };
        let _ = writeln!(text, "{name:<width$} {error:>15.6}");
    }
    text
}

fn quantiles(rows: &[(&str, &Scores)]) -> String {
    let width = width(rows);
    let mut text =
        format!("{:<width$} {:>12} {:>12}   at most quantile\n", "", "pinball", "crossing");
    for (name, m) in rows {
        let Some(m) = &m.quantiles else { continue };
        let _ = write!(text, "{name:<width$} {:>12.6} {:>12.6}  ", m.pinball, m.crossing);
        for Coverage { level, share } in &m.coverage {
            let _ = write!(text, " {level}: {share:.3}");
        }
        text.push('\n');
    }
    text
}

fn distances(rows: &[(&str, &Scores)]) -> String {
    let width = width(rows);
    let mut text =
        format!("{:<width$} {:>16} {:>16} {:>7}\n", "", "edit distance", "with bonds", "exact");
    for (name, m) in rows {
        let Some(OutputScores::Molecules(m)) = &m.outputs else { continue };
        let both = |mean: f64, error: f64| format!("{mean:.3} ± {error:.3}");
        let (bare, bonds) = (both(m.ged, m.ged_se), both(m.ged_bonds, m.ged_bonds_se));
        let _ = writeln!(text, "{name:<width$} {bare:>16} {bonds:>16} {:>7.3}", m.exact);
        if m.unproven > 0 {
            let _ = writeln!(text, "{:<width$} {} distances are upper bounds", "", m.unproven);
        }
    }
    text
}

/// Of the column of names.
fn width(rows: &[(&str, &Scores)]) -> usize {
    rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(10)
}

/// One line of text with the numbers of queries and candidates.
pub fn counts(split: &str, m: &Scores) -> String {
    let candidates = match m.candidates_per_query {
        None => format!("{} candidates ({} duplicates)", m.candidates, m.duplicate_candidates),
        Some(PoolSizes { least, median, most }) => format!(
            "{least} to {most} candidates each (median {median}; in all {}, {} duplicates)",
            m.candidates, m.duplicate_candidates
        ),
    };
    let tied = m.tied_queries;
    let mut line =
        format!("{split}: {} queries against {candidates}, {tied} queries tied", m.queries);
    if m.missing_gold > 0 {
        let _ = write!(line, ", {} counted with rank infinity", m.missing_gold);
    }
    line + "\n"
}
