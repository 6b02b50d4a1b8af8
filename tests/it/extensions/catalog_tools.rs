//! The tools with which a model searches the catalog and calls what it finds.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolhost::events::{EventKind, Received};
use toolhost::middleware::{Next, StepContext, ToolCallContext};
use toolhost::search::{ToolExposure, ToolHit, ToolRanker};
use toolhost::{BoxFuture, Host, Policy, ToolCatalog, ToolResult, ToolStatus};
use toolhost_tests::sandbox;
use toolhost_tests::test_host::{TestHost, TestTool, code, tool_call};

use super::{echo, item};
use crate::execute::EXAMPLES;
use crate::pending::ended;

const TOOLS: &[TestTool<'_>] = &[
    ("text", "text", EXAMPLES),
    ("echo", "echo", &["say", "context"]),
    ("later", "pending", &["run"]),
];

/// Text that the policy keeps out of events.
const SECRET: &str = "hunter2-hunter2";

async fn test_host() -> TestHost {
    let test_host = TestHost::with_tools(TOOLS, "").await;
    test_host.loaded.add_catalog_tools().unwrap();
    test_host
}

async fn call(test_host: &TestHost, tool: &str, args: Value) -> ToolResult {
    let step = test_host.another_step().await;
    step.execute_without_message(tool_call(tool, args)).await
}

/// Names of the tools that a search returned.
fn names(result: &ToolResult) -> Vec<String> {
    let tools = result.output().unwrap()["tools"].as_array().unwrap();
    let names = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned());
    names.collect()
}

#[tokio::test]
async fn a_model_finds_a_tool_and_calls_it() {
    let test_host = test_host().await;
    let found = call(&test_host, "tools__search", json!({"query": "text upper"})).await;
    let output = found.output().unwrap();
    assert_eq!(names(&found)[0], "text__upper", "{output}");
    let expected = test_host.step.catalog().get("text__upper").unwrap();
    assert_eq!(
        output["tools"][0].get("parameters").cloned(),
        expected.parameters.as_ref().map(|it| it.to_value())
    );
    assert_eq!(output["tools"][0].get("source"), None);
    assert_eq!(output["searched"], test_host.step.catalog().items().len());

    let args = json!({"name": "text__upper", "args": {"text": "hi"}});
    let called = call(&test_host, "tools__call", args).await;
    assert_eq!(called.output(), Some(&json!({"text": "HI"})), "{called:?}");
    assert_eq!(
        (called.tool_call_id(), called.tool_name()),
        ("call-1", "tools__call")
    );
    // The receipt is that of the inner call.
    assert!(called.usage().memory_peak > 0);
    let context = call(&test_host, "tools__call", json!({"name": "echo__context"})).await;
    assert_eq!(context.output().unwrap()["toolCallId"], "call-1/1");
}

#[tokio::test]
async fn a_search_without_an_answer_says_so_and_finds_neither_of_the_two_tools() {
    let test_host = test_host().await;
    let query = json!({"query": "resize an image"});
    let found = call(&test_host, "tools__search", query).await;
    assert_eq!(names(&found), Vec::<String>::new());
    assert!(found.output().unwrap()["message"].is_string());
    for query in [
        "tools__search",
        "tools__call",
        "search the tools and call one",
    ] {
        let found = call(
            &test_host,
            "tools__search",
            json!({"query": query, "limit": 50}),
        )
        .await;
        let names = names(&found);
        assert!(
            names.iter().all(|name| !name.starts_with("tools__")),
            "{names:?}"
        );
    }
    for args in [
        json!({}),
        json!({"query": ""}),
        json!({"query": "x".repeat(1025)}),
        json!({"query": "a", "limit": 51}),
    ] {
        let refused = call(&test_host, "tools__search", args).await;
        assert_eq!(code(&refused), "E_TOOL_INVALID_ARGS");
    }
}

