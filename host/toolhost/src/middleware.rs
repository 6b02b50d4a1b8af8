//! Middleware: the layers around turns, steps and tool calls, and the contexts that they get.

mod audit;
pub(crate) mod catch_unwind;
mod contexts;
mod extensions;
mod identity;
pub(crate) mod pipeline;
mod progress;
mod suspended;

pub use audit::{AuditFailure, AuditLog, AuditLogError};
pub use contexts::{CallKind, MiddlewareContext, StepContext, ToolCallContext, TurnContext};
pub use extensions::Extensions;
pub use identity::{CallIdentity, CallOrigin};
pub(crate) use identity::{NAME_SHOWN, display_name};
pub use pipeline::{Middleware, Next};
pub(crate) use progress::{Progress, sanitize_error_code};
pub(crate) use suspended::SuspendedPipeline;
pub use toolhost_contract::Redactor;
