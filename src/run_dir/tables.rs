//! Metrics as text.

use std::fmt::Write;

use dsokr_decode::PoolSizes;

use crate::table::Table;
use crate::{Coverage, Metric, OutputScores, Scores};

/// Metrics that are shown side by side.
struct Group {
    /// Whether scores have them.
    of: fn(&Scores) -> bool,
    /// The name of each metric, its heading, the least width of its column and its decimal places.
    columns: &'static [(&'static str, &'static str, usize, usize)],
}

const GROUPS: [Group; 6] = [
    Group {
        of: Scores::has_ranks,
        columns: &[
            ("mrr", "MRR", 6, 4),
            ("hits@1", "Hits@1", 6, 4),
            ("hits@5", "Hits@5", 6, 4),
            ("hits@10", "Hits@10", 7, 4),
            ("mean_rank", "mean rank", 9, 1),
            ("median_rank", "median rank", 11, 1),
        ],
    },
    Group {
        of: |scores| scores.squared_error.is_some(),
        columns: &[("squared_error", "squared error", 14, 6)],
    },
    Group {
        of: |scores| scores.quantiles.is_some(),
        columns: &[("pinball", "pinball", 11, 6), ("crossing", "crossing", 11, 6)],
    },
    Group {
        of: |scores| matches!(scores.outputs, Some(OutputScores::Molecules(_))),
        columns: &[
            ("ged", "edit distance", 15, 3),
            ("ged_bonds", "with bonds", 15, 3),
            ("exact", "exact", 6, 3),
        ],
    },
    Group {
        of: |scores| matches!(scores.outputs, Some(OutputScores::Labels(_))),
        columns: &[
            ("f1", "F1", 6, 4),
            ("micro_f1", "micro F1", 8, 4),
            ("macro_f1", "macro F1", 8, 4),
            ("hamming_loss", "Hamming loss", 12, 5),
        ],
    },
    Group {
        of: |scores| matches!(scores.outputs, Some(OutputScores::Rankings(_))),
        columns: &[("kendall_tau", "Kendall's tau", 12, 4), ("exact", "exact", 6, 3)],
    },
];

/// Metrics as text, one row each under one heading.
pub fn metrics(rows: &[(&str, &Scores)]) -> String {
    GROUPS.iter().map(|group| group.text(rows)).collect()
}

impl Group {
    fn text(&self, rows: &[(&str, &Scores)]) -> String {
        let mut known = rows.iter().filter(|(_, scores)| (self.of)(scores)).peekable();
        let Some((_, first)) = known.peek() else { return String::new() };
        // names have ten characters or more, as in other tables of a report
        let names = [" ".repeat(10)].into_iter();
        let names =
            names.chain(self.columns.iter().map(|(_, title, width, _)| format!("{title:>width$}")));
        let coverage = first.quantiles.is_some() && self.columns[0].0 == "pinball";
        let shares = coverage.then(|| " at most quantile".to_owned());
        let mut table = Table::new(names.chain(shares), 1);
        let mut notes = String::new();
        for (name, scores) in known {
            let cells =
                self.columns.iter().map(|&(metric, .., places)| shown(metric, scores, places));
            let shares = scores.quantiles.iter().filter(|_| coverage).map(|own| {
                let share = |Coverage { level, share }: &Coverage| format!(" {level}: {share:.3}");
                own.coverage.iter().map(share).collect::<String>()
            });
            table.push([(*name).to_owned()].into_iter().chain(cells).chain(shares));
            if let (Some(OutputScores::Molecules(own)), "ged") =
                (&scores.outputs, self.columns[0].0)
                && own.unproven > 0
            {
                let _ = writeln!(notes, "{name}: {} distances are upper bounds", own.unproven);
            }
        }
        table.text() + &notes
    }
}

/// A metric with its standard error, where that is known.
fn shown(name: &str, scores: &Scores, places: usize) -> String {
    let value = Metric::find(name).map_or(f64::NAN, |metric| metric.value(scores));
    let error = match (&scores.outputs, name) {
        (Some(OutputScores::Molecules(own)), "ged") => format!(" ± {:.places$}", own.ged_se),
        (Some(OutputScores::Molecules(own)), "ged_bonds") => {
            format!(" ± {:.places$}", own.ged_bonds_se)
        }
        (
            Some(OutputScores::Molecules(_) | OutputScores::Labels(_) | OutputScores::Rankings(_))
            | None,
            _,
        ) => String::new(),
    };
    match value.is_finite() {
        true => format!("{value:.places$}{error}"),
        false => "infinite".to_owned(),
    }
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
