//! Responses that are stored until they are taken.

use super::*;

fn submit(target: &str, input: Value) -> Request {
    Request {
        mode: Mode::Async,
        ..Request::new(target, input)
    }
}

async fn one(client: &AgentsClient) -> AgentEvent {
    let mut taken = Vec::new();
    eventually("a response arrives", async || {
        taken = client.take_responses().await.unwrap();
        !taken.is_empty()
    })
    .await;
    assert_eq!(taken.len(), 1);
    taken.remove(0)
}

// tool-spec-v2 §2.6(4)
#[tokio::test]
async fn a_stored_response_has_the_correlation_id_of_its_request() {
    let gate = Gate::new();
    let orchestrator = orchestrator([("slow", gate.agent())]).await;
    let planner = orchestrator.client("planner", "k", Some("trace-1".to_owned()));
    let asked = planner.request(submit("slow", json!(1))).await.unwrap();
    let expected = json!({
        "target": "slow", "eventId": asked.event_id, "correlationId": asked.correlation_id,
        "accepted": true, "async": true, "response": null,
    });
    assert_eq!(json!(asked), expected);
    assert_eq!(planner.take_responses().await.unwrap(), []);
    gate.release(1);

    let response = one(&planner).await;
    assert_eq!(response.in_reply_to(), Some(&*asked.correlation_id));
    assert_eq!(response.trace_id.as_deref(), Some("trace-1"));
    assert_eq!(response.source, EventSource::agent("slow"));
    assert_eq!(response.instance_key.as_deref(), Some("k"));
    assert_eq!(response.into_answer(), Ok(json!(1)));
    // It is returned once, and only to the requester.
    assert_eq!(planner.take_responses().await.unwrap(), []);
    for other in [("planner", "other"), ("other", "k")] {
        let other = orchestrator.client(other.0, other.1, None);
        assert_eq!(other.take_responses().await.unwrap(), []);
    }
    assert_eq!(orchestrator.stats().await.unwrap().stored_responses, 1);
    planner.acknowledge_responses().await.unwrap();
    settles(&orchestrator).await;
}

#[tokio::test]
async fn a_response_survives_restarts_until_it_is_acknowledged() {
    let root = tempfile::tempdir().unwrap();
    let open = || Orchestrator::open(root.path(), config());
    let first = open().await.unwrap();
    register(&first, "b", echo()).await;
    let client = first.client("a", "k", None);
    client.request(submit("b", json!(1))).await.unwrap();
    one(&client).await;
    first.shutdown(Duration::ZERO).await;
    drop(first);

    let second = open().await.unwrap();
    let client = second.client("a", "k", None);
    assert_eq!(one(&client).await.into_answer(), Ok(json!(1)));
    client.acknowledge_responses().await.unwrap();
    drop(second);
    let third = open().await.unwrap();
    let left = third.client("a", "k", None).take_responses().await.unwrap();
    assert_eq!(left, []);
}

#[tokio::test]
async fn stored_responses_are_limited_in_number_and_age() {
    let gate = Gate::new();
    let store = store();
    let limits = OrchestratorConfig {
        responses_max: 3,
        ..config()
    };
    let orchestrator = on_store(
        store.clone(),
        limits,
        [("b", echo()), ("slow", gate.agent())],
    )
    .await;
    let client = user(&orchestrator);
    for target in ["b", "slow", "b"] {
        client.request(submit(target, Value::Null)).await.unwrap();
    }
    let error = client.request(submit("b", Value::Null)).await.unwrap_err();
    assert_eq!(error.code().as_str(), "IPC_DELIVERY_FAILED");
    assert!(
        error
            .to_string()
            .ends_with("3 responses wait to be taken already"),
        "{error}"
    );
    // Requests that wait, and those of another instance, do not count.
    client.request(request("b", Value::Null)).await.unwrap();
    let other = orchestrator.client("user", "other", None);
    other.request(submit("b", Value::Null)).await.unwrap();
    gate.release(1);
    eventually("all responses are stored", async || {
        orchestrator.stats().await.unwrap().stored_responses == 4
    })
    .await;
    client.take_responses().await.unwrap();
    client.acknowledge_responses().await.unwrap();
    client.request(submit("b", Value::Null)).await.unwrap();
    eventually("both responses are stored", async || {
        let stats = orchestrator.stats().await.unwrap();
        (stats.stored_events, stats.stored_responses) == (0, 2)
    })
    .await;
    drop(orchestrator);

    let limits = OrchestratorConfig {
        clock: || std::time::SystemTime::now() + Duration::from_secs(8 * 24 * 60 * 60),
        ..config()
    };
    let later = on_store(store, limits, [("b", echo())]).await;
    settles(&later).await;
}

