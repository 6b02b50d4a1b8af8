//! What a poll of a component gets of the call that it answers: its arguments, its workdir, and the log of
//! whoever polls.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::json;
use toolhost::middleware::{CallKind, Next, ToolCallContext};
use toolhost::workdir::{CallWorkdir, OpenWorkdir, WorkdirProvider, WorkdirRequest};
use toolhost::{Host, JsonObject, ToolResult, ToolStatus};
use toolhost_tests::sandbox;
use toolhost_tests::shared_buffer::SharedBuffer;
use toolhost_tests::test_host::{TestHost, code, open_step, tool_call};
use tracing::instrument::WithSubscriber;

use super::{instance, submit};

async fn test_host() -> TestHost {
    TestHost::with_tools(&[("later", "pending", &["run"])], "").await
}

async fn pending(test_host: &TestHost, handle: &str) -> String {
    let result = test_host
        .another_step()
        .await
        .execute_without_message(tool_call("later__run", json!({"handle": handle})))
        .await;
    result.handle().unwrap().to_owned()
}

#[tokio::test]
async fn middleware_of_a_poll_gets_the_arguments_of_the_call() {
    let test_host = test_host().await;
    let seen: Arc<Mutex<Vec<(CallKind, JsonObject)>>> = Arc::default();
    let all = Arc::clone(&seen);
    test_host
        .agent
        .extend("ext", |api| {
            api.pipeline()
                .tool_call(0, move |context: ToolCallContext, next: Next<_>| {
                    let seen = (context.call_kind(), context.args.clone());
                    all.lock().unwrap().push(seen);
                    async move { next.run(context).await }
                })
        })
        .unwrap();
    let handle = pending(&test_host, "done:1").await;
    let result = instance(&test_host).poll(&handle).await;
    assert_eq!(result.output(), Some(&json!(1)));
    let args = json!({"handle": "done:1"}).as_object().unwrap().clone();
    let expected = [(CallKind::Call, args.clone()), (CallKind::Poll, args)];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test]
async fn what_is_logged_during_a_poll_or_in_the_background_reaches_the_subscriber_of_the_caller() {
    let test_host = test_host().await;
    test_host
        .agent
        .extend("ext", |api| {
            api.pipeline()
                .tool_call(0, |context: ToolCallContext, next: Next<_>| async move {
                    let kind = context.call_kind();
                    let result: ToolResult = next.run(context).await;
                    tracing::info!("after {kind:?}");
                    result
                })
        })
        .unwrap();
    let log = SharedBuffer::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let calls = async {
        let handle = pending(&test_host, "done:1").await;
        assert!(!log.text().contains("after Poll"), "{}", log.text());
        instance(&test_host).poll(&handle).await;
        assert!(log.text().contains("after Poll"), "{}", log.text());
        let step = test_host.another_step().await;
        let accepted = submit(&step, "c", "later__run", json!({"handle": "done:2"})).await;
        super::ended(&instance(&test_host), accepted.handle().unwrap()).await;
        assert_eq!(
            log.text().matches("after Call").count(),
            2,
            "{}",
            log.text()
        );
    };
    calls.with_subscriber(subscriber).await;
}

/// Gives each call the workdir of its instance, and notes it.
#[derive(Clone, Default)]
struct Opened(Arc<Mutex<Vec<(String, PathBuf)>>>);

impl WorkdirProvider for Opened {
    fn open(&self, request: &WorkdirRequest<'_>) -> OpenWorkdir {
        let path = PathBuf::from(request.instance.path());
        let step = request.call.step_id.to_string();
        self.0.lock().unwrap().push((step, path));
        OpenWorkdir::Ready(CallWorkdir {
            workdir: request.instance.clone(),
            transaction: None,
        })
    }
}

