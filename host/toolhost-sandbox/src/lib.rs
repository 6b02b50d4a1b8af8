//! The cell: runs one handler of a WASI component under given grants and limits.
//!
//! [`Sandbox`] is the process's shared handle, [`Sandbox::prepare`] turns bytes into a
//! [`PreparedTool`], and [`PreparedTool::call`] runs one handler in a fresh instance, or asks again
//! for the outcome of one that answered with a handle. The sandbox
//! never asks what is allowed; it is told by [`Grants`] and [`Limits`], and `Grants::none()`, the
//! default, opens nothing.
//!
//! This crate alone names the engine.

mod after_host_calls;
mod agents;
mod bindings;
mod cache;
mod call;
mod compile;
mod compiler;
mod component_code;
mod engine;
mod error;
mod fs;
mod http;
mod imports;
mod lanes;
mod memory;
mod meter;
mod output;
mod placement;
mod places;
mod pools;
mod prepared;
mod sandbox;
mod shares;
mod state;
mod stopped;
mod visit;
mod workdir;

pub use agents::{
    AgentEntry, AgentInstance, AgentReceipt, AgentRequest, AgentResponse, AgentSend, AgentSpawn,
    AgentsFuture, AgentsPort,
};
pub use cache::{CacheCleared, CacheConfig, CacheEntry, CacheError, CacheVerdict, ComponentCache};
pub use call::{Ask, CallReport, Invocation, Outcome};
pub use compile::CompileLimits;
pub use compiler::Compiler;
pub use error::{PrepareError, SandboxError, SandboxStartError};
pub use http::{HttpConfig, HttpResolved, HttpResolver, SystemResolver};
pub use output::{LogLevel, LogRecord, cuts};
pub use pools::Allocation;
pub use prepared::{CodeOrigin, ComponentFacts, PreparedTool};
pub use sandbox::{Sandbox, SandboxConfig};
pub use workdir::{FileIo, Workdir, WorkdirError, WorkdirRules, WriteProtected};

pub use toolhost_contract::{
    AddressBlock, AddressBlockError, DiskLimit, FileId, Grants, HandlerSpec, HttpCredential,
    HttpCredentialError, HttpGrant, HttpRule, HttpRuleError, Limits, OriginError, Protected,
    WorkdirAccess,
};
