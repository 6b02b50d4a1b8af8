mod streams;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolhost_contract::{JsonObject, Locale, ToolCall, ToolError, ToolErrorCode, ToolResult};

use super::*;
use crate::middleware::{CallIdentity, CallOrigin};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn timed_out() -> ToolError {
    ToolError::host(ToolErrorCode::Timeout, "it took too long", Locale::En)
}

fn ok(call_id: &str) -> ToolResult {
    ToolResult::ok(call_id, "a__b", json!({"secret": "output"}))
}

fn no_args() -> ToolCall {
    ToolCall::new("call_1", "a__b", JsonObject::new())
}

fn small(config: impl FnOnce(&mut EventBusConfig)) -> EventBus {
    let mut all = EventBusConfig {
        clock: || UNIX_EPOCH + Duration::from_millis(1_795_237_200_000),
        ..EventBusConfig::default()
    };
    config(&mut all);
    EventBus::new(all)
}

fn label(id: &str, tool_name: &str) -> CallIdentity {
    let origin = CallOrigin {
        agent_name: "coder".into(),
        instance_key: "user-1".into(),
        turn_id: "turn-1".into(),
        trace_id: TRACE.into(),
        locale: Locale::En,
    };
    CallIdentity {
        origin: Arc::new(origin),
        step_id: "step-1".into(),
        call_id: id.into(),
        tool_name: tool_name.into(),
    }
}

fn turn(bus: &EventBus, directory: Option<&Path>, trace: Option<&str>) -> Activity<'static> {
    let emitter = bus.emitter(directory);
    let trace = emitter.trace(trace);
    emitter.turn(&label("", "").origin, trace)
}

/// Emits one turn with one call.
fn one_call(bus: &EventBus, directory: Option<&Path>, tool_name: &str) {
    let turn = turn(bus, directory, None);
    let step = turn.step(&"step-1".into());
    let call = label("call_1", tool_name);
    step.call(&call, &no_args()).end_call(&ok("call_1"));
    step.end(None);
    turn.end(None);
}

