//! What a call does that runs again, ends, or waits within another one.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use serde_json::{Value, json};
use toolhost::ToolStatus;
use toolhost::approvals::Approvals;
use toolhost::middleware::{Next, ToolCallContext};
use toolhost_tests::guest;
use toolhost_tests::test_host::{code, open_step, tool_call_of};

use super::{Site, ended, write};
use crate::http::server::{Server, ok};

#[tokio::test]
async fn a_cancelled_component_does_nothing_that_needs_consent() {
    let site = Site::new();
    let running = site.start("tools: {later: {ask: effects}}").await;
    let pending = running.call("later__run", json!({"handle": "waits"})).await;
    assert!(pending.awaits_approval().is_none(), "{pending:?}");
    let cancelled = running.instance.cancel(pending.handle().unwrap()).await;
    assert_eq!(code(&cancelled), "E_TOOL_CANCELLED");
    assert_eq!((site.names(), site.staged()), (vec![], vec![]));
    // Without the rule it writes a file.
    let other = Site::new();
    let running = other
        .start("tools: {later: {workdir: transactional}}")
        .await;
    let pending = running.call("later__run", json!({"handle": "waits"})).await;
    running.instance.cancel(pending.handle().unwrap()).await;
    assert_eq!(other.names(), ["cancelled"]);
}

#[tokio::test]
async fn the_polls_of_a_call_that_began_under_another_policy_wait() {
    let site = Site::new();
    let running = site.start("tools: {later: {ask: effects}}").await;
    let pending = running
        .call("later__run", json!({"handle": "write:polled.txt"}))
        .await;
    let handle = pending.handle().unwrap().to_owned();
    drop(running);
    let stricter = site.start("tools: {later: {ask: always}}").await;
    let polled = stricter.instance.poll(&handle).await;
    assert_eq!(
        polled.awaits_approval().unwrap().effect.as_str(),
        "workdir",
        "{polled:?}"
    );
    assert_eq!(site.names(), Vec::<String>::new());
    // A call that somebody has approved as a whole is polled freely.
    let site = Site::new();
    let running = site.start("tools: {later: {ask: always}}").await;
    let args = json!({"handle": "write:polled.txt"});
    let handle = running.held("later__run", args, "call").await;
    running.approve().await;
    assert_eq!(
        ended(&running.instance, &handle).await.output(),
        Some(&json!(true))
    );
    assert_eq!(site.names(), ["polled.txt"]);
}

#[tokio::test]
async fn the_polls_of_an_approved_call_wait_if_its_component_is_another_one_by_then() {
    let site = Site::new();
    let policy = "tools: {later: {ask: always}}";
    let running = site.start(policy).await;
    let args = json!({"handle": "write:polled.txt"});
    let handle = running.held("later__run", args, "call").await;
    let id = running.waiting().await.id;
    drop(running);
    let doors = Approvals::open(&site.path("state")).unwrap();
    doors.approve(&id, "bob", None).await.unwrap();
    let running = site.start(policy).await;
    let begun = running.instance.poll(&handle).await;
    assert!(begun.status() == ToolStatus::Pending && begun.awaits_approval().is_none());
    drop(running);
    let mut component = guest("pending");
    component.extend([0, 2, 1, b'x']);
    fs::write(site.path("bundle/pending.wasm"), component).unwrap();
    let again = site.start(policy).await;
    let polled = again.instance.poll(&handle).await;
    assert_eq!(
        polled.awaits_approval().unwrap().effect.as_str(),
        "workdir",
        "{polled:?}"
    );
    assert_eq!(site.names(), Vec::<String>::new());
}

