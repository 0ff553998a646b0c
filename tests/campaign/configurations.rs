//! Configurations with hostile values: they train, or they are refused.

use std::fs;
use std::time::Duration;

use crate::command::{Limits, start, wait};
use crate::runs::{Kind, World, below};
use crate::{Outcome, random};

/// Values such as a million epochs are allowed, and nobody waits for them.
const TIME: Duration = Duration::from_secs(15);

/// Values that a key may be given, whatever its type.
const ANY: [&str; 8] = ["0", "-1", "0.5", "\"\"", "\"text\"", "[]", "{}", "true"];

/// Values that a whole number may be given.
const WHOLE: [&str; 10] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "1_000",
    "1_000_000",
    "1_000_000_000_000",
    "9_223_372_036_854_775_807",
    "-1",
];

/// Values that a number may be given.
const NUMBERS: [&str; 11] =
    ["0.0", "-0.5", "0.5", "1.0", "7.0", "1e-300", "1e300", "1e12", "nan", "inf", "-inf"];

pub fn attack(world: &mut World, seed: u64) -> Outcome {
    let mut random = random("configurations", seed);
    let kind = Kind::draw(&mut random);
    let whole = world.finished(kind, 0)?;
    // the run's configuration has every key with its default
    let mut config: toml::Table =
        fs::read_to_string(whole.join("run/config.toml")).unwrap().parse().unwrap();
    let mut changes = Vec::new();
    for _ in 0..=below(&mut random, 3) {
        let mut keys = Vec::new();
        leaves(&toml::Value::Table(config.clone()), &mut Vec::new(), &mut keys);
        let key = &keys[below(&mut random, keys.len())];
        let values: &[&str] = match value_at(&config, key) {
            _ if below(&mut random, 8) == 0 => &ANY,
            toml::Value::Integer(_) => &WHOLE,
            toml::Value::Float(_) => &NUMBERS,
            toml::Value::Boolean(_) => &["true", "false"],
            toml::Value::Array(_) => &["[]", "[0]", "[7, 7]", "[1_000_000_000_000]", "[0.5, nan]"],
            toml::Value::String(_) | toml::Value::Datetime(_) | toml::Value::Table(_) => &ANY,
        };
        let text = values[below(&mut random, values.len())];
        let value: toml::Table = format!("value = {text}").parse().unwrap();
        changes.push(format!("{} = {text}", key.join(".")));
        set(&mut config, key, value["value"].clone());
    }
    let folder = world.fresh();
    fs::write(folder.join("hostile.toml"), config.to_string()).unwrap();
    // `datasets/…` lies beside the folder of the configuration
    let data = env!("CARGO_MANIFEST_DIR");
    let train = ["train", "hostile.toml", "--quiet", "--data", data, "--out", "run"];
    let ended = wait(&folder, start(&folder, &train, Limits::default()), TIME);
    let what = format!("{}: {}", kind.name, changes.join(", "));
    ended.check().map_err(|wrong| format!("{what}: {wrong}"))?;
    fs::remove_dir_all(folder).unwrap();
    let end = ended.code.map_or("still running".to_owned(), |code| format!("exit code {code}"));
    Ok(format!("{what}: {end}"))
}

/// The paths of all values that are no tables; numbers stand for places in arrays of tables.
fn leaves(value: &toml::Value, path: &mut Vec<String>, all: &mut Vec<Vec<String>>) {
    let mut inner = |key: String, value: &toml::Value| {
        path.push(key);
        leaves(value, path, all);
        path.pop();
    };
    match value {
        toml::Value::Table(table) => {
            table.iter().for_each(|(key, value)| inner(key.clone(), value));
        }
        toml::Value::Array(array) if array.iter().any(toml::Value::is_table) => {
            array.iter().enumerate().for_each(|(at, value)| inner(at.to_string(), value));
        }
        _ => all.push(path.clone()),
    }
}

fn value_at<'t>(table: &'t toml::Table, path: &[String]) -> &'t toml::Value {
    path[1..].iter().fold(&table[&path[0]], |place, key| match place {
        toml::Value::Array(array) => &array[key.parse::<usize>().unwrap()],
        other => &other[key],
    })
}

fn set(table: &mut toml::Table, path: &[String], value: toml::Value) {
    let mut place = table.get_mut(&path[0]).unwrap();
    for key in &path[1..] {
        place = match place {
            toml::Value::Array(array) => &mut array[key.parse::<usize>().unwrap()],
            other => other.get_mut(key).unwrap(),
        };
    }
    *place = value;
}
