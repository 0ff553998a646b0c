//! Values of JSON lines that are no cells of a table: conversations, as language models are trained on, and other objects.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use dsokr_core::message::shell_word;
use dsokr_data::table::open_text;
use serde_json::Value;

/// The program of Python that writes a text and an answer for each conversation: its messages but the last one, and that.
const PROGRAM: &str = "import json, sys; key, text = sys.argv[3:]; rows = [json.loads(line)[key] for line in \
                       open(sys.argv[1], encoding='utf-8-sig') if line.strip()]; open(sys.argv[2], \
                       'w').writelines(json.dumps({'prompt': ' '.join(part[text] for part in row[:-1]), 'completion': \
                       row[-1][text]}) + '\\n' for row in rows if len(row) > 1)";

/// The program of Python that makes a key of each key of an object, as `meta.author`. It changes no value, as pandas does.
const PROGRAM_OF_OBJECTS: &str = "import json, sys; flat = lambda value, name: [pair for key in value for pair in flat(value[key], name + '.' + key if \
     name else key)] if isinstance(value, dict) else [(name, value)]; open(sys.argv[2], \
     'w').writelines(json.dumps(dict(flat(json.loads(line), ''))) + '\\n' for line in open(sys.argv[1], \
     encoding='utf-8-sig') if line.strip())";

/// The keys of who says something and of what is said, as programs write them.
const KEYS: [[&str; 2]; 2] = [["role", "content"], ["from", "value"]];

/// The most bytes of the first line of a file.
const FIRST_LINE: u64 = 1 << 20;

/// Returns what an error says of JSON lines in which one of the `nested` keys has the messages of a conversation, or an object: how a
/// table is made of them. None of other files.
pub(super) fn remedy_of_nested(path: &Path, nested: &[String]) -> Option<String> {
    let is_plain =
        path.extension().is_some_and(|extension| extension == "jsonl" || extension == "ndjson");
    if nested.is_empty() || !is_plain {
        return None;
    }
    let mut line = String::new();
    // what cannot be read is refused elsewhere
    BufReader::new(open_text(path).ok()?.take(FIRST_LINE)).read_line(&mut line).ok()?;
    let row: Value = serde_json::from_str(line.trim_start_matches('\u{feff}').trim()).ok()?;
    let file = path.file_name()?.to_string_lossy();
    let written = |path: &Path| shell_word(&path.display().to_string());
    let from = written(path);
    let of_messages =
        nested.iter().find_map(|name| Some((name, key_of_texts(row.get(name.as_str())?)?)));
    let Some((name, text)) = of_messages else {
        let to = written(&path.with_file_name(format!("flat-{file}")));
        let name =
            nested.iter().find(|name| row.get(name.as_str()).is_some_and(Value::is_object))?;
        return Some(format!(
            "; {name:?} has objects, whose keys are made columns by python3 -c \"{PROGRAM_OF_OBJECTS}\" {from} {to}"
        ));
    };
    let to = written(&path.with_file_name(format!("pairs-{file}")));
    let key = shell_word(name);
    Some(format!(
        "; {name:?} has conversations, of which a table of texts and answers is made by python3 -c \"{PROGRAM}\" {from} {to} {key} {text}"
    ))
}

/// Returns the key of what is said in each message of a conversation; none of other values.
fn key_of_texts(value: &Value) -> Option<&'static str> {
    let messages = value.as_array().filter(|messages| !messages.is_empty())?;
    let are_messages = |keys: &&[&str; 2]| {
        let is_message = |message: &Value| keys.iter().all(|key| message[*key].is_string());
        messages.iter().all(is_message)
    };
    KEYS.iter().find(are_messages).map(|&[_, text]| text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conversations_are_lists_of_who_says_what() {
        let messages =
            json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]);
        assert_eq!(key_of_texts(&messages), Some("content"));
        assert_eq!(key_of_texts(&json!([{"from": "human", "value": "a"}])), Some("value"));
        for other in [
            json!([]),
            json!([{"role": "user"}]),
            json!({"role": "user", "content": "a"}),
            json!(["a"]),
        ] {
            assert_eq!(key_of_texts(&other), None, "{other}");
        }
    }
}
