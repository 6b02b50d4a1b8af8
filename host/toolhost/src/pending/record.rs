//! Stored records of pending calls: owner, state and result. They outlive the process.
//!
//! ```text
//! Running ─┬▶ Done        a process runs the call; if it dies, Done: interrupted
//! Waiting ─┤  Cancelled   the component is polled with its own handle
//! Held ────┘              somebody has to consent; then it runs, waits or is done
//! ```

mod approval;
mod call_workdir;
mod notice;
mod records;
mod row;
mod schema;

use std::time::SystemTime;

use toolhost_contract::{AssistantMessage, ToolCall, ToolError, ToolResult};
use toolhost_store::sql::{ToValue, ValueRef};
use toolhost_store::{is_random_text, random_text};

pub(crate) use self::approval::{
    ApprovalId, Decided, Decision, Hold, NewHold, OwnedHold, TEXT_MAX, Taking,
};
pub(crate) use self::call_workdir::CallWorkdir;
pub(crate) use self::notice::{Notice, NoticeEvent};
pub(crate) use self::records::{AcceptError, CancelReply, Records};
pub(crate) use self::schema::SCHEMA;

/// Prefix of every handle.
const PREFIX: &str = "pending_";

/// Random letters of a handle: 160 bits.
const LETTERS: usize = 32;

/// Handle of a pending call: `pending_` and 160 random bits in base32. It cannot be guessed, and only
/// the owner of the record can use it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Handle(String);

impl Handle {
    fn random() -> Result<Self, getrandom::Error> {
        Ok(Self(format!("{PREFIX}{}", random_text::<LETTERS>()?)))
    }

    /// Parses a handle. Returns `None` if the text does not have the form of a handle.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let letters = text.strip_prefix(PREFIX)?;
        is_random_text::<LETTERS>(letters).then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl ToValue for Handle {
    fn to_value(&self) -> ValueRef<'_> {
        self.0.to_value()
    }
}

/// Owner of a record. Only the owner can find it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
    /// The workdir of the instance that called. None if it was removed meanwhile, and in records of earlier
    /// releases.
    pub(crate) workdir: Option<CallWorkdir>,
    /// The user whose grants of OAuthApps the call uses.
    pub(crate) subject: Option<String>,
}

impl PendingCall {
    /// Returns the call, as the message has it.
    pub(crate) fn tool_call(&self) -> ToolCall {
        let mut calls = self.message.tool_calls().iter();
        let args = calls.find(|one| one.id == self.call_id);
        let args = args.map(|one| one.args.clone()).unwrap_or_default();
        ToolCall::new(&*self.call_id, &*self.tool_name, args)
    }
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
    /// Somebody has to consent first.
    Held {
        /// The handle of its component, which waits as well.
        guest_handle: Option<String>,
        /// The process in which another call waits for it.
        inner_of: Option<String>,
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
            Self::Running { .. } | Self::Waiting { .. } | Self::Held { .. } => true,
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

impl Record {
    /// Returns the result of the call with an error.
    pub(crate) fn failed(&self, error: ToolError) -> ToolResult {
        ToolResult::error(&self.call.call_id, &self.call.tool_name, error)
    }
}

#[cfg(test)]
mod tests;
