//! What a call logs, received by the turn's listener while the call runs.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolhost::{
    Agent, HandlerError, JsonObject, Step, TurnStart,
    extension::{HandlerContext, Logger},
    sandbox::LogLevel,
};
use toolhost_tests::eventually;
use toolhost_tests::test_host::{TestHost, TestTool, code, tool_call, tool_call_of};

use crate::extensions::item;

const TOOLS: &[TestTool<'_>] = &[
    ("log", "flood_log", &["run"]),
    ("print", "flood_stdout", &["run"]),
    ("sleep", "sleep_forever", &["run"]),
    ("trap", "trap", &["run"]),
];

/// What the listener received: the call, the level, and `context: message`.
type Received = Arc<Mutex<Vec<(String, LogLevel, String)>>>;

/// Opens a step of a turn with a listener.
async fn listened(agent: &Agent, test_host: &TestHost) -> (Step, Received) {
    let received = Received::default();
    let kept = Arc::clone(&received);
    let start = TurnStart::new("turn-1").with_log(move |record| {
        let call = format!("{} {}", record.tool_call_id, record.tool_name);
        let text = format!("{}: {}", record.context, record.message);
        kept.lock().unwrap().push((call, record.level, text));
    });
    let instance = agent.instance("instance", test_host.work.workdir.clone());
    let turn = instance.open_turn(start).await.unwrap();
    (turn.open_step().await.unwrap(), received)
}

fn texts(received: &Received) -> Vec<String> {
    let received = received.lock().unwrap();
    received.iter().map(|(_, _, text)| text.clone()).collect()
}

#[tokio::test]
async fn records_and_lines_arrive_while_the_call_runs_and_none_after_it_is_dropped() {
    let test_host = TestHost::with_tools(TOOLS, "").await;
    let (step, received) = listened(&test_host.agent, &test_host).await;
    let step = Arc::new(step);
    let start = |id: &str, name: &str, args: Value| {
        let (step, call) = (Arc::clone(&step), tool_call_of(id, name, args));
        tokio::spawn(async move { step.execute_without_message(call).await })
    };
    let sleeping = start("call-1", "sleep__run", json!({"print": "on stderr"}));
    eventually("the line arrives", || !received.lock().unwrap().is_empty()).await;
    let expected = (
        "call-1 sleep__run".to_owned(),
        LogLevel::Debug,
        "stderr: on stderr".to_owned(),
    );
    assert_eq!(*received.lock().unwrap(), [expected]);
    assert!(!sleeping.is_finished());
    sleeping.abort();

    let args = json!({"records": 1_000_000_000_u64, "level": "warn", "message": "m"});
    let logging = start("call-2", "log__run", args);
    eventually("1,000 records arrive", || {
        received.lock().unwrap().len() == 1_001
    })
    .await;
    assert!(!logging.is_finished());
    logging.abort();
    assert!(logging.await.unwrap_err().is_cancelled());
    let received = received.lock().unwrap();
    let is_expected = |(call, level, text): &(String, LogLevel, String)| {
        call == "call-2 log__run" && *level == LogLevel::Warn && text == "flood: m"
    };
    assert!(received.iter().skip(1).all(is_expected), "{received:?}");
}

#[tokio::test]
async fn a_listener_receives_as_much_as_the_limits_of_the_log_allow() {
    let limits = "defaults: {limits: {logRecords: 3, logRecordBytes: 64}}";
    let test_host = TestHost::with_tools(TOOLS, limits).await;
    let (step, received) = listened(&test_host.agent, &test_host).await;
    let call = tool_call(
        "log__run",
        json!({"records": 5, "message": "m".repeat(100)}),
    );
    let result = step.execute_without_message(call).await;
    let usage = result.usage();
    assert_eq!((usage.log_records, usage.log_dropped), (5, 2));
    let cut = format!("flood: {}… (cut)", "m".repeat(64));
    assert_eq!(texts(&received), [cut.clone(), cut.clone(), cut]);

    // Both streams print 64 lines.
    let call = tool_call("print__run", json!({"bytes": 1024}));
    let result = step.execute_without_message(call).await;
    assert_eq!(result.usage().stdout_bytes, 1024);
    let lines = ["o00000000000000", "o00000000000001", "o00000000000002"];
    let lines = lines.map(|line| format!("stdout: {line}"));
    assert_eq!(texts(&received).get(3..), Some(&lines[..]));
}

#[tokio::test]
async fn a_listener_receives_no_secret_and_no_control_characters() {
    let policy = "defaults: {}\ntools: {log: {env: {TOKEN: {secret: sk-123456}}}}";
    let test_host = TestHost::with_tools(TOOLS, policy).await;
    let (step, received) = listened(&test_host.agent, &test_host).await;
    let args = json!({"message": "a\n\u{1b}sk-123456", "context": "sk-123456"});
    step.execute_without_message(tool_call("log__run", args))
        .await;
    let call = tool_call("trap__run", json!({"print": "\u{1b}[1m has sk-123456"}));
    let result = step.execute_without_message(call).await;
    assert_eq!(code(&result), "E_TOOL_TRAP");
    assert_eq!(
        texts(&received),
        [
            r"[redacted:TOKEN]: a\u{a}\u{1b}[redacted:TOKEN]",
            r"stderr: \u{1b}[1m has [redacted:TOKEN]"
        ]
    );
}

#[tokio::test]
async fn a_panic_in_a_listener_does_not_reach_the_call() {
    let test_host = TestHost::with_tools(TOOLS, "").await;
    let calls = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&calls);
    let start = TurnStart::new("turn-1").with_log(move |_| {
        *counted.lock().unwrap() += 1;
        panic!("in the test");
    });
    let workdir = test_host.work.workdir.clone();
    let turn = test_host.agent.instance("instance", workdir);
    let turn = turn.open_turn(start).await.unwrap();
    let step = turn.open_step().await.unwrap();
    for expected in [1, 2] {
        let call = tool_call("log__run", json!({"records": 10}));
        let result = step.execute_without_message(call).await;
        assert_eq!(result.output(), Some(&json!({"records": 10})));
        // Once for each call.
        assert_eq!(*calls.lock().unwrap(), expected);
    }
}

#[tokio::test]
async fn a_native_handler_logs_to_the_listener_until_its_call_ends() {
    let limits = "defaults: {limits: {logRecords: 2}}";
    let test_host = TestHost::with_tools(TOOLS, limits).await;
    let escaped: Arc<Mutex<Option<Logger>>> = Arc::default();
    let keep = Arc::clone(&escaped);
    let handler = move |context: HandlerContext, _: JsonObject| {
        let keep = Arc::clone(&keep);
        async move {
            let logger = context.logger().clone();
            for message in ["one\nline", "two", "too many"] {
                logger.warn(message);
            }
            *keep.lock().unwrap() = Some(logger);
            Ok::<_, HandlerError>(Value::Null)
        }
    };
    let extended = test_host.agent.extend("weather-ext", |api| {
        api.tools().register(item("weather__get"), handler)
    });
    extended.unwrap();
    let (step, received) = listened(&test_host.agent, &test_host).await;
    let result = step.execute_without_message(tool_call("weather__get", json!({})));
    assert_eq!(result.await.output(), Some(&Value::Null));
    escaped.lock().unwrap().as_ref().unwrap().warn("late");
    assert_eq!(
        texts(&received),
        [r"weather-ext: one\u{a}line", "weather-ext: two"]
    );
}
