//! Unloading a bundle while handles of it are kept.

use std::sync::Arc;

use serde_json::json;
use toolhost::{AssistantMessage, Host, Instance, ToolStatus};
use toolhost_tests::test_host::{code, open_step, tool_call};
use toolhost_tests::{eventually, own_sandbox};

use super::{Fixture, builder, documents, tool};
use crate::extensions::{echo, item};

/// Loads tools in a sandbox that no other test uses.
async fn fixture() -> Fixture {
    let host = Host::builder().sandbox(own_sandbox(|_| {})).build();
    let manifest = documents(&[
        tool("text", "text", "upper", "x"),
        tool("sleep", "sleep_forever", "run", "x"),
    ]);
    Fixture::load_in(host.unwrap(), &manifest, &["text", "sleep_forever"]).await
}

fn instance(fixture: &Fixture) -> Instance {
    let workdir = fixture.work.workdir.clone();
    fixture.agent().instance("instance", workdir)
}

#[tokio::test]
async fn an_unloaded_bundle_refuses_turns_steps_and_calls_until_it_is_loaded_again() {
    let fixture = fixture().await;
    let registered =
        |api: &toolhost::extension::ExtensionApi| api.tools().register(item("ext__one"), echo);
    fixture.agent().extend("ext", registered).unwrap();
    let turn = instance(&fixture).open_turn("turn-1").await.unwrap();
    let step = turn.open_step().await.unwrap();
    let (old, unloaded) = (fixture.live.current(), fixture.live.current().unloaded());
    fixture.live.unload().await;
    assert!(unloaded.is_cancelled());

    let call = |name: &str| tool_call(name, json!({"text": "x"}));
    for name in ["text__upper", "ext__one", "none__such"] {
        let result = step.execute_without_message(call(name)).await;
        assert_eq!(code(&result), "E_TOOL_UNLOADED", "{name}");
        assert_eq!(result.tool_name(), name);
        let message = AssistantMessage::for_call(&call(name));
        let result = step.submit(call(name), &message).await;
        assert_eq!(code(&result), "E_TOOL_UNLOADED", "{name}");
    }
    let refused = turn.open_step().await.unwrap_err();
    assert_eq!(refused.code.to_string(), "E_TOOL_UNLOADED");
    let refused = instance(&fixture).open_turn("turn-2").await.unwrap_err();
    assert_eq!(refused.code.to_string(), "E_TOOL_UNLOADED");
    step.close(()).await.unwrap();
    turn.close(()).await.unwrap();
    old.unload().await; // A second time, it has nothing to do.

    fixture.live.reload().await.unwrap();
    for name in ["text__upper", "ext__one"] {
        let result = fixture.call(name, json!({"text": "x"})).await;
        assert_eq!(result.status(), ToolStatus::Ok, "{name}");
    }
    assert_eq!(old.only_agent().unwrap().extensions(), ["ext"]);
}

#[tokio::test]
async fn unloading_waits_for_calls_that_run_and_frees_the_components_memory() {
    let fixture = fixture().await;
    let host = fixture.live.current().host();
    let sandbox = host.sandbox();
    let slots = sandbox.free_call_slots();
    let turn = instance(&fixture).open_turn("turn-1").await.unwrap();
    let step = Arc::new(turn.open_step().await.unwrap());
    let upper = tool_call("text__upper", json!({"text": "x"}));
    let result = step.execute_without_message(upper).await;
    assert_eq!(result.status(), ToolStatus::Ok);
    let of_task = Arc::clone(&step);
    let running = tokio::spawn(async move {
        let call = tool_call("sleep__run", json!({"seconds": 0.2}));
        of_task.execute_without_message(call).await
    });
    eventually("the call runs", || sandbox.free_call_slots() == slots - 1).await;
    let loaded = fixture.live.current();
    let mut unloading = tokio::spawn({
        let loaded = loaded.clone();
        async move { loaded.unload().await }
    });
    // It is refused from the beginning, while the other call runs.
    let refused = async || {
        let call = tool_call("text__upper", json!({"text": "x"}));
        code(&step.execute_without_message(call).await)
    };
    while refused().await != "E_TOOL_UNLOADED" {
        tokio::task::yield_now().await;
    }
    assert!(!unloading.is_finished(), "it waits for the call");
    assert!(sandbox.idle_memory() > 0, "the components are still there");
    let result = running.await.unwrap();
    assert_eq!(result.output(), Some(&json!({"slept": 0.2})));
    (&mut unloading).await.unwrap();
    // The bundle, its agents, the turn and the step are still held.
    eventually("the memory is freed", || sandbox.idle_memory() == 0).await;
    eventually("no memory is used", || sandbox.memory_in_use() == 0).await;
    assert_eq!(sandbox.free_call_slots(), slots);
    drop((loaded, step, turn));
}

#[tokio::test]
async fn the_files_of_an_unloaded_bundle_can_be_changed_while_its_handles_are_kept() {
    let climb = tool("climb", "climb_out_of_workdir", "run", "x");
    let host = builder().build().unwrap();
    let other = Fixture::load_in(host.clone(), &climb, &["climb_out_of_workdir"]).await;
    let fixture = Fixture::load_in(host.clone(), &climb, &["climb_out_of_workdir"]).await;
    let kept = open_step(&fixture.agent(), "kept", &fixture.work.workdir).await;
    let workdir = host.workdir(fixture.dir.path()).unwrap();
    let write = async || {
        let step = open_step(&other.agent(), "instance", &workdir).await;
        let args = json!({"op": "write", "paths": ["goondan.yaml"]});
        let result = step.execute_without_message(tool_call("climb__run", args));
        result.await.output().unwrap()["results"][0]["ok"].clone()
    };
    let manifest = fixture.path("goondan.yaml");
    assert_eq!(write().await, false);
    assert_eq!(std::fs::read_to_string(&manifest).unwrap(), climb);
    fixture.live.unload().await;
    assert_eq!(write().await, true);
    assert_eq!(std::fs::read_to_string(&manifest).unwrap(), "climbed");
    drop(kept);
}

#[tokio::test]
async fn a_reload_is_not_affected_when_the_earlier_load_is_unloaded() {
    let fixture = fixture().await;
    let earlier = fixture.live.current();
    fixture.live.reload().await.unwrap();
    earlier.unload().await;
    let result = fixture.call("text__upper", json!({"text": "x"})).await;
    assert_eq!(result.output(), Some(&json!({"text": "X"})));
    let step = open_step(&fixture.agent(), "instance", &fixture.work.workdir).await;
    let call = tool_call("text__upper", json!({"text": "y"}));
    assert_eq!(
        step.execute_without_message(call).await.output(),
        Some(&json!({"text": "Y"}))
    );
}

#[tokio::test]
async fn a_pending_call_of_an_unloaded_bundle_can_be_polled_after_it_is_loaded_again() {
    let manifest = tool("pending", "pending", "run", "x");
    let fixture = Fixture::load(&manifest, &["pending"]).await;
    let result = fixture
        .call("pending__run", json!({"handle": "later"}))
        .await;
    let handle = result.handle().expect("the call is pending").to_owned();
    let kept = instance(&fixture);
    fixture.live.unload().await;
    let reply = kept.poll_reply(&handle).await;
    assert_eq!(code(&reply.result), "E_TOOL_UNLOADED");
    assert!(!reply.has_ended);
    fixture.live.reload().await.unwrap();
    let result = instance(&fixture).poll(&handle).await;
    assert_eq!(result.status(), ToolStatus::Pending);
    assert_eq!(
        code(&instance(&fixture).cancel(&handle).await),
        "E_TOOL_CANCELLED"
    );
}
