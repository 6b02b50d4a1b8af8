//! Stored records of pending calls: owner, state and result. They outlive the process.
//!
//! ```text
//! Running ─┬▶ Done        a process runs the call; if it dies, Done: interrupted
//! Waiting ─┴▶ Cancelled   the component is polled with its own handle
//! ```

mod handle;
mod records;
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
    pub(crate) agent: String,
    pub(crate) instance_key: String,
}

/// The call, for polling and for reporting its result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PendingCall {
    pub(crate) call_id: String,
    pub(crate) tool_name: String,
    pub(crate) turn_id: String,
    pub(crate) trace_id: Option<String>,
    /// The assistant message with the call. Once the call has ended, it has only id and name.
    pub(crate) message: AssistantMessage,
}

/// A record to insert.
#[derive(Debug, Clone)]
pub(crate) struct NewRecord {
    pub(crate) owner: Owner,
    pub(crate) call: PendingCall,
    /// The component's own handle. If there is none, this process runs the call.
    pub(crate) guest_handle: Option<String>,
    /// Expiry, later than any deadline of the call. Expired records cannot be found.
    pub(crate) expires_at: SystemTime,
}

/// State of a record. `Done` and `Cancelled` are final.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    /// A process runs the call.
    Running {
        /// Id of the process: see [`Store::run_id`](toolhost_store::Store::run_id).
        run_id: String,
    },
    /// The component must be polled.
    Waiting {
        /// The handle that the component returned last.
        guest_handle: String,
    },
    /// The call has ended with this result.
    Done(Box<ToolResult>),
    /// The caller cancelled the call.
    Cancelled,
}

impl State {
    /// Returns whether the state can still change.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Running { .. } | Self::Waiting { .. } => true,
            Self::Done(_) | Self::Cancelled => false,
        }
    }
}

/// A pending or ended call with a handle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) handle: Handle,
    pub(crate) owner: Owner,
    pub(crate) call: PendingCall,
    pub(crate) state: State,
}

#[cfg(test)]
mod tests;
