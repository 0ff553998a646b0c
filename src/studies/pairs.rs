//! The recommended model for pairs of an input and an output, which nobody has described: what `dsokr.fit` is in Python.

use std::fs;
use std::path::{Path, PathBuf};

use dsokr_core::store::{ScratchFolder, create_folder};
use serde_json::json;

use crate::config::{Config, EncoderTable};
use crate::error::{Error, ensure, ensure_run};
use crate::fit::{Request, Trained};
use crate::run_dir::write_text;
use crate::studies::init::{Choices, Survey};

/// The files of a folder of pairs.
const TABLE: &str = "pairs.jsonl";
const CONFIG: &str = "pairs.toml";

/// Trains the recommended model for pairs of an input and an output, and returns it. Inputs are texts; outputs are SMILES,
/// label sets, rankings, numbers or texts, which of these is found out as `dsokr init` does. A tenth of the pairs is for
/// validation, and a tenth for the test.
///
/// The files of the run are in a temporary folder, which is removed when the returned run is dropped.
/// [`write_pairs`] makes a folder that is kept, for a [`Request`] with an observer.
///
/// # Errors
/// Other numbers of inputs than of outputs; fewer than ten pairs; as [`fit`](crate::fit()).
pub fn fit_pairs(
    inputs: &[impl AsRef<str>],
    outputs: &[impl AsRef<str>],
) -> Result<Trained, Error> {
    let key = "the pairs";
    let found = format_args!("{} inputs and {} outputs", inputs.len(), outputs.len());
    ensure(inputs.len() == outputs.len(), key, found, "as many outputs as inputs")?;
    let scratch = ScratchFolder::new().map_err(Error::io(&std::env::temp_dir()))?;
    let pairs = inputs.iter().zip(outputs);
    let lines = pairs.map(|(input, output)| {
        json!({ "input": input.as_ref(), "output": output.as_ref() }).to_string() + "\n"
    });
    let config = write_pairs(scratch.path(), lines, None)?;
    let config = Config::load(config)?;
    let out = Some(scratch.path().join("run"));
    let mut trained = Request { out, ..Request::new(&config)? }.run(&mut ())?;
    trained.run.keep_while_open(scratch);
    Ok(trained)
}

/// Writes pairs and the recommended configuration for them into a folder, which is made if it does not exist: a table, of
/// which each line is a JSON object with `input` and `output`, and a configuration that names it. With an `encoder` the
/// configuration trains that by gradient descent, in the place of a kernel machine. Returns the path of the configuration.
/// Where this fails, nothing is left there.
///
/// # Errors
/// A folder that has pairs already; lines that cannot be read; fewer than ten pairs; what the file system reports.
pub fn write_pairs(
    folder: &Path,
    lines: impl IntoIterator<Item = impl AsRef<str>>,
    encoder: Option<EncoderTable>,
) -> Result<PathBuf, Error> {
    let table = folder.join(TABLE);
    let config = folder.join(CONFIG);
    for file in [&table, &config] {
        ensure_run(!file.exists(), file, "exists: name a different folder")?;
    }
    let is_new = !folder.exists();
    create_folder(folder).map_err(Error::io(folder))?;
    let text: String = lines.into_iter().map(|line| line.as_ref().to_owned()).collect();
    let choices = Choices {
        input: Some("input".into()),
        outputs: vec!["output".into()],
        encoder,
        ..Choices::default()
    };
    let written = write_text(&table, &text)
        .and_then(|()| Survey::read(&table, &choices)?.write(&config, false));
    if let Err(error) = written {
        for file in [&table, &config] {
            let _ = fs::remove_file(file);
        }
        if is_new {
            let _ = fs::remove_dir(folder);
        }
        return Err(error);
    }
    Ok(config)
}
