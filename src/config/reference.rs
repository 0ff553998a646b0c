//! The reference of the configuration, made of the types and their docstrings: a page of the book.

use std::fmt::Write;

use schemars::schema_for;
use serde_json::{Map, Value};

use super::Config;

/// Returns the configuration reference as Markdown: every table with its keys, types, defaults and
/// meanings, from the types' own docstrings.
pub fn reference() -> String {
    let schema = Value::from(schema_for!(Config));
    let mut reference =
        Reference { page: String::new(), definitions: &schema["$defs"], seen: Vec::new() };
    reference.page.push_str(
        "# Configuration reference\n\nMade from the types by `dsokr config-reference`. A key without \
         a default is required.\n",
    );
    reference.table("", &schema);
    reference.page
}

struct Reference<'s> {
    page: String,
    definitions: &'s Value,
    /// Types that have their table already, e.g. feature files, which occur twice.
    seen: Vec<&'s str>,
}

impl<'s> Reference<'s> {
    /// Follows `$ref`, and the `anyOf [T, null]` of an optional value.
    fn resolve(&self, schema: &'s Value) -> (&'s Value, Option<&'s str>) {
        let reference = |s: &'s Value| s["$ref"].as_str()?.strip_prefix("#/$defs/");
        let branches = ["anyOf", "allOf"].iter().filter_map(|k| schema[*k].as_array()).flatten();
        let name = reference(schema).or_else(|| branches.filter_map(reference).next());
        name.map_or((schema, None), |name| (&self.definitions[name], Some(name)))
    }

    /// Writes the tables at `path` and below it.
    fn table(&mut self, path: &str, schema: &'s Value) {
        let title = if path.is_empty() { "the file".into() } else { format!("`{path}`") };
        let _ = write!(self.page, "\n## {title}\n\n{}\n", text(schema));
        let mut nested = Vec::new();
        let keys: Vec<_> = properties(schema).into_iter().flatten().collect();
        self.rows(path, &keys, &[schema], &mut nested);
        if is_choice(schema) {
            for variant in schema["oneOf"].as_array().into_iter().flatten() {
                let inner = self.resolve(variant).0;
                let variant_keys = properties(variant);
                let tag =
                    variant_keys.and_then(|keys| keys.iter().find(|(_, v)| v["const"].is_string()));
                if let Some((tag, value)) = tag {
                    let _ =
                        write!(self.page, "\n`{tag} = {}`: {}\n", value["const"], text(variant));
                }
                let inherited = if std::ptr::eq(inner, variant) { None } else { properties(inner) };
                let keys = variant_keys.into_iter().flatten().filter(|(_, v)| v["const"].is_null());
                let keys: Vec<_> = keys.chain(inherited.into_iter().flatten()).collect();
                self.rows(path, &keys, &[variant, inner], &mut nested);
            }
        }
        for (path, name) in nested {
            if !self.seen.contains(&name) {
                self.seen.push(name);
                self.table(&path, &self.definitions[name]);
            }
        }
    }

    fn rows(
        &mut self,
        path: &str,
        keys: &[(&'s String, &'s Value)],
        owners: &[&Value],
        nested: &mut Vec<(String, &'s str)>,
    ) {
        if keys.is_empty() {
            return;
        }
        self.page.push_str("\n| key | type | default | meaning |\n|---|---|---|---|\n");
        for (key, schema) in keys {
            for (inner, name) in [self.resolve(schema), self.resolve(&schema["items"])] {
                if (is_choice(inner) || properties(inner).is_some())
                    && let Some(name) = name
                {
                    let dot = if path.is_empty() { "" } else { "." };
                    nested.push((format!("{path}{dot}{key}"), name));
                }
            }
            let requires = |owner: &&Value| {
                let mut names = owner["required"].as_array().into_iter().flatten();
                names.any(|name| name.as_str() == Some(key))
            };
            let default = match &schema["default"] {
                Value::Null if owners.iter().any(requires) => "required".to_string(),
                Value::Null => "none".to_string(),
                Value::Object(_) => "see below".to_string(),
                // written as the program holds it: 0.1, not the nearest double of the nearest single
                Value::Number(n) if n.is_f64() => format!("`{}`", n.as_f64().unwrap_or(0.0) as f32),
                other => format!("`{other}`"),
            };
            let kind = self.kind(schema);
            let meaning = text(schema).replace('\n', " ");
            let _ = writeln!(self.page, "| `{key}` | {kind} | {default} | {meaning} |");
        }
    }

    fn kind(&self, schema: &'s Value) -> String {
        let (target, _) = self.resolve(schema);
        if is_choice(target) {
            return "table".into();
        }
        let literals = ["enum", "oneOf"].iter().filter_map(|k| target[*k].as_array()).flatten();
        let literal = |v: &'s Value| Some(format!("`\"{}\"`", v["const"].as_str().or(v.as_str())?));
        let literals: Vec<String> = literals.filter_map(literal).collect();
        if !literals.is_empty() {
            return literals.join(", ");
        }
        if let Some(branches) = target["anyOf"].as_array()
            && self.resolve(target).1.is_none()
        {
            let kinds: Vec<String> = branches.iter().map(|branch| self.kind(branch)).collect();
            return kinds.join(" or ");
        }
        let simple = |t: &Value| match t.as_str() {
            Some("array") => format!("list of {}", self.kind(&target["items"])),
            Some("object") | None => "table".to_string(),
            Some("string") => "text".to_string(),
            Some("boolean") => "true or false".to_string(),
            Some(other) => other.to_string(),
        };
        match &target["type"] {
            Value::Array(types) => types.iter().filter(|t| *t != "null").map(simple).collect(),
            other => simple(other),
        }
    }
}

/// Returns whether a schema is a table whose keys depend on a tag.
fn is_choice(schema: &Value) -> bool {
    schema["oneOf"].as_array().is_some_and(|all| all.iter().any(|v| properties(v).is_some()))
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema["properties"].as_object()
}

/// Returns a docstring without its examples in Rust.
fn text(schema: &Value) -> &str {
    let whole = schema["description"].as_str().unwrap_or_default();
    whole.split("```").next().unwrap_or_default().trim_end()
}
