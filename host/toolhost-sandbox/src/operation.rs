//! How a component answers.

use serde_json::Value;
use toolhost_contract::HandlerError;

/// How a handler ended by itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Its result.
    Output(Value),
    /// The result is not known yet. The next [`Operation::Poll`](toolhost_contract::Operation::Poll) takes this handle, which may differ from
    /// the one just polled. At most 1 KiB.
    Pending(String),
    /// It returned an error. Its texts have at most as many bytes as an output.
    Failed(HandlerError),
}
