//! The memory that a process can still take.

use dsokr_core::memory::{Bytes, available, in_group, resident};

#[test]
fn bytes_have_units() {
    for (bytes, text) in
        [(0.0, "0 bytes"), (999.0, "999 bytes"), (1.5e9, "1.5 GB"), (4e20, "400 EB")]
    {
        assert_eq!(Bytes(bytes).to_string(), text);
    }
}

#[test]
fn a_group_has_left_what_is_not_used() {
    for [limit, usage, cached] in [
        ["memory.max", "memory.current", "inactive_file"],
        ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(usage, "600\n");
        write("memory.stat", &format!("anon 500\n{cached} 100\n"));
        for unlimited in ["max\n", "9223372036854771712\n"] {
            write(limit, unlimited);
            assert_eq!(in_group(folder.path()), None);
        }
        write(limit, "1000\n");
        assert_eq!(in_group(folder.path()).unwrap().bytes, 500.0);
        assert_eq!(in_group(&folder.path().join("absent")), None);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn this_process_has_a_limit_and_holds_memory() {
    assert!(available().unwrap().bytes > 0.0);
    assert!(resident() > 1e5);
}
