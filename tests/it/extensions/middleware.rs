//! Middleware around tool calls.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolhost::{
    HandlerError, JsonObject, ToolCall, ToolStatus,
    middleware::{AuditFailure, AuditLog, Next, Redactor, ToolCallContext},
    text,
};
use toolhost_tests::shared_buffer::SharedBuffer;
use toolhost_tests::test_host::{TestHost, code};

use crate::execute::EXAMPLES;

/// What an inner layer leaves for an outer one.
struct Inner(&'static str);

async fn test_host() -> TestHost {
    TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await
}

async fn call(test_host: &TestHost, tool: &str, args: Value) -> toolhost::ToolResult {
    let call = toolhost_tests::test_host::tool_call(tool, args);
    test_host
        .another_step()
        .await
        .execute_without_message(call)
        .await
}

#[tokio::test]
async fn a_refusal_has_the_middlewares_own_code_and_suggestion_and_no_code_of_the_host() {
    // tool-spec-v2 §8.1
    let test_host = test_host().await;
    let refuse = |context: ToolCallContext, _: Next<ToolCallContext>| async move {
        let error = HandlerError::new("the user declined").with_suggestion("Ask first.");
        let code = context.args["text"].as_str().unwrap_or_default().to_owned();
        context.refuse_with(error.with_code(code))
    };
    let extended = test_host
        .agent
        .extend("ask", |api| api.pipeline().tool_call(0, refuse));
    extended.unwrap();
    for (given, expected) in [
        ("DECLINED", "DECLINED"),
        ("E_TOOL_DENIED", "E_MIDDLEWARE"),
        ("", "E_MIDDLEWARE"),
    ] {
        let result = call(&test_host, "text__upper", json!({"text": given})).await;
        let error = result.tool_error().unwrap();
        assert_eq!(error.code.as_str(), expected);
        assert_eq!(error.message, "the user declined");
        assert_eq!(error.suggestion.as_deref(), Some("Ask first."));
    }
}

#[tokio::test]
async fn middleware_changes_arguments_and_results() {
    // tool-spec-v2 §8.1, §8.3
    let test_host = test_host().await;
    let change = |mut context: ToolCallContext, next: Next<ToolCallContext>| async move {
        assert_eq!(context.tool_name(), "text__upper");
        assert_eq!(context.tool_call_id(), "call-1");
        assert_eq!(context.agent_name(), "default");
        context.args.insert("text".to_owned(), "changed".into());
        let extensions = context.extensions.clone();
        let mut result = next.run(context).await;
        let output = result.output_mut().unwrap();
        output["by"] = extensions.get::<Inner>().unwrap().0.into();
        result
    };
    let inner = |context: ToolCallContext, next: Next<ToolCallContext>| async move {
        context.extensions.insert(Inner("set"));
        next.run(context).await
    };
    test_host
        .agent
        .extend("ext", |api| {
            api.pipeline().tool_call(10, inner)?;
            api.pipeline().tool_call(0, change)
        })
        .unwrap();
    let result = call(&test_host, "text__upper", json!({"text": "original"})).await;
    assert_eq!(
        result.output(),
        Some(&json!({"text": "CHANGED", "by": "set"}))
    );
    let open = test_host
        .call("text__upper", json!({"text": "original"}))
        .await;
    assert_eq!(
        open.output(),
        Some(&json!({"text": "ORIGINAL"})),
        "an open step is a snapshot"
    );
}

#[tokio::test]
async fn rewritten_arguments_are_validated_and_middleware_gets_refusals() {
    // tool-spec-v2 §8.1, §9
    let test_host = test_host().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = Arc::clone(&seen);
    test_host
        .agent
        .extend("ext", |api| {
            api.pipeline()
                .tool_call(0, move |context: ToolCallContext, next: Next<_>| {
                    let seen = Arc::clone(&sees);
                    async move {
                        let result = next.run(context).await;
                        seen.lock().unwrap().push(code(&result));
                        result
                    }
                })?;
            api.pipeline().tool_call(
                1,
                |mut context: ToolCallContext, next: Next<_>| async move {
                    context.args.remove("text");
                    next.run(context).await
                },
            )
        })
        .unwrap();
    let invalid = call(&test_host, "text__upper", json!({"text": "x"})).await;
    assert_eq!(code(&invalid), "E_TOOL_INVALID_ARGS");
    let outside = call(&test_host, "unknown__tool", json!({})).await;
    assert_eq!(code(&outside), "E_TOOL_NOT_IN_CATALOG");
    assert_eq!(
        *seen.lock().unwrap(),
        ["E_TOOL_INVALID_ARGS", "E_TOOL_NOT_IN_CATALOG"]
    );
}

#[tokio::test]
async fn middleware_can_refuse_a_call_and_cannot_invent_a_result() {
    let test_host = test_host().await;
    test_host
        .agent
        .extend("guard", |api| {
            api.pipeline()
                .tool_call(0, |context: ToolCallContext, next: Next<_>| async move {
                    match context.args.get("text").and_then(Value::as_str) {
                        Some("refuse") => context.refuse("needs approval"),
                        Some("invent") => {
                            toolhost::ToolResult::ok("other", "name", json!("made up"))
                        }
                        Some("panic") => panic!("in the test"),
                        _ => next.run(context).await,
                    }
                })
        })
        .unwrap();
    for (text, message) in [
        ("refuse", "needs approval"),
        (
            "invent",
            "The toolCall middleware of 'guard' answered without running the rest.",
        ),
        ("panic", "The toolCall middleware of 'guard' panicked."),
    ] {
        let result = call(&test_host, "text__upper", json!({"text": text})).await;
        let error = result.tool_error().unwrap();
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("E_MIDDLEWARE", message)
        );
        assert_eq!(
            (result.tool_call_id(), result.tool_name()),
            ("call-1", "text__upper")
        );
    }
    let works = call(&test_host, "text__upper", json!({"text": "x"})).await;
    assert_eq!(works.status(), ToolStatus::Ok);
}

