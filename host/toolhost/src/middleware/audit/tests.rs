use std::io;
use std::sync::Arc;

use toolhost_contract::{JsonObject, Locale, ToolCall, ToolStatus};

use super::*;
use crate::catalog::ToolCatalog;
use crate::middleware::contexts::CallKind;
use crate::middleware::pipeline::Pipeline;
use crate::middleware::progress::Progress;
use crate::middleware::{CallIdentity, CallOrigin, Extensions};

/// Runs a call through the log. Returns its result; its output says that it ran.
async fn call(log: &AuditLog) -> ToolResult {
    let layers = Pipeline::default().with(&"audit".into(), 0, Arc::new(log.clone()));
    let origin = Arc::new(CallOrigin {
        agent_name: "a".into(),
        instance_key: "k".into(),
        turn_id: "t".into(),
        trace_id: "r".into(),
        locale: Locale::En,
    });
    let called = ToolCall::new("c", "text__upper", JsonObject::new());
    let identity = CallIdentity::new(&origin, &"step-1".into(), &called);
    let step = (ToolCatalog::default(), &Extensions::default());
    let progress: Arc<Progress> = Arc::default();
    let context = ToolCallContext::new(&identity, called, CallKind::Call, step, &progress);
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
