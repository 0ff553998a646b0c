//! Candidates are added to an ensemble, by processes that are sometimes killed, while it is opened, searched and served.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use dsokr::core::random::unit;
use dsokr::device::Processor;
use dsokr::run::Run;

use crate::command::{Limits, call, start, wait};
use crate::runs::{VOTERS, World, below, copy};
use crate::{Outcome, random};

/// How often candidates are added, and how many at a time.
const ADDS: usize = 6;
const EACH: usize = 3;

pub fn attack(world: &mut World, seed: u64) -> Outcome {
    let mut random = random("adds", seed);
    let whole = world.finished(&VOTERS, 0)?;
    let folder = world.fresh();
    let readers = world.fresh();
    copy(&whole.join("run"), &folder.join("run"));
    let before = candidates(&folder)?;
    let tables = (0..ADDS).map(|add| {
        let row = |at: usize| format!("n{add}-{at}\t{}N\n", "C".repeat(2 + EACH * add + at));
        let rows: String = (0..EACH).map(row).collect();
        fs::write(folder.join(format!("{add}.tsv")), format!("id\tsmiles\n{rows}")).unwrap();
    });
    tables.for_each(drop);
    // some are killed at a random moment, and added again
    let kills: Vec<Option<f64>> =
        (0..ADDS).map(|_| (below(&mut random, 3) == 0).then(|| unit(&mut random))).collect();
    let done = AtomicBool::new(false);
    let counts = std::thread::scope(|scope| {
        let adding = scope.spawn(|| {
            let added = add_all(&folder, &kills);
            done.store(true, Relaxed);
            added
        });
        let opened = scope.spawn(|| open_all(&folder, before, &done));
        let searched = scope.spawn(|| search_all(&folder, &readers, &done));
        let counts = (adding.join().unwrap(), opened.join().unwrap(), searched.join().unwrap());
        Ok::<_, String>((counts.0?, counts.1?, counts.2?))
    });
    let (killed, opened, [searched, served]) = counts?;
    let found = candidates(&folder)?;
    if found != before + ADDS * EACH {
        return Err(format!("{before} candidates, {} added, {found} found", ADDS * EACH));
    }
    let left = left(&folder.join("run"));
    if !left.is_empty() {
        return Err(format!("{left:?} are left in the run"));
    }
    fs::remove_dir_all(folder).unwrap();
    fs::remove_dir_all(readers).unwrap();
    Ok(format!(
        "{ADDS} tables added, {killed} of them by a second process; {opened} times opened, {searched} searches, {served} \
         servers started"
    ))
}

/// Adds all tables; number of processes that were killed.
fn add_all(folder: &Path, kills: &[Option<f64>]) -> Result<usize, String> {
    let mut killed = 0;
    for (add, kill) in kills.iter().enumerate() {
        let file = format!("{add}.tsv");
        let arguments = ["candidates", "add", "run", &file, "--quiet"];
        if let Some(share) = kill {
            let child = start(folder, &arguments, Limits::default());
            let ended = wait(folder, child, Duration::from_secs_f64(1.5 * share));
            ended.check()?;
            killed += usize::from(ended.late);
        }
        let ended = call(folder, &arguments, Limits::default())?;
        // the one that was killed may have added them
        let known = kill.is_some() && ended.errors.contains("is that of candidate");
        if !known {
            ended.success()?;
        }
    }
    Ok(killed)
}

/// Opens the ensemble until all is added: each time all members have the same candidates, as many as after some add.
fn open_all(folder: &Path, before: usize, done: &AtomicBool) -> Result<usize, String> {
    let mut count = 0;
    let mut last = before;
    while !done.load(Relaxed) {
        let found = candidates(folder)?;
        if found < last || !(found - before).is_multiple_of(EACH) || found > before + ADDS * EACH {
            return Err(format!("{found} candidates after {last}, of {before} at the start"));
        }
        (count, last) = (count + 1, found);
    }
    Ok(count)
}

/// The number of candidates, the same for all members.
fn candidates(folder: &Path) -> Result<usize, String> {
    let device = Processor::Cpu.open().map_err(|e| e.to_string())?;
    let runs = Run::open_all(&[folder.join("run")], &device).map_err(|e| e.to_string())?;
    let counts: Vec<usize> = runs.members().iter().map(|run| run.candidates.len()).collect();
    if counts.iter().all(|count| *count == counts[0]) {
        Ok(counts[0])
    } else {
        Err(format!("members with {counts:?} candidates"))
    }
}

/// Searches until all is added, and now and then starts a server and searches there; the numbers of both.
fn search_all(folder: &Path, readers: &Path, done: &AtomicBool) -> Result<[usize; 2], String> {
    let run = folder.join("run");
    let run = run.to_str().unwrap();
    let mut counts = [0, 0];
    while !done.load(Relaxed) {
        let serves = cfg!(feature = "serve") && counts[0] % 4 == 1;
        if serves {
            crate::server::starts_and_answers(readers, run)?;
            counts[1] += 1;
        }
        let search = ["search", run, "an amine with a chain", "--top", "3", "--json", "--quiet"];
        call(readers, &search, Limits::default())?.success()?;
        counts[0] += 1;
    }
    Ok(counts)
}

/// What an add may not leave.
fn left(run: &Path) -> Vec<String> {
    let all = crate::runs::files(run).into_keys();
    all.filter(|name| name.contains(".partial") || name.contains("candidates.next")).collect()
}
