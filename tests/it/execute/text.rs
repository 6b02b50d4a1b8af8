//! What guests say, on its way to the model and to a log: escaped, bounded, without secrets.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolhost::{Policy, text};
use toolhost_tests::test_host::{TestHost, code};
use tracing::subscriber::DefaultGuard;

/// What is logged in a test, with everything that acts as it came.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl Logged {
    /// Begins to gather on this thread.
    fn begin() -> (Self, DefaultGuard) {
        let logged = Self::default();
        let to = logged.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(tracing::Level::TRACE)
            .with_writer(move || to.clone())
            .finish();
        (logged, tracing::subscriber::set_default(subscriber))
    }

    /// What guests said, by the lines of the log.
    fn guests(&self) -> String {
        let all = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let of_guests = |line: &&str| line.contains("toolhost::guest");
        let lines: Vec<_> = all.lines().filter(of_guests).collect();
        lines.join("\n")
    }
}

impl Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

const SPEAKERS: &[(&str, &str, &[&str])] = &[
    ("panic", "panic_with_reason", &["run"]),
    ("log", "flood_log", &["run"]),
    ("fail", "forge_host_code", &["run"]),
];

#[tokio::test]
async fn nothing_that_acts_reaches_a_model_or_a_log() {
    let test_host = TestHost::with_tools(SPEAKERS, "").await;
    let (logged, _guard) = Logged::begin();
    let all: Vec<char> = ('\0'..=char::MAX).filter(|c| text::acts(*c)).collect();
    for some in all.chunks(50) {
        let said = format!("safe{}", String::from_iter(some));
        let fields = json!({"message": said, "name": said, "suggestion": said, "helpUrl": format!("https://a/{said}")});
        let mut told = Vec::new();
        for (tool, args) in [
            ("panic__run", json!({"reason": said})),
            ("log__run", json!({"message": said, "context": said})),
            ("fail__run", fields),
        ] {
            let result = test_host.call(tool, args).await;
            told.extend(result.tool_error().cloned());
        }
        assert_eq!(told.len(), 2);
        for error in told {
            let more = [error.name, error.suggestion, error.help_url];
            let texts = more.into_iter().flatten().chain([error.message]);
            for shown in texts {
                let acting = |c: char| !matches!(c, '\n' | '\t') && text::acts(c);
                assert!(!shown.contains(acting), "{shown:?}");
            }
        }
    }
    let guests = logged.guests();
    assert!(guests.contains("safe"));
    assert!(
        !guests.contains(|c| !matches!(c, '\n' | '\t') && text::acts(c)),
        "{guests:?}"
    );
}

#[tokio::test]
async fn no_line_of_a_secret_is_told_or_logged_however_a_tool_says_it() {
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
    let test_host = TestHost::with_tools(SPEAKERS, &policy).await;
    let (logged, _guard) = Logged::begin();
    let secret = lines.join("\n");
    let mut told = Vec::new();
    let pads = (4030..4100).map(|n| "x".repeat(n));
    for pad in pads.chain([String::new()]) {
        let said = format!("{pad}{secret}");
        for (tool, args) in [
            ("panic__run", json!({"reason": said})),
            ("log__run", json!({"message": said})),
            ("fail__run", json!({"message": said, "suggestion": said})),
        ] {
            told.push(json!(test_host.call(tool, args).await).to_string());
        }
    }
    let all: String = told.join("\n") + &logged.guests();
    for line in lines {
        assert!(!all.contains(line.get(..4).unwrap()), "{line}");
    }
    assert!(all.contains("[redacted:KEY]"));
}

#[tokio::test]
async fn an_error_is_output_too_and_has_its_limits() {
    let manifest = |limit: u64| {
        let spec = json!({"entry": "./forge_host_code.wasm", "errorMessageLimit": limit, "exports": [{"name": "run"}]});
        json!({"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "fail"}, "spec": spec}).to_string()
    };
    let guests = &["forge_host_code"];
    let test_host = TestHost::load(&manifest(u64::from(u32::MAX)), guests, "", None).await;
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

    // Within its limit a message stays whole.
    let test_host = TestHost::load(&manifest(2000), guests, "", None).await;
    let result = test_host.call("fail__run", json!({"bytes": 2000})).await;
    assert_eq!(result.tool_error().unwrap().message, "m".repeat(2000));
    assert_eq!(result.usage().output_bytes, 2000);

    let policy = "tools: {fail: {limits: {outputBytes: 1KiB}}}";
    let test_host = TestHost::load(&manifest(2000), guests, policy, None).await;
    let result = test_host.call("fail__run", json!({"bytes": 2000})).await;
    assert_eq!(code(&result), "E_TOOL_OUTPUT_TOO_LARGE");
    let told: Value = json!(result);
    assert!(!told.to_string().contains("mmmm"), "{told}");
}

/// Panics at whatever guests say.
struct Brittle;

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Brittle {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        assert_ne!(event.metadata().target(), "toolhost::guest", "in the test");
    }
}

#[tokio::test]
async fn a_log_that_panics_is_the_hosts_failure_and_the_next_call_works() {
    use tracing_subscriber::layer::SubscriberExt;

    let test_host = TestHost::with_tools(SPEAKERS, "").await;
    let call = || test_host.call("log__run", json!({"message": "x"}));
    let result = {
        let subscriber = tracing_subscriber::registry().with(Brittle);
        let _guard = tracing::subscriber::set_default(subscriber);
        call().await
    };
    assert_eq!(code(&result), "E_HOST");
    assert_eq!(call().await.output(), Some(&json!({"records": 1})));
}