/// Approves what waits while a call runs.
async fn approve_meanwhile(running: &super::Running) {
    loop {
        let waiting = running.approvals().waiting().await.unwrap();
        if let Some(one) = waiting.first() {
            running
                .approvals()
                .approve(&one.id, "alice", None)
                .await
                .unwrap();
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_call_that_waited_within_a_program_is_a_part_of_its_transaction() {
    let site = Site::new();
    let policy = "tools: {caller: {tools: ['*'], workdir: transactional}, files: {ask: always}}";
    let running = site.start(policy).await;
    let steps = |last: Value| {
        json!({"steps": [
            {"do": "write", "path": "a.txt", "text": "staged"},
            {"do": "call", "tool": "files__read", "args": {"path": "a.txt"}},
            last,
        ]})
    };
    let program = running.call("caller__run", steps(json!({"do": "names"})));
    let (result, ()) = tokio::join!(program, approve_meanwhile(&running));
    assert_eq!(
        result.output().unwrap()[1]["ok"]["content"],
        "staged",
        "{result:?}"
    );
    assert_eq!(site.names(), ["a.txt"]);
    std::fs::remove_file(site.path("work/a.txt")).unwrap();
    // All or nothing: what was approved within a program that fails is not kept.
    let write = json!({"steps": [
        {"do": "call", "tool": "files__write", "args": write("b.txt")},
        {"do": "fail"},
    ]});
    let program = running.call("caller__run", write);
    let (result, ()) = tokio::join!(program, approve_meanwhile(&running));
    assert!(result.tool_error().is_some(), "{result:?}");
    assert_eq!(site.names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_request_whose_answer_was_lost_is_not_sent_again() {
    let count = AtomicUsize::new(0);
    let server = Server::does(move |_, stream| {
        // The first one is read, and gets no answer.
        if count.fetch_add(1, SeqCst) > 0 {
            drop(std::io::Write::write_all(stream, ok("sent").as_bytes()));
        }
    });
    let site = Site::new();
    let origin = server.origin();
    let policy =
        json!({"tools": {"web": {"http": {"allow": [format!("{origin}/*")]}, "ask": "effects"}}});
    let running = site.start(&policy.to_string()).await;
    let args = json!({"url": format!("{origin}/pay"), "method": "POST", "body": "5", "times": 2});
    let handle = running.held("web__run", args, "http").await;
    running.approve().await;
    let second = running.instance.poll(&handle).await;
    assert!(second.awaits_approval().is_some(), "{second:?}");
    assert_eq!(server.accepted(), 1);
    running.approve().await;
    let result = ended(&running.instance, &handle).await;
    let answers = &result.output().unwrap()["answers"];
    assert!(answers[0]["error"].is_string(), "{answers}");
    assert_eq!(answers[1]["body"], "sent", "{answers}");
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn the_secrets_in_bytes_that_are_no_text_are_not_shown() {
    let server = Server::echo();
    let site = Site::new();
    let origin = server.origin();
    let policy = json!({"tools": {"web": {
        "http": {"allow": [format!("{origin}/*")]}, "ask": "effects",
        "env": {"KEY": {"secret": "s3cr3t-value"}},
    }}});
    let running = site.start(&policy.to_string()).await;
    let headers = json!({"x-key": "s3cr3t-value"});
    let args =
        json!({"url": format!("{origin}/x"), "method": "POST", "body": "b", "headers": headers});
    running.held("web__run", args, "http").await;
    let shown = serde_json::to_string(&running.waiting().await).unwrap();
    assert!(
        shown.contains("x-key") && !shown.contains("s3cr3t"),
        "{shown}"
    );
}

#[tokio::test]
async fn middleware_sees_what_is_released_and_its_arguments_are_those_that_were_approved() {
    let site = Site::new();
    for policy in [
        "tools: {files: {ask: effects}}",
        "tools: {files: {ask: always}}",
    ] {
        let running = site.start(policy).await;
        let agent = running.loaded.only_agent().unwrap();
        let layers = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&layers);
        let extended = agent.extend("rewrites", |api| {
            api.pipeline().tool_call(
                0,
                move |mut context: ToolCallContext, next: Next<ToolCallContext>| {
                    let round = counted.fetch_add(1, SeqCst);
                    async move {
                        if round == 0 {
                            context
                                .args
                                .insert("path".to_owned(), "rewritten.txt".into());
                        }
                        let result = next.run(context).await;
                        match result.output() {
                            Some(_) => {
                                let (id, name) = (result.tool_call_id(), result.tool_name());
                                toolhost::ToolResult::ok(id, name, json!("filtered"))
                            }
                            None => result,
                        }
                    }
                },
            )
        });
        extended.unwrap();
        let workdir = running.host.workdir(site.path("work")).unwrap();
        let step = open_step(&agent, "instance", &workdir).await;
        let held =
            step.execute_without_message(tool_call_of("c", "files__write", write("asked.txt")));
        let held = held.await;
        assert!(held.awaits_approval().is_some(), "{held:?}");
        running.approve().await;
        let result = ended(&running.instance, held.handle().unwrap()).await;
        assert_eq!(result.output(), Some(&json!("filtered")), "{policy}");
        assert_eq!(layers.load(SeqCst), 2, "{policy}");
        assert_eq!(site.names(), ["rewritten.txt"]);
        std::fs::remove_file(site.path("work/rewritten.txt")).unwrap();
    }
}

#[tokio::test]
async fn each_effect_of_a_program_is_done_once_it_is_approved() {
    let server =
        Server::does(|_, stream| drop(std::io::Write::write_all(stream, ok("sent").as_bytes())));
    let site = Site::new();
    let origin = server.origin();
    let policy = json!({"tools": {
        "caller": {"tools": ["*"]}, "files": {"ask": "effects"},
        "web": {"http": {"allow": [format!("{origin}/*")]}, "ask": "effects"},
        "later": {"ask": "effects"},
    }});
    let running = site.start(&policy.to_string()).await;
    let send = json!({"url": format!("{origin}/x"), "method": "POST", "body": "b"});
    let later = json!({"write": "first.txt", "handle": "write:polled.txt"});
    let steps = json!({"steps": [
        {"do": "call", "tool": "files__write", "args": write("a.txt")},
        {"do": "call", "tool": "web__run", "args": send},
        {"do": "call", "tool": "later__run", "args": later},
        {"do": "call", "tool": "files__write", "args": write("b.txt")},
    ]});
    let program = running.call("caller__run", steps);
    let person = async {
        let mut seen = Vec::new();
        for _ in 0..5 {
            seen.push((site.names(), server.accepted()));
            approve_meanwhile(&running).await;
        }
        seen
    };
    let (result, seen) = tokio::join!(program, person);
    let answers = result.output().unwrap();
    assert_eq!(answers[0]["ok"]["written"], true, "{answers}");
    assert_eq!(answers[1]["ok"]["answers"][0]["body"], "sent", "{answers}");
    assert_eq!(answers[2]["ok"], true, "{answers}");
    assert_eq!(answers[3]["ok"]["written"], true, "{answers}");
    assert_eq!(site.names(), ["a.txt", "b.txt", "first.txt", "polled.txt"]);
    assert_eq!(seen[0], (vec![], 0));
    assert_eq!(server.accepted(), 1);
    let all = running.approvals().all().await.unwrap();
    assert_eq!((all.len(), site.held_ids().len()), (5, 0), "{all:#?}");
}

#[tokio::test]
async fn what_a_program_approved_is_not_kept_over_what_somebody_changed_since() {
    let site = Site::new();
    let running = site
        .start("tools: {caller: {tools: ['*']}, files: {ask: effects}}")
        .await;
    let steps = json!({"steps": [{"do": "call", "tool": "files__write", "args": write("a.txt")}]});
    let program = running.call("caller__run", steps);
    let person = async {
        let waiting = loop {
            if let Some(one) = running.approvals().waiting().await.unwrap().pop() {
                break one;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        site.write("a.txt", "by somebody\n");
        running
            .approvals()
            .approve(&waiting.id, "alice", None)
            .await
            .unwrap();
        let again = loop {
            if let Some(one) = running.approvals().waiting().await.unwrap().pop() {
                break one;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        assert_eq!(site.work("a.txt").as_deref(), Some("by somebody\n"));
        running
            .approvals()
            .deny(&again.id, "alice", None)
            .await
            .unwrap();
        (waiting.id, again.id)
    };
    let (result, (first, second)) = tokio::join!(program, person);
    assert_ne!(first, second);
    let code = &result.output().unwrap()[0]["error"]["code"];
    assert_eq!(code, "E_TOOL_APPROVAL_DENIED", "{result:?}");
    assert_eq!(site.work("a.txt").as_deref(), Some("by somebody\n"));
}

#[tokio::test]
async fn a_component_that_answers_later_is_polled_in_the_background_once_it_is_approved() {
    let site = Site::new();
    let running = site.start("tools: {later: {ask: effects}}").await;
    let mut completions = running.host.completions().await.unwrap();
    let args = json!({"handle": "next:done:7", "write": "first.txt"});
    let call = tool_call_of("call-1", "later__run", args);
    let message = toolhost::AssistantMessage::for_call(&call);
    let submitted = running.step.submit(call, &message).await;
    let handle = submitted.handle().unwrap();
    approve_meanwhile(&running).await;
    // Nobody polls it.
    let ended = tokio::time::timeout(Duration::from_secs(20), completions.next());
    let Some(toolhost::pending::Completed::Call(ended)) = ended.await.unwrap() else {
        panic!("it has not ended");
    };
    assert_eq!(ended.handle, handle);
    assert_eq!(ended.result.output(), Some(&json!(7)));
    assert_eq!(site.names(), ["first.txt"]);
}

/// An agent that counts what it gets.
struct Sink(Arc<AtomicUsize>);

#[toolhost::agents::async_trait]
impl toolhost::agents::AgentRuntime for Sink {
    async fn on_event(
        &self,
        event: toolhost::agents::AgentEvent,
        _: &toolhost::agents::TurnPort,
    ) -> Result<Value, toolhost::agents::HandlerError> {
        self.0.fetch_add(1, SeqCst);
        Ok(event.input.unwrap_or_default())
    }
}

#[tokio::test]
async fn a_message_is_shown_and_reaches_its_agent_once_after_it_is_approved() {
    use toolhost::agents::{AgentSetup, Orchestrator, OrchestratorConfig};
    let orchestrator = Orchestrator::in_memory(OrchestratorConfig::default())
        .await
        .unwrap();
    let received = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&received);
    let sink = AgentSetup::in_process(move |_| Arc::new(Sink(Arc::clone(&counted))));
    let name = toolhost::ResourceName::parse("sink").unwrap();
    orchestrator.register(&name, sink).await.unwrap();
    let site = Site::of(&[("ask", "ask_agents", &["run"])]);
    let running = site
        .start("tools: {ask: {agents: true, ask: effects}}")
        .await;
    let open = async |running: &super::Running| {
        let client = orchestrator.client("caller", "instance", None);
        let start = toolhost::TurnStart::new("turn-1").with_agents(client);
        running
            .instance
            .open_turn(start)
            .await
            .unwrap()
            .open_step()
            .await
            .unwrap()
    };
    let args = json!({"do": "request", "target": "sink", "input": {"n": 7}, "timeoutMs": 5_000});
    let call = tool_call_of("call-1", "ask__run", args);
    let held = open(&running).await.execute_without_message(call).await;
    let handle = held.handle().unwrap().to_owned();
    let what = running.waiting().await.what;
    assert_eq!(
        (
            &what["operation"],
            &what["target"],
            &what["input"],
            &what["timeoutMs"]
        ),
        (
            &json!("request"),
            &json!("sink"),
            &json!({"n": 7}),
            &json!(5_000)
        ),
        "{what}"
    );
    drop(running);
    // In another process, which cannot reach the agent yet: it waits on.
    let running = site
        .start("tools: {ask: {agents: true, ask: effects}}")
        .await;
    running.approve().await;
    for _ in 0..3 {
        let polled = running.instance.poll(&handle).await;
        assert_eq!(polled.status(), ToolStatus::Pending, "{polled:?}");
    }
    assert_eq!(received.load(SeqCst), 0);
    let _step = open(&running).await;
    let result = ended(&running.instance, &handle).await;
    assert_eq!(
        result.output().unwrap()["ok"]["response"],
        json!({"n": 7}),
        "{result:?}"
    );
    assert_eq!(received.load(SeqCst), 1);
}
