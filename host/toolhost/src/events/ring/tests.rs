use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tempfile::TempDir;
use toolhost_contract::text::CUT;
use toolhost_contract::{
    Denial, FileChange, FileChangeKind, Locale, ToolError, ToolErrorCode, ToolStatus, Usage,
};
use toolhost_manifest::policy::Policy;

use super::super::activity::Emitter;
use super::super::bus::{EventBus, EventBusConfig};
use super::super::trace::TraceContext;
use super::super::worker::Batch;
use super::database::FILE_NAME;
use super::*;
use crate::middleware::{CallIdentity, CallOrigin};

/// When the clock of the tests began: 2100-11-21T05:00:00Z. Calls of the past are removed by the clock of this machine.
const BEGIN: Duration = Duration::from_millis(4_130_456_400_000);

struct Fixture {
    root: TempDir,
    bus: EventBus,
}

fn fixture(policy: &str) -> Fixture {
    fixture_at(policy, || UNIX_EPOCH + BEGIN)
}

fn fixture_at(policy: &str, clock: fn() -> SystemTime) -> Fixture {
    let root = tempfile::tempdir().unwrap();
    let bus = bus_in(root.path(), policy, clock);
    Fixture { root, bus }
}

fn bus_in(root: &Path, policy: &str, clock: fn() -> SystemTime) -> EventBus {
    let policy = Policy::parse(policy, "policy.yaml").unwrap();
    let ring = Ring::new(root, &policy.redactor(), policy.calls());
    let config = EventBusConfig {
        clock,
        ..EventBusConfig::default()
    };
    EventBus::with_ring(config, Some(ring))
}

fn identity(instance: &str, id: &str, tool: &str) -> CallIdentity {
    let origin = CallOrigin {
        agent_name: "coder".into(),
        instance_key: instance.into(),
        turn_id: "turn-1".into(),
        trace_id: "".into(),
        locale: Locale::En,
    };
    CallIdentity {
        origin: Arc::new(origin),
        step_id: "step-1".into(),
        call_id: id.into(),
        tool_name: tool.into(),
    }
}

fn call(id: &str, tool: &str, args: serde_json::Value) -> ToolCall {
    ToolCall::new(id, tool, args.as_object().unwrap().clone())
}

fn failed(id: &str, tool: &str, code: ToolErrorCode, message: &str) -> ToolResult {
    ToolResult::error(id, tool, ToolError::host(code, message, Locale::En))
}

impl Fixture {
    fn emitter(&self) -> Emitter {
        self.bus.emitter(None)
    }

    fn run(&self, instance: &str, call: &ToolCall, result: &ToolResult) {
        let emitter = self.emitter();
        let who = identity(instance, &call.id, &call.name);
        let turn = emitter.turn(&who.origin, TraceContext::root(None));
        let step = turn.step(&"step-1".into());
        step.call(&who, call).end_call(result);
    }

    fn run_ok(&self, instance: &str, id: &str, tool: &str) {
        let call = call(id, tool, json!({"n": id}));
        self.run(instance, &call, &ToolResult::ok(id, tool, json!(id)));
    }

    async fn log(&self) -> CallLog {
        self.bus.flush().await;
        CallLog::open(self.root.path()).unwrap().unwrap()
    }

    /// The ids of the calls that a query finds.
    async fn found(&self, set: impl FnOnce(&mut CallQuery)) -> Vec<String> {
        let mut query = CallQuery::default();
        set(&mut query);
        let page = self.log().await.search(query).await.unwrap();
        page.calls.into_iter().map(|call| call.call_id).collect()
    }
}

/// The newest call with an id of the model's.
async fn newest(log: &CallLog, id: &str) -> CallRecord {
    let query = CallQuery {
        call_id: Some(id.to_owned()),
        ..CallQuery::default()
    };
    let page = log.search(query).await.unwrap();
    log.get(page.calls[0].id).await.unwrap().unwrap()
}

