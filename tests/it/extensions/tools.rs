//! Tools that an extension registers: available from the next step, with the limits of components.

use std::time::Duration;

use serde_json::{Value, json};
use toolhost::{HandlerError, JsonObject, ToolStatus, extension::HandlerContext};
use toolhost_tests::test_host::{TestHost, code};

use super::{echo, item};

async fn test_host(policy: &str) -> TestHost {
    TestHost::with_tools(&[("text", "text", &["upper"])], policy).await
}

#[tokio::test]
async fn a_dynamic_tool_is_in_the_next_steps_catalog_and_runs() {
    // tool-spec-v2 §2.1(4), §12.1, §12.3, §13.2
    let test_host = test_host("").await;
    let extended = test_host.agent.extend("weather-ext", |api| {
        api.tools().register(item("weather__get"), echo)
    });
    extended.unwrap();
    assert!(test_host.step.catalog().get("weather__get").is_none());
    let early = test_host.call("weather__get", json!({})).await;
    assert_eq!(code(&early), "E_TOOL_NOT_IN_CATALOG");

    let step = test_host.another_step().await;
    let listed = step.catalog().get("weather__get").unwrap();
    let source = serde_json::to_value(&listed.source).unwrap();
    assert_eq!(source, json!({"type": "extension", "name": "weather-ext"}));
    let call = toolhost_tests::test_host::tool_call("weather__get", json!({"city": "Seoul"}));
    let result = step.execute_without_message(call).await;
    assert_eq!(result.output(), Some(&json!({"city": "Seoul"})));

    assert!(test_host.agent.remove_extension("weather-ext"));
    assert!(!test_host.agent.remove_extension("weather-ext"));
    let call = toolhost_tests::test_host::tool_call("weather__get", json!({}));
    let kept = step.execute_without_message(call).await;
    assert_eq!(kept.status(), ToolStatus::Ok, "an open step is a snapshot");
    assert!(test_host.agent.catalog().get("weather__get").is_none());
}

#[tokio::test]
async fn an_mcp_tool_keeps_its_source_with_the_extensions_name() {
    // tool-spec-v2 §13.1
    let test_host = test_host("").await;
    let mcp = serde_json::from_value(json!({
        "name": "github__create_issue",
        "source": {"type": "mcp", "name": "mcp-github", "mcp": {"extensionName": "somebody else's"}},
    }));
    test_host
        .agent
        .extend("mcp-github", |api| api.tools().register(mcp.unwrap(), echo))
        .unwrap();
    let catalog = test_host.agent.catalog();
    let source = &catalog.get("github__create_issue").unwrap().source;
    assert_eq!(
        serde_json::to_value(source).unwrap(),
        json!({"type": "mcp", "name": "mcp-github", "mcp": {"extensionName": "mcp-github"}})
    );
}

#[tokio::test]
async fn a_registered_name_cannot_be_taken_by_another_extension() {
    let test_host = test_host("").await;
    let agent = &test_host.agent;
    let of_bundle = agent.extend("a", |api| api.tools().register(item("text__upper"), echo));
    assert!(of_bundle.unwrap_err().to_string().contains("the bundle"));

    let again = |_: HandlerContext, _: JsonObject| async { Ok::<Value, HandlerError>(json!(2)) };
    agent
        .extend("a", |api| {
            api.tools().register(item("dyn__x"), echo)?;
            api.tools().register(item("dyn__x"), again)
        })
        .unwrap();
    let others = agent.extend("b", |api| {
        api.pipeline()
            .step(0, |context, next: toolhost::middleware::Next<_>| {
                next.run(context)
            })?;
        api.tools().register(item("dyn__y"), echo)?;
        api.tools().register(item("dyn__x"), echo)
    });
    assert!(others.unwrap_err().to_string().contains("is taken by a;"));
    assert!(
        agent.catalog().get("dyn__y").is_none(),
        "none of its tools stays"
    );
    let twice = agent.extend("a", |_| Ok(()));
    assert!(twice.unwrap_err().to_string().contains("already"));

    let result = test_host.another_step().await;
    let call = toolhost_tests::test_host::tool_call("dyn__x", json!({}));
    assert_eq!(
        result.execute_without_message(call).await.output(),
        Some(&json!(2))
    );
}

