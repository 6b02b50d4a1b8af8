//! Results of tool calls.

mod formats;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::de::Deserializer;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::{AwaitingApproval, Denial, FileChanges, ToolCallsUsage, ToolError, Usage};

/// Status of a [`ToolResult`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolStatus {
    /// The call completed; the result has an output.
    Ok,
    /// The call failed; the result has an error.
    Error,
    /// The call continues in the background; the result has a handle.
    Pending,
}

impl ToolStatus {
    /// Returns `ok`, `error` or `pending`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Pending => "pending",
        }
    }
}

/// The result of a [`ToolCall`](crate::ToolCall).
///
/// ```
/// use serde_json::json;
/// use toolhost_contract::{ToolResult, ToolStatus};
///
/// let result = ToolResult::ok("call_1", "text__upper", json!({"text": "HI"}));
/// assert_eq!(result.status(), ToolStatus::Ok);
/// assert_eq!(
///     serde_json::to_value(&result)?,
///     json!({"toolCallId": "call_1", "toolName": "text__upper", "status": "ok", "output": {"text": "HI"}})
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// A result with a [note](Self::note) has it as `note`.
///
/// Spec: tool-spec-v2 §10.1.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    tool_call_id: String,
    tool_name: String,
    #[serde(flatten)]
    outcome: ResultBody,
    #[serde(flatten, serialize_with = "note")]
    usage: Usage,
    #[serde(skip)]
    recording: Option<Arc<Path>>,
}

/// What a model has to know of an output whose call was not committed.
const DROPPED: &str = "The call's changes of files were dropped, as its output means that it failed: the files \
     are as they were before it.";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
enum ResultBody {
    Ok {
        output: Value,
    },
    Pending {
        handle: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<AwaitingApproval>,
    },
    Error {
        error: ToolError,
    },
}

impl ToolResult {
    fn new(call_id: &str, tool_name: &str, outcome: ResultBody) -> Self {
        Self {
            tool_call_id: call_id.to_owned(),
            tool_name: tool_name.to_owned(),
            outcome,
            usage: Usage::default(),
            recording: None,
        }
    }

    /// Creates the result of a completed call.
    pub fn ok(call_id: &str, tool_name: &str, output: Value) -> Self {
        Self::new(call_id, tool_name, ResultBody::Ok { output })
    }

    /// Creates the result of a pending call.
    pub fn pending(call_id: &str, tool_name: &str, handle: String) -> Self {
        let details = None;
        Self::new(call_id, tool_name, ResultBody::Pending { handle, details })
    }

    /// Creates the result of a call that waits for consent.
    pub fn awaiting_approval(
        call_id: &str,
        tool_name: &str,
        handle: String,
        details: AwaitingApproval,
    ) -> Self {
        let details = Some(details);
        Self::new(call_id, tool_name, ResultBody::Pending { handle, details })
    }

    /// Creates the result of a failed call.
    pub fn error(call_id: &str, tool_name: &str, error: ToolError) -> Self {
        Self::new(call_id, tool_name, ResultBody::Error { error })
    }

    /// Sets the usage.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets the path of the file in which the host recorded the failed call.
    #[must_use]
    pub fn with_recording(mut self, path: Option<Arc<Path>>) -> Self {
        self.recording = path;
        self
    }

    /// Sets the id and name of the call.
    #[must_use]
    pub fn with_call(mut self, call_id: &str, tool_name: &str) -> Self {
        call_id.clone_into(&mut self.tool_call_id);
        tool_name.clone_into(&mut self.tool_name);
        self
    }

    /// Replaces the outcome with an error. Keeps the usage.
    #[must_use]
    pub fn into_error(self, error: ToolError) -> Self {
        let outcome = ResultBody::Error { error };
        Self { outcome, ..self }
    }

    /// Returns the id of the call.
    pub fn tool_call_id(&self) -> &str {
        &self.tool_call_id
    }

    /// Returns the name of the called tool, as in the call.
    pub fn tool_name(&self) -> &str {
        &self.tool_name
    }

    /// Returns the status.
    pub fn status(&self) -> ToolStatus {
        match self.outcome {
            ResultBody::Ok { .. } => ToolStatus::Ok,
            ResultBody::Pending { .. } => ToolStatus::Pending,
            ResultBody::Error { .. } => ToolStatus::Error,
        }
    }

    /// Returns the output, for status `ok`.
    pub fn output(&self) -> Option<&Value> {
        let ResultBody::Ok { output } = &self.outcome else {
            return None;
        };
        Some(output)
    }

    /// Returns the output, for status `ok`.
    pub fn output_mut(&mut self) -> Option<&mut Value> {
        let ResultBody::Ok { output } = &mut self.outcome else {
            return None;
        };
        Some(output)
    }

