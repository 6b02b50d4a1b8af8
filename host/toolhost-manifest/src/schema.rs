//! JSON Schema of a tool's arguments: compiled once when a tool is registered, asked at every call.
//!
//! A schema comes with a tool, so it is a stranger's too. Closed:
//! - references out of the schema: no file, no URL is ever read
//! - patterns that backtrack: matching is linear in the text
//! - schemas whose size, depth, patterns or repetition would cost the host more than a call is worth

mod args;
mod cost;
mod error;
mod issues;
pub mod json;
mod limits;
mod path;
mod problem;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, Retrieve, Uri, ValidationError, Validator};
use serde_json::Value;
use toolhost_contract::{JsonSchemaObject, ToolName};

pub use args::ArgsError;
use cost::Cost;
pub use cost::pattern::PatternBudget;
pub use error::SchemaError;
use issues::Issues;
use limits::{PATTERN_MAX_BYTES, SCHEMA_MAX_BYTES, SCHEMA_MAX_DEPTH};
use toolhost_contract::text;

/// Longest pattern shown, in characters.
const PATTERN_SHOWN: usize = 80;

/// A compiled schema. Cheap to ask: a call whose arguments fit costs well under a microsecond.
#[derive(Debug)]
pub struct ArgsSchema {
    validator: Validator,
    cost: Cost,
    required: Vec<String>,
    allowed: Vec<String>,
}

impl ArgsSchema {
    /// Compiles the `parameters` of an export.
    ///
    /// Without `$schema`, draft 2020-12 holds; `format` is a remark, not a rule. Its patterns are
    /// taken from `budget`.
    ///
    /// # Errors
    /// [`SchemaError`] says why it cannot be used.
    pub fn compile(
        parameters: &JsonSchemaObject,
        budget: &mut PatternBudget,
    ) -> Result<Self, SchemaError> {
        let schema = parameters.to_value();
        let depth = json::depth(&schema);
        if depth > SCHEMA_MAX_DEPTH {
            return Err(SchemaError::TooDeep { depth });
        }
        let bytes = schema.to_string().len();
        if bytes > SCHEMA_MAX_BYTES {
            return Err(SchemaError::TooLarge { bytes });
        }
        let cost = cost::assess(&schema, budget)?;
        let validator = jsonschema::options()
            .with_retriever(RefuseAll)
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_MAX_BYTES))
            .build(&schema)
            .map_err(|error| invalid(&error))?;
        let keys = parameters.as_object();
        let required = keys.get("required").and_then(Value::as_array);
        let properties = keys.get("properties").and_then(Value::as_object);
        Ok(Self {
            validator,
            cost,
            required: required
                .map(|names| {
                    names
                        .iter()
                        .filter_map(Value::as_str)
                        .map(str::to_owned)
                        .collect()
                })
                .unwrap_or_default(),
            allowed: properties
                .map(|map| map.keys().cloned().collect())
                .unwrap_or_default(),
        })
    }

    /// Whether checking these arguments keeps no thread longer than some milliseconds.
    pub fn is_short(&self, args: &Value) -> bool {
        self.cost.is_short(args, json::measure(args))
    }

    /// Checks the arguments of a call, a JSON object.
    ///
    /// # Errors
    /// [`ArgsError`] lists what does not fit, ready for the model.
    pub fn validate(&self, tool: &ToolName, args: &Value) -> Result<(), ArgsError> {
        let size = json::measure(args);
        if !self.cost.allows_check(args, size) {
            return Err(self.refuse(tool, Issues::one("args: too large to be checked")));
        }
        if self.validator.is_valid(args) {
            return Ok(());
        }
        if !self.cost.allows_explanation(size) {
            return Err(self.refuse(
                tool,
                Issues::one("args: does not fit the tool's parameters"),
            ));
        }
        Err(self.refuse(tool, Issues::of(args, self.validator.iter_errors(args))))
    }

    fn refuse(&self, tool: &ToolName, issues: Issues) -> ArgsError {
        ArgsError::new(tool, &issues, &self.required, &self.allowed)
    }
}

/// Retrieves nothing: a schema names files and URLs, and the host shall not read them.
struct RefuseAll;

impl Retrieve for RefuseAll {
    fn retrieve(
        &self,
        _uri: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err("references out of the schema are not followed".into())
    }
}

fn invalid(error: &ValidationError<'_>) -> SchemaError {
    let place = path::dotted("parameters", error.instance_path());
    let pointer = error.instance_path().as_str().to_owned();
    let pattern = error.instance().as_str().filter(|_| {
        place.ends_with(".pattern") || matches!(error.kind(), ValidationErrorKind::Format { .. })
    });
    match pattern {
        Some(pattern) => SchemaError::Pattern {
            pattern: text::shorten(pattern, PATTERN_SHOWN),
            place,
            pointer,
        },
        None => SchemaError::Invalid {
            place,
            pointer,
            problem: problem::of(error),
        },
    }
}

#[cfg(test)]
mod tests;
