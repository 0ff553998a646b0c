//! A campaign against the command, which `cargo test` alone does not run:
//!
//! ```sh
//! cargo test --test campaign                                      # ten minutes
//! cargo test --test campaign -- --minutes 60 --seed 1000
//! cargo test --test campaign -- --attack damage --seed 17         # one attack again
//! cargo test --test campaign -- --attack server --seed 0 --requests 1000000 --program target/release/dsokr
//! ```
//!
//! An attack is determined by its name and its seed, apart from the moments at which processes are
//! killed. Each failure is printed with the command that repeats it.

mod adds;
mod clocks;
mod command;
mod configurations;
mod crash;
mod damage;
mod disk;
mod fetch;
mod filters;
mod kills;
mod memory;
mod outputs;
mod runs;
mod server;
mod signals;
mod threads;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod trace;
mod volatile;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use dsokr::core::random::generator;

use runs::World;

/// What an attack found: a description of what it did, or of what is wrong.
type Outcome = Result<String, String>;

/// An attack by its name, and how often it is made in a round.
type Attack = (&'static str, u64, fn(&mut World, u64) -> Outcome);

const ATTACKS: [Attack; 14] = [
    ("kills", 1, kills::attack),
    ("damage", 4, damage::attack),
    ("configurations", 12, configurations::attack),
    ("disk", 1, disk::attack),
    ("crash", 3, crash::attack),
    ("adds", 1, adds::attack),
    ("outputs", 2, outputs::attack),
    ("threads", 1, threads::attack),
    ("signals", 1, signals::attack),
    ("memory", 4, memory::attack),
    ("clocks", 1, clocks::attack),
    ("server", 1, server::attack),
    ("filters", 1, filters::attack),
    ("fetch", 4, fetch::attack),
];

/// The options behind `--`.
struct Options {
    minutes: f64,
    seed: u64,
    /// One attack alone, with one seed if that is given too.
    attack: Option<String>,
    once: bool,
    /// Requests of an attack on a server.
    requests: usize,
}

impl Options {
    fn read() -> Result<Self, String> {
        let mut options =
            Self { minutes: 10.0, seed: 0, attack: None, once: false, requests: 5_000 };
        let mut arguments = std::env::args().skip(1);
        let mut seeded = false;
        let mut timed = false;
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or(format!("{name}: a value is missing"))?;
            let wrong = |_| format!("{name} {value}: expected a number");
            match name.as_str() {
                "--minutes" => {
                    options.minutes = value
                        .parse()
                        .map_err(|e: std::num::ParseFloatError| format!("{name} {value}: {e}"))?;
                    timed = true;
                }
                "--seed" => {
                    options.seed = value.parse().map_err(wrong)?;
                    seeded = true;
                }
                "--requests" => options.requests = value.parse().map_err(wrong)?,
                "--program" => {
                    let program = Path::new(&value).canonicalize();
                    let program = program.map_err(|e| format!("{name} {value}: {e}"))?;
                    command::PROGRAM.get_or_init(|| program);
                }
                "--attack" if ATTACKS.iter().any(|(known, ..)| *known == value) => {
                    options.attack = Some(value);
                }
                _ => {
                    let names = ATTACKS.map(|(name, ..)| name).join(", ");
                    return Err(format!(
                        "{name} {value}: expected --minutes, --seed, --requests, --program, and --attack with \
                         one of {names}"
                    ));
                }
            }
        }
        options.once = seeded && !timed && options.attack.is_some();
        Ok(options)
    }
}

fn main() -> ExitCode {
    let options = match Options::read() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let deadline = Instant::now() + Duration::from_secs_f64(60.0 * options.minutes);
    let mut world = World::new(options.requests);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failures = 0;
    let late = || Instant::now() > deadline;
    'rounds: for round in options.seed.. {
        for (name, often, attack) in ATTACKS {
            if options.attack.as_ref().is_some_and(|chosen| chosen != name) {
                continue;
            }
            let seeds =
                if options.once { round..round + 1 } else { round * often..(round + 1) * often };
            for seed in seeds {
                if late() && !counts.is_empty() {
                    break 'rounds;
                }
                *counts.entry(name).or_default() += 1;
                match attack(&mut world, seed) {
                    Ok(done) => println!("{name} {seed}: {done}"),
                    Err(wrong) => {
                        failures += 1;
                        println!("{name} {seed}: FAILED: {wrong}");
                        println!(
                            "  again: cargo test --test campaign -- --attack {name} --seed {seed}"
                        );
                    }
                }
            }
        }
        if options.once {
            break;
        }
    }
    println!("{failures} failures in {counts:?}");
    ExitCode::from(u8::from(failures > 0))
}

/// The generator of an attack.
fn random(name: &str, seed: u64) -> dsokr::core::random::Generator {
    generator(seed, name, 0)
}
