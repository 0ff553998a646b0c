//! Signals that a process was started with ignored, as `nohup` has it ignore SIGHUP.

/// Returns whether the process ignores a signal.
pub fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: a null action changes nothing, and the old one is written to memory of its type, whose bits may all be 0
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}