/// The next event as JSON.
async fn next(stream: &mut EventStream) -> Value {
    match stream.next().await {
        Some(Received::Event(event)) => serde_json::to_value(&*event).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn lines(directory: &Path, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(directory.join(name)).unwrap();
    assert!(text.ends_with('\n'));
    let parse = |line: &str| serde_json::from_str(line).unwrap_or(Value::Null);
    text.lines().map(parse).collect()
}

#[test]
fn a_timestamp_is_rfc_3339() {
    let check = |milliseconds: u64, expected: &str| {
        let time = UNIX_EPOCH + Duration::from_millis(milliseconds);
        assert_eq!(Timestamp(time).to_string(), expected);
    };
    check(0, "1970-01-01T00:00:00.000Z");
    check(951_782_399_999, "2000-02-28T23:59:59.999Z");
    check(951_782_400_000, "2000-02-29T00:00:00.000Z");
    check(951_868_800_000, "2000-03-01T00:00:00.000Z");
    check(1_795_237_200_007, "2026-11-21T05:00:00.007Z");
    check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
    check(253_402_300_799_999, "9999-12-31T23:59:59.999Z");
    let before = UNIX_EPOCH - Duration::from_secs(1);
    assert_eq!(Timestamp(before).to_string(), "1970-01-01T00:00:00.000Z");
}

#[test]
fn a_callers_trace_is_continued_or_kept_as_text() {
    let check = |caller: &str, trace_id: Option<&str>, parent: Option<&str>| {
        let root = TraceContext::root(Some(caller));
        let trace = root.trace_id().to_string();
        if let Some(trace_id) = trace_id {
            assert_eq!(trace, trace_id, "{caller}");
            assert_eq!(root.caller_trace_id(), None, "{caller}");
        } else {
            assert_eq!(root.caller_trace_id(), Some(caller));
            let again = TraceContext::root(Some(caller));
            assert_eq!(
                again.trace_id(),
                root.trace_id(),
                "equal texts give equal traces"
            );
            assert_ne!(again.span_id(), root.span_id());
        }
        let parent_span_id = root.parent_span_id().map(|id| id.to_string());
        assert_eq!(parent_span_id.as_deref(), parent, "{caller}");
    };
    check(TRACE, Some(TRACE), None);
    check(&TRACE.to_uppercase(), Some(TRACE), None);
    check(&format!("00-{TRACE}-{SPAN}-01"), Some(TRACE), Some(SPAN));
    check(&format!("00-{TRACE}-{SPAN}-00"), Some(TRACE), Some(SPAN));
    check(
        &format!("cc-{TRACE}-{SPAN}-01-later"),
        Some(TRACE),
        Some(SPAN),
    );
    let zeros = "0".repeat(32);
    for foreign in [
        "request-42",
        "550e8400-e29b-41d4-a716-446655440000",
        &zeros,
        &TRACE.replacen('4', "+", 1),
        &format!("00-{TRACE}-{SPAN}-01-more"),
        &format!("ff-{TRACE}-{SPAN}-01"),
        &format!("00-{zeros}-{SPAN}-01"),
        &format!("00-{TRACE}-0000000000000000-01"),
        &format!("00-{TRACE}-{SPAN}"),
        "요청",
    ] {
        check(foreign, None, None);
    }
}

#[test]
fn a_turn_without_a_trace_gets_new_ids_that_never_repeat() {
    let mut seen = std::collections::HashSet::new();
    for _ in 0..10_000 {
        let root = TraceContext::root(None);
        assert!(seen.insert(root.trace_id().get()));
        assert!(seen.insert(u128::from(root.span_id().get())));
        assert_eq!(root.trace_id().to_string().len(), 32);
        assert_eq!(root.span_id().to_string().len(), 16);
    }
    let empty = TraceContext::root(Some(""));
    assert_eq!(
        (empty.caller_trace_id(), empty.parent_span_id()),
        (None, None)
    );
}

#[test]
fn a_traceparent_continues_a_trace() {
    let call = TraceContext::root(Some(TRACE)).child();
    let later = TraceContext::root(Some(&call.traceparent()));
    assert_eq!(later.trace_id(), call.trace_id());
    assert_eq!(later.parent_span_id(), Some(call.span_id()));
}

#[tokio::test]
async fn a_turn_and_its_steps_and_calls_send_start_and_end_events() {
    let bus = EventBus::default();
    let mut stream = bus.subscribe();
    let turn = turn(&bus, None, Some("request-42"));
    let step = turn.step(&"step-1".into());
    for result in [
        ok("call_1"),
        ToolResult::error("call_2", "a__b", timed_out()),
        ToolResult::pending("call_3", "a__b", "h1".to_owned()),
    ] {
        let call = label(result.tool_call_id(), "a__b");
        step.call(&call, &no_args()).end_call(&result);
    }
    drop(step.call(&label("call_4", "a__b"), &no_args()));
    step.end(Some(&timed_out()));
    drop(turn);

    let expected = [
        ("turn.started", json!(null), json!(null)),
        ("step.started", json!(null), json!(null)),
        ("tool.called", json!(null), json!(null)),
        ("tool.completed", json!("ok"), json!(null)),
        ("tool.called", json!(null), json!(null)),
        ("tool.failed", json!("error"), json!("E_TOOL_TIMEOUT")),
        ("tool.called", json!(null), json!(null)),
        ("tool.pending", json!("pending"), json!(null)),
        ("tool.called", json!(null), json!(null)),
        ("tool.failed", json!("error"), json!("E_TOOL_CANCELLED")),
        ("step.failed", json!("error"), json!("E_TOOL_TIMEOUT")),
        ("turn.failed", json!("error"), json!("E_CANCELLED")),
    ];
    let mut parents = Vec::new();
    for (kind, status, code) in expected {
        let event = next(&mut stream).await;
        assert_eq!(event["type"], kind);
        assert_eq!(event["status"], status, "{kind}");
        assert_eq!(event["error"]["code"], code, "{kind}");
        assert_eq!(event["callerTraceId"], "request-42");
        assert_eq!(event["turnId"], "turn-1");
        assert_eq!(event["stepId"].is_null(), kind.starts_with("turn."));
        assert_eq!(event["toolCallId"].is_null(), !kind.starts_with("tool."));
        assert_eq!(event["durationMs"].is_null(), status.is_null());
        assert_eq!(event["handle"] == "h1", kind == "tool.pending");
        assert!(!event.to_string().contains("secret"), "{event}");
        parents.push((event["spanId"].clone(), event["parentSpanId"].clone()));
    }
    let (turn, step, call) = (&parents[0], &parents[1], &parents[2]);
    assert_eq!(turn.1, Value::Null);
    assert_eq!((&step.1, &call.1), (&turn.0, &step.0));
    assert_eq!(
        (call, step, turn),
        (&parents[3], &parents[10], &parents[11])
    );
}

#[tokio::test]
async fn a_call_that_ends_later_belongs_to_its_trace() {
    let bus = EventBus::default();
    let mut stream = bus.subscribe();
    let origin = CallOrigin {
        trace_id: format!("00-{TRACE}-{SPAN}-01").into(),
        ..CallOrigin::clone(&label("", "").origin)
    };
    bus.emitter(None).settled(&origin, "h1", &ok("call_1"));
    let event = next(&mut stream).await;
    assert_eq!(event["type"], "tool.settled");
    assert_eq!(
        (&event["traceId"], &event["parentSpanId"]),
        (&json!(TRACE), &json!(SPAN))
    );
    assert_eq!(
        (&event["status"], &event["handle"]),
        (&json!("ok"), &json!("h1"))
    );
    assert_eq!(event["durationMs"], Value::Null, "its start is unknown");
    assert_eq!(
        (&event["toolCallId"], &event["toolName"]),
        (&json!("call_1"), &json!("a__b"))
    );
    assert_eq!(event["usage"]["wallMs"], 0.0);
}

#[tokio::test]
async fn a_slow_subscriber_receives_the_number_of_lost_events() {
    let bus = small(|config| config.listener_queue = 4);
    let mut slow = bus.subscribe();
    one_call(&bus, None, "a__b");
    assert!(matches!(slow.next().await, Some(Received::Lost(2))));
    for kind in [
        "tool.called",
        "tool.completed",
        "step.completed",
        "turn.completed",
    ] {
        assert_eq!(next(&mut slow).await["type"], kind);
    }
}

#[tokio::test]
async fn a_bus_is_watched_while_it_has_a_subscriber_and_ends_its_streams() {
    let bus = EventBus::default();
    assert!(!bus.is_watched());
    one_call(&bus, None, "a__b");
    let mut stream = bus.subscribe();
    let other = bus.subscribe();
    assert!(bus.clone().is_watched());
    drop(other);
    assert!(bus.is_watched());
    one_call(&bus, None, "a__b");
    drop(bus);
    let mut count = 0;
    while stream.next().await.is_some() {
        count += 1;
    }
    assert_eq!(count, 6);
}

#[test]
fn long_names_and_messages_are_cut() {
    let long = "가".repeat(5_000);
    let error = EventError::new(&long, &long);
    assert_eq!(error.code.len(), 255 + '…'.len_utf8());
    assert_eq!(error.message.len(), 4_095 + '…'.len_utf8());
}

#[tokio::test]
async fn an_instance_has_a_log_that_only_its_user_can_read() {
    let directory = tempfile::tempdir().unwrap();
    let bus = small(|_| ());
    one_call(&bus, Some(directory.path()), "a__b");
    bus.flush().await;
    let lines = lines(directory.path(), "events.jsonl");
    let kinds: Vec<_> = lines.iter().map(|line| &line["type"]).collect();
    let expected = [
        "turn.started",
        "step.started",
        "tool.called",
        "tool.completed",
        "step.completed",
        "turn.completed",
    ];
    assert_eq!(kinds, expected);
    let keys: Vec<_> = lines[3]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected = "type timestamp agentName instanceKey turnId stepId toolCallId toolName traceId \
                    spanId parentSpanId status durationMs usage";
    assert_eq!(keys.join(" "), expected);
    assert_eq!(lines[3]["timestamp"], "2026-11-21T05:00:00.000Z");
    let metadata = fs::metadata(directory.path().join("events.jsonl")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn no_name_forges_a_line_or_acts_on_a_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let bus = small(|_| ());
    let name = "a\n{\"type\":\"forged\"}\r\u{1b}[2J\u{7f}\u{85}\u{9b}\u{2028}\u{202e}\u{2066}\u{feff}\u{61c}\u{e0041}\"\\가😀";
    one_call(&bus, Some(directory.path()), name);
    bus.flush().await;
    let lines = lines(directory.path(), "events.jsonl");
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[2]["toolName"], name, "the name is complete");
    let text = fs::read_to_string(directory.path().join("events.jsonl")).unwrap();
    assert!(!text.contains(|c| c != '\n' && toolhost_contract::text::needs_escape(c)));
    assert!(text.contains("가😀"));
}

#[tokio::test]
async fn a_full_log_is_renamed_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let bus = small(|config| config.log_bytes = 4096);
    for _ in 0..10 {
        one_call(&bus, Some(directory.path()), "a__b");
        bus.flush().await;
    }
    let count = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(count, 2);
    for name in ["events.jsonl", "events.jsonl.1"] {
        let length = fs::metadata(directory.path().join(name)).unwrap().len();
        assert!(length <= 4096, "{name}: {length}");
        assert!(lines(directory.path(), name).iter().all(Value::is_object));
    }
}

#[tokio::test]
async fn a_link_is_not_followed_and_lost_events_are_counted_later() {
    let directory = tempfile::tempdir().unwrap();
    let (log, target) = (
        directory.path().join("events.jsonl"),
        directory.path().join("target"),
    );
    fs::write(&target, "kept\n").unwrap();
    symlink(&target, &log).unwrap();
    let bus = small(|_| ());
    one_call(&bus, Some(directory.path()), "a__b");
    bus.flush().await;
    assert_eq!(fs::read_to_string(&target).unwrap(), "kept\n");

    fs::remove_file(&log).unwrap();
    one_call(&bus, Some(directory.path()), "a__b");
    bus.flush().await;
    let lines = lines(directory.path(), "events.jsonl");
    assert_eq!(
        lines[0],
        json!({"type": "log.lost", "timestamp": "2026-11-21T05:00:00.000Z", "count": 6})
    );
    assert_eq!(lines.len(), 7);
}

#[tokio::test]
async fn a_full_queue_loses_events_and_counts_each() {
    let directory = tempfile::tempdir().unwrap();
    let bus = small(|config| config.log_queue = 2);
    let begun = SystemTime::now();
    for _ in 0..500 {
        one_call(&bus, Some(directory.path()), "a__b");
    }
    assert!(
        begun.elapsed().unwrap() < Duration::from_secs(5),
        "no caller waited"
    );
    bus.flush().await;
    let lines = lines(directory.path(), "events.jsonl");
    let lost = |line: &Value| line["count"].as_u64();
    let reported: u64 = lines.iter().filter_map(lost).sum();
    let written = lines.iter().filter(|line| lost(line).is_none()).count() as u64;
    assert!(reported > 0, "a queue of 2 loses some of 3,000 events");
    assert_eq!(reported + written, 3_000);
}

#[tokio::test]
async fn an_incomplete_line_of_a_dead_process_does_not_corrupt_the_next() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("events.jsonl"),
        "{\"type\":\"turn.sta",
    )
    .unwrap();
    let bus = small(|_| ());
    one_call(&bus, Some(directory.path()), "a__b");
    bus.flush().await;
    let lines = lines(directory.path(), "events.jsonl");
    assert_eq!((&lines[0], lines.len()), (&Value::Null, 7));
    assert!(lines[1..].iter().all(Value::is_object));
}

#[test]
fn dropping_the_bus_writes_the_queued_events() {
    let directories: Vec<_> = (0..20).map(|_| tempfile::tempdir().unwrap()).collect();
    let bus = small(|_| ());
    for directory in &directories {
        one_call(&bus, Some(directory.path()), "a__b");
    }
    drop(bus);
    for directory in &directories {
        assert_eq!(lines(directory.path(), "events.jsonl").len(), 6);
    }
}

#[tokio::test]
async fn flush_returns_at_once_without_a_log() {
    let bus = EventBus::default();
    bus.flush().await;
    one_call(&bus, None, "a__b");
    bus.flush().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_instances_write_at_the_same_time() {
    let directories: Vec<_> = (0..8).map(|_| tempfile::tempdir().unwrap()).collect();
    let paths: Arc<Vec<_>> = Arc::new(directories.iter().map(|d| d.path().to_owned()).collect());
    let bus = small(|_| ());
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let (bus, paths) = (bus.clone(), Arc::clone(&paths));
            tokio::spawn(async move {
                for directory in paths.iter() {
                    one_call(&bus, Some(directory), "a__b");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    bus.flush().await;
    for directory in &*paths {
        assert_eq!(lines(directory, "events.jsonl").len(), 24);
    }
}
