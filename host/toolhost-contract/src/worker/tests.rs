use serde_json::{Value, json};

use super::*;
use crate::{ExportName, JsonObject, Locale, ToolCall, ToolError, ToolErrorCode, Usage};

const ID: &str = "abcdefghijklmnopqrstuvwxyz234567";

fn call() -> WorkerCall {
    let call = ToolCall::new("c1", "text__upper", JsonObject::new());
    WorkerCall {
        version: WORKER_VERSION,
        id: WorkerCallId::parse(ID).unwrap(),
        origin: "host".to_owned(),
        terms: "00".to_owned(),
        agent: "coder".to_owned(),
        instance_key: "user-1".to_owned(),
        turn_id: "t".to_owned(),
        step_id: "s".to_owned(),
        call_id: "c1".to_owned(),
        trace_id: "r".to_owned(),
        tool: ToolName::parse("text__upper").unwrap(),
        operation: Operation::Handler {
            name: ExportName::parse("upper").unwrap(),
            input: r#"{"text": "a"}"#.to_owned(),
        },
        message: AssistantMessage::for_call(&call),
        state_root: Some("root".to_owned()),
        attempt: 1,
        deadline_ms: 1000,
    }
}

fn report(result: ToolResult) -> WorkerReport {
    WorkerReport {
        version: WORKER_VERSION,
        id: WorkerCallId::parse(ID).unwrap(),
        worker: "w1".to_owned(),
        receipt: "r1".to_owned(),
        is_claimed: false,
        has_answered: true,
        result,
    }
}

fn changed(json: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value = serde_json::from_slice(json).unwrap();
    change(&mut value);
    serde_json::to_vec(&value).unwrap()
}

#[test]
fn messages_come_back_as_they_were() {
    let call = call();
    assert_eq!(WorkerCall::parse(&call.to_json()).unwrap(), call);

    let usage = Usage {
        bytes_written: 7,
        denials: vec![crate::Denial::NetworkTcp],
        ..Usage::default()
    };
    let results = [
        ToolResult::ok("c1", "text__upper", json!({"n": 1.5, "e": []})).with_usage(usage),
        ToolResult::pending("c1", "text__upper", "handle".to_owned()),
        ToolResult::error(
            "c1",
            "text__upper",
            ToolError::host(ToolErrorCode::Timeout, "late", Locale::Ko),
        ),
    ];
    for result in results {
        let report = report(result);
        assert_eq!(WorkerReport::parse(&report.to_json()).unwrap(), report);
    }
}

#[test]
fn a_message_of_another_version_says_so_whatever_else_it_has() {
    let newer = changed(&call().to_json(), |value| {
        value["version"] = json!(2);
        value["new"] = json!(true);
    });
    let text = WorkerCall::parse(&newer).unwrap_err().to_string();
    assert_eq!(
        text,
        "the message has version 2, and this toolhost reads 1: run the same release everywhere"
    );
    let newer = changed(
        &report(ToolResult::ok("c", "t", json!(1))).to_json(),
        |value| value["version"] = json!(0),
    );
    assert!(matches!(
        WorkerReport::parse(&newer),
        Err(WorkerMessageError::Version { found: 0 })
    ));
}

#[test]
fn strangers_messages_are_refused() {
    let json = call().to_json();
    type Change = fn(&mut Value);
    let wrong: [(&str, Change); 7] = [
        ("unknown field", |value| value["x"] = json!(1)),
        ("32 letters of base32", |value| {
            value["id"] = json!("../../started")
        }),
        ("1024 bytes", |value| {
            value["instanceKey"] = json!("k".repeat(2000))
        }),
        ("unknown variant", |value| {
            value["operation"]["kind"] = json!("commit")
        }),
        ("missing field", |value| {
            value.as_object_mut().unwrap().remove("attempt");
        }),
        ("invalid type", |value| value["deadlineMs"] = json!(-1)),
        ("invalid type", |value| value["message"] = json!([])),
    ];
    for (part, change) in wrong {
        let refused = WorkerCall::parse(&changed(&json, change))
            .unwrap_err()
            .to_string();
        let is_there = refused.contains(part) || part == "invalid type";
        assert!(is_there, "{part}: {refused}");
    }
    for text in [&b""[..], b"{", b"\xff", b"[]", b"{\"version\": \"1\"}"] {
        assert!(WorkerCall::parse(text).is_err());
        assert!(WorkerReport::parse(text).is_err());
    }
    let deep = format!("{{\"version\":1,\"message\":{}", "[".repeat(200_000));
    assert!(WorkerCall::parse(deep.as_bytes()).is_err());
}
