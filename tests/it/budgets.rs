//! Budgets over time: what calls may use together in an hour or a day.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};
use toolhost::{Host, Policy, ToolResult};
use toolhost_tests::sandbox;
use toolhost_tests::test_host::{TestHost, TestTool, code, open_step, tool_call};

const TOOLS: [TestTool<'_>; 4] = [
    ("caller", "call_tools", &["run"]),
    ("files", "file-system", &["read", "write"]),
    ("text", "text", &["upper"]),
    ("later", "pending", &["run"]),
];

async fn host(policy: &str) -> TestHost {
    TestHost::with_tools(&TOOLS, policy).await
}

async fn write(host: &TestHost, path: &str, content: &str) -> ToolResult {
    let args = json!({"path": path, "content": content});
    host.call("files__write", args).await
}

/// What is used of each limit of the instance's budgets.
async fn used(host: &TestHost) -> Vec<(String, u64)> {
    let instance = host.agent.instance("instance", host.work.workdir.clone());
    let uses = instance.budgets().await.unwrap().into_iter();
    uses.map(|it| (it.budget.path_of(it.kind), it.used))
        .collect()
}

#[tokio::test]
async fn a_call_beyond_a_budget_has_no_effect() {
    let host = host("tools: {files: {budgets: {perDay: {calls: 2}}}}").await;
    for path in ["a", "b"] {
        assert!(write(&host, path, "x").await.tool_error().is_none());
    }
    let refused = write(&host, "c", "x").await;
    assert_eq!(code(&refused), "E_TOOL_BUDGET");
    assert!(!host.work.path("c").exists());
    assert_eq!(refused.usage().wall, std::time::Duration::ZERO);
    // What is refused before is not counted, and other tools go on.
    let unknown = host.call("files__nope", json!({})).await;
    assert_eq!(code(&unknown), "E_TOOL_NOT_IN_CATALOG");
    let other = host.call("text__upper", json!({"text": "x"})).await;
    assert!(other.tool_error().is_none());
    let limit = "tools.files.budgets.perDay.calls".to_owned();
    assert_eq!(used(&host).await, [(limit, 2)]);
}

#[tokio::test]
async fn of_fifty_calls_at_once_as_many_run_as_the_budget_allows() {
    let host = host("budgets: {perDay: {calls: 7}}").await;
    let calls = (0..50).map(|number| {
        let host = &host;
        async move { write(host, &format!("f{number}"), "x").await }
    });
    let results = join_all(calls).await;
    assert_eq!(
        results
            .iter()
            .filter(|result| result.tool_error().is_none())
            .count(),
        7
    );
    let files = std::fs::read_dir(host.work.dir.path()).unwrap();
    assert_eq!(files.count(), 7);
}

