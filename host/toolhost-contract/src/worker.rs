//! Messages between a host and a worker, which runs components for it in another process.

mod call_id;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

pub use self::call_id::{WorkerCallId, WorkerCallIdError};
use crate::recording::Operation;
use crate::result::StoredResult;
use crate::{AssistantMessage, JsonError, JsonLimits, ToolName, ToolResult};

/// Version of [`WorkerCall`] and [`WorkerReport`]. A reader refuses others.
pub const WORKER_VERSION: u32 = 1;

/// A message has the arguments or the output of a call, and what both ends add.
const MESSAGE: JsonLimits = JsonLimits::new(130 << 20, 127, 4_000_000);

/// Most bytes of an id or a key in a message.
const ID_MAX: usize = 1024;

/// One run of a component, for a worker that has the same policy and the same bundle. It contains no secret, no grant and
/// no limit: the worker takes them from its own policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkerCall {
    /// [`WORKER_VERSION`].
    pub version: u32,
    /// Id of this run. A message with the same id is the same run.
    pub id: WorkerCallId,
    /// Id of the run of the host that gets the report.
    pub origin: String,
    /// SHA-256 of the policy and the bundle, in hexadecimal.
    pub terms: String,
    /// Name of the agent.
    pub agent: String,
    /// Key of the agent's instance.
    pub instance_key: String,
    /// Id of the turn.
    pub turn_id: String,
    /// Id of the step. Empty for a poll or a cancellation.
    pub step_id: String,
    /// Id of the call, as the model gave it.
    pub call_id: String,
    /// Id of the trace.
    pub trace_id: String,
    /// Name of the tool.
    pub tool: ToolName,
    /// What its component is to do.
    pub operation: Operation,
    /// The assistant message with the call.
    #[serde(deserialize_with = "message")]
    pub message: AssistantMessage,
    /// Id of the state root in which the workspace of the instance lies: a worker with another state root does not run the
    /// call. None if the component uses no files.
    pub state_root: Option<String>,
    /// How often the host has sent it: 1 at first.
    pub attempt: u32,
    /// Time that the call has, in milliseconds, from when the host sent it.
    pub deadline_ms: u64,
}

/// How a run of a component ended on a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkerReport {
    /// [`WORKER_VERSION`].
    pub version: u32,
    /// The run.
    pub id: WorkerCallId,
    /// Id of the worker.
    pub worker: String,
    /// What the carrier takes to acknowledge the message of the call.
    pub receipt: String,
    /// Whether the worker has claimed the call, as it may run once only.
    pub is_claimed: bool,
    /// Whether the component has answered. If not, the worker did not start it, stopped it, or did not commit its
    /// changes.
    pub has_answered: bool,
    /// Its output, its error or its handle, and what it used. Secrets of the worker's policy are redacted.
    #[serde(with = "StoredResult")]
    pub result: ToolResult,
}

/// Why a message is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerMessageError {
    /// It is not JSON of the form of the message, or exceeds its limits: 130 MiB, 127 levels, 4,000,000 values.
    #[error("the message {0}")]
    Json(#[from] JsonError),
    /// Another version of toolhost sent it.
    #[error(
        "the message has version {found}, and this toolhost reads {WORKER_VERSION}: run the same release everywhere"
    )]
    Version {
        /// Its version.
        found: u64,
    },
    /// An id or a key in it is too long.
    #[error("'{field}' of the message has more than {ID_MAX} bytes")]
    TooLong {
        /// The field.
        field: &'static str,
    },
}

impl WorkerCall {
    /// Parses the JSON of a message.
    ///
    /// # Errors
    /// [`WorkerMessageError`].
    pub fn parse(json: &[u8]) -> Result<Self, WorkerMessageError> {
        let call: Self = parse(json)?;
        let fields = [
            ("origin", &call.origin),
            ("terms", &call.terms),
            ("agent", &call.agent),
            ("instanceKey", &call.instance_key),
            ("turnId", &call.turn_id),
            ("stepId", &call.step_id),
            ("callId", &call.call_id),
            ("traceId", &call.trace_id),
        ];
        let long = fields.iter().find(|(_, text)| text.len() > ID_MAX);
        match long {
            Some((field, _)) => Err(WorkerMessageError::TooLong { field }),
            None => Ok(call),
        }
    }

    /// Returns the JSON of the message.
    pub fn to_json(&self) -> Vec<u8> {
        to_json(self)
    }
}

impl WorkerReport {
    /// Parses the JSON of a message.
    ///
    /// # Errors
    /// [`WorkerMessageError`].
    pub fn parse(json: &[u8]) -> Result<Self, WorkerMessageError> {
        let report: Self = parse(json)?;
        let fields = [("worker", &report.worker), ("receipt", &report.receipt)];
        match fields.iter().find(|(_, text)| text.len() > ID_MAX) {
            Some((field, _)) => Err(WorkerMessageError::TooLong { field }),
            None => Ok(report),
        }
    }

    /// Returns the JSON of the message.
    pub fn to_json(&self) -> Vec<u8> {
        to_json(self)
    }
}

/// Parses a message of this version. A message of another version is refused before its other fields are read.
fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, WorkerMessageError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u64,
    }
    match MESSAGE.parse_bytes::<T>(json) {
        Ok(message) => {
            let versioned: Versioned = MESSAGE.parse_bytes(json)?;
            if versioned.version == u64::from(WORKER_VERSION) {
                return Ok(message);
            }
            Err(WorkerMessageError::Version {
                found: versioned.version,
            })
        }
        Err(error) => match MESSAGE.parse_bytes::<Versioned>(json) {
            Ok(Versioned { version }) if version != u64::from(WORKER_VERSION) => {
                Err(WorkerMessageError::Version { found: version })
            }
            Ok(_) | Err(_) => Err(error.into()),
        },
    }
}

fn to_json<T: Serialize>(message: &T) -> Vec<u8> {
    // Neither has a map with keys that are no text.
    serde_json::to_vec(message).unwrap_or_default()
}

fn message<'de, D: Deserializer<'de>>(value: D) -> Result<AssistantMessage, D::Error> {
    let value = Value::deserialize(value)?;
    AssistantMessage::parse(value).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests;
