//! A call that is stopped at each of the calls that it makes, before, within and after it.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::future::pending;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use futures_util::future::{join_all, poll_immediate};
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolhost::events::{EventKind, EventStream, Received};
use toolhost::middleware::{Next, ToolCallContext};
use toolhost::{AssistantMessage, Host, Policy, ToolResult};
use toolhost_tests::test_host::{TestHost, code, open_step, tool_call_of};
use toolhost_tests::{eventually, own_sandbox};

use super::{TOOLS, answers, write};

/// Calls that an undisturbed call makes, at any depth.
const CALLS: [&str; 7] = ["/1", "/2", "/2/1", "/3", "/4", "/5", "/6"];

/// Who is cancelled has all the time, who is stopped by its deadline a second. They may make just the calls that they
/// make, and have just as many at once.
const POLICY: &str = "
tools:
  caller: {tools: ['*'], workdir: transactional, limits: {toolCalls: 7, toolCallsAtOnce: 3}}
  hasty: {tools: ['*'], workdir: transactional, limits: {toolCalls: 7, toolCallsAtOnce: 3, deadlineMs: 1000}}
  other: {tools: ['*']}
";

#[derive(Clone, Copy, Debug)]
enum At {
    /// The call waits in a middleware, and has not begun.
    Before,
    /// Its component computes.
    Within,
    /// It has ended, and its caller does not know yet.
    After,
}

/// Where a run is stopped.
#[derive(Clone)]
struct Stop {
    call: &'static str,
    at: At,
    is_reached: Arc<Notify>,
}

/// The runs, by the keys of their instances.
type Stops = Arc<Mutex<HashMap<String, Stop>>>;

/// What the calling one does: calls with changes, one after the other, within each other and at once.
fn steps() -> Value {
    let write = |path: &str| json!({"do": "write", "path": path, "text": "x"});
    let call =
        |tool: &str, steps: Value| json!({"do": "call", "tool": tool, "args": {"steps": steps}});
    let nested = call("third__run", json!([write("c")]));
    let at_once = json!({"do": "many", "tool": "other__run", "args": {"steps": [write("d")]}, "times": 3, "atOnce": 3});
    json!([
        write("own"),
        call("other__run", json!([write("a")])),
        call("other__run", json!([write("b"), nested])),
        at_once,
        call("other__run", json!([write("e")])),
    ])
}

const FILES: [&str; 6] = ["a", "b", "c", "d", "e", "own"];

async fn pass(stops: Stops, mut call: ToolCallContext, next: Next<ToolCallContext>) -> ToolResult {
    let stop = stops.lock().unwrap().get(call.instance_key()).cloned();
    let is_reached = |stop: &Stop| call.tool_call_id() == format!("call{}", stop.call);
    let Some(stop) = stop.filter(is_reached) else {
        return next.run(call).await;
    };
    match stop.at {
        At::Before => {}
        At::Within => {
            let steps = call.args.get_mut("steps").and_then(Value::as_array_mut);
            steps.unwrap().push(json!({"do": "spin"}));
            stop.is_reached.notify_one();
            return next.run(call).await;
        }
        At::After => drop(next.run(call).await),
    }
    stop.is_reached.notify_one();
    pending().await
}

async fn host(state: &Path) -> (TestHost, Stops) {
    let host = Host::builder()
        .sandbox(own_sandbox(|_| {}))
        .policy(Policy::parse(POLICY, "policy.yaml").unwrap())
        .state_root(state)
        .build();
    let hasty = [("hasty", "call_tools", &["run"] as &[&str])];
    let tools = [&TOOLS[..], &hasty[..]].concat();
    let host = TestHost::with_tools_in(host.unwrap(), &tools).await;
    let stops = Stops::default();
    let known = Arc::clone(&stops);
    let layer = move |call: ToolCallContext, next: Next<ToolCallContext>| {
        pass(Arc::clone(&known), call, next)
    };
    let extended = host
        .agent
        .extend("stop", |api| api.pipeline().tool_call(0, layer));
    extended.unwrap();
    (host, stops)
}