#[tokio::test]
async fn a_call_within_a_call_is_admitted_validated_and_seen_by_middleware_under_its_own_name() {
    let test_host = test_host().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (sees, ran) = (Arc::clone(&seen), Arc::new(Mutex::new(0)));
    let runs = Arc::clone(&ran);
    let layers = test_host.agent.extend("gate", move |api| {
        let write = move |context, input| {
            *runs.lock().unwrap() += 1;
            echo(context, input)
        };
        api.tools().register(item("dyn__write"), write.clone())?;
        api.tools().register(item("hidden__write"), write)?;
        api.pipeline().step(
            0,
            |mut context: StepContext, next: Next<StepContext>| async move {
                context
                    .tool_catalog
                    .retain(|item| item.name.as_str() != "hidden__write");
                next.run(context).await
            },
        )?;
        let gate = move |context: ToolCallContext, next: Next<ToolCallContext>| {
            let id = context.tool_call_id().to_owned();
            sees.lock()
                .unwrap()
                .push(format!("{id} {}", context.tool_name()));
            async move {
                if context.tool_name() == "dyn__write" {
                    return context.refuse("not today");
                }
                next.run(context).await
            }
        };
        api.pipeline().tool_call(0, gate)
    });
    layers.unwrap();
    for (name, args, expected) in [
        ("dyn__write", json!({}), "E_MIDDLEWARE"),
        // Not in the catalog of the step.
        ("hidden__write", json!({}), "E_TOOL_NOT_IN_CATALOG"),
        ("no__tool", json!({}), "E_TOOL_NOT_IN_CATALOG"),
        // A chain has no tool twice.
        (
            "tools__call",
            json!({"name": "dyn__write"}),
            "E_TOOL_INVALID_ARGS",
        ),
        ("tools__search", json!({}), "E_TOOL_INVALID_ARGS"),
    ] {
        let args = json!({"name": name, "args": args});
        let refused = call(&test_host, "tools__call", args).await;
        assert_eq!(code(&refused), expected, "{name}");
        assert_eq!(refused.tool_name(), "tools__call");
        let advice = refused.tool_error().unwrap().suggestion.clone();
        let advises_search = advice.is_some_and(|text| text.contains("with tools__search"));
        assert_eq!(
            advises_search,
            expected == "E_TOOL_NOT_IN_CATALOG",
            "{name}"
        );
    }
    assert_eq!(*ran.lock().unwrap(), 0);
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen[..2], ["call-1 tools__call", "call-1/1 dyn__write"]);
    assert!(
        !seen.iter().any(|it| it.starts_with("call-1/1/1")),
        "{seen:?}"
    );
    // What the step hides is not found either.
    let found = call(
        &test_host,
        "tools__search",
        json!({"query": "hidden__write", "limit": 50}),
    )
    .await;
    assert!(!names(&found).contains(&"hidden__write".to_owned()));
}

#[tokio::test]
async fn a_pending_result_of_an_inner_call_is_polled_as_any_other() {
    let test_host = test_host().await;
    let instance = test_host
        .agent
        .instance("instance", test_host.work.workdir.clone());
    let args = json!({"name": "later__run", "args": {"handle": "done:{\"made\": 1}"}});
    let pending = call(&test_host, "tools__call", args.clone()).await;
    assert_eq!(pending.status(), ToolStatus::Pending, "{pending:?}");
    let polled = instance.poll(pending.handle().unwrap()).await;
    assert_eq!(polled.output(), Some(&json!({"made": 1})), "{polled:?}");
    assert_eq!(polled.tool_name(), "later__run");
    // In the background, the handle would stand for `tools__call`.
    let step = test_host.another_step().await;
    let call = tool_call("tools__call", args);
    let message = toolhost::AssistantMessage::for_call(&call);
    let submitted = step.submit(call, &message).await;
    let ended = ended(&instance, submitted.handle().unwrap()).await;
    assert_eq!(code(&ended), "E_TOOL_INVALID_ARGS");
}

