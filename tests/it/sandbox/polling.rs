//! Handles: asked about again, and given up.

use std::time::Duration;

use serde_json::json;
use toolhost_sandbox::{Ask, CallReport, Outcome, PrepareError, SandboxError};
use toolhost_tests::{Work, guest, invocation, nothing, prepared, sandbox};

async fn asked(name: &str, ask: Ask, work: &Work) -> CallReport {
    let mut asked = invocation("run", &nothing(), Some(work));
    asked.ask = ask;
    asked.limits.deadline = Duration::from_millis(500);
    prepared(name).await.call(asked).await
}

async fn poll(handle: &str) -> Result<Outcome, SandboxError> {
    let handle = handle.to_owned();
    let report = asked("pending", Ask::Poll { handle }, &Work::new()).await;
    report.outcome
}

#[tokio::test]
async fn a_handle_comes_to_an_outcome_an_error_or_a_handle_again() {
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
async fn what_a_poll_says_is_held_to_the_limits_of_a_call() {
    assert_eq!(
        poll("long:1024").await.unwrap(),
        Outcome::Pending("h".repeat(1024))
    );
    for too_long in ["long:1025", "long:0", "done:nonsense"] {
        let said = poll(too_long).await;
        assert!(
            matches!(said, Err(SandboxError::InvalidOutput { .. })),
            "{too_long}: {said:?}"
        );
    }
    assert!(matches!(
        poll("spin").await,
        Err(SandboxError::Timeout { .. })
    ));
}

#[tokio::test]
async fn a_cancelled_handle_is_told_to_the_component() {
    let work = Work::new();
    let cancel = |handle: &str| Ask::Cancel {
        handle: handle.to_owned(),
    };
    let report = asked("pending", cancel("job-1"), &work).await;
    assert_eq!(report.outcome.unwrap(), Outcome::Output(json!(null)));
    assert_eq!(
        std::fs::read_to_string(work.path("cancelled")).unwrap(),
        "job-1"
    );
    assert_eq!(report.usage.bytes_written, 5);

    let mut without = invocation("run", &nothing(), None);
    without.ask = cancel("job-2");
    let report = prepared("pending").await.call(without).await;
    assert!(
        matches!(&report.outcome, Err(SandboxError::Trap { reason }) if reason.contains("workdir")),
        "{:?}",
        report.outcome
    );
}

#[tokio::test]
async fn only_a_component_that_exports_polling_is_asked_about_handles() {
    assert!(prepared("pending").await.polls());
    assert!(!prepared("echo").await.polls());
    let handle = || "job-1".to_owned();
    for ask in [
        Ask::Poll { handle: handle() },
        Ask::Cancel { handle: handle() },
    ] {
        let report = asked("echo", ask, &Work::new()).await;
        assert!(matches!(report.outcome, Err(SandboxError::NoPolling)));
        assert_eq!(report.usage.memory_peak, 0, "nothing ran");
    }
}

#[tokio::test]
async fn polling_of_another_shape_is_refused_when_the_component_is_prepared() {
    let refused = sandbox().prepare(guest("altered_polling")).await;
    let Err(PrepareError::WrongShape { reason }) = refused else {
        panic!("{refused:?}");
    };
    assert!(reason.contains("goondan:tool/polling"), "{reason}");
    assert!(reason.contains("expected `string` found `u64`"), "{reason}");
}
