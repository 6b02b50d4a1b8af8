//! Events and spans of turns, steps and tool calls.
//!
//! There are four ways to receive them. None of them delays or fails a call:
//!
//! - [`EventBus::subscribe`]: events in this process, as they happen;
//! - `events.jsonl` in an instance's directory, one event per line;
//! - [`calls`](crate::calls): the calls of a state root, to be searched;
//! - `tracing` spans of target `toolhost::call`, which `toolhost-otel` exports to a collector with OTLP.
//!
//! Events contain no arguments, outputs or messages of a conversation, because these may contain
//! secrets. An error has the message that the model receives, within its limit. The event of a search of tools has its
//! query, cut at 256 bytes and without the policy's secrets, so that its misses tell what tools are missing.
//!
//! ```json
//! {"type":"tool.failed","timestamp":"2026-11-21T05:00:00.000Z","agentName":"coder",
//!  "instanceKey":"user-1","turnId":"turn-1","stepId":"step-1","toolCallId":"call_1",
//!  "toolName":"bash__exec","traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7",
//!  "parentSpanId":"53995c3f42cd8ad8","status":"error","durationMs":30001.2,
//!  "error":{"code":"E_TOOL_TIMEOUT","message":"…"},"usage":{…}}
//! ```
//!
//! ```json
//! {"type":"tools.searched", …, "toolCallId":"call_2","toolName":"tools__search",
//!  "search":{"query":"resize an image","hits":0,"best":[]}}
//! ```
//!
//! A grant of an OAuthApp belongs to no call; only subscribers receive its event:
//!
//! ```json
//! {"type":"auth.granted","timestamp":"2026-11-21T05:00:00.000Z","auth":{"app":"github",
//!  "subject":"ada","authSessionId":"…","scopes":["repo"],"expiresAt":"2026-11-21T06:00:00.000Z"}}
//! ```

mod activity;
mod bounded;
pub(crate) mod broadcast_stream;
mod bus;
mod event;
mod grants;
mod log;
pub(crate) mod ring;
mod span;
mod trace;
mod worker;

pub use bus::{EventBus, EventBusConfig, EventStream, Received};
pub use event::{EventError, EventKind, RuntimeEvent, ToolSearch};
pub use toolhost_contract::Timestamp;
pub use trace::{SpanId, TraceContext, TraceId};

pub(crate) use activity::{Activity, Emitter};

#[cfg(test)]
mod tests;
