use serde_json::{Value, json};

use super::*;
use crate::JsonError;
use crate::JsonObject;

fn request() -> Value {
    json!({
        "id": "evt-1",
        "type": "agent.request",
        "createdAt": "2026-11-21T05:00:00.000Z",
        "traceId": "trace-1",
        "source": {"kind": "agent", "name": "planner"},
        "input": {"q": [1]},
        "instanceKey": "user-7",
        "metadata": {"a": 1},
        "replyTo": {"target": "planner", "correlationId": "c-1"},
    })
}

fn line(payload: &Value) -> String {
    json!({"type": "event", "from": "planner", "to": "coder", "payload": payload}).to_string()
}

fn with(pointer: &str, value: Value) -> Value {
    let mut event = request();
    *event.pointer_mut(pointer).unwrap() = value;
    event
}

// tool-spec-v2 §11.2
#[test]
fn a_message_is_read_and_written_as_the_same_json() {
    for message in [
        json!({"type": "event", "from": "planner", "to": "coder", "payload": request()}),
        json!({"type": "shutdown", "from": "orchestrator", "to": "coder", "payload": {"graceMs": 1}}),
        json!({"type": "shutdown_ack", "from": "coder", "to": "orchestrator", "payload": null}),
        json!({"type": "delegate", "from": "a", "to": "b", "payload": {"x": 1}, "correlationId": "c"}),
        json!({"type": "delegate_result", "from": "b", "to": "a", "payload": 1, "correlationId": "c"}),
    ] {
        let read = IpcMessage::parse(message.to_string().as_bytes()).unwrap();
        let written = read.to_line().unwrap();
        assert!(written.ends_with('\n'));
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), message);
        assert_eq!(IpcMessage::parse(written.as_bytes()).unwrap(), read);
    }
}

#[test]
fn an_event_without_its_optional_fields_has_none_of_them() {
    let event = json!({
        "id": "e", "type": "t", "createdAt": "2026-11-21T05:00:00Z",
        "source": {"kind": "user", "name": "u"},
    });
    let read = AgentEvent::parse(event.to_string().as_bytes()).unwrap();
    assert_eq!(read.reply_to, None);
    assert_eq!(serde_json::to_value(&read).unwrap(), event);
}

#[test]
fn refuses_text_that_is_not_a_message() {
    let no_id = {
        let mut event = request();
        event.as_object_mut().unwrap().remove("id");
        line(&event)
    };
    for text in [
        String::new(),
        "not json".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        "{}".to_owned(),
        json!({"type": "reboot", "from": "a", "to": "b"}).to_string(),
        json!({"type": "event", "from": "a", "to": "b", "payload": null}).to_string(),
        json!({"type": "shutdown", "from": "a", "to": "b", "extra": 1}).to_string(),
        json!({"type": "shutdown", "to": "b"}).to_string(),
        r#"{"type":"shutdown","from":"a","from":"a","to":"b"}"#.to_owned(),
        no_id,
        line(&with(
            "/source",
            json!({"kind": "agent", "name": "a", "root": true}),
        )),
        line(&with("/metadata", json!([]))),
        line(&with("/replyTo", json!({"target": "a"}))),
    ] {
        let refused = IpcMessage::parse(text.as_bytes());
        assert!(
            matches!(
                refused,
                Err(IpcError::Shape(_)
                    | IpcError::Json(JsonError::Shape { .. } | JsonError::Syntax { .. }))
            ),
            "{text}"
        );
    }
    let bytes = IpcMessage::parse(b"{\"type\":\"\xff\"}");
    assert!(matches!(
        bytes,
        Err(IpcError::Json(JsonError::NotUtf8 { .. }))
    ));
}

#[test]
fn refuses_fields_outside_their_limits() {
    for (pointer, value) in [
        ("/id", json!("")),
        ("/id", json!("x".repeat(129))),
        ("/id", json!("a\nb")),
        ("/type", json!("")),
        ("/traceId", json!("\u{0}")),
        ("/source/kind", json!("x".repeat(65))),
        ("/source/name", json!("x".repeat(257))),
        ("/instanceKey", json!("x".repeat((16 << 10) + 1))),
        ("/replyTo/target", json!("")),
        ("/replyTo/correlationId", json!("x".repeat(129))),
        ("/createdAt", json!("yesterday")),
        ("/createdAt", json!("2026-11-21T05:00:00")),
        ("/createdAt", json!("2026-11-21T05:00:00.Z")),
        ("/createdAt", json!("2026-11-21T05:00:00.0000000000Z")),
        ("/createdAt", json!("2026-11-21 05:00:00Z")),
        ("/createdAt", json!("2026-11-21T05:00:00+0900")),
        ("/createdAt", json!("2026-11-21T05:00:00.1Zx")),
    ] {
        let refused = IpcMessage::parse(line(&with(pointer, value.clone())).as_bytes());
        assert!(
            matches!(refused, Err(IpcError::Field(_))),
            "{pointer} {value}"
        );
    }
    for (pointer, value) in [
        ("/instanceKey", json!("")),
        ("/instanceKey", json!("../a\n")),
        ("/createdAt", json!("2026-11-21T05:00:00+09:00")),
        ("/createdAt", json!("2026-11-21T05:00:00.123456789-00:30")),
        ("/createdAt", json!("2026-11-21t05:00:00z")),
    ] {
        let read = IpcMessage::parse(line(&with(pointer, value.clone())).as_bytes());
        assert!(read.is_ok(), "{pointer} {value}: {read:?}");
    }
}

