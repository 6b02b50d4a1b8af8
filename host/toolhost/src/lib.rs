//! The house: from a bundle of YAML resources to the [`ToolResult`] of a call.
//!
//! A *Tool* is a YAML resource whose `entry` is a WASI component. A [`Host`] loads a bundle of them,
//! shows a step's [`ToolCatalog`] to the model, and executes what the model asks for: in a fresh
//! sandbox whose only filesystem is one directory, within limits, and with a result for an answer
//! whatever happens.
//!
//! ```text
//! Host::load ▶ LoadedBundle ▶ Agent ▶ Step ── execute(ToolCall, &CallContext) ▶ ToolResult
//! ```

mod agent;
pub mod bundle;
mod catalog;
mod context;
mod executor;
mod failure;
mod host;
mod inspect;
mod loaded;
mod loader;
mod policy;
mod registry;
mod result;
mod schema;
mod telemetry;
mod workspace;

pub use agent::{Agent, Step};
pub use bundle::{Bundle, Diagnostic, LoadError, Severity, YamlSource};
pub use catalog::ToolCatalog;
pub use context::CallContext;
pub use host::{Host, HostBuilder, HostError, LoadProgress};
pub use inspect::{Inspection, inspect};
pub use loaded::{AgentError, Declares, LoadedBundle, WorkspaceError};
pub use loader::prepare_error_code;
pub use policy::{Policy, PolicyError};

pub use toolhost_contract::{
    AssistantMessage, ErrorCode, HandlerError, JsonObject, Locale, MessageError, ResourceName,
    ToolCall, ToolCatalogItem, ToolError, ToolErrorCode, ToolName, ToolResult, ToolStatus, Usage,
};
pub use toolhost_sandbox::{
    Allocation, CacheConfig, CacheError, ComponentFacts, FileIo, Grants, HandlerSpec, Limits,
    Origin, PrepareError, Sandbox, SandboxConfig, SandboxStartError, Workdir, WorkdirAccess,
    WorkdirError,
};
