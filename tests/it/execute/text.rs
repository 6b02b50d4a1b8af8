//! Text of guests in results and logs: escaped, limited and redacted.

use serde_json::{Value, json};
use toolhost::{Policy, text};
use toolhost_tests::shared_buffer::SharedBuffer;
use toolhost_tests::test_host::{TestHost, code};
use tracing::subscriber::DefaultGuard;

/// Captures the log of this thread, without escaping.
fn capture_log() -> (SharedBuffer, DefaultGuard) {
    let log = SharedBuffer::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    (log, tracing::subscriber::set_default(subscriber))
}

/// Returns the log lines of guests.
fn lines_of_guests(log: &SharedBuffer) -> String {
    let all = log.text();
    let of_guests = |line: &&str| line.contains("toolhost::guest");
    let lines: Vec<_> = all.lines().filter(of_guests).collect();
    lines.join("\n")
}

const TOOLS: &[(&str, &str, &[&str])] = &[
    ("panic", "panic_with_reason", &["run"]),
    ("log", "flood_log", &["run"]),
    ("fail", "forge_host_code", &["run"]),
];

#[tokio::test]
async fn control_characters_are_escaped_in_results_and_logs() {
    let test_host = TestHost::with_tools(TOOLS, "").await;
    let (log, _guard) = capture_log();
    let all: Vec<char> = ('\0'..=char::MAX)
        .filter(|c| text::needs_escape(*c))
        .collect();
    for some in all.chunks(50) {
        let text = format!("safe{}", String::from_iter(some));
        let fields = json!({"message": text, "name": text, "suggestion": text, "helpUrl": format!("https://a/{text}")});
        let mut errors = Vec::new();
        for (tool, args) in [
            ("panic__run", json!({"reason": text})),
            ("log__run", json!({"message": text, "context": text})),
            ("fail__run", fields),
        ] {
            let result = test_host.call(tool, args).await;
            errors.extend(result.tool_error().cloned());
        }
        assert_eq!(errors.len(), 2);
        for error in errors {
            let more = [error.name, error.suggestion, error.help_url];
            let texts = more.into_iter().flatten().chain([error.message]);
            for display in texts {
                let acting = |c: char| !matches!(c, '\n' | '\t') && text::needs_escape(c);
                assert!(!display.contains(acting), "{display:?}");
            }
        }
    }
    let guests = lines_of_guests(&log);
    assert!(guests.contains("safe"));
    assert!(
        !guests.contains(|c| !matches!(c, '\n' | '\t') && text::needs_escape(c)),
        "{guests:?}"
    );
}

#[tokio::test]
async fn every_line_of_a_secret_is_redacted_in_results_and_logs() {
    let lines = [
        "-----BEGIN KEY-----",
        "MIIEvQIBADANBgkq",
        "hkiG9w0BAQEFAASC",
    ];
    let block = lines.join("\n          ");
    let policy =
        format!("tools:\n  log:\n    env:\n      KEY:\n        secret: |\n          {block}\n");
    assert!(
        !Policy::parse(&policy, "p.yaml")
            .unwrap()
            .redactor()
            .is_empty()
    );
    let test_host = TestHost::with_tools(TOOLS, &policy).await;
    let (log, _guard) = capture_log();
    let secret = lines.join("\n");
    let mut errors = Vec::new();
    let pads = (4030..4100).map(|n| "x".repeat(n));
    for pad in pads.chain([String::new()]) {
        let text = format!("{pad}{secret}");
        for (tool, args) in [
            ("panic__run", json!({"reason": text})),
            ("log__run", json!({"message": text})),
            ("fail__run", json!({"message": text, "suggestion": text})),
        ] {
            errors.push(json!(test_host.call(tool, args).await).to_string());
        }
    }
    let all: String = errors.join("\n") + &lines_of_guests(&log);
    for line in lines {
        assert!(!all.contains(line.get(..4).unwrap()), "{line}");
    }
    assert!(all.contains("[redacted:KEY]"));
}

#[tokio::test]
async fn errors_count_towards_the_output_limit() {
    let manifest = |limit: u64| {
        let spec = json!({"entry": "./forge_host_code.wasm", "errorMessageLimit": limit, "exports": [{"name": "run"}]});
        json!({"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "fail"}, "spec": spec}).to_string()
    };
    let guests = &["forge_host_code"];
    let test_host = TestHost::load(&manifest(64 << 10), guests, "", None).await;
    let result = test_host.call("fail__run", json!({"bytes": 2 << 20})).await;
    assert_eq!(code(&result), "E_TOOL_OUTPUT_TOO_LARGE");
    assert!(json!(result).to_string().len() < 2000);
    assert!(result.usage().output_bytes >= 2 << 20);

    let acting = "\u{1b}".repeat(40_000);
    let result = test_host
        .call(
            "fail__run",
            json!({"message": acting, "suggestion": acting}),
        )
        .await;
    assert_eq!(code(&result), "E_TOOL");
    let error = result.tool_error().unwrap();
    for text in [Some(&error.message), error.suggestion.as_ref()] {
        assert_eq!(text.unwrap().len(), 64 << 10);
    }
    assert_eq!(result.usage().output_bytes, 80_000);

    // A message within its limit is not truncated.
    let test_host = TestHost::load(&manifest(2000), guests, "", None).await;
    let result = test_host.call("fail__run", json!({"bytes": 2000})).await;
    assert_eq!(result.tool_error().unwrap().message, "m".repeat(2000));
    assert_eq!(result.usage().output_bytes, 2000);

    let policy = "tools: {fail: {limits: {outputBytes: 1KiB}}}";
    let test_host = TestHost::load(&manifest(2000), guests, policy, None).await;
    let result = test_host.call("fail__run", json!({"bytes": 2000})).await;
    assert_eq!(code(&result), "E_TOOL_OUTPUT_TOO_LARGE");
    let errors: Value = json!(result);
    assert!(!errors.to_string().contains("mmmm"), "{errors}");
}

/// Panics at each log record of a guest.
struct PanickingLayer;

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for PanickingLayer {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        assert_ne!(event.metadata().target(), "toolhost::guest", "in the test");
    }
}

#[tokio::test]
async fn a_panic_in_a_log_subscriber_is_a_host_error_and_the_next_call_works() {
    use tracing_subscriber::layer::SubscriberExt;

    let test_host = TestHost::with_tools(TOOLS, "").await;
    let call = || test_host.call("log__run", json!({"message": "x"}));
    let result = {
        let subscriber = tracing_subscriber::registry().with(PanickingLayer);
        let _guard = tracing::subscriber::set_default(subscriber);
        call().await
    };
    assert_eq!(code(&result), "E_HOST");
    assert_eq!(call().await.output(), Some(&json!({"records": 1})));
}
