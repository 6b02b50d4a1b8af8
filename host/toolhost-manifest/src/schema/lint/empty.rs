//! Finds schemas that no value fits.
//!
//! Only what is certain is reported: keywords of one schema that exclude each other, and what follows from
//! that for the schemas around it. A schema may be untrusted, so the work is limited; beyond the limit
//! nothing is reported.

use std::cell::Cell;
use std::collections::HashSet;

use serde_json::{Map, Value};

/// Maximum number of subschemas that are visited for one schema.
const VISITS_MAX: u32 = 200_000;

/// Maximum nesting that is followed.
const DEPTH_MAX: u32 = 256;

/// Why no value fits a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cause {
    /// The names of the keywords and members that lead to the place.
    pub(super) path: Vec<String>,
    pub(super) reason: String,
}

impl Cause {
    fn here(reason: impl Into<String>) -> Option<Self> {
        Some(Self {
            path: Vec::new(),
            reason: reason.into(),
        })
    }

    fn beneath(mut self, names: &[&str]) -> Self {
        let above = names.iter().map(|name| (*name).to_owned());
        self.path = above.chain(self.path).collect();
        self
    }
}

/// Which schemas of a document fit no value.
pub(super) struct Emptiness<'s> {
    root: &'s Value,
    /// The targets of references that some value fits.
    inhabited: HashSet<*const Value>,
    visits_left: Cell<u32>,
}

impl<'s> Emptiness<'s> {
    /// Prepares the targets of references.
    ///
    /// A schema that requires itself in a member fits no finite value. So at first all targets count as
    /// empty, and each round adds those that some value fits, until a round adds none.
    pub(super) fn of(root: &'s Value) -> Self {
        let mut this = Self {
            root,
            inhabited: HashSet::new(),
            visits_left: Cell::new(VISITS_MAX),
        };
        let mut waiting = this.targets();
        loop {
            let before = waiting.len();
            waiting.retain(|target| {
                let is_empty = this.schema(target, 0).is_some();
                if !is_empty {
                    this.inhabited.insert(std::ptr::from_ref(*target));
                }
                is_empty
            });
            if waiting.len() == before || this.is_exhausted() {
                return this;
            }
        }
    }

    /// Returns why no value fits a schema of the document; `None` if one may.
    pub(super) fn of_schema(&self, schema: &'s Value) -> Option<Cause> {
        let cause = self.schema(schema, 0);
        cause.filter(|_| !self.is_exhausted())
    }

    fn is_exhausted(&self) -> bool {
        self.visits_left.get() == 0
    }

