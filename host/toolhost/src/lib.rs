//! Loads bundles of tools and executes the tool calls of AI agents in sandboxes.
//!
//! A *Tool* is a YAML resource whose `entry` is a WASI component. A [`Host`] loads a bundle of tools
//! and returns the [`ToolCatalog`] of each step for the model. It executes each call in a fresh sandbox
//! whose only filesystem is one directory, within limits. Every call returns a [`ToolResult`], also if
//! it fails.
//!
//! The root has what each runtime uses. The rest is in modules by subject: [`extension`] and
//! [`middleware`] for what a runtime adds to an agent, [`events`], [`calls`], [`pending`] and [`message`]
//! for what it receives and returns, [`sandbox`], [`manifest`], [`http`], [`mcp`] and [`tool`] for what it can look at
//! and configure, [`search`] for finding tools, [`workdir`] and [`credentials`] for parts that it can replace, [`recording`] for calls that are replayed, [`agents`] for agents that
//! talk to each other.
//!
//! Each operation has an error type of its own, such as [`HostError`] or [`LoadError`]. [`ToolError`] is
//! shared by what a model may read: results of calls, and the ends of turns and steps, to which middleware
//! contributes. [`extension::ExtensionError`] is shared by all that an extension registers.
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
mod api;
pub mod approvals;
mod background;
pub mod backup;
pub mod budgets;
mod call;
mod catalog;
mod catalog_tools;
pub mod events;
pub mod extension;
mod handler;
mod handles;
mod host;
pub mod instances;
mod live_bundle;
mod load;
mod loaded_bundle;
pub mod message;
pub mod middleware;
pub mod oauth;
pub mod pending;
pub mod recording;
mod registry;
mod state_store;
mod watch;
mod workdir_provider;
mod worker;
mod workers;
mod workspace;

pub use agent::Agent;
pub use agents_tool::agents_tool;
pub use api::{
    calls, credentials, fleet, http, lock, manifest, mcp, sandbox, search, state, tool, workdir,
};
pub use catalog::ToolCatalog;
pub use catalog::script_language::ScriptLanguage;
pub use catalog_tools::catalog_tools;
pub use handles::instance::Instance;
pub use handles::step::Step;
pub use handles::turn::{Turn, TurnStart};
pub use host::{Host, HostBuilder, HostError, LoadProgress};
pub use live_bundle::{BundleChanges, LiveBundle};
pub use loaded_bundle::{AgentError, LoadedBundle, WorkspaceError};
pub use watch::BundleWatch;

pub use futures_util::future::BoxFuture;
pub use tokio_util::sync::CancellationToken;
pub use toolhost_agents as agents;
pub use toolhost_contract::{
    AssistantMessage, ErrorCode, HandlerError, JsonObject, Locale, MessageError, ResourceName,
    ToolCall, ToolCatalogItem, ToolError, ToolErrorCode, ToolName, ToolResult, ToolStatus, Usage,
    text,
};
pub use toolhost_manifest::{LoadError, Policy, PolicyError};
pub use toolhost_sandbox::{Sandbox, SandboxConfig, Workdir, WorkdirError};
