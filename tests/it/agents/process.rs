//! Agents in child processes: killed, flooding, forging and unresponsive ones.

use std::io::BufRead;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use toolhost::ResourceName;
use toolhost::agents::{
    AgentEvent, AgentRuntime, AgentSetup, AgentsClient, AgentsError, HandlerError, Orchestrator,
    OrchestratorConfig, OrchestratorStats, ProcessSetup, Request, Requested, TurnPort, async_trait,
};

use crate::helper::{HELPER, helper};

/// A child process with an agent.
fn child() -> ProcessSetup {
    ProcessSetup::new(HELPER).arg("agent-child")
}

fn config() -> OrchestratorConfig {
    let mut config = OrchestratorConfig::default();
    config.backoff_first = Duration::from_millis(1);
    config
}

async fn orchestrator(agents: &[&str]) -> Orchestrator {
    with_config(config(), agents).await
}

async fn with_config(config: OrchestratorConfig, agents: &[&str]) -> Orchestrator {
    let orchestrator = Orchestrator::in_memory(config).await.unwrap();
    for name in agents {
        register(&orchestrator, name, child()).await;
    }
    orchestrator
}

async fn register(orchestrator: &Orchestrator, name: &str, process: ProcessSetup) {
    let name = ResourceName::parse(name).unwrap();
    let setup = AgentSetup::process(process);
    orchestrator.register(&name, setup).await.unwrap();
}

fn user(orchestrator: &Orchestrator) -> AgentsClient {
    orchestrator.client("user", "k", Some("trace-1".to_owned()))
}

async fn ask(orchestrator: &Orchestrator, target: &str, input: Value) -> Value {
    let asked = user(orchestrator)
        .request(Request::new(target, input))
        .await;
    asked.unwrap().response
}

async fn fails(orchestrator: &Orchestrator, target: &str, input: Value) -> AgentsError {
    let asked = user(orchestrator)
        .request(Request::new(target, input))
        .await;
    asked.unwrap_err()
}

/// Sends a request in a task of its own.
fn spawn_ask(
    orchestrator: &Orchestrator,
    target: &str,
    input: Value,
) -> tokio::task::JoinHandle<Result<Requested, AgentsError>> {
    let (user, request) = (user(orchestrator), Request::new(target, input));
    tokio::spawn(async move { user.request(request).await })
}

async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed().as_secs() < 10, "not within 10 s: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn settles(orchestrator: &Orchestrator) {
    eventually("no task is left", async || {
        let stats = orchestrator.stats().await.unwrap();
        let instances = stats.instances;
        let nothing = OrchestratorStats {
            instances,
            ..OrchestratorStats::default()
        };
        stats == nothing
    })
    .await;
}

fn pid(value: &Value) -> Pid {
    let pid = value.as_i64().and_then(|pid| i32::try_from(pid).ok());
    pid.and_then(Pid::from_raw).unwrap()
}

/// Whether a process runs; a zombie does not.
fn is_alive(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    let zombie = stat.is_ok_and(|stat| stat.contains(") Z "));
    test_kill_process(pid).is_ok() && !zombie
}

async fn is_gone(pid: Pid) {
    eventually("the process has ended", async || !is_alive(pid)).await;
}

