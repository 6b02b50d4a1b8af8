//! Loads bundles of tools and executes the tool calls of AI agents in sandboxes.
//!
//! A *Tool* is a YAML resource whose `entry` is a WASI component. A [`Host`] loads a bundle of tools
//! and returns the [`ToolCatalog`] of each step for the model. It executes each call in a fresh sandbox
//! whose only filesystem is one directory, within limits. Every call returns a [`ToolResult`], also if
//! it fails.
//!
//! ```text
//! Host::load ▶ LoadedBundle ▶ Agent ▶ Instance ▶ Turn ▶ Step ── execute(ToolCall, &AssistantMessage) ▶ ToolResult
//! ```
//!
//! A turn with one step, in which a model's message calls tools:
//!
//! ```no_run
//! # use serde_json::{Value, json};
//! # async fn ask_model(tools: Value) -> Value { tools }
//! # async fn tell_model(results: Vec<Value>) {}
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use toolhost::{AssistantMessage, Host};
//!
//! let host = Host::builder().build()?; // once per process
//! let bundle = host.load("bundle").await?;
//! let workdir = host.workdir("/srv/project")?; // all that the tools see of the machine
//! let instance = bundle.only_agent()?.instance("user-1", workdir);
//!
//! let turn = instance.open_turn("turn-1").await?;
//! let step = turn.open_step().await?;
//! let message = ask_model(step.catalog().to_openai()).await;
//! let message = AssistantMessage::parse(message)?;
//! let results = step.execute_all(&message).await;
//! tell_model(results.iter().map(|result| result.to_openai()).collect()).await;
//! step.close(()).await?;
//! turn.close("answer").await?;
//! # Ok(())
//! # }
//! ```

mod agent;
mod agents_port;
mod agents_tool;
mod broadcast_stream;
mod call;
mod catalog;
pub mod events;
mod extension;
mod handler;
mod host;
mod inspect;
mod instance;
mod live_bundle;
mod load;
mod loaded_bundle;
pub mod message;
mod middleware;
mod pending;
mod registry;
mod step;
mod tool_access;
mod turn;
mod watch;
mod workspace;

pub use agent::Agent;
pub use agents_tool::agents_tool;
pub use call::failure::prepare_error_code;
pub use call::live_log::CallLogRecord;
pub use call::workdir::{
    CallWorkdir, InstanceWorkdir, OpenWorkdir, WorkdirProvider, WorkdirProviderError,
    WorkdirRequest, WorkdirTransaction,
};
pub use catalog::ToolCatalog;
pub use extension::{ExtensionApi, ExtensionError, PipelineApi, ToolsApi};
pub use handler::{HandlerContext, HandlerFailure, Logger, ToolHandler};
pub use host::{Host, HostBuilder, HostError, LoadProgress};
pub use inspect::{Inspection, inspect};
pub use instance::Instance;
pub use live_bundle::{BundleChanges, LiveBundle};
pub use loaded_bundle::{AgentError, Declares, GrantedMcpServer, LoadedBundle, WorkspaceError};
pub use middleware::{
    AuditFailure, AuditLog, AuditLogError, CallKind, CallOrigin, Extensions, Middleware,
    MiddlewareContext, Next, StepContext, ToolCallContext, TurnContext,
};
pub use pending::{Completed, Completion, Completions, PollReply};
pub use step::Step;
pub use tool_access::ToolAccess;
pub use turn::{Turn, TurnStart};
pub use watch::BundleWatch;

pub use futures_util::future::BoxFuture;
pub use tokio_util::sync::CancellationToken;
pub use toolhost_agents as agents;
pub use toolhost_contract::http::{
    Host as HttpHost, Origin as HttpOrigin, Scheme as HttpScheme, non_public_block,
};
pub use toolhost_contract::{
    AddressBlock, AssistantMessage, Denial, ErrorCode, ExportName, HandlerError, HttpCredential,
    HttpCredentialError, HttpGrant, HttpRule, HttpRuleError, JsonObject, JsonSchemaObject,
    JsonShape, Locale, McpServerResource, McpServerSpec, McpSource, McpTransportSpec, MessageError,
    NameError, Redactor, ResourceName, SourceType, ToolCall, ToolCatalogItem, ToolContext,
    ToolError, ToolErrorCode, ToolName, ToolResource, ToolResult, ToolSource, ToolStatus, Usage,
    text,
};
pub use toolhost_manifest::bundle::component_source::{
    BundleDirectory, ComponentSource, EntryFuture,
};
pub use toolhost_manifest::{
    Bundle, CredentialError, CredentialProvider, CredentialProviderError, CredentialResponse,
    Credentials, Diagnostic, LimitInfo, LoadError, McpGrant, McpOAuth, McpOAuthGrant, McpReach,
    Policy, PolicyError, SecretSource, Severity, YamlSource, bundle, manifest,
};
pub use toolhost_sandbox::{
    CacheConfig, CacheEntry, CacheError, CacheVerdict, CodeOrigin, Compiler, ComponentFacts,
    FileIo, Grants, HandlerSpec, HttpClient, HttpClientBody, HttpClientError, HttpConfig,
    HttpResolveFuture, HttpResolver, Limits, LogLevel, PrepareError, PreparedCount, Sandbox,
    SandboxConfig, SandboxStartError, SpareCount, Workdir, WorkdirAccess, WorkdirError,
};