#[tokio::test]
async fn a_native_handler_has_the_same_limits_as_a_component() {
    // tool-spec-v2 §2.4
    let policy =
        "strict: false\ntools: {dyn: {limits: {deadlineMs: 100, outputBytes: 1KiB, jsonDepth: 8}}}";
    let test_host = test_host(policy).await;
    let schema = json!({
        "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
    });
    let strict: toolhost::ToolCatalogItem =
        serde_json::from_value(json!({"name": "dyn__strict", "parameters": schema})).unwrap();
    test_host
        .agent
        .extend("ext", |api| {
            let tools = api.tools();
            tools.register(strict, echo)?;
            tools.register(
                item("dyn__slow"),
                async |_: HandlerContext, _: JsonObject| {
                    tokio::time::sleep(Duration::from_secs(60)).await;
                    Ok::<_, HandlerError>(json!(1))
                },
            )?;
            tools.register(
                item("dyn__long"),
                async |_: HandlerContext, _: JsonObject| {
                    Ok::<_, HandlerError>(json!("x".repeat(2000)))
                },
            )?;
            tools.register(
                item("dyn__deep"),
                async |_: HandlerContext, _: JsonObject| {
                    Ok::<_, HandlerError>(json!([[[[[[[[[1]]]]]]]]]))
                },
            )?;
            tools.register(
                item("dyn__panics"),
                async |_: HandlerContext, _: JsonObject| panic!("in the test"),
            )?;
            tools.register(
                item("dyn__fails"),
                async |_: HandlerContext, _: JsonObject| {
                    let error = HandlerError::new("m".repeat(1000)).with_code("E_TOOL_TIMEOUT");
                    Err::<Value, _>(error)
                },
            )?;
            tools.register(
                item("dyn__rants"),
                async |_: HandlerContext, _: JsonObject| {
                    Err::<Value, _>(HandlerError::new("m".repeat(5000)))
                },
            )
        })
        .unwrap();
    let step = test_host.another_step().await;
    for (tool, args, expected) in [
        ("dyn__strict", json!({"n": 1}), None),
        (
            "dyn__strict",
            json!({"n": "1"}),
            Some("E_TOOL_INVALID_ARGS"),
        ),
        ("dyn__slow", json!({}), Some("E_TOOL_TIMEOUT")),
        ("dyn__long", json!({}), Some("E_TOOL_OUTPUT_TOO_LARGE")),
        ("dyn__deep", json!({}), Some("E_TOOL_INVALID_OUTPUT")),
        ("dyn__panics", json!({}), Some("E_TOOL_TRAP")),
        ("dyn__fails", json!({}), Some("E_TOOL")),
        ("dyn__rants", json!({}), Some("E_TOOL_OUTPUT_TOO_LARGE")),
    ] {
        let call = toolhost_tests::test_host::tool_call(tool, args);
        let result = step.execute_without_message(call).await;
        let found = result.tool_error().map(|error| error.code.as_str());
        assert_eq!(found, expected, "{tool}: {result:?}");
        if let Some(error) = result.tool_error() {
            assert!(error.message.len() <= 1000, "{tool}");
        }
    }
}

#[tokio::test]
async fn a_panic_in_the_deadline_of_a_handler_is_reported_as_a_trap() {
    struct PanickingDeadline;
    impl toolhost::extension::ToolHandler for PanickingDeadline {
        fn call(
            &self,
            _: HandlerContext,
            input: JsonObject,
        ) -> toolhost::BoxFuture<'_, Result<Value, toolhost::extension::HandlerFailure>> {
            Box::pin(async { Ok(Value::Object(input)) })
        }

        fn deadline(&self, input: &JsonObject) -> Option<Duration> {
            assert!(input.is_empty(), "in the test");
            None
        }
    }
    let test_host = test_host("").await;
    test_host
        .agent
        .extend("ext", |api| {
            // The sandbox is not affected.
            api.pipeline()
                .tool_call(0, |context, next: toolhost::middleware::Next<_>| {
                    next.run(context)
                })?;
            api.tools()
                .register(item("dyn__restless"), PanickingDeadline)
        })
        .unwrap();
    let step = test_host.another_step().await;
    let call = |args| {
        step.execute_without_message(toolhost_tests::test_host::tool_call("dyn__restless", args))
    };
    let result = call(json!({"a": 1})).await;
    assert_eq!(code(&result), "E_TOOL_TRAP");
    assert!(
        result
            .tool_error()
            .unwrap()
            .message
            .contains("its handler panicked")
    );
    assert_eq!(call(json!({})).await.output(), Some(&json!({})));
}