#[tokio::test]
async fn searches_and_inner_calls_are_events_without_secrets() {
    let policy = format!("tools: {{text: {{env: {{KEY: {{secret: {SECRET}}}}}}}}}");
    let policy = Policy::parse(&policy, "policy.yaml").unwrap();
    let host = Host::builder()
        .sandbox(sandbox())
        .policy(policy)
        .build()
        .unwrap();
    let test_host = TestHost::with_tools_in(host, TOOLS).await;
    test_host.loaded.add_catalog_tools().unwrap();
    let mut events = test_host.host.events().subscribe();
    let step = test_host.another_step().await;
    let query = format!("text upper {SECRET} {}", "x ".repeat(200));
    step.execute_without_message(tool_call("tools__search", json!({"query": query})))
        .await;
    assert!(step.search("resize an image", 5).await.is_empty());
    let args = json!({"name": "text__upper", "args": {"text": "a"}});
    step.execute_without_message(tool_call("tools__call", args))
        .await;
    drop(test_host);
    let mut seen = Vec::new();
    while let Some(Received::Event(event)) = events.next().await {
        seen.push(serde_json::to_value(&*event).unwrap());
        if seen
            .iter()
            .filter(|it| it["type"] == "tool.completed")
            .count()
            == 3
        {
            break;
        }
    }
    let searches: Vec<&Value> = seen
        .iter()
        .filter(|it| it["type"] == json!(EventKind::ToolsSearched))
        .collect();
    let [first, miss] = searches[..] else {
        panic!("{seen:?}");
    };
    assert_eq!(first["search"]["best"][0], "text__upper");
    assert_eq!(
        (&first["toolCallId"], &first["stepId"]),
        (&json!("call-1"), &json!("step-1"))
    );
    let query = first["search"]["query"].as_str().unwrap();
    assert!(query.len() <= 260 && !query.contains(SECRET), "{query}");
    assert_eq!(
        miss["search"],
        json!({"query": "resize an image", "hits": 0, "best": []})
    );
    let inner = seen.iter().filter(|it| it["toolCallId"] == "call-1/1");
    let kinds: Vec<&Value> = inner.map(|it| &it["type"]).collect();
    assert_eq!(kinds, ["tool.called", "tool.completed"]);
}

#[tokio::test]
async fn two_tools_are_all_that_a_model_sees_of_a_large_catalog() {
    let test_host = test_host().await;
    let many = test_host.agent.extend("many", |api| {
        (0..1000).try_for_each(|n| api.tools().register(item(&format!("many__tool{n}")), echo))
    });
    many.unwrap();
    let step = test_host.another_step().await;
    let searching = test_host.step_with_exposure(ToolExposure::Search).await;
    let exposed = searching.exposed();
    let names: Vec<&str> = exposed
        .items()
        .iter()
        .map(|item| item.name.as_str())
        .collect();
    assert_eq!(names, ["tools__search", "tools__call"]);
    // Some four bytes are a token.
    assert!(exposed.to_openai().to_string().len() / 4 < 2_000);
    assert_eq!(step.exposed().items().len(), step.catalog().items().len());
    // Steps share the catalog, and what the first search has read of it.
    let other = test_host.another_step().await;
    assert!(std::ptr::eq(
        step.catalog().items(),
        other.catalog().items()
    ));
}

#[tokio::test]
async fn a_name_that_is_taken_is_an_error_and_a_second_addition_is_none() {
    // A Tool of that name may have other handlers.
    let test_host = TestHost::with_tools(&[("tools", "echo", &["say"])], "").await;
    test_host.loaded.add_catalog_tools().unwrap();
    test_host.loaded.add_catalog_tools().unwrap();
    let taken = TestHost::with_tools(TOOLS, "").await;
    let other = taken.agent.extend("other", |api| {
        api.tools().register(item("tools__call"), echo)
    });
    other.unwrap();
    let error = taken.loaded.add_catalog_tools().unwrap_err();
    assert!(
        error.to_string().contains("tools__call is taken by other"),
        "{error}"
    );
    // Neither of the two stays.
    assert!(taken.agent.catalog().get("tools__search").is_none());
}

/// Ranks the tools by their order, and a tool of another catalog first.
struct Backwards(ToolCatalog);

impl ToolRanker for Backwards {
    fn rank<'a>(
        &'a self,
        catalog: &'a ToolCatalog,
        query: &'a str,
        _: usize,
    ) -> BoxFuture<'a, Vec<ToolHit<'a>>> {
        assert!(query.len() <= 1024, "it is cut before");
        assert!(query != "panic", "as the query says");
        let items = self.0.items().iter().chain(catalog.items().iter().rev());
        let hits = items.map(|item| ToolHit { item, score: 1.0 });
        Box::pin(std::future::ready(hits.collect()))
    }
}

