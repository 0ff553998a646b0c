use std::fmt::Write;

use schemars::schema_for;
use serde_json::Value;

use super::Config;

/// The configuration reference as Markdown: every table with its keys, types, defaults and
/// meanings, from the types' own docstrings.
pub fn reference() -> String {
    let schema = Value::from(schema_for!(Config));
    let definitions = &schema["$defs"];
    let mut page = String::from(
        "# Configuration reference\n\nMade from the types by `dsokr config-reference`. A key without a \
         default is required.\n",
    );
    let mut seen = vec![String::from("Config")];
    table(&mut page, "the file itself", &schema, definitions, &mut seen);
    page
}

/// Follows `$ref`, and the `anyOf [T, null]` of an optional value.
fn resolve<'s>(schema: &'s Value, definitions: &'s Value) -> (&'s Value, Option<&'s str>) {
    let reference = |s: &'s Value| s["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/"));
    let branches = ["anyOf", "allOf"].iter().filter_map(|k| schema[*k].as_array()).flatten();
    let name = reference(schema).or_else(|| branches.filter_map(reference).next());
    match name {
        Some(name) => (&definitions[name], Some(name)),
        None => (schema, None),
    }
}

fn table(
    page: &mut String,
    title: &str,
    schema: &Value,
    definitions: &Value,
    seen: &mut Vec<String>,
) {
    let mut nested = Vec::new();
    let _ = write!(page, "\n## {title}\n\n{}\n", text(schema));
    let variants =
        schema["oneOf"].as_array().filter(|all| all.iter().any(|v| v["properties"].is_object()));
    if let Some(variants) = variants {
        for variant in variants {
            let inner = resolve(variant, definitions).0;
            let own = variant["properties"].as_object().into_iter().flatten();
            if let Some((tag, name)) =
                own.clone().find_map(|(key, v)| Some((key, v["const"].as_str()?)))
            {
                let _ = write!(page, "\n### `{tag} = \"{name}\"`\n\n{}\n", text(variant));
            }
            let keys = own.filter(|(_, v)| v["const"].is_null());
            let inherited = if std::ptr::eq(inner, variant) { &Value::Null } else { inner };
            let keys: Vec<_> =
                keys.chain(inherited["properties"].as_object().into_iter().flatten()).collect();
            rows(page, &keys, &[variant, inherited], definitions, &mut nested);
        }
    } else {
        let keys: Vec<_> = schema["properties"].as_object().into_iter().flatten().collect();
        rows(page, &keys, &[schema], definitions, &mut nested);
    }
    for (key, name) in nested {
        if !seen.contains(&name) {
            seen.push(name.clone());
            table(page, &key, &definitions[&name], definitions, seen);
        }
    }
}

fn rows<'s>(
    page: &mut String,
    keys: &[(&'s String, &'s Value)],
    owners: &[&Value],
    definitions: &'s Value,
    nested: &mut Vec<(String, String)>,
) {
    if keys.is_empty() {
        return;
    }
    page.push_str("\n| key | type | default | meaning |\n|---|---|---|---|\n");
    for (key, schema) in keys {
        let (target, name) = resolve(schema, definitions);
        let items = resolve(&schema["items"], definitions);
        let is_table = |t: &Value| {
            let variants = t["oneOf"].as_array().into_iter().flatten();
            t["properties"].is_object() || variants.clone().any(|v| v["properties"].is_object())
        };
        for (inner, inner_name) in [(target, name), items] {
            if let (true, Some(inner_name)) = (is_table(inner), inner_name) {
                nested.push((format!("`{key}`"), inner_name.to_string()));
            }
        }
        let required = |owner: &&Value| {
            let names = owner["required"].as_array().into_iter().flatten();
            names.into_iter().any(|n| n.as_str() == Some(key))
        };
        let default = match &schema["default"] {
            Value::Null if owners.iter().any(required) => "required".to_string(),
            Value::Null => "none".to_string(),
            Value::Object(_) => "see below".to_string(),
            other => format!("`{other}`"),
        };
        let kind = kind(schema, definitions);
        let _ = writeln!(
            page,
            "| `{key}` | {kind} | {default} | {} |",
            text(schema).replace('\n', " ")
        );
    }
}

fn kind(schema: &Value, definitions: &Value) -> String {
    let (target, _) = resolve(schema, definitions);
    let literals = |all: &Value| -> Vec<String> {
        let all = all.as_array().into_iter().flatten();
        all.filter_map(|v| v["const"].as_str().or(v.as_str()).map(|s| format!("`\"{s}\"`")))
            .collect()
    };
    let names = [literals(&target["enum"]), literals(&target["oneOf"])].concat();
    if !names.is_empty() {
        return names.join(", ");
    }
    let simple = |t: &Value| match t.as_str() {
        Some("array") => format!("list of {}", kind(&target["items"], definitions)),
        Some("object") | None => "table".to_string(),
        Some("string") => "text".to_string(),
        Some("boolean") => "true or false".to_string(),
        Some(other) => other.to_string(),
    };
    match &target["type"] {
        Value::Array(types) => {
            types.iter().filter(|t| *t != "null").map(simple).collect::<Vec<_>>().join(" or ")
        }
        other => simple(other),
    }
}

fn text(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().to_string()
}
