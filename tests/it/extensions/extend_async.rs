//! Extensions whose registration awaits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::Notify;
use toolhost::{
    Agent, ToolStatus,
    extension::{ExtensionApi, ExtensionError},
    middleware::{Next, ToolCallContext},
};
use toolhost_tests::test_host::{TestHost, code, tool_call};

use super::{echo, item};

async fn test_host() -> TestHost {
    TestHost::with_tools(&[("text", "text", &["upper"])], "").await
}

/// Counts the calls that pass its layer.
#[derive(Clone, Default)]
struct Counter(Arc<AtomicU32>);

impl Counter {
    fn register(&self, api: &ExtensionApi) -> Result<(), ExtensionError> {
        let count = Arc::clone(&self.0);
        let layer = move |call: ToolCallContext, next: Next<ToolCallContext>| {
            count.fetch_add(1, SeqCst);
            next.run(call)
        };
        api.pipeline().tool_call(0, layer)?;
        api.tools().register(item("ext__one"), echo)
    }
}

/// Checks that nothing of the extension `ext` has any effect.
async fn assert_absent(test_host: &TestHost, counter: &Counter) {
    assert!(test_host.agent.catalog().get("ext__one").is_none());
    assert!(test_host.agent.extensions().is_empty());
    let step = test_host.another_step().await;
    let call = tool_call("text__upper", json!({"text": "x"}));
    let result = step.execute_without_message(call).await;
    assert_eq!(result.status(), ToolStatus::Ok);
    let call = tool_call("ext__one", json!({}));
    let result = step.execute_without_message(call).await;
    assert_ne!(result.status(), ToolStatus::Ok);
    assert_eq!(counter.0.load(SeqCst), 0, "its layer did not run");
}

#[tokio::test]
async fn nothing_of_an_extension_takes_effect_before_its_registration_has_finished() {
    let test_host = test_host().await;
    let (counter, go) = (Counter::default(), Arc::new(Notify::new()));
    let registered = Arc::new(Notify::new());
    let (of_task, wait, signal) = (counter.clone(), Arc::clone(&go), Arc::clone(&registered));
    let agent = test_host.agent.clone();
    let extending = tokio::spawn(async move {
        let register = |api: ExtensionApi| async move {
            of_task.register(&api)?;
            signal.notify_one();
            wait.notified().await;
            Ok(api)
        };
        agent.extend_async("ext", register).await
    });
    registered.notified().await;
    assert_absent(&test_host, &counter).await;
    let agent = &test_host.agent;
    let same = agent.extend("ext", |_| Ok(())).unwrap_err();
    assert!(matches!(same, ExtensionError::Registered { .. }));
    let taken = agent.extend("other", |api| api.tools().register(item("ext__one"), echo));
    assert!(matches!(taken, Err(ExtensionError::NameTaken { .. })));

    go.notify_one();
    let api = extending.await.unwrap().unwrap();
    assert_eq!(agent.extensions(), ["ext"]);
    let step = test_host.another_step().await;
    let result = step.execute_without_message(tool_call("ext__one", json!({"a": 1})));
    assert_eq!(result.await.output(), Some(&json!({"a": 1})));
    assert_eq!(counter.0.load(SeqCst), 1);
    // What it registers later takes effect at once.
    api.tools().register(item("ext__two"), echo).unwrap();
    assert!(agent.catalog().get("ext__two").is_some());
}

#[tokio::test]
async fn nothing_stays_of_a_registration_that_fails_panics_or_is_dropped() {
    type Register = fn(ExtensionApi) -> BoxFuture<'static, Result<(), ExtensionError>>;
    let fails: Register = |api| Box::pin(async move { Err(api.error("no server")) });
    let panics: Register = |_| Box::pin(async move { panic!("in the test") });
    let never: Register = |_| Box::pin(std::future::pending());
    let test_host = test_host().await;
    let extend = |register: Register| {
        let (agent, counter): (Agent, _) = (test_host.agent.clone(), Counter::default());
        let kept = counter.clone();
        let extending = async move {
            let register = |api: ExtensionApi| async move {
                counter.register(&api)?;
                register(api).await
            };
            agent.extend_async("ext", register).await
        };
        (tokio::spawn(extending), kept)
    };
    let (failed, counter) = extend(fails);
    let error = failed.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("no server"), "{error}");
    assert_absent(&test_host, &counter).await;

    let (panicked, counter) = extend(panics);
    assert!(panicked.await.unwrap_err().is_panic());
    assert_absent(&test_host, &counter).await;

    let (dropped, counter) = extend(never);
    tokio::task::yield_now().await;
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    assert_absent(&test_host, &counter).await;
    let again = test_host.agent.extend("ext", |api| counter.register(api));
    again.expect("the names are free again");
}

#[tokio::test]
async fn an_extension_that_is_removed_while_it_registers_is_not_added() {
    let test_host = test_host().await;
    let agent = test_host.agent.clone();
    let register = |api: ExtensionApi| async move {
        assert!(agent.remove_extension("ext"));
        agent.extend("ext", |later| {
            later.tools().register(item("ext__later"), echo)
        })?;
        let late = api.tools().register(item("ext__one"), echo);
        assert!(matches!(late, Err(ExtensionError::Gone { .. })), "{late:?}");
        Ok(())
    };
    let extended = test_host.agent.extend_async("ext", register).await;
    assert!(matches!(extended, Err(ExtensionError::Gone { .. })));
    let catalog = test_host.agent.catalog();
    assert!(catalog.get("ext__one").is_none());
    assert!(
        catalog.get("ext__later").is_some(),
        "the later extension of this name stays"
    );
}

#[tokio::test]
async fn the_future_of_a_registration_is_send_only_if_its_own_is() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let test_host = test_host().await;
    is_send(test_host.agent.extend_async("a", async |_| Ok(())).boxed())
        .await
        .unwrap();
    // One that is not `Send` runs where it is awaited.
    let local = std::rc::Rc::new(1);
    let register = async |_| Ok(*local);
    assert_eq!(
        test_host.agent.extend_async("b", register).await.unwrap(),
        1
    );
    let call = tool_call("text__upper", json!({}));
    let step = test_host.another_step().await;
    let result = step.execute_without_message(call).await;
    assert_eq!(code(&result), "E_TOOL_INVALID_ARGS");
}
