//! Background calls and their results.

mod owners;
mod polling;
mod refusals;
mod restart;
mod resumed;
mod store;

use std::time::Duration;

use serde_json::{Value, json};
use toolhost::{
    AssistantMessage, Host, Instance, Step, ToolResult, ToolStatus, pending::Completed,
};
use toolhost_tests::test_host::{TestHost, code, open_step, tool_call_of};
use toolhost_tests::{Work, sandbox};

use crate::execute::EXAMPLES;

/// The instance whose step [`TestHost`] opens.
fn instance(test_host: &TestHost) -> Instance {
    test_host
        .agent
        .instance("instance", test_host.work.workdir.clone())
}

async fn submit(step: &Step, id: &str, name: &str, args: Value) -> ToolResult {
    let call = tool_call_of(id, name, args);
    let message = AssistantMessage::for_call(&call);
    step.submit(call, &message).await
}

/// Polls until the call has ended.
pub(crate) async fn ended(instance: &Instance, handle: &str) -> ToolResult {
    for _ in 0..10_000 {
        let result = instance.poll(handle).await;
        if result.status() != ToolStatus::Pending {
            return result;
        }
        assert_eq!(result.handle(), Some(handle), "the handle stays the same");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("never ended: {handle}");
}

#[tokio::test]
async fn a_submitted_call_returns_a_handle_and_its_result_later() {
    // tool-spec-v2 §10.2
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
    let accepted = submit(
        &test_host.step,
        "c7",
        "text__upper",
        json!({"text": "later"}),
    )
    .await;
    assert_eq!(accepted.status(), ToolStatus::Pending);
    assert_eq!(
        (accepted.tool_call_id(), accepted.tool_name()),
        ("c7", "text__upper")
    );
    let handle = accepted.handle().unwrap();
    let instance = instance(&test_host);
    let result = ended(&instance, handle).await;
    assert_eq!(result.output(), Some(&json!({"text": "LATER"})));
    assert_eq!(
        (result.tool_call_id(), result.tool_name()),
        ("c7", "text__upper")
    );
    assert!(result.usage().wall > Duration::ZERO, "usage is stored");
    let again = instance.poll(handle).await;
    assert_eq!(again, result, "a result can be polled twice");

    let accepted = submit(&test_host.step, "c", "text__fail", json!({"length": 5})).await;
    let result = ended(&instance, accepted.handle().unwrap()).await;
    assert_eq!(code(&result), "E_TOOL", "{result:?}");
    assert_eq!(result.status(), ToolStatus::Error);
}

#[tokio::test]
async fn a_refused_submitted_call_is_not_stored() {
    let state = tempfile::tempdir().unwrap();
    let bundle = tempfile::tempdir().unwrap();
    let manifest = toolhost_tests::test_host::yaml(&[("text", "text", EXAMPLES)]);
    toolhost_tests::test_host::write_bundle(bundle.path(), &manifest, &["text"]);
    let host = Host::builder().sandbox(sandbox()).state_root(state.path());
    let host = host.build().unwrap();
    let loaded = host.load(bundle.path()).await.unwrap();
    let (agent, work) = (loaded.only_agent().unwrap(), Work::new());
    let step = open_step(&agent, "instance", &work.workdir).await;
    // The database exists.
    let accepted = submit(&step, "c", "text__upper", json!({"text": "x"})).await;
    let instance = agent.instance("instance", work.workdir.clone());
    ended(&instance, accepted.handle().unwrap()).await;
    let stored = || -> u64 {
        let files = std::fs::read_dir(state.path()).unwrap();
        files
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum()
    };
    let before = stored();

    let id = format!("\u{1b}]0;x\r\u{202e}{}", "y".repeat(1 << 20));
    let call = tool_call_of(&id, "text__upper", json!({"text": "x"}));
    let others = AssistantMessage::for_call(&tool_call_of("c", "text__upper", json!({})));
    let result = step.submit(call, &others).await;
    assert_eq!(code(&result), "E_HOST");
    let message = &result.tool_error().unwrap().message;
    assert!(
        message.len() <= 1000 && !message.contains(toolhost::text::needs_escape),
        "{message:?}"
    );

    for name in ["text__upper", "none__x"] {
        let result = submit(&step, "c", name, json!({"text": "x".repeat(5 << 20)})).await;
        assert_eq!(code(&result), "E_TOOL_INVALID_ARGS", "{name}");
    }
    assert!(
        stored() < before + (1 << 20),
        "the refused call is not stored"
    );
}

#[tokio::test]
async fn only_the_instance_of_a_call_can_poll_it() {
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
    let accepted = submit(&test_host.step, "c", "text__upper", json!({"text": "x"})).await;
    let handle = accepted.handle().unwrap();
    let other = test_host
        .agent
        .instance("other", test_host.work.workdir.clone());
    let made_up = format!("pending_{}", "a".repeat(32));
    let own = instance(&test_host);
    for (instance, handle) in [
        (&other, handle),
        (&own, made_up.as_str()),
        (&own, "1"),
        (&own, "x\n\u{1b}[31m"),
        (&own, ""),
    ] {
        for result in [instance.poll(handle).await, instance.cancel(handle).await] {
            assert_eq!(code(&result), "E_TOOL_UNKNOWN_HANDLE", "{handle:?}");
            assert!(!result.tool_error().unwrap().message.contains('\u{1b}'));
        }
    }
    assert_eq!(ended(&own, handle).await.status(), ToolStatus::Ok);
}

#[tokio::test]
async fn a_cancelled_call_stops_and_stays_cancelled() {
    let tools: &[toolhost_tests::test_host::TestTool<'_>] = &[
        ("sleep", "sleep_forever", &["run"]),
        ("text", "text", EXAMPLES),
    ];
    let test_host = TestHost::with_tools(tools, "").await;
    let instance = instance(&test_host);
    let mut completions = test_host.host.completions().await.unwrap();
    let accepted = submit(&test_host.step, "c", "sleep__run", json!({"seconds": 0.2})).await;
    let handle = accepted.handle().unwrap();
    assert_eq!(instance.poll(handle).await.status(), ToolStatus::Pending);
    let cancelled = instance.cancel(handle).await;
    assert_eq!(code(&cancelled), "E_TOOL_CANCELLED");
    assert_eq!(code(&instance.poll(handle).await), "E_TOOL_CANCELLED");
    assert_eq!(code(&instance.cancel(handle).await), "E_TOOL_CANCELLED");
    let Some(Completed::Call(completed)) = completions.next().await else {
        panic!("a completion arrives")
    };
    assert_eq!(
        (completed.handle.as_str(), completed.agent_name.as_str()),
        (handle, "default")
    );
    assert_eq!(code(&completed.result), "E_TOOL_CANCELLED");

    let accepted = submit(&test_host.step, "d", "text__upper", json!({"text": "x"})).await;
    let handle = accepted.handle().unwrap();
    let result = ended(&instance, handle).await;
    assert_eq!(
        instance.cancel(handle).await,
        result,
        "a finished call cannot be cancelled"
    );
}

#[tokio::test]
async fn completions_are_delivered_as_events() {
    // tool-spec-v2 §10.2
    let test_host = TestHost::with_tools(&[("echo", "echo", &["say"])], "").await;
    let mut completions = test_host.host.completions().await.unwrap();
    let mut handles = std::collections::BTreeSet::new();
    for number in 0..100 {
        let accepted = submit(&test_host.step, "c", "echo__say", json!({"n": number})).await;
        handles.insert(accepted.handle().unwrap().to_owned());
    }
    assert_eq!(handles.len(), 100);
    for _ in 0..100 {
        let Some(Completed::Call(completed)) = completions.next().await else {
            panic!("a completion arrives")
        };
        assert!(
            handles.remove(&completed.handle),
            "each completion arrives once"
        );
        assert_eq!(completed.result.status(), ToolStatus::Ok);
    }
}

#[tokio::test]
async fn completions_are_a_stream_that_ends_with_the_host() {
    use futures_util::StreamExt;

    let test_host = TestHost::with_tools(&[("echo", "echo", &["say"])], "").await;
    let completions = test_host.host.completions().await.unwrap();
    let mut submitted = Vec::new();
    for number in 0..3 {
        let accepted = submit(&test_host.step, "c", "echo__say", json!({"n": number})).await;
        let handle = accepted.handle().unwrap().to_owned();
        ended(&instance(&test_host), &handle).await;
        submitted.push(handle);
    }
    drop(test_host);
    let handles = completions.filter_map(async |completed| match completed {
        Completed::Call(completion) => Some(completion.handle.clone()),
        Completed::Lost(_) => None,
    });
    let handles: Vec<_> = handles.collect().await;
    assert_eq!(handles, submitted);
}

#[tokio::test]
async fn a_handle_expires() {
    let bundle = tempfile::tempdir().unwrap();
    let manifest = toolhost_tests::test_host::yaml(&[("text", "text", EXAMPLES)]);
    toolhost_tests::test_host::write_bundle(bundle.path(), &manifest, &["text"]);
    let host = Host::builder()
        .sandbox(sandbox())
        .pending_expiry(Duration::from_millis(50));
    let host = host.build().unwrap();
    let agent = host
        .load(bundle.path())
        .await
        .unwrap()
        .only_agent()
        .unwrap();
    let work = Work::new();
    let step = open_step(&agent, "instance", &work.workdir).await;
    let accepted = submit(&step, "c", "text__upper", json!({"text": "x"})).await;
    let instance = agent.instance("instance", work.workdir.clone());
    let expired = async {
        while code(&instance.poll(accepted.handle().unwrap()).await) != "E_TOOL_UNKNOWN_HANDLE" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), expired)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_handle_may_be_kept_for_the_longest_duration() {
    let bundle = tempfile::tempdir().unwrap();
    let manifest = toolhost_tests::test_host::yaml(&[("text", "text", EXAMPLES)]);
    toolhost_tests::test_host::write_bundle(bundle.path(), &manifest, &["text"]);
    for expiry in [Duration::MAX, Duration::from_secs(i64::MAX as u64)] {
        let host = Host::builder().sandbox(sandbox()).pending_expiry(expiry);
        let loaded = host.build().unwrap().load(bundle.path()).await.unwrap();
        let (agent, work) = (loaded.only_agent().unwrap(), Work::new());
        let step = open_step(&agent, "instance", &work.workdir).await;
        let accepted = submit(&step, "c", "text__upper", json!({"text": "x"})).await;
        let instance = agent.instance("instance", work.workdir.clone());
        let result = ended(&instance, accepted.handle().unwrap()).await;
        assert_eq!(result.output(), Some(&json!({"text": "X"})));
    }
}

#[tokio::test]
async fn a_call_of_an_extension_tool_can_be_submitted() {
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
    test_host
        .agent
        .extend("ext", |api| {
            let item =
                serde_json::from_value(json!({"name": "dyn__slow"})).map_err(|e| api.error(e))?;
            api.tools().register(
                item,
                async |_: toolhost::extension::HandlerContext, _: toolhost::JsonObject| {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    Ok::<_, toolhost::HandlerError>(json!("slept"))
                },
            )
        })
        .unwrap();
    let step = test_host.another_step().await;
    let accepted = submit(&step, "c", "dyn__slow", json!({})).await;
    let result = ended(&instance(&test_host), accepted.handle().unwrap()).await;
    assert_eq!(result.output(), Some(&json!("slept")));
}

#[test]
fn a_background_call_is_interrupted_when_its_runtime_ends() {
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let (first, second) = (runtime(), runtime());
    let (test_host, handle) = first.block_on(async {
        let test_host = TestHost::with_tools(&[("sleep", "sleep_forever", &["run"])], "").await;
        let accepted = submit(&test_host.step, "c", "sleep__run", json!({})).await;
        let handle = accepted.handle().unwrap().to_owned();
        (test_host, handle)
    });
    first.shutdown_background();
    let result = second.block_on(ended(&instance(&test_host), &handle));
    assert_eq!(code(&result), "E_TOOL_INTERRUPTED");
}
