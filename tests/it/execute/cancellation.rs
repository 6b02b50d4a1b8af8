//! Cancelling the calls of a turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use serde_json::{Value, json};
use toolhost::{
    AssistantMessage, CancellationToken, HandlerError, Instance, JsonObject, Step, ToolResult,
    ToolStatus, TurnStart,
    extension::HandlerContext,
    middleware::{Next, ToolCallContext},
    pending::Completed,
};
use toolhost_tests::test_host::{TestHost, code, tool_call};
use toolhost_tests::{eventually, own_sandbox};

use crate::execute::EXAMPLES;
use crate::extensions::item;

/// Sets a flag when it is dropped.
struct OnDrop(Arc<AtomicBool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Loads tools in a sandbox that no other test uses.
async fn test_host() -> TestHost {
    let host = toolhost::Host::builder().sandbox(own_sandbox(|_| {}));
    let tools: &[toolhost_tests::test_host::TestTool<'_>] = &[
        ("spin", "spin_forever", &["run"]),
        ("sleep", "sleep_forever", &["run"]),
        ("text", "text", EXAMPLES),
    ];
    TestHost::with_tools_in(host.build().unwrap(), tools).await
}

fn instance(test_host: &TestHost) -> Instance {
    let workdir = test_host.work.workdir.clone();
    test_host.agent.instance("instance", workdir)
}

/// Opens a step of a turn that the token cancels.
async fn step_with(test_host: &TestHost, token: &CancellationToken) -> Step {
    let start = TurnStart::new("turn-1").with_cancellation(token.clone());
    let turn = instance(test_host).open_turn(start).await.unwrap();
    turn.open_step().await.unwrap()
}

/// Checks the result of a cancelled call.
fn assert_cancelled(result: &ToolResult, tool: &str) {
    assert_eq!(result.status(), ToolStatus::Error);
    assert_eq!(code(result), "E_TOOL_CANCELLED");
    assert_eq!(
        (result.tool_call_id(), result.tool_name()),
        ("call-1", tool)
    );
    assert!(result.tool_error().unwrap().suggestion.is_some());
}

#[tokio::test]
async fn cancelling_a_turn_stops_its_running_guests_and_frees_their_slots_and_memory() {
    let test_host = test_host().await;
    let (sandbox, token) = (test_host.host.sandbox(), CancellationToken::new());
    let slots = sandbox.free_call_slots();
    let step = Arc::new(step_with(&test_host, &token).await);
    let mut running = Vec::new();
    for name in ["spin__run", "sleep__run", "spin__run"] {
        let step = Arc::clone(&step);
        let call = tool_call(name, json!({}));
        let ended = async move { (name, step.execute_without_message(call).await) };
        running.push(tokio::spawn(ended));
    }
    eventually("the calls run", || sandbox.free_call_slots() == slots - 3).await;
    token.cancel();
    for ended in running {
        let (name, result) = ended.await.unwrap();
        assert_cancelled(&result, name);
    }
    eventually("the slots are free", || sandbox.free_call_slots() == slots).await;
    eventually("the memory is free", || sandbox.memory_in_use() == 0).await;
}

#[tokio::test]
async fn a_call_that_begins_after_its_turn_was_cancelled_does_not_run() {
    let test_host = test_host().await;
    let token = CancellationToken::new();
    let has_run = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&has_run);
    let layer = move |call: ToolCallContext, next: Next<ToolCallContext>| {
        seen.store(true, SeqCst);
        next.run(call)
    };
    let extended = test_host
        .agent
        .extend("ext", |api| api.pipeline().tool_call(0, layer));
    extended.unwrap();
    let step = step_with(&test_host, &token).await;
    token.cancel();
    let call = || tool_call("text__upper", json!({"text": "x"}));
    assert_cancelled(&step.execute_without_message(call()).await, "text__upper");
    let message = AssistantMessage::for_call(&call());
    assert_cancelled(&step.submit(call(), &message).await, "text__upper");
    assert!(!has_run.load(SeqCst), "neither the tool nor a layer ran");

    let other = step_with(&test_host, &CancellationToken::new()).await;
    let result = other.execute_without_message(call()).await;
    assert_eq!(result.status(), ToolStatus::Ok, "other turns go on");
}

