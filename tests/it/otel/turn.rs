//! Runs a turn with one call that succeeds and one that is refused.

use std::sync::Arc;

use serde_json::json;
use toolhost::events::{EventBusConfig, EventStream, Received, RuntimeEvent};
use toolhost::{Host, TurnStart};
use toolhost_tests::test_host::{tool_call, write_bundle, yaml};
use toolhost_tests::{Work, sandbox};

/// Returns the events.
pub(super) async fn run(trace: Option<&str>) -> Vec<Arc<RuntimeEvent>> {
    let bundle = tempfile::tempdir().unwrap();
    write_bundle(
        bundle.path(),
        &yaml(&[("text", "text", &["upper"])]),
        &["text"],
    );
    let mut events = EventBusConfig::default();
    events.current_traceparent = toolhost_otel::current_traceparent;
    let host = Host::builder().sandbox(sandbox()).events(events).build();
    let host = host.unwrap();
    let loaded = host.load(bundle.path()).await.unwrap();
    let work = Work::new();
    let mut stream = host.events().subscribe();
    let agent = loaded.only_agent().unwrap();
    let instance = agent.instance("user-1", work.workdir.clone());
    let mut start = TurnStart::new("turn-1");
    if let Some(trace) = trace {
        start = start.with_trace_id(trace);
    }
    let turn = instance.open_turn(start).await.unwrap();
    let step = turn.open_step().await.unwrap();
    for (id, name) in [("call-good", "text__upper"), ("call-bad", "nobody__knows")] {
        let mut call = tool_call(name, json!({"text": "a secret"}));
        id.clone_into(&mut call.id);
        step.execute_without_message(call).await;
    }
    step.close(json!(null)).await.unwrap();
    turn.close(json!(null)).await.unwrap();
    let mut events = Vec::new();
    while events
        .last()
        .is_none_or(|last: &Arc<RuntimeEvent>| !ends(last))
    {
        events.push(next(&mut stream).await);
    }
    events
}

fn ends(event: &RuntimeEvent) -> bool {
    event.kind == toolhost::events::EventKind::TurnCompleted
}

async fn next(stream: &mut EventStream) -> Arc<RuntimeEvent> {
    match stream.next().await {
        Some(Received::Event(event)) => event,
        other => panic!("{other:?}"),
    }
}
