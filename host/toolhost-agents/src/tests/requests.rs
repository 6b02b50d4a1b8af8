use super::*;

// tool-spec-v2 §2.6(2), §2.6(7), §11.1
#[tokio::test]
async fn a_request_starts_its_target_and_returns_the_answer() {
    let seen = Arc::new(Mutex::new(None));
    let coder = {
        let seen = Arc::clone(&seen);
        script(move |event, turn| {
            *lock(&seen) = Some((event, turn.attempt()));
            async { Ok(json!({"n": 1})) }
        })
    };
    let orchestrator = orchestrator([("coder", coder)]).await;
    let planner = orchestrator.client("planner", "user-7", Some("trace-1".to_owned()));
    let mut request = request("coder", json!({"q": [1]}));
    request.metadata = json!({"mine": 1, "delivery": 1, "deliveryAttempt": 9})
        .as_object()
        .cloned();
    let asked = planner.request(request).await.unwrap();
    let expected = json!({
        "target": "coder", "eventId": asked.event_id, "correlationId": asked.correlation_id,
        "accepted": true, "async": false, "response": {"n": 1},
    });
    assert_eq!(json!(asked), expected);

    let (event, attempt) = lock(&seen).take().unwrap();
    assert_eq!(event.id, asked.event_id);
    assert_eq!(event.event_type, "agent.request");
    assert_eq!(event.source, EventSource::agent("planner"));
    assert_eq!(event.trace_id.as_deref(), Some("trace-1"));
    assert_eq!(event.instance_key.as_deref(), Some("user-7"));
    assert_eq!(event.input, Some(json!({"q": [1]})));
    assert_eq!(
        json!(event.metadata),
        json!({"mine": 1, "deliveryAttempt": 1})
    );
    assert_eq!(attempt, 1);
    let reply_to = event.reply_to.unwrap();
    assert_eq!(reply_to.target, "planner");
    assert_eq!(reply_to.correlation_id, asked.correlation_id);
    settles(&orchestrator).await;
}

// tool-spec-v2 §2.6(3), §11.1
#[tokio::test]
async fn a_message_gets_no_answer() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let coder = {
        let seen = Arc::clone(&seen);
        script(move |event, _| {
            lock(&seen).push(event);
            async { Err(HandlerError::default()) }
        })
    };
    let orchestrator = orchestrator([("coder", coder)]).await;
    let mut message = Message::new("coder", json!("hello"));
    message.instance_key = Some("other".to_owned());
    let sent = user(&orchestrator).send(message).await.unwrap();
    let expected =
        json!({"target": "coder", "eventId": sent.event_id, "accepted": true, "sent": true});
    assert_eq!(json!(sent), expected);
    settles(&orchestrator).await;
    let seen = lock(&seen);
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].reply_to, None);
    assert_eq!(seen[0].event_type, "agent.send");
    assert_eq!(seen[0].instance_key.as_deref(), Some("other"));
}

#[tokio::test]
async fn requests_can_nest_twenty_deep() {
    let orchestrator = orchestrator([("a20", echo())]).await;
    for n in 0..20 {
        register(&orchestrator, &format!("a{n}"), ask(&format!("a{}", n + 1))).await;
    }
    let asked = user(&orchestrator)
        .request(request("a0", json!("deep")))
        .await;
    assert_eq!(asked.unwrap().response, json!("deep"));
    settles(&orchestrator).await;
}

#[tokio::test]
async fn a_request_to_an_unknown_agent_is_refused() {
    let orchestrator = orchestrator([]).await;
    let user = user(&orchestrator);
    let error = user.request(request("nobody", Value::Null)).await;
    let error = error.unwrap_err();
    assert_eq!(error.code().as_str(), "AGENT_NOT_FOUND");
    assert_eq!(error.to_string(), "agent 'nobody' is not known");
    let errors = [
        user.send(Message::new("nobody", Value::Null)).await.err(),
        user.spawn("nobody", None).await.err(),
        orchestrator
            .deliver("nobody", event("e", Value::Null))
            .await
            .err(),
    ];
    for error in errors {
        assert_eq!(error.unwrap().code().as_str(), "AGENT_NOT_FOUND");
    }
    settles(&orchestrator).await;
}

// tool-spec-v2 §2.6(5)
#[tokio::test]
async fn the_error_of_a_turn_reaches_the_requester() {
    let raised = HandlerError {
        message: "no such file".to_owned(),
        name: Some("NotFound".to_owned()),
        code: Some("ENOENT".to_owned()),
        suggestion: Some("look elsewhere".to_owned()),
        help_url: None,
    };
    let coder = {
        let raised = raised.clone();
        script(move |_, _| {
            let raised = raised.clone();
            async { Err(raised) }
        })
    };
    let orchestrator = orchestrator([("coder", coder)]).await;
    let error = user(&orchestrator)
        .request(request("coder", Value::Null))
        .await;
    let error = error.unwrap_err();
    assert_eq!(error.handler_error(), Some(&raised));
    assert_eq!(error.code().as_str(), "E_TOOL");
    assert_eq!(
        error.to_string(),
        "the turn of agent 'coder' failed: no such file"
    );
    settles(&orchestrator).await;
}