#[tokio::test]
async fn calls_of_a_time_are_counted_by_time_tool_and_code() {
    let fixture = fixture("");
    for number in 0..20 {
        fixture.run_ok("ann", &number.to_string(), "a__b");
    }
    let call = call("x", "c__d", json!({}));
    fixture.run(
        "bob",
        &call,
        &failed("x", "c__d", ToolErrorCode::Timeout, "too long"),
    );
    // A call that waited, and was denied.
    let denied = failed("y", "a__b", ToolErrorCode::ApprovalDenied, "no");
    let who = identity("bob", "y", "a__b");
    fixture.emitter().settled(&who.origin, "pending_1", &denied);
    let log = fixture.log().await;
    let at = UNIX_EPOCH + BEGIN;
    let minute = Duration::from_secs(60);
    let stats = log.stats(at - minute, at + minute).await.unwrap();
    assert_eq!((stats.calls, stats.sampled), (21, 21));
    let [bucket] = &stats.buckets[..] else {
        panic!("{stats:?}");
    };
    assert_eq!((bucket.calls, bucket.errors), (21, 1));
    assert!(
        bucket.p50 <= bucket.p95 && bucket.p95 <= bucket.p99,
        "{bucket:?}"
    );
    let codes = stats.codes.iter().map(|it| (it.code.as_str(), it.count));
    assert_eq!(
        codes.collect::<Vec<_>>(),
        [("E_TOOL_APPROVAL_DENIED", 1), ("E_TOOL_TIMEOUT", 1)]
    );
    let tools = stats
        .tools
        .iter()
        .map(|it| (it.tool.as_str(), it.calls, it.errors));
    assert_eq!(tools.collect::<Vec<_>>(), [("a__b", 20, 0), ("c__d", 1, 1)]);
    // The end does not belong to the time, the begin does.
    assert_eq!(log.stats(at - minute, at - minute).await.unwrap().calls, 0);
    assert_eq!(log.stats(at + minute, at).await.unwrap().calls, 0);
}