#[tokio::test]
async fn cancelling_a_turn_drops_native_handlers_and_middleware_of_its_calls() {
    let test_host = test_host().await;
    let (handler, layer) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let (of_handler, of_layer) = (Arc::clone(&handler), Arc::clone(&layer));
    let (started, mut has_started) = tokio::sync::mpsc::channel(2);
    let waits = move |_: HandlerContext, _: JsonObject| {
        let (dropped, started) = (OnDrop(Arc::clone(&of_handler)), started.clone());
        async move {
            started.send(()).await.unwrap();
            std::future::pending::<()>().await;
            drop(dropped);
            Ok::<Value, HandlerError>(json!(null))
        }
    };
    let around = move |call: ToolCallContext, next: Next<ToolCallContext>| {
        let dropped = OnDrop(Arc::clone(&of_layer));
        async move {
            let result = next.run(call).await;
            drop(dropped);
            result
        }
    };
    let extended = test_host.agent.extend("ext", |api| {
        api.pipeline().tool_call(0, around)?;
        api.tools().register(item("ext__wait"), waits)
    });
    extended.unwrap();
    let token = CancellationToken::new();
    let step = step_with(&test_host, &token).await;
    let call = tool_call("ext__wait", json!({}));
    let running = tokio::spawn(async move { step.execute_without_message(call).await });
    has_started.recv().await.unwrap();
    token.cancel();
    assert_cancelled(&running.await.unwrap(), "ext__wait");
    assert!(handler.load(SeqCst) && layer.load(SeqCst));
}

#[tokio::test]
async fn a_submitted_call_goes_on_when_its_turn_is_cancelled_and_can_be_cancelled_itself() {
    let test_host = test_host().await;
    let (instance, token) = (instance(&test_host), CancellationToken::new());
    let mut completions = test_host.host.completions().await.unwrap();
    let step = step_with(&test_host, &token).await;
    let message = |call| AssistantMessage::for_call(call);
    let short = tool_call("sleep__run", json!({"seconds": 0.2}));
    let short = step.submit(short.clone(), &message(&short)).await;
    let endless = tool_call("sleep__run", json!({}));
    let endless = step.submit(endless.clone(), &message(&endless)).await;
    token.cancel();
    let Some(Completed::Call(ended)) = completions.next().await else {
        panic!("a completion arrives")
    };
    assert_eq!(Some(ended.handle.as_str()), short.handle());
    assert_eq!(ended.result.output(), Some(&json!({"slept": 0.2})));
    let endless = endless.handle().unwrap();
    assert_eq!(instance.poll(endless).await.status(), ToolStatus::Pending);
    assert_eq!(code(&instance.cancel(endless).await), "E_TOOL_CANCELLED");
}

#[tokio::test]
async fn a_call_whose_stop_ends_is_stopped_alone() {
    let test_host = test_host().await;
    let sandbox = test_host.host.sandbox();
    let slots = sandbox.free_call_slots();
    let stop = CancellationToken::new();
    let [endless, other] =
        ["spin__run", "text__upper"].map(|name| tool_call(name, json!({"text": "a"})));
    let message = AssistantMessage::for_call(&endless);
    let stopped = test_host
        .step
        .execute_until(endless.clone(), &message, stop.cancelled());
    let others = async {
        eventually("the guest runs", || sandbox.free_call_slots() == slots - 1).await;
        stop.cancel();
    };
    let (result, ()) = tokio::join!(stopped, others);
    assert_cancelled(&result, "spin__run");
    assert_eq!(
        result.tool_error().unwrap().message,
        "The call of 'spin__run' ended: the runtime stopped it."
    );
    // It moved to a thread of the sandbox, which stops it.
    eventually("its slot is free again", || {
        sandbox.free_call_slots() == slots
    })
    .await;
    // The turn goes on, and a call that ends before its stop is not affected.
    let message = AssistantMessage::for_call(&other);
    let result = test_host
        .step
        .execute_until(other.clone(), &message, std::future::pending())
        .await;
    assert_eq!(result.output(), Some(&json!({"text": "A"})));
    // A stop that has ended already: the call does not begin.
    let result = test_host
        .step
        .execute_until(other, &message, stop.cancelled())
        .await;
    assert_cancelled(&result, "text__upper");
}
