//! A handler, as its component describes it.

use crate::ExportName;

/// One handler a component serves, as its `describe` names it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HandlerSpec {
    /// Name in `call`.
    pub name: ExportName,
    /// What it does.
    pub description: Option<String>,
    /// JSON Schema of its input, as text; nothing in it has been checked.
    pub parameters: Option<String>,
}