#[tokio::test]
async fn a_call_is_kept_with_what_it_was_denied_and_without_secrets() {
    let policy = "tools: {a: {env: {KEY: {secret: sk-1234567890}}}}";
    let fixture = fixture(policy);
    let mut usage = Usage::default();
    usage.memory_peak = 65536;
    usage.http_requests = 2;
    usage.denials = vec![Denial::ReadOnly, Denial::NetworkTcp];
    usage
        .changes
        .files
        .push(FileChange::new("a.md", FileChangeKind::Created));
    let secret = call("call_1", "a__b", json!({"text": "sk-1234567890"}));
    let result = failed("call_1", "a__b", ToolErrorCode::Timeout, "too long");
    let result = result
        .with_usage(usage.clone())
        .with_recording(Some(Path::new("/x/failed/1.call").into()));
    fixture.run("user-1", &secret, &result);

    let log = fixture.log().await;
    let kept = newest(&log, "call_1").await;
    assert_eq!(
        kept.arguments.as_deref(),
        Some(r#"{"text":"[redacted:KEY]"}"#)
    );
    assert_eq!(kept.output, None);
    assert_eq!(kept.status, ToolStatus::Error);
    assert_eq!(kept.code.as_deref(), Some("E_TOOL_TIMEOUT"));
    assert_eq!(kept.message.as_deref(), Some("too long"));
    assert_eq!(kept.usage, usage);
    assert_eq!(
        kept.recording.as_deref(),
        Some(Path::new("/x/failed/1.call"))
    );
    assert_eq!(kept.files, usage.changes.files);
    let lines: Vec<_> = kept
        .denials
        .iter()
        .map(|it| (it.operation.as_str(), it.policy_line.as_deref()))
        .collect();
    let read_only = "filesystem: write to a read-only workdir";
    assert_eq!(
        lines,
        [
            (read_only, Some("tools: {a: {readOnly: false}}")),
            ("network: tcp", None)
        ]
    );
    // The list leaves the arguments out.
    let listed = log.search(CallQuery::default()).await.unwrap();
    assert_eq!((&listed.calls[0].arguments, listed.lost), (&None, 0));
    let bytes = std::fs::read(fixture.root.path().join(FILE_NAME)).unwrap();
    let wal = std::fs::read(fixture.root.path().join("calls.db-wal")).unwrap();
    for bytes in [bytes, wal] {
        assert!(!bytes.windows(13).any(|it| it == b"sk-1234567890"));
    }
}

#[tokio::test]
async fn an_inner_call_names_the_call_that_made_it() {
    let fixture = fixture("");
    let emitter = fixture.emitter();
    for turn in ["turn-1", "turn-2"] {
        let outer = identity("user-1", "call_1", "script__run");
        let origin = CallOrigin {
            turn_id: turn.into(),
            ..CallOrigin::clone(&outer.origin)
        };
        let outer = CallIdentity {
            origin: Arc::new(origin),
            ..outer
        };
        let inner = CallIdentity {
            call_id: "call_1/1".into(),
            ..outer.clone()
        };
        let trace = TraceContext::root(None);
        let activity = emitter.inner_call(&inner, &call("call_1/1", "a__b", json!({})), &trace);
        activity.end_call(&ToolResult::ok("call_1/1", "a__b", json!(1)));
        let span = emitter.turn(&outer.origin, trace.clone());
        let step = span.step(&"step-1".into());
        let activity = step.call(&outer, &call("call_1", "script__run", json!({})));
        activity.end_call(&ToolResult::ok("call_1", "script__run", json!(2)));
    }
    // The slash in a model's own id makes no inner call.
    fixture.run_ok("user-1", "x/1", "a__b");
    let log = fixture.log().await;
    let all = log.search(CallQuery::default()).await.unwrap().calls;
    let parents: Vec<_> = all
        .iter()
        .map(|it| (it.call_id.as_str(), it.parent_call_id.as_deref()))
        .collect();
    assert_eq!(parents[0], ("x/1", None));
    assert_eq!(
        parents[1..3],
        [("call_1", None), ("call_1/1", Some("call_1"))]
    );
    let query = CallQuery {
        made_by: Some((&all[1]).into()),
        ..CallQuery::default()
    };
    let made = log.search(query).await.unwrap().calls;
    let made: Vec<_> = made.iter().map(|it| (&*it.turn, &*it.call_id)).collect();
    assert_eq!(made, [("turn-2", "call_1/1")]);
}

#[tokio::test]
async fn calls_are_found_by_each_condition_and_by_all_together() {
    let fixture = fixture("");
    fixture.run_ok("ann", "1", "file-system__read");
    let lost = failed(
        "2",
        "bash__exec",
        ToolErrorCode::Timeout,
        "The deadline passed.",
    );
    let query = call("2", "bash__exec", json!({"command": "grep 파일을 찾기"}));
    fixture.run("ann", &query, &lost);
    fixture.run_ok("bob", "3", "bash__exec");
    let pending = ToolResult::pending("4", "bash__exec", "handle".to_owned());
    fixture.run("bob", &call("4", "bash__exec", json!({})), &pending);
    let dropped = identity("bob", "5", "bash__exec");
    let emitter = fixture.emitter();
    drop(emitter.inner_call(
        &dropped,
        &call("5", "bash__exec", json!({})),
        &TraceContext::root(None),
    ));

    let all = ["5", "4", "3", "2", "1"];
    assert_eq!(fixture.found(|_| ()).await, all);
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        fixture.found(|q| q.tool = text("bash__exec")).await,
        &all[..4]
    );
    assert_eq!(
        fixture.found(|q| q.instance = text("ann")).await,
        ["2", "1"]
    );
    assert_eq!(fixture.found(|q| q.agent = text("coder")).await, all);
    assert!(fixture.found(|q| q.agent = text("other")).await.is_empty());
    let code = |q: &mut CallQuery| q.code = text("E_TOOL_CANCELLED");
    assert_eq!(fixture.found(code).await, ["5"]);
    let status = |status| move |q: &mut CallQuery| q.status = Some(status);
    assert_eq!(fixture.found(status(ToolStatus::Error)).await, ["5", "2"]);
    assert_eq!(fixture.found(status(ToolStatus::Pending)).await, ["4"]);
    assert_eq!(fixture.found(status(ToolStatus::Ok)).await, ["3", "1"]);
    for (words, found) in [
        ("deadline", vec!["2"]),
        ("exec", vec!["5", "4", "3", "2"]),
        ("exe", vec!["5", "4", "3", "2"]),
        ("DEAD grep", vec!["2"]),
        ("파일", vec!["2"]),
        ("file-system__read", vec!["1"]),
        ("timeout", vec!["2"]),
        ("bash nothing", vec![]),
        ("\" OR * AND (", vec![]),
        ("-- !", all.to_vec()),
    ] {
        assert_eq!(
            fixture.found(|q| q.text = text(words)).await,
            found,
            "{words}"
        );
    }
    let both = |q: &mut CallQuery| {
        (q.instance, q.status) = (text("ann"), Some(ToolStatus::Error));
        q.text = text("grep");
    };
    assert_eq!(fixture.found(both).await, ["2"]);
    for miss in [
        |q: &mut CallQuery| q.instance = Some("bob".to_owned()),
        |q: &mut CallQuery| q.tool = Some("file-system__read".to_owned()),
        |q: &mut CallQuery| q.code = Some("E_TOOL_CANCELLED".to_owned()),
        |q: &mut CallQuery| q.status = Some(ToolStatus::Ok),
        |q: &mut CallQuery| q.agent = Some("other".to_owned()),
    ] {
        let found = fixture.found(|q| {
            q.text = text("grep");
            miss(q);
        });
        assert!(found.await.is_empty());
    }
    let facets = |q: &mut CallQuery| q.text = text("\u{e000}s1 e000s1");
    assert!(fixture.found(facets).await.is_empty(), "no text names them");
    let at = UNIX_EPOCH + BEGIN;
    let hour = Duration::from_secs(3600);
    assert_eq!(fixture.found(|q| q.since = Some(at - hour)).await, all);
    assert!(
        fixture
            .found(|q| q.since = Some(at + hour))
            .await
            .is_empty()
    );
    assert!(
        fixture
            .found(|q| q.until = Some(at - hour))
            .await
            .is_empty()
    );

    let log = fixture.log().await;
    let first = CallQuery {
        limit: 2,
        ..CallQuery::default()
    };
    let page = log.search(first.clone()).await.unwrap();
    let second = CallQuery {
        before: page.next,
        ..first.clone()
    };
    let page = log.search(second).await.unwrap();
    let ids: Vec<_> = page.calls.iter().map(|it| &*it.call_id).collect();
    assert_eq!(ids, ["3", "2"]);
    let later = CallQuery {
        after: Some(page.calls[0].id),
        ..first
    };
    let page = log.search(later).await.unwrap();
    let ids: Vec<_> = page.calls.iter().map(|it| &*it.call_id).collect();
    assert_eq!(ids, ["4", "5"], "the oldest first");
}

