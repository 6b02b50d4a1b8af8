//! The lines of a `.call` file, and how they are written.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolhost_contract::text::escape_json;
use toolhost_contract::{
    Operation, RECORDING_VERSION, RecordedComponent, RecordedEngine, RecordedLimits,
    RecordedOutcome, RecordingEnd, ToolName,
};

use super::call_recording::{CallRecording, Detail, RecordedGrants};

/// The member `format` of the first line.
pub(super) const FORMAT: &str = "toolhost.call";

/// The first line: what was called, by whom, and under which grants and limits.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct HeaderLine {
    pub(super) format: String,
    pub(super) version: u32,
    pub(super) detail: Detail,
    pub(super) recorded_at: String,
    pub(super) tool: ToolName,
    pub(super) component: RecordedComponent,
    pub(super) engine: RecordedEngine,
    pub(super) operation: Operation,
    pub(super) context: Value,
    pub(super) grants: RecordedGrants,
    pub(super) limits: RecordedLimits,
    pub(super) policy_sha256: String,
}

/// A line with bytes that host calls refer to.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BlobLine {
    pub(super) blob: String,
    pub(super) base64: String,
}

/// The last line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EndLine {
    pub(super) end: RecordingEnd,
    /// Number of lines with host calls.
    pub(super) host_calls: u64,
    pub(super) outcome: RecordedOutcome,
    pub(super) result: Value,
    pub(super) usage: Value,
}

impl CallRecording {
    /// Returns the content of a `.call` file: lines of JSON. Write it to a file that others cannot read: it
    /// has the arguments of the call, and all that the tool read.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        let recording = &self.recording;
        add(
            &mut lines,
            &HeaderLine {
                format: FORMAT.to_owned(),
                version: RECORDING_VERSION,
                detail: self.detail,
                recorded_at: self.recorded_at.clone(),
                tool: self.tool.clone(),
                component: recording.component.clone(),
                engine: recording.engine.clone(),
                operation: recording.operation.clone(),
                context: recording.context.clone(),
                grants: self.grants.clone(),
                limits: recording.limits,
                policy_sha256: recording.policy_sha256.clone(),
            },
        );
        for (blob, base64) in &recording.blobs {
            let (blob, base64) = (blob.clone(), base64.clone());
            add(&mut lines, &BlobLine { blob, base64 });
        }
        for call in &recording.calls {
            add(&mut lines, call);
        }
        add(
            &mut lines,
            &EndLine {
                end: recording.end,
                host_calls: recording.calls.len() as u64,
                outcome: recording.outcome.clone(),
                result: self.result.clone(),
                usage: recording.usage.clone(),
            },
        );
        lines
    }
}

/// Adds a value as a line of JSON.
fn add(lines: &mut Vec<u8>, value: &impl Serialize) {
    // Serializing texts, numbers and JSON does not fail.
    if let Ok(json) = serde_json::to_string(value) {
        lines.extend_from_slice(escape_json(&json).as_bytes());
        lines.push(b'\n');
    }
}
