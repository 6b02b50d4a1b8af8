//! Middleware: the pipeline of layers around turns, steps and tool calls, and the contexts they get.

mod audit;
mod context;
mod layer;
mod metadata;
pub(crate) mod pipeline;
mod progress;
mod redact;
mod redaction;
mod suspended;

pub use audit::{AuditLog, AuditLogError};
pub use context::{Occasion, StepContext, ToolCallContext, TurnContext};
pub(crate) use layer::{Panicked, unpanicked};
pub use metadata::Metadata;
pub use pipeline::{BoxFuture, Middleware, Next, Passage};
pub(crate) use progress::{Progress, unforged_error};
pub use redact::Redactor;
pub(crate) use suspended::{Held, Opened};
