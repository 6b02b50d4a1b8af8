//! Files that a call leaves when it is stopped while the guest writes.

use std::fs;
use std::time::Duration;

use serde_json::json;
use toolhost_sandbox::{Sandbox, SandboxConfig, SandboxError};
use toolhost_tests::{Work, eventually, invocation, prepare_in};

use super::probe::{call, output};

const CHUNK: u64 = 64;

/// Asserts that the file holds only complete chunks, and that the next call can append to it.
async fn assert_usable(work: &Work) -> u64 {
    let left = fs::read(work.path("f")).unwrap();
    assert!(
        !left.is_empty() && (left.len() as u64).is_multiple_of(CHUNK),
        "{}",
        left.len()
    );
    assert!(left.iter().all(|byte| *byte == b'f'));
    let input = json!({ "mode": "append", "bytes": CHUNK, "path": "/f" });
    let report = call("write_bytes", "run", input, &work.workdir, |_| ()).await;
    assert_eq!(output(&report)["size"], left.len() as u64 + CHUNK);
    left.len() as u64
}

fn endless() -> serde_json::Value {
    json!({ "bytes": 1_u64 << 40, "chunk": CHUNK, "path": "/f" })
}

#[tokio::test]
async fn a_call_stopped_at_its_deadline_leaves_complete_writes_and_correct_usage() {
    let work = Work::new();
    let report = call("write_bytes", "run", endless(), &work.workdir, |request| {
        request.limits.deadline = Duration::from_millis(50);
    })
    .await;
    assert!(
        matches!(report.outcome, Err(SandboxError::Timeout { .. })),
        "{:?}",
        report.outcome
    );
    let left = assert_usable(&work).await;
    assert_eq!(report.usage.bytes_written, left);
    assert_eq!(report.usage.files_made, 1);
}

#[tokio::test]
async fn dropping_a_call_stops_its_writes() {
    let work = Work::new();
    let own = Sandbox::new(SandboxConfig::default()).unwrap();
    let places = own.free_call_slots();
    let tool = prepare_in(&own, "write_bytes").await;
    let request = invocation("run", &endless(), Some(&work));
    let writing = tokio::spawn(async move { tool.call(request).await });
    let size = || fs::metadata(work.path("f")).map_or(0, |metadata| metadata.len());
    eventually("the guest writes", || size() > 0).await;
    writing.abort();
    assert!(writing.await.unwrap_err().is_cancelled());
    eventually("the slot is free", || own.free_call_slots() == places).await;
    let left = size();
    assert_eq!(assert_usable(&work).await, left);
}
