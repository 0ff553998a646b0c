//! What is wrong with a tokenizer.json at which the library panics, or does not end.

use std::path::Path;

use serde_json::Value;
use tokenizers::normalizers::Precompiled;

use crate::Error;

/// The most times that a normalizer may make a text longer.
const MOST_GROWTH: f64 = 1000.0;

/// Refuses what is not JSON, damaged tables of characters, merges without a token, and normalizers that let
/// a text grow without bound: replacements one after the other multiply.
pub(super) fn check(path: &Path, json: &str) -> Result<(), Error> {
    let not_one = |e: String| Error::file(path, format!("not a tokenizer: {e}"));
    let read: Result<Value, _> = serde_json::from_str(json);
    let read = read.map_err(|e| not_one(e.to_string()))?;
    check_precompiled(&read["normalizer"]).map_err(not_one)?;
    check_merges(&read["model"]).map_err(not_one)?;
    let growth = growth(&read["normalizer"]);
    if growth <= MOST_GROWTH {
        return Ok(());
    }
    Err(Error::FileValue {
        path: path.into(),
        key: "normalizer".into(),
        found: format!("replacements that make a text up to {growth:.0} times as long"),
        allowed: format!("at most {MOST_GROWTH} times"),
    })
}

/// Refuses a merge of two tokens, the second without the prefix of those within a word, that is not a token.
fn check_merges(model: &Value) -> Result<(), String> {
    let (Some(tokens), Some(merges)) = (model["vocab"].as_object(), model["merges"].as_array())
    else {
        return Ok(());
    };
    let prefix = model["continuing_subword_prefix"].as_str().unwrap_or_default();
    for merge in merges {
        // pairs, or lines of a file with a space between, where the first may name a version
        let pair = match merge {
            Value::String(line) if line.starts_with("#version") => continue,
            Value::String(line) => line.split_once(' '),
            pair => pair[0].as_str().zip(pair[1].as_str()),
        };
        let merged = pair.and_then(|(a, b)| Some(format!("{a}{}", b.get(prefix.len()..)?)));
        if !merged.is_some_and(|merged| tokens.contains_key(&merged)) {
            return Err(format!("the merge {merge} makes no token of the vocabulary"));
        }
    }
    Ok(())
}

/// Reads the tables of characters of a normalizer, which the library reads without an error.
fn check_precompiled(normalizer: &Value) -> Result<(), String> {
    match normalizer["type"].as_str() {
        Some("Sequence") => {
            let parts = normalizer["normalizers"].as_array();
            parts.into_iter().flatten().try_for_each(check_precompiled)
        }
        Some("Precompiled") => {
            let read = serde_json::from_str::<Precompiled>(&normalizer.to_string());
            read.map(|_| ()).map_err(|e| e.to_string())
        }
        _ => Ok(()),
    }
}

/// The most times that a normalizer makes a long text longer, in characters.
fn growth(normalizer: &Value) -> f64 {
    let characters = |value: &Value| value.as_str().map(|text| text.chars().count());
    match normalizer["type"].as_str() {
        Some("Sequence") => {
            normalizer["normalizers"].as_array().into_iter().flatten().map(growth).product()
        }
        Some("Replace") => {
            let content = characters(&normalizer["content"]).unwrap_or(0) as f64;
            match characters(&normalizer["pattern"]["String"]) {
                Some(found) if found > 0 => (content / found as f64).max(1.0),
                // a regular expression may match between any two characters
                _ => 1.0 + content,
            }
        }
        _ => 1.0,
    }
}
