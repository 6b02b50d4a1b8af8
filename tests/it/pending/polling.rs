//! Components that return `pending` and are polled.

use serde_json::{Value, json};
use toolhost::{Host, ToolResult, ToolStatus};
use toolhost_tests::test_host::{TestHost, code, open_step, tool_call};
use toolhost_tests::{Work, sandbox};

use super::instance;

async fn test_host() -> TestHost {
    TestHost::with_tools(&[("later", "pending", &["run"])], "").await
}

async fn pending(test_host: &TestHost, handle: &str) -> ToolResult {
    let result = test_host
        .call("later__run", json!({"handle": handle}))
        .await;
    assert_eq!(result.status(), ToolStatus::Pending, "{result:?}");
    result
}

#[tokio::test]
async fn the_handle_of_the_guest_is_replaced_by_a_host_handle() {
    // tool-spec-v2 §10.2
    let test_host = test_host().await;
    let one = pending(&test_host, "done:{\"n\":1}").await;
    let two = pending(&test_host, "done:{\"n\":1}").await;
    assert_ne!(one.handle(), two.handle());
    assert!(
        !one.handle().unwrap().contains("done"),
        "the guest's handle stays in the host"
    );
    let instance = instance(&test_host);
    for handle in [one.handle().unwrap(), two.handle().unwrap()] {
        let result = instance.poll(handle).await;
        assert_eq!(result.output(), Some(&json!({"n": 1})));
        assert_eq!(result.tool_name(), "later__run");
        assert_eq!(instance.poll(handle).await, result);
    }
}

#[tokio::test]
async fn polling_a_component_can_fail_or_stay_pending() {
    let test_host = test_host().await;
    let instance = instance(&test_host);
    let failing = pending(&test_host, "fail:it broke").await;
    let result = instance.poll(failing.handle().unwrap()).await;
    assert_eq!(result.tool_error().unwrap().message, "it broke");
    assert_eq!(code(&result), "E_TOOL");

    let waiting = pending(&test_host, "not yet").await;
    let handle = waiting.handle().unwrap();
    for _ in 0..3 {
        let result = instance.poll(handle).await;
        assert_eq!(
            (result.status(), result.handle()),
            (ToolStatus::Pending, Some(handle))
        );
    }
    assert!(!test_host.work.path("cancelled").exists());
    assert_eq!(code(&instance.cancel(handle).await), "E_TOOL_CANCELLED");
    let guest_handle = std::fs::read_to_string(test_host.work.path("cancelled")).unwrap();
    assert_eq!(guest_handle, "not yet", "the component is called");
    assert_eq!(code(&instance.poll(handle).await), "E_TOOL_CANCELLED");
}

#[tokio::test]
async fn a_later_result_passes_through_middleware_and_redaction() {
    let policy = "tools: {later: {env: {TOKEN: {secret: sk-12345}}}}";
    let test_host = TestHost::with_tools(&[("later", "pending", &["run"])], policy).await;
    test_host
        .agent
        .extend("ext", |api| {
            api.pipeline().tool_call(
                0,
                |context: toolhost::middleware::ToolCallContext,
                 next: toolhost::middleware::Next<_>| async move {
                    let mut result: ToolResult = next.run(context).await;
                    if let Some(Value::Object(output)) = result.output_mut() {
                        output.insert("seen".to_owned(), true.into());
                    }
                    result
                },
            )
        })
        .unwrap();
    let accepted = pending(&test_host, "done:{\"token\":\"sk-12345\"}").await;
    let result = instance(&test_host).poll(accepted.handle().unwrap()).await;
    assert_eq!(
        result.output(),
        Some(&json!({"token": "[redacted:TOKEN]", "seen": true}))
    );
}

