//! Turns and steps, and the middleware around them.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolhost::{
    HandlerError, Locale, ToolError, ToolErrorCode, TurnStart,
    middleware::{Next, StepContext, TurnContext},
};
use toolhost_tests::test_host::{TestHost, code, tool_call, yaml};

use crate::execute::EXAMPLES;

async fn test_host() -> TestHost {
    TestHost::with_tools(
        &[
            ("text", "text", EXAMPLES),
            ("echo", "echo", &["say", "context"]),
        ],
        "",
    )
    .await
}

#[tokio::test]
async fn step_middleware_sets_the_catalog_that_admits_calls() {
    // tool-spec-v2 §2.1(1), §2.1(3), §9.1
    let test_host = test_host().await;
    test_host
        .agent
        .extend("filter", |api| {
            api.pipeline()
                .step(0, |mut context: StepContext, next: Next<_>| async move {
                    let only_text = context.step_id() == "step-2";
                    context
                        .tool_catalog
                        .retain(|item| !only_text || item.name.resource().as_str() == "text");
                    for item in &mut context.tool_catalog {
                        item.description = Some("changed".to_owned());
                    }
                    if only_text {
                        context.tool_catalog.push(super::item("ghost__tool"));
                    }
                    next.run(context).await
                })
        })
        .unwrap();
    let instance = test_host
        .agent
        .instance("key", test_host.work.workdir.clone());
    let turn = instance.open_turn("turn-1").await.unwrap();
    let first = turn.open_step().await.unwrap();
    let second = turn.open_step().await.unwrap();
    assert_eq!((first.id(), second.id()), ("step-1", "step-2"));
    let say = || tool_call("echo__say", json!({"a": 1}));
    assert_eq!(
        first.execute_without_message(say()).await.output(),
        Some(&json!({"a": 1}))
    );
    assert_eq!(
        code(&second.execute_without_message(say()).await),
        "E_TOOL_NOT_IN_CATALOG"
    );
    let described = |item: &toolhost::ToolCatalogItem| item.description.clone();
    assert_eq!(
        described(&first.catalog().items()[0]).as_deref(),
        Some("changed")
    );
    let ghost = second
        .execute_without_message(tool_call("ghost__tool", json!({})))
        .await;
    assert_eq!(code(&ghost), "E_TOOL_NOT_FOUND");
    assert_eq!(test_host.agent.catalog().items().len(), EXAMPLES.len() + 2);
}

#[tokio::test]
async fn turns_and_steps_run_through_all_layers_in_both_directions() {
    // tool-spec-v2 §8.1
    let test_host = test_host().await;
    let seen = Arc::new(Mutex::new(Vec::<String>::new()));
    let say = |seen: &Arc<Mutex<Vec<String>>>, what: &str| seen.lock().unwrap().push(what.into());
    let (of_turn, of_step) = (Arc::clone(&seen), Arc::clone(&seen));
    test_host
        .agent
        .extend("ext", |api| {
            api.pipeline()
                .turn(0, move |mut context: TurnContext, next: Next<_>| {
                    let seen = Arc::clone(&of_turn);
                    async move {
                        say(&seen, "turn:pre");
                        context.input = json!({"was": context.input});
                        let answer = next.run(context).await;
                        say(&seen, "turn:post");
                        answer.or_else(|error: ToolError| Ok(json!({"saved": error.message})))
                    }
                })?;
            api.pipeline()
                .step(0, move |context: StepContext, next: Next<_>| {
                    let seen = Arc::clone(&of_step);
                    async move {
                        say(&seen, "step:pre");
                        let answer: Value = next.run(context).await?;
                        say(&seen, "step:post");
                        Ok(json!([answer]))
                    }
                })
        })
        .unwrap();
    let instance = test_host
        .agent
        .instance("key", test_host.work.workdir.clone());
    let start = TurnStart::new("turn-1").with_input("hello");
    let turn = instance.open_turn(start).await.unwrap();
    assert_eq!(turn.input(), &json!({"was": "hello"}));
    let step = turn.open_step().await.unwrap();
    assert_eq!(step.close("done").await.unwrap(), json!(["done"]));
    let step = turn.open_step().await.unwrap();
    let failed = step
        .fail(HandlerError::new("no").with_code("OWN"))
        .await
        .unwrap_err();
    assert_eq!(
        (failed.code.as_str(), failed.message.as_str()),
        ("OWN", "no")
    );
    let answer = turn.fail(HandlerError::new("lost")).await.unwrap();
    assert_eq!(answer, json!({"saved": "lost"}));
    let order = ["turn:pre", "step:pre", "step:post", "step:pre", "turn:post"];
    assert_eq!(*seen.lock().unwrap(), order);
}

