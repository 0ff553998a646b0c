//! Standard output and standard error of the command.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::time::Instant;

use dsokr_core::Argument;
use dsokr_core::message::{before_argument, shell_word};
use indicatif::{ProgressBar, ProgressStyle};

use crate::error::Error;

/// The program as it was called, with its folder where that was given: a shell that runs a printed command finds it again.
/// Windows has no shell that all use, so it is the name alone there.
pub static PROGRAM: LazyLock<String> = LazyLock::new(|| match called().to_str() {
    Some(path) if cfg!(unix) => shell_word(path),
    Some(_) | None => NAME.clone(),
});

/// The name that the program was called by.
pub static NAME: LazyLock<String> = LazyLock::new(|| {
    let path = called();
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("dsokr");
    name.strip_suffix(std::env::consts::EXE_SUFFIX).unwrap_or(name).to_owned()
});

/// Returns the path that the program was called by.
fn called() -> PathBuf {
    std::env::args_os().next().map_or_else(|| "dsokr".into(), PathBuf::from)
}

/// Returns a path as an argument of the commands that are printed. One that begins with a hyphen is none of their options.
pub fn shell_path(path: &Path) -> String {
    let path = path.display().to_string();
    let here = if path.starts_with('-') { "./" } else { "" };
    shell_word(&format!("{here}{path}"))
}

/// Writes a line to standard error, if anybody reads it.
pub fn print_error(line: fmt::Arguments) {
    drop(writeln!(io::stderr(), "{}", visible(&line.to_string())));
}

/// Writes an argument as a flag, for [`print_arguments_as`](dsokr_core::print_arguments_as).
pub fn write_flag(argument: &Argument, f: &mut fmt::Formatter) -> fmt::Result {
    write!(f, "--{}", argument.name())?;
    match argument.value() {
        Some(value) => write!(f, " {value}"),
        None => Ok(()),
    }
}

/// Returns a text as the last argument of a command in a shell, on one line: where it has line breaks or other control
/// characters, these and white space become single blanks.
pub fn quoted(text: &str) -> String {
    let parts = text.split(|c: char| c.is_whitespace() || c.is_control());
    let line = if text.contains(char::is_control) {
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    } else {
        text.to_owned()
    };
    let before = before_argument(&line);
    if line.contains(['"', '$', '`', '\\', '!']) {
        format!("{before}'{}'", line.replace('\'', r"'\''"))
    } else {
        format!("{before}\"{line}\"")
    }
}

/// Returns a text whose control characters, which terminals obey, are escaped as JSON escapes them, so that JSON stays what
/// it is. Tabs and line breaks stay, also those of Windows, which cells of .csv files may have.
fn visible(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let breaks_line = text[at..].starts_with("\r\n");
        if obeyed(c) && !breaks_line {
            shown += &format!("\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Writes a result as exactly one JSON object, on one line.
pub fn print_json(result: &impl serde::Serialize) -> Result<(), Error> {
    print(&json_line(result)?)
}

/// Returns a value as JSON, on one line.
pub fn json_line(value: &impl serde::Serialize) -> Result<String, Error> {
    Ok(serde_json::to_string(value)? + "\n")
}

/// Writes a result to standard output; a closed pipe is not an error.
pub fn print(text: &str) -> Result<(), Error> {
    print_part(text).map(|_| ())
}

/// Writes a part of a result to standard output; false once its reader has closed the pipe. Of several
/// processes the first one writes.
pub fn print_part(text: &str) -> Result<bool, Error> {
    if SILENT.load(Ordering::Relaxed) {
        return Ok(true);
    }
    let mut out = io::stdout().lock();
    match out.write_all(visible(text).as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Error::io(Path::new("standard output"))(e)),
    }
}

/// When the command started, and the milliseconds from then to the last line of the log.
static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
pub static SPOKE: AtomicU64 = AtomicU64::new(0);

pub fn milliseconds() -> u64 {
    u64::try_from(STARTED.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The bar of a training.
pub static BAR: OnceLock<ProgressBar> = OnceLock::new();
/// Whether nothing is written to standard output: another one of several processes does it.
pub static SILENT: AtomicBool = AtomicBool::new(false);
/// Whether warnings only are printed on standard error.
pub static QUIET: AtomicBool = AtomicBool::new(false);

/// Writes log lines above the progress bar, so that the two do not mix. A log that nobody reads any
/// more (a closed pipe, a full disk) is dropped: it must not end the work that it reports on.
#[derive(Default)]
pub struct Writer;

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        SPOKE.store(milliseconds(), Ordering::Relaxed);
        let write = || drop(io::stderr().write_all(bytes));
        match BAR.get() {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a bar in a style.
pub fn bar(style: &str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    match ProgressStyle::with_template(style) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Removes the progress bar.
pub fn clear() {
    if let Some(bar) = BAR.get() {
        bar.finish_and_clear();
    }
}
