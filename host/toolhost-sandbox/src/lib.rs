//! The cell: runs one handler of a WASI component under given grants and limits.
//!
//! [`Sandbox`] is the process's shared handle, [`Sandbox::prepare`] turns bytes into a
//! [`PreparedTool`], and [`PreparedTool::call`] runs one handler in a fresh instance. The sandbox
//! never asks what is allowed; it is told by [`Grants`] and [`Limits`], and `Grants::none()`, the
//! default, opens nothing.
//!
//! This crate alone names the engine.

mod bindings;
mod cache;
mod call;
mod compile;
mod engine;
mod error;
mod fs;
mod grants;
mod imports;
mod limits;
mod memory;
mod meter;
mod output;
mod placement;
mod prepared;
mod sandbox;
mod state;
mod stopped;
mod workdir;

pub use cache::{CacheConfig, CacheError};
pub use call::{CallReport, Invocation, Outcome};
pub use compile::CompileLimits;
pub use engine::Allocation;
pub use error::{PrepareError, SandboxError, SandboxStartError};
pub use grants::{Grants, WorkdirAccess};
pub use limits::Limits;
pub use output::{LogLevel, LogRecord};
pub use prepared::{ComponentFacts, HandlerSpec, Origin, PreparedTool};
pub use sandbox::{Sandbox, SandboxConfig};
pub use workdir::{FileId, FileIo, Workdir, WorkdirError, WorkdirRules, WriteProtected};
