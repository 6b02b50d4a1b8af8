use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_are_sequential_in_one_instance_and_concurrent_in_several() {
    let (most, now) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let gate = Gate::new();
    let agent = {
        let (most, gate) = (Arc::clone(&most), gate.clone());
        AgentSetup::in_process(move |_| {
            let (own, most, now, gate) = (
                Arc::new(AtomicUsize::new(0)),
                Arc::clone(&most),
                Arc::clone(&now),
                gate.clone(),
            );
            Arc::new(Scripted(move |_, _| -> Turned {
                let (own, most, now, gate) = (own.clone(), most.clone(), now.clone(), gate.clone());
                Box::pin(async move {
                    assert_eq!(own.fetch_add(1, SeqCst), 0, "two turns of one instance");
                    most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                    gate.open.acquire().await.unwrap().forget();
                    now.fetch_sub(1, SeqCst);
                    own.fetch_sub(1, SeqCst);
                    Ok(Value::Null)
                })
            }))
        })
    };
    let orchestrator = orchestrator([("a", agent)]).await;
    let user = user(&orchestrator);
    for n in 0..40 {
        let mut message = Message::new("a", Value::Null);
        message.instance_key = Some((n % 4).to_string());
        user.send(message).await.unwrap();
    }
    eventually("all instances run", async || most.load(SeqCst) == 4).await;
    let list = user.list().await.unwrap();
    let running = |info: &&InstanceInfo| info.state == InstanceState::Running;
    assert_eq!(list.iter().filter(running).count(), 4);
    assert_eq!(list.iter().map(|info| info.queued).sum::<usize>(), 36);
    gate.release(40);
    settles(&orchestrator).await;
    assert_eq!(most.load(SeqCst), 4);
}

#[tokio::test]
async fn an_idle_instance_is_ended_and_started_again_when_it_is_needed() {
    let started = Arc::new(AtomicUsize::new(0));
    let agent = {
        let started = Arc::clone(&started);
        AgentSetup::in_process(move |_| {
            started.fetch_add(1, SeqCst);
            Arc::new(Scripted(|_, _| -> Turned {
                Box::pin(async { Ok(Value::Null) })
            }))
        })
    };
    let limits = OrchestratorConfig {
        idle_after: Duration::from_millis(20),
        ..config()
    };
    let orchestrator = with_config(limits, [("a", agent)]).await;
    for round in 1..=2 {
        user(&orchestrator)
            .request(request("a", Value::Null))
            .await
            .unwrap();
        assert_eq!(started.load(SeqCst), round);
        eventually("it is ended", async || {
            orchestrator.stats().await.unwrap() == OrchestratorStats::default()
        })
        .await;
    }
}

#[tokio::test]
async fn a_hundred_concurrent_turns_leave_no_state() {
    let limits = OrchestratorConfig {
        idle_after: Duration::from_millis(20),
        ..config()
    };
    let agents = [("a", ask("b")), ("b", ask("c")), ("c", echo())];
    let orchestrator = with_config(limits, agents).await;
    let mut turns = tokio::task::JoinSet::new();
    for n in 0..100 {
        let user = orchestrator.client("user", &n.to_string(), None);
        turns.spawn(async move { user.request(request("a", json!(n))).await });
    }
    let answers = turns.join_all().await;
    assert!(answers.into_iter().all(|asked| asked.is_ok()));
    eventually("no state is left", async || {
        orchestrator.stats().await.unwrap() == OrchestratorStats::default()
    })
    .await;
}

#[tokio::test]
async fn agents_can_list_agents_and_running_instances() {
    let agents = [("b", echo().described("repeats")), ("a", echo())];
    let orchestrator = orchestrator(agents).await;
    let user = user(&orchestrator);
    let catalog = json!(user.catalog().await.unwrap());
    let expected = json!([{"name": "a"}, {"name": "b", "description": "repeats"}]);
    assert_eq!(catalog, expected);
    assert_eq!(user.list().await.unwrap(), []);
    for spawned in [true, false] {
        let answer = json!(user.spawn("b", None).await.unwrap());
        let expected = json!({"target": "b", "instanceKey": "k", "spawned": spawned});
        assert_eq!(answer, expected);
    }
    let expected = json!([{"target": "b", "instanceKey": "k", "state": "idle", "queued": 0}]);
    assert_eq!(json!(user.list().await.unwrap()), expected);
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_an_error() {
    let missing = AgentSetup::process(ProcessSetup::new("/nowhere/agent"));
    let orchestrator = orchestrator([("a", missing)]).await;
    let user = user(&orchestrator);
    let errors = [
        user.spawn("a", None).await.unwrap_err(),
        user.request(request("a", Value::Null)).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.code().as_str(), "IPC_DELIVERY_FAILED");
        let message = error.to_string();
        assert!(
            message.contains("its process cannot be started"),
            "{message}"
        );
    }
    settles(&orchestrator).await;
}
