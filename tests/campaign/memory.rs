//! Commands with any limit of their memory: they end well, or say that there is not enough.

use dsokr::core::random::unit;

use crate::command::{Limits, call};
use crate::runs::{Kind, World, below, copy, strings};
use crate::{Outcome, random};

/// The least and the most addresses in kB; with less the program itself cannot be loaded.
const SIZES: (f64, f64) = (90_000.0, 1_500_000.0);

pub fn attack(world: &mut World, seed: u64) -> Outcome {
    let mut random = random("memory", seed);
    let kind = Kind::draw(&mut random);
    let finished = world.finished(kind, 0)?;
    let folder = world.fresh();
    let size = (SIZES.0 * (SIZES.1 / SIZES.0).powf(unit(&mut random))) as u64;
    let limits = Limits {
        memory: Some(size),
        threads: Some(1 + below(&mut random, 4)),
        ..Limits::default()
    };
    let train = kind.train(0);
    copy(&finished.join("run"), &folder.join("known"));
    let commands = [strings(&train), vec!["evaluate", "known", "--quiet"]];
    let command = &commands[below(&mut random, commands.len())];
    let name = command[0];
    let of = |wrong: String| format!("{name} of {} with {size} kB: {wrong}", kind.name);
    let ended = call(&folder, command, limits).map_err(of)?;
    ended.check().map_err(of)?;
    if !matches!(ended.code, Some(0 | 2)) {
        return Err(of(format!("exit code {:?}: {}", ended.code, ended.errors.trim())));
    }
    if ended.code == Some(2) && !ended.errors.contains("error: ") {
        return Err(of(format!("no error: {}", ended.errors.trim())));
    }
    std::fs::remove_dir_all(folder).map_err(|e| e.to_string())?;
    Ok(format!("{name} of {} with {size} kB: exit code {:?}", kind.name, ended.code))
}
