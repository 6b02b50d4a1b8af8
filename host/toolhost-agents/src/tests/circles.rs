use super::*;

#[tokio::test]
async fn a_circular_request_is_refused() {
    let orchestrator = orchestrator([("a", ask("b")), ("b", ask("c")), ("c", ask("a"))]).await;
    let started = Instant::now();
    let error = user(&orchestrator).request(request("a", Value::Null)).await;
    let error = error.unwrap_err();
    // Each agent returns the error of the next one; the request of the last one is refused at once.
    let raised = error.handler_error().unwrap();
    assert_eq!(raised.code.as_deref(), Some("E_TOOL"));
    let circle = "a request to agent 'a' would wait for itself: c[k] waits for a[k] waits for b[k] waits for c[k]";
    assert!(raised.message.ends_with(circle), "{}", raised.message);
    assert!(started.elapsed() < Duration::from_secs(5));
    settles(&orchestrator).await;
}

#[tokio::test]
async fn an_agent_cannot_send_a_request_to_itself() {
    let orchestrator = orchestrator([("a", ask("a"))]).await;
    let error = user(&orchestrator).request(request("a", Value::Null)).await;
    let raised = error.unwrap_err();
    let raised = raised.handler_error().unwrap();
    assert_eq!(raised.code.as_deref(), Some("CIRCULAR_CALL_DETECTED"));
    // The same holds for an agent whose turns are taken elsewhere.
    let a = orchestrator.client("a", "elsewhere", None);
    let error = a.request(request("a", Value::Null)).await.unwrap_err();
    assert_eq!(error.code().as_str(), "CIRCULAR_CALL_DETECTED");
    settles(&orchestrator).await;
}

#[tokio::test]
async fn an_agent_can_send_a_request_to_another_instance_of_itself() {
    let a = script(|event, turn| async move {
        let Some(key) = event.input else {
            return Ok(json!("here"));
        };
        let mut request = request("a", Value::Null);
        request.instance_key = key.as_str().map(str::to_owned);
        let asked = turn
            .agents()
            .request(request)
            .await
            .map_err(to_handler_error)?;
        Ok(asked.response)
    });
    let orchestrator = orchestrator([("a", a)]).await;
    let asked = user(&orchestrator)
        .request(request("a", json!("k/other")))
        .await;
    assert_eq!(asked.unwrap().response, json!("here"));
}

#[tokio::test]
async fn an_async_request_may_be_circular() {
    let a = script(|event, turn| async move {
        if event.input.is_none() {
            return Ok(json!("done"));
        }
        let mut back = request("a", Value::Null);
        back.mode = Mode::Async;
        let asked = turn
            .agents()
            .request(back)
            .await
            .map_err(to_handler_error)?;
        Ok(json!(asked))
    });
    let orchestrator = orchestrator([("a", a)]).await;
    let asked = user(&orchestrator)
        .request(request("a", json!(1)))
        .await
        .unwrap();
    assert_eq!(asked.response["async"], json!(true));
    assert_eq!(asked.response["response"], Value::Null);
    let own = orchestrator.client("a", "k", None);
    eventually("its own answer arrives", async || {
        let responses = own.take_responses().await.unwrap();
        responses
            .iter()
            .any(|event| event.input == Some(json!("done")))
    })
    .await;
}

#[tokio::test]
async fn a_chain_has_sixty_four_requests_at_most() {
    let orchestrator = orchestrator([("a64", echo())]).await;
    for n in 0..64 {
        register(&orchestrator, &format!("a{n}"), ask(&format!("a{}", n + 1))).await;
    }
    let user = user(&orchestrator);
    // The user's own request is the first one.
    let asked = user.request(request("a1", json!("deep"))).await.unwrap();
    assert_eq!(asked.response, json!("deep"));
    let error = user.request(request("a0", json!("too deep"))).await;
    let error = error.unwrap_err().to_string();
    let end = "a request to agent 'a64' would make a chain of more than 64 waiting agents";
    assert!(error.ends_with(end), "{error}");
    settles(&orchestrator).await;
}
