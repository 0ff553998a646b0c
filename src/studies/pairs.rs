//! The recommended model for pairs of an input and an output, which nobody has described.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use dsokr_core::store::{ScratchFolder, create_folder};
use serde::Deserialize;
use serde_json::json;

use crate::config::{Config, EncoderTable};
use crate::error::{Error, ensure, ensure_run};
use crate::fit::{Request, Trained};
use crate::run_dir::write_text;
use crate::studies::init::{
    CLASSES, Choices, KindName, LEAST, StatedKind, Survey, recur_as_classes,
};

/// The files of a folder of pairs.
const TABLE: &str = "pairs.jsonl";
const CONFIG: &str = "pairs.toml";

/// The key of the outputs.
const OUTPUT: &str = "output";

/// The share of outputs that have several labels where outputs are sets of them, as a divisor.
const WITH_SEVERAL: usize = 100;

/// Trains the recommended model for pairs of an input and an output, and returns it. Inputs are texts; outputs are SMILES,
/// label sets, rankings, numbers or texts, which of these is found out as `dsokr init` does. Outputs such as `"1"` are
/// numbers, which are predicted as such: name classes otherwise, such as `"class 1"`. A tenth of the pairs is for validation,
/// and a tenth for the test.
///
/// The files of the run are in a temporary folder, which is removed when the returned run is dropped.
/// [`write_pairs`] makes a folder that is kept, for a [`Request`] with an observer.
///
/// # Errors
/// Other numbers of inputs than of outputs; fewer than ten pairs that are not blank; outputs that are all equal; as
/// [`fit`](crate::fit()).
pub fn fit_pairs(
    inputs: &[impl AsRef<str>],
    outputs: &[impl AsRef<str>],
) -> Result<Trained, Error> {
    let key = "the pairs";
    let found = format_args!("{} inputs and {} outputs", inputs.len(), outputs.len());
    ensure(inputs.len() == outputs.len(), key, found, "as many outputs as inputs")?;
    let pairs = || inputs.iter().map(AsRef::as_ref).zip(outputs.iter().map(AsRef::as_ref));
    check_pairs(pairs())?;
    let scratch = ScratchFolder::new().map_err(Error::io(&std::env::temp_dir()))?;
    let lines = pairs()
        .map(|(input, output)| json!({ "input": input, "output": output }).to_string() + "\n");
    // all outputs are texts here, also numbers
    let config = write_table(scratch.path(), &lines.collect::<String>(), None, None)?;
    let config = Config::load(config)?;
    let out = Some(scratch.path().join("run"));
    let mut trained = Request { out, ..Request::new(&config)? }.run(&mut ())?;
    trained.run.keep_while_open(scratch);
    Ok(trained)
}

/// Refuses pairs that nothing can be learned from: too few that are not blank, and outputs that are all equal.
fn check_pairs<'t>(pairs: impl Iterator<Item = (&'t str, &'t str)>) -> Result<(), Error> {
    let pairs: Vec<(&str, &str)> =
        pairs.map(|(input, output)| (input.trim(), output.trim())).collect();
    let all = pairs.len();
    let is_blank = |&&(input, output): &&(&str, &str)| input.is_empty() || output.is_empty();
    let blank = pairs.iter().filter(is_blank).count();
    let found = format_args!("{all} pairs, {blank} of them with a blank input or output");
    let allowed = format_args!("at least {LEAST} with an input and an output");
    ensure(all - blank >= LEAST, "the pairs", found, allowed)?;
    let mut outputs = pairs.iter().map(|(_, output)| output).filter(|output| !output.is_empty());
    let first = outputs.next().copied().unwrap_or_default();
    let because = "all outputs are equal, so that there is nothing to learn";
    if outputs.all(|&output| output == first) {
        return Err(Error::refused("the outputs", format_args!("{first:?}"), because));
    }
    Ok(())
}

/// Writes pairs and the recommended configuration for them into a folder, which is made if it does not exist: a table, of
/// which each of the `lines` is a JSON object with `input` and `output`, without or with a newline behind it, and a
/// configuration that names it. With an `encoder` the
/// configuration trains that by gradient descent, in the place of a kernel machine. Returns the path of the configuration.
/// Where this fails, nothing is left there. Pairs that are left out, since their input or output is of another kind than the
/// others or says that there is none, are a warning. Texts of whole numbers that recur, such as `"1"`, are names of classes.
///
/// # Errors
/// A folder that has pairs already; lines that cannot be read; fewer than ten pairs; what the file system reports.
pub fn write_pairs(
    folder: &Path,
    lines: impl IntoIterator<Item = impl AsRef<str>>,
    encoder: Option<EncoderTable>,
) -> Result<PathBuf, Error> {
    let mut text = String::new();
    for line in lines {
        let line = line.as_ref();
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push('\n');
        }
    }
    let kind = kind_of_lists(&text).or_else(|| kind_of_texts(&text));
    write_table(folder, &text, kind, encoder)
}