    /// Returns the handle, for status `pending`.
    pub fn handle(&self) -> Option<&str> {
        let ResultBody::Pending { handle, .. } = &self.outcome else {
            return None;
        };
        Some(handle)
    }

    /// Returns why the result is pending, if the call waits for consent.
    pub fn awaits_approval(&self) -> Option<AwaitingApproval> {
        let ResultBody::Pending { details, .. } = &self.outcome else {
            return None;
        };
        *details
    }

    /// Returns the error, for status `error`.
    pub fn tool_error(&self) -> Option<&ToolError> {
        let ResultBody::Error { error } = &self.outcome else {
            return None;
        };
        Some(error)
    }

    /// Returns the error, for status `error`.
    pub fn error_mut(&mut self) -> Option<&mut ToolError> {
        let ResultBody::Error { error } = &mut self.outcome else {
            return None;
        };
        Some(error)
    }

    /// Returns what a model has to know beside the output or the handle: that the changes of the call were dropped,
    /// where [`Usage::changes_dropped`] says so. None for an error, which changes nothing.
    pub fn note(&self) -> Option<&'static str> {
        let has_failed = self.status() == ToolStatus::Error;
        (self.usage.changes_dropped && !has_failed).then_some(DROPPED)
    }

    /// Returns the resources used by the call. Not included in the JSON for the model.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Returns the path of the file in which the host recorded the call: that of a failed call, if the
    /// host has a state root. It is not part of the JSON.
    pub fn recording(&self) -> Option<&Path> {
        self.recording.as_deref()
    }
}

fn note<S: Serializer>(usage: &Usage, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    if usage.changes_dropped {
        map.serialize_entry("note", DROPPED)?;
    }
    map.end()
}

/// `{"toolCallId": …, "toolName": …, "status": "ok", "output": …, "usage": {"wall": …, …}}`
#[derive(Serialize, Deserialize)]
#[serde(remote = "ToolResult", rename_all = "camelCase")]
pub(crate) struct StoredResult {
    tool_call_id: String,
    tool_name: String,
    #[serde(flatten)]
    outcome: ResultBody,
    #[serde(default, with = "StoredUsage")]
    usage: Usage,
    #[serde(skip)]
    recording: Option<Arc<Path>>,
}

/// Durations are exact. A field missing in the record of an older host is zero.
#[derive(Default, Serialize, Deserialize)]
#[serde(remote = "Usage", rename_all = "camelCase", default)]
struct StoredUsage {
    wall: Duration,
    queued: Duration,
    memory_peak: u64,
    bytes_written: u64,
    bytes_read: u64,
    files_made: u64,
    stdout_bytes: u64,
    stderr_bytes: u64,
    log_records: u64,
    log_dropped: u64,
    output_bytes: u64,
    http_requests: u64,
    http_sent: u64,
    http_received: u64,
    #[serde(deserialize_with = "known_denials")]
    denials: Vec<Denial>,
    changes: FileChanges,
    changes_dropped: bool,
    tool_calls: Option<Box<ToolCallsUsage>>,
}

/// Omits denials that this host does not know.
fn known_denials<'de, D: Deserializer<'de>>(stored: D) -> Result<Vec<Denial>, D::Error> {
    let texts = Vec::<String>::deserialize(stored)?;
    let denials = texts.iter().filter_map(|text| Denial::parse(text));
    Ok(denials.collect())
}

impl ToolResult {
    /// Returns the result with its [`Usage`] as JSON, for the host's store only. The JSON for the model is
    /// the result's `Serialize` form.
    pub fn to_stored(&self) -> Value {
        StoredResult::serialize(self, serde_json::value::Serializer).unwrap_or_default()
    }

    /// Parses the JSON of [`to_stored`](Self::to_stored). Returns `None` for any other value.
    ///
    /// For the host's store only. Only this function converts text to a host code, so it must not be
    /// given values from a guest, handler or middleware.
    pub fn from_stored(stored: &Value) -> Option<Self> {
        StoredResult::deserialize(stored).ok()
    }
}

impl Usage {
    /// Returns the usage as JSON, for the host's store only: with its denials and files, and with exact durations.
    pub fn to_stored(&self) -> Value {
        StoredUsage::serialize(self, serde_json::value::Serializer).unwrap_or_default()
    }

    /// Parses the JSON of [`to_stored`](Self::to_stored). Returns `None` for any other value.
    pub fn from_stored(stored: &Value) -> Option<Self> {
        StoredUsage::deserialize(stored).ok()
    }
}

#[cfg(test)]
mod tests;
