//! What a call of the command changes in the files below a folder, in the order in which it does: its
//! system calls are traced, those that bypass the C library too.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command::program;
use crate::volatile::Change;

/// The system calls that are traced.
const TRACED: [libc::c_long; 24] = [
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_creat,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_ftruncate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    // the rest is refused: nothing here knows what it does
    libc::SYS_truncate,
    libc::SYS_link,
    libc::SYS_linkat,
    libc::SYS_symlink,
    libc::SYS_sendfile,
    libc::SYS_copy_file_range,
    libc::SYS_fallocate,
];

/// Calls the command in `folder` and returns what it changes there, and whether it ended with 0. None
/// without the right to trace a process.
pub fn trace(folder: &Path, arguments: &[&str]) -> Result<Option<(Vec<Change>, bool)>, String> {
    let folder = folder.canonicalize().map_err(|e| e.to_string())?;
    let filter = filter();
    let mut command = Command::new(program());
    command.args(arguments).current_dir(&folder).env_remove("DSOKR_DATA").env_remove("DSOKR_LOG");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: only system calls are made between fork and exec; the filter lives until then.
    unsafe {
        command.pre_exec(move || {
            let program =
                libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
            let done = libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
                    == 0;
            if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
    }
    let Ok(child) = command.spawn() else { return Ok(None) };
    let main = child.id() as libc::pid_t;
    let mut tracer = Tracer { folder, changes: Vec::new() };
    let ended = tracer.run(main);
    if ended.is_err() {
        // SAFETY: the process is this one's child and has not been waited for.
        unsafe { libc::kill(main, libc::SIGKILL) };
    }
    ended.map(|success| Some((tracer.changes, success)))
}

/// A filter that stops at the traced calls and lets the others pass.
fn filter() -> Vec<libc::sock_filter> {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let end = libc::BPF_RET | libc::BPF_K;
    // the number of the call is the first word of what a filter sees
    let mut filter = vec![statement(load, 0)];
    for (at, &call) in TRACED.iter().enumerate() {
        let to_trace = (TRACED.len() - at) as u8;
        filter.push(libc::sock_filter { jt: to_trace, ..statement(equal, call as u32) });
    }
    filter.push(statement(end, libc::SECCOMP_RET_ALLOW));
    filter.push(statement(end, libc::SECCOMP_RET_TRACE));
    filter
}

struct Tracer {
    folder: PathBuf,
    changes: Vec<Change>,
}

impl Tracer {
    /// Follows all threads until the process ends; true for exit code 0.
    fn run(&mut self, main: libc::pid_t) -> Result<bool, String> {
        let mut known = BTreeSet::new();
        let options = libc::PTRACE_O_TRACESECCOMP
            | libc::PTRACE_O_TRACESYSGOOD
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_EXITKILL;
        loop {
            let mut status = 0;
            // SAFETY: the status is a local variable.
            let thread = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
            if thread < 0 {
                return Err(format!("waitpid: {}", std::io::Error::last_os_error()));
            }
            if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                if thread == main {
                    return Ok(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
                }
                continue;
            }
            let signal = libc::WSTOPSIG(status);
            let event = status >> 16;
            let mut next = libc::PTRACE_CONT;
            let mut delivered = 0;
            if known.insert(thread) {
                // stopped at its start
                if thread == main {
                    ptrace(libc::PTRACE_SETOPTIONS, thread, options as usize)?;
                }
            } else if signal == libc::SIGTRAP | 0x80 {
                self.ended(thread)?;
            } else if event == libc::PTRACE_EVENT_SECCOMP {
                // goes on to the end of the call
                next = libc::PTRACE_SYSCALL;
            } else if event == 0 && signal != libc::SIGTRAP {
                delivered = signal;
            }
            // a thread that is killed meanwhile cannot go on
            let _ = ptrace(next, thread, delivered as usize);
        }
    }

    /// Takes down what a call has done that has ended.
    fn ended(&mut self, thread: libc::pid_t) -> Result<(), String> {
        // SAFETY: the structure is plain numbers, and the kernel fills it.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        ptrace(libc::PTRACE_GETREGS, thread, (&raw mut registers) as usize)?;
        let result = registers.rax as i64;
        if result < 0 {
            return Ok(());
        }
        let [a, b, c, d] = [registers.rdi, registers.rsi, registers.rdx, registers.r10];
        let here = libc::AT_FDCWD as u64;
        let create = libc::O_CREAT as u64;
        let cut = libc::O_TRUNC as u64;
        let change = match registers.orig_rax as libc::c_long {
            libc::SYS_open => self.open(thread, result, b)?,
            libc::SYS_openat => self.open(thread, result, c)?,
            libc::SYS_creat => self.open(thread, result, create | cut)?,
            libc::SYS_write => {
                let bytes = memory(thread, b, result as usize)?;
                self.written(thread, a, None, bytes)?
            }
            libc::SYS_pwrite64 => {
                let bytes = memory(thread, b, result as usize)?;
                self.written(thread, a, Some(d as usize), bytes)?
            }
            libc::SYS_writev => {
                let mut bytes = Vec::new();
                for part in memory(thread, b, 16 * c as usize)?.chunks_exact(16) {
                    let word = |at: usize| u64::from_le_bytes(part[at..at + 8].try_into().unwrap());
                    bytes.extend(memory(thread, word(0), word(8) as usize)?);
                }
                bytes.truncate(result as usize);
                self.written(thread, a, None, bytes)?
            }
            libc::SYS_ftruncate => {
                self.descriptor(thread, a).map(|file| Change::Cut { file, length: b as usize })
            }
            libc::SYS_fsync | libc::SYS_fdatasync => self.descriptor(thread, a).map(Change::Sync),
            libc::SYS_mkdir => self.name(thread, here, a)?.map(Change::Folder),
            libc::SYS_mkdirat => self.name(thread, a, b)?.map(Change::Folder),
            libc::SYS_unlink | libc::SYS_rmdir => self.name(thread, here, a)?.map(Change::Remove),
            libc::SYS_unlinkat => self.name(thread, a, b)?.map(Change::Remove),
            libc::SYS_rename => {
                let both = (self.name(thread, here, a)?, self.name(thread, here, b)?);
                renamed(both)?
            }
            libc::SYS_renameat => {
                let both = (self.name(thread, a, b)?, self.name(thread, c, d)?);
                renamed(both)?
            }
            libc::SYS_renameat2 if registers.r8 & !u64::from(libc::RENAME_NOREPLACE) == 0 => {
                let both = (self.name(thread, a, b)?, self.name(thread, c, d)?);
                renamed(both)?
            }
            other => return Err(format!("system call {other} is not known to the record")),
        };
        self.changes.extend(change);
        Ok(())
    }

    fn open(&self, thread: libc::pid_t, file: i64, flags: u64) -> Result<Option<Change>, String> {
        let create = libc::O_CREAT as u64;
        let cut = libc::O_TRUNC as u64;
        if flags & (create | cut) == 0 {
            return Ok(None);
        }
        let file = self.descriptor(thread, file as u64);
        Ok(file.map(|file| Change::Open { file, cut: flags & cut != 0 }))
    }

    /// A write of a file at a place, or where its position was before it.
    fn written(
        &self,
        thread: libc::pid_t,
        descriptor: u64,
        at: Option<usize>,
        bytes: Vec<u8>,
    ) -> Result<Option<Change>, String> {
        let Some(file) = self.descriptor(thread, descriptor) else { return Ok(None) };
        let at = match at {
            Some(at) => at,
            None => {
                let info = format!("/proc/{thread}/fdinfo/{descriptor}");
                let info = fs::read_to_string(&info).map_err(|e| format!("{info}: {e}"))?;
                let position = info.lines().find_map(|line| line.strip_prefix("pos:"));
                let position = position.and_then(|text| text.trim().parse::<usize>().ok());
                position.ok_or("a descriptor without a position")? - bytes.len()
            }
        };
        Ok(Some(Change::Write { file, at, bytes }))
    }

    /// The file or the folder of a descriptor, if it lies below the folder and has a name.
    fn descriptor(&self, thread: libc::pid_t, descriptor: u64) -> Option<PathBuf> {
        let path = fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).ok()?;
        self.below(&path).filter(|path| !path.to_string_lossy().ends_with(" (deleted)"))
    }

    /// The path at an address, if it lies below the folder.
    fn name(
        &self,
        thread: libc::pid_t,
        folder: u64,
        address: u64,
    ) -> Result<Option<PathBuf>, String> {
        let mut bytes = memory(thread, address, libc::PATH_MAX as usize)?;
        bytes.truncate(bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()));
        let path = PathBuf::from(String::from_utf8(bytes).map_err(|e| e.to_string())?);
        let link = match folder as i32 {
            libc::AT_FDCWD => format!("/proc/{thread}/cwd"),
            descriptor => format!("/proc/{thread}/fd/{descriptor}"),
        };
        let base = fs::read_link(&link).map_err(|e| format!("{link}: {e}"))?;
        Ok(self.below(&base.join(path)))
    }

    fn below(&self, path: &Path) -> Option<PathBuf> {
        // without "." and doubled separators
        let path: PathBuf = path.components().collect();
        path.strip_prefix(&self.folder).ok().map(Path::to_path_buf)
    }
}

