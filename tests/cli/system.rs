//! What the system refuses, or tells wrong: memory, synced files, the time, links that lead nowhere, pipes in the place of files.

use std::os::unix::fs::{FileTypeExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::label_outputs;
use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox};

/// A kernel machine with a reranker.
fn reranked() -> String {
    let look = "[decoding]\nheld_out = true\n\
                reranker = { candidates = 20, neighbours = 5, folds = 4, held_out_folds = 2 }\n";
    format!("{}\n{look}", CONFIG.replace(BAG, RIDGE))
}

/// The command with at most so many kB of addresses.
fn with_memory(sandbox: &Sandbox, kilobytes: u64, arguments: &[&str]) -> Output {
    let script = format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_dsokr")]).args(arguments);
    command.current_dir(sandbox.path(".")).env_remove("DSOKR_DATA").output().unwrap()
}

/// Whatever the limit is, a call succeeds or says that there is not enough memory, with the exit code of a wrong request.
#[cfg(target_os = "linux")]
#[test]
fn too_little_memory_is_an_error_and_not_an_abort() {
    let sandbox = Sandbox::new();
    sandbox.write("look.toml", &reranked());
    sandbox.succeed(&["train", "look.toml", "--out", "run"]);
    // below this the system cannot start the program
    let program = std::fs::metadata(env!("CARGO_BIN_EXE_dsokr")).unwrap().len() / 1024;
    let mut refused = 0;
    for more in [15_000, 30_000, 50_000, 75_000, 100_000, 150_000, 200_000, 300_000, 500_000] {
        let kilobytes = program + more;
        let out = format!("run-{kilobytes}");
        let calls: [&[&str]; 4] = [
            &["train", "look.toml", "--out", &out],
            &["train", "small.toml", "--out", &out],
            &["evaluate", "run"],
            &["search", "run", "a ring of kind HEX and class ANE"],
        ];
        for arguments in calls {
            let output = with_memory(&sandbox, kilobytes, arguments);
            let errors = String::from_utf8_lossy(&output.stderr);
            let what = format!("{kilobytes} kB, {arguments:?}: {errors}");
            assert_eq!(output.status.signal(), None, "{what}");
            assert!(!errors.contains("panicked"), "{what}");
            match output.status.code() {
                Some(0) => {}
                Some(2) => {
                    refused += 1;
                    let last = errors.lines().last().unwrap_or_default();
                    assert!(last.starts_with("error: "), "{what}");
                    let says = ["memory", "ulimit", "threads", "address space"];
                    assert!(says.iter().any(|word| last.contains(word)), "{what}");
                }
                code => panic!("exit code {code:?}: {what}"),
            }
            drop(std::fs::remove_dir_all(sandbox.path(&out)));
        }
    }
    assert!(refused > 0, "no limit was too low");
}

/// Label sets are a bit for each label and row: 2.8 GB of these.
#[cfg(target_os = "linux")]
#[test]
fn labels_beyond_the_memory_are_refused_with_their_column() {
    let sandbox = label_outputs::sandbox(label_outputs::LABELS, "tanimoto");
    let more = (0..150_000).map(|at| format!("more{at}\tmethane\tlabel {at}\t1 2 3 4\n"));
    let outputs = sandbox.read("data/small/outputs.tsv") + &more.collect::<String>();
    sandbox.write("data/small/outputs.tsv", &outputs);
    let program = std::fs::metadata(env!("CARGO_BIN_EXE_dsokr")).unwrap().len() / 1024;
    let output = with_memory(&sandbox, program + 1_500_000, &["train", "small.toml", "--plan"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    for part in
        ["outputs.tsv: 150080 rows of 1500", "(column \"labels\", divided at ';')", "available is"]
    {
        assert!(errors.contains(part), "{part}: {errors}");
    }
}

/// A process whose calls of fsync fail as those on file systems that have none, such as some of FUSE.
#[cfg(target_os = "linux")]
fn without_sync(command: &mut Command) {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, k| libc::sock_filter { code, jt, jf: 0, k };
    let filter = [
        step(LOAD, 0, 0),
        step(EQUAL, 2, libc::SYS_fsync as u32),
        step(EQUAL, 1, libc::SYS_fdatasync as u32),
        step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, libc::SECCOMP_RET_ERRNO | libc::EINVAL as u32),
    ];
    // SAFETY: only system calls are made between fork and exec; the filter lives until then
    unsafe {
        command.pre_exec(move || {
            let program =
                libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
            let done = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
                    == 0;
            if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
    }
}

#[cfg(target_os = "linux")]
#[test]
fn file_systems_that_cannot_sync_are_written_to() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["train", "small.toml", "--out", "run", "--json"]);
    without_sync(&mut command);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: no filter of system calls: {error}");
            return;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    sandbox.succeed(&["evaluate", "run"]);
}

/// The library of `tests/clock.c`; none without a C compiler.
fn wrong_clock(sandbox: &Sandbox) -> Option<PathBuf> {
    let source = sandbox.path("clock.c");
    let library = sandbox.path("clock.so");
    sandbox.write("clock.c", include_str!("../clock.c"));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]).arg("-ldl");
    compiler.status().is_ok_and(|status| status.success()).then_some(library)
}

