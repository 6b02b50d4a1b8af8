use super::*;

#[tokio::test]
async fn the_longest_durations_never_panic() {
    let longest = OrchestratorConfig {
        backoff_first: Duration::MAX,
        backoff_max: Duration::MAX,
        idle_after: Duration::from_millis(1),
        end_grace: Duration::MAX,
        turn_deadline: Duration::MAX,
        responses_kept_for: Duration::MAX,
        recovery_interval: Duration::MAX,
        ..OrchestratorConfig::default()
    };
    let host = with_config(longest, [("a", echo())]).await;
    let client = user(&host);
    for _ in 0..2 {
        let asked = client.request(within("a", Duration::MAX)).await;
        assert_eq!(asked.unwrap().response, Value::Null);
        // The instance ends with its grace period, and the next request starts another.
        eventually("the idle instance has ended", async || {
            host.stats().await.unwrap().instances == 0
        })
        .await;
    }
    for grace in [Duration::MAX, Duration::from_secs(i64::MAX as u64)] {
        host.shutdown(grace).await;
    }
}

#[tokio::test]
async fn running_turns_may_end_in_the_grace_period_and_queued_events_stay_stored() {
    let store = store();
    let gate = Gate::new();
    let first = on_store(store.clone(), config(), [("a", gate.agent())]).await;
    let client = user(&first);
    let running = tokio::spawn({
        let client = client.clone();
        async move { client.request(request("a", json!("running"))).await }
    });
    eventually("the turn runs", async || gate.begun() == 1).await;
    client
        .send(Message::new("a", json!("waits")))
        .await
        .unwrap();
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.request(request("a", json!("asked"))).await }
    });
    eventually("both wait", async || {
        first.stats().await.unwrap().queued == 2
    })
    .await;

    let stop = tokio::spawn({
        let first = first.clone();
        async move { first.shutdown(Duration::from_secs(10)).await }
    });
    let mut accepted = 2;
    eventually("no event is accepted", async || {
        let sent = client.send(Message::new("a", Value::Null)).await;
        accepted += usize::from(sent.is_ok());
        sent.is_err_and(|error| error.to_string().ends_with("the orchestrator has stopped"))
    })
    .await;
    gate.release(1);
    let asked = running.await.unwrap().unwrap();
    assert_eq!(asked.response, json!("running"));
    stop.await.unwrap();
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(error.code().as_str(), "IPC_DELIVERY_FAILED");
    let stats = first.stats().await.unwrap();
    assert_eq!((stats.instances, stats.waiting, stats.waits), (0, 0, 0));
    drop(first);

    let handled = Gate::new();
    handled.release(accepted);
    let second = on_store(store, config(), [("a", handled.agent())]).await;
    settles(&second).await;
    assert_eq!(handled.begun(), accepted);
}

#[tokio::test]
async fn a_turn_that_the_shutdown_aborts_is_delivered_at_the_next_start() {
    let store = store();
    for _ in 0..5 {
        let gate = Gate::new();
        let host = on_store(store.clone(), config(), [("a", gate.agent())]).await;
        let delivered = host.deliver("a", event("e-1", json!(1))).await;
        delivered.unwrap();
        eventually("the turn runs", async || gate.begun() == 1).await;
        let started = Instant::now();
        host.shutdown(Duration::from_millis(20)).await;
        assert!(started.elapsed() < Duration::from_secs(5));
        assert_eq!(host.stats().await.unwrap().stored_events, 1);
    }
    // Deliveries that the host itself ended are not counted.
    let attempt = script(|_, turn| async move {
        assert_eq!(turn.attempt(), 1);
        Ok(Value::Null)
    });
    let host = on_store(store, config(), [("a", attempt)]).await;
    settles(&host).await;
}

#[tokio::test]
async fn a_client_without_its_orchestrator_fails() {
    let gate = Gate::new();
    let orchestrator = orchestrator([("a", gate.agent())]).await;
    let client = user(&orchestrator);
    let running = tokio::spawn({
        let client = client.clone();
        async move { client.request(request("a", Value::Null)).await }
    });
    eventually("the turn runs", async || gate.begun() == 1).await;
    drop(orchestrator);
    let errors = [
        running.await.unwrap().unwrap_err(),
        client.request(request("a", Value::Null)).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.code().as_str(), "IPC_DELIVERY_FAILED");
    }
    // The turn is aborted.
    eventually("the turn is dropped", async || {
        Arc::strong_count(&gate.open) == 1
    })
    .await;
}

#[tokio::test]
async fn an_agent_registered_after_the_shutdown_gets_no_turn_and_blocks_nothing() {
    let store = store();
    let gate = Gate::new();
    let first = on_store(store.clone(), config(), [("a", gate.agent())]).await;
    first.deliver("a", event("e-1", json!(1))).await.unwrap();
    eventually("the turn runs", async || gate.begun() == 1).await;
    first.shutdown(Duration::ZERO).await;

    let stopped = on_store(store, config(), []).await;
    stopped.shutdown(Duration::ZERO).await;
    register(&stopped, "a", gate.agent()).await;
    let error = user(&stopped).spawn("a", None).await.unwrap_err();
    assert!(error.to_string().ends_with("the orchestrator has stopped"));
    assert_eq!(stopped.stats().await.unwrap().stored_events, 1);
    assert_eq!(gate.begun(), 1);
}
