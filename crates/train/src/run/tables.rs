//! Metrics as text, for people.

use std::fmt::Write;

use dsokr_decode::Metrics;

/// Metrics as text, one row each under one heading.
pub fn metrics(rows: &[(&str, &Metrics)]) -> String {
    let mut text = format!(
        "{:<10} {:>7} {:>7} {:>7} {:>8} {:>10} {:>12}\n",
        "", "MRR", "Hits@1", "Hits@5", "Hits@10", "mean rank", "median rank"
    );
    for (name, m) in rows {
        let rank = |r: Option<f64>| r.map_or("infinite".to_string(), |r| format!("{r:.1}"));
        let _ = writeln!(
            text,
            "{name:<10} {:>7.4} {:>7.4} {:>7.4} {:>8.4} {:>10} {:>12}",
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

/// One line of text on what was ranked against what.
pub fn counts(split: &str, m: &Metrics) -> String {
    let mut line = format!(
        "{split}: {} queries against {} candidates ({} duplicates), {} queries tied",
        m.queries, m.candidates, m.duplicate_candidates, m.tied_queries
    );
    if m.missing_gold > 0 {
        let _ = write!(line, ", {} counted with rank infinity", m.missing_gold);
    }
    line + "\n"
}
