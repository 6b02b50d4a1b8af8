//! Middleware: the pipeline of layers around turns, steps and tool calls, and the contexts they get.

mod audit;
mod context;
mod layer;
mod metadata;
pub(crate) mod pipeline;
mod progress;
mod redaction;
mod suspended;

pub use audit::{AuditLog, AuditLogError};
pub use context::{CallKind, StepContext, ToolCallContext, TurnContext};
pub(crate) use layer::{Panicked, unpanicked};
pub use metadata::Metadata;
pub use pipeline::{BoxFuture, Middleware, MiddlewareContext, Next};
pub(crate) use progress::{Progress, sanitize_error_code};
pub(crate) use suspended::{Opened, SuspendedPipeline};
pub use toolhost_contract::Redactor;