#[tokio::test]
async fn the_description_of_an_extension_tool_is_limited() {
    let test_host = test_host("").await;
    let description = format!("Gets\u{202e}{}", "\u{e0041}".repeat(100_000));
    let item =
        serde_json::from_value(json!({"name": "mcp__get", "description": description})).unwrap();
    test_host
        .agent
        .extend("mcp", |api| api.tools().register(item, echo))
        .unwrap();
    let listed = test_host.agent.catalog().to_mcp().to_string();
    assert!(listed.len() < 10_000);
    assert!(listed.contains("Gets\\\\u{202e}") && !listed.contains(toolhost::text::needs_escape));
}

#[tokio::test]
async fn a_stored_api_can_register_later_and_does_not_keep_the_agent_alive() {
    let test_host = test_host("").await;
    let mut kept = None;
    test_host
        .agent
        .extend("later", |api| {
            api.logger().info("registered");
            kept = Some(api.clone());
            Ok(())
        })
        .unwrap();
    let api = kept.unwrap();
    api.tools().register(item("dyn__late"), echo).unwrap();
    assert!(test_host.agent.catalog().get("dyn__late").is_some());
    assert!(api.tools().unregister("dyn__late").unwrap());
    assert!(!api.tools().unregister("text__upper").unwrap());
    assert!(test_host.agent.catalog().get("dyn__late").is_none());
    drop(test_host);
    let gone = api.tools().register(item("dyn__late"), echo);
    assert!(
        gone.unwrap_err()
            .to_string()
            .contains("its agent was dropped")
    );
}

#[tokio::test]
async fn the_api_of_a_removed_extension_registers_nothing() {
    let test_host = test_host("").await;
    let mut kept = None;
    let mut keep = |api: &toolhost::extension::ExtensionApi| {
        kept = Some(api.clone());
        Ok(())
    };
    test_host.agent.extend("gone", &mut keep).unwrap();
    assert!(test_host.agent.remove_extension("gone"));
    test_host.agent.extend("gone", |_| Ok(())).unwrap();
    let late = kept.unwrap().tools().register(item("dyn__late"), echo);
    assert!(late.unwrap_err().to_string().contains("removed"));
    assert!(test_host.agent.catalog().get("dyn__late").is_none());

    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        test_host.agent.extend::<()>("half", |api| {
            api.tools().register(item("dyn__half"), echo)?;
            panic!("in the test")
        })
    }));
    assert!(panicked.is_err());
    assert!(
        test_host.agent.catalog().get("dyn__half").is_none(),
        "none of its tools stays"
    );
}

#[tokio::test]
async fn a_handler_cannot_exceed_the_deadline_of_the_policy() {
    struct LongDeadline;
    impl toolhost::extension::ToolHandler for LongDeadline {
        fn call(
            &self,
            _: HandlerContext,
            _: JsonObject,
        ) -> toolhost::BoxFuture<'_, Result<Value, toolhost::extension::HandlerFailure>> {
            Box::pin(std::future::pending())
        }

        fn deadline(&self, _: &JsonObject) -> Option<Duration> {
            Some(Duration::from_secs(600))
        }
    }
    let test_host = test_host("strict: false\ntools: {dyn: {limits: {deadlineMs: 50}}}").await;
    test_host
        .agent
        .extend("ext", |api| {
            api.tools().register(item("dyn__patient"), LongDeadline)
        })
        .unwrap();
    let step = test_host.another_step().await;
    let call = toolhost_tests::test_host::tool_call("dyn__patient", json!({}));
    assert_eq!(
        code(&step.execute_without_message(call).await),
        "E_TOOL_TIMEOUT"
    );
}

#[tokio::test]
async fn a_native_handler_opens_files_through_the_workdir_handle() {
    // tool-spec-v2 §2.5(1), §2.5(2)
    use std::io::Read;
    use std::os::fd::AsFd;

    let test_host = test_host("").await;
    std::fs::write(test_host.work.path("note.txt"), "kept").unwrap();
    test_host
        .agent
        .extend("ext", |api| {
            let read = async |context: HandlerContext, _: JsonObject| {
                let (flags, mode) = (rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty());
                let opened = rustix::fs::openat(context.workdir().as_fd(), "note.txt", flags, mode);
                let mut text = String::new();
                std::fs::File::from(opened?).read_to_string(&mut text)?;
                Ok::<_, HandlerError>(json!(text))
            };
            api.tools().register(item("dyn__read"), read)
        })
        .unwrap();
    let step = test_host.another_step().await;
    let call = toolhost_tests::test_host::tool_call("dyn__read", json!({}));
    assert_eq!(
        step.execute_without_message(call).await.output(),
        Some(&json!("kept"))
    );
}
