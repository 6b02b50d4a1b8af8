//! JSON Schemas of tools' arguments: compiled when a tool is registered, used for every call.
//!
//! A schema may be untrusted. Refused are:
//! - references out of the schema: no file and no URL is read
//! - patterns that need backtracking: matching takes time linear in the text
//! - schemas whose size, depth, patterns or repetition would cost the host too much

mod args;
mod cost;
mod error;
pub mod json;
mod path;
mod problem;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, Retrieve, Uri, ValidationError, Validator};
use serde_json::{Map, Value};
use toolhost_contract::{JsonSchemaObject, ToolName, text};

use crate::quote::short;
pub use args::ArgsError;
use cost::Cost;
pub use cost::pattern::PatternBudget;
pub use error::SchemaError;

/// Maximum size of a schema as JSON, in bytes.
const SCHEMA_MAX_BYTES: usize = 256 * 1024;

/// Maximum nesting of a schema as JSON: that of arguments, with two levels of the schema for each.
const SCHEMA_MAX_DEPTH: usize = 128;

/// Maximum number of parameters that an error lists as required or allowed.
const NAMES_MAX: usize = 50;

/// A compiled schema. Checking valid arguments takes well under a microsecond.
#[derive(Debug)]
pub struct ArgsSchema {
    validator: Validator,
    cost: Cost,
    /// The names of the parameters, for errors: `required=[…], allowed=[…]`.
    accepted: String,
}

impl ArgsSchema {
    /// Compiles the `parameters` of an export.
    ///
    /// The default draft is 2020-12. `format` is an annotation, and is not checked. The patterns are taken
    /// from `budget`.
    ///
    /// # Errors
    /// [`SchemaError`] if the schema is invalid or costs too much.
    pub fn compile(
        parameters: &JsonSchemaObject,
        budget: &mut PatternBudget,
    ) -> Result<Self, SchemaError> {
        let schema = parameters.to_value();
        let depth = json::depth(&schema);
        if depth > SCHEMA_MAX_DEPTH {
            return Err(SchemaError::Limit(format!(
                "the schema is nested {depth} deep: at most {SCHEMA_MAX_DEPTH} are allowed"
            )));
        }
        let bytes = schema.to_string().len();
        if bytes > SCHEMA_MAX_BYTES {
            return Err(SchemaError::Limit(format!(
                "the schema is {bytes} bytes of JSON: at most {SCHEMA_MAX_BYTES} are allowed"
            )));
        }
        let cost = cost::assess(&schema, budget)?;
        let patterns = PatternOptions::regex().size_limit(cost::pattern::PATTERN_MAX_BYTES);
        let validator = jsonschema::options()
            .with_retriever(RefuseAll)
            .with_pattern_options(patterns)
            .build(&schema)
            .map_err(|error| invalid(&error))?;
        let keys = parameters.as_object();
        let required = keys.get("required").and_then(Value::as_array).into_iter();
        let required = required.flatten().filter_map(Value::as_str);
        let allowed = keys
            .get("properties")
            .and_then(Value::as_object)
            .into_iter();
        let allowed = allowed.flat_map(Map::keys).map(String::as_str);
        Ok(Self {
            validator,
            cost,
            accepted: format!(
                "required=[{}], allowed=[{}]",
                text::listed(required, NAMES_MAX),
                text::listed(allowed, NAMES_MAX)
            ),
        })
    }

    /// Returns whether checking these arguments takes at most some milliseconds.
    pub fn is_short(&self, args: &Value) -> bool {
        self.cost.is_short(args, json::measure(args))
    }

    /// Checks the arguments of a call, a JSON object.
    ///
    /// # Errors
    /// [`ArgsError`] lists the issues for the model.
    pub fn validate(&self, tool: &ToolName, args: &Value) -> Result<(), ArgsError> {
        let size = json::measure(args);
        let refused = |issues: &str| Err(ArgsError::new(tool, issues, &self.accepted));
        if !self.cost.allows_check(args, size) {
            return refused("args: too large to be checked");
        }
        if self.validator.is_valid(args) {
            return Ok(());
        }
        if !self.cost.allows_explanation(size) {
            return refused("args: does not fit the tool's parameters");
        }
        refused(&args::issues(args, self.validator.iter_errors(args)))
    }
}

/// Refuses to read the files and URLs that schemas refer to.
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
            pattern: short(pattern),
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
