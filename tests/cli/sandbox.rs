use std::fmt::Write;
use std::fs;
#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dsokr::core::store::{Contents, Stored};
use safetensors::SafeTensors;
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a small data set and a configuration, and the command to run there.
pub struct Sandbox {
    folder: TempDir,
}

/// Number of outputs; the first 60 are trained on, ten are validated.
const OUTPUTS: usize = 80;

pub const CONFIG: &str = r#"
[data]
folder = "small"
test = "test.tsv"

[output]
table = "outputs.tsv"
label = "name"
features = { kind = "ngrams", column = "name", min = 1, max = 3 }
kernel = { name = "ngram" }

[sketch]
size = 20

[encoder]
kind = "ngram-bag"
hidden = [16]
ngrams = [{ kind = "words", min = 1, max = 1 }]

[training]
epochs = 4
batch = 8
checkpoint_seconds = 0

[evaluation]
split = "test"
"#;

/// The encoder of [`CONFIG`].
pub const BAG: &str = r#"kind = "ngram-bag"
hidden = [16]
ngrams = [{ kind = "words", min = 1, max = 1 }]"#;

/// A kernel machine that takes its place.
pub const RIDGE: &str = r#"kind = "kernel-machine"
lambda = 0.001
inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1 }] }"#;

/// The configuration of a kernel machine that predicts numbers as they are, and is evaluated on test pairs: the keys of `[data]`
/// and `[encoder]`, and those of `[output]` that name the numbers.
pub fn config_of_numbers(data: &str, output: &str, encoder: &str) -> String {
    format!(
        r#"
[data]
{data}

[output]
{output}
kernel = {{ name = "linear" }}
scaling = "standard"

[sketch]
full = true

[encoder]
{encoder}

[decoding]
search = "exact"

[evaluation]
metric = "rrmse"
split = "test"
"#
    )
}

impl Sandbox {
    pub fn new() -> Self {
        let sandbox = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(sandbox.path("data/small")).unwrap();
        let mut outputs = "id\tname\n".to_string();
        let mut rows = Vec::new();
        for i in 0..OUTPUTS {
            let stem = ["meth", "eth", "prop", "but", "pent", "hex", "hept", "oct"][i % 8];
            let class = ["ane", "ene", "yne", "anol", "anal"][i / 8 % 5];
            let name = format!("{}{stem}{class}", ["", "cyclo"][i / 40 % 2]);
            writeln!(outputs, "o{i}\t{name}").unwrap();
            let ring = ["an open chain", "a ring"][i / 40 % 2];
            let stem = stem.to_uppercase();
            let class = class.to_uppercase();
            rows.push(format!("o{i}\t{ring} of kind {stem} and class {class}"));
        }
        sandbox.write("data/small/outputs.tsv", &outputs);
        let table = |rows: &[String]| format!("id\tdescription\n{}\n", rows.join("\n"));
        sandbox.write("data/small/train.tsv", &table(&rows[..60]));
        sandbox.write("data/small/validation.tsv", &table(&rows[60..70]));
        sandbox.write("data/small/test.tsv", &table(&rows[70..]));
        sandbox.write("small.toml", CONFIG);
        sandbox
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Takes the checksum of a file out of those that a run is read with, so that a test can change the file.
    pub fn forget_checksum(&self, run: &str, file: &str) {
        let path = self.path(run).join("fingerprints.safetensors");
        let stored = Stored::open(&path, "fingerprints", 1).unwrap();
        let mut sums = stored.all_metadata().clone();
        drop(stored);
        sums.retain(|name, _| name.strip_prefix("complete/").unwrap_or(name) != file);
        Contents::new("fingerprints", 1, &sums, &[]).write(&path).unwrap();
    }

    /// The numbers of a tensor of 32-bit floats in a safetensors file.
    pub fn numbers(&self, file: &str, tensor: &str) -> Vec<f32> {
        let bytes = fs::read(self.path(file)).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let tensor = file.tensor(tensor).unwrap();
        let numbers = tensor.data().as_chunks::<4>().0.iter();
        numbers.map(|number| f32::from_le_bytes(*number)).collect()
    }

    /// The command with its arguments, run in the folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dsokr"));
        command.args(arguments).current_dir(self.folder.path());
        // as a shell calls what it finds on PATH
        #[cfg(unix)]
        command.arg0("dsokr");
        command.env_remove("DSOKR_DATA").env_remove("DSOKR_LOG");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Standard output of a call that must succeed.
    pub fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The report of a training with values of the configuration changed.
    pub fn train(&self, config: &str, changes: &[&str]) -> Value {
        let sets = changes.iter().flat_map(|change| ["--set", *change]);
        let arguments: Vec<&str> = ["train", config, "--json"].into_iter().chain(sets).collect();
        json(&self.succeed(&arguments))
    }

    /// Standard error of a call that must fail with the given exit code, saying `expected` and
    /// without a panic.
    pub fn fail(&self, arguments: &[&str], code: i32, expected: &[&str]) {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
        assert!(!errors.contains("panicked"), "{errors}");
        for part in expected {
            assert!(errors.contains(part), "{arguments:?}: no {part:?} in: {errors}");
        }
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{arguments:?}");
    }
}

/// Whether this process ignores SIGHUP, as under nohup, which its children do then too.
pub fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
}

/// A matrix as a .npy file, row by row.
pub fn npy(columns: usize, values: &[f64]) -> Vec<u8> {
    let rows = values.len() / columns;
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let header =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    bytes.extend(format!("{header:<117}\n").bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

/// What a command printed with `--json`: one line.
pub fn json(text: &str) -> Value {
    assert_eq!(text.trim().lines().count(), 1, "one line: {text}");
    serde_json::from_str(text).unwrap()
}

pub fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} in {value}"))
}

/// Copies a folder, as a user who moves a run does.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The arguments of a training into `run` that diverges at a learning rate of 50, and not at 0.01.
pub fn unstable_training(config: &'static str) -> Vec<&'static str> {
    let settings = [
        "training.optimizer=sgd",
        "training.weight_decay=0",
        "training.clip=0",
        "training.warmup=800",
        "training.epochs=20",
        "training.checkpoint_seconds=3600",
    ];
    let sets = settings.into_iter().flat_map(|setting| ["--set", setting]);
    ["train", config, "--quiet", "--out", "run"].into_iter().chain(sets).collect()
}
