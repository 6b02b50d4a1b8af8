//! The event model of agents, and its wire format between agent processes.

mod delegation;
mod event;
mod ipc;
mod limits;

pub use delegation::Delegation;
pub use event::{AgentEvent, EventSource, RESPONSE_TYPE, ReplyTo};
pub use ipc::{IPC_DEPTH_MAX, IPC_LINE_BYTES_MAX, IpcBody, IpcError, IpcMessage};
pub use limits::EventError;

#[cfg(test)]
mod tests;
