//! What a call is to do, and what its component answers.

use std::sync::Arc;

use serde_json::Value;
use toolhost_contract::{ExportName, HandlerError, ToolContext};

use crate::host::agents::port::AgentsPort;
use crate::workdir::{Workdir, WriteProtected};
use crate::{Grants, Limits};

/// What a component is to do. Each operation is a call of its own, in a fresh instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Runs a handler.
    Handler {
        /// Its name.
        name: ExportName,
        /// The arguments: a JSON object, as text.
        input: String,
    },
    /// Returns the outcome of a handle, where it is known by now.
    Poll {
        /// The handle, as [`Outcome::Pending`] gave it.
        handle: String,
    },
    /// Tells the component that nobody waits for a handle any longer. Its outcome is `Output(null)`.
    Cancel {
        /// The handle, as [`Outcome::Pending`] gave it.
        handle: String,
    },
}

/// Everything one call needs.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// What the component is to do.
    pub operation: Operation,
    /// Who calls.
    pub context: ToolContext,
    /// The guest's `/`; none where the call gets no directory.
    pub workdir: Option<Workdir>,
    /// Files and directories that the guest must not change.
    pub protected: WriteProtected,
    /// What it may use beyond the workdir.
    pub grants: Grants,
    /// The other agents; none where it may not reach them.
    pub agents: Option<Arc<dyn AgentsPort>>,
    /// Its limits.
    pub limits: Limits,
}

/// How a handler ended by itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Its result.
    Output(Value),
    /// The result is not known yet. The next [`Operation::Poll`] takes this handle, which may differ from
    /// the one just polled. At most 1 KiB.
    Pending(String),
    /// It returned an error. Its texts have at most as many bytes as an output.
    Failed(HandlerError),
}
