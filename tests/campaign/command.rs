//! Calls of the command under limits.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The most memory that a call may map, in kB, so that an allocation without a check ends the process.
const MEMORY: u64 = 6 << 20;

/// The command that `--program` chooses.
pub static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// The command that is attacked, which is that of the build where none is chosen.
pub fn program() -> &'static Path {
    PROGRAM.get_or_init(|| env!("CARGO_BIN_EXE_dsokr").into())
}

/// Limits of a call.
#[derive(Clone, Copy, Default)]
pub struct Limits {
    /// The largest file that it may write, in units of 1,024 bytes.
    pub file: Option<u64>,
    /// Number of threads.
    pub threads: Option<usize>,
    /// The most memory that it may map, in kB.
    pub memory: Option<u64>,
    /// Seconds that its clock is wrong by, by the library `clock.so` in its folder.
    pub clock: Option<i64>,
}

/// How a call ended.
pub struct Ended {
    /// The exit code; none for a signal.
    pub code: Option<i32>,
    /// Whether it was still running after the time that it was given.
    pub late: bool,
    pub output: String,
    pub errors: String,
}

impl Ended {
    /// An error unless the call ended with 0, 1 or 2 and without a panic.
    pub fn check(&self) -> Result<(), String> {
        let panicked = self.errors.contains("panicked");
        match self.code {
            Some(0..=2) if !panicked => Ok(()),
            None if self.late => Ok(()),
            code => Err(format!("exit code {code:?}: {}", self.errors.trim())),
        }
    }

    /// An error unless the call ended with 0.
    pub fn success(&self) -> Result<(), String> {
        self.check()?;
        match self.code {
            Some(0) => Ok(()),
            code => Err(format!("exit code {code:?}, not 0: {}", self.errors.trim())),
        }
    }
}

/// Starts the command in `folder`, with its outputs in files there.
pub fn start(folder: &Path, arguments: &[&str], limits: Limits) -> Child {
    let file = limits.file.map(|size| format!("ulimit -f {size};"));
    let memory = limits.memory.unwrap_or(MEMORY);
    let script = format!("{} ulimit -v {memory}; exec \"$0\" \"$@\"", file.unwrap_or_default());
    let mut command = Command::new("bash");
    command.args(["-c", &script]).arg(program()).args(arguments);
    command.current_dir(folder).env_remove("DSOKR_DATA").env_remove("DSOKR_LOG");
    if let Some(threads) = limits.threads {
        command.env("RAYON_NUM_THREADS", threads.to_string());
    }
    if let Some(seconds) = limits.clock {
        command.env("LD_PRELOAD", folder.join("clock.so")).env("WRONG_BY", seconds.to_string());
    }
    let to = |name: &str| Stdio::from(File::create(folder.join(name)).unwrap());
    command.stdin(Stdio::null()).stdout(to("stdout")).stderr(to("stderr"));
    command.spawn().unwrap()
}

/// Waits for a call, and kills it after `time`.
pub fn wait(folder: &Path, mut child: Child, time: Duration) -> Ended {
    let until = Instant::now() + time;
    let (status, late) = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break (status, false);
        }
        if Instant::now() > until {
            child.kill().unwrap();
            break (child.wait().unwrap(), true);
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let read = |name: &str| {
        String::from_utf8_lossy(&std::fs::read(folder.join(name)).unwrap()).into_owned()
    };
    Ended { code: status.code(), late, output: read("stdout"), errors: read("stderr") }
}

/// Calls the command, which must end within two minutes.
pub fn call(folder: &Path, arguments: &[&str], limits: Limits) -> Result<Ended, String> {
    let ended = wait(folder, start(folder, arguments, limits), Duration::from_secs(120));
    if ended.late {
        Err(format!("{arguments:?}: still running after two minutes"))
    } else {
        Ok(ended)
    }
}
