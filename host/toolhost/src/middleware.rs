//! Middleware: the layers around turns, steps and tool calls, and the contexts that they get.

mod audit;
pub(crate) mod catch_unwind;
mod contexts;
pub(crate) mod pipeline;
mod progress;
mod suspended;

pub use audit::{AuditFailure, AuditLog, AuditLogError};
pub use contexts::{
    CallKind, CallOrigin, Metadata, MiddlewareContext, StepContext, ToolCallContext, TurnContext,
};
pub use pipeline::{Middleware, Next};
pub(crate) use progress::{Progress, sanitize_error_code};
pub(crate) use suspended::SuspendedPipeline;
