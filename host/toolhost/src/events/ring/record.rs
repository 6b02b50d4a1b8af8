//! A call as the ring has it.

use std::path::PathBuf;

use serde::Serialize;
use toolhost_contract::{FileChange, Timestamp, ToolName, ToolStatus, Usage};

/// What a [`CallRecord`] is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum CallKind {
    /// A call, also one that was refused.
    Call,
    /// A poll of a pending call, which ran the component.
    Poll,
    /// The end of a call that was pending.
    Settled,
}

impl CallKind {
    /// Returns `call`, `poll` or `settled`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Poll => "poll",
            Self::Settled => "settled",
        }
    }
}

/// An operation that a call was denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallDenial {
    /// The operation, such as `http: GET https://api.example.com/x`.
    pub operation: String,
    /// The line of the policy that would allow it, if one would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_line: Option<String>,
}

/// A call that was made, without the secrets of the policy.
///
/// ```json
/// {"id":7,"kind":"call","time":"2026-11-21T05:00:00.000Z","durationMs":12.5,"agent":"coder",
///  "instance":"user-1","turn":"turn-1","step":"step-1","callId":"call_1","tool":"bash__exec",
///  "status":"error","code":"E_TOOL_TIMEOUT","message":"…","usage":{…},
///  "denials":[{"operation":"network: tcp"}],"arguments":"{\"command\":\"ls\"}"}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallRecord {
    /// Its number: later ones are higher. Numbers of removed calls are not used again.
    pub id: u64,
    /// What it is of.
    pub kind: CallKind,
    /// When it began; the time of the end for [`CallKind::Settled`].
    pub time: Timestamp,
    /// Milliseconds from its begin to its end, with the time that it waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// Name of the agent.
    pub agent: String,
    /// Key of the instance.
    pub instance: String,
    /// Id of the turn.
    pub turn: String,
    /// Id of the step; empty for a poll and for the end of a pending call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub step: String,
    /// Id of the call, unique within its message.
    pub call_id: String,
    /// Id of the call that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<String>,
    /// Name of the tool, as the caller wrote it.
    pub tool: String,
    /// How it ended.
    pub status: ToolStatus,
    /// Code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Message of the error, at most 4 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Handle of a pending call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// What it used, and which files it changed.
    pub usage: Usage,
    /// The file in which the host recorded it. It may have been removed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<PathBuf>,
    /// What it was denied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<CallDenial>,
    /// The files that it changed: at most 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// JSON of the arguments, cut at 16 KiB. Only in what [`CallLog::get`](super::CallLog::get) returns, and if the policy
    /// keeps them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// JSON of the output, as the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// Returns the denials of a call, each with the line that would allow it.
pub(super) fn denials(usage: &Usage, tool: &str) -> Vec<CallDenial> {
    let tool = ToolName::parse(tool).ok();
    let denials = usage.denials.iter().map(|denial| CallDenial {
        operation: denial.to_string(),
        policy_line: tool
            .as_ref()
            .and_then(|tool| denial.policy_line(tool.resource()).ok()),
    });
    denials.collect()
}
