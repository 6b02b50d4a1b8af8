//! What the contexts of middleware tell about a call, and the values that layers share.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolhost::{
    HandlerError, JsonObject, ToolError, TurnStart,
    extension::HandlerContext,
    middleware::{Next, StepContext, ToolCallContext, TurnContext},
};
use toolhost_tests::test_host::{TestHost, code, tool_call};

use crate::execute::EXAMPLES;
use crate::extensions::item;

async fn test_host() -> TestHost {
    TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await
}

#[derive(Debug, PartialEq)]
struct OfTurn(u32);
#[derive(Debug, PartialEq)]
struct OfStep(u32);
#[derive(Debug, PartialEq)]
struct OfCall(u32);

#[tokio::test]
async fn a_call_sees_what_layers_of_its_step_and_its_turn_have_inserted() {
    let test_host = test_host().await;
    let of_turn = |turn: TurnContext, next: Next<TurnContext>| async move {
        let extensions = turn.extensions.clone();
        assert!(extensions.insert(OfTurn(1)).is_none());
        let answer: Result<Value, ToolError> = next.run(turn).await;
        assert!(extensions.get::<OfStep>().is_none(), "not seen outside");
        answer
    };
    let of_step = |step: StepContext, next: Next<StepContext>| async move {
        let extensions = step.extensions.clone();
        assert_eq!(extensions.get::<OfTurn>().as_deref(), Some(&OfTurn(1)));
        assert!(
            extensions.get::<OfStep>().is_none(),
            "each step has its own"
        );
        extensions.insert(OfStep(2));
        let answer: Result<Value, ToolError> = next.run(step).await;
        assert!(extensions.get::<OfCall>().is_none(), "not seen outside");
        answer
    };
    let of_call = |call: ToolCallContext, next: Next<ToolCallContext>| async move {
        let extensions = call.extensions.clone();
        let (turn, step) = (extensions.get::<OfTurn>(), extensions.get::<OfStep>());
        assert!(
            extensions.get::<OfCall>().is_none(),
            "each call has its own"
        );
        extensions.insert(OfCall(3));
        extensions.insert(OfTurn(9)); // for this call alone
        assert_eq!(extensions.get::<OfTurn>().as_deref(), Some(&OfTurn(9)));
        assert_eq!(extensions.remove::<OfTurn>().as_deref(), Some(&OfTurn(9)));
        assert_eq!(extensions.get::<OfTurn>(), turn);
        let mut result = next.run(call).await;
        *result.output_mut().unwrap() = json!([turn.unwrap().0, step.unwrap().0]);
        result
    };
    let extended = test_host.agent.extend("ext", |api| {
        api.pipeline().turn(0, of_turn)?;
        api.pipeline().step(0, of_step)?;
        api.pipeline().tool_call(0, of_call)
    });
    extended.unwrap();
    let workdir = test_host.work.workdir.clone();
    let instance = test_host.agent.instance("instance", workdir);
    for id in ["turn-1", "turn-2"] {
        let turn = instance.open_turn(id).await.unwrap();
        for _ in 0..2 {
            let step = turn.open_step().await.unwrap();
            for _ in 0..2 {
                let call = tool_call("text__upper", json!({"text": "x"}));
                let result = step.execute_without_message(call).await;
                assert_eq!(result.output(), Some(&json!([1, 2])));
            }
            step.close(()).await.unwrap();
        }
        turn.close(()).await.unwrap();
    }
}

#[tokio::test]
async fn a_call_has_the_definition_of_its_tool_as_the_catalog_of_the_step_shows_it() {
    let test_host = test_host().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let of_step = |mut step: StepContext, next: Next<StepContext>| async move {
        for item in &mut step.tool_catalog {
            item.description = Some("changed".to_owned());
        }
        next.run(step).await
    };
    let of_call = move |call: ToolCallContext, next: Next<ToolCallContext>| {
        let item = call.tool();
        let description = item.map(|item| (item.name.to_string(), item.description.clone()));
        kept.lock().unwrap().push(description);
        next.run(call)
    };
    let extended = test_host.agent.extend("ext", |api| {
        api.pipeline().step(0, of_step)?;
        api.pipeline().tool_call(0, of_call)
    });
    extended.unwrap();
    let step = test_host.another_step().await;
    let known = tool_call("text__upper", json!({"text": "x"}));
    step.execute_without_message(known).await;
    let unknown = tool_call("none__such", json!({}));
    let refused = step.execute_without_message(unknown).await;
    assert_eq!(code(&refused), "E_TOOL_NOT_IN_CATALOG");
    let upper = Some(("text__upper".to_owned(), Some("changed".to_owned())));
    assert_eq!(*seen.lock().unwrap(), [upper, None]);
}

#[tokio::test]
async fn the_values_of_a_turn_reach_its_layers_and_native_handlers_and_no_other_turn() {
    let test_host = test_host().await;
    let extended = test_host.agent.extend("values", |api| {
        let of_call = |call: ToolCallContext, next: Next<ToolCallContext>| async move {
            let turn = call.extensions.get::<OfTurn>().map(|value| value.0);
            call.extensions.insert(OfCall(turn.unwrap_or(7)));
            next.run(call).await
        };
        api.pipeline().tool_call(0, of_call)?;
        api.tools().register(
            item("values__get"),
            async |context: HandlerContext, _: JsonObject| {
                let (turn, call) = (
                    context.extensions().get::<OfTurn>(),
                    context.extensions().get::<OfCall>(),
                );
                context.extensions().insert(OfTurn(8));
                Ok::<_, HandlerError>(json!([
                    turn.map(|value| value.0),
                    call.map(|value| value.0)
                ]))
            },
        )
    });
    extended.unwrap();
    let get = async |start: TurnStart| {
        let workdir = test_host.work.workdir.clone();
        let turn = test_host
            .agent
            .instance("instance", workdir)
            .open_turn(start)
            .await
            .unwrap();
        let step = turn.open_step().await.unwrap();
        let result = step
            .execute_without_message(tool_call("values__get", json!({})))
            .await;
        result.output().cloned().unwrap()
    };
    let plain = TurnStart::new("turn-1");
    let with_value = plain.clone().with_extension(OfTurn(1));
    assert_eq!(get(with_value.clone()).await, json!([1, 1]));
    assert_eq!(
        get(with_value.clone().with_extension(OfTurn(2))).await,
        json!([2, 2])
    );
    assert_eq!(get(with_value).await, json!([1, 1]));
    assert_eq!(get(plain).await, json!([null, 7]));
}

#[tokio::test]
async fn what_a_native_handler_inserts_is_not_seen_by_the_next_call() {
    let test_host = test_host().await;
    let extended = test_host.agent.extend("values", |api| {
        let get = async |context: HandlerContext, _: JsonObject| {
            let seen = context.extensions().get::<OfTurn>().map(|value| value.0);
            context.extensions().insert(OfTurn(8));
            Ok::<_, HandlerError>(json!(seen))
        };
        api.tools().register(item("values__get"), get)
    });
    extended.unwrap();
    let workdir = test_host.work.workdir.clone();
    let start = TurnStart::new("turn-1").with_extension(OfTurn(1));
    let turn = test_host
        .agent
        .instance("instance", workdir)
        .open_turn(start)
        .await
        .unwrap();
    let step = turn.open_step().await.unwrap();
    for _ in 0..2 {
        let call = tool_call("values__get", json!({}));
        let result = step.execute_without_message(call).await;
        assert_eq!(result.output(), Some(&json!(1)));
    }
}