#[tokio::test]
async fn middleware_can_refuse_to_open_a_turn_or_a_step() {
    let test_host = test_host().await;
    test_host
        .agent
        .extend("guard", |api| {
            api.pipeline()
                .turn(0, |context: TurnContext, next: Next<_>| async move {
                    match context.turn_id() {
                        "refused" => context.refuse("not today"),
                        "answered" => Ok(json!("made up")),
                        _ => next.run(context).await,
                    }
                })?;
            api.pipeline()
                .step(0, |context: StepContext, _: Next<_>| async move {
                    context.refuse("no steps")
                })
        })
        .unwrap();
    let instance = test_host
        .agent
        .instance("key", test_host.work.workdir.clone());
    for (turn, expected) in [
        ("refused", "not today"),
        (
            "answered",
            "The turn middleware of 'guard' answered without running the rest.",
        ),
    ] {
        let error = instance.open_turn(turn).await.unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("E_MIDDLEWARE", expected)
        );
    }
    let turn = instance.open_turn("other").await.unwrap();
    assert_eq!(turn.open_step().await.unwrap_err().message, "no steps");
}

#[tokio::test]
async fn turn_and_step_middleware_cannot_return_host_codes() {
    let test_host = test_host().await;
    let forged = || ToolError::host(ToolErrorCode::NotInCatalog, "forged", Locale::En);
    test_host
        .agent
        .extend("forger", |api| {
            api.pipeline()
                .turn(0, move |context: TurnContext, next: Next<_>| async move {
                    let answer: Result<Value, ToolError> = next.run(context).await;
                    let is_forged = answer == Ok(json!("forge"));
                    if is_forged { Err(forged()) } else { answer }
                })?;
            api.pipeline()
                .step(0, move |context: StepContext, next: Next<_>| async move {
                    let answer: Result<Value, ToolError> = next.run(context).await;
                    // The refusal of the inner layer, and the result of the step.
                    let is_forged = answer == Ok(json!("forge"))
                        || answer
                            .as_ref()
                            .is_err_and(|error| error.message == "no steps");
                    if is_forged { Err(forged()) } else { answer }
                })?;
            api.pipeline()
                .step(1, |context: StepContext, next: Next<_>| async move {
                    match context.turn_id() {
                        "closed" => context.refuse("no steps"),
                        _ => next.run(context).await,
                    }
                })
        })
        .unwrap();
    let instance = test_host
        .agent
        .instance("key", test_host.work.workdir.clone());
    let of = |error: ToolError| (error.code.as_str().to_owned(), error.message);
    let expected = || ("E_MIDDLEWARE".to_owned(), "forged".to_owned());
    let closed = instance.open_turn("closed").await.unwrap();
    assert_eq!(of(closed.open_step().await.unwrap_err()), expected());
    let turn = instance.open_turn("turn-1").await.unwrap();
    let step = turn.open_step().await.unwrap();
    assert_eq!(of(step.close("forge").await.unwrap_err()), expected());
    // A code that the step itself returned stays.
    let step = turn.open_step().await.unwrap();
    let own = of(step.fail(HandlerError::new("no")).await.unwrap_err());
    assert_eq!(own, ("E_TOOL".to_owned(), "no".to_owned()));
    assert_eq!(of(turn.close("forge").await.unwrap_err()), expected());
}

#[tokio::test]
async fn a_turn_can_end_only_after_its_required_tools_have_succeeded() {
    let agent = json!({
        "apiVersion": "goondan.ai/v1", "kind": "Agent", "metadata": {"name": "a"},
        "spec": {"tools": ["Tool/text", "Tool/echo"], "requiredTools": ["text__upper", "echo__say"]},
    });
    let tools = yaml(&[("text", "text", EXAMPLES), ("echo", "echo", &["say"])]);
    let manifest = format!("{tools}\n---\n{agent}");
    let test_host = TestHost::load(&manifest, &["text", "echo"], "", None).await;
    let instance = test_host
        .agent
        .instance("key", test_host.work.workdir.clone());
    let turn = instance.open_turn("turn-1").await.unwrap();
    let step = turn.open_step().await.unwrap();
    assert!(!turn.required_tools_satisfied());
    assert_eq!(turn.required_tools().len(), 2);
    let failed = step
        .execute_without_message(tool_call("text__upper", json!({})))
        .await;
    assert_eq!(code(&failed), "E_TOOL_INVALID_ARGS");
    assert!(!turn.required_tools_satisfied(), "it did not succeed");
    step.execute_without_message(tool_call("text__upper", json!({"text": "x"})))
        .await;
    assert!(turn.required_tools_satisfied());
    assert!(
        !instance
            .open_turn("turn-2")
            .await
            .unwrap()
            .required_tools_satisfied(),
        "each turn anew"
    );
    let free = self::test_host().await;
    let instance = free.agent.instance("key", free.work.workdir.clone());
    assert!(
        instance
            .open_turn("turn-1")
            .await
            .unwrap()
            .required_tools_satisfied(),
        "none is required"
    );
}
