//! Trainings are killed at random moments and resumed until they end.

use std::time::{Duration, Instant};

use dsokr::core::random::unit;

use crate::command::{Limits, start, wait};
use crate::runs::{Kind, World, same, strings};
use crate::{Outcome, random};

/// After so many kills the training is left alone.
const MOST: usize = 12;

pub fn attack(world: &mut World, seed: u64) -> Outcome {
    let mut random = random("kills", seed);
    let kind = Kind::draw(&mut random);
    let seconds = if unit(&mut random) < 0.7 { 0 } else { 60 };
    let whole = world.finished(kind, seconds)?;
    let folder = world.fresh();
    let mut arguments = kind.train(seconds);
    arguments.push("--resume".into());
    let arguments = strings(&arguments);
    let mut kills = 0;
    let mut life = Duration::from_millis(1500);
    loop {
        let begun = Instant::now();
        let mut child = start(&folder, &arguments, Limits::default());
        let time =
            if kills < MOST { life.mul_f64(unit(&mut random)) } else { Duration::from_secs(120) };
        std::thread::sleep(if kills < MOST { time } else { Duration::ZERO });
        if kills < MOST && child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
            continue;
        }
        let ended = wait(&folder, child, time);
        ended.success().map_err(|wrong| format!("{}, after {kills} kills: {wrong}", kind.name))?;
        if kills >= MOST || begun.elapsed() > life || folder.join("run/metrics.json").exists() {
            break;
        }
        life = begun.elapsed();
    }
    let name = kind.name;
    same(&whole.join("run"), &folder.join("run")).map_err(|wrong| format!("{name}: {wrong}"))?;
    // nothing is left behind but the lock's file
    let mut left: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !["run", ".run.lock", "stdout", "stderr"].contains(&name.as_str()))
        .collect();
    left.sort();
    if !left.is_empty() {
        return Err(format!("{name}: {left:?} are left beside the run"));
    }
    std::fs::remove_dir_all(folder).unwrap();
    Ok(format!("{name} with checkpoints every {seconds} s: {kills} kills"))
}
