//! Middleware: the layers around turns, steps and tool calls, and the contexts that they get.

mod audit;
pub(crate) mod catch_unwind;
mod context;
mod contexts;
mod metadata;
mod origin;
pub(crate) mod pipeline;
mod progress;
mod redaction;
mod suspended;

pub use audit::{AuditLog, AuditLogError};
pub use context::MiddlewareContext;
pub use contexts::{CallKind, StepContext, ToolCallContext, TurnContext};
pub use metadata::Metadata;
pub use origin::CallOrigin;
pub use pipeline::{Middleware, Next};
pub(crate) use progress::{Progress, sanitize_error_code};
pub(crate) use suspended::{Opened, SuspendedPipeline};
