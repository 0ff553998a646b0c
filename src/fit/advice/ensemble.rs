//! Advice on an ensemble: what applies to its members, and whether one of them is better.

use super::{below_chance, comparable};
use crate::config::Checked;
use crate::metrics::scores::Scores;
use crate::metrics::table::places;
use crate::run_dir::Report;

/// A member of an ensemble.
pub(crate) struct AdvisedMember<'a> {
    pub name: &'a str,
    pub metrics: &'a Scores,
    /// Its own advice.
    pub advice: &'a [String],
}

/// Returns the advice on an ensemble, a line each. What applies to every member is said once, and what applies to
/// some of them names them; lines that differ only in numbers are one.
pub(crate) fn ensemble_advice(
    config: &Checked,
    report: &Report,
    members: &[AdvisedMember],
) -> Vec<String> {
    let below = below_chance("the ensemble", "the learning rate or λ", config, report);
    let mut lines: Vec<String> = below.into_iter().collect();
    lines.extend(worse_than_member(config, report, members));
    let mut groups: Vec<(String, Vec<(&str, &str)>)> = Vec::new();
    for AdvisedMember { name, advice, .. } in members {
        for line in *advice {
            let words: String = line.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect();
            match groups.iter_mut().find(|(other, _)| *other == words) {
                Some((_, group)) => group.push((name, line)),
                None => groups.push((words, vec![(name, line)])),
            }
        }
    }
    lines.extend(groups.iter().map(|(_, group)| one_line(group, members.len())));
    lines
}

/// Returns one line for the equal or similar lines of some members.
fn one_line(group: &[(&str, &str)], members: usize) -> String {
    let (name, line) = group[0];
    let names: Vec<&str> = group.iter().map(|(name, _)| *name).collect();
    let equal = group.iter().all(|(_, other)| *other == line);
    match (equal, names.len() == members) {
        (true, true) => line.to_owned(),
        (true, false) => format!("{}: {line}", members_named(&names)),
        (false, true) => format!("member {name}: {line}; similarly every other member"),
        (false, false) => {
            format!("member {name}: {line}; similarly {}", members_named(&names[1..]))
        }
    }
}

fn members_named(names: &[&str]) -> String {
    let members = if names.len() == 1 { "member" } else { "members" };
    format!("{members} {}", names.join(", "))
}

/// Advises where a single member is better than the ensemble.
fn worse_than_member(
    config: &Checked,
    report: &Report,
    members: &[AdvisedMember],
) -> Option<String> {
    let compared = members.iter().filter_map(|AdvisedMember { name, metrics, .. }| {
        Some((name, comparable(&report.metrics, metrics, config.evaluation.metric)?))
    });
    let better =
        |value: f64, than: f64, larger: bool| if larger { value > than } else { value < than };
    let best = compared.reduce(|best, next| {
        let larger = next.1.0.larger_is_better();
        if better(next.1.2, best.1.2, larger) { next } else { best }
    });
    let (name, (metric, ensemble, member)) = best?;
    if members.len() < 2 || !better(member, ensemble, metric.larger_is_better()) {
        return None;
    }
    let places = places(ensemble.min(member));
    let fitted = config.ensemble.as_ref().is_some_and(|ensemble| ensemble.weights.is_some());
    let or_fit = if fitted { "" } else { ", or set ensemble.weights" };
    Some(format!(
        "member {name} by itself is better than the ensemble ({metric} {member:.places$}, ensemble \
         {ensemble:.places$}): leave weak members out{or_fit}"
    ))
}