#[cfg(target_os = "linux")]
#[test]
fn a_wrong_clock_is_no_reason_to_lose_a_training() {
    let sandbox = Sandbox::new();
    let Some(library) = wrong_clock(&sandbox) else {
        println!("skipped: no C compiler");
        return;
    };
    const YEAR: i64 = 31_556_952;
    for (years, date, warned) in [
        (-100, "1970-01-01T00:00:00Z", true),
        (9_000, "9999-12-31T23:59:59Z", true),
        (500, "25", false),
    ] {
        let out = format!("run{years}");
        let mut command = sandbox.command(&["train", "small.toml", "--json", "--out", &out]);
        let output = command
            .env("LD_PRELOAD", &library)
            .env("WRONG_BY", (years * YEAR).to_string())
            .output();
        let output = output.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{years}: {errors}");
        let record = sandbox.read(&format!("{out}/metrics.json"));
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        assert!(record["date"].as_str().unwrap().starts_with(date), "{years}: {record}");
        assert_eq!(errors.contains("the clock of this machine"), warned, "{years}: {errors}");
        sandbox.succeed(&["evaluate", &out]);
    }
}

#[test]
fn a_link_that_leads_nowhere_is_no_place_for_a_run() {
    let sandbox = Sandbox::new();
    symlink("nowhere", sandbox.path("run")).unwrap();
    let expected = ["--out = run, a link to nowhere", "remove the link"];
    sandbox.fail(&["train", "small.toml", "--out", "run"], 2, &expected);
    let sweep = ["sweep", "small.toml", "--out", "run", "--grid", "sketch.size=5,6"];
    sandbox.fail(&sweep, 2, &expected);
    std::fs::create_dir(sandbox.path("nowhere")).unwrap();
    sandbox.fail(&["train", "small.toml", "--out", "run"], 2, &["run exists"]);
    sandbox.succeed(&["train", "small.toml", "--out", "run/inside"]);
}

/// The archive of a run would hold the runs in it.
#[test]
fn no_run_is_trained_in_another() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--out", "run"]);
    let inside = ["train", "small.toml", "--out", "run/inside"];
    sandbox.fail(&inside, 2, &["--out = run/inside", "a path outside of", "a run directory"]);
    assert!(!sandbox.path("run/inside").exists());
    sandbox.succeed(&["train", "small.toml", "--out", "run", "--resume"]);
}

/// Makes a named pipe.
fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn results_do_not_replace_pipes_and_devices_and_go_where_links_lead() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--out", "run"]);
    sandbox.write("new.tsv", "id\tname\nnew\tcyclobutan\n");
    let place = sandbox.path("place.svg");
    pipe(&place);
    symlink("place.svg", sandbox.path("link.svg")).unwrap();
    let calls: [(&str, &[&str]); 6] = [
        ("--out", &["embed", "run", "data/small/test.tsv"]),
        ("--out", &["candidates", "add", "run", "new.tsv", "--dry-run"]),
        ("--archive", &["export", "run"]),
        ("--plot", &["compare", "run", "run"]),
        ("--draw", &["evaluate", "run"]),
        ("--plot", &["sketch", "small.toml"]),
    ];
    for (option, arguments) in calls {
        for path in ["place.svg", "link.svg"] {
            let expected = [&format!("{option} = {path}"), "a file or a new name"];
            sandbox.fail(&[arguments, &[option, path]].concat(), 2, &expected);
        }
        let kind = std::fs::symlink_metadata(&place).unwrap().file_type();
        assert!(kind.is_fifo(), "{arguments:?}");
    }
    std::fs::remove_file(&place).unwrap();
    sandbox.write("place.svg", "before");
    sandbox.succeed(&["candidates", "add", "run", "new.tsv", "--dry-run", "--out", "link.svg"]);
    assert!(sandbox.read("place.svg").starts_with("id\t"));
    assert!(sandbox.path("link.svg").is_symlink());
}

/// What was measured for hours is shown, wherever the figure of it goes.
#[test]
fn a_figure_that_cannot_be_written_takes_no_results_with_it() {
    let sandbox = Sandbox::new();
    let sketch =
        ["sketch", "small.toml", "--sizes", "4,20", "--draws", "1", "--plot", "place/sketch.svg"];
    sandbox.fail(&sketch, 2, &["--plot = place/sketch.svg", "create place"]);
    std::fs::create_dir(sandbox.path("place")).unwrap();
    // an empty file can be written, as before anything is measured, and no byte of the figure
    let script = "ulimit -f 0; exec \"$0\" \"$@\"";
    let mut command = Command::new("bash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_dsokr")]).args(sketch);
    let output = command.current_dir(sandbox.path(".")).output().unwrap();
    let rest = String::from_utf8_lossy(&output.stderr);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{rest}");
    assert!(rest.contains("sketch.svg") && shown.contains("recommended: m = "), "{shown}{rest}");
}