async fn note(path: &Path) -> Value {
    eventually("the note is written", async || path.exists()).await;
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

// tool-spec-v2 §2.6(7), §11.1
#[tokio::test]
async fn asking_an_agent_starts_its_process() {
    let orchestrator = orchestrator(&["a", "b"]).await;
    let question = json!({"do": "ask", "target": "b", "input": {"do": "event"}});
    let asked = ask(&orchestrator, "a", question).await;
    assert_eq!(
        (&asked["target"], &asked["accepted"]),
        (&json!("b"), &json!(true))
    );
    let event = &asked["response"];
    assert_eq!(event["id"], asked["eventId"]);
    assert_eq!(event["source"], json!({"kind": "agent", "name": "a"}));
    assert_eq!(event["instanceKey"], json!("k"));
    assert_eq!(event["traceId"], json!("trace-1"));
    assert_eq!(event["metadata"], json!({"deliveryAttempt": 1}));
    let reply_to = json!({"target": "a", "correlationId": asked["correlationId"]});
    assert_eq!(event["replyTo"], reply_to);
    settles(&orchestrator).await;
}

#[tokio::test]
async fn a_child_process_gets_the_same_answers_and_errors_as_a_local_agent() {
    let orchestrator = orchestrator(&["a", "b"]).await;
    for (question, code, message) in [
        (
            json!({"do": "ask", "target": "nobody"}),
            "AGENT_NOT_FOUND",
            "agent 'nobody' is not known",
        ),
        (
            json!({"do": "send", "target": "nobody"}),
            "AGENT_NOT_FOUND",
            "agent 'nobody' is not known",
        ),
        (
            json!({"do": "spawn", "target": "nobody"}),
            "AGENT_NOT_FOUND",
            "agent 'nobody' is not known",
        ),
        (
            json!({"do": "ask", "target": "b", "input": {"do": "hang"}, "timeoutMs": 50}),
            "AGENT_REQUEST_TIMEOUT",
            "agent 'b' did not answer within 50 ms",
        ),
        (
            json!({"do": "ask", "target": "a"}),
            "CIRCULAR_CALL_DETECTED",
            "a request to agent 'a' would wait for itself: a[k] waits for a[k]",
        ),
    ] {
        let expected = json!({"code": code, "message": message});
        assert_eq!(ask(&orchestrator, "a", question).await, expected);
    }

    let catalog = ask(&orchestrator, "a", json!({"do": "catalog"})).await;
    assert_eq!(catalog, json!([{"name": "a"}, {"name": "b"}]));
    let spawned = ask(&orchestrator, "a", json!({"do": "spawn", "target": "b"})).await;
    let expected = json!({"target": "b", "instanceKey": "k/spawned", "spawned": true});
    assert_eq!(spawned, expected);
    let list = ask(&orchestrator, "a", json!({"do": "list"})).await;
    let states = list.as_array().unwrap().iter();
    let states: Vec<_> = states.map(|i| (&i["target"], &i["state"])).collect();
    let (a, b) = (json!("a"), json!("b"));
    let (running, idle) = (json!("running"), json!("idle"));
    assert_eq!(states, [(&a, &running), (&b, &running), (&b, &idle)]);
}

#[tokio::test]
async fn a_circular_request_between_processes_is_refused() {
    let orchestrator = orchestrator(&["a", "b"]).await;
    let back = json!({"do": "ask", "target": "a", "input": 1});
    let there = json!({"do": "ask", "target": "b", "input": back});
    let asked = ask(&orchestrator, "a", there).await;
    assert_eq!(asked["response"]["code"], json!("CIRCULAR_CALL_DETECTED"));
    settles(&orchestrator).await;
}

#[tokio::test]
async fn a_process_reads_the_answers_to_its_earlier_requests() {
    let orchestrator = orchestrator(&["a", "b"]).await;
    let long = "x".repeat(300 << 10);
    let mut ids = Vec::new();
    // More answers than one turn takes.
    for _ in 0..5 {
        let question = json!({"do": "ask", "target": "b", "input": &long, "async": true});
        let asked = ask(&orchestrator, "a", question).await;
        assert_eq!(
            (&asked["async"], &asked["response"]),
            (&json!(true), &Value::Null)
        );
        ids.push(asked["correlationId"].clone());
    }
    eventually("all requests are answered", async || {
        orchestrator.stats().await.unwrap().stored_responses == 5
    })
    .await;
    let back = json!({"do": "fail", "why": "not yet"});
    fails(&orchestrator, "a", back).await;
    // A turn takes some answers, oldest first; when it succeeds, they are removed.
    let mut taken = Vec::new();
    for _ in 0..5 {
        let some = ask(&orchestrator, "a", json!({"do": "take"})).await;
        let some = some.as_array().unwrap();
        assert_eq!(some.len(), 1, "two are more than 512 KiB");
        taken.push(some[0]["metadata"]["inReplyTo"].clone());
    }
    assert_eq!(taken, ids);
    settles(&orchestrator).await;
}

#[tokio::test]
async fn a_killed_turn_is_delivered_again_and_its_request_answered() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("note");
    let orchestrator = orchestrator(&["a", "b"]).await;
    let input = json!({"do": "hang-once", "note": path});
    let question = json!({"do": "ask", "target": "b", "input": input});
    let asking = spawn_ask(&orchestrator, "a", question);
    let note = note(&path).await;
    kill_process(pid(&note["pid"]), Signal::KILL).unwrap();
    let asked = asking.await.unwrap().unwrap().response;
    let expected = json!({"attempt": 2, "id": note["event"]["id"]});
    assert_eq!(asked["response"], expected);
    settles(&orchestrator).await;
}

