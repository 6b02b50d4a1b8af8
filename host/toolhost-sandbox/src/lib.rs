//! The sandbox: runs one handler of a WASI component under given grants and limits.
//!
//! [`Sandbox`] is the process's shared handle, [`Sandbox::prepare`] turns bytes into a
//! [`PreparedTool`], and [`PreparedTool::call`] runs one handler in a fresh instance, or polls the
//! outcome of a handler that returned a handle. The caller passes [`Grants`] and [`Limits`] with each
//! call. `Grants::none()`, the default, allows nothing beyond the workdir.
//!
//! No other crate depends on the engine.

mod accounting;
mod call;
mod component;
mod config;
mod engine;
mod error;
mod host;
mod kernel_features;
mod operation;
mod platform;
mod prepare;
mod recording;
mod sandbox;
mod scheduler;
mod store;
mod tool;

pub use accounting::output::{LiveLog, LogLevel, LogRecord, LogSink};
pub use call::invocation::{CallReport, Invocation};
pub use component::cache::{CacheCleared, CacheConfig, CacheEntry, CacheVerdict, ComponentCache};
pub use component::code_origin::{CodeOrigin, PreparedCount};
pub use component::compiler::Compiler;
pub use component::facts::ComponentFacts;
pub use component::limits::CompileLimits;
pub use config::SandboxConfig;
pub use error::{CacheError, PrepareError, SandboxError, SandboxStartError};
pub use host::agents::port::{AgentsFuture, AgentsPort};
pub use host::effects::{
    ClockKind, EffectsPort, InFlight, RequestVerdict, SentCount, WholeRequest, WholeResponse,
    random_seed,
};
pub use host::tools::port::{CallFailure, OuterCall, StartedCall, ToolEntry, ToolsPort};
pub use kernel_features::KernelFeatures;
pub use operation::Outcome;
pub use prepare::{BuildFolder, CheckedTool, PrepareStage, ResumeError, UncompiledTool};
pub use recording::options::{
    RecordOptions, ReplayEnd, ReplayError, ReplayObserver, ReplayOptions, ReplayReport, ReplayStep,
};
pub use sandbox::Sandbox;
pub use tool::PreparedTool;
pub use toolhost_files::{
    BegunRun, CommitError, CommitOptions, CommitRun, CommitTurn, Durability, FileDifference,
    FileIo, FileReplacement, HeldChanges, HeldError, HeldState, Recovered, ReplaceFilesError,
    ReplacedFiles, Shortage, StagingError, StagingRoot, UndoError, UndoLimits, UndoRecord, Undone,
    Unrecovered, Workdir, WorkdirCommit, WorkdirError, WorkdirHandle, WorkdirRules, WriteProtected,
};

pub use toolhost_egress::{Egress, HttpConfig};

pub use toolhost_contract::{
    AddressBlock, AddressBlockError, DiskLimit, FailedOperation, FileId, Grants, HandlerSpec,
    HttpCredential, HttpCredentialError, HttpGrant, HttpRule, HttpRuleError, Limits, Operation,
    OriginError, Protected, WorkdirAccess,
};
