//! A bit of a file of a run is flipped, or its end is cut off.

use std::fs;

use crate::command::{Limits, call};
use crate::runs::{Kind, World, below, copy, files, strings};
use crate::{Outcome, random};

pub fn attack(world: &mut World, seed: u64) -> Outcome {
    let mut random = random("damage", seed);
    let kind = Kind::draw(&mut random);
    let whole = world.finished(kind, 0)?;
    let folder = world.fresh();
    copy(&whole.join("run"), &folder.join("run"));
    let all = files(&folder.join("run"));
    let (name, bytes) = all.iter().nth(below(&mut random, all.len())).unwrap();
    let mut damaged = bytes.clone();
    let place = below(&mut random, bytes.len().max(1));
    let what = match below(&mut random, 4) {
        0 => {
            damaged.truncate(place);
            format!("{name} cut at byte {place}")
        }
        _ if bytes.is_empty() => return Ok(format!("{}: {name} is empty", kind.name)),
        _ => {
            let bit = below(&mut random, 8);
            damaged[place] ^= 1 << bit;
            format!("bit {bit} of byte {place} of {name} flipped")
        }
    };
    fs::write(folder.join("run").join(name), &damaged).unwrap();
    // results that nothing is computed from; white space at the end is nothing
    let file = name.rsplit('/').next().unwrap();
    let unchecked = file == "log.jsonl"
        || file == "metrics.json"
        || file == "README.md"
        || file.contains("tfevents")
        || damaged.trim_ascii_end() == bytes.trim_ascii_end();
    let of = |wrong: String| format!("{}: {what}: {wrong}", kind.name);
    let evaluate = ["evaluate", "run", "--split", "validation", "--json", "--quiet"];
    let expected = call(&whole, &evaluate, Limits::default())?;
    expected.success()?;
    let mut resume = kind.train(0);
    resume.push("--resume".into());
    let mut codes = Vec::new();
    for arguments in [&evaluate[..], &strings(&resume)] {
        let ended = call(&folder, arguments, Limits::default()).map_err(of)?;
        ended.check().map_err(of)?;
        let evaluated = arguments[0] == "evaluate";
        if evaluated && ended.code == Some(0) && ended.output != expected.output && !unchecked {
            return Err(of(format!("{} instead of {}", ended.output, expected.output)));
        }
        if ended.code == Some(1) && !unchecked {
            return Err(of(format!("exit code 1 is no refusal: {}", ended.errors)));
        }
        codes.push(ended.code);
    }
    fs::remove_dir_all(folder).unwrap();
    Ok(format!("{}: {what}: {codes:?}", kind.name))
}