#[tokio::test]
async fn a_killed_requester_repeats_its_request() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("note");
    let orchestrator = orchestrator(&["a", "b"]).await;
    let a = ask(&orchestrator, "a", json!({"do": "pid"})).await;
    let input = json!({"do": "hang-once", "note": path});
    let question = json!({"do": "ask", "target": "b", "input": input});
    let asking = spawn_ask(&orchestrator, "a", question);
    let note = note(&path).await;
    kill_process(pid(&a), Signal::KILL).unwrap();
    // The request is repeated and queued after the turn of the first one.
    eventually("the request is repeated", async || {
        orchestrator.stats().await.unwrap().queued == 1
    })
    .await;
    kill_process(pid(&note["pid"]), Signal::KILL).unwrap();
    let asked = asking.await.unwrap().unwrap().response;
    assert_eq!(asked["response"]["attempt"], json!(1));
    assert_ne!(asked["response"]["id"], note["event"]["id"]);
    settles(&orchestrator).await;
}

#[tokio::test]
async fn a_process_that_dies_on_every_delivery_is_named_in_the_error() {
    let orchestrator = orchestrator(&["a"]).await;
    let error = fails(&orchestrator, "a", json!({"do": "die"})).await;
    assert_eq!(error.code().as_str(), "IPC_DELIVERY_FAILED");
    // The requester can be a model, so the error has no process id.
    assert_eq!(
        error.to_string(),
        "the event for agent 'a' was not delivered: \
         a[k] was lost 3 times, last because its process ended"
    );
    assert_eq!(ask(&orchestrator, "a", json!(1)).await, json!(1));
    settles(&orchestrator).await;
}

#[tokio::test]
async fn a_process_cannot_use_host_codes_or_send_endless_text() {
    let orchestrator = orchestrator(&["a", "b"]).await;
    let why = format!("\u{1b}]0;x\u{202e}{}", "x".repeat(500_000));
    let fail =
        json!({"do": "fail", "why": why, "code": "E_TOOL_NOT_IN_CATALOG", "page": "javascript:x"});
    let question = json!({"do": "ask", "target": "b", "async": true, "input": fail});
    ask(&orchestrator, "a", question).await;
    let mut taken = json!([]);
    eventually("the answer arrives", async || {
        taken = ask(&orchestrator, "a", json!({"do": "take"})).await;
        taken != json!([])
    })
    .await;
    let error = &taken[0]["metadata"]["error"];
    assert_eq!(
        (&error["code"], &error["helpUrl"]),
        (&Value::Null, &Value::Null)
    );
    let message = error["message"].as_str().unwrap();
    assert!(
        message.len() <= 1000 && message.starts_with("\\u{1b}]0;x\\u{202e}x"),
        "{message}"
    );
    settles(&orchestrator).await;
}

#[tokio::test]
async fn the_log_keeps_a_limited_number_of_lines_of_a_process() {
    let logged = Logged::default();
    let to = logged.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || to.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let orchestrator = orchestrator(&["a"]).await;
    let grumble = json!({"do": "grumble", "lines": 20_000});
    assert_eq!(ask(&orchestrator, "a", grumble).await, json!("grumbled"));
    let text = || String::from_utf8(logged.0.lock().unwrap().clone()).unwrap();
    eventually("the last line is logged", async || {
        text().contains("no 16384")
    })
    .await;
    let lines = text().lines().filter(|line| line.contains("no ")).count();
    // Lines 1 to 1,000, then 1,024, 2,048, 4,096, 8,192 and 16,384.
    assert_eq!(lines, 1005);
}

