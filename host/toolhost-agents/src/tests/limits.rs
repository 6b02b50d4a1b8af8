use super::*;

#[tokio::test]
async fn a_full_mailbox_refuses_events() {
    let gate = Gate::new();
    let limits = OrchestratorConfig {
        mailbox_capacity: 3,
        ..config()
    };
    let orchestrator = with_config(limits, [("slow", gate.agent())]).await;
    let user = user(&orchestrator);
    let send = || user.send(Message::new("slow", Value::Null));
    send().await.unwrap();
    eventually("the first has begun", async || gate.begun() == 1).await;
    for _ in 0..3 {
        send().await.unwrap();
    }
    let error = send().await.unwrap_err();
    assert_eq!(error.code().as_str(), "IPC_DELIVERY_FAILED");
    let message = "the event for agent 'slow' was not delivered: \
        slow[k] has 3 events waiting already";
    assert_eq!(error.to_string(), message);
    assert!(user.request(request("slow", Value::Null)).await.is_err());
    // Another instance has a mailbox of its own.
    let mut other = Message::new("slow", Value::Null);
    other.instance_key = Some("other".to_owned());
    user.send(other).await.unwrap();
    gate.release(5);
    settles(&orchestrator).await;
    assert_eq!(gate.begun(), 5);
}

#[tokio::test]
async fn a_mailbox_is_limited_in_bytes() {
    let gate = Gate::new();
    let limits = OrchestratorConfig {
        mailbox_bytes: 250_000,
        ..config()
    };
    let orchestrator = with_config(limits, [("slow", gate.agent())]).await;
    let user = user(&orchestrator);
    let send = |bytes: usize| user.send(Message::new("slow", json!("x".repeat(bytes))));
    send(1).await.unwrap();
    eventually("the first has begun", async || gate.begun() == 1).await;
    // A single event may exceed the limit.
    send(300_000).await.unwrap();
    let error = send(1).await.unwrap_err();
    assert_eq!(error.code().as_str(), "IPC_DELIVERY_FAILED");
    assert!(
        error
            .to_string()
            .contains("events of slow[k] would exceed 250000 bytes"),
        "{error}"
    );
    gate.release(1);
    eventually("the second has begun", async || gate.begun() == 2).await;
    send(100_000).await.unwrap();
    send(100_000).await.unwrap();
    send(100_000).await.unwrap_err();
    gate.release(3);
    settles(&orchestrator).await;
    assert_eq!(gate.begun(), 4);
}

#[tokio::test]
async fn too_many_instances_are_refused() {
    let limits = OrchestratorConfig {
        instances_max: 2,
        ..config()
    };
    let orchestrator = with_config(limits, [("a", echo())]).await;
    let user = user(&orchestrator);
    let mut spawned = Vec::new();
    for key in ["1", "2", "3"] {
        spawned.push(user.spawn("a", Some(key)).await);
    }
    let error = spawned.pop().unwrap().unwrap_err();
    assert_eq!(error.code().as_str(), "IPC_DELIVERY_FAILED");
    assert!(spawned.into_iter().all(|spawned| spawned.is_ok()));
    assert!(user.request(request("a", Value::Null)).await.is_err());
}

#[tokio::test]
async fn an_event_beyond_the_ipc_limits_is_refused() {
    let orchestrator = orchestrator([("a", echo())]).await;
    let user = user(&orchestrator);
    let deep = (0..64).fold(json!(1), |value, _| json!([value]));
    let refused = [
        request("a", json!("x".repeat(1 << 20))),
        request("a", deep),
        Request {
            event_type: String::new(),
            ..request("a", Value::Null)
        },
        Request {
            instance_key: Some("x".repeat(1 << 15)),
            ..request("a", Value::Null)
        },
    ];
    for request in refused {
        let error = user.request(request).await.unwrap_err();
        assert_eq!(error.code().as_str(), "IPC_DELIVERY_FAILED", "{error}");
        assert!(
            error
                .to_string()
                .contains("the message exceeds the IPC limits: "),
            "{error}"
        );
    }
    let error = user.spawn("a", Some(&"x".repeat(1 << 15))).await;
    assert_eq!(error.unwrap_err().code().as_str(), "IPC_DELIVERY_FAILED");
    let stats = orchestrator.stats().await.unwrap();
    assert_eq!(stats, OrchestratorStats::default());
}

#[tokio::test]
async fn events_of_reserved_types_cannot_be_sent() {
    let orchestrator = orchestrator([("a", echo())]).await;
    let user = user(&orchestrator);
    for forged in [
        "agent.response",
        "event.accepted",
        "turn.completed",
        "agents.list",
    ] {
        let mut message = Message::new("a", Value::Null);
        forged.clone_into(&mut message.event_type);
        message.metadata = json!({"inReplyTo": "c-1"}).as_object().cloned();
        let error = user.send(message).await.unwrap_err();
        assert!(error.to_string().ends_with("is reserved"), "{error}");
    }
    settles(&orchestrator).await;
}

#[tokio::test]
async fn an_answer_beyond_the_ipc_limits_is_an_error() {
    let long = script(|event, _| async move {
        Ok(match event.input {
            Some(_) => (0..64).fold(json!(1), |value, _| json!([value])),
            None => json!("x".repeat(1 << 20)),
        })
    });
    let orchestrator = orchestrator([("a", long)]).await;
    for input in [Value::Null, json!("deep")] {
        let error = user(&orchestrator).request(request("a", input)).await;
        let error = error.unwrap_err();
        let message = &error.handler_error().unwrap().message;
        assert!(
            message.starts_with("the answer exceeds the IPC limits: "),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_turn_beyond_its_deadline_is_ended_and_not_repeated() {
    let gate = Gate::new();
    let limits = OrchestratorConfig {
        turn_deadline: Duration::from_millis(20),
        ..config()
    };
    let orchestrator = with_config(limits, [("slow", gate.agent())]).await;
    let error = user(&orchestrator)
        .request(request("slow", Value::Null))
        .await;
    let error = error.unwrap_err();
    let message = &error.handler_error().unwrap().message;
    assert_eq!(message, "the turn took longer than 0.02 s");
    settles(&orchestrator).await;
    assert_eq!(gate.begun(), 1);
}

#[tokio::test]
async fn taken_and_reserved_names_and_relative_programs_are_refused() {
    let orchestrator = orchestrator([("a", echo())]).await;
    let register = |name: &str, setup| {
        let name = ResourceName::parse(name).unwrap();
        let orchestrator = orchestrator.clone();
        async move { orchestrator.register(&name, setup).await.unwrap_err() }
    };
    let error = register("a", echo()).await;
    assert!(matches!(error, OrchestratorError::AlreadyRegistered(_)));
    let error = register("orchestrator", echo()).await;
    assert!(matches!(error, OrchestratorError::ReservedName(_)));
    let relative = AgentSetup::process(ProcessSetup::new("bin/agent"));
    let error = register("b", relative).await;
    assert!(matches!(error, OrchestratorError::RelativeProgram { .. }));
}
