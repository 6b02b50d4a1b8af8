//! JSON Schemas of tools' arguments and outputs: compiled when a tool is registered, used for every call.
//!
//! A schema may be untrusted. Refused are:
//! - references out of the schema: no file and no URL is read
//! - patterns that need backtracking: matching takes time linear in the text
//! - schemas whose size, depth, patterns or repetition would cost the host too much
//!
//! Internal to toolhost: any release may change this API.

mod args;
mod compiled;
mod cost;
mod defaults;
mod error;
pub mod json;
mod keywords;
mod lint;
mod output;
mod path;
mod problem;
mod relaxed;
mod walk;

use serde_json::Value;
use toolhost_contract::{JsonSchemaObject, ToolName};

pub use args::ArgsError;
use compiled::CompiledSchema;
pub use cost::pattern::PatternBudget;
pub use defaults::unfit_defaults;
pub use error::SchemaError;
use json::Measure;
pub use lint::{SchemaPart, SchemaRemark, lint};
pub use output::OutputSchema;
pub use walk::without_annotations;

/// The compiled schema of a tool's arguments. Checking valid arguments takes well under a microsecond.
#[derive(Debug)]
pub struct ArgsSchema(CompiledSchema);

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
        CompiledSchema::compile("parameters", parameters, budget).map(Self)
    }

    /// Compiles the parameters of a server's tool, whose author is not asked to rewrite them. Patterns that
    /// cannot be matched in linear time, such as those with look-ahead, are not checked; the rest of the
    /// schema is. Returns an error for each pattern that is not checked.
    ///
    /// # Errors
    /// As [`Self::compile`], for other reasons than a pattern.
    pub fn compile_foreign(
        parameters: &JsonSchemaObject,
        budget: &mut PatternBudget,
    ) -> Result<(Self, Vec<SchemaError>), SchemaError> {
        let (schema, unchecked) =
            CompiledSchema::compile_without_patterns("parameters", parameters, budget)?;
        Ok((Self(schema), unchecked))
    }

    /// Returns whether checking these arguments takes at most some milliseconds. `size` is theirs: see
    /// [`json::measure`].
    pub fn is_short(&self, args: &Value, size: Measure) -> bool {
        self.0.is_short(args, size)
    }

    /// Checks the arguments of a call, a JSON object of this size.
    ///
    /// # Errors
    /// [`ArgsError`] lists the issues for the model.
    pub fn validate(&self, tool: &ToolName, args: &Value, size: Measure) -> Result<(), ArgsError> {
        let checked = self.0.check(args::ROOT, args, size);
        checked.map_err(|issues| ArgsError::new(tool, issues))
    }
}

#[cfg(test)]
mod tests;
