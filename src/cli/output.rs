//! What the command writes to standard output and standard error.

use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

use crate::Error;
use crate::basis::Processes;

/// The name that the program is called by.
pub static PROGRAM: LazyLock<String> = LazyLock::new(|| {
    let path = std::env::args_os().next().map(PathBuf::from);
    let name = path.as_deref().and_then(|path| path.file_name()?.to_str());
    let name = name.unwrap_or("dsokr");
    name.strip_suffix(std::env::consts::EXE_SUFFIX).unwrap_or(name).to_owned()
});

/// Writes a line to standard error, if anybody reads it. What the library calls an argument is a flag here.
pub fn print_error(line: std::fmt::Arguments) {
    let line = line.to_string().replace("the argument ", "--");
    drop(writeln!(std::io::stderr(), "{}", visible(&line)));
}

/// A text whose control characters, which terminals obey, are escaped as JSON escapes them, so that JSON stays what
/// it is. Line breaks and tabs stay.
fn visible(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if obeyed(c) { format!("\\u{:04x}", u32::from(c)) } else { c.into() };
    Cow::Owned(text.chars().map(shown).collect())
}

/// Writes a result as exactly one JSON object, on one line.
pub fn print_json(result: &impl serde::Serialize) -> Result<(), Error> {
    print(&json_line(result)?)
}

/// A value as JSON, on one line.
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
    if !Processes::current().is_first() {
        return Ok(true);
    }
    let mut out = std::io::stdout().lock();
    match out.write_all(visible(text).as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Error::Io { path: "standard output".into(), message: e.to_string() }),
    }
}
