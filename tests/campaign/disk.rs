//! Files cannot grow beyond a size, or the disk is full; afterwards the training goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dsokr::core::random::unit;

use crate::command::{Limits, call};
use crate::runs::{Kind, World, files, same, strings};
use crate::{Outcome, random};

/// A file system of its own, which is unmounted when it is dropped.
struct Mounted(PathBuf);

impl Mounted {
    /// A tmpfs of so many kB at a folder; none without the right to mount.
    fn tmpfs(folder: &Path, size: u64) -> Option<Self> {
        let options = format!("size={size}k");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(folder);
        let done = mount.output().is_ok_and(|output| output.status.success());
        done.then(|| Self(folder.into()))
    }

    fn resize(&self, size: u64) -> bool {
        let options = format!("remount,size={size}k");
        let mut mount = Command::new("mount");
        mount.args(["-o", &options]).arg(&self.0);
        mount.output().is_ok_and(|output| output.status.success())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).output());
    }
}

pub fn attack(world: &mut World, seed: u64) -> Outcome {
    let mut random = random("disk", seed);
    let kind = Kind::draw(&mut random);
    let whole = world.finished(kind, 0)?;
    let sizes: Vec<usize> = files(&whole.join("run")).values().map(Vec::len).collect();
    let largest = *sizes.iter().max().unwrap() as f64;
    let all = sizes.iter().sum::<usize>() as f64;
    let folder = world.fresh();
    let mut arguments = kind.train(0);
    arguments.push("--resume".into());
    let arguments = strings(&arguments);
    let share = unit(&mut random);
    let wanted = unit(&mut random) < 0.5;
    let size = (1.3 * share * all / 1024.0) as u64 + 16;
    let disk = if wanted { Mounted::tmpfs(&folder, size) } else { None };
    let (limits, what) = match (&disk, wanted) {
        (Some(_), _) => (Limits::default(), format!("a disk of {size} kB")),
        (None, wanted) => {
            let size = (1.1 * share * largest / 1024.0) as u64 + 1;
            let skipped = if wanted { " (tmpfs skipped: no right to mount)" } else { "" };
            let limits = Limits { file: Some(size), ..Limits::default() };
            (limits, format!("files of at most {size} kB{skipped}"))
        }
    };
    let of = |wrong: String| format!("{}, {what}: {wrong}", kind.name);
    let ended = call(&folder, &arguments, limits).map_err(of)?;
    ended.check().map_err(of)?;
    if ended.code == Some(2) {
        return Err(of(format!("a full disk is no wrong request: {}", ended.errors)));
    }
    if let Some(disk) = &disk
        && !disk.resize(1 << 20)
    {
        return Err(of("the disk cannot be made larger".into()));
    }
    call(&folder, &arguments, Limits::default()).map_err(of)?.success().map_err(of)?;
    same(&whole.join("run"), &folder.join("run")).map_err(of)?;
    drop(disk);
    fs::remove_dir_all(&folder).unwrap();
    Ok(format!("{}, {what}: exit code {:?}, then resumed", kind.name, ended.code))
}
