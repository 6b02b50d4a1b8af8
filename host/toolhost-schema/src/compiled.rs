//! A compiled schema, and checks of values.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, Retrieve, Uri, ValidationError, ValidationOptions, Validator};
use serde_json::{Value, json as value};
use toolhost_contract::JsonSchemaObject;

use super::args::Issues;
use super::cost::pattern::PatternBudget;
use super::cost::{self, Cost};
use super::error::SchemaError;
use super::json::Measure;
use super::relaxed::Relaxed;
use super::{args, json, path, problem};
use toolhost_contract::text::short;

/// Maximum size of a schema as JSON, in bytes.
pub(super) const SCHEMA_MAX_BYTES: usize = 256 * 1024;

/// Maximum nesting of a schema as JSON: that of arguments, with two levels of the schema for each.
pub(super) const SCHEMA_MAX_DEPTH: usize = 128;

/// A schema, and the cost of checking values with it.
#[derive(Debug)]
pub(super) struct CompiledSchema {
    validator: Validator,
    cost: Cost,
}

impl CompiledSchema {
    /// Compiles the schema of a manifest's key, with which the places in its errors begin.
    pub(super) fn compile(
        key: &str,
        schema: &JsonSchemaObject,
        budget: &mut PatternBudget,
    ) -> Result<Self, SchemaError> {
        let schema = schema.to_value();
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
        let validator = linear_options()
            .build(&schema)
            .map_err(|error| invalid(key, &error))?;
        Ok(Self { validator, cost })
    }

    /// Compiles a schema as [`Self::compile`] does, without the patterns that cannot be matched in linear
    /// time. Returns an error for each of them: the schema refuses nothing because of it.
    pub(super) fn compile_without_patterns(
        key: &str,
        schema: &JsonSchemaObject,
        budget: &mut PatternBudget,
    ) -> Result<(Self, Vec<SchemaError>), SchemaError> {
        // Patterns that cannot be compiled would use it up.
        let mut spare = *budget;
        let error = match Self::compile(key, schema, budget) {
            Ok(compiled) => return Ok((compiled, Vec::new())),
            Err(error) => error,
        };
        let is_shallow = json::depth(&schema.to_value()) <= SCHEMA_MAX_DEPTH;
        let relaxed = is_shallow.then(|| Relaxed::of(key, schema, &is_linear));
        let Some(Relaxed { schema, unchecked }) = relaxed.filter(|it| !it.unchecked.is_empty())
        else {
            return Err(error);
        };
        let compiled = Self::compile(key, &schema, &mut spare)?;
        *budget = spare;
        Ok((compiled, unchecked))
    }

    pub(super) fn is_short(&self, value: &Value, size: Measure) -> bool {
        self.cost.is_short(value, size)
    }

    /// Returns the issues of a value that does not fit. Their places begin with `name`.
    pub(super) fn check(&self, name: &str, value: &Value, size: Measure) -> Result<(), Issues> {
        if !self.cost.allows_check(value, size) {
            return Err(Issues::unexplained(format!(
                "{name}: too large to be checked"
            )));
        }
        if self.validator.is_valid(value) {
            return Ok(());
        }
        if !self.cost.allows_explanation(size) {
            return Err(Issues::unexplained(format!(
                "{name}: does not fit the schema"
            )));
        }
        Err(args::issues(name, value, self.validator.iter_errors(value)))
    }
}

/// The options of all schemas: nothing is read that they refer to, and patterns are matched in linear time.
pub(super) fn linear_options() -> ValidationOptions<'static> {
    jsonschema::options()
        .with_retriever(RefuseAll)
        .with_pattern_options(linear())
}

/// The options of patterns: automata of a limited size, without backtracking.
fn linear() -> PatternOptions<impl Sized> {
    PatternOptions::regex().size_limit(cost::pattern::PATTERN_MAX_BYTES)
}

/// Whether a pattern can be matched in linear time.
fn is_linear(pattern: &str) -> bool {
    let schema = value!({ "pattern": pattern });
    let options = jsonschema::options().with_pattern_options(linear());
    options.build(&schema).is_ok()
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

fn invalid(key: &str, error: &ValidationError<'_>) -> SchemaError {
    let place = path::dotted(key, error.instance_path());
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
