//! The machine loses its power at a random write of a training: a disk keeps what was synced. The
//! training is resumed from what is left.

use std::fs;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
use std::path::Path;

use dsokr::core::random::unit;

use crate::command::{Limits, call};
use crate::runs::{Kind, World, below, same, strings};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use crate::trace::trace;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
use crate::volatile::Change;
use crate::volatile::{Loss, Volatile};
use crate::{Outcome, random};

/// Where the run lies: in a folder of a folder that the training makes.
const RUN: &str = "new/runs/run";

/// Other systems have other calls.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn trace(_: &Path, _: &[&str]) -> Result<Option<(Vec<Change>, bool)>, String> {
    Ok(None)
}

pub fn attack(world: &mut World, seed: u64) -> Outcome {
    let mut random = random("crash", seed);
    let kind = Kind::draw(&mut random);
    let whole = world.finished(kind, 0)?;
    let mut arguments = kind.train(0);
    let out = arguments.iter().position(|argument| argument == "--out").map(|at| at + 1);
    arguments[out.unwrap()] = RUN.into();
    let of = |wrong: String| format!("{}: {wrong}", kind.name);
    if !world.traced.contains_key(kind.name) {
        let folder = world.fresh();
        let mut changes = Vec::new();
        let report =
            ["evaluate", RUN, "--split", "validation", "--quiet", "--report", "new/report"];
        let export = ["export", RUN, "--quiet", "--out", "new/export"];
        for arguments in [&strings(&arguments)[..], &report, &export] {
            let Some((more, success)) = trace(&folder, arguments).map_err(of)? else {
                return Ok("skipped: no right to trace a process".into());
            };
            if !success && arguments[0] == "train" {
                return Err(of("the traced training ended with an error".into()));
            }
            changes.push(more);
        }
        // each rename is preceded by its sync, and in the end everything is synced
        let mut disk = Volatile::new();
        for change in changes.iter().flatten() {
            disk.apply(change).map_err(of)?;
        }
        disk.check().map_err(|wrong| of(format!("in the end {wrong}")))?;
        fs::remove_dir_all(folder).unwrap();
        world.traced.insert(kind.name, changes.swap_remove(0));
    }
    let changes = &world.traced[kind.name];
    let mut disk = Volatile::new();
    let last = below(&mut random, changes.len()) + 1;
    for change in &changes[..last] {
        disk.apply(change).map_err(of)?;
    }
    let loss = match unit(&mut random) {
        share if share < 0.25 => Loss::All,
        share if share < 0.5 => Loss::Contents,
        _ => Loss::Some,
    };
    let count = changes.len();
    let what = format!("{}, after {last} of {count} changes, lost: {loss:?}", kind.name);
    let folder = world.fresh();
    disk.crash(loss, &mut random, &folder);
    arguments.push("--resume".into());
    let of = |wrong: String| format!("{what}: {wrong}");
    call(&folder, &strings(&arguments), Limits::default()).map_err(of)?.success().map_err(of)?;
    same(&whole.join("run"), &folder.join(RUN)).map_err(of)?;
    fs::remove_dir_all(folder).unwrap();
    Ok(what)
}
