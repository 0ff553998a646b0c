//! Advice on an ensemble: of its members together, and of the whole.

use super::{below_chance, comparable};
use crate::Scores;
use crate::config::Checked;
use crate::run_dir::Report;
use crate::table::places;

/// A member of an ensemble.
pub(crate) struct Member<'a> {
    pub name: &'a str,
    pub metrics: &'a Scores,
    /// Its own advice.
    pub advice: &'a [String],
}

/// The advice on an ensemble, a line each. What applies to every member is said once, and what applies to
/// some of them names them; lines that differ in numbers alone are one.
pub(crate) fn of_ensemble(config: &Checked, report: &Report, members: &[Member]) -> Vec<String> {
    let mut lines: Vec<String> = below_chance("the ensemble", config, report).into_iter().collect();
    lines.extend(worse_than_member(config, report, members));
    let mut groups: Vec<(String, Vec<(&str, &str)>)> = Vec::new();
    for Member { name, advice, .. } in members {
        for line in *advice {
            let words: String = line.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect();
            match groups.iter_mut().find(|(known, _)| *known == words) {
                Some((_, group)) => group.push((name, line)),
                None => groups.push((words, vec![(name, line)])),
            }
        }
    }
    lines.extend(groups.iter().map(|(_, group)| together(group, members.len())));
    lines
}

/// One line for the equal or similar lines of some members.
fn together(group: &[(&str, &str)], members: usize) -> String {
    let (name, line) = group[0];
    let names: Vec<&str> = group.iter().map(|(name, _)| *name).collect();
    let equal = group.iter().all(|(_, other)| *other == line);
    match (equal, names.len() == members) {
        (true, true) => line.to_owned(),
        (true, false) => format!("{}: {line}", named(&names)),
        (false, true) => format!("member {name}: {line}; similarly every other member"),
        (false, false) => format!("member {name}: {line}; similarly {}", named(&names[1..])),
    }
}

fn named(names: &[&str]) -> String {
    let members = if names.len() == 1 { "member" } else { "members" };
    format!("{members} {}", names.join(", "))
}

/// Whether a member alone is better than the ensemble.
fn worse_than_member(config: &Checked, report: &Report, members: &[Member]) -> Option<String> {
    let known = members.iter().filter_map(|Member { name, metrics, .. }| {
        Some((name, comparable(&report.metrics, metrics, config.evaluation.metric)?))
    });
    let better =
        |value: f64, than: f64, larger: bool| if larger { value > than } else { value < than };
    let best = known.reduce(|best, next| {
        let larger = next.1.0.larger_is_better();
        if better(next.1.2, best.1.2, larger) { next } else { best }
    });
    let (name, (metric, ensemble, member)) = best?;
    if members.len() < 2 || !better(member, ensemble, metric.larger_is_better()) {
        return None;
    }
    let places = places(ensemble.min(member));
    Some(format!(
        "member {name} alone is better than the ensemble ({metric} {member:.places$}, ensemble \
         {ensemble:.places$}): leave weak members out, or set ensemble.fit_weights = true"
    ))
}
