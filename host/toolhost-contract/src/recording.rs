//! Recordings of calls: everything that a component received from the host, so that the call can be replayed
//! without files, network, clock or random numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ExportName;

/// Version of [`Recording`]. A reader refuses others.
pub const RECORDING_VERSION: u32 = 1;

/// One recorded call. Secrets are redacted in all parts of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Recording {
    /// [`RECORDING_VERSION`].
    pub version: u32,
    /// What was called.
    pub component: RecordedComponent,
    /// What ran it. A replay needs the same architecture where results depend on it.
    pub engine: RecordedEngine,
    /// What the component was to do.
    pub operation: Operation,
    /// The context of the call, as [`ToolContext`](crate::ToolContext) is serialized.
    pub context: Value,
    /// The limits that act on the guest without a host call.
    pub limits: RecordedLimits,
    /// SHA-256 of the limits and the grants of the call, in hexadecimal, without the values of secrets.
    pub policy_sha256: String,
    /// The host calls, in the order in which they were made.
    pub calls: Vec<HostCall>,
    /// Lists of bytes that `calls` refers to: base64 by SHA-256 in hexadecimal. They are redacted, and
    /// their digest is that of the redacted bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub blobs: BTreeMap<String, String>,
    /// How the call ended.
    pub outcome: RecordedOutcome,
    /// What the call used, as [`Usage`](crate::Usage) is serialized.
    pub usage: Value,
    /// Whether `calls` holds all host calls.
    pub end: RecordingEnd,
}

/// The component of a recorded call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedComponent {
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// The interfaces that it imports, with versions.
    pub imports: Vec<String>,
}

/// What ran a recorded call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedEngine {
    /// Release of toolhost, such as `0.1.0`.
    pub toolhost: String,
    /// Architecture of the processor, such as `x86_64`.
    pub architecture: String,
}

/// What a component is to do. Each operation is a call of its own, in a fresh instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", deny_unknown_fields)]
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
        /// The handle.
        handle: String,
    },
    /// Tells the component that nobody waits for a handle any longer. Its output is `null`.
    Cancel {
        /// The handle.
        handle: String,
    },
}

/// The limits of a recorded call that act on the guest without a host call. See [`Limits`](crate::Limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "the names and the meaning of the fields of `Limits`"
)]
pub struct RecordedLimits {
    pub deadline_ms: u64,
    pub memory_bytes: u64,
    pub table_elements: u64,
    pub instances: u64,
    pub handles: u64,
    pub hostcall_bytes: u64,
    pub output_bytes: u64,
    pub json_depth: u64,
    pub json_values: u64,
}

/// One call of a host function.
///
/// Arguments and answers are JSON, by their types in WIT:
///
/// | type | JSON |
/// |---|---|
/// | `bool`, integers | the same; `s64` and `u64` too |
/// | `f32`, `f64` | `{"bits": "3ff0000000000000"}` |
/// | `char`, `string`, `enum` | text |
/// | `list<u8>` | `{"bytes": BASE64}`, or `{"blob": SHA256}` for longer ones, see [`Recording::blobs`] |
/// | other lists, `tuple` | array |
/// | `record` | object |
/// | `flags` | array of the names that are set |
/// | `variant` | the name of the case, or `{NAME: PAYLOAD}` |
/// | `option` | `null`, or `{"some": VALUE}` |
/// | `result` | `{"ok": VALUE}` or `{"err": VALUE}`, `null` for none |
/// | `own`, `borrow` | `{"handle": NUMBER}`; numbers are given in the order in which the guest received the handles, beginning with 1 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostCall {
    /// Its place among the host calls, beginning with 0.
    pub index: u64,
    /// The function, such as `wasi:filesystem/types@0.2.6#[method]descriptor.read`. A handle that the guest
    /// drops is a call of `[resource-drop]NAME`.
    pub function: String,
    /// Its arguments.
    pub arguments: Vec<Value>,
    /// What it answered.
    pub answer: Answer,
}

/// What a host function answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// It returned. `null` for a function without a result.
    Returned(Value),
    /// It ended the guest: `wasi:cli/exit`, or a limit. The text is for people.
    Ended(String),
    /// The call was stopped before it returned, for example at the deadline.
    Unanswered,
}

/// How a recorded call ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", deny_unknown_fields)]
pub enum RecordedOutcome {
    /// The handler returned its result.
    Output {
        /// The result.
        value: Value,
    },
    /// The result is not known yet.
    Pending {
        /// The handle with which to ask for it.
        handle: String,
    },
    /// The handler returned an error.
    Failed {
        /// The error: `message`, and `name`, `code`, `suggestion` and `helpUrl` where it has them.
        error: Value,
    },
    /// The sandbox stopped the call.
    Stopped {
        /// Why, in one word, such as `timeout`, `trap` or `out-of-memory`.
        reason: String,
        /// The error's text.
        message: String,
    },
}

/// Whether a recording holds all host calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", deny_unknown_fields)]
pub enum RecordingEnd {
    /// It does.
    Complete,
    /// The recording reached its limit of bytes. The call went on, and `outcome` and `usage` are those of
    /// the whole call. A replay ends after the last recorded host call.
    CutAtLimit {
        /// The limit, in bytes.
        limit: u64,
    },
}

/// Where a replay differs from the recording, or one recording from another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Divergence {
    /// The place among the host calls, beginning with 0.
    pub index: u64,
    /// What the recording holds at this place.
    pub expected: ReplayEvent,
    /// What the guest did.
    pub actual: ReplayEvent,
}

/// What happens at one place of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", deny_unknown_fields)]
pub enum ReplayEvent {
    /// A host call.
    Call {
        /// The function.
        function: String,
        /// Its arguments.
        arguments: Vec<Value>,
    },
    /// The end of the call.
    End {
        /// How it ended.
        outcome: RecordedOutcome,
    },
    /// A host call whose recorded answer does not have the type that the function returns. This is a defect
    /// of the recording.
    InvalidAnswer {
        /// The function.
        function: String,
        /// What is wrong with the answer.
        problem: String,
    },
}
