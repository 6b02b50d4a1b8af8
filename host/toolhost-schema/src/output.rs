//! The schema of a tool's output.

use serde_json::Value;
use toolhost_contract::{JsonSchemaObject, Locale, ToolError, ToolErrorCode, ToolName};

use super::compiled::CompiledSchema;
use super::cost::pattern::PatternBudget;
use super::error::SchemaError;
use super::json::Measure;

/// The compiled `outputSchema` of an export. It has the limits of [`ArgsSchema`](super::ArgsSchema).
#[derive(Debug)]
pub struct OutputSchema(CompiledSchema);

impl OutputSchema {
    /// Compiles the `outputSchema` of an export. The patterns are taken from `budget`.
    ///
    /// # Errors
    /// [`SchemaError`] if the schema is invalid or costs too much.
    pub fn compile(
        schema: &JsonSchemaObject,
        budget: &mut PatternBudget,
    ) -> Result<Self, SchemaError> {
        CompiledSchema::compile("outputSchema", schema, budget).map(Self)
    }

    /// Compiles the `outputSchema` of a server's tool: see [`ArgsSchema::compile_foreign`].
    ///
    /// # Errors
    /// As [`Self::compile`].
    ///
    /// [`ArgsSchema::compile_foreign`]: super::ArgsSchema::compile_foreign
    pub fn compile_foreign(
        schema: &JsonSchemaObject,
        budget: &mut PatternBudget,
    ) -> Result<(Self, Vec<SchemaError>), SchemaError> {
        let (schema, unchecked) =
            CompiledSchema::compile_without_patterns("outputSchema", schema, budget)?;
        Ok((Self(schema), unchecked))
    }

    /// Returns whether checking this output, of this size, takes at most some milliseconds.
    pub fn is_short(&self, output: &Value, size: Measure) -> bool {
        self.0.is_short(output, size)
    }

    /// Checks the output of a call, of this size.
    ///
    /// # Errors
    /// `E_TOOL_INVALID_OUTPUT`. Its message lists the issues.
    pub fn validate(
        &self,
        tool: &ToolName,
        output: &Value,
        size: Measure,
        locale: Locale,
    ) -> Result<(), ToolError> {
        self.0.check("output", output, size).map_err(|issues| {
            let issues = issues.text;
            let message =
                format!("Tool '{tool}' failed: its output does not fit its outputSchema: {issues}");
            ToolError::host(ToolErrorCode::InvalidOutput, message, locale)
        })
    }
}
