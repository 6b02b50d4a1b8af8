//! Resource usage of a call.

use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

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