#[tokio::test]
async fn a_guests_handle_survives_a_restart() {
    let (state, work) = (tempfile::tempdir().unwrap(), Work::new());
    let bundle = tempfile::tempdir().unwrap();
    let manifest = toolhost_tests::test_host::yaml(&[("later", "pending", &["run"])]);
    toolhost_tests::test_host::write_bundle(bundle.path(), &manifest, &["pending"]);
    let host = || {
        Host::builder()
            .sandbox(sandbox())
            .state_root(state.path())
            .build()
            .unwrap()
    };
    let agent = |host: Host| async move {
        let loaded = host.load(bundle.path()).await.unwrap();
        (loaded.only_agent().unwrap(), bundle)
    };
    let (before, bundle) = agent(host()).await;
    let step = open_step(&before, "instance", &work.workdir).await;
    let accepted = step
        .execute_without_message(tool_call("later__run", json!({"handle": "done:7"})))
        .await;
    drop((step, before));
    let loaded = host().load(bundle.path()).await.unwrap();
    let after = loaded.only_agent().unwrap();
    let instance = after.instance("instance", work.workdir.clone());
    let result = instance.poll(accepted.handle().unwrap()).await;
    assert_eq!(result.output(), Some(&json!(7)));
}

#[tokio::test]
async fn a_submitted_call_is_polled_in_the_background() {
    let test_host = test_host().await;
    let step = &test_host.step;
    let accepted = super::submit(step, "c", "later__run", json!({"handle": "done:[1]"})).await;
    let result = super::ended(&instance(&test_host), accepted.handle().unwrap()).await;
    assert_eq!(result.output(), Some(&json!([1])));
}

#[tokio::test]
async fn a_submitted_call_has_one_handle_if_its_component_is_pending() {
    let test_host = test_host().await;
    let mut completions = test_host.host.completions().await.unwrap();
    let instance = instance(&test_host);
    let args = json!({"handle": "not yet"});
    let accepted = super::submit(&test_host.step, "c", "later__run", args).await;
    let handle = accepted.handle().unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(150)).await;
    assert_eq!(instance.poll(handle).await.handle(), Some(handle));
    assert_eq!(code(&instance.cancel(handle).await), "E_TOOL_CANCELLED");
    let guest_handle = std::fs::read_to_string(test_host.work.path("cancelled")).unwrap();
    assert_eq!(guest_handle, "not yet", "the component is called");
    let Some(toolhost::pending::Completed::Call(completed)) = completions.next().await else {
        panic!("a completion arrives")
    };
    assert_eq!(
        (completed.handle.as_str(), code(&completed.result).as_str()),
        (handle, "E_TOOL_CANCELLED")
    );
    let more = std::time::Duration::from_millis(100);
    assert!(
        tokio::time::timeout(more, completions.next())
            .await
            .is_err(),
        "once"
    );
}

#[tokio::test]
async fn concurrent_polls_of_one_handle_get_one_result() {
    let test_host = test_host().await;
    let accepted = pending(&test_host, "done:5").await;
    let instance = instance(&test_host);
    let polls = (0..20).map(|_| {
        let (instance, handle) = (instance.clone(), accepted.handle().unwrap().to_owned());
        tokio::spawn(async move { instance.poll(&handle).await })
    });
    for poll in polls.collect::<Vec<_>>() {
        assert_eq!(poll.await.unwrap().output(), Some(&json!(5)));
    }
}

#[tokio::test]
async fn a_pending_required_tool_counts_once_its_result_is_polled_in_the_turn() {
    let agent = json!({
        "apiVersion": "goondan.ai/v1", "kind": "Agent", "metadata": {"name": "a"},
        "spec": {"tools": ["Tool/later"], "requiredTools": ["later__run"]},
    });
    let tools = toolhost_tests::test_host::yaml(&[("later", "pending", &["run"])]);
    let test_host = TestHost::load(&format!("{tools}\n---\n{agent}"), &["pending"], "", None).await;
    let turn = instance(&test_host).open_turn("turn-1").await.unwrap();
    let step = turn.open_step().await.unwrap();
    let call = tool_call("later__run", json!({"handle": "done:1"}));
    let accepted = step.execute_without_message(call).await;
    assert!(!turn.required_tools_satisfied());
    let result = turn.poll(accepted.handle().unwrap()).await;
    assert_eq!(
        (result.status(), turn.required_tools_satisfied()),
        (ToolStatus::Ok, true)
    );
}
