use serde_json::json;

use super::*;
use crate::{ErrorCode, HandlerCode, ToolErrorCode};
use crate::{FileChange, FileChangeKind, Locale, ToolCallUsage};

fn error(code: ErrorCode) -> ToolError {
    ToolError {
        message: "it broke".to_owned(),
        name: None,
        code,
        suggestion: Some("mend it".to_owned()),
        help_url: None,
        details: None,
    }
}

fn usage() -> Usage {
    Usage {
        wall: Duration::from_nanos(12_345_678_901),
        queued: Duration::from_nanos(1),
        memory_peak: u64::MAX,
        bytes_written: 1,
        bytes_read: 2,
        files_made: 3,
        stdout_bytes: 4,
        stderr_bytes: 5,
        log_records: 6,
        log_dropped: 7,
        output_bytes: 8,
        http_requests: 9,
        http_sent: 10,
        http_received: 11,
        denials: vec![
            Denial::AgentsSpawn,
            Denial::HttpRequest("GET https://a.example/x".to_owned()),
            Denial::NetworkUdp,
        ],
        changes: FileChanges {
            files: vec![FileChange::new("a", FileChangeKind::Created)],
            truncated: true,
        },
        changes_dropped: false,
        tool_calls: Some(Box::new(ToolCallsUsage {
            count: 3,
            failed: 1,
            calls: vec![ToolCallUsage {
                id: "call_1/1".to_owned(),
                tool: "a__b".to_owned(),
                code: Some("E_TOOL".to_owned()),
                wall: Duration::from_micros(1_500),
            }],
        })),
    }
}

fn check(result: &ToolResult) {
    let text = result.to_stored().to_string();
    let stored = serde_json::from_str(&text).unwrap();
    let back = ToolResult::from_stored(&stored);
    assert_eq!(back.as_ref(), Some(result), "{text}");
}

#[test]
fn a_stored_result_is_read_back_unchanged() {
    for output in [
        json!(null),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(0.1 + 0.2),
        json!(1e300),
        json!("\u{0}가😀\"\\"),
        json!([]),
        json!({"z": {"status": "error"}, "a": [null, {"usage": 1}], "": false}),
    ] {
        check(&ToolResult::ok("call_1", "text__upper", output).with_usage(usage()));
    }
    check(&ToolResult::pending("", "", "pending_x".to_owned()));
    for code in ToolErrorCode::ALL {
        let error = ToolError::host(*code, "stopped", Locale::Ko);
        check(&ToolResult::error("c", "t", error).with_usage(usage()));
        check(&ToolResult::error(
            "c",
            "t",
            self::error(ErrorCode::Host(*code)),
        ));
    }
    for code in ["ENOENT", "a.b-c_9"] {
        let code = ErrorCode::Handler(HandlerCode::parse(code).unwrap());
        check(&ToolResult::error("c", "t", error(code)).with_usage(usage()));
    }
}

#[test]
fn the_json_for_the_model_has_only_the_fields_that_are_set() {
    // tool-spec-v2 §10.1
    let check = |result: ToolResult, expected: &str| {
        let json = serde_json::to_string(&result.with_usage(usage())).unwrap();
        assert_eq!(
            json,
            format!(r#"{{"toolCallId":"c","toolName":"t",{expected}}}"#)
        );
    };
    check(
        ToolResult::ok("c", "t", json!(null)),
        r#""status":"ok","output":null"#,
    );
    check(
        ToolResult::pending("c", "t", "h".to_owned()),
        r#""status":"pending","handle":"h""#,
    );
    check(
        ToolResult::error("c", "t", error(ErrorCode::Host(ToolErrorCode::Host))),
        r#""status":"error","error":{"message":"it broke","code":"E_HOST","suggestion":"mend it"}"#,
    );
}

#[test]
fn keeps_the_order_of_an_outputs_keys() {
    let output: Value = serde_json::from_str(r#"{"z":1,"a":{"y":2,"b":3}}"#).unwrap();
    let stored = ToolResult::ok("c", "t", output.clone()).to_stored();
    let back = ToolResult::from_stored(&stored).unwrap();
    assert_eq!(back.output().unwrap().to_string(), output.to_string());
}

#[test]
fn reads_the_known_fields_of_an_older_hosts_usage() {
    let stored = json!({"toolCallId": "c", "toolName": "t", "status": "ok", "output": 1,
        "usage": {"bytesRead": 9, "denials": ["network: tcp", "network: of old"]}});
    let back = ToolResult::from_stored(&stored).unwrap();
    assert_eq!((back.usage().bytes_read, back.usage().files_made), (9, 0));
    assert_eq!(back.usage().denials, [Denial::NetworkTcp]);
}

#[test]
fn refuses_other_values() {
    let of_error = |error: Value| json!({"toolCallId": "c", "toolName": "t", "status": "error", "error": error});
    for other in [
        json!(null),
        json!({}),
        json!({"toolCallId": "c", "toolName": "t", "status": "ok"}),
        json!({"toolCallId": "c", "toolName": "t", "status": "pending"}),
        json!({"toolCallId": "c", "toolName": "t", "status": "error"}),
        json!({"toolCallId": "c", "toolName": "t", "status": "done", "output": 1}),
        json!({"toolCallId": 1, "toolName": "t", "status": "ok", "output": 1}),
        of_error(json!({"message": "m"})),
        of_error(json!({"message": "m", "code": "E_TOOL_MADE_UP"})),
        of_error(json!({"message": "m", "code": "two words"})),
    ] {
        assert_eq!(ToolResult::from_stored(&other), None, "{other}");
    }
}
