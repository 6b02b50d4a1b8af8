//! Description of a handler.

use crate::ExportName;

/// A handler of a component, as returned by `describe` and `describe-outputs`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HandlerSpec {
    /// Name passed to `call`.
    pub name: ExportName,
    /// Description for the model.
    pub description: Option<String>,
    /// JSON Schema of the input, as unchecked text.
    pub parameters: Option<String>,
    /// JSON Schema of the output, as unchecked text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<String>,
}