#[tokio::test]
async fn error_messages_from_middleware_are_truncated() {
    // tool-spec-v2 §2.4(2)
    let test_host = test_host().await;
    test_host
        .agent
        .extend("ext", |api| {
            api.pipeline()
                .tool_call(0, |context: ToolCallContext, next: Next<_>| async move {
                    let mut result = next.run(context).await;
                    result.error_mut().unwrap().message = "m\u{1b}".repeat(5000);
                    result
                })
        })
        .unwrap();
    let result = call(&test_host, "text__upper", json!({})).await;
    let message = &result.tool_error().unwrap().message;
    assert!(
        message.len() <= 1000 && !message.contains('\u{1b}'),
        "{message}"
    );
}

/// Registers an audit log that writes to `out`.
fn audit(test_host: &TestHost, priority: i32, out: impl Write + Send + 'static) -> AuditLog {
    let log = AuditLog::to(out);
    let registered = log.clone();
    test_host
        .agent
        .extend("audit", |api| {
            api.pipeline().tool_call(priority, registered)
        })
        .unwrap();
    log
}

/// Parses each line of a log. Returns those with an outcome: each follows one without.
fn entries(written: &str) -> Vec<Value> {
    let parsed = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    let lines: Vec<Value> = written.lines().map(parsed).collect();
    let (requested, entries): (Vec<Value>, Vec<Value>) = lines
        .into_iter()
        .partition(|line| line["decision"] == "requested");
    assert_eq!(requested.len(), entries.len());
    for (requested, entry) in requested.iter().zip(&entries) {
        assert_eq!(requested["call"], entry["call"]);
        assert_eq!(requested["time"], entry["time"]);
        assert!(requested.get("status").is_none(), "{requested}");
    }
    entries
}

