//! Rewrites the top of a schema as one object with `properties`: OpenAI's API answers "schema must have type
//! 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level", Anthropic's "input_schema does
//! not support oneOf, allOf, or anyOf at the top level", each to the whole request.

use serde_json::{Value, json};
use toolhost_contract::{JsonObject, text};

use super::forms::{Form, sentence};

/// Keywords that are rewritten. A reference is resolved, so that the parameters are at the top.
const REWRITTEN: [&str; 6] = ["$ref", "allOf", "anyOf", "oneOf", "not", "enum"];

/// Schemas within schemas at the top, and references that follow each other.
const DEPTH_MAX: usize = 16;

/// Longest schema that is quoted in a sentence, in characters.
const QUOTED_MAX: usize = 500;

/// A schema without [`REWRITTEN`] at its top.
#[derive(Debug)]
pub(super) struct Folded {
    pub(super) schema: JsonObject,
    /// What the schema no longer says, in sentences for the model.
    pub(super) notes: Vec<String>,
}

/// Rewrites a schema. Returns none if nothing is to be rewritten.
///
/// # Errors
/// Why it cannot be rewritten.
pub(super) fn fold(schema: &JsonObject) -> Result<Option<Folded>, String> {
    if !REWRITTEN
        .iter()
        .any(|keyword| schema.contains_key(*keyword))
    {
        return Ok(None);
    }
    if let Some(reference) = schema.values().find_map(reference_into_rewritten) {
        return Err(format!(
            "`{reference}` refers to a part that would be rewritten"
        ));
    }
    let mut folded = Folder { root: schema }.fold(schema, 0)?;
    // What references of the schema point to.
    for keyword in ["$defs", "definitions"] {
        if let Some(definitions) = schema.get(keyword) {
            folded
                .schema
                .insert(keyword.to_owned(), definitions.clone());
        }
    }
    Ok(Some(folded))
}

/// Returns a reference to what is rewritten. Recurses as deep as the schema, whose depth is limited.
fn reference_into_rewritten(schema: &Value) -> Option<&str> {
    match schema {
        Value::Object(keywords) => {
            let reference = keywords.get("$ref").and_then(Value::as_str);
            let is_into = |reference: &&str| {
                let place = reference.strip_prefix("#/");
                let first = place.and_then(|place| place.split('/').next());
                first.is_some_and(|first| REWRITTEN.contains(&first))
            };
            let here = reference.filter(is_into);
            here.or_else(|| keywords.values().find_map(reference_into_rewritten))
        }
        Value::Array(schemas) => schemas.iter().find_map(reference_into_rewritten),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

struct Folder<'a> {
    root: &'a JsonObject,
}

impl<'a> Folder<'a> {
    fn fold(&self, schema: &JsonObject, depth: usize) -> Result<Folded, String> {
        let mut folded = Folded {
            schema: schema.clone(),
            notes: Vec::new(),
        };
        // References are resolved to the definitions of the root.
        folded.schema.shift_remove("$defs");
        folded.schema.shift_remove("definitions");
        for keyword in REWRITTEN {
            let Some(value) = folded.schema.shift_remove(keyword) else {
                continue;
            };
            match keyword {
                "$ref" => self.conjunction(&mut folded, &[json!({"$ref": value})], depth)?,
                "allOf" => self.conjunction(&mut folded, branches(keyword, &value)?, depth)?,
                "anyOf" | "oneOf" => {
                    self.disjunction(&mut folded, keyword, branches(keyword, &value)?, depth)?;
                }
                "not" => folded.notes.push(negation(&value)?),
                _ => folded.notes.push(format!(
                    "The arguments must equal one of {}.",
                    quoted(keyword, &value)?
                )),
            }
        }
        Ok(folded)
    }

    /// Adds what several schemas demand together.
    fn conjunction(
        &self,
        folded: &mut Folded,
        branches: &[Value],
        depth: usize,
    ) -> Result<(), String> {
        for branch in branches {
            let Some(branch) = self.object(branch, depth)? else {
                return Err("a part of it allows no object".to_owned());
            };
            add(&mut folded.schema, branch.schema);
            folded.notes.extend(branch.notes);
        }
        Ok(())
    }

    /// Adds the properties of alternatives. Which belong together becomes a sentence.
    fn disjunction(
        &self,
        folded: &mut Folded,
        keyword: &str,
        branches: &[Value],
        depth: usize,
    ) -> Result<(), String> {
        let mut objects = Vec::new();
        for branch in branches {
            // Arguments are objects: what allows none is never chosen.
            objects.extend(self.object(branch, depth)?);
        }
        if objects.is_empty() {
            return Err(format!("no schema of `{keyword}` allows an object"));
        }
        let forms = objects.iter();
        let forms = forms.map(|object| Form::of(&object.schema, &object.notes));
        let forms: Vec<Form> = forms.collect();
        let required = required_by_all(&objects);
        let mut properties = JsonObject::new();
        for object in objects {
            for (name, property) in properties_of(object.schema) {
                add_alternative(&mut properties, name, property);
            }
        }
        let of_schema = folded.schema.entry("properties");
        if let Some(of_schema) = of_schema.or_insert_with(|| json!({})).as_object_mut() {
            for (name, property) in properties {
                // The schema itself demands its own of every form.
                of_schema.entry(name).or_insert(property);
            }
        }
        require(&mut folded.schema, required);
        folded.notes.extend(sentence(keyword, &forms));
        Ok(())
    }

    /// Resolves and folds a schema within the top. Returns none if it allows no object.
    fn object(&self, schema: &Value, depth: usize) -> Result<Option<Folded>, String> {
        if depth > DEPTH_MAX {
            return Err("its schemas are nested or refer to each other too deeply".to_owned());
        }
        let schema = match schema {
            Value::Bool(true) => {
                return Ok(Some(Folded {
                    schema: JsonObject::new(),
                    notes: Vec::new(),
                }));
            }
            Value::Object(schema) => schema,
            // No other value is a schema.
            Value::Bool(false)
            | Value::Null
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => return Ok(None),
        };
        let allows_object = match schema.get("type") {
            None => true,
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
            Some(kind) => kind == "object",
        };
        if !allows_object {
            return Ok(None);
        }
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
            return self.fold(schema, depth + 1).map(Some);
        };
        let mut schema = schema.clone();
        schema.shift_remove("$ref");
        let target = self.target(reference)?;
        let Some(mut folded) = self.object(target, depth + 1)? else {
            return Ok(None);
        };
        let siblings = self.fold(&schema, depth + 1)?;
        add(&mut folded.schema, siblings.schema);
        folded.notes.extend(siblings.notes);
        Ok(Some(folded))
    }

    fn target(&self, reference: &str) -> Result<&'a Value, String> {
        let unresolved =
            || format!("the reference `{reference}` is not to a definition of the schema");
        let place = reference.strip_prefix("#/").ok_or_else(unresolved)?;
        let mut parts = place.split('/');
        let first = parts.next().ok_or_else(unresolved)?;
        let first = self.root.get(first).ok_or_else(unresolved)?;
        let rest = parts.fold(String::new(), |rest, part| rest + "/" + part);
        first.pointer(&rest).ok_or_else(unresolved)
    }
}

