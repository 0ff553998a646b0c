//! Commands are asked to end at random moments, and trainings are resumed until they end.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use dsokr::core::random::{Generator, unit};

use crate::command::{Ended, Limits, start, wait};
use crate::runs::{Kind, World, below, copy, same, strings};
use crate::{Outcome, random};

/// Signals by the names of `kill` and of messages.
const SIGNALS: [(&str, &str, i32); 3] =
    [("-INT", "SIGINT", 2), ("-TERM", "SIGTERM", 15), ("-HUP", "SIGHUP", 1)];

/// After so many signals the training is left alone.
const MOST: usize = 8;

/// A process that is asked to end within this time of its start may not listen yet.
const START: Duration = Duration::from_millis(300);

/// Starts a command in a folder and sends a signal after a random part of `life`.
fn ended(
    folder: &Path,
    arguments: &[&str],
    life: Duration,
    random: &mut Generator,
) -> Result<Ended, String> {
    let (signal, name, number) = SIGNALS[below(random, SIGNALS.len())];
    let mut child = start(folder, arguments, Limits::default());
    let after = life.mul_f64(unit(random));
    std::thread::sleep(after);
    let is_running = child.try_wait().map_err(|e| e.to_string())?.is_none();
    if is_running {
        let mut kill = Command::new("kill");
        kill.args([signal, &child.id().to_string()]).status().map_err(|e| e.to_string())?;
    }
    let ended = wait(folder, child, Duration::from_secs(60));
    let says = format!("stopped by {name}: ");
    let asked = ended.code == Some(128 + number) && ended.errors.contains(&says);
    let early = ended.code.is_none() && after < START;
    // it may have been at its end, or ignore hangups as this process does
    let holds = !ended.late && (ended.code == Some(0) || is_running && (asked || early));
    if holds && !ended.errors.contains("panicked") {
        Ok(ended)
    } else {
        Err(format!(
            "{arguments:?}, {signal} after {after:?}: exit code {:?}, late: {}: {}",
            ended.code,
            ended.late,
            ended.errors.trim()
        ))
    }
}

/// An error if a command has left something half written in a folder.
fn whole(folder: &Path) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| e.to_string())?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let left: Vec<String> = names.filter(|name| name.ends_with(".partial")).collect();
    if left.is_empty() { Ok(()) } else { Err(format!("{left:?} are left")) }
}

pub fn attack(world: &mut World, seed: u64) -> Outcome {
    let mut random = random("signals", seed);
    let kind = Kind::draw(&mut random);
    let finished = world.finished(kind, 0)?;
    let folder = world.fresh();
    let mut arguments = kind.train(0);
    arguments.push("--resume".into());
    let arguments = strings(&arguments);
    let of = |wrong: String| format!("{}: {wrong}", kind.name);
    let mut life = Duration::from_millis(1500);
    let mut count = 0;
    while count < MOST {
        let begun = Instant::now();
        let done = ended(&folder, &arguments, life, &mut random).map_err(of)?;
        whole(&folder).map_err(of)?;
        count += 1;
        if done.code == Some(0) {
            break;
        }
        life = life.max(begun.elapsed());
    }
    let last =
        wait(&folder, start(&folder, &arguments, Limits::default()), Duration::from_secs(120));
    last.success().map_err(of)?;
    same(&finished.join("run"), &folder.join("run")).map_err(of)?;
    for command in [&["evaluate", "run", "--quiet"][..], &["evaluate", "run", "--report", "report"]]
    {
        ended(&folder, command, life, &mut random).map_err(of)?;
        whole(&folder).map_err(of)?;
    }
    // what was trained before is as it was
    let copied = world.fresh();
    copy(&folder.join("run"), &copied.join("run"));
    same(&finished.join("run"), &copied.join("run")).map_err(of)?;
    std::fs::remove_dir_all(folder).map_err(|e| e.to_string())?;
    std::fs::remove_dir_all(copied).map_err(|e| e.to_string())?;
    Ok(format!("{}: {count} signals", kind.name))
}