#[tokio::test]
async fn the_audit_log_has_a_line_for_every_decision() {
    // tool-spec-v2 §9
    let test_host = test_host().await;
    let lines = SharedBuffer::default();
    audit(&test_host, i32::MIN, lines.clone());
    call(&test_host, "text__upper", json!({"text": "my secret"})).await;
    call(&test_host, "text__upper", json!({})).await;
    call(&test_host, "evil\n{\"forged\":1}", json!({})).await;
    let written = lines.text();
    assert!(!written.contains("my secret"), "{written}");
    let entries = entries(&written);
    let of = |key: &str| -> Vec<&Value> { entries.iter().map(|entry| &entry[key]).collect() };
    assert_eq!(of("decision"), ["ran", "refused", "refused"]);
    assert_eq!(of("status"), ["ok", "error", "error"]);
    let codes = [
        Value::Null,
        json!("E_TOOL_INVALID_ARGS"),
        json!("E_TOOL_NOT_IN_CATALOG"),
    ];
    assert_eq!(of("code"), codes.iter().collect::<Vec<_>>());
    assert_eq!(of("inCatalog"), [true, true, false]);
    assert!(entries[0]["usage"]["wallMs"].as_f64().unwrap() > 0.0);
    assert!(entries[0]["time"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn line_breaks_in_an_id_are_escaped_in_the_audit_log() {
    let test_host = test_host().await;
    let lines = SharedBuffer::default();
    audit(&test_host, 0, lines.clone());
    let step = test_host.another_step().await;
    let acting: Vec<char> = ('\0'..=char::MAX)
        .filter(|c| text::needs_escape(*c))
        .collect();
    let ids: Vec<String> = acting.chunks(100).map(String::from_iter).collect();
    for id in &ids {
        let call = ToolCall::new(id, id, JsonObject::new());
        step.execute_without_message(call).await;
    }
    let long = "\u{e0041}".repeat(2 << 20);
    let call = ToolCall::new(&long, "text__upper", JsonObject::new());
    step.execute_without_message(call).await;
    let written = lines.text();
    assert!(!written.contains(|c| c != '\n' && text::needs_escape(c)));
    let entries = entries(&written);
    assert_eq!(entries.len(), ids.len() + 1);
    for (entry, id) in entries.iter().zip(&ids) {
        assert_eq!(entry["call"], json!(id));
    }
    assert!(written.lines().all(|line| line.len() < 8 << 10));
    let cut = entries[ids.len()]["call"].as_str().unwrap();
    assert!(cut.ends_with('…') && long.starts_with(cut.trim_end_matches('…')));
}

/// Writes to lines; one write fails after ten bytes.
struct Full {
    lines: SharedBuffer,
    left: usize,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            self.left = usize::MAX;
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        let bytes = &bytes[..bytes.len().min(self.left)];
        self.left -= bytes.len();
        self.lines.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_partial_line_of_the_audit_log_does_not_damage_another() {
    let test_host = test_host().await;
    let lines = SharedBuffer::default();
    let full = Full {
        lines: lines.clone(),
        left: 10,
    };
    let log = AuditLog::to(full).on_failure(AuditFailure::Continue);
    let registered = log.clone();
    test_host
        .agent
        .extend("audit", |api| api.pipeline().tool_call(0, registered))
        .unwrap();
    for _ in 0..3 {
        let result = call(&test_host, "text__upper", json!({"text": "x"})).await;
        assert_eq!(result.status(), ToolStatus::Ok, "it runs unrecorded");
    }
    log.flush().await;
    let written = lines.text();
    let parsed = |line: &str| serde_json::from_str::<Value>(line).is_ok();
    let whole: Vec<bool> = written.lines().map(parsed).collect();
    assert_eq!(whole, [false, true, true], "{written}");
}

#[tokio::test]
async fn a_dropped_call_is_in_the_audit_log() {
    let test_host = TestHost::with_tools(&[("sleep", "sleep_forever", &["run"])], "").await;
    let lines = SharedBuffer::default();
    let log = audit(&test_host, 0, lines.clone());
    let step = test_host.another_step().await;
    let call = toolhost_tests::test_host::tool_call("sleep__run", json!({}));
    let waited = std::time::Duration::from_millis(50);
    let dropped = tokio::time::timeout(waited, step.execute_without_message(call)).await;
    assert!(dropped.is_err());
    log.flush().await;
    let lines = entries(&lines.text());
    let [line] = lines.as_slice() else {
        panic!("{lines:?}")
    };
    assert_eq!(
        (&line["decision"], &line["code"]),
        (&json!("dropped"), &json!("E_TOOL_CANCELLED"))
    );
}

#[tokio::test]
async fn the_redactor_removes_secrets_from_results() {
    let test_host = test_host().await;
    test_host
        .agent
        .extend("redact", |api| {
            api.pipeline()
                .tool_call(i32::MIN, Redactor::new([("TOKEN", "SK-12345")]))
        })
        .unwrap();
    let result = call(
        &test_host,
        "text__upper",
        json!({"text": "the sk-12345 token"}),
    )
    .await;
    assert_eq!(
        result.output(),
        Some(&json!({"text": "THE [redacted:TOKEN] TOKEN"}))
    );
}

#[tokio::test]
async fn middleware_cannot_return_host_codes_or_handles() {
    let test_host = test_host().await;
    test_host
        .agent
        .extend("forger", |api| {
            api.pipeline()
                .tool_call(0, |context: ToolCallContext, next: Next<_>| async move {
                    let what = context.args.get("text").cloned();
                    let result: toolhost::ToolResult = next.run(context).await;
                    match what.as_ref().and_then(Value::as_str) {
                        Some("code") => {
                            let code = toolhost::ToolErrorCode::Timeout;
                            let locale = toolhost::Locale::En;
                            result.into_error(toolhost::ToolError::host(code, "forged", locale))
                        }
                        Some("handle") => {
                            toolhost::ToolResult::pending("c", "t", "pending_forged".to_owned())
                        }
                        _ => result,
                    }
                })
        })
        .unwrap();
    for text in ["code", "handle"] {
        let result = call(&test_host, "text__upper", json!({"text": text})).await;
        assert_eq!(code(&result), "E_MIDDLEWARE", "{text}");
        assert!(result.handle().is_none());
    }
    // A code that the call itself returned stays.
    let refused = call(&test_host, "text__upper", json!({})).await;
    assert_eq!(code(&refused), "E_TOOL_INVALID_ARGS");
}

#[tokio::test]
async fn the_audit_log_records_the_call_that_ran_before_middleware_changed_its_result() {
    let test_host = test_host().await;
    let lines = SharedBuffer::default();
    let log = AuditLog::to(lines.clone());
    test_host
        .agent
        .extend("ext", |api| {
            api.pipeline().tool_call(0, log)?;
            api.pipeline()
                .tool_call(1, |context: ToolCallContext, next: Next<_>| async move {
                    let _ran = next.run(context).await;
                    panic!("in the test")
                })
        })
        .unwrap();
    let result = call(&test_host, "text__upper", json!({"text": "x"})).await;
    assert_eq!(code(&result), "E_MIDDLEWARE");
    let lines = entries(&lines.text());
    let [line] = lines.as_slice() else {
        panic!("{lines:?}")
    };
    assert_eq!(
        (&line["decision"], &line["code"]),
        (&json!("ran"), &json!("E_MIDDLEWARE"))
    );
}
