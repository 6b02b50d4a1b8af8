//! What is known of a tool and of its calls: its definition, what it can reach, what it logged and what it
//! was denied.

pub use crate::call::live_log::CallLogRecord;
pub use crate::catalog::provider::{ModelProvider, ProviderFinding};
pub use crate::tool_access::ToolAccess;
pub use toolhost_contract::{
    Denial, ExportName, JsonError, JsonLimits, JsonPlace, JsonSchemaObject, JsonShape, NameError,
    NoLine, SourceType, ToolContext, ToolSource,
};
