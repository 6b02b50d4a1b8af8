//! Stored records of pending calls: owner, state and result. They outlive the process.
//!
//! ```text
//! Guest:      Waiting ─┬▶ Done        the component is polled with its own handle
//! Background: Running ─┴▶ Cancelled   a process runs the call; if it dies, Done: interrupted
//! ```

mod handle;
mod interrupt;
mod records;
mod results;
mod row;
mod schema;

use std::time::SystemTime;

use toolhost_contract::{AssistantMessage, ToolResult};

pub(crate) use self::handle::Handle;
pub(crate) use self::records::{AcceptError, Records};
pub(crate) use self::schema::SCHEMA;

/// Owner of a record. Only the owner can find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Key of the bundle, as in the path of its workspaces.
    pub(crate) bundle: String,
    /// Name of the agent.
    pub(crate) agent: String,
    /// Key of the agent instance.
    pub(crate) instance_key: String,
}

/// The call, for polling and for reporting its result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PendingCall {
    /// Id of the call.
    pub(crate) call_id: String,
    /// Name of the called tool.
    pub(crate) tool_name: String,
    /// Id of the turn.
    pub(crate) turn_id: String,
    /// Id of the trace, if any.
    pub(crate) trace_id: Option<String>,
    /// The assistant message with the call. Once the call has ended, it has only id and name.
    pub(crate) message: AssistantMessage,
}

/// A record to insert.
#[derive(Debug, Clone)]
pub(crate) struct NewRecord {
    /// The owner.
    pub(crate) owner: Owner,
    /// The call.
    pub(crate) call: PendingCall,
    /// Source of the result.
    pub(crate) source: NewSource,
    /// Expiry, later than any deadline of the call. Expired records cannot be found.
    pub(crate) expires_at: SystemTime,
}

/// Source of the result of a new record.
#[derive(Debug, Clone)]
pub(crate) enum NewSource {
    /// The component, polled with the handle it returned.
    Guest {
        /// The component's own handle.
        guest_handle: String,
    },
    /// A call that this process runs.
    Background,
}

/// Source of the result of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// The component, polled with the handle it returned last.
    Guest {
        /// The component's own handle.
        guest_handle: String,
    },
    /// A call in another or this process.
    Background {
        /// Id of the process: see [`Store::run_id`](toolhost_store::Store::run_id).
        run_id: String,
    },
}

/// State of a record. `Done` and `Cancelled` are final.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    /// A process runs the call.
    Running,
    /// The component must be polled.
    Waiting,
    /// The call has ended with this result.
    Done(Box<ToolResult>),
    /// The caller cancelled the call.
    Cancelled,
}

impl State {
    /// Returns whether the state can still change.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Running | Self::Waiting => true,
            Self::Done(_) | Self::Cancelled => false,
        }
    }
}

/// A pending or ended call with a handle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    /// The handle.
    pub(crate) handle: Handle,
    /// The owner.
    pub(crate) owner: Owner,
    /// The call.
    pub(crate) call: PendingCall,
    /// Source of the result.
    pub(crate) source: Source,
    /// The state.
    pub(crate) state: State,
    /// Creation time, in Unix milliseconds.
    pub(crate) created_ms: i64,
    /// Expiry, in Unix milliseconds.
    pub(crate) expires_ms: i64,
}

#[cfg(test)]
mod tests;