/// Writes a table of pairs and the recommended configuration for them, as [`write_pairs`] does; outputs are of this `kind`, where
/// it is known.
fn write_table(
    folder: &Path,
    text: &str,
    kind: Option<KindName>,
    encoder: Option<EncoderTable>,
) -> Result<PathBuf, Error> {
    let table = folder.join(TABLE);
    let config = folder.join(CONFIG);
    for file in [&table, &config] {
        ensure_run(!file.exists(), file, "exists: name a different folder")?;
    }
    let is_new = !folder.exists();
    create_folder(folder).map_err(Error::io(folder))?;
    let stated = kind.map(|kind| StatedKind { column: OUTPUT.into(), kind });
    let choices = Choices {
        input: Some("input".into()),
        outputs: vec![OUTPUT.into()],
        kinds: stated.into_iter().collect(),
        encoder,
        ..Choices::default()
    };
    let written = write_text(&table, text).and_then(|()| {
        let survey = Survey::read(&table, &choices)?;
        survey.write(&config, false)?;
        Ok(survey)
    });
    match written {
        Ok(survey) => {
            warn_of_skipped(&survey);
            Ok(config)
        }
        Err(error) => {
            for file in [&table, &config] {
                let _ = fs::remove_file(file);
            }
            if is_new {
                let _ = fs::remove_dir(folder);
            }
            Err(error)
        }
    }
}

/// Warns of pairs that the training leaves out. The configuration expects them, so the training itself only informs of them.
fn warn_of_skipped(survey: &Survey) {
    let skipped = survey.skipped();
    if skipped > 0 {
        tracing::warn!(
            "{}: {skipped} of {} pairs are left out: their input is not {}, or their output not {}, as \"NA\" is not; \
             the training names the first ones at the level of information",
            survey.file.display(),
            survey.table.rows,
            survey.roles.input.kind.one(),
            survey.roles.output.kind.one(),
        );
    }
}

/// Returns the kind of outputs that are lists of texts: sets of labels, which the cells that a table makes of them need not
/// look like, where some lists have several texts or none; classes, where each has one that is a number. None elsewhere.
fn kind_of_lists(lines: &str) -> Option<KindName> {
    #[derive(Deserialize)]
    struct Pair {
        output: Option<Vec<String>>,
    }
    let mut count = 0;
    let mut sets = 0;
    let mut numbers = 0;
    for line in lines.lines() {
        let Pair { output } = serde_json::from_str(line).ok()?;
        let Some(labels) = output else { continue };
        count += 1;
        match &labels[..] {
            [label] => numbers += usize::from(label.parse::<f64>().is_ok()),
            _ => sets += 1,
        }
    }
    if sets > 0 && WITH_SEVERAL * sets >= count {
        Some(KindName::Labels)
    } else if count > 0 && numbers == count {
        Some(KindName::Classes)
    } else {
        None
    }
}

/// Returns classes for outputs that are texts of whole numbers of which a few recur: names such as `01` and `1`, which the cells
/// of a table could not tell from numbers. None elsewhere.
fn kind_of_texts(lines: &str) -> Option<KindName> {
    #[derive(Deserialize)]
    struct Pair {
        output: Option<String>,
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for line in lines.lines() {
        let Pair { output } = serde_json::from_str(line).ok()?;
        let Some(name) = output else { continue };
        name.parse::<i64>().ok()?;
        *counts.entry(name).or_default() += 1;
    }
    let rows: usize = counts.values().sum();
    let classes = counts.len();
    let recur = (2..=CLASSES).contains(&classes) && recur_as_classes(classes, rows);
    recur.then_some(KindName::Classes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines of a hundred pairs.
    fn rows(output: fn(usize) -> serde_json::Value) -> String {
        let row = |at| json!({ "input": at, "output": output(at) }).to_string() + "\n";
        (0..100).map(row).collect()
    }

    #[test]
    fn texts_of_whole_numbers_that_recur_are_names_of_classes() {
        let classes = Some(KindName::Classes);
        assert_eq!(kind_of_texts(&rows(|at| json!((at % 3).to_string()))), classes);
        assert_eq!(kind_of_texts(&rows(|at| json!(["01", "1", "2"][at % 3]))), classes);
        assert_eq!(kind_of_texts(&rows(|at| json!(["-1", "1", "2"].get(at % 4)))), classes);
        // numbers, texts of real numbers, of ages, and of one number
        assert_eq!(kind_of_texts(&rows(|at| json!(at % 3))), None);
        assert_eq!(kind_of_texts(&rows(|at| json!(["0.53", "1", "2"][at % 3]))), None);
        assert_eq!(kind_of_texts(&rows(|at| json!((at % 40).to_string()))), None);
        assert_eq!(kind_of_texts(&rows(|_| json!("1"))), None);
        assert_eq!(kind_of_texts(&rows(|_| json!(["1"]))), None);
        assert_eq!(kind_of_texts(""), None);
    }

    #[test]
    fn lists_of_texts_are_label_sets_or_classes_whatever_their_labels() {
        let sets = Some(KindName::Labels);
        assert_eq!(kind_of_lists(&rows(|at| json!(vec![at.to_string(); 20]))), sets);
        let with_gaps = rows(|at| match at % 3 {
            0 => json!(null),
            1 => json!([]),
            _ => json!(["loss of function", "a gain"]),
        });
        assert_eq!(kind_of_lists(&with_gaps), sets);
        assert_eq!(kind_of_lists(&rows(|at| json!(["one", "two"][..at % 2]))), sets);
        assert_eq!(
            kind_of_lists(&rows(|at| json!([(at % 3).to_string()]))),
            Some(KindName::Classes)
        );
        assert_eq!(kind_of_lists(&rows(|_| json!(["one"]))), None);
        assert_eq!(kind_of_lists(&rows(|_| json!([1, 2]))), None);
        let mixed = rows(|_| json!(["a", "b"])) + &rows(|_| json!("text"));
        assert_eq!(kind_of_lists(&mixed), None);
        assert_eq!(kind_of_lists("not JSON\n"), None);
    }
}
