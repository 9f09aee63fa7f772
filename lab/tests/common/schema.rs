//! Checks JSON against the JSON Schema of a run: the part of JSON Schema that the schema uses.

use std::sync::LazyLock;

use chronoscope_run::{SCHEMA, json_schema};
use serde_json::Value;

static RUN: LazyLock<Value> =
    LazyLock::new(|| serde_json::to_value(json_schema()).expect("a schema is JSON"));

/// Keywords that say nothing about validity.
const WORDS: [&str; 6] = ["$schema", "$defs", "title", "description", "default", "format"];

/// The faults of a run, each with its place; empty for JSON that is no run of this version.
pub fn faults_of_run(json: &Value) -> Vec<String> {
    let is_run = json["schema"] == SCHEMA && json["cases"].is_array() && json["study"].is_string();
    let mut faults = Vec::new();
    if is_run {
        check(json, &RUN, "run", &mut faults);
    }
    faults
}

fn check(value: &Value, schema: &Value, at: &str, faults: &mut Vec<String>) {
    let rules = match schema {
        Value::Bool(true) => return,
        Value::Object(rules) => rules,
        other => panic!("{other} is no schema"),
    };
    let mut fault = |words: &str| faults.push(format!("{at}: {words}"));
    for (keyword, rule) in rules {
        match keyword.as_str() {
            "type" => {
                let known = rule.as_array().map_or_else(|| vec![rule], |all| all.iter().collect());
                if !known.iter().any(|name| is_of(value, name.as_str().expect("a name"))) {
                    fault(&format!("{value} is not {rule}"));
                }
            }
            "enum" => {
                if !rule.as_array().expect("a list").contains(value) {
                    fault(&format!("{value} is not of {rule}"));
                }
            }
            "const" if value != rule => fault(&format!("{value} is not {rule}")),
            "minimum" if value.is_number() && value.as_f64() < rule.as_f64() => {
                fault(&format!("{value} < {rule}"))
            }
            "maximum" if value.is_number() && value.as_f64() > rule.as_f64() => {
                fault(&format!("{value} > {rule}"))
            }
            "required" => {
                for name in rule.as_array().expect("a list") {
                    if value.get(name.as_str().expect("a name")).is_none() {
                        fault(&format!("{name} is missing"));
                    }
                }
            }
            "minItems" | "maxItems" => {
                let (length, bound) = (value.as_array().map(Vec::len), rule.as_u64());
                let length = length.map(|length| length as u64);
                let outside = if keyword == "minItems" { length < bound } else { length > bound };
                if length.is_some() && outside {
                    fault(&format!("{length:?} items, not {rule}"));
                }
            }
            "const"
            | "minimum"
            | "maximum"
            | "$ref"
            | "anyOf"
            | "oneOf"
            | "allOf"
            | "properties"
            | "additionalProperties"
            | "items"
            | "prefixItems" => {}
            word => assert!(WORDS.contains(&word), "the check does not know `{word}` of {at}"),
        }
    }
    parts(value, schema, at, faults);
}

/// Checks the schemas within a schema.
fn parts(value: &Value, schema: &Value, at: &str, faults: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#/$defs/").expect("a definition of its own");
        check(value, &RUN["$defs"][name], at, faults);
    }
    for all in schema["allOf"].as_array().into_iter().flatten() {
        check(value, all, at, faults);
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(choices) = schema[keyword].as_array() else { continue };
        let fits = |choice: &&Value| {
            let mut faults = Vec::new();
            check(value, choice, at, &mut faults);
            faults.is_empty()
        };
        if choices.iter().find(fits).is_none() {
            faults.push(format!("{at}: {value} fits none of {choices:?}"));
        }
    }
    for (name, part) in value.as_object().into_iter().flatten() {
        let place = format!("{at}.{name}");
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            // A key that the schema does not have is one that it forgot.
            (Value::Null, Value::Null | Value::Bool(false)) if !schema["properties"].is_null() => {
                faults.push(format!("{place}: is not in the schema"));
            }
            (Value::Null, Value::Null | Value::Bool(_)) => {}
            (Value::Null, other) => check(part, other, &place, faults),
            (own, _) => check(part, own, &place, faults),
        }
    }
    for (index, part) in value.as_array().into_iter().flatten().enumerate() {
        let own = match (&schema["prefixItems"][index], &schema["items"]) {
            (Value::Null, items) => items,
            (own, _) => own,
        };
        if !own.is_null() {
            check(part, own, &format!("{at}[{index}]"), faults);
        }
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("`{other}` is no type"),
    }
}
