//! Polling and cancelling handles.

use std::sync::Arc;

use std::time::Duration;

use serde_json::json;
use toolhost_sandbox::{CallReport, Operation, Outcome, PrepareError, SandboxError};
use toolhost_tests::{Work, guest, invocation, nothing, prepared, sandbox};

async fn invoke(name: &str, operation: Operation, work: &Work) -> CallReport {
    let mut call = invocation("run", &nothing(), Some(work));
    call.operation = Arc::new(operation);
    call.limits.deadline = Duration::from_millis(500);
    prepared(name).await.call(call).await
}

async fn poll(handle: &str) -> Result<Outcome, SandboxError> {
    let handle = handle.to_owned();
    let report = invoke("pending", Operation::Poll { handle }, &Work::new()).await;
    report.outcome
}

#[tokio::test]
async fn polling_a_handle_returns_an_outcome_an_error_or_another_handle() {
    assert_eq!(
        poll("done:{\"n\":1}").await.unwrap(),
        Outcome::Output(json!({"n": 1}))
    );
    let failed = poll("fail:no such job").await.unwrap();
    assert!(matches!(failed, Outcome::Failed(error) if error.message == "no such job"));
    let pending = |handle: &str| Outcome::Pending(handle.to_owned());
    assert_eq!(poll("job-1").await.unwrap(), pending("job-1"));
    assert_eq!(poll("next:job-2").await.unwrap(), pending("job-2"));
}

#[tokio::test]
async fn the_result_of_a_poll_meets_the_limits_of_a_call() {
    assert_eq!(
        poll("long:1024").await.unwrap(),
        Outcome::Pending("h".repeat(1024))
    );
    for (handle, expected) in [
        ("long:1025", "is pending with a handle of 1025 bytes"),
        ("long:0", "is pending with an empty handle"),
        ("done:nonsense", "is not valid JSON"),
    ] {
        let polled = poll(handle).await;
        assert!(
            matches!(&polled, Err(SandboxError::InvalidOutput { reason }) if reason.contains(expected)),
            "{handle}: {polled:?}"
        );
    }
    assert!(matches!(
        poll("spin").await,
        Err(SandboxError::Timeout { .. })
    ));
}

#[tokio::test]
async fn cancelling_a_handle_calls_the_component() {
    let work = Work::new();
    let cancel = |handle: &str| Operation::Cancel {
        handle: handle.to_owned(),
    };
    let report = invoke("pending", cancel("job-1"), &work).await;
    assert_eq!(report.outcome.unwrap(), Outcome::Output(json!(null)));
    assert_eq!(
        std::fs::read_to_string(work.path("cancelled")).unwrap(),
        "job-1"
    );
    assert_eq!(report.usage.bytes_written, 5);

    let mut without = invocation("run", &nothing(), None);
    without.operation = Arc::new(cancel("job-2"));
    let report = prepared("pending").await.call(without).await;
    assert!(
        matches!(&report.outcome, Err(SandboxError::Trap { reason }) if reason.contains("workdir")),
        "{:?}",
        report.outcome
    );
}

#[tokio::test]
async fn a_component_without_polling_cannot_be_polled() {
    assert!(prepared("pending").await.polls());
    assert!(!prepared("echo").await.polls());
    let handle = || "job-1".to_owned();
    for operation in [
        Operation::Poll { handle: handle() },
        Operation::Cancel { handle: handle() },
    ] {
        let report = invoke("echo", operation, &Work::new()).await;
        assert!(matches!(report.outcome, Err(SandboxError::NoPolling)));
        assert_eq!(report.usage.memory_peak, 0, "nothing ran");
    }
}

#[tokio::test]
async fn preparing_a_component_with_a_different_polling_interface_fails() {
    let refused = sandbox().prepare(guest("altered_polling")).await;
    let Err(PrepareError::WrongShape { reason }) = refused else {
        panic!("{refused:?}");
    };
    assert!(reason.contains("goondan:tool/polling"), "{reason}");
    assert!(reason.contains("expected `string` found `u64`"), "{reason}");
}