#[tokio::test]
async fn stored_responses_are_limited_in_bytes_and_taken_in_batches() {
    const LARGE: usize = 300_000;
    let limits = OrchestratorConfig {
        responses_bytes: 5 * LARGE,
        ..config()
    };
    let large = script(|_, _| async { Ok(json!("x".repeat(LARGE))) });
    let orchestrator = with_config(limits, [("b", large)]).await;
    let client = user(&orchestrator);
    for sent in 1..=5 {
        client.request(submit("b", Value::Null)).await.unwrap();
        eventually("the response is stored", async || {
            orchestrator.stats().await.unwrap().stored_responses == sent
        })
        .await;
    }
    let error = client.request(submit("b", Value::Null)).await.unwrap_err();
    let message = "1500000 bytes of responses wait to be taken already";
    assert!(error.to_string().ends_with(message), "{error}");
    let mut taken = Vec::new();
    loop {
        let some = client.take_responses().await.unwrap();
        assert!(some.len() <= 1, "two are more than 512 KiB");
        let Some(one) = some.into_iter().next() else {
            break;
        };
        taken.push(one.id);
    }
    assert_eq!(taken.len(), 5);
    taken.dedup();
    assert_eq!(taken.len(), 5, "each once");
    client.acknowledge_responses().await.unwrap();
    client.request(submit("b", Value::Null)).await.unwrap();
}

#[tokio::test]
async fn a_successful_turn_acknowledges_the_responses_it_took() {
    let a = script(|event, turn| async move {
        let taken = turn
            .agents()
            .take_responses()
            .await
            .map_err(to_handler_error)?;
        let taken: Vec<_> = taken.into_iter().filter_map(|event| event.input).collect();
        match event.input {
            Some(Value::String(why)) => Err(HandlerError {
                message: why,
                ..HandlerError::default()
            }),
            Some(_) | None => Ok(json!(taken)),
        }
    });
    let orchestrator = orchestrator([("a", a), ("b", echo())]).await;
    let asked = orchestrator.client("a", "k", None);
    asked.request(submit("b", json!(7))).await.unwrap();
    eventually("the response is stored", async || {
        orchestrator.stats().await.unwrap().stored_responses == 1
    })
    .await;
    let user = user(&orchestrator);
    let failed = user.request(request("a", json!("broken"))).await;
    assert!(failed.unwrap_err().handler_error().is_some());
    for expected in [json!([7]), json!([])] {
        let asked = user.request(request("a", Value::Null)).await.unwrap();
        assert_eq!(asked.response, expected);
    }
    settles(&orchestrator).await;
}

#[tokio::test]
async fn a_failure_is_stored_as_a_response() {
    let b = script(|_, _| async {
        Err(HandlerError {
            message: "no".to_owned(),
            code: Some("ENO".to_owned()),
            ..HandlerError::default()
        })
    });
    let crash = script(|_, _| async { panic!("on purpose") });
    let orchestrator = orchestrator([("b", b), ("crash", crash)]).await;
    let client = user(&orchestrator);
    client.request(submit("b", Value::Null)).await.unwrap();
    let error = one(&client).await.into_answer().unwrap_err();
    assert_eq!(error, json!({"message": "no", "code": "ENO"}));
    client.request(submit("crash", Value::Null)).await.unwrap();
    let error = one(&client).await.into_answer().unwrap_err();
    assert_eq!(error["code"], json!("IPC_DELIVERY_FAILED"));
    assert_eq!(error["host"], json!(true));
}

#[tokio::test]
async fn an_agent_cannot_use_host_codes_or_send_endless_text() {
    let b = script(|event, _| async {
        let code = event
            .input
            .and_then(|input| Some(input.as_str()?.to_owned()));
        let said = format!("\u{1b}[2J\u{202e}{}", "x".repeat(1 << 20));
        Err(HandlerError {
            message: said.clone(),
            name: Some(said.clone()),
            code,
            suggestion: Some(said),
            help_url: Some("javascript:x".to_owned()),
        })
    });
    let orchestrator = orchestrator([("b", b)]).await;
    let client = user(&orchestrator);
    let codes = toolhost_contract::ToolErrorCode::ALL.iter();
    for code in codes
        .map(|code| code.as_str())
        .chain(["E_TOOL_X", "a\nb", "ENOENT"])
    {
        client.request(submit("b", json!(code))).await.unwrap();
        let error = one(&client).await.into_answer().unwrap_err();
        let expected = if code == "ENOENT" {
            json!(code)
        } else {
            Value::Null
        };
        assert_eq!(error["code"], expected, "{code}");
        assert_eq!(error["helpUrl"], Value::Null);
        for key in ["message", "name", "suggestion"] {
            let text = error[key].as_str().unwrap();
            assert!(
                text.len() <= 1000 && text.starts_with("\\u{1b}[2J\\u{202e}xx"),
                "{text}"
            );
        }
        client.acknowledge_responses().await.unwrap();
    }
    settles(&orchestrator).await;
}

#[tokio::test]
async fn the_response_to_an_event_of_a_user_is_stored_for_its_reply_target() {
    let orchestrator = orchestrator([("b", echo())]).await;
    let mut event = event("e-1", json!(5));
    event.reply_to = Some(ReplyTo {
        target: "telegram".to_owned(),
        correlation_id: "c-1".to_owned(),
    });
    orchestrator.deliver("b", event).await.unwrap();
    let connector = orchestrator.client("telegram", InstanceId::DEFAULT_KEY, None);
    let response = one(&connector).await;
    assert_eq!(response.in_reply_to(), Some("c-1"));
    assert_eq!(response.into_answer(), Ok(json!(5)));
}