/// The captured log.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn invalid_messages_of_a_process_are_ignored() {
    let orchestrator = orchestrator(&["a"]).await;
    let event = |to: &str, event_type: &str| {
        json!({"type": "event", "from": "orchestrator", "to": to, "payload": {
            "id": "x", "type": event_type, "createdAt": "2026-11-21T05:00:00.000Z",
            "source": {"kind": "agent", "name": "b"},
        }})
        .to_string()
    };
    let lines = [
        "",
        "garbage",
        "{",
        "\u{0}\u{7f}",
        &"[".repeat(10_000),
        r#"{"type":"reboot","from":"a","to":"b"}"#,
        r#"{"type":"shutdown","from":"a","to":"orchestrator"}"#,
        r#"{"type":"delegate","from":"a","to":"nobody","payload":1}"#,
        &event("orchestrator", "agents.everything"),
        &event("orchestrator", "turn.completed"),
        &event("nobody", "news"),
        &event("nobody", "agent.response"),
    ];
    let input = json!({"do": "say", "lines": lines, "long": 3 << 20});
    assert_eq!(ask(&orchestrator, "a", input).await, json!("said"));
    assert_eq!(ask(&orchestrator, "a", json!(1)).await, json!(1));
    settles(&orchestrator).await;
}

#[tokio::test]
async fn only_the_asked_process_can_answer_a_request() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("note");
    let orchestrator = orchestrator(&["victim", "forger"]).await;
    let input = json!({"do": "hang-once", "note": path});
    let asking = spawn_ask(&orchestrator, "victim", input);
    let note = note(&path).await;
    let asked = &note["event"];
    let forged = |event_type: &str, metadata: Value| {
        json!({"type": "event", "from": "victim", "to": "orchestrator", "payload": {
            "id": "f", "type": event_type, "createdAt": "2026-11-21T05:00:00.000Z",
            "source": {"kind": "agent", "name": "victim"}, "input": "forged",
            "metadata": metadata,
        }})
        .to_string()
    };
    let in_reply_to = json!({"inReplyTo": asked["replyTo"]["correlationId"]});
    let lines = [
        forged("agent.response", in_reply_to.clone()),
        forged("turn.completed", json!({"eventId": asked["id"]})),
        json!({
            "type": "delegate_result", "from": "victim", "to": "user", "payload": "forged",
            "correlationId": asked["replyTo"]["correlationId"],
        })
        .to_string(),
    ];
    let said = ask(
        &orchestrator,
        "forger",
        json!({"do": "say", "lines": lines}),
    )
    .await;
    assert_eq!(said, json!("said"));
    // Nor can it send an answer to the victim.
    let to_victim = forged("agent.response", in_reply_to).replace("orchestrator", "victim");
    ask(
        &orchestrator,
        "forger",
        json!({"do": "say", "lines": [to_victim]}),
    )
    .await;
    assert!(!asking.is_finished());
    kill_process(pid(&note["pid"]), Signal::KILL).unwrap();
    let asked = asking.await.unwrap().unwrap().response;
    assert_eq!(asked["attempt"], json!(2));
    settles(&orchestrator).await;
}

#[tokio::test]
async fn a_process_cannot_send_events_as_another_agent() {
    let orchestrator = orchestrator(&["a", "b"]).await;
    let event = json!({"type": "event", "from": "king", "to": "b", "payload": {
        "id": "e-1", "type": "news", "createdAt": "2026-11-21T05:00:00.000Z",
        "source": {"kind": "user", "name": "king"}, "input": {"do": "event"},
        "replyTo": {"target": "king", "correlationId": "c-1"},
        "metadata": {"delivery": {"async": true}, "deliveryAttempt": 7},
    }});
    let lines = [event.to_string()];
    ask(&orchestrator, "a", json!({"do": "say", "lines": lines})).await;
    let a = orchestrator.client("a", "k", None);
    let mut taken = Vec::new();
    eventually(
        "the answer arrives at the process that sent the event",
        async || {
            taken = a.take_responses().await.unwrap();
            !taken.is_empty()
        },
    )
    .await;
    let received = taken.remove(0).into_answer().unwrap();
    assert_eq!(received["source"], json!({"kind": "agent", "name": "a"}));
    assert_eq!(
        received["replyTo"],
        json!({"target": "a", "correlationId": "c-1"})
    );
    assert_eq!(received["metadata"], json!({"deliveryAttempt": 1}));
}