    /// Returns the targets of all references, each once.
    fn targets(&self) -> Vec<&'s Value> {
        let (mut targets, mut known) = (Vec::new(), HashSet::new());
        let mut rest = vec![self.root];
        while let Some(value) = rest.pop() {
            match value {
                Value::Array(items) => rest.extend(items),
                Value::Object(members) => {
                    let target = self.target(members);
                    targets.extend(target.filter(|it| known.insert(std::ptr::from_ref(*it))));
                    rest.extend(members.values());
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        targets
    }

    /// Returns the target of a `$ref` that is a JSON pointer. Others are not followed.
    fn target(&self, keywords: &Map<String, Value>) -> Option<&'s Value> {
        let pointer = keywords.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }

    fn schema(&self, schema: &'s Value, depth: u32) -> Option<Cause> {
        let left = self.visits_left.get().checked_sub(1)?;
        self.visits_left.set(left);
        if depth > DEPTH_MAX {
            return None;
        }
        let keywords = match schema {
            Value::Bool(false) => return Cause::here("the schema 'false' allows no value"),
            Value::Object(keywords) => keywords,
            Value::Bool(true)
            | Value::Null
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => return None,
        };
        if let Some(reason) = contradiction(keywords) {
            return Cause::here(reason);
        }
        if let Some(target) = self.target(keywords)
            && !self.inhabited.contains(&std::ptr::from_ref(target))
        {
            return Cause::here("'$ref' leads to a schema that no value fits");
        }
        self.of_all_of(keywords, depth)
            .or_else(|| self.of_alternatives(keywords, depth))
            .or_else(|| self.of_members(keywords, depth))
            .or_else(|| self.of_items(keywords, depth))
    }

    fn of_all_of(&self, keywords: &'s Map<String, Value>, depth: u32) -> Option<Cause> {
        let all = keywords.get("allOf")?.as_array()?;
        all.iter().enumerate().find_map(|(index, schema)| {
            let cause = self.schema(schema, depth + 1)?;
            Some(cause.beneath(&["allOf", &index.to_string()]))
        })
    }

    fn of_alternatives(&self, keywords: &'s Map<String, Value>, depth: u32) -> Option<Cause> {
        ["anyOf", "oneOf"].into_iter().find_map(|keyword| {
            let all = keywords.get(keyword)?.as_array()?;
            let is_empty = |schema| self.schema(schema, depth + 1).is_some();
            let reason = format!("no value fits any schema of '{keyword}'");
            let none = !all.is_empty() && all.iter().all(is_empty);
            none.then(|| Cause::here(reason))?
        })
    }

    /// Returns why an object cannot have the members that it must have.
    fn of_members(&self, keywords: &'s Map<String, Value>, depth: u32) -> Option<Cause> {
        if !types(keywords).eq(["object"]) {
            return None;
        }
        let required = keywords.get("required")?.as_array()?;
        let properties = keywords.get("properties").and_then(Value::as_object);
        required.iter().filter_map(Value::as_str).find_map(|name| {
            let property = properties.and_then(|properties| properties.get(name));
            match property {
                Some(property) => {
                    let cause = self.schema(property, depth + 1)?;
                    Some(cause.beneath(&["properties", name]))
                }
                None if forbids_others(keywords) => Cause::here(format!(
                    "'{}' is required, but 'additionalProperties' forbids it",
                    crate::quote::short(name)
                )),
                None => None,
            }
        })
    }

    /// Returns why a list cannot have the items that it must have.
    fn of_items(&self, keywords: &'s Map<String, Value>, depth: u32) -> Option<Cause> {
        if !types(keywords).eq(["array"]) || keywords.contains_key("prefixItems") {
            return None;
        }
        let least = keywords.get("minItems").and_then(Value::as_f64);
        least.filter(|least| *least > 0.0)?;
        let cause = self.schema(keywords.get("items")?, depth + 1)?;
        Some(cause.beneath(&["items"]))
    }
}

/// Returns whether an object has no members but those in `properties`.
fn forbids_others(keywords: &Map<String, Value>) -> bool {
    let others = keywords.get("additionalProperties");
    others == Some(&Value::Bool(false)) && !keywords.contains_key("patternProperties")
}

/// The types of JSON Schema.
const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// Returns the types that a schema allows.
fn types(keywords: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let declared = keywords.get("type");
    let one = declared.and_then(Value::as_str);
    let several = declared.and_then(Value::as_array);
    let all = (one.is_none() && several.is_none()).then_some(TYPES);
    let several = several.into_iter().flatten().filter_map(Value::as_str);
    one.into_iter()
        .chain(several)
        .chain(all.into_iter().flatten())
}

/// Returns why the keywords of one schema exclude each other; `None` if some value may fit.
pub(super) fn contradiction(keywords: &Map<String, Value>) -> Option<String> {
    if let Some(values) = allowed_values(keywords) {
        let has_type = |value: &&Value| types(keywords).any(|name| is_of_type(value, name));
        return match values.iter().find(has_type) {
            Some(_) => None,
            None if values.is_empty() => Some("'enum' is empty".to_owned()),
            None => Some("no value of 'enum' or 'const' has the type of the schema".to_owned()),
        };
    }
    let mut reason = None;
    for name in types(keywords) {
        reason = Some(contradiction_for(keywords, name)?);
    }
    reason
}

/// Returns the values of `const` or `enum`.
fn allowed_values(keywords: &Map<String, Value>) -> Option<&[Value]> {
    if let Some(value) = keywords.get("const") {
        return Some(std::slice::from_ref(value));
    }
    keywords.get("enum")?.as_array().map(Vec::as_slice)
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => {
            let is_whole = number.as_f64().is_none_or(|number| number.fract() == 0.0);
            name == "number" || (name == "integer" && is_whole)
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

/// Returns why no value of a type fits; `None` if one may.
fn contradiction_for(keywords: &Map<String, Value>, name: &str) -> Option<String> {
    match name {
        "number" | "integer" => of_numbers(keywords, name),
        "string" => of_sizes(keywords, "minLength", "maxLength"),
        "array" => of_sizes(keywords, "minItems", "maxItems"),
        "object" => of_sizes(keywords, "minProperties", "maxProperties"),
        _ => None,
    }
}

fn of_sizes(keywords: &Map<String, Value>, least: &str, most: &str) -> Option<String> {
    let (min, max) = (keywords.get(least)?, keywords.get(most)?);
    (min.as_f64()? > max.as_f64()?).then(|| format!("'{least}' {min} is above '{most}' {max}"))
}

/// A bound of numbers: the keyword, the limit, and whether the limit itself is excluded.
struct Bound<'s> {
    keyword: &'s str,
    limit: f64,
    excludes: bool,
}

fn of_numbers(keywords: &Map<String, Value>, name: &str) -> Option<String> {
    let bound = |keyword: &'static str, excludes| {
        let limit = keywords.get(keyword)?.as_f64()?;
        Some(Bound {
            keyword,
            limit,
            excludes,
        })
    };
    let lower = [bound("minimum", false), bound("exclusiveMinimum", true)];
    let upper = [bound("maximum", false), bound("exclusiveMaximum", true)];
    let lower = || lower.iter().flatten();
    let upper = || upper.iter().flatten();
    let mut pairs = lower().flat_map(|low| upper().map(move |high| (low, high)));
    let (low, high) = pairs.find(|(low, high)| {
        let same = low.limit == high.limit && (low.excludes || high.excludes);
        low.limit > high.limit || same || (name == "integer" && has_no_integer(low, high))
    })?;
    Some(format!(
        "no {name} lies between '{}' {} and '{}' {}",
        low.keyword, low.limit, high.keyword, high.limit
    ))
}

fn has_no_integer(low: &Bound<'_>, high: &Bound<'_>) -> bool {
    let first = if low.excludes {
        low.limit.floor() + 1.0
    } else {
        low.limit.ceil()
    };
    let last = if high.excludes {
        high.limit.ceil() - 1.0
    } else {
        high.limit.floor()
    };
    // Beyond 2^53 a double is not exact.
    first.abs() < 9e15 && last.abs() < 9e15 && first > last
}
