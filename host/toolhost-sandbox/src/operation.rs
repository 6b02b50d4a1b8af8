//! What a component is to do, and how it answers.

use serde_json::Value;
use toolhost_contract::{ExportName, HandlerError};

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