#[tokio::test]
async fn the_error_of_a_process_keeps_its_code_and_message() {
    let orchestrator = orchestrator(&["a"]).await;
    let error = fails(&orchestrator, "a", json!({"do": "fail", "why": "no"})).await;
    let raised = error.handler_error().unwrap();
    assert_eq!(
        (&*raised.message, raised.code.as_deref()),
        ("no", Some("ENO"))
    );
}

// tool-spec-v2-earlier §9.1, §9.3
#[tokio::test]
async fn a_delegate_is_delivered_and_answered_by_a_delegate_result() {
    let orchestrator = orchestrator(&["b"]).await;
    let setup = child().arg("earlier");
    register(&orchestrator, "old", setup).await;
    let result = |target: &str, payload: Value| {
        json!({
            "type": "delegate_result", "from": target, "to": "old", "correlationId": "d-1",
            "payload": payload,
        })
    };
    let input = json!({"target": "b", "input": {"task": 1}});
    let answered = ask(&orchestrator, "old", input).await;
    let expected = result("b", json!({"status": "ok", "output": {"task": 1}}));
    assert_eq!(answered, expected);

    let input = json!({"target": "b", "input": {"do": "fail", "why": "no"}});
    let answered = ask(&orchestrator, "old", input).await;
    let error = json!({"message": "no", "code": "ENO"});
    assert_eq!(
        answered,
        result("b", json!({"status": "error", "error": error}))
    );

    let input = json!({"target": "nobody", "input": 1});
    let answered = ask(&orchestrator, "old", input).await;
    assert_eq!(
        answered["payload"]["error"]["code"],
        json!("AGENT_NOT_FOUND")
    );
    settles(&orchestrator).await;
}

#[tokio::test]
async fn a_shutdown_kills_processes_that_do_not_end_in_the_grace_period() {
    let orchestrator = orchestrator(&["a"]).await;
    let setup = child().arg("deaf");
    register(&orchestrator, "deaf", setup).await;
    let well = pid(&ask(&orchestrator, "a", json!({"do": "pid"})).await);
    let deaf = pid(&ask(&orchestrator, "deaf", Value::Null).await);
    let started = Instant::now();
    let stop = tokio::spawn({
        let orchestrator = orchestrator.clone();
        async move { orchestrator.shutdown(Duration::from_millis(1500)).await }
    });
    is_gone(well).await;
    assert!(started.elapsed() < Duration::from_millis(1400));
    assert!(is_alive(deaf));
    stop.await.unwrap();
    is_gone(deaf).await;
    let elapsed = started.elapsed();
    assert!(elapsed >= Duration::from_millis(1500), "{elapsed:?}");
    assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
    let stats = orchestrator.stats().await.unwrap();
    assert_eq!(stats, OrchestratorStats::default());
}

#[tokio::test]
async fn a_running_turn_can_end_in_the_grace_period() {
    let dir = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    let path = dir.path().join("note");
    let orchestrator = Orchestrator::open(root.path(), config()).await.unwrap();
    register(&orchestrator, "a", child()).await;
    let input = json!({"do": "hang-once", "note": path});
    let asking = spawn_ask(&orchestrator, "a", input);
    let hung = note(&path).await;
    // It does not end: it is killed, and its event is delivered at the next start.
    orchestrator.shutdown(Duration::from_millis(50)).await;
    is_gone(pid(&hung["pid"])).await;
    let error = asking.await.unwrap().unwrap_err();
    assert_eq!(error.code().as_str(), "IPC_DELIVERY_FAILED");
    assert_eq!(orchestrator.stats().await.unwrap().stored_events, 1);
    drop(orchestrator);

    let mut next = config();
    next.recovery_interval = Duration::from_millis(5);
    let next = Orchestrator::open(root.path(), next).await.unwrap();
    register(&next, "a", child()).await;
    settles(&next).await;
}

