//! The description of one handler.

use serde_json::Value;

use crate::bindings::outputs::exports::goondan::tool::outputs::OutputSpec;
use crate::bindings::tool::goondan::tool::types::ExportSpec;

/// The description and parameters of a handler, for what goondan.yaml leaves out. [`handlers!`](crate::handlers)
/// makes it: its fields are named as these functions.
#[derive(Clone, Debug)]
pub struct Handler {
    name: &'static str,
    description: Option<String>,
    parameters: Option<Value>,
    output_schema: Option<Value>,
}

impl Handler {
    #[doc(hidden)]
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            description: None,
            parameters: None,
            output_schema: None,
        }
    }

    /// What the handler does, for the model.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// JSON Schema of the input, an object schema.
    #[must_use]
    pub fn parameters(mut self, parameters: Value) -> Self {
        self.parameters = Some(parameters);
        self
    }

    pub(crate) fn output_schema(mut self, schema: Option<Value>) -> Self {
        self.output_schema = schema;
        self
    }
}

impl From<Handler> for ExportSpec {
    fn from(handler: Handler) -> Self {
        Self {
            name: handler.name.into(),
            description: handler.description,
            parameters: handler.parameters.map(|it| it.to_string()),
        }
    }
}

/// Returns what a handler returns, if that has a schema.
#[doc(hidden)]
#[must_use]
pub fn output(handler: Handler) -> Option<OutputSpec> {
    Some(OutputSpec {
        name: handler.name.into(),
        schema: handler.output_schema?.to_string(),
    })
}
