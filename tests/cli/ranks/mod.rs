//! Several processes under `mpirun`. Only with the feature `mpi`, and where there is an mpirun.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use safetensors::SafeTensors;

use crate::sandbox::Sandbox;

mod answers;
mod training;

/// Whether there is an mpirun; says so where there is none.
fn has_mpirun(test: &str) -> bool {
    let found = Command::new("mpirun").arg("--version").output().is_ok();
    if !found {
        println!("{test} is skipped: there is no mpirun (Debian: openmpi-bin)");
    }
    found
}

/// The command as `ranks` processes of one thread each, run in the folder.
fn mpirun(sandbox: &Sandbox, ranks: usize, arguments: &[&str]) -> Command {
    mpirun_by(sandbox, ranks, &[], arguments)
}

/// The command of [`mpirun`], started by a program.
fn mpirun_by(sandbox: &Sandbox, ranks: usize, by: &[&str], arguments: &[&str]) -> Command {
    let dsokr = sandbox.command(arguments);
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-np", &ranks.to_string()]);
    command.args(by).arg(dsokr.get_program()).args(arguments).current_dir(sandbox.path(""));
    command.env_remove("DSOKR_DATA").env_remove("DSOKR_LOG").env("RAYON_NUM_THREADS", "1");
    command
}

fn succeed(sandbox: &Sandbox, ranks: usize, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = mpirun(sandbox, ranks, arguments).output().unwrap();
    assert!(status.success(), "{ranks} {arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// Standard error of a call that must fail and not wait for others.
fn fail(sandbox: &Sandbox, ranks: usize, arguments: &[&str]) -> String {
    let begun = Instant::now();
    let Output { status, stderr, .. } = mpirun(sandbox, ranks, arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&stderr).into_owned();
    assert!(!status.success() && begun.elapsed() < Duration::from_secs(60), "{errors}");
    errors
}

/// Standard error of two ranks that a shell script starts, which must fail.
fn fail_by_script(sandbox: &Sandbox, script: &str, arguments: &[&str]) -> String {
    sandbox.write("rank.sh", script);
    let output = mpirun_by(sandbox, 2, &["sh", "rank.sh"], arguments).output().unwrap();
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The parameters of a file by name.
fn parameters(sandbox: &Sandbox, file: &str) -> BTreeMap<String, Vec<f32>> {
    let bytes = fs::read(sandbox.path(file)).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensors = file.tensors().into_iter().filter(|(name, _)| name != "optimizer");
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
    let numbers = |bytes: &[u8]| bytes.chunks_exact(4).map(number).collect();
    tensors.map(|(name, view)| (name, numbers(view.data()))).collect()
}

fn apart(a: &BTreeMap<String, Vec<f32>>, b: &BTreeMap<String, Vec<f32>>) -> f32 {
    assert!(a.keys().eq(b.keys()) && !a.is_empty());
    let pairs = a.values().flatten().zip(b.values().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// The processes of the training into `run`.
#[cfg(target_os = "linux")]
fn processes(run: &str) -> Vec<u32> {
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_rank = |number: &u32| {
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let mut parts = line.split(|&byte| byte == 0);
        parts.next().is_some_and(|program| program.ends_with(b"dsokr"))
            && parts.any(|part| part == run.as_bytes())
    };
    let mut found: Vec<u32> = numbers.filter(is_rank).collect();
    found.sort_unstable();
    found
}

/// Sends a signal to a process.
#[cfg(target_os = "linux")]
fn signal(name: &str, process: u32) {
    assert!(Command::new("kill").args([name, &process.to_string()]).status().unwrap().success());
}
