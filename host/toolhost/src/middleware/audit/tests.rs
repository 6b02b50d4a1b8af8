use std::io;
use std::sync::Arc;

use toolhost_contract::{JsonObject, Locale, ToolCall, ToolStatus};

use super::*;
use crate::middleware::contexts::{CallKind, CallOrigin, StepOfCall};
use crate::middleware::pipeline::Pipeline;
use crate::middleware::progress::Progress;

/// Runs a call through the log. Returns its result; its output says that it ran.
async fn call(log: &AuditLog) -> ToolResult {
    let layers = Pipeline::default().with(&"audit".into(), 0, Arc::new(log.clone()));
    let origin = CallOrigin {
        agent_name: "a".to_owned(),
        instance_key: "k".to_owned(),
        turn_id: "t".to_owned(),
        trace_id: "r".to_owned(),
        locale: Locale::En,
    };
    let progress: Arc<Progress> = Arc::default();
    let called = ToolCall::new("c", "text__upper", JsonObject::new());
    let step = StepOfCall {
        id: "step-1".into(),
        ..StepOfCall::default()
    };
    let origin = Arc::new(origin);
    let context = ToolCallContext::new(called, CallKind::Call, step, &progress, &origin);
    let core = |_: ToolCallContext| -> BoxFuture<'static, ToolResult> {
        Box::pin(async { ToolResult::ok("c", "text__upper", "ran".into()) })
    };
    layers.run(context, core).await
}

#[tokio::test]
async fn calls_are_refused_while_too_many_lines_wait() {
    let log = AuditLog::to(io::sink());
    let mut slots: Vec<Slot> = std::iter::from_fn(|| log.writer.reserve()).collect();
    for _ in 0..2 {
        let refused = call(&log).await;
        assert_eq!(refused.tool_error().unwrap().message, NOT_RECORDED);
        // One place is not enough: the outcome must have one too.
        slots.pop();
    }
    let recorded = call(&log).await;
    assert_eq!(recorded.status(), ToolStatus::Ok, "{recorded:?}");

    let log = log.on_failure(AuditFailure::Continue);
    slots.extend(std::iter::from_fn(|| log.writer.reserve()));
    assert_eq!(call(&log).await.status(), ToolStatus::Ok);
}