#[tokio::test]
async fn a_request_that_takes_too_long_times_out_and_its_late_answer_is_dropped() {
    let gate = Gate::new();
    let orchestrator = orchestrator([("slow", gate.agent())]).await;
    let user = user(&orchestrator);
    let error = user
        .request(within("slow", Duration::from_millis(20)))
        .await;
    let error = error.unwrap_err();
    assert_eq!(error.code().as_str(), "AGENT_REQUEST_TIMEOUT");
    assert_eq!(
        error.to_string(),
        "agent 'slow' did not answer within 20 ms"
    );
    let stats = orchestrator.stats().await.unwrap();
    assert_eq!((stats.waiting, stats.waits), (0, 0));
    gate.release(2);
    settles(&orchestrator).await;
    // The instance handles the next request, and the late answer is dropped.
    let asked = user.request(request("slow", json!(2))).await.unwrap();
    assert_eq!(asked.response, json!(2));
    assert_eq!(gate.begun(), 2);
}

#[tokio::test]
async fn a_thousand_timeouts_leave_no_state() {
    let gate = Gate::new();
    let orchestrator = orchestrator([("slow", gate.agent())]).await;
    let user = user(&orchestrator);
    let request = || user.request(within("slow", Duration::from_millis(50)));
    let requests: Vec<_> = (0..1000).map(|_| request()).collect();
    for error in all(requests).await {
        assert_eq!(error.unwrap_err().code().as_str(), "AGENT_REQUEST_TIMEOUT");
    }
    // At most one turn has begun; the other requests were withdrawn.
    eventually("the requests are withdrawn", async || {
        let stats = orchestrator.stats().await.unwrap();
        (stats.queued, stats.waiting, stats.waits) == (0, 0, 0) && stats.stored_events <= 1
    })
    .await;
    assert!(gate.begun() <= 1);
    gate.release(1000);
    settles(&orchestrator).await;
}

#[tokio::test]
async fn dropped_requests_leave_no_state() {
    let gate = Gate::new();
    let orchestrator = orchestrator([("slow", gate.agent())]).await;
    let user = user(&orchestrator);
    for _ in 0..20 {
        let request = user.request(request("slow", Value::Null));
        let dropped = tokio::time::timeout(Duration::from_millis(2), request).await;
        assert!(dropped.is_err());
    }
    gate.release(20);
    settles(&orchestrator).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_concurrent_requests_each_get_their_own_answer() {
    let orchestrator = orchestrator([("a", ask("b")), ("b", echo())]).await;
    let user = user(&orchestrator);
    let requests = (0..1000).map(|n: usize| {
        let mut request = request("a", json!(n));
        // Ten instances of each, a hundred requests for each.
        request.instance_key = Some((n % 10).to_string());
        user.request(request)
    });
    let mut ids = std::collections::HashSet::new();
    for (n, asked) in all(requests.collect()).await.into_iter().enumerate() {
        let asked = asked.unwrap();
        assert_eq!(asked.response, json!(n));
        assert!(ids.insert(asked.correlation_id));
        assert!(ids.insert(asked.event_id));
    }
    settles(&orchestrator).await;
}

#[tokio::test]
async fn an_instance_key_may_be_any_text() {
    let coder = AgentSetup::in_process(|id| {
        let key = id.key().to_owned();
        Arc::new(Scripted(move |_, _| -> Turned {
            let key = key.clone();
            Box::pin(async move { Ok(json!(key)) })
        }))
    });
    let orchestrator = orchestrator([("coder", coder)]).await;
    for key in ["", "a/b", "..", "한글", &"x".repeat(10_000)] {
        let mut request = request("coder", Value::Null);
        request.instance_key = Some(key.to_owned());
        let asked = user(&orchestrator).request(request).await.unwrap();
        assert_eq!(asked.response, json!(key));
    }
}

/// Runs futures concurrently, and returns their outputs in their order.
async fn all<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut futures: Vec<_> = futures.into_iter().map(|f| (Box::pin(f), None)).collect();
    std::future::poll_fn(|context| {
        let mut ready = true;
        for (future, done) in &mut futures {
            if done.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *done = Some(value),
                    std::task::Poll::Pending => ready = false,
                }
            }
        }
        if ready {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    futures.into_iter().filter_map(|(_, done)| done).collect()
}
