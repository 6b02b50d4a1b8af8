//! One recorded call.

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolhost_contract::{Recording, ToolName};

/// One recorded call of a component: the content of a `.call` file. Secrets are redacted in all parts of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CallRecording {
    /// Name of the tool: `notes__count`.
    pub tool: ToolName,
    /// When the call ended, in RFC 3339.
    pub recorded_at: String,
    /// What the policy granted to the call.
    pub grants: RecordedGrants,
    /// The ToolResult, as JSON, before middleware.
    pub result: Value,
    /// The call.
    pub recording: Recording,
    /// Whether [`Self::recording`] has the host calls.
    pub detail: Detail,
}

/// How much a recording has of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Detail {
    /// The host calls, with arguments and answers.
    Full,
    /// No host calls: the recording of a failed call that no recorder received.
    Summary,
}

/// The grants of a recorded call. Variables and credentials are named, and their values are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct RecordedGrants {
    /// `read-write` or `read-only`.
    pub workdir: String,
    /// Names of the environment variables.
    pub env: Vec<String>,
    /// The rules of `http.allow`; none without a grant of HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Vec<String>>,
    /// The credentials that the host adds to requests: the header and the origin of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<String>,
    /// Whether the tool may use other agents.
    pub agents: bool,
    /// The tools that the tool may call: names, and beginnings of names that end with `*`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

impl CallRecording {
    /// Whether it has the answers of the host calls, so that it can be replayed.
    pub fn can_be_replayed(&self) -> bool {
        self.detail == Detail::Full
    }

    /// Returns the bytes of a list of bytes in an argument or an answer: of `{"bytes": BASE64}`, or of
    /// `{"blob": SHA256}`. None for any other value.
    pub fn bytes_of(&self, value: &Value) -> Option<Vec<u8>> {
        let base64 = match (value.get("bytes"), value.get("blob")) {
            (Some(Value::String(base64)), None) => base64,
            (None, Some(Value::String(sha256))) => self.recording.blobs.get(sha256)?,
            _ => return None,
        };
        BASE64.decode(base64.as_bytes()).ok()
    }
}
