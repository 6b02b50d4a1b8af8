//! Subscriptions to events.

use serde_json::{Value, json};
use toolhost::Host;
use toolhost::events::EventBusConfig;
use toolhost_tests::sandbox;
use toolhost_tests::test_host::TestHost;

use super::{call, config, connect, serve, tools};

#[tokio::test]
async fn a_subscriber_gets_the_events_of_the_instance_that_it_names() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let client = &mut served.client;
    client
        .request("events/subscribe", json!({"key": "mine"}))
        .await;
    for key in ["other", "mine"] {
        let mut params = call("text__upper", json!({"text": "a"}));
        params["instance"] = json!({"key": key});
        client.send("call/execute", params).await;
    }
    let (mut types, mut answers) = (Vec::new(), 0);
    while answers < 2 || types.len() < 6 {
        let message = client.next().await.unwrap();
        if message["method"] == "events/event" {
            let event = &message["params"];
            assert_eq!(event["instanceKey"], "mine");
            types.push(event["type"].as_str().unwrap().to_owned());
        } else {
            answers += 1;
        }
    }
    let expected = [
        "turn.started",
        "step.started",
        "tool.called",
        "tool.completed",
        "step.completed",
        "turn.completed",
    ];
    assert_eq!(types, expected);

    client.request("events/unsubscribe", json!({})).await;
    let mut params = call("text__upper", json!({"text": "a"}));
    params["instance"] = json!({"key": "mine"});
    let id = client.send("call/execute", params).await;
    assert_eq!(
        client.next().await.unwrap()["id"],
        id,
        "an answer, no event"
    );
}

#[tokio::test]
async fn a_slow_subscriber_loses_the_oldest_events_and_learns_how_many() {
    let mut events = EventBusConfig::default();
    events.listener_queue = 16;
    let host = Host::builder().sandbox(sandbox()).events(events).build();
    let tools: [(&str, &str, &[&str]); 1] = [("text", "text", &["upper"])];
    let test_host = TestHost::with_tools_in(host.unwrap(), &tools).await;
    let mut served = serve(config(&test_host));
    // A pipe that holds about two events.
    let (mut slow, _end) = connect(&served.server, 1 << 10);
    slow.request("events/subscribe", json!({})).await;
    let calls = 100;
    for _ in 0..calls {
        let params = call("text__upper", json!({"text": "a"}));
        served.client.request("call/execute", params).await;
    }
    let (mut received, mut lost, mut last) = (0, 0, Value::Null);
    while last != "turn.completed" || received + lost < calls * 6 {
        let mut message = slow.next().await.unwrap();
        if message["method"] == "events/lost" {
            lost += message["params"]["count"].as_u64().unwrap();
        } else {
            received += 1;
            last = message["params"]["type"].take();
        }
    }
    assert_eq!(received + lost, calls * 6, "every event is counted");
    assert!(lost > calls && received < 16 + 64 + 64, "{received} {lost}");
}
