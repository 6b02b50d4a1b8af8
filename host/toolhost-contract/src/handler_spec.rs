//! Description of a handler.

use crate::ExportName;

/// A handler of a component, as returned by `describe`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HandlerSpec {
    /// Name passed to `call`.
    pub name: ExportName,
    /// Description for the model.
    pub description: Option<String>,
    /// JSON Schema of the input, as unchecked text.
    pub parameters: Option<String>,
}