#[test]
fn refuses_to_read_or_write_a_message_beyond_the_limits() {
    let long = line(&with("/input", json!("x".repeat(IPC_LINE_BYTES_MAX))));
    let refused = IpcMessage::parse(long.as_bytes());
    assert!(matches!(
        refused,
        Err(IpcError::Json(JsonError::TooLarge { .. }))
    ));

    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let message = |levels: usize| {
        format!(
            r#"{{"type":"shutdown","from":"a","to":"b","payload":{}}}"#,
            deep(levels)
        )
    };
    assert!(IpcMessage::parse(message(IPC_DEPTH_MAX - 1).as_bytes()).is_ok());
    let refused = IpcMessage::parse(message(IPC_DEPTH_MAX).as_bytes());
    assert!(matches!(
        refused,
        Err(IpcError::Json(JsonError::TooDeep { .. }))
    ));
    // Far deeper than any parser's stack.
    let refused = IpcMessage::parse(message(400_000).as_bytes());
    assert!(matches!(
        refused,
        Err(IpcError::Json(JsonError::TooDeep { .. }))
    ));

    let many = "0,".repeat(200_000) + "0";
    let refused = IpcMessage::parse(
        format!(r#"{{"type":"shutdown","from":"a","to":"b","payload":[{many}]}}"#).as_bytes(),
    );
    assert!(matches!(
        refused,
        Err(IpcError::Json(JsonError::TooMany { .. }))
    ));

    let mut event = AgentEvent::parse(request().to_string().as_bytes()).unwrap();
    event.input = Some(json!("x".repeat(IPC_LINE_BYTES_MAX)));
    let refused = IpcMessage::event("a", "b", event).to_line();
    assert!(matches!(
        refused,
        Err(IpcError::Json(JsonError::TooLarge { .. }))
    ));
}

// tool-spec-v2 §2.6(2), §2.6(4)
#[test]
fn a_response_carries_the_correlation_and_the_trace_of_its_request() {
    let event = AgentEvent::parse(request().to_string().as_bytes()).unwrap();
    let respond = |answer| {
        let source = EventSource::agent("coder");
        event.response("evt-2", "2026-11-21T05:00:01.000Z", source, answer)
    };
    let done = respond(Ok(json!({"n": 1}))).unwrap();
    assert_eq!(done.in_reply_to(), Some("c-1"));
    assert_eq!(done.trace_id.as_deref(), Some("trace-1"));
    assert_eq!(done.reply_to, None);
    assert_eq!(done.into_answer(), Ok(json!({"n": 1})));

    let mut error = JsonObject::new();
    error.insert("message".to_owned(), json!("no"));
    let failed = respond(Err(error)).unwrap();
    assert_eq!(failed.in_reply_to(), Some("c-1"));
    assert_eq!(failed.into_answer(), Err(json!({"message": "no"})));

    let mut copy = event.clone();
    copy.reply_to = None;
    let source = EventSource::agent("coder");
    assert_eq!(copy.response("e", "t", source, Ok(Value::Null)), None);
    assert_eq!(event.in_reply_to(), None);
}

// tool-spec-v2-earlier §9.2, §9.3
#[test]
fn a_delegate_is_a_request_and_its_result_the_response() {
    let delegate = json!({
        "type": "delegate", "from": "a", "to": "b", "payload": {"task": 1}, "correlationId": "c-9",
    });
    let message = IpcMessage::parse(delegate.to_string().as_bytes()).unwrap();
    let IpcBody::Delegate(delegation) = message.body else {
        panic!("{message:?}");
    };
    let event = delegation.into_event("a", "evt-1", "2026-11-21T05:00:00.000Z");
    assert_eq!(event.check(), Ok(()));
    assert_eq!(event.input, Some(json!({"task": 1})));
    let reply_to = event.reply_to.clone().unwrap();
    assert_eq!((&*reply_to.target, &*reply_to.correlation_id), ("a", "c-9"));

    let source = EventSource::agent("b");
    let response = event.response("evt-2", "2026-11-21T05:00:01.000Z", source, Ok(json!(2)));
    let result = Delegation::result_of(response.unwrap()).unwrap();
    assert_eq!(result.correlation_id.as_deref(), Some("c-9"));
    assert_eq!(result.payload, json!({"status": "ok", "output": 2}));
    assert_eq!(Delegation::result_of(event), None);

    let unasked = Delegation::default().into_event("a", "evt-3", "2026-11-21T05:00:00.000Z");
    assert_eq!((unasked.reply_to, unasked.input), (None, None));
}