#[tokio::test]
async fn a_poll_and_a_cancellation_run_in_the_workdir_of_the_call() {
    let opened = Opened::default();
    let host = Host::builder()
        .sandbox(sandbox())
        .workdir_provider(opened.clone());
    let tools = &[("later", "pending", &["run"][..])];
    let test_host = TestHost::with_tools_in(host.build().unwrap(), tools).await;
    let handles = [
        pending(&test_host, "done:1").await,
        pending(&test_host, "not yet").await,
    ];
    let own = test_host.work.dir.path().canonicalize().unwrap();
    opened.0.lock().unwrap().clear();

    let elsewhere = tempfile::tempdir().unwrap();
    let workdir = test_host.host.workdir(elsewhere.path()).unwrap();
    let poller = test_host.agent.instance("instance", workdir);
    let result = poller.poll(&handles[0]).await;
    assert_eq!(result.output(), Some(&json!(1)));
    assert_eq!(*opened.0.lock().unwrap(), [(String::new(), own.clone())]);

    assert_eq!(code(&poller.cancel(&handles[1]).await), "E_TOOL_CANCELLED");
    assert!(own.join("cancelled").exists());
    assert!(!elsewhere.path().join("cancelled").exists());
}

#[tokio::test]
async fn a_poll_is_refused_while_the_workdir_of_the_call_is_gone() {
    let test_host = test_host().await;
    let (top, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (own, moved) = (top.path().join("own"), top.path().join("moved"));
    std::fs::create_dir(&own).unwrap();
    let workdir = test_host.host.workdir(&own).unwrap();
    let step = open_step(&test_host.agent, "instance", &workdir).await;
    let mut handles = Vec::new();
    for handle in ["done:1", "not yet"] {
        let call = tool_call("later__run", json!({"handle": handle}));
        let accepted = step.execute_without_message(call).await;
        handles.push(accepted.handle().unwrap().to_owned());
    }
    std::fs::rename(&own, &moved).unwrap();
    // Another directory in its place is not the workdir of the call.
    std::fs::create_dir(&own).unwrap();
    let workdir = test_host.host.workdir(elsewhere.path()).unwrap();
    let poller = test_host.agent.instance("instance", workdir);
    let refused = poller.poll_reply(&handles[0]).await;
    assert_eq!(code(&refused.result), "E_HOST");
    let message = &refused.result.tool_error().unwrap().message;
    assert_eq!(
        message,
        "Tool 'later__run' cannot be polled: the working directory of its call is not there."
    );
    assert!(!refused.has_ended);
    assert_eq!(code(&poller.cancel(&handles[1]).await), "E_TOOL_CANCELLED");
    for dir in [&own, &moved, &elsewhere.path().to_owned()] {
        assert!(is_empty(dir).unwrap(), "{}", dir.display());
    }
    // It is back.
    std::fs::remove_dir(&own).unwrap();
    std::fs::rename(&moved, &own).unwrap();
    let result = poller.poll(&handles[0]).await;
    assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
}

fn is_empty(dir: &std::path::Path) -> io::Result<bool> {
    Ok(std::fs::read_dir(dir)?.next().is_none())
}

#[tokio::test]
async fn a_call_in_an_instance_workspace_can_be_polled_from_another_workdir() {
    let (state, bundle) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let manifest = toolhost_tests::test_host::yaml(&[("later", "pending", &["run"])]);
    toolhost_tests::test_host::write_bundle(bundle.path(), &manifest, &["pending"]);
    let host = Host::builder().sandbox(sandbox()).state_root(state.path());
    let host = host.build().unwrap();
    let loaded = host.load(bundle.path()).await.unwrap();
    let agent = loaded.only_agent().unwrap();
    let workspace = loaded.instance_workspace("k").unwrap();
    let step = open_step(&agent, "k", &workspace).await;
    let call = tool_call("later__run", json!({"handle": "not yet"}));
    let accepted = step.execute_without_message(call).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let poller = agent.instance("k", host.workdir(elsewhere.path()).unwrap());
    let handle = accepted.handle().unwrap();
    assert_eq!(poller.poll(handle).await.status(), ToolStatus::Pending);
    poller.cancel(handle).await;
    let path = loaded.instance_path("k").unwrap();
    assert!(path.join("cancelled").exists());
    assert!(is_empty(elsewhere.path()).unwrap());
}
