//! `dsokr candidates`: adds candidates to a run or removes them, or writes them in shards.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use dsokr_core::store::{Prepared, prepare};
use dsokr_data::table::all_extensions;
use dsokr_decode::StorageType;
use serde::Serialize;

use crate::cli::output::{print, print_json};
use crate::error::Error;
use crate::metrics::table::Table;
use crate::run::{
    AddedCandidates, FoundCandidate, NewCandidates, RemovedCandidates, WrittenShards,
    add_candidates, check_not_read, check_output, read_found, remove_candidates, shard_candidates,
};

/// Shares of the candidates whose quantiles are printed.
const SHARES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Changes the candidates of a trained run.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    change: Change,
}

#[derive(Subcommand)]
enum Change {
    Add(Add),
    Remove(Remove),
    Shard(Shard),
}

/// Adds the rows of a table to the candidates of a trained run, without fitting anything anew.
///
/// The table has the columns that the run's table of outputs had: the ids, the label, and the one that
/// features are computed from. All its rows become candidates; an id that is a candidate already is refused. With
/// --found it is what searches beyond the candidates have found.
/// Printed is how much of each new candidate the run's basis does not know, from 0 to 1.
#[derive(clap::Args)]
struct Add {
    /// The run directory of a model or an ensemble.
    run: PathBuf,
    #[arg(help = format!("The table: {}", all_extensions()))]
    file: PathBuf,
    /// FILE is what search --json, or predict, has written with --beyond: of the molecules that were found, those are
    /// added that are not candidates. The id of each is its SMILES behind "new:".
    #[arg(long, conflicts_with = "features")]
    found: bool,
    /// A file that holds what the table does not, a row a row of the table: the features of a run that
    /// reads them from a file, or its graphs. One for each kernel that needs one, in the order of the
    /// configuration.
    #[arg(long, value_name = "FILE")]
    features: Vec<PathBuf>,
    /// A tab-separated file for what is found of each candidate.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Find everything out and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Removes candidates that were added to a trained run.
///
/// The table has a column with their ids, named as in the run's table of outputs; others are not read, so the table that was
/// added removes what it added. An id that is no candidate, or one of the training, is refused, and nothing is removed. A
/// candidate that is removed can be added again, such as with a different label.
#[derive(clap::Args)]
struct Remove {
    /// The run directory of a model or an ensemble.
    run: PathBuf,
    #[arg(help = format!("The table: {}", all_extensions()))]
    file: PathBuf,
    /// Find everything out and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Writes the candidates of a trained run as shards. Each of several processes opens its own.
///
/// mpirun -np P dsokr evaluate and search use those in the run directory, or in the folder that --shards names.
/// They do not follow when candidates are added or removed later: write them again then.
#[derive(clap::Args)]
struct Shard {
    /// The run directory of one model.
    run: PathBuf,
    /// Number of shards, at most that of distinct candidates; as many as there will be processes is best.
    #[arg(long, value_name = "P")]
    parts: usize,
    /// How coordinates are kept: f32 as they are; i8 as they are, with codes of 8 bits in addition, which are read
    /// in their place for all but a few candidates; f16 rounded, in half the bytes. Answers from f32 and i8 are
    /// those of the run to the last digit, from f16 those of the rounded coordinates.
    #[arg(long, default_value_t)]
    precision: StorageType,
    /// The folder for the shards, outside of run directories; default: shards in the run directory. Shards that it
    /// holds are replaced, all at once.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    match &arguments.change {
        Change::Add(arguments) => add(arguments),
        Change::Remove(arguments) => remove(arguments),
        Change::Shard(arguments) => shard(arguments),
    }
}

fn shard(arguments: &Shard) -> Result<(), Error> {
    let Shard { run, parts, precision, out } = arguments;
    let written = shard_candidates(run, *parts, *precision, out.as_deref())?;
    let WrittenShards { folder, candidates, distinct, bytes } = written;
    print(&format!(
        "{}: {candidates} candidates, {distinct} of them distinct, in {parts} shards ({precision}), {:.1} MiB\n",
        folder.display(),
        bytes as f64 / f64::from(1 << 20)
    ))
}

fn add(arguments: &Add) -> Result<(), Error> {
    let Add { run, file, features, dry_run, .. } = arguments;
    check_output("out", &arguments.out)?;
    arguments.out.iter().try_for_each(|out| check_not_read("out", out, file))?;
    // on disk before anything is added, and in its place afterwards
    let prepared =
        |added: &AddedCandidates| arguments.out.as_ref().map(|out| table(added, out)).transpose();
    let mut molecules = Vec::new();
    let new = if arguments.found {
        molecules = read_found(file)?;
        NewCandidates::Found(&molecules)
    } else {
        NewCandidates::Table { table: file, files: features }
    };
    let (added, prepared) = add_candidates(run, new, *dry_run, prepared)?;
    if let Some(prepared) = prepared {
        prepared.place()?;
    }
    let ids: HashSet<&str> = added.ids.iter().map(String::as_str).collect();
    let repeated = molecules.iter().filter_map(|molecule| repeated(molecule, &ids)).collect();
    let summary = Summary { repeated, ..Summary::from_added(&added) };
    if arguments.json { print_json(&summary) } else { print(&summary.text(run, *dry_run)) }
}

fn remove(arguments: &Remove) -> Result<(), Error> {
    let Remove { run, file, dry_run, json } = arguments;
    let summary = remove_candidates(run, file, *dry_run)?;
    if *json {
        return print_json(&summary);
    }
    let RemovedCandidates { removed, candidates, distinct } = summary;
    let done = if *dry_run { "would be removed" } else { "removed" };
    print(&format!(
        "{}: {removed} candidates {done}, {candidates} left, {distinct} of them distinct\n",
        run.display()
    ))
}

/// The summary of all candidates that were added.
#[derive(Serialize)]
struct Summary {
    added: usize,
    candidates: usize,
    distinct: usize,
    same_features: usize,
    /// Number of candidates that are the same molecule as an earlier one; none where labels are not SMILES.
    same_molecule: Option<usize>,
    /// The least, the quartiles and the largest for each member whose outputs are sketched.
    unknown: Vec<Option<[f64; SHARES.len()]>>,
    /// Remarks on molecules that were found for several queries, or were candidates already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repeated: Vec<String>,
}

/// Returns the remark on a molecule that was found for several queries, or was a candidate already.
fn repeated(molecule: &FoundCandidate, added: &HashSet<&str>) -> Option<String> {
    let id = molecule.id();
    let queries = &molecule.queries;
    let is_added = added.contains(id.as_str());
    (!is_added || queries.len() > 1).then(|| {
        let done = if is_added { "added once" } else { "a candidate already, not added" };
        format!("{id}, found for {}: {done}", queries.join(", "))
    })
}

impl Summary {
    fn from_added(added: &AddedCandidates) -> Self {
        let quantiles = |shares: &Vec<f64>| {
            let mut sorted = shares.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            SHARES.map(|share| sorted[(share * (sorted.len() - 1) as f64).round() as usize])
        };
        let molecules = &added.same_molecule;
        Self {
            added: added.ids.len(),
            candidates: added.candidates,
            distinct: added.distinct,
            same_features: added.same_features.iter().flatten().count(),
            same_molecule: (!molecules.is_empty()).then(|| molecules.iter().flatten().count()),
            unknown: added.unknown.iter().map(|shares| shares.as_ref().map(quantiles)).collect(),
            repeated: Vec::new(),
        }
    }