#[tokio::test]
async fn the_policy_turns_the_ring_off_or_leaves_arguments_out() {
    let nothing = fixture("calls: off");
    nothing.run_ok("ann", "1", "a__b");
    nothing.bus.flush().await;
    assert!(CallLog::open(nothing.root.path()).unwrap().is_none());
    assert_eq!(std::fs::read_dir(nothing.root.path()).unwrap().count(), 0);

    let fixture = fixture("calls: {arguments: false}");
    fixture.run_ok("ann", "1", "a__b");
    let log = fixture.log().await;
    let kept = newest(&log, "1").await;
    assert_eq!((kept.arguments, kept.output), (None, None));
    // A policy that is loaded later counts.
    fixture.bus.ring().unwrap().set_rule(None);
    fixture.run_ok("ann", "2", "a__b");
    assert_eq!(fixture.found(|_| ()).await, ["1"]);
}

#[tokio::test]
async fn long_arguments_are_cut_visibly() {
    let fixture = fixture("");
    let long = call("1", "a__b", json!({"text": "x".repeat(100_000)}));
    let result = ToolResult::ok("1", "a__b", json!("y".repeat(100_000)));
    fixture.run("ann", &long, &result);
    let log = fixture.log().await;
    let kept = log.get(1).await.unwrap().unwrap();
    for text in [kept.arguments.unwrap(), kept.output.unwrap()] {
        assert_eq!(text.len(), json::TEXT_MAX + CUT.len());
        assert!(text.ends_with(CUT));
    }
}

