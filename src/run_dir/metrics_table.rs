//! Metrics side by side, as text.

use std::fmt::Write;

use crate::metrics::metric::{Metric, Needs};
use crate::metrics::quantiles::Coverage;
use crate::metrics::scores::{OutputScores, Scores};
use crate::metrics::table::Table;

/// A metric, its heading, the least width of its column and its decimal places.
type Column = (&'static str, &'static str, usize, usize);

/// Metrics that are shown side by side.
struct Group {
    /// The metric that scores must have.
    of: &'static str,
    columns: &'static [Column],
}

/// All groups, in the order of a report: what outputs are compared by before ranks, which say less of them.
const GROUPS: [Group; 10] = [
    Group {
        of: "hamming_loss",
        columns: &[
            ("f1", "F1", 6, 4),
            ("micro_f1", "micro F1", 8, 4),
            ("macro_f1", "macro F1", 8, 4),
            ("roc_auc", "ROC AUC", 7, 4),
            ("pr_auc", "PR AUC", 7, 4),
            ("hamming_loss", "Hamming loss", 12, 5),
        ],
    },
    Group {
        of: "accuracy",
        columns: &[
            ("accuracy", "accuracy", 8, 4),
            ("roc_auc", "ROC AUC", 7, 4),
            ("pr_auc", "PR AUC", 7, 4),
            ("f1", "F1", 6, 4),
            ("macro_f1", "macro F1", 8, 4),
        ],
    },
    Group {
        of: "mae",
        columns: &[
            ("mae", "MAE", 10, 4),
            ("rmse", "RMSE", 10, 4),
            ("r2", "R²", 8, 4),
            ("spearman", "Spearman's rho", 14, 4),
            ("rrmse", "RRMSE", 8, 4),
        ],
    },
    Group {
        of: "mrr",
        columns: &[
            ("mrr", "MRR", 6, 4),
            ("hits@1", "Hits@1", 6, 4),
            ("hits@5", "Hits@5", 6, 4),
            ("hits@10", "Hits@10", 7, 4),
            ("mean_rank", "mean rank", 9, 1),
            ("median_rank", "median rank", 11, 1),
        ],
    },
    Group { of: "squared_error", columns: &[("squared_error", "squared error", 14, 6)] },
    Group { of: "kernel_loss", columns: &[("kernel_loss", "kernel loss", 14, 6)] },
    Group { of: "mces", columns: &[("mces", "MCES at 1", 10, 3)] },
    Group {
        of: "pinball",
        columns: &[("pinball", "pinball", 11, 6), ("crossing", "crossing", 11, 6)],
    },
    Group {
        of: "ged",
        columns: &[
            ("ged", "edit distance", 15, 3),
            ("ged_bonds", "with bonds", 15, 3),
            ("exact", "exact", 6, 3),
        ],
    },
    Group {
        of: "kendall_tau",
        columns: &[("kendall_tau", "Kendall's tau", 12, 4), ("exact", "exact", 6, 3)],
    },
];

/// Metrics as text, one row each under one heading; what a search found beyond the candidates has a row below.
pub fn metrics_table(rows: &[(&str, &Scores)]) -> String {
    let beyond: Vec<Option<Scores>> = rows.iter().map(|(_, scores)| scores.found()).collect();
    let with_found = |(&row, found)| [Some(row), found].into_iter().flatten();
    let found = beyond.iter().map(|own| own.as_ref().map(|scores| ("beyond", scores)));
    let all: Vec<(&str, &Scores)> = rows.iter().zip(found).flat_map(with_found).collect();
    let tables = GROUPS.iter().map(|group| group_text(group, &all));
    let searches = rows.iter().filter_map(|(_, scores)| Some(scores.beyond.as_ref()?.text()));
    tables.chain(searches).collect()
}

fn group_text(&Group { of: first, columns }: &Group, rows: &[(&str, &Scores)]) -> String {
    let has = |scores: &Scores| Metric::find(first).is_some_and(|own| own.known(scores).is_some());
    let known: Vec<_> = rows.iter().filter(|(_, scores)| has(scores)).collect();
    if known.is_empty() {
        return String::new();
    }
    // names have ten characters or more, as in other tables of a report
    let names = columns.iter().map(|(_, title, width, _)| format!("{title:>width$}"));
    let shares = (first == "pinball").then(|| " at most quantile".to_owned());
    let mut table = Table::new([" ".repeat(10)].into_iter().chain(names).chain(shares), 1);
    let mut notes = String::new();
    for (name, scores) in known {
        let cells = columns.iter().map(|&(metric, .., places)| shown(metric, scores, places));
        let shares = scores.quantiles.iter().filter(|_| first == "pinball").map(|own| {
            let share = |Coverage { level, share }: &Coverage| format!(" {level}: {share:.3}");
            own.coverage.iter().map(share).collect::<String>()
        });
        table.push([(*name).to_owned()].into_iter().chain(cells).chain(shares));
        if let Some(OutputScores::Molecules(own)) = &scores.outputs
            && let "ged" = first
            && own.unproven > 0
        {
            let _ = writeln!(notes, "{name}: {} distances are upper bounds", own.unproven);
        }
    }
    if first == "mae" {
        notes += &targets_text(rows);
    }
    table.text() + &notes
}

/// The metrics of each target of the first row, where a row of numbers has several.
fn targets_text(rows: &[(&str, &Scores)]) -> String {
    let Some(Some(OutputScores::Numbers(scores))) = rows.first().map(|(_, own)| &own.outputs)
    else {
        return String::new();
    };
    if scores.targets.len() < 2 {
        return String::new();
    }
    let names = ["target    ", "       MAE", "      RMSE", "      R²", "Spearman's rho"];
    let mut table = Table::new(names, 1);
    for (at, target) in scores.targets.iter().enumerate() {
        let number = (at + 1).to_string();
        let name = target.name.clone().unwrap_or(number);
        let values = [target.mae, target.rmse, target.r2, target.spearman];
        table.push([name].into_iter().chain(values.map(|value| format!("{value:.4}"))));
    }
    table.text()
}

/// A metric with its standard error, where that is known.
fn shown(name: &str, scores: &Scores, places: usize) -> String {
    let value = scores.number(name).filter(|value| value.is_finite());
    let ranks = Metric::find(name).is_some_and(|metric| metric.needs() == Needs::FiniteRanks);
    let error = scores.number(&format!("{name}_se"));
    let error = error.map(|error| format!(" ± {error:.places$}")).unwrap_or_default();
    match value {
        Some(value) => format!("{value:.places$}{error}"),
        None if ranks => "infinite".to_owned(),
        None => "–".to_owned(),
    }
}