    fn text(&self, run: &Path, dry_run: bool) -> String {
        let Self { added, candidates, distinct, same_features, same_molecule, unknown, .. } = self;
        let done = if dry_run { "would be added" } else { "added" };
        let mut text = format!(
            "{}: {added} candidates {done}, {candidates} in all, {distinct} of them distinct\n\
             {same_features} have the features of an earlier candidate, with which they tie\n",
            run.display()
        );
        if let Some(count) = same_molecule {
            text += &format!("{count} are the same molecule as an earlier candidate\n");
        }
        for (shares, member) in unknown.iter().zip(1..) {
            let of_member =
                if unknown.len() > 1 { format!(" of member {member}") } else { String::new() };
            text += &match shares {
                Some([least, first, median, third, most]) => format!(
                    "share that the basis{of_member} does not know: median {median:.3}, quartiles {first:.3} and \
                     {third:.3}, from {least:.3} to {most:.3}\n"
                ),
                None => format!("outputs{of_member} are not sketched: no share is known\n"),
            };
        }
        text.extend(self.repeated.iter().map(|line| format!("{line}\n")));
        text
    }
}

/// Prepares a table with a row a candidate.
fn table(added: &AddedCandidates, file: &Path) -> Result<Prepared, Error> {
    let unknown = |at: usize| match added.unknown.len() {
        1 => "unknown".to_owned(),
        _ => format!("unknown {}", at + 1),
    };
    let names = ["id".to_owned()].into_iter().chain((0..added.unknown.len()).map(unknown));
    let names = names.chain(["same features", "same molecule"].map(String::from));
    let row = |(row, id): (usize, &String)| {
        let share = move |shares: &Option<Vec<f64>>| {
            shares.as_ref().map(|shares| shares[row].to_string()).unwrap_or_default()
        };
        let same = [&added.same_features, &added.same_molecule];
        let same = same.map(|ids| ids.get(row).cloned().flatten().unwrap_or_default());
        [id.clone()].into_iter().chain(added.unknown.iter().map(share)).chain(same)
    };
    let table = Table::new(names, 1).with(added.ids.iter().enumerate().map(row));
    Ok(prepare(file, |out| out.write_all(table.tsv().as_bytes()))?)
}