fn renamed(paths: (Option<PathBuf>, Option<PathBuf>)) -> Result<Option<Change>, String> {
    match paths {
        (Some(from), Some(to)) => Ok(Some(Change::Rename { from, to })),
        (None, None) => Ok(None),
        (from, to) => Err(format!("{from:?} is renamed to {to:?}, across the folder's border")),
    }
}

/// The bytes at an address of a thread, fewer where its memory ends.
fn memory(thread: libc::pid_t, address: u64, length: usize) -> Result<Vec<u8>, String> {
    let memory = File::open(format!("/proc/{thread}/mem")).map_err(|e| e.to_string())?;
    let mut bytes = vec![0; length];
    let mut done = 0;
    while done < length {
        match memory.read_at(&mut bytes[done..], address + done as u64) {
            Ok(0) | Err(_) if done > 0 => break,
            Ok(0) => return Err("an address without memory".into()),
            Ok(read) => done += read,
            Err(e) => return Err(e.to_string()),
        }
    }
    bytes.truncate(done);
    Ok(bytes)
}

fn ptrace(request: libc::c_uint, thread: libc::pid_t, data: usize) -> Result<(), String> {
    // SAFETY: `data` is a number or the address of a structure of the request's type, which lives.
    let result = unsafe { libc::ptrace(request, thread, 0, data as *mut c_void) };
    if result < 0 {
        return Err(format!("ptrace {request}: {}", std::io::Error::last_os_error()));
    }
    Ok(())
}
