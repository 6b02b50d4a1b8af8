//! The records of calls that were answered with a handle: who may ask, how far they are, what they
//! came to. They outlive the process.
//!
//! ```text
//! Guest:      Waiting ─┬▶ Done        the component is asked again with its own handle
//! Background: Running ─┴▶ Cancelled   a call runs in a process; if that dies, Done: interrupted
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

/// Whose a record is. Nobody else finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The bundle, by the key its workspaces have.
    pub(crate) bundle: String,
    /// The agent whose step made the call.
    pub(crate) agent: String,
    /// The agent instance.
    pub(crate) instance_key: String,
}

/// What is needed to ask for the result again, or to say what became of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PendingCall {
    /// Id of the call.
    pub(crate) call_id: String,
    /// Name that was called.
    pub(crate) tool_name: String,
    /// Id of the turn.
    pub(crate) turn_id: String,
    /// Id of the trace, where the runtime has one.
    pub(crate) trace_id: Option<String>,
    /// The assistant message that holds the call; of an ended one only the call's name is left.
    pub(crate) message: AssistantMessage,
}

/// A record to be made.
#[derive(Debug, Clone)]
pub(crate) struct NewRecord {
    /// Whose it is.
    pub(crate) owner: Owner,
    /// The call.
    pub(crate) call: PendingCall,
    /// Where the result is to come from.
    pub(crate) source: NewSource,
    /// From when on nobody finds it. Later than any deadline of the call itself.
    pub(crate) expires_at: SystemTime,
}

/// Where the result of a new record is to come from.
#[derive(Debug, Clone)]
pub(crate) enum NewSource {
    /// The component, asked with the handle it gave.
    Guest {
        /// The component's own handle.
        guest_handle: String,
    },
    /// A call that this process runs.
    Background,
}

/// Where the result of a record comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// The component, asked with the handle it gave last.
    Guest {
        /// The component's own handle.
        guest_handle: String,
    },
    /// A call in the process of this run.
    Background {
        /// The run of the store: see [`Store::run_id`](toolhost_store::Store::run_id).
        run_id: String,
    },
}

/// How far a record is. The last two never change again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    /// A process runs the call.
    Running,
    /// The component has it and is to be asked.
    Waiting,
    /// This is what it came to.
    Done(Box<ToolResult>),
    /// Nobody wants it any more.
    Cancelled,
}

impl State {
    /// Whether it may still change.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Running | Self::Waiting => true,
            Self::Done(_) | Self::Cancelled => false,
        }
    }
}

/// A call that was answered with a handle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    /// Its handle.
    pub(crate) handle: Handle,
    /// Whose it is.
    pub(crate) owner: Owner,
    /// The call.
    pub(crate) call: PendingCall,
    /// Where its result comes from.
    pub(crate) source: Source,
    /// How far it is.
    pub(crate) state: State,
    /// When it was accepted, in Unix milliseconds.
    pub(crate) created_ms: i64,
    /// From when on nobody finds it, in Unix milliseconds.
    pub(crate) expires_ms: i64,
}

#[cfg(test)]
mod tests;