#[tokio::test]
async fn dropping_the_orchestrator_kills_its_processes_and_their_children() {
    let orchestrator = orchestrator(&["a"]).await;
    let pids = ask(&orchestrator, "a", json!({"do": "fork"})).await;
    let (child, grandchild) = (pid(&pids[0]), pid(&pids[1]));
    assert!(is_alive(child) && is_alive(grandchild));
    drop(orchestrator);
    is_gone(child).await;
    is_gone(grandchild).await;
}

#[tokio::test]
async fn an_idle_process_is_stopped() {
    let mut limits = config();
    limits.idle_after = Duration::from_millis(50);
    let orchestrator = with_config(limits, &["a"]).await;
    let first = ask(&orchestrator, "a", json!({"do": "pid"})).await;
    is_gone(pid(&first)).await;
    eventually("no task is left", async || {
        orchestrator.stats().await.unwrap() == OrchestratorStats::default()
    })
    .await;
    let second = ask(&orchestrator, "a", json!({"do": "pid"})).await;
    assert_ne!(first, second);
}

#[tokio::test]
async fn a_process_does_not_inherit_the_environment_of_the_host() {
    let orchestrator = Orchestrator::in_memory(config()).await.unwrap();
    let setup = child().env("GIVEN", "1");
    register(&orchestrator, "a", setup).await;
    let env = ask(&orchestrator, "a", json!({"do": "env"})).await;
    assert_eq!(env, json!([["GIVEN", "1"]]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_handle_many_concurrent_turns_and_requests() {
    let orchestrator = orchestrator(&["a", "b"]).await;
    let fan = json!({"do": "fan", "target": "b", "times": 200});
    assert_eq!(ask(&orchestrator, "a", fan).await, json!(200));
    let mut turns = tokio::task::JoinSet::new();
    for n in 0..100 {
        let user = user(&orchestrator);
        let mut request = Request::new("a", json!({"do": "ask", "target": "b", "input": n}));
        request.instance_key = Some((n % 4).to_string());
        turns.spawn(async move { (n, user.request(request).await) });
    }
    for (n, asked) in turns.join_all().await {
        assert_eq!(asked.unwrap().response["response"], json!(n));
    }
    settles(&orchestrator).await;
}

/// Records the events it gets.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<AgentEvent>>>);

#[async_trait]
impl AgentRuntime for Recorder {
    async fn on_event(&self, event: AgentEvent, _: &TurnPort) -> Result<Value, HandlerError> {
        self.0.lock().unwrap().push(event);
        Ok(Value::Null)
    }
}

// tool-spec-v2 §2.6(1): what was accepted is delivered.
#[tokio::test]
async fn events_accepted_by_a_killed_host_are_delivered_by_the_next_one() {
    let root = tempfile::tempdir().unwrap();
    let mut host = helper("agent-child")
        .arg("host")
        .arg(root.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let stdout = host.stdout.take().unwrap();
    std::io::BufReader::new(stdout)
        .read_line(&mut said)
        .unwrap();
    let agent = pid(&serde_json::from_str(&said).unwrap());
    assert!(is_alive(agent));
    host.kill().unwrap();
    host.wait().unwrap();
    // The agent's process has lost its host.
    is_gone(agent).await;

    let next = Orchestrator::open(root.path(), config()).await.unwrap();
    assert_eq!(next.stats().await.unwrap().stored_events, 20);
    let recorder = Recorder::default();
    let setup = {
        let recorder = recorder.clone();
        AgentSetup::in_process(move |_| Arc::new(recorder.clone()))
    };
    let name = ResourceName::parse("hang").unwrap();
    next.register(&name, setup).await.unwrap();
    settles(&next).await;
    let events = recorder.0.lock().unwrap();
    for key in 0..4 {
        let key = key.to_string();
        let of_key = events
            .iter()
            .filter(|e| e.instance_key.as_ref() == Some(&key));
        let of_key: Vec<_> = of_key
            .map(|e| e.input.as_ref().unwrap()["n"].clone())
            .collect();
        let first: u64 = key.parse().unwrap();
        let expected: Vec<_> = (0..5).map(|n| json!(n * 4 + first)).collect();
        assert_eq!(of_key, expected);
    }
}
