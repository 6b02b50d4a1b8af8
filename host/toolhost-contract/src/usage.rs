//! Resource usage of a call.

use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Denial, FileChanges};

/// Resources used by one call, measured by the host. Also accurate after a trap or a timeout. Zero for a call
/// that was cancelled: it ends without a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Usage {
    /// Time from the start of the instance to its end, without queueing.
    #[serde(rename = "wallMs", serialize_with = "milliseconds")]
    pub wall: Duration,
    /// Time spent waiting for a call slot.
    #[serde(rename = "queuedMs", serialize_with = "milliseconds")]
    pub queued: Duration,
    /// Peak of all linear memories and the host's buffers for HTTP requests, in bytes.
    pub memory_peak: u64,
    /// Bytes written to files.
    pub bytes_written: u64,
    /// Bytes read from files.
    pub bytes_read: u64,
    /// Files, directories and links created.
    pub files_made: u64,
    /// Bytes written to stdout, including discarded ones.
    pub stdout_bytes: u64,
    /// Bytes written to stderr, including discarded ones.
    pub stderr_bytes: u64,
    /// Log records written, including dropped ones.
    pub log_records: u64,
    /// Log records dropped because there were too many.
    pub log_dropped: u64,
    /// Bytes of the result's JSON.
    pub output_bytes: u64,
    /// Allowed HTTP requests, including failed ones.
    #[serde(skip_serializing_if = "is_zero")]
    pub http_requests: u64,
    /// Bytes of request bodies.
    #[serde(skip_serializing_if = "is_zero")]
    pub http_sent: u64,
    /// Bytes of response bodies.
    #[serde(skip_serializing_if = "is_zero")]
    pub http_received: u64,
    /// Denied operations, without duplicates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<Denial>,
    /// Files of the workdir that it changed, also if it failed. None for a failed call in a transaction.
    ///
    /// The JSON has the counts that are not zero: `filesCreated`, `filesChanged`, `filesDeleted` and
    /// `filesRenamed`.
    #[serde(flatten, serialize_with = "counts")]
    pub changes: FileChanges,
    /// Whether a call that succeeded lost what it had changed, as its output did not meet `commitWhen`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub changes_dropped: bool,
    /// The calls of other tools that it made. What they used is part of these numbers: bytes, files, requests and
    /// changes, but neither time nor memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Box<ToolCallsUsage>>,
}

/// The calls of other tools that a call made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolCallsUsage {
    /// How many were started, with the calls that these made.
    pub count: u64,
    /// How many of them failed.
    pub failed: u64,
    /// The first 100 that ended, in that order.
    pub calls: Vec<ToolCallUsage>,
}

/// A call of another tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolCallUsage {
    /// Its id: that of the calling call, `/` and a number from 1.
    pub id: String,
    /// The called tool.
    pub tool: String,
    /// The error's code, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Time that it ran.
    #[serde(
        rename = "wallMs",
        serialize_with = "milliseconds",
        deserialize_with = "of_milliseconds"
    )]
    pub wall: Duration,
}

impl ToolCallsUsage {
    /// Most calls that are listed.
    const LISTED: usize = 100;

    /// Adds a call that ended.
    pub fn add(&mut self, call: ToolCallUsage) {
        self.failed += u64::from(call.code.is_some());
        if self.calls.len() < Self::LISTED {
            self.calls.push(call);
        }
    }

    /// Adds the calls that one of these made.
    pub fn include(&mut self, within: &Self) {
        self.count += within.count;
        self.failed += within.failed;
        let room = Self::LISTED.saturating_sub(self.calls.len());
        self.calls.extend(within.calls.iter().take(room).cloned());
    }
}

impl ToolCallUsage {
    /// Returns the usage of a call that ended: with `code`, if it failed.
    pub fn new(id: &str, tool: &str, code: Option<String>, wall: Duration) -> Self {
        Self {
            id: id.to_owned(),
            tool: tool.to_owned(),
            code,
            wall,
        }
    }
}

fn counts<S: Serializer>(changes: &FileChanges, serializer: S) -> Result<S::Ok, S::Error> {
    let counts = changes.counts();
    let counts_by_name = [
        ("filesCreated", counts.created),
        ("filesChanged", counts.changed),
        ("filesDeleted", counts.deleted),
        ("filesRenamed", counts.renamed),
    ];
    let mut map = serializer.serialize_map(None)?;
    for (name, count) in counts_by_name
        .into_iter()
        .filter(|(_, count)| !is_zero(count))
    {
        map.serialize_entry(name, &count)?;
    }
    map.end()
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    #[expect(
        clippy::cast_precision_loss,
        reason = "a duration of centuries may lose a microsecond"
    )]
    serializer.serialize_f64(microseconds as f64 / 1000.0)
}

fn of_milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let milliseconds = f64::deserialize(deserializer)?;
    // A time of another host's making may be out of range.
    Ok(Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or_default())
}
