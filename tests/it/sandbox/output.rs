//! Guests that write gigabytes of output or millions of log records.

use std::time::Duration;

use serde_json::json;
use toolhost_sandbox::SandboxError;
use toolhost_tests::process_usage::ProcessUsage;
use toolhost_tests::{invocation, prepared};

use super::output;
use crate::leaks::alone;

/// Largest memory of the host that a flood may take, beyond the guest's own.
const MOST_MEMORY: u64 = 64 << 20;

async fn flood(guest: &str, input: serde_json::Value, grown: u64) -> toolhost_sandbox::CallReport {
    let tool = prepared(guest).await;
    let mut call = invocation("run", &input, None);
    call.limits.deadline = Duration::from_secs(300);
    let before = ProcessUsage::now();
    let report = tool.call(call).await;
    assert!(ProcessUsage::now().peak < before.peak + grown, "{before:?}");
    report
}

#[test]
fn half_a_gigabyte_of_stdout_and_stderr_is_accepted_and_truncated() {
    alone(async {
        const SIZE: u64 = 256 << 20;
        let report = flood("flood_stdout", json!({"bytes": SIZE}), MOST_MEMORY).await;
        assert_eq!(output(&report), &json!({"stdout": SIZE, "stderr": SIZE}));
        assert_eq!(
            (report.usage.stdout_bytes, report.usage.stderr_bytes),
            (SIZE, SIZE)
        );
        for (kept, first) in [(&report.stdout, 'o'), (&report.stderr, 'e')] {
            assert!(kept.len() < 66_000 && kept.contains("bytes left out"));
            assert!(kept.starts_with(&format!("{first}00000000000000\n")));
            let last = format!("{first}{:014}\n", SIZE / 16 - 1);
            assert!(kept.ends_with(&last), "{:?}", kept.get(kept.len() - 32..));
        }
    });
}

#[test]
fn a_million_log_records_are_counted() {
    alone(async {
        let report = flood("flood_log", json!({"records": 1_000_000}), MOST_MEMORY).await;
        assert!(report.outcome.is_ok(), "{:?}", report.outcome);
        assert_eq!(
            (report.usage.log_records, report.usage.log_dropped),
            (1_000_000, 999_000)
        );
        assert_eq!(report.log.len(), 1_000);
    });
}

#[test]
fn log_messages_beyond_the_host_call_byte_limit_stop_the_call() {
    alone(async {
        // Half of the host-call byte limit is accepted, and truncated to the limit of one record.
        let most = json!({"records": 100, "bytes": 8 << 20});
        let report = flood("flood_log", most, 128 << 20).await;
        assert!(report.outcome.is_ok(), "{:?}", report.outcome);
        assert!(report.log.iter().all(|record| record.message.len() < 4_200));
        // The message takes 128 MiB in the guest and nothing in the host.
        let report = flood(
            "flood_log",
            json!({"records": 1_000, "bytes": 128 << 20}),
            (128 << 20) + MOST_MEMORY,
        )
        .await;
        assert!(
            matches!(report.outcome, Err(SandboxError::HostcallTooLarge { .. })),
            "{:?}",
            report.outcome
        );
        assert_eq!(report.log.len(), 0);
    });
}