#[tokio::test]
async fn the_oldest_calls_are_removed_beyond_the_size() {
    let fixture = fixture("calls: {bytes: 1MiB}");
    let text = "some words that are not repeated ";
    for round in 0..40 {
        for number in 0..10 {
            let words: Vec<String> = (0..800)
                .map(|at| format!("{text}{round}{number}{at}"))
                .collect();
            let id = format!("{round}/{number}");
            let one = call(&id, "a__b", json!({"text": words.concat()}));
            fixture.run("ann", &one, &ToolResult::ok(&id, "a__b", json!(1)));
        }
        fixture.bus.flush().await;
    }
    let left = fixture.found(|q| q.limit = 1000).await;
    assert_eq!(left[0], "39/9", "the newest are kept");
    assert!((10..200).contains(&left.len()), "{}", left.len());
    let found = fixture.found(|q| q.text = Some("words".to_owned())).await;
    assert_eq!(
        found.len(),
        left.len().min(100),
        "their texts went with them"
    );
    let bytes = std::fs::metadata(fixture.root.path().join(FILE_NAME))
        .unwrap()
        .len();
    assert!(bytes < 3 << 20, "{bytes}");
}

#[tokio::test]
async fn calls_are_removed_after_their_age() {
    let long_ago = || SystemTime::now() - Duration::from_secs(3 * 24 * 60 * 60);
    let fixture = fixture_at("", long_ago);
    fixture.run_ok("ann", "old", "a__b");
    assert_eq!(fixture.found(|_| ()).await, ["old"], "seven days");
    let bus = bus_in(fixture.root.path(), "calls: {days: 2}", SystemTime::now);
    let later = Fixture { bus, ..fixture };
    later.run_ok("ann", "new", "a__b");
    assert_eq!(later.found(|_| ()).await, ["new"]);
}

#[tokio::test]
async fn calls_that_cannot_be_written_are_counted() {
    let fixture = fixture("");
    let blocked = fixture.root.path().join(FILE_NAME);
    std::fs::create_dir(&blocked).unwrap();
    for id in ["1", "2", "3"] {
        fixture.run_ok("ann", id, "a__b");
    }
    fixture.bus.flush().await;
    std::fs::remove_dir(&blocked).unwrap();
    // A writer whose database has failed waits before it opens it again.
    let mut writer = Writer::new(
        fixture.root.path(),
        &Redactor::default(),
        &fixture.bus.ring().unwrap().rule,
    );
    let batch = Batch {
        items: Vec::new(),
        lost: 3,
    };
    std::thread::spawn(move || writer.write(batch))
        .join()
        .unwrap();
    fixture.run_ok("ann", "4", "a__b");
    let log = CallLog::open(fixture.root.path()).unwrap().unwrap();
    let page = log.search(CallQuery::default()).await.unwrap();
    assert_eq!((page.lost, page.calls.len()), (3, 0));
}

#[tokio::test]
async fn a_burst_loses_what_does_not_fit_and_counts_it() {
    let root = tempfile::tempdir().unwrap();
    let rule = Policy::default().calls();
    let ring = Ring {
        worker: Worker::new("small", 2, QUEUE_BYTES),
        ..Ring::new(root.path(), &Redactor::default(), rule)
    };
    let bus = EventBus::with_ring(EventBusConfig::default(), Some(ring));
    let fixture = Fixture { root, bus };
    let count = 3000;
    for _ in 0..count {
        fixture.run_ok("ann", "1", "a__b");
    }
    let newest = fixture.log().await.search(CallQuery::default()).await;
    let newest = newest.unwrap();
    let kept = newest.calls[0].id;
    assert!(newest.lost > 0 && kept > 0, "{} {kept}", newest.lost);
    assert_eq!(newest.lost + kept, count);
}
