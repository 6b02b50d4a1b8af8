//! Extensions: tools and middleware that a runtime adds to an agent.

mod api;
mod error;

pub use api::{ExtensionApi, PipelineApi, ToolsApi};
pub use error::ExtensionError;