#[tokio::test]
async fn calls_of_a_tool_count_for_their_own_tool_and_for_the_agent_once() {
    let policy = "
tools:
  caller: {tools: [\"files__*\"], budgets: {perDay: {bytesWritten: 1MiB}}}
  files: {cost: 3, budgets: {perDay: {calls: 2}}}
agents: {default: {budgets: {eachInstance: {perDay: {calls: 10, cost: 100, bytesWritten: 1MiB}}}}}
";
    let host = host(policy).await;
    let write = |path: &str| {
        let args = json!({"path": path, "content": "x".repeat(100)});
        json!({"do": "call", "tool": "files__write", "args": args})
    };
    let own = json!({"do": "write", "path": "own", "text": "12345"});
    let steps = json!([write("a"), write("b"), write("c"), own]);
    let result = host.call("caller__run", json!({"steps": steps})).await;
    let answers = result.output().unwrap();
    assert_eq!(answers[2]["error"]["code"], "E_TOOL_BUDGET", "{answers}");
    assert!(
        answers[3]["ok"].is_null() || answers[3]["ok"].is_string() || answers[3]["ok"].is_object()
    );
    assert!(!host.work.path("c").exists());
    assert_eq!(result.usage().bytes_written, 205);
    let limit = |path: &str, used| (path.to_owned(), used);
    assert_eq!(
        used(&host).await,
        [
            // Without what its calls wrote.
            limit("tools.caller.budgets.perDay.bytesWritten", 5),
            limit("tools.files.budgets.perDay.calls", 2),
            // The caller and two calls.
            limit("agents.default.budgets.eachInstance.perDay.calls", 3),
            limit("agents.default.budgets.eachInstance.perDay.cost", 6),
            limit(
                "agents.default.budgets.eachInstance.perDay.bytesWritten",
                205
            ),
        ]
    );
    // Another instance has what is left of the tool's budget, and a budget of its own.
    let step = open_step(&host.agent, "other", &host.work.workdir).await;
    let steps = json!({"steps": [write("d")]});
    let result = step.execute_without_message(tool_call("caller__run", steps));
    assert_eq!(
        result.await.output().unwrap()[0]["error"]["code"],
        "E_TOOL_BUDGET"
    );
}

#[tokio::test]
async fn a_call_that_was_made_can_be_polled_when_its_budget_is_used_up() {
    let host = host("tools: {later: {budgets: {perDay: {calls: 1, wallSeconds: 1000}}}}").await;
    let args = json!({"handle": r#"done:{"n":7}"#});
    let pending = host.call("later__run", args.clone()).await;
    let handle = pending.handle().unwrap().to_owned();
    assert_eq!(code(&host.call("later__run", args).await), "E_TOOL_BUDGET");
    let instance = host.agent.instance("instance", host.work.workdir.clone());
    let result = instance.poll(&handle).await;
    assert_eq!(result.output(), Some(&json!({"n": 7})));
}

#[tokio::test]
async fn hosts_of_one_state_root_share_budgets_and_a_new_policy_keeps_what_is_used() {
    let root = tempfile::tempdir().unwrap();
    let policy = |calls: u32| {
        let text = format!("workspace: shop\nbudgets: {{perDay: {{calls: {calls}}}}}");
        Policy::parse(&text, "p.yaml").unwrap()
    };
    let in_root = |calls| {
        let builder = Host::builder().sandbox(sandbox()).policy(policy(calls));
        builder.state_root(root.path()).build().unwrap()
    };
    let text: [TestTool<'_>; 1] = [("text", "text", &["upper"])];
    let first = TestHost::with_tools_in(in_root(3), &text).await;
    let second = TestHost::with_tools_in(in_root(3), &text).await;
    let args = || json!({"text": "x"});
    for host in [&first, &second, &first] {
        assert!(
            host.call("text__upper", args())
                .await
                .tool_error()
                .is_none()
        );
    }
    for host in [&first, &second] {
        assert_eq!(
            code(&host.call("text__upper", args()).await),
            "E_TOOL_BUDGET"
        );
    }
    let raised = first.host.with_policy(policy(4));
    let bundle = raised.reload(&first.loaded).await.unwrap();
    let agent = bundle.only_agent().unwrap();
    let step = open_step(&agent, "instance", &first.work.workdir).await;
    let call = || step.execute_without_message(tool_call("text__upper", args()));
    assert!(call().await.tool_error().is_none());
    assert_eq!(code(&call().await), "E_TOOL_BUDGET");
}

#[tokio::test]
async fn a_call_of_an_extension_is_counted() {
    let host = host("tools: {native: {budgets: {perDay: {calls: 1}}}}\nstrict: false").await;
    let runs = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = Arc::clone(&runs);
    let extended = host.agent.extend("test", |api| {
        let item = json!({"name": "native__run", "parameters": {"type": "object"}});
        let item: toolhost::ToolCatalogItem = serde_json::from_value(item).unwrap();
        api.tools().register(item, move |_, _| {
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            async { Ok::<Value, toolhost::HandlerError>(json!({})) }
        })
    });
    extended.unwrap();
    let step = host.another_step().await;
    let call = || step.execute_without_message(tool_call("native__run", json!({})));
    assert!(call().await.tool_error().is_none());
    assert_eq!(code(&call().await), "E_TOOL_BUDGET");
    assert_eq!(runs.load(std::sync::atomic::Ordering::Relaxed), 1);
}
