//! Commands that write results are killed at random moments, and are asked to write into a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use dsokr::core::random::{Generator, unit};

use crate::command::{Limits, call, start, wait};
use crate::runs::{Kind, World, below, copy, files};
use crate::{Outcome, random};

/// How often a command is killed before it is left alone.
const KILLS: usize = 6;

/// A command in two versions, whose results differ, and the option that says where they go.
struct Writer {
    name: &'static str,
    versions: [&'static [&'static str]; 2],
    option: &'static str,
    /// Whether the results are a folder.
    folder: bool,
}

const WRITERS: [Writer; 5] = [
    Writer {
        name: "shard",
        versions: [
            &["candidates", "shard", "run", "--parts", "3"],
            &["candidates", "shard", "run", "--parts", "5", "--precision", "i8"],
        ],
        option: "--out",
        folder: true,
    },
    Writer {
        name: "export",
        versions: [&["export", "run", "--candidates"], &["export", "other", "--candidates"]],
        option: "--out",
        folder: true,
    },
    Writer {
        name: "report",
        versions: [
            &["evaluate", "run", "--split", "validation", "--quiet"],
            &["evaluate", "other", "--split", "validation", "--quiet"],
        ],
        option: "--report",
        folder: true,
    },
    Writer {
        name: "embed",
        versions: [&["embed", "run", "texts.txt"], &["embed", "other", "texts.txt"]],
        option: "--out",
        folder: false,
    },
    Writer {
        name: "add",
        versions: [
            &["candidates", "add", "run", "new.tsv", "--dry-run"],
            &["candidates", "add", "other", "new.tsv", "--dry-run"],
        ],
        option: "--out",
        folder: false,
    },
];

pub fn attack(world: &mut World, seed: u64) -> Outcome {
    let mut random = random("outputs", seed);
    let writer = &WRITERS[below(&mut random, WRITERS.len())];
    let [run, other] =
        ["bag", "divide-and-conquer"].map(|name| world.finished(Kind::named(name), 0));
    let folder = world.fresh();
    for (from, to) in [(run?, "run"), (other?, "other")] {
        copy(&from.join("run"), &folder.join(to));
    }
    let texts: String = (0..3_000).map(|at| format!("an amine with {at} carbons\n")).collect();
    fs::write(folder.join("texts.txt"), texts).unwrap();
    fs::write(folder.join("new.tsv"), "id\tsmiles\nnew\tCCCCCCCN\n").unwrap();
    let refused = refuse(&folder, writer, &mut random)?;
    let killed = kill(&folder, writer, &mut random)?;
    fs::remove_dir_all(folder).unwrap();
    Ok(format!("{}: {killed} kills; {refused} paths in a run refused", writer.name))
}

impl Writer {
    /// The arguments of a version that writes to a path.
    fn to<'a>(&self, version: usize, path: &'a str) -> Vec<&'a str>
    where
        'static: 'a,
    {
        self.versions[version].iter().copied().chain([self.option, path]).collect()
    }
}

/// Kills the second version, where the results of the first one are. They stay until those of the second are there.
fn kill(folder: &Path, writer: &Writer, random: &mut Generator) -> Result<usize, String> {
    let of = |wrong: String| format!("{}: {wrong}", writer.name);
    let mut life = Duration::ZERO;
    let expected = ["first/results", "second/results"];
    for (version, path) in expected.iter().enumerate() {
        fs::create_dir(folder.join(path).parent().unwrap()).unwrap();
        let begun = Instant::now();
        call(folder, &writer.to(version, path), Limits::default())
            .map_err(of)?
            .success()
            .map_err(of)?;
        life = begun.elapsed();
    }
    let [first, second] = expected.map(|path| results(&folder.join(path)));
    // one that is there, and one that is not
    let place = "here/results";
    fs::create_dir(folder.join("here")).unwrap();
    let mut before = None;
    let mut kills = 0;
    if unit(random) < 0.7 {
        call(folder, &writer.to(0, place), Limits::default())?.success().map_err(of)?;
        before = Some(first.clone().ok_or(of("no results".into()))?);
    }
    for _ in 0..KILLS {
        let child = start(folder, &writer.to(1, place), Limits::default());
        let ended = wait(folder, child, life.mul_f64(1.1 * unit(random)));
        ended.check().map_err(of)?;
        kills += usize::from(ended.late);
        let found = results(&folder.join(place));
        if found != before && found != second {
            let names = |all: &Option<BTreeMap<String, Vec<u8>>>| {
                all.as_ref().map(|all| all.keys().cloned().collect::<Vec<_>>())
            };
            let found = names(&found);
            let before = names(&before);
            return Err(of(format!("a process that was killed left {found:?} of {before:?}")));
        }
        if found == second {
            before.clone_from(&second);
        }
    }
    call(folder, &writer.to(1, place), Limits::default()).map_err(of)?.success().map_err(of)?;
    if results(&folder.join(place)) != second {
        return Err(of("the results differ from those of a command that was never killed".into()));
    }
    let beside: Vec<String> = fs::read_dir(folder.join("here"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "results")
        .collect();
    if beside.is_empty() {
        Ok(kills)
    } else {
        Err(of(format!("{beside:?} are left beside the results")))
    }
}

/// The files of results; none where there are none.
fn results(path: &Path) -> Option<BTreeMap<String, Vec<u8>>> {
    if path.is_file() {
        Some([(String::new(), fs::read(path).unwrap())].into())
    } else {
        path.is_dir().then(|| files(path))
    }
}

/// Asks for results in a run: the run itself, its files and folders, and new names. All are refused and change nothing.
fn refuse(folder: &Path, writer: &Writer, random: &mut Generator) -> Result<usize, String> {
    let before = files(&folder.join("run"));
    let names: Vec<&String> = before.keys().collect();
    let mut paths = vec!["run/new".to_owned(), "run/checkpoint".into(), "other/../run/x".into()];
    paths.extend((0..2).map(|_| format!("run/{}", names[below(random, names.len())])));
    paths.extend(writer.folder.then(|| "run".to_owned()));
    for path in &paths {
        let ended = call(folder, &writer.to(0, path), Limits::default())?;
        let of = |wrong: String| format!("{} to {path}: {wrong}", writer.name);
        ended.check().map_err(of)?;
        if ended.code != Some(2) {
            return Err(of(format!("exit code {:?}", ended.code)));
        }
        if files(&folder.join("run")) != before {
            return Err(of("the run has changed".into()));
        }
    }
    Ok(paths.len())
}
