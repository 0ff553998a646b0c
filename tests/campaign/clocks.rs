//! Trainings while the clock of the machine is wrong.

use std::path::Path;
use std::process::Command;

use dsokr::core::random::unit;

use crate::command::{Limits, call};
use crate::runs::{Kind, World, same, strings};
use crate::{Outcome, random};

/// The most seconds that the clock is wrong by, either way: 30,000 years.
const MOST: f64 = 9.5e11;

/// Compiles the wrong clock into a folder; false without a C compiler.
pub fn compile(folder: &Path) -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clock.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(folder.join("clock.so"));
    compiler.arg(source).arg("-ldl").status().is_ok_and(|status| status.success())
}

pub fn attack(world: &mut World, seed: u64) -> Outcome {
    let mut random = random("clocks", seed);
    let kind = Kind::draw(&mut random);
    let whole = world.finished(kind, 0)?;
    let folder = world.fresh();
    if !compile(&folder) {
        return Ok("skipped: no C compiler".into());
    }
    let share = 2.0 * unit(&mut random) - 1.0;
    let seconds = (share.powi(3) * MOST) as i64;
    let limits = Limits { clock: Some(seconds), ..Limits::default() };
    let of = |wrong: String| format!("{}, a clock wrong by {seconds} s: {wrong}", kind.name);
    call(&folder, &strings(&kind.train(0)), limits).map_err(of)?.success().map_err(of)?;
    same(&whole.join("run"), &folder.join("run")).map_err(of)?;
    std::fs::remove_dir_all(folder).map_err(|e| e.to_string())?;
    Ok(format!("{}, a clock wrong by {seconds} s", kind.name))
}