fn branches<'v>(keyword: &str, value: &'v Value) -> Result<&'v [Value], String> {
    let branches = value.as_array().map(Vec::as_slice);
    branches.ok_or_else(|| format!("`{keyword}` is not a list"))
}

/// Adds the demands of a folded schema to another.
fn add(schema: &mut JsonObject, other: JsonObject) {
    for (keyword, value) in other {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(added)) => {
                let properties = schema.entry("properties").or_insert_with(|| json!({}));
                let Some(properties) = properties.as_object_mut() else {
                    continue;
                };
                for (name, property) in added {
                    match properties.get_mut(&name) {
                        None => drop(properties.insert(name, property)),
                        Some(earlier) if *earlier == property => {}
                        Some(earlier) => *earlier = json!({"allOf": [earlier.take(), property]}),
                    }
                }
            }
            ("required", Value::Array(names)) => require(schema, names),
            // A part must not refuse what the other parts describe. The host checks it.
            ("additionalProperties" | "unevaluatedProperties" | "type", _) => {}
            (_, value) => {
                schema.entry(keyword).or_insert(value);
            }
        }
    }
}

fn add_alternative(properties: &mut JsonObject, name: String, property: Value) {
    let Some(earlier) = properties.get_mut(&name) else {
        properties.insert(name, property);
        return;
    };
    if *earlier == property {
        return;
    }
    let alternatives = earlier
        .as_object_mut()
        .filter(|keywords| keywords.len() == 1);
    match alternatives.and_then(|keywords| keywords.get_mut("anyOf")?.as_array_mut()) {
        Some(alternatives) if alternatives.contains(&property) => {}
        Some(alternatives) => alternatives.push(property),
        None => *earlier = json!({"anyOf": [earlier.take(), property]}),
    }
}

fn require(schema: &mut JsonObject, names: Vec<Value>) {
    if names.is_empty() {
        return;
    }
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut() {
        for name in names {
            if !required.contains(&name) {
                required.push(name);
            }
        }
    }
}

fn required_by_all(objects: &[Folded]) -> Vec<Value> {
    let required = |folded: &Folded| {
        let names = folded.schema.get("required").and_then(Value::as_array);
        names.cloned().unwrap_or_default()
    };
    let mut lists = objects.iter().map(required);
    let first = lists.next().unwrap_or_default();
    lists.fold(first, |common, names| {
        common
            .into_iter()
            .filter(|name| names.contains(name))
            .collect()
    })
}

fn properties_of(mut schema: JsonObject) -> JsonObject {
    match schema.shift_remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => JsonObject::new(),
    }
}

/// Returns the sentence of `not`.
fn negation(value: &Value) -> Result<String, String> {
    let keywords = value.as_object().filter(|keywords| keywords.len() == 1);
    let required = keywords.and_then(|keywords| keywords.get("required")?.as_array());
    let names = required.map(|names| names.iter().filter_map(Value::as_str));
    match names.map(|names| names.map(|name| format!("`{name}`")).collect::<Vec<_>>()) {
        Some(names) if names.len() == 1 => Ok(format!("Do not pass {}.", names.concat())),
        Some(names) if names.len() > 1 => {
            Ok(format!("Do not pass {} together.", names.join(" and ")))
        }
        Some(_) | None => Ok(format!(
            "The arguments must not fit the JSON Schema {}.",
            quoted("not", value)?
        )),
    }
}

/// Returns JSON for a sentence.
fn quoted(keyword: &str, value: &Value) -> Result<String, String> {
    let json = value.to_string();
    if json.len() > QUOTED_MAX {
        let length = json.len();
        return Err(format!(
            "`{keyword}` is too long for a sentence: {length} bytes, at most {QUOTED_MAX}"
        ));
    }
    Ok(text::shorten(&json, QUOTED_MAX))
}
