//! Runs on any number of threads.

use crate::command::{Limits, call};
use crate::runs::{Kind, World, below, same, strings};
use crate::{Outcome, random};

pub fn attack(world: &mut World, seed: u64) -> Outcome {
    let mut random = random("threads", seed);
    let kind = Kind::draw(&mut random);
    let threads = 1 + below(&mut random, 12);
    let whole = world.finished(kind, 0)?;
    let folder = world.fresh();
    let limits = Limits { threads: Some(threads), ..Limits::default() };
    let of = |wrong: String| format!("{}, {threads} threads: {wrong}", kind.name);
    call(&folder, &strings(&kind.train(0)), limits).map_err(of)?.success().map_err(of)?;
    same(&whole.join("run"), &folder.join("run")).map_err(of)?;
    std::fs::remove_dir_all(folder).unwrap();
    Ok(format!("{}, {threads} threads", kind.name))
}