#[tokio::test]
async fn an_embedder_ranks_the_tools_otherwise() {
    let other = ToolCatalog::new([item("other__tool")]);
    let host = Host::builder()
        .sandbox(sandbox())
        .tool_ranker(Backwards(other))
        .build();
    let test_host = TestHost::with_tools_in(host.unwrap(), TOOLS).await;
    test_host.loaded.add_catalog_tools().unwrap();
    let query = "anything ".repeat(1000);
    let step = test_host.another_step().await;
    let hits = step.search(&query, 2).await;
    let names: Vec<&str> = hits.iter().map(|hit| hit.item.name.as_str()).collect();
    assert_eq!(names, ["later__run", "echo__context"]);
    // Its failure is not the model's.
    let hits = step.search("panic", 2).await;
    assert!(hits.is_empty());
    let found = call(&test_host, "tools__search", json!({"query": "x"})).await;
    assert_eq!(self::names(&found)[0], "later__run");
}

#[tokio::test]
async fn programs_may_call_what_their_descriptions_declare_and_what_searches_find() {
    // Two tools in the places of the base tools.
    let tools = [
        ("javascript", "call_tools", &["run"][..]),
        ("text", "text", EXAMPLES),
        ("other", "text", EXAMPLES),
    ];
    let script = json!({"name": "javascript__script", "description": "Runs a program."});
    let policy = "tools: {javascript: {tools: [other__upper]}}";
    let host = Host::builder()
        .sandbox(sandbox())
        .policy(Policy::parse(policy, "policy.yaml").unwrap())
        .build();
    let test_host = TestHost::with_tools_in(host.unwrap(), &tools).await;
    test_host.loaded.add_catalog_tools().unwrap();
    let script = serde_json::from_value(script).unwrap();
    let added = test_host
        .agent
        .extend("script", |api| api.tools().register(script, echo));
    added.unwrap();
    let step = test_host.step_with_exposure(ToolExposure::Script).await;
    let exposed = step.exposed();
    let shown = exposed.items().iter().map(|item| item.name.as_str());
    assert_eq!(
        shown.collect::<Vec<_>>(),
        ["tools__search", "javascript__script"]
    );
    let description = exposed.items()[1].description.clone().unwrap();
    assert!(description.contains("\"other__upper\""), "{description}");
    assert!(!description.contains("text__upper"), "{description}");

    let search = || tool_call("tools__search", json!({"query": "text upper"}));
    let found = step.execute_without_message(search()).await;
    assert_eq!(names(&found), ["other__upper"]);
    assert_eq!(found.output().unwrap()["searched"], 1);
    let hits = step.search("text upper", 5).await;
    assert_eq!(hits.len(), 1);
    let within = json!({"steps": [{"do": "names"}, {"do": "search", "query": "text upper"}]});
    let within = step
        .execute_without_message(tool_call("javascript__run", within))
        .await;
    let within = within.output().unwrap();
    assert_eq!(within[0]["ok"], json!(["other__upper"]));
    assert_eq!(within[1]["ok"].as_array().unwrap().len(), 1);
    assert_eq!(within[1]["ok"][0]["name"], "other__upper");
    // Where the model calls tools itself, it finds all.
    let all = test_host.another_step().await;
    let found = all.execute_without_message(search()).await;
    assert!(
        names(&found).contains(&"text__upper".to_owned()),
        "{found:?}"
    );
}

#[tokio::test]
async fn the_searches_of_programs_ask_the_ranker_of_the_embedder() {
    let tools = [
        ("caller", "call_tools", &["run"][..]),
        ("text", "text", EXAMPLES),
    ];
    let policy = "tools: {caller: {tools: [text__upper, text__count]}}";
    let host = Host::builder()
        .sandbox(sandbox())
        .tool_ranker(Backwards(ToolCatalog::default()))
        .policy(Policy::parse(policy, "policy.yaml").unwrap())
        .build();
    let test_host = TestHost::with_tools_in(host.unwrap(), &tools).await;
    let steps = json!([{"do": "search", "query": "nothing that a word fits"}]);
    let found = call(&test_host, "caller__run", json!({ "steps": steps })).await;
    let found = found.output().unwrap()[0]["ok"].as_array().unwrap();
    let found: Vec<&Value> = found.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(found, ["text__count", "text__upper"]);
}