/// Runs a tool in a workdir of its own. Returns its result, and the files of the workdir.
async fn run(
    host: &TestHost,
    tool: &str,
    key: &str,
    stop: Option<&Notify>,
) -> (ToolResult, Vec<String>) {
    let work = toolhost_tests::Work::new();
    let workdir = host.host.workdir(work.dir.path()).unwrap();
    let step = open_step(&host.agent, key, &workdir).await;
    let call = tool_call_of("call", tool, json!({"steps": steps()}));
    let message = AssistantMessage::for_call(&call);
    let result = match stop {
        Some(stop) => step.execute_until(call, &message, stop.notified()).await,
        None => step.execute(call, &message).await,
    };
    let entries = fs::read_dir(work.dir.path()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    (result, names)
}

/// The kinds and ids of calls in the events of each instance.
type Calls = BTreeMap<String, Vec<(EventKind, String)>>;

/// Collects the calls until the first one of the instance `last` has ended.
async fn collect(mut events: EventStream) -> Calls {
    let mut calls = Calls::new();
    loop {
        let Some(Received::Event(event)) = events.next().await else {
            panic!("an event was lost");
        };
        let Some(id) = &event.tool_call_id else {
            continue;
        };
        let key = event.instance_key.to_string();
        let is_last = key == "last" && event.kind == EventKind::ToolCompleted && **id == *"call";
        let of_instance = calls.entry(key).or_default();
        of_instance.push((event.kind, id.to_string()));
        if is_last {
            return calls;
        }
    }
}

/// Stops a call of a tool at one of its calls: by its deadline, or by cancelling it. Returns whether it was there when
/// it was stopped.
async fn is_stopped_at(
    host: &TestHost,
    stops: &Stops,
    (tool, call, at): (&str, &'static str, At),
    attempt: &str,
) -> bool {
    let key = format!("{tool} {call} {at:?} {attempt}");
    let is_reached = Arc::new(Notify::new());
    let stop = Stop {
        call,
        at,
        is_reached: Arc::clone(&is_reached),
    };
    stops.lock().unwrap().insert(key.clone(), stop);
    let is_cancelled = tool == "caller__run";
    let (result, files) = run(host, tool, &key, is_cancelled.then_some(&*is_reached)).await;
    assert_eq!(files, [""; 0], "{key}");
    if is_cancelled {
        assert_eq!(code(&result), "E_TOOL_CANCELLED", "{key}");
        return true;
    }
    assert_eq!(code(&result), "E_TOOL_TIMEOUT", "{key}");
    let reached = pin!(is_reached.notified());
    poll_immediate(reached).await.is_some()
}

fn staged(state: &Path) -> usize {
    fs::read_dir(state.join("staging")).unwrap().count()
}

#[tokio::test]
async fn a_call_that_is_stopped_at_any_of_its_calls_leaves_nothing_and_gives_all_back() {
    let state = tempfile::tempdir().unwrap();
    let (host, stops) = host(state.path()).await;
    let collected = tokio::spawn(collect(host.host.events().subscribe()));
    let sandbox = host.host.sandbox();
    let (result, files) = run(&host, "caller__run", "whole", None).await;
    assert_eq!(files, FILES, "{result:?}");
    assert_eq!(answers(&result)[3]["ok"]["succeeded"], 3, "{result:?}");
    let (free, staged_before) = (sandbox.free_call_slots(), staged(state.path()));

    let mut all = Vec::new();
    for tool in ["caller__run", "hasty__run"] {
        let places = [At::Before, At::Within, At::After];
        let stops = CALLS
            .iter()
            .flat_map(|call| places.map(|at| (tool, *call, at)));
        all.extend(stops);
    }
    let stopped = all
        .iter()
        .map(|stop| is_stopped_at(&host, &stops, *stop, "1"));
    let stopped = join_all(stopped).await;
    // Where all run at once, some reach their deadline before.
    for (stop, mut is_reached) in all.into_iter().zip(stopped) {
        for attempt in ["2", "3", "4", "5"] {
            if !is_reached {
                is_reached = is_stopped_at(&host, &stops, stop, attempt).await;
            }
        }
        assert!(is_reached, "{stop:?}");
    }

    eventually("no call holds memory or a slot", || {
        sandbox.memory_in_use() == 0
            && sandbox.free_call_slots() == free
            && sandbox.parked_calls() + sandbox.waiting_calls() + sandbox.hanging_calls() == 0
    })
    .await;
    let is_clean = || staged(state.path()) == staged_before;
    eventually("the staged files are removed", is_clean).await;

    // Each call that began has one end, before that of its caller.
    let (result, files) = run(&host, "caller__run", "last", None).await;
    assert_eq!(files, FILES, "{result:?}");
    let calls = collected.await.unwrap();
    assert!(calls.len() >= 2 + 2 * 3 * CALLS.len());
    for (key, calls) in calls {
        let mut open: Vec<String> = Vec::new();
        for (kind, id) in calls {
            if kind == EventKind::ToolCalled {
                let is_within = |(outer, _): (&str, &str)| open.iter().any(|it| it == outer);
                assert!(id.rsplit_once('/').is_none_or(is_within), "{key}: {id}");
                open.push(id);
                continue;
            }
            assert!(
                !open.iter().any(|it| it.starts_with(&format!("{id}/"))),
                "{key}: {id}"
            );
            let at = open.iter().position(|it| *it == id);
            open.remove(at.unwrap_or_else(|| panic!("{key}: {id} ended twice")));
        }
        assert!(open.is_empty(), "{key}: {open:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_makes_room_for_another() {
    let policy = "tools: {caller: {tools: ['*'], limits: {toolCallsAtOnce: 1}}}";
    let host = TestHost::with_tools(&TOOLS, policy).await;
    let cancel = json!({"do": "cancel", "tool": "other__run", "args": {"steps": [{"do": "spin"}]}});
    let result = super::run(&host, json!([cancel, write("a")])).await;
    assert_eq!(answers(&result)[0]["error"]["code"], "E_TOOL_CANCELLED");
    assert_eq!(answers(&result)[1]["ok"]["written"], true, "{result:?}");
    assert!(host.work.path("a").exists());
    let calls = result.usage().tool_calls.as_ref().unwrap();
    assert_eq!((calls.count, calls.failed), (2, 1));
}
