//! Rules of the specification that no other test covers.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolhost::agents::{
    AgentEvent, AgentRuntime, AgentSetup, HandlerError, Orchestrator, OrchestratorConfig, TurnPort,
};
use toolhost::{
    JsonObject, ResourceName, ToolCatalogItem, ToolStatus, TurnStart, agents_tool,
    extension::HandlerContext,
    middleware::{Next, StepContext},
};
use toolhost_tests::root;
use toolhost_tests::test_host::{TestHost, code, tool_call};

const ECHO: &[toolhost_tests::test_host::TestTool<'_>] = &[("echo", "echo", &["say", "context"])];

fn item(name: &str) -> ToolCatalogItem {
    serde_json::from_value(json!({"name": name})).unwrap()
}

async fn context(context: HandlerContext, _: JsonObject) -> Result<Value, HandlerError> {
    context.logger().info("called");
    Ok(json!(context.context))
}

#[tokio::test]
async fn a_tool_hidden_by_a_step_stays_in_the_registry() {
    // tool-spec-v2 §2.1(4), §3
    for (policy, expected) in [
        ("registryDirectCall: true", None),
        ("registryDirectCall: false", Some("E_TOOL_NOT_IN_CATALOG")),
    ] {
        let test_host = TestHost::with_tools(ECHO, policy).await;
        let hide = |mut context: StepContext, next: Next<_>| async move {
            context.tool_catalog.clear();
            next.run(context).await
        };
        let extended = test_host.agent.extend("ext", |api| {
            api.pipeline().step(0, hide)?;
            api.tools().register(item("dyn__x"), context)
        });
        extended.unwrap();
        let step = test_host.another_step().await;
        assert!(step.catalog().items().is_empty());
        for name in ["dyn__x", "echo__context"] {
            let result = step
                .execute_without_message(tool_call(name, json!({})))
                .await;
            let refused = result.tool_error().map(|error| error.code.as_str());
            assert_eq!(refused, expected, "{name}");
        }
    }
}

#[test]
fn the_guest_context_has_seven_fields_and_none_of_v1() {
    // tool-spec-v2 §2.5(3), §7.3; requirements-v2 §12.5
    let contract = std::fs::read_to_string(root("wit/tool.wit")).unwrap();
    let lines = contract.lines().map(str::trim);
    let lines: Vec<_> = lines.filter(|line| !line.starts_with("///")).collect();
    let record = lines
        .iter()
        .skip_while(|line| **line != "record tool-context {");
    let fields: Vec<_> = record.skip(1).take_while(|line| **line != "}").collect();
    let names = fields.iter().map(|field| field.split(':').next().unwrap());
    let expected = [
        "agent-name",
        "instance-key",
        "turn-id",
        "tool-call-id",
        "trace-id",
        "message",
        "workdir",
    ];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    // The record also has the trace id; the seventh item, a logger, is an import.
    assert!(lines.contains(&"import wasi:logging/logging@0.1.0-draft;"));
    let all = lines.join("\n");
    for gone in ["swarm", "changeset", "oauth", "event-bus"] {
        assert!(!all.contains(gone), "{gone}");
    }
}

#[tokio::test]
async fn a_native_handler_gets_the_same_context_as_a_component() {
    // tool-spec-v2 §7.3; requirements-v2 §12.5
    let test_host = TestHost::with_tools(ECHO, "").await;
    let extended = test_host.agent.extend("ext", |api| {
        api.tools().register(item("dyn__context"), context)
    });
    extended.unwrap();
    let instance = test_host
        .agent
        .instance("key", test_host.work.workdir.clone());
    let start = TurnStart::new("turn-1").with_trace_id("trace-1");
    let turn = instance.open_turn(start).await.unwrap();
    let step = turn.open_step().await.unwrap();
    let (mut contexts, mut workdirs) = (Vec::new(), Vec::new());
    for name in ["echo__context", "dyn__context"] {
        let result = step
            .execute_without_message(tool_call(name, json!({})))
            .await;
        let mut output = result.output().unwrap().clone();
        let message = output["message"].take().to_string();
        assert!(message.contains(name), "{message}");
        workdirs.push(output["workdir"].take());
        contexts.push(output);
    }
    let path = test_host.work.dir.path().canonicalize().unwrap();
    assert_eq!(workdirs, [json!("/"), json!(path)], "each where it is");
    assert_eq!(contexts[0], contexts[1]);
    assert_eq!(contexts[1]["traceId"], "trace-1");
    assert_eq!(contexts[1].as_object().unwrap().len(), 7);
}

/// Answers with its input.
struct Echo;

#[async_trait]
impl AgentRuntime for Echo {
    async fn on_event(&self, event: AgentEvent, _: &TurnPort) -> Result<Value, HandlerError> {
        Ok(event.input.unwrap_or_default())
    }
}

#[tokio::test]
async fn a_hand_off_names_an_agent_and_passes_an_input() {
    // tool-spec-v2-earlier §9.3(1); requirements-v2 §12.6.1(1); requirements-v1 §12.5(1)
    let test_host = TestHost::with_tools(ECHO, "").await;
    test_host.agent.extend("agents", agents_tool).unwrap();
    let orchestrator = Orchestrator::in_memory(OrchestratorConfig::default());
    let orchestrator = orchestrator.await.unwrap();
    let coder = ResourceName::parse("coder").unwrap();
    let setup = AgentSetup::in_process(|_| Arc::new(Echo));
    orchestrator.register(&coder, setup).await.unwrap();

    let client = orchestrator.client("planner", "key", None);
    let instance = test_host
        .agent
        .instance("key", test_host.work.workdir.clone());
    let start = TurnStart::new("turn-1").with_agents(client.clone());
    let turn = instance.open_turn(start).await.unwrap();
    let step = turn.open_step().await.unwrap();
    for tool in ["agents__request", "agents__send"] {
        for args in [
            json!({}),
            json!({"target": "coder"}),
            json!({"input": 1}),
            json!({"target": 5, "input": 1}),
        ] {
            let result = step
                .execute_without_message(tool_call(tool, args.clone()))
                .await;
            assert_eq!(code(&result), "E_TOOL_INVALID_ARGS", "{tool} {args}");
        }
    }
    assert_eq!(client.list().await.unwrap(), [], "no agent is started");

    let args = json!({"target": "coder", "input": {"task": 1}});
    let result = step
        .execute_without_message(tool_call("agents__request", args))
        .await;
    assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
    assert_eq!(result.output().unwrap()["response"], json!({"task": 1}));
    assert_eq!(client.list().await.unwrap().len(), 1);
}
