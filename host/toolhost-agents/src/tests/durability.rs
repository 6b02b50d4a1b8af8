use super::*;
use crate::delivery::{Asker, ReplyMode};
use crate::event_store::{EventStore, Settled};

// tool-spec-v2 §2.6(1): what was accepted is delivered.
#[tokio::test]
async fn queued_events_survive_a_restart_and_are_handled_once() {
    let root = tempfile::tempdir().unwrap();
    let gate = Gate::new();
    let first = Orchestrator::open(root.path(), config()).await.unwrap();
    register(&first, "a", gate.agent()).await;
    for n in 0..50 {
        let mut event = event(&format!("e-{n}"), json!(n));
        event.instance_key = Some((n % 5).to_string());
        first.deliver("a", event).await.unwrap();
    }
    eventually("turns have begun", async || gate.begun() == 5).await;
    // The same as the death of the process: turns are aborted, and nothing is written.
    drop(first);

    let handled = Arc::new(Mutex::new(Vec::new()));
    let collect = {
        let handled = Arc::clone(&handled);
        script(move |event, _| {
            lock(&handled).push((event.instance_key, event.input));
            async { Ok(Value::Null) }
        })
    };
    let second = Orchestrator::open(root.path(), config()).await.unwrap();
    register(&second, "a", collect).await;
    settles(&second).await;
    // Each event is handled once, in the order of its instance.
    let handled = lock(&handled);
    for key in 0..5 {
        let of_key = handled.iter().filter(|(k, _)| *k == Some(key.to_string()));
        let of_key: Vec<_> = of_key.map(|(_, input)| input.clone().unwrap()).collect();
        let expected: Vec<_> = (0..10).map(|n| json!(n * 5 + key)).collect();
        assert_eq!(of_key, expected);
    }
}

#[tokio::test]
async fn events_of_another_living_process_are_not_recovered() {
    let root = tempfile::tempdir().unwrap();
    let gate = Gate::new();
    let first = Orchestrator::open(root.path(), config()).await.unwrap();
    register(&first, "a", gate.agent()).await;
    first.deliver("a", event("e-1", json!(1))).await.unwrap();
    eventually("the turn has begun", async || gate.begun() == 1).await;

    // Another run on the same state root, as another process would be.
    let other = Gate::new();
    let second = Orchestrator::open(root.path(), config()).await.unwrap();
    register(&second, "a", other.agent()).await;
    let stats = second.stats().await.unwrap();
    assert_eq!((stats.instances, stats.stored_events), (0, 1));
    gate.release(1);
    settles(&first).await;
    assert_eq!(other.begun(), 0);
}

#[tokio::test]
async fn an_event_with_a_known_id_is_not_delivered_again() {
    let gate = Gate::new();
    let limits = OrchestratorConfig {
        handled_max: 3,
        ..config()
    };
    let orchestrator = with_config(limits, [("a", gate.agent())]).await;
    let deliver = |id: usize| orchestrator.deliver("a", event(&id.to_string(), Value::Null));
    assert_eq!(deliver(0).await.unwrap(), Delivery::Accepted);
    assert_eq!(deliver(0).await.unwrap(), Delivery::Duplicate);
    gate.release(100);
    settles(&orchestrator).await;
    assert_eq!(deliver(0).await.unwrap(), Delivery::Duplicate);
    assert_eq!(gate.begun(), 1);
    // At most three ids of handled events are stored.
    for id in 1..=3 {
        assert_eq!(deliver(id).await.unwrap(), Delivery::Accepted);
        settles(&orchestrator).await;
    }
    assert_eq!(deliver(3).await.unwrap(), Delivery::Duplicate);
    assert_eq!(deliver(0).await.unwrap(), Delivery::Accepted);
}

