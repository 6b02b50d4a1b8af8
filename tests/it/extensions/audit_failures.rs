//! An audit log that cannot be written, or whose writes take long.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde_json::{Value, json};
use toolhost::{
    HandlerError, JsonObject, ToolStatus,
    extension::HandlerContext,
    middleware::{AuditFailure, AuditLog},
};
use toolhost_tests::test_host::{TestHost, code, tool_call};

/// A disk that is full.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A disk whose writes end once they are released.
struct Slow {
    released: mpsc::Receiver<()>,
    gave_up: Arc<AtomicBool>,
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let released = self.released.recv_timeout(Duration::from_secs(60));
        released.map_err(|_| {
            self.gave_up.store(true, SeqCst);
            io::ErrorKind::TimedOut
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn audited(log: &AuditLog) -> TestHost {
    let test_host = TestHost::with_tools(&[("echo", "echo", &["say"])], "").await;
    let log = log.clone();
    test_host
        .agent
        .extend("audit", |api| {
            api.pipeline().tool_call(0, log)?;
            api.tools().register(super::item("dyn__write"), write)
        })
        .unwrap();
    test_host
}

async fn write(context: HandlerContext, _: JsonObject) -> Result<Value, HandlerError> {
    let ran = Path::new(&context.context.workdir).join("ran");
    std::fs::write(ran, "")?;
    Ok(json!("ran"))
}

#[tokio::test]
async fn a_call_that_the_audit_log_cannot_record_is_refused_before_it_runs() {
    let test_host = audited(&AuditLog::to(Full)).await;
    let step = test_host.another_step().await;
    for _ in 0..2 {
        let refused = step
            .execute_without_message(tool_call("dyn__write", json!({})))
            .await;
        assert_eq!(code(&refused), "E_MIDDLEWARE");
        assert_eq!(
            refused.tool_error().unwrap().message,
            "The call was not run: the audit log cannot record it."
        );
        assert!(!test_host.work.path("ran").exists());
    }
}

#[tokio::test]
async fn the_operator_can_choose_that_calls_run_without_a_record() {
    let log = AuditLog::to(Full).on_failure(AuditFailure::Continue);
    let test_host = audited(&log).await;
    let step = test_host.another_step().await;
    let result = step
        .execute_without_message(tool_call("dyn__write", json!({})))
        .await;
    assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
    assert!(test_host.work.path("ran").exists());
}

#[tokio::test(flavor = "current_thread")]
async fn other_tasks_of_the_callers_thread_run_while_the_audit_log_is_written() {
    let (release, released) = mpsc::channel();
    let gave_up: Arc<AtomicBool> = Arc::default();
    let slow = Slow {
        released,
        gave_up: Arc::clone(&gave_up),
    };
    let test_host = audited(&AuditLog::to(slow)).await;
    let step = test_host.another_step().await;
    let call = step.execute_without_message(tool_call("dyn__write", json!({})));
    // On the same thread: it runs only if writing does not block the thread.
    let beside = async {
        tokio::task::yield_now().await;
        for _ in 0..2 {
            release.send(()).unwrap();
        }
    };
    let (result, ()) = tokio::join!(call, beside);
    assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
    assert!(test_host.work.path("ran").exists());
    assert!(!gave_up.load(SeqCst), "the thread was blocked");
}
