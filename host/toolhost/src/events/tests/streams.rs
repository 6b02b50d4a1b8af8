//! Subscriptions as streams.

use futures_util::StreamExt;

use super::{one_call, small};
use crate::events::Received;

#[tokio::test]
async fn a_subscription_is_a_stream_that_yields_the_lost_count_and_ends_with_the_bus() {
    let bus = small(|config| config.listener_queue = 4);
    let stream = bus.subscribe();
    one_call(&bus, None, "a__b");
    drop(bus);
    let items = stream.map(|received| match received {
        Received::Event(event) => format!("{:?}", event.kind),
        Received::Lost(count) => format!("{count} lost"),
    });
    let items: Vec<_> = items.collect().await;
    let expected = [
        "2 lost",
        "ToolCalled",
        "ToolCompleted",
        "StepCompleted",
        "TurnCompleted",
    ];
    assert_eq!(items, expected);
}

#[tokio::test]
async fn dropping_a_wait_for_the_next_item_loses_none() {
    let bus = small(|_| {});
    let mut stream = bus.subscribe();
    for _ in 0..3 {
        let waited = tokio::time::timeout(std::time::Duration::ZERO, stream.next()).await;
        assert!(waited.is_err(), "nothing has happened yet");
    }
    one_call(&bus, None, "a__b");
    drop(bus);
    let items: Vec<_> = stream.collect().await;
    assert_eq!(items.len(), 6);
    assert!(items.iter().all(|item| matches!(item, Received::Event(_))));
}