#[tokio::test]
async fn a_crash_is_followed_by_another_delivery_of_the_same_event() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let fragile = {
        let seen = Arc::clone(&seen);
        script(move |event, turn| {
            lock(&seen).push((event.id, turn.attempt()));
            let attempt = turn.attempt();
            async move {
                assert!(attempt > 2, "on purpose");
                Ok(json!(event.metadata))
            }
        })
    };
    let orchestrator = orchestrator([("a", fragile)]).await;
    let asked = user(&orchestrator).request(request("a", Value::Null)).await;
    let asked = asked.unwrap();
    assert_eq!(asked.response, json!({"deliveryAttempt": 3}));
    let id = asked.event_id;
    assert_eq!(*lock(&seen), [(id.clone(), 1), (id.clone(), 2), (id, 3)]);
    settles(&orchestrator).await;
}

#[tokio::test]
async fn an_event_fails_after_three_crashes() {
    let turns = Arc::new(AtomicUsize::new(0));
    let crash = {
        let turns = Arc::clone(&turns);
        script(move |event, _| {
            turns.fetch_add(1, SeqCst);
            async move {
                assert!(event.input.is_some(), "on purpose");
                Ok(Value::Null)
            }
        })
    };
    let orchestrator = orchestrator([("a", crash)]).await;
    let user = user(&orchestrator);
    let error = user.request(request("a", Value::Null)).await.unwrap_err();
    assert_eq!(error.code().as_str(), "IPC_DELIVERY_FAILED");
    let message = "the event for agent 'a' was not delivered: \
        a[k] was lost 3 times, last because it panicked";
    assert_eq!(error.to_string(), message);
    assert_eq!(turns.load(SeqCst), 3);
    // The instance handles the next event.
    user.request(request("a", json!(1))).await.unwrap();
    settles(&orchestrator).await;
}

#[tokio::test]
async fn an_event_fails_after_the_host_died_in_three_turns() {
    let root = tempfile::tempdir().unwrap();
    let mut begun = 0;
    for run in 0..5 {
        let gate = Gate::new();
        let host = Orchestrator::open(root.path(), config()).await.unwrap();
        register(&host, "a", gate.agent()).await;
        if run == 0 {
            host.deliver("a", event("e-1", json!(1))).await.unwrap();
        }
        if run < 3 {
            eventually("the turn has begun", async || gate.begun() == 1).await;
        } else {
            settles(&host).await;
        }
        begun += gate.begun();
    }
    assert_eq!(begun, 3);
}

// Another run took the event over, and closed its turn; its response was taken.
#[tokio::test]
async fn a_turn_that_is_closed_a_second_time_stores_no_response() {
    let store = store();
    let events = EventStore::new(store.clone(), &config());
    let asker = Asker {
        instance: InstanceId::new("asker", "k"),
        mode: ReplyMode::Async,
    };
    let (id, to) = ("e-1".to_owned(), InstanceId::new("a", "k"));
    let mut question = event(&id, json!("question"));
    question.reply_to = Some(toolhost_contract::ReplyTo {
        target: "asker".to_owned(),
        correlation_id: "c-1".to_owned(),
    });
    let source = EventSource::agent("a");
    let response = question.response("r-1", "2026-11-21T05:00:01.000Z", source, Ok(json!("yes")));
    let seq = store.write({
        let id = id.clone();
        move |db| {
            let insert = "INSERT INTO agent_events (event_id, run_id, agent, instance_key, mode, asker_agent, asker_key, event)
                VALUES (?1, ?2, 'a', 'k', 'async', 'asker', 'k', '{}') RETURNING seq";
            db.query_row(insert, (&id, db.run_id()), |row| row.get(0))
        }
    });
    let settled = Settled {
        seq: seq.await.unwrap(),
        event_id: id,
        response: Some((asker, response.unwrap())),
        now_ms: 0,
        taken: (to, Vec::new()),
    };
    let taken = "DELETE FROM agent_responses";
    for stored in [1, 0] {
        events.settle(settled.clone()).await.unwrap();
        let count = store.write(move |db| db.execute(taken, ())).await.unwrap();
        assert_eq!(count, stored);
    }
}
